"""Read HDF5 files on every rank, and compare each number with what one process reads.

mpiexec -n 4 python -m mpi4py tests/mpio/ranks_read.py FILE...
"""

import sys

import numpy as np
import trajet as tj
from mpi4py import MPI
from trajet import h5md


def check(path: str, *, collective: bool) -> None:
    """Read shares of the frames, then any frames and atoms, as many times on every rank."""
    comm = MPI.COMM_WORLD
    units = {"position": "nm"} if path.endswith("unitless.h5md") else None
    alone = tj.open(
        None, path, format_options={"h5md": {"units": units}}, allow_truncated_tail=True
    )
    drawn = np.random.default_rng(comm.rank)
    with h5md.MpioFrames(
        path, comm, collective=collective, units=units, allow_truncated_tail=True
    ) as frames:
        assert (frames.n_frames, frames.n_atoms) == (alone.n_frames, alone.n_atoms)
        assert frames.times.tobytes() == alone.times.tobytes()
        assert frames.steps.tobytes() == alone.steps.tobytes()
        assert frames.messages == alone.messages
        n, n_atoms = frames.n_frames, frames.n_atoms
        wanted = [
            (call, atoms)
            for call in h5md.shares(n, comm.size, unit=frames.chunk_frames, call=3)[comm.rank]
            for atoms in (None, [n_atoms - 1, 0, 0], np.arange(1, n_atoms, 3))
        ]
        wanted += [
            (range(n - 1, -1, -2), None),
            (range(comm.rank % 2, n, 3), [0]),
            (np.empty(0, np.int64), None),
        ]
        wanted += [(drawn.integers(0, n, 7), drawn.integers(0, n_atoms, 5)) for _ in range(5)]
        for numbers, atoms in wanted:
            positions, cells = frames.read(numbers, atoms)
            want = alone.read(np.asarray(numbers, np.int64), atoms)
            assert positions.dtype == np.float32
            assert positions.flags.c_contiguous
            assert positions.tobytes() == want.positions.tobytes()
            assert np.array_equal(cells, want.cells, equal_nan=True)
        every = np.empty((n, n_atoms, 3), np.float32)
        stored = alone.source.reader.read((0, 1, n), None, every, "positions")["vectors"]
        if stored is not None:
            ax, ay, az, _, by, bz, _, _, cz = stored.T
            as_usual = (ay == 0) & (az == 0) & (bz == 0) & (ax >= 0) & (by >= 0) & (cz >= 0)
            stored[as_usual] = np.nan
        if frames.turned is None:
            assert stored is None or np.isnan(stored).all()
        else:
            assert np.array_equal(frames.turned, stored, equal_nan=True)


for name in sys.argv[1:]:
    for together in (False, True):
        check(name, collective=together)
if MPI.COMM_WORLD.rank == 0:
    print(f"{len(sys.argv) - 1} files on {MPI.COMM_WORLD.size} ranks: equal")
