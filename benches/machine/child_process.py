"""Runs a benchmark job in a process of its own, which writes its answer to a file.

The command is `python -m MODULE JOB ANSWER.json`.
"""

import json
import os
import pickle
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from trajet._trajet import WorkerError

# A line of a table: numbers and words by the names of columns.
Row: TypeAlias = dict[str, Any]
# The folder of this package, where processes look for modules.
_BENCHES = str(Path(__file__).resolve().parent.parent)
# An error message of a rank of trajet, or of Python.
_ERROR = re.compile(r"trajet: |[\w.]+Error: ")


def run(module: str, job: object, *, start: Sequence[str] = ()) -> Any:
    """Run a module, which calls `serve`, and return its answer to a job, an object.

    `start` comes before the command, such as mpiexec. A failure is a `WorkerError` with the error
    message of the process.
    """
    with TemporaryDirectory(prefix="trajet-bench-") as name:
        job_file, answer_file = Path(name) / "job", Path(name) / "answer.json"
        job_file.write_bytes(pickle.dumps(job))
        command = [*start, sys.executable, "-m", module, str(job_file), str(answer_file)]
        paths = [_BENCHES, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode or not answer_file.exists():
            lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            # An error is followed by its notes, and by messages of MPI on aborted ranks.
            message = next((line for line in lines[::-1] if _ERROR.match(line)), lines[-1])
            raise WorkerError(f"{shlex.join(command[:4])} … failed: {message}")
        return json.loads(answer_file.read_text())


def serve(respond: Callable[[Any], object]) -> None:
    """Answer the job on the command line; ranks other than 0 return None and write nothing."""
    job_file, answer_file = (Path(argument) for argument in sys.argv[1:])
    if (answer := respond(pickle.loads(job_file.read_bytes()))) is not None:
        answer_file.write_text(json.dumps(answer))
