"""Raise an error on one rank, and print what each rank raises.

mpiexec -n 4 python tests/mpio/ranks_fail.py FILE
"""

import sys

from mpi4py import MPI
from trajet import h5md

comm = MPI.COMM_WORLD
try:
    h5md.MpioFrames(sys.argv[1], comm)
except Exception as error:
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
else:
    words = "nothing was raised"
for line in comm.gather(words) or []:
    print(line)
