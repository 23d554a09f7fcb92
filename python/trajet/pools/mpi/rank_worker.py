"""What each rank does of a pass, rank 0 included."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import WorkerError
from trajet.pools.dispatch import is_retried
from trajet.pools.mpi import row_transport
from trajet.pools.mpi.communicator import Link
from trajet.pools.mpi.task_window import Board
from trajet.pools.passes import PassRun, tasks_of
from trajet.pools.tasks import Brief, Done, Task, Worker

# Seconds between two looks at MPI while this rank computes: others wait so long for rank 0.
_LOOK_LEADER = 1e-3
_LOOK = 1e-2
_SHOW = 0.1


@dataclass(frozen=True)
class Told:
    """What all ranks are told of a pass.

    Attributes
    ----------
    brief
        What workers know; None in later passes, which differ by their states.
    states
        What the passes before yielded.
    task_frames
        Frames of a task.
    dynamic
        Whether tasks are taken as ranks come free.
    way
        How rows go: its name, a path, and where in that file they begin.
    ends
        Where the descriptions of the tasks end.
    """

    brief: Brief | None
    states: tuple[NDArray[np.float64], ...]
    task_frames: int | None
    dynamic: bool
    way: tuple[str, Path, int]
    ends: NDArray[np.int64]

    def brief_after(self, first: Brief) -> Brief:
        """Return the brief of this pass."""
        return replace(first, states=self.states)


@dataclass(frozen=True)
class Lead:
    """What rank 0 has besides.

    Attributes
    ----------
    part
        The pass.
    texts
        What is to be known of each task.
    show
        Called with the frames that are done.
    ready
        Called when all ranks have found where rows go.
    """

    part: PassRun
    texts: Sequence[bytes]
    show: Callable[[int], None]
    ready: Callable[[], None]


@dataclass
class Record:
    """What a rank has done in a pass.

    Attributes
    ----------
    host, process
        Where it runs.
    zero
        Its clock (`time.time`) when all ranks began.
    done
        Tasks that count, with what the engine reports.
    vain
        What the engine reports of others: somebody else was first.
    retried
        Tasks that were tried again, and why.
    again
        Tasks that were late elsewhere, on which rank, and whether this one was first.
    seconds
        Stages beside those of tasks, and `t_total`; since the run began.
    """

    host: str
    process: int
    zero: float
    done: list[tuple[int, Done]] = field(default_factory=list)
    vain: list[Done] = field(default_factory=list)
    retried: list[tuple[int, str]] = field(default_factory=list)
    again: list[tuple[int, int, bool]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def by_clock_of(self, other: "Record", done: Done) -> Done:
        """Return what was done with the times of another rank's clock."""
        shift = other.zero - self.zero
        return replace(done, begin=done.begin + shift, end=done.end + shift)


class Member:
    """A rank that takes part in a run."""

    def __init__(self, link: Link, threads: int) -> None:
        self._link, self._threads = link, threads
        self._begin = time.perf_counter()
        self._seconds = dict.fromkeys(("t_wait", "t_comm", "t_merge"), 0.0)
        # MPI is called by this thread alone, while another computes.
        self._computing = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        """Take part."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread; nobody waits for its task after an interrupt."""
        self._computing.shutdown(wait=not isinstance(error, KeyboardInterrupt))

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Count the seconds of a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - begin

    def take_part(
        self, told: Told, worker: Worker, lead: Lead | None = None
    ) -> tuple[list[Record], BaseException | None]:
        """Do a pass with all ranks.

        Returns
        -------
        list of Record
            Of each rank, on rank 0.
        BaseException or None
            Why the pass has failed, the same on all ranks.
        """
        with self._link.together():
            return self._take_part(told, worker, lead)

    def _take_part(
        self, told: Told, worker: Worker, lead: Lead | None
    ) -> tuple[list[Record], BaseException | None]:
        link, pass_ = self._link, worker.pass_
        tasks = tasks_of(pass_, link.size, told.task_frames)
        with self.clock("t_comm"):
            shape = (worker.brief.n_frames, pass_.row_width)
            rows = None if lead is None else lead.part.rows
            way = row_transport.way_of(told.way, link, tasks, rows, shape)
            sizes = [task.n_frames for task in tasks]
            board = Board(link, sizes, told.ends, lead.texts if lead is not None else [])
            if lead is not None:
                lead.ready()
        record = Record(link.host, os.getpid(), time.time())
        states = _trajet.States(pass_) if lead is None else lead.part.states
        turn = _Turn(self, board, way, worker, tasks, states, record, lead)
        place, error = turn.run(dynamic=told.dynamic)
        with self.clock("t_comm"):
            if way is not None:
                way.settle()
        with self.clock("t_wait"):
            found = link.agree(place, error)
        with self.clock("t_comm"):
            if found is None:
                winners = board.table.claims() if link.rank == 0 else None
                if winners is not None and (winners < 0).any():
                    raise WorkerError("a task was done by no rank: please report this")
                if way is not None:
                    way.collect(winners)
                if told.way[0] == "one-sided":
                    row_transport.put_states(link, states)
                else:
                    row_transport.merge_along_tree(link, states)
            if way is not None:
                way.close()
            board.close()
        if lead is not None and found is None:
            lead.show(worker.brief.n_frames)
        record.seconds = {**self._seconds, "t_total": time.perf_counter() - self._begin}
        return link.gather_objects(record), found

    def compute(
        self, worker: Worker, text: bytes, rows: NDArray[np.float64], look: Callable[[], bool]
    ) -> tuple[Done | None, BaseException | None, bool]:
        """Do a task on the other thread.

        Returns
        -------
        Done or None
            What was done, as far as it is known.
        BaseException or None
            Why it failed.
        bool
            Whether it was given up, since `look` said so.
        """
        stop, begin = _trajet.Stop(), time.time()
        future = self._computing.submit(worker.do, text, rows, stop)
        every = _LOOK if self._link.rank else _LOOK_LEADER
        try:
            while True:
                try:
                    error = future.exception(timeout=every)
                    break
                except TimeoutError:
                    self._link.progress()
                    if look():
                        stop.set()
        except BaseException:
            # Ctrl-C.
            stop.set()
            raise
        if error is None:
            return future.result(), None, False
        if not stop.is_set:
            return None, error, False
        done = None
        if stop.report is not None:
            end = begin + _seconds_of(stop.report)
            done = Done(np.empty(0), stop.report, begin, end, self._link.host, os.getpid())
        return done, None, True

    def wait(self, seconds: float) -> None:
        """Count what yielded nothing."""
        self._seconds["t_wait"] += max(0.0, seconds)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._link.rank


@dataclass
class _Turn:
    """The tasks of a rank in a pass."""

    member: Member
    board: Board
    way: row_transport.Rows | None
    worker: Worker
    tasks: Sequence[Task]
    states: _trajet.States
    record: Record
    lead: Lead | None
    shown: float = 0.0
    memory: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def run(self, *, dynamic: bool) -> tuple[int | None, BaseException | None]:
        """Do tasks until there are none; return the one that failed, and why."""
        for own in self._own(dynamic=dynamic):
            error = self._do(own)
            if error is not None:
                return own, error
        while dynamic:
            with self.member.clock("t_wait"):
                late = self.board.wait_for_straggler()
            if late is None:
                break
            error = self._do(*late)
            if error is not None:
                return late[0], error
        return None, None

    def _own(self, *, dynamic: bool) -> Iterator[int]:
        if not dynamic:
            for number in self.board.table.own_run():
                if self.board.table.has_failed:
                    return
                yield number
            return
        while True:
            with self.member.clock("t_comm"):
                taken = self.board.table.next()
                if taken is not None:
                    self.board.table.begin(taken, self.board.now())
            if taken is None:
                return
            yield taken

    def _do(self, number: int, late: int | None = None) -> BaseException | None:
        """Do a task, several times where its storage fails; also one with which `late` is."""
        task, member, width = self.tasks[number], self.member, self.worker.pass_.row_width
        with member.clock("t_comm"):
            text = self.board.payload(number)
        begin = time.perf_counter()
        rows = self._rows((task.n_frames, width))
        for attempt in count(1):
            done, error, given_up = member.compute(
                self.worker, text, rows, lambda: self._look(number)
            )
            if not is_retried(error, attempt):
                break
            self.record.retried.append((number, str(error)))
        spent = time.perf_counter() - begin
        # Only its owner says what is wrong with a task.
        if error is not None and late is None:
            return self._failed(task, error)
        with member.clock("t_comm"):
            won = done is not None and not given_up and self.board.table.claim(number, spent)
        if late is not None:
            self.record.again.append((number, late, won))
        # What passes between the two threads, and of what failed all.
        member.wait(spent - (_seconds_of(done.report) if done is not None else 0.0))
        if done is None:
            return None
        if not won:
            self.record.vain.append(_told_of(done))
            return None
        try:
            with member.clock("t_merge"):
                self.states.add(done.states)
        except Exception as error:
            # A reducer of the user's own.
            return self._failed(task, error)
        if self.way is not None:
            with member.clock("t_comm"):
                self.way.put(task, rows)
        self.record.done.append((number, _told_of(done)))
        return None

    def _rows(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return memory for the rows of a task; the same again where their way copies them."""
        if self.way is None or self.way.keeps:
            return np.empty(shape)
        if self.memory.size < shape[0] * shape[1]:
            self.memory = np.empty(shape[0] * shape[1])
        return self.memory[: shape[0] * shape[1]].reshape(shape)

    def _failed(self, task: Task, error: BaseException) -> BaseException:
        """Have all ranks end, and say where this one was."""
        self.board.table.fail()
        first, end = task.frames
        where = f"on rank {self.member.rank} ({self.record.host})"
        error.add_note(f"{where}, in the task of frames {first} to {end - 1}")
        return error

    def _look(self, number: int) -> bool:
        now = time.perf_counter()
        if self.lead is not None and now - self.shown > _SHOW:
            self.shown = now
            self.lead.show(self.board.table.frames_done())
        return self.board.table.is_cancelled(number)


def _seconds_of(report: dict[str, Any]) -> float:
    """Return how long the engine was at work."""
    return float(max(worker["t_total"] for worker in report["workers"]))


def _told_of(done: Done) -> Done:
    """Return what is told of a task: without its states."""
    return replace(done, states=np.empty(0), report={"workers": done.report["workers"]})
