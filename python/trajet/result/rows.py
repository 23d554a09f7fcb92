"""Rows of results of several systems: which are the same, whatever their residues are called."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.messages import Code, Message
from trajet.result.axes import Axis, IdentityKey

# The column of the names of the numbers.
QUANTITY = "quantity"
# Columns whose texts are labels, which may have names of residues.
_LABELS = (QUANTITY, "row", "column")
# The column of identity that only tells apart rows that have all others in common.
_RESNAME = "resname"
# Columns that name an atom in sentences.
_NAMES = ("chain", "resname", "resid", "name")
# Insertion codes, which a result has if one of its residues has one.
_CODE = "icode"

# Columns of identity, `(n_rows,)` each.
_Identity: TypeAlias = Mapping[IdentityKey, NDArray[np.generic]]


@dataclass(frozen=True)
class Rows:
    """What tells the rows of a result apart.

    Attributes
    ----------
    shown
        Columns of tables, `(n_rows,)` each: `quantity`, and those of atoms, distances or lags.
    identity
        Columns that tell rows apart in any system, also after a mutation; see `Axis.identity`.
        Empty where `quantity` alone tells rows apart.
    is_symmetric
        Whether rows are pairs without an order: of places of one axis, or of two axes.
    keys
        `(n_rows,)`, int64: the same number for the same row of several members, see
        `with_common_keys`.
    renamed
        Names of residues, own and in labels, where these differ, by chain, number and insertion
        code.
    """

    shown: dict[str, NDArray[np.generic]]
    identity: _Identity = field(default_factory=dict)
    is_symmetric: bool = False
    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    renamed: Mapping[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shown[QUANTITY])

    def some(self, rows: "NDArray[np.generic] | slice") -> Self:
        """Return some of the rows."""
        return replace(
            self,
            shown={name: column[rows] for name, column in self.shown.items()},
            identity={key: column[rows] for key, column in self.identity.items()},
            keys=self.keys[rows],
        )

    def text(self, row: int) -> str:
        """Return what tells a row apart, as text."""
        texts = [self.shown[QUANTITY][row]]
        if len(self.shown) > 1:
            texts += [
                column[row]
                for key, column in self.identity.items()
                if key.column not in (QUANTITY, _RESNAME)
            ]
        return " ".join(text for one in texts if (text := str(one)))


def identity_of(
    axes: Sequence[Axis], places: Sequence[NDArray[np.int64]] | None = None
) -> dict[IdentityKey, NDArray[np.generic]]:
    """Return the columns of identity of places of several axes.

    `places` are those along each axis, `(n_rows,)` each; None for all, the last axis fastest.
    """
    if places is None:
        shape = tuple(map(len, axes))
        places = [np.arange(len(axis)) for axis in axes]
        places = [at.ravel() for at in np.broadcast_arrays(*np.ix_(*places))] if shape else []
    return {
        key._replace(axis=k): column[at]
        for k, (axis, at) in enumerate(zip(axes, places, strict=True))
        for key, column in axis.identity().items()
    }


def with_common_keys(members: Sequence[Rows], chains: Sequence[Mapping[str, str]]) -> list[Rows]:
    """Return rows with keys, and with the labels of the first member that has each of them.

    Parameters
    ----------
    members
        Rows of each member.
    chains
        The name of each chain in the first member, where a member has other names of all chains;
        empty for other members.
    """
    keys = common_keys(members, chains)
    first = np.unique(np.concatenate(keys), return_index=True)[1]
    labels = {
        name: np.concatenate([one.shown[name] for one in members])
        for name in _LABELS
        if all(name in one.shown for one in members)
    }
    # Rows that a member has twice keep their own labels.
    is_once = np.ones(len(first), np.bool_)
    for own in keys:
        is_once &= np.bincount(own, minlength=len(first)) < 2
    resnames = {
        key: np.concatenate([one.identity[key] for one in members])
        for key in members[0].identity
        if key.column == _RESNAME and all(key in one.identity for one in members)
    }
    columns = _common_columns(members, chains) if members[0].is_symmetric else {}
    # What tells the first places of pairs apart, which may be the second ones elsewhere.
    of_first_side = [
        np.concatenate(column)
        for key, column in columns.items()
        if _side(key) == 0 and key.column != _RESNAME
    ]
    made, begin = [], 0
    for one, own in zip(members, keys, strict=True):
        end = begin + len(one)
        of_first = np.where(is_once[own], first[own], np.arange(begin, end))
        common = {name: texts[of_first] for name, texts in labels.items()}
        renamed = dict[tuple[str, ...], tuple[str, str]]()
        if any((common[name] != texts[begin:end]).any() for name, texts in labels.items()):
            is_swapped = np.zeros(len(one), np.bool_)
            for column in of_first_side:
                is_swapped |= column[begin:end] != column[of_first]
            for key, texts in resnames.items():
                others = resnames.get(_other_side(key), texts) if of_first_side else texts
                named = np.where(is_swapped, others[of_first], texts[of_first])
                renamed.update(_renamed(one.identity, key, named))
        made.append(replace(one, shown={**one.shown, **common}, keys=own, renamed=renamed))
        begin = end
    return made


def _side(key: IdentityKey) -> int:
    """Return which place of a pair a column is of: places of one axis, or of two."""
    return key.members[0] if key.members else key.axis


def _other_side(key: IdentityKey) -> IdentityKey:
    """Return the column of the other place of a pair."""
    if key.members:
        return key._replace(members=(1 - key.members[0], *key.members[1:]))
    return key._replace(axis=1 - key.axis)


def _renamed(
    identity: _Identity, key: IdentityKey, of_first: NDArray[np.generic]
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """Yield residues whose name differs from that in the first member; see `Rows.renamed`."""
    own = identity[key]
    unknown = np.full(len(own), "")
    chain, number, code = (
        identity.get(key._replace(column=name), unknown) for name in ("chain", "resid", _CODE)
    )
    for k in np.flatnonzero(own != of_first).tolist():
        at = f"{number[k]}{code[k]}"
        yield (str(chain[k]), at), (f"{own[k]}{at}", f"{of_first[k]}{at}")


def common_keys(
    members: Sequence[Rows], chains: Sequence[Mapping[str, str]]
) -> list[NDArray[np.int64]]:
    """Return a number for each row of each member, which is the same for the same row."""
    sizes, columns = [len(one) for one in members], _common_columns(members, chains)
    compared = [key for key in columns if key.column != _RESNAME]
    resnames = [key for key in columns if key.column == _RESNAME]
    if len({*sizes}) == 1 and _have_equal_rows(columns, compared, resnames):
        # Also where rows cannot be told apart.
        return [np.arange(sizes[0])] * len(sizes)

    def numbers(by: Sequence[IdentityKey]) -> NDArray[np.int64]:
        of_all = {key: np.concatenate(columns[key]) for key in by}
        if members[0].is_symmetric:
            return _numbers_of_pairs(of_all, sum(sizes))
        return _numbered([*of_all.values()], sum(sizes))

    keys = numbers(compared)
    ends = np.cumsum(sizes)[:-1]
    # Residues that share chain, number and code are told apart by their names.
    is_twice = np.zeros(keys.max(initial=-1) + 1, np.bool_)
    for own in np.split(keys, ends):
        is_twice |= np.bincount(own, minlength=len(is_twice)) > 1
    if is_twice.any():
        with_resnames = numbers([*compared, *resnames])
        keys = _numbered([keys, np.where(is_twice[keys], with_resnames, 0)], len(keys))
    return np.split(keys, ends)


def _common_columns(
    members: Sequence[Rows], chains: Sequence[Mapping[str, str]]
) -> dict[IdentityKey, list[NDArray[np.generic]]]:
    """Return each column of identity that a member has, of every member."""
    identities: list[_Identity] = [one.identity for one in members]
    if not all(identities):
        # A single group without an axis is the group of its name where there are several.
        identities = [{IdentityKey(QUANTITY): one.shown[QUANTITY]} for one in members]
    sizes = [len(one) for one in members]
    return {
        key: _common_column(key, identities, sizes, chains)
        for key in dict.fromkeys([key for one in identities for key in one])
    }


def _common_column(
    key: IdentityKey,
    identities: Sequence[_Identity],
    sizes: Sequence[int],
    chains: Sequence[Mapping[str, str]],
) -> list[NDArray[np.generic]]:
    """Return a column of each member, empty texts where it has none, with common chains."""
    found = [one.get(key, np.full(n, "")) for one, n in zip(identities, sizes, strict=True)]
    if len({column.dtype.kind in "iu" for column in found}) > 1:
        found = [column.astype(np.str_) for column in found]
    if key.column != "chain":
        return found
    made = []
    for column, common in zip(found, chains, strict=True):
        texts, which = np.unique(column, return_inverse=True)
        renamed = [common.get(text, text) for text in texts.astype(np.str_).tolist()]
        made.append(np.array(renamed, np.str_)[which] if common else column)
    return made


def _have_equal_rows(
    columns: Mapping[IdentityKey, Sequence[NDArray[np.generic]]],
    compared: Sequence[IdentityKey],
    resnames: Sequence[IdentityKey],
) -> bool:
    """Return whether members of one size have the same rows in the same order.

    Rows that a member has twice, but for names of residues, have equal names of these, too.
    """
    for key in compared:
        first, *others = columns[key]
        if not all(np.array_equal(first, other) for other in others):
            return False
    differs = [
        first != other for key in resnames for first, *others in [columns[key]] for other in others
    ]
    if not np.any(differs):
        return True
    numbers = _numbered([columns[key][0] for key in compared], len(differs[0]))
    return not (np.any(differs, axis=0) & (np.bincount(numbers)[numbers] > 1)).any()


def _numbered(columns: Sequence[NDArray[np.generic]], n: int) -> NDArray[np.int64]:
    """Return a number for each combination of values of several columns, `(n,)`."""
    numbers = np.zeros(n, np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        both = numbers * (codes.max(initial=0) + 1) + codes
        numbers = np.unique(both, return_inverse=True)[1]
    return numbers


def _numbers_of_pairs(columns: _Identity, n: int) -> NDArray[np.int64]:
    """Return a number for each pair of places, `(n,)`, whichever of both stands first."""
    unknown = np.full(n, "")
    sides: tuple[dict[IdentityKey, NDArray[np.generic]], ...] = ({}, {})
    for key, column in columns.items():
        sides[_side(key)][key._replace(members=key.members[1:], axis=0)] = column
    names = dict.fromkeys([*sides[0], *sides[1]])
    of_both = [np.concatenate([own.get(name, unknown) for own in sides]) for name in names]
    numbers = _numbered(of_both, 2 * n).reshape(2, n)
    return _numbered([numbers.min(axis=0), numbers.max(axis=0)], n)


def check_distinct(rows: Rows, keys: NDArray[np.int64], label: str) -> None:
    """Raise an AnalysisError if two rows of a member have one key."""
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if twice.size:
        one, other = order[twice[0]], order[twice[0] + 1]
        raise AnalysisError(
            f"{label}: rows {one} and {other} are both {rows.text(int(one))}, and other members"
            " have other rows, so that they cannot be matched: select fewer atoms, or use a"
            " topology with chains"
        )


def matched_rows(
    members: Sequence[Rows], labels: Sequence[str]
) -> tuple[list[NDArray[np.int64]], tuple[Message, ...]]:
    """Return the rows of several members that all of them have, and a message on the others.

    Parameters
    ----------
    members
        Rows with keys.
    labels
        Names of the members in messages.

    Raises
    ------
    AnalysisError
        If rows cannot be told apart, or no row is in all members.
    """
    first = members[0].keys
    if all(np.array_equal(first, one.keys) for one in members[1:]):
        return [np.arange(len(first))] * len(members), ()
    is_common = np.ones(len(first), np.bool_)
    for one, label in zip(members, labels, strict=True):
        check_distinct(one, one.keys, label)
        is_common &= np.isin(first, one.keys)
    common = first[is_common]
    if not len(common):
        raise AnalysisError(
            f"{labels[0]} and {labels[1]} have no row in common, such as {members[0].text(0)}:"
            " select atoms that all members have"
        )
    n_all = len(np.unique(np.concatenate([one.keys for one in members])))
    message = Message(
        Code.ROWS_LEFT_OUT,
        f"{n_all - len(common)} of {n_all} rows are left out, as some members do not have them",
    )
    rows = []
    for one in members:
        order = np.argsort(one.keys, kind="stable")
        rows.append(order[np.searchsorted(one.keys, common, sorter=order)])
    return rows, (message,) if n_all > len(common) else ()


def row_names(axes: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Return what tells the rows of a quantity apart, as texts: "A ALA 30 CA", "r_A 0.5"."""
    n_rows = len(axes[QUANTITY])
    if {"kind", "label"} <= {*axes}:
        # Labels of interactions have the kind.
        columns = [axes["label"].tolist()]
    elif "atom" in axes:
        if "resid" in axes and _CODE in axes:
            resids, codes = axes["resid"].astype(np.str_), axes[_CODE].astype(np.str_)
            axes = {**axes, "resid": np.char.add(resids, codes)}
        columns = [axes[name].tolist() for name in _NAMES if name in axes] or [
            [f"atom {k}" for k in axes["atom"].tolist()]
        ]
    else:
        columns = [
            [
                f"{name} {value:.4g}" if column.dtype.kind == "f" else f"{name} {value}"
                for value in column
            ]
            for name, column in axes.items()
            if name != QUANTITY
        ]
    return [
        " ".join(str(column[k]) for column in columns if column[k] != "") for k in range(n_rows)
    ]
