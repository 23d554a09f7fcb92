"""Atoms at different locations of one residue are never there together, whatever the analysis."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.located_structures import Atom, random_structure, write_mmcif, write_pdb
from helpers.messages import raises
from numpy.typing import NDArray

WRITERS = {"pdb": write_pdb, "cif": write_mmcif}
SEEDS = range(12)
CUTOFF = 3.0


def opened(folder: Path, atoms: list[Atom], suffix: str = "pdb") -> tj.Trajectory:
    """Return one frame of the atoms with their topology."""
    top = WRITERS[suffix](folder / f"x.{suffix}", atoms)
    return tj.open(top, write_pdb(folder / "run.pdb", atoms), sidecar=False)


def excluded(atoms: list[Atom]) -> NDArray[np.bool_]:
    """Return which pairs of atoms exclude each other."""
    return np.array([[one.excludes(other) for other in atoms] for one in atoms])


def distances(atoms: list[Atom]) -> NDArray[np.float64]:
    """Return the distance of each pair of atoms."""
    x = np.array([atom.position for atom in atoms], np.float32).astype(float)
    found: NDArray[np.float64] = np.linalg.norm(x[:, np.newaxis] - x, axis=2)
    return found


@pytest.fixture(params=[(seed, suffix) for seed in SEEDS for suffix in WRITERS])
def atoms_and_file(request: pytest.FixtureRequest) -> tuple[list[Atom], str]:
    """Return a random structure, and the format of its topology."""
    seed, suffix = request.param
    return random_structure(np.random.default_rng(seed)), suffix


def test_pairs_are_those_of_a_double_loop(
    atoms_and_file: tuple[list[Atom], str], tmp_path: Path
) -> None:
    """Contacts, nearest pairs, maps and native contacts; within one group, and between two."""
    atoms, suffix = atoms_and_file
    traj = opened(tmp_path, atoms, suffix)
    every, some = traj.select("all"), traj.select("name O H CB")
    apart, left_out = distances(atoms), excluded(atoms)
    assert left_out.any() or len({atom.location for atom in atoms}) == 1
    counted = ~left_out & ~np.eye(len(atoms), dtype=bool)
    close = counted & (apart <= CUTOFF)
    assert tj.contacts(every, cutoff=CUTOFF).values[0] == np.triu(close).sum()
    assert tj.contacts(every, some, cutoff=CUTOFF).values[0] == close[:, some.indices].sum()
    nearest = tj.min_distance(every, some)
    expected = np.where(counted, apart, np.inf)[:, some.indices]
    assert nearest.values[0] == pytest.approx(expected.min(), abs=1e-6)
    assert counted[tuple(nearest.pairs[0])]
    by_atom = tj.contact_map(every, by="atom", cutoff=CUTOFF)
    assert np.array_equal(np.isnan(by_atom.values), ~counted)
    assert np.array_equal(by_atom.counts, close)
    native = tj.native_contacts(
        every, cutoff=CUTOFF, heavy_only=False, exclude_neighbors=-1, method="hard"
    )
    assert {*map(tuple, native.pairs.tolist())} == {*zip(*np.nonzero(np.triu(close)), strict=True)}
    # A selection that follows the frame.
    moving = traj.select("name O H CB and around 4 name N", updating=True)
    members = moving.at(0).indices
    assert tj.contacts(moving, every, cutoff=CUTOFF).values[0] == close[members].sum()


def test_atoms_are_not_covered_by_those_that_exclude_them(
    atoms_and_file: tuple[list[Atom], str], tmp_path: Path
) -> None:
    """The area of an atom is that in the structure without these."""
    atoms, suffix = atoms_and_file
    areas = tj.sasa(opened(tmp_path, atoms, suffix).select("all"), by="atom").values[0]
    left_out = excluded(atoms)
    for k in range(0, len(atoms), 6):
        kept = np.flatnonzero(~left_out[k])
        alone = opened(tmp_path, [atoms[i] for i in kept])
        found = tj.sasa(alone.select("all"), by="atom").values[0]
        assert areas[k] == found[np.searchsorted(kept, k)]


def test_bonds_are_those_of_each_location(
    atoms_and_file: tuple[list[Atom], str], tmp_path: Path
) -> None:
    """Guessed bonds and hydrogen bonds, compared with those of the file with one location."""
    atoms, suffix = atoms_and_file
    traj = opened(tmp_path, atoms, suffix)
    left_out = excluded(atoms)
    bonds = {*map(tuple, traj.topology.guessed_bonds.tolist())}
    assert bonds
    assert not any(
        a != b and a and b for a, b in ((atoms[i].location, atoms[j].location) for i, j in bonds)
    )
    options = {"guess_bonds": True, "list_bonds": True, "cutoff": 4.0, "angle": 60.0, "pbc": False}
    found = tj.hbonds(traj.select("all"), **options).bonds  # type: ignore[arg-type]
    assert found is not None
    triples = {
        *map(tuple, np.stack([found.donors, found.hydrogens, found.acceptors], axis=1).tolist())
    }
    assert not any(left_out[a, d] or left_out[a, h] for d, h, a in triples)
    for letter in "ABC":
        kept = [i for i, atom in enumerate(atoms) if atom.location in ("", letter)]
        alone = opened(tmp_path, [atoms[i] for i in kept])
        expected = {(kept[i], kept[j]) for i, j in alone.topology.guessed_bonds.tolist()}
        assert {pair for pair in bonds if {*pair} <= {*kept}} == expected
        listed = tj.hbonds(alone.select("all"), **options).bonds  # type: ignore[arg-type]
        assert listed is not None
        rows = np.stack([listed.donors, listed.hydrogens, listed.acceptors], axis=1)
        numbers = {tuple(kept[i] for i in row) for row in rows.tolist()}
        assert {one for one in triples if {*one} <= {*kept}} == numbers


def advised(messages: list[str]) -> list[str]:
    """Return the selections that messages on alternate locations advise."""
    found = [re.search(r"'… and (.*)'", one) for one in messages if "count once" in one]
    return [one[1] if one else "" for one in found]


ANALYSES: dict[str, Callable[[tj.Selection], tj.Report]] = {
    "contacts": lambda atoms: tj.contacts(atoms).report,
    "sasa": lambda atoms: tj.sasa(atoms).report,
    "hbonds": lambda atoms: (
        tj.hbonds(atoms, guess_bonds=True, cutoff=5.0, angle=0.0, pbc=False).report
    ),
    "fit": lambda atoms: tj.rmsf(atoms.trajectory.fit(atoms).select(str(atoms.text))).report,
    "center": lambda atoms: tj.rmsf(atoms.trajectory.center(atoms).select(str(atoms.text))).report,
}


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.parametrize("text", ["all", "name N O H", "name N O", "not name H"])
def test_followed_advice_ends_the_message(name: str, text: str, tmp_path: Path) -> None:
    """In every structure, whatever is selected."""
    analysis = ANALYSES[name]
    n_messages = 0
    for seed in SEEDS:
        traj = opened(tmp_path, random_structure(np.random.default_rng(seed)))
        found = advised(analysis(traj.select(text)).messages)
        for advice in found:
            again = analysis(traj.select(f"({text}) and {advice}"))
            assert advised(again.messages) == [], (seed, advice)
        n_messages += len(found)
    assert n_messages >= len(SEEDS) // 2


def test_names_that_selections_cannot_tell_apart_have_another_advice(tmp_path: Path) -> None:
    """Wildcards, and two residues of one number in chains without names."""
    x = (0.0, 0.0, 0.0)
    one = [Atom("CA", letter, "ALA", "A", 1, "", x) for letter in "A?"]
    one.append(Atom("CB", "A", "ALA", "A", 1, "", x))
    two = [Atom("CA", letter, "ALA", " ", 1, "", x) for letter in "ABCB"]
    for atoms in (one, [*two[:2], Atom("N", "", "GLY", " ", 2, "", x), *two[2:]]):
        (message,) = tj.gyration(opened(tmp_path, atoms).select("all")).messages
        assert "use a topology with one location of each residue" in message


def test_all_atoms_exclude_each_other(tmp_path: Path) -> None:
    """Then there is no nearest pair."""
    atoms = [Atom("CA", letter, "ALA", "A", 1, "", (0.0, 0.0, 1.0)) for letter in "AB"]
    traj = opened(tmp_path, atoms)
    with raises(tj.SelectionError):
        tj.min_distance(traj.select("altloc A"), "altloc B")


def test_molecules_at_two_locations_are_made_whole(tmp_path: Path) -> None:
    """Each location by its own bonds; none lacks bonds to another one."""
    rng = np.random.default_rng(1)
    atoms = []
    for number in range(1, 21):
        for letter in "AB":
            o = rng.uniform(0, 18, 3)
            for name, step in (("O", (0, 0, 0)), ("H1", (0.96, 0, 0)), ("H2", (-0.24, 0.93, 0))):
                at = tuple(((o + step) % 18).round(3).tolist())
                atoms.append(Atom(name, letter, "HOH", "A", number, "", at))
    path = write_pdb(tmp_path / "x.pdb", atoms)
    path.write_text(path.read_text().replace("40.000", "18.000"))
    traj = tj.open(path, path, sidecar=False).whole(guess_bonds=True)
    x = traj.read().positions[0].reshape(-1, 3, 3)
    assert np.linalg.norm(x[:, 1:] - x[:, :1], axis=2).max() < 1.0
