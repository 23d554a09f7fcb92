"""Copies of tasks or jobs that are submitted to a cluster, and whose results are fetched.

`Submissions` carries out the instructions of the dispatch core, and tells it what happens on the
cluster. Its subclasses run the tasks of a pass (`dispatcher`) and jobs (`jobs`).
"""

import asyncio
import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from distributed import Client, Future, KilledWorker

from trajet._trajet import WorkerError
from trajet.pools.dask.plugins import TaskProgress
from trajet.pools.dask.workers import Workers
from trajet.pools.dispatch import Cancel, Copy, Dispatch, Instruction, StragglerRule, Submit
from trajet.pools.fetching import FetchQueue
from trajet.pools.tasks import Task

# Seconds between two looks at the tasks, and between two counts of the workers.
_LOOK = 0.1
_COUNT = 1.0
# Turns of Dask's event loop between two fetches.
_APART = 20
# When an idle worker gets a task as well.
RULE = StragglerRule(min_done=3, grace=0.25)
# Type of the value that a worker returns for a copy.
_Answer = TypeVar("_Answer")


@dataclass
class SubmittedCopy:
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


class Submissions(ABC, Generic[_Answer]):
    """Copies that are submitted to the workers of a client.

    Parameters
    ----------
    name
        Name of the tasks, from `Run.announce`.
    dispatch
        The core.
    tasks
        The tasks, or jobs with their frames.
    """

    def __init__(
        self,
        client: Client,
        workers: Workers,
        name: str,
        dispatch: Dispatch,
        tasks: Sequence[Task],
    ) -> None:
        self._client, self._workers, self._name = client, workers, name
        self._dispatch, self._tasks = dispatch, tasks
        # No SimpleQueue: one that waits some time, and meets a signal then, may wait for ever.
        self._events: queue.Queue[Callable[[], None]] = queue.Queue()
        # copies that are open in the core, and those that were cancelled
        self._sent: dict[Copy, SubmittedCopy] = {}
        self._cancelled: dict[Copy, SubmittedCopy] = {}
        self._fetch_queue = FetchQueue(self._dispatch.is_open)
        # to be looked at again
        self._lost: list[SubmittedCopy] = []
        self._asking = asyncio.Lock()

    def _run(self, show: Callable[[int], None]) -> None:
        """Run all tasks; `show` is called with the frames that are done."""
        dispatch = self._dispatch
        try:
            self._follow(dispatch.start(self._workers.threads))
            looked = counted = time.monotonic()
            while not dispatch.is_done:
                event = None
                with suppress(queue.Empty):
                    event = self._events.get(timeout=_LOOK)
                # Outside of the block: it may raise what a function of the user raised.
                if event is not None:
                    event()
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
                # While events wait, tasks whose end is among them would look like stragglers.
                if self._events.empty():
                    self._follow(dispatch.tick(now))
                show(dispatch.frames_done)
        finally:
            # An error of the scheduler has been raised by then.
            if self._sent:
                with suppress(Exception):
                    self._client.cancel([sent.future for sent in self._sent.values()])

    @abstractmethod
    def _submit(self, submitted: Iterable[Submit], workers: list[str], *, anywhere: bool) -> None:
        """Submit copies for some workers, or with `anywhere` rather for these than for others."""

    @abstractmethod
    def _n_bytes(self, sent: SubmittedCopy) -> int:
        """Return the bytes of the result of a copy, about."""

    @abstractmethod
    def _failed(self, sent: SubmittedCopy, error: BaseException) -> None:
        """Run a copy again if the core says so, or raise its error."""

    @abstractmethod
    def _take(
        self, sent: SubmittedCopy, answer: _Answer | None, moved: tuple[float, float]
    ) -> None:
        """Take the result of a copy, if the core says so; None of one that was cancelled."""

    @abstractmethod
    def _name_of(self, sent: SubmittedCopy) -> str:
        """Return the name of a copy in errors."""

    def _send(
        self,
        call: Callable[..., _Answer | None],
        copies: Sequence[tuple[Copy, Sequence[Task]]],
        arguments: Sequence[Sequence[object]],
        workers: list[str],
        *,
        anywhere: bool,
    ) -> None:
        """Submit a call for each of some copies, which are given with their tasks; see `_submit`.

        `arguments` are those of all calls, by their position.
        """
        futures = self._client.map(
            call,
            *arguments,
            key=[(self._name, *copy) for copy, _ in copies],
            workers=workers or None,
            allow_other_workers=bool(workers) and anywhere,
            pure=False,
        )
        for (copy, tasks), future in zip(copies, futures, strict=True):
            sent = self._sent[copy] = SubmittedCopy(copy, tasks, future)
            future.add_done_callback(
                lambda _, sent=sent: self._events.put(partial(self._ended, sent))
            )

    def on_progress(self, message: TaskProgress) -> None:
        """Take a progress message of a worker, on Dask's thread."""
        self._events.put(partial(self._progressed, message))

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

    def _forget(self, sent: SubmittedCopy) -> None:
        """Forget a copy that has ended."""
        del self._sent[sent.copy]
        # The traceback of a later error keeps the future until the next garbage collection.
        sent.future.release()

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

    def _ended(self, sent: SubmittedCopy) -> None:
        """Look at the future of a task that has ended."""
        if sent.copy not in self._sent:
            return
        status = sent.future.status
        if status == "finished":
            self._follow(self._dispatch.computed(sent.copy))
            self._fetch_queue.add(sent.address, sent.copy, self._n_bytes(sent))
            self._fetch()
        elif status == "error":
            self._failed(sent, sent.future.exception())
        elif status == "cancelled":
            raise dropped(self._client, self._name_of(sent))
        else:
            self._dispatch.stopped(sent.copy)
            self._lost.append(sent)

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
        self, address: str | None, batch: list[SubmittedCopy], begin: float
    ) -> None:
        """Fetch results, or find why there are none: also that a future was cancelled meanwhile."""
        fetched: list[_Answer | None] | BaseException
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
        batch: list[SubmittedCopy],
        moved: tuple[float, float],
        fetched: list[_Answer | None] | BaseException,
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
