"""Residues of members that have other names, as after a mutation: their rows are the same rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from trajet.labels import residues_labelled
from trajet.result.member_outcome import MemberOutcome
from trajet.result.result import Result
from trajet.topology import Topology

_R = TypeVar("_R", bound=Result)

# Parts of the name of a row: "phi A:ALA3", "ALA1:CA - GLY2:CA", "ALA1-GLY5".
_DELIMITERS = re.compile(r"([\s:-])")
# Most parts and delimiters of the label of a residue: segments may have hyphens.
_MOST_PARTS = 9
# A letter, and a number behind it, which every label of a residue has.
_LIKE_LABEL = re.compile(r"[^\W\d_].*\d")


def has_labels(result: Result) -> bool:
    """Return whether names of the rows of a result may have labels of residues."""
    return any(_LIKE_LABEL.search(text) for _, texts in _texts(result) for text in texts)


def residues_in(result: Result, topology: Topology) -> dict[str, str]:
    """Return the labels of residues in the names of rows, and chain, number and insertion code.

    Labels that differ by the names of residues only, as without chains LIG1 and ALA1, are left out.
    """
    possible: set[str] = set()
    for _, texts in _texts(result):
        for text in texts:
            parts = _DELIMITERS.split(text)
            for k in range(0, len(parts), 2):
                possible.update(label for _, label in _labels_at(parts, k))
    labelled = residues_labelled(topology, possible)
    found, counts = np.unique(list(labelled.values()), return_counts=True)
    shared = set(found[counts > 1].tolist())
    return {label: residue for label, residue in labelled.items() if residue not in shared}


def with_common_names(outcomes: Sequence[MemberOutcome[_R]]) -> list[MemberOutcome[_R]]:
    """Return results in which residues have the names that they have in the first member.

    Residues are the same if chain, number and insertion code are.
    """
    first: dict[str, str] = {}
    made = []
    for one in outcomes:
        names = {label: first.setdefault(known, label) for label, known in one.residues.items()}
        renamed = {label: name for label, name in names.items() if name != label}
        if one.result is None or not renamed:
            made.append(one)
            continue
        texts = {
            field: tuple(_renamed(text, renamed) for text in texts)
            for field, texts in _texts(one.result)
        }
        made.append(replace(one, result=replace(one.result, **texts), renamed=renamed))
    return made


def _texts(result: Result) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the fields of a result that are lists of names."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, tuple) and value and all(isinstance(one, str) for one in value):
            yield field.name, value


def _labels_at(parts: Sequence[str], begin: int) -> Iterator[tuple[int, str]]:
    """Yield what may be the label of a residue from a part on, the longest first, and its end."""
    for end in range(min(len(parts), begin + _MOST_PARTS), begin, -1):
        label = "".join(parts[begin:end])
        if not label[-1:].isspace() and _LIKE_LABEL.search(label):
            yield end, label


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return the name of a row with other labels of residues."""
    parts, made, k = _DELIMITERS.split(text), [], 0
    while k < len(parts):
        end = next((end for end, label in _labels_at(parts, k) if label in names), None)
        if end is None:
            made.append(parts[k])
            k += 1
        else:
            made.append(names["".join(parts[k:end])])
            k = end
    return "".join(made)
