"""The examples of docs/topology.md run as they stand, and its table is that of the formats."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trajet as tj
from helpers.doc_examples import examples, run_python
from trajet._trajet import FORMATS

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "topology.md"
ROW = re.compile(r"^\| (\w+)[^|]* \| ((?:`\.\w+`(?:, )?)+) \|", re.MULTILINE)
INFO = re.compile(r'name: "(\w+)",\s*suffixes: (?:&\[([^\]]+)\]|\S*Format::(\w+)\.info)')


def test_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one namespace; without MDAnalysis they run as well."""
    for path in tj.samples.peptide_in_water().files:
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "topology"}
    for example in examples(DOCUMENT):
        assert example.language == "python"
        run_python(DOCUMENT, example, names)
    shown = capsys.readouterr().out
    assert shown.startswith("10 505\n")
    script = tmp_path / "page.py"
    head = "import sys; sys.modules['MDAnalysis'] = None\n"
    script.write_text(head + "\n".join(example.text for example in examples(DOCUMENT)))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.stdout == shown


def test_table_has_the_formats_that_are_read() -> None:
    """With the same suffixes."""
    source = ROOT / "crates" / "trajet-topology" / "src" / "formats.rs"
    formats = {
        name: [ending[1:] for ending in FORMATS[shared.upper()].suffixes]
        if shared
        else re.findall(r'"(\w+)"', suffixes)
        for name, suffixes, shared in INFO.findall(source.read_text(encoding="utf-8"))
    }
    assert len(formats) >= 6
    rows = {
        name: re.findall(r"`\.(\w+)`", suffixes)
        for name, suffixes in ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
    }
    assert rows == formats
