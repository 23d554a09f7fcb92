"""`run`: several analyses of one trajectory, for which every frame is read once."""

from collections.abc import Sequence
from typing import Any

from trajet.analysis.job import Job, Steps
from trajet.analysis.runner import RunRequest, run_jointly
from trajet.pools.pool import Pool, Progress
from trajet.pools.rank_placeholder import root_only
from trajet.result import Result
from trajet.trajectory import FrameChoice


@root_only("results")
def run(
    jobs: Sequence[Job[Any]],
    *,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
    sample: bool = False,
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
        selections are of one trajectory, with any transforms.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.
    sample
        As in each analysis.

    Returns
    -------
    list of Result
        The result of each job, in order. Their reports are of the run that they share;
        `parameters` have the names of its analyses.

    Raises
    ------
    TypeError
        If something else than a job is given.
    ValueError
        If there are no jobs, or they are of different trajectories.
    Exception
        The exceptions of the analyses: if one of them cannot take a frame, none has a result.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> calpha = traj.select("name CA")
    >>> rmsd, rmsf = tj.run([tj.rmsd.job(calpha), tj.rmsf.job(calpha, align=calpha)])
    >>> rmsd.values.shape, rmsf.values.shape
    ((98,), (214,))
    """
    for job in jobs:
        if not isinstance(job, Job):
            raise TypeError(
                f"{job!r} is not a job: write tj.rmsd.job(selection), which prepares the analysis,"
                " instead of tj.rmsd(selection), which runs it"
            )
    if not jobs:
        raise ValueError("there are no jobs")
    options = {"frames": frames, "pool": pool, "progress": progress, "sample": sample}
    running: dict[int, tuple[Steps[Result], RunRequest]] = {}
    results: list[Result | None] = [None] * len(jobs)

    def advance(k: int, steps: Steps[Result], outcome: Any) -> None:
        """Go on with an analysis up to the run that it needs next, or to its result."""
        try:
            running[k] = (steps, steps.send(outcome))
        except StopIteration as end:
            results[k] = end.value

    for k, job in enumerate(jobs):
        advance(k, job.start(**options), None)
    while running:
        # An analysis may read frames of its own in a later run: such runs are not shared.
        of_frames: dict[bytes, list[int]] = {}
        for k, (_, request) in running.items():
            of_frames.setdefault(request.frame_numbers().tobytes(), []).append(k)
        waiting = dict(running)
        running.clear()
        for numbers in of_frames.values():
            steps, requests = zip(*(waiting[k] for k in numbers), strict=True)
            outcomes = run_jointly(requests, [jobs[k].name for k in numbers])
            for k, of, outcome in zip(numbers, steps, outcomes, strict=True):
                advance(k, of, outcome)
    return results
