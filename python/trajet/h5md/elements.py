"""The elements of H5MD files that are written: chunks of vectors, steps, times and boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import MESSAGES_ATTRIBUTE, OutputError
from trajet.h5md.direct_chunks import early_allocation
from trajet.messages import Message

if TYPE_CHECKING:
    from h5py import Dataset, File, Group
    from numpy.typing import DTypeLike

# The particles group.
GROUP = "particles/trajectory"
# Largest uncompressed size of a chunk that small frames share, bytes. Larger chunks compress a
# tenth better, but MDAnalysis decompresses a whole chunk for every frame.
_SHARED_CHUNK_BYTES = 2**16
# Larger frames are split into chunks: to read a few atoms, whole chunks are decompressed.
_WHOLE_FRAME_BYTES = 2**18
# Least and most consecutive bytes of one field in the file.
_BATCH_BYTES = 2**23
_MAX_BATCH_BYTES = 2**26
# A field of vectors.
Field: TypeAlias = Literal["positions", "velocities", "forces"]
# Elements of H5MD and their units.
ELEMENTS: dict[Field, tuple[str, str]] = {
    "positions": ("position", "Angstrom"),
    "velocities": ("velocity", "Angstrom ps-1"),
    "forces": ("force", "kJ mol-1 Angstrom-1"),
}


def default_chunk(n_atoms: int, n_frames: int) -> tuple[int, int]:
    """Return frames and atoms of a chunk: several small frames, one, or a part of a large one."""
    frame = 12 * n_atoms
    if frame <= _WHOLE_FRAME_BYTES:
        return max(1, min(n_frames, _SHARED_CHUNK_BYTES // frame)), n_atoms
    parts = -(-frame // _WHOLE_FRAME_BYTES)
    return 1, -(-n_atoms // parts)


# First frame and atom of a chunk, filter mask, bytes.
Packed: TypeAlias = tuple[int, int, int, bytes | memoryview]


@dataclass(frozen=True)
class Packing:
    """Chunk layout: frames and atoms of a chunk, atoms of a frame, gzip level and threads."""

    frames: int
    atoms: int
    n_atoms: int
    level: int
    threads: int

    def __post_init__(self) -> None:
        if self.frames < 1 or self.atoms < 1 or 12 * self.frames * self.atoms >= 2**32:
            raise ValueError(
                "a chunk must have frames and atoms and less than 4 GiB, not"
                f" {self.frames} x {self.atoms}"
            )

    @property
    def chunk(self) -> tuple[int, int]:
        """Frames and atoms of a chunk, at most the atoms of a frame."""
        return self.frames, min(self.atoms, self.n_atoms)

    @property
    def is_plain(self) -> bool:
        """Whether frames are not compressed, and each consists of few contiguous pieces."""
        return self.level == 0 and (self.frames == 1 or self.atoms >= self.n_atoms)

    def batch(self, size: int = _BATCH_BYTES) -> int:
        """Return a number of frames, in whole chunks of `size` bytes, that keeps threads busy."""
        row = 12 * self.n_atoms * self.frames
        rows = max(4 * self.threads // -(-self.n_atoms // self.atoms), size // row, 1)
        return self.frames * min(rows, max(1, _MAX_BATCH_BYTES // row))

    def pack(self, values: NDArray[np.float32]) -> Sequence[Packed]:
        """Return the chunks of frames."""
        if self.level == 0 and self.atoms >= self.n_atoms:
            return self._as_they_stand(values)
        return _trajet.pack_chunks(values, self.chunk, level=self.level, threads=self.threads)

    def _as_they_stand(self, values: NDArray[np.float32]) -> list[Packed]:
        """Return uncompressed chunks of whole frames; the last one is padded with zeros."""
        if lacking := -len(values) % self.frames:
            values = np.concatenate((values, np.zeros((lacking, *values.shape[1:]), np.float32)))
        rows = values.astype("<f4", copy=False).reshape(len(values) // self.frames, -1)
        return [(k * self.frames, 0, 0, row.data) for k, row in enumerate(rows.view(np.uint8))]


def create(
    group: "Group",
    name: Field,
    n_frames: int,
    packing: Packing,
    *,
    early: bool = False,
    unit: str | None = None,
    dtype: "DTypeLike" = "<f4",
) -> "Dataset":
    """Create an element of H5MD, and return the resizable dataset of its vectors.

    With `early` all chunks are allocated at once, without writing to them.
    """
    element, usual = ELEMENTS[name]
    packed = {"compression": "gzip", "compression_opts": packing.level, "shuffle": True}
    plain = {"dcpl": early_allocation()} if early else {}
    values = group.create_dataset(
        f"{element}/value",
        shape=(n_frames, packing.n_atoms, 3),
        maxshape=(None, packing.n_atoms, 3),
        chunks=(*packing.chunk, 3),
        dtype=dtype,
        **(packed if packing.level else plain),
    )
    values.attrs["unit"] = unit or usual
    return values


def write_rows(
    element: "Group", steps: NDArray[np.int64], times: NDArray[np.float64], unit: str | None = "ps"
) -> None:
    """Write the steps of an element, and its times if a unit is given."""
    element.create_dataset("step", data=steps)
    if unit is not None:
        element.create_dataset("time", data=times).attrs["unit"] = unit


def share_rows(element: "Group", other: "Group") -> None:
    """Link an element to the steps and times of another, as H5MD specifies."""
    for name in ("step", "time"):
        if name in other:
            element[name] = other[name]


class Rows:
    """A growing dataset of vectors; HDF5 compresses those of double precision."""

    def __init__(
        self,
        group: "Group",
        name: Field,
        packing: Packing,
        *,
        unit: str | None = None,
        dtype: "DTypeLike" = np.float32,
        stored: str | None = None,
        time_unit: str | None = "ps",
    ) -> None:
        self.packing = packing
        self.dtype = np.dtype(dtype)
        self.unit, self.time_unit = unit, time_unit
        self.stored = np.dtype(stored or self.dtype.newbyteorder("<"))
        self.values = create(group, name, 0, packing, unit=unit, dtype=self.stored)
        self.group = self.values.parent
        self.name = ELEMENTS[name][0]
        self.n_rows = 0
        self.rest = np.empty((0, packing.n_atoms, 3), self.dtype)
        self.steps: list[NDArray[np.int64]] = []
        self.times: list[NDArray[np.float64]] = []

    def add(
        self,
        values: NDArray[np.floating],
        there: NDArray[np.bool_],
        steps: NDArray[np.int64],
        times: NDArray[np.float64],
    ) -> None:
        """Append the frames that have vectors."""
        self.steps.append(steps[there])
        self.times.append(times[there])
        self.add_values(values if there.all() else values[there])

    def add_values(self, values: NDArray[np.floating]) -> None:
        """Append vectors of frames; the caller writes their steps and times."""
        if len(self.rest):
            values = np.concatenate((self.rest, values))
        whole = len(values) // self.packing.frames * self.packing.frames
        self._write(values[:whole])
        self.rest = values[whole:].copy()

    def _write(self, values: NDArray[np.floating]) -> None:
        """Compress frames and write their chunks."""
        if not len(values):
            return
        # `Dataset.resize` takes eight times as long.
        self.values.id.set_extent((self.n_rows + len(values), *values.shape[1:]))
        if self.stored != np.dtype("<f4"):
            self.values[self.n_rows :] = values
            self.n_rows += len(values)
            return
        for frame, atom, skipped, packed in self.packing.pack(values):
            self.values.id.write_direct_chunk((self.n_rows + frame, atom, 0), packed, skipped)
        self.n_rows += len(values)

    def flush(self) -> None:
        """Write the remaining frames."""
        self._write(self.rest)
        self.rest = self.rest[:0]

    def close(self, positions: "Rows") -> None:
        """Write the remaining frames, and the steps and times of all."""
        self.flush()
        steps, times = np.concatenate(self.steps), np.concatenate(self.times)
        if self is not positions and self.n_rows == positions.n_rows:
            share_rows(self.group, positions.group)
            return
        if self is not positions and not (np.diff(positions.group["step"][()]) > 0).all():
            raise ValueError(
                f"some frames have no {self.name}, and some steps are equal, so that rows cannot be"
                f" matched to frames: choose frames that all have {self.name}"
            )
        write_rows(self.group, steps, times, self.time_unit)


def keep_messages(file: "File", messages: Sequence[Message]) -> None:
    """Write messages on the source to the file, if there are any."""
    if messages:
        lines = [f"{message.code.text}: {message}" for message in messages]
        file.attrs[MESSAGES_ATTRIBUTE] = "\n".join(lines)


def head(file: "File", author: str, messages: Sequence[Message] = ()) -> "Group":
    """Write the metadata of the file and its messages; return the particles group."""
    keep_messages(file, messages)
    head = file.create_group("h5md")
    head.attrs["version"] = np.array([1, 1], np.int32)
    head.create_group("author").attrs["name"] = author
    creator = head.create_group("creator")
    creator.attrs["name"] = "trajet"
    creator.attrs["version"] = _trajet.__version__
    return file.create_group(GROUP)


class Boxes(NamedTuple):
    """Boxes of frames."""

    # `(n, 3, 3)`, Å; NaN in frames without a box.
    vectors: NDArray[np.float64]
    # `(n, 3)`, whether each box is periodic along its vectors.
    periodic: NDArray[np.bool_]


def write_box(group: "Group", parts: Sequence[Boxes], path: Path) -> None:
    """Write boxes, one per frame; those of frames without are zeros. `path` is for errors.

    Raises
    ------
    OutputError
        If they have several boundaries, which H5MD states once for all frames.
    """
    vectors, periodic = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    box = group.create_group("box")
    box.attrs["dimension"] = 3
    absent = np.isnan(vectors).any(axis=(1, 2))
    there = np.flatnonzero(~absent)
    first = periodic[there[0]] if len(there) else np.zeros(3, np.bool_)
    if (others := (periodic[there] != first).any(axis=1)).any():
        raise OutputError(
            f"{path}: frame {there[others.argmax()]} of the output has other boundaries than frame"
            f" {there[0]}, which H5MD states once for all frames: write frames of the same"
            " boundaries"
        )
    box.attrs["boundary"] = ["periodic" if is_so else "none" for is_so in first]
    if absent.all():
        return
    vectors[absent] = 0
    edges = box.create_group("edges")
    edges.create_dataset("value", data=vectors).attrs["unit"] = "Angstrom"
    share_rows(edges, group["position"])
