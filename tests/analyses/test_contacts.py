"""Minimum distances and numbers of contacts equal those of MDAnalysis and of naive twins.

MDAnalysis computes distances in float32, see test_distances.py: pairs whose distance is within
`SINGLE` of the cut-off may be counted or not. The naive twin has the same numbers in float64.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import NAMES, System, Systems, in_changing_cells
from MDAnalysis.lib.distances import distance_array

SINGLE = 3e-5
ROUNDING = 1e-9
CUTOFF = 5.0


def some_atoms(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Return about 60 and about 200 atoms that are near each other; some are in both groups."""
    n_atoms = system.trajectory.n_atoms
    rng = np.random.default_rng(n_atoms)
    near = np.arange(min(n_atoms, 600))
    a = rng.choice(near, 60, replace=False)
    return a, np.concatenate([a[:3], rng.choice(near, 197, replace=False)])


def counts_around(distances: np.ndarray, cutoff: float, off: float) -> tuple[int, int]:
    """Return the numbers of distances that are surely, and perhaps, within the cut-off."""
    return int((distances <= cutoff - off).sum()), int((distances <= cutoff + off).sum())


@pytest.mark.parametrize("name", NAMES)
def test_two_groups_equal_mdanalysis_and_the_twin(systems: Systems, name: str) -> None:
    """All pairs of different atoms count; the nearest pair is at the distance of `distances`."""
    system = systems[name]
    a, b = some_atoms(system)
    traj = system.trajectory
    chosen, other = traj.select(a), traj.select(b)
    result = tj.min_distance(chosen, other, cutoff=CUTOFF)
    counted = tj.contacts(chosen, other, cutoff=CUTOFF)
    every = tj.distances(chosen, other).values
    different = a[:, None] != b
    assert result.contacts is not None
    assert counted.values.tolist() == result.contacts.tolist()
    assert result.contacts.sum() > 100
    cells = traj.read(atoms=[0]).cells
    for k, ts in enumerate(system.universe.trajectory):
        here = [ts.positions[atoms] for atoms in (a, b)]
        least, most = counts_around(every[k][different], CUTOFF, ROUNDING)
        assert least <= result.contacts[k] <= most
        assert result.values[k] == every[k][different].min()
        i, j = result.pairs[k]
        assert result.values[k] in every[k][np.ix_(a == i, b == j)]
        if k < 2:
            twin = plain.between(*here, system.vectors(cells[k]))[different]
            assert abs(result.values[k] - twin.min()) < ROUNDING
            least, most = counts_around(twin, CUTOFF, ROUNDING)
            assert least <= result.contacts[k] <= most
        if not system.charmm:
            theirs = distance_array(*here, box=ts.dimensions)[different]
            assert abs(result.values[k] - theirs.min()) < SINGLE
            least, most = counts_around(theirs, CUTOFF, SINGLE)
            assert least <= result.contacts[k] <= most


@pytest.mark.parametrize("name", NAMES)
def test_pairs_within_one_group_are_counted_once(systems: Systems, name: str) -> None:
    """They are the pairs of `distances` within one selection."""
    system = systems[name]
    chosen = system.trajectory.select(np.unique(some_atoms(system)[1]))
    every = tj.distances(chosen).values
    result = tj.min_distance(chosen, cutoff=CUTOFF)
    assert result.contacts is not None
    assert np.array_equal(result.values, every.min(axis=1))
    for k, row in enumerate(every):
        least, most = counts_around(row, CUTOFF, ROUNDING)
        assert least <= result.contacts[k] <= most
    assert (result.pairs[:, 0] != result.pairs[:, 1]).all()
    assert tj.contacts(chosen, cutoff=CUTOFF).values.tolist() == result.contacts.tolist()


def test_without_images_positions_are_taken_as_they_are(systems: Systems) -> None:
    """With pbc=False a cell, and a cut-off longer than half of it, do not matter."""
    system = systems["solvated.xtc"]
    a, b = (system.trajectory.select(text) for text in ("name CA", "name OW and resid 300:900"))
    frames = slice(0, 3)
    result = tj.min_distance(a, b, cutoff=70.0, pbc=False, frames=frames)
    every = tj.distances(a, b, pbc=False, frames=frames).values.reshape(3, -1)
    assert np.array_equal(result.values, every.min(axis=1))
    assert result.contacts is not None
    assert result.contacts.tolist() == (every <= 70.0).sum(axis=1).tolist()
    assert result.messages == []


def test_groups_far_apart_have_a_nearest_pair(systems: Systems) -> None:
    """The search has no longest distance, with and without images."""
    for name in ("adk.xtc", "solvated.xtc"):
        traj = systems[name].trajectory
        a, b = traj.select("resid 45:55 and name CA"), traj.select("protein and resid 150:160")
        for pbc in (True, False):
            result = tj.min_distance(a, b, pbc=pbc)
            every = tj.distances(a, b, pbc=pbc).values
            assert np.array_equal(result.values, every.min(axis=(1, 2)))
            assert result.values.max() > 10


def test_cells_may_change_from_frame_to_frame(tmp_path: Path) -> None:
    """Some frames have none."""
    traj, _ = in_changing_cells(tmp_path, 7)
    chosen = traj.select(range(traj.n_atoms))
    result = tj.min_distance(chosen, cutoff=9.0)
    every = tj.distances(chosen).values
    assert np.array_equal(result.values, every.min(axis=1))
    assert result.contacts is not None
    assert result.contacts.tolist() == (every <= 9.0).sum(axis=1).tolist()


def test_unusable_requests_are_errors(systems: Systems, tmp_path: Path) -> None:
    """Too long a cut-off, groups without a pair, and atoms without position have one line each."""
    traj = systems["solvated.xtc"].trajectory
    chosen = traj.select("name CA")
    # The shortest lattice vector of this rhombic dodecahedron is 80 Å long.
    tj.contacts(chosen, cutoff=39.9, frames=[0])
    with raises(tj.AnalysisError):
        tj.contacts(chosen, cutoff=41)
    with raises(tj.AnalysisError):
        tj.min_distance(chosen, cutoff=41)
    one = traj.select([3])
    for pair in ((one, None), (one, one), (traj.select([3, 3]), None)):
        with raises(tj.SelectionError):
            tj.min_distance(*pair)
        with raises(tj.SelectionError):
            tj.contacts(*pair)
    for cutoff in (0.0, -1.0, float("nan"), float("inf")):
        with raises(ValueError):
            tj.contacts(chosen, cutoff=cutoff)
    x = np.random.default_rng(3).uniform(0, 2, (3, 9, 3))
    x[1, 4, 2] = np.nan
    path = trr_bytes.write_trr(tmp_path / "nan.trr", x, boxes=[np.eye(3) * 3, None, None])
    broken = tj.open(None, path).select(range(9))
    for compute in (tj.contacts, tj.min_distance):
        with raises(tj.AnalysisError):
            compute(broken)


def test_rows_name_the_residues_of_the_nearest_pair(adk: Adk) -> None:
    """Atoms, their residues, and as many contacts as `contacts` counts."""
    traj = tj.open(adk.psf, adk.xtc)
    result = tj.min_distance(traj.select("resid 30:59"), "resid 122:159", cutoff=6.0)
    assert result.contacts is not None
    rows, topology = result.to_dataframe(), traj.topology
    for of, atoms in zip(("atom", "partner"), result.pairs.T, strict=True):
        assert rows[of].tolist() == atoms.tolist()
        assert rows[f"{of}_resname"].tolist() == topology.resnames[atoms].tolist()
        assert rows[f"{of}_resid"].tolist() == topology.resids[atoms].tolist()
    counted = tj.contacts(traj.select("resid 30:59"), "resid 122:159", cutoff=6.0)
    assert counted.values.tolist() == result.contacts.tolist() == rows["contacts"].tolist()


def test_pairs_within_both_groups_are_reported(adk: Adk) -> None:
    """Twice the contacts of one group, and the report says so."""
    atoms = tj.open(adk.psf, adk.xtc).select("resid 1:5")
    one, two = (tj.contacts(atoms, other, cutoff=5.0, pbc=False) for other in (None, atoms))
    assert (two.values == 2 * one.values).all()
    assert any("counted twice" in message for message in two.messages)
    assert not any("counted twice" in message for message in one.messages)


def test_tables_tell_residues_with_insertion_codes_apart(tmp_path: Path) -> None:
    """ALA52 and ALA52A, also in a part of the frames and in a saved result."""
    rows = [("52", " ", 0.0), ("52", "A", 3.0), ("53", " ", 4.0)]
    frames = [
        "".join(
            f"ATOM  {k:5}  CA  ALA A  {number}{code}   {x:8.3f}{y:8.3f}   0.000  1.00  0.00\n"
            for k, (number, code, x) in enumerate(rows)
        )
        for y in (0.0, 1.0)
    ]
    path = tmp_path / "antibody.pdb"
    path.write_text("".join(f"MODEL {k:8}\n{one}ENDMDL\n" for k, one in enumerate(frames, 1)))
    traj = tj.open(path)
    result = tj.min_distance(traj.select("index 0 1"), "index 2")
    result.save(tmp_path / "near.npz")
    for each in (result, result[1:], tj.load(tmp_path / "near.npz")):
        each.save(tmp_path / "near.csv")
        header, *found = csv.reader((tmp_path / "near.csv").read_text().splitlines())
        codes = [header.index(f"{of}_icode") for of in ("atom", "partner")]
        assert [[row[k] for k in codes] for row in found] == [["A", ""]] * len(each.frames)
    plain = tj.min_distance(traj.select("index 0"), "index 2")
    plain.save(tmp_path / "plain.csv")
    assert "icode" not in (tmp_path / "plain.csv").read_text().partition("\n")[0]
