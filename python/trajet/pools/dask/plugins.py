"""Plugins of Dask's workers and scheduler, and the functions that workers call.

Imported only where `distributed` is installed, never by `import trajet`.
"""

import asyncio
import os
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Never, TypeAlias

import numpy as np
from distributed import get_worker
from distributed.core import clean_exception
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.metrics import time as dask_time
from distributed.scheduler import heartbeat_interval
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Stop, WorkerError, __version__
from trajet.pools.jobs import Job, JobResult, JobSpec, JobWorker, do_job
from trajet.pools.passes import new_sections
from trajet.pools.tasks import Sections, Task, Worker, WorkerSpec
from trajet.pools.timing import WorkerTiming
from trajet.report_entries import Stages

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed import Worker as DaskWorker


# State changes that are kept of a run: those of about 16,000 tasks.
MAX_CHANGES = 100_000

# Seconds after which a worker sends the progress of a task, and for each worker, so that the
# calling process is not busy with it; and the factor by which the time to the next message grows.
_FIRST_WORD, _FIRST_WORD_OF_EACH = 0.25, 1e-3
LATER = 4

# Seconds without a heartbeat, beyond the usual time between two, after which nobody waits for the
# setup of a worker; seconds that its tasks wait for it; seconds between two looks.
_SILENT, _SETUP, _LOOK = 5.0, 60.0, 0.05

# Name of the run and its pass, number of the first task of a batch, and number of its copy from 0.
Key = tuple[str, int, int]


@dataclass(frozen=True)
class BatchSpec:
    """Tasks that a worker runs one after the other.

    Attributes
    ----------
    texts, n_frames
        Each serialised task, and its frames.
    most_seconds
        Seconds after which no further task is begun.
    """

    texts: list[bytes]
    n_frames: list[int]
    most_seconds: float


class BatchResult(NamedTuple):
    """Table of the first tasks of a batch, with the place where they ran.

    Attributes
    ----------
    sections
        Arrays of their frames.
    states
        Merged states.
    timing
        Times of the tasks, numbered from 0.
    n_done
        Number of these tasks.
    error
        Error of the next task, if that failed.
    begin, end
        Seconds by the worker's clock (`time.time`).
    """

    sections: Sections
    states: NDArray[np.uint8]
    timing: WorkerTiming
    n_done: int
    error: BaseException | None
    begin: float
    end: float
    host: str
    process: int
    address: str
    thread: int


@dataclass
class RunningTask:
    """A task that a worker runs.

    Attributes
    ----------
    stop
        Cancels it.
    begin
        When it began, by this machine's clock.
    thread
        Thread on which it runs.
    """

    stop: Stop
    begin: float
    thread: int


def first_word(n_workers: int) -> float:
    """Return the seconds from the begin of a task to its first progress message."""
    return max(_FIRST_WORD, n_workers * _FIRST_WORD_OF_EACH)


class TaskProgress(NamedTuple):
    """Progress of a running task: where it runs, and seconds by stage until now.

    Attributes
    ----------
    opening
        Seconds of the current opening of a file, in addition to `spent`.
    """

    key: Key
    worker: str
    host: str
    process: int
    thread: int
    begin: float
    opening: float
    spent: Stages


class RunPlugin(WorkerPlugin):  # type: ignore[misc]
    """Worker plugin that holds the setup of a pass; Dask installs it on later workers as well."""

    def __init__(
        self,
        spec: WorkerSpec | JobSpec[Never, object],
        name: str,
        before: str | None,
        topic: str,
        n_workers: int,
    ) -> None:
        self.name = name
        self._first_word = first_word(n_workers)
        self._topic = topic
        self._spec = spec
        self._before = before
        self._version = __version__

    def setup(self, worker: "DaskWorker") -> None:
        """Begin the pass in a worker; files that are open from the pass before stay open."""
        if self._version != __version__:
            raise WorkerError(
                f"the worker {worker.address} has trajet {__version__}, and this process"
                f" {self._version}: install the same on all machines"
            )
        self._worker = worker
        self._stops: dict[Key, Stop] = {}
        self._running: dict[Key, RunningTask] = {}
        # its spec alone knows the type of the jobs of a `JobWorker`
        self.task_worker: Worker | JobWorker[Never, object]
        if isinstance(self._spec, WorkerSpec):
            before = worker.plugins.get(self._before)
            self.task_worker = Worker(self._spec, before and before.task_worker)
        else:
            self.task_worker = self._spec.begin()

    def teardown(self, worker: "DaskWorker") -> None:
        """Cancel the tasks that still run."""
        for stop in self._stops.values():
            stop.set()

    def transition(self, key: object, start: str, finish: str, **_: object) -> None:
        """Cancel a task that is no longer wanted, and send its progress."""
        if not (isinstance(key, tuple) and key[0] == self.name):
            return
        if finish == "executing":
            self._stops[key] = Stop()
            after = self._first_word
            self._worker.loop.call_later(after, self._send_progress_again, key, after)
        elif start == "executing":
            self._stops.pop(key).set()
            self._send_progress(key)

    def stop(self, key: Key) -> Stop | None:
        """Return the handle that cancels a task; None if it was cancelled already."""
        return self._stops.get(key)

    @contextmanager
    def running(self, key: Key, stop: Stop) -> Iterator[None]:
        """Send that this thread runs a task and, if it is cancelled, the time spent on it."""
        self._running[key] = RunningTask(stop, time.time(), threading.get_ident())
        self._send_progress(key)
        try:
            yield
        finally:
            if stop.is_set:
                self._send_progress(key)
            self._running.pop(key, None)

    def _send_progress(self, key: Key) -> None:
        """Send the time spent on a task until now to the client."""
        running, worker = self._running.get(key), self.task_worker
        if running is not None:
            opening = worker.opening(running.stop) if isinstance(worker, Worker) else 0.0
            message = TaskProgress(
                key,
                self._worker.address,
                socket.gethostname(),
                os.getpid(),
                running.thread,
                running.begin,
                opening,
                running.stop.spent(),
            )
            self._worker.log_event(self._topic, list(message))

    def _send_progress_again(self, key: Key, seconds: float) -> None:
        """Send it as long as the task runs, less and less often."""
        # A task that is unpickled slowly has not begun yet; a cancelled one may still read.
        if key in self._stops or key in self._running:
            self._send_progress(key)
            self._worker.loop.call_later(
                LATER * seconds, self._send_progress_again, key, LATER * seconds
            )


def _current_task(name: str) -> tuple[RunPlugin, Key, Stop] | None:
    """Return the plugin of a run, the key of the current task, and its cancel handle.

    None if the task was cancelled, or began before the setup of its run was there, as in a worker
    that has hung: it is submitted again then.
    """
    worker = get_worker()
    key = worker.get_current_task()
    until = time.monotonic() + _SETUP
    while not hasattr(plugin := worker.plugins.get(name), "task_worker"):
        task = worker.state.tasks.get(key)
        if task is None or task.state != "executing":
            return None
        if time.monotonic() > until:
            raise WorkerError(f"the worker {worker.address} does not know the run of {key}")
        time.sleep(_LOOK)
    assert isinstance(plugin, RunPlugin)
    stop = plugin.stop(key)
    return None if stop is None else (plugin, key, stop)


def do(name: str, batch: BatchSpec, first: tuple[int, int]) -> BatchResult | None:
    """Run a batch in a worker; return None for one that was cancelled.

    `first` are the numbers of its first task and of the first frame of that.

    Raises
    ------
    BaseException
        The error of its first task; a later one ends the batch.
    """
    if (current := _current_task(name)) is None:
        return None
    plugin, key, stop = current
    worker = plugin.task_worker
    assert isinstance(worker, Worker)
    sections = new_sections(worker.pass_, sum(batch.n_frames))
    timing, states = WorkerTiming(), _trajet.States(worker.pass_)
    (number, frame), n_read, n_done = first, 0, 0
    error: BaseException | None = None
    begin = end = time.time()
    with plugin.running(key, stop):
        for text, n_frames in zip(batch.texts, batch.n_frames, strict=True):
            if n_done and end - begin > batch.most_seconds:
                break
            part = slice(n_read, n_read + n_frames)
            try:
                done = worker.do(text, [section[part] for section in sections], stop)
                states.add(done.states)
            except KeyboardInterrupt:
                # The engine raises it for a cancelled task; it would end Dask's worker.
                return None
            except Exception as raised:
                if not n_done:
                    raise
                # Otherwise the task is the first of another batch, and Dask sends its error.
                error = raised if _is_portable(raised) else None
                break
            frames = (frame + part.start, frame + part.stop)
            timing.add(Task(number + n_done, (0, 0), frames), done)
            n_read, n_done, end = part.stop, n_done + 1, done.end
    return BatchResult(
        [section[:n_read] for section in sections],
        states.subtrees(),
        timing,
        n_done,
        error,
        begin,
        end,
        os.uname().nodename,
        os.getpid(),
        get_worker().address,
        threading.get_ident(),
    )


def _is_portable(error: BaseException) -> bool:
    """Return whether an error can be sent within a result."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


class _StoppedError(Exception):
    """The job was cancelled."""


# Table of a job in a worker, the address of the worker, and its thread.
JobAnswer: TypeAlias = tuple[JobResult[object], str, int]


def do_job_here(name: str, threads: int, job: Job[Never]) -> JobAnswer | None:
    """Run a job in a worker; return its result and place, or None if it was cancelled."""
    if (current := _current_task(name)) is None:
        return None
    plugin, key, stop = current
    worker = plugin.task_worker
    assert not isinstance(worker, Worker)

    def show(_: int) -> None:
        if stop.is_set:
            raise _StoppedError

    try:
        with plugin.running(key, stop):
            show(0)
            done = do_job(worker, job, threads, show)
    except _StoppedError:
        return None
    return done, get_worker().address, threading.get_ident()


class StateChange(NamedTuple):
    """A change of a task's state."""

    time: float
    # pass, task, copy
    key: tuple[int, int, int]
    start: str
    finish: str
    worker: str | None


class SchedulerRecord(NamedTuple):
    """State changes that the scheduler has seen in a run."""

    # up to MAX_CHANGES
    changes: list[StateChange]
    left_out: int
    # by the scheduler's clock: when a task was given to a worker and when its result was there
    spans: dict[tuple[int, int, int], tuple[float, float]]


class Recorder(SchedulerPlugin):  # type: ignore[misc]
    """Scheduler plugin that records every state change of the tasks of a run."""

    def __init__(self, run: str, client: str) -> None:
        self.name = run
        self._client = client
        self.record = SchedulerRecord([], 0, {})
        self._given: dict[tuple[int, int, int], float] = {}
        # by worker and pass
        self.setups: dict[tuple[str, str], asyncio.Task[None]] = {}

    def start(self, scheduler: "Scheduler") -> None:
        """Keep the scheduler."""
        self._scheduler = scheduler

    def transition(self, key: object, start: str, finish: str, *_: object, **__: object) -> None:
        """Record a state change."""
        if not (isinstance(key, tuple) and str(key[0]).startswith(self.name)):
            return
        now = time.time()
        name, task, copy = key
        place = (int(name.removeprefix(f"{self.name}-")), task, copy)
        if finish == "processing":
            self._given[place] = now
        elif finish == "memory":
            self.record.spans[place] = (self._given.get(place, now), now)
        changes, left_out, _spans = self.record
        if len(changes) < MAX_CHANGES:
            state = self._scheduler.tasks.get(key)
            worker = state and state.processing_on
            changes.append(StateChange(now, place, start, finish, worker and worker.address))
        else:
            self.record = self.record._replace(left_out=left_out + 1)

    def remove_client(self, scheduler: "Scheduler", client: str) -> None:
        """End the run when its client has gone."""
        if client == self._client:
            self.end(scheduler)

    def end(self, scheduler: "Scheduler") -> None:
        """Remove the plugins of the run here and from the workers, without waiting for them."""
        scheduler.remove_plugin(name=self.name)
        for name in [name for name in scheduler.worker_plugins if name.startswith(self.name)]:
            # Dask gives it to no later worker.
            del scheduler.worker_plugins[name]
            for address in scheduler.workers:
                setup = self.setups.get((address, name))
                scheduler.loop.add_callback(_remove_from_worker, scheduler, address, name, setup)


async def set_up(run: str, name: str, plugin: bytes, dask_scheduler: "Scheduler") -> None:
    """Set up a pass or jobs on all workers, on the scheduler; wait for those that are heard from.

    Raises
    ------
    Exception
        The error of the setup in a worker.
    """
    recorder: Recorder = dask_scheduler.plugins[run]
    # Dask gives it to later workers.
    dask_scheduler.worker_plugins[name] = plugin
    pending = {
        asyncio.create_task(_set_up_worker(dask_scheduler, address, name, plugin)): address
        for address in dask_scheduler.workers
    }
    recorder.setups |= {(address, name): setup for setup, address in pending.items()}
    has_answer = False

    def is_awaited(address: str) -> bool:
        worker = dask_scheduler.workers.get(address)
        if worker is None:
            return False
        usual = heartbeat_interval(len(dask_scheduler.workers))
        return not has_answer or dask_time() - worker.last_seen < _SILENT + usual

    while any(map(is_awaited, pending.values())):
        done, _ = await asyncio.wait(pending, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
        for setup in done:
            del pending[setup]
            setup.result()
            has_answer = True


async def _set_up_worker(scheduler: "Scheduler", address: str, name: str, plugin: bytes) -> None:
    """Set up a worker; raise the error of the setup."""
    answer = await _tell_worker(scheduler, address, {"op": "plugin-add", "plugin": plugin}, name)
    if answer.get("status") == "error":
        _, error, trace = clean_exception(**answer)
        raise error.with_traceback(trace)


async def _remove_from_worker(
    scheduler: "Scheduler", address: str, name: str, setup: asyncio.Task[None] | None
) -> None:
    """Remove a plugin from a worker, once its setup there has ended.

    Dask keeps no order of messages: a setup that was cancelled could reach a worker that hangs
    after the removal, and stay.
    """
    if setup is not None:
        await asyncio.gather(setup, return_exceptions=True)
    await _tell_worker(scheduler, address, {"op": "plugin-remove"}, name)


async def _tell_worker(
    scheduler: "Scheduler", address: str, message: dict[str, object], name: str
) -> dict[str, object]:
    """Return a worker's answer about the plugin of a pass, empty if the worker has left.

    A worker that cannot be reached is tried again.
    """
    while address in scheduler.workers:
        try:
            answers = await scheduler.broadcast(msg={**message, "name": name}, workers=[address])
        except OSError:
            await asyncio.sleep(_LOOK)
        else:
            answer: dict[str, object] = answers[address]
            return answer
    return {}


def end_run(run: str, dask_scheduler: "Scheduler") -> SchedulerRecord:
    """End a run, on the scheduler; return its record."""
    recorder: Recorder = dask_scheduler.plugins[run]
    recorder.end(dask_scheduler)
    return recorder.record
