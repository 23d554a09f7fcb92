"""TRR files as bytes, by a writer that shares no code with trajet: frames may lack any part.

Layout of a frame (XDR, big endian; GROMACS `trrio.cpp`): 1993, 13, 12, "GMX_trn_file"; the bytes of
ten parts, of which box and virial (third and fourth), positions, velocities and forces (the last
three) are used here; atoms, step, one more word; time and λ; then the parts. nm and ps; reals are
floats or doubles.
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
    forces: np.ndarray | None = None,
    virial: np.ndarray | None = None,
    lambda_: float = 0.0,
    double: bool = False,
) -> bytes:
    """Return one frame; parts that are None are absent."""
    real = ">f8" if double else ">f4"
    given = (box, virial, None, positions, velocities, forces)
    parts = [b"" if part is None else np.asarray(part).astype(real).tobytes() for part in given]
    sizes = [0, 0, *map(len, parts[:3]), 0, 0, *map(len, parts[3:])]
    head = struct.pack(">3i12s", 1993, 13, 12, b"GMX_trn_file")
    head += struct.pack(">13i", *sizes, n_atoms, step, 0)
    head += np.array([time, lambda_]).astype(real).tobytes()
    return head + b"".join(parts)


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


def read_trr(path: Path) -> list[dict[str, np.ndarray | None]]:
    """Return `box, virial, positions, velocities, forces` of each frame; None where it lacks one.

    MDAnalysis gives a frame without a box that of the frame before.
    """
    data, at, frames = path.read_bytes(), 0, []
    while at < len(data):
        *sizes, n_atoms, _, _ = struct.unpack_from(">13i", data, at + 24)
        n_reals = 9 if sizes[2] else 3 * n_atoms
        real = next(size for size in (sizes[2], *sizes[7:]) if size) // n_reals
        at += 76 + 2 * real
        frame: dict[str, np.ndarray | None] = {}
        names = ("box", "virial", "pressure", "", "", "positions", "velocities", "forces")
        for name, size in zip(names, sizes[2:], strict=True):
            part = np.frombuffer(data, f">f{real}", size // real, at).reshape(-1, 3)
            frame[name] = part if size else None
            at += size
        frames.append(frame)
    return frames
