"""A run on a long trajectory takes no more memory than a run on a short one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk

# VmHWM belongs to the address space of this interpreter alone; ru_maxrss of a child would include
# the memory of the test process when it was started.
MEASURED = """
import json, runpy, sys
sys.argv[0] = "trajet"
try:
    runpy.run_module("trajet", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({"code": code, "peak_kib": peak}))
"""


def peak_kib(
    adk: Adk, xtc: Path, output: Path, *options: str, analysis: str = "rmsd", atoms: str = "name CA"
) -> int:
    """Return the peak resident memory of one command, KiB."""
    files = [str(adk.psf), str(xtc), "--select", atoms, "-o", str(output)]
    command = [analysis, *files, *options]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.stderr == ""
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["code"] == 0
    return report["peak_kib"]


def test_peak_does_not_grow_with_the_trajectory(adk: Adk, tmp_path: Path) -> None:
    """Ten times the frames take at most a tenth more memory."""
    data = adk.xtc.read_bytes()
    peaks = {}
    for times in (10, 100):
        xtc = tmp_path / f"{times}.xtc"
        with xtc.open("wb") as file:
            for _ in range(times):
                file.write(data)
        output = tmp_path / f"{times}.npz"
        peaks[times] = peak_kib(adk, xtc, output, "--threads", "2")
        with np.load(output, allow_pickle=False) as saved:
            assert saved["values"].shape == (98 * times,)
        xtc.unlink()
    assert peaks[100] <= 1.10 * peaks[10]


@pytest.mark.long
@pytest.mark.parametrize("with_lifetimes", [False, True])
def test_peak_of_hydrogen_bonds_does_not_grow_with_the_trajectory(
    adk: Adk, tmp_path: Path, with_lifetimes: bool
) -> None:
    """Occupancies take as much for ten times the frames; so do lifetimes, in more parts."""
    positions = tj.open(adk.psf, adk.xtc).read().positions / 10
    options = ["--max-memory", "2MiB", "--threads", "2"]
    if with_lifetimes:
        options += ["--save", f"lifetimes={tmp_path}/lifetimes.csv", "--max-lag", "20"]
    peaks = {}
    for times in (4, 40):
        xtc = xtc_bytes.write_xtc(tmp_path / f"{times}.xtc", np.tile(positions, (times, 1, 1)))
        output = tmp_path / f"{times}.npz"
        peaks[times] = peak_kib(adk, xtc, output, *options, analysis="hbonds", atoms="protein")
        with np.load(output, allow_pickle=False) as saved:
            assert saved["values"].shape == (98 * times,)
    assert peaks[40] <= 1.10 * peaks[4], peaks
