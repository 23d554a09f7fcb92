"""Features that several trajectories have, matched by their atoms."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis, IdentityKey
from trajet.result.rows import identity_of
from trajet.result.table import Table

# What a feature is of: the number of its analysis, and the identities of its places or its name.
_Key = tuple[object, ...]

# Columns of identity that atoms and residues may lack.
_FURTHER = ("chain", "icode", "ion")
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


def columns_of(results: Sequence[Table]) -> FeatureColumns:
    """Return the features of some results of one trajectory."""
    labels: list[str] = []
    keys: list[_Key] = []
    bare_keys: list[_Key] = []
    for number, result in enumerate(results):
        names = result.feature_names()
        columns = _columns_of_keys(result.named_axes())
        bare = {key: column for key, column in columns.items() if key.column != "chain"}
        labels += names
        keys += _told_apart(number, columns, names)
        bare_keys += _told_apart(number, bare, names)
    return FeatureColumns(_distinct(labels), tuple(keys), tuple(bare_keys))


def _columns_of_keys(axes: Sequence[Axis]) -> dict[IdentityKey, NDArray[np.generic]]:
    """Return the columns that tell features apart, the same for every topology.

    Names of residues are none of them: atoms are the same after a mutation.
    """
    found = {key: one for key, one in identity_of(axes).items() if key.column != "resname"}
    for key, column in list(found.items()):
        if key.column == "resid":
            for name in _FURTHER:
                found.setdefault(key._replace(column=name), np.full(len(column), ""))
    return dict(sorted(found.items()))


def _told_apart(
    number: int, columns: Mapping[IdentityKey, NDArray[np.generic]], names: Sequence[str]
) -> list[_Key]:
    """Return keys of the features of a result, all different.

    Those that share one have their names, and their number among equal names.
    """
    own = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    counts, seen = Counter(own), Counter[str]()
    keys: list[_Key] = []
    for key, name in zip(own or [()] * len(names), names, strict=True):
        if counts[key] == 1:
            keys.append((number, *key))
        else:
            seen[name] += 1
            keys.append((number, name, seen[name]))
    return keys


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
