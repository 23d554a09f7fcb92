"""RMSD of few, degenerate, moved and mirrored structures equals the naive twin."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import kabsch, xtc_bytes
from helpers.golden_files import Adk, Truth
from helpers.plain_geometry import rotation
from helpers.rmsd_values import ZERO


def structures(n_atoms: int, shape: str, rng: np.random.Generator) -> np.ndarray:
    """Return twelve structures in nm: general, on a line, in a plane."""
    x = rng.uniform(-2, 2, (12, n_atoms, 3))
    if shape == "line":
        direction = rng.normal(0, 1, (12, 1, 3))
        x = x[:, :, :1] * direction / np.linalg.norm(direction, axis=2, keepdims=True)
    if shape == "plane":
        x[:, :, 1] = 0.5
    return x


@pytest.mark.parametrize("shape", ["general", "line", "plane"])
@pytest.mark.parametrize("n_atoms", [1, 2, 3, 4, 5, 12, 100])
def test_few_and_degenerate_atoms_equal_the_twin(n_atoms: int, shape: str, tmp_path: Path) -> None:
    """One, two or three atoms, and atoms on a line or in a plane, are compared."""
    rng = np.random.default_rng(n_atoms)
    path = xtc_bytes.write_xtc(tmp_path / "few.xtc", structures(n_atoms, shape, rng))
    traj = tj.open(None, path)
    selection = traj.select(np.arange(n_atoms))
    x = selection.read().positions
    for reference in range(3):
        result = tj.rmsd(selection, reference=reference)
        expected = np.array([kabsch.superposed(frame, x[reference]) for frame in x])
        assert np.abs(result.values - expected).max() < ZERO
        assert result.values.min() >= 0
        if n_atoms == 1:
            assert result.values.max() < ZERO


def test_repeated_atoms_count_repeatedly(adk: Adk, adk_truth: Truth) -> None:
    """An atom that is selected twice counts twice."""
    atoms = np.array([5, 900, 5, 33, 2000, 33, 5])
    result = tj.rmsd(tj.open(None, adk.xtc).select(atoms))
    x = adk_truth.positions[:, atoms]
    assert np.abs(result.values - [kabsch.superposed(a, x[0]) for a in x]).max() < ZERO


@pytest.mark.parametrize("n_atoms", [3, 4, 10, 500])
def test_moved_copies_are_identical(n_atoms: int, tmp_path: Path) -> None:
    """Rotated and shifted copies deviate by no more than their rounding in the file."""
    rng = np.random.default_rng(n_atoms)
    x = rng.uniform(-2, 2, (n_atoms, 3))
    copies = [x, *(x @ rotation(rng) + rng.uniform(-5, 5, 3) for _ in range(20))]
    path = xtc_bytes.write_xtc(tmp_path / "moved.xtc", np.array(copies), precision=1e6)
    traj = tj.open(None, path)
    read = traj.read().positions
    values = tj.rmsd(traj.select(np.arange(n_atoms))).values
    assert values[0] < ZERO
    assert values.max() < 2e-5
    twin = [kabsch.superposed(frame, read[0]) for frame in read]
    assert np.abs(values - twin).max() < ZERO


def test_identical_structures_give_zero(adk: Adk, tmp_path: Path) -> None:
    """Repeated coordinates deviate by less than 1e-6 Å, also far from the origin."""
    x = tj.open(None, adk.xtc).read(frames=[0]).positions[0] / 10
    for shift in (0.0, 50.0, -800.0):
        path = xtc_bytes.write_xtc(tmp_path / f"{shift}.xtc", np.array([x + shift] * 5))
        traj = tj.open(None, path)
        for atoms in (np.arange(traj.n_atoms), np.arange(10), np.array([7])):
            values = tj.rmsd(traj.select(atoms)).values
            assert values.shape == (5,)
            assert values.min() >= 0
            assert values.max() < ZERO


def test_mirror_images_are_not_superposed(tmp_path: Path) -> None:
    """A superposition is a rotation, never a reflection."""
    rng = np.random.default_rng(21)
    x = rng.uniform(-2, 2, (60, 3))
    images = [x, -x, x * [-1, 1, 1], x * [1, -1, 1] @ rotation(rng) + 1.5, x[:, [1, 0, 2]]]
    path = xtc_bytes.write_xtc(tmp_path / "mirror.xtc", np.array(images))
    traj = tj.open(None, path)
    selection = traj.select(np.arange(60))
    read = traj.read().positions
    values = tj.rmsd(selection).values
    twin = np.array([kabsch.superposed(frame, read[0]) for frame in read])
    assert np.abs(values - twin).max() < ZERO
    assert values[1:].min() > 5.0
    # All mirror images of one structure are the same structure.
    assert values[1:].max() - values[1:].min() < 1e-2
