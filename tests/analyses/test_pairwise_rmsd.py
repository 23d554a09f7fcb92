"""Pairwise RMSD: the values of mdtraj, of MDAnalysis, and of RMSDs from each frame."""

from functools import partial
from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.commands import invoke
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysis import Universe
from MDAnalysis.analysis.diffusionmap import DistanceMatrix
from MDAnalysis.analysis.rms import rmsd
from trajet._trajet import CentredFrames

# Centred positions are rounded to float32, and so are the values.
ROUNDING = 2e-6
# mdtraj computes in float32, in nm.
MDTRAJ = 2e-4


def calpha(adk: Adk) -> tj.Selection:
    """Return the C-alpha atoms."""
    return tj.open(adk.psf, adk.xtc).select("name CA")


@pytest.mark.parametrize("weights", [None, "mass"])
def test_values_are_rmsds_from_each_frame(adk: Adk, weights: str | None) -> None:
    """`rmsd` computes each row; the matrix is symmetric, with an exact zero on the diagonal."""
    atoms = tj.open(adk.psf, adk.xtc).select("backbone")
    found = tj.pairwise_rmsd(atoms, weights=weights or "equal")
    assert found.values.dtype == np.float32
    assert np.array_equal(found.values, found.values.T)
    assert (np.diag(found.values) == 0).all()
    for frame in range(0, 98, 7):
        one = tj.rmsd(atoms, reference=frame, weights=weights or "equal").values
        assert np.abs(found.values[frame] - one).max() < ROUNDING


def test_values_are_those_of_mdanalysis(adk: Adk) -> None:
    """MDAnalysis computes its DistanceMatrix with superposition."""
    universe = Universe(str(adk.psf), str(adk.xtc))
    metric = partial(rmsd, center=True, superposition=True)
    theirs = DistanceMatrix(universe, select="name CA", metric=metric).run(step=7)
    found = tj.pairwise_rmsd(calpha(adk), frames=slice(None, None, 7))
    assert found.values.shape == (14, 14)
    # MDAnalysis rounds distances between positions to float32.
    assert np.abs(found.values - theirs.results.dist_matrix).max() < 1e-5


def test_values_are_those_of_mdtraj(adk: Adk) -> None:
    """For all pairs of two selections of frames."""
    atoms = calpha(adk)
    theirs = mdtraj.load(str(adk.xtc), top=str(adk.psf), atom_indices=atoms.indices)
    columns = [mdtraj.rmsd(theirs, theirs, frame) * 10 for frame in range(40, 98)]
    found = tj.pairwise_rmsd(atoms, atoms, other_frames=slice(40, None))
    assert found.values.shape == (98, 58)
    assert np.abs(found.values - np.transpose(columns)).max() < MDTRAJ


def test_two_trajectories_are_compared_frame_by_frame(adk: Adk, long_adk: Adk) -> None:
    """The same atoms of another file give the numbers of the first."""
    within = tj.pairwise_rmsd(calpha(adk)).values
    found = tj.pairwise_rmsd(
        calpha(adk), calpha(long_adk), frames=[3, 90, 7], other_frames=slice(0, 196)
    )
    assert found.values.shape == (3, 196)
    assert found.frames.tolist() == [3, 90, 7]
    assert found.other_frames.tolist() == list(range(196))
    expected = np.concatenate([within[[3, 90, 7]]] * 2, axis=1)
    # The residual of equal frames is a difference of large numbers in `rmsd`, but an exact 0 here.
    assert np.abs(found.values - expected).max() < ROUNDING
    few = tj.open(long_adk.psf, long_adk.xtc).select("name CA and resid 1:5")
    with raises(tj.SelectionError):
        tj.pairwise_rmsd(calpha(adk), few)


def test_threads_tasks_and_blocks_change_no_bit(thrice_adk: Adk, tmp_path: Path) -> None:
    """Also for a matrix that is written in parts."""
    atoms = tj.open(thrice_adk.psf, thrice_adk.xtc).select("name CA and resid 1:40")
    chosen = slice(None, 237)

    def values(pool: tj.LocalPool) -> np.ndarray:
        return np.asarray(tj.pairwise_rmsd(atoms, frames=chosen, pool=pool).values)

    assert_same_bits_on_any_pool(values)
    whole = values(tj.LocalPool(threads=1))
    # Room for one block of rows, two, and seven.
    for rows in (32, 64, 237):
        limit = 237 * (40 * 36 + 4 * rows)
        found = tj.pairwise_rmsd(
            atoms, frames=chosen, matrix_path=tmp_path / "pairs.npy", max_memory=limit
        )
        assert np.load(tmp_path / "pairs.npy").tobytes() == whole.tobytes()
        assert np.array_equal(found.values, whole)


def test_memory_is_bounded(adk: Adk, tmp_path: Path) -> None:
    """The error names what is needed and what needs less, before frames are read."""
    atoms = calpha(adk)
    positions, matrix = 98 * 214 * 36, 98 * 98 * 4
    assert tj.pairwise_rmsd(atoms, max_memory=positions + matrix).values.shape == (98, 98)
    with raises(MemoryError):
        tj.pairwise_rmsd(atoms, max_memory=positions + matrix - 1)
    path = tmp_path / "pairs.npy"
    tj.pairwise_rmsd(atoms, max_memory=positions + 98 * 32 * 4, matrix_path=path)
    with raises(MemoryError):
        tj.pairwise_rmsd(atoms, max_memory=positions, matrix_path=path)
    with raises(ValueError):
        tj.pairwise_rmsd(atoms, max_memory=0)
    with raises(ValueError):
        tj.pairwise_rmsd(atoms, other_frames=[1])


def test_equal_frames_have_zero_and_missing_ones_nan(tmp_path: Path) -> None:
    """A structure that is moved and rotated is the same; a frame without positions spoils none."""
    rng = np.random.default_rng(5)
    one = rng.uniform(-1, 1, (30, 3))
    turned = one @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + 2
    path = xtc_bytes.write_xtc(tmp_path / "turned.xtc", np.array([one, turned, one]))
    found = tj.pairwise_rmsd(tj.open(None, path).select(range(30)))
    # The file has a precision of 0.01 Å.
    assert found.values.max() < 0.02
    assert found.values[0, 2] < 1e-6
    rows = rng.uniform(-1, 1, (9, 90))
    rows[4, 17] = np.nan
    values = CentredFrames(rows, None, threads=1).rmsds(None, 0, 9, threads=2, progress=None)
    missing = np.zeros((9, 9), np.bool_)
    missing[4] = missing[:, 4] = True
    assert np.array_equal(np.isnan(values), missing)


def test_command_writes_the_matrix(adk: Adk, tmp_path: Path) -> None:
    """Into a file of its own; 11 frames have 55 pairs."""
    found = tj.pairwise_rmsd(calpha(adk), frames=slice(None, None, 9))
    assert len(found.off_diagonal()) == 55
    arguments = ["pairwise-rmsd", adk.psf, adk.xtc, "--select", "name CA", "--step", "9"]
    arguments += ["--matrix-path", tmp_path / "m.npy", "--max-memory", "2MiB"]
    done = invoke(*arguments)
    assert done.exit_code == 0
    assert "55" in done.output
    assert np.array_equal(np.load(tmp_path / "m.npy"), found.values)
