"""Writing of H5MD: h5py creates the tables, the native module compresses the chunks."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import cycle, product
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import FormatError, OutputError, TrajetError
from trajet.block import Block
from trajet.box import box_vectors
from trajet.h5md.direct_chunks import DirectChunkWriter, can_list_chunks
from trajet.h5md.elements import (
    ELEMENTS,
    GROUP,
    Boxes,
    Field,
    Packing,
    Rows,
    create,
    default_chunk,
    head,
    write_box,
    write_rows,
)
from trajet.h5md.library import h5py
from trajet.h5md.threads import Show, map_ordered, prefetch, run_parallel
from trajet.messages import Message
from trajet.report_entries import TransformWarnings

if TYPE_CHECKING:
    from h5py import File, Group

# Bytes that are read, compressed and written at a time: enough for several threads, and few enough
# that writing soon begins and soon ends.
STEP_BYTES = 2**21
# Most ranges of frames that a message names.
_RUNS = 3
# Field, frame numbers, vectors, other fields from the reader, and which frames have vectors.
_Step: TypeAlias = tuple[
    Field, NDArray[np.int64], NDArray[np.float32], "_trajet.ReadFrames", NDArray[np.bool_]
]


@dataclass(frozen=True)
class Content:
    """Content and layout of H5MD outputs, in Å and ps, without rounding.

    Elements have no rows for frames that lack their field. Chunks are shuffled and compressed with
    gzip, from 1 (fast) to 9 (small), which all readers of H5MD support. A chunk has a number of
    frames and of atoms; None for several frames up to 64 KiB, whole frames up to 256 KiB, and parts
    of larger frames.
    """

    reader: _trajet.Reader
    # None for all.
    atoms: NDArray[np.int64] | None
    _: KW_ONLY
    velocities: bool = False
    forces: bool = False
    compression: int | None = None
    chunk: tuple[int, int] | None = None
    author: str = "N/A"
    # Messages on the source that the files store.
    of_source: tuple[Message, ...] = ()
    # Whether frames without velocities or forces are errors, instead of having no row.
    complete: bool = False
    # Notes on contents that were left out.
    messages: list[Message] = field(default_factory=list, compare=False)
    # Counts of transformed positions that were read so far and may be wrong.
    warnings: list[TransformWarnings] = field(default_factory=list, compare=False)

    # The particles group.
    group: ClassVar[str] = GROUP

    def __post_init__(self) -> None:
        check_level(self.compression)

    @property
    def n_atoms(self) -> int:
        """Number of atoms of a frame."""
        return self.reader.n_atoms if self.atoms is None else len(self.atoms)

    @property
    def fields(self) -> list[Field]:
        """Fields that are written, "positions" first."""
        wanted: dict[Field, bool] = {
            "positions": True,
            "velocities": self.velocities,
            "forces": self.forces,
        }
        return [name for name, is_wanted in wanted.items() if is_wanted]

    def may_go_back(self, numbers: NDArray[np.int64]) -> bool:
        """Return whether the steps of these frames may decrease, which H5MD forbids."""
        return False

    def dtype_of(self, name: Field) -> str:
        """Return the stored type of a vector field."""
        return "<f4"

    def packing(self, n_frames: int, threads: int) -> "Packing":
        """Return the chunk layout for a number of frames."""
        frames, atoms = self.chunk_of(n_frames)
        return Packing(frames, atoms, self.n_atoms, self.compression or 0, threads)

    def chunk_of(self, n_frames: int) -> tuple[int, int]:
        """Return frames and atoms of a chunk, for a number of frames in the file."""
        return self.chunk or default_chunk(self.n_atoms, n_frames)

    def buffer(self, n_frames: int) -> NDArray[np.float32]:
        """Return a buffer for the vectors of a number of frames."""
        return np.empty((n_frames, self.n_atoms, 3), np.float32)

    def read(
        self, name: Field, numbers: NDArray[np.int64], values: NDArray[np.float32], threads: int
    ) -> tuple["_trajet.ReadFrames", NDArray[np.bool_]]:
        """Read vectors of frames into `values`; return other fields, and which frames have them."""
        got = self.reader.read(numbers, self.atoms, values, name, threads=threads)
        if name == "positions" and "large_steps" in got["counts"]:
            self.warnings.append(got["counts"])
        return got, _there(values, got["counts"]["empty_frames"])

    def lacking(self, name: Field, frames: NDArray[np.int64]) -> FormatError:
        """Return the error for frames that lack a field."""
        what = "choose frames that have"
        if name != "positions":
            what += f", leave these out ({name}=False), or write it with one process"
        return FormatError(f"{self._path}: {in_words(frames)} no {name}: {what}")

    @property
    def _path(self) -> Path:
        path: Path = self.reader.segments()[0]["path"]
        return path

    def fill(
        self,
        own: Path,
        numbers: NDArray[np.int64],
        threads: int,
        show: Show,
    ) -> None:
        """Write frames to the file `own`; `show` is called with the number of frames per step."""
        packing = self.packing(len(numbers), threads)
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(h5py("it cannot be written").File(own, "w"))
            group = self.begin(file)
            wrote = stack.enter_context(output.synced_on_the_way(own))
            # Uncompressed chunks of complete fields have known offsets before they are read.
            known = packing.is_plain and self.fields == ["positions"] and can_list_chunks()
            if known:
                boxes = self._fill_plain(own, group, numbers, packing, wrote, show)
            else:
                boxes = self._fill_series(group, numbers, packing, wrote, show)
            self.end(file, group, numbers, boxes)

    def begin(self, file: "File") -> "Group":
        """Write the metadata of the file, and return the particles group."""
        return head(file, self.author, self.of_source)

    def end(
        self, file: "File", group: "Group", numbers: NDArray[np.int64], boxes: list[Boxes]
    ) -> None:
        """Write the boxes of all frames."""
        write_box(group, boxes, self._path)

    def _fill_plain(
        self,
        own: Path,
        group: "Group",
        numbers: NDArray[np.int64],
        packing: "Packing",
        wrote: Callable[[int], None],
        show: Show,
    ) -> list[Boxes]:
        """Write positions directly to their chunks, on all threads; return the boxes."""
        values = create(group, "positions", len(numbers), packing, early=True)
        step = max(1, STEP_BYTES // (12 * self.n_atoms))
        # Buffers are reused: page faults of new memory would take longer than the work.
        buffers: SimpleQueue[NDArray[np.float32]] = SimpleQueue()
        for _ in range(packing.threads):
            buffers.put(self.buffer(min(step, len(numbers))))
        steps, times, boxes = [], [], []
        with contextlib.closing(DirectChunkWriter(own, values)) as plain:

            def copy(first: int) -> tuple[int, "_trajet.ReadFrames"]:
                here = numbers[first : first + step]
                buffer = buffers.get()
                try:
                    vectors = buffer[: len(here)]
                    got, there = self.read("positions", here, vectors, 1)
                    if not there.all():
                        raise self.lacking("positions", here[~there])
                    plain.write(first, vectors)
                finally:
                    buffers.put(buffer)
                return len(here), got

            copied = map_ordered(copy, range(0, len(numbers), step), packing.threads)
            # All threads end before the file is closed.
            with contextlib.closing(copied):
                for n, got in copied:
                    steps.append(got["steps"])
                    times.append(got["times"])
                    boxes.append(_boxes(self._path, got["cells"], got["vectors"], got["periodic"]))
                    wrote(n * 12 * self.n_atoms)
                    show(n)
        write_rows(values.parent, np.concatenate(steps), np.concatenate(times))
        return boxes

    def _fill_series(
        self,
        group: "Group",
        numbers: NDArray[np.int64],
        packing: "Packing",
        wrote: Callable[[int], None],
        show: Show,
    ) -> list[Boxes]:
        """Append vectors as rows by HDF5; return the boxes."""
        series = {name: Rows(group, name, packing) for name in self.fields}
        boxes = []
        with contextlib.ExitStack() as stack:
            steps = self._steps(numbers, packing, max(1, packing.threads - 1))
            # One thread writes, as h5py serves only one, while the next frames are read.
            if packing.threads > 1:
                steps = stack.enter_context(prefetch(steps))
            for name, here, values, got, there in steps:
                if name == "positions":
                    boxes.append(_boxes(self._path, got["cells"], got["vectors"], got["periodic"]))
                if (name == "positions" or self.complete) and not there.all():
                    raise self.lacking(name, here[~there])
                series[name].add(values, there, got["steps"], got["times"])
                wrote(values.nbytes)
                if name == self.fields[-1]:
                    show(len(here))
        for name, one in series.items():
            if one.n_rows + len(one.rest) == 0:
                raise FormatError(
                    f"{self._path}: {in_words(numbers)} no {name}: write positions only"
                )
            one.close(series["positions"])
        return boxes

    def _steps(
        self, numbers: NDArray[np.int64], packing: "Packing", threads: int
    ) -> Iterator[_Step]:
        """Yield batches of fields in the order of the file; two buffers alternate."""
        size = packing.batch()
        step = min(size, packing.batch(STEP_BYTES))
        buffers = cycle([self.buffer(min(step, len(numbers))) for _ in range(2)])
        for begin in range(0, len(numbers), size):
            batch = numbers[begin : begin + size]
            for name, first in product(self.fields, range(0, len(batch), step)):
                here = batch[first : first + step]
                values = next(buffers)[: len(here)]
                yield name, here, values, *self.read(name, here, values, threads)


def check_level(compression: int | None) -> None:
    """Raise an error for invalid compression levels.

    Raises
    ------
    ValueError
        If it is neither None nor 1 to 9.
    """
    if compression is not None and not 1 <= compression <= 9:
        raise ValueError(f"compression must be 1 to 9 or None, not {compression}")


def check(
    parts: Sequence[tuple[Path, NDArray[np.int64]]], content: Content, threads: int | None
) -> None:
    """Raise an error for outputs that cannot be written, before any work; see `write_all`."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    h5py(f"{parts[0][0]} cannot be written")
    steps = content.reader.steps()
    for path, numbers in parts:
        if len(numbers) == 0:
            raise ValueError(f"{path}: there is no frame to write: choose some")
        goes_back = (np.diff(steps[numbers]) < 0).any()
        if goes_back and not content.may_go_back(numbers):
            raise OutputError(
                f"{path}: the steps of the frames go back, which H5MD does not allow: choose frames"
                " in ascending order, or a run without its repeated part (continuous=True)"
            )


def write_all(
    parts: Sequence[tuple[Path, NDArray[np.int64]]],
    content: Content,
    *,
    force: bool = True,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write several files in parallel; they get their names when all of them are complete.

    Parameters
    ----------
    parts
        Path and frame numbers of each output.
    content
        Content of all outputs.
    force
        Whether to replace existing files.
    threads, progress
        As for `write`.
    """
    check(parts, content, threads)
    threads = threads or _trajet.available_threads()
    n_parallel = min(threads, len(parts))
    with contextlib.ExitStack() as stack:
        owns = [stack.enter_context(output.replacing_file(path, force=force)) for path, _ in parts]
        work = [
            partial(_fill, content, own, *part, threads // n_parallel)
            for own, part in zip(owns, parts, strict=True)
        ]
        run_parallel(work, n_parallel, sum(len(numbers) for _, numbers in parts), progress)


def write_blocks(
    path: Path,
    blocks: Iterable[Block],
    *,
    compression: int | None,
    threads: int,
    force: bool,
) -> None:
    """Write blocks of frames, which get the name `path` when they are complete.

    Raises
    ------
    OutputError
        If the file cannot be written, steps go back, or frames differ in the fields they have.
    ValueError
        If the compression level is invalid.
    """
    check_level(compression)
    library = h5py(f"{path} cannot be written")
    series: dict[Field, Rows] = {}
    boxes: list[Boxes] = []
    last = None
    with (
        output.replacing_file(path, force=force) as own,
        output_errors(path),
        library.File(own, "w") as file,
    ):
        group = head(file, "N/A")
        for block in blocks:
            values = {name: getattr(block, name) for name in ELEMENTS}
            fields = [name for name in ELEMENTS if values[name] is not None]
            n_atoms = block.positions.shape[1]
            if not boxes:
                # The number of frames is not known yet.
                packing = Packing(
                    *default_chunk(n_atoms, 2**31), n_atoms, compression or 0, threads
                )
                series = {name: Rows(group, name, packing) for name in fields}
            if fields != [*series]:
                raise OutputError(
                    f"{path}: some frames have {' and '.join(fields)}, and those before them"
                    f" {' and '.join(series)}: write frames that have the same"
                )
            steps = block.steps if last is None else np.append(last, block.steps)
            if (np.diff(steps) < 0).any():
                raise OutputError(
                    f"{path}: the steps of the frames go back, which H5MD does not allow: give"
                    " frames in ascending order, or steps=..."
                )
            last = block.steps[-1:]
            everywhere = np.ones(len(block.positions), np.bool_)
            for name, rows in series.items():
                rows.add(values[name], everywhere, block.steps, block.times)
            vectors = None if block.vectors is None else block.vectors.reshape(-1, 9)
            boxes.append(_boxes(path, block.cells, vectors, block.periodic))
        for rows in series.values():
            rows.close(series["positions"])
        if boxes:
            write_box(group, boxes, path)


def _boxes(
    path: Path,
    cells: NDArray[np.float64],
    vectors: NDArray[np.float64] | None,
    periodic: NDArray[np.bool_] | None,
) -> Boxes:
    """Return boxes, with vectors as `box_vectors` makes them; without `periodic`, all are periodic.

    Raises
    ------
    OutputError
        If a cell was never written, although the file has room for it.
    """
    unwritten = np.isnan(cells[:, 0]) & ~np.isnan(cells[:, 3])
    if unwritten.any():
        raise OutputError(
            f"{path}: the unit cells of {unwritten.sum()} frames were never written (cell_lengths"
            " or cell_angles hold NetCDF's fill value): leave such frames out"
        )
    everywhere = np.ones((len(cells), 3), np.bool_)
    return Boxes(box_vectors(cells, vectors), everywhere if periodic is None else periodic)


def write_checked(
    path: Path, numbers: NDArray[np.int64], content: Content, threads: int, show: Show
) -> None:
    """Write a file whose content was checked before; `show` is as for `Content.fill`."""
    with output.replacing_file(path) as own:
        _fill(content, own, path, numbers, threads, show)


def _fill(
    content: Content,
    own: Path,
    path: Path,
    numbers: NDArray[np.int64],
    threads: int,
    show: Show,
) -> None:
    """Write the temporary file `own`, which becomes `path`."""
    with output_errors(path):
        content.fill(own, numbers, threads, show)


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Raise errors of the operating system as OutputErrors that name `path`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        # h5py raises either type if a file cannot be written or closed.
        of_system = isinstance(error, OSError) or "errno = " in str(error)
        if isinstance(error, TrajetError) or not of_system:
            raise
        raise output.refused(path, error) from error


def in_words(frames: NDArray[np.int64]) -> str:
    """Return a text such as "frames 3 to 7, 9 and 12 others have"."""
    if len(frames) == 1:
        return f"frame {frames[0]} has"
    runs = np.split(frames, np.flatnonzero(np.diff(frames) != 1) + 1)
    named = [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs[:_RUNS]]
    more = sum(map(len, runs[_RUNS:]))
    return f"frames {', '.join(named)}{f' and {more} others' if more else ''} have"


def _there(values: NDArray[np.float32], n_empty: int) -> NDArray[np.bool_]:
    """Return which frames have vectors; the `n_empty` others are all NaN."""
    if not n_empty:
        return np.ones(len(values), np.bool_)
    return np.asarray(~np.isnan(values).all(axis=(1, 2)))
