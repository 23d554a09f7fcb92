"""What every analysis is about: selections, frames, a run, and what the report says of it."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import mdanalysis
from trajet._trajet import SelectionError
from trajet.advise.entries import Assembled, InputEntry, Parameters, RunReport
from trajet.analysis.sample import serial_sample
from trajet.pools.local import LocalPool
from trajet.pools.pool import AnalysisSpec, Pool, Progress, n_frames_of
from trajet.result import Report, make_report
from trajet.trajectory import (
    FrameChoice,
    Selection,
    Trajectory,
    UpdatingSelection,
    frame_numbers,
    from_atomgroup,
    resolve_frames,
)

if TYPE_CHECKING:
    from trajet.mdanalysis import AtomGroup

# called with the frames and the numbers of each frame that a run will have
ApproveRows = Callable[[int, int], None]
_approve_rows: ContextVar[ApproveRows | None] = ContextVar("approve_rows", default=None)


@contextlib.contextmanager
def rows_approved_by(approve: ApproveRows) -> Iterator[None]:
    """Call `approve` before a run reads frames; what it raises ends the run.

    Parameters
    ----------
    approve
        Called with the number of frames, and with how many float64 each adds to the result.
    """
    token = _approve_rows.set(approve)
    try:
        yield
    finally:
        _approve_rows.reset(token)


def main_selection(thing: "Selection | AtomGroup") -> Selection:
    """Return the main selection of an analysis."""
    if isinstance(thing, Trajectory):
        thing = thing.all_atoms()
    elif mdanalysis.is_atomgroup(thing):
        thing = from_atomgroup(thing)
    _check_fixed(thing)
    if not isinstance(thing, Selection):
        raise TypeError(
            "the first argument must be a selection (trajectory.select(...)) or an MDAnalysis"
            f" AtomGroup, not {type(thing).__name__}"
        )
    if thing.trajectory.has_topology:
        # Also where nothing is selected by name: the topology must be this trajectory's.
        _ = thing.trajectory.topology
    return thing


def _check_fixed(thing: object) -> None:
    """Raise an error for a selection whose atoms follow the frame.

    Raises
    ------
    SelectionError
        If it is one.
    """
    if isinstance(thing, UpdatingSelection):
        raise SelectionError(
            f"{thing!r} has other atoms in each frame, and this needs the same in all: count(...)"
            " and apply(...) take it; select with updating=False, or the atoms of one frame with"
            " .at(frame)"
        )


def further_selection(thing: "str | Selection | AtomGroup", trajectory: Trajectory) -> Selection:
    """Return a further selection of the same system."""
    if isinstance(thing, str):
        return trajectory.select(thing)
    _check_fixed(thing)
    if isinstance(thing, Selection):
        if thing.trajectory is not trajectory:
            raise SelectionError(
                f"{thing!r} is of another trajectory than the main selection: transform the"
                " trajectory first, then select from it"
            )
        return thing
    if mdanalysis.is_atomgroup(thing):
        if len(thing.universe.atoms) != trajectory.n_named:
            raise SelectionError("a group is of another system than the main selection")
        return trajectory.select(mdanalysis.fixed_indices(thing))
    raise TypeError(f"a group is a selection string or a Selection, not {type(thing).__name__}")


@dataclass(frozen=True)
class AnalysisOutcome:
    """Rows, state and report of a run.

    Attributes
    ----------
    rows
        `(n_frames, width)`, float64.
    state
        The folded numbers, float64.
    frames, times
        `(n_frames,)`, frame numbers and ps.
    run
        Report of the engine.
    atoms
        The atoms that were read.
    t_select
        Seconds that evaluating the selections took.
    """

    trajectory: Trajectory
    rows: NDArray[np.float64]
    state: NDArray[np.float64]
    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    run: RunReport
    atoms: NDArray[np.int64]
    t_select: float

    def report(
        self,
        analysis: str,
        parameters: Parameters,
        further_inputs: list[InputEntry] | None = None,
        remarks: Sequence[str] = (),
    ) -> Report:
        """Return the report: what was asked for, of which files, and where the time went.

        The store of a data set remembers the analysis.
        """
        self.trajectory.record_analysis(analysis, self.atoms, self.run["workers"])
        asked: Assembled = {
            "analysis": analysis,
            "parameters": {
                "first_frame": int(self.frames[0]) if len(self.frames) else None,
                "last_frame": int(self.frames[-1]) if len(self.frames) else None,
                "n_frames": len(self.frames),
                **parameters,
                **self.trajectory.describe_transforms(self.atoms),
            },
            "inputs": [*self.trajectory.describe_inputs(), *(further_inputs or [])],
            # What makes a number doubtful comes first: a command shows a few of them.
            "remarks": [
                *dict.fromkeys(remarks),
                *self.trajectory.transform_remarks(self.run["workers"]),
                *self.trajectory.remarks,
            ],
            **self.trajectory.before_run(self.t_select, self.run["t_total"]),
        }
        trajectory = self.trajectory
        return make_report(trajectory.reader, self.run, asked, trajectory.tiers, trajectory.tags)


@dataclass(frozen=True)
class RunRequest:
    """A run that an analysis asks for: a plan over frames of a trajectory.

    Attributes
    ----------
    trajectory
        The trajectory of the selections.
    frames
        The chosen frames, as users give them.
    pool
        Where to compute; None for `LocalPool()`.
    progress
        Called with frames done and in total, or None.
    make_plan
        Returns the plan, given the numbers of the chosen frames.
    t_select
        Seconds that choosing the atoms took, for the report: see `selecting`.
    sample
        Whether a serial sample is measured before the run.
    reference
        A frame to which the chosen frames are compared: jumps are counted from the first of all
        these.
    """

    trajectory: Trajectory
    frames: FrameChoice
    pool: Pool | None
    progress: Progress | None
    make_plan: Callable[[NDArray[np.int64]], AnalysisSpec]
    _: KW_ONLY
    t_select: float
    sample: bool = False
    reference: int | None = None


def run(request: RunRequest) -> AnalysisOutcome:
    """Run the plan that a request makes for the numbers of the chosen frames.

    Raises
    ------
    TypeError
        If the pool is not a pool, for example a name.
    """
    trajectory, pool = request.trajectory, request.pool
    if pool is not None and not callable(getattr(pool, "run", None)):
        raise TypeError(
            "a pool is one of LocalPool(), ProcessPool(), DaskPool(client) and MpiPool(), not"
            f" {pool!r}"
        )

    def attempt() -> tuple[AnalysisSpec, NDArray[np.float64], NDArray[np.float64], RunReport]:
        plan = request.make_plan(chosen)
        if (approve := _approve_rows.get()) is not None:
            n_frames = n_frames_of(numbers)
            approve(n_frames, plan.row_width(trajectory.reader.n_atoms, n_frames))
        where = pool or LocalPool()
        # A pool of the user's own may not have the attribute.
        n_threads = getattr(where, "n_threads", 1)
        reference = request.reference
        counted = numbers if reference is None else np.append(chosen, reference)
        reader = trajectory.reader_for(counted, plan.atoms(), n_threads)
        measured: Assembled = {}
        # Frames in the middle would need those before them.
        if request.sample and not reader.has_no_jump:
            measured = {"sample": serial_sample(reader, plan, numbers, n_threads)}
        before = time.perf_counter() - begin
        rows, state, report = where.run(reader, plan, numbers, progress=request.progress)
        measured = {**_shift_times(report, before), **measured}
        return plan, rows, state, measured

    begin = time.perf_counter()
    numbers = resolve_frames(request.frames, trajectory.n_frames, trajectory.label)
    chosen = frame_numbers(numbers)
    plan, rows, state, report = trajectory.fresh(attempt)
    # Frames that were read have been compared with the index.
    times, atoms = trajectory.reader.times()[chosen], plan.atoms()
    report["t_total"] = time.perf_counter() - begin
    return AnalysisOutcome(trajectory, rows, state, chosen, times, report, atoms, request.t_select)


def selecting(*selections: Selection | UpdatingSelection | None) -> float:
    """Return the seconds that evaluating selections took; None is skipped."""
    return sum(selection.t_select for selection in selections if selection is not None)


def _shift_times(report: Assembled, before: float) -> dict[str, object]:
    """Return a pool's report with times since the call, which began `before` seconds earlier."""
    times = {"tasks": ("t_begin", "t_end"), "transitions": ("time",)}
    shifted = {
        name: [{**entry, **{key: entry[key] + before for key in keys}} for entry in report[name]]
        for name, keys in times.items()
        if name in report
    }
    return {**report, **shifted, "t_preparing": before}


def describe(value: object) -> object:
    """Return the entry of an argument in a report."""
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return f"given as {type(value).__name__}"
