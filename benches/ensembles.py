"""Time and memory of an ensemble of many short members, beside reading them one by one.

.venv/bin/python benches/ensembles.py [MEMBERS]
"""

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import trajet as tj
from MDAnalysisTests import datafiles

FRAMES = 20


def main() -> None:
    """Print seconds, descriptors, parsed topologies and the largest memory."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(datafiles.PSF, folder / "top.psf")
        tj.convert(tj.open(None, datafiles.DCD), folder / "0.xtc", frames=slice(FRAMES))
        for k in range(1, count):
            os.link(folder / "0.xtc", folder / f"{k}.xtc")
        begin = time.perf_counter()
        for k in range(count):
            traj = tj.open(None, folder / f"{k}.xtc")
            traj.read()
            traj.close()
        alone = time.perf_counter() - begin
        ensemble = tj.ensemble(str(folder / "{replica}.xtc"), topology=folder / "top.psf")
        most = 0

        def frames(_: tj.Trajectory) -> None:
            nonlocal most
            most = max(most, len(os.listdir("/proc/self/fd")))

        calpha = ensemble.select("name CA")
        begin = time.perf_counter()
        tj.run([tj.rmsd.job(calpha), tj.gyration.job(calpha)], frames=frames)
        seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} members of {FRAMES} frames, two analyses: {seconds:.1f} s")
    print(f"opening and reading each: {alone:.1f} s")
    print(f"beyond that: {1000 * (seconds - alone) / count:.1f} ms a member")
    print(f"descriptors {most}, topologies parsed {ensemble.n_parsed_topologies}, {memory:.0f} MB")


if __name__ == "__main__":
    main()
