"""Time accounting of a run: seconds and counts by worker and task, for the report."""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Unpack, cast

from trajet.advise.entries import (
    CountName,
    Place,
    PlaceBytes,
    PoolEntries,
    RepeatedEntry,
    RetriedEntry,
    RunReport,
    StageName,
    Stages,
    TaskDetails,
    TaskEntry,
    TaskReport,
    TransformWarnings,
    WorkerEntry,
)
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome
from trajet.result import COUNTS, STAGES, bytes_by_place, transform_warnings

# Stages that add up to the time of a worker.
WORKER_STAGES: tuple[StageName, ...] = tuple(name for name in STAGES if name != "t_total")


def partial_outcome(begin: float, spent: Stages, threads: int) -> TaskOutcome:
    """Return the outcome of a cancelled task: the seconds that its threads have spent."""
    each = {name: spent.get(name, 0.0) / threads for name in WORKER_STAGES}
    total = sum(each.values())
    nothing = dict.fromkeys((*COUNTS, "tasks"), 0)
    worker = cast(WorkerEntry, {**nothing, **each, "t_total": total})
    report: TaskReport = {"workers": [worker] * threads}
    return TaskOutcome(NO_STATES, report, begin, begin + total, os.uname().nodename, os.getpid())


@dataclass
class ThreadTiming:
    """Sums over the tasks of one thread of a worker."""

    tasks: int = 0
    sums: dict[CountName | StageName, float] = field(default_factory=dict)
    by_place: PlaceBytes = field(default_factory=PlaceBytes)
    warnings: TransformWarnings = field(default_factory=TransformWarnings)


class RunTiming:
    """Times and counts of a run, which the calling process collects for the report."""

    def __init__(self) -> None:
        self.begin = time.time()
        self._clock = time.perf_counter()
        self._accounts: dict[tuple[int, int], ThreadTiming] = {}
        self._at_work: dict[int, float] = {}
        self._where: dict[int, Place] = {}
        self._spans: dict[int, list[tuple[float, float]]] = {}
        self._moves: dict[int, list[tuple[float, float]]] = {}
        self.tasks: list[TaskEntry] = []
        self.retried: list[RetriedEntry] = []
        self.repeated: list[RepeatedEntry] = []
        self.passes = 0

    def add(
        self,
        worker: int,
        task: Task,
        done: TaskOutcome,
        *,
        where: Place | None = None,
        further: TaskDetails | None = None,
        moved: tuple[float, float] | None = None,
    ) -> None:
        """Add a task whose result was taken.

        `where` describes the worker; `further` are more entries of the task; `moved` is when the
        transfer of its arrays began and ended.
        """
        self.spend(worker, done, where=where)
        threads = done.report["workers"]
        for thread, spent in enumerate(threads):
            self._accounts[worker, thread].tasks += spent["tasks"] > 0
        if moved is not None:
            self._moves.setdefault(worker, []).append(moved)
        entry: dict[str, object] = {
            "pass": self.passes,
            "task": task.number,
            "worker": worker,
            "first": task.frames[0],
            "frames": task.n_frames,
            "t_begin": done.begin - self.begin,
            "t_end": done.end - self.begin,
            **{name: sum(spent[name] for spent in threads) for name in _TASK_STAGES},
            **(further or {}),
        }
        self.tasks.append(cast(TaskEntry, entry))

    def spend(self, worker: int, done: TaskOutcome, *, where: Place | None = None) -> None:
        """Add the time of a task to its worker, also if its result was not taken."""
        self._where.setdefault(
            worker, {"host": done.host, "process": done.process, **(where or {})}
        )
        threads = done.report["workers"]
        longest = max(spent["t_total"] for spent in threads)
        self._at_work[worker] = self._at_work.get(worker, 0.0) + longest
        for thread, spent in enumerate(threads):
            account = self._accounts.setdefault((worker, thread), ThreadTiming())
            for name in (*COUNTS, *WORKER_STAGES):
                account.sums[name] = account.sums.get(name, 0) + spent[name]
            account.sums["t_total"] = account.sums.get("t_total", 0.0) + spent["t_total"]
            account.by_place = bytes_by_place([account.by_place, spent])
            account.warnings = transform_warnings([account.warnings, spent])
        self._spans.setdefault(worker, []).append((done.begin, done.end))

    def hold(self, worker: int, threads: int, where: Place, span: tuple[float, float]) -> None:
        """Add a transfer of arrays that was not completed."""
        self.join(worker, threads, where)
        self._moves.setdefault(worker, []).append(span)

    def join(self, worker: int, threads: int, where: Place) -> None:
        """Add a worker, which may get no task."""
        self._where.setdefault(worker, where)
        for thread in range(threads):
            none: dict[CountName | StageName, float] = dict.fromkeys((*COUNTS, *WORKER_STAGES), 0.0)
            self._accounts.setdefault((worker, thread), ThreadTiming(sums=none))

    def repeat(self, task: Task, late: int, worker: int, *, won: bool) -> None:
        """Add a task of the straggler `late` that `worker` ran as well, and whether it won."""
        numbers: RepeatedEntry = {
            "pass": self.passes,
            "task": task.number,
            "late": late,
            "worker": worker,
        }
        self.repeated.append({**numbers, "won": won})

    def retry(self, task: Task, error: BaseException | str) -> None:
        """Add a retry of a task."""
        self.retried.append({"pass": self.passes, "task": task.number, "error": str(error)})

    def report(
        self, over: Mapping[int, Stages] | None = None, **entries: Unpack[PoolEntries]
    ) -> RunReport:
        """Return the report of the run in the form of the engine, with one entry a thread.

        `over` are stages that workers measured beside their tasks. Arrays that moved while a worker
        was at work took nothing of its time. What is left of the time between a worker's first task
        and the end of its last was waiting.
        """
        workers: list[WorkerEntry] = []
        for (worker, thread), account in sorted(self._accounts.items()):
            spans = self._spans.get(worker, [])
            known_spans = [*spans, *self._moves.get(worker, [])]
            total = 0.0
            if known_spans:
                total = max(end for _, end in known_spans) - min(begin for begin, _ in known_spans)
            at_work = _covered(spans)
            moving = _covered(known_spans) - at_work
            found: dict[str, object] = {
                "worker": worker,
                "thread": thread,
                **self._where[worker],
                "tasks": account.tasks,
                **{name: int(account.sums[name]) for name in COUNTS},
                **account.by_place,
                **account.warnings,
                **{name: account.sums[name] for name in WORKER_STAGES},
            }
            entry = cast(WorkerEntry, found)
            measured = (over or {}).get(worker, {})
            for name in WORKER_STAGES:
                entry[name] += measured.get(name, 0.0)
            total = measured.get("t_total", total)
            entry["t_comm"] += moving
            if "t_wait" not in measured:
                entry["t_wait"] += max(0.0, total - at_work - moving)
            # Waiting for the slowest thread of each shared task.
            entry["t_wait"] += self._at_work.get(worker, 0.0) - account.sums.get("t_total", 0.0)
            known = sum(entry[name] for name in WORKER_STAGES if name != "t_overhead")
            entry["t_overhead"] = max(0.0, total - known)
            entry["t_total"] = total
            workers.append(entry)
        report = {
            "workers": workers,
            "tasks": sorted(self.tasks, key=lambda task: (task["pass"], task["task"])),
            "passes": self.passes,
            "retried": self.retried,
            "repeated": self.repeated,
            "t_total": time.perf_counter() - self._clock,
            **entries,
        }
        return cast(RunReport, report)


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return the length of the union of some spans."""
    covered, until = 0.0, -math.inf
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered


_TASK_STAGES: tuple[StageName, ...] = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")
