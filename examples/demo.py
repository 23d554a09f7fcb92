"""Computes the RMSD of the C-alpha atoms of ADK while it closes.

`adk_dims.dcd` of MDAnalysisTests holds 98 frames of adenylate kinase. MDAnalysis writes it as XTC;
trajet computes the RMSD of the CORE domain and, after superposition on it, of the two parts that
move. The paths of the written files are printed at the end, one per line.
"""

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

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
    command += ["--group", LID, "--group", NMP]
    command += ["--plot", str(FOLDER / "rmsd.png"), "--report", str(FOLDER / "report.json")]
    command += ["-o", str(FOLDER / "rmsd.csv")]
    shown = " ".join(f'"{part}"' if " " in part else part for part in command)
    print(f"trajet {shown}", flush=True)
    sys.exit(subprocess.run([sys.executable, "-m", "trajet", *command], check=False).returncode)


def make_trajectory(topology: Path, trajectory: Path) -> None:
    """Write ADK's trajectory as XTC, as MDAnalysis does it."""
    import MDAnalysis
    from MDAnalysisTests import datafiles

    with warnings.catch_warnings():
        # MDAnalysis' warnings on its own future and on a topology without elements.
        warnings.simplefilter("ignore")
        shutil.copyfile(datafiles.PSF, topology)
        universe = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD)
        universe.atoms.write(str(trajectory), frames="all")


if __name__ == "__main__":
    main()
