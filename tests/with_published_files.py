"""Files that other programs published; run by `make test-long` where their folders are named.

`TRAJET_GROMACS_SOURCE` is a folder with `spc2-traj.h5md` of gromacs/gromacs
(src/testutils/simulationdatabase).
"""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from made_hdf5 import content_of

GROMACS = os.environ.get("TRAJET_GROMACS_SOURCE")


@pytest.mark.skipif(GROMACS is None, reason="TRAJET_GROMACS_SOURCE names no folder")
def test_h5md_of_gromacs_is_read_and_copied_whole(tmp_path: Path) -> None:
    """Its empty series of forces does not refuse its positions; a copy holds all of it."""
    source = next(Path(str(GROMACS)).rglob("spc2-traj.h5md"))
    traj = tj.open(None, source)
    with h5py.File(source) as file:
        system = file["particles/system"]
        positions, steps = system["position/value"][()], system["position/step"][()]
        times, edges = system["position/time"][()], system["box/edges/value"][()]
    block = traj.read()
    assert np.array_equal(block.positions, positions * np.float32(10))
    assert np.array_equal(block.times, times)
    assert np.array_equal(traj.reader.steps(), steps)
    lengths = np.diagonal(edges, axis1=1, axis2=2).astype("f8") * 10
    np.testing.assert_allclose(block.cells[:, :3], lengths, rtol=1e-12)
    found, copied = (
        content_of(path) for path in (source, tj.convert(traj, tmp_path / "copy.h5md").path)
    )
    name = "/h5md/creator@"
    assert {key: value for key, value in copied.items() if key != name} == {
        key: value for key, value in found.items() if key != name
    }
