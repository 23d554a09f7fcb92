"""The selection language, compared with MDAnalysis on random expressions."""

import fnmatch
import pickle
import random
import re
from collections import Counter
from dataclasses import dataclass, field

import MDAnalysis as mda
import numpy as np
import pytest
from helpers import plain_geometry as plain
from helpers.messages import raises
from helpers.selection_expressions import (
    GROUPS,
    KINDS,
    Expression,
    Generator,
    is_known_departure,
    without_departures,
)
from helpers.selection_twin import Twin, has_cylinder, has_negative_distance
from MDAnalysisTests import datafiles
from trajet._trajet import SelectionError, SelectionText, Topology, select_atoms

# Files, and the number of expressions of the gate.
SYSTEMS = {
    "protein.psf": ((datafiles.PSF, datafiles.DCD), 200),
    "solvated.gro": ((datafiles.GRO,), 5),
    "rna.psf": ((datafiles.RNA_PSF, datafiles.RNA_PDB), 10),
    "nucleotides.pdb": ((datafiles.NUCLsel,), 200),
    "icodes.pdb": ((datafiles.PDB_icodes,), 270),
    "altlocs.pdb": ((datafiles.PDB_full,), 200),
    "formal_charges.pdb": ((datafiles.PDB_charges,), 330),
    "skewed.psf": ((datafiles.PSF_TRICLINIC, datafiles.DCD_TRICLINIC), 230),
    "hexagonal_segments.psf": ((datafiles.PSF_NAMD_TRICLINIC, datafiles.DCD_NAMD_TRICLINIC), 45),
    "octahedron.prmtop": ((datafiles.PRM7, datafiles.NCDFtruncoct), 110),
    "lysozyme.tpr": ((datafiles.TPR2020,), 200),
    "membrane.gro": ((datafiles.Martini_membrane_gro,), 120),
    "radii.pqr": ((datafiles.PQR_icodes,), 100),
}
# Other seeds than 0: MDAnalysis takes longer for one expression of that than for all others.
SEEDS = {"solvated.gro": 2}
COLUMNS = [
    "names",
    "types",
    "elements",
    "altLocs",
    "record_types",
    "chainIDs",
    "ids",
    "masses",
    "charges",
    "formalcharges",
    "occupancies",
    "tempfactors",
    "radii",
]
# Ours are exact in float64; MDAnalysis calculates in float32 in places.
OUR_MARGIN, THEIR_MARGIN = 1e-6, 1e-3


def columns_of(universe: mda.Universe) -> Topology:
    """Return the topology of a Universe, column by column."""
    atoms, residues = universe.atoms, universe.residues
    columns: dict[str, object] = {
        "resindices": atoms.resindices,
        "segindices": residues.segindices,
        "segids": list(universe.segments.segids),
        "resnames": list(residues.resnames) if hasattr(residues, "resnames") else None,
        "resids": residues.resids,
    }
    if hasattr(residues, "icodes"):
        columns["icodes"] = list(residues.icodes)
    for name in COLUMNS:
        if hasattr(atoms, name):
            values = getattr(atoms, name)
            columns[name] = list(values) if values.dtype == object else values.astype(_wide(values))
    if hasattr(atoms, "molnums"):
        columns |= {"molnums": atoms.molnums, "moltypes": list(atoms.moltypes)}
    bonds = universe.bonds.indices.astype(np.int64) if hasattr(universe, "bonds") else None
    columns = {name: values for name, values in columns.items() if values is not None}
    return Topology.from_columns(columns, bonds, [])


def _wide(values: np.ndarray) -> type:
    return np.float64 if values.dtype.kind == "f" else np.int64


@dataclass
class System:
    """One system in both programs."""

    universe: mda.Universe
    topology: Topology
    groups: dict[str, mda.AtomGroup]
    generator: Generator
    settled: Counter = field(default_factory=Counter)
    # The messages of our last error and of MDAnalysis'.
    refusal: str = ""
    failure: str = ""

    def ours(self, text: str) -> np.ndarray | None:
        """Return the atoms that trajet selects; None if it refuses."""
        cell = self.universe.dimensions
        vectors = None if cell is None else plain.cell_vectors(cell.astype(np.float64))
        groups = {name: atoms.indices for name, atoms in self.groups.items()}
        self.refusal = ""
        try:
            return select_atoms(self.topology, text, self.universe.atoms.positions, vectors, groups)
        except SelectionError as error:
            self.refusal = str(error)
            return None

    def theirs(self, text: str) -> np.ndarray | None:
        """Return the atoms that MDAnalysis selects; None if it fails in any way."""
        self.failure = ""
        try:
            return self.universe.select_atoms(text, **self.groups).indices
        except Exception as error:
            self.failure = str(error)
            return None

    def difference(self, expression: Expression) -> str | None:
        """Return what differs without a reason."""
        ours = self.ours(expression.text)
        if expression.oracle is None:
            return None if ours is None else f"{expression.text!r} is accepted"
        theirs = self.theirs(expression.oracle)
        if ours is None and theirs is None:
            self.settled["both refuse"] += 1
            return None
        if ours is not None and theirs is not None and np.array_equal(ours, theirs):
            self.settled["the same atoms"] += 1
            return None
        text = f"{expression.text!r}: trajet {_short(ours)}, MDAnalysis {_short(theirs)}"
        reason = self.reason(expression, ours, theirs)
        if reason is None:
            return text
        self.settled[reason] += 1
        print(f"settled, {reason}: {text}")
        return None

    def reason(  # noqa: PLR0911
        self, expression: Expression, ours: np.ndarray | None, theirs: np.ndarray | None
    ) -> str | None:
        """Return why both may differ; None if one of them is wrong."""
        if ours is None and "are not connected by the bonds" in self.refusal:
            return "bonds of some residues, which MDAnalysis takes for all"
        if expression.tree is None:
            if ours is None and is_known_departure(expression.text):
                return "MDAnalysis ignores a part"
            has_codes = hasattr(self.universe.residues, "icodes")
            plainly = without_departures(expression.text, has_codes=has_codes)
            if ours is None or plainly == expression.text:
                return None
            again = self.theirs(plainly)
            if again is not None and np.array_equal(ours, again):
                return "a spelling that MDAnalysis misreads"
            return "at a cut-off" if self._are_close(plainly, ours) else None
        if ours is None or not self._is_between(expression, ours, OUR_MARGIN):
            return None
        if theirs is None:
            if has_negative_distance(expression.tree):
                return "MDAnalysis fails at a negative distance"
            # Ours are those of the twin.
            is_far = "too large for box" in self.failure
            return "a distance that MDAnalysis refuses in this cell" if is_far else None
        if self._is_between(expression, theirs, THEIR_MARGIN):
            return "at a cut-off"
        cell = self.universe.dimensions
        if cell is None:
            return None
        if has_cylinder(expression.tree):
            return "an image in a cylinder that MDAnalysis misses"
        return (
            None if np.all(cell[3:] == 90) else "an image in a turned cell that MDAnalysis misses"
        )

    def _are_close(self, text: str, selected: np.ndarray) -> bool:
        """Return whether these are the atoms with a coordinate, close in float64."""
        found = re.fullmatch(r"\s*prop ([xyz]) == (\S+)\s*", text)
        if found is None:
            return False
        coordinates = self.universe.atoms.positions[:, "xyz".index(found[1])].astype(np.float64)
        close = np.flatnonzero(np.isclose(coordinates, float(found[2])))
        return np.array_equal(selected, close)

    def _is_between(self, expression: Expression, selected: np.ndarray, margin: float) -> bool:
        try:
            sure, possible = Twin(self.universe, self.groups, margin).bounds(expression.tree)
        except Exception:
            # MDAnalysis refuses a part of it.
            return False
        mask = np.zeros(len(sure), bool)
        mask[selected] = True
        return bool((sure <= mask).all() and (mask <= possible).all())


def _short(selected: np.ndarray | None) -> str:
    return "refuses" if selected is None else f"has {len(selected)}: {selected[:8].tolist()}"


def system(name: str, seed: int) -> System:
    """Load a system."""
    universe = mda.Universe(*map(str, SYSTEMS[name][0]))
    atoms, residues = universe.atoms, universe.residues
    random_ = random.Random(f"{name} {seed}")
    sample = random_.sample(range(len(atoms)), min(len(atoms), 400))
    columns: dict[str, object] = {
        "indices": sample,
        "resindices": range(len(residues)),
        "segindices": range(len(universe.segments)),
        "segids": list(universe.segments.segids),
        "resids": residues.resids,
        "positions": atoms.positions[sample],
        "atom_names": atoms.names[sample],
        "atom_segids": atoms.segids[sample],
        "atom_resids": atoms.resids[sample],
    }
    for column in (*COLUMNS, "resnames", "icodes", "moltypes", "molnums"):
        owner = residues if column in ("resnames", "icodes") else atoms
        if hasattr(owner, column):
            values = getattr(owner, column)
            columns[column] = values if column == "icodes" else np.unique(values)
    groups = {}
    for group, share in zip(GROUPS, (0.3, 0.01, 0.1, 0.5), strict=True):
        groups[group] = atoms[
            sorted(random_.sample(range(len(atoms)), int(share * len(atoms)) + 1))
        ]
    return System(universe, columns_of(universe), groups, Generator(columns, random_))


def compare(name: str, seed: int, count: int) -> None:
    """Compare random expressions on one system; print how the differences were settled."""
    compared = system(name, seed)
    wrong = []
    for number in range(count):
        if number % 20 == 0:
            compared.universe.trajectory[number // 20 % len(compared.universe.trajectory)]
        if (difference := compared.difference(compared.generator.expression())) is not None:
            wrong.append(difference)
    print(f"{name}: {dict(compared.settled)}")
    assert not wrong, f"{len(wrong)} of {count} differ:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("name", SYSTEMS)
def test_random_selections_equal_those_of_mdanalysis(name: str) -> None:
    """Whatever the expression: the same atoms, or both refuse."""
    compare(name, SEEDS.get(name, 0), SYSTEMS[name][1])


@pytest.mark.long
@pytest.mark.parametrize("name", SYSTEMS)
def test_many_random_selections_equal_those_of_mdanalysis(name: str) -> None:
    """The same with 50,000 expressions."""
    compare(name, 1, 25 * SYSTEMS[name][1])


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        # Residues of the atoms are not added, distances are too long, alternatives are excluded.
        (r"\bbyres\b", ""),
        (r"\baround(\s+)(?=[\d.])", r"around\g<1>1"),
        (r"\bor\b", "and"),
    ],
)
def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch, rule: str, wrong: str) -> None:
    """The expressions of the gate fail if they are evaluated by another rule."""
    right = select_atoms

    def mutant(topology: Topology, text: str, *rest: object) -> np.ndarray:
        return right(topology, re.sub(rule, wrong, text), *rest)

    monkeypatch.setitem(compare.__globals__, "select_atoms", mutant)
    count = SYSTEMS["icodes.pdb"][1]
    with raises(AssertionError):
        compare("icodes.pdb", 0, count)


def test_the_gate_compares_two_thousand_selections() -> None:
    """Shares of systems may change, their sum may not fall."""
    assert sum(count for _, count in SYSTEMS.values()) >= 2000


def test_sets_of_names_are_those_of_mdanalysis() -> None:
    """Residues and atoms of every kind, one by one."""
    residues = {"XXX", "TIP5", "UNK"}
    names = {"CA", "H5T", "OXT"}
    keywords = sorted({*KINDS} - {"all"})
    for keyword in keywords:
        for attribute, found in vars(mda.core.selection._SELECTIONDICT[keyword]).items():
            if isinstance(found, set):
                (residues if attribute.endswith("_res") else names).update(found)
    pairs = [(residue, name) for residue in sorted(residues) for name in sorted(names)]
    universe = mda.Universe.empty(
        len(pairs),
        n_residues=len(pairs),
        atom_resindex=range(len(pairs)),
        residue_segindex=[0] * len(pairs),
    )
    universe.add_TopologyAttr("names", [name for _, name in pairs])
    universe.add_TopologyAttr("resnames", [residue for residue, _ in pairs])
    columns: dict[str, object] = {
        "names": [name for _, name in pairs],
        "resnames": [residue for residue, _ in pairs],
        "resindices": np.arange(len(pairs)),
        "segindices": np.zeros(len(pairs), np.int64),
        "segids": ["SYSTEM"],
    }
    topology = Topology.from_columns(columns, None, [])
    for keyword in keywords:
        selected = select_atoms(topology, keyword)
        assert np.array_equal(selected, universe.select_atoms(keyword).indices), keyword
        assert 0 < len(selected) < len(pairs)


def test_wildcards_equal_fnmatch() -> None:
    """Names and patterns with all special characters."""
    random_ = random.Random(0)

    def word(letters: str) -> str:
        return "".join(random_.choice(letters) for _ in range(random_.randrange(1, 7)))

    names = sorted({word("ab-]![^\\é") for _ in range(800)})
    columns: dict[str, object] = {
        "names": names,
        "resindices": np.zeros(len(names), np.int64),
        "segindices": np.zeros(1, np.int64),
        "segids": [""],
    }
    topology = Topology.from_columns(columns, None, [])
    for _ in range(2000):
        pattern = word("ab-]![*?[^\\é")
        expected = [at for at, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
        assert select_atoms(topology, f"name {pattern}").tolist() == expected, pattern


@pytest.mark.parametrize(
    "text", ["resname SOL and around 4 protein", "byres name OW and around 3 resid 10"]
)
def test_positions_of_atoms_that_are_not_needed_do_not_matter(text: str) -> None:
    """They are NaN here."""
    compared = system("lysozyme.tpr", 0)
    selection = SelectionText(text)
    needed = selection.atoms_needed(compared.topology)
    positions = np.full((compared.topology.n_atoms, 3), np.nan, np.float32)
    positions[needed] = compared.universe.atoms.positions[needed]
    vectors = plain.cell_vectors(compared.universe.dimensions.astype(np.float64))
    selected = selection.select(compared.topology, positions, vectors)
    assert len(selected) > 0
    assert np.array_equal(selected, compared.universe.select_atoms(text).indices)


def test_a_pickled_selection_selects_the_same() -> None:
    """Workers get the text and the groups."""
    compared = system("icodes.pdb", 0)
    group = np.array([5, 3, 900])
    selection = SelectionText("same resid as group g", {"g": group})
    again = pickle.loads(pickle.dumps(selection))
    selected = selection.select(compared.topology)
    assert len(selected) > 3
    assert np.array_equal(again.select(compared.topology), selected)
    assert str(again) == str(selection)


def test_a_syntax_error_points_at_the_word() -> None:
    """The mark is below the word."""
    with pytest.raises(SelectionError) as caught:
        SelectionText("protein and nam CA")
    *_, text, mark = str(caught.value).splitlines()
    assert text[mark.index("^") : mark.rindex("^") + 1] == "nam"


@pytest.mark.parametrize(
    ("text", "positions", "box"),
    [
        ("element C", None, None),
        ("prop x > 1", None, None),
        ("prop x > 1", np.zeros((1, 3), np.float32), None),
        ("prop x > 1", np.zeros((3341, 3), np.float32), np.zeros((3, 3))),
        ("group none", None, None),
        ("smarts C", None, None),
    ],
)
def test_what_is_missing_is_named(
    text: str, positions: np.ndarray | None, box: np.ndarray | None
) -> None:
    """Columns, positions, boxes, groups and what only MDAnalysis has."""
    compared = system("protein.psf", 0)
    with raises(SelectionError):
        select_atoms(compared.topology, text, positions, box)


@pytest.mark.parametrize("shape", [(3341, 2), (3341, 4)])
def test_positions_have_three_coordinates(shape: tuple[int, int]) -> None:
    """Other shapes are refused."""
    compared = system("protein.psf", 0)
    with raises(ValueError):
        select_atoms(compared.topology, "all", np.zeros(shape, np.float32))
