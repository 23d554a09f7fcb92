"""molly: the program in `benches/molly`. It reads XTC and has no analyses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, MissingError, Truth, expect

from peers.contestant import Contestant

BENCHES = Path(__file__).resolve().parent.parent
PROGRAM = BENCHES / "molly" / "target" / "release" / "trajet-bench-molly"
PATHS = ("bufreader", "scratch", "buffered")
# XTC's usual precision, 1000 per nm: positions in Å times this are whole numbers.
STEPS_PER_ANGSTROM = 100.0


def prepare(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare the program on the fastest of its three paths."""
    if case.task != "read" or case.trajectory.suffix != ".xtc":
        return []
    if not PROGRAM.exists():
        raise MissingError("molly: not built (cargo build --release in benches/molly)")
    count = len(truth.indices)
    mode = ["mask", "-"]
    if truth.whole:
        mode = ["all"]
    elif truth.front:
        mode = ["until", str(count)]
    listed = " ".join(map(str, truth.indices))

    def run(path: str, repeat: int) -> dict[str, Any]:
        options = ["--path", path, "--repeat", str(repeat)]
        command = [str(PROGRAM), *options, str(case.trajectory), *mode]
        done = subprocess.run(command, check=True, input=listed, capture_output=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    first = {path: run(path, 1) for path in PATHS}
    fastest = min(first, key=lambda path: float(first[path]["best_s"]))

    def verify() -> None:
        steps = np.rint(truth.positions[-1].astype(np.float64) * STEPS_PER_ANGSTROM).ravel()
        checksum = int(steps.astype(np.int64) @ np.arange(1, steps.size + 1))
        for result in first.values():
            expect(result["frames"] == truth.n_frames, "molly", "numbers of frames")
            expect(result["atoms"] == count, "molly", "numbers of atoms")
            expect(result["last_checksum"] == checksum, "molly", "positions")

    def once() -> float:
        return float(run(fastest, 1)["best_s"])

    note = f"molly: its path `{fastest}`, the fastest of {len(first)} here"
    return [Contestant("molly", str(first[fastest]["version"]), 1, verify, once, note=note)]
