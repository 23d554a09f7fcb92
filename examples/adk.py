"""Writes the files of the examples in docs: adk.psf and adk.xtc, in the current folder.

`adk_dims.dcd` of MDAnalysisTests holds 98 frames of adenylate kinase while it closes. Its files are
read without importing it: MDAnalysis is not needed.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import trajet as tj


def make_trajectory(topology: Path, trajectory: Path) -> None:
    """Write ADK's topology, and its trajectory as XTC."""
    found = importlib.util.find_spec("MDAnalysisTests")
    if found is None or found.origin is None:
        sys.exit("MDAnalysisTests is missing: pip install --no-deps MDAnalysisTests")
    data = Path(found.origin).parent / "data"
    shutil.copyfile(data / "adk.psf", topology)
    # The header of the DCD file counts 500 frames; XTC has no place for the message on that.
    tj.convert(tj.open(None, data / "adk_dims.dcd"), trajectory, allow_loss=True, force=True)


if __name__ == "__main__":
    make_trajectory(Path("adk.psf"), Path("adk.xtc"))
