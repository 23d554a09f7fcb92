"""The examples of docs/statistics.md run as they stand, and print what the page says."""

import subprocess
from pathlib import Path

import pytest
from helpers.doc_examples import examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics.md"


def test_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the document; the line on the errors is that of the page."""
    place = place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    line = next(
        text.strip() for text in DOCUMENT.read_text().splitlines() if text.startswith("    mean ")
    )
    namespace: dict[str, object] = {"__name__": "statistics"}
    printed = ""
    for example in examples(DOCUMENT):
        if example.language == "python":
            run_python(DOCUMENT, example, namespace)
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", example.text],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (example.line, done.stderr)
        printed += done.stdout
    assert line in printed
    assert line.replace(" Å", "") in capsys.readouterr().out
    for name in ("convergence.png", "rmsd.png", "rmsd.json"):
        assert (place / name).is_file(), name
