"""Series over time of the positions or velocities of particles, read in bounded memory."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError, Plan
from trajet.analysis.displacements import Shape
from trajet.analysis.reference import Weights, weights_of
from trajet.analysis.runner import AnalysisOutcome, RunRequest
from trajet.analysis.time_axis import equal_step
from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.particles import EQUAL_WEIGHTS, masses_as_weights
from trajet.pools.pool import Pool, Progress, facts_of
from trajet.trajectory import Selection, Trajectory

# Numbers of a frame beside the positions: the cell along x, y and z, and broken groups.
_PER_FRAME = 4
# Most groups of particles of which errors follow.
_MAX_GROUPS = 20
# Default bytes of positions and transforms.
MAX_MEMORY = 2**29
# Share of a lag that counts as its rounding: 0.3 is no whole number of steps of 0.1.
_LAST_DIGITS = 1e-6

Particles = Literal["atom", "residue", "molecule", "chain"]
Quantity = Literal["positions", "velocities"]
Taker: TypeAlias = Callable[[AnalysisOutcome, NDArray[np.float64], int, int], None]


@dataclass(frozen=True)
class MovingParticles:
    """The particles: atoms, or groups of atoms that lie one after the other.

    Attributes
    ----------
    columns
        `(n_atoms,)`, positions of the atoms in a frame.
    starts
        `(n_particles + 1,)`: particle k has the atoms from `starts[k]` to `starts[k + 1] - 1`.
    weights
        `(n_atoms,)`; None for equal ones.
    are_groups
        Whether the particles are groups of atoms.
    """

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    are_groups: bool

    @classmethod
    def of(
        cls,
        main: Selection,
        by: Particles,
        weights: Weights,
        messages: list[Message],
        instead: str = EQUAL_WEIGHTS,
    ) -> "MovingParticles":
        """Return the particles of a selection, in the order of their first atoms.

        `instead` is advice for atoms without masses; see `masses_as_weights`.
        """
        if by == "atom":
            return cls(main.columns, np.arange(main.n_atoms + 1), None, are_groups=False)
        if by not in ("residue", "molecule", "chain"):
            raise ValueError(f"by must be 'atom', 'residue', 'molecule' or 'chain', not {by!r}")
        _, first, which = np.unique(main.group_numbers(by), return_index=True, return_inverse=True)
        order = np.argsort(first[which], kind="stable")
        sizes = np.bincount(which)[np.argsort(first)]
        heavy: NDArray[np.float64] | None
        if isinstance(weights, str) and weights == "mass":
            atoms = main.topology_atoms[order]
            heavy = masses_as_weights(atoms, messages, sizes.tolist(), instead=instead)
        elif (heavy := weights_of(weights, main, messages)) is not None:
            heavy = heavy[order]
        return cls(
            main.columns[order],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            heavy,
            are_groups=True,
        )

    @property
    def n_particles(self) -> int:
        """Number of particles."""
        return len(self.starts) - 1

    def part(self, begin: int, end: int) -> "MovingParticles":
        """Return some of the particles."""
        first, last = int(self.starts[begin]), int(self.starts[end])
        weights = None if self.weights is None else self.weights[first:last]
        starts = self.starts[begin : end + 1] - self.starts[begin]
        return MovingParticles(
            self.columns[first:last], starts, weights, are_groups=self.are_groups
        )


def _plan(moving: MovingParticles, axes: str, quantity: Quantity) -> Plan:
    """Return the plan that reads positions or velocities of some particles."""
    sizes = np.diff(moving.starts) if moving.are_groups else None
    return Plan(
        "particles",
        atoms=moving.columns,
        sizes=sizes,
        weights=moving.weights,
        axes=axes,
        quantity=quantity,
    )


def borders_of_groups(n_particles: int) -> NDArray[np.int64]:
    """Return the borders of up to 20 groups of consecutive particles, `(n_groups + 1,)`."""
    n_groups = min(_MAX_GROUPS, n_particles)
    return np.linspace(0, n_particles, n_groups + 1).astype(np.int64)


def lags_of(
    trajectory: Trajectory,
    numbers: NDArray[np.int64],
    max_lag: float | None,
    share: float = 1.0,
) -> NDArray[np.float64]:
    """Return the lags up to the longest, ps; without one, up to a share of the trajectory.

    Raises
    ------
    AnalysisError
        As `equal_step`, or if there are fewer than two frames.
    ValueError
        If the longest lag exceeds the trajectory, or is shorter than a step.
    """
    label = trajectory.label
    if len(numbers) < 2:
        raise AnalysisError(
            f"{label}: lags need at least two frames, not {len(numbers)}: choose more"
        )
    step = equal_step(trajectory, numbers, "lags need")
    n_steps = len(numbers) - 1
    length = step * n_steps
    every: NDArray[np.float64] = step * np.arange(n_steps + 1, dtype=np.float64)
    if max_lag is None:
        return every[: max(2, int(share * n_steps) + 1)]
    if not 0 < max_lag <= length * (1 + _LAST_DIGITS):
        raise ValueError(
            f"max_lag of {in_digits(max_lag)} ps does not fit {label}, whose {len(numbers)} frames"
            f" take {in_digits(length)} ps: choose a lag above 0 and up to that"
        )
    n_lags = int(max_lag / step * (1 + _LAST_DIGITS)) + 1
    if n_lags < 2:
        raise ValueError(
            f"max_lag of {in_digits(max_lag)} ps is shorter than the step between frames,"
            f" {in_digits(step)} ps: choose a longer lag"
        )
    return every[:n_lags]


def read_series(
    main: Selection,
    moving: MovingParticles,
    shape: Shape,
    axes: str,
    progress: Progress | bool | None,
    take: Taker,
    check: Callable[[AnalysisOutcome], None] | None = None,
    quantity: Quantity = "positions",
) -> Generator[RunRequest, AnalysisOutcome, tuple[AnalysisOutcome, int]]:
    """Read positions or velocities of all particles, some at a time, as series over time.

    Parameters
    ----------
    main, moving
        The selection, and its particles.
    shape
        Sizes of what is computed of the series, and the groups of particles.
    axes
        The axes in their order.
    progress
        As the analysis got it.
    take
        Called with the outcome, series of some particles, `(n, n_axes, n_frames)`, the number of
        their first and that of their group.
    check
        Called with the outcome of each run.
    quantity
        The vectors to read.

    Returns
    -------
    AnalysisOutcome
        The outcome of the last run.
    int
        How many times the trajectory was read.
    """
    n_together = _particles_in(shape, moving.n_particles)
    outcome: AnalysisOutcome | None = None
    begins = range(0, moving.n_particles, n_together)
    for k, begin in enumerate(begins):
        some = moving.part(begin, min(begin + n_together, moving.n_particles))
        # The rows of the run before are freed.
        outcome = None
        shown = _share(progress, k, len(begins))
        outcome = yield RunRequest(
            _plan(some, axes, quantity),
            [main],
            progress=shown,
            is_alone=quantity == "velocities",
        )
        if check is not None:
            check(outcome)
        for group, first, last in _portions(shape, begin, begin + some.n_particles):
            take(outcome, series_of(outcome, first - begin, last - begin), first, group)
    assert outcome is not None
    return outcome, len(begins)


def threads_here(pool: Pool | None) -> int:
    """Return the number of threads that transform series: those of the pool, at most all cores."""
    here = _trajet.available_threads()
    return here if pool is None else min(here, facts_of(pool).n_threads)


def message_on_reads(n_reads: int, max_memory: int) -> list[Message]:
    """Return a message if the trajectory was read several times."""
    if n_reads == 1:
        return []
    return [
        Message(
            Code.READ_SEVERAL_TIMES,
            f"the trajectory was read {n_reads} times, for some particles at a time, as"
            f" max_memory is {max_memory} bytes; times and counters are those of the last",
        )
    ]


def _particles_in(shape: Shape, n_particles: int) -> int:
    """Return how many particles are read at a time.

    Raises
    ------
    ValueError
        If `max_memory` is too little for one.
    """
    per_row, per_particle = 8 * _PER_FRAME * shape.n_frames, 8 * shape.n_frames * shape.n_axes
    work = shape.work_bytes * min(shape.n_at_once, n_particles)
    rest = shape.max_memory - shape.fixed_bytes - per_row - work
    if rest < per_particle:
        least = shape.fixed_bytes + per_row + per_particle + shape.work_bytes
        raise ValueError(
            f"max_memory of {shape.max_memory} bytes is too little for {shape.n_frames} frames:"
            f" give at least {least}, or choose fewer frames or a shorter max_lag"
        )
    return min(n_particles, rest // per_particle)


def _share(progress: Progress | bool | None, k: int, n_runs: int) -> Progress | None:
    """Return the progress of the k-th of several runs over the same frames."""
    if not callable(progress):
        return None
    if n_runs == 1:
        return progress
    return lambda done, total: progress(done + k * total, n_runs * total)


def series_of(outcome: AnalysisOutcome, first: int, last: int) -> NDArray[np.float64]:
    """Return the vectors of some particles of a run, `(n, n_axes, n_frames)`."""
    vectors = outcome.floats("vectors")
    n_frames, n_particles, width = vectors.shape
    # A view: the vectors of all particles are not copied.
    rows = vectors.reshape(n_frames, n_particles * width)
    series = np.ascontiguousarray(rows[:, first * width : last * width].T)
    return series.reshape(last - first, width, n_frames)


def _portions(shape: Shape, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the group, the first and the end of the particles that are computed at a time."""
    for group in range(len(shape.borders) - 1):
        first = max(int(shape.borders[group]), begin)
        last = min(int(shape.borders[group + 1]), end)
        for low in range(first, last, shape.n_at_once):
            yield group, low, min(low + shape.n_at_once, last)
