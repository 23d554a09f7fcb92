"""Notebooks of MDAnalysis' user guide have the same numbers with our readers installed.

`TRAJET_USER_GUIDE` names a checkout of MDAnalysis/UserGuide; `make test-long` runs these tests.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import notebook_globals

GUIDE = os.environ.get("TRAJET_USER_GUIDE")
NOTEBOOKS = sorted(Path(GUIDE).rglob("*.ipynb")) if GUIDE else []
# They call other programs.
WITHOUT = ("hole2", "parmed_sim")


def numbers_of(notebook: Path, readers: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the numbers in the globals of a notebook, and errors of its cells."""
    here, out = folder / readers, folder / f"{readers}.pickle"
    here.mkdir()
    command = [sys.executable, notebook_globals.__file__, str(notebook), readers, str(out)]
    subprocess.run(command, cwd=here, check=True, capture_output=True, timeout=3600)
    found: tuple[dict[str, Any], list[str]] = pickle.loads(out.read_bytes())
    return found


@pytest.mark.skipif(not NOTEBOOKS, reason="TRAJET_USER_GUIDE names no folder")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_are_the_same(notebook: Path, tmp_path: Path) -> None:
    """Arrays, numbers, tables, results of analyses and positions, bit for bit."""
    if notebook.stem in WITHOUT:
        pytest.skip("it needs another program")
    theirs, ours = (numbers_of(notebook, readers, tmp_path) for readers in ("theirs", "ours"))
    assert theirs[0]
    assert ours == theirs
