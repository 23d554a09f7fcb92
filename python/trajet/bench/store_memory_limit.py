"""Number of frames that fit into memory: in ADA, the frames before the system kills the viewer.

A run is limited to a number of bytes besides those that Python and its modules hold before it
starts (`RLIMIT_DATA`: private memory, not mapped files), and is repeated with more frames.
"""

from collections.abc import Callable

from trajet._trajet import WorkerError
from trajet.bench.child_process import Row
from trajet.bench.store_cases import CaseRun
from trajet.bench.store_run import measured

# Relative precision of the number of frames.
_CLOSE = 0.03


def frames_reached(job_of: Callable[[int], CaseRun], row: Row, limit: int) -> int:
    """Return the largest number of frames that a case can load, at most those of the trajectory.

    Parameters
    ----------
    job_of
        Returns the job that loads a number of first frames under the limit.
    row
        Measurement of loading all frames, without a limit.
    limit
        Limit, bytes.
    """
    a_frame = max(1.0, (row["peak_memory"] - row["idle_memory"]) / row["frames"])
    return most(lambda count: fits(job_of(count)), row["frames"], int(limit / a_frame))


def most(within: Callable[[int], bool], top: int, guess: int) -> int:
    """Return the largest number up to `top` that fits, with a relative precision of 3 %.

    A run may take minutes: the search starts at `guess`, and its steps grow until they bracket the
    result.
    """
    low, high = 0, top + 1
    probe, stride = min(max(guess, 1), top), _CLOSE
    while high - low > max(1, _CLOSE * low):
        if within(probe):
            low = probe
        else:
            high = probe
        if low > 0 and high <= top:
            probe = (low + high) // 2
        else:
            step = max(1, int(stride * probe))
            probe = min(probe + step, top) if low else max(probe - step, 1)
            stride *= 4
    return low


def fits(job: CaseRun) -> bool:
    """Return whether a job with a limit succeeds."""
    try:
        measured(job)
    except WorkerError:
        # The job succeeds without the limit, so that it fails for lack of memory.
        return False
    return True
