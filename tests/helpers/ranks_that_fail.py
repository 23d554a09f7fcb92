"""Convert to H5MD on ranks of which one fails, in several ways, and print the error of each rank.

mpiexec -n 4 python -m helpers.ranks_that_fail HOW SOURCE OUT [HOW SOURCE OUT …]

Lines have the way and the error, with a tab between them.
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


def fail(how: str, source: Path, out: Path) -> None:
    """Convert, and print what each rank raises."""
    comm = MPI.COMM_WORLD
    options: dict[str, Any] = {}
    traj = tj.open(None, source, sidecar=False, pool=tj.MpiPool())
    usual, begin = resource.getrlimit(resource.RLIMIT_FSIZE), CopySpec.begin
    if how in {"join", "piece"} and comm.rank == (0 if how == "join" else comm.size - 1):
        # A piece is smaller than the first limit, and larger than the second.
        limit = 2**20 if how == "join" else 2**16
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, usual[1]))
    if how == "progress":
        options["progress"] = lambda *_: {}["stop"]
    if how == "velocities":
        positions = tj.open(None, source, sidecar=False).read().positions
        options["allow_loss"] = True
        options["frames"] = ~np.isnan(positions[:, 0, 0])
    if how == "change":

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
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        CopySpec.begin = begin
    for line in comm.gather(words) or []:
        print(f"{how}\t{line}")


if __name__ == "__main__":
    for how, source, out in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3], strict=True):
        fail(how, Path(source), Path(out))
