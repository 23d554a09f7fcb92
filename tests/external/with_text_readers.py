"""LAMMPS dumps and extended XYZ that `convert` writes, read by ASE and OVITO: `make test-peers`."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from numpy.typing import NDArray

CELLS = {"orthogonal": [20, 30, 40, 90, 90, 90], "skew": [30, 31, 32, 70, 80, 100]}


@pytest.fixture(params=CELLS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, NDArray[np.float32]]:
    """Return a trajectory of 5 frames, and its positions."""
    rng = np.random.default_rng(1)
    positions = rng.normal(0, 20, (5, 50, 3)).astype(np.float32)
    path = tmp_path / "source.trr"
    tj.write(path, positions, cells=CELLS[request.param], times=np.arange(5) * 0.1)
    return path, tj.open(None, path).read().positions


@pytest.mark.parametrize("suffix", [".lammpstrj", ".xyz"])
def test_ase_reads_positions_and_cells(
    suffix: str, source: tuple[Path, NDArray[np.float32]]
) -> None:
    """With all digits of single precision."""
    from ase.io import read

    path, positions = source
    out = path.with_suffix(suffix)
    tj.convert(tj.open(None, path), out)
    format = "extxyz" if suffix == ".xyz" else "lammps-dump-text"
    frames = read(out, ":", format=format)
    assert np.array_equal(np.float32([frame.positions for frame in frames]), positions)
    cells = tj.open(None, path).read().cells
    assert np.allclose([frame.cell.cellpar() for frame in frames], cells, atol=1e-4)


@pytest.mark.parametrize("suffix", [".lammpstrj", ".xyz"])
def test_ovito_reads_positions_and_cells(
    suffix: str, source: tuple[Path, NDArray[np.float32]]
) -> None:
    """In the order of the ids."""
    from ovito.io import import_file

    path, positions = source
    out = path.with_suffix(suffix)
    tj.convert(tj.open(None, path), out)
    pipeline = import_file(str(out))
    assert pipeline.source.num_frames == 5
    cells = tj.open(None, path).read().cells
    for frame in range(5):
        data = pipeline.compute(frame)
        assert np.array_equal(np.float32(data.particles.positions), positions[frame])
        assert np.allclose(np.linalg.norm(data.cell[:, :3], axis=0), cells[frame, :3], atol=1e-4)


def test_mdanalysis_reads_dumps_without_times(source: tuple[Path, NDArray[np.float32]]) -> None:
    """Which MDAnalysis 2.11 cannot read otherwise."""
    import MDAnalysis as mda

    path, positions = source
    out = path.with_suffix(".lammpstrj")
    tj.convert(tj.open(None, path), out, without_time=True)
    universe = mda.Universe(str(out), format="LAMMPSDUMP", topology_format="LAMMPSDUMP")
    found = np.array([ts.positions.copy() for ts in universe.trajectory])
    assert np.allclose(found, positions, atol=1e-4)
