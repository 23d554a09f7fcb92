"""Time transforms of positions beside MDAnalysis and GROMACS, on MDAnalysisTests' solvated protein.

Usage: `python benches/periodic.py [--rounds N] [--times N]`. Prints milliseconds per frame: of the
fastest of some rounds, in which everything is run once after the other, and of the CPU time of all
threads, which other programs on the machine disturb less. The native module must be built with
`make`. `gmx` is timed if installed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis import transformations
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build


def fastest(
    works: dict[str, Callable[[], object]], rounds: int, n_frames: int
) -> dict[str, tuple[float, float]]:
    """Return milliseconds per frame of each work: of the fastest round, and of CPU time."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            begin = time.perf_counter(), time.process_time()
            work()
            found[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    least = {name: np.min(times, axis=0) / n_frames * 1e3 for name, times in found.items()}
    return {name: (float(wall), float(cpu)) for name, (wall, cpu) in least.items()}


def copies(of: np.ndarray, to: np.ndarray, threads: int) -> None:
    """Copy frames on some threads: what memory alone lets two threads gain."""
    parts = zip(np.array_split(of, threads), np.array_split(to, threads), strict=True)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))


def with_mdanalysis(top: str, path: Path, make: Callable[[mda.Universe], object]) -> None:
    """Transform all frames with MDAnalysis."""
    universe = mda.Universe(top, str(path))
    universe.trajectory.add_transformations(make(universe))
    for _ in universe.trajectory:
        pass


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    # The ten frames of the file so many times over, so that starting costs little.
    parser.add_argument("--times", type=int, default=25)
    arguments = parser.parse_args()
    rounds = arguments.rounds
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "long.xtc", Path(folder) / "out.xtc"
        path.write_bytes(Path(datafiles.XTC).read_bytes() * arguments.times)
        top = str(datafiles.TPR)
        traj = tj.open(top, path, sidecar=False)
        n, whole, nojump = traj.n_frames, traj.whole(), traj.nojump()
        one, two = (tj.LocalPool(threads=threads) for threads in (1, 2))
        protein = traj.select("protein")
        whole_protein = protein.whole()
        frames = traj.read().positions
        memory = np.zeros_like(frames)
        transforms = {
            "whole": whole,
            "wrap by molecule": traj.wrap(),
            "wrap by molecule, compact": traj.wrap(cell="compact"),
            "nojump": nojump,
        }
        works: dict[str, Callable[[], object]] = {
            "read": lambda: traj.read(threads=1),
            **{
                f"read, {name}": lambda moved=moved: moved.read(threads=1)
                for name, moved in transforms.items()
            },
            "read, two threads": lambda: traj.read(threads=2),
            "read, nojump, two threads": lambda: nojump.read(threads=2),
            "RMSD": lambda: tj.rmsd(traj, pool=one),
            "RMSD, nojump": lambda: tj.rmsd(nojump, pool=one),
            "RMSD, two threads": lambda: tj.rmsd(traj, pool=two),
            "RMSD, nojump, two threads": lambda: tj.rmsd(nojump, pool=two),
            "RMSD of the protein": lambda: tj.rmsd(protein, pool=one),
            "RMSD of the protein, whole": lambda: tj.rmsd(whole_protein, pool=one),
            "copy in memory": lambda: copies(frames, memory, 1),
            "copy in memory, two threads": lambda: copies(frames, memory, 2),
        }
        rows = fastest(works, rounds, n)
        for name in transforms:
            wall, cpu = (rows[f"read, {name}"][k] - rows["read"][k] for k in (0, 1))
            rows[f"{name} alone"] = wall, cpu
        words = [sys.executable, "-m", "trajet", "convert", path, out, "--topology", top]
        commands = {"trajet convert --whole": [*words, "--whole", "--force"]}
        if gmx := shutil.which("gmx"):
            words = [gmx, "-quiet", "trjconv", "-s", top, "-f", path, "-o", out, "-pbc", "whole"]
            commands["gmx trjconv -pbc whole"] = words

        def convert(command: list[object]) -> None:
            words = list(map(str, command))
            subprocess.run(words, input=b"0\n", capture_output=True, check=True)

        run = {name: lambda words=words: convert(words) for name, words in commands.items()}
        rows |= {name: (wall, 0) for name, (wall, _) in fastest(run, min(rounds, 3), n).items()}
        short = Path(datafiles.XTC)
        by_others = {
            "MDAnalysis NoJump": lambda: with_mdanalysis(
                top, short, lambda _: transformations.NoJump()
            ),
            "MDAnalysis unwrap of the protein": lambda: with_mdanalysis(
                top, short, lambda u: transformations.unwrap(u.select_atoms("protein"))
            ),
        }
        rows |= fastest(by_others, 1, n // arguments.times)
    for name, (wall, cpu) in rows.items():
        of_threads = f", CPU {cpu:9.3f}" if cpu else ""
        print(f"{name:34} {wall:9.3f} ms per frame{of_threads}")
    for name in ("read", "read, nojump", "RMSD", "RMSD, nojump", "copy in memory"):
        wall, cpu = (rows[name][k] / rows[f"{name}, two threads"][k] for k in (0, 1))
        print(f"{name:34} {wall:9.2f} times as fast on two threads, CPU time {1 / cpu:.2f} times")


if __name__ == "__main__":
    main()
