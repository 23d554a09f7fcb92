"""Ranks that work together: how they hear from rank 0, wait for each other, and end.

Rank 0 leads. It tells the others what comes next (`Word`); whoever waits looks again and again and
sleeps in between, since MPI's own waiting would take the core from a rank that computes.

A script that ends on one rank alone would leave the others waiting for it. So an error that only
one rank has ends all (`sys.excepthook`, as `python -m mpi4py` does), and rank 0 says when it
leaves.
"""

import atexit
import pickle
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import signals
from trajet._trajet import MissingPackageError, WorkerError
from trajet.pools.shared import path_of

# Looks before the first sleep, and the seconds of the first and of the longest sleep.
_LOOKS = 50
_FIRST_SLEEP = 5e-5
_LONGEST_SLEEP = 1e-3
# Bytes of one transfer: MPI counts up to 2^31.
MOST_BYTES = 2**28
# MPICH 4.0, which is Debian 12's, has the memory of the next rank begin in the last bytes of this
# rank's that do not fill 16; this also keeps what two ranks write in different lines of the cache.
_WINDOW_BYTES = 64
# Calls of a look: each moves a few KiB of what other ranks put here.
_CALLS = 64
# Seconds that rank 0 has, when all are interrupted, to put away what was being written.
_GRACE = 0.8


class Message(IntEnum):
    """What rank 0 says."""

    # A pass begins; what is to be known of it follows.
    BEGIN = 1
    # What was waited for has failed on rank 0; the error follows.
    FAILED = 2
    # What was waited for is done, and the others were not needed.
    DONE = 3
    # Those who serve may go on.
    CLOSED = 4
    # Rank 0 has ended.
    LEFT = 5
    # Something beside an analysis begins; what each rank calls follows.
    WORK = 6


def library() -> Any:
    """Return mpi4py's MPI.

    Raises
    ------
    MissingPackageError
        If it is not installed, or finds no MPI.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(
            f"a pool of MPI ranks needs mpi4py and an MPI library ({error}): pip install"
            " 'trajet[mpi]', and where the machine has no MPI: pip install mpich"
        ) from error
    return MPI


class Communicator:
    """The ranks of a communicator of our own."""

    def __init__(self, comm: Any) -> None:
        self.mpi = library()
        self.comm = comm.Dup()
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self.host = socket.gethostname()
        # Whether all find what rank 0 has in memory.
        self.one_memory = self._one_memory()
        # An error that all ranks raise.
        self.shared: BaseException | None = None
        # On rank 0: whether the others wait for a word.
        self.awaited = False
        self._left = False
        if self.size > 1:
            atexit.register(self._leave)
            sys.excepthook = self._hook(sys.excepthook)
            signals.abort_ranks = self._interrupted

    def _one_memory(self) -> bool:
        with tempfile.TemporaryFile() as file:
            file.write(secrets.token_bytes(16))
            file.seek(0)
            path, mark = self.comm.bcast((path_of(file), file.read()))
            try:
                seen = path.read_bytes() == mark
            except OSError:
                seen = False
            return bool(self.comm.allreduce(seen, self.mpi.LAND))

    def wait(self, request: Any) -> None:
        """Wait until a request is done, and leave the core to others."""
        self.wait_until(request.Test)

    def wait_until(self, over: Callable[[], bool]) -> None:
        """Wait until something is over."""
        looks, pause = 0, _FIRST_SLEEP
        while not over():
            looks += 1
            self.progress()
            if looks > _LOOKS:
                time.sleep(pause)
                pause = min(1.5 * pause, _LONGEST_SLEEP)

    def progress(self) -> None:
        """Let what was put move on: by some libraries both sides must call MPI for that."""
        for _ in range(_CALLS):
            self.comm.Iprobe()

    def window(self, size: int, unit: int) -> Any:
        """Return a window on at least `size` bytes of each rank's own; all ranks make it."""
        return self.mpi.Win.Allocate(
            -(-size // _WINDOW_BYTES) * _WINDOW_BYTES, unit, comm=self.comm
        )

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.wait(self.comm.Ibarrier())

    def broadcast(self, message: Message, payload: bytes = b"") -> None:
        """Say something to the ranks that follow."""
        header = np.array([message, len(payload)], np.int64)
        self.wait(self.comm.Ibcast(header, 0))
        self._pass_on(np.frombuffer(payload, np.uint8))

    def receive(self) -> tuple[Message, bytes]:
        """Wait for what rank 0 says next."""
        header = np.zeros(2, np.int64)
        self.wait(self.comm.Ibcast(header, 0))
        payload = np.empty(header[1], np.uint8)
        self._pass_on(payload)
        return Message(header[0]), payload.tobytes()

    def _pass_on(self, payload: NDArray[np.uint8]) -> None:
        for begin in range(0, len(payload), MOST_BYTES):
            self.comm.Bcast(payload[begin : begin + MOST_BYTES], 0)

    def agree(self, place: int | None, error: BaseException | None) -> BaseException | None:
        """Return the error of the first `place` where any rank has one, the same on all ranks."""
        none = np.iinfo(np.int64).max
        mine = none if place is None else place * self.size + self.rank
        code, first = np.array([mine], np.int64), np.empty(1, np.int64)
        self.wait(self.comm.Iallreduce(code, first, self.mpi.MIN))
        if first[0] == none:
            return None
        root = int(first[0]) % self.size
        payload = pickled(error) if root == self.rank and error is not None else b""
        size = np.array([len(payload)], np.int64)
        self.comm.Bcast(size, root)
        buffer = np.frombuffer(payload, np.uint8) if payload else np.empty(size[0], np.uint8)
        self.comm.Bcast(buffer, root)
        found: BaseException
        found = error if root == self.rank and error is not None else pickle.loads(buffer.tobytes())
        self.shared = found
        return found

    def gather_objects(self, thing: object) -> list[Any]:
        """Return what every rank gives, on rank 0; small things only."""
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
        """Do what all ranks must do: where one cannot, none can go on.

        Without `interrupts` the caller ends all of them where Ctrl-C is met.
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
        """End all ranks."""
        sys.stdout.flush()
        if why:
            print(why, file=sys.stderr, flush=True)
        interrupted = isinstance(error, KeyboardInterrupt)
        signals.remove_memory_of_ranks()
        try:
            if interrupted and self.rank:
                time.sleep(_GRACE)
        finally:
            self.comm.Abort(signals.exit_code() if interrupted else 1)

    def _interrupted(self) -> None:
        """End all ranks, since a signal has interrupted this one."""
        if not self.mpi.Is_finalized():
            self.end("" if self.rank else signals.message(), KeyboardInterrupt())

    def _hook(self, before: Callable[..., Any]) -> Callable[..., None]:
        def hook(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            if self.rank and error is self.shared:
                # Rank 0 has it too, and says so.
                return
            before(kind, error, trace)
            if not self.mpi.Is_finalized():
                self.end("", error)

        return hook

    def leave(self) -> None:
        """Note that rank 0 has left."""
        self._left = True

    def _leave(self) -> None:
        """Let the script end on rank 0 first."""
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
    """Return the key under which communicators keep their link."""
    key: int = library().Comm.Create_keyval()
    return key


def communicator_of(comm: Any) -> Communicator:
    """Return the one link of a communicator; None for all ranks. All its ranks call this."""
    comm = library().COMM_WORLD if comm is None else comm
    ranks: Communicator | None = comm.Get_attr(_key())
    if ranks is None:
        ranks = Communicator(comm)
        comm.Set_attr(_key(), ranks)
    return ranks


def pickled(error: BaseException) -> bytes:
    """Return an error as bytes; one that cannot be sent is told in words."""
    try:
        payload = pickle.dumps(error)
        pickle.loads(payload)
    except Exception:
        payload = pickle.dumps(WorkerError(f"{type(error).__name__}: {error}"))
    return payload
