"""What one thread alone takes for some frames, measured before a pool begins.

R_comp/IO of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789, table 3) is t_comp / t_io of a serial
run: it says how an analysis will scale, and what many workers share makes it smaller. Departures:

1. Where several threads work it is that of a sample. The sample takes at most a hundredth of the
   time of the run, and its frames are read again in the run: no number of the result is of it.
2. The frames are in the middle, since the first may be in memory from the opening. Some before them
   are not timed: they touch memory for the first time.
"""

from typing import Any

from trajet import _trajet
from trajet._trajet import Reader
from trajet.pools.pool import Frames, Plan, n_frames_of

# Of the time that the run takes if its threads are always at work; what is timed, at most so many
# seconds.
_PART = 0.01
_SECONDS = 0.2
# Which part of the sample is not timed, and how many frames at most.
_BEFORE = 0.2
_MOST_BEFORE = 50
# With fewer frames than this the seconds are mostly begin and end.
_FEWEST = 5


def serial_sample(
    reader: Reader, plan: Plan, frames: Frames, threads: int
) -> dict[str, Any] | None:
    """Return what a report says of the sample before a run of so many `threads`.

    None where a run is serial itself, so short that a hundredth of it is a few frames, or calls a
    function of the user's, who would see the calls; also where a frame cannot be read, which the
    run is to say.
    """
    n_frames = n_frames_of(frames)
    most = int(_PART * n_frames / threads)
    if threads == 1 or most < _FEWEST or plan.make is _trajet.apply_plan:
        return None
    first, n_before = (n_frames - most) // 2, max(1, min(int(_BEFORE * most), _MOST_BEFORE))
    try:
        before = _alone(reader, plan, _part_of(frames, first, n_before))
        fit = int(n_before * _SECONDS / max(before["t_total"], 1e-6))
        timed, first = before, first + n_before
        if n := min(most - n_before, fit):
            timed = _alone(reader, plan, _part_of(frames, first, n))
    except Exception:
        return None
    both = [before] if timed is before else [before, timed]
    return {
        "frames": timed["frames"],
        **{name: timed[name] for name in ("t_read", "t_decode", "t_comp")},
        **{
            name: sum(part[name] for part in both)
            for name in ("opens", "requests", "bytes_read", "t_total")
        },
    }


def _alone(reader: Reader, plan: Plan, frames: Frames) -> dict[str, Any]:
    """Return what one thread did, all passes together."""
    _, _, run = _trajet.run(
        reader, plan.build(), frames, threads=1, task_frames=None, progress=None
    )
    (worker,) = run["workers"]
    return {**worker, "frames": n_frames_of(frames), "t_total": run["t_total"]}


def _part_of(frames: Frames, first: int, count: int) -> Frames:
    """Return some of the frames, by position."""
    if isinstance(frames, tuple):
        begin, step, _ = frames
        return begin + first * step, step, count
    return frames[first : first + count]
