"""Worker processes of `ProcessPool`, and the pipes to them.

Each worker has two pipes of its own, whose other ends the calling process closes: it holds no
writing end of answers, so that the end of a worker is the end of its pipe. A message is its length
and as many bytes. The calling process reads and writes without blocking and has no further thread;
it checks whether each worker lives, since processes that a worker started may keep its pipe open.
A worker that dies at any byte of a message is noticed within `_LOOK` seconds, and signals are
handled meanwhile.
"""

import fcntl
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from trajet import signals
from trajet._trajet import WorkerError
from trajet.pools.dispatch import Copy
from trajet.pools.portable import Portable
from trajet.pools.worker_main import HEADER, RemoteTraceback, header, serve_forked

# Seconds between two checks whether workers live.
_LOOK = 0.1
# Seconds within which processes end after they were asked to, and after they were killed.
_END, _KILLED = 1.0, 2.0
# Largest buffers, bytes, of the pipes that carry tasks to workers: of all together, and of each. A
# full pipe costs a context switch; the system limits the sum for a user, 64 MiB by default.
_PIPES, _PIPE = 2**24, 2**20
# Pause between two checks whether a process has ended, s.
_PAUSE = 0.002


class DiedError(Exception):
    """A worker died during a call; its text is how, in parentheses, or nothing."""


class Answer(NamedTuple):
    """Value or error of a call."""

    copy: Copy
    value: object
    error: BaseException | None


class Child(NamedTuple):
    """A child process of this one.

    Attributes
    ----------
    pid
        Its number.
    reap
        Waits for it, after it has ended.
    setup
        The first message to it, if it needs one.
    """

    pid: int
    reap: Callable[[], object]
    setup: bytes | None = None


# Code of a new process: it sets the paths of imports before it imports the package.
_BOOT = """
import marshal, os, sys
def read(size):
    data = b""
    while len(data) < size:
        data += os.read({requests}, size - len(data)) or sys.exit()
    return data
size = int.from_bytes(read(8), "little")
sys.path[:], arguments = marshal.loads(read(size))
from trajet.pools.worker_main import main
main({requests}, {answers}, {parent}, arguments)
"""

# Starts a process with its ends of two pipes; is given the ends that this process keeps, too.
Start: TypeAlias = Callable[[int, int, Sequence[int]], Child]


def start_new(requests: int, answers: int, kept: Sequence[int]) -> Child:
    """Start a new interpreter, which needs no `__main__` guard."""
    import marshal
    from multiprocessing.util import _args_from_interpreter_flags  # type: ignore[attr-defined]
    from subprocess import DEVNULL, Popen

    code = _BOOT.format(requests=requests, answers=answers, parent=os.getpid())
    command = [sys.executable, *_args_from_interpreter_flags(), "-c", code]
    process = Popen(command, stdin=DEVNULL, pass_fds=(requests, answers))
    paths = sys.path
    with suppress(FileNotFoundError):
        # Workers change their folder.
        paths = [os.path.abspath(path) for path in paths]
    return Child(process.pid, process.poll, marshal.dumps((paths, sys.argv)))


def start_forked(requests: int, answers: int, kept: Sequence[int]) -> Child:
    """Fork this process, with everything that it has imported."""
    from multiprocessing import get_context

    arguments = (requests, answers, os.getpid(), kept)
    process = get_context("fork").Process(target=serve_forked, args=arguments)
    with warnings.catch_warnings():
        # From version 3.12 on, Python warns of threads, of which this process may have some.
        warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
        process.start()
    assert process.pid is not None

    def reap() -> None:
        # It raises an error if the process lives, or another function has waited for it.
        with suppress(ValueError):
            process.close()

    return Child(process.pid, reap)


@dataclass(eq=False)
class _Worker:
    """A worker process, as the calling process sees it.

    Attributes
    ----------
    child
        The process.
    requests, answers
        The ends of its pipes that this process holds, which do not block.
    calls
        The calls that it has, with their functions, in their order; at most two.
    is_leaving
        Whether it ends, because it had no work.
    """

    child: Child
    requests: int
    answers: int
    calls: deque[tuple[Copy, Callable[[], object]]] = field(default_factory=deque)
    is_leaving: bool = False
    _unsent: deque[memoryview] = field(default_factory=deque)
    _size: bytearray = field(default_factory=lambda: bytearray(HEADER))
    _message: bytearray | None = None
    _filled: int = 0

    def status(self) -> "os.waitid_result | None":
        """Return how the process ended; None while it runs.

        Raises
        ------
        ChildProcessError
            If another function of this process has waited for its end.
        """
        return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        try:
            return self.status() is None
        except ChildProcessError:
            return False

    def ends_within(self, seconds: float) -> bool:
        """Return whether the process ends within some seconds."""
        end = time.monotonic() + seconds
        while is_alive := self.is_alive:
            if time.monotonic() > end:
                break
            time.sleep(_PAUSE)
        return not is_alive

    def ending(self) -> str:
        """Return how the process ended, in parentheses; nothing if that is not known."""
        # It closes its pipes before it has ended.
        self.ends_within(_END)
        with suppress(ChildProcessError, ValueError):
            if (found := self.status()) is not None:
                code, is_exit = found.si_status, found.si_code == os.CLD_EXITED
                return f" (exit code {code})" if is_exit else f" ({signal.Signals(code).name})"
        return ""

    @property
    def has_unsent(self) -> bool:
        """Whether a message to it is not sent yet."""
        return bool(self._unsent)

    def send(self, message: bytes) -> None:
        """Send a message, as far as the pipe has room now."""
        self._unsent += (memoryview(header(len(message))), memoryview(message))
        self.send_more()

    def send_more(self) -> None:
        """Send more of the messages to it."""
        try:
            while self._unsent:
                sent = os.write(self.requests, self._unsent[0])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # `receive` reads the messages that it still sent, and then notices its end.
            self._unsent.clear()

    def receive(self) -> bytearray | None:
        """Read what has come, and return a message that is complete.

        Raises
        ------
        EOFError
            If the worker has closed its pipe.
        MemoryError, OverflowError
            If the length of a message is larger than memory.
        """
        while True:
            buffer = self._size if self._message is None else self._message
            while self._filled < len(buffer):
                try:
                    n = os.readv(self.answers, [memoryview(buffer)[self._filled :]])
                except BlockingIOError:
                    return None
                if n == 0:
                    raise EOFError
                self._filled += n
            self._filled = 0
            if self._message is not None:
                self._message = None
                return buffer
            if (size := int.from_bytes(self._size, "little")) == 0:
                self.is_leaving = True
            else:
                self._message = bytearray(size)

    def end(self, *, kill: bool) -> None:
        """Close the pipes, so that a worker without a call ends; `kill` ends its call, too."""
        os.close(self.requests)
        os.close(self.answers)
        if kill:
            self.kill()

    def kill(self) -> None:
        """Kill the process. Until it is waited for, no other has its number."""
        if self.is_alive:
            os.kill(self.child.pid, signal.SIGKILL)


class WorkerProcesses:
    """A limited number of worker processes, which start when calls are submitted.

    Parameters
    ----------
    start
        Starts a process.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._limit = 1
        # Calls that a worker has at a time, the one that it does included.
        self._calls_of_each = 1
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[Copy, Callable[[], object]]] = deque()
        # Answers about calls that could not be sent.
        self._failed: list[Answer] = []

    def limit(self, count: int, calls_of_each: int = 1) -> None:
        """Set the largest number of workers; end those above it and those that died.

        Parameters
        ----------
        count
            The number of workers.
        calls_of_each
            Calls that each has at a time, 1 or 2. With two it need not wait for the next one, while
            more calls than workers are left.
        """
        self._limit, self._calls_of_each = count, calls_of_each
        for worker in self._workers[:]:
            if not worker.is_alive:
                self._drop([worker])
        self._drop(self._workers[count:])

    def start(self, count: int) -> None:
        """Start workers at the same time, until there are `count` or the limit is reached."""
        while len(self._workers) < min(count, self._limit):
            self._start_one()

    def submit(self, copy: Copy, call: Callable[[], object]) -> None:
        """Submit a call, which must be picklable; `wait` returns its answer."""
        self._waiting.append((copy, call))

    def withdraw(self, copies: Collection[Copy]) -> None:
        """Remove the calls of some copies that no worker has got yet."""
        self._waiting = deque(one for one in self._waiting if one[0] not in copies)

    @property
    def have_calls(self) -> bool:
        """Whether a worker has a call, or a call waits for one."""
        return bool(self._waiting) or any(worker.calls for worker in self._workers)

    def tell_all(self, call: Callable[[], object]) -> None:
        """Have every worker call a function after what it does now; its value is not returned."""
        message = pickle.dumps((False, call), -1)
        for worker in self._workers:
            worker.send(message)

    def wait(self, wake: int | None = None) -> list[Answer]:
        """Return the answers that have come, after `_LOOK` seconds at most.

        The error of a call whose worker died is a `DiedError`.

        Parameters
        ----------
        wake
            A pipe that ends the wait when it has something to read.
        """
        self._feed()
        if self._failed:
            failed, self._failed = self._failed, []
            return failed
        poll, by_pipe = select.poll(), dict[int, _Worker]()
        for worker in self._workers:
            poll.register(worker.answers, select.POLLIN)
            by_pipe[worker.answers] = worker
            if worker.has_unsent:
                poll.register(worker.requests, select.POLLOUT)
                by_pipe[worker.requests] = worker
        if wake is not None:
            poll.register(wake, select.POLLIN)
        ready = {by_pipe[pipe] for pipe, _ in poll.poll(1000 * _LOOK) if pipe != wake}
        received: list[tuple[Copy, bytearray | DiedError]] = []
        for worker in self._workers[:]:
            # Looked at before the pipe: everything that a dead worker wrote is in the pipe.
            is_dead = not worker.is_alive
            if is_dead or worker in ready:
                self._look_at(worker, is_dead, received)
        # Workers go on while this process takes the results.
        self._feed()
        return [_answer(copy, message) for copy, message in received]

    def _look_at(
        self,
        worker: _Worker,
        is_dead: bool,
        received: list[tuple[Copy, bytearray | DiedError]],
    ) -> None:
        """Send to and receive from a worker."""
        worker.send_more()
        try:
            message = worker.receive()
        except (EOFError, MemoryError, OverflowError):
            message, is_dead = None, True
        if message is not None and worker.calls:
            received.append((worker.calls.popleft()[0], message))
        elif is_dead:
            if worker.calls and not worker.is_leaving:
                received.append((worker.calls.popleft()[0], DiedError(worker.ending())))
            # Those that it had not begun.
            self._waiting.extendleft(reversed(worker.calls))
            self._drop([worker], kill=True)

    def _feed(self) -> None:
        """Give calls to workers that have none, or few."""
        while self._waiting and (worker := self._next_worker()) is not None:
            copy, call = self._waiting.popleft()
            try:
                message = pickle.dumps((True, call), -1)
            except Exception as error:
                self._failed.append(Answer(copy, None, error))
                continue
            worker.calls.append((copy, call))
            worker.send(message)

    def _next_worker(self) -> _Worker | None:
        """Return the worker that gets the next call, if there is one."""
        present = [one for one in self._workers if not one.is_leaving]
        fewest = min(present, key=lambda one: len(one.calls), default=None)
        if fewest is not None and not fewest.calls:
            return fewest
        if len(self._workers) < self._limit:
            return self._start_one()
        # At the end, the worker that is free first gets the next call.
        most = self._calls_of_each if len(self._waiting) > self._limit else 1
        return fewest if fewest is not None and len(fewest.calls) < most else None

    def _start_one(self) -> _Worker:
        """Start a worker."""
        kept = [pipe for one in self._workers for pipe in (one.requests, one.answers)]
        child_requests, requests = os.pipe()
        answers, child_answers = os.pipe()
        _widen(requests, self._limit)
        is_started = False
        try:
            with signals.kept_from_children():
                child = self._start(child_requests, child_answers, [*kept, requests, answers])
                self._workers.append(_Worker(child, requests, answers))
                is_started = True
        finally:
            os.close(child_requests)
            os.close(child_answers)
            if not is_started:
                os.close(requests)
                os.close(answers)
        os.set_blocking(requests, False)
        os.set_blocking(answers, False)
        worker = self._workers[-1]
        if child.setup is not None:
            worker.send(child.setup)
        return worker

    def end(self, *, kill: bool = False) -> None:
        """End all workers; `kill` also ends their current calls."""
        self._waiting.clear()
        self._drop(self._workers[:], kill=kill)

    def _drop(self, workers: Sequence[_Worker], *, kill: bool = False) -> None:
        """End some workers, and wait for their end for a short time."""
        for worker in workers:
            self._workers.remove(worker)
            worker.end(kill=kill)
        until = time.monotonic() + _END
        for worker in workers:
            if not worker.ends_within(0 if kill else until - time.monotonic()):
                worker.kill()
        until = time.monotonic() + _KILLED
        for worker in workers:
            # Not if it waits for a file system that does not answer.
            worker.ends_within(until - time.monotonic())
            worker.child.reap()


def _widen(pipe: int, n_workers: int) -> None:
    """Have a pipe to one of some workers hold more bytes, if the system lets it."""
    size = min(_PIPE, _PIPES // max(1, n_workers))
    # A system may have no such operation, or no more bytes for this user.
    with suppress(AttributeError, OSError):
        if size > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)


def _answer(copy: Copy, message: bytearray | DiedError) -> Answer:
    """Return the answer in a message."""
    if isinstance(message, DiedError):
        return Answer(copy, None, message)
    try:
        is_value, value, text = pickle.loads(message)
    except Exception as error:
        lost = WorkerError(f"a result cannot be unpickled: {type(error).__name__}: {error}")
        lost.__cause__ = error
        return Answer(copy, None, lost)
    if is_value:
        return Answer(copy, value, None)
    failed: BaseException = value.value if isinstance(value, Portable) else value
    failed.__cause__ = RemoteTraceback(text)
    return Answer(copy, None, failed)
