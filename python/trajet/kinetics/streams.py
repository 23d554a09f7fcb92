"""Features of one trajectory, computed for some frames after the others in bounded memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Pass, Plan
from trajet.analysis.job import Finished, Job, Steps, advanced
from trajet.analysis.runner import AnalysisOutcome, RunRequest, run_jointly
from trajet.analysis.time_axis import equal_step
from trajet.kinetics.columns import FixedColumns, FixedJob
from trajet.kinetics.matching import FeatureColumns, columns_of
from trajet.messages import Message
from trajet.pools.pool import Pool
from trajet.result.table import Table, is_of_frames
from trajet.trajectory import FrameChoice, sharing_universes

# Bytes of the features of the frames that are computed in one run.
RUN_BYTES = 32 * 1024 * 1024
# Frames of a leaf are a power of two; runs that are multiples of one have no broken leaves.
_EVEN = 64


@dataclass(frozen=True)
class FeatureBlock:
    """Features of some frames of one trajectory, which follow one another.

    Attributes
    ----------
    values
        `(n_frames, n_features)`, float64.
    member
        Number of the trajectory, from 0.
    frames
        `(n_frames,)`, int64, frame numbers.
    times
        `(n_frames,)`, float64, ps.
    """

    values: NDArray[np.float64]
    member: int
    frames: NDArray[np.int64]
    times: NDArray[np.float64]


class FeatureStream:
    """Runs the jobs of one trajectory over some of its frames at a time.

    What analyses prepare from all chosen frames, such as a reference, is prepared once for all
    frames: blocks have the numbers of one run over all of them.

    Parameters
    ----------
    jobs
        The analyses.
    fixed
        Columns of the topologies.
    frames, pool
        As for analyses.
    """

    def __init__(
        self,
        jobs: Sequence[Job[Table]],
        fixed: FixedColumns,
        frames: FrameChoice,
        pool: Pool | None,
    ) -> None:
        self._pool = pool
        with sharing_universes():
            self._jobs = [fixed.of(job) for job in jobs]
            self._requests = [_first_request(each.job, frames, pool) for each in self._jobs]
        self.trajectory = self._requests[0].trajectory
        self.frames = self._requests[0].frame_numbers()
        plans = [request.make_plan(self.frames) for request in self._requests]
        for plan, each in zip(plans, self._jobs, strict=True):
            _check_plan(plan, each.job.name, self.trajectory.n_atoms, len(self.frames))
        self._plans = plans
        # Of all features of a frame.
        self._bytes = sum(plan.sizes(self.trajectory.n_atoms)[1] for plan in plans)
        self._counts_jumps = any(
            request.trajectory.source.reader.has_no_jump for request in self._requests
        )
        if self._counts_jumps and (np.diff(self.frames) <= 0).any():
            raise ValueError(
                f"{self.trajectory.label}: without jumps (nojump()) frames= must ascend"
            )

    @property
    def messages(self) -> list[Message]:
        """Messages on columns that are left out."""
        return [message for each in self._jobs for message in each.messages]

    def time_step(self) -> float:
        """Return the time between frames, ps.

        Raises
        ------
        AnalysisError
            If it is not the same between all of them, or unknown.
        """
        return equal_step(self.trajectory, self.frames, "pairs of frames need")

    def results(self, first: int, end: int) -> list[Table]:
        """Return the results of all jobs for the chosen frames `first` to before `end`."""
        chosen = self.frames[first:end]
        compared = self.frames[:end] if self._counts_jumps else None
        requests = [
            replace(request, plan=plan, frames=chosen, compared=compared)
            for request, plan in zip(self._requests, self._plans, strict=True)
        ]
        names = [each.job.name for each in self._jobs]
        with sharing_universes():
            outcomes = run_jointly(requests, names)
            return [
                _result(each, outcome, chosen, self._pool)
                for each, outcome in zip(self._jobs, outcomes, strict=True)
            ]

    def columns(self) -> FeatureColumns:
        """Return the names and the atoms of the features, from a run over the first frame."""
        return columns_of(self.results(0, 1))

    def blocks(
        self, member: int, size: int | None, kept: NDArray[np.int64]
    ) -> Iterator[FeatureBlock]:
        """Iterate over blocks of `size` frames, the last of which may be smaller.

        Parameters
        ----------
        member
            Number of the trajectory.
        size
            Frames of a block; None for 32 MiB.
        kept
            `(n_features,)`, numbers of the features that blocks have.

        Raises
        ------
        AnalysisError
            If a feature of a frame is not a finite number.
        """
        most = max(1, RUN_BYTES // max(1, self._bytes))
        if size is None:
            size = max(1, most - most % _EVEN if most > _EVEN else most)
        at_once = max(size, most - most % size)
        for first in range(0, len(self.frames), at_once):
            end = min(first + at_once, len(self.frames))
            values, frames, times = self._values(first, end, kept)
            for begin in range(0, len(values), size):
                part = slice(begin, begin + size)
                yield FeatureBlock(values[part], member, frames[part], times[part])

    def _values(
        self, first: int, end: int, kept: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """Return features, frame numbers and times of some frames."""
        results = self.results(first, end)
        n_frames = end - first
        parts = [np.reshape(result.values, (n_frames, -1)) for result in results]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if not np.array_equal(kept, np.arange(values.shape[1])):
            values = values[:, kept]
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0].tolist()
            names = [name for result in results for name in result.feature_names()]
            raise AnalysisError(
                f"{self.trajectory.label}: frame {self.frames[first + row]}:"
                f" {names[kept[column]]} is {values[row, column]}: leave the frame or the feature"
                " out"
            )
        return values, results[0].frames, results[0].times


def _first_request(job: Job[Table], frames: FrameChoice, pool: Pool | None) -> RunRequest:
    """Return the run that an analysis asks for."""
    steps = job.start(frames=frames, pool=pool, progress=None)
    request = next(steps)
    steps.close()
    return request


def _check_plan(plan: Plan, name: str, n_atoms: int, n_frames: int) -> None:
    """Raise an error unless the numbers of a frame depend on no other frame.

    Raises
    ------
    ValueError
        If they do.
    """
    n_numbers, _, state = plan.sizes(n_atoms)
    if not n_numbers or state or not Pass(plan, n_atoms, n_frames, []).is_last:
        raise ValueError(
            f"{name}: its numbers depend on all frames together, so that it cannot be computed"
            " block by block: features are numbers of single frames, such as dihedrals, distances,"
            " contacts, or the RMSD from a fixed reference"
        )


def _result(
    each: FixedJob, outcome: AnalysisOutcome, frames: NDArray[np.int64], pool: Pool | None
) -> Table:
    """Return the result of a job, given the outcome of its run.

    Raises
    ------
    ValueError
        If it needs further runs, or its result is no series.
    """
    steps: Steps[Table] = each.job.start(frames=frames, pool=pool, progress=None)
    next(steps)
    done = advanced(steps, outcome)
    if not isinstance(done, Finished):
        steps.close()
        raise ValueError(f"{each.job.name}: it reads frames several times, and is no feature")
    result: object = done.result
    if not is_of_frames(result):
        raise ValueError(f"{each.job.name}: its result is no series of numbers, one row per frame")
    if each.columns is None:
        return result
    # Backbone angles.
    return result.with_labels(each.columns)
