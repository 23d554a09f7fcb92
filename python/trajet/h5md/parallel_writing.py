"""H5MD written by the ranks of MPI together: each reads, packs and writes chunks of its own.

HDF5's library alone knows how a file is laid out, and rank 0 alone talks to it: it makes the tables
and gives the place of each chunk, whose bytes the rank that packed it writes there. So every rank
packs on its threads, which HDF5's own parallel writing does not, and any build of h5py will do.
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

    Rank 0 calls this while the others call `join_writing`: they are told where their frames are,
    and look for no index. The file has the values, chunks and attributes of `trajet.h5md.write`. It
    must lie where all ranks can write it.

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
        Called with the frames that all ranks have written, and in total.

    Raises
    ------
    FormatError
        If a frame lacks what is to be written: velocities and forces, too, are of all frames.
    MissingPackageError, OutputError, ValueError, FormatError
        As for `trajet.h5md.write`. An error of one rank is raised on all; nothing is left behind.
    """
    _write(comm, _Lead(path, numbers, content, force, threads, progress))


def join_writing(comm: Communicator) -> None:
    """Take part in what rank 0 writes; see `write_together`."""
    _write(comm, None)


def _write(comm: Communicator, lead: "_Lead | None") -> None:
    with raise_on_all(comm), contextlib.ExitStack() as stack:
        told, tables = None, None
        with raise_on_all(comm):
            if lead is not None:
                told, tables = lead.begin(comm.size, stack)
        own: _Told = comm.scatter(told)
        with raise_on_all(comm):
            data = stack.enter_context(own.path.open("r+b", buffering=0))
            content = lead.content if lead is not None else own.content()
        share = _Share(own, content, comm, data.fileno(), tables)
        boxes = comm.gather(share.write(lead.progress if lead is not None else None))
        # Before rank 0 gives the file its name.
        with raise_on_all(comm):
            os.fsync(data.fileno())
        if lead is not None and tables is not None:
            steps, times = content.reader.steps(), content.reader.times()
            tables.finish(steps[lead.numbers], times[lead.numbers], np.concatenate(boxes))


@dataclass(frozen=True)
class _Told:
    """What a rank is told.

    Attributes
    ----------
    path
        The file.
    calls
        Rows that are written at a time by each rank.
    numbers
        The frames of this rank's rows.
    outline, slice
        Where these frames are.
    atoms, velocities, forces, packing
        What is written of them, and how.
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
        """Return what is written, on a rank that has opened nothing so far."""
        reader, _ = _trajet.Elsewhere(self.outline).reader(self.slice)
        return Content(reader, self.atoms, velocities=self.velocities, forces=self.forces)


@dataclass(frozen=True)
class _Lead:
    """What is asked of rank 0; see `write_together`."""

    path: Path
    numbers: NDArray[np.int64]
    content: Content
    force: bool
    threads: int | None
    progress: Callable[[int, int], None] | None

    def begin(self, size: int, stack: contextlib.ExitStack) -> tuple[list[_Told], "_Tables"]:
        """Begin the file; return what each rank is told, and what gives chunks their places."""
        content, numbers = self.content, self.numbers
        check([(self.path, numbers)], content, self.threads)
        packing = content.packing(len(numbers), self.threads or 1)
        own = stack.enter_context(output.beside(self.path, force=self.force))
        tables = stack.enter_context(_Tables(own, len(numbers), content, packing))
        plan = shares(len(numbers), size, unit=packing.frames, call=packing.batch())
        outline = content.reader.outline(content.atoms)
        told = []
        for calls in plan:
            here = numbers[calls[0].start : max(call.stop for call in calls)]
            told.append(
                _Told(
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
        return told, tables


@dataclass(frozen=True)
class _Share:
    """What one rank writes."""

    told: _Told
    content: Content
    comm: Communicator
    file: int
    tables: "_Tables | None"

    def write(self, progress: Callable[[int, int], None] | None) -> NDArray[np.float64]:
        """Write the chunks of this rank, while the others do so; return the boxes of its frames."""
        comm, tables, packing, plan = self.comm, self.tables, self.told.packing, self.told.calls
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
                told = [(here.start + row, *others, len(held)) for row, *others, held in packed]
                chunks, places = comm.gather(told), None
                with raise_on_all(comm):
                    if tables is not None:
                        places = [tables.places(name, one) for one in chunks]
                places = comm.scatter(places)
                with raise_on_all(comm):
                    for at, (*_, held) in zip(places, packed, strict=True):
                        write_at(self.file, at, held)
                    if tables is not None and progress is not None and name == fields[-1]:
                        progress(done, n_frames)
        return np.concatenate(boxes)

    def _read(self, name: str, here: range) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Return vectors of frames that all have them, and what else the reader says."""
        first = self.told.calls[self.comm.rank][0].start
        numbers = self.told.numbers[here.start - first : here.stop - first]
        values = self.content.room(len(numbers))
        got, there = self.content.read(name, numbers, values, self.told.packing.threads)
        if not there.all():
            raise self.content.lacking(name, numbers[~there])
        return values, got


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
        self.group = head(self.file, content.author, content.kept_remarks)
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
            write_at(self.fileno(), at, data)
            self._end = max(self._end, at + n)
        return n

    def truncate(self, size: int | None = None) -> int:
        """Give the file another size."""
        return self.tell() if self.given_up else super().truncate(size)
