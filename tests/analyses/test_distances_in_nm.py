"""Distances that look like nm and find nothing: a message with the distance in Å."""

from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises
from trajet.result import Table


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Water molecules on a lattice of 3 Å, in a box, of which some atoms move."""
    folder = tmp_path_factory.mktemp("nm")
    n = 4
    oxygen = 3.0 * np.stack(np.meshgrid(*[np.arange(n)] * 3), axis=-1).reshape(-1, 3) + 1
    places = oxygen[:, None] + np.array([[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]])
    universe = mda.Universe.empty(
        3 * n**3,
        n_residues=n**3,
        atom_resindex=np.repeat(np.arange(n**3), 3),
        trajectory=True,
    )
    universe.add_TopologyAttr("names", ["OW", "HW1", "HW2"] * n**3)
    universe.add_TopologyAttr("resnames", ["SOL"] * n**3)
    universe.add_TopologyAttr("resids", np.arange(1, n**3 + 1))
    universe.atoms.positions = places.reshape(-1, 3)
    universe.dimensions = [3 * n, 3 * n, 3 * n, 90, 90, 90]
    path = folder / "water.gro"
    universe.atoms.write(path)
    return tj.open(path)


CASES: dict[str, tuple[Callable[[tj.Trajectory, float], Table], float, float]] = {
    "contacts": (lambda t, d: tj.contacts(t.select("name OW"), cutoff=d), 0.35, 3.5),
    "contact_map": (lambda t, d: tj.contact_map(t.select("name OW"), cutoff=d), 0.45, 4.5),
    "min_distance": (
        lambda t, d: tj.min_distance(t.select("name OW and resid 1"), "resid 2", cutoff=d),
        0.45,
        4.5,
    ),
    "hbonds": (
        lambda t, d: tj.hbonds(t.select("all"), guess_bonds=True, cutoff=d, angle=0),
        0.3,
        3.2,
    ),
    "rdf": (lambda t, d: tj.rdf(t.select("name OW"), range=(0, d)), 0.55, 5.5),
    "rdf_pairs": (
        lambda t, d: tj.rdf_pairs([(t.select("name OW"), t.select("name OW"))], range=(0, d)),
        0.55,
        5.5,
    ),
    "count": (
        lambda t, d: tj.count(t.select(f"name OW and around {d} resid 1", updating=True)),
        0.35,
        3.5,
    ),
    "sasa": (lambda t, d: tj.sasa(t.select("resid 1"), probe=d, points=50), 0.14, 1.4),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_within_nm_is_reported(water: tj.Trajectory, name: str) -> None:
    """And the advised distance finds something, without the message."""
    compute, in_nm, in_angstrom = CASES[name]
    (message,) = [one for one in compute(water, in_nm).messages if "not in nm" in one]
    assert f"{in_nm:g}" in message
    assert f"{in_nm * 10:g}" in message
    found = compute(water, in_angstrom)
    assert not [one for one in found.messages if "not in nm" in one]
    assert np.nansum(np.asarray(found, float)) > 0


def test_clusters_of_one_frame_each_and_empty_grids(water: tj.Trajectory, tmp_path: Path) -> None:
    """A cut-off in nm makes a cluster of every frame; a grid in nm may miss all atoms."""
    rng = np.random.default_rng(1)
    moved = np.repeat(water.read().positions, 5, axis=0)
    moved += rng.normal(scale=1.0, size=moved.shape).astype(np.float32)
    tj.write(tmp_path / "moved.xtc", moved)
    traj = tj.open(water.paths[0], tmp_path / "moved.xtc")
    oxygens = traj.select("name OW")
    for cutoff, is_reported in ((0.15, True), (15.0, False)):
        messages = tj.cluster_rmsd(oxygens, cutoff=cutoff).messages
        assert any("no two frames are within 0.15 Å" in one for one in messages) == is_reported
    messages = tj.density(oxygens, grid_center=(0.2, 0.2, 90), grid_size=0.5).messages
    assert any("both are in Å, not in nm" in one for one in messages)


def test_no_native_contact_is_an_error_that_names_the_unit(water: tj.Trajectory) -> None:
    """As before, with the distance in Å."""
    with raises(tj.SelectionError):
        tj.native_contacts(water.select("name OW"), cutoff=0.45)
