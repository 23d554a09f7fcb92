"""Communicator of a pool: messages of rank 0, waiting for other ranks, and the end of all.

Rank 0 is the root. It broadcasts what comes next (`Message`). A rank that waits polls and sleeps in
between, since MPI's own waiting would take the core from a rank that computes.

A script that ends on one rank alone would leave the others waiting for it. So an error on one rank
alone ends all (`sys.excepthook`, as `python -m mpi4py` does), and rank 0 broadcasts when it leaves.
"""

import atexit
import pickle
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from functools import cache
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet import signals
from trajet._trajet import MissingPackageError, WorkerError
from trajet.pools.portable import as_worker_error
from trajet.pools.shared import path_of, temporary_file

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request, Win

_T = TypeVar("_T")

# Polls before the first sleep, and the seconds of the first and of the longest sleep.
_LOOKS = 50
_FIRST_SLEEP = 5e-5
_LONGEST_SLEEP = 1e-3
# Bytes of one transfer: MPI counts up to 2^31.
MAX_BYTES = 2**28
# MPICH 4.0 (Debian 12) lets windows of two ranks overlap if their size is no multiple of 16 bytes;
# this size also keeps writes of two ranks in different cache lines.
_WINDOW_BYTES = 64
# Calls of a poll: each moves a few KiB of other ranks' one-sided puts.
_CALLS = 64
# Seconds that rank 0 has, when all are interrupted, to remove unfinished outputs.
_GRACE = 0.8


class Message(IntEnum):
    """Kind of a message of rank 0."""

    # A pass begins; its spec follows.
    BEGIN = 1
    # The call has failed on rank 0; the error follows.
    FAILED = 2
    # The call is done, and the others were not needed.
    DONE = 3
    # The pool is closed: ranks that serve may return.
    CLOSED = 4
    # Rank 0 has ended.
    LEFT = 5
    # Work other than an analysis begins; the function that each rank calls follows.
    WORK = 6


def library() -> ModuleType:
    """Return mpi4py's MPI.

    Raises
    ------
    MissingPackageError
        If it is not installed, or finds no MPI.
    """
    try:
        # The first import waits for the other ranks.
        with nullcontext() if "mpi4py.MPI" in sys.modules else signals.ended_by_the_system():
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(
            f"a pool of MPI ranks needs mpi4py and an MPI library ({error}): pip install"
            " 'trajet[mpi]', and where the machine has no MPI: pip install mpich"
        ) from error
    module: ModuleType = MPI
    return module


class Communicator:
    """A duplicate of the user's communicator, with polling instead of blocking waits."""

    def __init__(self, comm: "Intracomm") -> None:
        self.mpi = library()
        self.comm = comm.Dup()
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self.host = socket.gethostname()
        # Whether all ranks can open memory of rank 0.
        self.one_memory = self._one_memory()
        # An error that all ranks raise.
        self.shared: BaseException | None = None
        # On rank 0: whether the others wait for a message.
        self.awaited = False
        # Whether rank 0 is within `MpiPool.lead`, whose end the others wait for.
        self.leading = False
        # Whether rank 0 keeps the errors of runs, within `MpiPool.keeping_failures`.
        self.keeping = False
        self._left = False
        if self.size > 1:
            atexit.register(self._leave)
            sys.excepthook = self._hook(sys.excepthook)
            signals.abort_ranks = self._interrupted

    def _one_memory(self) -> bool:
        with temporary_file() as file:
            file.write(secrets.token_bytes(16))
            file.flush()
            file.seek(0)
            path, mark = self.comm.bcast((path_of(file), file.read()))
            try:
                seen = path.read_bytes() == mark
            except OSError:
                seen = False
            return bool(self.comm.allreduce(seen, self.mpi.LAND))

    def wait(self, request: "Request") -> None:
        """Wait until a request is done; sleep in between."""
        self.wait_until(request.Test)

    def wait_until(self, over: Callable[[], bool]) -> None:
        """Wait until `over` returns True; sleep in between."""
        looks, pause = 0, _FIRST_SLEEP
        while not over():
            looks += 1
            self.progress()
            if looks > _LOOKS:
                time.sleep(pause)
                pause = min(1.5 * pause, _LONGEST_SLEEP)

    def progress(self) -> None:
        """Let one-sided transfers progress: with some libraries both sides must call MPI."""
        for _ in range(_CALLS):
            self.comm.Iprobe()

    def window(self, size: int, unit: int) -> "Win":
        """Return a window of at least `size` bytes; collective."""
        made: Win = self.mpi.Win.Allocate(
            -(-size // _WINDOW_BYTES) * _WINDOW_BYTES, unit, comm=self.comm
        )
        return made

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.wait(self.comm.Ibarrier())

    def broadcast(self, message: Message, body: bytes = b"") -> None:
        """Broadcast a message of rank 0."""
        header = np.array([message, len(body)], np.int64)
        self.wait(self.comm.Ibcast(header, 0))
        self._pass_on(np.frombuffer(body, np.uint8))

    def receive(self) -> tuple[Message, bytes]:
        """Wait for the next message of rank 0."""
        header = np.zeros(2, np.int64)
        self.wait(self.comm.Ibcast(header, 0))
        body = np.empty(header[1], np.uint8)
        self._pass_on(body)
        return Message(header[0]), body.tobytes()

    def _pass_on(self, body: NDArray[np.uint8]) -> None:
        for begin in range(0, len(body), MAX_BYTES):
            self.comm.Bcast(body[begin : begin + MAX_BYTES], 0)

    def agree(self, place: int | None, error: BaseException | None) -> BaseException | None:
        """Return the error of the lowest `place` of any rank, the same on all ranks, or None."""
        none = np.iinfo(np.int64).max
        mine = none if place is None else place * self.size + self.rank
        code, first = np.array([mine], np.int64), np.empty(1, np.int64)
        self.wait(self.comm.Iallreduce(code, first, self.mpi.MIN))
        if first[0] == none:
            return None
        root = int(first[0]) % self.size
        data = pickled(error) if root == self.rank and error is not None else b""
        size = np.array([len(data)], np.int64)
        self.comm.Bcast(size, root)
        buffer = np.frombuffer(data, np.uint8) if data else np.empty(size[0], np.uint8)
        self.comm.Bcast(buffer, root)
        found: BaseException
        found = error if root == self.rank and error is not None else pickle.loads(buffer.tobytes())
        self.shared = found
        return found

    def gather_objects(self, thing: _T) -> list[_T]:
        """Gather small picklable objects of all ranks on rank 0."""
        mine = np.frombuffer(pickle.dumps(thing), np.uint8)
        sizes = np.empty(self.size if self.rank == 0 else 0, np.int64)
        self.comm.Gather(np.array([len(mine)], np.int64), sizes, 0)
        if self.rank:
            self.comm.Gatherv(mine, None, 0)
            return []
        everything = np.empty(int(sizes.sum()), np.uint8)
        self.comm.Gatherv(mine, [everything, sizes.tolist()], 0)
        return [pickle.loads(part.tobytes()) for part in np.split(everything, sizes.cumsum()[:-1])]

    @contextmanager
    def abort_all(self, *, interrupts: bool = True) -> Iterator[None]:
        """Abort all ranks if the body raises on one of them.

        Without `interrupts` the caller handles KeyboardInterrupt.
        """
        try:
            yield
        except BaseException as error:
            if self.size > 1 and (interrupts or not isinstance(error, KeyboardInterrupt)):
                text = f"trajet: rank {self.rank} on {self.host}: {type(error).__name__}: {error}"
                if isinstance(error, KeyboardInterrupt):
                    text = "" if self.rank else signals.message()
                self.end(text, error)
            raise

    def end(self, why: str, error: BaseException) -> None:
        """Abort all ranks, with the message `why`."""
        if sys.stdout is not None:
            sys.stdout.flush()
        # print would write to standard output if standard error is closed.
        if why and sys.stderr is not None:
            print(why, file=sys.stderr, flush=True)
        interrupted = isinstance(error, KeyboardInterrupt)
        signals.remove_memory_of_ranks()
        try:
            if interrupted and self.rank:
                time.sleep(_GRACE)
        finally:
            self.comm.Abort(signals.exit_code() if interrupted else 1)

    def _interrupted(self) -> None:
        """Abort all ranks after a signal to this one."""
        if not self.mpi.Is_finalized():
            self.end("" if self.rank else signals.message(), KeyboardInterrupt())

    def _hook(self, before: Callable[..., object]) -> Callable[..., None]:
        def hook(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            if self.rank and error is self.shared:
                # Rank 0 has it too, and reports it.
                return
            before(kind, error, trace)
            if not self.mpi.Is_finalized():
                self.end("", error)

        return hook

    def leave(self) -> None:
        """Note that rank 0 has ended its script."""
        self._left = True

    def _leave(self) -> None:
        """Wait at exit until the script has ended on rank 0."""
        if self._left or self.mpi.Is_finalized():
            return
        if self.rank == 0:
            self.broadcast(Message.LEFT)
            return
        while (received := self.receive())[0] != Message.LEFT:
            if received[0] in {Message.BEGIN, Message.WORK}:
                error = WorkerError("the script has ended here, but not on rank 0")
                self.end(f"trajet: rank {self.rank} on {self.host}: {error}", error)


@cache
def _key() -> int:
    """Return the MPI attribute key under which communicators keep their `Communicator`."""
    key: int = library().Comm.Create_keyval()
    return key


def communicator_of(comm: "Intracomm | None") -> Communicator:
    """Return the one `Communicator` of a communicator (None: all ranks); collective."""
    comm = library().COMM_WORLD if comm is None else comm
    ranks = comm.Get_attr(_key())
    if not isinstance(ranks, Communicator):
        ranks = Communicator(comm)
        comm.Set_attr(_key(), ranks)
    return ranks


def pickled(error: BaseException) -> bytes:
    """Return an error as bytes; one that cannot be pickled becomes a WorkerError of its text."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        data = pickle.dumps(as_worker_error(error))
    return data
