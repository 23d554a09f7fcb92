"""HDF5 trajectories are read: H5MD bit for bit as by MDAnalysis, and mdtraj's layout."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.commands import execute
from helpers.damage import outcomes_of_damage
from helpers.golden_files import DATA, Adk, Truth, all_of, assert_same, same_bits
from helpers.made_files import random_vectors
from helpers.made_hdf5 import (
    LAYOUTS,
    N_ATOMS,
    N_FRAMES,
    truth_of,
    write_as_gromacs,
    write_h5md,
    write_with_mdanalysis,
)
from helpers.messages import raises

PUBLISHED = {path.name: path for path in sorted(DATA.rglob("*.h5md"))}
# Files whose other groups MDAnalysis refuses, and the group of another file.
SAME_AS = {"cu_malformed.h5md": "cu.h5md"}
POSITIONS = random_vectors(N_FRAMES, N_ATOMS)


def assert_as(path: Path, truth: Truth) -> None:
    """Assert that everything, and some frames and atoms, equal the truth."""
    traj = tj.open(None, path)
    assert (traj.format, traj.n_frames, traj.n_atoms) == ("H5MD", truth.n_frames, truth.n_atoms)
    assert same_bits(traj.times, truth.times)
    assert np.array_equal(traj.steps, truth.steps)
    assert traj.index_state == "computed"
    has = {name: getattr(truth, name) is not None for name in ("velocities", "forces")}
    assert_same(traj.read(**has), truth, *all_of(truth))
    rng = np.random.default_rng(truth.n_atoms)
    for _ in range(12):
        frames = rng.integers(0, truth.n_frames, size=rng.integers(1, 6))
        atoms = rng.integers(0, truth.n_atoms, size=rng.integers(1, 9))
        assert_same(traj.read(frames=frames, atoms=atoms, **has), truth, frames, atoms)


# Values


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_files_equal_mdanalysis(name: str) -> None:
    """They have floats and doubles, nm and Å, fs and ps, and odd chunks."""
    assert_as(PUBLISHED[name], truth_of(PUBLISHED[SAME_AS.get(name, name)]))


MDANALYSIS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "contiguous": {"n_frames": N_FRAMES, "chunks": False},
    "n_frames": {"n_frames": N_FRAMES},
    "chunks": {"chunks": (3, 11, 2)},
    "gzip": {"compression": "gzip", "compression_opts": 4},
    "gzip chunks": {"compression": "gzip", "chunks": (4, 20, 3)},
    "number": {"compression": 1},
    "angstrom": {"lengthunit": "Angstrom", "velocityunit": "Angstrom/fs"},
    "pm": {"lengthunit": "pm", "velocityunit": "pm/ps", "forceunit": "kcal/(mol*Angstrom)"},
    "fm": {"lengthunit": "fm", "velocityunit": "m/s", "forceunit": "kJ/(mol*Angstrom)"},
    "akma": {"velocityunit": "Angstrom/AKMA"},
    "nm/ns": {"velocityunit": "nm/ns"},
    "positions": {"velocities": False, "forces": False},
    "velocities": {"positions": False, "forces": False},
    "no cell": {"cells": False},
}


@pytest.mark.parametrize("name", MDANALYSIS)
def test_files_written_by_mdanalysis_are_read(name: str, tmp_path: Path) -> None:
    """Its writer is used with all of its options."""
    path = write_with_mdanalysis(tmp_path / "made.h5md", **MDANALYSIS[name])
    assert_as(path, truth_of(path))


@pytest.mark.parametrize(("unit", "scale"), [("fs", 1e-3), ("ns", 1e3), ("AKMA", 0.04888821)])
def test_times_are_doubles(unit: str, scale: float, tmp_path: Path) -> None:
    """MDAnalysis multiplies them in single precision, which is at most that far away."""
    path = write_with_mdanalysis(tmp_path / "made.h5md", timeunit=unit)
    with h5py.File(path) as file:
        stored = file["particles/trajectory/position/time"][()].astype(np.float64)
    times = tj.open(None, path).times
    assert np.array_equal(times, stored * scale)
    assert np.allclose(times, truth_of(path).times, rtol=2**-22, atol=0)


def layouts_kinds_and_versions() -> Iterator[object]:
    """Yield cases; the gate has every layout with every kind of numbers and with every version."""
    for turn, name in enumerate(LAYOUTS):
        for k, kind in enumerate(("<f4", ">f4", "<f8", ">f8")):
            for v, libver in enumerate(("earliest", "v110", "latest")):
                marks = () if (turn + k) % 3 == v else pytest.mark.long
                yield pytest.param(name, kind, libver, marks=marks)


@pytest.mark.parametrize(("name", "kind", "libver"), [*layouts_kinds_and_versions()])
def test_every_layout_is_read(name: str, kind: str, libver: str, tmp_path: Path) -> None:
    """Every HDF5 layout of the numbers is read as by MDAnalysis."""
    layout = LAYOUTS[name]
    values = random_vectors(N_FRAMES, N_ATOMS).astype(kind)
    if kind.endswith("8"):
        values += 1e-9
    edges = np.diag([3.0, 4.0, 5.0]) + np.arange(N_FRAMES)[:, None, None] / 8
    path = write_h5md(tmp_path / "made.h5md", values, layout=layout, edges=edges, libver=libver)
    assert_as(path, truth_of(path))


def test_threads_change_no_bit(adk: Adk, tmp_path: Path) -> None:
    """Any number of threads and any size of task is used, in chunks of several frames."""
    traj = tj.open(adk.psf, adk.xtc)
    positions = traj.read().positions
    layout = {"chunks": (7, 500, 3), "compression": "gzip", "shuffle": True}
    path = write_h5md(tmp_path / "adk.h5md", positions, unit="Angstrom", layout=layout)
    selection = tj.open(adk.psf, path).select("name CA")
    expected = tj.rmsd(traj.select("name CA")).values
    for threads in (1, 2, 7):
        for task_frames in (None, 1, 30):
            pool = tj.LocalPool(threads=threads, task_frames=task_frames)
            assert same_bits(tj.rmsd(selection, pool=pool).values, expected)


def test_chunk_is_read_once(tmp_path: Path) -> None:
    """Only compressed chunks with selected atoms are read, once per task."""
    layout = {"chunks": (4, 20, 3), "compression": "gzip"}
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, layout=layout)
    with h5py.File(path) as file:
        chunks: list[Any] = []
        file["particles/trajectory/position/value"].id.chunk_iter(chunks.append)
    sizes = {chunk.chunk_offset: chunk.size for chunk in chunks}
    reader = tj.open(None, path, request_size=1).source.reader
    out = np.empty((4, 2, 3), np.float32)
    counts = reader.read((4, 1, 4), np.array([0, 41]), out, "positions")["counts"]
    # Beside them the head, which must be the one that the file had when it was opened.
    assert counts["bytes_read"] == sizes[4, 0, 0] + sizes[4, 40, 0] + 4096
    assert counts["requests"] == 3


def test_hdf5_files_may_be_part_of_a_chain(tmp_path: Path, adk: Adk) -> None:
    """The other files have other formats."""
    positions = tj.open(None, adk.xtc).read().positions
    time = np.arange(98) + 98.0
    path = write_h5md(tmp_path / "more.h5md", positions, unit="Angstrom", time=time)
    traj = tj.open(None, adk.xtc, path)
    assert (traj.n_frames, traj.format) == (196, "XTC, H5MD")
    assert same_bits(traj.read().positions, np.concatenate((positions, positions)))


# Elements that may be missing or repeated


@pytest.mark.parametrize("of", ["value", "edges"])
def test_boxes_may_be_vectors_or_lengths(of: str, tmp_path: Path) -> None:
    """They may be fixed or change in time."""
    matrix = np.array([[3.0, 0, 0], [1, 4, 0], [0.5, 0.25, 5]])
    n = (1,) if of == "edges" else (N_FRAMES, 1)
    for edges, expected in (
        (np.array([3.0, 4, 5]), [30, 40, 50, 90, 90, 90]),
        (np.array([3, 4, 5]), [30, 40, 50, 90, 90, 90]),
        (matrix, mdtraj.utils.box_vectors_to_lengths_and_angles(*matrix * 10)),
    ):
        tiled = edges if of == "edges" else np.tile(edges, (n[0],) + (1,) * edges.ndim)
        path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=tiled, edges_of=of)
        cells = tj.open(None, path).read(atoms=[0]).cells
        assert np.allclose(cells, [expected] * N_FRAMES, rtol=1e-6)
        if of == "value":
            assert_as(path, truth_of(path))


def test_box_without_periodic_boundaries_is_no_cell(tmp_path: Path) -> None:
    """Its edges are placeholders, as the specification states."""
    edges = np.tile([3.0, 4, 5], (N_FRAMES, 1))
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=edges, boundary="none")
    traj = tj.open(None, path)
    assert np.isnan(traj.read(atoms=[0]).cells).all()
    assert not traj.messages
    write_h5md(path, POSITIONS)
    assert np.isnan(tj.open(None, path).read(atoms=[0]).cells).all()
    write_h5md(path, POSITIONS, edges=edges, boundary=None)
    assert (tj.open(None, path).read(atoms=[0]).cells[0, :3] == [30, 40, 50]).all()
    write_h5md(path, POSITIONS, edges=np.zeros((N_FRAMES, 3)))
    assert np.isnan(tj.open(None, path).read(atoms=[0]).cells).all()
    with h5py.File(path, "a") as file:
        file["particles/trajectory/box"].attrs["dimension"] = 2
    with raises(tj.FormatError):
        tj.open(None, path)
    with h5py.File(path, "a") as file:
        del file["particles/trajectory/box"]
    assert np.isnan(tj.open(None, path).read(atoms=[0]).cells).all()


def test_turned_boxes_keep_their_vectors(tmp_path: Path) -> None:
    """Nearest images depend on the orientation of the vectors."""
    turned = np.array([[0.0, 3, 0], [4, 0, 0], [0, 0, 5]])
    edges = np.tile(turned, (N_FRAMES, 1, 1))
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=edges)
    traj = tj.open(None, path)
    got = traj.source.reader.read((0, 1, N_FRAMES), None, np.empty_like(POSITIONS), "positions")
    assert np.array_equal(got["vectors"], edges.reshape(-1, 9) * 10)
    lengths = np.abs(traj.read(atoms=[0, 1]).cells[0])
    assert lengths.tolist() == [30, 40, 50, 90, 90, 90]


def test_fixed_steps_and_times_are_increments(tmp_path: Path) -> None:
    """Attributes hold the offsets."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, time=0.25, step=50, time_unit="ns")
    traj = tj.open(None, path)
    assert np.array_equal(traj.times, np.arange(N_FRAMES) * 0.25 * 1000)
    assert np.array_equal(traj.steps, np.arange(N_FRAMES) * 50)
    with h5py.File(path, "a") as file:
        file["particles/trajectory/position/time"].attrs["offset"] = 2.0
        file["particles/trajectory/position/step"].attrs["offset"] = -7
    traj = tj.open(None, path)
    assert np.array_equal(traj.times, (2 + np.arange(N_FRAMES) * 0.25) * 1000)
    assert np.array_equal(traj.steps, np.arange(N_FRAMES) * 50 - 7)


def test_missing_times_are_frame_numbers(tmp_path: Path) -> None:
    """A message states that they were made up."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, time=False)
    traj = tj.open(None, path)
    assert np.array_equal(traj.times, np.arange(N_FRAMES))
    assert np.array_equal(traj.steps, np.arange(N_FRAMES) * 10)
    (message,) = traj.messages
    assert message.startswith("it states no times: frames are taken to be 1 ps apart: give")


def test_one_of_several_groups_must_be_named(tmp_path: Path) -> None:
    """A group without positions does not count."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, group="all")
    with h5py.File(path, "a") as file:
        file.create_group("particles/topology")
    assert tj.open(None, path).n_atoms == N_ATOMS
    assert tj.open(None, path, format_options={"h5md": {"particles": "all"}}).n_atoms == N_ATOMS
    write_h5md(path, POSITIONS[:5, :7] + 1, group="few", mode="a")
    with raises(tj.FormatError):
        tj.open(None, path)
    few = tj.open(None, path, format_options={"h5md": {"particles": "few"}}).read()
    assert same_bits(few.positions, (POSITIONS[:5, :7] + 1) * np.float32(10))
    with raises(ValueError):
        tj.open(None, path, format_options={"h5md": {"particles": "none"}})


def test_vectors_are_matched_by_step(tmp_path: Path) -> None:
    """Velocities belong to positions of the same step; other frames have NaN."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, edges=np.eye(3)[:0])
    with h5py.File(path, "a") as file:
        group = file["particles/trajectory"]
        group["velocity/value"] = POSITIONS[:5] + 1
        group["velocity/value"].attrs["unit"] = "nm ps-1"
        group["velocity/step"] = [0, 20, 25, 100, 200]
        del group["box/edges"]
        group["box/edges/value"] = np.arange(1, 4)[:, None] * [1.0, 2, 3]
        group["box/edges/step"] = [10, 20, 40]
    traj = tj.open(None, path)
    block = traj.read(velocities=True)
    there = [0, 2, 10]
    assert same_bits(block.velocities[there], (POSITIONS[[0, 1, 3]] + 1) * np.float32(10))
    assert np.isnan(np.delete(block.velocities, there, axis=0)).all()
    assert np.flatnonzero(~np.isnan(block.cells[:, 0])).tolist() == [1, 2, 4]
    assert block.cells[4, :3].tolist() == [30, 60, 90]
    assert len(traj.messages) == 3
    with raises(tj.FormatError):
        traj.read(frames=[1, 3], velocities=True)
    with h5py.File(path, "a") as file:
        file["particles/trajectory/velocity/step"][()] = [0, 20, 20, 100, 200]
    with raises(tj.FormatError):
        tj.open(None, path)


@pytest.mark.parametrize("chunks", [None, (1, 3), (40, N_ATOMS)])
@pytest.mark.parametrize("frame", [1, 50, 99])
def test_atoms_that_change_rows_are_an_error(
    frame: int, chunks: tuple[int, int] | None, tmp_path: Path
) -> None:
    """`id` is compared in all frames: a row must be the same atom."""
    n_frames = 100
    path = write_h5md(tmp_path / "made.h5md", np.tile(POSITIONS[:1], (n_frames, 1, 1)))
    identities = np.tile(np.arange(N_ATOMS), (n_frames, 1))
    with h5py.File(path, "a") as file:
        file.create_dataset("particles/trajectory/id/value", data=identities, chunks=chunks)
    assert tj.open(None, path).n_frames == n_frames
    with h5py.File(path, "a") as file:
        file["particles/trajectory/id/value"][frame] = identities[0, ::-1]
    with raises(tj.FormatError):
        tj.open(None, path)


def test_script_of_the_page_puts_atoms_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names it; atoms have the positions of a file that never was out of order."""
    rng = np.random.default_rng(4)
    shuffled = np.array([rng.permutation(N_ATOMS) for _ in POSITIONS])
    sources = np.take_along_axis(POSITIONS, shuffled[:, :, None], axis=1)
    path = write_h5md(tmp_path / "run.h5md", sources)
    with h5py.File(path, "a") as file:
        file.move("particles/trajectory", "particles/atoms")
        file["particles/atoms/id/value"] = shuffled
    with raises(tj.FormatError):
        tj.open(None, path)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "h5md.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(script, "docs/h5md.md", "exec"), {})
    expected = tj.open(None, write_h5md(tmp_path / "never.h5md", POSITIONS)).read().positions
    assert np.array_equal(tj.open(None, "sorted.h5md").read().positions, expected)


@pytest.mark.parametrize("fixed", [True, False])
def test_atoms_in_another_order_give_a_message(fixed: bool, tmp_path: Path) -> None:
    """Rows that are not in the order of `id` may not be in the order of the topology either."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS)
    identities = np.arange(N_ATOMS, dtype=np.uint32)
    where = "particles/trajectory/id" + ("" if fixed else "/value")
    for numbers, n_messages in ((identities, 0), (identities[::-1], 1)):
        with h5py.File(path, "a") as file:
            file.pop("particles/trajectory/id", None)
            file[where] = numbers if fixed else np.tile(numbers, (N_FRAMES, 1))
        messages = tj.open(None, path).messages
        assert [
            message.startswith(f"its atoms are not in the order of their numbers ({where})")
            for message in messages
        ] == [True] * n_messages


# Units


def test_missing_units_must_be_given(tmp_path: Path) -> None:
    """They are options, as in MDAnalysis, and a message states them."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, unit=None, time_unit=None)
    with raises(tj.FormatError):
        tj.open(None, path)
    with raises(tj.FormatError):
        tj.open(None, path, format_options={"h5md": {"units": {"position": "nm"}}})
    units = {"position": "nm", "time": "fs"}
    traj = tj.open(None, path, format_options={"h5md": {"units": units}})
    assert same_bits(traj.read().positions, POSITIONS * np.float32(10))
    assert np.allclose(traj.times, np.arange(N_FRAMES) * 0.5e-3)
    assert len(traj.messages) == 2
    truth = truth_of(path, convert_units=False)
    as_it_is = tj.open(
        None, path, format_options={"h5md": {"units": {"position": "Angstrom", "time": "ps"}}}
    )
    assert_same(as_it_is.read(), truth, *all_of(truth))


def test_files_of_gromacs_are_read(tmp_path: Path) -> None:
    """GROMACS 2026: no unit of time, texts of fixed length, velocities at steps of their own."""
    path = write_as_gromacs(tmp_path / "made.h5md", POSITIONS)
    traj = tj.open(None, path)
    assert traj.messages == (
        "the file names no unit of time: ps, as usual there",
        "velocities are there at 3 of 11 frames",
    )
    block = traj.read(velocities=True)
    assert same_bits(block.positions, POSITIONS * np.float32(10))
    assert same_bits(block.velocities[::5], POSITIONS[::5] * np.float32(10))
    assert np.isnan(block.velocities[1:5]).all()
    assert np.array_equal(block.times, np.arange(N_FRAMES) * 0.5)
    assert np.allclose(block.cells, [30, 40, 50, 90, 90, 90])


def test_units_that_do_not_fit_are_errors(tmp_path: Path, adk: Adk) -> None:
    """They are unknown, contradictory, or of quantities that the file lacks."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, unit="lightyear")
    with raises(tj.FormatError):
        tj.open(None, path)
    write_h5md(path, POSITIONS)
    assert (
        tj.open(None, path, format_options={"h5md": {"units": {"position": "nanometer"}}}).n_frames
        == N_FRAMES
    )
    with raises(ValueError):
        tj.open(None, path, format_options={"h5md": {"units": {"position": "Angstrom"}}})
    with raises(ValueError):
        tj.open(None, path, format_options={"h5md": {"units": {"length": "nm"}}})
    for options in ({"units": {"position": "nm"}}, {"particles": "all"}):
        with raises(ValueError):
            tj.open(None, adk.xtc, format_options={"h5md": options})


# mdtraj


@pytest.fixture(scope="module")
def of_mdtraj(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return ten frames with cells, as mdtraj writes them."""
    whole = mdtraj.load(str(adk.xtc), top=str(adk.psf))[::10]
    cells = np.full((10, 3), 5.0) + np.arange(10)[:, None] / 8
    whole.unitcell_lengths, whole.unitcell_angles = cells, np.full((10, 3), [80, 90, 100])
    path = tmp_path_factory.mktemp("mdtraj") / "adk.h5"
    whole.save_hdf5(str(path))
    return path


def test_files_of_mdtraj_are_read(of_mdtraj: Path, tmp_path: Path) -> None:
    """Values equal mdtraj's own numbers times ten, within a rounding."""
    theirs = mdtraj.load(str(of_mdtraj))
    traj = tj.open(None, of_mdtraj)
    assert (traj.format, traj.messages) == ("MDTRAJ", ())
    block = traj.read()
    assert same_bits(block.positions, theirs.xyz * np.float32(10))
    assert np.array_equal(block.times, theirs.time)
    assert np.array_equal(block.steps, np.arange(10))
    assert np.allclose(block.cells[:, :3], theirs.unitcell_lengths * 10.0, rtol=1e-7)
    assert np.allclose(block.cells[:, 3:], theirs.unitcell_angles, rtol=1e-7)
    atoms = [3000, 2, 2]
    assert same_bits(traj.read(atoms=atoms).positions, theirs.xyz[:, atoms] * np.float32(10))
    with raises(tj.FormatError):
        traj.read(velocities=True)
    with raises(ValueError):
        tj.open(None, of_mdtraj, format_options={"h5md": {"particles": "all"}})
    copy = Path(shutil.copy(of_mdtraj, tmp_path / "without.h5"))
    with h5py.File(copy, "a") as file:
        file["velocities"] = theirs.xyz
        for name in ("time", "cell_lengths", "cell_angles"):
            del file[name]
        del file["coordinates"].attrs["units"]
    traj = tj.open(None, copy)
    assert len(traj.messages) == 3
    block = traj.read(velocities=True)
    assert np.isnan(block.cells).all()
    assert np.array_equal(block.times, np.arange(10))
    assert same_bits(block.velocities, block.positions)


# Refused files


@pytest.mark.parametrize(
    "option",
    [{"compression": "lzf"}, {"compression": "gzip", "fletcher32": True}, {"scaleoffset": 3}],
)
def test_unsupported_filters_are_named(option: dict[str, Any], tmp_path: Path) -> None:
    """The error names a program that can remove them."""
    layout = {"chunks": (2, N_ATOMS, 3), **option}
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, layout=layout)
    with raises(tj.FormatError):
        tj.open(None, path)


def test_wrong_types_and_shapes_are_errors(tmp_path: Path) -> None:
    """These are numbers of other types, of other axes, or that do not change in time."""
    path = tmp_path / "made.h5md"
    for values in (
        POSITIONS.astype(np.float16),
        POSITIONS.astype(np.int32),
        POSITIONS[:, :, :2],
        POSITIONS[:, :, 0],
        POSITIONS[:0],
    ):
        write_h5md(path, values)
        with raises(tj.FormatError):
            tj.open(None, path)
    write_h5md(path, POSITIONS)
    with h5py.File(path, "a") as file:
        group = file["particles/trajectory"]
        group["velocity/value"] = POSITIONS[:, :5]
        group["velocity/value"].attrs["unit"] = "nm/ps"
    with raises(tj.FormatError):
        tj.open(None, path)
    with h5py.File(path, "a") as file:
        group = file["particles/trajectory"]
        del group["velocity"], group["position"]
        group["position"] = POSITIONS[0]
    with raises(tj.FormatError):
        tj.open(None, path)
    with h5py.File(path, "a") as file:
        del file["particles/trajectory/position"]
    with raises(tj.FormatError):
        tj.open(None, path)


def test_datasets_in_other_files_are_errors(tmp_path: Path) -> None:
    """Links, external and virtual datasets would be read at positions of another file."""
    other = write_h5md(tmp_path / "other.h5md", POSITIONS)
    name = "particles/trajectory/position/value"
    virtual = h5py.VirtualLayout(POSITIONS.shape, "f4")
    virtual[...] = h5py.VirtualSource(other, name, POSITIONS.shape)
    path = tmp_path / "made.h5md"
    POSITIONS.tofile(tmp_path / "raw")
    for make in (
        lambda file: file.__setitem__(name, h5py.ExternalLink("other.h5md", name)),
        lambda file: file.create_virtual_dataset(name, virtual),
        lambda file: file.create_dataset(
            name, POSITIONS.shape, "f4", external=[("raw", 0, POSITIONS.nbytes)]
        ),
    ):
        write_h5md(path, POSITIONS)
        with h5py.File(path, "a") as file:
            del file[name]
            make(file)
        with raises(tj.FormatError):
            tj.open(None, path)
    write_h5md(path, POSITIONS)
    with h5py.File(path, "a") as file:
        file["elsewhere"] = file[name]
        del file[name]
        file[name] = h5py.SoftLink("/elsewhere")
    assert_as(path, truth_of(path))


def test_other_hdf5_files_are_errors(tmp_path: Path) -> None:
    """They are no trajectories, or another program must convert them."""
    path = tmp_path / "made.h5"
    for attribute, value in (
        ("nothing", 1),
        ("Conventions", "AMBER"),
        ("_NCProperties", "version=2"),
        ("conventions", "Pande"),
    ):
        with h5py.File(path, "w") as file:
            file.attrs[attribute] = value
        with raises(tj.FormatError):
            tj.open(None, path)


# Damage


def test_frames_that_were_never_written_are_errors(tmp_path: Path) -> None:
    """HDF5 would return zeros for allocated but unwritten frames."""
    path = tmp_path / "made.h5md"
    for layout in LAYOUTS.values():
        if "chunks" not in layout or "early" in layout:
            continue
        write_h5md(path, POSITIONS, layout={**layout, "maxshape": (None,) * 3})
        with h5py.File(path, "a") as file:
            element = file["particles/trajectory/position"]
            frames = 64 if layout["chunks"][0] == 64 else 4 * layout["chunks"][0]
            element["value"].resize(N_FRAMES + frames, axis=0)
            for name in ("step", "time"):
                rows = np.arange(N_FRAMES + frames)
                unit = element[name].attrs.get("unit")
                del element[name]
                element[name] = rows
                if unit is not None:
                    element[name].attrs["unit"] = unit
        with raises(tj.TruncatedError) as caught:
            tj.open(None, path)
        whole = int(re.findall(r"frame (\d+)", str(caught.value))[0])
        assert N_FRAMES <= whole < N_FRAMES + frames
        traj = tj.open(None, path, allow_truncated_tail=True)
        assert traj.n_frames == whole
        assert any(f"{whole} were written" in message for message in traj.messages)
        assert same_bits(traj.read().positions[:N_FRAMES], POSITIONS * np.float32(10))


def test_datasets_without_data_are_errors(tmp_path: Path) -> None:
    """Neither a contiguous dataset without its bytes nor a missing chunk is read as zeros."""
    path = tmp_path / "made.h5md"
    for chunks in (None, (2, N_ATOMS, 3)):
        write_h5md(path, POSITIONS)
        with h5py.File(path, "a") as file:
            element = file["particles/trajectory/position"]
            del element["value"]
            element.create_dataset("value", POSITIONS.shape, "f4", chunks=chunks)
            element["value"].attrs["unit"] = "nm"
        for leave in (False, True):
            with raises(tj.TruncatedError):
                tj.open(None, path, allow_truncated_tail=leave)


def test_fewer_steps_than_frames_is_an_error(tmp_path: Path) -> None:
    """A program that was ended early may have allocated all of its frames."""
    path = write_with_mdanalysis(tmp_path / "made.h5md", n_frames=N_FRAMES + 4)
    with raises(tj.TruncatedError):
        tj.open(None, path)
    traj = tj.open(None, path, allow_truncated_tail=True)
    assert traj.n_frames == N_FRAMES
    assert len(traj.messages) == 1
    assert np.array_equal(traj.read().times, np.arange(N_FRAMES) * 2.5)


@pytest.mark.parametrize("name", ["contiguous", "odd gzip"])
def test_cut_files_are_errors(name: str, tmp_path: Path) -> None:
    """Every cut is an error of one line with the path, and never a shorter trajectory."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, layout=LAYOUTS[name])
    size = path.stat().st_size
    rng = np.random.default_rng(5)
    cuts = {*rng.integers(1, size, 150).tolist(), *range(1, 12), 95, 96, 97, size - 1}
    for cut in sorted(cuts, reverse=True):
        os.truncate(path, cut)
        for leave in (False, True):
            with raises(tj.TruncatedError, path):
                tj.open(None, path, allow_truncated_tail=leave)


def test_damaged_chunks_are_errors(tmp_path: Path) -> None:
    """A changed byte of compressed numbers is an error: gzip has a checksum."""
    layout = LAYOUTS["odd shuffled"]
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, layout=layout)
    chunks: list[Any] = []
    with h5py.File(path) as file:
        file["particles/trajectory/position/value"].id.chunk_iter(chunks.append)
    data = path.read_bytes()
    rng = np.random.default_rng(3)
    cases = []
    for k in range(100):
        chunk = chunks[rng.integers(len(chunks))]
        at = chunk.byte_offset + int(rng.integers(chunk.size))
        cases.append([(at, data[at] ^ (1 << k % 8))])
    outcomes = outcomes_of_damage(path, cases)
    # A bit or two of gzip's header have no meaning.
    assert outcomes.count("FormatError") >= 97
    assert set(outcomes) <= {"FormatError", "read"}


def test_file_that_changed_is_stale(tmp_path: Path) -> None:
    """A file whose tables changed is an error, even if its size is the same."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS, layout=LAYOUTS["odd gzip"])
    traj = tj.open(None, path)
    traj.read()
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    with raises(tj.StaleIndexError):
        traj.read()
    os.truncate(path, 2000)
    with raises((tj.TrajetError, OSError)):
        traj.read(frames=[-1])


# Imports and commands


HIDDEN = """
import sys
sys.modules["h5py"] = None
import trajet as tj
try:
    tj.open(None, sys.argv[1])
except tj.MissingPackageError as error:
    assert isinstance(error, ImportError) and isinstance(error, tj.TrajetError)
    print(error)
try:
    tj.convert(tj.open(None, sys.argv[3]), sys.argv[2] + "/out.h5md")
except tj.MissingPackageError as error:
    print(error)
"""


def test_missing_h5py_is_explained(tmp_path: Path, adk: Adk) -> None:
    """The error names the extra, for reading and for writing; other formats do not need it."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS)
    folder = tmp_path / "empty"
    folder.mkdir()
    command = [sys.executable, "-c", HIDDEN, str(path), str(folder), str(adk.xtc)]
    done = execute(*command)
    read, written = done.stdout.splitlines()
    for line, name in ((read, str(path)), (written, "out.h5md")):
        assert name in line
        assert "pip install 'trajet[h5md]'" in line
    assert list(folder.iterdir()) == []


def test_only_hdf5_files_import_h5py(tmp_path: Path, adk: Adk) -> None:
    """Other formats do not load the library."""
    path = write_h5md(tmp_path / "made.h5md", POSITIONS)
    code = (
        "import sys, trajet as tj; tj.open(None, sys.argv[1]).read(); print('h5py' in sys.modules)"
    )
    for name, loaded in ((adk.xtc, "False"), (path, "True")):
        command = [sys.executable, "-c", code, str(name)]
        done = execute(*command)
        assert done.stdout.strip() == loaded


def test_commands_read_hdf5_files(tmp_path: Path, adk: Adk) -> None:
    """`info` and the analyses open them like any other file."""
    positions = tj.open(None, adk.xtc).read(frames=slice(0, 5)).positions
    path = write_h5md(tmp_path / "made.h5md", positions, unit=None, group="a")
    write_h5md(path, positions, unit=None, group="b", mode="a")

    def run(*arguments: str) -> tuple[int, str]:
        done = commands.run(*arguments)
        return done.returncode, done.stdout + done.stderr

    assert run("info", str(path))[0] == 1
    assert "--format-option h5md.particles=NAME" in run("info", str(path))[1]
    assert (
        "--format-option h5md.units.position=nm,"
        in run("info", "--format-option", "h5md.particles=b", str(path))[1]
    )
    options = ("--format-option", "h5md.particles=b")
    options += ("--format-option", "h5md.units.position=Angstrom")
    code, text = run("info", *options, str(path))
    assert code == 0
    assert re.search(r"format +H5MD\n", text)
    assert re.search(r"frames +5\n", text)
    assert "was asked for" in text
    code, text = run("rmsd", str(adk.psf), str(path), "--select", "name CA", *options)
    assert code == 0
    assert run("info", "--format-option", "nm", str(path))[0] == 2


def test_files_whose_atoms_have_other_numbers_are_an_error(tmp_path: Path) -> None:
    """`id` of several files that are read as one trajectory is compared."""
    paths = [write_h5md(tmp_path / name, POSITIONS) for name in ("a.h5md", "b.h5md")]
    for path, numbers in zip(paths, ([*range(N_ATOMS)], [*range(N_ATOMS)][::-1]), strict=True):
        assert tj.open(None, path, path).n_frames == 2 * N_FRAMES
        with h5py.File(path, "a") as file:
            file["particles/trajectory/id"] = numbers
    with raises(tj.FormatError):
        tj.open(None, *paths)
