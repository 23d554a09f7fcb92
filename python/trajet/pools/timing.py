"""Time accounting of a run: seconds and counts by worker and task, for the report."""

import math
import os
import time
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from trajet.advise.task_columns import Column, TaskColumns
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome
from trajet.report_entries import (
    CountName,
    Place,
    PlaceBytes,
    PoolEntries,
    RepeatedEntry,
    RetriedEntry,
    RunReport,
    StageName,
    Stages,
    TaskReport,
    TransformWarnings,
    WorkerEntry,
)
from trajet.result import COUNTS, STAGES, bytes_by_place, transform_warnings

# Stages that add up to the time of a worker.
WORKER_STAGES: tuple[StageName, ...] = tuple(name for name in STAGES if name != "t_total")


_TASK_STAGES: tuple[StageName, ...] = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")
# Whole numbers of a task, in the order of `WorkerTiming.add`, with the type codes of `array`.
_NUMBERS: dict[str, Literal["i", "q"]] = {
    "pass": "i",
    "task": "q",
    "first": "q",
    "frames": "i",
    "batch": "q",
    "copy": "i",
}
_SECONDS: tuple[str, ...] = ("t_begin", "t_end", *_TASK_STAGES)
# `copy` of tasks of pools whose report does not show it.
_NO_COPY = -1


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
    sums: dict[CountName | StageName, float] = field(
        default_factory=lambda: dict.fromkeys((*COUNTS, *STAGES), 0.0)
    )
    by_place: PlaceBytes = field(default_factory=PlaceBytes)
    warnings: TransformWarnings = field(default_factory=TransformWarnings)

    def add(self, other: "ThreadTiming") -> None:
        """Add the sums of further tasks."""
        self.tasks += other.tasks
        for name in self.sums:
            self.sums[name] += other.sums[name]
        self._add(other.by_place, other.warnings)

    def spend(self, spent: WorkerEntry) -> None:
        """Add what a thread has spent on a task."""
        for name in (*COUNTS, *WORKER_STAGES):
            self.sums[name] += spent[name]
        self.sums["t_total"] += spent["t_total"]
        self._add(spent, spent)

    def _add(self, by_place: PlaceBytes, warnings: TransformWarnings) -> None:
        self.by_place = bytes_by_place([self.by_place, by_place])
        self.warnings = transform_warnings([self.warnings, warnings])


@dataclass
class WorkerTiming:
    """Times and counts of a worker, by its own clock; 92 bytes a task.

    Attributes
    ----------
    threads
        Sums of each of its threads.
    at_work
        Seconds of its tasks, each as long as its slowest thread.
    discarded
        Begins and ends of tasks whose results were not taken, one after the other.
    numbers, seconds
        Of the tasks whose results were taken, in columns by the names of the report.
    """

    threads: list[ThreadTiming] = field(default_factory=list)
    at_work: float = 0.0
    discarded: "array[float]" = field(default_factory=lambda: array("d"))
    numbers: dict[str, "array[int]"] = field(
        default_factory=lambda: {name: array(kind) for name, kind in _NUMBERS.items()}
    )
    seconds: dict[str, "array[float]"] = field(
        default_factory=lambda: {name: array("d") for name in _SECONDS}
    )

    def __len__(self) -> int:
        return len(self.numbers["task"])

    def add(self, task: Task, done: TaskOutcome) -> None:
        """Add a task whose result is taken."""
        threads = self._spend(done)
        for account, spent in zip(self.threads, threads, strict=False):
            account.tasks += spent["tasks"] > 0
        numbers = (0, task.number, task.frames[0], task.n_frames, task.number, _NO_COPY)
        for whole, number in zip(self.numbers.values(), numbers, strict=True):
            whole.append(number)
        stages = (sum(spent[name] for spent in threads) for name in _TASK_STAGES)
        for column, spent_in in zip(
            self.seconds.values(), (done.begin, done.end, *stages), strict=True
        ):
            column.append(spent_in)

    def discard(self, done: TaskOutcome) -> None:
        """Add the time of a task whose result is not taken."""
        self._spend(done)
        self.discarded.extend((done.begin, done.end))

    def join(self, threads: int) -> None:
        """Note how many threads there are at least; they may get no task."""
        while len(self.threads) < threads:
            self.threads.append(ThreadTiming())

    def extend(self, other: "WorkerTiming", pass_: int, shift: float = 0.0) -> None:
        """Add times of the same worker in a pass, by a clock that is `shift` seconds behind."""
        self.join(len(other.threads))
        for account, further in zip(self.threads, other.threads, strict=False):
            account.add(further)
        self.at_work += other.at_work
        self.discarded.extend(moment + shift for moment in other.discarded)
        for name, whole in self.numbers.items():
            whole.extend(repeat(pass_, len(other)) if name == "pass" else other.numbers[name])
        for name, column in self.seconds.items():
            if shift and name in {"t_begin", "t_end"}:
                column.extend(moment + shift for moment in other.seconds[name])
            else:
                column.extend(other.seconds[name])

    def of_batch(self, copy: int) -> None:
        """Note that all tasks were those of one batch, and which submission of it."""
        for name, number in (("batch", self.numbers["task"][0]), ("copy", copy)):
            self.numbers[name] = array(_NUMBERS[name], repeat(number, len(self)))

    def spans(self) -> "Spans":
        """Return begin and end of all tasks, `(n_tasks, 2)`."""
        taken = [np.asarray(self.seconds[name]) for name in ("t_begin", "t_end")]
        discarded = np.asarray(self.discarded).reshape(-1, 2)
        return np.concatenate([np.stack(taken, axis=1), discarded])

    def _spend(self, done: TaskOutcome) -> list[WorkerEntry]:
        """Add the time of a task to the sums; return that of each thread."""
        threads = done.report["workers"]
        self.join(len(threads))
        self.at_work += max(spent["t_total"] for spent in threads)
        for account, spent in zip(self.threads, threads, strict=False):
            account.spend(spent)
        return threads


class RunTiming:
    """Times and counts of a run, which the calling process collects for the report."""

    def __init__(self) -> None:
        self.begin = time.time()
        self._clock = time.perf_counter()
        self._workers: dict[int, WorkerTiming] = {}
        self._where: dict[int, Place] = {}
        self._moves: dict[int, list[tuple[float, float]]] = {}
        self.retried: list[RetriedEntry] = []
        self.repeated: list[RepeatedEntry] = []
        self.passes = 0

    def add(
        self, worker: int, task: Task, done: TaskOutcome, *, where: Place | None = None
    ) -> None:
        """Add a task whose result was taken; `where` describes the worker."""
        timing = WorkerTiming()
        timing.add(task, done)
        self.take(worker, timing, self._place(done, where))

    def take(
        self,
        worker: int,
        timing: WorkerTiming,
        where: Place,
        *,
        moved: tuple[float, float] | None = None,
        shift: float = 0.0,
    ) -> None:
        """Add what a worker has measured in this pass.

        `moved` is when the transfer of its arrays began and ended; its clock is `shift` seconds
        behind that of this process.
        """
        self._where.setdefault(worker, where)
        self._workers.setdefault(worker, WorkerTiming()).extend(timing, self.passes, shift)
        if moved is not None:
            self._moves.setdefault(worker, []).append(moved)

    def spend(self, worker: int, done: TaskOutcome, *, where: Place | None = None) -> None:
        """Add the time of a task to its worker whose result was not taken."""
        timing = WorkerTiming()
        timing.discard(done)
        self.take(worker, timing, self._place(done, where))

    def hold(self, worker: int, threads: int, where: Place, span: tuple[float, float]) -> None:
        """Add a transfer of arrays that was not completed."""
        self.join(worker, threads, where)
        self._moves.setdefault(worker, []).append(span)

    def join(self, worker: int, threads: int, where: Place) -> None:
        """Add a worker, which may get no task."""
        self._where.setdefault(worker, where)
        self._workers.setdefault(worker, WorkerTiming()).join(threads)

    @staticmethod
    def _place(done: TaskOutcome, where: Place | None) -> Place:
        return {"host": done.host, "process": done.process, **(where or {})}

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
        for worker, timing in sorted(self._workers.items()):
            workers += self._entries(worker, timing, (over or {}).get(worker, {}))
        report = {
            "workers": workers,
            "tasks": self._tasks(),
            "passes": self.passes,
            "retried": self.retried,
            "repeated": self.repeated,
            "t_total": time.perf_counter() - self._clock,
            **entries,
        }
        return cast(RunReport, report)

    def _entries(self, worker: int, timing: WorkerTiming, measured: Stages) -> list[WorkerEntry]:
        """Return the entries of the threads of a worker."""
        spans = timing.spans()
        moves = np.array(self._moves.get(worker, [])).reshape(-1, 2)
        known_spans = np.concatenate([spans, moves])
        whole = 0.0
        if len(known_spans):
            whole = float(known_spans[:, 1].max() - known_spans[:, 0].min())
        at_work = _covered(spans)
        moving = _covered(known_spans) - at_work
        workers: list[WorkerEntry] = []
        for thread, account in enumerate(timing.threads):
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
            for name in WORKER_STAGES:
                entry[name] += measured.get(name, 0.0)
            total = measured.get("t_total", whole)
            entry["t_comm"] += moving
            if "t_wait" not in measured:
                entry["t_wait"] += max(0.0, total - at_work - moving)
            # Waiting for the slowest thread of each shared task.
            entry["t_wait"] += timing.at_work - account.sums["t_total"]
            known = sum(entry[name] for name in WORKER_STAGES if name != "t_overhead")
            entry["t_overhead"] = max(0.0, total - known)
            entry["t_total"] = total
            workers.append(entry)
        return workers

    def _tasks(self) -> TaskColumns:
        """Return the entries of all tasks, by pass and number."""
        workers = sorted(self._workers)
        timings = [self._workers[worker] for worker in workers]

        def column(name: str) -> Column:
            parts = [np.asarray({**one.numbers, **one.seconds}[name]) for one in timings]
            return np.concatenate(parts) if parts else np.zeros(0, np.int64)

        order = np.lexsort((column("task"), column("pass")))
        columns: dict[str, Column] = {name: column(name)[order] for name in ("pass", "task")}
        owners = np.repeat(np.array(workers, np.int32), [len(timing) for timing in timings])
        columns["worker"] = owners[order]
        for name in ("first", "frames", *_SECONDS, "batch", "copy"):
            columns[name] = column(name)[order]
        for name in ("t_begin", "t_end"):
            columns[name] = column(name)[order].astype(np.float64) - self.begin
        if (columns["copy"] == _NO_COPY).all():
            del columns["batch"], columns["copy"]
        return TaskColumns(columns)


Spans: TypeAlias = NDArray[np.float64]


def _covered(spans: Spans) -> float:
    """Return the length of the union of some spans, `(n, 2)`."""
    begins, ends = spans[np.argsort(spans[:, 0])].T
    until = np.maximum.accumulate(np.concatenate([[-math.inf], ends[:-1]]))[: len(ends)]
    return float(np.maximum(0.0, ends - np.maximum(begins, until)).sum())
