"""The examples of docs/parallel.md run on a real SLURM: `make test-slurm`, as root.

pytest does not collect this file by itself: the gate needs no SLURM.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute
from helpers.doc_examples import place_of_sample

DOCUMENT = Path(__file__).parents[2] / "docs" / "parallel.md"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the examples run."""
    return place_of_sample(DOCUMENT, tmp_path, monkeypatch)


def finished(*command: str) -> None:
    """Run a command and expect success."""
    done = execute(*command, code=None)
    job_output = [path.read_text() for path in Path().glob("slurm-*.out")]
    assert done.returncode == 0, (done.stdout, done.stderr, job_output)


def assert_right() -> None:
    """Assert that the result has the bits of one thread."""
    calpha = tj.open("peptide_in_water.psf", "peptide_in_water.xtc").select("name CA")
    here = tj.rmsd(calpha, pool=tj.LocalPool(threads=1))
    with np.load("rmsd.npz") as kept:
        assert kept["values"].shape == (100,)
        assert kept["values"].tobytes() == here.values.tobytes()


@pytest.mark.parametrize("job", ["mpi.sbatch", "dask.sbatch"])
def test_job_scripts_run(place: Path, job: str) -> None:
    """They run on two nodes, two tasks each."""
    finished("sbatch", "--wait", job)
    assert_right()


def test_dask_workers_run_as_jobs(place: Path) -> None:
    """dask-jobqueue starts two of them."""
    finished(sys.executable, "rmsd_jobqueue.py")
    assert_right()
