"""Time whole commands, start included, beside MDAnalysis' script and `gmx rms`: processor seconds.

Usage: `python benches/commands.py [--rounds N] [--data FOLDER] [--before PYTHON]`, after
`python benches/trajectories.py`. RMSD of C-alpha of ADK (9,800 frames of 3,341 atoms), and of a
made system of a million atoms (a GRO file, and 40 frames). `--before` names the Python of an
environment with an older trajet. All take turns in each round; a row has the least processor time
of each, and how many times that of trajet it is. The native module must be a release build.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import MDAnalysis as mda
from host import describe_load
from peers.trajet import require_release_build
from selections import write_system

HERE = Path(__file__).resolve().parent
FRAMES = 40
SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import MDAnalysis as mda
from MDAnalysis.analysis.rms import RMSD
calpha = mda.Universe(sys.argv[1], sys.argv[2]).select_atoms("name CA")
RMSD(calpha, calpha).run()
"""
# Groups of `gmx rms`, to fit and to compare: C-alpha.
GROUPS = b"3\n3\n"


def processor_seconds(command: list[str]) -> tuple[float, float]:
    """Return the processor seconds and the seconds of a command.

    Raises
    ------
    SystemExit
        If it fails.
    """
    before, begin = os.times(), time.perf_counter()
    done = subprocess.run(command, input=GROUPS, capture_output=True, check=False)
    passed, after = time.perf_counter() - begin, os.times()
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr.decode()[-500:]}")
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, passed


def rmsd_commands(
    before: str | None, topology: Path, trajectory: Path, folder: Path
) -> dict[str, list[str]]:
    """Return the command that computes the RMSD of C-alpha with each program, by its name."""
    files = [str(topology), str(trajectory)]

    def trajet(python: str) -> list[str]:
        # The table is printed.
        return [python, "-m", "trajet", "rmsd", *files, "--select", "name CA", "--quiet"]

    commands = {"trajet": trajet(sys.executable)}
    if before is not None:
        commands["trajet before"] = trajet(before)
    commands["MDAnalysis"] = [sys.executable, "-c", SCRIPT, *files]
    if topology.suffix == ".gro" and (gmx := shutil.which("gmx")):
        output = str(folder / "rmsd.xvg")
        commands["gmx rms"] = [gmx, "-quiet", "rms", "-s", files[0], "-f", files[1], "-o", output]
    return commands


def print_rows(name: str, commands: dict[str, list[str]], rounds: int) -> None:
    """Time commands in turns, and print a row for each."""
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for program, command in commands.items():
            best[program] = min(best.get(program, (1e9, 1e9)), processor_seconds(command))
    ours = best["trajet"][0]
    print(name)
    for program, (spent, passed) in best.items():
        times = f"{spent / ours:6.1f} times  ({passed:.2f} s by the clock)"
        print(f"  {program:16} {spent:7.2f} s  {times}", flush=True)


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--before", metavar="PYTHON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"processor seconds, the least of {options.rounds} rounds; {describe_load()}")
    version = [sys.executable, "-m", "trajet", "--version"]
    print_rows("version", {"trajet": version}, 3 * options.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adk = options.data / "adk.psf", options.data / "adk100.xtc"
        print_rows("ADK", rmsd_commands(options.before, *adk, folder), options.rounds)
        paths = write_system(folder, 1_000_000, 27, turned=False)
        gro, one = Path(paths[0]), Path(paths[1])
        frames = folder / "frames.xtc"
        frames.write_bytes(one.read_bytes() * FRAMES)
        n_atoms = mda.coordinates.XTC.XTCReader(str(frames)).n_atoms
        large = rmsd_commands(options.before, gro, frames, folder)
        print_rows(f"{n_atoms} atoms, {FRAMES} frames", large, options.rounds)


if __name__ == "__main__":
    main()
