"""How many frames fit into memory: ADA's frames before the system kills the viewer.

A run gets so many bytes beside what Python and its modules hold before it begins (`RLIMIT_DATA`:
memory of its own, not files that are mapped), and is given more and more frames.
"""

from collections.abc import Callable

from trajet._trajet import WorkerError
from trajet.bench.store_cases import Job
from trajet.bench.store_run import Row, measured

# The most frames that fit are known to this part of them.
_CLOSE = 0.03


def frames_reached(job_of: Callable[[int], Job], row: Row, limit: int) -> int:
    """Return the most frames that a case was seen to load; not more than it has.

    Parameters
    ----------
    job_of
        Returns the job that loads so many of the first frames, under the limit.
    row
        What loading all came to.
    limit
        Bytes.
    """
    a_frame = max(1.0, (row["peak_memory"] - row["idle_memory"]) / row["frames"])
    return most(lambda count: fits(job_of(count)), row["frames"], int(limit / a_frame))


def most(within: Callable[[int], bool], top: int, guess: int) -> int:
    """Return the largest number up to `top` seen to fit, within a part of what does not.

    A run may take minutes: the search begins near its end, and steps grow as long as they miss.
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


def fits(job: Job) -> bool:
    """Tell whether a job with a limit comes to its end."""
    try:
        measured(job)
    except WorkerError:
        # Without the limit it came to its end: whatever failed now, failed for want of memory.
        return False
    return True
