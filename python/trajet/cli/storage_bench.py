"""`trajet bench storage`: latency, bandwidth, requests a second and opening of a storage."""

import errno
import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

import click

from trajet import output
from trajet.advise import Environment, Storage, in_bytes, in_seconds
from trajet.cli.command import command
from trajet.cli.options import Size, amount, path_to, text_of_size
from trajet.cli.tables import lines_of
from trajet.cli.terminal import waiting

# Requests that are all latency, and requests that are mostly transfer.
_SMALL = 4096
_LARGE = 2**23
_SMALL_REQUESTS = 256
_FILES = 64
_FILE_BYTES = 2**28


@dataclass(frozen=True)
class Measured:
    """Measured times and rates of a storage.

    Attributes
    ----------
    storage
        The storage, as far as this machine can see it.
    is_direct
        Whether requests bypassed the page cache (O_DIRECT); else pages were dropped before
        (posix_fadvise), which not every file system does.
    requests
        Read requests that were made.
    """

    storage: Storage
    is_direct: bool
    requests: int


class _Reader:
    """Reads a file past the page cache, as far as the file system lets it."""

    def __init__(self, path: Path) -> None:
        self.is_direct = True
        self.requests = 0
        self._path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            self.read(mmap.mmap(-1, _SMALL), 0)
        except OSError:
            # Such as tmpfs, and FUSE.
            self.is_direct = False
            self._file = os.open(path, os.O_RDONLY)
        self.requests = 0

    def read(self, memory: mmap.mmap, offset: int) -> float:
        """Fill the memory from an offset on and return the seconds.

        Raises
        ------
        OSError
            If the file cannot be read so far.
        """
        if not self.is_direct:
            os.posix_fadvise(self._file, offset, len(memory), os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter()
        got = os.preadv(self._file, [memory], offset)
        seconds = time.perf_counter() - begin
        if got != len(memory):
            raise OSError(f"{self._path}: {got} bytes at {offset} in place of {len(memory)}")
        self.requests += 1
        return seconds

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def measure(path: Path, *, readers: int, size: int) -> Measured:
    """Measure the storage of a folder, or of a file that exists.

    Parameters
    ----------
    path
        A folder, in which files are made and removed again; or a file, best larger than the memory
        of the machine, which is only read.
    readers
        Threads that read at the same time.
    size
        Bytes of the file that is made.

    Raises
    ------
    OSError
        If the path cannot be read or written.
    ValueError
        If the file has fewer bytes than two large requests.
    """
    if not hasattr(os, "O_DIRECT") or not hasattr(os, "posix_fadvise"):
        raise OSError(errno.ENOTSUP, "storage is measured on Linux only", str(path))
    with _files_in(path, size) as (file, small):
        n_bytes = file.stat().st_size
        if n_bytes < 2 * _LARGE:
            raise ValueError(
                f"{path}: {n_bytes} bytes: give a file of at least {text_of_size(2 * _LARGE)}"
            )
        # With the same places in each measurement, a cache of the servers would answer.
        places = random.Random(n_bytes)
        reader = _Reader(file)
        try:
            latency = median(_alone(reader, places, n_bytes, _SMALL, _SMALL_REQUESTS))
            large = max(2, min(16, n_bytes // _LARGE))
            transfer = median(_alone(reader, places, n_bytes, _LARGE, large))
            together = _together(reader, places, n_bytes, _SMALL, _SMALL_REQUESTS, readers)
            total = _together(reader, places, n_bytes, _LARGE, max(2, large // 2), readers)
        finally:
            reader.close()
        opening = median(_seconds_of_opening(one) for one in small)
        begin = time.perf_counter()
        with ThreadPoolExecutor(readers) as pool:
            list(pool.map(_seconds_of_opening, small))
        opens = len(small) / (time.perf_counter() - begin)
    one = _LARGE / max(transfer - latency, 1e-9)
    storage = Storage(
        latency=latency,
        client_bandwidth=one,
        total_bandwidth=max(one, total * _LARGE),
        requests_per_s=max(together, 1 / latency),
        open_seconds=opening,
        opens_per_s=max(opens, 1 / opening),
    )
    return Measured(storage, reader.is_direct, reader.requests)


@contextmanager
def _files_in(path: Path, size: int) -> Iterator[tuple[Path, list[Path]]]:
    """Yield a large file, and small files that were not opened yet; those made are removed."""
    if not path.is_dir():
        yield path, [path]
        return
    with output.folder_in(path) as folder:
        large = folder / "large"
        block = random.Random(0).randbytes(2**20)
        with large.open("wb") as file:
            for _ in range(-(-size // len(block))):
                file.write(block)
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        small = [folder / f"{k}" for k in range(_FILES)]
        for each in small:
            each.write_bytes(b"trajet")
        yield large, small


def _places(places: random.Random, n_bytes: int, size: int, count: int) -> list[int]:
    """Return offsets of so many requests, at random multiples of a page."""
    return [_SMALL * places.randint(0, (n_bytes - size) // _SMALL) for _ in range(count)]


def _alone(
    reader: _Reader, places: random.Random, n_bytes: int, size: int, count: int
) -> list[float]:
    """Return the seconds of requests that are made one after another."""
    memory = mmap.mmap(-1, size)
    return [reader.read(memory, at) for at in _places(places, n_bytes, size, count)]


def _together(
    reader: _Reader, places: random.Random, n_bytes: int, size: int, count: int, readers: int
) -> float:
    """Return the requests per second that threads get answered, with so many requests of each."""
    shares = [_places(places, n_bytes, size, count) for _ in range(readers)]
    memories = [mmap.mmap(-1, size) for _ in range(readers)]

    def read_all(k: int) -> int:
        for at in shares[k]:
            reader.read(memories[k], at)
        return len(shares[k])

    begin = time.perf_counter()
    with ThreadPoolExecutor(readers) as pool:
        done = sum(pool.map(read_all, range(readers)))
    return done / (time.perf_counter() - begin)


def _seconds_of_opening(path: Path) -> float:
    """Return the seconds for opening a file."""
    begin = time.perf_counter()
    os.close(os.open(path, os.O_RDONLY))
    return time.perf_counter() - begin


SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "latency": ("a request of 4 KiB", in_seconds),
    "client_bandwidth": ("one reader, a second", in_bytes),
    "total_bandwidth": ("all readers, a second", in_bytes),
    "requests_per_s": ("requests of 4 KiB a second", lambda rate: f"{rate:.3g}"),
    "open_seconds": ("opening a file", in_seconds),
    "opens_per_s": ("files opened a second", lambda rate: f"{rate:.3g}"),
}


@command("storage")
@click.argument("path", metavar="PATH", type=click.Path(exists=True, path_type=Path))
@amount("--readers", 16, "Threads that read at the same time.")
@click.option(
    "--size",
    type=Size(most=2**40),
    default=text_of_size(_FILE_BYTES),
    show_default=True,
    metavar="BYTES",
    help="Size of the file that is made in a folder: 256MiB, 4GiB.",
)
@click.option(
    "-o",
    "--output",
    "description",
    callback=path_to((".toml",)),
    metavar="FILE",
    help="The description for `trajet advise --ranks --storage`: .toml",
)
def storage(path: Path, readers: int, size: int, description: Path | None) -> None:
    """Measure a storage for predictions of `trajet advise --ranks`.

    PATH is a folder on the storage, in which files are made and removed, or a file, which is only
    read. The page cache of this machine is bypassed or dropped, that of servers is not: make the
    file larger than their memory. Numbers of all readers are those of this machine, and less than
    many nodes get: run the command on some nodes at once and add, or ask who runs the storage. Add
    servers and stripes by hand.

    \b
    Examples:
      trajet bench storage /scratch/me -o lustre.toml
      trajet bench storage /scratch/me/run.xtc --readers 64 -o lustre.toml
    """
    with waiting(f"measuring {path}"):
        found = measure(path, readers=readers, size=size)
    text = Environment(found.storage).to_toml()
    rows: list[tuple[str, ...]] = [
        (SHOWN[field.name][0], SHOWN[field.name][1](getattr(found.storage, field.name)))
        for field in fields(found.storage)
        if field.name in SHOWN
    ]
    for line in lines_of(rows):
        click.echo(line)
    if not found.is_direct:
        click.echo("note: the file system has no direct access: a cache may have answered")
    if description is None:
        click.echo(text, nl=False)
        return
    output.write(description, lambda file: file.write(text.encode()))
    click.echo(description)
