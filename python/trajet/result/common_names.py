"""Residues of members that have other names, as after a mutation: their rows are the same rows.

Results know which of their texts are labels of residues or atoms, and of what kind: other texts,
such as selections and the names of atoms, are never read as labels.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, cast

from trajet.labels import ResiduePlace, chains_of_first, residues_labelled
from trajet.result.centers import CenterDistances, Centers
from trajet.result.contact_map import ContactMap
from trajet.result.dihedrals import Dihedrals
from trajet.result.distances import Distances
from trajet.result.member_outcome import MemberOutcome
from trajet.result.report import analysis_of
from trajet.result.result import Result
from trajet.result.secondary import SecondaryStructure
from trajet.result.surface import SurfaceAreas
from trajet.result.table import Table
from trajet.topology import Topology

_R = TypeVar("_R", bound=Result)

# Before and behind labels: "phi ALA3", "cos psi ALA3"; coordinates of centres, "ALA3 x".
_ANGLE = re.compile(r"((?:cos |sin )?(?:phi |psi ))(.+)()", re.DOTALL)
_AXIS = re.compile(r"()(.+)( [xyz])", re.DOTALL)
_ALONE = re.compile(r"()(.+)()", re.DOTALL)


@dataclass(frozen=True)
class _Names:
    """A field of a result whose texts have labels.

    Attributes
    ----------
    field
        Name of the field.
    of
        What the labels are of: "ALA3", "ALA3:CA", or "ALA3" and "ALA3-GLY5".
    shape
        What is before a label, the label, and what is behind it.
    """

    field: str
    of: Literal["residue", "atom", "molecule"]
    shape: re.Pattern[str] = _ALONE

    def divided(self, text: str) -> tuple[str, str, str]:
        """Return what is before a label, the label, and what is behind it."""
        found = self.shape.fullmatch(text)
        return ("", "", text) if found is None else (found[1], found[2], found[3])

    def readings(self, label: str) -> list[tuple[str, ...]]:
        """Return the labels of residues in a label, in all ways in which it can be read."""
        if self.of == "atom":
            return [(label.rpartition(":")[0],)]
        alone: list[tuple[str, ...]] = [(label,)]
        if self.of == "residue":
            return alone
        hyphens = [k for k, letter in enumerate(label) if letter == "-"]
        return [*alone, *((label[:k], label[k + 1 :]) for k in hyphens)]

    def renamed(self, text: str, names: Mapping[str, str]) -> str:
        """Return a text with other labels of residues; the same if it cannot be read."""
        before, label, behind = self.divided(text)
        for one in self.readings(label):
            if all(residue in names for residue in one):
                rest = label[len(one[0]) :] if self.of == "atom" else ""
                return before + "-".join(names[residue] for residue in one) + rest + behind
        return text


def has_labels(result: Result) -> bool:
    """Return whether names of the rows of a result have labels of residues."""
    return next(_fields(result), None) is not None


def residues_in(result: Result, topology: Topology) -> dict[str, ResiduePlace]:
    """Return the labels of residues in the names of rows, and where each residue is.

    Labels of names that can be read in several ways are left out, and those of several residues.
    """
    fields = list(_fields(result))
    names = topology.native.column("names")
    if isinstance(names, tuple) and any(":" in name for name in names[1]):
        fields = [one for one in fields if one.of != "atom"]
    readings = [
        one.readings(one.divided(text)[1]) for one in fields for text in _texts(result, one)
    ]
    possible = {label for ways in readings for way in ways for label in way}
    found = residues_labelled(topology, possible)
    doubtful: set[str] = set()
    for ways in readings:
        valid = [way for way in ways if all(label in found for label in way)]
        if len(valid) > 1:
            doubtful.update(label for way in valid for label in way)
    return {
        label: place
        for label, place in found.items()
        if place is not None and label not in doubtful
    }


def with_common_names(outcomes: Sequence[MemberOutcome[_R]]) -> list[MemberOutcome[_R]]:
    """Return results in which residues have the names that they have in the first member.

    Residues are the same if chain, number and insertion code are, and the name of their first atom,
    or their label. Those that are not the same have different names, unless they differ by their
    chains only and no member has both chains. Where all chains of a member have other names than in
    the first, and there are as many, chains are matched in their order.
    """
    outcomes = _with_chains_of_first(outcomes)
    common = _common_names(outcomes)
    made = []
    for one in outcomes:
        names = {label: common[place] for label, place in one.residues.items()}
        renamed = {label: name for label, name in names.items() if name != label}
        if one.result is None or not renamed:
            made.append(one)
            continue
        texts = {
            of.field: tuple(of.renamed(text, names) for text in _texts(one.result, of))
            for of in _fields(one.result)
        }
        if isinstance(one.result, Table):
            result = cast(_R, one.result.with_labels(texts["columns"]))
        else:
            result = replace(one.result, **texts)
        made.append(replace(one, result=result, renamed=renamed))
    return made


def _with_chains_of_first(outcomes: Sequence[MemberOutcome[_R]]) -> list[MemberOutcome[_R]]:
    """Return results with the names of chains of the first, where a topology has none of these."""
    first = next((one.chains for one in outcomes if one.chains), ())
    made = []
    for one in outcomes:
        common = chains_of_first(one.chains, first)
        if not common:
            made.append(one)
            continue
        residues = {
            label: place._replace(chain=common[place.chain])
            for label, place in one.residues.items()
        }
        result = one.result
        if isinstance(result, Table):
            result = cast(_R, result.with_chains(common))
        chains = tuple(common.values())
        made.append(replace(one, result=result, residues=residues, chains=chains, chains_of=common))
    return made


def _common_names(outcomes: Sequence[MemberOutcome[_R]]) -> dict[ResiduePlace, str]:
    """Return the name of each residue: its first label, with its chain if another one has that."""
    places = [set(one.residues.values()) for one in outcomes]

    def may_be_one(first: ResiduePlace, second: ResiduePlace) -> bool:
        if (first.number, first.code) != (second.number, second.code):
            return False
        if first.chain != second.chain:
            return not any({first.chain, second.chain} <= {*one.chains} for one in outcomes)
        return not any(first in one and second in one for one in places)

    common: dict[ResiduePlace, str] = {}
    named: dict[str, list[ResiduePlace]] = {}
    for one in outcomes:
        for label, place in one.residues.items():
            if place in common:
                continue
            name = label
            while not all(may_be_one(place, other) for other in named.get(name, ())):
                name = f"{place.chain}:{name}"
            common[place] = name
            named.setdefault(name, []).append(place)
    return common


def _fields(result: Result) -> Iterator[_Names]:
    """Yield the fields of a result whose texts have labels of residues."""
    match result:
        case Distances():
            yield _Names("labels", "atom")
            if result.partner_labels is not None:
                yield _Names("partner_labels", "atom")
        case Dihedrals():
            if result.backbone:
                yield _Names("columns", "residue", _ANGLE)
        case SecondaryStructure():
            yield _Names("columns", "residue")
        case ContactMap():
            of: Literal["residue", "atom"] = "residue" if result.of == "residue" else "atom"
            yield from (_Names("row_names", of), _Names("column_names", of))
        case SurfaceAreas():
            if result.by != "total":
                yield _Names("columns", "residue" if result.by == "residue" else "atom")
        case Centers() | CenterDistances() | Table():
            yield from _fields_of_groups(result)


def _fields_of_groups(result: Centers | CenterDistances | Table) -> Iterator[_Names]:
    """Yield those of a result of groups of atoms, which are residues, molecules or others."""
    by = analysis_of(result.report)["parameters"].get("by")
    if by not in ("residue", "molecule") or (isinstance(result, Table) and not result.has_frames):
        return
    of: Literal["residue", "molecule"] = "residue" if by == "residue" else "molecule"
    if isinstance(result, Table):
        yield _Names("columns", of)
        return
    yield _Names("labels", of)
    if isinstance(result, Centers):
        yield _Names("columns", of, _AXIS)
    elif result.partners is not None:
        yield _Names("partners", of)


def _texts(result: Result, of: _Names) -> tuple[str, ...]:
    """Return the texts of a field."""
    texts: tuple[str, ...] = getattr(result, of.field)
    return texts
