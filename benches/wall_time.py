"""Compare the time that reports of commands account for with the time that their users wait.

Each analysis runs as a command, with files and a figure, on the sample of a peptide in water whose
frames are repeated. Printed are the seconds until the last line of the command, those of the
report's entries on time, and the share of the wall time that is missing in their sum, `t_command`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import trajet as tj

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from helpers.recorded_results import COMMANDS

# The most that may be missing, as part of the wall time.
LIMIT = 0.05


def repeated(folder: Path, n_frames: int) -> list[str]:
    """Write a trajectory of that many frames, 1 ps apart; return topology and trajectory."""
    sample = tj.samples.peptide_in_water()
    traj = sample.open()
    long, even = folder / "repeated.xtc", folder / "even.xtc"
    tj.convert(traj, long, frames=np.arange(n_frames) % traj.n_frames)
    tj.convert(tj.open(sample.files[0], long, time_step=1.0), even)
    return [str(sample.files[0]), str(even)]


def measure(command: str, files: list[str], folder: Path) -> tuple[float, dict[str, float]]:
    """Run a command; return the seconds until its last line, and those of its report."""
    name, *options = shlex.split(command)
    report = folder / "report.json"
    outputs = ["-o", folder / "r.npz", "--plot", folder / "r.png", "--report", report]
    begin = wall = time.perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-m", "trajet", name, *files, *options, *outputs],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert done.stdout is not None
    for _ in done.stdout:
        wall = time.perf_counter()
    if done.wait():
        raise subprocess.CalledProcessError(done.returncode, command)
    wall -= begin
    found = json.loads(report.read_text())
    seconds = {key: value for key, value in found.items() if key.startswith("t_")}
    return wall, {**seconds, "t_run": found["stages"]["t_total"]}


def main() -> int:
    """Measure all commands; 1 if more than the limit is missing in one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=5000, help="frames (default 5000)")
    arguments = parser.parse_args()
    names = ("t_import", "t_topology", "t_select", "t_run", "t_result", "t_files", "t_figure")
    print(f"{'wall':>7} {'missing':>7}", *(f"{name:>10}" for name in names), " command")
    failed = False
    with tempfile.TemporaryDirectory() as made:
        files = repeated(Path(made), arguments.frames)
        for command in COMMANDS:
            if command == "apply":
                continue
            wall, seconds = measure(command, files, Path(made))
            missing = 1 - seconds["t_command"] / wall
            failed |= abs(missing) > LIMIT
            each = (f"{seconds.get(name, 0.0):10.3f}" for name in names)
            print(f"{wall:7.2f} {missing:7.1%}", *each, "", command, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
