"""Features that several trajectories have, matched by their atoms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajet.labels import atom_keys
from trajet.result.table import Table
from trajet.topology import Topology

# What a feature is of: the number of its analysis, chains and names of its atoms, and its number
# among the features of the same atoms.
_Key = tuple[object, ...]

# Most trajectories that remarks name.
_MOST_NAMED = 5


@dataclass(frozen=True)
class FeatureColumns:
    """Names of the features of a trajectory, and the atoms that they are of.

    Attributes
    ----------
    labels
        Name of each feature; all are different.
    keys
        What each feature is of, whatever the names of residues.
    bare_keys
        The same without chains.
    """

    labels: tuple[str, ...]
    keys: tuple[_Key, ...]
    bare_keys: tuple[_Key, ...]

    @cached_property
    def places(self) -> Mapping[_Key, int]:
        """The number of each feature by its key."""
        return {key: k for k, key in enumerate(self.keys)}

    def is_like(self, other: "FeatureColumns") -> bool:
        """Return whether the features are the same, in the same order."""
        return self.labels == other.labels and self.keys == other.keys

    def has_other_chains(self, other: "FeatureColumns") -> bool:
        """Return whether no chain has its name there, and nothing else differs."""
        return (
            self.labels == other.labels
            and self.bare_keys == other.bare_keys
            and self._keys_with_chains.isdisjoint(other.keys)
        )

    @cached_property
    def _keys_with_chains(self) -> frozenset[_Key]:
        pairs = zip(self.keys, self.bare_keys, strict=True)
        return frozenset(key for key, bare in pairs if key != bare)


def columns_of(results: Sequence[Table], topology: Topology | None) -> FeatureColumns:
    """Return the features of some results of one trajectory."""
    labels: list[str] = []
    keys: list[_Key] = []
    bare_keys: list[_Key] = []
    for number, result in enumerate(results):
        names = result.feature_names()
        atoms = result.feature_atoms()
        labels += names
        if atoms is None:
            own: list[_Key] = [(number, name) for name in names]
            bare = own
        else:
            chains, atom_names = (
                one.reshape(atoms.shape).tolist() for one in atom_keys(topology, atoms.ravel())
            )
            own = [(number, *a, *b) for a, b in zip(chains, atom_names, strict=True)]
            bare = [(number, *b) for b in atom_names]
        keys += _numbered(own)
        bare_keys += _numbered(bare)
    return FeatureColumns(_distinct(labels), tuple(keys), tuple(bare_keys))


def _numbered(keys: Sequence[_Key]) -> Iterator[_Key]:
    """Yield keys with their number among equal ones, such as those of a sine and a cosine."""
    seen: dict[_Key, int] = {}
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        yield (*key, seen[key])


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of features; those that occur several times are numbered."""
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(labels)


class CommonFeatures:
    """The features that several trajectories have, in the order and with the names of the first.

    They are matched by chain, residue number, insertion code and name of their atoms. Where all
    chains of a trajectory have other names, but nothing else differs, they are matched in their
    order. Features that are not of single atoms, such as an RMSD or the distance of centres, are
    matched by their names.

    Parameters
    ----------
    members
        Name and features of each trajectory.

    Attributes
    ----------
    labels
        Name of each feature.
    n_left_out
        Number of features of the first trajectory that others do not have.
    remarks
        Remarks on features that are left out, and on other names of chains and residues.

    Raises
    ------
    ValueError
        If there is no such feature.
    """

    def __init__(self, members: Sequence[tuple[str, FeatureColumns]]) -> None:
        self._first, columns = members[0]
        self._columns = columns
        different = _different(members)
        others = [one for one in different if not one[1].has_other_chains(columns)]
        kept = dict.fromkeys(columns.keys)
        for label, other in others:
            kept = {key: None for key in kept if key in other.places}
            if not kept:
                raise ValueError(
                    f"{label}: it has no feature in common with {self._first}"
                    f"{'' if len(others) == 1 else ' and those before it'}, such as"
                    f" {other.labels[0]!r} and {columns.labels[0]!r}: choose atoms that all"
                    " trajectories have, with the same chains and residue numbers"
                )
        self._kept = np.array([columns.places[key] for key in kept], np.int64)
        self._keys = list(kept)
        self.labels = tuple(columns.labels[k] for k in self._kept.tolist())
        self.n_left_out = len(columns.labels) - len(kept)
        self.remarks = [
            *self._left_out([members[0], *others]),
            *self._with_other_chains([one for one in different if one not in others]),
            *self._renamed(others),
        ]

    def of(self, label: str, columns: FeatureColumns) -> NDArray[np.int64]:
        """Return the numbers of the common features among those of a trajectory.

        Raises
        ------
        ValueError
            If it lacks one of them.
        """
        if columns.is_like(self._columns) or columns.has_other_chains(self._columns):
            return self._kept
        for key, name in zip(self._keys, self.labels, strict=True):
            if key not in columns.places:
                raise ValueError(f"{label}: it lacks the feature {name!r}, which others have")
        return np.array([columns.places[key] for key in self._keys], np.int64)

    def _left_out(self, members: Sequence[tuple[str, FeatureColumns]]) -> Iterator[str]:
        """Yield a remark on the features of each trajectory that others do not have."""
        kept = set(self._keys)
        for label, columns in members[:_MOST_NAMED]:
            left = [k for k, key in enumerate(columns.keys) if key not in kept]
            if left:
                yield (
                    f"{label}: features left out, as other trajectories do not have them:"
                    f" {len(left)} of {len(columns.keys)}, the first is {columns.labels[left[0]]!r}"
                )

    def _with_other_chains(self, members: Sequence[tuple[str, FeatureColumns]]) -> Iterator[str]:
        """Yield a remark on each trajectory whose chains have other names."""
        for label, _ in members[:_MOST_NAMED]:
            yield (
                f"{label}: no chain has the name that it has in {self._first}: features are matched"
                " in their order"
            )

    def _renamed(self, others: Sequence[tuple[str, FeatureColumns]]) -> Iterator[str]:
        """Yield a remark on features of the same atoms that have other names, as after mutation."""
        for label, columns in others[:_MOST_NAMED]:
            pairs = [
                (columns.labels[columns.places[key]], name)
                for key, name in zip(self._keys, self.labels, strict=True)
            ]
            differing = [(own, name) for own, name in pairs if own != name]
            if differing:
                own, name = differing[0]
                yield (
                    f"{label}: features with the names that they have in {self._first}:"
                    f" {len(differing)}, the first is {name!r} for {own!r}"
                )


def _different(members: Sequence[tuple[str, FeatureColumns]]) -> list[tuple[str, FeatureColumns]]:
    """Return the first trajectory with each list of features other than that of the first."""
    known = [members[0]]
    for one in members[1:]:
        if not any(one[1].is_like(columns) for _, columns in known):
            known.append(one)
    return known[1:]
