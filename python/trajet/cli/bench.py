"""`trajet bench`: how an analysis scales on this machine, and how fast a storage is."""

import csv
import mmap
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import mean, median, stdev
from typing import NamedTuple, TypeVar

import click
import numpy as np

from trajet import advise, output
from trajet._trajet import WorkerError, available_threads
from trajet.advise import Environment, Storage, in_bytes, in_seconds
from trajet.cli import pools
from trajet.cli.command import Command, command
from trajet.cli.open_options import REMOTE, opening, remote_arguments
from trajet.cli.options import (
    Size,
    amount,
    in_files_order,
    path_to,
    text_of_size,
    whole_numbers,
    words,
)
from trajet.cli.terminal import waiting
from trajet.cli.translation import as_options
from trajet.quoting import lines_of
from trajet.report_entries import Entries
from trajet.result import Report, entries_of
from trajet.trajectory import OpenOptions

_T = TypeVar("_T")

_COLUMNS = ("pool", "workers", "t_total", "sd", "t_io", "t_comp", "S", "E", "R_comp/IO")
# Bytes of requests that are all latency, and of requests that are mostly transfer.
_SMALL, _SMALL_REQUESTS, _LARGE = 4096, 256, 2**23
_FILES, _FILE_BYTES = 64, 2**28


def _powers_of_two() -> str:
    most = available_threads()
    return ",".join(str(2**k) for k in range(most.bit_length()) if 2**k <= most)


pools_option = words("--pools", pools.NAMES, "local", "Of " + ", ".join(pools.NAMES) + ".")
workers_option = click.option(
    "--workers",
    default=_powers_of_two,
    callback=whole_numbers,
    metavar="1,2,4",
    help="Numbers of workers: threads, processes, ranks. Default: powers of two up to the cores.",
)


def _cells(pool: str, workers: int, runs: Sequence[Entries], alone: float) -> tuple[str, ...]:
    """Return a line of the table; `alone` is the mean t_total of one worker, s."""
    seconds = [run["stages"]["t_total"] for run in runs]
    speed_up = alone / mean(seconds)
    known = [r for run in runs if (r := advise.computing_to_input(run["stages"])) is not None]
    numbers: list[float | None] = [mean(seconds), stdev(seconds) if len(seconds) > 1 else None]
    numbers += [mean(run["averages"][stage] for run in runs) for stage in ("t_io", "t_comp")]
    numbers += [speed_up, speed_up / workers, mean(known) if known else None]
    return (pool, str(workers), *("" if x is None else f"{x:.3g}" for x in numbers))


class _Bench(Command):
    """The command `bench`, or `bench storage`: no topology is called "storage", without suffix."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Return the context of the command that is asked for."""
        if args[:1] != ["storage"]:
            return super().make_context(info_name, args, parent, **extra)
        return storage.make_context(f"{info_name} storage", args[1:], parent, **extra)


@command(cls=_Bench)
@click.argument("topology", metavar="TOPOLOGY")
@click.argument(
    "trajectories", nargs=-1, required=True, metavar="TRAJECTORY...", callback=in_files_order
)
@click.option(
    "--select", default="name CA", show_default=True, metavar="SELECTION", help="Atoms of the RMSD."
)
@click.option("--frames", type=click.IntRange(1), metavar="N", help="First frames. Default: all.")
@pools_option
@workers_option
@amount("--repeats", 3, "Runs of each line that count; one before them does not.")
@pools.mpiexec_option
@opening(*REMOTE)
@click.option(
    "-o", "--output", "table", callback=path_to((".csv",)), metavar="FILE", help="The table: .csv"
)
def bench(
    topology: str,
    trajectories: list[str],
    select: str,
    frames: int | None,
    pools: tuple[str, ...],
    workers: tuple[int, ...],
    repeats: int,
    mpiexec: str | None,
    how: OpenOptions,
    table: Path | None,
) -> None:
    """Measure how the RMSD scales over pools and workers.

    Each run is a `trajet rmsd` of its own, on files that were read before. S is the speed-up of
    t_total over one worker, which is always measured, and E = S / workers. R_comp/IO is the ratio
    of computing to reading and decoding: the smaller, the sooner storage bounds the run. Advice is
    on the fastest setup.

    `trajet bench storage PATH` measures a storage instead, and has a help of its own.

    \b
    Examples:
      trajet bench adk.psf adk.xtc --pools local,processes --workers 1,2,4
      trajet bench adk.psf adk.xtc --pools mpi --mpiexec srun -o scaling.csv
    """
    arguments = [topology, *trajectories, "--select", select, *remote_arguments(how)]
    arguments += [] if frames is None else ["--stop", str(frames)]
    lines: list[tuple[str, ...]] = [_COLUMNS]
    fastest = (float("inf"), "", list[str]())
    values, alone = set[bytes](), 0.0
    with output.folder_in(None) as folder:
        for pool in pools:
            for count in sorted({1, *workers}):
                with waiting(f"measuring {pool} with {count}"):
                    runs = [
                        _run(arguments, pool, count, mpiexec, folder / f"{repeat}")
                        for repeat in range(repeats + 1)
                    ]
                values.update(found for _, found in runs)
                if len(values) > 1:
                    raise WorkerError(
                        f"the numbers of {pool} with {count} differ from others: please report this"
                    )
                entries = [entries_of(report) for report, _ in runs[1:]]
                seconds = mean(one["stages"]["t_total"] for one in entries)
                alone = seconds if count == 1 else alone
                lines.append(_cells(pool, count, entries, alone))
                fastest = min(
                    fastest,
                    (
                        seconds,
                        f"{pool} with {count}",
                        [as_options(one) for one in entries[-1]["advice"]],
                    ),
                )
    printed = [*lines_of(lines), f"fastest: {fastest[1]}", *fastest[2]]
    if table is not None:
        with output.replacing_file(table) as own, own.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        printed.append(str(table))
    click.echo("\n".join(printed))


def _run(
    arguments: Sequence[str], pool: str, workers: int, mpiexec: str | None, stem: Path
) -> tuple[Report, bytes]:
    """Run `trajet rmsd` and return its report and the bytes of its values."""
    report, values = stem.with_suffix(".json"), stem.with_suffix(".npz")
    start = pools.starting_ranks(mpiexec, workers) if pool == "mpi" else []
    number = ["--threads" if pool == "local" else "--workers", str(workers)]
    run = [*start, sys.executable, "-m", "trajet", "rmsd", *arguments, "--pool", pool, "--quiet"]
    run += ["--report", str(report), "-o", str(values), *([] if pool == "mpi" else number)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode or not values.exists():
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        # Messages of MPI on aborted ranks may follow that of the command.
        message = next((line for line in lines[::-1] if line.startswith("trajet: ")), lines[-1])
        raise WorkerError(f"{shlex.join(run[: len(start) + 4])} … failed: {message}")
    with np.load(values) as arrays:
        return Report.load(report), arrays["values"].tobytes()


class Measured(NamedTuple):
    """A storage as far as this machine can see it, in words too, and the number of requests."""

    storage: Storage
    words: list[tuple[str, ...]]
    is_direct: bool  # not: pages of the cache were dropped before, where that works
    requests: int


class _Reader:
    """Reads a file past the page cache, as far as the file system lets it."""

    def __init__(self, path: Path) -> None:
        self.is_direct, self.requests = True, 0
        self._path, self._bytes = path, path.stat().st_size
        # With the same offsets in each measurement, a cache of the servers would answer.
        self._random = random.Random(self._bytes)
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(self._file, [mmap.mmap(-1, _SMALL)], 0)
        except OSError:  # such as tmpfs, and FUSE
            self.is_direct = False
            self._file = os.open(path, os.O_RDONLY)

    def _read(self, size: int, count: int) -> list[float]:
        """Return the seconds of requests at random multiples of a page, one after another."""
        memory, seconds = mmap.mmap(-1, size), []
        for _ in range(count):
            offset = _SMALL * self._random.randint(0, (self._bytes - size) // _SMALL)
            if not self.is_direct:
                os.posix_fadvise(self._file, offset, size, os.POSIX_FADV_DONTNEED)
            begin = time.perf_counter()
            got = os.preadv(self._file, [memory], offset)
            seconds.append(time.perf_counter() - begin)
            if got != size:
                raise OSError(f"{self._path}: {got} bytes at {offset} in place of {size}")
        return seconds

    def alone(self, size: int, count: int) -> float:
        """Return the median seconds of requests that are made one after another."""
        self.requests += count
        return median(self._read(size, count))

    def together(self, size: int, count: int, readers: int) -> float:
        """Return the requests per second that threads get answered, with `count` of each."""
        self.requests += count * readers
        return count * _per_second(partial(self._read, size), [count] * readers, readers)


def measure(path: Path, *, readers: int, size: int) -> Measured:
    """Measure the storage of a folder, or of a file that exists, with some threads at most.

    In a folder, a file of `size` bytes and small files are made and removed again. A file is only
    read, best one that is larger than the memory of the machine.
    """
    if not hasattr(os, "O_DIRECT") or not hasattr(os, "posix_fadvise"):
        raise OSError(f"{path}: storage is measured on Linux only")
    with _files_in(path, size) as (file, small):
        n_bytes = file.stat().st_size
        if n_bytes < 2 * _LARGE:
            least = text_of_size(2 * _LARGE)
            raise ValueError(f"{path}: {n_bytes} bytes: give a file of at least {least}")
        large, reader = max(2, min(16, n_bytes // _LARGE)), _Reader(file)
        try:
            latency = reader.alone(_SMALL, _SMALL_REQUESTS)
            transfer = reader.alone(_LARGE, large)
            together = reader.together(_SMALL, _SMALL_REQUESTS, readers)
            total = reader.together(_LARGE, max(2, large // 2), readers)
        finally:
            os.close(reader._file)
        open_seconds = median(map(_seconds_of_opening, small))
        opens = _per_second(_seconds_of_opening, small, readers)
    bandwidth = _LARGE / max(transfer - latency, 1e-9)
    storage = Storage(
        latency=latency,
        client_bandwidth=bandwidth,
        total_bandwidth=(in_all := max(bandwidth, total * _LARGE)),
        requests_per_s=(requests := max(together, 1 / latency)),
        open_seconds=open_seconds,
        opens_per_s=(opens := max(opens, 1 / open_seconds)),
    )
    words: list[tuple[str, ...]] = [
        ("a request of 4 KiB", in_seconds(latency)),
        ("one reader, a second", in_bytes(bandwidth)),
        ("all readers, a second", in_bytes(in_all)),
        ("requests of 4 KiB a second", f"{requests:.3g}"),
        ("opening a file", in_seconds(open_seconds)),
        ("files opened a second", f"{opens:.3g}"),
    ]
    return Measured(storage, words, reader.is_direct, reader.requests)


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


def _per_second(call: Callable[[_T], object], items: Sequence[_T], readers: int) -> float:
    """Return how many items threads do in a second."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(readers) as pool:
        list(pool.map(call, items))
    return len(items) / (time.perf_counter() - begin)


def _seconds_of_opening(path: Path) -> float:
    """Return the seconds for opening a file."""
    begin = time.perf_counter()
    os.close(os.open(path, os.O_RDONLY))
    return time.perf_counter() - begin


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
    "toml",
    callback=path_to((".toml",)),
    metavar="FILE",
    help="Description: .toml",
)
def storage(path: Path, readers: int, size: int, toml: Path | None) -> None:
    """Measure a storage for predictions of `trajet advise --ranks`.

    PATH is a folder on the storage, in which files are made and removed, or a file, which is only
    read. The page cache of this machine is bypassed or dropped, that of servers is not: make the
    file larger than their memory. Numbers of all readers are those of this machine: run the command
    on some nodes at once and add, or ask who runs the storage. Add servers and stripes by hand.

    \b
    Examples:
      trajet bench storage /scratch/me -o lustre.toml
      trajet bench storage /scratch/me/run.xtc --readers 64 -o lustre.toml
    """
    with waiting(f"measuring {path}"):
        found = measure(path, readers=readers, size=size)
    text = Environment(found.storage).to_toml()
    click.echo("\n".join(lines_of(found.words)))
    if not found.is_direct:
        click.echo("note: the file system has no direct access: a cache may have answered")
    if toml is not None:
        output.write(toml, lambda file: file.write(text.encode()))
    click.echo(toml or text, nl=toml is not None)


COMMANDS = (bench,)
