"""Convert to H5MD on ranks of which one fails, and print the error of each rank.

mpiexec -n 4 python -m helpers.ranks_that_fail HOW SOURCE OUT
"""

import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import trajet as tj
from mpi4py import MPI
from trajet.conversion.files import CopySpec

how, source, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
comm = MPI.COMM_WORLD
options: dict[str, Any] = {}
traj = tj.open(None, source, sidecar=False, pool=tj.MpiPool())
if how in {"join", "piece"} and comm.rank == (0 if how == "join" else comm.size - 1):
    # A piece is smaller than the first limit, and larger than the second.
    limit = 2**20 if how == "join" else 2**16
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
if how == "progress":
    options["progress"] = lambda *_: {}["stop"]
if how == "velocities":
    positions = tj.open(None, source, sidecar=False).read().positions
    options["allow_loss"] = True
    options["frames"] = ~np.isnan(positions[:, 0, 0])
if how == "change":
    begin = CopySpec.begin

    def change(self: CopySpec) -> Any:
        """Cut the source when workers are about to open it."""
        source.write_bytes(source.read_bytes()[:-4000])
        return begin(self)

    CopySpec.begin = change
try:
    tj.convert(traj, out, force=True, pool=tj.MpiPool(), **options)
except Exception as error:
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
else:
    words = "nothing was raised"
for line in comm.gather(words) or []:
    print(line)
