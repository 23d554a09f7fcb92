"""What is measured runs in processes of its own, which say what came of it in a file.

`python -m MODULE JOB.json ANSWER.json`
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trajet._trajet import WorkerError

# What a rank says of itself, or Python.
_ERROR = re.compile(r"trajet: |[\w.]+Error: ")


def run(module: str, job: str, *, start: Sequence[str] = ()) -> Any:
    """Return what a module answers to a job (JSON), run elsewhere.

    Parameters
    ----------
    module
        Calls `serve`.
    job
        What it is told.
    start
        The command that starts it, before that of Python.

    Raises
    ------
    WorkerError
        If it fails; with what it said.
    """
    with TemporaryDirectory(prefix="trajet-bench-") as name:
        told, answered = Path(name) / "job.json", Path(name) / "answer.json"
        told.write_text(job)
        command = [*start, sys.executable, "-m", module, str(told), str(answered)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not answered.exists():
            lines = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
            # Behind an error are notes on it, and what MPI says of ranks that it has ended.
            said = next((line for line in lines[::-1] if _ERROR.match(line)), lines[-1])
            raise WorkerError(f"{shlex.join(command[:4])} … failed: {said}")
        return json.loads(answered.read_text())


def serve(respond: Callable[[str], Any]) -> None:
    """Answer the job of the command line; None is no answer."""
    told, answered = (Path(argument) for argument in sys.argv[1:])
    if (said := respond(told.read_text())) is not None:
        answered.write_text(json.dumps(said))
