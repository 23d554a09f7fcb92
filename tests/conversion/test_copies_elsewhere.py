"""Copies of every format into every other are opened by other programs, with the same contents."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers.made_ncdf import Run, read_all

N_ATOMS, N_FRAMES = 6, 3
XYZ = np.random.default_rng(2).uniform(1, 25, (N_FRAMES, N_ATOMS, 3)).astype("f4")
CELL = np.array([30.0, 31, 32, 90, 90, 90])
OUTPUTS = ("xtc", "trr", "dcd", "nc", "h5md")
# Endings of sources, and whether frames may have velocities.
SOURCES = {"xtc": False, "trr": True, "dcd": False, "nc": True, "h5md": True, "gro": True}
SOURCES["pdb"] = False
# Without cells also without velocities, where frames may have them.
CASES = [
    (ending, cell, may and cell)
    for (ending, may), cell in itertools.product(SOURCES.items(), (True, False))
]


def universe() -> mda.Universe:
    """Return a molecule with positions."""
    made = mda.Universe.empty(N_ATOMS, atom_resindex=[0] * N_ATOMS, trajectory=True)
    names = ["C1", "C2", "C3", "C4", "C5", "C6"]
    for attribute, values in (("names", names), ("elements", ["C"] * N_ATOMS)):
        made.add_TopologyAttr(attribute, values)
    for attribute, value in (("resnames", "LIG"), ("resids", 1)):
        made.add_TopologyAttr(attribute, [value])
    made.atoms.positions = XYZ[0]
    return made


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a structure of the atoms."""
    path = tmp_path_factory.mktemp("top") / "top.pdb"
    made = universe()
    made.dimensions = CELL
    made.atoms.write(path)
    return path


def source(folder: Path, ending: str, *, cell: bool, velocities: bool) -> Path:
    """Write a trajectory of a format, through TRR or text files of MDAnalysis."""
    made, first = universe(), folder / f"source.{ending if ending in ('gro', 'pdb') else 'trr'}"
    one = folder / f"one{first.suffix}"
    writer = mda.Writer(str(first), N_ATOMS, multiframe=True) if first.suffix != ".gro" else None
    for frame in range(N_FRAMES):
        now = made.trajectory.ts
        now.time = 2.0 * frame
        made.atoms.positions = XYZ[frame]
        made.dimensions = CELL if cell else None
        now.has_velocities = velocities
        if velocities:
            now.velocities = XYZ[frame] / 10
        if writer is not None:
            writer.write(made.atoms)
        else:
            made.atoms.write(one)
            with first.open("a") as file:
                file.write(one.read_text())
    if writer is not None:
        writer.close()
    path = folder / f"source.{ending}"
    if path != first:
        tj.convert(tj.open(None, first, sidecar=False), path)
    return path


def as_mdanalysis(path: Path, top: Path) -> dict[str, Any]:
    """Read a file with MDAnalysis."""
    reader = mda.Universe(str(top), str(path)).trajectory
    frames = [ts.copy() for ts in reader]
    has = frames[0].has_velocities
    cells = [None if ts.dimensions is None else ts.dimensions.copy() for ts in frames]
    return {
        "positions": np.array([ts.positions for ts in frames]),
        "velocities": np.array([ts.velocities for ts in frames]) if has else None,
        # Zeros, as XTC, TRR and DCD store them, mean the same.
        "cells": None if all(cell is None or not cell[:3].any() for cell in cells) else cells,
    }


def as_mdtraj(path: Path, top: Path) -> dict[str, Any]:
    """Read a file with mdtraj, which has no velocities of these formats."""
    load: Callable[..., Any] = getattr(
        mdtraj, f"load_{'netcdf' if path.suffix == '.nc' else path.suffix[1:]}"
    )
    found = load(str(path), top=str(top))
    lengths = found.unitcell_lengths
    cells = (
        None
        if lengths is None or not lengths.any()
        else (np.hstack([lengths * 10, found.unitcell_angles]))
    )
    return {"positions": found.xyz * 10, "cells": cells}


@pytest.mark.parametrize(("ending", "cell", "velocities"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_programs_read_the_same(
    ending: str, cell: bool, velocities: bool, top: Path, tmp_path: Path
) -> None:
    """With and without cells and velocities; a copy has no variables that no frame has."""
    traj = tj.open(None, source(tmp_path, ending, cell=cell, velocities=velocities), sidecar=False)
    for to in OUTPUTS:
        copy = tmp_path / f"copy.{to}"
        tj.convert(traj, copy, allow_loss=True)
        readers = [as_mdanalysis] if to == "h5md" else [as_mdanalysis, as_mdtraj]
        for reader in readers:
            found = reader(copy, top)
            assert np.allclose(found["positions"], XYZ, atol=0.011), (to, reader)
            if cell:
                assert np.allclose(found["cells"], CELL, atol=0.011), (to, reader)
            else:
                assert found["cells"] is None, (to, reader)
            if found.get("velocities") is not None:
                assert velocities
                assert np.allclose(found["velocities"], XYZ / 10, atol=0.011), to
        if to == "nc":
            variables = set(read_all(copy).variables)
            assert {"time", "coordinates"} <= variables
            assert ({"cell_lengths", "cell_angles"} <= variables) == cell
            assert ("cell_lengths" in variables) == cell
            assert ("velocities" in variables) == velocities
            assert "forces" not in variables


def test_cells_that_only_later_frames_have_are_kept(top: Path, tmp_path: Path) -> None:
    """The header, which is written first, has their variables; frames without one have zeros."""
    cells = np.full((600, 6), np.nan)
    positions = np.tile(XYZ[:1], (600, 1, 1))
    for late in (1, 300, 599):
        with_cells = cells.copy()
        with_cells[late:] = CELL
        first = tmp_path / f"{late}.trr"
        tj.write(first, positions, cells=with_cells)
        traj = tj.open(None, first, sidecar=False)
        copy = tj.convert(traj, tmp_path / f"{late}.nc").path
        found = tj.open(None, copy, sidecar=False).read().cells
        assert np.allclose(found, with_cells, equal_nan=True)
        # The frames before have none of the variables.
        before = tj.convert(traj, tmp_path / f"before{late}.nc", frames=slice(0, late)).path
        assert "cell_lengths" not in read_all(before).variables
        assert len(mda.Universe(str(top), str(before)).trajectory) == late


def test_split_trajectories_without_cells_have_no_variables_for_them(tmp_path: Path) -> None:
    """As copies."""
    first = tmp_path / "first.xtc"
    tj.write(first, XYZ)
    parts = tj.split(tj.open(None, first), tmp_path / "parts", segments=3, format="nc")
    assert all("cell_lengths" not in read_all(part.path).variables for part in parts)


def test_written_positions_have_the_variables_that_they_need(tmp_path: Path) -> None:
    """Frames that have a cell after frames of another block without one are an error."""
    tj.write(tmp_path / "none.nc", XYZ)
    assert "cell_lengths" not in read_all(tmp_path / "none.nc").variables
    tj.write(tmp_path / "all.nc", XYZ, cells=CELL)
    assert "cell_lengths" in read_all(tmp_path / "all.nc").variables


def test_copies_of_numbered_frames_have_no_times(tmp_path: Path) -> None:
    """Readers of the copy number them again."""
    traj = tj.open(None, Run(without=("time",)).write(tmp_path / "run.nc"))
    copy = tj.convert(traj, tmp_path / "copy.nc").path
    assert "time" not in read_all(copy).variables
    assert tj.open(None, copy).times.tolist() == traj.times.tolist() == [0, 1, 2, 3, 4]
