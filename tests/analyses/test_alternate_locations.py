"""Alternate locations and split residues: atoms count once each, and exclude others."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import numbers_of_analyses, peptides
from helpers.located_structures import Atom, random_structure, write_mmcif, write_pdb
from helpers.messages import raises
from numpy.typing import NDArray
from trajet.result import Table

# Residues: chain, number, insertion code, name, and names of atoms with their locations.
Residue = tuple[str, int, str, str, dict[str, str]]
SYSTEMS: dict[str, tuple[list[Residue], str]] = {
    "one residue": (
        [("A", 1, " ", "SER", {"N": " ", "CA": " ", "CB": "AB", "OG": "AB"})],
        "not altloc B",
    ),
    "three locations": (
        [("A", 1, " ", "SER", {"CA": "ABC", "CB": "AC"}), ("A", 2, " ", "GLY", {"CA": " "})],
        "not altloc B C",
    ),
    "other letters": (
        [
            ("A", 1, " ", "SER", {"CA": "AB"}),
            ("A", 2, " ", "SER", {"CA": "BC"}),
            ("B", 2, " ", "SER", {"CA": "AB"}),
        ],
        "(not altloc B C or (altloc B and chainID A and resid 2))",
    ),
    "a letter alone": (
        [("A", 1, " ", "SER", {"CA": "AB"}), ("A", 7, "C", "SER", {"CA": "B", "CB": "B"})],
        "(not altloc B or (altloc B and chainID A and resid 7C))",
    ),
    "letters of other atoms": (
        [("A", 1, " ", "SER", {"CA": " ", "CB": "A", "OG": "BC"})],
        "not altloc B C",
    ),
    "blank and letter": ([("A", 1, " ", "SER", {"CA": " B", "CB": " "})], "not altloc B"),
    "two names of a residue": (
        [("A", 1, " ", "SER", {"CA": "A", "OG": "A"}), ("A", 1, " ", "THR", {"CA": "B"})],
        "not altloc B",
    ),
}


def opened(folder: Path, residues: list[Residue]) -> tj.Trajectory:
    """Return one frame of the residues, with random positions."""
    rng = np.random.default_rng(0)
    lines = []
    for chain, number, code, residue, atoms in residues:
        for name, locations in atoms.items():
            for location in locations:
                x = "".join(f"{value:8.3f}" for value in rng.uniform(0, 20, 3))
                lines.append(
                    f"ATOM  {len(lines) + 1:5d}  {name:<3s}{location}{residue} {chain}{number:4d}"
                    f"{code}   {x}  0.50  0.00           {name[0]}"
                )
    path = folder / "x.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    return tj.open(path, path, sidecar=False)


def advice(report: tj.Report) -> list[str]:
    """Return the selections of the messages on alternate locations."""
    found = [re.search(r"'… and (.*)'", one) for one in report.messages if "alternate" in one]
    return [one[1] if one else "" for one in found]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_advised_selection_has_each_atom_once(name: str, tmp_path: Path) -> None:
    """Whichever locations the residues have; then nothing is reported."""
    residues, expected = SYSTEMS[name]
    traj = opened(tmp_path, residues)
    (text,) = advice(tj.gyration(traj.select("all"), weights="equal").report)
    assert text == expected
    one = traj.select(f"all and {text}")
    atoms = one.topology_atoms
    keys = {
        (str(a), int(b), str(c))
        for a, b, c in zip(
            atoms.column("chainIDs"),  # type: ignore[arg-type]
            atoms.column("resids"),  # type: ignore[arg-type]
            atoms.column("names"),  # type: ignore[arg-type]
            strict=True,
        )
    }
    assert len(keys) == one.n_atoms
    assert {key[:2] for key in keys} == {(chain, number) for chain, number, *_ in residues}
    assert advice(tj.gyration(one, weights="equal").report) == []


def test_every_analysis_that_counts_them_warns(tmp_path: Path) -> None:
    """Analyses of one selection, of two, and in several runs; not with one location selected."""
    traj = opened(tmp_path, SYSTEMS["one residue"][0])
    every, one = traj.select("all"), traj.select("not altloc B")
    jobs = [
        tj.sasa,
        tj.gyration,
        tj.centers,
        lambda a: tj.rmsd(a, motion="none"),
        tj.rmsf,
        tj.contacts,
        lambda a: tj.contact_map(a, by="atom"),
        lambda a: tj.density(a, spacing=5.0),
        lambda a: tj.apply(a, len),
        lambda a: tj.run([tj.gyration.job(a), tj.centers.job(a)])[1],
        lambda a: tj.distances(traj.select("name N"), a),
    ]
    for k, job in enumerate(jobs):
        assert advice(job(every).report) == ["not altloc B"], k  # type: ignore[no-untyped-call]
        assert advice(job(one).report) == [], k  # type: ignore[no-untyped-call]
    # No atom is counted twice that is not read.
    assert advice(tj.gyration(traj.select("name N CA")).report) == []


WRITERS = {"pdb": write_pdb, "cif": write_mmcif}
SEEDS = range(12)
CUTOFF = 3.0


def opened_atoms(folder: Path, atoms: list[Atom], suffix: str = "pdb") -> tj.Trajectory:
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
    traj = opened_atoms(tmp_path, atoms, suffix)
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
    areas = tj.sasa(opened_atoms(tmp_path, atoms, suffix).select("all"), by="atom").values[0]
    left_out = excluded(atoms)
    for k in range(0, len(atoms), 6):
        kept = np.flatnonzero(~left_out[k])
        alone = opened_atoms(tmp_path, [atoms[i] for i in kept])
        found = tj.sasa(alone.select("all"), by="atom").values[0]
        assert areas[k] == found[np.searchsorted(kept, k)]


def test_bonds_are_those_of_each_location(
    atoms_and_file: tuple[list[Atom], str], tmp_path: Path
) -> None:
    """Guessed bonds and hydrogen bonds, compared with those of the file with one location."""
    atoms, suffix = atoms_and_file
    traj = opened_atoms(tmp_path, atoms, suffix)
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
        alone = opened_atoms(tmp_path, [atoms[i] for i in kept])
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
        traj = opened_atoms(tmp_path, random_structure(np.random.default_rng(seed)))
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
        (message,) = tj.gyration(opened_atoms(tmp_path, atoms).select("all")).messages
        assert "use a topology with one location of each residue" in message


def test_all_atoms_exclude_each_other(tmp_path: Path) -> None:
    """Then there is no nearest pair."""
    atoms = [Atom("CA", letter, "ALA", "A", 1, "", (0.0, 0.0, 1.0)) for letter in "AB"]
    traj = opened_atoms(tmp_path, atoms)
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


_LABELS = ("columns", "labels")
LOCATED = "not altloc B"
# Format, kind of structure, and the selection of the plain one.
CASES = [
    *(("pdb", name, LOCATED) for name in peptides.OF_LOCATIONS),
    *(("cif", name, LOCATED) for name in peptides.OF_LOCATIONS),
    ("gro", "another residue in turn", "not resname THR"),
    ("psf", "another residue in turn", "not resname THR"),
    *(("pdb", name, "all") for name in (*peptides.OF_SEGMENTS, *peptides.OF_CHAINS)),
    *(("psf", name, "all") for name in peptides.OF_SEGMENTS),
]


def opened_rows(folder: Path, suffix: str, rows: list[peptides.Row]) -> tj.Trajectory:
    """Write rows as a topology with frames, and open both."""
    folder.mkdir()
    topology = peptides.WRITERS[suffix](folder / f"t.{suffix}", rows)
    return tj.open(topology, peptides.write_frames(folder / "x.trr", rows, peptides.system()))


def assert_equal(one: Table, other: Table, name: str) -> None:
    """Assert that two results have the same numbers and names of rows."""
    arrays = list(numbers_of_analyses.arrays(one))
    assert arrays
    for (field, mine), (_, theirs) in zip(arrays, numbers_of_analyses.arrays(other), strict=True):
        assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), (name, field)
    assert names(one) == names(other), name


def names(result: object) -> list[str]:
    """Return the names of rows, without indices of atoms."""
    found = [getattr(result, field, None) for field in _LABELS]
    axes = result.axes if isinstance(result, tj.Table) else ()
    found += [tuple(one.labels()) for one in axes if one.elements.get("label") is not None]
    texts = [str(text) for value in found if isinstance(value, tuple) for text in value]
    # Members of an updating selection have its text as their label.
    texts = [text for text in texts if text not in getattr(result, "selections", ())]
    return [re.sub(r"@\d+", "@", text) for text in texts]


@pytest.mark.parametrize(("suffix", "kind", "text"), CASES)
def test_results_are_those_of_the_plain_structure(
    tmp_path: Path, suffix: str, kind: str, text: str
) -> None:
    """All analyses: exclusive locations, parts in turn and far apart, and lacking segments."""
    split = peptides.OF_LOCATIONS | peptides.OF_SEGMENTS | peptides.OF_CHAINS
    plain = opened_rows(tmp_path / "plain", suffix, peptides.system())
    other = opened_rows(tmp_path / "split", suffix, split[kind](peptides.system()))
    theirs = dict(peptides.results(other, text))
    ours = dict(peptides.results(plain, "all"))
    missing = {name.split()[0] for name in ours} ^ {*tj.ANALYSES, "features"}
    # These files have neither charges nor velocities.
    assert missing == {"conductivity", "dielectric_constant", "velocity_autocorrelation"}
    for name, result in ours.items():
        if name in ("hbonds", "interactions") and suffix == "gro":
            # GRO files have no locations, so that bonds are guessed between both residues.
            continue
        if name == "count":
            # Its column is the text of its selection.
            assert np.array_equal(result.values, theirs[name].values)
        elif name == "features":
            assert names(result) == names(theirs[name])
        else:
            assert_equal(result, theirs[name], name)
    # A helix goes through the split residue.
    assert ours["dssp"].values.shape[1] == 23
    assert (ours["dssp"].values[:, 5:8] == "H").any()


def test_places_of_the_plain_structure_are_its_residues(tmp_path: Path) -> None:
    """An ion with the number of a residue is a place of its own, and so is each water."""
    for suffix in peptides.WRITERS:
        topology = opened_rows(tmp_path / suffix, suffix, peptides.system()).topology
        assert topology.n_places == topology.n_residues == 14 + 9 + 1 + 1 + 6
        assert np.array_equal(topology.places, topology.atoms_residues)


def test_selection_language_has_the_residues_of_mdanalysis(tmp_path: Path) -> None:
    """`byres` and `resindex` mean parts; results and `topology.residues` do not."""
    rows = peptides.OF_LOCATIONS["another residue in turn"](peptides.system())
    traj = opened_rows(tmp_path / "split", "pdb", rows)
    universe = traj.universe
    for text in ("byres index 36", "resindex 7", "same residue as index 37"):
        assert np.array_equal(traj.select(text).indices, universe.select_atoms(text).indices)
    residues = traj.topology.residues
    assert traj.topology.n_residues == len(residues.resids) == 32
    assert traj.topology.n_places == 31
    assert (residues.resids == peptides.SPLIT).sum() == 4
    assert len(traj.select("resid 7 and chainID A and not name ZN").split("residue")) == 1
