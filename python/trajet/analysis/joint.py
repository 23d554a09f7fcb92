"""`run`: several analyses of one trajectory, for which every frame is read once."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from trajet._trajet import AnalysisError, SelectionError, TrajetError
from trajet.analysis.job import Job, Steps
from trajet.analysis.runner import RunRequest, run_jointly
from trajet.pools.local import LocalPool
from trajet.pools.pool import Pool, Progress
from trajet.pools.rank_placeholder import RootPool, root_only
from trajet.renamed import names_renamed
from trajet.result import Result, with_scalars
from trajet.trajectory import FrameChoice, sharing_universes

# The number of a frame in an error of the engine: of the chain, or else of the only file.
_FRAME = (re.compile(r"is frame (\d+) of the chain"), re.compile(r": frame (\d+): "))


@root_only("results")
@names_renamed
def run(
    jobs: Sequence[Job[Any]],
    *,
    keep_going: bool = False,
    time_sample: bool = False,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """Run several analyses together: every frame is read and decoded once.

    All atoms that one of the analyses needs are decoded, and each analysis gets its own, after the
    transforms of its own trajectory. The results have the same bits as those of separate runs.
    Analyses that go on to read other frames, as `pairwise_rmsd` with `other_frames`, read these on
    their own.
    Analyses of several passes share each pass; those of fewer passes run in the last one.

    Parameters
    ----------
    jobs
        Analyses with their arguments: `tj.rmsd.job(...)`, `tj.rmsf.job(...)`, and so on. All
        selections are of one trajectory, with any transforms, or AtomGroups of one Universe.
    keep_going
        If an analysis fails, leave it out and run the others again. The result of the one that
        failed is its exception. Not if a frame cannot be read.
    time_sample
        Also measure R_comp/IO on a few frames that one thread reads before the run, for the report
        (`r_comp_io` and `sample`). A run on one thread needs no sample.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.

    Returns
    -------
    list of Result
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
    if isinstance(jobs, Job):
        raise TypeError("give a list of jobs: tj.run([job])")
    for job in jobs:
        if not isinstance(job, Job):
            raise TypeError(
                f"{job!r} is not a job: write tj.rmsd.job(selection), which prepares the analysis,"
                " instead of tj.rmsd(selection), which runs it"
            )
    if not jobs:
        raise ValueError("there are no jobs")
    running: dict[int, tuple[Steps[Result], RunRequest]] = {}
    waiting: dict[int, tuple[Steps[Result], RunRequest]] = {}
    results: list[Result | Exception | None] = [None] * len(jobs)

    def fail(k: int, error: Exception) -> None:
        """Keep the exception of an analysis, or raise it."""
        if len(jobs) > 1:
            error.add_note(f"in {jobs[k].name}, analysis {k + 1} of {len(jobs)}")
        if not keep_going:
            raise error
        results[k] = error

    def advance(k: int, steps: Steps[Result], outcome: Any) -> None:
        """Go on with an analysis up to the run that it needs next, or to its result."""
        try:
            running[k] = (steps, steps.send(outcome))
        except StopIteration as end:
            results[k] = with_scalars(end.value)
        except Exception as error:
            fail(k, error)

    def run_shared(numbers: list[int]) -> None:
        """Run some analyses of the same frames together, if need be without those that fail."""
        requests = [waiting[k][1] for k in numbers]
        names = [jobs[k].name for k in numbers]
        try:
            # A sample would call the function of `apply`.
            outcomes = run_jointly(
                requests, names, time_sample=time_sample and "apply" not in names
            )
        except Exception as error:
            faults = _faults_of(requests, names, error)
            # On MPI all ranks raise the same error.
            if not faults or (isinstance(pool, RootPool) and not keep_going):
                error.add_note(f"in the run of {', '.join(names)}")
                raise
            for place, fault in faults.items():
                fail(numbers[place], fault)
            if others := [k for place, k in enumerate(numbers) if place not in faults]:
                run_shared(others)
            return
        for k, outcome in zip(numbers, outcomes, strict=True):
            advance(k, waiting[k][0], outcome)

    with sharing_universes(), _keeping_failures(pool if keep_going else None):
        for k, job in enumerate(jobs):
            advance(k, job.start(frames=frames, pool=pool, progress=progress), None)
        while running:
            # An analysis may read frames of its own in a later run: such runs are not shared.
            of_frames: dict[bytes, list[int]] = {}
            for k, (_, request) in running.items():
                of_frames.setdefault(request.frame_numbers().tobytes(), []).append(k)
            waiting.update(running)
            running.clear()
            for numbers in of_frames.values():
                run_shared(numbers)
            # Passes after the first have no sample.
            time_sample = False
    return results


def _keeping_failures(pool: Pool | None) -> AbstractContextManager[None]:
    """Have the ranks of MPI go on after a run that fails; other pools do so by themselves."""
    return pool.keeping_failures() if isinstance(pool, RootPool) else nullcontext()


def _faults_of(
    requests: Sequence[RunRequest], names: Sequence[str], error: Exception
) -> dict[int, Exception]:
    """Return which of some analyses made their run fail, with the exception of each.

    Each of them prepares its run again, and then takes the frame that the error names. None is
    found if the error is not that of an analysis.
    """
    if len(requests) == 1:
        # A file that cannot be read is no fault of an analysis.
        is_own = isinstance(error, (AnalysisError, SelectionError))
        return {0: error} if is_own or not isinstance(error, TrajetError) else {}
    found: dict[int, Exception] = {}
    # The function of a user is not called again.
    others = [(k, request) for k, request in enumerate(requests) if names[k] != "apply"]
    for k, request in others:
        try:
            request.make_plan(request.frame_numbers())
        except Exception as fault:
            found[k] = fault
    if found:
        return found
    if not isinstance(error, (TrajetError, MemoryError)) and names.count("apply") == 1:
        # An exception of the user's function.
        return {names.index("apply"): error}
    frame = next((match for one in _FRAME if (match := one.search(str(error)))), None)
    if not isinstance(error, AnalysisError) or frame is None:
        return {}
    for k, request in others:
        of_frame = replace(
            request, frames=[int(frame[1])], pool=LocalPool(threads=1), progress=None
        )
        try:
            run_jointly([of_frame])
        except AnalysisError as fault:
            found[k] = fault
    return found
