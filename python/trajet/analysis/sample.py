"""Serial sample: the time that one thread takes for a few frames, measured before a run.

R_comp/IO of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789, table 3) is t_comp / t_io of a serial
run: it predicts how an analysis scales, and resources that workers share make it smaller.
Departures:

1. Where several threads work, the ratio is that of a sample. The sample takes at most a hundredth
   of the time of the run, and the run reads its frames again: no number of the result is from it.
2. The frames lie in the middle, since the opening may have read the first ones. Some frames before
   them are not timed: they touch memory for the first time.
"""

import time

from trajet._trajet import Plan, Reader
from trajet.pools.local import LocalPool
from trajet.pools.pool import Frames, n_frames_of
from trajet.report_entries import SampleEntry, WorkerEntry

# Share of the run's time (if its threads are always busy), and seconds that are timed, at most.
_SHARE = 0.01
_SECONDS = 0.2
# Share of the sample that is not timed, and how many frames at most.
_WARM_UP = 0.2
_MAX_WARM_UP = 50
# With fewer frames than this the seconds are mostly begin and end.
_FEWEST = 5
# Bytes of arrays at most: the run may keep its arrays in files.
_MAX_BYTES = 2**23


def serial_sample(reader: Reader, plan: Plan, frames: Frames, threads: int) -> SampleEntry | None:
    """Return the sample of a run on `threads` threads, as reports show it, or None.

    There is none where the run itself is serial, where it is so short that a hundredth of it is a
    few frames, where it calls a function of the user, who would see the calls, and where frames
    are so slow, or have so many numbers, that few fit. A frame that cannot be read gives none
    either: the run raises that error.
    """
    n_frames = n_frames_of(frames)
    most = int(_SHARE * n_frames / threads)
    first, n_warm_up = (n_frames - most) // 2, max(1, min(int(_WARM_UP * most), _MAX_WARM_UP))
    if threads == 1 or most - n_warm_up < _FEWEST or plan.has_functions:
        return None
    frame_bytes = max(1, plan.sizes(reader.n_atoms)[1])
    try:
        if n_warm_up * frame_bytes > 2 * _MAX_BYTES:
            return None
        warm_up = _alone(reader, plan, _part_of(frames, first, n_warm_up))
        seconds = warm_up["t_read"] + warm_up["t_decode"] + warm_up["t_comp"]
        fit = min(_SECONDS / max(seconds, 1e-6) * n_warm_up, _MAX_BYTES / frame_bytes)
        n = min(most - n_warm_up, int(fit))
        if n < _FEWEST:
            return None
        timed = _alone(reader, plan, _part_of(frames, first + n_warm_up, n))
    except Exception:
        return None
    return {
        "frames": n,
        "t_read": timed["t_read"],
        "t_decode": timed["t_decode"],
        "t_comp": timed["t_comp"],
        "opens": warm_up["opens"] + timed["opens"],
        "requests": warm_up["requests"] + timed["requests"],
        "bytes_read": warm_up["bytes_read"] + timed["bytes_read"],
        "t_total": warm_up["t_total"] + timed["t_total"],
    }


def _alone(reader: Reader, plan: Plan, frames: Frames) -> WorkerEntry:
    """Run all passes on one thread of this process; return seconds by stage and counts."""
    begin = time.perf_counter()
    run = LocalPool(threads=1).run(reader, plan, frames).report
    (thread,) = run["workers"]
    return {**thread, "t_total": time.perf_counter() - begin}


def _part_of(frames: Frames, first: int, count: int) -> Frames:
    """Return `count` of the frames, by position from `first`."""
    if isinstance(frames, tuple):
        begin, step, _ = frames
        return begin + first * step, step, count
    return frames[first : first + count]
