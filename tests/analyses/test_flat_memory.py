"""No analysis takes more memory for a longer trajectory, but for results that are per frame."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trajet as tj
from helpers import flat_memory
from helpers.golden_files import Adk

# One of each shape: rows, a state, a grid, a state that grows with what is found, two runs.
SOME = ("rmsd", "rmsf", "density", "hbonds", "pca")


def measure(adk: Adk, folder: Path, *names: str, frames: int = 500) -> dict[str, list[list[int]]]:
    """Return peaks and sizes of results of analyses, by name: short and long trajectory."""
    paths = flat_memory.make(folder, adk.xtc, frames)
    done = subprocess.run(
        [sys.executable, "-m", "helpers.flat_memory", str(adk.psf), *map(str, paths), *names],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        # Freed memory returns to the system at once.
        env=os.environ
        | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[list[int]]] = json.loads(done.stdout)
    return found


def growing(found: dict[str, list[list[int]]]) -> dict[str, str]:
    """Return the analyses whose memory grows by more than a tenth and their results."""
    grown = {}
    for name, (short, long) in found.items():
        if not flat_memory.is_flat(short, long):
            peaks = f"{short[0] / 1e6:.1f} MB, then {long[0] / 1e6:.1f} MB"
            grown[name] = f"{peaks}, results {long[1] / 1e6:.1f} MB"
    return grown


def beyond_limit(found: dict[str, list[list[int]]]) -> dict[str, int]:
    """Return the peaks of analyses that take more than `max_memory` and their results."""
    return {
        name: long
        for name, (_, (long, size)) in found.items()
        if "max_memory" in inspect.signature(getattr(tj, name.split(",")[0])).parameters
        and long > 1.25 * flat_memory.MAX_MEMORY + flat_memory.COPIES * size + flat_memory.SLACK
    }


def test_every_analysis_is_measured(adk: Adk) -> None:
    """A new analysis needs an entry in `flat_memory.analyses`."""
    measured = flat_memory.analyses(tj.open(adk.psf, adk.xtc))
    assert {name.split(",")[0] for name in measured} == {*tj.ANALYSES, "run"}


def test_peaks_do_not_grow_with_the_frames(adk: Adk, tmp_path: Path) -> None:
    """One analysis of each shape; a function that keeps the frames is found."""
    found = measure(adk, tmp_path, *SOME, flat_memory.KEEPING, frames=250)
    assert set(growing(found)) == {flat_memory.KEEPING}
    assert not beyond_limit(found)


@pytest.mark.long
def test_no_peak_grows_with_the_frames(adk: Adk, tmp_path: Path) -> None:
    """Every analysis but one that keeps its frames; some keep to the limit of `max_memory`."""
    found = measure(adk, tmp_path)
    for name, peaks in found.items():
        (short, of_short), (long, of_long) = ([one / 1e6 for one in two] for two in peaks)
        print(f"{name:18} {short:7.2f} {long:7.2f} MB; results {of_short:6.2f} {of_long:6.2f} MB")
    assert set(growing(found)) == {flat_memory.KEEPING}
    assert not beyond_limit(found)
