"""Time transforms of positions beside MDAnalysis and GROMACS, on MDAnalysisTests' solvated protein.

Usage: `python benches/periodic.py [--rounds N]`. Prints milliseconds per frame, the best of some
rounds of one process; the native module must be built with `make`. `gmx` is timed if installed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import trajet as tj
from MDAnalysis import transformations
from MDAnalysisTests import datafiles

# The ten frames of the file so many times over, so that starting costs little.
TIMES = 5


def best(work: Callable[[], object], rounds: int, n_frames: int) -> float:
    """Return milliseconds per frame of the fastest round."""
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found) / n_frames * 1e3


def with_mdanalysis(top: str, path: Path, make: Callable[[mda.Universe], object]) -> None:
    """Transform all frames with MDAnalysis."""
    universe = mda.Universe(top, str(path))
    universe.trajectory.add_transformations(make(universe))
    for _ in universe.trajectory:
        pass


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "long.xtc", Path(folder) / "out.xtc"
        path.write_bytes(Path(datafiles.XTC).read_bytes() * TIMES)
        top = str(datafiles.TPR)
        traj = tj.open(top, path, sidecar=False)
        n, whole = traj.n_frames, traj.whole()
        plain = best(lambda: traj.read(threads=1), rounds, n)
        rows = {"read, one thread": plain}
        changed = {
            "whole": (whole, plain),
            "nojump": (traj.nojump(), plain),
            "wrap by molecule": (traj.wrap(), plain),
            "wrap by molecule, compact": (traj.wrap(cell="compact"), plain),
        }
        for name, (moved, without) in changed.items():
            rows[f"{name}, alone"] = best(lambda m=moved: m.read(threads=1), rounds, n) - without
        for threads in (1, 2):
            rows[f"read without jumps, {threads} threads"] = best(
                lambda k=threads: traj.nojump().read(threads=k), rounds, n
            )
        protein, one = traj.select("protein"), tj.LocalPool(threads=1)
        for name, chosen in (("RMSD of the protein", protein), ("… made whole", protein.whole())):
            rows[f"{name}, one thread"] = best(lambda c=chosen: tj.rmsd(c, pool=one), rounds, n)
        words = [sys.executable, "-m", "trajet", "convert", path, out, "--topology", top]
        commands = {"trajet convert --make-whole": [*words, "--make-whole", "--force"]}
        if gmx := shutil.which("gmx"):
            words = [gmx, "-quiet", "trjconv", "-s", top, "-f", path, "-o", out, "-pbc", "whole"]
            commands["gmx trjconv -pbc whole"] = words
        for name, command in commands.items():

            def convert(command: list[object] = command) -> None:
                words = list(map(str, command))
                subprocess.run(words, input=b"0\n", capture_output=True, check=True)

            rows[name] = best(convert, min(rounds, 3), n)
        short = Path(datafiles.XTC)
        rows["MDAnalysis NoJump"] = best(
            lambda: with_mdanalysis(top, short, lambda _: transformations.NoJump()), 1, n // TIMES
        )
        rows["MDAnalysis unwrap of the protein"] = best(
            lambda: with_mdanalysis(
                top, short, lambda u: transformations.unwrap(u.select_atoms("protein"))
            ),
            1,
            n // TIMES,
        )
    for name, milliseconds in rows.items():
        print(f"{name:40} {milliseconds:9.3f} ms per frame")


if __name__ == "__main__":
    main()
