"""Damaged files are opened and read in a process that may not crash."""

import json
import subprocess
import sys
from pathlib import Path

# Runs in a process of its own under a limit on address space: a crash, unbounded memory or an
# exception that is no TrajetError ends it with a status other than 0.
DAMAGE = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import numpy as np
import trajet as tj

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

path, cases = sys.argv[1], json.load(open(sys.argv[2]))
data = open(path, "rb").read()
tj.open(None, path, sidecar=False).read()
before = peak()
outcomes = []
file = os.open(path, os.O_WRONLY)
for case in cases:
    for position, value in case:
        os.pwrite(file, bytes([value]), position)
    try:
        traj = tj.open(None, path, sidecar=False)
        block = traj.read()
    except tj.TrajetError as error:
        assert "\\n" not in str(error), str(error)
        assert path in str(error), str(error)
        outcomes.append(type(error).__name__)
    else:
        assert block.positions.shape == (traj.n_frames, traj.n_atoms, 3)
        assert block.positions.dtype == np.float32
        assert block.times.shape == block.steps.shape == block.frames.shape == (traj.n_frames,)
        assert block.cells.shape == (traj.n_frames, 6)
        for field in ("velocities", "forces"):
            try:
                traj.read(**{field: True})
            except tj.TrajetError as error:
                assert path in str(error), str(error)
        outcomes.append("read")
    if outcomes[-1] == "TruncatedError":
        try:
            tj.open(None, path, sidecar=False, allow_truncated_tail=True).read()
        except tj.TrajetError as error:
            assert path in str(error), str(error)
    for position, _ in case:
        os.pwrite(file, data[position : position + 1], position)
assert open(path, "rb").read() == data
json.dump({"outcomes": outcomes, "grown_kib": peak() - before}, sys.stdout)
"""


def outcomes_of_damage(path: Path, cases: list[list[tuple[int, int]]]) -> list[str]:
    """Open and read the file with each set of (position, byte) replaced, in a process."""
    script = path.with_suffix(".json")
    script.write_text(json.dumps(cases))
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(path), str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["grown_kib"] < 64 * 1024
    assert len(report["outcomes"]) == len(cases)
    return report["outcomes"]


def word(position: int, value: int) -> list[tuple[int, int]]:
    """Split a 32-bit big-endian word into single bytes to replace."""
    return [(position + k, (value >> (24 - 8 * k)) & 0xFF) for k in range(4)]
