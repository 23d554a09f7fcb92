"""`msd`: mean squared displacement and diffusion coefficient."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError, Plan
from trajet.analysis.arguments import BYTES, PS, Atoms, Metavar
from trajet.analysis.displacements import Displacements, Shape
from trajet.analysis.job import Steps, analysis
from trajet.analysis.origin_blocks import Origins
from trajet.analysis.reference import Weights, weights_of
from trajet.analysis.runner import AnalysisOutcome, RunOptions, RunRequest, main_selection
from trajet.analysis.time_axis import equal_step
from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.particles import masses_as_weights
from trajet.pools.pool import Progress, facts_of
from trajet.quoting import quoted
from trajet.result import (
    MeanSquaredDisplacement,
    Table,
    diffusion,
    errors_of,
    fit_messages,
    range_of_fit,
)
from trajet.result.axes import Axis, named
from trajet.trajectory import Selection, Trajectory

# Most groups of particles, from which the error of the diffusion coefficient follows.
_MAX_GROUPS = 20
# Numbers of a frame beside the positions: the cell along x, y and z, and broken groups.
_PER_FRAME = 4
# Default bytes of positions and transforms.
MAX_MEMORY = 2**29
# Share of a lag that counts as its rounding: 0.3 is no whole number of steps of 0.1.
_LAST_DIGITS = 1e-6
# Change of a length of the cell that is more than the rounding of structure files.
_MIN_CHANGE = 1e-3

Particles = Literal["atom", "residue", "molecule", "chain"]


@analysis(
    is_bounded=True,
    notes=(
        "Positions must be unwrapped: remove jumps over the box with --nojump, for molecules with"
        " --whole --nojump. Frames must be equally spaced in time. Errors are those of groups of"
        " particles, which holds if particles move independently; of fewer than five particles"
        " they are those of blocks of time origins."
    ),
    examples=r"""
    trajet msd top.tpr run.xtc --select "resname SOL" --by molecule --whole --nojump
    trajet msd top.tpr run.xtc --select "name P" --axes xy --nojump --fit-range 1000 5000 \
        -o msd.csv --plot msd.png
    """,
)
def msd(
    selection: Atoms,
    *,
    axes: str = "xyz",
    max_lag: Annotated[float, PS] | None = None,
    fit_range: Annotated[tuple[float, float], PS, Metavar("FROM TO")] | None = None,
    fft: bool = True,
    unwrapped: bool = False,
    by: Particles = "atom",
    weights: Weights = "mass",
    max_memory: Annotated[int, BYTES] = MAX_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[MeanSquaredDisplacement]:
    """Compute the mean squared displacement against lag time.

    The diffusion coefficient of the particles follows from it.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. Positions
        must be unwrapped: remove jumps over the box with `selection.nojump()`, or for molecules
        with `selection.whole().nojump()`; with `selection.nojump(view="toroidal")` if the cell
        changes, as at constant pressure.
    axes
        Axes along which displacements are measured: "xyz", "xy", "z", …. The diffusion coefficient
        is the slope divided by twice their number.
    max_lag
        The longest lag, ps. None for the length of the trajectory.
    fit_range
        Shortest and longest lag of the fit, ps. None for 10 % to 50 % of the longest lag. The
        result's `fit(first, last)` fits another range.
    fft
        Whether the sums over all pairs of frames are made by Fourier transforms. They take n log n
        steps, and n² steps pair by pair; the numbers differ by rounding.
    unwrapped
        Whether positions are known to be unwrapped: a step of more than half of the cell is then no
        error.
    by
        The particles: each atom, or the centre of the selected atoms of each residue, molecule or
        chain. They are those of `Selection.split`.
    weights
        Weights of the centres. "mass", "equal", or one number per atom.
    max_memory
        Memory that positions and transforms may take. If the positions of all particles take more,
        the trajectory is read several times, for some of the particles at a time.

    Returns
    -------
    MeanSquaredDisplacement
        `values` `(n_lags,)`, float64, Å², at `lags` (ps), averaged over all pairs of frames and all
        particles, with `half_widths` of their 95 % intervals; `diffusion` and
        `diffusion_half_width` in Å²/ps.

    Raises
    ------
    AnalysisError
        If positions jump over the box or molecules are broken, if times are not equally spaced, or
        if there are fewer than two frames, or a frame without positions.
    ValueError
        If the longest lag exceeds the trajectory, the fit has fewer than two lags, `axes` are not
        some of x, y and z, or one particle does not fit into `max_memory`.
    SelectionError
        If masses, or bonds for molecules, are missing.

    Notes
    -----
    Times of frames must be equally spaced, but for one rounding of the type in which they are
    stored.

    A step between neighbouring frames of more than half of the cell along an axis is an error,
    because it shows that positions are wrapped. Steps are not checked if jumps are removed
    (`nojump`), with `unwrapped`, and in frames that have no cell; `warnings` name such
    frames.

    Fourier transforms: G. R. Kneller, V. Keiner, M. Kneller and M. Schiller, Comput. Phys. Commun.
    91, 191 (1995), doi:10.1016/0010-4655(95)00048-K. The fit is described at
    `MeanSquaredDisplacement`.

    Errors take particles as independent, in up to 20 groups of consecutive ones. If intervals of
    time origins are more than three times as wide, `warnings` say that particles
    move together. Of fewer than five particles, errors follow from blocks of time origins, and
    messages say from which lag on the trajectory is too short for them. docs/statistics.md has the
    coverage of both.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("solvated.tpr", "solvated.xtc").nojump()
    >>> result = tj.msd(traj.select("resname SOL and not name MW"), by="molecule")
    >>> result.values[:3].round(2)
    array([  0.  , 207.42, 410.14])
    """
    main = main_selection(selection)
    trajectory = main.trajectory
    if not axes or set(axes) - set("xyz") or len(set(axes)) < len(axes):
        raise ValueError(f"axes are some of x, y and z, such as 'xyz' or 'z', not {axes!r}")
    numbers = trajectory.source.numbers(run.get("frames"))
    lags = _lags(trajectory, numbers, max_lag)
    range_of_fit(lags, fit_range)
    messages: list[Message] = []
    moving = _Particles.of(main, by, weights, messages)
    n_groups = min(_MAX_GROUPS, moving.n_particles)
    borders = np.linspace(0, moving.n_particles, n_groups + 1).astype(np.int64)
    shape = Shape(len(numbers), len(lags), len(axes), borders, fft, max_memory)
    checks = _Checks(main, moving, axes, unwrapped=unwrapped)
    sums, origins, outcome, n_reads = yield from _read(main, moving, shape, axes, checks, run)
    if n_reads > 1:
        messages.append(
            Message(
                Code.READ_SEVERAL_TIMES,
                f"the trajectory was read {n_reads} times, for some particles at a time, as"
                f" max_memory is {max_memory} bytes; times and counters are those of the last",
            )
        )
    values = sums.means()
    sizes = np.diff(borders)
    blocks = origins.blocks()
    errors = errors_of(values, sizes, blocks)
    found = diffusion(lags, values, sizes, len(axes), fit_range, blocks)
    messages += [*checks.messages, *fit_messages(found, lags)]
    messages += origins.messages(values, sizes, lags, errors)
    recorded = {
        "n_particles": moving.n_particles,
        "fit_range": [found.first, found.last] if np.isfinite(found.first) else None,
        **({"weights": None} if by == "atom" else {}),
        "n_reads": n_reads,
    }
    report = outcome.report(messages, recorded=recorded)
    axis = Axis("lag", {"time": lags})
    part = partial(Table, name="MSD", units="Å²", selections=(main.label,), report=report)
    groups = named("parts", [f"group {k}" for k in range(len(sizes))], size=sizes)
    parts = {"groups": part(values, (axis, groups))}
    if blocks is not None:
        labels = [f"block {k}" for k in range(blocks.shape[1])]
        parts["blocks"] = part(blocks, (axis, named("parts", labels)))
    return MeanSquaredDisplacement(
        values=(values * (sizes / sizes.sum())).sum(axis=1),
        axes=(axis,),
        name="MSD",
        units="Å²",
        selections=(main.label,),
        report=report,
        also={"n_windows": len(numbers) - np.arange(len(lags), dtype=np.int64)},
        parts=parts,
        directions=axes,
        particles=by,
        fit_first=found.first,
        fit_last=found.last,
        diffusion=found.coefficient,
        diffusion_error=found.error,
        intercept=found.intercept,
        exponent=found.exponent,
        standard_errors=errors.standard_errors,
        half_widths=errors.half_widths,
        resolved=np.array([not reason for reason in errors.reasons], bool),
        diffusion_half_width=found.half_width,
    )


@dataclass(frozen=True)
class _Particles:
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
        cls, main: Selection, by: Particles, weights: Weights, messages: list[Message]
    ) -> "_Particles":
        """Return the particles of a selection, in the order of their first atoms."""
        if by == "atom":
            return cls(main.columns, np.arange(main.n_atoms + 1), None, are_groups=False)
        if by not in ("residue", "molecule", "chain"):
            raise ValueError(f"by must be 'atom', 'residue', 'molecule' or 'chain', not {by!r}")
        _, first, which = np.unique(main.group_numbers(by), return_index=True, return_inverse=True)
        order = np.argsort(first[which], kind="stable")
        sizes = np.bincount(which)[np.argsort(first)]
        heavy: NDArray[np.float64] | None
        if isinstance(weights, str) and weights == "mass":
            heavy = masses_as_weights(main.topology_atoms[order], messages, sizes.tolist())
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

    def part(self, begin: int, end: int) -> "_Particles":
        """Return some of the particles."""
        first, last = int(self.starts[begin]), int(self.starts[end])
        weights = None if self.weights is None else self.weights[first:last]
        starts = self.starts[begin : end + 1] - self.starts[begin]
        return _Particles(self.columns[first:last], starts, weights, are_groups=self.are_groups)


def _plan(moving: _Particles, axes: str) -> Plan:
    """Return the plan that reads the positions of some particles."""
    sizes = np.diff(moving.starts) if moving.are_groups else None
    return Plan("particles", atoms=moving.columns, sizes=sizes, weights=moving.weights, axes=axes)


def _lags(
    trajectory: Trajectory, numbers: NDArray[np.int64], max_lag: float | None
) -> NDArray[np.float64]:
    """Return the lags up to the longest, ps.

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
            f"{label}: a displacement needs at least two frames, not {len(numbers)}: choose more"
        )
    step = equal_step(trajectory, numbers, "displacements against lags need")
    n_steps = len(numbers) - 1
    length = step * n_steps
    every: NDArray[np.float64] = step * np.arange(n_steps + 1, dtype=np.float64)
    if max_lag is None:
        return every
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


def _read(
    main: Selection,
    moving: "_Particles",
    shape: Shape,
    axes: str,
    checks: "_Checks",
    run: RunOptions,
) -> Generator[RunRequest, AnalysisOutcome, tuple[Displacements, Origins, AnalysisOutcome, int]]:
    """Read the positions of all particles, some at a time, and sum their displacements.

    Returns
    -------
    Displacements, Origins
        The sums of groups of particles, and of blocks of time origins.
    AnalysisOutcome
        The outcome of the last run.
    int
        How many times the trajectory was read.
    """
    n_together = _particles_in(shape, moving.n_particles)
    here = _trajet.available_threads()
    pool = run.get("pool")
    sums = Displacements(shape, here if pool is None else min(here, facts_of(pool).n_threads))
    origins = Origins(shape)
    outcome: AnalysisOutcome | None = None
    begins = range(0, moving.n_particles, n_together)
    for k, begin in enumerate(begins):
        some = moving.part(begin, min(begin + n_together, moving.n_particles))
        # The rows of the run before are freed.
        outcome = None
        progress = _share(run.get("progress"), k, len(begins))
        outcome = yield RunRequest(_plan(some, axes), [main], progress=progress)
        checks.check_rows(outcome)
        for group, first, last in _portions(shape, begin, begin + some.n_particles):
            series = _series_of(outcome.floats("positions"), first - begin, last - begin)
            checks.check_series(outcome, series, first)
            sums.add(series, group)
            origins.add(series)
    assert outcome is not None
    return sums, origins, outcome, len(begins)


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


def _series_of(positions: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Return the positions of some particles, `(n, n_axes, n_frames)`."""
    n_frames, n_particles, width = positions.shape
    # A view: the positions of all particles are not copied.
    rows = positions.reshape(n_frames, n_particles * width)
    series = np.ascontiguousarray(rows[:, first * width : last * width].T)
    return series.reshape(last - first, width, n_frames)


def _portions(shape: Shape, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the group, the first and the end of the particles that are computed at a time."""
    for group in range(len(shape.borders) - 1):
        first = max(int(shape.borders[group]), begin)
        last = min(int(shape.borders[group + 1]), end)
        for low in range(first, last, shape.n_at_once):
            yield group, low, min(low + shape.n_at_once, last)


def _message_on_motion(words: Mapping[str, object]) -> Message | None:
    """Return a message on a transform that moves each frame as a whole; None for all others."""
    name, atoms = words["transform"], quoted(str(words.get("atoms")))
    if name == "fit" and words["motion"] != "translation":
        return Message(
            Code.NOT_SUPERPOSED,
            f"frames are rotated to fit {atoms}, which moves all other particles",
            "take the trajectory without fit()",
        )
    if name in ("center", "fit"):
        which = "fit()" if name == "fit" else "center() and repair()"
        return Message(
            Code.NOT_SUPERPOSED,
            f"frames are moved to keep {atoms} in one place: displacements are relative to it, and"
            f" its own diffusion is removed",
            f"take the trajectory without {which} for displacements in the cell",
        )
    return None


def _message_on_cells(
    steps: Sequence[Mapping[str, object]], lengths: NDArray[np.float64]
) -> Message | None:
    """Return a message if jumps are removed by the vectors of a changing cell.

    Parameters
    ----------
    steps
        The transforms.
    lengths
        `(n_frames, 3)`, Å; NaN without a cell.
    """
    in_lattice = any(
        words["transform"] == "nojump" and words["view"] == "lattice" for words in steps
    )
    known = lengths[np.isfinite(lengths).all(axis=1)]
    if not in_lattice or not len(known):
        return None
    change = float((np.ptp(known, axis=0) / known.max(axis=0)).max())
    if change <= _MIN_CHANGE:
        return None
    return Message(
        Code.WRAPPED_POSITIONS,
        f"the cell changes by up to {100 * change:.2g} %, and particles that have crossed it move"
        " with its vectors, which makes the MSD too large",
        'use nojump(view="toroidal")',
    )


class _Checks:
    """Checks that positions are there, whole and unwrapped."""

    def __init__(self, main: Selection, moving: _Particles, axes: str, *, unwrapped: bool) -> None:
        self._main, self._moving, self._axes = main, moving, axes
        steps = [step.words for step in main.trajectory.transforms]
        names = [str(words["transform"]) for words in steps]
        # Transforms that put molecules into other images undo the removal of jumps.
        last = max((k for k, name in enumerate(names) if name in ("wrap", "cluster")), default=-1)
        self._is_unwrapped = unwrapped or "nojump" in names[last + 1 :]
        # Wrapping by atom or residue breaks molecules that were made whole before.
        breaks = [name == "wrap" and steps[k]["by"] != "molecule" for k, name in enumerate(names)]
        broken = max((k for k, is_breaking in enumerate(breaks) if is_breaking), default=-1)
        self._is_whole = self._is_unwrapped or "whole" in names[broken + 1 :]
        self._half: NDArray[np.float64] | None = None
        self._steps = steps
        self._moved = [text for words in steps if (text := _message_on_motion(words)) is not None]
        self.messages = self._moved

    def check_rows(self, outcome: AnalysisOutcome) -> None:
        """Check that no molecule is broken, and take the cells of the frames."""
        cells = outcome.floats("cell")
        without = np.isnan(cells).any(axis=1)
        self.messages = [*self._moved]
        if not self._is_unwrapped and without.any():
            text = Message(
                Code.NO_CELL,
                "whether positions are wrapped over the box is not checked in frames that have no"
                f" cell or a rotated one ({int(without.sum())} of {len(cells)}): a wrapped position"
                " makes the MSD wrong",
            )
            self.messages.append(text)
        if (message := _message_on_cells(self._steps, cells)) is not None:
            self.messages.append(message)
        broken = np.flatnonzero(outcome.integers("broken"))
        if broken.size and not self._is_whole:
            k = int(broken[0])
            raise AnalysisError(
                f"{self._main.trajectory.label}: frame {outcome.frames[k]}:"
                f" {outcome.integers('broken')[k]} of {self._moving.n_particles} particles extend"
                " over more than half of the cell, as molecules do that are broken over the box:"
                " make them whole and remove their jumps with selection.whole().nojump(),"
                " or give unwrapped=True if they are long"
            )
        axes = ["xyz".index(axis) for axis in self._axes]
        smaller = np.minimum(cells[1:, axes], cells[:-1, axes])
        self._half = None if self._is_unwrapped else smaller.T / 2

    def check_series(
        self, outcome: AnalysisOutcome, series: NDArray[np.float64], first: int
    ) -> None:
        """Check some particles, of which `first` is the first."""
        label = self._main.trajectory.label
        if not np.isfinite(series).all():
            k = int(np.flatnonzero(~np.isfinite(series).all(axis=(0, 1)))[0])
            raise AnalysisError(
                f"{label}: frame {outcome.frames[k]}: a selected atom has no position there (not a"
                " number): leave this frame out"
            )
        if self._half is None:
            return
        steps = np.abs(np.diff(series, axis=-1))
        # False without a cell.
        jumps = steps > self._half
        if not jumps.any():
            return
        k = int(np.flatnonzero(jumps.any(axis=(0, 1)))[0])
        particle, axis = (int(one[0]) for one in np.nonzero(jumps[:, :, k]))
        where = "xyz".index(self._axes[axis])
        raise AnalysisError(
            f"{label}: {self._name(first + particle)} moves by {steps[particle, axis, k]:.1f} Å"
            f" along {self._axes[axis]} from frame {outcome.frames[k]} to frame"
            f" {outcome.frames[k + 1]}, more than half of the cell"
            f" ({outcome.floats('cell')[k, where]:.1f} Å), as wrapped positions do: remove jumps"
            " with selection.nojump(), or give unwrapped=True if particles are that fast"
        )

    def _name(self, particle: int) -> str:
        """Return the name of a particle by its first atom."""
        column = self._moving.columns[self._moving.starts[particle]]
        trajectory = self._main.trajectory
        if trajectory.has_topology:
            name = trajectory.source.structure.atoms.describe(int(column))
        else:
            name = f"atom {trajectory.source.index.indices_of(np.array([column]))[0]}"
        return f"the centre of the particle of {name}" if self._moving.are_groups else name
