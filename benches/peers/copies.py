"""Copies of a trajectory by each tool: by a call in this process, or by a whole command."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cases import Case, MissingError, Truth, expect
from numpy.typing import NDArray

from peers.commands import ENVIRONMENT, find_version
from peers.contestant import Contestant
from peers.mdanalysis import open_universe, select
from peers.mdtraj import ANGSTROM_PER_NM, BLOCK
from peers.trajet import instruction_set, load, open_trajectory

COMMAND, LIMIT = "trajet convert", "limit"
# Allowed difference of positions from the source, Å: to nm and back.
TOLERANCE = 1e-4
# The class of mdtraj for the suffix of the output, and its units of length in an nm.
MDTRAJ_WRITERS = {
    ".xtc": ("XTCTrajectoryFile", 1.0),
    ".dcd": ("DCDTrajectoryFile", ANGSTROM_PER_NM),
    ".nc": ("NetCDFTrajectoryFile", ANGSTROM_PER_NM),
    ".h5": ("HDF5TrajectoryFile", 1.0),
}
# Where HDF5 files hold positions, and the attribute that names their unit.
DATASETS = {
    ".h5md": ("particles/trajectory/position/value", "unit"),
    ".h5": ("coordinates", "units"),
}
ANGSTROMS = {"Angstrom": 1.0, "nm": ANGSTROM_PER_NM, "nanometers": ANGSTROM_PER_NM}
# Bytes that are written, or frames that are read back, at a time.
PIECE, FRAMES = 1 << 16, 500

Write = Callable[[Path], object]


def read_back(path: Path, n_atoms: int) -> Iterator[NDArray[np.float32]]:
    """Read the positions of each written frame, Å, with the readers of other programs."""
    if path.suffix in DATASETS:
        import h5py

        name, attribute = DATASETS[path.suffix]
        with h5py.File(path) as file:
            unit = file[name].attrs[attribute]
            angstrom = ANGSTROMS[unit if isinstance(unit, str) else unit.decode()]
            for begin in range(0, len(file[name]), FRAMES):
                yield from file[name][begin : begin + FRAMES] * np.float32(angstrom)
        return
    import MDAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no cell
        universe: Any = MDAnalysis.Universe.empty(n_atoms)
        universe.load_new(str(path))
    for ts in universe.trajectory:
        yield ts.positions


def compare(path: Path, case: Case, truth: Truth, tool: str, *, exact: bool) -> None:
    """Raise `MismatchError` unless a file holds all frames of the source."""
    source = iter(open_universe(case).trajectory)
    for number, (ts, found) in enumerate(zip_longest(source, read_back(path, len(truth.indices)))):
        expect(ts is not None and found is not None, tool, "numbers of frames")
        expected = ts.positions[truth.indices]
        same = np.array_equal(found, expected) if exact else False
        if not exact:
            same = np.allclose(found, expected, rtol=0, atol=TOLERANCE)
        expect(same, tool, f"positions of frame {number} of what it wrote")


def contestant(
    job: tuple[Case, Truth, Path],
    tool: tuple[str, str, int],
    write: Write,
    *,
    exact: bool = False,
    isa: str | None = None,
    note: str = "",
) -> Contestant:
    """Return a tool (name, version, threads) that writes the output of a case into a folder."""
    case, truth, folder = job
    path = folder / f"copy{case.output}"

    def once() -> float:
        start = perf_counter()
        write(path)
        seconds = perf_counter() - start
        # Sync first: otherwise that would be in the time of the next copy.
        path.unlink()
        return seconds

    def verify() -> None:
        write(path)
        compare(path, case, truth, tool[0], exact=exact)
        path.unlink()

    return Contestant(*tool, verify, once, isa=isa, note=note)


def run(command: list[str], tool: str, spoken: str = "") -> None:
    """Run a command; raise `MissingError` if it fails."""
    done = subprocess.run(
        command, check=False, env=ENVIRONMENT, input=spoken, capture_output=True, text=True
    )
    if done.returncode:
        output = " ".join((done.stdout + done.stderr).split())
        raise MissingError(f"{tool} failed ({done.returncode}): ... {output[-400:]}")


def prepare_mdanalysis(case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Prepare `for ts in trajectory: writer.write(atoms)`."""
    import MDAnalysis

    universe = open_universe(case)
    atoms = select(case, universe)

    def write(path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no cell
            options = {"n_frames": truth.n_frames}
            with MDAnalysis.Writer(str(path), atoms.n_atoms, **options) as writer:
                for _ in universe.trajectory:
                    writer.write(atoms)

    return [contestant((case, truth, folder), ("MDAnalysis", version("MDAnalysis"), 1), write)]


def prepare_mdtraj(case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Prepare its files read and written in blocks, with its own layout instead of H5MD."""
    try:
        from mdtraj import formats
    except ModuleNotFoundError as error:
        raise MissingError(f"mdtraj: {error}") from None
    ending = ".h5" if case.output == ".h5md" else case.output
    name, unit = MDTRAJ_WRITERS[ending]
    writer: Any = getattr(formats, name)
    indices = None if truth.whole else truth.indices
    # Compressed with zlib by default, unlike those of every other tool.
    options: dict[str, Any] = {"compression": None} if ending == ".h5" else {}

    def write(path: Path) -> None:
        with (
            formats.XTCTrajectoryFile(str(case.trajectory)) as source,
            writer(str(path), "w", force_overwrite=True, **options) as target,
        ):
            while True:
                positions, time, step, box = source.read(truth.block(BLOCK), atom_indices=indices)
                if not len(positions):
                    break
                if unit != 1:
                    positions *= np.float32(unit)
                if ending == ".xtc":
                    target.write(positions, time, step, box)
                elif ending == ".dcd":
                    target.write(positions)
                else:
                    target.write(positions, time=time)

    job = (replace(case, output=ending), truth, folder)
    note = "mdtraj: its own layout of HDF5, not packed; it has no H5MD" if ending == ".h5" else ""
    return [contestant(job, ("mdtraj", version("mdtraj"), 1), write, note=note)]


def prepare_gmx(case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Prepare `gmx trjconv`, which writes formats of GROMACS only."""
    if case.output != ".xtc":
        return []
    number = find_version(["gmx", "--version"], r"GROMACS version:\s+([\w.]+)")
    index = folder / "atoms.ndx"
    index.write_text(f"[ atoms ]\n{' '.join(str(atom + 1) for atom in truth.indices)}\n")
    command = ["gmx", "-quiet", "trjconv", "-f", str(case.trajectory), "-n", str(index), "-o"]
    write = lambda path: run([*command, str(path)], "gmx", "0\n")  # noqa: E731
    note = "gmx: the whole command"
    return [contestant((case, truth, folder), ("gmx", number, 1), write, note=note)]


def prepare_trajet(case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Prepare `convert` with one thread and with two, and its command with two."""
    tj = load()
    traj = open_trajectory(tj, case)
    chosen = traj if case.selection is None else traj.select(case.selection)
    job, number, isa = (case, truth, folder), version("trajet"), instruction_set()

    def with_threads(threads: int) -> Contestant:
        write = lambda path: tj.convert(chosen, path, threads=threads)  # noqa: E731
        return contestant(job, ("trajet", number, threads), write, exact=True, isa=isa)

    program = Path(sysconfig.get_path("scripts")) / "trajet"
    start = [str(program)] if program.exists() else [sys.executable, "-m", "trajet"]
    command = [*start, "convert", "--quiet", "--threads", str(case.target_threads)]
    if case.selection is not None:
        command += ["--topology", str(case.topology), "--select", case.selection]
    command.append(str(case.trajectory))
    whole = contestant(
        *(job, (COMMAND, number, case.target_threads)),
        *(lambda path: run([*command, str(path)], COMMAND),),
        exact=True,
        isa=isa,
    )
    return [*(with_threads(threads) for threads in sorted({1, case.target_threads})), whole]


def prepare_limit(case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Prepare the lower bound of any writer: as many bytes to a new file, and to the disk."""
    tj = load()
    path = folder / f"limit{case.output}"
    traj = open_trajectory(tj, case)
    chosen = traj if case.selection is None else traj.select(case.selection)
    size = tj.convert(chosen, path).size
    path.unlink()
    piece = np.ones(PIECE, np.uint8)

    def once() -> float:
        start = perf_counter()
        with path.open("wb", buffering=0) as file:
            for begin in range(0, size, PIECE):
                file.write(piece[: size - begin])
            os.fsync(file.fileno())
        seconds = perf_counter() - start
        path.unlink()
        return seconds

    note = f"{LIMIT}: {size:,} bytes from memory to a new file, and fsync"
    return [Contestant(LIMIT, "", 1, lambda: None, once, note=note)]


TOOLS = {
    "MDAnalysis": prepare_mdanalysis,
    "mdtraj": prepare_mdtraj,
    "gmx": prepare_gmx,
    "trajet": prepare_trajet,
    LIMIT: prepare_limit,
}
