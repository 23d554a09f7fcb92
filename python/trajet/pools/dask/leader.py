"""The side that asks: hands out the tasks of a pass and takes what comes back."""

import asyncio
import queue
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from distributed import KilledWorker
from numpy.typing import NDArray

from trajet._trajet import WorkerError
from trajet.pools import stragglers
from trajet.pools.dask.crew import Crew
from trajet.pools.dask.plugins import Answer, Key, Said, do
from trajet.pools.pool import Progress
from trajet.pools.work import MOST_ATTEMPTS, Ledger, PassRun, Task, is_passing, putting, unfinished

# Seconds between two looks at the tasks, and between two counts of the workers.
_LOOK = 0.1
_COUNT = 1.0
# Bytes of tasks that are sent to the scheduler at once; Dask warns of more than 10 MB.
_MOST_SENT = 4 << 20
# Bytes of rows that are fetched from a worker at once, and from how many workers at a time.
_MOST_FETCHED = 32 << 20
_FETCHES = 4
# Turns of Dask's loop between two fetches.
_APART = 20
# A task is no straggler before so many others are done, and by less than so many seconds.
_LEAST_DONE = 3
_LEAST_LATE = 0.25


@dataclass
class _Copy:
    """A task as it was submitted; there are more of those that failed or straggle."""

    task: Task
    key: Key
    future: Any
    # where and when it began; since when its rows are on their way, and of how many frames at once
    address: str | None = None
    begun: float | None = None
    fetched: tuple[float, int] | None = None
    # what the worker said last, and when
    said: Said | None = None
    heard: float = 0.0
    # from when to when its rows were on their way, where that is over
    held: tuple[float, float] | None = None


@dataclass
class _Open:
    """A task whose rows are not here yet."""

    task: Task
    submitted: int = 0
    failed: int = 0
    copies: list[_Copy] = field(default_factory=list)
    # the one that is done
    answered: _Copy | None = None
    # what the report says of it, each time that it was late
    late: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Late:
    """A copy that may straggle, in what it does now."""

    copy: _Copy
    state: str
    seconds: float
    n_frames: int
    # seconds a frame, by rule
    limits: dict[str, float]

    def rules(self) -> list[str]:
        """Return by which rules it straggles."""
        late = self.seconds - _LEAST_LATE
        return [rule for rule, rate in self.limits.items() if late > rate * self.n_frames]


class Leader:
    """Has a pass done."""

    def __init__(
        self,
        client: Any,
        crew: Crew,
        name: str,
        part: PassRun,
        ledger: Ledger,
        pins: dict[int, str],
    ) -> None:
        """Hand out nothing yet; the tasks of `pins` are for these workers alone."""
        self._client, self._crew, self._name = client, crew, name
        self._part, self._ledger, self._pins = part, ledger, pins
        self.repeated: list[dict[str, Any]] = []
        self._dynamic = not pins
        # No SimpleQueue: one that waits some time, and meets a signal then, may wait for ever.
        self._events: queue.Queue[Callable[[], None]] = queue.Queue()
        self._open = {task.number: _Open(task) for task in part.tasks}
        self._copies: dict[Key, _Copy] = {}
        # wanted no more before they were done, or before their rows were here
        self._given_up: dict[Key, _Copy] = {}
        self._running: dict[Key, _Copy] = {}
        # done and to be fetched, by worker; done, and lost before that
        self._ready: dict[str | None, list[_Copy]] = {}
        self._lost: list[_Copy] = []
        # workers whose rows are on their way
        self._fetching: set[str | None] = set()
        self._asking = asyncio.Lock()
        self._done_frames = 0
        self._put: Callable[[int, NDArray[np.float64]], None]
        # seconds a frame, of tasks and of fetching their rows; workers that straggled
        self._rates: list[float] = []
        self._fetch_rates: list[float] = []
        self._slow: set[str | None] = set()
        self._idle_since: float | None = None

    def do(self, before: int, progress: Progress | None) -> None:
        """Have it done; `before` are the frames of the passes before."""
        with putting(self._part.rows) as self._put:
            self._do(before, progress)

    def _do(self, before: int, progress: Progress | None) -> None:
        try:
            self._submit_all()
            looked = counted = time.monotonic()
            while self._open:
                with suppress(queue.Empty):
                    self._events.get(timeout=_LOOK)()
                now = time.monotonic()
                if now - looked < _LOOK:
                    continue
                looked = now
                if now - counted > _COUNT:
                    counted = now
                    self._crew.count()
                    self._unpin()
                self._look(now)
                if progress is not None:
                    progress(before + self._done_frames, before + len(self._part.rows))
            self._write_down_in_vain()
        finally:
            with suppress(Exception):
                self._cancel(list(self._copies.values()))

    def hear(self, said: Said) -> None:
        """Take what a worker says, on Dask's thread."""
        self._events.put(partial(self._told, said))

    # Handing out.

    def _submit_all(self) -> None:
        tasks = self._part.tasks
        if self._dynamic:
            self._submit(tasks)
        for address in dict.fromkeys(self._pins.values()):
            self._submit([t for t in tasks if self._pins[t.number] == address], only=[address])

    def _submit(
        self,
        tasks: Iterable[Task],
        only: list[str] | None = None,
        rather: list[str] | None = None,
    ) -> None:
        """Submit tasks for the workers of `only`, or `rather` for these than for others."""
        for batch in self._batches(tasks):
            keys: list[Key] = []
            for task, _ in batch:
                state = self._open[task.number]
                keys.append((self._name, task.number, state.submitted))
                state.submitted += 1
            futures = self._client.map(
                partial(do, self._name, self._part.rows.shape[1]),
                [what for _, what in batch],
                [task.n_frames for task, _ in batch],
                key=keys,
                workers=only or rather or None,
                allow_other_workers=bool(rather),
                pure=False,
            )
            for (task, _), key, future in zip(batch, keys, futures, strict=True):
                copy = self._copies[key] = _Copy(task, key, future)
                self._open[task.number].copies.append(copy)
                future.add_done_callback(
                    lambda _, copy=copy: self._events.put(partial(self._ended, copy))
                )

    def _batches(self, tasks: Iterable[Task]) -> Iterator[list[tuple[Task, bytes]]]:
        """Divide what is sent to the scheduler."""
        batch: list[tuple[Task, bytes]] = []
        size = 0
        for task in tasks:
            what = self._part.task_bytes(task)
            if batch and size + len(what) > _MOST_SENT:
                yield batch
                batch, size = [], 0
            batch.append((task, what))
            size += len(what)
        if batch:
            yield batch

    def _unpin(self) -> None:
        """Give the tasks of workers that are gone to whom the scheduler likes."""
        gone = set(self._pins.values()) - set(self._crew.threads)
        numbers = [n for n, address in self._pins.items() if address in gone and n in self._open]
        for number in numbers:
            del self._pins[number]
            self._cancel(self._open[number].copies)
            self._open[number].answered = None
        self._submit([self._open[number].task for number in numbers])

    def _cancel(self, copies: list[_Copy]) -> None:
        """Want these no more; their workers stop reading as soon as Dask tells them."""
        if not copies:
            return
        self._client.cancel([copy.future for copy in copies])
        for copy in list(copies):
            self._given_up[copy.key] = copy
            self._drop(copy)

    def _drop(self, copy: _Copy) -> None:
        self._running.pop(copy.key, None)
        del self._copies[copy.key]
        state = self._open.get(copy.task.number)
        if state is not None:
            state.copies.remove(copy)

    # What comes back.

    def _told(self, said: Said) -> None:
        """Note that a task has begun, or how far it is."""
        key: Key = tuple(said.key)
        copy = self._copies.get(key) or self._given_up.get(key)
        if copy is None:
            return
        before, copy.said, copy.heard = copy.said, said, time.monotonic()
        again = before is not None and before[:-2] == said[:-2]
        if not again and key in self._copies:
            copy.address, copy.begun = said.worker, time.monotonic()
            self._running[key] = copy

    def _ended(self, copy: _Copy) -> None:
        """See what became of a task."""
        if copy.key not in self._copies:
            return
        self._running.pop(copy.key, None)
        status = copy.future.status
        if status == "finished":
            state = self._open[copy.task.number]
            state.answered = copy
            self._cancel([other for other in state.copies if other is not copy])
            self._ready.setdefault(copy.address, []).append(copy)
            self._fetch()
        elif status == "error":
            self._failed(copy, copy.future.exception())
        elif status == "cancelled":
            raise dropped(self._client, f"the task of {_frames(copy.task)}")
        else:
            self._lost.append(copy)

    def _failed(self, copy: _Copy, error: BaseException) -> None:
        """Try again where the storage may answer the next time, or else raise."""
        state = self._open[copy.task.number]
        state.failed += 1
        if is_passing(error) and state.failed < MOST_ATTEMPTS:
            self._ledger.retry(copy.task, error)
            self._drop(copy)
            if not state.copies:
                others = [address for address in self._crew.threads if address != copy.address]
                self._submit([copy.task], rather=others)
            return
        if isinstance(error, KilledWorker):
            raise killed(error, f"the task of {_frames(copy.task)}") from error
        error.add_note(f"during the task of {_frames(copy.task)}, on the worker {copy.address}")
        raise error

    def _fetch(self) -> None:
        """Fetch rows that are ready; one worker that is slow at it holds up no other's."""
        for address in [address for address in self._ready if address not in self._fetching]:
            if len(self._fetching - self._slow) >= _FETCHES:
                return
            ready, batch, size = self._ready[address], [], 0
            while ready and size < _MOST_FETCHED:
                copy = ready.pop()
                if copy.key in self._copies:
                    batch.append(copy)
                    size += 8 * copy.task.n_frames * self._part.rows.shape[1]
            if not ready:
                del self._ready[address]
            if batch:
                self._fetching.add(address)
                n_frames = sum(copy.task.n_frames for copy in batch)
                for copy in batch:
                    copy.fetched, copy.held = (time.monotonic(), n_frames), None
                fetching = self._fetch_batch(address, batch, time.time())
                asyncio.run_coroutine_threadsafe(fetching, self._client.loop.asyncio_loop)

    async def _fetch_batch(self, address: str | None, batch: list[_Copy], begin: float) -> None:
        """Fetch results, or find why there are none: also that a future was cancelled meanwhile."""
        fetched: list[Answer | None] | BaseException
        try:
            futures = [copy.future for copy in batch]
            direct = self._crew.direct
            async with self._asking:
                answers = asyncio.ensure_future(
                    self._client.gather(futures, direct=direct, asynchronous=True)
                )
                # Dask joins requests of the same moment: a slow worker would hold up others' rows.
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
        batch: list[_Copy],
        moved: tuple[float, float],
        fetched: "list[Answer | None] | BaseException",
    ) -> None:
        """Take a batch, or look again at what became of it."""
        self._fetching.discard(address)
        for copy in batch:
            copy.held = moved
        wanted = [copy for copy in batch if copy.key in self._copies]
        if not isinstance(fetched, BaseException):
            n_frames = sum(copy.task.n_frames for copy in batch)
            self._fetch_rates.append((moved[1] - moved[0]) / n_frames)
            for copy, answer in zip(batch, fetched, strict=True):
                if copy.key in self._copies:
                    self._take(copy, answer, moved)
        elif wanted == batch and all(copy.future.status == "finished" for copy in batch):
            raise fetched
        else:
            for copy in wanted:
                copy.fetched = self._open[copy.task.number].answered = None
            self._lost += wanted
        self._fetch()

    def _take(self, copy: _Copy, answer: Answer | None, moved: tuple[float, float]) -> None:
        """Put rows and states in their places."""
        task, state = copy.task, self._open[copy.task.number]
        self._drop(copy)
        if answer is None:
            # Dask took the worker for lost, and then found it again.
            state.answered = None
            if not state.copies:
                self._submit([task])
            return
        self._cancel(state.copies)
        self._put(task.frames[0], answer.rows)
        self._part.states.add(answer.done.states)
        del self._open[task.number]
        self._ledger.add(
            self._crew.number(answer.address, answer.thread),
            task,
            answer.done,
            where={"address": answer.address},
            further={"copy": copy.key[2]},
            moved=moved,
        )
        for entry in state.late:
            entry["answered_by"] = answer.address
        self._rates.append((answer.done.end - answer.done.begin) / task.n_frames)
        self._done_frames += task.n_frames

    # Stragglers.

    def _look(self, now: float) -> None:
        """Look after what is late."""
        lost, self._lost = self._lost, []
        for copy in lost:
            self._ended(copy)
        idle = self._idle() if self._dynamic else []
        if not idle:
            self._idle_since = None
            return
        if self._idle_since is None:
            self._idle_since = now
        limits, fetch_limits = _limits(self._rates), _limits(self._fetch_rates)
        for state in list(self._open.values()):
            if not idle:
                return
            if len(state.copies) != 1:
                continue
            (copy,) = state.copies
            if state.answered is not None and copy.fetched is None:
                continue
            if copy.fetched is not None:
                since, n_frames = copy.fetched
                late = _Late(copy, "gathering", now - since, n_frames, fetch_limits)
            elif copy.begun is not None:
                late = _Late(copy, "running", now - copy.begun, copy.task.n_frames, limits)
            else:
                # Others are idle: it waits behind one that straggles.
                seconds = now - self._idle_since
                late = _Late(copy, "waiting", seconds, copy.task.n_frames, limits)
            elsewhere = [address for address in idle if address != copy.address]
            if late.rules() and elsewhere:
                idle.remove(elsewhere[0])
                self._do_also(state, late, elsewhere[0])

    def _write_down_in_vain(self) -> None:
        """Tell the ledger what is known of what was given up."""
        threads = self._part.brief.threads
        # Last words.
        while not self._events.empty():
            self._events.get()()
        for copy in self._given_up.values():
            said = copy.said
            if said is None:
                continue
            number = self._crew.number(said.worker, said.thread)
            where = {"host": said.host, "process": said.process, "address": said.worker}
            if copy.fetched is not None:
                now = time.time()
                since = now - (time.monotonic() - copy.fetched[0])
                self._ledger.hold(number, threads, where, copy.held or (since, now))
                continue
            spent = dict(said.spent)
            if said.opening and said.worker in self._crew.threads:
                # It says so when that is over.
                spent["t_open"] += said.opening + time.monotonic() - copy.heard
            if any(spent.values()):
                done = unfinished(said.begin, spent, threads)
                self._ledger.spend(number, done, where=where)

    def _idle(self) -> list[str]:
        """Return who could do more, but for those that straggled."""
        busy = Counter(copy.address for copy in self._running.values())
        crew = self._crew.threads.items()
        return [who for who, n in crew if busy[who] < n and who not in self._slow]

    def _do_also(self, state: _Open, late: _Late, elsewhere: str) -> None:
        """Have a task that straggles done by another worker as well."""
        self._slow.add(late.copy.address)
        state.answered = None
        entry = {
            "pass": self._ledger.passes,
            "task": state.task.number,
            "address": late.copy.address,
            "state": late.state,
            "rules": late.rules(),
            "seconds": late.seconds,
            "also_on": elsewhere,
            "answered_by": None,
        }
        state.late.append(entry)
        self.repeated.append(entry)
        self._submit([state.task], rather=[elsewhere])


def _limits(rates: list[float]) -> dict[str, float]:
    """Return the seconds a frame from when on something straggles, where that can be said."""
    return stragglers.limits(rates) if len(rates) >= _LEAST_DONE else {}


def killed(error: KilledWorker, what: str) -> WorkerError:
    """Return the error of what kills whoever does it."""
    return WorkerError(
        f"workers died one after the other during {what}, the last at"
        f" {error.last_worker.address}: is memory short?"
    )


def dropped(client: Any, what: str) -> WorkerError:
    """Return the error of what the scheduler forgot."""
    where = client.scheduler.address
    return WorkerError(f"the scheduler {where} dropped {what}: was it or the client restarted?")


def _frames(task: Task) -> str:
    first, end = task.frames
    return f"frames {first} to {end - 1} of those that are wanted"
