"""Ranks of MPI that are started as users start them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from helpers.commands import execute, succeed
from helpers.golden_files import Adk
from helpers.made_hdf5 import tables_of

# Another MPI than that of pip, for example: TRAJET_MPIEXEC="mpiexec --oversubscribe".
MPIEXEC = shlex.split(
    os.environ.get("TRAJET_MPIEXEC", str(Path(sys.executable).with_name("mpiexec")))
)

HANGS = 600  # far more seconds than any run needs


def command(size: int, *arguments: object, shell: str | None = None) -> list[str]:
    """Return a command that runs Python on so many ranks, each through a line of a shell."""
    through = [] if shell is None else ["sh", "-c", shell, "sh"]
    return [*MPIEXEC, "-n", str(size), *through, sys.executable, *map(str, arguments)]


def run_on_ranks(
    size: int, *arguments: object, fails: bool = False, shell: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Python on so many ranks, and expect success or a failure.

    A run that fails has any exit code: mpiexec kills the ranks that are left, and may end with the
    code of one that it killed.
    """
    done = execute(*command(size, *arguments, shell=shell), code=None, timeout=HANGS)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def assert_written_alike(adk: Adk, folder: Path, options: tuple[str, ...]) -> None:
    """Copy to H5MD by the command, and assert that all contents are those of one process."""
    alone, together = folder / "alone.h5md", folder / "together.h5md"
    copy = ("convert", adk.xtc, "--topology", adk.psf, *options)
    succeed(*copy, alone)
    output = run_on_ranks(2, "-m", "trajet", *copy, together, "--pool", "mpi").stdout
    assert output.count("98 frames of") == 1
    assert tables_of(together) == tables_of(alone)
    assert sorted(p.name for p in folder.iterdir()) == [alone.name, together.name]
