"""Dask adapter of the dispatch core: submits the tasks of a pass and gathers their results."""

import asyncio
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import cast

from distributed import Client, Future, KilledWorker

from trajet._trajet import WorkerError
from trajet.advise.entries import Place, RepeatedEntry
from trajet.pools.dask.plugins import TaskProgress, TaskResult, do
from trajet.pools.dask.workers import Workers
from trajet.pools.dispatch import (
    Cancel,
    Copy,
    Dispatch,
    GiveUp,
    Instruction,
    StragglerRule,
    Submit,
    Take,
)
from trajet.pools.fetching import FetchQueue
from trajet.pools.passes import PassRun, section_writer
from trajet.pools.pool import Progress
from trajet.pools.tasks import Sections, Task
from trajet.pools.timing import RunTiming, partial_outcome

# Seconds between two looks at the tasks, and between two counts of the workers.
_LOOK = 0.1
_COUNT = 1.0
# Bytes of tasks that are sent to the scheduler at once; Dask warns of more than 10 MB.
_MOST_SENT = 4 << 20
# Turns of Dask's event loop between two fetches.
_APART = 20
_RULE = StragglerRule(min_done=3, grace=0.25)


@dataclass
class _SubmittedCopy:
    """A copy of a task that was submitted, with what is needed beside the core's state.

    Attributes
    ----------
    address
        Worker that runs it.
    message, received
        Last progress message of the worker, and when it came.
    fetching
        Since when its arrays are on their way.
    moved
        When its arrays were on their way, if that is over.
    """

    copy: Copy
    task: Task
    future: Future
    address: str | None = None
    message: TaskProgress | None = None
    received: float = 0.0
    fetching: float | None = None
    moved: tuple[float, float] | None = None


class Dispatcher:
    """Runs the tasks of a pass on the workers of a client."""

    def __init__(
        self,
        client: Client,
        workers: Workers,
        name: str,
        part: PassRun,
        timing: RunTiming,
        pins: dict[int, str],
    ) -> None:
        """Submit nothing yet; the tasks of `pins` are for these workers alone."""
        self._client, self._workers, self._name = client, workers, name
        self._part, self._timing = part, timing
        n_frames = [task.n_frames for task in part.tasks]
        self._dispatch = Dispatch(n_frames, pins=pins, rule=None if pins else _RULE)
        # No SimpleQueue: one that waits some time, and meets a signal then, may wait for ever.
        self._events: queue.Queue[Callable[[], None]] = queue.Queue()
        # copies that are open in the core, and those that were cancelled
        self._sent: dict[Copy, _SubmittedCopy] = {}
        self._cancelled: dict[Copy, _SubmittedCopy] = {}
        self._fetch_queue = FetchQueue(self._dispatch.is_open)
        # to be looked at again
        self._lost: list[_SubmittedCopy] = []
        self._asking = asyncio.Lock()
        self._put: Callable[[int, Sections], None]
        self._frame_bytes = sum(section.shape[1] for section in part.sections)

    def do(self, before: int, progress: Progress | None) -> None:
        """Run all tasks; `before` are the frames of the passes before."""
        with section_writer(self._part.sections) as self._put:
            self._do(before, progress)

    def _do(self, before: int, progress: Progress | None) -> None:
        dispatch = self._dispatch
        try:
            self._follow(dispatch.start(self._workers.threads))
            looked = counted = time.monotonic()
            while not dispatch.is_done:
                with suppress(queue.Empty):
                    self._events.get(timeout=_LOOK)()
                now = time.monotonic()
                if now - looked < _LOOK:
                    continue
                looked = now
                if now - counted > _COUNT:
                    counted = now
                    self._workers.refresh()
                    self._follow(dispatch.workers_changed(self._workers.threads))
                lost, self._lost = self._lost, []
                for sent in lost:
                    self._ended(sent)
                self._follow(dispatch.tick(now))
                if progress is not None:
                    done = before + dispatch.frames_done
                    progress(done, before + self._part.n_frames)
            self._account_for_cancelled()
        finally:
            if self._sent:
                with suppress(Exception):
                    self._client.cancel([sent.future for sent in self._sent.values()])

    def on_progress(self, message: TaskProgress) -> None:
        """Take a progress message of a worker, on Dask's thread."""
        self._events.put(partial(self._progressed, message))

    @property
    def repeated(self) -> list[RepeatedEntry]:
        """Stragglers, as the report shows them."""
        entries: list[RepeatedEntry] = []
        for straggler in self._dispatch.stragglers:
            entry = asdict(straggler)
            address = entry.pop("worker")
            entry = {"pass": self._timing.passes, "address": address, **entry}
            entries.append(cast(RepeatedEntry, entry))
        return entries

    # Instructions of the core.

    def _follow(self, instructions: Sequence[Instruction]) -> None:
        """Carry out the cancellations and submissions that the core decided."""
        batches: dict[tuple[str | None, tuple[str, ...]], list[Copy]] = {}
        for instruction in instructions:
            match instruction:
                case Cancel(copies):
                    self._client.cancel([self._sent[copy].future for copy in copies])
                    for copy in copies:
                        self._cancelled[copy] = self._sent.pop(copy)
                case Submit(copy, only, prefer):
                    batches.setdefault((only, prefer), []).append(copy)
        for (only, prefer), submitted in batches.items():
            self._submit(submitted, [only] if only else list(prefer), anywhere=only is None)

    def _submit(self, copies: Iterable[Copy], workers: list[str], *, anywhere: bool) -> None:
        """Submit copies for some workers, or with `anywhere` rather for these than for others."""
        for batch in self._batches(copies):
            futures = self._client.map(
                partial(do, self._name),
                [task_bytes for _, task_bytes in batch],
                [self._part.tasks[copy.task].n_frames for copy, _ in batch],
                key=[(self._name, *copy) for copy, _ in batch],
                workers=workers or None,
                allow_other_workers=bool(workers) and anywhere,
                pure=False,
            )
            for (copy, _), future in zip(batch, futures, strict=True):
                sent = self._sent[copy] = _SubmittedCopy(copy, self._part.tasks[copy.task], future)
                future.add_done_callback(
                    lambda _, sent=sent: self._events.put(partial(self._ended, sent))
                )

    def _batches(self, copies: Iterable[Copy]) -> Iterator[list[tuple[Copy, bytes]]]:
        """Divide copies into batches that the scheduler takes at once."""
        batch: list[tuple[Copy, bytes]] = []
        size = 0
        for copy in copies:
            task_bytes = self._part.task_bytes(self._part.tasks[copy.task])
            if batch and size + len(task_bytes) > _MOST_SENT:
                yield batch
                batch, size = [], 0
            batch.append((copy, task_bytes))
            size += len(task_bytes)
        if batch:
            yield batch

    # Events.

    def _progressed(self, message: TaskProgress) -> None:
        """Note that a task has begun, or how far it is."""
        name, *place = message.key
        if name != self._name:
            # A cancelled task of an earlier pass that still reads.
            return
        copy = Copy(*place)
        sent = self._sent.get(copy) or self._cancelled.get(copy)
        if sent is None:
            return
        before, sent.message, sent.received = sent.message, message, time.monotonic()
        is_known = before is not None and before[:-2] == message[:-2]
        if not is_known and copy in self._sent:
            sent.address = message.worker
            self._dispatch.started(copy, message.worker, sent.received)

    def _ended(self, sent: _SubmittedCopy) -> None:
        """Look at the future of a task that has ended."""
        if sent.copy not in self._sent:
            return
        status = sent.future.status
        if status == "finished":
            self._follow(self._dispatch.computed(sent.copy))
            n_bytes = sent.task.n_frames * self._frame_bytes
            self._fetch_queue.add(sent.address, sent.copy, n_bytes)
            self._fetch()
        elif status == "error":
            self._failed(sent, sent.future.exception())
        elif status == "cancelled":
            raise dropped(self._client, f"the task of {_frames(sent.task)}")
        else:
            self._dispatch.stopped(sent.copy)
            self._lost.append(sent)

    def _failed(self, sent: _SubmittedCopy, error: BaseException) -> None:
        """Run a task again if the core says so, or raise its error."""
        instructions = self._dispatch.failed(sent.copy, error)
        if GiveUp(sent.copy) not in instructions:
            self._timing.retry(sent.task, error)
            del self._sent[sent.copy]
            self._follow(instructions)
            return
        if isinstance(error, KilledWorker):
            raise killed(error, f"the task of {_frames(sent.task)}") from error
        error.add_note(f"during the task of {_frames(sent.task)}, on the worker {sent.address}")
        raise error

    def _fetch(self) -> None:
        """Fetch arrays that are ready."""
        while (request := self._fetch_queue.next(self._dispatch.slow)) is not None:
            now = time.monotonic()
            self._dispatch.gathering(request.copies, now)
            batch = [self._sent[copy] for copy in request.copies]
            for sent in batch:
                sent.fetching, sent.moved = now, None
            fetching = self._fetch_batch(request.worker, batch, time.time())
            asyncio.run_coroutine_threadsafe(fetching, self._client.loop.asyncio_loop)

    async def _fetch_batch(
        self, address: str | None, batch: list[_SubmittedCopy], begin: float
    ) -> None:
        """Fetch results, or find why there are none: also that a future was cancelled meanwhile."""
        fetched: list[TaskResult | None] | BaseException
        try:
            futures = [sent.future for sent in batch]
            direct = self._workers.direct
            async with self._asking:
                answers = asyncio.ensure_future(
                    self._client.gather(futures, direct=direct, asynchronous=True)
                )
                # Dask joins requests of the same moment: a slow worker would hold up others.
                for _ in range(_APART):
                    await asyncio.sleep(0)
            fetched = await answers
        except (Exception, asyncio.CancelledError) as error:
            fetched = error
        moved = (begin, time.time())
        self._events.put(partial(self._arrived, address, batch, moved, fetched))

    def _arrived(
        self,
        address: str | None,
        batch: list[_SubmittedCopy],
        moved: tuple[float, float],
        fetched: "list[TaskResult | None] | BaseException",
    ) -> None:
        """Take the results of a batch, or look again at its futures."""
        self._fetch_queue.arrived(address)
        for sent in batch:
            sent.moved = moved
        still_open = [sent for sent in batch if sent.copy in self._sent]
        if not isinstance(fetched, BaseException):
            self._dispatch.gathered([sent.copy for sent in batch], moved[1] - moved[0])
            for sent, answer in zip(batch, fetched, strict=True):
                self._take(sent, answer, moved)
        elif still_open == batch and all(sent.future.status == "finished" for sent in batch):
            raise fetched
        else:
            for sent in still_open:
                sent.fetching = None
                self._dispatch.stopped(sent.copy)
            self._lost += still_open
        self._fetch()

    def _take(
        self, sent: _SubmittedCopy, answer: TaskResult | None, moved: tuple[float, float]
    ) -> None:
        """Merge the result of a copy, if the core says so."""
        if sent.copy not in self._sent:
            return
        if answer is None:
            # Dask took the worker for dead, and then found it again.
            instructions = self._dispatch.lost(sent.copy)
        else:
            seconds = answer.done.end - answer.done.begin
            instructions = self._dispatch.finished(sent.copy, answer.address, seconds)
        del self._sent[sent.copy]
        self._follow(instructions)
        if answer is None or Take(sent.copy) not in instructions:
            return
        self._put(sent.task.frames[0], answer.sections)
        self._part.states.add(answer.done.states)
        self._timing.add(
            self._workers.number(answer.address, answer.thread),
            sent.task,
            answer.done,
            where={"address": answer.address},
            further={"copy": sent.copy.number},
            moved=moved,
        )

    def _account_for_cancelled(self) -> None:
        """Record the known time of copies that were cancelled."""
        threads = self._part.worker_spec.threads
        # Last messages.
        while not self._events.empty():
            self._events.get()()
        for sent in self._cancelled.values():
            message = sent.message
            if message is None:
                continue
            number = self._workers.number(message.worker, message.thread)
            where: Place = {
                "host": message.host,
                "process": message.process,
                "address": message.worker,
            }
            if sent.fetching is not None:
                now = time.time()
                since = now - (time.monotonic() - sent.fetching)
                self._timing.hold(number, threads, where, sent.moved or (since, now))
                continue
            spent = message.spent.copy()
            if message.opening and message.worker in self._workers.threads:
                # The worker counts it only once the file is open.
                spent["t_open"] += message.opening + time.monotonic() - sent.received
            if any(spent.values()):
                done = partial_outcome(message.begin, spent, threads)
                self._timing.spend(number, done, where=where)


def killed(error: KilledWorker, what: str) -> WorkerError:
    """Return the error of a task or job that kills its workers."""
    return WorkerError(
        f"workers died one after the other during {what}, the last at"
        f" {error.last_worker.address}: is memory short?"
    )


def dropped(client: Client, what: str) -> WorkerError:
    """Return the error of a task or job that the scheduler forgot."""
    where = client.scheduler.address
    return WorkerError(f"the scheduler {where} dropped {what}: was it or the client restarted?")


def _frames(task: Task) -> str:
    first, end = task.frames
    return f"frames {first} to {end - 1} of the chosen frames"
