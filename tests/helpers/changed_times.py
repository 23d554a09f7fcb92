"""Trajectories of 100 frames whose times a test changes in the file, behind a kept index."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trajet as tj

from helpers import xtc_bytes
from helpers.made_files import write_with_mdanalysis
from helpers.trr_bytes import write_trr

# Frames whose headers are compared when a kept index is loaded.
SAMPLED = {99 * k // 8 for k in range(9)}
# A frame that is none of these, in the part of the file that no digest includes.
FRAME = 52


def _xtc(path: Path) -> Path:
    times = np.arange(100.0).tolist()
    xtc_bytes.write_xtc(path, np.random.default_rng(1).uniform(0, 3, (100, 9, 3)), times=times)
    return path


def _trr(path: Path) -> Path:
    return write_trr(path, np.random.default_rng(1).uniform(0, 3, (100, 9, 3)), picoseconds=1.0)


def _ncdf(path: Path) -> Path:
    return write_with_mdanalysis(path, 9, 100)


WRITERS: dict[str, Callable[[Path], Path]] = {".xtc": _xtc, ".trr": _trr, ".nc": _ncdf}


def sidecar_of(path: Path) -> Path:
    """Return the path of the index of a trajectory."""
    return path.with_name(f".{path.name}.trajet-index")


def give_time(path: Path, frame: int, time: float) -> None:
    """Change the time in the header of a frame without the index."""
    assert frame not in SAMPLED
    at = int(tj.open(None, path).source.reader.offsets()[frame])
    data = bytearray(path.read_bytes())
    if path.suffix == ".xtc":
        at += xtc_bytes.TIME
        old = struct.unpack_from(">f", data, at)[0]
    elif path.suffix == ".trr":
        at += 24 + 13 * 4
        old = struct.unpack_from(">f", data, at)[0]
    else:
        old = 2.5 * frame
        at = data.index(struct.pack(">f", old), at)
    assert old == tj.open(None, path).source.reader.times()[frame]
    data[at : at + 4] = struct.pack(">f", time)
    path.write_bytes(data)
