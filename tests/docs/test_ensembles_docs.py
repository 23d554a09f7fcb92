"""The example of docs/ensembles.md from raw files to a figure runs as it stands."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers.doc_examples import examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "ensembles.md"


@pytest.mark.long
def test_the_last_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plan and Python print the sentences of the page."""
    place = place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    text = DOCUMENT.read_text(encoding="utf-8")
    begin = text.count("\n", 0, text.index("## From files to a figure"))
    lines = text.splitlines()[begin:]
    sentences = [line.strip() for line in lines if re.match("    (sasa|rg|rmsf) .*[;(]", line)]
    names: dict[str, object] = {"__name__": "ensembles"}
    printed = ""
    for example in examples(DOCUMENT):
        if example.line < begin:
            continue
        if example.language == "python":
            run_python(DOCUMENT, example, names)
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", example.text],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (example.line, done.stderr)
        printed += done.stdout
    printed += capsys.readouterr().out
    assert len(sentences) == 3
    for sentence in sentences:
        assert sentence in printed
    for name in ("sasa.difference.csv", "sasa.difference.png", "violins.png"):
        assert (place / name).is_file(), name
