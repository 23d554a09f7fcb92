"""Computes the RMSD of the C-alpha atoms of ADK while it closes.

`adk_dims.dcd` of MDAnalysisTests holds 98 frames of adenylate kinase. trajet copies it to XTC, and
computes the RMSD of the CORE domain and, after superposition on it, of the two parts that move. The
paths of the written files are printed at the end, one per line. The files of MDAnalysisTests are
read without importing it: MDAnalysis is not needed.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import trajet as tj

FOLDER = Path("demo-output")
CORE = "(resid 1:29 or resid 60:121 or resid 160:214) and name CA"
LID = "resid 122:159 and name CA"
NMP = "resid 30:59 and name CA"


def main() -> None:
    """Make the trajectory, then run the command a user would."""
    FOLDER.mkdir(exist_ok=True)
    topology, trajectory = FOLDER / "adk.psf", FOLDER / "adk.xtc"
    make_trajectory(topology, trajectory)
    command = ["rmsd", str(topology), str(trajectory), "--select", CORE]
    command += ["--groups", LID, "--groups", NMP]
    command += ["--plot", str(FOLDER / "rmsd.png"), "--report", str(FOLDER / "report.json")]
    command += ["-o", str(FOLDER / "rmsd.csv")]
    shown = " ".join(f'"{part}"' if " " in part else part for part in command)
    print(f"trajet {shown}", flush=True)
    sys.exit(subprocess.run([sys.executable, "-m", "trajet", *command], check=False).returncode)


def make_trajectory(topology: Path, trajectory: Path) -> None:
    """Write ADK's topology, and its trajectory as XTC."""
    found = importlib.util.find_spec("MDAnalysisTests")
    if found is None or found.origin is None:
        sys.exit("the files of the demo are missing: pip install --no-deps MDAnalysisTests")
    data = Path(found.origin).parent / "data"
    shutil.copyfile(data / "adk.psf", topology)
    # The header of the DCD file counts 500 frames; XTC has no place for the remark on that.
    tj.convert(tj.open(None, data / "adk_dims.dcd"), trajectory, allow_loss=True, force=True)


if __name__ == "__main__":
    main()
