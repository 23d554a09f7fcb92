"""HDF5 tables that claim more than their file holds are refused before memory is allocated."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.made_files import random_vectors
from helpers.made_hdf5 import N_ATOMS, write_h5md
from helpers.messages import raises
from trajet.h5md import bounded

POSITIONS = np.stack([random_vectors(N_ATOMS, seed=k) for k in range(4)]).astype("f4")
GROUP = "particles/trajectory"
MANY = 2_000_000_000


@contextmanager
def _little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def _claiming(path: Path, name: str, shape: tuple[int, ...], **options: Any) -> Path:
    """Write a file of a trajectory, one of whose tables was never written."""
    write_h5md(path, POSITIONS, edges=np.tile(np.eye(3), (4, 1, 1)))
    with h5py.File(path, "a") as file:
        group = file[GROUP]
        unit = dict(group[name].attrs) if name in group else {}
        if name in group:
            del group[name]
        group.create_dataset(name, shape, "f8" if "edges/value" in name else "i8", **options)
        group[name].attrs.update(unit)
    assert path.stat().st_size < 40_000
    return path


@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"chunks": True, "compression": 1}])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("id", (MANY,)),
        ("id/value", (MANY,)),
        ("id/value", (4, MANY)),
        ("position/step", (MANY,)),
        ("position/time", (MANY,)),
        ("box/edges/value", (MANY, 3, 3)),
        ("box/edges/step", (MANY,)),
    ],
)
def test_tables_that_were_never_written_are_refused(
    tmp_path: Path, name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    """The error names the table; HDF5 would return its fill value, 16 GB of it."""
    path = _claiming(tmp_path / "made.h5md", name, shape, **options)
    with _little_memory(), raises(tj.TruncatedError):
        tj.open(None, path, format_options={"h5md": {"units": {"position": "nm", "time": "ps"}}})


def test_frames_that_were_never_written_take_no_memory(tmp_path: Path) -> None:
    """Times at equal distances are not listed for missing frames."""
    for options in ({}, {"chunks": (1, 3, 3)}, {"chunks": (2**20, 3, 3), "compression": 1}):
        path = write_h5md(tmp_path / "made.h5md", POSITIONS[:1], step=1, time=0.5)
        with h5py.File(path, "a") as file:
            name = f"{GROUP}/position/value"
            del file[name]
            file.create_dataset(name, (MANY, 3, 3), "f4", **options).attrs["unit"] = "nm"
        with _little_memory(), raises(tj.TruncatedError):
            tj.open(None, path)


def test_boxes_of_other_shapes_are_refused(tmp_path: Path) -> None:
    """Two matrices per frame are not the boxes of two frames."""
    for shape in ((4, 6, 3), (4, 1, 3)):
        path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=np.ones(shape))
        with raises(tj.FormatError):
            tj.open(None, path, format_options={"h5md": {"units": {"position": "nm"}}})


def test_compressed_tables_keep_to_the_memory_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deflate compresses zeros a thousandfold: the file's size limits tables and chunks, too."""
    monkeypatch.setattr(bounded, "MEMORY_LIMIT", 2**20)
    for name, n, chunk in (("id", 2**20, 2**16), ("id", N_ATOMS, 2**20)):
        path = write_h5md(tmp_path / "made.h5md", POSITIONS)
        with h5py.File(path, "a") as file:
            file[GROUP].create_dataset(
                name, data=np.zeros(n, "i8"), chunks=(chunk,), maxshape=(None,), compression=9
            )
        with raises(tj.FormatError):
            tj.open(None, path)
        monkeypatch.setattr(bounded, "MEMORY_LIMIT", 2**23)
        assert tj.open(None, path).n_frames == 4
        monkeypatch.setattr(bounded, "MEMORY_LIMIT", 2**20)


def test_tables_read_in_slabs_have_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values do not depend on the number of rows that are read at a time."""
    edges = 3 + np.random.default_rng(0).random((4, 3, 3)) * np.eye(3)
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=edges, step=np.array([3, 5, 7, 9]))
    whole = tj.open(None, path).read()
    monkeypatch.setattr(bounded, "SLAB", 8)
    got = tj.open(None, path).read()
    for name in ("positions", "times", "steps", "cells"):
        assert np.array_equal(getattr(got, name), getattr(whole, name))


def test_copies_leave_out_tables_that_were_never_written(tmp_path: Path) -> None:
    """Rows at equal distances are not listed, and chosen atoms are not cut from them."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS)
    with h5py.File(path, "a") as file:
        for name, shape in (
            (f"{GROUP}/image", (MANY, N_ATOMS, 3)),
            (f"{GROUP}/charge", (MANY, N_ATOMS)),
            ("observables/energy", (MANY,)),
        ):
            file.create_dataset(f"{name}/value", shape, "f4", chunks=(1, *shape[1:]))
            file[f"{name}/step"] = 100
    for number, options in enumerate(({}, {"frames": slice(0, 2)}, {"atoms": [1, 3]})):
        trajectory = tj.open(None, path)
        out = tmp_path / f"out{number}.h5md"
        with _little_memory():
            tj.convert(trajectory.select(options.pop("atoms", range(N_ATOMS))), out, **options)
        assert out.stat().st_size < 100_000
