"""What one thread alone takes for some frames, measured before a pool begins.

R_comp/IO of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789, table 3) is t_comp / t_io of a serial
run: it says how an analysis will scale, and what many workers share makes it smaller. Departures:

1. Where several threads work it is that of a sample. The sample takes at most a hundredth of the
   time of the run, and its frames are read again in the run: no number of the result is of it.
2. The frames are in the middle, since the first may be in memory from the opening. Some before them
   are not timed: they touch memory for the first time.
"""

import time
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Reader
from trajet.pools.pool import Frames, Plan, n_frames_of
from trajet.pools.work import Ledger, Worker, blocks_of, passes

# Of the time that the run takes if its threads are always at work; what is timed, at most so many
# seconds.
_PART = 0.01
_SECONDS = 0.2
# Which part of the sample is not timed, and how many frames at most.
_BEFORE = 0.2
_MOST_BEFORE = 50
# With fewer frames than this the seconds are mostly begin and end.
_FEWEST = 5
# Bytes of rows at most: rows of a run may be meant for a file.
_MOST_ROWS = 2**23
_SUMS = ("t_read", "t_decode", "t_comp", "opens", "requests", "bytes_read", "row_bytes")


def serial_sample(
    reader: Reader, plan: Plan, frames: Frames, threads: int
) -> dict[str, Any] | None:
    """Return what a report says of the sample before a run of so many `threads`.

    None where a run is serial itself, so short that a hundredth of it is a few frames, or calls a
    function of the user's, who would see the calls; where frames are so slow, or their rows so
    large, that few fit in; also where a frame cannot be read, which the run is to say.
    """
    n_frames = n_frames_of(frames)
    most = int(_PART * n_frames / threads)
    first, n_before = (n_frames - most) // 2, max(1, min(int(_BEFORE * most), _MOST_BEFORE))
    if threads == 1 or most - n_before < _FEWEST or plan.make is _trajet.apply_plan:
        return None
    try:
        worker, before = _alone(reader, plan, _part_of(frames, first, n_before))
        seconds = before["t_read"] + before["t_decode"] + before["t_comp"]
        fit = min(_SECONDS / max(seconds, 1e-6), _MOST_ROWS / max(before["row_bytes"], 1))
        n = min(most - n_before, int(n_before * fit))
        if n < _FEWEST:
            return None
        _, timed = _alone(reader, plan, _part_of(frames, first + n_before, n), worker)
    except Exception:
        return None
    return {
        "frames": n,
        **{name: timed[name] for name in ("t_read", "t_decode", "t_comp")},
        **{
            name: before[name] + timed[name]
            for name in ("opens", "requests", "bytes_read", "t_total")
        },
    }


def _alone(
    reader: Reader, plan: Plan, frames: Frames, worker: Worker | None = None
) -> tuple[Worker | None, dict[str, Any]]:
    """Return who did all passes, and what that was; files that `worker` has open are not opened."""
    spent: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    begin = time.perf_counter()
    going = passes(
        reader,
        plan,
        frames,
        Ledger(),
        threads=1,
        make_tasks=lambda pass_: blocks_of(pass_, 1),
        make_rows=_fresh_rows,
    )
    for part in going:
        worker = Worker(part.brief, worker)
        (task,) = part.tasks
        done = worker.do(part.task_bytes(task), part.rows)
        part.states.add(done.states)
        (thread,) = done.report["workers"]
        for name in _SUMS:
            spent[name] += part.rows.nbytes if name == "row_bytes" else thread[name]
    return worker, {**spent, "t_total": time.perf_counter() - begin}


def _fresh_rows(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return rows in memory that nobody has touched, as most of a run's are."""
    size = 8 * shape[0] * shape[1]
    if size > 2 * _MOST_ROWS:
        raise MemoryError(f"{size} bytes of rows are too many for a sample")
    return np.frombuffer(mmap(-1, max(1, size)), np.float64, size // 8).reshape(shape)


def _part_of(frames: Frames, first: int, count: int) -> Frames:
    """Return some of the frames, by position."""
    if isinstance(frames, tuple):
        begin, step, _ = frames
        return begin + first * step, step, count
    return frames[first : first + count]
