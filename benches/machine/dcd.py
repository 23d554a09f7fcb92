"""DCD files whose frames are memory-mapped arrays."""

import os
from typing import IO

import numpy as np
from numpy.typing import NDArray


def create(
    file: IO[bytes], n_frames: int, n_atoms: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Create a DCD file whose coordinates and cells are zeros.

    Returns
    -------
    axes
        `(n_frames, 3, n_atoms)`, float32, Å, mapped.
    cells
        `(n_frames, 6)`, float64, mapped: a, γ, b, β, α, c (Å, degrees); zeros for no cell.

    Raises
    ------
    OSError
        If there is no room for it.
    """

    def record(*values: bytes) -> bytes:
        body = b"".join(values)
        length = np.int32(len(body)).tobytes()
        return length + body + length

    def words(*values: int) -> bytes:
        return np.array(values, "<i4").tobytes()

    step = np.float32(1).tobytes()
    head = words(n_frames, 0, 1, n_frames, *[0] * 5)
    header = record(b"CORD", head, step, words(1, *[0] * 8, 24))
    title = record(words(1), b"bench".ljust(80))
    file.write(header + title + record(words(n_atoms)))
    file.flush()
    begin = file.tell()
    frame = np.dtype([("cell", _record("<f8", 6)), ("axes", _record("<f4", n_atoms), (3,))])
    # A write to mapped memory cannot report that the disk is full.
    os.posix_fallocate(file.fileno(), begin, n_frames * frame.itemsize)
    frames: np.ndarray = np.memmap(file, frame, "r+", begin, (n_frames,))
    for name, size in (("cell", 48), ("axes", 4 * n_atoms)):
        frames[name]["begin"] = frames[name]["end"] = size
    return frames["axes"]["values"], frames["cell"]["values"]


def _record(kind: str, count: int) -> np.dtype:
    """Return the dtype of a Fortran record: numbers between two markers of its length."""
    return np.dtype([("begin", "<i4"), ("values", kind, (count,)), ("end", "<i4")])
