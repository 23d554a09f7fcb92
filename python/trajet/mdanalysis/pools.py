"""Analyses of MDAnalysis on pools."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from MDAnalysis.analysis.backends import BackendBase
from MDAnalysis.analysis.base import AnalysisBase
from MDAnalysis.lib.log import ProgressBar
from numpy.typing import ArrayLike, NDArray

from trajet import _trajet
from trajet._trajet import WorkerError
from trajet.mdanalysis.analysis_jobs import AnalysisJobs, RangeResult, joined
from trajet.pools.jobs import Job, JobPool, JobResult
from trajet.pools.local import LocalPool
from trajet.pools.mapping import map_items
from trajet.pools.pool import Pool, Progress, check_counts, facts_of
from trajet.pools.portable import Portable
from trajet.pools.rank_placeholder import root_only
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome
from trajet.pools.timing import WORKER_STAGES, RunTiming
from trajet.report_entries import InputEntry, OpeningEntry, WorkerEntry
from trajet.result import COUNTS, Report, entries_of, make_report

# Ranges of frames of a run: a power of two, which 2, 4 or 8 workers share evenly. Each has at least
# four frames: to prepare an analysis may take as long as to read some.
_MAX_PARTS, _MIN_FRAMES = 64, 4
# If there are more than _FEW_PARTS ranges, each has at least _MIN_POSITIONS positions of atoms: a
# range takes milliseconds to begin, in which hundreds of frames of a small protein are read.
_FEW_PARTS, _MIN_POSITIONS = 16, 1 << 21

_T = TypeVar("_T")
_R = TypeVar("_R")

_reports: WeakKeyDictionary[AnalysisBase, Report] = WeakKeyDictionary()


# Ranks other than 0 may pass None for the analysis.
@root_only("analysis")
def run(
    analysis: AnalysisBase | None,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: ArrayLike | None = None,
    pool: Pool | None = None,
    parts: int | None = None,
    progress: bool | Progress = True,
) -> AnalysisBase:
    """Run an analysis of MDAnalysis on a pool.

    The frames are divided into ranges, whose number does not depend on the workers; neither do the
    results. The analysis and its Universes are sent to each worker once; numbers and times of the
    frames and the results come back, and are merged by the aggregator of the analysis. Afterwards
    the analysis is as after `analysis.run()`; `report` returns the report of the pool.

    Under MPI every rank calls `run`. Ranks other than 0 ignore the analysis, and get a placeholder,
    which is false.

    Parameters
    ----------
    analysis
        An `MDAnalysis.analysis.base.AnalysisBase` whose class declares that it can run in parallel.
        It may be of a class or use functions that only a script knows.
    start, stop, step
        The frames, as for `analysis.run`.
    frames
        Instead: numbers of frames, or a mask.
    pool
        Where to compute; None for this process (`LocalPool()`). In each process one thread at a
        time computes, so that `ProcessPool`, `DaskPool` and `MpiPool` are faster.
    parts
        Number of ranges; None for the largest power of two that leaves each at least four frames,
        at most 16, or 64 if each has two million positions of atoms. More workers than ranges are
        idle. With another number, sums may differ in their last bits.
    progress
        Whether to show a progress bar of frames on a terminal or in a notebook, or a function that
        is called with frames done and in total.

    Returns
    -------
    AnalysisBase
        The analysis.

    Raises
    ------
    TypeError
        If `analysis` is not an analysis of MDAnalysis, or `pool` not a pool.
    ValueError
        If the analysis or a transformation of its trajectory cannot run in parallel, or `parts` is
        below one.
    WorkerError
        If a worker dies and no other can take its frames, or lacks a package.
    Exception
        An exception of the analysis, with a note that names the frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import trajet as tj
    >>> from MDAnalysis.analysis.rms import RMSD
    >>> from trajet.mdanalysis import run
    >>> universe = mda.Universe("adk.psf", "adk.xtc")
    >>> rmsd = run(RMSD(universe, select="name CA"), pool=tj.ProcessPool(workers=2))
    >>> rmsd.results.rmsd.shape
    (98, 3)
    """
    check_counts(parts=parts)
    if not isinstance(analysis, AnalysisBase):
        raise TypeError(
            f"an analysis of MDAnalysis is needed, such as RMSD(universe), not {analysis!r}"
        )
    _check_parallel(analysis)
    asked = {"start": start, "stop": stop, "step": step, "frames": frames}
    # `_setup_frames` counts wrongly where a negative step leads to the first frame.
    (chosen,) = analysis._setup_computation_groups(n_parts=1, **asked)
    # Without frames there is one range, which is empty.
    n_frames = max(1, len(chosen))
    with _shown(progress, len(chosen)) as show:
        # MDAnalysis warns of more workers than parts, and of more parts than frames.
        backend = Backend(LocalPool() if pool is None else pool, 1, progress=show)
        return analysis.run(
            **{name: value for name, value in asked.items() if value is not None},
            backend=backend,
            n_parts=min(parts or _n_parts(n_frames, analysis._trajectory.n_atoms), n_frames),
            unsupported_backend=True,
        )


def _n_parts(n_frames: int, n_atoms: int) -> int:
    """Return the default number of ranges."""
    most = min(_MAX_PARTS, max(_FEW_PARTS, n_frames * n_atoms // _MIN_POSITIONS))
    most = min(most, max(1, n_frames // _MIN_FRAMES))
    return 1 << (most.bit_length() - 1)


class Backend(BackendBase):  # type: ignore[misc]
    """A pool as a backend of MDAnalysis: `analysis.run(backend=…, unsupported_backend=True)`.

    As in `trajet.mdanalysis.run`, the analysis and its Universes are sent to each worker once. The
    number of parts is that of MDAnalysis: `n_parts`, or else `n_workers`; results depend on it in
    their last bits. Not for ranks of MPI that all run the script: `trajet.mdanalysis.run` is.

    Parameters
    ----------
    pool
        Where to compute.
    n_workers
        Number of parts, unless `n_parts` is given; None for the number of the pool's threads.
    progress
        Called with frames done and in total.

    Raises
    ------
    TypeError
        If `pool` is not a pool.
    ValueError
        If `n_workers` is below one.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import trajet as tj
    >>> from MDAnalysis.analysis.rms import RMSD
    >>> from trajet.mdanalysis import Backend
    >>> universe = mda.Universe("adk.psf", "adk.xtc")
    >>> backend = Backend(tj.ProcessPool(workers=2))
    >>> rmsd = RMSD(universe, select="name CA").run(backend=backend, unsupported_backend=True)
    >>> rmsd.results.rmsd.shape
    (98, 3)
    """

    def __init__(
        self, pool: Pool, n_workers: int | None = None, *, progress: Progress | None = None
    ) -> None:
        if not isinstance(pool, JobPool):
            raise TypeError(
                "a pool is one of LocalPool(), ProcessPool(), DaskPool(client) and MpiPool(), not"
                f" {pool!r}"
            )
        self._pool, self._progress = pool, progress
        super().__init__(pool.n_threads if n_workers is None else n_workers)

    # The names of the base class.
    def apply(
        self, func: Callable[[_T], _R], computations: Sequence[_T]
    ) -> list[_R] | list[RangeResult]:
        """Return the results of a function; those of an analysis are merged to one.

        Parameters
        ----------
        func
            As MDAnalysis calls it, `_compute` of an analysis; other functions take one argument.
        computations
            Arguments of the function.
        """
        if facts_of(self._pool).rank:
            raise WorkerError(
                "rank 0 alone runs an analysis with a Backend: call"
                " trajet.mdanalysis.run(analysis, pool=pool) on all ranks"
            )
        method = func.func if isinstance(func, functools.partial) else func
        analysis = getattr(method, "__self__", None)
        if getattr(method, "__func__", None) is not AnalysisBase._compute or analysis is None:
            return map_items(self._pool, func, computations, self._progress)
        return [self._run(analysis, [np.asarray(one) for one in computations])]

    def _run(self, analysis: AnalysisBase, ranges: list[NDArray[np.int64]]) -> RangeResult:
        """Run an analysis over ranges of frames: their positions and numbers, `(n_frames, 2)`."""
        _check_parallel(analysis)
        if len(ranges) > 1 and not _has_aggregator(analysis):
            raise ValueError(
                f"{type(analysis).__name__} declares that it can run in parallel, but not how its"
                " results are merged: it needs _get_aggregator; run it with analysis.run()"
            )
        timing = RunTiming()
        spec = AnalysisJobs(analysis)
        analysis._prepare_sliced_trajectory(np.concatenate(ranges)[:, 1])
        # As in a serial run, for what `_conclude` needs. An error comes before anything is sent.
        analysis._prepare()
        jobs = [Job(len(one), one) for one in ranges]
        try:
            done = self._pool.do_jobs(spec, jobs, self._progress)
        finally:
            spec.end()
        analysis._trajectory.rewind()
        analysis._ts, analysis._frame_index = analysis._trajectory.ts, analysis.n_frames - 1
        _reports[analysis] = _report(analysis, self._pool, timing, jobs, done)
        return joined(analysis, [one.result.value for one in done])


def report(analysis: AnalysisBase) -> Report:
    """Return the report of the pool that ran an analysis.

    Its stages are `t_open`, loading Universes in the workers, and `t_comp`, which includes reading:
    MDAnalysis does both at once.

    Raises
    ------
    KeyError
        If the analysis did not run on a pool.
    """
    if analysis not in _reports:
        raise KeyError("the analysis did not run on a pool: use trajet.mdanalysis.run")
    return _reports[analysis]


def _check_parallel(analysis: AnalysisBase) -> None:
    """Check that an analysis can run in parallel.

    Raises
    ------
    ValueError
        If not, with the reason.
    """
    name = type(analysis).__name__
    if not analysis.parallelizable:
        raise ValueError(
            f"{name} cannot run in parallel: its class does not declare that frames may be analysed"
            " independently (_analysis_algorithm_is_parallelizable is False): use analysis.run()"
        )
    for one in analysis._trajectory.transformations:
        if not one.parallelizable:
            raise ValueError(
                f"{name} cannot run in parallel: the transformation {type(one).__name__} of its"
                " trajectory is not parallelizable: use analysis.run()"
            )


def _has_aggregator(analysis: AnalysisBase) -> bool:
    return getattr(analysis._get_aggregator(), "_lookup", True) is not None


@contextmanager
def _shown(progress: bool | Progress, n_frames: int) -> Iterator[Progress | None]:
    """Show a progress bar, if it was asked for; yield a function to update it."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    # None: not in files and pipes.
    with ProgressBar(total=n_frames, unit="frames", disable=None) as bar:
        yield lambda done, _: bar.update(done - bar.n)


class _Universe:
    """Has no opening of its own: MDAnalysis opened the files before."""

    def opening(self) -> OpeningEntry:
        none: OpeningEntry = {
            "t_open": 0.0,
            "t_index": 0.0,
            "opens": 0,
            "requests": 0,
            "bytes_read": 0,
            "index": "loaded",
        }
        return none


def _report(
    analysis: AnalysisBase,
    pool: JobPool,
    timing: RunTiming,
    jobs: Sequence[Job[NDArray[np.int64]]],
    done: Sequence[JobResult[Portable[RangeResult]]],
) -> Report:
    """Return the report of a run."""
    first = 0
    for number, (job, one) in enumerate(zip(jobs, done, strict=True)):
        task = Task(number, (number, number + 1), (first, first + job.n_frames))
        seconds, loading = one.end - one.begin, one.result.value.loading
        spent: dict[str, float] = {
            **dict.fromkeys((*COUNTS, *WORKER_STAGES), 0.0),
            "tasks": 1,
            "frames": job.n_frames,
            "t_open": loading,
            "t_comp": max(0.0, seconds - loading),
            "t_total": seconds,
        }
        outcome = TaskOutcome(
            NO_STATES,
            {"workers": [cast(WorkerEntry, spent)]},
            one.begin,
            one.end,
            one.where["host"],
            one.where["process"],
        )
        timing.add(one.where["worker"], task, outcome, where=one.where)
        for error in one.retried:
            timing.retry(task, error)
        first += job.n_frames
    timing.passes += 1
    # A trajectory of several files has an array of their names.
    files = getattr(analysis._trajectory, "filenames", None)
    files = [analysis._trajectory.filename] if files is None or not len(files) else list(files)
    frames = np.concatenate([one.result.value.frames for one in done])
    parameters = {
        "first_frame": int(frames[0]) if len(frames) else None,
        "last_frame": int(frames[-1]) if len(frames) else None,
        "n_frames": len(frames),
        "n_atoms": [analysis._trajectory.n_atoms],
        "parts": len(jobs),
    }
    made = make_report(
        _Universe(),
        timing.report(pool=pool.kind),
        {
            "analysis": type(analysis).__name__,
            "parameters": parameters,
            "inputs": [entry for file in files for entry in _input(analysis, Path(str(file)))],
            "warnings": [],
            "notes": [],
        },
    )
    # Advice is for analyses of trajet, which run on threads and read files themselves.
    return Report({**entries_of(made), "advice": []})


def _input(analysis: AnalysisBase, path: Path) -> list[InputEntry]:
    """Return the entry of a file of the trajectory, if it is one."""
    if not path.is_file():
        return []
    trajectory = analysis._trajectory
    kind = trajectory.format
    entry: InputEntry = {
        "path": str(path.absolute()),
        "size": path.stat().st_size,
        "digest": _trajet.file_digest(path),
        "format": kind if isinstance(kind, str) else kind[0],
        "n_atoms": trajectory.n_atoms,
    }
    return [entry]
