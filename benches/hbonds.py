"""Time hydrogen bonds beside MDAnalysis and mdtraj, on MDAnalysisTests' solvated protein.

Usage: `python benches/hbonds.py [--rounds N] [--times K]`. Prints milliseconds per frame, the best
of some rounds in which the programs take turns; the native module must be built with `make`. The
peers are given as little to do as they allow: MDAnalysis gets donors by a selection and pairs them
with hydrogens once, mdtraj gets only the protein. Their setup is timed apart.
"""

import argparse
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import mdtraj
import numpy as np
import trajet as tj
from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

SYSTEMS = {"all 47,681 atoms": "all", "the protein": "protein"}


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def by_mdanalysis(top: str, path: str, among: str) -> HydrogenBondAnalysis:
    """Return MDAnalysis' analysis of the same donors, hydrogens and acceptors."""
    return HydrogenBondAnalysis(
        mda.Universe(top, path),
        donors_sel=f"(element N O) and ({among})",
        hydrogens_sel=f"element H and ({among})",
        acceptors_sel=f"(element N O) and ({among})",
        update_selections=False,
    )


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=5, help="how often the file is repeated")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: dict[str, float] = {}

    def note(name: str, spent: float, n_frames: int) -> None:
        rows[name] = min(rows.get(name, np.inf), spent / n_frames * 1e3)

    with tempfile.TemporaryDirectory() as folder:
        top = shutil.copy(datafiles.TPR, folder)
        short, long = shutil.copy(datafiles.XTC, folder), Path(folder) / "long.xtc"
        long.write_bytes(Path(short).read_bytes() * options.times)
        traj, few = tj.open(top, long, sidecar=False), tj.open(top, short, sidecar=False)
        for name, among in SYSTEMS.items():
            atoms = traj.select(among)
            for _ in range(options.rounds):
                for threads in (1, 2):
                    pool = tj.LocalPool(threads=threads)
                    spent = seconds(lambda a=atoms, p=pool: tj.hbonds(a, pool=p))
                    note(f"trajet, {name}, {threads} thread(s)", spent, traj.n_frames)
                analysis = by_mdanalysis(top, short, among)
                # One frame more than none: what is done once.
                once = seconds(lambda a=analysis: a.run(frames=[0]))
                whole = seconds(lambda a=analysis: a.run())
                note(f"MDAnalysis, {name}", whole - once, few.n_frames - 1)
                note(f"MDAnalysis, {name}, once", once, 1)
            found = tj.hbonds(few.select(among)).values.sum()
            print(f"{name}: {found:.0f} bonds here, {len(analysis.results.hbonds)} in MDAnalysis")
        protein = few.select("protein")
        tj.convert(protein, Path(folder) / "p.xtc", topology=Path(folder) / "p.pdb")
        loaded = mdtraj.load(str(Path(folder) / "p.xtc"), top=str(Path(folder) / "p.pdb"))
        for _ in range(options.rounds):
            spent = seconds(lambda: mdtraj.baker_hubbard(loaded, freq=0.0, periodic=True))
            note("mdtraj baker_hubbard, the protein in memory", spent, few.n_frames)
    for name, milliseconds in rows.items():
        print(f"{name:44} {milliseconds:10.3f} ms per frame")
    for name in SYSTEMS:
        ratio = rows[f"MDAnalysis, {name}"] / rows[f"trajet, {name}, 2 thread(s)"]
        print(f"{name}: MDAnalysis takes {ratio:.0f} times as long as trajet on two threads")


if __name__ == "__main__":
    main()
