"""Meet an error on one rank, and print what each rank raises.

mpiexec -n 4 python tests/mpio/ranks_fail.py read|allocate|write FILE [OUT]
"""

import resource
import signal
import sys

import trajet as tj
from mpi4py import MPI
from trajet import h5md

how, path, *out = sys.argv[1:]
comm = MPI.COMM_WORLD
try:
    if how == "read":
        h5md.MpioFrames(path, comm)
    else:
        # Rank 0 lays the file out, the last writes numbers behind this limit.
        if comm.rank == (0 if how == "allocate" else comm.size - 1):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
        pool = tj.MpiPool()
        tj.convert(tj.open(None, path, sidecar=False, pool=pool), out[0], pool=pool)
except Exception as error:
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
else:
    words = "nothing was raised"
for line in comm.gather(words) or []:
    print(line)
