"""Worker loop of a rank in a pass, rank 0 included."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import WorkerError
from trajet.advise.entries import StageName, Stages, TaskReport
from trajet.pools.dispatch import is_retried
from trajet.pools.mpi.communicator import Communicator
from trajet.pools.mpi.section_transport import (
    SectionTransport,
    TransportSpec,
    make_transports,
    merge_along_tree,
)
from trajet.pools.mpi.task_window import TaskWindow
from trajet.pools.passes import PassRun, tasks_of
from trajet.pools.tasks import (
    NO_STATES,
    Sections,
    Task,
    TaskOutcome,
    Worker,
    WorkerSpec,
    sections_of,
)

# Seconds between two polls of MPI while this rank computes: others wait so long for rank 0.
_LOOK_LEADER = 1e-3
_LOOK = 1e-2
_SHOW = 0.1


@dataclass(frozen=True)
class PassSpec:
    """Setup of a pass, which all ranks get.

    Attributes
    ----------
    worker_spec
        Setup of the workers; None in later passes, which differ by their states.
    states
        States of the passes before.
    task_frames
        Frames of a task.
    dynamic
        Whether ranks take tasks as they come free.
    transport
        How the arrays move to rank 0.
    ends
        End of each serialised task, in bytes.
    keeps_failure
        Whether rank 0 keeps the error of a pass that fails, while the others wait for its next
        message. Otherwise every rank raises it.
    """

    worker_spec: WorkerSpec | None
    states: tuple[NDArray[np.uint8], ...]
    task_frames: int | None
    dynamic: bool
    transport: TransportSpec
    ends: NDArray[np.int64]
    keeps_failure: bool

    def spec_after(self, first: WorkerSpec) -> WorkerSpec:
        """Return the worker spec of this pass, given that of the first."""
        return replace(first, states=self.states)


@dataclass(frozen=True)
class RootPass:
    """State of a pass that rank 0 has in addition.

    Attributes
    ----------
    part
        The pass.
    texts
        Payload of each task.
    show
        Called with the frames that are done.
    ready
        Called when all ranks have opened the memory or files of the arrays.
    """

    part: PassRun
    texts: Sequence[bytes]
    show: Callable[[int], None]
    ready: Callable[[], None]


@dataclass
class RankRecord:
    """Times and counts of a rank in a pass.

    Attributes
    ----------
    host, process
        Where it runs.
    zero
        Its clock (`time.time`) when all ranks began.
    done
        Tasks whose results were taken, with their outcomes.
    discarded
        Outcomes of tasks that another rank had done first.
    retried
        Tasks that were tried again, and why.
    speculated
        Stragglers that this rank ran as well: task, its rank, and whether this rank was first.
    seconds
        Stages outside of tasks, and `t_total`, since the run began.
    """

    host: str
    process: int
    zero: float
    done: list[tuple[int, TaskOutcome]] = field(default_factory=list)
    discarded: list[TaskOutcome] = field(default_factory=list)
    retried: list[tuple[int, str]] = field(default_factory=list)
    speculated: list[tuple[int, int, bool]] = field(default_factory=list)
    seconds: Stages = field(default_factory=Stages)

    def by_clock_of(self, other: "RankRecord", done: TaskOutcome) -> TaskOutcome:
        """Return an outcome with its times moved to another rank's clock."""
        shift = other.zero - self.zero
        return replace(done, begin=done.begin + shift, end=done.end + shift)


class RankWorker:
    """A rank that takes part in a run."""

    def __init__(self, ranks: Communicator, threads: int) -> None:
        self._ranks, self._threads = ranks, threads
        self._begin = time.perf_counter()
        self._seconds: Stages = {"t_wait": 0.0, "t_comm": 0.0, "t_merge": 0.0}
        # Only this thread calls MPI, while another computes.
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
        """End the thread; its task is not waited for after an interrupt."""
        self._computing.shutdown(wait=not isinstance(error, KeyboardInterrupt))

    @contextmanager
    def clock(self, stage: StageName) -> Iterator[None]:
        """Add the seconds of the body to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - begin

    def take_part(
        self, pass_spec: PassSpec, worker: Worker, root: RootPass | None = None
    ) -> tuple[list[RankRecord], BaseException | None]:
        """Run a pass together with all ranks.

        Returns
        -------
        list of RankRecord
            The records of all ranks, on rank 0.
        BaseException or None
            The error of the pass, the same on all ranks.
        """
        with self._ranks.abort_all():
            return self._take_part(pass_spec, worker, root)

    def _take_part(
        self, pass_spec: PassSpec, worker: Worker, root: RootPass | None
    ) -> tuple[list[RankRecord], BaseException | None]:
        ranks, pass_ = self._ranks, worker.pass_
        tasks = tasks_of(pass_, ranks.size, pass_spec.task_frames)
        with self.clock("t_comm"):
            n_frames = worker.worker_spec.n_frames
            sections = None if root is None else root.part.sections
            transports = make_transports(
                pass_spec.transport, ranks, tasks, sections, n_frames, pass_.entry_bytes
            )
            sizes = [task.n_frames for task in tasks]
            task_window = TaskWindow(
                ranks, sizes, pass_spec.ends, root.texts if root is not None else []
            )
            if root is not None:
                root.ready()
        record = RankRecord(ranks.host, os.getpid(), time.time())
        states = _trajet.States(pass_) if root is None else root.part.states
        rank_pass = _RankPass(self, task_window, transports, worker, tasks, states, record, root)
        place, error = rank_pass.run(dynamic=pass_spec.dynamic)
        with self.clock("t_comm"):
            for transport in transports.values():
                transport.flush()
        with self.clock("t_wait"):
            found = ranks.agree(place, error)
        with self.clock("t_comm"):
            if found is None:
                winners = task_window.table.claims() if ranks.rank == 0 else None
                if winners is not None and (winners < 0).any():
                    raise WorkerError("a task was done by no rank: please report this")
                for transport in transports.values():
                    transport.collect(winners)
                merge_along_tree(ranks, states)
            for transport in transports.values():
                transport.close()
            task_window.close()
        if root is not None and found is None:
            root.show(worker.worker_spec.n_frames)
        record.seconds = {**self._seconds, "t_total": time.perf_counter() - self._begin}
        return ranks.gather_objects(record), found

    def compute(
        self, worker: Worker, text: bytes, sections: Sections, look: Callable[[], bool]
    ) -> tuple[TaskOutcome | None, BaseException | None, bool]:
        """Run a task on the other thread.

        Returns
        -------
        TaskOutcome or None
            Outcome, as far as it is known.
        BaseException or None
            Why it failed.
        bool
            Whether the task was cancelled because `look` returned True.
        """
        stop, begin = _trajet.Stop(), time.time()
        future = self._computing.submit(worker.do, text, sections, stop)
        every = _LOOK if self._ranks.rank else _LOOK_LEADER
        try:
            while True:
                try:
                    error = future.exception(timeout=every)
                    break
                except TimeoutError:
                    self._ranks.progress()
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
            done = TaskOutcome(NO_STATES, stop.report, begin, end, self._ranks.host, os.getpid())
        return done, None, True

    def wait(self, seconds: float) -> None:
        """Add seconds of waiting."""
        self._seconds["t_wait"] += max(0.0, seconds)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._ranks.rank


@dataclass
class _RankPass:
    """Tasks of a rank in a pass."""

    rank_worker: RankWorker
    task_window: TaskWindow
    transports: dict[int, SectionTransport]
    worker: Worker
    tasks: Sequence[Task]
    states: _trajet.States
    record: RankRecord
    root: RootPass | None
    shown: float = 0.0
    looked: float = 0.0
    memory: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    def run(self, *, dynamic: bool) -> tuple[int | None, BaseException | None]:
        """Run tasks until there are none; return the task that failed, and its error."""
        for own in self._own(dynamic=dynamic):
            error = self._do(own)
            if error is not None:
                return own, error
        while dynamic:
            with self.rank_worker.clock("t_wait"):
                late = self.task_window.wait_for_straggler()
            if late is None:
                break
            error = self._do(*late)
            if error is not None:
                return late[0], error
        return None, None

    def _own(self, *, dynamic: bool) -> Iterator[int]:
        if not dynamic:
            for number in self.task_window.table.own_run():
                if self.task_window.table.has_failed:
                    return
                yield number
            return
        while True:
            with self.rank_worker.clock("t_comm"):
                taken = self.task_window.table.next()
                if taken is not None:
                    self.task_window.table.begin(taken, self.task_window.now())
            if taken is None:
                return
            yield taken

    def _do(self, number: int, late: int | None = None) -> BaseException | None:
        """Run a task, with retries; `late` is the rank of a straggler that runs it too."""
        task, rank_worker = self.tasks[number], self.rank_worker
        with rank_worker.clock("t_comm"):
            text = self.task_window.task_bytes(number)
        begin = time.perf_counter()
        sections = self._sections(task.n_frames)
        for attempt in count(1):
            done, error, given_up = rank_worker.compute(
                self.worker, text, sections, lambda: self._look(number)
            )
            if not is_retried(error, attempt):
                break
            self.record.retried.append((number, str(error)))
        spent = time.perf_counter() - begin
        # Only the owner of a task reports its error.
        if error is not None and late is None:
            return self._failed(task, error)
        with rank_worker.clock("t_comm"):
            won = done is not None and not given_up and self.task_window.table.claim(number, spent)
        if late is not None:
            self.record.speculated.append((number, late, won))
        # Hand-over between the two threads, and all of a failed attempt.
        rank_worker.wait(spent - (_seconds_of(done.report) if done is not None else 0.0))
        if done is None:
            return None
        if not won:
            self.record.discarded.append(_without_states(done))
            return None
        try:
            with rank_worker.clock("t_merge"):
                self.states.add(done.states)
        except Exception as error:
            # The user's own reducer may raise.
            return self._failed(task, error)
        with rank_worker.clock("t_comm"):
            for array, transport in self.transports.items():
                transport.put(task, sections[array])
        self.record.done.append((number, _without_states(done)))
        return None

    def _sections(self, n_frames: int) -> Sections:
        """Return memory for the arrays of a task; reused if their transports copy them."""
        pass_ = self.worker.pass_
        _, size = pass_.sections(n_frames)
        if any(transport.keeps for transport in self.transports.values()):
            return sections_of(pass_, n_frames, np.empty(size, np.uint8))
        if self.memory.size < size:
            self.memory = np.empty(size, np.uint8)
        return sections_of(pass_, n_frames, self.memory)

    def _failed(self, task: Task, error: BaseException) -> BaseException:
        """Have all ranks end; add the place to the error."""
        self.task_window.table.fail()
        first, end = task.frames
        where = f"on rank {self.rank_worker.rank} ({self.record.host})"
        error.add_note(f"{where}, in the task of frames {first} to {end - 1}")
        return error

    def _look(self, number: int) -> bool:
        now = time.perf_counter()
        if self.root is not None and now - self.shown > _SHOW:
            self.shown = now
            self.root.show(self.task_window.table.frames_done())
        if now - self.looked > _LOOK:
            self.looked = now
            self.task_window.look()
        return self.task_window.table.is_cancelled(number)


def _seconds_of(report: TaskReport) -> float:
    """Return the seconds of the slowest thread."""
    return float(max(worker["t_total"] for worker in report["workers"]))


def _without_states(done: TaskOutcome) -> TaskOutcome:
    """Return an outcome without its states, for rank 0."""
    return replace(done, states=NO_STATES, report={"workers": done.report["workers"]})
