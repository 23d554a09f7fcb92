"""The plug-in for VMD reads every file of MDAnalysisTests; `trajet molfile` prints its path.

`crates/trajet-molfile/tests` has further tests, with a host in C.
"""

import ctypes
import json
import shutil
import sys
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_float, c_int, c_uint, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute, invoke
from helpers.golden_files import FORMATS
from helpers.made_stores import make_store

FILES = {path.name: path for format in FORMATS.values() for path in format.files().values()}
# The version of the interface that VMD 1.9.4 has.
ABI = 18


class Timestep(ctypes.Structure):
    """A frame in the layout of the interface."""

    _fields_ = [
        *((name, POINTER(c_float)) for name in ("coords", "velocities")),
        *((name, c_float) for name in ("A", "B", "C", "alpha", "beta", "gamma")),
        ("physical_time", c_double),
    ]


class Metadata(ctypes.Structure):
    """Metadata of a file's frames."""

    _fields_ = [("count", c_uint), ("bytes", c_uint), ("has_velocities", c_int)]


class Plugin(ctypes.Structure):
    """A file type, in version 18 of the interface."""

    _fields_ = [
        ("abi", c_int),
        *((name, c_char_p) for name in ("type", "name", "pretty_name", "author")),
        *((name, c_int) for name in ("major", "minor", "is_reentrant")),
        ("extension", c_char_p),
        ("open", CFUNCTYPE(c_void_p, c_char_p, c_char_p, POINTER(c_int))),
        *((name, c_void_p) for name in ("structure", "bonds")),
        ("read", CFUNCTYPE(c_int, c_void_p, c_int, POINTER(Timestep))),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("others", c_void_p * 18),
        ("metadata", CFUNCTYPE(c_int, c_void_p, POINTER(Metadata))),
        *((name, c_void_p) for name in ("qm_metadata", "console")),
    ]


def plugin_path() -> Path:
    """Return the output of `trajet molfile`."""
    done = invoke("molfile")
    assert done.exit_code == 0, done.exception
    return Path(done.output.strip())


@pytest.fixture(scope="module")
def plugin() -> Iterator[Any]:
    """Load the library as VMD does; return its type `trajet`."""
    library = ctypes.CDLL(str(plugin_path()))
    found = {}

    @CFUNCTYPE(c_int, c_void_p, POINTER(Plugin))
    def take(_: Any, offered: Any) -> int:
        if offered.contents.abi != ABI:
            return -1
        found[offered.contents.name] = offered.contents
        return 0

    assert library.vmdplugin_init() == 0
    assert library.vmdplugin_register(None, take) == 0
    assert set(found) == {b"tjt", b"trajet"}
    yield found[b"trajet"]
    assert library.vmdplugin_fini() == 0


def frames(plugin: Any, path: Path) -> Iterator[tuple[list[float], float, np.ndarray, Any]]:
    """Yield cell, time, positions and velocities of all frames, as a host reads them."""
    n_atoms = c_int(-1)
    handle = plugin.open(bytes(path), b"trajet", ctypes.byref(n_atoms))
    assert handle, path
    about = Metadata()
    assert plugin.metadata(handle, ctypes.byref(about)) == 0
    coords = np.full((n_atoms.value, 3), 7e7, dtype=np.float32)
    velocities = np.full_like(coords, 7e7) if about.has_velocities else None
    step = Timestep(coords=coords.ctypes.data_as(POINTER(c_float)))
    if velocities is not None:
        step.velocities = velocities.ctypes.data_as(POINTER(c_float))
    for _ in range(about.count):
        assert plugin.read(handle, n_atoms, ctypes.byref(step)) == 0
        cell = [step.A, step.B, step.C, step.alpha, step.beta, step.gamma]
        yield cell, step.physical_time, coords, velocities
    assert plugin.read(handle, n_atoms, ctypes.byref(step)) == -1
    plugin.close(handle)


def test_library_is_alone_in_its_folder() -> None:
    """VMD loads every library of a folder that is named `molfile`."""
    path = plugin_path()
    assert path.parent.name == "molfile"
    assert list(path.parent.glob("*.so")) == [path]


@pytest.mark.parametrize("name", sorted(FILES))
def test_frames_are_those_of_the_package(plugin: Any, name: str, tmp_path: Path) -> None:
    """Positions, velocities, times and cells of every readable file have the same bits."""
    path = Path(shutil.copy(FILES[name], tmp_path))
    try:
        block = tj.open(None, path).read(velocities=_has_velocities(path))
    except (tj.TrajetError, ValueError):
        assert plugin.open(bytes(path), b"trajet", ctypes.byref(c_int())) is None
        return
    n_frames = 0
    for k, (cell, time, coords, velocities) in enumerate(frames(plugin, path)):
        n_frames += 1
        none = np.isnan(block.cells[k]).any()
        expected = np.float32([0, 0, 0, 90, 90, 90] if none else block.cells[k])
        np.testing.assert_array_equal(np.float32(cell), expected)
        assert time == block.times[k]
        assert coords.tobytes() == block.positions[k].tobytes()
        if velocities is None:
            assert block.velocities is None or np.isnan(block.velocities[0]).all()
        else:
            assert velocities.tobytes() == block.velocities[k].tobytes()
    assert n_frames == len(block.frames)


def test_h5md_tag_is_read_through_its_pointer(plugin: Any, tmp_path: Path) -> None:
    """A tag of two segments has the frames of the original."""
    wet = make_store(tmp_path, formats={"protein": "h5md"})
    more = Path(shutil.copy(wet.xtc, tmp_path / "more.xtc"))
    wet.store.append("wet", tj.open(None, more))
    wet.store.link(tmp_path / "links")
    block = tj.open(wet.gro, wet.xtc, more).select("protein").read()
    n_frames = 0
    for k, (_, time, coords, _) in enumerate(frames(plugin, tmp_path / "links" / "wet.p.tjt")):
        n_frames += 1
        assert time == block.times[k]
        assert coords.tobytes() == block.positions[k].tobytes()
    assert n_frames == 20


def test_reads_of_a_tag_are_logged_on_close(plugin: Any, tmp_path: Path) -> None:
    """Opening alone is not logged, and a log that cannot be written is no error of reading."""
    wet = make_store(tmp_path)
    pointer = tmp_path / "wet.i.tjt"
    pointer.write_text(f"trajet-pointer 1\ndataset {wet.path}\ntag i\n")
    plugin.close(plugin.open(bytes(pointer), b"tjt", ctypes.byref(c_int())))
    assert not (wet.path / "access.jsonl").exists()
    assert sum(1 for _ in frames(plugin, pointer)) == 10
    (line,) = (wet.path / "access.jsonl").read_text().splitlines()
    use = json.loads(line)
    assert (use["what"], use["tags"], use["frames"]) == ("molfile", ["ion"], 10)
    assert wet.store.show("wet").tags[1].size <= use["bytes"]["ion"] <= 10_000
    (wet.path / "access.jsonl").unlink()
    (wet.path / "access.jsonl").mkdir()
    assert sum(1 for _ in frames(plugin, pointer)) == 10


def _has_velocities(path: Path) -> bool:
    try:
        tj.open(None, path).read(frames=[0], velocities=True)
    except (tj.TrajetError, ValueError):
        return False
    return True


def test_missing_library_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command prints how to build it."""
    monkeypatch.setattr(tj, "__file__", str(tmp_path / "__init__.py"))
    done = invoke("molfile")
    assert isinstance(done.exception, FileNotFoundError)
    assert "cargo build --release -p trajet-molfile" in str(done.exception)


def test_library_needs_no_python() -> None:
    """It depends on the C library alone, so that VMD can load it."""
    done = execute("ldd", plugin_path())
    names = {line.split()[0].split("/")[-1].split(".so")[0] for line in done.stdout.splitlines()}
    known = {"linux-vdso", "libc", "libgcc_s", "libm", "libpthread", "libdl", "ld-linux-x86-64"}
    assert names <= known, (names, sys.platform)
