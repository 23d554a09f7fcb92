"""Features that several trajectories have, matched by their atoms."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajet.labels import chains_of_first
from trajet.messages import Code, Message
from trajet.result.axes import Axis, IdentityKey
from trajet.result.rows import identity_of
from trajet.result.table import Table

# What a feature is of: the number of its analysis, and the identities of its places or its name.
_Key = tuple[object, ...]

# Columns of identity that atoms and residues may lack.
_FURTHER = ("chain", "icode", "ion")
# Most trajectories that messages name.
_MAX_NAMED = 5


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Names of the features of a trajectory, and what tells them apart.

    Attributes
    ----------
    labels
        Name of each feature; all are different.
    results
        Columns of identity and names of the features of each result.
    """

    labels: tuple[str, ...]
    results: tuple[tuple[Mapping[IdentityKey, NDArray[np.generic]], list[str]], ...]

    @cached_property
    def chains(self) -> tuple[str, ...]:
        """The chains of the atoms and residues, in the order of the features."""
        columns = [
            column.tolist()
            for of_result, _ in self.results
            for key, column in of_result.items()
            if key.column == "chain"
        ]
        return tuple(dict.fromkeys(chain for of_column in columns for chain in of_column))

    @cached_property
    def keys(self) -> tuple[_Key, ...]:
        """What each feature is of, whatever the names of residues."""
        return self.keys_with({})

    def keys_with(self, chains: Mapping[str, str]) -> tuple[_Key, ...]:
        """Return `keys` with other names of chains."""
        keys: list[_Key] = []
        for number, (columns, names) in enumerate(self.results):
            keys += _told_apart(number, columns, names, chains)
        return tuple(keys)

    def is_like(self, other: "FeatureColumns") -> bool:
        """Return whether the features are the same, in the same order."""
        return self.labels == other.labels and self.keys == other.keys


def columns_of(results: Sequence[Table]) -> FeatureColumns:
    """Return the features of some results of one trajectory."""
    found = tuple((_columns_of_keys(one.named_axes()), one.feature_names()) for one in results)
    return FeatureColumns(_distinct([name for _, names in found for name in names]), found)


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
    number: int,
    columns: Mapping[IdentityKey, NDArray[np.generic]],
    names: Sequence[str],
    chains: Mapping[str, str],
) -> list[_Key]:
    """Return keys of the features of a result, all different.

    Those that share one have their names, and their number among equal names.
    """
    texts = [
        [chains.get(one, one) for one in column.tolist()]
        if key.column == "chain"
        else column.tolist()
        for key, column in columns.items()
    ]
    own = list(zip(*texts, strict=True))
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
    chains of a trajectory have other names, they are matched in their order. Features that are not
    of single atoms, such as an RMSD or the distance of centres, are matched by their names.

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
    messages
        Messages on features that are left out, and on other names of chains and residues.

    Raises
    ------
    ValueError
        If there is no such feature.
    """

    def __init__(self, members: Sequence[tuple[str, FeatureColumns]]) -> None:
        self._first, columns = members[0]
        self._columns = columns
        others = _different(members)
        kept = dict.fromkeys(columns.keys)
        for label, other in others:
            keys = set(self._keys_of(other))
            kept = {key: None for key in kept if key in keys}
            if not kept:
                raise ValueError(
                    f"{label}: it has no feature in common with {self._first}"
                    f"{'' if len(others) == 1 else ' and those before it'}, such as"
                    f" {other.labels[0]!r} and {columns.labels[0]!r}: choose atoms that all"
                    " trajectories have, with the same chains and residue numbers"
                )
        places = {key: k for k, key in enumerate(columns.keys)}
        self._kept = np.array([places[key] for key in kept], np.int64)
        self._keys = list(kept)
        self.labels = tuple(columns.labels[k] for k in self._kept.tolist())
        self.n_left_out = len(columns.labels) - len(kept)
        self.messages = [
            *self._left_out([members[0], *others]),
            *self._with_other_chains(others),
            *self._renamed(others),
        ]

    def of(self, label: str, columns: FeatureColumns) -> NDArray[np.int64]:
        """Return the numbers of the common features among those of a trajectory.

        Raises
        ------
        ValueError
            If it lacks one of them.
        """
        if columns.is_like(self._columns):
            return self._kept
        places = {key: k for k, key in enumerate(self._keys_of(columns))}
        for key, name in zip(self._keys, self.labels, strict=True):
            if key not in places:
                raise ValueError(f"{label}: it lacks the feature {name!r}, which others have")
        return np.array([places[key] for key in self._keys], np.int64)

    def _keys_of(self, columns: FeatureColumns) -> tuple[_Key, ...]:
        """Return the keys of features, with the chains of the first trajectory."""
        renamed = chains_of_first(columns.chains, self._columns.chains)
        return columns.keys_with(renamed) if renamed else columns.keys

    def _left_out(self, members: Sequence[tuple[str, FeatureColumns]]) -> Iterator[Message]:
        """Yield a message on the features of each trajectory that others do not have."""
        kept = set(self._keys)
        for label, columns in members[:_MAX_NAMED]:
            keys = self._keys_of(columns)
            left = [k for k, key in enumerate(keys) if key not in kept]
            if left:
                yield (
                    Message(
                        Code.ROWS_LEFT_OUT,
                        f"{label}: features left out, as other trajectories do not have them:"
                        f" {len(left)} of {len(keys)}, the first is {columns.labels[left[0]]!r}",
                    )
                )

    def _with_other_chains(
        self, members: Sequence[tuple[str, FeatureColumns]]
    ) -> Iterator[Message]:
        """Yield a message on each trajectory whose chains have other names."""
        for label, columns in members[:_MAX_NAMED]:
            if chains_of_first(columns.chains, self._columns.chains):
                yield (
                    Message(
                        Code.RENAMED_CHAINS,
                        f"{label}: no chain has the name that it has in {self._first}: features are"
                        " matched in their order",
                    )
                )

    def _renamed(self, others: Sequence[tuple[str, FeatureColumns]]) -> Iterator[Message]:
        """Yield a note on features of the same atoms with other names, as after mutation."""
        for label, columns in others[:_MAX_NAMED]:
            if chains_of_first(columns.chains, self._columns.chains):
                continue
            places = {key: k for k, key in enumerate(columns.keys)}
            pairs = [
                (columns.labels[places[key]], name)
                for key, name in zip(self._keys, self.labels, strict=True)
            ]
            differing = [(own, name) for own, name in pairs if own != name]
            if differing:
                own, name = differing[0]
                yield (
                    Message(
                        Code.RENAMED_RESIDUES,
                        f"{label}: features with the names that they have in {self._first}:"
                        f" {len(differing)}, the first is {name!r} for {own!r}",
                    )
                )


def _different(members: Sequence[tuple[str, FeatureColumns]]) -> list[tuple[str, FeatureColumns]]:
    """Return the first trajectory with each list of features other than that of the first."""
    known = [members[0]]
    for one in members[1:]:
        if not any(one[1].is_like(columns) for _, columns in known):
            known.append(one)
    return known[1:]
