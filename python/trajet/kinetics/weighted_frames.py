"""Frames with weights, divided into states: shares of the states and errors of their ratios.

Weights of a biased simulation are exp(V / k_B T), of a bias V that does not change: G. M. Torrie
and J. P. Valleau, J. Comput. Phys. 23, 187 (1977), doi:10.1016/0021-9991(77)90121-8. In
metadynamics, V is corrected for its offset: P. Tiwary and M. Parrinello, J. Phys. Chem. B 119, 736
(2015), doi:10.1021/jp504920s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet import constants
from trajet.checked_numbers import checked_numbers
from trajet.kinetics.coordinates import Coordinate, check_same_frames
from trajet.messages import Code, Message
from trajet.result import EnsembleResult, Table
from trajet.uncertainty.correlation import inefficiency
from trajet.uncertainty.estimates import MIN_EFFECTIVE, MIN_FRAMES
from trajet.uncertainty.even_times import clock_of
from trajet.uncertainty.log_ratios import log_ratios

_Runs: TypeAlias = Sequence[ArrayLike | Table]
# One number for each frame, or such a result; of an ensemble those of each member.
FrameNumbers: TypeAlias = ArrayLike | Table | EnsembleResult[Table] | _Runs
Units: TypeAlias = Literal["kJ/mol", "kcal/mol", "kT"]

# kJ of a kcal.
_KJ_PER_KCAL = 4.184
# Most blocks of all runs together, as `trajet.analysis.block_errors` has them.
_MAX_BLOCKS = 127
# Deviations that are no more than rounding.
_ROUNDING = 1e-12


def thermal_energy(temperature: float, units: str) -> float:
    """Return k_B T in some units.

    Raises
    ------
    ValueError
        If there are no such units, or the temperature is not positive.
    """
    energy = constants.thermal_energy(temperature) * constants.AVOGADRO / 1000
    if units not in get_args(Units):
        raise ValueError(f"units are {', '.join(map(repr, get_args(Units)))}, not {units!r}")
    per_unit = {"kJ/mol": 1.0, "kcal/mol": _KJ_PER_KCAL}
    return energy / per_unit[units] if units in per_unit else 1.0


@dataclass(frozen=True)
class WeightedFrames:
    """The frames of all runs, one after the other.

    Attributes
    ----------
    cells
        `(n_frames,)`, int64: the bin of each frame, -1 outside.
    weights
        `(n_frames,)`, the largest is 1.
    lengths
        Number of frames of each run.
    n_effective
        Number of independent frames of equal weights that would have the same errors.
    reason
        Why no error is resolved; empty if some may be.
    """

    cells: NDArray[np.int64]
    weights: NDArray[np.float64]
    lengths: tuple[int, ...]
    n_effective: float
    reason: str

    def shares(self, states: NDArray[np.int64], n_states: int) -> NDArray[np.float64]:
        """Return the weight per frame in each state, given that of each frame; -1 for none."""
        groups = np.zeros(len(states), np.int64)
        shares: NDArray[np.float64] = self._of_groups(states, n_states, groups)[0]
        return shares

    def _of_groups(
        self, states: NDArray[np.int64], n_states: int, groups: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the weight in states of groups of frames, whose mean is the weight per frame."""
        n_groups, counts = int(groups.max()) + 1, states >= 0
        at = groups[counts] * n_states + states[counts]
        sums = np.bincount(at, self.weights[counts], n_groups * n_states)
        found: NDArray[np.float64] = sums.reshape(n_groups, n_states).astype(np.float64)
        found *= n_groups / len(groups)
        return found

    def _blocks(self) -> NDArray[np.int64]:
        """Return the block of each frame; the last one of a run may have fewer frames."""
        size = 1
        while sum(-(-n // size) for n in self.lengths) > _MAX_BLOCKS:
            size *= 2
        found, first = [], 0
        for n in self.lengths:
            found.append(first + np.arange(n) // size)
            first += -(-n // size)
        return np.concatenate(found)

    def errors(
        self, states: NDArray[np.int64], n_states: int, is_reference: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.object_]]:
        """Return errors of -ln of the shares of states relative to that of some of them.

        Returns
        -------
        tuple of numpy.ndarray
            Standard errors, half widths and reasons, `(n_states,)`: NaN, and no reason, of empty
            states and of one that is the reference.
        """
        shares = self.shares(states, n_states)
        # Of as many states as frames visit.
        seen = np.flatnonzero(shares)
        number = np.full(n_states + 1, -1)
        number[seen] = np.arange(len(seen))
        states = number[states]
        is_own = is_reference[seen]

        def parts(groups: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            of_states = self._of_groups(states, len(seen), groups)
            return of_states, of_states[:, is_own].sum(axis=1)

        blocks, of_reference = parts(self._blocks())
        chosen = np.flatnonzero(~is_own) if is_own.sum() == 1 else np.arange(len(seen))
        replicas = None
        if len(self.lengths) > 1:
            of_runs, own = parts(np.repeat(np.arange(len(self.lengths)), self.lengths))
            replicas = of_runs[:, chosen], own
        found = log_ratios(blocks[:, chosen], of_reference, replicas)
        errors, half_widths = np.full((2, n_states), np.nan)
        reasons = np.full(n_states, "", object)
        at = seen[chosen]
        errors[at], half_widths[at] = found.standard_error, found.half_width
        reasons[at] = self.reason or found.reasons
        return errors, half_widths, reasons

    def messages(self, reasons: NDArray[np.object_], label: Callable[[int], str]) -> list[Message]:
        """Return a message if the errors of some bins, which have labels, are not resolved."""
        wrong = np.flatnonzero(reasons != "")
        if not len(wrong):
            return []
        n_seen = len(np.unique(self.cells[self.cells >= 0]))
        return [
            Message(
                Code.NOT_RESOLVED,
                f"errors from blocks of frames: {len(wrong)} of {n_seen} bins are not resolved, the"
                f" first is at {label(int(wrong[0]))}: {reasons[wrong[0]]}",
            )
        ]


def weighted_frames(
    coordinates: Sequence[Coordinate],
    cells: NDArray[np.int64],
    *,
    weights: FrameNumbers | None,
    bias: FrameNumbers | None,
    temperature: float,
) -> WeightedFrames:
    """Return frames with their weights.

    Raises
    ------
    ValueError
        If weights and bias are both given, there are others than one for each frame, or they are no
        weights.
    """
    tables = coordinates[0].tables
    is_ensemble = coordinates[0].runs != ("",)
    lengths = tuple(map(len, tables))
    logarithms = np.zeros(len(cells))
    if weights is not None and bias is not None:
        raise ValueError("give either weights or the bias of which they follow")
    if weights is not None:
        given = _numbers_of(weights, "weights", tables, is_ensemble=is_ensemble)
        if not ((given >= 0).all() and given.any()):
            raise ValueError("weights must be finite, not negative, and not all zero")
        with np.errstate(divide="ignore"):
            logarithms = np.log(given)
    if bias is not None:
        logarithms = _numbers_of(bias, "bias", tables, is_ensemble=is_ensemble)
        energies = [
            thermal_energy(temperature, _unit_of(own)) for own in _of_runs(bias, is_ensemble)
        ]
        logarithms = logarithms / np.repeat(energies, lengths)
    found = np.exp(logarithms - logarithms.max(initial=-np.inf))
    reasons = [reason for table in tables if (reason := clock_of(table.times, table.frames).reason)]
    independent = min(
        sum(_n_effective(own, one.period) for own in one.values) for one in coordinates
    )
    n_effective = independent * float(found.sum() ** 2 / (len(found) * (found**2).sum()))
    if n_effective < MIN_EFFECTIVE:
        reasons.append(f"{n_effective:.3g} effective frames are fewer than {MIN_EFFECTIVE}")
    return WeightedFrames(cells, found, lengths, n_effective, next(iter(reasons), ""))


def _n_effective(values: NDArray[np.float64], period: float | None) -> float:
    """Return the number of independent frames of a run; 1 if all are equal, or few."""
    rows = values[np.newaxis]
    if period is not None:
        angles = values * (2 * np.pi / period)
        rows = np.stack([np.cos(angles), np.sin(angles)])
    rows = rows - rows.mean(axis=1, keepdims=True) if len(values) >= MIN_FRAMES else rows[:0]
    rows = rows[np.abs(rows).max(axis=1, initial=0) > _ROUNDING]
    return len(values) / float(inefficiency(rows)[0].max()) if len(rows) else min(1.0, len(values))


def _of_runs(given: FrameNumbers, is_ensemble: bool) -> list[ArrayLike | Table]:
    """Return the numbers of each run."""
    return list(cast("_Runs", given)) if is_ensemble else [cast("ArrayLike | Table", given)]


def _unit_of(bias: ArrayLike | Table) -> str:
    """Return the unit of the bias of a run: that of a result, or kJ/mol.

    Raises
    ------
    ValueError
        If a result is in another unit than those of energies.
    """
    if not isinstance(bias, Table):
        return "kJ/mol"
    if bias.units not in get_args(Units):
        raise ValueError(
            f"bias has the unit {bias.units!r}, and not {', '.join(map(repr, get_args(Units)))}:"
            " give its numbers in kJ/mol"
        )
    return bias.units


def _numbers_of(
    given: FrameNumbers, name: str, tables: Sequence[Table], *, is_ensemble: bool
) -> NDArray[np.float64]:
    """Return one finite number for each frame of all runs, one after the other.

    Raises
    ------
    ValueError
        If there are others, or results have other frames.
    """
    of_runs = _of_runs(given, is_ensemble)
    if len(of_runs) != len(tables):
        raise ValueError(f"{name} are a list of those of each of {len(tables)} members")
    found = []
    for own, table in zip(of_runs, tables, strict=True):
        if isinstance(own, Table):
            check_same_frames(table, own, name)
        numbers = checked_numbers(np.asarray(own), name)
        if numbers.size != len(table) or numbers.shape[:1] != (len(table),):
            raise ValueError(f"{numbers.shape} {name} do not fit {len(table)} frames")
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite numbers")
        found.append(numbers.ravel())
    return np.concatenate(found)
