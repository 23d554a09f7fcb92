"""Parallel writing of H5MD by MPI ranks: each reads, compresses and writes its own chunks.

Only rank 0 uses HDF5's library: it creates the tables and allocates the chunks. The rank that
compressed a chunk writes its bytes at the allocated offset. So every rank compresses on its own
threads, unlike in HDF5's parallel writing, and h5py need not be built with MPI.
"""

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import OutputError
from trajet.h5md.direct_chunks import write_at
from trajet.h5md.library import h5py
from trajet.h5md.ranks import Communicator, raise_on_all, shares
from trajet.h5md.writing import (
    Content,
    Field,
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

# Chunks begin at multiples of this size, so that no two ranks write to the same page: clients of
# network file systems may write whole pages, over the bytes of another rank.
_PAGE = 4096
# First row and atom, filter mask and size of a chunk.
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

    Rank 0 calls this while the others call `join_writing`: they receive the index of their frames
    from rank 0. The file has the same values, chunks and attributes as from `trajet.h5md.write`. It
    must be on storage that all ranks can write.

    Parameters
    ----------
    path, numbers
        Path of the output, and its frames.
    content
        Content of the output.
    comm
        A communicator of mpi4py.
    force
        Whether to replace an existing file.
    threads
        Threads of each rank; None for 1.
    progress
        Called with the frames that all ranks have written, and in total.

    Raises
    ------
    FormatError
        If a frame lacks one of the fields that are written, including velocities and forces.
    MissingPackageError, OutputError, ValueError, FormatError
        As for `trajet.h5md.write`. An error of one rank is raised on all; there is no output then.
    """
    _write(comm, _Lead(path, numbers, content, force, threads, progress))


def join_writing(comm: Communicator) -> None:
    """Take part in a call of `write_together` on rank 0."""
    _write(comm, None)


def _write(comm: Communicator, lead: "_Lead | None") -> None:
    with raise_on_all(comm), contextlib.ExitStack() as stack:
        specs, tables = None, None
        with raise_on_all(comm):
            if lead is not None:
                specs, tables = lead.begin(comm.size, stack)
        own: _RankSpec = comm.scatter(specs)
        with raise_on_all(comm):
            data = stack.enter_context(own.path.open("r+b", buffering=0))
            content = lead.content if lead is not None else own.content()
        share = _Share(own, content, comm, data.fileno(), tables)
        boxes = comm.gather(share.write(lead.progress if lead is not None else None))
        # All ranks sync before rank 0 renames the file.
        with raise_on_all(comm):
            os.fsync(data.fileno())
        if lead is not None and tables is not None:
            steps, times = content.reader.steps(), content.reader.times()
            tables.finish(steps[lead.numbers], times[lead.numbers], np.concatenate(boxes))


@dataclass(frozen=True)
class _RankSpec:
    """What a rank needs to write its rows.

    Attributes
    ----------
    path
        Temporary path of the output.
    calls
        Rows of each call of each rank.
    numbers
        Frames of the rows of this rank.
    outline, slice
        The trajectory and the index of these frames.
    atoms, velocities, forces, packing
        Fields to write, and the chunk layout.
    """

    path: Path
    calls: list[list[range]]
    numbers: NDArray[np.int64]
    outline: bytes
    slice: bytes
    atoms: NDArray[np.int64] | None
    velocities: bool
    forces: bool
    packing: Packing

    def content(self) -> Content:
        """Open the trajectory on this rank and return the content to write."""
        reader, _ = _trajet.WorkerTrajectory(self.outline).reader(self.slice)
        return Content(reader, self.atoms, velocities=self.velocities, forces=self.forces)


@dataclass(frozen=True)
class _Lead:
    """Arguments of `write_together` on rank 0."""

    path: Path
    numbers: NDArray[np.int64]
    content: Content
    force: bool
    threads: int | None
    progress: Callable[[int, int], None] | None

    def begin(self, size: int, stack: contextlib.ExitStack) -> tuple[list[_RankSpec], "_Tables"]:
        """Create the file; return a spec for each rank, and the tables that allocate chunks."""
        content, numbers = self.content, self.numbers
        check([(self.path, numbers)], content, self.threads)
        packing = content.packing(len(numbers), self.threads or 1)
        own = stack.enter_context(output.beside(self.path, force=self.force))
        tables = stack.enter_context(_Tables(own, len(numbers), content, packing))
        plan = shares(len(numbers), size, unit=packing.frames, call=packing.batch())
        outline = content.reader.outline(content.atoms)
        specs = []
        for calls in plan:
            here = numbers[calls[0].start : max(call.stop for call in calls)]
            specs.append(
                _RankSpec(
                    path=own.absolute(),
                    calls=plan,
                    numbers=here,
                    outline=outline,
                    slice=content.reader.slice(here),
                    atoms=content.atoms,
                    velocities=content.velocities,
                    forces=content.forces,
                    packing=packing,
                )
            )
        return specs, tables


@dataclass(frozen=True)
class _Share:
    """The rows that one rank writes."""

    spec: _RankSpec
    content: Content
    comm: Communicator
    file: int
    tables: "_Tables | None"

    def write(self, progress: Callable[[int, int], None] | None) -> NDArray[np.float64]:
        """Write the chunks of this rank in step with the others; return boxes of its frames."""
        comm, tables, packing, plan = self.comm, self.tables, self.spec.packing, self.spec.calls
        fields = self.content.fields
        n_frames = sum(map(len, chain(*plan)))
        boxes = [np.empty((0, 3, 3))]
        done = 0
        for k, here in enumerate(plan[comm.rank]):
            done += sum(len(calls[k]) for calls in plan)
            for name in fields:
                packed: Sequence[Packed] = []
                with raise_on_all(comm):
                    if here:
                        values, got = self._read(name, here)
                        if name == "positions":
                            boxes.append(box_vectors(got["cells"], got["vectors"]))
                        packed = packing.pack(values)
                sizes = [(here.start + row, *others, len(data)) for row, *others, data in packed]
                chunks, offsets = comm.gather(sizes), None
                with raise_on_all(comm):
                    if tables is not None:
                        offsets = [tables.allocate(name, one) for one in chunks]
                offsets = comm.scatter(offsets)
                with raise_on_all(comm):
                    for offset, (*_, data) in zip(offsets, packed, strict=True):
                        write_at(self.file, offset, data)
                    if tables is not None and progress is not None and name == fields[-1]:
                        progress(done, n_frames)
        return np.concatenate(boxes)

    def _read(self, name: Field, here: range) -> tuple[NDArray[np.float32], "_trajet.ReadFrames"]:
        """Return the vectors of frames and other fields; raise an error if a frame lacks them."""
        first = self.spec.calls[self.comm.rank][0].start
        numbers = self.spec.numbers[here.start - first : here.stop - first]
        values = self.content.room(len(numbers))
        got, there = self.content.read(name, numbers, values, self.spec.packing.threads)
        if not there.all():
            raise self.content.lacking(name, numbers[~there])
        return values, got


class _Tables:
    """The output on rank 0: HDF5 writes the tables and allocates chunks, which ranks write."""

    def __init__(self, path: Path, n_frames: int, content: Content, packing: Packing) -> None:
        self.held = _SparseFile(path)
        self.file = h5py("it cannot be written").File(
            self.held,
            "w",
            alignment_threshold=1,
            alignment_interval=_PAGE,
        )
        self.group = head(self.file, content.author, content.kept_remarks)
        self.values = {name: create(self.group, name, n_frames, packing) for name in content.fields}
        self.zeros = memoryview(b"")

    def __enter__(self) -> "_Tables":
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file; after an error, discard the pending writes of HDF5."""
        self.held.given_up = kind is not None
        self.file.close()
        self.held.close()

    def allocate(self, name: Field, chunks: list[_Chunk]) -> list[int]:
        """Allocate chunks in HDF5, which takes them for written, and return their offsets."""
        dataset = self.values[name].id
        found = []
        for k, (row, atom, skipped, size) in enumerate(chunks):
            if len(self.zeros) < size:
                self.zeros = memoryview(bytes(size))
            self.held.zeros.clear()
            dataset.write_direct_chunk((row, atom, 0), self.zeros[:size], skipped)
            here = [at for at, n in self.held.zeros if n == size]
            # A query of HDF5 for the offset of each chunk would take ten times as long.
            if k in (0, len(chunks) - 1):
                offset = dataset.get_chunk_info_by_coord((row, atom, 0)).byte_offset
                here = [at for at in here if at == offset]
            if len(here) != 1:
                raise OutputError(
                    "the offsets of chunks are unknown with this version of HDF5: write the file"
                    " with one process"
                )
            found += here
        return found

    def finish(
        self, steps: NDArray[np.int64], times: NDArray[np.float64], boxes: NDArray[np.float64]
    ) -> None:
        """Write steps, times and boxes of all frames."""
        elements = [dataset.parent for dataset in self.values.values()]
        write_rows(elements[0], steps, times)
        for element in elements[1:]:
            share_rows(element, elements[0])
        write_box(self.group, boxes)
        # After a file could not be closed, old versions of HDF5 abort the process later.
        self.file.flush()


class _SparseFile(io.FileIO):
    """A new file that skips writes of zeros beyond its end, as holes are read as zeros.

    So HDF5 can write zeros for the chunks of other ranks at no cost. A file that is given up
    ignores all writes.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "r+")
        # Offsets and lengths of writes of zeros, skipped or not.
        self.zeros: list[tuple[int, int]] = []
        self.given_up = False
        self._end = 0

    def write(self, data: Any) -> int:  # h5py hands over a memoryview; FileIO takes any buffer
        """Write bytes at the current offset; skip zeros beyond all bytes written so far."""
        at, n = self.tell(), len(data)
        empty = not np.frombuffer(data, np.uint8).any()
        if empty:
            self.zeros.append((at, n))
        if not self.given_up and not (empty and at >= self._end):
            write_at(self.fileno(), at, data)
            self._end = max(self._end, at + n)
        return n

    def truncate(self, size: int | None = None) -> int:
        """Change the size of the file."""
        return self.tell() if self.given_up else super().truncate(size)
