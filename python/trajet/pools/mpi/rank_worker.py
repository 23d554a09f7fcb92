"""Worker loop of a rank in a pass, rank 0 included."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import WorkerError
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
from trajet.pools.task_batches import BatchSizes
from trajet.pools.tasks import (
    NO_STATES,
    Sections,
    Task,
    TaskOutcome,
    Worker,
    WorkerSpec,
    sections_of,
)
from trajet.pools.timing import WorkerTiming
from trajet.report_entries import StageName, Stages, TaskReport

# Seconds between two polls of MPI while this rank computes: others wait so long for rank 0.
_LOOK_LEADER = 1e-3
_LOOK = 1e-2
_SHOW = 0.1
# Seconds of a batch: some ten times what it costs to take, claim and log one.
_BATCH = 0.1
# Sections in one buffer begin at multiples of so many bytes.
_ALIGNMENT = 64


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
    timing
        Times of its tasks: of those whose results were taken, and of those that another rank had
        done first.
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
    timing: WorkerTiming = field(default_factory=WorkerTiming)
    retried: list[tuple[int, str]] = field(default_factory=list)
    speculated: list[tuple[int, int, bool]] = field(default_factory=list)
    seconds: Stages = field(default_factory=Stages)


class RankWorker:
    """A rank that takes part in a run."""

    def __init__(self, ranks: Communicator, threads: int) -> None:
        self._ranks, self._threads = ranks, threads
        self._begin = time.perf_counter()
        self._seconds: Stages = {"t_wait": 0.0, "t_comm": 0.0, "t_merge": 0.0}
        # Only this thread calls MPI, while another computes.
        self._computing = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        self, run: Callable[[_trajet.Stop], None], look: Callable[[], bool]
    ) -> tuple[BaseException | None, bool]:
        """Call `run` on the other thread.

        Returns
        -------
        BaseException or None
            Why it failed.
        bool
            Whether it was cancelled because `look` returned True.
        """
        stop = _trajet.Stop()
        future = self._computing.submit(run, stop)
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
        return error, error is not None and stop.is_set

    def wait(self, seconds: float) -> None:
        """Add seconds of waiting."""
        self._seconds["t_wait"] += max(0.0, seconds)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._ranks.rank


class _Batch:
    """Tasks that a rank computes one after the other.

    Attributes
    ----------
    outcomes
        Outcomes of the first tasks: of all of them, unless one fails or the batch is cancelled.
    retried
        Tasks that were tried again, and why.
    cut_off
        Outcome of the task in which the batch was cancelled, if it had begun to compute.
    """

    def __init__(
        self, worker: Worker, tasks: range, texts: Sequence[bytes], sections: Sequence[Sections]
    ) -> None:
        self._worker, self._tasks, self._texts, self._sections = worker, tasks, texts, sections
        self.outcomes: list[TaskOutcome] = []
        self.retried: list[tuple[int, str]] = []
        self.cut_off: TaskOutcome | None = None

    def run(self, stop: _trajet.Stop) -> None:
        """Run the tasks, until `stop` is set; raise the error of the one that fails."""
        for number, text, sections in zip(self._tasks, self._texts, self._sections, strict=True):
            for attempt in count(1):
                begin = time.time()
                try:
                    self.outcomes.append(self._worker.do(text, sections, stop))
                    break
                except BaseException as error:
                    if stop.is_set:
                        self.cut_off = _cut_off(stop, begin)
                        raise
                    if not is_retried(error, attempt):
                        raise
                    self.retried.append((number, str(error)))


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
    sizes: BatchSizes = field(default_factory=lambda: BatchSizes(_BATCH))

    def run(self, *, dynamic: bool) -> tuple[int | None, BaseException | None]:
        """Run tasks until there are none; return the task that failed, and its error."""
        for own in self._own(dynamic=dynamic):
            failed = self._do(own)
            if failed is not None:
                return failed
        while dynamic:
            with self.rank_worker.clock("t_wait"):
                late = self.task_window.wait_for_straggler()
            if late is None:
                break
            failed = self._do(*late)
            if failed is not None:
                return failed
        return None, None

    def _own(self, *, dynamic: bool) -> Iterator[range]:
        if not dynamic:
            left = self.task_window.table.own_run()
            while left and not self.task_window.table.has_failed:
                size = self.sizes.size
                yield left[:size]
                left = left[size:]
            return
        while True:
            with self.rank_worker.clock("t_comm"):
                taken = self.task_window.table.next(self.sizes.size)
                if taken is not None:
                    self.task_window.table.begin(taken, self.task_window.now())
            if taken is None:
                return
            yield taken

    def _do(self, tasks: range, late: int | None = None) -> tuple[int, BaseException] | None:
        """Run a batch, with retries; `late` is the rank of a straggler that runs it too.

        Returns
        -------
        int and BaseException
            The task that failed, and its error; None if none did.
        """
        rank_worker, table = self.rank_worker, self.task_window.table
        with rank_worker.clock("t_comm"):
            texts = self.task_window.task_bytes(tasks)
        begin = time.perf_counter()
        sections = self._sections(tasks)
        batch = _Batch(self.worker, tasks, texts, sections)
        error, is_cancelled = rank_worker.compute(batch.run, lambda: self._look(tasks))
        spent = time.perf_counter() - begin
        self.record.retried += batch.retried
        # Only the owner of a task reports its error.
        if error is not None and not is_cancelled and late is None:
            return self._failed(tasks[len(batch.outcomes)], error)
        with rank_worker.clock("t_comm"):
            won = error is None and table.claim(tasks, spent)
        if late is not None:
            self.record.speculated += [(number, late, won) for number in tasks]
        known = [*batch.outcomes, *([] if batch.cut_off is None else [batch.cut_off])]
        # Hand-over between the two threads, and all of a failed attempt.
        rank_worker.wait(spent - sum(_seconds_of(done.report) for done in known))
        if not won:
            for done in known:
                self.record.timing.discard(done)
            return None
        return self._keep(tasks, sections, batch.outcomes, spent)

    def _keep(
        self,
        tasks: range,
        sections: Sequence[Sections],
        outcomes: Sequence[TaskOutcome],
        spent: float,
    ) -> tuple[int, BaseException] | None:
        """Merge the states of a batch, and send its arrays."""
        n_bytes = 0
        for number, done, own in zip(tasks, outcomes, sections, strict=True):
            try:
                with self.rank_worker.clock("t_merge"):
                    self.states.add(done.states)
            except Exception as error:
                # The user's own reducer may raise.
                return self._failed(number, error)
            with self.rank_worker.clock("t_comm"):
                for array, transport in self.transports.items():
                    transport.put(self.tasks[number], own[array])
            self.record.timing.add(self.tasks[number], done)
            n_bytes += done.states.nbytes + sum(part.nbytes for part in own)
        self.sizes.add(len(tasks), spent, n_bytes)
        return None

    def _sections(self, tasks: range) -> list[Sections]:
        """Return memory for the arrays of each task; reused if their transports copy them."""
        pass_, n_frames = self.worker.pass_, [self.tasks[number].n_frames for number in tasks]
        sizes = [-(-pass_.sections(n)[1] // _ALIGNMENT) * _ALIGNMENT for n in n_frames]
        if any(transport.keeps for transport in self.transports.values()):
            memory = np.empty(sum(sizes), np.uint8)
        elif self.memory.size < sum(sizes):
            memory = self.memory = np.empty(sum(sizes), np.uint8)
        else:
            memory = self.memory
        begins = accumulate(sizes, initial=0)
        return [
            sections_of(pass_, n, memory[begin:])
            for n, begin in zip(n_frames, begins, strict=False)
        ]

    def _failed(self, number: int, error: BaseException) -> tuple[int, BaseException]:
        """Have all ranks end; return a task and its error, with the place added."""
        self.task_window.table.fail()
        first, end = self.tasks[number].frames
        where = f"on rank {self.rank_worker.rank} ({self.record.host})"
        error.add_note(f"{where}, in the task of frames {first} to {end - 1}")
        return number, error

    def _look(self, tasks: range) -> bool:
        now = time.perf_counter()
        if self.root is not None and now - self.shown > _SHOW:
            self.shown = now
            self.root.show(self.task_window.table.frames_done())
        if now - self.looked > _LOOK:
            self.looked = now
            self.task_window.look()
        return self.task_window.table.is_cancelled(tasks)


def _cut_off(stop: _trajet.Stop, begin: float) -> TaskOutcome | None:
    """Return the outcome of a task that was cancelled; None if it had not begun to compute."""
    if (report := stop.report) is None:
        return None
    end = begin + _seconds_of(report)
    return TaskOutcome(NO_STATES, report, begin, end, os.uname().nodename, os.getpid())


def _seconds_of(report: TaskReport) -> float:
    """Return the seconds of the slowest thread."""
    return float(max(worker["t_total"] for worker in report["workers"]))
