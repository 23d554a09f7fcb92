"""Damaged files are opened and read in a process that may not crash."""

import json
import os
import resource
import warnings
from pathlib import Path

import numpy as np
import trajet as tj

from helpers.forked_processes import forked_processes
from helpers.messages import names

# Timeout of all cases of a file, s.
PATIENCE = 120


def outcomes_of_damage(path: Path, cases: list[list[tuple[int, int]]]) -> list[str]:
    """Open and read the file with each set of (position, byte) replaced, in a process.

    The process has a limit on its address space: a crash, unbounded memory or an exception that is
    no `TrajetError` ends it with an exit code other than 0.
    """
    answer, errors = path.with_suffix(".json"), path.with_suffix(".errors")
    process = forked_processes().Process(target=_damage, args=(path, cases, answer, errors))
    process.start()
    process.join(PATIENCE)
    process.kill()
    process.join()
    assert process.exitcode == 0, errors.read_text()[-2000:]
    assert errors.read_text() == ""
    report = json.loads(answer.read_text())
    assert report["grown_kib"] < 64 * 1024
    assert len(report["outcomes"]) == len(cases)
    return report["outcomes"]


def _damage(path: Path, cases: list[list[tuple[int, int]]], answer: Path, errors: Path) -> None:
    """Write the outcome of each case, and by how much the memory of this process has grown."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    with errors.open("wb") as stderr:
        os.dup2(stderr.fileno(), 2)
    warnings.simplefilter("ignore", tj.TrajetWarning)
    data = path.read_bytes()
    tj.open(None, path, sidecar=False).read()
    before = _peak()
    outcomes = []
    file = os.open(path, os.O_WRONLY)
    for case in cases:
        for position, value in case:
            os.pwrite(file, bytes([value]), position)
        outcomes.append(_outcome(path))
        for position, _ in case:
            os.pwrite(file, data[position : position + 1], position)
    assert path.read_bytes() == data
    answer.write_text(json.dumps({"outcomes": outcomes, "grown_kib": _peak() - before}))


def _outcome(path: Path) -> str:
    """Return "read" or the name of the error, whose message must be one line with the path."""
    try:
        traj = tj.open(None, path, sidecar=False)
        block = traj.read()
    except tj.TrajetError as error:
        assert names(error, path), str(error)
        if isinstance(error, tj.TruncatedError):
            _read_whole_frames(path)
        return type(error).__name__
    assert block.positions.shape == (traj.n_frames, traj.n_atoms, 3)
    assert block.positions.dtype == np.float32
    assert block.times.shape == block.steps.shape == block.frames.shape == (traj.n_frames,)
    assert block.cells.shape == (traj.n_frames, 6)
    for field in ("velocities", "forces"):
        try:
            traj.read(**{field: True})
        except tj.TrajetError as error:
            assert names(error, path), str(error)
    return "read"


def _read_whole_frames(path: Path) -> None:
    """Read a file up to its last whole frame; an error must name it."""
    try:
        tj.open(None, path, sidecar=False, allow_truncated_tail=True).read()
    except tj.TrajetError as error:
        assert names(error, path), str(error)


def _peak() -> int:
    """Return the largest memory that this process has had, KiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def word(position: int, value: int) -> list[tuple[int, int]]:
    """Split a 32-bit big-endian word into single bytes to replace."""
    return [(position + k, (value >> (24 - 8 * k)) & 0xFF) for k in range(4)]
