"""The examples of docs/periodic.md run as they stand, one after the other."""

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.doc_examples import examples, place_of, run_python
from helpers.golden_files import Adk
from MDAnalysisTests import datafiles

DOCUMENT = Path(__file__).parents[2] / "docs" / "periodic.md"


def test_examples_of_the_page_run(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run in the order of the document, in a folder with the files that it names."""
    place = place_of(DOCUMENT, adk, tmp_path, monkeypatch)
    shutil.copy(datafiles.TPR, place / "solvated.tpr")
    shutil.copy(datafiles.XTC, place / "solvated.xtc")
    namespace: dict[str, object] = {"__name__": "periodic"}
    languages = set()
    for example in examples(DOCUMENT):
        languages.add(example.language)
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
        assert done.stderr == "", example.line
    assert languages == {"python", "sh"}
    for name in ("protein.xtc", "protein.pdb", "frame5.pdb", "frame5-repaired.pdb"):
        assert (place / name).is_file(), name
    # Both are the same frame, with the same repair.
    atoms = [
        [line for line in (place / name).read_text().splitlines() if line.startswith("ATOM")]
        for name in ("frame5.pdb", "frame5-repaired.pdb")
    ]
    assert atoms[0] == atoms[1]
    assert len(atoms[0]) == 3341
