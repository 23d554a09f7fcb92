"""Radius of gyration: MDAnalysis' values, and a naive twin from pairs of atoms.

`test_declared.py` and `helpers.pool_laws` hold the laws of every analysis.
"""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk
from helpers.systems import NAMES, Systems

# MDAnalysis computes in float64 too: only the order of its sums differs.
ROUNDING = 1e-10


def naive(positions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the radius in each frame from the distances of all pairs (Lagrange's identity)."""
    w = np.ones(positions.shape[1]) if weights is None else weights
    radii = []
    for x in positions.astype(np.float64):
        squares = ((x[:, None] - x) ** 2).sum(-1)
        radii.append(np.sqrt((squares * w * w[:, None]).sum() / 2) / w.sum())
    return np.array(radii)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_mdanalysis(systems: Systems, name: str) -> None:
    """On every system and format, of all atoms with a mass, and of some in another order."""
    system = systems[name]
    massive = system.universe.atoms[system.universe.atoms.masses > 0]
    for atoms in (massive, massive[::-7]):
        result = tj.gyration(system.trajectory.select(atoms.indices))
        expected = [atoms.radius_of_gyration() for _ in system.universe.trajectory]
        assert result.values.shape == (len(expected),)
        assert np.abs(result.values - expected).max() < ROUNDING
        assert np.array_equal(tj.gyration(atoms).values, result.values)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "skewed.dcd"])
def test_values_are_those_of_the_naive_twin(systems: Systems, name: str) -> None:
    """With equal weights and with any numbers; an atom of weight 0 does not count."""
    traj = systems[name].trajectory
    rng = np.random.default_rng(11)
    selection = traj.select(rng.choice(traj.n_atoms, 60, replace=False))
    positions = selection.read().positions
    equal = tj.gyration(selection, weights=None)
    assert np.abs(equal.values - naive(positions)).max() < ROUNDING
    weights = rng.uniform(0.5, 200, 60)
    weights[::9] = 0
    weighted = tj.gyration(selection, weights=weights)
    assert np.abs(weighted.values - naive(positions, weights)).max() < ROUNDING
    counting = traj.select(selection.indices[weights > 0])
    assert (
        np.abs(tj.gyration(counting, weights=weights[weights > 0]).values - weighted.values).max()
        < 1e-12
    )


def test_one_atom_has_no_extent_and_far_atoms_keep_their_digits(tmp_path: Path) -> None:
    """The centre is subtracted before squares are taken."""
    x = np.array([[[900.0, 900, 900], [900, 900, 900.5]]] * 2)
    traj = tj.open(None, xtc_bytes.write_xtc(tmp_path / "far.xtc", x))
    assert tj.gyration(traj.select([0]), weights=None).values.tolist() == [0, 0]
    assert np.abs(tj.gyration(traj.select([0, 1]), weights=None).values - 2.5).max() < 1e-12


def test_a_position_that_is_not_a_number_spoils_its_own_frame_only(tmp_path: Path) -> None:
    """As for RMSD."""
    x = np.random.default_rng(5).uniform(0, 3, (6, 5, 3))
    x[4, 2, 1] = np.nan
    traj = tj.open(None, xtc_bytes.write_xtc(tmp_path / "nan.xtc", x))
    values = tj.gyration(traj.select([0, 1, 2, 3, 4]), weights=None).values
    assert np.isnan(values).tolist() == [False] * 4 + [True, False]


def test_unusable_weights_are_errors(adk: Adk) -> None:
    """Of another number, negative, not finite, or all zero; and masses that are unknown."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA and resid 1-4")
    for weights in ([1, 2], [1, 1, -1, 1], [1, 1, 1, np.nan], [0, 0, 0, 0], "size"):
        with pytest.raises(ValueError, match="weights"):
            tj.gyration(selection, weights=weights)
    with pytest.raises(tj.SelectionError):
        tj.gyration(tj.open(None, adk.xtc).select([0, 1]))


def test_broken_molecules_are_named(systems: Systems) -> None:
    """Positions are used as stored: a molecule that is broken over the box is a remark."""
    for name, is_broken in (("solvated.xtc", True), ("adk.xtc", False)):
        result = tj.gyration(systems[name].trajectory.select("protein"))
        assert any("broken over the box" in r for r in result.report["remarks"]) == is_broken
