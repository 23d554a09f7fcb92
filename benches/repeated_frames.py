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
from host import drop_pages
from numpy.typing import NDArray

# Offsets in a frame: of its step, which the time follows, and of the length of its compressed
# positions, which they follow.
STEP_AT, LENGTH_AT = 8, 88
MARGIN = 1_000_000_000  # bytes that must remain free
# Bytes of a write, at least, and bytes that are written before the disk has to have them.
WRITTEN, SYNCED = 16 << 20, 256 << 20


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


def write_repeated(path: Path, encoded: Encoded, n_frames: int, time_step: float) -> None:
    """Write `n_frames` frames, the k-th with step k at the time k `time_step` (ps).

    The file gets its name when it is complete and on the disk. Without room for it, `NoRoomError`
    is raised and nothing is written.
    """
    free, size = shutil.disk_usage(path.parent).free, encoded.size(n_frames)
    if free < size + MARGIN:
        raise NoRoomError(
            f"{path}: the disk has {free / 1e9:.1f} GB free, the file takes {size / 1e9:.1f} GB,"
            f" and {MARGIN / 1e9:.0f} GB must remain: name another folder with --data, or make a"
            " shorter file with --scale"
        )
    beside = path.with_name(f".{os.getpid()}.tmp.{path.name}")
    try:
        with beside.open("wb") as stream:
            unsynced = 0
            for piece in _pieces(encoded, n_frames, time_step):
                stream.write(piece.data)
                unsynced += len(piece)
                if unsynced >= SYNCED:
                    stream.flush()
                    drop_pages(beside)
                    unsynced = 0
        drop_pages(beside)
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
