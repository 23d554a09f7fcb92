"""Runs of analyses over the members of an ensemble."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet.members import Ensemble, Member, OpenMember
from trajet.pools.pool import Progress
from trajet.result import EnsembleResult, MemberOutcome, Result
from trajet.trajectory import FrameChoice, Trajectory, frame_numbers, resolve_frames

# Frames of each member: the same choice for all, or a function of the open trajectory.
MemberFrames: TypeAlias = "FrameChoice | Callable[[Trajectory], FrameChoice]"
# Computes a result, or an exception, of each analysis of an open member, given its frames.
Compute: TypeAlias = "Callable[[OpenMember, FrameChoice], Sequence[Result | Exception]]"

# Most atoms of the first frame by which members that started from one place are found.
_MOST_COMPARED = 64


class MemberJob(Protocol):
    """An analysis of an ensemble, with its arguments; see `trajet.analysis.job.EnsembleJob`."""

    @property
    def name(self) -> str:
        """Name of the analysis."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble."""
        ...

    @property
    def args(self) -> tuple[object, ...]:
        """Arguments by position."""
        ...

    @property
    def kwargs(self) -> Mapping[str, object]:
        """Arguments by name."""
        ...


def run_members(
    jobs: Sequence[MemberJob],
    compute: Compute,
    *,
    frames: MemberFrames = None,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> list[EnsembleResult[Result]]:
    """Run analyses of each member of an ensemble, one member after the other.

    Parameters
    ----------
    jobs
        Analyses of one ensemble.
    compute
        Returns a result or an exception for each of them.
    frames
        The frames of each member.
    keep_going
        Whether a member that fails is left out; else its exception is raised.
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
    outcomes = []
    for number, member in enumerate(ensemble):
        found = _run_member(member, len(jobs), compute, frames)
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
    member: Member, n_jobs: int, compute: Compute, frames: MemberFrames
) -> list[MemberOutcome[Result]]:
    """Return the outcome of each analysis of one member, whose files are closed then."""
    opened = None
    try:
        opened = OpenMember(member)
        chosen = frames(opened.files) if callable(frames) else frames
        results = compute(opened, chosen)
        start = _start(opened.files, chosen)
    except Exception as error:
        return [MemberOutcome(member.keys, error=error)] * n_jobs
    finally:
        if opened is not None:
            opened.close()
    return [
        MemberOutcome(member.keys, error=one)
        if isinstance(one, Exception)
        else MemberOutcome(member.keys, one, start=start)
        for one in results
    ]


def _start(files: Trajectory, frames: FrameChoice) -> NDArray[np.float32] | None:
    """Return positions of some atoms in the first of the chosen frames; None without a frame."""
    numbers = frame_numbers(resolve_frames(frames, files.n_frames, files.label))
    if not len(numbers):
        return None
    atoms = np.unique(np.linspace(0, files.n_atoms - 1, _MOST_COMPARED).astype(np.int64))
    found = files.read_columns(numbers[:1], atoms, None, counted=False)
    return found.positions.reshape(-1, 3)
