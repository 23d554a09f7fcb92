"""Time contacts and tables of distances beside MDAnalysis and mdtraj, on MDAnalysisTests' files.

Usage: `python benches/contacts.py [--rounds N] [--threads N]`. All take turns; printed are the
milliseconds per frame of the fastest round, and how many times faster trajet is. Numbers are
compared before anything is timed. Reading is included. The native module must be built with `make`.

The last lines compare the full table of distances with the bandwidth at which one thread writes to
fresh memory, as numpy allocates it. A virtual machine whose host takes free memory back has to get
it again first, in seconds instead of milliseconds: the median shows this, the best round does not.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median

import MDAnalysis as mda
import mdtraj
import numpy as np
import trajet as tj
from MDAnalysis.analysis.contacts import Contacts
from MDAnalysis.lib.distances import (
    distance_array,
    self_capped_distance,
    self_distance_array,
)
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

ACIDS = "resname ASP GLU and name OD1 OD2 OE1 OE2"
BASES = "resname ARG LYS and name NH1 NH2 NZ"
LID, NMP = "resid 122:159", "resid 30:59"
BACKBONE, WATER = "backbone", "resname SOL and name OW"
CUTOFF = 4.5

Work = Callable[[], np.ndarray]


def per_frame(universe: mda.Universe, stop: int, compute: Callable[[], float]) -> np.ndarray:
    """Return a number of each frame."""
    return np.array([compute() for _ in universe.trajectory[:stop]])


def by_distances(
    universe: mda.Universe, a: str, b: str | None, stop: int, least: bool
) -> Callable[[], np.ndarray]:
    """Return a function that reduces MDAnalysis' table of distances of each frame."""
    one = universe.select_atoms(a)
    other = None if b is None else universe.select_atoms(b)

    def compute() -> float:
        box = universe.dimensions
        if other is None:
            table = self_distance_array(one.positions, box=box)
        else:
            table = distance_array(one.positions, other.positions, box=box)
        return float(table.min()) if least else float((table <= CUTOFF).sum())

    return lambda: per_frame(universe, stop, compute)


def capped(universe: mda.Universe, a: str, stop: int) -> Callable[[], np.ndarray]:
    """Return a function that counts contacts by MDAnalysis' own neighbour search."""
    one = universe.select_atoms(a)

    def compute() -> float:
        pairs = self_capped_distance(
            one.positions, CUTOFF, box=universe.dimensions, return_distances=False
        )
        return float(len(pairs))

    return lambda: per_frame(universe, stop, compute)


def map_of(top: str, path: str, text: str, stop: int) -> Callable[[], np.ndarray]:
    """Return a function that makes a map of residues with mdtraj."""
    loaded = mdtraj.load(path, top=top)[:stop]
    atoms = loaded.atom_slice(loaded.topology.select(text))
    n = atoms.n_residues
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])

    def compute() -> np.ndarray:
        distances, _ = mdtraj.compute_contacts(atoms, pairs, "closest", periodic=False)
        return (10 * distances <= CUTOFF).mean(axis=0)

    return compute


def native(universe: mda.Universe) -> Callable[[], np.ndarray]:
    """Return a function that computes soft native contacts with MDAnalysis."""
    groups = universe.select_atoms(ACIDS), universe.select_atoms(BASES)
    run = Contacts(universe, (ACIDS, BASES), refgroup=groups, radius=6.0, method="soft_cut")
    return lambda: run.run().results.timeseries[:, 1]


def turns(rows: dict[str, tuple[int, dict[str, Work]]], rounds: int) -> None:
    """Check that all programs agree, then time them in turns and print a table."""
    for name, (n_frames, works) in rows.items():
        best = dict.fromkeys(works, np.inf)
        values = {tool: work() for tool, work in works.items()}
        for tool, found in values.items():
            apart = np.abs(found - values["trajet"]).max()
            # Pairs at the cut-off may be on either side of it in float32.
            assert apart <= 3 + 1e-4 * np.abs(found).max(), (name, tool, apart)
        for _ in range(rounds):
            for tool, work in works.items():
                begin = time.perf_counter()
                work()
                best[tool] = min(best[tool], time.perf_counter() - begin)
        ours = best.pop("trajet")
        cells = [f"trajet {ours / n_frames * 1e3:9.3f} ms"]
        cells += [
            f"{tool} {seconds / n_frames * 1e3:9.3f} ms, {seconds / ours:6.1f} times"
            for tool, seconds in best.items()
        ]
        print(f"{name:36} {'; '.join(cells)}", flush=True)


def full_table(rounds: int, pool: tj.LocalPool) -> None:
    """Print the bandwidth of the table of all pairs beside that of writing."""
    traj = tj.open(datafiles.PSF, datafiles.DCD)
    universe = mda.Universe(datafiles.PSF, datafiles.DCD)
    chosen, n_frames = traj.all_atoms(), 16
    n_pairs = chosen.n_atoms * (chosen.n_atoms - 1) // 2
    rates: dict[str, list[float]] = {"trajet": [], "MDAnalysis": [], "write": []}

    def theirs() -> None:
        values = np.empty((n_frames, n_pairs))
        for row, _ in zip(values, universe.trajectory[:n_frames], strict=True):
            self_distance_array(universe.atoms.positions, result=row)

    for _ in range(rounds):
        for name, work in (
            ("trajet", lambda: tj.distances(chosen, frames=slice(0, n_frames), pool=pool)),
            ("MDAnalysis", theirs),
            ("write", lambda: np.empty((n_frames, n_pairs)).fill(1.0)),
        ):
            begin = time.perf_counter()
            work()
            rates[name].append(8e-9 * n_frames * n_pairs / (time.perf_counter() - begin))
    for name, found in rates.items():
        best, middle = max(found), median(found)
        print(f"table of all pairs: {name:12} best {best:6.2f}, median {middle:6.2f} GB/s")


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    pool = tj.LocalPool(threads=given.threads)
    adk = (datafiles.PSF, datafiles.DCD)
    wet = (datafiles.GRO, datafiles.XTC)
    dry_traj, wet_traj = tj.open(*adk), tj.open(*wet, sidecar=False)
    dry, solvated = mda.Universe(*adk), mda.Universe(*wet)
    every, n_dry, n_wet = dry_traj.all_atoms(), 98, 2
    lid, acids = dry_traj.select(LID), dry_traj.select(ACIDS)
    backbone, first = wet_traj.select(BACKBONE), slice(0, n_wet)
    upper = np.triu_indices(60, 1)

    def residues() -> np.ndarray:
        chosen = dry_traj.select("resid 1:60")
        return tj.contact_map(chosen, cutoff=CUTOFF, pool=pool).values[upper]

    turns(
        {
            "contacts of ADK, all atoms": (
                n_dry,
                {
                    "trajet": lambda: tj.contacts(every, cutoff=CUTOFF, pool=pool).values,
                    "MDAnalysis, all distances": by_distances(dry, "all", None, n_dry, False),
                    "MDAnalysis, capped": capped(dry, "all", n_dry),
                },
            ),
            "contacts of backbone and water": (
                n_wet,
                {
                    "trajet": lambda: (
                        tj.contacts(backbone, WATER, cutoff=CUTOFF, frames=first, pool=pool).values
                    ),
                    "MDAnalysis, all distances": by_distances(
                        solvated, BACKBONE, WATER, n_wet, False
                    ),
                },
            ),
            "least distance of LID and NMP": (
                n_dry,
                {
                    "trajet": lambda: tj.min_distance(lid, NMP, pool=pool).values,
                    "MDAnalysis": by_distances(dry, LID, NMP, n_dry, True),
                },
            ),
            "least distance of backbone and water": (
                n_wet,
                {
                    "trajet": lambda: (
                        tj.min_distance(backbone, WATER, frames=first, pool=pool).values
                    ),
                    "MDAnalysis": by_distances(solvated, BACKBONE, WATER, n_wet, True),
                },
            ),
            "map of 60 residues": (
                n_dry,
                {
                    "trajet": residues,
                    "mdtraj": map_of(*adk, "resid 0 to 59", n_dry),
                },
            ),
            "native contacts of salt bridges": (
                n_dry,
                {
                    "trajet": lambda: (
                        tj.native_contacts(
                            acids,
                            BASES,
                            cutoff=6.0,
                            heavy_only=False,
                            exclude_neighbors=-1,
                            pool=pool,
                        ).values
                    ),
                    "MDAnalysis": native(dry),
                },
            ),
        },
        given.rounds,
    )
    full_table(given.rounds, pool)


if __name__ == "__main__":
    main()
