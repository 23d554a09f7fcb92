"""Rows of results of several systems: which are the same, whatever their residues are called."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.result.table import Axis

# The column of the names of the numbers.
QUANTITY = "quantity"
# Columns whose texts are labels, which may have names of residues.
_LABELS = (QUANTITY, "row", "column")
# Columns of identity that tell apart rows that share all others; see `Axis.identity`.
_SPARE = "resname"
# Columns that name an atom in sentences.
_NAMES = ("chain", "resname", "resid", "name")
# Insertion codes, which a result has if one of its residues has one.
_CODE = "icode"


@dataclass(frozen=True)
class Rows:
    """What tells the rows of a result apart.

    Attributes
    ----------
    shown
        Columns of tables, `(n_rows,)` each: `quantity`, and those of atoms, distances or lags.
    identity
        Columns that tell rows apart in any system, also after a mutation; see `Axis.identity`.
    is_symmetric
        Whether rows are pairs without an order, whose columns of identity end in 0 and 1.
    keys
        `(n_rows,)`, int64: the same number for the same row of several members, see
        `with_common_keys`.
    renamed
        Residues that have other names in labels than in their topology, with both names.
    """

    shown: dict[str, NDArray[np.generic]]
    identity: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    is_symmetric: bool = False
    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.shown[QUANTITY])

    def some(self, rows: "NDArray[np.generic] | slice") -> Self:
        """Return some of the rows."""
        return replace(
            self,
            shown={name: column[rows] for name, column in self.shown.items()},
            identity={name: column[rows] for name, column in self.identity.items()},
            keys=self.keys[rows],
        )

    def text(self, row: int) -> str:
        """Return what tells a row apart, as text."""
        shown = [self.shown[QUANTITY][row]]
        if len(self.shown) > 1:
            shown += [
                column[row]
                for name, column in self.identity.items()
                if name != QUANTITY and not _is_of(name, _SPARE)
            ]
        return " ".join(text for one in shown if (text := str(one)))


def identity_of(axes: Sequence[Axis]) -> dict[str, NDArray[np.generic]]:
    """Return the columns of identity of all places of several axes, the last axis fastest."""
    shape, found = tuple(map(len, axes)), dict[str, NDArray[np.generic]]()
    for k, axis in enumerate(axes):
        of_axis = f" of axis {k}" * (len(axes) > 1)
        for name, column in axis.identity().items():
            along = column.reshape([-1 if k == n else 1 for n in range(len(axes))])
            found[name + of_axis] = np.broadcast_to(along, shape).ravel()
    return found


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
    names = {
        name: np.concatenate([one.identity[name] for one in members])
        for name in members[0].identity
        if _is_of(name, _SPARE) and all(name in one.identity for one in members)
    }
    made, begin = [], 0
    for one, own in zip(members, keys, strict=True):
        end = begin + len(one)
        of_first = np.where(is_once[own], first[own], np.arange(begin, end))
        common = {name: texts[of_first] for name, texts in labels.items()}
        renamed = dict[str, str]()
        if any((common[name] != texts[begin:end]).any() for name, texts in labels.items()):
            for name, texts in names.items():
                renamed.update(_renamed(one, name, texts[of_first]))
        made.append(replace(one, shown={**one.shown, **common}, keys=own, renamed=renamed))
        begin = end
    return made


def _renamed(rows: Rows, name: str, of_first: NDArray[np.generic]) -> Iterator[tuple[str, str]]:
    """Yield residues whose name differs from that in the first member, with the latter."""
    own = rows.identity[name]
    number = rows.identity.get(name.replace(_SPARE, "resid", 1), np.full(len(rows), ""))
    code = rows.identity.get(name.replace(_SPARE, _CODE, 1), np.full(len(rows), ""))
    for k in np.flatnonzero(own != of_first).tolist():
        yield f"{own[k]}{number[k]}{code[k]}", f"{of_first[k]}{number[k]}{code[k]}"


def _is_of(name: str, column: str) -> bool:
    """Return whether a column of identity is of this name, of whichever place and axis."""
    return name.partition(" ")[0] == column


def common_keys(
    members: Sequence[Rows], chains: Sequence[Mapping[str, str]]
) -> list[NDArray[np.int64]]:
    """Return a number for each row of each member, which is the same for the same row."""
    names = list(dict.fromkeys(name for one in members for name in one.identity))
    columns = {name: _filled(name, members, chains) for name in names}
    sizes = [len(one) for one in members]
    told = [name for name in names if not _is_of(name, _SPARE)]
    spare = [name for name in names if name not in told]
    if len({*sizes}) == 1 and _is_in_one_order(columns, told, spare):
        # Also where rows cannot be told apart.
        return [np.arange(sizes[0])] * len(sizes)
    codes = {name: _codes(np.concatenate(of_all)) for name, of_all in columns.items()}

    def numbered(by: Sequence[str]) -> NDArray[np.int64]:
        if members[0].is_symmetric:
            return _of_pairs(columns, by, sizes)
        return _joined([codes[name] for name in by], sum(sizes))

    keys = numbered(told)
    ends = np.cumsum(sizes)[:-1]
    # Residues that share chain, number and code are told apart by their names.
    is_twice = np.zeros(keys.max(initial=-1) + 1, np.bool_)
    for own in np.split(keys, ends):
        is_twice |= np.bincount(own, minlength=len(is_twice)) > 1
    if is_twice.any():
        keys = _joined([keys, np.where(is_twice[keys], numbered(names), 0)], len(keys))
    return np.split(keys, ends)


def _is_in_one_order(
    columns: Mapping[str, Sequence[NDArray[np.generic]]], told: Sequence[str], spare: Sequence[str]
) -> bool:
    """Return whether members of one size have the same rows in the same order.

    Rows that share the columns `told` have the same ones of `spare`, too.
    """
    for name in told:
        first, *others = columns[name]
        if not all(np.array_equal(first, other) for other in others):
            return False
    differs = [
        first != other for name in spare for first, *others in [columns[name]] for other in others
    ]
    if not np.any(differs):
        return True
    firsts = [_codes(columns[name][0]) for name in told]
    keys = _joined(firsts, len(differs[0]))
    return not (np.any(differs, axis=0) & (np.bincount(keys)[keys] > 1)).any()


def _filled(
    name: str, members: Sequence[Rows], chains: Sequence[Mapping[str, str]]
) -> list[NDArray[np.generic]]:
    """Return a column of each member, empty texts where it has none, with common chains."""
    found = [one.identity.get(name, np.full(len(one), "")) for one in members]
    if len({column.dtype.kind in "iu" for column in found}) > 1:
        found = [column.astype(np.str_) for column in found]
    if not _is_of(name, "chain"):
        return found
    made = []
    for column, common in zip(found, chains, strict=True):
        texts, which = np.unique(column, return_inverse=True)
        renamed = [common.get(text, text) for text in texts.astype(np.str_).tolist()]
        made.append(np.array(renamed, np.str_)[which] if common else column)
    return made


def _codes(column: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return a number for each value."""
    codes: NDArray[np.int64] = np.unique(column, return_inverse=True)[1]
    return codes


def _joined(columns: Sequence[NDArray[np.int64]], n: int) -> NDArray[np.int64]:
    """Return a number for each combination of numbers of several columns."""
    keys = np.zeros(n, np.int64)
    for codes in columns:
        keys = _codes(keys * (codes.max(initial=0) + 1) + codes)
    return keys


def _of_pairs(
    columns: Mapping[str, Sequence[NDArray[np.generic]]], by: Sequence[str], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Return a number for each pair of places, whichever of both stands first."""
    n, none = sum(sizes), [np.full(size, "") for size in sizes]
    both = []
    for stem in dict.fromkeys(name.rpartition(" ")[0] for name in by):
        sides = [np.concatenate(columns.get(f"{stem} {k}", none)) for k in (0, 1)]
        both.append(_codes(np.concatenate(sides)))
    keys = _joined(both, 2 * n).reshape(2, n)
    return _joined([keys.min(axis=0), keys.max(axis=0)], n)


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
) -> tuple[list[NDArray[np.int64]], tuple[str, ...]]:
    """Return the rows of several members that all of them have, and a remark on the others.

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
    remark = f"{n_all - len(common)} of {n_all} rows are left out, as some members do not have them"
    rows = []
    for one in members:
        order = np.argsort(one.keys, kind="stable")
        rows.append(order[np.searchsorted(one.keys, common, sorter=order)])
    return rows, (remark,) if n_all > len(common) else ()


def row_names(axes: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Return what tells the rows of a quantity apart, as texts: "A ALA 30 CA", "r_A 0.5"."""
    n_rows = len(axes[QUANTITY])
    if "atom" in axes:
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
