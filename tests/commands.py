"""`trajet` as it is typed: what it says, its exit code, and what it leaves in a folder."""

import os
import re
import subprocess
import sys
from pathlib import Path


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python -m trajet` with pipes for all three streams."""
    return subprocess.run(
        [sys.executable, "-m", "trajet", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=cwd,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100"},
    )


def said_beside_dask(stderr: str) -> list[str]:
    """Return the lines of standard error but the warnings that Dask logs on a slow machine."""
    warning = re.compile(r" - distributed\.\S+ - (INFO|WARNING) - ")
    return [line for line in stderr.splitlines() if not warning.search(line)]


def succeed(*arguments: object, cwd: Path | None = None) -> list[str]:
    """Run, expect success and silence on standard error, return the lines of the output."""
    done = run(*arguments, cwd=cwd)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


def fail(*arguments: object, cwd: Path | None = None) -> str:
    """Run, expect status 1, no output and one line of complaint, return the line."""
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"trajet: [^\n]+\n", done.stderr), done.stderr
    return done.stderr.rstrip("\n")


def misuse(*arguments: object) -> str:
    """Run, expect status 2 and no output, return the complaint."""
    done = run(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr
    return done.stderr


def names_in(folder: Path) -> set[str]:
    """Everything in a folder, hidden or not."""
    return {path.name for path in folder.iterdir()}
