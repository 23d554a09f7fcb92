"""Contacts and densities of selections that follow the frame, as MDAnalysis' updating groups do."""

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysis.analysis.density import DensityAnalysis

# Systems, a selection that follows the frame, and a fixed one.
CASES = [
    ("adk.xtc", "name CA and around 6 resid 100", "resid 90:110 and not name H*"),
    ("adk.xtc", "prop z > 5 and name CA", "prop z > 5 and name CB"),
    ("solvated.xtc", "name OW and around 3.5 protein", "name CA"),
    ("cobrotoxin.trr", "name OW and point 10 10 10 6", "protein"),
]


@pytest.mark.parametrize(("name", "text", "other"), CASES)
def test_contacts_are_those_of_the_atoms_of_each_frame(
    systems: Systems, name: str, text: str, other: str
) -> None:
    """Each of two groups can follow the frame, or both, or the only one."""
    traj, universe = systems[name].trajectory, systems[name].universe
    near, group = traj.select(text, updating=True), universe.select_atoms(text, updating=True)
    follows = traj.select(other, updating=True)
    partners = universe.select_atoms(other, updating=True)
    kept = traj.select(other)
    frames, expected = slice(0, None, 24), []
    for ts in universe.trajectory[frames]:
        one = {"cutoff": 4.0, "frames": [ts.frame]}
        here, there = (
            traj.select(atoms.indices) if len(atoms) else None for atoms in (group, partners)
        )
        expected.append(
            [
                0 if here is None else tj.contacts(here, kept, **one).values[0],
                0 if here is None else tj.contacts(kept, here, **one).values[0],
                0 if here is None or there is None else tj.contacts(here, there, **one).values[0],
                0 if len(group) < 2 else tj.contacts(here, **one).values[0],
            ]
        )
    found = [
        tj.contacts(near, kept, cutoff=4.0, frames=frames),
        tj.contacts(kept, near, cutoff=4.0, frames=frames),
        tj.contacts(near, follows, cutoff=4.0, frames=frames),
        tj.contacts(near, cutoff=4.0, frames=frames),
    ]
    assert np.array_equal(np.array([result.values for result in found]).T, expected)
    assert np.sum(expected) > 0
    assert [result.report["parameters"]["updating"] for result in found] == [True] * 4


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, text, _ in CASES])
def test_density_is_that_of_the_atoms_of_each_frame(systems: Systems, name: str, text: str) -> None:
    """On a grid that is given, and on that of the atoms of the first frame."""
    traj, universe = systems[name].trajectory, systems[name].universe
    near, group = traj.select(text, updating=True), universe.select_atoms(text, updating=True)
    frames = slice(0, None, 24)
    middle, n_frames = group.positions.mean(axis=0).astype(float), len(universe.trajectory[frames])
    grid = {"spacing": 2.0, "grid_center": middle, "grid_size": 18.0}
    counts, inside = np.zeros((9, 9, 9)), 0
    for ts in universe.trajectory[frames]:
        if len(group):
            one = tj.density(traj.select(group.indices), frames=[ts.frame], **grid)
            counts += one.values * 8
            inside += len(group)
    ours = tj.density(near, frames=frames, **grid)
    assert np.allclose(ours.values * 8 * n_frames, counts, rtol=1e-12, atol=1e-12)
    assert counts.sum() > 0
    outside = [r for r in ours.messages if "outside of the grid" in r]
    assert bool(outside) == (round(counts.sum()) < inside)
    universe.trajectory[0]
    theirs = DensityAnalysis(group, delta=2.0, padding=3.0).run(step=24).results.density
    ours = tj.density(near, spacing=2.0, padding=3.0, frames=frames)
    assert ours.values.shape == theirs.grid.shape
    # At most a few atoms lie within rounding of a face.
    assert np.abs(ours.values - theirs.grid).sum() * 8 * n_frames <= 4


def test_masses_are_those_of_the_selected_atoms(systems: Systems) -> None:
    """Atoms that are read and not selected add nothing."""
    traj = systems["solvated.xtc"].trajectory
    near = traj.select("protein and around 3 resid 50", updating=True)
    grid = {"spacing": 4.0, "grid_center": [40.0, 40.0, 40.0], "grid_size": 400.0}
    masses = [traj.topology.masses[frame.indices].sum() for frame in near.read()]
    found = tj.density(near, quantity="mass", **grid)
    total = found.values.sum() * found.spacing**3 / 1.66053906660
    assert np.isclose(total, np.mean(masses), rtol=1e-12)
    assert len(set(masses)) > 1


def test_frames_without_selected_atoms_have_no_contacts(adk: Adk) -> None:
    """They count as frames of a density; the default grid needs atoms in the first one."""
    traj = tj.open(adk.psf, adk.xtc)
    kept = traj.select("protein")
    none = traj.select("name CA and around 0.5 resid 100", updating=True)
    for result in (tj.contacts(none, kept), tj.contacts(kept, none), tj.contacts(none)):
        assert not result.values.any()
    assert not tj.density(none, grid_center=[0, 0, 0], grid_size=9.0).values.any()
    with raises(tj.SelectionError):
        tj.density(none, frames=[3, 4])
    one = traj.select("index 5 and prop z < 1e6", updating=True)
    with raises(tj.SelectionError):
        tj.contacts(one)
    other = tj.open(adk.psf, adk.xtc)
    with raises(tj.SelectionError):
        tj.contacts(kept, other.select("around 3 resid 5", updating=True))


def test_shared_atoms_are_reported(adk: Adk) -> None:
    """Both groups may have them in a frame; atoms that are only read do not count."""
    traj = tj.open(adk.psf, adk.xtc)
    near = traj.select("name CA and around 8 resid 100", updating=True)
    messages = tj.contacts(near, "name CA", frames=[0]).messages
    assert any("214 atoms may be in both groups" in message for message in messages)
    sidechains = traj.select("name CB and around 8 name CA", updating=True)
    apart = tj.contacts(sidechains, "name CA", frames=[0])
    assert not any("in both groups" in message for message in apart.messages)
