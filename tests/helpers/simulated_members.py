"""Drive the schedule of members with simulated workers; print the busy share of cores.

python -m helpers.simulated_members
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from trajet._trajet import Pass, Plan
from trajet.pools.member_schedule import MemberSchedule

# Frames of the members of three ensembles.
MIXES = {
    "ten of 10,000 frames and one of 100,000": [10_000] * 10 + [100_000],
    "1,000 of 100 frames": [100] * 1000,
    "18 of 200 frames and two of 1,000": [200] * 18 + [1000] * 2,
}
N_ATOMS = 214
# A task, as the schedule gets it: its member and its frames.
Task = tuple[int, int]


@cache
def leaves(n_frames: int) -> list[int]:
    """Return the frames of each leaf of a run, as the engine cuts it."""
    plan = Plan(
        "positions",
        atoms=np.arange(N_ATOMS),
        align=None,
        average=False,
        finite=True,
        quantity="positions",
    )
    pass_ = Pass(plan, N_ATOMS, n_frames, [])
    borders = [pass_.frames_of(k, k + 1) for k in range(pass_.n_leaves)]
    return [end - first for first, end in borders]


def cut(member: int, n_frames: int, count: int) -> list[Task]:
    """Return the tasks of a run, of neighbouring leaves."""
    sizes = leaves(n_frames)
    count = min(count, len(sizes))
    borders = [len(sizes) * k // count for k in range(count + 1)]
    return [(member, sum(sizes[a:b])) for a, b in pairwise(borders)]


@dataclass(frozen=True)
class Simulated:
    """A simulated run.

    Attributes
    ----------
    busy
        Share of the time of all cores that tasks took.
    bound
        The share if the last core ends one leaf, the longest one, after the others.
    most_open
        Most members that were open at a time.
    tasks
        How often each task ran.
    """

    busy: float
    bound: float
    most_open: int
    tasks: dict[Task, int]


def simulate(
    frames: Sequence[int],
    workers: int,
    *,
    spread: float = 0.0,
    opening: float = 0.0,
    least: float = 0.0,
    most_open: int | None = None,
    seed: int = 1,
) -> Simulated:
    """Run the members of an ensemble on simulated workers.

    Parameters
    ----------
    frames
        Frames of each member; a frame takes a unit of time.
    workers
        Cores.
    spread
        Standard deviation of the logarithm of the time of a frame, from task to task.
    opening
        Time to open a member; one is opened after the other.
    least, most_open
        See `MemberSchedule`.
    """
    rng = np.random.default_rng(seed)
    if most_open is None:
        most_open = max(16, workers + workers // 4 + 4)
    schedule: MemberSchedule[Task] = MemberSchedule(
        list(map(float, frames)), workers, most_open=most_open, least=least
    )
    events: list[tuple[float, int, str, int]] = []
    left: dict[int, int] = {}
    ran: dict[Task, int] = {}
    now, idle, work, number, opener, n_open, most = 0.0, workers, 0.0, 0, 0.0, 0, 0

    def happens(time: float, what: str, member: int) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, what, member))

    while True:
        for member in schedule.open():
            opener = max(now, opener) + opening
            n_open += 1
            happens(opener, "opened", member)
        most = max(most, n_open)
        while idle and (task := schedule.next()) is not None:
            seconds = task[1] * float(np.exp(rng.normal(-(spread**2) / 2, spread)))
            work, idle = work + seconds, idle - 1
            ran[task] = ran.get(task, 0) + 1
            happens(now + seconds, "done", task[0])
        if not events:
            break
        now, _, what, member = heapq.heappop(events)
        if what == "opened":
            tasks = cut(member, frames[member], schedule.n_tasks(member))
            left[member] = len(tasks)
            schedule.add(member, tasks)
            continue
        idle, left[member] = idle + 1, left[member] - 1
        if not left[member]:
            n_open -= 1
            schedule.close(member)
    assert schedule.is_done
    assert not schedule.n_ready
    longest = max(max(leaves(n)) for n in frames)
    each = sum(frames) / workers
    bound = each / (each + longest)
    return Simulated(work / (workers * now), bound, most, ran)


def main() -> None:
    """Print the table."""
    print("| members | cores | busy | with spread of 20 % | one leaf |")
    print("|---|---|---|---|---|")
    for name, frames in MIXES.items():
        for workers in (2, 16, 1000):
            even, uneven = (simulate(frames, workers, spread=spread) for spread in (0.0, 0.2))
            shares = f"{even.busy:.1%} | {uneven.busy:.1%} | {even.bound:.1%}"
            print(f"| {name} | {workers:,} | {shares} |")


if __name__ == "__main__":
    main()
