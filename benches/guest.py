"""Time scripts of MDAnalysis with our readers installed beside MDAnalysis' own.

Usage: `python benches/guest.py [--rounds N] [--quick] [--cases NAME ...] [--data FOLDER]`, after
`python benches/trajectories.py`. The native module must be a release build.

Both take turns in each round, on the same files, each with a Universe of its own that is opened
beforehand; a round's results must be equal. The table has medians of the seconds, and the median of
the rounds' ratios: MDAnalysis' time over ours. BLAS has one thread, and so has reading ahead.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from peers.trajet import require_release_build

HERE = Path(__file__).resolve().parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Case:
    """A script.

    Attributes
    ----------
    system
        "adk" or "solvated".
    run
        The script: it takes a Universe and the frames to look at, and returns numbers.
    target
        How many times as fast as MDAnalysis it should be.
    part
        Share of the frames that it looks at.
    tolerance
        By how much the numbers may differ.
    """

    system: str
    run: Callable[[Any, Any], Any]
    target: float
    part: float = 1.0
    tolerance: float = 0.0


def loop_over(text: str) -> Callable[[Any, Any], Any]:
    """Return a script that sums positions of a group in each frame."""

    def run(u: Any, frames: slice) -> Any:
        atoms = u.select_atoms(text)
        return [float(atoms.positions[0, 0]) for _ in u.trajectory[frames]]

    return run


def times(u: Any, frames: slice) -> Any:
    """Look at times only."""
    return [ts.time for ts in u.trajectory[frames]]


def whole_frames(u: Any, frames: slice) -> Any:
    """Look at all positions of the time step."""
    return [float(ts.positions[-1, 2]) for ts in u.trajectory[frames]]


def mean_of_all(u: Any, frames: slice) -> Any:
    """Average all atoms, as a group."""
    return sum(u.atoms.positions.astype("f8") for _ in u.trajectory[frames])


def rmsd(u: Any, frames: slice) -> Any:
    """Fit C-alpha atoms on the first frame."""
    from MDAnalysis.analysis import rms

    u.trajectory[0]
    atoms = u.select_atoms("protein and name CA")
    return rms.RMSD(atoms, atoms).run(frames=range_of(u, frames)).results.rmsd


def rmsf(u: Any, frames: slice) -> Any:
    """Fluctuations of C-alpha atoms."""
    from MDAnalysis.analysis import rms

    atoms = u.select_atoms("protein and name CA")
    return rms.RMSF(atoms).run(frames=range_of(u, frames)).results.rmsf


def gyration(u: Any, frames: slice) -> Any:
    """Radii of gyration of the protein."""
    atoms = u.select_atoms("protein")
    return [atoms.radius_of_gyration() for _ in u.trajectory[frames]]


def align_traj(u: Any, frames: slice) -> Any:
    """Write frames that were fitted."""
    from MDAnalysis.analysis.align import AlignTraj

    reference = u.copy()
    reference.trajectory[0]
    with TemporaryDirectory() as folder:
        run = AlignTraj(u, reference, select="name CA", filename=f"{folder}/fitted.dcd")
        return run.run(frames=range_of(u, frames)).results.rmsd


def writing(suffix: str) -> Callable[[Any, Any], Any]:
    """Return a script that writes all atoms of each frame."""

    def run(u: Any, frames: slice) -> Any:
        import MDAnalysis as mda

        own = u.trajectory.__class__.__module__.startswith("MDAnalysis")
        with TemporaryDirectory() as folder, writers_of(own=own):
            path = f"{folder}/copy.{suffix}"
            with mda.Writer(path, u.atoms.n_atoms) as writer:
                for _ in u.trajectory[frames]:
                    writer.write(u.atoms)
            return [Path(path).stat().st_size]

    return run


@contextmanager
def writers_of(*, own: bool) -> Iterator[None]:
    """Have MDAnalysis use its own writers, or those that are installed."""
    import trajet.mdanalysis as guest

    if own:
        guest.uninstall()
    try:
        yield
    finally:
        guest.install()


def hydrogen_bonds(u: Any, frames: slice) -> Any:
    """Hydrogen bonds within the protein."""
    from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis

    run = HydrogenBondAnalysis(
        u,
        donors_sel="protein and name N",
        hydrogens_sel="protein and name H HN",
        acceptors_sel="protein and name O",
        update_selections=False,
    )
    return run.run(frames=range_of(u, frames)).results.hbonds


def rdf(u: Any, frames: slice) -> Any:
    """Distances of water from the protein."""
    from MDAnalysis.analysis.rdf import InterRDF

    protein, water = u.select_atoms("protein and name CA"), u.select_atoms("name OW")
    return InterRDF(protein, water).run(frames=range_of(u, frames)).results.count


def around(u: Any, frames: slice) -> Any:
    """Count the atoms of an updating group."""
    shell = u.select_atoms("name OW and around 4 (protein and name CA)", updating=True)
    return [len(shell) for _ in u.trajectory[frames]]


def random_frames(u: Any, frames: slice) -> Any:
    """Go to frames in any order, and look at C-alpha atoms."""
    atoms = u.select_atoms("protein and name CA")
    numbers = [k * 7919 % len(u.trajectory) for k in range_of(u, frames)]
    seen = []
    for number in numbers:
        u.trajectory[number]
        seen.append(float(atoms.positions[0, 0]))
    return seen


def to_memory(u: Any, frames: slice) -> Any:
    """Read a trajectory into memory."""
    made = u.copy()
    made.transfer_to_memory(frames.start, frames.stop, frames.step)
    return made.trajectory.timeseries()[:, ::100]


def range_of(u: Any, frames: slice) -> list[int]:
    """Return frame numbers of a slice."""
    return list(range(len(u.trajectory)))[frames]


CASES = {
    "times": Case("solvated", times, 5),
    "solvated RMSD": Case("solvated", rmsd, 12, tolerance=1e-6),
    "solvated protein": Case("solvated", loop_over("protein"), 10),
    "solvated C-alpha": Case("solvated", loop_over("protein and name CA"), 25),
    "solvated gyration": Case("solvated", gyration, 3),
    "solvated whole frames": Case("solvated", whole_frames, 4.5),
    "solvated mean of all": Case("solvated", mean_of_all, 0.95),
    "solvated random": Case("solvated", random_frames, 3),
    "solvated to memory": Case("solvated", to_memory, 2, part=0.2),
    "solvated RDF": Case("solvated", rdf, 0.95, part=0.1),
    "solvated hydrogen bonds": Case("solvated", hydrogen_bonds, 0.95, tolerance=1e-3),
    "solvated around": Case("solvated", around, 0.95, part=0.1),
    "solvated AlignTraj": Case("solvated", align_traj, 0.95, part=0.1, tolerance=1e-4),
    "solvated to XTC": Case("solvated", writing("xtc"), 1.2, part=0.2, tolerance=1e-4),
    "solvated to TRR": Case("solvated", writing("trr"), 1.2, part=0.2),
    "adk whole frames": Case("adk", whole_frames, 4.5),
    "adk C-alpha": Case("adk", loop_over("name CA"), 4.5),
    "adk RMSD": Case("adk", rmsd, 4.5, tolerance=1e-6),
    "adk RMSF": Case("adk", rmsf, 4.5),
    "adk random": Case("adk", random_frames, 3),
    "adk to memory": Case("adk", to_memory, 2),
    "adk mean of all": Case("adk", mean_of_all, 0.95),
    "adk AlignTraj": Case("adk", align_traj, 0.95, part=0.2, tolerance=1e-4),
    "adk hydrogen bonds": Case("adk", hydrogen_bonds, 0.95, part=0.3, tolerance=1e-3),
}


def files_of(folder: Path, *, quick: bool) -> dict[str, tuple[str, str]]:
    """Return topology and trajectory of each system; MDAnalysis writes offsets beside them."""
    from MDAnalysisTests import datafiles

    names = ("adk10.xtc", "solvated5.xtc") if quick else ("adk100.xtc", "solvated.xtc")
    for name in ("adk.psf", *names):
        if not (folder / name).exists():
            sys.exit(f"{folder / name} is missing: run python benches/trajectories.py")
    return {
        "adk": (str(folder / "adk.psf"), str(folder / names[0])),
        "solvated": (datafiles.TPR, str(folder / names[1])),
    }


def seconds_of(case: Case, u: Any) -> tuple[float, Any]:
    """Run a script, and return its time and its numbers."""
    n_frames = max(10, int(case.part * len(u.trajectory)))
    begin = time.perf_counter()
    result = case.run(u, slice(0, n_frames, 1))
    return time.perf_counter() - begin, result


def compare(name: str, case: Case, files: tuple[str, str], rounds: int) -> bool:
    """Time one script with both readers; return whether it is as fast as it should be."""
    import MDAnalysis as mda
    import numpy as np
    import trajet.mdanalysis as guest

    theirs = mda.Universe(*files)
    with guest.install():
        ours = mda.Universe(*files)
        pairs = []
        for _ in range(rounds):
            (slow, known), (fast, seen) = seconds_of(case, theirs), seconds_of(case, ours)
            np.testing.assert_allclose(
                np.asarray(seen), np.asarray(known), rtol=case.tolerance, atol=case.tolerance
            )
            pairs.append((slow, fast))
    ratio = median(slow / fast for slow, fast in pairs)
    slow, fast = (median(column) for column in zip(*pairs, strict=True))
    word = "" if ratio >= case.target else "  NOT REACHED"
    print(f"{name:26} {slow:9.3f} {fast:9.3f} {ratio:8.2f} {case.target:8.2f}{word}", flush=True)
    print(f"{'':26} {ours.trajectory.report}", file=sys.stderr)
    return ratio >= case.target


def main() -> int:
    """Print the table; the exit status is 1 where a target is missed."""
    require_release_build()
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="files a tenth as long")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--data", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    files = files_of(arguments.data, quick=arguments.quick)
    print(f"{'script':26} {'theirs, s':>9} {'ours, s':>9} {'ratio':>8} {'target':>8}")
    reached = [
        compare(name, CASES[name], files[CASES[name].system], arguments.rounds)
        for name in arguments.cases
    ]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
