"""`run`: several analyses of one trajectory, for which every frame is read once."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from trajet._trajet import AnalysisError, SelectionError, TrajetError
from trajet.analysis.job import EnsembleJob, Finished, Job, Steps, advanced, ensemble_of
from trajet.analysis.progress_bar import shown_progress
from trajet.analysis.runner import AnalysisOutcome, Approve, RunRequest, run_jointly
from trajet.hints import with_hints
from trajet.members import OpenMember
from trajet.messages import OF_OPENING, by_code, emit
from trajet.pools.pool import Pool, Progress
from trajet.pools.rank_placeholder import RootPool, root_only
from trajet.result import Table, with_scalars
from trajet.trajectory import FrameChoice, sharing_universes

if TYPE_CHECKING:
    from trajet.analysis.ensemble_runs import MemberFrames
    from trajet.analysis.resume import ResumeFolder
    from trajet.result import EnsembleResult

_R = TypeVar("_R", bound=Table)


@overload
def run(
    jobs: Sequence[Job[_R]],
    *,
    keep_going: Literal[False] = False,
    time_sample: bool = False,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | bool | None = None,
) -> list[_R]: ...
@overload
def run(
    jobs: Sequence[Job[_R]],
    *,
    keep_going: bool,
    time_sample: bool = False,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | bool | None = None,
) -> list[_R | Exception]: ...
@overload
def run(
    jobs: Sequence[EnsembleJob[_R]],
    *,
    keep_going: bool = False,
    resume: str | os.PathLike[str] | None = None,
    verify: bool = False,
    time_sample: bool = False,
    frames: "MemberFrames" = None,
    pool: Pool | None = None,
    progress: Progress | bool | None = None,
) -> "list[EnsembleResult[_R]]": ...
@with_hints
def run(
    jobs: Sequence[Job[Table]] | Sequence[EnsembleJob[Table]],
    *,
    keep_going: bool = False,
    resume: str | os.PathLike[str] | None = None,
    verify: bool = False,
    time_sample: bool = False,
    frames: "MemberFrames" = None,
    pool: Pool | None = None,
    progress: Progress | bool | None = None,
) -> "Sequence[Table | Exception | EnsembleResult[Table]]":
    """Run several analyses together: every frame is read and decoded once.

    All atoms that one of the analyses needs are decoded, and each analysis gets its own, after the
    transforms of its own trajectory. The results have the same bits as those of separate runs.
    Analyses that go on to read other frames, as `pairwise_rmsd` with `other_frames`, read these on
    their own.
    Analyses of several passes share each pass; those of fewer passes run in the last one.
    Members of an ensemble share the workers of the pool, several at a time.

    Parameters
    ----------
    jobs
        Analyses with their arguments: `tj.rmsd.job(...)`, `tj.rmsf.job(...)`, and so on. All
        selections are of one trajectory, with any transforms, or AtomGroups of one Universe; or all
        are of one ensemble.
    keep_going
        If an analysis fails, leave it out and run the others again. The result of the one that
        failed is its exception. Not if a frame cannot be read. Of an ensemble, members that fail
        are left out: `failures` of the results has them.
    resume
        Of an ensemble: a folder in which the result of each member and analysis is kept. Results
        of earlier runs that are there are used again if version, arguments, frames, transforms and
        files are the same: after a run was killed, the rest is computed, with the same bits.
    verify
        With `resume`: compare all bytes of all files. Otherwise size, time of change and the digest
        of the first and last bytes tell whether trajectories and files above 64 MiB have changed.
        Results that were kept without `verify` are computed again.
    time_sample
        Also measure R_comp/IO on a few frames that one thread reads before the run, for the report
        (`r_comp_io` and `sample`). A run on one thread needs no sample.
    frames
        A slice, frame numbers, or a mask; None for all. One number is one frame: `range(10)` are
        ten. Of an ensemble, of each member; or a function that returns these for an open
        trajectory: `lambda traj: traj.times >= 100`.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total, of an ensemble with members; True for a progress bar.

    Returns
    -------
    list of Table, or of EnsembleResult
        The result of each job, in order. Their reports are of the run that they share;
        `parameters` have the names of its analyses.

    Raises
    ------
    TypeError
        If an item is not a job.
    ValueError
        If there are no jobs, or they are of different trajectories.
    Exception
        The exception of an analysis, with a note that names it; none has a result then, unless
        `keep_going` is set.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> calpha = traj.select("name CA")
    >>> rmsd, rmsf = tj.run([tj.rmsd.job(calpha), tj.rmsf.job(calpha, align=calpha)])
    >>> rmsd.values.shape, rmsf.values.shape
    ((98,), (214,))
    """
    results = run_jobs(
        jobs,
        keep_going=keep_going,
        resume=resume,
        verify=verify,
        time_sample=time_sample,
        frames=frames,
        pool=pool,
        progress=progress,
    )
    # Other ranks have a placeholder.
    if isinstance(results, list):
        named = zip([job.name for job in jobs], results, strict=True)
        known = [(name, one.messages) for name, one in named if not isinstance(one, Exception)]
        emit(by_code(known, "analyses"), leave_out=OF_OPENING)
    return results


@root_only("results")
def run_jobs(
    jobs: Sequence[Job[Table]] | Sequence[EnsembleJob[Table]],
    *,
    keep_going: bool = False,
    resume: str | os.PathLike[str] | None = None,
    verify: bool = False,
    time_sample: bool = False,
    frames: "MemberFrames" = None,
    pool: Pool | None = None,
    progress: Progress | bool | None = None,
    approve: Approve | None = None,
) -> "Sequence[Table | Exception | EnsembleResult[Table]]":
    """Run several analyses together; see `run`. `approve` may refuse results that are too large."""
    _check(jobs)
    if of_ensemble := [job for job in jobs if isinstance(job, EnsembleJob)]:
        if len(of_ensemble) < len(jobs):
            raise ValueError("some jobs are of an ensemble, and others of a trajectory")
        from trajet.analysis.resume import ResumeFolder

        with shown_progress(progress, "run", " members") as show:
            return _run_members(
                of_ensemble,
                keep_going=keep_going,
                resume=None if resume is None else ResumeFolder(Path(resume), verify=verify),
                time_sample=time_sample,
                frames=frames,
                pool=pool,
                progress=show,
                approve=approve,
            )
    if resume is not None:
        raise ValueError("resume= is for the members of an ensemble: make one with tj.ensemble")
    if callable(frames):
        raise TypeError("frames= is a function, which only members of an ensemble take")
    with shown_progress(progress, "run", " frames") as show:
        return _run_together(
            [job for job in jobs if isinstance(job, Job)],
            keep_going=keep_going,
            time_sample=time_sample,
            frames=frames,
            pool=pool,
            progress=show,
            approve=approve,
        )


def _run_members(
    jobs: Sequence[EnsembleJob[Table]],
    *,
    keep_going: bool,
    resume: "ResumeFolder | None",
    time_sample: bool,
    frames: "MemberFrames",
    pool: Pool | None,
    progress: Progress | None,
    approve: Approve | None,
) -> "list[EnsembleResult[Table]]":
    """Run analyses of an ensemble; see `run`."""
    from trajet.analysis.ensemble_runs import run_members

    ensemble_of([job.ensemble for job in jobs])

    def compute(
        opened: OpenMember, frames: FrameChoice, pool: Pool | None, numbers: Sequence[int]
    ) -> Sequence[Table | Exception]:
        return _run_together(
            [jobs[k].of(opened) for k in numbers],
            keep_going=keep_going,
            time_sample=time_sample,
            frames=frames,
            pool=pool,
            approve=approve,
        )

    return run_members(
        jobs,
        compute,
        frames=frames,
        keep_going=keep_going,
        resume=resume,
        pool=pool,
        progress=progress,
    )


def _run_together(
    jobs: Sequence[Job[Table]],
    *,
    keep_going: bool,
    time_sample: bool,
    frames: FrameChoice,
    pool: Pool | None,
    progress: Progress | None = None,
    approve: Approve | None = None,
) -> Sequence[Table | Exception]:
    """Run analyses of one trajectory; see `run`."""
    running: dict[int, tuple[Steps[Table], RunRequest]] = {}
    waiting: dict[int, tuple[Steps[Table], RunRequest]] = {}
    results: dict[int, Table | Exception] = {}

    def fail(k: int, error: Exception) -> None:
        """Keep the exception of an analysis, or raise it."""
        if len(jobs) > 1:
            error.add_note(f"in {jobs[k].name}, analysis {k + 1} of {len(jobs)}")
        if not keep_going:
            raise error
        results[k] = error

    def advance(k: int, steps: Steps[Table], outcome: AnalysisOutcome | None) -> None:
        """Go on with an analysis up to the run that it needs next, or to its result."""
        try:
            done = advanced(steps, outcome)
        except Exception as error:
            fail(k, error)
            return
        if isinstance(done, Finished):
            results[k] = with_scalars(done.result)
        else:
            running[k] = (steps, done)

    def run_shared(numbers: list[int]) -> None:
        """Run some analyses of the same frames together, if need be without those that fail."""
        requests = [waiting[k][1] for k in numbers]
        names = [jobs[k].name for k in numbers]
        try:
            outcomes = run_jointly(requests, names, time_sample=time_sample, approve=approve)
        except Exception as error:
            failed = _failed(requests, error)
            # On MPI all ranks raise the same error.
            if failed is None or (isinstance(pool, RootPool) and not keep_going):
                error.add_note(f"in the run of {', '.join(names)}")
                raise
            fail(numbers[failed], error)
            if others := [*numbers[:failed], *numbers[failed + 1 :]]:
                run_shared(others)
            return
        for k, outcome in zip(numbers, outcomes, strict=True):
            advance(k, waiting[k][0], outcome)

    with sharing_universes(), _keeping_failures(pool if keep_going else None):
        for k, job in enumerate(jobs):
            advance(k, job.start(frames=frames, pool=pool, progress=progress), None)
        while running:
            # An analysis may read frames of its own in a later run: such runs are not shared.
            of_frames: dict[tuple[bytes, int | None], list[int]] = {}
            for k, (_, request) in running.items():
                key = request.frame_numbers().tobytes(), k if request.is_alone else None
                of_frames.setdefault(key, []).append(k)
            waiting.update(running)
            running.clear()
            for numbers in of_frames.values():
                run_shared(numbers)
            # Passes after the first have no sample.
            time_sample = False
    return [results[k] for k in range(len(jobs))]


def _check(jobs: Sequence[object]) -> None:
    """Raise an error for an argument that is no list of jobs."""
    if isinstance(jobs, (Job, EnsembleJob)):
        raise TypeError("give a list of jobs: tj.run([job])")
    for job in jobs:
        if not isinstance(job, (Job, EnsembleJob)):
            raise TypeError(
                f"{job!r} is not a job: write tj.rmsd.job(selection), which prepares the analysis,"
                " instead of tj.rmsd(selection), which runs it"
            )
    if not jobs:
        raise ValueError("there are no jobs")


def _keeping_failures(pool: Pool | None) -> AbstractContextManager[None]:
    """Have the ranks of MPI go on after a run that fails; other pools do so by themselves."""
    return pool.keeping_failures() if isinstance(pool, RootPool) else nullcontext()


def _failed(requests: Sequence[RunRequest], error: Exception) -> int | None:
    """Return which of some analyses made their run fail; None if the error is of no analysis."""
    number: int | None = getattr(error, "analysis_number", None)
    if number is None and len(requests) == 1:
        # A file that cannot be read is no fault of an analysis.
        is_own = isinstance(error, (AnalysisError, SelectionError))
        return 0 if is_own or not isinstance(error, TrajetError) else None
    return number
