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
from trajet.pools.dask.plugins import BatchResult, BatchSpec, TaskProgress, do
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
from trajet.pools.task_batches import BatchRule
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
# Seconds of a batch: some thirty times what its messages cost; and for each worker, so that a
# thousand workers send a thousand messages a second.
_BATCH = 0.5
_BATCH_OF_EACH = 1e-3


@dataclass
class _SubmittedCopy:
    """A copy of a batch that was submitted, with what is needed beside the core's state.

    Attributes
    ----------
    tasks
        Its tasks.
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
    tasks: Sequence[Task]
    future: Future
    address: str | None = None
    message: TaskProgress | None = None
    received: float = 0.0
    fetching: float | None = None
    moved: tuple[float, float] | None = None

    @property
    def n_frames(self) -> int:
        """Frames of all tasks."""
        return self.tasks[-1].frames[1] - self.tasks[0].frames[0]


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
        self._frame_bytes = sum(section.shape[1] for section in part.sections)
        self._dispatch = Dispatch(
            n_frames,
            pins=pins,
            rule=None if pins else _RULE,
            batches=BatchRule(_BATCH, _BATCH_OF_EACH, self._frame_bytes),
        )
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
        by_place: dict[tuple[str | None, tuple[str, ...]], list[Submit]] = {}
        for instruction in instructions:
            match instruction:
                case Cancel(copies):
                    self._client.cancel([self._sent[copy].future for copy in copies])
                    for copy in copies:
                        self._cancelled[copy] = self._sent.pop(copy)
                case Submit(_, only, prefer):
                    by_place.setdefault((only, prefer), []).append(instruction)
        for (only, prefer), submitted in by_place.items():
            self._submit(submitted, [only] if only else list(prefer), anywhere=only is None)

    def _submit(self, submitted: Iterable[Submit], workers: list[str], *, anywhere: bool) -> None:
        """Submit copies for some workers, or with `anywhere` rather for these than for others."""
        for message in self._messages(submitted):
            firsts = [self._part.tasks[copy.task] for copy, _ in message]
            futures = self._client.map(
                partial(do, self._name),
                [batch for _, batch in message],
                [(task.number, task.frames[0]) for task in firsts],
                key=[(self._name, *copy) for copy, _ in message],
                workers=workers or None,
                allow_other_workers=bool(workers) and anywhere,
                pure=False,
            )
            for (copy, batch), future in zip(message, futures, strict=True):
                tasks = self._part.tasks[copy.task : copy.task + len(batch.texts)]
                sent = self._sent[copy] = _SubmittedCopy(copy, tasks, future)
                future.add_done_callback(
                    lambda _, sent=sent: self._events.put(partial(self._ended, sent))
                )

    def _messages(self, submitted: Iterable[Submit]) -> Iterator[list[tuple[Copy, BatchSpec]]]:
        """Divide copies into messages that the scheduler takes at once."""
        message: list[tuple[Copy, BatchSpec]] = []
        size = 0
        for copy, _, _, n_tasks, most_seconds in submitted:
            tasks = self._part.tasks[copy.task : copy.task + n_tasks]
            texts = [self._part.task_bytes(task) for task in tasks]
            n_bytes = sum(map(len, texts))
            if message and size + n_bytes > _MOST_SENT:
                yield message
                message, size = [], 0
            batch = BatchSpec(texts, [task.n_frames for task in tasks], most_seconds)
            message.append((copy, batch))
            size += n_bytes
        if message:
            yield message

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
            n_bytes = sent.n_frames * self._frame_bytes
            self._fetch_queue.add(sent.address, sent.copy, n_bytes)
            self._fetch()
        elif status == "error":
            self._failed(sent, sent.future.exception())
        elif status == "cancelled":
            raise dropped(self._client, f"the task of {_frames(sent.tasks)}")
        else:
            self._dispatch.stopped(sent.copy)
            self._lost.append(sent)

    def _failed(self, sent: _SubmittedCopy, error: BaseException) -> None:
        """Run a task again if the core says so, or raise its error."""
        instructions = self._dispatch.failed(sent.copy, error)
        if not _gives_up(instructions):
            self._timing.retry(sent.tasks[0], error)
            del self._sent[sent.copy]
            self._follow(instructions)
            return
        if isinstance(error, KilledWorker):
            raise killed(error, f"the task of {_frames(sent.tasks)}") from error
        raise _placed(error, sent.tasks[0], sent.address)

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
        fetched: list[BatchResult | None] | BaseException
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
            # With its traceback it would keep this frame, and the futures in it, until the next
            # garbage collection.
            fetched = error.with_traceback(None)
        moved = (begin, time.time())
        self._events.put(partial(self._arrived, address, batch, moved, fetched))

    def _arrived(
        self,
        address: str | None,
        batch: list[_SubmittedCopy],
        moved: tuple[float, float],
        fetched: "list[BatchResult | None] | BaseException",
    ) -> None:
        """Take the results of a batch, or look again at its futures."""
        self._fetch_queue.arrived(address)
        for sent in batch:
            sent.moved = moved
        still_open = [sent for sent in batch if sent.copy in self._sent]
        if not isinstance(fetched, BaseException):
            n_frames = sum(sent.n_frames for sent in batch)
            self._dispatch.gathered(n_frames, moved[1] - moved[0])
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
        self, sent: _SubmittedCopy, answer: BatchResult | None, moved: tuple[float, float]
    ) -> None:
        """Merge the result of a copy, if the core says so."""
        if sent.copy not in self._sent:
            return
        if answer is None:
            # Dask took the worker for dead, and then found it again.
            instructions = self._dispatch.lost(sent.copy)
        else:
            seconds = answer.end - answer.begin
            instructions = self._dispatch.finished(
                *(sent.copy, answer.address, seconds, answer.n_done, answer.error)
            )
            if answer.error is not None:
                failed = sent.tasks[answer.n_done]
                if _gives_up(instructions):
                    raise _placed(answer.error, failed, answer.address)
                self._timing.retry(failed, answer.error)
        del self._sent[sent.copy]
        self._follow(instructions)
        if answer is None or not any(isinstance(one, Take) for one in instructions):
            return
        self._put(sent.tasks[0].frames[0], answer.sections)
        self._part.states.add(answer.states)
        answer.timing.of_batch(sent.copy.number)
        where: Place = {
            "host": answer.host,
            "process": answer.process,
            "address": answer.address,
        }
        number = self._workers.number(answer.address, answer.thread)
        self._timing.take(number, answer.timing, where, moved=moved)

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


def _gives_up(instructions: Sequence[Instruction]) -> bool:
    # As tuples, instructions of two kinds may be equal.
    return any(isinstance(instruction, GiveUp) for instruction in instructions)


def _placed(error: BaseException, task: Task, address: str | None) -> BaseException:
    """Return the error of a task, with a note on where it happened."""
    error.add_note(f"during the task of {_frames([task])}, on the worker {address}")
    return error


def _frames(tasks: Sequence[Task]) -> str:
    first, end = tasks[0].frames[0], tasks[-1].frames[1]
    return f"frames {first} to {end - 1} of the chosen frames"
