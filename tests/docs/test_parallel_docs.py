"""The examples of docs/parallel.md run as they stand; `with_slurm.py` runs those for SLURM."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute
from helpers.doc_examples import Example, examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "parallel.md"
ALL = examples(DOCUMENT)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the examples run; workers of Dask are forked there."""
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
    return place_of_sample(DOCUMENT, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "example",
    [example for example in ALL if example.language == "sh"],
    ids=lambda example: example.text.splitlines()[-1][:40],
)
def test_commands_of_the_page_run(example: Example, place: Path) -> None:
    """Their results are those of this process."""
    execute("bash", "-e", "-c", example.text)
    calpha = tj.open("peptide_in_water.psf", "peptide_in_water.xtc").select("name CA")
    here = tj.rmsd(calpha, pool=tj.LocalPool(threads=1)).values
    for kept in place.glob("*.npz"):
        assert np.load(kept)["values"].tobytes() == here.tobytes()


def test_python_of_the_page_runs(place: Path) -> None:
    """These are the blocks that are no files, and the file that no command runs."""
    blocks = [e for e in ALL if e.language == "python" and e.file is None]
    assert blocks
    for example in blocks:
        run_python(DOCUMENT, example, {"__name__": "parallel"})
    subprocess.run([sys.executable, "rmsd_local_cluster.py"], timeout=120, check=True)
    assert (place / "rmsd.npz").exists()
