"""Radius of gyration: MDAnalysis' values, and a naive twin from pairs of atoms.

`tests/laws` and `helpers.pool_laws` hold the laws of every analysis.
"""

from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
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
    equal = tj.gyration(selection, weights="equal")
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


@pytest.mark.parametrize("name", NAMES)
def test_axes_and_moments_are_those_of_mdanalysis(systems: Systems, name: str) -> None:
    """The sum of the moments is the squared radius; with axes, the radius keeps its bits."""
    system = systems[name]
    massive = system.universe.atoms[system.universe.atoms.masses > 0]
    selection = system.trajectory.select(massive.indices)
    radii = tj.gyration(selection, per_axis=True).values
    assert radii[:, 0].copy().tobytes() == tj.gyration(selection).values.tobytes()
    shape = tj.gyration_moments(selection)
    assert np.abs(shape.radius - radii[:, 0]).max() < ROUNDING
    for k, _ in enumerate(system.universe.trajectory):
        x, m = massive.positions.astype(np.float64), massive.masses
        squares = (x - np.average(x, axis=0, weights=m)) ** 2
        about = [squares[:, [1, 2]], squares[:, [0, 2]], squares[:, [0, 1]]]
        expected = [np.sqrt(np.average(s.sum(1), weights=m)) for s in about]
        assert np.abs(radii[k, 1:] - expected).max() < ROUNDING
        moments = np.sort(massive.gyration_moments())
        assert np.abs(shape.values[k] - moments).max() < ROUNDING * moments.max()


def test_shape_is_that_of_mdtraj(systems: Systems) -> None:
    """With equal weights, as mdtraj has them; its positions are nm."""
    selection = systems["adk.xtc"].trajectory.select("name CA")
    shape = tj.gyration_moments(selection, weights="equal")
    topology = mdtraj.Topology()
    chain = topology.add_chain()
    for _ in range(selection.n_atoms):
        topology.add_atom("CA", mdtraj.element.carbon, topology.add_residue("GLY", chain))
    theirs = mdtraj.Trajectory(selection.read().positions / 10, topology)
    for found, expected, unit in (
        (shape.values, mdtraj.principal_moments(theirs), 100),
        (shape.asphericity, mdtraj.asphericity(theirs), 100),
        (shape.acylindricity, mdtraj.acylindricity(theirs), 100),
        (shape.anisotropy, mdtraj.relative_shape_antisotropy(theirs), 1),
    ):
        # mdtraj has positions and their mean in float32.
        assert np.abs(found - expected * unit).max() < 1e-4


def test_moments_of_a_rod_and_of_a_plane(tmp_path: Path) -> None:
    """A rod has κ² 1; none of the moments is below zero."""
    rod = np.linspace(0, 3, 7)[:, None] * [1, 2, -1]
    cross = np.array(
        [[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    )
    path = xtc_bytes.write_xtc(tmp_path / "shapes.xtc", np.array([rod, cross]))
    shape = tj.gyration_moments(tj.open(None, path).select(range(7)), weights="equal")
    assert (shape.values >= 0).all()
    assert np.abs(shape.anisotropy - [1, 0.25]).max() < 1e-5
    assert np.abs(shape.values[1] - [0, 200 / 7, 200 / 7]).max() < 1e-9
    assert abs(shape.acylindricity[0]) < 1e-9


def test_one_atom_has_no_extent_and_far_atoms_keep_their_digits(tmp_path: Path) -> None:
    """The centre is subtracted before squares are taken."""
    x = np.array([[[900.0, 900, 900], [900, 900, 900.5]]] * 2)
    traj = tj.open(None, xtc_bytes.write_xtc(tmp_path / "far.xtc", x))
    assert tj.gyration(traj.select([0]), weights="equal").values.tolist() == [0, 0]
    assert np.abs(tj.gyration(traj.select([0, 1]), weights="equal").values - 2.5).max() < 1e-12


def test_unusable_weights_are_errors(adk: Adk) -> None:
    """Weights that are too few, negative, not finite or all zero, and unknown masses."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA and resid 1-4")
    for weights in ([1, 2], [1, 1, -1, 1], [1, 1, 1, np.nan], [0, 0, 0, 0], "size"):
        with raises(ValueError):
            tj.gyration(selection, weights=weights)
    with pytest.raises(tj.SelectionError):
        tj.gyration(tj.open(None, adk.xtc).select([0, 1]))
