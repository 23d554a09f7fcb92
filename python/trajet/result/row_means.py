"""Means over some rows of the numbers of replicas, such as the residues of a loop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet.result.group_mean import GroupMean
from trajet.result.rows import QUANTITY, Rows, matched_rows

# A value of a column, a list of values, or the first and the last one as a tuple.
Value: TypeAlias = str | int | float
ChosenRows: TypeAlias = "Value | tuple[Value, Value] | list[Value] | NDArray[np.generic] | range"


def mean_over_rows(
    groups: Sequence[GroupMean], chosen: Mapping[str, ChosenRows]
) -> list[GroupMean]:
    """Return groups with a number for each quantity, the mean of some of its rows.

    See `ReplicaMeans.over`.
    """
    rows, messages = matched_rows([one.rows for one in groups], [one.label for one in groups])
    first = groups[0]
    axes = {name: column[rows[0]] for name, column in first.axes.items()}
    picked = np.flatnonzero(_mask(axes, chosen))
    if not len(picked):
        raise ValueError(f"no row has {_text(chosen)}")
    quantities = axes[QUANTITY][picked].astype(np.str_)
    kinds = list(dict.fromkeys(quantities.tolist()))
    parts = [picked[quantities == kind] for kind in kinds]
    names = [_name(kind, len(part), chosen) for kind, part in zip(kinds, parts, strict=True)]
    return [
        replace(
            one,
            rows=Rows({QUANTITY: np.array(names, np.str_)}, keys=np.arange(len(names))),
            members=np.stack([one.members[:, own[part]].mean(axis=1) for part in parts], axis=1),
            within=np.array(
                [one.within[own[part[0]]] if len(part) == 1 else np.nan for part in parts]
            ),
            messages=(
                *one.messages,
                *(message for message in messages if message not in one.messages),
            ),
        )
        for one, own in zip(groups, rows, strict=True)
    ]


def _mask(
    axes: Mapping[str, NDArray[np.generic]], chosen: Mapping[str, ChosenRows]
) -> NDArray[np.bool_]:
    """Return which rows have the chosen values.

    Raises
    ------
    ValueError
        If there is no such column, or its values are of another type.
    """
    mask = np.ones(len(axes[QUANTITY]), np.bool_)
    for name, values in chosen.items():
        if name not in axes:
            raise ValueError(f"rows have no {name}: they have {', '.join(axes)}")
        column = axes[name]
        of_text = column.dtype.kind in "US"
        listed = np.asarray(list(values) if isinstance(values, range) else values)
        if (listed.dtype.kind in "US") != of_text or listed.ndim > 1:
            kind = "texts" if of_text else "numbers"
            raise ValueError(f"{name} has {kind}: choose rows by these, not by {values!r}")
        if isinstance(values, tuple):
            if len(values) != 2:
                raise ValueError(
                    f"{name}: a tuple has the first and the last value, not {len(values)} values:"
                    " give a list of values"
                )
            mask &= np.asarray((column >= listed[0]) & (column <= listed[1]), np.bool_)
        else:
            mask &= np.isin(column, listed)
    return mask


def _name(quantity: str, n_rows: int, chosen: Mapping[str, ChosenRows]) -> str:
    """Return the name of a mean over rows: "rmsf_A:31_rows,_resid_30_to_60"."""
    if n_rows == 1 and not chosen:
        return quantity
    rows = f"{n_rows} row{'s' * (n_rows > 1)}"
    label = ", ".join(filter(None, [rows, _text(chosen)])).replace(" ", "_")
    return f"{quantity}{',_' if ':' in quantity else ':'}{label}"


def _text(chosen: Mapping[str, ChosenRows]) -> str:
    """Return the choice of rows as text."""
    return ", ".join(f"{name} {' '.join(_words(values))}" for name, values in chosen.items())


def _words(values: ChosenRows) -> Iterator[str]:
    """Yield the words of the values of a column."""
    if isinstance(values, tuple):
        yield f"{values[0]} to {values[1]}"
    elif isinstance(values, (str, int, float)):
        yield str(values)
    else:
        yield from map(str, values)
