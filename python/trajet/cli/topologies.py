"""Contents of a topology, for `trajet info`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NotRequired, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import UNNAMED_SEGMENT, SelectionError, TrajetError
from trajet.cli.tables import WIDTH
from trajet.cli.translation import as_options
from trajet.labels import chains_of
from trajet.messages import Message
from trajet.particles import known_elements, without_element
from trajet.quoting import lines_of
from trajet.structure_files import COMPRESSED
from trajet.topology import Topology

# Most names that a line lists, and the characters before what it says.
_MOST = 12
LABEL = 14
# Keywords of selections whose atoms are counted.
_KEYWORDS = ("protein", "backbone", "nucleic", "water")
# Keywords of selections that take values, with the columns that they need.
_WITH_VALUES = {
    **{"name": "names", "resname": "resnames", "resid": "resids", "segid": "segids"},
    **{"chainID": "chainIDs", "type": "types", "element": "elements", "moltype": "moltypes"},
    **{"altLoc": "altLocs", "icode": "icodes"},
}


_T = TypeVar("_T")


class MassFacts(TypedDict):
    """The sum of the masses, and the numbers of atoms of unknown mass and of mass 0."""

    sum: float
    unknown: int
    zero: int


class TopologyFacts(TypedDict):
    """Contents of a topology; names have the numbers of their atoms, residues or molecules."""

    atoms: int
    residues: int
    segments: int
    chains: dict[str, int]
    molecules: int | None
    molecule_types: dict[str, int]
    residue_names: dict[str, int]
    atom_names: dict[str, int]
    elements: dict[str, int]
    mass: MassFacts | None
    charge: float | None
    bonds: int | None
    selections: dict[str, int]
    keywords: list[str]
    messages: list[Message]
    guessed: list[str]
    missing: list[str]
    residue_list: NotRequired[list[dict[str, object]]]


def facts_of(topology: Topology, *, residues: bool = False) -> TopologyFacts:
    """Return what is in a topology.

    Parameters
    ----------
    topology
        The topology.
    residues
        Whether to list all residues.
    """
    names, resnames = topology.column("names"), topology.column("resnames")
    chains = chains_of(topology.atoms)
    if chains is not None and (chains == UNNAMED_SEGMENT).all():
        chains = None
    masses, charges = _masses(topology), topology.column("charges")
    bonds = topology.bonds
    guessed = sorted({"elements", "masses"}.intersection(topology.native.guessed))
    stated = {
        "elements": None if without_element(topology.atoms).all() else topology.column("elements"),
        "masses": None if "masses" in guessed else masses,
        "charges": charges,
        "bonds": bonds,
        "chains": chains,
    }
    facts: TopologyFacts = {
        "atoms": topology.n_atoms,
        "residues": topology.n_residues,
        "segments": topology.n_segments,
        "chains": {} if chains is None else _counted(_of_residues(topology, chains)),
        "molecules": _known(lambda: len(np.unique(topology.molecules))),
        "molecule_types": _molecule_types(topology),
        "residue_names": _counted(resnames),
        "atom_names": _counted(names),
        "elements": _counted(_known(lambda: known_elements(topology.atoms))),
        "mass": masses,
        "charge": None if charges is None else round(float(charges.sum()), 4),
        "bonds": None if bonds is None else len(bonds),
        "selections": _selections(topology),
        "keywords": [word for word in _WITH_VALUES if _has(topology, _WITH_VALUES[word])],
        "messages": list(topology.messages),
        "guessed": guessed,
        "missing": [name for name, value in stated.items() if value is None],
    }
    if residues:
        facts["residue_list"] = _residues(topology, chains)
    return facts


def lines_on(found: TopologyFacts, n_atoms: int | None) -> Iterator[tuple[str, str]]:
    """Yield the lines of `info` on a topology, given its facts.

    Where those on the frames of the same file come before, `n_atoms` is the number of their atoms.
    """
    if n_atoms is None:
        yield "atoms", str(found["atoms"])
    elif n_atoms != found["atoms"]:
        yield "topology", f"{found['atoms']} atoms of all tags, on which the lines below are"
    residues = f"{found['residues']}: "
    yield (
        "residues",
        f"{residues}{_listed(found['residue_names'], '', residues) or 'without names'}",
    )
    if found["chains"]:
        chains = f"{len(found['chains'])}: "
        yield "chains", f"{chains}{_listed(found['chains'], 'residues', chains)}"
    else:
        yield "chains", "not named"
    if found["molecules"] is None:
        yield "molecules", "unknown: there are neither molecules nor bonds"
    else:
        types = _listed(found["molecule_types"], "", f"{found['molecules']}: ")
        yield "molecules", f"{found['molecules']}" + (f": {types}" if types else "")
    yield "atom names", _listed(found["atom_names"], "atoms") or "none"
    yield "elements", _stated(found, "elements", _listed(found["elements"], "atoms"))
    mass = found["mass"]
    yield "masses", _stated(found, "masses", "" if mass is None else f"{mass['sum']:.6g} u in all")
    if mass is not None and mass["unknown"]:
        yield "", f"unknown of {mass['unknown']} atoms: masses as weights are refused there"
    if mass is not None and mass["zero"]:
        yield "", f"zero of {mass['zero']} atoms"
    charge = found["charge"]
    yield "charges", "none" if charge is None else f"{charge + 0.0:.6g} e in all"
    bonds = found["bonds"]
    yield "bonds", "none: --guess-bonds finds them by distances" if bonds is None else str(bonds)
    counts = ", ".join(f"{name} {count}" for name, count in found["selections"].items() if count)
    yield (
        "selections",
        f"{f'{counts} atoms, and ' if counts else ''}by {', '.join(found['keywords'])}",
    )
    for message in found["messages"]:
        yield message.label, as_options(message)


def residue_lines(found: TopologyFacts) -> list[str]:
    """Return a table of all residues."""
    names = ("residue", "chain", "resname", "resid", "atoms", "first atom")
    rows = [
        tuple("" if cell is None else str(cell) for cell in row.values())
        for row in found["residue_list"]
    ]
    return lines_of([names, *rows])


def topology_format(path: str) -> str:
    """Return the format of a topology by the ending of its name, or of that of the file inside."""
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = Path(name.stem)
    return name.suffix.lstrip(".").upper() or "unknown"


def _residues(topology: Topology, chains: NDArray[np.str_] | None) -> list[dict[str, object]]:
    """Return index, chain, name, number, number of atoms and first atom of each residue."""
    counts = np.bincount(topology.atoms_residues, minlength=topology.n_residues)
    first = _first_atoms(topology)
    columns: dict[str, list[object]] = {
        "residue": list(range(topology.n_residues)),
        "chain": _cells(None if chains is None else chains[first], topology.n_residues),
        "resname": _cells(topology.column("resnames"), topology.n_residues),
        "resid": _cells(topology.column("resids"), topology.n_residues),
        "atoms": counts.tolist(),
        "first_atom": first.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cells(column: NDArray[np.str_] | NDArray[np.int64] | None, count: int) -> list[object]:
    return [None] * count if column is None else column.tolist()


def _first_atoms(topology: Topology) -> NDArray[np.int64]:
    """Return the first atom of each residue."""
    return np.unique(topology.atoms_residues, return_index=True)[1]


def _of_residues(topology: Topology, of_atoms: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the value of the first atom of each residue."""
    found: NDArray[np.str_] = of_atoms[_first_atoms(topology)]
    return found


def _counted(values: NDArray[np.str_] | None) -> dict[str, int]:
    """Return how often each text occurs, the most frequent first; empty ones are left out."""
    if values is None:
        return {}
    texts, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(texts[k]): int(counts[k]) for k in order if texts[k]}


def _molecule_types(topology: Topology) -> dict[str, int]:
    """Return the number of molecules of each type that the file names."""
    types, numbers = topology.column("moltypes"), topology.column("molnums")
    if types is None or numbers is None:
        return {}
    return _counted(types[np.unique(numbers, return_index=True)[1]])


def _masses(topology: Topology) -> MassFacts | None:
    """Return facts on the masses; None if no mass is known."""
    masses = topology.column("masses")
    if masses is None or not np.isfinite(masses).any():
        return None
    finite = np.isfinite(masses)
    return {
        "sum": float(masses[finite].sum()),
        "unknown": int((~finite).sum()),
        "zero": int((masses == 0).sum()),
    }


def _selections(topology: Topology) -> dict[str, int]:
    """Return the number of atoms that each of some keywords selects."""
    counts = dict[str, int]()
    for word in _KEYWORDS:
        try:
            counts[word] = len(topology.select(word, str(topology), empty=True))
        except TrajetError:
            continue
    return counts


def _has(topology: Topology, column: str) -> bool:
    """Return whether a topology has a column, and any text or number in it."""
    values = topology.column(column)
    return values is not None and bool((values.dtype.kind != "U") or (values != "").any())


def _known(find: Callable[[], _T]) -> _T | None:
    """Return what a function finds, or None if the topology does not tell."""
    try:
        return find()
    except SelectionError:
        return None


def _stated(found: TopologyFacts, name: str, text: str) -> str:
    """Return the text on a column, with a word on where it is from."""
    if name in found["guessed"] or (text and name in found["missing"]):
        return f"{text} (guessed from names)" if text else "none"
    return text or "none"


def _listed(counts: dict[str, int], of: str, before: str = "") -> str:
    """Return names with their counts, the most frequent first, as far as a line holds them."""
    names = [f"{name} {count}" for name, count in counts.items()]
    if names and of:
        names[0] += f" {of}"
    text = ""
    for n in range(min(_MOST, len(names)), 0, -1):
        more = [f"… and {len(names) - n} more (--json lists all)"] if n < len(names) else []
        text = ", ".join([*names[:n], *more])
        if LABEL + len(before) + len(text) <= WIDTH:
            break
    return text
