"""Time radii of gyration, centres of groups and densities beside MDAnalysis.

Usage: `python benches/groups.py [--rounds N] [--threads N]`, by default with two threads. Both run
in turn, in every round, from the same XTC file, reading and decoding included; the table has the
best milliseconds per frame of each, and the median of the ratios within a round. The values of
both are compared first. The native module must be a release build.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.lineardensity import LinearDensity
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

# The frames of each file so many times over, so that starting costs little.
TIMES = {"adk": 20, "solvated": 20}

Work = Callable[[], np.ndarray]


def seconds(work: Work) -> float:
    """Return the duration of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def each_frame(universe: mda.Universe, compute: Callable[[], object]) -> Work:
    """Return a loop of MDAnalysis over all frames."""
    return lambda: np.array([compute() for _ in universe.trajectory])


def cases(folder: Path, pool: tj.LocalPool) -> dict[str, tuple[int, Work, Work]]:
    """Return the frames, our work and MDAnalysis' work of each case."""
    dry, wet = folder / "adk.xtc", folder / "solvated.xtc"
    once = folder / "once.xtc"
    tj.convert(tj.open(datafiles.PSF, datafiles.DCD), once)
    dry.write_bytes(once.read_bytes() * TIMES["adk"])
    wet.write_bytes(Path(datafiles.XTC).read_bytes() * TIMES["solvated"])
    adk, solvated = tj.open(datafiles.PSF, dry), tj.open(datafiles.TPR, wet)
    own = {"adk": mda.Universe(datafiles.PSF, str(dry))}
    own["solvated"] = mda.Universe(datafiles.TPR, str(wet))
    protein, water = adk.select("protein"), solvated.select("resname SOL and not name MW")
    oxygen, everything = solvated.select("name OW"), solvated.select("not name MW")
    theirs = {
        "protein": own["adk"].select_atoms("protein"),
        "water": own["solvated"].select_atoms("resname SOL and not name MW"),
        "oxygen": own["solvated"].select_atoms("name OW"),
        "everything": own["solvated"].select_atoms("not name MW"),
    }

    def centers(of: str) -> Work:
        atoms = theirs[of]
        return each_frame(
            own["adk" if of == "protein" else "solvated"],
            lambda: atoms.center_of_mass(compound="residues"),
        )

    def profile() -> np.ndarray:
        return LinearDensity(theirs["everything"], binsize=0.5).run().results.z.mass_density

    def grid() -> np.ndarray:
        return DensityAnalysis(theirs["oxygen"], delta=1.0).run().results.density.grid

    n_dry, n_wet = adk.n_frames, solvated.n_frames
    return {
        "Rg of a protein, 3,341 atoms": (
            n_dry,
            lambda: tj.gyration(protein, pool=pool).values,
            each_frame(own["adk"], theirs["protein"].radius_of_gyration),
        ),
        "moments of gyration of the same": (
            n_dry,
            lambda: tj.gyration_moments(protein, pool=pool).values,
            each_frame(own["adk"], lambda: np.sort(theirs["protein"].gyration_moments())),
        ),
        "centres of its 214 residues": (
            n_dry,
            lambda: tj.centers(protein, pool=pool).values,
            centers("protein"),
        ),
        "centres of 11,084 waters": (
            n_wet,
            lambda: tj.centers(water, pool=pool).values,
            centers("water"),
        ),
        "density along z of 36,597 atoms": (
            n_wet,
            lambda: tj.linear_density(everything, pool=pool).values,
            profile,
        ),
        "density of 11,084 oxygens on a grid": (
            n_wet,
            lambda: tj.density(oxygen, pool=pool).values,
            grid,
        ),
    }


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        made = cases(Path(folder), tj.LocalPool(threads=options.threads))
        print(f"{'':38} {'trajet':>9} {'MDAnalysis':>10}  ms per frame")
        for name, (n_frames, ours, theirs) in made.items():
            found, expected = ours(), theirs()
            # Slices along z differ: MDAnalysis takes rectangular cells.
            if "along z" not in name:
                off = np.abs(found.ravel() - expected.ravel()).max()
                assert off < 1e-4 * np.abs(expected).max(), f"{name}: {off}"
            rounds = [(seconds(ours), seconds(theirs)) for _ in range(options.rounds)]
            best = [min(times) / n_frames * 1e3 for times in zip(*rounds, strict=True)]
            ratio = median(their / our for our, their in rounds)
            print(f"{name:38} {best[0]:9.3f} {best[1]:10.3f}  {ratio:6.1f} times")


if __name__ == "__main__":
    main()
