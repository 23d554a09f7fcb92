"""Ranges of objects that Python reads: of files that are downloaded, and of the tables of HDF5."""

import contextlib
import gc
import io
import threading
from collections import OrderedDict
from collections.abc import Iterator

from trajet._trajet import StaleIndexError
from trajet.remote.attempts import attempts, in_threads, is_left
from trajet.remote.failures import LATER, Failure, exception_of
from trajet.remote.objects import RemoteFile

# Bytes of a block that `RangeFile` keeps, and of all of them.
BLOCK = 64 * 1024
_KEPT = 16 * 1024 * 1024
# Most blocks that are fetched for an inner node, and how many at the same time.
_MAX_FETCHED = 128
_NODES_AT_ONCE = 32
# Bytes of the head of a node and of an offset, and the children that a node has room for.
_NODE_HEAD = 24
_OFFSET = 8
_CHILDREN = 64
# Bytes of all requests for a whole object that wait at the same time, least bytes of one, and their
# number.
_IN_MEMORY = 64 * 1024 * 1024
_MIN_PIECE = 256 * 1024
_AT_ONCE = 8


def read_range(file: RemoteFile, start: int, end: int) -> bytes:
    """Return bytes `start` to `end` of an object; requests that fail for a moment are repeated.

    Raises
    ------
    StaleIndexError
        If another object has taken its place.
    PermissionError, FileNotFoundError, RemoteError
        If a request fails otherwise.
    """

    def ask() -> bytes | Failure:
        answer = file.read(start, end, is_left)
        if isinstance(answer, tuple):
            return answer
        data = bytes(answer)
        if len(data) != end - start:
            return "transient", f"fewer bytes were sent than asked for{LATER}"
        return data

    answer = attempts(ask, file.pauses)
    if not isinstance(answer, tuple):
        return answer
    if answer[0] == "replaced":
        error = StaleIndexError(f"{file.path}: it has changed since it was opened: open it again")
        error.path = file.path
        raise error
    raise exception_of(str(file.path), answer)


def pieces(file: RemoteFile, start: int = 0, connections: int = _AT_ONCE) -> Iterator[bytes]:
    """Yield the bytes of an object in pieces, which several requests fetch at the same time.

    Parameters
    ----------
    file
        The object.
    start
        The first byte.
    connections
        Requests at the same time.

    Raises
    ------
    StaleIndexError, PermissionError, FileNotFoundError, RemoteError
        As `read_range`.
    """
    size = max(_MIN_PIECE, _IN_MEMORY // connections)
    starts = range(start, file.size, size)

    def piece(begin: int) -> bytes:
        return read_range(file, begin, min(begin + size, file.size))

    # Few pieces are in memory.
    for first in range(0, len(starts), connections):
        yield from in_threads(piece, starts[first : first + connections], connections)


class _Collector:
    """The garbage collector, which rests while h5py waits for bytes.

    h5py reads under its lock, which it takes to free its objects, too: a thread that makes the
    request, and in which the collector freed one, would wait for the lock, and h5py for the thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_waiting = 0
        self._is_enabled = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Let nothing be collected, in any thread, until the last of several waits has ended."""
        with self._lock:
            if not self._n_waiting:
                self._is_enabled = gc.isenabled()
                gc.disable()
            self._n_waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_waiting -= 1
                if not self._n_waiting and self._is_enabled:
                    gc.enable()


_COLLECTOR = _Collector()


class RangeFile(io.RawIOBase):
    """An object as a file that can be read at any position, for h5py.

    Blocks of `BLOCK` bytes are fetched when they are needed, and the last ones are kept. The
    library reads the list of a dataset's chunks node by node: nodes that an inner one points to are
    fetched at the same time.

    Attributes
    ----------
    size
        Bytes of the object.
    error
        The first error of a request, or Ctrl-C, which h5py replaces by an error of its own.
    """

    def __init__(self, file: RemoteFile) -> None:
        super().__init__()
        self._file = file
        self._at = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self.size = file.size
        self.error: BaseException | None = None

    def __repr__(self) -> str:
        return str(self._file.path)

    __str__ = __repr__

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the position and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        """Read into a buffer from the position on; return the number of bytes."""
        with _COLLECTOR.paused():
            return self._readinto(memoryview(buffer).cast("B"))

    def _readinto(self, out: memoryview) -> int:
        end = min(self._at + len(out), self.size)
        start, done = self._at, 0
        while start < end:
            number = start // BLOCK
            block = self._block(number, (end - 1) // BLOCK)
            begin = start - number * BLOCK
            some = block[begin : begin + end - start]
            out[done : done + len(some)] = some
            done += len(some)
            start += len(some)
        self._at = end
        if children := inner_node(out[:done]):
            self._prefetch(children, done)
        return done

    def _prefetch(self, offsets: list[int], size: int) -> None:
        """Fetch the blocks of nodes at the same time; those that fail are fetched when read."""
        ends = [end for at in offsets if at + size <= self.size for end in (at, at + size - 1)]
        numbers = {end // BLOCK for end in ends}
        missing = sorted(numbers - self._blocks.keys())[:_MAX_FETCHED]
        if len(missing) < 2:
            return

        def fetch(number: int) -> bytes | None:
            start = number * BLOCK
            with contextlib.suppress(Exception):
                return read_range(self._file, start, min(start + BLOCK, self.size))
            return None

        fetched = in_threads(fetch, missing, _NODES_AT_ONCE)
        for number, data in zip(missing, fetched, strict=True):
            if data is not None:
                self._blocks[number] = data
        self._forget()

    def _block(self, number: int, last: int) -> bytes:
        """Return a block; missing ones up to the last are fetched with it, in one request."""
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        stop = number + 1
        most = number + _KEPT // BLOCK
        while stop <= min(last, most - 1) and stop not in self._blocks:
            stop += 1
        start = number * BLOCK
        try:
            data = read_range(self._file, start, min(stop * BLOCK, self.size))
        except BaseException as error:
            self.error = self.error or error
            raise
        for k in range(number, stop):
            self._blocks[k] = data[k * BLOCK - start : (k + 1) * BLOCK - start]
        self._forget()
        return self._blocks.get(number, data[:BLOCK])

    def _forget(self) -> None:
        """Drop the blocks that were not used for the longest time, if there are too many."""
        while len(self._blocks) * BLOCK > _KEPT + BLOCK:
            self._blocks.popitem(last=False)


def inner_node(data: memoryview) -> list[int]:
    """Return the offsets of the children of an inner node of a B-tree of chunks; else none.

    The layout is that of version 1 in the HDF5 file format specification, section III.A.1: a
    header of 24 bytes, then a key and an offset for each of the 64 children that there may be, and
    a last key.
    """
    if len(data) < _NODE_HEAD or bytes(data[:4]) != b"TREE" or data[4] != 1 or data[5] == 0:
        return []
    key, rest = divmod(len(data) - _NODE_HEAD - _OFFSET * _CHILDREN, _CHILDREN + 1)
    n = int.from_bytes(data[6:8], "little")
    if rest or key < _OFFSET or n > _CHILDREN:
        return []
    begins = range(_NODE_HEAD + key, _NODE_HEAD + n * (key + _OFFSET), key + _OFFSET)
    return [int.from_bytes(data[at : at + _OFFSET], "little") for at in begins]
