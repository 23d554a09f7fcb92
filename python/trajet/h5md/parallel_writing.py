"""H5MD written by the ranks of MPI together: each reads, packs and writes chunks of its own.

HDF5's library alone knows how a file is laid out, and rank 0 alone talks to it: it makes the tables
and gives the place of each chunk, whose bytes the rank that packed it writes there. So every rank
packs on its threads, which HDF5's own parallel writing does not, and any build of h5py will do.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import OutputError
from trajet.h5md.library import h5py
from trajet.h5md.ranks import Communicator, shares, together
from trajet.h5md.writing import (
    Content,
    Packed,
    Packing,
    box_vectors,
    check,
    create,
    head,
    share_rows,
    write_box,
    write_rows,
)

# No two ranks write to the same page: clients of network file systems may write pages whole, over
# what another rank has put into them.
_PAGE = 4096
# First row and atom, skipped filters and size of a chunk.
_Chunk = tuple[int, int, int, int]


def write_together(
    path: Path,
    numbers: NDArray[np.int64],
    content: Content,
    comm: Communicator,
    *,
    force: bool = True,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write frames of a trajectory as H5MD, on all ranks of a communicator.

    Every rank calls this with the same arguments, and its own open trajectory. The file has the
    values, chunks and attributes of `trajet.h5md.write`. It must lie where all ranks can write it.

    Parameters
    ----------
    path, numbers
        Where it goes, and the frames that it holds.
    content
        What else it holds, and how.
    comm
        A communicator of mpi4py.
    force
        Whether to replace what stands there.
    threads
        Threads of each rank; None for 1.
    progress
        Called on rank 0 with the frames that all ranks have written, and in total.

    Raises
    ------
    FormatError
        If a frame lacks what is to be written: velocities and forces, too, are of all frames.
    MissingPackageError, OutputError, ValueError, FormatError
        As for `trajet.h5md.write`. An error of one rank is raised on all; nothing is left behind.
    """
    with together(comm), contextlib.ExitStack() as stack:
        own, tables = None, None
        with together(comm):
            check([(path, numbers)], content, threads)
            packing = content.packing(len(numbers), threads or 1)
            if comm.rank == 0:
                own = stack.enter_context(output.beside(path, force=force))
                tables = stack.enter_context(_Tables(own, len(numbers), content, packing))
        asked = _digest(numbers, content, packing)
        own, first = comm.bcast((own, asked))
        with together(comm):
            if asked != first:
                raise OutputError(
                    f"{path}: rank {comm.rank} was asked for other frames, atoms or options than"
                    " rank 0, or sees another trajectory: wait until all see the same files"
                )
            data = stack.enter_context(own.open("r+b", buffering=0))
        share = _Share(numbers, content, packing, comm, data.fileno(), tables)
        boxes = comm.gather(share.write(progress))
        # Before rank 0 gives the file its name.
        with together(comm):
            os.fsync(data.fileno())
        if tables is not None:
            steps, times = content.trajectory.steps, content.trajectory.times
            tables.finish(steps[numbers], times[numbers], np.concatenate(boxes))


def _digest(numbers: NDArray[np.int64], content: Content, packing: Packing) -> bytes:
    """Return what is equal where ranks are asked for the same file."""
    trajectory = content.trajectory
    how = (content.fields, packing.chunk, packing.batch(), packing.level)
    words = hashlib.sha256(repr((how, trajectory.n_atoms)).encode())
    for array in (numbers, content.atoms, trajectory.times[numbers], trajectory.steps[numbers]):
        words.update(b"all" if array is None else array.tobytes())
    return words.digest()


@dataclass(frozen=True)
class _Share:
    """What one rank writes."""

    numbers: NDArray[np.int64]
    content: Content
    packing: Packing
    comm: Communicator
    file: int
    tables: "_Tables | None"

    def write(self, progress: Callable[[int, int], None] | None) -> NDArray[np.float64]:
        """Write the chunks of this rank, while the others do so; return the boxes of its frames."""
        comm, tables, packing = self.comm, self.tables, self.packing
        n_frames, fields = len(self.numbers), self.content.fields
        plan = shares(n_frames, comm.size, unit=packing.frames, call=packing.batch())
        boxes = [np.empty((0, 3, 3))]
        done = 0
        for k, here in enumerate(plan[comm.rank]):
            done += sum(len(calls[k]) for calls in plan)
            for name in fields:
                packed: Sequence[Packed] = []
                with together(comm):
                    if here:
                        values, got = self._read(name, here)
                        if name == "positions":
                            boxes.append(box_vectors(got["cells"], got["vectors"]))
                        packed = packing.pack(values)
                told = [(here.start + row, *others, len(held)) for row, *others, held in packed]
                chunks, places = comm.gather(told), None
                with together(comm):
                    if tables is not None:
                        places = [tables.places(name, one) for one in chunks]
                places = comm.scatter(places)
                with together(comm):
                    for at, (*_, held) in zip(places, packed, strict=True):
                        _write_at(self.file, at, held)
                    if tables is not None and progress is not None and name == fields[-1]:
                        progress(done, n_frames)
        return np.concatenate(boxes)

    def _read(self, name: str, here: range) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Return vectors of frames that all have them, and what else the reader says."""
        numbers = self.numbers[here.start : here.stop]
        values = self.content.room(len(numbers))
        got, there = self.content.read(name, numbers, values, self.packing.threads)
        if not there.all():
            raise self.content.lacking(name, numbers[~there][0])
        return values, got


def _write_at(file: int, at: int, held: bytes | memoryview) -> None:
    """Write bytes to their place in a file."""
    rest = memoryview(held)
    while rest:
        n = os.pwrite(file, rest, at)
        at, rest = at + n, rest[n:]


class _Tables:
    """A file that HDF5 lays out, and whose chunks are written by others."""

    def __init__(self, path: Path, n_frames: int, content: Content, packing: Packing) -> None:
        self.held = _SparseFile(path)
        self.file = h5py("it cannot be written").File(
            self.held,
            "w",
            alignment_threshold=1,
            alignment_interval=_PAGE,
        )
        self.group = head(self.file, content.author)
        self.values = {name: create(self.group, name, n_frames, packing) for name in content.fields}
        self.zeros = memoryview(b"")

    def __enter__(self) -> "_Tables":
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file; where something failed, without what HDF5 still wants to write to it."""
        self.held.given_up = kind is not None
        self.file.close()
        self.held.close()

    def places(self, name: str, chunks: list[_Chunk]) -> list[int]:
        """Return where the bytes of chunks go, which HDF5 takes for written."""
        dataset = self.values[name].id
        found = []
        for k, (row, atom, skipped, size) in enumerate(chunks):
            if len(self.zeros) < size:
                self.zeros = memoryview(bytes(size))
            self.held.zeros.clear()
            dataset.write_direct_chunk((row, atom, 0), self.zeros[:size], skipped)
            here = [at for at, n in self.held.zeros if n == size]
            # To ask HDF5 for the place of each would take ten times as long.
            if k in (0, len(chunks) - 1):
                told = dataset.get_chunk_info_by_coord((row, atom, 0)).byte_offset
                here = [at for at in here if at == told]
            if len(here) != 1:
                raise OutputError(
                    "this version of HDF5 does not tell where chunks go: write the file with one"
                    " process"
                )
            found += here
        return found

    def finish(
        self, steps: NDArray[np.int64], times: NDArray[np.float64], boxes: NDArray[np.float64]
    ) -> None:
        """Write what else belongs to the frames."""
        elements = [dataset.parent for dataset in self.values.values()]
        write_rows(elements[0], steps, times)
        for element in elements[1:]:
            share_rows(element, elements[0])
        write_box(self.group, boxes)
        # Old versions of HDF5 end the process some time after a file could not be closed.
        self.file.flush()


class _SparseFile(io.FileIO):
    """A new file, into which zeros are not written where nothing was written so far.

    They are read there anyway. So HDF5 may write zeros for the chunks of other ranks at no cost.
    A file that is given up stays as it is, whatever is written to it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "r+")
        # Places and lengths of the zeros, written or not.
        self.zeros: list[tuple[int, int]] = []
        self.given_up = False
        self._end = 0

    def write(self, data: Any) -> int:
        """Write bytes where the file stands; zeros behind all that was written are left out."""
        at, n = self.tell(), len(data)
        empty = not np.frombuffer(data, np.uint8).any()
        if empty:
            self.zeros.append((at, n))
        if not self.given_up and not (empty and at >= self._end):
            _write_at(self.fileno(), at, data)
            self._end = max(self._end, at + n)
        return n

    def truncate(self, size: int | None = None) -> int:
        """Give the file another size."""
        return self.tell() if self.given_up else super().truncate(size)
