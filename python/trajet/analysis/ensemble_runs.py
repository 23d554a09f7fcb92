"""Runs of analyses over the members of an ensemble."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import OutputError
from trajet.analysis.resume import MemberJob, ResumeFolder
from trajet.labels import chain_names
from trajet.members import Member, OpenMember
from trajet.pools.pool import Pool, Progress
from trajet.result import EnsembleResult, MemberOutcome, Table
from trajet.trajectory import FrameChoice, Trajectory, frame_numbers, resolve_frames

# Frames of each member: the same choice for all, or a function of the open trajectory.
MemberFrames: TypeAlias = "FrameChoice | Callable[[Trajectory], FrameChoice]"
# Computes a result, or an exception, of some analyses of an open member, given its frames, its pool
# and the numbers of the analyses.
Compute: TypeAlias = (
    "Callable[[OpenMember, FrameChoice, Pool | None, Sequence[int]], Sequence[Table | Exception]]"
)

# Most atoms of the first frame by which members that started from one place are found.
_MAX_COMPARED = 64


def run_members(
    jobs: Sequence[MemberJob],
    compute: Compute,
    *,
    frames: MemberFrames = None,
    keep_going: bool = False,
    resume: ResumeFolder | None = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> list[EnsembleResult[Table]]:
    """Run analyses of each member of an ensemble; members share the workers of the pool.

    Parameters
    ----------
    jobs
        Analyses of one ensemble.
    compute
        Returns a result or an exception for each of some of them. It is called in several threads.
    frames
        The frames of each member.
    keep_going
        Whether a member that fails is left out; else its exception is raised.
    resume
        Results of earlier runs, which are used again; new ones are added.
    pool
        Where to compute; None for `LocalPool()`.
    progress
        Called with members done and in total.

    Returns
    -------
    list of EnsembleResult
        One for each job.

    Raises
    ------
    Exception
        The exception of a member, with a note that names it, unless `keep_going` is set.
    """
    ensemble = jobs[0].ensemble
    for job in jobs:
        for name, kind in (("matrix_path", "a file"), ("medoids", "a folder")):
            if job.kwargs.get(name) is not None:
                raise ValueError(
                    f"{job.name}: {name} is {kind} of one trajectory, which each member would"
                    " replace: leave it out for an ensemble"
                )
    # Runs of one trajectory do without.
    from trajet.pools.members import each_member

    outcomes: dict[int, list[MemberOutcome[Table]]] = {}
    fatal: list[BaseException] = []

    def work(number: int, pool: Pool | None) -> None:
        try:
            outcomes[number] = _run_member(ensemble[number], jobs, compute, frames, resume, pool)
        except BaseException as error:
            fatal.append(error)

    with closing(each_member(pool, [_size(member) for member in ensemble], work)) as done:
        for n_done, number in enumerate(done, 1):
            if fatal:
                raise fatal[0]
            for one in outcomes[number]:
                if one.error is not None and not keep_going:
                    label = f"{number + 1} of {len(ensemble)} ({ensemble[number].label})"
                    one.error.add_note(f"in member {label}")
                    raise one.error
            if progress is not None:
                progress(n_done, len(ensemble))
    return [
        EnsembleResult(job.name, [outcomes[number][k] for number in range(len(ensemble))])
        for k, job in enumerate(jobs)
    ]


def _size(member: Member) -> int | None:
    """Return the bytes of the files of a member, by which members are scheduled.

    None if it is not known, as that of an object in remote storage.
    """
    size = 0
    for path in member.trajectories or filter(None, [member.topology]):
        try:
            # The files of a data set are in its folder.
            files = path.rglob("*") if path.is_dir() else [path]
            size += sum(file.stat().st_size for file in files)
        except OSError:
            return None
    return size


def _run_member(
    member: Member,
    jobs: Sequence[MemberJob],
    compute: Compute,
    frames: MemberFrames,
    resume: ResumeFolder | None,
    pool: Pool | None,
) -> list[MemberOutcome[Table]]:
    """Return the outcome of each analysis of one member, whose files are closed then."""
    found: dict[int, MemberOutcome[Table]] = {}
    opened = None
    try:
        opened = OpenMember(member)
        chosen = frames(opened.files) if callable(frames) else frames
        numbers = _numbers(opened.files, chosen)
        places = [] if resume is None else [resume.place(job, opened, numbers) for job in jobs]
        for k, place in enumerate(places):
            if resume is not None and (known := resume.load(member, place)) is not None:
                found[k] = known
        left = [k for k in range(len(jobs)) if k not in found]
        if left:
            results = compute(opened, chosen, pool, left)
            start = _start(opened.files, numbers)
            for k, result in zip(left, results, strict=True):
                if isinstance(result, Exception):
                    found[k] = MemberOutcome(member.keys, error=result)
                    continue
                found[k] = MemberOutcome(member.keys, result, start=start)
                if resume is not None:
                    resume.store(found[k], places[k])
        if opened.files.has_topology:
            chains = chain_names(opened.files.topology)
            found = {k: replace(one, chains=chains) for k, one in found.items()}
    except OutputError:
        # An error of the folder of results ends the run.
        raise
    except Exception as error:
        return [found.get(k, MemberOutcome(member.keys, error=error)) for k in range(len(jobs))]
    finally:
        if opened is not None:
            opened.close()
    return [found[k] for k in range(len(jobs))]


def _numbers(files: Trajectory, frames: FrameChoice) -> NDArray[np.int64]:
    return frame_numbers(resolve_frames(frames, files))


def _start(files: Trajectory, numbers: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return positions of some atoms in the first of some frames; None if there is none."""
    if not len(numbers):
        return None
    atoms = np.unique(np.linspace(0, files.n_atoms - 1, _MAX_COMPARED).astype(np.int64))
    found = files.source.read(numbers[:1], atoms, None, counted=False)
    return found.positions.reshape(-1, 3)
