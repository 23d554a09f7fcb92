"""What pools share whose workers are other processes.

The process that was asked (here: the leader) tells each worker once what is to be done (`Brief`),
and with each task where its frames are. Workers parse no topology, look for no index and import no
MDAnalysis. What they return is merged along the tree of the leaves, so that bits are those of one
process.
"""

import math
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import OutputError, Reader
from trajet.pools.pool import Frames, Plan, n_frames_of
from trajet.result import COUNTS, STAGES, bytes_by_place

# What a worker's time is made of.
PARTS = tuple(name for name in STAGES if name != "t_total")
# Of a task's rows, which are in memory once, and twice while they move, whatever becomes of them.
_ROW_BYTES = 2**26


@dataclass(frozen=True)
class Brief:
    """What a worker is told once a pass.

    Attributes
    ----------
    outline
        The trajectory, by `Reader.outline`.
    plan
        The analysis.
    n_frames
        Frames that are wanted in all.
    states
        What the passes before this one yielded.
    threads
        Threads of each worker.
    """

    outline: bytes
    plan: Plan
    n_frames: int
    states: tuple[NDArray[np.float64], ...]
    threads: int


@dataclass(frozen=True)
class Done:
    """What a worker returns of a task.

    Attributes
    ----------
    states
        The folded numbers of its largest whole subtrees, packed.
    report
        What the engine reports.
    begin, end
        Seconds by the worker's clock (`time.time`).
    host, process
        Where it ran.
    """

    states: NDArray[np.float64]
    report: dict[str, Any]
    begin: float
    end: float
    host: str
    process: int


def unfinished(begin: float, spent: Mapping[str, float], threads: int) -> Done:
    """Return what can be said of a task that is not done: what its `threads` have spent."""
    each = {name: spent.get(name, 0.0) / threads for name in PARTS}
    total = sum(each.values())
    nothing = dict.fromkeys((*COUNTS, "tasks"), 0)
    report = {"workers": [{**nothing, **each, "t_total": total}] * threads}
    return Done(np.empty(0), report, begin, begin + total, socket.gethostname(), os.getpid())


class Worker:
    """Does tasks of a pass in this process."""

    def __init__(self, brief: Brief, before: "Worker | None" = None) -> None:
        """Open nothing yet; the files that the worker of the pass `before` holds stay open."""
        self.brief = brief
        if before is not None and before.brief.outline == brief.outline:
            self._trajectory: _trajet.Elsewhere = before._trajectory
        else:
            self._trajectory = _trajet.Elsewhere(brief.outline)
        self.pass_ = _trajet.Pass(
            brief.plan.build(), self._trajectory.n_atoms, brief.n_frames, list(brief.states)
        )

    def opening(self, task: _trajet.Stop) -> float:
        """Return the seconds that a task, by what ends it, has been waiting for a file to open."""
        return self._trajectory.opening(task)

    def do(self, task: bytes, rows: NDArray[np.float64], stop: _trajet.Stop | None = None) -> Done:
        """Do a task and fill its `rows`, `(n_frames, row_width)`."""
        begin = time.time()
        states, report = self._trajectory.run(
            self.pass_,
            task,
            rows,
            threads=self.brief.threads,
            stop=stop,
        )
        return Done(states, report, begin, time.time(), socket.gethostname(), os.getpid())


@dataclass(frozen=True)
class Task:
    """Neighbouring leaves of a pass.

    Attributes
    ----------
    number
        From 0.
    leaves
        The first, and behind the last.
    frames
        Positions of the frames among the wanted ones: the first, and behind the last.
    """

    number: int
    leaves: tuple[int, int]
    frames: tuple[int, int]

    @property
    def n_frames(self) -> int:
        """Frames of the task."""
        return self.frames[1] - self.frames[0]


@dataclass
class Account:
    """What one thread of a worker did."""

    tasks: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    by_place: dict[str, list[int]] = field(default_factory=dict)


class Ledger:
    """What the leader writes down of a run, for the report."""

    def __init__(self) -> None:
        self.begin = time.time()
        self._clock = time.perf_counter()
        self._accounts: dict[tuple[int, int], Account] = {}
        self._at_work: dict[int, float] = {}
        self._where: dict[int, dict[str, Any]] = {}
        self._spans: dict[int, list[tuple[float, float]]] = {}
        self._moves: dict[int, list[tuple[float, float]]] = {}
        self.tasks: list[dict[str, Any]] = []
        self.retried: list[dict[str, Any]] = []
        self.repeated: list[dict[str, Any]] = []
        self.passes = 0

    def add(
        self,
        worker: int,
        task: Task,
        done: Done,
        *,
        where: dict[str, Any] | None = None,
        further: dict[str, Any] | None = None,
        moved: tuple[float, float] | None = None,
    ) -> None:
        """Write down a task that `worker` has done.

        `where` it runs, `further` entries of the task, and from when to when its rows `moved`.
        """
        self.spend(worker, done, where=where)
        threads = done.report["workers"]
        for thread, said in enumerate(threads):
            self._accounts[worker, thread].tasks += said["tasks"] > 0
        if moved is not None:
            self._moves.setdefault(worker, []).append(moved)
        self.tasks.append(
            {
                "pass": self.passes,
                "task": task.number,
                "worker": worker,
                "first": task.frames[0],
                "frames": task.n_frames,
                "t_begin": done.begin - self.begin,
                "t_end": done.end - self.begin,
                **{name: sum(said[name] for said in threads) for name in _TASK_STAGES},
                **(further or {}),
            }
        )

    def spend(self, worker: int, done: Done, *, where: dict[str, Any] | None = None) -> None:
        """Write down what a worker spent on a task, also if that was in vain."""
        self._where.setdefault(
            worker, {"host": done.host, "process": done.process, **(where or {})}
        )
        threads = done.report["workers"]
        longest = max(said["t_total"] for said in threads)
        self._at_work[worker] = self._at_work.get(worker, 0.0) + longest
        for thread, said in enumerate(threads):
            account = self._accounts.setdefault((worker, thread), Account())
            for name in (*COUNTS, *PARTS):
                account.sums[name] = account.sums.get(name, 0) + said[name]
            account.sums["t_total"] = account.sums.get("t_total", 0.0) + said["t_total"]
            account.by_place = bytes_by_place([account.by_place, said])
        self._spans.setdefault(worker, []).append((done.begin, done.end))

    def hold(
        self, worker: int, threads: int, where: dict[str, Any], span: tuple[float, float]
    ) -> None:
        """Write down from when to when rows of a worker were on their way, and never came."""
        self.join(worker, threads, where)
        self._moves.setdefault(worker, []).append(span)

    def join(self, worker: int, threads: int, where: dict[str, Any]) -> None:
        """Write down a worker, which may get no task."""
        self._where.setdefault(worker, where)
        for thread in range(threads):
            none = dict.fromkeys((*COUNTS, *PARTS), 0.0)
            self._accounts.setdefault((worker, thread), Account(sums=none))

    def repeat(self, task: Task, late: int, worker: int, *, won: bool) -> None:
        """Write down that `worker` did a task as well with which `late` was, and who was first."""
        numbers = {"pass": self.passes, "task": task.number, "late": late, "worker": worker}
        self.repeated.append({**numbers, "won": won})

    def retry(self, task: Task, error: BaseException | str) -> None:
        """Write down that a task is tried again."""
        self.retried.append({"pass": self.passes, "task": task.number, "error": str(error)})

    def report(
        self, over: dict[int, dict[str, float]] | None = None, **entries: Any
    ) -> dict[str, Any]:
        """Return what the engine reports of a run of this process, with one entry a thread.

        `over` are stages that workers measured beside their tasks. Rows that moved while a worker
        was at work took nothing of its time. What is left of the time between a worker's first task
        and the end of its last was waiting.
        """
        workers = []
        for (worker, thread), account in sorted(self._accounts.items()):
            spans = self._spans.get(worker, [])
            known_spans = [*spans, *self._moves.get(worker, [])]
            total = 0.0
            if known_spans:
                total = max(end for _, end in known_spans) - min(begin for begin, _ in known_spans)
            at_work = _covered(spans)
            moving = _covered(known_spans) - at_work
            entry: dict[str, Any] = {
                "worker": worker,
                "thread": thread,
                **self._where[worker],
                "tasks": account.tasks,
                **{name: int(account.sums[name]) for name in COUNTS},
                **account.by_place,
                **{name: account.sums[name] for name in PARTS},
            }
            for name, seconds in (over or {}).get(worker, {}).items():
                entry[name] = seconds if name == "t_total" else entry[name] + seconds
            total = entry.get("t_total", total)
            entry["t_comm"] += moving
            if "t_wait" not in (over or {}).get(worker, {}):
                entry["t_wait"] += max(0.0, total - at_work - moving)
            # Of a task that it shared with other threads, for those that took longer.
            entry["t_wait"] += self._at_work.get(worker, 0.0) - account.sums.get("t_total", 0.0)
            known = sum(entry[name] for name in PARTS if name != "t_overhead")
            entry["t_overhead"] = max(0.0, total - known)
            entry["t_total"] = total
            workers.append(entry)
        return {
            "workers": workers,
            "tasks": sorted(self.tasks, key=lambda task: (task["pass"], task["task"])),
            "passes": self.passes,
            "retried": self.retried,
            "repeated": self.repeated,
            "t_total": time.perf_counter() - self._clock,
            **entries,
        }


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return how long at least one of some spans lasts."""
    covered, until = 0.0, -math.inf
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered


_TASK_STAGES = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")


@dataclass(frozen=True)
class PassRun:
    """A pass that the leader has others do.

    Attributes
    ----------
    brief
        What workers are told.
    tasks
        What there is to do.
    rows
        `(n_frames, row_width)`, to be filled.
    states
        Takes what tasks return.
    """

    reader: Reader
    frames: Frames
    pass_: _trajet.Pass
    brief: Brief
    tasks: Sequence[Task]
    rows: NDArray[np.float64]
    states: _trajet.States

    def task_bytes(self, task: Task) -> bytes:
        """Return what a worker needs to know of a task."""
        return _trajet.task(self.reader, self.pass_, self.frames, *task.leaves)


def most_frames(pass_: _trajet.Pass) -> int:
    """Return the frames that a task has at most, where nobody says how many."""
    return max(1, _ROW_BYTES // (8 * max(1, pass_.row_width)))


def tasks_of(pass_: _trajet.Pass, workers: int, task_frames: int | None) -> list[Task]:
    """Return the tasks of a pass."""
    runs = pass_.tasks(workers, task_frames)
    if task_frames is None and runs:
        first, end = pass_.frames_of(*runs[0])
        if end - first > most_frames(pass_):
            runs = pass_.tasks(workers, most_frames(pass_))
    return [Task(k, run, pass_.frames_of(*run)) for k, run in enumerate(runs)]


def blocks_of(pass_: _trajet.Pass, count: int) -> list[Task]:
    """Return the tasks of a pass where there are to be `count`, as equal as leaves allow."""
    n = pass_.n_leaves
    borders = [n * k // count for k in range(count + 1)]
    runs = [run for run in pairwise(borders) if run[0] < run[1]]
    return [Task(k, run, pass_.frames_of(*run)) for k, run in enumerate(runs)]


# makes memory for rows of this shape
MakeRows: TypeAlias = Callable[[tuple[int, int]], NDArray[np.float64]]


def plain_rows(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return memory for rows."""
    return np.zeros(shape)


@contextmanager
def rows_kept_in(path: Path | None) -> Iterator[MakeRows]:
    """Give what makes rows, in a NumPy file of that name once all is done, or else in memory.

    What stands there is replaced; arrays that were made of it keep what they had.

    Raises
    ------
    OutputError
        If the file has no room.
    """
    if path is None:
        yield plain_rows
        return
    output.check(path, (".npy",))
    own = output.name_beside(path)

    def make(shape: tuple[int, int]) -> NDArray[np.float64]:
        if 0 in shape:
            return plain_rows(shape)
        try:
            own.unlink(missing_ok=True)
            output.make_new(own)
            rows = np.lib.format.open_memmap(own, "w+", np.float64, shape)
            with own.open("r+b") as file:
                # A write to mapped memory cannot say that the disk is full.
                os.posix_fallocate(file.fileno(), 0, own.stat().st_size)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        return np.asarray(rows)

    try:
        yield make
        if own.exists():
            own.replace(path)
    finally:
        own.unlink(missing_ok=True)


@contextmanager
def putting(rows: NDArray[np.float64]) -> Iterator[Callable[[int, NDArray[np.float64]], None]]:
    """Give what puts rows where they belong, called with the place of the first.

    Those that are mapped from a file are written to it: pages that were changed through the map
    would count as memory of this process.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    mapped = rows.base
    if not isinstance(mapped, np.memmap):

        def keep(first: int, values: NDArray[np.float64]) -> None:
            rows[first : first + len(values)] = values

        yield keep
        return
    with open(str(mapped.filename), "r+b", buffering=0) as file:

        def write(first: int, values: NDArray[np.float64]) -> None:
            left = np.ascontiguousarray(values).data.cast("B")
            try:
                file.seek(mapped.offset + first * rows.strides[0])
                while left:
                    left = left[file.write(left) :]
            except OSError as error:
                raise OutputError(f"{file.name}: cannot be written: {error.strerror}") from error

        yield write


def passes(
    reader: Reader,
    plan: Plan,
    frames: Frames,
    ledger: Ledger,
    *,
    threads: int,
    make_tasks: Callable[[_trajet.Pass], Sequence[Task]],
    make_rows: MakeRows = plain_rows,
) -> Iterator[PassRun]:
    """Go through the passes of a plan; each must be done when the next is asked for."""
    n_frames = n_frames_of(frames)
    states: list[NDArray[np.float64]] = []
    while True:
        pass_ = _trajet.Pass(plan.build(), reader.n_atoms, n_frames, states)
        outline = reader.outline(pass_.atoms)
        brief = Brief(outline, plan, n_frames, tuple(states), threads)
        rows = make_rows((n_frames, pass_.row_width))
        merged = _trajet.States(pass_)
        yield PassRun(reader, frames, pass_, brief, make_tasks(pass_), rows, merged)
        ledger.passes += 1
        if pass_.is_last:
            return
        states.append(merged.whole())
