"""Every format to every format, read by us, MDAnalysis and mdtraj; with_gromacs.py uses GROMACS."""

import re
import warnings
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import same_bits
from helpers.round_trips import ENDINGS, SOURCES, assert_near, source_of


@pytest.mark.parametrize("target", ENDINGS)
@pytest.mark.parametrize("source", SOURCES)
def test_any_format_to_any_keeps_values(source: str, target: str, tmp_path: Path) -> None:
    """Frames, positions, times and cells come back, and other programs read our values."""
    original = source_of(source, tmp_path)
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / f"copy{target}"
    done = tj.convert(original, path, allow_loss=True)
    assert (done.n_frames, done.n_atoms) == (original.n_frames, original.n_atoms)
    assert done.size == path.stat().st_size
    assert [p.name for p in folder.iterdir()] == [path.name]
    want, got = original.read(), tj.open(None, path, sidecar=False).read()
    assert_near(got.positions, want.positions, source, target)
    if target != ".lammpstrj" or not original.source.reader.unstated_times:
        assert np.allclose(got.times, want.times, rtol=1e-6, atol=1e-4)
    assert np.allclose(got.cells, want.cells, rtol=2e-6, atol=2e-4, equal_nan=True)
    assert same_bits(read_with_mdanalysis(path, original.n_atoms), got.positions)
    if target in (".xtc", ".trr", ".dcd", ".nc"):
        positions, cells = read_with_mdtraj(path)
        assert (np.abs(positions - got.positions) <= np.spacing(np.abs(got.positions))).all()
        if cells is None:
            assert np.isnan(got.cells).all()
        else:
            assert np.allclose(cells, got.cells, rtol=2e-6, atol=2e-4)


def read_with_mdanalysis(path: Path, n_atoms: int) -> np.ndarray:
    """Return all positions, Å."""
    universe = mda.Universe.empty(n_atoms, trajectory=False)
    options: dict[str, object] = {}
    if path.suffix in (".xtc", ".trr"):
        options = {"refresh_offsets": True}
    if path.suffix == ".lammpstrj":
        # MDAnalysis knows neither units nor times.
        text = re.sub(r"ITEM: (UNITS|TIME)\n.*\n", "", path.read_text())
        path = path.with_name("without_time.lammpstrj")
        path.write_text(text)
        options = {"format": "LAMMPSDUMP"}
    universe.load_new(str(path), **options)
    return np.array([ts.positions.copy() for ts in universe.trajectory])


def read_with_mdtraj(path: Path) -> tuple[np.ndarray, Any]:
    """Return all positions, Å, and cells, Å and degrees; mdtraj does not read H5MD."""
    # mdtraj prints which of two libraries for NetCDF it found.
    warnings.filterwarnings("ignore", message=".*netCDF4", category=UserWarning)
    formats = mdtraj.formats
    if path.suffix in (".xtc", ".trr"):
        kind = formats.XTCTrajectoryFile if path.suffix == ".xtc" else formats.TRRTrajectoryFile
        with kind(str(path)) as file:
            xyz, _, _, box, *_ = file.read()
        if box is None or not box.any():
            return xyz * np.float32(10), None
        sides = mdtraj.utils.box_vectors_to_lengths_and_angles(*np.moveaxis(box, 1, 0))
        return xyz * np.float32(10), np.transpose(sides) * [10, 10, 10, 1, 1, 1]
    kind = formats.DCDTrajectoryFile if path.suffix == ".dcd" else formats.NetCDFTrajectoryFile
    with kind(str(path)) as file:
        read = file.read()
    lengths, angles = read[-2:]
    cells = None if lengths is None else np.concatenate((lengths, angles), axis=1)
    return read[0], cells
