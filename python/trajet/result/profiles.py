"""Numbers of the members of an ensemble, row by row: what is averaged and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.messages import Code, Message
from trajet.plots import first_of
from trajet.result.axes import IdentityKey
from trajet.result.columns import Columns
from trajet.result.member_outcome import MemberOutcome
from trajet.result.rows import (
    QUANTITY,
    Rows,
    check_distinct,
    common_keys,
    identity_of,
    matched_rows,
    with_common_keys,
)
from trajet.result.table import Table, is_of_frames
from trajet.uncertainty.even_times import FrameClock, clock_of
from trajet.uncertainty.statistics import statistics_of_frames

# Columns that identify a contact in tables.
_OF_CONTACTS = ("row", "row_resid", "column", "column_resid")
# Distances and lags of two members that differ by less, relative, are the same.
_ROUNDING = 1e-5
# Slices of cells are matched by number if their positions differ by less, relative: heights of
# cells differ between runs at constant pressure.
_CELLS = 0.05
_SLICES = "position_A"
# What to do where members have other distances or lags, by their name; else `_SAME_BINS`.
_SAME_BINS = "give all members the same range and bins"
_ADVICE = {
    _SLICES: "slices are parts of the cell: give all members the same bins, and average cells"
    f" whose heights differ by less than {100 * _CELLS:g} %",
    "lag_ps": "choose frames at the same distances in time with frames=",
    "time_ps": "choose frames at the same distances in time with frames=",
    **dict.fromkeys(
        ("x_A", "y_A", "z_A"),
        "give all members the same grid with grid_center=, grid_size= and spacing=",
    ),
}
# Beginning of the names of columns with errors within a run.
_STANDARD_ERROR = "standard_error"
# Angles whose mean direction is shorter than this part of one have no useful mean.
_MIN_RESULTANT = 0.5


@dataclass(frozen=True)
class Profile:
    """Numbers of one result, with what tells them apart.

    Attributes
    ----------
    rows
        What tells the rows apart.
    values
        `(n_rows,)`, float64. Means over time of results with a value per frame.
    errors
        `(n_rows,)`, float64, standard errors of these within the run; NaN if they are not known.
    period
        Period of values on a circle, such as 360 of angles; None for other values.
    unresolved
        Which means over time are not resolved and why, as text; empty if all are.
    """

    rows: Rows
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    period: float | None = None
    unresolved: str = ""


@dataclass(frozen=True)
class Aligned:
    """The numbers of several results, whose rows are matched.

    Attributes
    ----------
    rows
        The rows, as those of the first result.
    values, errors
        `(n_results, n_rows)`; see `Profile`. Values on a circle are near the first one.
    period
        See `Profile`.
    messages
        Messages on rows that some results do not have.
    """

    rows: Rows
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    period: float | None
    messages: tuple[Message, ...] = ()


# Rows and columns of some pairs of a contact map.
_Pairs: TypeAlias = tuple[NDArray[np.int64], ...]


def common_profiles(outcomes: Sequence[MemberOutcome[Table]]) -> list[Profile]:
    """Return the numbers of the results of all members, whose rows have keys.

    See `with_common_keys`. No member has failed.

    Raises
    ------
    AnalysisError
        As `profile_of`, or if residues of contact maps cannot be told apart.
    """
    results = [one.result for one in outcomes if one.result is not None]
    chains = [one.chains_of for one in outcomes]
    maps = [one for one in results if one.IS_PARTIAL]
    pairs: Sequence[_Pairs | None] = [None] * len(results)
    if maps:
        pairs = _pairs_of_any(maps, chains, [one.label for one in outcomes])
    profiles = list(map(profile_of, results, pairs))
    common = with_common_keys([one.rows for one in profiles], chains)
    matched = [replace(one, rows=rows) for one, rows in zip(profiles, common, strict=True)]
    return _filled(matched) if results[0].IS_SPARSE else matched


def _filled(profiles: Sequence[Profile]) -> list[Profile]:
    """Return profiles with the rows of all of them, whose values are 0 where one lacks them.

    Rows are in the order of residues.
    """
    rows = [one.rows for one in profiles]
    keys, first = np.unique(np.concatenate([one.keys for one in rows]), return_index=True)
    every = {
        name: np.concatenate([one.shown[name] for one in rows])[first] for name in rows[0].shown
    }
    identity = {
        key: np.concatenate([one.identity[key] for one in rows])[first]
        for key in rows[0].identity
        if all(key in one.identity for one in rows)
    }
    # By quantity, then by residues, then by kind.
    by = sorted(identity, key=lambda key: (key.column != QUANTITY, not key.members, key.members))
    order = np.lexsort([identity[key] for key in reversed(by)])
    found = []
    for one in profiles:
        at = np.searchsorted(keys, one.rows.keys)
        values, errors = np.zeros(len(keys)), np.full(len(keys), np.nan)
        values[at], errors[at] = one.values, one.errors
        of_all = replace(one.rows, shown=every, identity=identity, keys=keys).some(order)
        found.append(replace(one, rows=of_all, values=values[order], errors=errors[order]))
    return found


def _pairs_of_any(
    maps: Sequence[Table], chains: Sequence[Mapping[str, str]], labels: Sequence[str]
) -> list[_Pairs]:
    """Return the pairs of each map that are in contact in any frame of any map.

    Pairs of residues that a map does not have, and those that are left out, are none of it.
    """
    rows_of, columns_of = (
        [
            Rows({QUANTITY: np.array(one.axes[k].labels(), np.str_)}, one.axes[k].identity())
            for one in maps
        ]
        for k in (0, 1)
    )
    if any(one.is_symmetric for one in maps):
        # The same residues are rows and columns.
        keys = common_keys([*rows_of, *columns_of], [*chains, *chains])
    else:
        keys = [*common_keys(rows_of, chains), *common_keys(columns_of, chains)]
    for side, own, label in zip([*rows_of, *columns_of], keys, [*labels, *labels], strict=True):
        check_distinct(side, own, label)
    n = 1 + max(int(own.max(initial=0)) for own in keys)
    of_maps = list(zip(maps, keys[: len(maps)], keys[len(maps) :], strict=True))
    found = []
    for one, rows, columns in of_maps:
        i, j = one.in_contact()
        first, second = rows[i], columns[j]
        if one.is_symmetric:
            first, second = np.minimum(first, second), np.maximum(first, second)
        found.append(n * first + second)
    first, second = np.divmod(np.unique(np.concatenate(found)), n)
    pairs: list[_Pairs] = []
    for one, rows, columns in of_maps:
        places = np.full((2, n), -1)
        places[0, rows], places[1, columns] = np.arange(len(rows)), np.arange(len(columns))
        i, j = places[0, first], places[1, second]
        known = (i >= 0) & (j >= 0)
        known[known] = ~np.isnan(one.values[i[known], j[known]])
        pairs.append((i[known], j[known]))
    return pairs


def profile_of(result: Table, pairs: _Pairs | None = None) -> Profile:
    """Return the numbers of a result.

    Parameters
    ----------
    result
        The result.
    pairs
        Rows and columns of the pairs of a contact map, also of those that are never in contact, and
        then have the fraction 0; None for pairs that are.

    Raises
    ------
    AnalysisError
        If they cannot be matched with those of another run, such as RMSDs of pairs of frames.
    """
    averaged = result.averaged()
    if averaged is None:
        raise AnalysisError(
            f"results of the class {type(result).__name__} have no rows that are the same in every"
            " member: average numbers of `results` yourself"
        )
    if is_of_frames(averaged):
        return _of_frames(frame_numbers(averaged), clock_of(averaged.times, averaged.frames))
    if averaged.IS_PARTIAL:
        return _of_contacts(averaged, pairs or averaged.in_contact())
    table, axes = averaged._table(), averaged._row_axes()
    columns = dict(_without_errors(table))
    known = [name for axis in axes for name in axis.of_kind.files.values()]
    by = {name: columns[name] for name in known if name in columns}
    numbers = {
        name: column
        for name, column in columns.items()
        if name not in by and column.dtype.kind == "f"
    }
    # In the order of the columns of numbers: one selection after the other.
    found = [column for name, column in table if name.startswith(_STANDARD_ERROR)]
    errors = np.concatenate(found).astype(np.float64) if found else None
    return _with_quantity(by, identity_of(axes), numbers, errors)


def _of_contacts(result: Table, pairs: _Pairs) -> Profile:
    """Return the fractions of pairs, given by rows and columns."""
    columns, n_pairs = dict(result.table_of(*pairs)), len(pairs[0])
    shown = {name: columns[name] for name in _OF_CONTACTS if name in columns}
    rows = Rows(
        {QUANTITY: np.full(n_pairs, "fraction"), **shown},
        identity_of(result.axes, pairs),
        is_symmetric=result.is_symmetric,
    )
    errors = columns.get("standard_error", np.full(n_pairs, np.nan)).astype(np.float64)
    return Profile(rows, columns["fraction"].astype(np.float64), errors)


@dataclass(frozen=True)
class FrameNumbers:
    """Numbers of each frame, whose means over time are rows of a profile.

    Attributes
    ----------
    values
        `(n_frames, n_rows)`, float64.
    rows
        What tells the rows apart.
    period
        See `Profile`.
    """

    values: NDArray[np.float64]
    rows: Rows
    period: float | None = None

    @property
    def names(self) -> list[str]:
        """Quantity of each row."""
        names: list[str] = self.rows.shown[QUANTITY].tolist()
        return names


def frame_numbers(result: Table) -> FrameNumbers:
    """Return the numbers of each frame of a result."""
    shape = len(result.frames), int(np.prod(np.shape(result.values)[1:]))
    values = np.asarray(result.values, np.float64).reshape(shape)
    rows = Rows(
        {QUANTITY: np.array(result.names(), np.str_)},
        identity_of(result.named_axes()),
        is_symmetric=result.is_symmetric,
    )
    return FrameNumbers(values, rows, result.period)


def _of_frames(numbers: FrameNumbers, clock: FrameClock) -> Profile:
    """Return the means over time of numbers per frame."""
    names, period = numbers.names, numbers.period
    found = statistics_of_frames(numbers.values, clock, period=period).estimates
    # Constants, such as contacts that never form, need no message.
    wrong = [k for k, why in enumerate(found.reasons.tolist()) if why and found.std[k] != 0]
    text = ""
    if wrong:
        of = f"{len(wrong)} of {len(names)} quantities, the first " if len(names) > 1 else ""
        text = f"{of}{names[wrong[0]]}: {found.reasons[wrong[0]]}"
    return Profile(numbers.rows, found.mean, found.standard_error, period, text)


def _with_quantity(
    axes: Mapping[str, NDArray[np.generic]],
    identity: Mapping[IdentityKey, NDArray[np.generic]],
    values: Mapping[str, NDArray[np.generic]],
    errors: NDArray[np.float64] | None,
) -> Profile:
    """Return the numbers of several columns below one another."""
    n_rows, n = len(next(iter(values.values()))), len(values)
    names = np.repeat(np.array(list(values), np.str_), n_rows)
    rows = Rows(
        {QUANTITY: names, **{name: np.tile(axis, n) for name, axis in axes.items()}},
        {
            IdentityKey(QUANTITY): names,
            **{key: np.tile(column, n) for key, column in identity.items()},
        },
    )
    numbers = np.concatenate([np.asarray(one, np.float64) for one in values.values()])
    of_all = np.full(numbers.shape, np.nan)
    if errors is not None and len(errors) <= len(numbers):
        # Values are before other quantities, which have none in a table.
        of_all[: len(errors)] = errors
    return Profile(rows, numbers, of_all)


def aligned(profiles: Sequence[Profile], labels: Sequence[str]) -> Aligned:
    """Return the numbers of several results in the rows that all of them have.

    Raises
    ------
    AnalysisError
        As `check_distances` and `matched_rows`.
    """
    first = profiles[0]
    messages = check_distances([one.rows.shown for one in profiles], labels)
    rows, left_out = matched_rows([one.rows for one in profiles], labels)
    messages += left_out
    values = np.stack([one.values[own] for one, own in zip(profiles, rows, strict=True)])
    if first.period is not None:
        # Around their circular mean, so that the order of results does not matter.
        turn = 2 * np.pi / first.period
        towards = np.exp(1j * turn * values).mean(axis=0)
        centre = np.angle(towards) / turn
        values = centre + circular(values - centre, first.period)
        spread = int((np.abs(towards) < _MIN_RESULTANT).sum())
        if spread:
            messages = (
                *messages,
                Message(
                    Code.REPLICAS_DIFFER,
                    f"{spread} of {len(towards)} angles point in opposite directions in different"
                    " members, so that their mean and its interval say little",
                    "look at each member",
                ),
            )
    common = first.rows.some(rows[0])
    if any(message.code is Code.SLICES_BY_NUMBER for message in messages):
        of_all = [
            profile.rows.shown[_SLICES][own].astype(np.float64)
            for profile, own in zip(profiles, rows, strict=True)
        ]
        common.shown[_SLICES] = np.mean(of_all, axis=0)
    return Aligned(
        common,
        values,
        np.stack([one.errors[own] for one, own in zip(profiles, rows, strict=True)]),
        first.period,
        messages,
    )


def circular(differences: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Return differences of values on a circle, between minus and plus half of the period."""
    return differences - period * np.round(differences / period)


def check_distances(
    axes: Sequence[Mapping[str, NDArray[np.generic]]], labels: Sequence[str]
) -> tuple[Message, ...]:
    """Raise an error if distances or lags of results differ, unless one has only more of them.

    Slices of cells of nearly the same height are a message.
    """
    most = 0.0
    for name, axis in axes[0].items():
        if axis.dtype.kind != "f":
            continue
        first = np.unique(axis)
        for own, label in zip(axes[1:], labels[1:], strict=True):
            other = np.unique(own[name])
            shared = min(len(first), len(other))
            steps = np.abs(np.diff(first[:shared])).min(initial=np.inf)
            slack = _ROUNDING * np.abs(first[:shared])
            apart = np.abs(first[:shared] - other[:shared])
            if name == _SLICES and len(first) == len(other) and (apart > slack).any():
                most = max(most, float((apart / np.abs(first)).max()))
                if most <= _CELLS:
                    continue
            if (apart > np.minimum(slack, steps / 4)).any():
                raise AnalysisError(
                    f"{name} differs between {labels[0]} and {label}, from"
                    f" {first[:2].tolist()} and {other[:2].tolist()}:"
                    f" {_ADVICE.get(name, _SAME_BINS)}"
                )
    if not most:
        return ()
    return (
        Message(
            Code.SLICES_BY_NUMBER,
            f"{_SLICES}: slices are matched by their number, as heights of cells differ by up to"
            f" {100 * most:.2g} %",
        ),
    )


def _without_errors(table: Columns) -> Columns:
    """Return the columns of a table but those of errors, which a result may have or not."""
    return [
        (name, column)
        for name, column in table
        if not name.startswith((_STANDARD_ERROR, "half_width_95"))
    ]


@dataclass(frozen=True)
class Abscissa:
    """Positions of the numbers of a quantity along the x axis of a figure.

    Attributes
    ----------
    rows
        The rows that are drawn: those of the quantity.
    x
        Their positions along the x axis.
    label
        Label of the x axis.
    quantity
        Name of the column.
    names
        Names of the numbers if these are no function of a residue, distance or lag; else None.
    """

    rows: NDArray[np.int64]
    x: NDArray[np.float64]
    label: str
    quantity: str
    names: list[str] | None = None

    @property
    def name(self) -> str:
        """Name of the quantity behind the colon, such as a selection, or the whole name."""
        return self.quantity.partition(":")[2].replace("_", " ") or self.quantity


def abscissas_of(axes: Mapping[str, NDArray[np.generic]], series: Sequence[str]) -> list[Abscissa]:
    """Return where the numbers of each quantity stand in a figure.

    Quantities that have one number each are the names of one abscissa.

    Parameters
    ----------
    axes
        Columns that tell rows apart.
    series
        The quantities, which must be among those of the rows.

    Raises
    ------
    ValueError
        If numbers have several axes, such as pairs of residues or voxels.
    """
    quantities = axes[QUANTITY].astype(np.str_)
    others = [name for name in axes if name != QUANTITY]
    if not others:
        rows = _rows_of_names(quantities.tolist(), series)
        names = list(series)
        return [Abscissa(rows, np.arange(len(names), dtype=np.float64), "", names[0], names)]
    return [_abscissa_of(axes, others, np.flatnonzero(quantities == name), name) for name in series]


def abscissas_of_groups(
    groups: Sequence[Mapping[str, NDArray[np.generic]]], series: Sequence[str]
) -> list[list[Abscissa]]:
    """Return `abscissas_of` of several groups that are drawn into the same axes.

    Atoms of groups that differ stand at their residue numbers if these rise in all groups, else in
    the order of chains, residue numbers and atoms of all groups.

    Raises
    ------
    ValueError
        As `abscissas_of`.
    """
    found = [abscissas_of(axes, series) for axes in groups]
    if not all("atom" in axes for axes in groups):
        return found
    for k in range(len(found[0])):
        atoms = [_atoms_of(axes, own[k].rows) for axes, own in zip(groups, found, strict=True)]
        are_numbered = all(own[k].label == "residue" for own in found)
        if are_numbered or all(own == atoms[0] for own in atoms):
            continue
        every = list(dict.fromkeys(atom for own in atoms for atom in own))
        chains = list(dict.fromkeys(chain for chain, *_ in every))
        every.sort(key=lambda atom: (chains.index(atom[0]), atom[1]))
        places = {atom: place for place, atom in enumerate(every)}
        for own, named in zip(found, atoms, strict=True):
            x = np.array([places[atom] for atom in named], np.float64)
            by_place = np.argsort(x, kind="stable")
            own[k] = replace(
                own[k],
                rows=own[k].rows[by_place],
                x=x[by_place],
                label=f"atom of all groups ({len(every)})",
            )
    return found


def _atoms_of(
    axes: Mapping[str, NDArray[np.generic]], rows: NDArray[np.int64]
) -> list[tuple[str, int, str, str, int]]:
    """Return chain, residue number, insertion code, name and count of the atoms of some rows.

    The count is how many atoms before have the same names. What is unknown is empty or 0.
    """
    n = len(rows)
    chains, codes, names = (
        axes[name][rows].astype(np.str_).tolist() if name in axes else [""] * n
        for name in ("chain", "icode", "name")
    )
    residues = axes["resid"][rows].astype(np.int64).tolist() if "resid" in axes else [0] * n
    seen: dict[tuple[str, int, str, str], int] = {}
    atoms = []
    for atom in zip(chains, residues, codes, names, strict=True):
        seen[atom] = seen.get(atom, -1) + 1
        atoms.append((*atom, seen[atom]))
    return atoms


def _rows_of_names(names: Sequence[str], series: Sequence[str]) -> NDArray[np.int64]:
    """Return the row of each series; all rows in order, if these are all series."""
    if list(names) == list(series):
        # A name may occur twice.
        return np.arange(len(names))
    return np.array([names.index(name) for name in series], np.int64)


def _abscissa_of(
    axes: Mapping[str, NDArray[np.generic]],
    others: Sequence[str],
    rows: NDArray[np.int64],
    name: str,
) -> Abscissa:
    """Return where the numbers of a quantity, which are in these rows, stand in a figure."""
    if "atom" in axes:
        residues = axes["resid"][rows].astype(np.float64) if "resid" in axes else None
        if residues is not None and (np.diff(residues) > 0).all():
            return Abscissa(rows, residues, "residue", name)
        return Abscissa(rows, np.arange(len(rows), dtype=np.float64), "atom", name)
    if len(others) > 1:
        raise ValueError(
            f"numbers by {', '.join(others)} are no curve: draw them yourself, from to_dataframe()"
        )
    return Abscissa(rows, axes[others[0]][rows].astype(np.float64), others[0], name)


def chosen_series(
    axes: Sequence[Mapping[str, NDArray[np.generic]]],
    wanted: str | Sequence[str] | None,
    *,
    most: int | None = None,
) -> tuple[list[str], str]:
    """Return the quantities to draw, and words for a legend on those that are left out.

    Parameters
    ----------
    axes
        Columns that tell rows apart, of each group.
    wanted
        Names of quantities, in the order in which they are drawn; None for all that all groups
        have.
    most
        Most quantities with several numbers each, which are drawn in panels; None for no bound.

    Raises
    ------
    ValueError
        If there is no such quantity, or none that all groups have.
    """
    known = [one[QUANTITY].astype(np.str_).tolist() for one in axes]
    if any(len(one) > 1 for one in axes):
        known = [list(dict.fromkeys(own)) for own in known]
    names = known[0]
    if any(own != names for own in known) or wanted is not None:
        twice = [name for own in known for name in own if own.count(name) > 1]
        if twice:
            raise ValueError(f"{twice[0]} occurs twice: its series cannot be told apart")
        names = [name for name in names if all(name in own for own in known)]
    if not names:
        raise ValueError("groups have no series in common: draw the members of one group")
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, str) else wanted
        names = [_named(one, names) for one in wanted]
    if not names:
        raise ValueError("series is empty: name one, or leave it out for all")
    if most is not None and len(names) > most and any(len(one) > 1 for one in axes):
        return names[:most], first_of(len(names))
    return names, ""


def _named(wanted: str, names: Sequence[str]) -> str:
    """Return the quantity of this name, or with this part behind the colon.

    Raises
    ------
    ValueError
        If there is none.
    """
    for name in names:
        if wanted in (name, name.partition(":")[2].replace("_", " ")):
            return name
    raise ValueError(
        f"there is no series {wanted!r} in all groups: they have {', '.join(map(repr, names))}"
    )
