"""Runs `python -m trajet` in children of the process that calls, which has imported its packages.

Importing them takes most of the time of a short command.
"""

import os
import runpy
import sys
from collections.abc import Sequence

from helpers import command_server


def run(*lines: Sequence[str]) -> None:
    """Run commands one after the other.

    Raises
    ------
    SystemExit
        If a command fails.
    """
    command_server.preload(("numpy", "matplotlib.backends.backend_agg"))
    for line in lines:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            sys.argv = ["trajet", *line]
            runpy.run_module("trajet", run_name="__main__", alter_sys=True)
            sys.exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != 0:
            raise SystemExit(f"{line}: exit code {code}")
