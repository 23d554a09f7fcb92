"""Ranks of MPI that are started as users start them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

# Another MPI than the one of pip, say: TRAJET_MPIEXEC="mpiexec --oversubscribe".
MPIEXEC = shlex.split(
    os.environ.get("TRAJET_MPIEXEC", str(Path(sys.executable).with_name("mpiexec")))
)


def run_on_ranks(
    size: int, *arguments: object, code: int = 0
) -> "subprocess.CompletedProcess[str]":
    """Run Python on so many ranks, and want an exit code."""
    done = subprocess.run(
        [*MPIEXEC, "-n", str(size), sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done
