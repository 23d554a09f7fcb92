"""A box that is not finite is damage, in every format; zeros mean no box."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.made_files import random_vectors, write_trr, write_with_mdanalysis
from helpers.made_hdf5 import write_h5md
from helpers.messages import raises

N = 12


def xtc(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for y of b."""
    write_with_mdanalysis(path, N, 3)
    data = bytearray(path.read_bytes())
    at = [k for k in range(0, len(data), 4) if data[k : k + 8] == struct.pack(">2i", 1995, N)]
    data[at[1] + 32 : at[1] + 36] = struct.pack(">f", value)
    path.write_bytes(data)


def trr(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for z of a."""
    write_trr(path, ["bx", "bx", "bx"], N, "f4")
    data = bytearray(path.read_bytes())
    at = len(data) // 3 + 24 + 60 + 8
    data[at + 8 : at + 12] = struct.pack(">f", value)
    path.write_bytes(data)


def h5md(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for y of b."""
    edges = np.tile(np.diag([3.0, 4, 5]), (3, 1, 1))
    edges[1, 1, 1] = value
    write_h5md(path, random_vectors(3, N), edges=edges)


@pytest.mark.parametrize("write", [xtc, trr, h5md])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_box_that_is_not_finite_is_an_error(
    tmp_path: Path, write: Callable[[Path, float], None], value: float
) -> None:
    """The error names the frame in reading, in analyses and in copies of the bytes."""
    path = tmp_path / f"run.{write.__name__}"
    write(path, value)
    traj = tj.open(None, path)
    assert np.isfinite(traj.read([0, 2]).cells).all()
    with raises(tj.FormatError):
        traj.read()
    with raises(tj.FormatError):
        tj.distances(traj.select([0]), traj.select([1]))
    for ending in {path.suffix, ".trr"}:
        with raises(tj.FormatError):
            tj.convert(traj, tmp_path / f"copy{ending}")
        assert not (tmp_path / f"copy{ending}").exists()
    assert tj.convert(traj, tmp_path / f"copy{path.suffix}", frames=[0, 2]).n_frames == 2


@pytest.mark.parametrize("write", [xtc, trr, h5md])
def test_zero_vectors_are_no_box(tmp_path: Path, write: Callable[[Path, float], None]) -> None:
    """All three vectors are zero."""
    path = tmp_path / f"run.{write.__name__}"
    write(path, 4.0)
    if write is h5md:
        write_h5md(path, random_vectors(3, N), edges=np.zeros((3, 3, 3)))
    else:
        data = bytearray(path.read_bytes())
        at = 16 if write is xtc else 24 + 60 + 8 - 8
        data[at : at + 36] = bytes(36)
        path.write_bytes(data)
    assert np.isnan(tj.open(None, path).read([0]).cells).all()
