"""The examples of docs/store.md run as they stand, one after the other."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers.doc_examples import examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "store.md"
PROFILE = re.compile(r"^```toml\n(# (\S+)\n.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They run in the order of the document, in a folder with the files that it names."""
    place = place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    text = DOCUMENT.read_text(encoding="utf-8")
    ((profile, name),) = PROFILE.findall(text)
    (place / name).write_text(profile)
    ran = 0
    for example in examples(DOCUMENT):
        ran += 1
        if example.language == "python":
            run_python(DOCUMENT, example, {"__name__": "store"})
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", example.text],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (example.line, done.stderr)
        assert done.stderr == "", example.line
    assert ran >= 8
    assert (place / "links" / "run@protein.xtc").is_file()
