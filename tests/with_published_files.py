"""Files that other projects publish: run by `make test-long`, where they are.

`TRAJET_CHEMFILES_DATA` names a copy of github.com/chemfiles/tests-data.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import trajet as tj


@pytest.fixture(scope="session")
def chemfiles_data() -> Path:
    """Return the folder of chemfiles' files."""
    named = os.environ.get("TRAJET_CHEMFILES_DATA")
    if named is None:
        pytest.skip("TRAJET_CHEMFILES_DATA names no folder")
    return Path(named)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("triclinic-octane-vectors", [4.1594, 4.7498, 10.9999, 94.805, 84.486, 105.108]),
        ("triclinic-octane-cos", [4.1099, 4.7071, 10.9932, 105.571, 73.689, 125.133]),
        ("triclinic-octane-direct", [4.1099, 4.7071, 10.9932, 105.571, 73.689, 125.133]),
        ("triclinic-namd", [85.4400, 89.4427, 85.4400, 65.245, 70.806, 71.696]),
    ],
)
def test_cells_of_dcd_files(chemfiles_data: Path, name: str, cell: list[float]) -> None:
    """By the version in the header, as chemfiles reads them."""
    traj = tj.open(None, chemfiles_data / "dcd" / f"{name}.dcd", sidecar=False)
    assert np.allclose(traj.read([0], [0]).cells[0], cell, atol=1e-3)
    assert traj.remarks == ()


def test_dcd_files_of_any_markers_and_order_are_equal(chemfiles_data: Path) -> None:
    """CHARMM wrote the same run with markers of 32 and 64 bits, in both orders of bytes."""
    files = [f"mrmd_h2so4-{kind}.dcd" for kind in ("32bit-be", "64bit-be", "64bit-le")]
    first, *others = (
        tj.open(None, chemfiles_data / "dcd" / name, sidecar=False).read() for name in files
    )
    assert first.positions.shape == (50, 7, 3)
    for other in others:
        assert np.abs(other.positions - first.positions).max() < 1e-4
        assert np.array_equal(other.times, first.times)
