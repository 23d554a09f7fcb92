"""Runs `trajet` as users type it, and checks its output, exit code and files."""

import atexit
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
from trajet.cli.group import commands

from helpers import messages

# Timeout of a command, s.
PATIENCE = 120


class CommandServer:
    """The process of command_server.py, which runs commands one after the other."""

    def __init__(self) -> None:
        self.connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    Path(__file__).with_name("command_server.py"),
                    str(other.fileno()),
                ],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self.end)

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a command and return its exit code and what it wrote.

        Raises
        ------
        TimeoutError
            If it does not end within `PATIENCE`; it is killed then.
        """
        os.umask(umask := os.umask(0o022))
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        request["umask"] = umask
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with open(os.devnull, "rb") as nothing:
                streams = [nothing.fileno(), output.fileno(), errors.fileno()]
                self.connection.settimeout(PATIENCE)
                socket.send_fds(self.connection, [json.dumps(request).encode()], streams)
            child = json.loads(self.connection.recv(100))
            try:
                code = json.loads(self.connection.recv(100))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self.connection.recv(100)
                raise
            written = []
            for file in (output, errors):
                file.seek(0)
                written.append(file.read().decode("utf-8"))
        return subprocess.CompletedProcess(["trajet", *arguments], code, *written)

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.wait(PATIENCE)


@functools.cache
def command_server() -> CommandServer:
    """Start the server when the first command is run."""
    return CommandServer()


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; it is an error if it never does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the condition does not hold"
        time.sleep(0.01)


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `trajet` in a process of its own, without a terminal."""
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    return command_server().run(list(map(str, arguments)), cwd or Path.cwd(), dict(environment))


def execute(
    *words: object, code: int | None = 0, timeout: float = PATIENCE, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it wrote; it must end with `code`, if that is not None."""
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, **options
    )
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done


def python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python as `execute` runs programs."""
    return execute(sys.executable, *words, **options)


def invoke(*arguments: object) -> click.testing.Result:
    """Run `trajet` in this process, where exceptions and changes of a test hold."""
    return click.testing.CliRunner().invoke(commands, [*map(str, arguments)])


def lines_without_dask_warnings(stderr: str) -> list[str]:
    """Return the lines of standard error except the warnings that Dask logs on a slow machine."""
    warning = re.compile(r" - distributed\.\S+ - (INFO|WARNING) - ")
    return [line for line in stderr.splitlines() if not warning.search(line)]


def succeed(*arguments: object, cwd: Path | None = None) -> list[str]:
    """Run, expect success and an empty standard error, return the lines of the output."""
    done = run(*arguments, cwd=cwd)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


def unwrapped(output: str) -> list[str]:
    """Return the lines of an output, each with those that continue it."""
    return re.sub(r"\n  (?=\S)", " ", output).splitlines()


def fail(*arguments: object, cwd: Path | None = None) -> str:
    """Run, expect status 1, no output and the line of error of the page, return the line."""
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"trajet: [^\n]+\n", done.stderr), done.stderr
    messages.compare(done.stderr)
    return done.stderr.rstrip("\n")


def misuse(*arguments: object) -> str:
    """Run, expect status 2, no output and the error message of the page, return the message."""
    done = run(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr
    messages.compare(done.stderr)
    return done.stderr


def names_in(folder: Path) -> set[str]:
    """Return all names in a folder, hidden or not."""
    return {path.name for path in folder.iterdir()}
