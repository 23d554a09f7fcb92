"""Finds the borders of frames in a file by walkers that share no code with trajet."""

import struct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from helpers import xtc_bytes

# The number of records in a header that was never completed.
STREAMING = 0xFFFFFFFF


@dataclass(frozen=True)
class Borders:
    """Borders of the frames of a file."""

    # The first byte of every frame, and the end of the last one.
    at: list[int]
    # Frames by the header; None if the format has no such number.
    claimed: int | None = None

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return len(self.at) - 1

    def whole(self, cut: int) -> int:
        """Return the number of whole frames in a file that is cut at this byte."""
        return max(0, bisect_right(self.at, cut) - 1)


def xtc(data: bytes) -> Borders:
    """Walk from header to header."""
    return Borders([frame.start for frame in xtc_bytes.walk(data)] + [len(data)])


def trr(data: bytes) -> Borders:
    """Add up the sizes of the parts."""
    at = [0]
    while at[-1] < len(data):
        magic, _, _, name = struct.unpack_from(">3i12s", data, at[-1])
        assert (magic, name) == (1993, b"GMX_trn_file")
        sizes = struct.unpack_from(">10i", data, at[-1] + 24)
        (n_atoms,) = struct.unpack_from(">i", data, at[-1] + 64)
        numbers = [0, 0, 9, 9, 9, 0, 0, 3 * n_atoms, 3 * n_atoms, 3 * n_atoms]
        real = next(size // n for size, n in zip(sizes, numbers, strict=True) if size)
        at.append(at[-1] + 76 + 2 * real + sum(sizes))
    return Borders(at)


def dcd(data: bytes) -> Borders:
    """Compute the size of a frame from the header."""
    order = "<" if data[:4] == struct.pack("<i", 84) else ">"

    def word(at: int) -> int:
        return struct.unpack_from(f"{order}i", data, at)[0]

    control = [word(8 + 4 * k) for k in range(20)]
    titles = 92
    atoms = titles + 8 + 80 * word(titles + 4) + 4
    n_atoms, n_fixed = word(atoms + 4), control[8]
    begin = atoms + 12 + (4 * (n_atoms - n_fixed) + 8 if n_fixed else 0)
    charmm = control[19] != 0
    cell = 56 if charmm and control[10] else 0
    axes = 4 if charmm and control[11] else 3
    at = [begin, begin + cell + axes * (4 * n_atoms + 8)]
    while at[-1] < len(data):
        at.append(at[-1] + cell + axes * (4 * (n_atoms - n_fixed) + 8))
    return Borders(at, claimed=control[0])


def ncdf(data: bytes) -> Borders:
    """Compute the size of a record from the header."""
    at = 4

    def words(count: int) -> tuple[int, ...]:
        nonlocal at
        at += 4 * count
        return struct.unpack_from(f">{count}I", data, at - 4 * count)

    def skip_text() -> None:
        nonlocal at
        (n,) = words(1)
        at += -(-n // 4) * 4

    def skip_attributes() -> None:
        nonlocal at
        for _ in range(words(2)[1]):
            skip_text()
            kind, n = words(2)
            at += -(-n * SIZES[kind] // 4) * 4

    (claimed,) = words(1)
    lengths = []
    for _ in range(words(2)[1]):
        skip_text()
        lengths += words(1)
    skip_attributes()
    begins, record = [], 0
    for _ in range(words(2)[1]):
        skip_text()
        dimensions = words(words(1)[0])
        skip_attributes()
        kind, _ = words(2)
        begin = words(1)[0] if data[3] == 1 else words(2)[1]
        if dimensions and lengths[dimensions[0]] == 0:
            begins.append(begin)
            record += -(-SIZES[kind] * prod(lengths[d] for d in dimensions[1:]) // 4) * 4
    first = min(begins)
    n = (len(data) - first) // record if claimed == STREAMING else claimed
    return Borders([first + k * record for k in range(n + 1)], claimed=claimed)


def pdb(data: bytes) -> Borders:
    """Find models that MODEL and ENDMDL enclose; CRYST1 stands before all of them or behind."""
    lines = data.splitlines(keepends=True)
    starts = np.cumsum([0, *map(len, lines)]).tolist()

    def places(record: bytes) -> list[int]:
        return [k for k, line in enumerate(lines) if line.startswith(record)]

    models, cells = places(b"MODEL "), places(b"CRYST1")
    if cells and cells[0] > places(b"ATOM")[0]:
        at = [starts[k] for k in models[1:]]
    else:
        # Some models end where the next one begins.
        ends = [k + 1 for k in places(b"ENDMDL")]
        pairs = pairwise(models)
        at = [starts[min((k for k in ends if last < k < m), default=m)] for last, m in pairs]
    return Borders([0, *at, len(data)])


# Bytes of a value of each type of NetCDF.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}
