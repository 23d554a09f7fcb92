"""Runs of analyses over the members of an ensemble."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import OutputError
from trajet.analysis.resume import MemberJob, ResumeFolder
from trajet.members import Member, OpenMember
from trajet.pools.pool import Progress
from trajet.result import EnsembleResult, MemberOutcome, Result
from trajet.trajectory import FrameChoice, Trajectory, frame_numbers, resolve_frames

# Frames of each member: the same choice for all, or a function of the open trajectory.
MemberFrames: TypeAlias = "FrameChoice | Callable[[Trajectory], FrameChoice]"
# Computes a result, or an exception, of some analyses of an open member, given its frames and the
# numbers of the analyses.
Compute: TypeAlias = (
    "Callable[[OpenMember, FrameChoice, Sequence[int]], Sequence[Result | Exception]]"
)

# Most atoms of the first frame by which members that started from one place are found.
_MOST_COMPARED = 64


def run_members(
    jobs: Sequence[MemberJob],
    compute: Compute,
    *,
    frames: MemberFrames = None,
    keep_going: bool = False,
    resume: ResumeFolder | None = None,
    progress: Progress | None = None,
) -> list[EnsembleResult[Result]]:
    """Run analyses of each member of an ensemble, one member after the other.

    Parameters
    ----------
    jobs
        Analyses of one ensemble.
    compute
        Returns a result or an exception for each of some of them.
    frames
        The frames of each member.
    keep_going
        Whether a member that fails is left out; else its exception is raised.
    resume
        Results of earlier runs, which are used again; new ones are added.
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
        if job.kwargs.get("matrix_path") is not None:
            raise ValueError(
                f"{job.name}: matrix_path is a file of one trajectory, which each member would"
                " replace: leave it out for an ensemble"
            )
    outcomes = []
    for number, member in enumerate(ensemble):
        found = _run_member(member, jobs, compute, frames, resume)
        for one in found:
            if one.error is not None and not keep_going:
                one.error.add_note(f"in member {number + 1} of {len(ensemble)} ({member.label})")
                raise one.error
        outcomes.append(found)
        if progress is not None:
            progress(number + 1, len(ensemble))
    return [
        EnsembleResult(job.name, [found[k] for found in outcomes]) for k, job in enumerate(jobs)
    ]


def _run_member(
    member: Member,
    jobs: Sequence[MemberJob],
    compute: Compute,
    frames: MemberFrames,
    resume: ResumeFolder | None,
) -> list[MemberOutcome[Result]]:
    """Return the outcome of each analysis of one member, whose files are closed then."""
    found: dict[int, MemberOutcome[Result]] = {}
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
            results = compute(opened, chosen, left)
            start = _start(opened.files, numbers)
            for k, result in zip(left, results, strict=True):
                if isinstance(result, Exception):
                    found[k] = MemberOutcome(member.keys, error=result)
                    continue
                found[k] = MemberOutcome(member.keys, result, start=start)
                if resume is not None:
                    resume.store(found[k], places[k])
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
    return frame_numbers(resolve_frames(frames, files.n_frames, files.label))


def _start(files: Trajectory, numbers: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return positions of some atoms in the first of some frames; None if there is none."""
    if not len(numbers):
        return None
    atoms = np.unique(np.linspace(0, files.n_atoms - 1, _MOST_COMPARED).astype(np.int64))
    found = files.read_columns(numbers[:1], atoms, None, counted=False)
    return found.positions.reshape(-1, 3)
