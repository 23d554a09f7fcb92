"""Print how fast analyses are beside the peers that their aims name, in one table.

Usage: `python benches/analyses.py [NAME ...] [--quick] [--full] [--rounds N] [--threads N]`. Both
programs take turns, in every round; the table has the best milliseconds per frame of each, the
median of the ratios within a round, and the aim. Reading, decoding and starting are included for
trajet; what MDAnalysis does once for all frames of hydrogen bonds is not counted against it. Values
are compared before they are timed; those of PCA, within its only round. `--quick` takes about three
minutes; `--full` has PCA of 4,187 frames of 3,341 atoms (MDAnalysis' issue 5351), which takes
MDAnalysis a quarter of an hour and 5 GB. OpenMP and BLAS get as many threads as trajet. The native
module must be a release build.

The other scripts of this folder have more cases of each analysis, and further peers.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import contacts
import frames
import hbonds
import MDAnalysis as mda
import mdtraj
import numpy as np
import proteins
import trajet as tj
from displacements import write_walk
from host import describe_load
from MDAnalysis.analysis.msd import EinsteinMSD
from MDAnalysis.analysis.pca import PCA
from MDAnalysis.analysis.rdf import InterRDF
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

# Seconds per frame of one run.
Timed = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """An analysis, with the speed that it should have beside a peer.

    `rounds` are fewer than asked for where the peer is slow.
    """

    name: str
    peer: str
    aim: float
    ours: Timed
    theirs: Timed
    rounds: int | None = None


@dataclass(frozen=True)
class Size:
    """Sizes of the computations."""

    # How often the 98 frames of ADK are repeated, and the 10 of the solvated protein.
    dry: int
    wet: int
    # Frames of all pairs, and of the principal components, and the step between its atoms.
    pairs: int
    components: tuple[int, int]
    # Frames and atoms of a random walk.
    walk: tuple[int, int]
    # Frames whose hydrogen bonds, and whose pairs of waters, the peer finds.
    bonds: int
    radial: int


QUICK = Size(10, 10, 500, (400, 6), (1000, 1000), 4, 1)
USUAL = Size(20, 50, 1000, (1000, 3), (2000, 2000), 10, 2)


def per_frame(work: Callable[[], object], n_frames: int) -> Timed:
    """Return a function that runs some work once, and returns its seconds per frame."""

    def timed() -> float:
        begin = time.perf_counter()
        work()
        return (time.perf_counter() - begin) / n_frames

    return timed


def expect(apart: np.ndarray, limit: float, name: str) -> None:
    """Raise an error if values are further apart than the limit."""
    if not np.abs(apart).max() <= limit:
        raise SystemExit(f"{name}: values differ by {np.abs(apart).max()}")


class Table:
    """The analyses of the table, each with files of its own.

    Parameters
    ----------
    folder
        A folder for files.
    size
        How much is computed.
    pool
        Where trajet computes.
    full
        Whether principal components are those of MDAnalysis' issue.
    """

    def __init__(self, folder: Path, size: Size, pool: tj.LocalPool, *, full: bool) -> None:
        self.folder, self.size, self.pool, self.full = folder, size, pool, full
        once, self.dry = folder / "once.xtc", folder / "adk.xtc"
        tj.convert(tj.open(datafiles.PSF, datafiles.DCD), once)
        self.dry.write_bytes(once.read_bytes() * size.dry)
        self.short, self.wet = folder / "short.xtc", folder / "solvated.xtc"
        self.short.write_bytes(Path(datafiles.XTC).read_bytes())
        self.wet.write_bytes(self.short.read_bytes() * size.wet)

    def rows(self) -> dict[str, Callable[[], Iterator[Row]]]:
        """Return the analyses by name."""
        return {
            "groups": self.groups,
            "contacts": self.contacts,
            "sasa": self.sasa,
            "hbonds": self.hbonds,
            "pairwise": self.pairwise,
            "pca": self.pca,
            "dssp": self.dssp,
            "msd": self.msd,
            "rdf": self.rdf,
        }

    def groups(self) -> Iterator[Row]:
        """Yield the radius of gyration, and centres of residues and of waters."""
        dry, wet = tj.open(datafiles.PSF, self.dry), tj.open(datafiles.TPR, self.wet)
        protein, water = dry.select("protein"), wet.select("resname SOL and not name MW")
        theirs = mda.Universe(datafiles.PSF, str(self.dry))
        atoms = theirs.select_atoms("protein")
        solvated = mda.Universe(datafiles.TPR, str(self.short))
        waters = solvated.select_atoms("resname SOL and not name MW")

        def all_frames(universe: mda.Universe, compute: Callable[[], object]) -> np.ndarray:
            return np.array([compute() for _ in universe.trajectory])

        cases = {
            "radius of gyration, 3,341 atoms": (
                lambda: tj.gyration(protein, pool=self.pool),
                lambda: all_frames(theirs, atoms.radius_of_gyration),
                dry.n_frames,
            ),
            "centres of 214 residues": (
                lambda: tj.centers(protein, pool=self.pool),
                lambda: all_frames(theirs, lambda: atoms.center_of_mass(compound="residues")),
                dry.n_frames,
            ),
            "centres of 11,084 waters": (
                lambda: tj.centers(water, pool=self.pool),
                lambda: all_frames(solvated, lambda: waters.center_of_mass(compound="residues")),
                wet.n_frames,
            ),
        }
        for name, (ours, other, n_frames) in cases.items():
            expected = other()
            expect(ours().values[: len(expected)] - expected, 1e-3, name)
            there = per_frame(other, len(expected))
            yield Row(name, "MDAnalysis", 10, per_frame(ours, n_frames), there)

    def contacts(self) -> Iterator[Row]:
        """Yield contacts within a protein."""
        chosen = tj.open(datafiles.PSF, self.dry).all_atoms()
        universe, n = mda.Universe(datafiles.PSF, str(self.dry)), 98

        def ours() -> np.ndarray:
            return tj.contacts(chosen, cutoff=contacts.CUTOFF, pool=self.pool).values

        # Of its two ways the faster one.
        theirs = contacts.capped(universe, "all", n)
        # Pairs at the cut-off may be on either side of it in float32.
        expect(ours()[:n] - theirs(), 3, "contacts")
        here = per_frame(ours, chosen.trajectory.n_frames)
        yield Row("contacts of 3,341 atoms", "MDAnalysis", 10, here, per_frame(theirs, n))

    @cached_property
    def _protein(self) -> tuple[tj.Selection, mdtraj.Trajectory]:
        selection, twin = proteins.prepare(self.folder)
        proteins.check(selection, twin)
        return selection, twin

    def sasa(self) -> Iterator[Row]:
        """Yield surface areas."""
        selection, twin = self._protein
        few, some = twin[: proteins.SASA_FRAMES], slice(0, 98)
        yield Row(
            "SASA, 3,341 atoms, 960 points",
            "mdtraj",
            10,
            per_frame(lambda: tj.sasa(selection, frames=some, pool=self.pool), 98),
            per_frame(lambda: mdtraj.shrake_rupley(few), len(few)),
        )

    def dssp(self) -> Iterator[Row]:
        """Yield secondary structure."""
        selection, twin = self._protein
        yield Row(
            "DSSP, 214 residues, eight classes",
            "mdtraj",
            5,
            per_frame(lambda: tj.dssp(selection, pool=self.pool), selection.trajectory.n_frames),
            per_frame(lambda: mdtraj.compute_dssp(twin, simplified=False), len(twin)),
        )

    def hbonds(self) -> Iterator[Row]:
        """Yield hydrogen bonds of the solvated protein."""
        atoms = tj.open(datafiles.TPR, self.wet).all_atoms()
        n = self.size.bonds
        analysis = hbonds.by_mdanalysis(datafiles.TPR, str(self.short), "all")

        def of_a_frame() -> float:
            spent = []
            for stop in (1, n):
                begin = time.perf_counter()
                analysis.run(stop=stop)
                spent.append(time.perf_counter() - begin)
            return (spent[1] - spent[0]) / (n - 1)

        of_a_frame()
        found = tj.hbonds(atoms, frames=slice(0, n), pool=self.pool).values
        # Pairs at a limit may be on either side of it in float32.
        expect(found - analysis.count_by_time(), 3, "hydrogen bonds")
        here = per_frame(lambda: tj.hbonds(atoms, pool=self.pool), atoms.trajectory.n_frames)
        yield Row("hydrogen bonds, 47,681 atoms", "MDAnalysis", 10, here, of_a_frame, 2)

    def pairwise(self) -> Iterator[Row]:
        """Yield RMSDs of all pairs of frames."""
        n = self.size.pairs
        path = frames.make(self.folder / "pairs.dcd", n, 1)
        top = str(path.with_suffix(".pdb"))
        for text, label in (("name CA", "214 atoms"), ("all", "3,341 atoms")):
            atoms = tj.open(top, path).select(text)
            held = mdtraj.Trajectory(
                atoms.read().positions / 10, mdtraj.load(top).topology.subset(atoms.indices)
            )
            held.center_coordinates()

            def ours(atoms: tj.Selection = atoms) -> np.ndarray:
                return np.asarray(tj.pairwise_rmsd(atoms, pool=self.pool))

            def theirs(held: mdtraj.Trajectory = held) -> np.ndarray:
                one = [mdtraj.rmsd(held, held, k, precentered=True) for k in range(len(held))]
                return 10 * np.array(one)

            name = f"RMSD of all pairs of {n} frames, {label}"
            expected, found = theirs(), ours()
            if found.ndim == 1:
                expected = expected[np.triu_indices(n, 1)]
            # In float32, from a difference of large numbers, that of a frame from itself is not 0.
            off = expected > 0.1
            expect((found - expected)[off], 2e-3, name)
            yield Row(name, "mdtraj", 3, per_frame(ours, n), per_frame(theirs, n))

    def pca(self) -> Iterator[Row]:
        """Yield principal components."""
        n, every = frames.SIZES["full"] if self.full else self.size.components
        path = frames.make(self.folder / "pca.dcd", n, every)
        top = str(path.with_suffix(".pdb"))
        traj = tj.open(top, path)
        name = f"PCA of {n:,} frames, {traj.n_atoms:,} atoms"
        variances: list[np.ndarray] = []

        def ours() -> None:
            variances[:] = [tj.pca(traj, reference=0, pool=self.pool).variances]

        def theirs() -> None:
            run = PCA(mda.Universe(top, str(path)), select="all", align=True).run()
            expected = run.results.variance[:10]
            expect(variances[0][:10] - expected, 1e-5 * expected[0], name)

        yield Row(name, "MDAnalysis", 10, per_frame(ours, n), per_frame(theirs, n), 1)

    def msd(self) -> Iterator[Row]:
        """Yield mean squared displacements."""
        if find_spec("tidynamics") is None:
            print("MSD is skipped: MDAnalysis needs tidynamics (pip install tidynamics)")
            return
        n, n_atoms = self.size.walk
        path = self.folder / "walk.dcd"
        write_walk(path, n, n_atoms)
        atoms = tj.open(None, path).all_atoms()
        universe = mda.Universe.empty(n_atoms, trajectory=True)
        universe.load_new(str(path))

        def ours() -> np.ndarray:
            return tj.msd(atoms, fft=True, unwrapped=True, pool=self.pool).values

        def theirs() -> np.ndarray:
            return EinsteinMSD(universe, fft=True).run().results.timeseries

        name = f"MSD by FFT, {n} frames of {n_atoms} atoms"
        expected = theirs()
        expect(ours() - expected, 1e-4 * expected.max(), name)
        yield Row(name, "MDAnalysis", 5, per_frame(ours, n), per_frame(theirs, n))

    def rdf(self) -> Iterator[Row]:
        """Yield the RDF of water."""
        oxygens = tj.open(datafiles.TPR, self.wet).select("name OW")
        n = self.size.radial
        theirs = mda.Universe(datafiles.TPR, str(self.short)).select_atoms("name OW")
        options = {"range": (0.0, 15.0)}

        def other() -> np.ndarray:
            one = InterRDF(theirs, theirs, nbins=75, exclusion_block=(1, 1), **options)
            return one.run(stop=n).results.count

        def ours(frames: slice) -> np.ndarray:
            return tj.rdf(oxygens, bins=75, frames=frames, pool=self.pool, **options).counts

        expected = other()
        # A pair that lies within rounding of a bin's edge may be in the next bin, in both orders.
        expect((ours(slice(n)) - expected) / (2 + 1e-4 * expected), 1, "RDF")
        ten = slice(0, 10)
        here = per_frame(lambda: ours(ten), 10)
        yield Row("RDF of 11,084 oxygens to 15 Å", "MDAnalysis", 50, here, per_frame(other, n), 1)


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these analyses")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    frames.threads_of_all(options.threads)
    warnings.simplefilter("ignore")
    pool = tj.LocalPool(threads=options.threads)
    print(f"{options.threads} threads, {describe_load()}")
    print(f"{'':46} {'trajet':>9} {'peer':>9}  ms per frame; times as fast, and the aim")
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        size = QUICK if options.quick else USUAL
        table = Table(Path(folder), size, pool, full=options.full).rows()
        for name in options.names:
            if name not in table:
                parser.error(f"there is no analysis {name!r}: choose among {', '.join(table)}")
        for name in options.names or table:
            for row in table[name]():
                n = min(options.rounds, row.rounds or options.rounds)
                rounds = [(row.ours(), row.theirs()) for _ in range(n)]
                ours, theirs = (1e3 * min(times) for times in zip(*rounds, strict=True))
                ratio = median(their / our for our, their in rounds)
                if ratio < row.aim:
                    missed.append(row.name)
                line = f"{row.name:46} {ours:9.3f} {theirs:9.3f}  {ratio:6.1f} of {row.aim:g}"
                print(f"{line:78} {row.peer}", flush=True)
    print(f"short of the aim: {', '.join(missed) or 'none'}; {describe_load()}")


if __name__ == "__main__":
    main()
