"""Stragglers, found by both rules of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789).

Sections 2.1 and 6.1: a straggler takes more than 1.5 times the median, or more than twice the time
of the group that finished first. Differences to the paper:

1. A worker is a thread of a rank or process. Its waiting time is left out: it waits for others.
2. Workers do different numbers of frames. Stages that grow with the frames are scaled to the mean
   number of frames.
3. The fastest group is the fastest quarter of the workers, and at least two of four or more. The
   time of the group is its median.
4. For the stages per frame, a worker without frames counts with at least the median of the others.
5. Ranks that wait inside of a collective call are as late as the rank that they wait for. So the
   rules are applied to the time without gathering, too.
6. A delay of less than a twentieth of the run, or of less than 0.1 s, is not reported.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import cast

from trajet.report_entries import (
    GATHERING,
    ONCE,
    PER_FRAME,
    STAGES_OF,
    Lane,
    StageName,
    StragglerEntry,
    TaskEntry,
    WorkerEntry,
    lane_of,
    median,
    seconds_in,
    worth_naming,
)

OVER_MEDIAN = 1.5
OVER_FASTEST = 2.0
_GROUP = 4


def stragglers(
    workers: Sequence[WorkerEntry], tasks: Sequence[TaskEntry], total: float
) -> list[StragglerEntry]:
    """Return slow workers, and slow tasks of workers that are not slow otherwise.

    Parameters
    ----------
    workers, tasks
        As in a report.
    total
        Seconds of the run.

    Returns
    -------
    list of dict
        The worst straggler first; docs/report.md describes the entries.
    """
    worth = worth_naming(total)
    slow = {
        **_slow_workers(workers, worth, ONCE),
        **_slow_workers(workers, worth, {**ONCE, **GATHERING}),
    }
    entries = [*slow.values(), *_slow_tasks(workers, tasks, worth)]
    return sorted(entries, key=lambda entry: entry["median"] - entry["seconds"])


def _slow_workers(
    workers: Sequence[WorkerEntry],
    worth: float,
    once: Mapping[str, tuple[StageName, ...]],
) -> dict[int, StragglerEntry]:
    """Return slow workers by index, judged by the stages per frame and the stages in `once`."""
    frames = [worker["frames"] for worker in workers]
    at_work = [k for k, count in enumerate(frames) if count > 0]
    if not at_work:
        return {}
    mean = sum(frames) / len(at_work)
    spent = []
    for worker, count in zip(workers, frames, strict=True):
        scale = mean / count if count else 1.0
        spent.append(
            {word: seconds_in(worker, names) for word, names in once.items()}
            | {word: scale * seconds_in(worker, names) for word, names in PER_FRAME.items()}
        )
    usual = {word: median(spent[k][word] for k in at_work) for word in PER_FRAME}
    for stages, count in zip(spent, frames, strict=True):
        if not count:
            stages |= {word: max(stages[word], usual[word]) for word in usual}
    verdict = Verdict([sum(spent[k].values()) for k in at_work])
    found: dict[int, StragglerEntry] = {}
    for k, stages in enumerate(spent):
        rules = verdict.rules(sum(stages.values()), worth)
        if rules:
            worker = workers[k]
            entry: dict[str, object] = {
                **{name: worker[name] for name in ("worker", "thread", "rank") if name in worker},
                "host": worker["host"],
                "rules": rules,
                "seconds": sum(stages.values()),
                "median": verdict.median,
                "fastest": verdict.fastest,
            }
            found[k] = cast(StragglerEntry, entry)
    # Losses that were scaled up from few frames are uncertain: unscaled ones choose the stage.
    parts = [count / mean if count else 1.0 for count in frames]
    _name_stages(found, spent, parts)
    return found


def _slow_tasks(
    workers: Sequence[WorkerEntry], tasks: Sequence[TaskEntry], worth: float
) -> list[StragglerEntry]:
    """Return tasks that were slow compared with all tasks and with those of the same worker."""
    # By both rules, a slow task takes longer than the least delay.
    if all(task["t_end"] - task["t_begin"] <= worth for task in tasks):
        return []
    hosts = {worker["worker"]: worker["host"] for worker in workers}
    found: dict[int, StragglerEntry] = {}
    first: dict[Lane, int] = {}
    for k in sorted(range(len(tasks)), key=lambda k: float(tasks[k]["t_begin"])):
        first.setdefault(lane_of(tasks[k]), k)
    spans, spent = [], []
    for k, task in enumerate(tasks):
        known = {word: seconds_in(task, names) for word, names in STAGES_OF.items()}
        rest = task["t_end"] - task["t_begin"] - sum(known.values())
        # Opening files in the first task belongs to the worker, not to the task.
        own = known["opening"] if first[lane_of(task)] == k else 0.0
        spans.append(task["t_end"] - task["t_begin"] - own)
        spent.append({**known, "opening": known["opening"] - own, "overhead": max(0.0, rest)})
    for number in {task["pass"] for task in tasks}:
        here = [k for k, task in enumerate(tasks) if task["pass"] == number]
        usual = median(tasks[k]["frames"] for k in here)
        # A task of more frames may take longer; one of fewer should not.
        seconds = {
            k: spans[k] * min(1.0, usual / tasks[k]["frames"])
            for k in here
            if tasks[k]["frames"] > 0
        }
        verdict = Verdict(list(seconds.values()))
        of_worker: dict[Lane, list[float]] = {}
        for k, took in seconds.items():
            of_worker.setdefault(lane_of(tasks[k]), []).append(took)
        usually = {lane: Verdict(times) for lane, times in of_worker.items()}
        for k, took in seconds.items():
            task = tasks[k]
            rules = verdict.rules(took, worth)
            if rules and usually[lane_of(task)].rules(took, worth):
                entry: dict[str, object] = {
                    **{name: task[name] for name in ("worker", "thread", "rank") if name in task},
                    "host": hosts.get(task["worker"], ""),
                    "pass": number,
                    "task": task["task"],
                    "rules": rules,
                    "seconds": took,
                    "median": verdict.median,
                    "fastest": verdict.fastest,
                }
                found[k] = cast(StragglerEntry, entry)
    _name_stages(found, spent, [1.0] * len(spent))
    return list(found.values())


class _Limits:
    """The two rules, given the usual times.

    Attributes
    ----------
    median
        The median of all times; a straggler takes over `OVER_MEDIAN` times as long.
    fastest
        The median of the fastest group; a straggler takes over `OVER_FASTEST` times as long.
    """

    median: float
    fastest: float

    @property
    def limits(self) -> dict[str, float]:
        """The longest time, by each rule, that does not make a straggler."""
        return {"median": OVER_MEDIAN * self.median, "fastest": OVER_FASTEST * self.fastest}

    def rules(self, seconds: float, worth: float) -> list[str]:
        """Return the rules by which a worker that took `seconds` is a straggler.

        It must exceed the median or the fastest group by more than `worth` seconds as well.
        """
        usual = {"median": self.median, "fastest": self.fastest}
        return [
            rule for rule, limit in self.limits.items() if seconds > max(limit, usual[rule] + worth)
        ]


class Verdict(_Limits):
    """The two rules, applied to a group of times."""

    def __init__(self, seconds: Sequence[float]) -> None:
        ordered = sorted(seconds) or [0.0]
        self.median = median(ordered)
        self.fastest = median(ordered[: _fastest_group(len(ordered))])


class RunningVerdict(_Limits):
    """The two rules, applied to times that come one by one; each costs O(log n).

    After any of them the limits have the bits of those of `Verdict`.
    """

    def __init__(self) -> None:
        self.median = self.fastest = 0.0
        self._n = 0
        self._all, self._group = _RunningMedian(), _RunningMedian()

    def __len__(self) -> int:
        return self._n

    def add(self, seconds: float) -> None:
        """Add a time."""
        self._n += 1
        self.median = self._all.add(seconds, self._n)
        self.fastest = self._group.add(seconds, _fastest_group(self._n))


class _RunningMedian:
    """Median of the smallest of some numbers, which come one by one.

    `_below` is a heap of the negatives of the numbers below it, `_above` one of all others.
    """

    def __init__(self) -> None:
        self._below: list[float] = []
        self._above: list[float] = []

    def add(self, number: float, of: int) -> float:
        """Add a number; return the median of the `of` smallest."""
        if self._below and number < -self._below[0]:
            heapq.heappush(self._below, -number)
        else:
            heapq.heappush(self._above, number)
        while len(self._below) < of // 2:
            heapq.heappush(self._below, -heapq.heappop(self._above))
        while len(self._below) > of // 2:
            heapq.heappush(self._above, -heapq.heappop(self._below))
        return self._above[0] if of % 2 else (-self._below[0] + self._above[0]) / 2


def _fastest_group(n: int) -> int:
    """Return how many of `n` times the fastest group has: of four and more at least two."""
    return max(-(-n // _GROUP), min(2, n // 2))


def _name_stages(
    found: Mapping[int, StragglerEntry],
    spent: Sequence[Mapping[str, float]],
    parts: Sequence[float],
) -> None:
    """Add to each straggler found the stage in which it lost most time, and the time lost.

    `parts` are the factors that undo the scaling of the stages per frame.
    """
    usual: dict[str, float] = {}
    if found:
        others = [stages for k, stages in enumerate(spent) if k not in found] or spent
        usual = {word: median(stages[word] for stages in others) for word in spent[0]}
    for k, entry in found.items():
        lost = {word: spent[k][word] - usual[word] for word in usual}
        truly = {word: lost[word] * (parts[k] if word in PER_FRAME else 1.0) for word in lost}
        entry["stage"] = max(truly, key=lambda word: truly[word])
        entry["lost"] = lost[entry["stage"]]
