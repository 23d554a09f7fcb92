"""XTC files as bytes, read by a walker that shares no code with trajet.

Layout of a frame (XDR, big endian; GROMACS `xtcio.cpp`, `xdrf`):
magic i32, natoms i32, step i32, time f32, box 9 f32 (52 bytes), natoms i32 (56 bytes), then
up to 9 atoms: 3 f32 each; above: precision f32, minint 3 i32, maxint 3 i32, smallidx i32,
byte count (i32 for magic 1995, u64 for magic 2023), the bits, padded to a multiple of 4.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from MDAnalysis.lib.formats.libmdaxdr import XTCFile

MAGIC_1995 = 1995
MAGIC_2023 = 2023
PLAIN_ATOMS = 9

# Byte offsets of the fields inside a frame.
NATOMS = 4
STEP = 8
TIME = 12
BOX = 16
NATOMS_AGAIN = 52
PRECISION = 56
MININT = 60
MAXINT = 72
SMALLIDX = 84
BYTE_COUNT = 88


@dataclass(frozen=True)
class Frame:
    """The position of one frame in its file."""

    start: int
    end: int
    natoms: int


def walk(data: bytes) -> list[Frame]:
    """List the frames of a whole file; a malformed frame is an AssertionError."""
    frames = []
    start = 0
    while start < len(data):
        magic, natoms = struct.unpack_from(">ii", data, start)
        assert magic in (MAGIC_1995, MAGIC_2023), f"magic {magic} at byte {start}"
        if natoms <= PLAIN_ATOMS:
            end = start + PRECISION + 12 * natoms
        else:
            kind, width = (">i", 4) if magic == MAGIC_1995 else (">Q", 8)
            (n_bytes,) = struct.unpack_from(kind, data, start + BYTE_COUNT)
            end = start + BYTE_COUNT + width + (n_bytes + 3) // 4 * 4
        assert end <= len(data), f"frame at byte {start} is cut"
        frames.append(Frame(start, end, natoms))
        start = end
    return frames


def with_magic_2023(frame: bytes) -> bytes:
    """Rewrite one frame of magic 1995 as magic 2023 (byte count of 64 bits)."""
    magic, natoms = struct.unpack_from(">ii", frame)
    assert magic == MAGIC_1995
    head = struct.pack(">i", MAGIC_2023)
    if natoms <= PLAIN_ATOMS:
        return head + frame[NATOMS:]
    (n_bytes,) = struct.unpack_from(">i", frame, BYTE_COUNT)
    body = frame[BYTE_COUNT + 4 :]
    return head + frame[NATOMS:BYTE_COUNT] + struct.pack(">Q", n_bytes) + body


def pieces(data: bytes) -> list[bytes]:
    """Split a file into its frames, each as bytes."""
    return [data[f.start : f.end] for f in walk(data)]


def with_field(data: bytes, position: int, value: int) -> bytes:
    """Replace the 32-bit word at a byte position."""
    return data[:position] + struct.pack(">I", value & 0xFFFFFFFF) + data[position + 4 :]


def repeated(data: bytes, n_frames: int, step: float = 1.0) -> bytes:
    """Return so many frames, again and again those of a file, with steps and times that go on."""
    frames = pieces(data)
    clocks = (struct.pack(">if", k, k * step) for k in range(n_frames))
    whole = (frames[k % len(frames)] for k in range(n_frames))
    return b"".join(f[:STEP] + clock + f[BOX:] for f, clock in zip(whole, clocks, strict=True))


def write_xtc(
    path: Path,
    coordinates: np.ndarray,
    *,
    precision: float = 1000.0,
    box: np.ndarray | None = None,
    steps: list[int] | None = None,
    times: list[float] | None = None,
) -> Path:
    """Write coordinates (n_frames, n_atoms, 3) in nm with MDAnalysis' libmdaxdr."""
    box = np.zeros((3, 3), np.float32) if box is None else np.asarray(box, np.float32)
    with XTCFile(str(path), "w") as file:
        for k, frame in enumerate(coordinates):
            step = 10 * k if steps is None else steps[k]
            time = 0.5 * k if times is None else times[k]
            file.write(np.ascontiguousarray(frame, np.float32), box, step, time, precision)
    return path
