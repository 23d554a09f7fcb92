"""Make long XTC files: some hundred encoded frames, repeated with a step and a time of their own.

Encoding 30 GB would take an hour. The bytes of a frame do not depend on its step and time, which
have fixed places in its header, so that repeating costs no more than writing.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bytes from the begin of a frame to its step, which the time follows.
STEP_AT = 8
# Bytes from the begin of a frame to the length of its compressed positions, which they follow.
LENGTH_AT = 88
# Bytes that must remain free.
MARGIN = 1_000_000_000
# Bytes that are written before the disk has to have them: pages that wait for the disk are few.
SYNCED = 256 << 20
# Bytes of a write, at least.
WRITTEN = 16 << 20


class NoRoomError(Exception):
    """The disk has no room for a file."""


@dataclass(frozen=True)
class Encoded:
    """Distinct frames of an XTC file: their bytes, and where each begins, `(n + 1,)`."""

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]

    @property
    def n_frames(self) -> int:
        """The number of distinct frames."""
        return len(self.begins) - 1

    def offsets(self, n_frames: int) -> NDArray[np.int64]:
        """Return where the first `n_frames` frames of a file that repeats these begin, bytes."""
        rounds, places = np.divmod(np.arange(n_frames, dtype=np.int64), self.n_frames)
        return rounds * len(self.data) + self.begins[places]

    def size(self, n_frames: int) -> int:
        """Return the bytes of a file that repeats these frames until it has `n_frames`."""
        rounds, rest = divmod(n_frames, self.n_frames)
        return rounds * len(self.data) + int(self.begins[rest])


def encode(universe: Any, frames: Iterator[NDArray[np.float32]]) -> Encoded:
    """Encode positions (Å) with MDAnalysis, in the box of the universe and to 0.01 Å."""
    import MDAnalysis

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of universes without a box
        path = Path(folder) / "distinct.xtc"
        with MDAnalysis.Writer(str(path), universe.atoms.n_atoms, precision=3) as writer:
            for positions in frames:
                universe.atoms.positions = positions
                writer.write(universe.atoms)
        data = np.fromfile(path, np.uint8)
    begins = [0]
    while begins[-1] < len(data):
        length = int(data[begins[-1] + LENGTH_AT :][:4].view(">u4")[0])
        begins.append(begins[-1] + LENGTH_AT + 4 + -(-length // 4) * 4)
    return Encoded(data, np.array(begins, np.int64))


def require_room(folder: Path, name: str, size: int) -> None:
    """Raise `NoRoomError` unless the disk of a folder has room for a file of `size` bytes."""
    free = shutil.disk_usage(folder).free
    if free < size + MARGIN:
        raise NoRoomError(
            f"{folder / name}: the disk has {free / 1e9:.1f} GB free, and the file takes"
            f" {size / 1e9:.1f} GB, of which {MARGIN / 1e9:.0f} GB must remain: name another folder"
            " with --data, or make a shorter file with --scale"
        )


def write_repeated(path: Path, encoded: Encoded, n_frames: int, time_step: float) -> None:
    """Write `n_frames` frames, the k-th with step k at the time k `time_step` (ps).

    The file gets its name when it is complete and on the disk.

    Raises
    ------
    NoRoomError
        If the disk has no room for it. Nothing is written.
    """
    require_room(path.parent, path.name, encoded.size(n_frames))
    beside = path.with_name(f".{os.getpid()}.tmp.{path.name}")
    try:
        with beside.open("wb") as stream:
            unsynced = 0
            for piece in _pieces(encoded, n_frames, time_step):
                stream.write(piece)
                unsynced += len(piece)
                if unsynced >= SYNCED:
                    _to_disk(stream.fileno())
                    unsynced = 0
            stream.flush()
            _to_disk(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _pieces(encoded: Encoded, n_frames: int, time_step: float) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of the file, at least `WRITTEN` at a time, in memory that is used again."""
    times = max(1, -(-WRITTEN // len(encoded.data)))
    size = times * encoded.n_frames
    begins = encoded.offsets(size)
    data = np.tile(encoded.data, times)
    for first in range(0, n_frames, size):
        count = min(size, n_frames - first)
        numbers = np.arange(first, first + count)
        fields = np.empty((count, 2), ">u4")
        fields[:, 0] = numbers
        fields[:, 1] = (numbers * time_step).astype(">f4").view(">u4")
        places = begins[:count, None] + (STEP_AT + np.arange(8))
        data[places] = fields.view(np.uint8).reshape(count, 8)
        yield data[: encoded.size(count)]


def _to_disk(descriptor: int) -> None:
    """Wait for the disk, and drop the pages of the file."""
    os.fdatasync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
