"""Centres of groups, distances between them, and ends of chains: MDAnalysis' values, and twins."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers.commands import misuse
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import NAMES, System, Systems, in_changing_cells
from MDAnalysisTests import datafiles

# MDAnalysis sums in float64 too; its distances are those of positions rounded to float32.
ROUNDING = 1e-9
SINGLE = 3e-5

LID, CORE = "resid 122-159", "resid 1-29 60-121 160-214"


def every_frame(system: System, of_frame: Callable[[], np.ndarray]) -> np.ndarray:
    """Return what a function of MDAnalysis gives in each frame."""
    return np.array([of_frame() for _ in system.universe.trajectory])


@pytest.mark.parametrize("name", NAMES)
def test_centers_of_residues_are_those_of_mdanalysis(systems: Systems, name: str) -> None:
    """Centres of mass and of geometry, also of some atoms of each residue in another order."""
    system = systems[name]
    massive = system.universe.atoms[system.universe.atoms.masses > 0]
    chosen = massive[: 2000 if name.startswith("solv") else None]
    for atoms in (chosen, chosen[::-3]):
        selection = system.trajectory.select(atoms.indices)
        by_mass = tj.centers(selection)
        equal = tj.centers(selection, weights="equal")
        # MDAnalysis orders residues by their number, trajet by their first atom.
        _, first = np.unique(atoms.resindices, return_index=True)
        order = np.argsort(first)
        mass = every_frame(system, lambda a=atoms: a.center_of_mass(compound="residues"))
        plainly = every_frame(system, lambda a=atoms: a.center_of_geometry(compound="residues"))
        assert by_mass.values.shape == (len(mass), len(first), 3)
        assert np.abs(by_mass.values - mass[:, order]).max() < ROUNDING
        assert np.abs(equal.values - plainly[:, order]).max() < ROUNDING
        assert by_mass.axes[1]["size"].sum() == len(atoms)
        assert len(set(by_mass.axes[1].labels())) == len(first)


def test_groups_are_residues_molecules_chains_or_the_selection(systems: Systems) -> None:
    """Labels name them, and add the first atom where names repeat."""
    adk = systems["adk.xtc"].trajectory
    protein = adk.select("protein")
    assert tj.centers(protein, frames=[0]).axes[1].labels(2) == ["MET1", "ARG2"]
    assert tj.centers(protein, by="chain", frames=[0]).axes[1].labels() == ["chain 4AKE"]
    assert tj.centers(protein, by="molecule", frames=[0]).axes[1].labels() == ["MET1-GLY214"]
    whole = tj.centers(protein, by="selection")
    assert whole.axes[1].labels() == ["protein"]
    assert whole.values.tobytes() == tj.centers(protein, by="chain").values.tobytes()
    solvated = tj.open(datafiles.TPR, datafiles.XTC)
    some = solvated.select("resid 1:3 or resname NA+")
    parts = [*some.split("molecule")]
    result = tj.centers(some, by="molecule")
    assert len(parts) == len(result.axes[1]) == 5
    assert result.axes[1].labels(1) == ["MET1-ILE3"]
    assert all(label.startswith("NA+") for label in result.axes[1].labels()[1:])
    for k, part in enumerate(parts):
        alone = tj.centers(part, by="selection").values[:, 0]
        assert alone.tobytes() == result.values[:, k].copy().tobytes()
    twice = tj.centers(adk.select(np.arange(20)), by="residue", weights=np.arange(1.0, 21.0))
    x = adk.read(atoms=np.arange(19)).positions.astype(np.float64)
    expected = np.average(x, axis=1, weights=np.arange(1.0, 20.0))
    assert np.abs(twice.values[:, 0] - expected).max() < ROUNDING


def test_names_that_repeat_get_their_chain(tmp_path: Path) -> None:
    """As in dimers, whose chains have the same residues."""
    atoms = [(k, chain, number) for k, (chain, number) in enumerate(product("AB", (7, 8)))]
    atoms.append((4, "B", 9))
    lines = [
        f"ATOM  {k + 1:5}  CA  ALA {chain}{number:4}    {k:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00\n"
        for k, chain, number in atoms
    ]
    path = tmp_path / "dimer.pdb"
    path.write_text("".join([*lines, "END\n"]))
    dimer = tj.open(path).select("all")
    assert tj.centers(dimer).axes[1].labels() == ["A:ALA7", "A:ALA8", "B:ALA7", "B:ALA8", "B:ALA9"]
    assert tj.centers(dimer, by="chain").axes[1].labels() == ["chain A", "chain B"]


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "skewed.dcd", "cobrotoxin.trr"])
def test_distances_of_centers_equal_those_of_all_images(systems: Systems, name: str) -> None:
    """Nearest images of the centres in cells of any shape, and differences as they are."""
    system = systems[name]
    traj = system.trajectory
    chosen = traj.select(np.arange(90) * (traj.n_atoms // 90))
    a, b = traj.select(chosen.indices[:30]), traj.select(chosen.indices[30:])
    n_a = len(tj.centers(a, weights="equal", frames=[0]).axes[1])
    across = tj.center_distances(a, b, by="residue", weights="equal")
    within = tj.center_distances(a, by="residue", weights="equal")
    stored = tj.center_distances(a, b, by="residue", weights="equal", pbc=False)
    assert across.values.shape[:2] == (traj.n_frames, n_a)
    assert within.values.shape == (traj.n_frames, n_a * (n_a - 1) // 2)
    cells = traj.read(atoms=[0]).cells
    for k in range(0, traj.n_frames, max(1, traj.n_frames // 3)):
        x, y = (tj.centers(s, weights="equal", frames=[k]).values[0] for s in (a, b))
        vectors = system.vectors(cells[k])
        assert np.abs(across.values[k] - plain.between(x, y, vectors)).max() < ROUNDING
        assert np.abs(within.values[k] - plain.within(x, vectors)).max() < ROUNDING
        assert np.abs(stored.values[k] - plain.between(x, y)).max() < ROUNDING


def test_distance_of_two_domains_is_that_of_mdanalysis(systems: Systems) -> None:
    """Centres of mass of selections, of texts in a list, and of AtomGroups."""
    system = systems["adk.xtc"]
    traj, universe = system.trajectory, system.universe
    lid, core = (universe.select_atoms(text) for text in (LID, CORE))
    expected = every_frame(
        system, lambda: np.linalg.norm(lid.center_of_mass() - core.center_of_mass())
    )
    result = tj.center_distances(traj.select(LID), CORE)
    assert result.values.shape == (98, 1, 1)
    assert np.abs(result.values[:, 0, 0] - expected).max() < ROUNDING
    assert result.columns == (f"{LID} - {CORE}",)
    several = tj.center_distances([traj.select(LID), CORE, "resid 30-59"])
    assert several.values.shape == (98, 3)
    assert several.values[:, 0].copy().tobytes() == result.values.tobytes()
    assert tj.center_distances(lid, core).values.tobytes() == result.values.tobytes()


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc"])
def test_ends_are_the_first_and_last_atoms(systems: Systems, name: str) -> None:
    """The ends of the selection, in its order, or of each chain, residue or molecule."""
    system = systems[name]
    atoms = system.universe.select_atoms("name CA")
    expected = every_frame(
        system, lambda: np.linalg.norm(np.subtract(*atoms.positions[[0, -1]].astype(np.float64)))
    )
    selection = system.trajectory.select("name CA")
    result = tj.end_to_end(selection)
    assert result.values.shape == (len(expected),)
    assert np.abs(result.values - expected).max() < ROUNDING
    residues = tj.end_to_end(system.trajectory.select("name N C"), by="residue")
    x = system.trajectory.select("name N C").read().positions.astype(np.float64)
    twin = np.linalg.norm(x[:, ::2] - x[:, 1::2], axis=2)
    assert residues.values.shape == twin.shape
    assert np.abs(residues.values - twin).max() < ROUNDING
    assert residues.columns[:2] == ("MET1", "ARG2")


def test_bad_requests_are_errors_that_say_what_to_do(adk: Adk, tmp_path: Path) -> None:
    """Unknown groups, single groups, weights of several selections, chains of one atom."""
    traj = tj.open(adk.psf, adk.xtc)
    calpha = traj.select("name CA")
    with raises(ValueError):
        tj.centers(calpha, by="atoms")  # type: ignore[arg-type]
    with raises(tj.SelectionError):
        tj.center_distances(calpha)
    with raises(ValueError):
        tj.center_distances(calpha, "name CB", weights=np.ones(214))
    with raises(ValueError):
        tj.centers(traj.select([0, 1, 19]), weights=[1, 1, 0])
    with raises(tj.SelectionError):
        tj.end_to_end(calpha, by="residue")
    with raises(TypeError):
        tj.center_distances([], calpha)
    gro = tj.open(datafiles.GRO, datafiles.XTC)
    with raises(tj.SelectionError):
        tj.centers(gro.select("protein"), by="molecule")


def test_frames_without_a_cell_have_differences_of_positions(tmp_path: Path) -> None:
    """Those between them have nearest images."""
    traj, have_cell = in_changing_cells(tmp_path, 8)
    assert have_cell == [True, False, True, True, False, True]
    pairs = [traj.select([k, k + 1]) for k in range(0, 20, 2)]
    result, plainly = (
        tj.center_distances(pairs, weights="equal", pbc=pbc).values for pbc in (True, False)
    )
    assert (result != plainly).any(axis=1).tolist() == have_cell


def test_figures_name_the_groups(adk: Adk) -> None:
    """Centres have a panel for each axis; many distances are drawn as a matrix."""
    protein = tj.open(adk.psf, adk.xtc).select("resid 1-9")
    centers = tj.centers(protein)
    assert [axes.get_ylabel() for axes in centers.plot().axes] == ["x (Å)", "y (Å)", "z (Å)"]
    drawn = tj.center_distances(protein, by="residue").plot().axes[0]
    assert drawn.get_ylabel() == "group (resid 1-9)"
    assert [label.get_text() for label in drawn.get_xticklabels()] == [*"123456789"]


def test_command_refuses_one_group_alone(adk: Adk) -> None:
    """Before files are read."""
    misuse("center_distances", adk.psf, adk.xtc, "--select", LID)
