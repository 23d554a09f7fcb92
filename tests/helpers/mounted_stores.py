"""Stores that are mounted by `trajet store mount`, for the duration of a test."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# Timeout, s: a process that takes longer hangs.
PATIENCE = 60
DEVICE = Path("/dev/fuse")
UNTESTED = "NOT TESTED: stores that are mounted"


def reason_not_to_mount() -> str | None:
    """Return the reason why nothing can be mounted on this machine, if there is one."""
    if not DEVICE.exists():
        return f"there is no {DEVICE}"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"{DEVICE} cannot be opened"
    if os.geteuid() and not shutil.which("fusermount3"):
        return "this is not root, and there is no fusermount3 (apt-get install fuse3)"
    return None


def needs_fuse() -> None:
    """Skip a test if nothing can be mounted; conftest prints this at the end of the run."""
    if reason := reason_not_to_mount():
        pytest.skip(f"{UNTESTED}: {reason}")


def is_mounted(folder: Path) -> bool:
    """Return whether the kernel has a mount on a folder."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(line.split()[4] == str(folder) for line in mounts)


def unmount(folder: Path, *, lazily: bool = False) -> None:
    """Unmount as a user does."""
    program = ["fusermount3", "-u"] if os.geteuid() else ["umount"]
    lazy = ["-z" if os.geteuid() else "-l"] if lazily else []
    subprocess.run([*program, *lazy, folder], check=True)


@dataclass
class Mounted:
    """A folder that shows a store, and the process of the mount."""

    folder: Path
    process: subprocess.Popen[str]

    def __truediv__(self, name: str) -> Path:
        """Return a file in it."""
        return self.folder / name

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """End the mount; return the exit code and standard error."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return the exit code and standard error."""
        _, stderr = self.process.communicate(timeout=PATIENCE)
        assert not is_mounted(self.folder)
        return self.process.returncode, stderr


def start(store: Path, folder: Path) -> subprocess.Popen[str]:
    """Start the command."""
    words = [sys.executable, "-m", "trajet", "store", "mount", store, folder]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True)


@contextlib.contextmanager
def mounted(store: Path, folder: Path) -> Iterator[Mounted]:
    """Mount a store on a new folder, and unmount it in any case."""
    needs_fuse()
    folder.mkdir(exist_ok=True)
    process = start(store, folder)
    try:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE), "nothing was mounted"
        line = process.stdout.readline()
        assert "shows" in line, line + process.communicate()[1]
        yield Mounted(folder, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        process.kill()
        process.wait()
        if is_mounted(folder):
            unmount(folder, lazily=True)


def becomes_true(holds: object) -> bool:
    """Return whether a function returns something true within a while."""
    assert callable(holds)
    limit = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < limit:
        time.sleep(0.05)
    return bool(holds())
