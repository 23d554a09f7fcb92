"""Columns of atoms in outputs that are lines of text: types, elements, masses, charges."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet.topology import Atoms


class AtomColumns(NamedTuple):
    """Columns that are the same in each frame.

    Attributes
    ----------
    names
        Their names, as the header of the format has them.
    words
        The words of each atom, with a blank between them.
    """

    names: str
    words: list[str]


def lammps_columns(atoms: Atoms) -> AtomColumns:
    """Return the columns `id mol type element mass q` of a dump, without those that are not known.

    `id` are the numbers of the topology, if they rise, as readers sort atoms by them; `mol` is the
    residue, numbered anew if several residues have one number; `type` is the type if types are
    whole numbers, else the types, names or elements are numbered as they appear.
    """
    columns: dict[str, Sequence[object]] = {}
    ids = atoms.column("ids")
    if ids is not None and len(ids) and ids[0] > 0 and (np.diff(ids) > 0).all():
        columns["id"] = ids.tolist()
    if len(atoms) and atoms.column("resids") is not None:
        columns["mol"] = _numbers_of_residues(atoms).tolist()
    columns["type"] = _numbers_of_types(atoms).tolist()
    elements = atoms.column("elements")
    if elements is not None and any(elements):
        columns["element"] = [symbol or "X" for symbol in elements.tolist()]
    for name, column in (("mass", "masses"), ("q", "charges")):
        values = atoms.column(column)
        if values is not None and np.isfinite(values).all() and (name == "q" or values.min() > 0):
            columns[name] = [f"{value:.9g}" for value in values.tolist()]
    rows = zip(*columns.values(), strict=True)
    return AtomColumns(" ".join(columns), [" ".join(map(str, row)) for row in rows])


def xyz_columns(atoms: Atoms) -> AtomColumns:
    """Return the column `species` of extended XYZ: elements, or names where they are not known."""
    names = next(
        (found for name in ("names", "types") if (found := atoms.column(name)) is not None), None
    )
    elements = atoms.column("elements")
    none = [""] * len(atoms)
    symbols, others = (none if one is None else one.tolist() for one in (elements, names))
    words = [symbol or name or "X" for symbol, name in zip(symbols, others, strict=True)]
    return AtomColumns("species:S:1", words)


def _numbers_of_residues(atoms: Atoms) -> NDArray[np.int64]:
    """Return the residue number of each atom, or the place of its residue if numbers repeat."""
    resids = atoms.topology.residues.resids
    if len(np.unique(resids)) == len(resids) and resids.min() >= 0:
        return resids[atoms.residues]
    return atoms.residues + 1


def _numbers_of_types(atoms: Atoms) -> NDArray[np.int64]:
    """Return the type of each atom, from 1."""
    named = (atoms.topology.column(name) for name in ("types", "names", "elements"))
    texts = next((found for found in named if found is not None), None)
    if texts is None:
        return np.ones(len(atoms), np.int64)
    if all(text.isdecimal() and int(text) > 0 for text in np.unique(texts).tolist()):
        return texts[atoms.indices].astype(np.int64)
    _, first, codes = np.unique(texts, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), np.int64)
    numbers[np.argsort(first)] = np.arange(1, len(first) + 1)
    chosen: NDArray[np.int64] = numbers[codes][atoms.indices]
    return chosen
