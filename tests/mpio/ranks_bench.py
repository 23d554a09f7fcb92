"""Analyse HDF5 files through MPI-IO as the bench does, and compare each bit with one process.

mpiexec -n 4 python -m mpi4py tests/mpio/ranks_bench.py FILE...
"""

import sys
from functools import partial

import numpy as np
import trajet as tj
from machine import mpio
from mpi4py import MPI

# Files have few frames, so that there are many requests and much computing between them.
mpio._CALL, mpio._AT_ONCE = 2**8, 2**10


def check(path: str, pool: mpio.MpioPool) -> None:
    """Compare RMSD, dihedral angles and features, of several choices of frames."""
    if pool.serve():
        return
    traj = tj.open(None, path)
    n, n_atoms = traj.n_frames, traj.n_atoms
    some = traj.select(np.arange(n_atoms - 1, 0, -2))
    weights = np.arange(1.0, some.n_atoms + 1)
    three = traj.select([0, 5, 3])
    fours = np.random.default_rng(3).integers(0, n_atoms, (5, 4))
    several = [n - 1, 0, n // 2, n // 2, 1]
    for analyse, frames in (
        (partial(tj.rmsd, some), slice(n - 1, None, -2)),
        (partial(tj.rmsd, some, reference=1, groups=[three], weights=weights), None),
        (partial(tj.dihedrals, traj, fours, sin_cos=True), None),
        (partial(tj.dihedrals, traj, fours), several),
    ):
        alone = analyse(frames=frames, pool=tj.LocalPool(threads=1))
        together = analyse(frames=frames, pool=pool)
        assert together.values.tobytes() == alone.values.tobytes(), (path, pool, frames)
        workers = together.report["workers"]
        assert len(workers) == pool.size
        assert sum(worker["frames"] for worker in workers) == len(alone.frames)
        for worker in workers:
            # Only HDF5's library reads it.
            assert worker["bytes_read"] == 0
            assert (worker["requests"] > 0) == (worker["frames"] > 0)
            if worker["frames"]:
                assert min(worker[name] for name in ("t_read", "t_decode", "t_comp")) > 0
    pool.close()


for name in sys.argv[1:]:
    for way in ("shared", "collective", "one-sided"):
        check(name, mpio.MpioPool(gathering=way))
    check(name, mpio.MpioPool(gathering="collective", collective=True))
if MPI.COMM_WORLD.rank == 0:
    print(f"{len(sys.argv) - 1} files on {MPI.COMM_WORLD.size} ranks: equal")
