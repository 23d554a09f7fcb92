"""TRR files as bytes, by a writer that shares no code with trajet: frames may lack any part.

Layout of a frame (XDR, big endian; GROMACS `trrio.cpp`): 1993, 13, 12, "GMX_trn_file"; the bytes of
ten parts, of which box (third), positions, velocities and forces (the last three) are used here;
atoms, step, one more word; time and λ; then the parts. nm and ps; reals are floats or doubles.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def frame_bytes(
    positions: np.ndarray | None,
    *,
    n_atoms: int,
    step: int,
    time: float,
    box: np.ndarray | None = None,
    velocities: np.ndarray | None = None,
    double: bool = False,
) -> bytes:
    """Return one frame; what is None is not in it."""
    real = ">f8" if double else ">f4"
    box_part, x_part, v_part = (
        b"" if part is None else np.asarray(part).astype(real).tobytes()
        for part in (box, positions, velocities)
    )
    sizes = [0, 0, len(box_part), 0, 0, 0, 0, len(x_part), len(v_part), 0]
    head = struct.pack(">3i12s", 1993, 13, 12, b"GMX_trn_file")
    head += struct.pack(">13i", *sizes, n_atoms, step, 0)
    head += np.array([time, 0.0]).astype(real).tobytes()
    return head + box_part + x_part + v_part


def write_trr(
    path: Path,
    coordinates: Sequence[np.ndarray | None] | np.ndarray,
    *,
    boxes: Sequence[np.ndarray | None] | None = None,
    double: bool = False,
    picoseconds: float = 0.5,
) -> Path:
    """Write frames (nm), each with its own box or none; one that is None has velocities only."""
    n_atoms = next(len(frame) for frame in coordinates if frame is not None)
    data = b""
    for k, frame in enumerate(coordinates):
        data += frame_bytes(
            frame,
            n_atoms=n_atoms,
            step=10 * k,
            time=picoseconds * k,
            box=None if boxes is None else boxes[k],
            velocities=np.zeros((n_atoms, 3)) if frame is None else None,
            double=double,
        )
    path.write_bytes(data)
    return path
