"""Solvent-accessible surface areas: mdtraj's values, and a naive twin of every point.

The kernel's property tests compare every point with those of a twin over all pairs of atoms.
"""

from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysisTests import datafiles

# Area of one point on the sphere of sulphur, the largest of a protein, Å².
POINT = 4 * np.pi * (1.8 + 1.4) ** 2 / 960
# Those of proteins, Å; mdtraj has other radii for ions.
RADII = {"H": 1.2, "C": 1.7, "N": 1.55, "O": 1.52, "S": 1.8}


def mdtraj_of(selection: tj.Selection, frames: list[int]) -> mdtraj.Trajectory:
    """Return frames of a selection as mdtraj's trajectory, with elements by first letters."""
    topology = mdtraj.Topology()
    chain = topology.add_chain()
    atoms = selection.topology_atoms
    names, residues = atoms.column("names"), atoms.residues
    assert names is not None
    made: dict[int, object] = {}
    for name, residue in zip(names.tolist(), residues.tolist(), strict=True):
        if residue not in made:
            made[residue] = topology.add_residue("ALA", chain)
        symbol = name.lstrip("0123456789")[0]
        topology.add_atom(name, mdtraj.element.get_by_symbol(symbol), made[residue])
    positions = selection.read(frames=frames).positions
    return mdtraj.Trajectory(positions / np.float32(10), topology)


def naive(
    positions: np.ndarray, radii: np.ndarray, atoms: np.ndarray, number: type[np.floating]
) -> np.ndarray:
    """Return the areas of some atoms from every point; angles of the spiral are in this precision.

    `radii` are those of the spheres, with the probe.
    """
    k = np.arange(960).astype(number)
    y = k * number(2 / 960) - number(1) + number(1 / 960)
    across, angles = np.sqrt(number(1) - y * y), k * number(np.pi * (3 - np.sqrt(5)))
    sphere = np.stack([np.cos(angles) * across, y, np.sin(angles) * across], axis=1)
    areas = []
    for i in atoms.tolist():
        points = positions[i] + radii[i] * sphere.astype(np.float64)
        near = np.linalg.norm(positions - positions[i], axis=1) < radii + radii[i]
        near[i] = False
        squares = ((points[:, None] - positions[near]) ** 2).sum(axis=2)
        free = (squares >= radii[near] ** 2).all(axis=1)
        areas.append(4 * np.pi * radii[i] ** 2 * free.mean())
    return np.array(areas)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "cobrotoxin.trr"])
def test_areas_are_those_of_mdtraj(systems: Systems, name: str) -> None:
    """Areas of atoms, residues and all, but for points that mdtraj moves by up to 1e-3 Å.

    It rounds the angles of its spiral, hundreds of turns, to float32. With such points the naive
    twin has mdtraj's areas, and with exact ones ours.
    """
    selection = systems[name].trajectory.select("protein")
    frames = [0, selection.trajectory.n_frames - 1]
    twin = mdtraj_of(selection, frames)
    # Frame by frame: others than the first that a thread of mdtraj computes have other areas.
    expected = 100 * np.concatenate([mdtraj.shrake_rupley(frame) for frame in twin], dtype=float)
    of_atoms = tj.sasa(selection, by="atom", frames=frames).values
    apart = np.abs(of_atoms - expected)
    assert apart.max() < 1.01 * POINT
    positions = selection.read(frames=frames).positions.astype(np.float64)
    names = [atom.element.symbol for atom in twin.topology.atoms]
    radii = np.array([RADII[symbol] for symbol in names]) + 1.4
    for k in range(len(frames)):
        differ = np.flatnonzero(apart[k] > 1e-4)
        assert len(differ) < 0.01 * selection.n_atoms
        ours = naive(positions[k], radii, differ, np.float64)
        assert np.abs(ours - of_atoms[k, differ]).max(initial=0) < 1e-9
        theirs = naive(positions[k], radii, differ, np.float32)
        # All else is in float32, too, which decides on one point or none.
        assert (np.abs(theirs - expected[k, differ]) > 1e-3).sum() <= 1
    of_residues = tj.sasa(selection, by="residue", frames=frames).values
    by_residue = [mdtraj.shrake_rupley(frame, mode="residue") for frame in twin]
    expected = 100 * np.concatenate(by_residue, dtype=float)
    assert of_residues.shape == expected.shape
    assert np.abs(of_residues - expected).max() < 2 * POINT
    totals = tj.sasa(selection, frames=frames).values
    assert np.abs(totals - of_atoms.sum(axis=1)).max() < 1e-9
    assert np.abs(of_residues.sum(axis=1) - totals).max() < 1e-9


def test_context_covers_as_other_atoms_do_in_mdtraj(adk: Adk) -> None:
    """Also where it has atoms of the selection; without it the area is larger."""
    traj = tj.open(adk.psf, adk.xtc)
    protein, lysines = traj.select("protein"), traj.select("resname LYS")
    every = tj.sasa(protein, by="atom", frames=[3]).values[:, lysines.indices]
    for context in ("protein", "protein and not resname LYS", protein):
        covered = tj.sasa(lysines, by="atom", context=context, frames=[3])
        assert np.array_equal(covered.values, every)
        assert covered.report["parameters"]["n_atoms"][0] == lysines.n_atoms
    alone = tj.sasa(lysines, by="atom", frames=[3]).values
    assert (alone >= every).all()
    assert alone.sum() > 1.5 * every.sum()


def test_probe_points_and_radii(adk: Adk) -> None:
    """A lone atom has the area of its sphere; a dict changes elements, an array all atoms."""
    traj = tj.open(adk.psf, adk.xtc)
    atom = traj.select("resid 1 and name CA")

    def area(radius: float) -> float:
        return float(4 * np.pi * radius**2)

    assert np.allclose(tj.sasa(atom, frames=[0]).values, area(3.1), rtol=1e-12)
    assert np.allclose(tj.sasa(atom, frames=[0], probe=0).values, area(1.7), rtol=1e-12)
    assert np.allclose(tj.sasa(atom, radii={"C": 2}, points=7).values, area(3.4), rtol=1e-12)
    numbers = np.zeros(traj.n_atoms)
    assert (tj.sasa(atom, radii=numbers).values == 0).all()
    numbers[atom.indices] = 1
    assert np.allclose(tj.sasa(traj.all_atoms(), radii=numbers, frames=[0]).values, area(2.4))
    # More points, closer values.
    residue = traj.select("resid 7")
    fine = tj.sasa(residue, points=100_000, frames=[0]).values
    errors = [abs(tj.sasa(residue, points=n, frames=[0]).values - fine) for n in (100, 960, 9600)]
    assert errors[2] < errors[1] < errors[0] < 0.05 * fine


def test_bad_input_is_an_error_that_says_what_to_do(
    adk: Adk, systems: Systems, tmp_path: Path
) -> None:
    """Unknown radii, names of elements, shapes, probes, points, and positions."""
    traj = tj.open(adk.psf, adk.xtc)
    atoms = traj.select("resid 1")
    for options in (
        {"by": "chain"},
        {"probe": -1},
        {"probe": float("nan")},
        {"points": 0},
        {"radii": {"Xx": 1.0}},
        {"radii": {"C": -1.0}},
        {"radii": [1.0, 2.0]},
    ):
        with raises(ValueError):
            tj.sasa(atoms, **options)
    with raises(tj.SelectionError):
        tj.sasa(tj.open(datafiles.PDB_sub_sol, datafiles.PDB_sub_sol).select("name MW"))
    beads = tj.open(datafiles.Martini_membrane_gro, datafiles.Martini_membrane_gro)
    with raises(tj.SelectionError):
        tj.sasa(beads.select(range(9)))
    x = np.random.default_rng(5).uniform(0, 3, (6, 5, 3))
    x[4, 2, 1] = np.nan
    broken = tj.open(None, xtc_bytes.write_xtc(tmp_path / "nan.xtc", x)).select(range(5))
    with raises(tj.AnalysisError):
        tj.sasa(broken, radii=np.ones(5))
    assert len(tj.sasa(broken, radii=np.ones(5), frames=slice(0, 4)).values) == 4
