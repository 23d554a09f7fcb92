"""The programs that are compared, each with a case open: how they read, analyse and write it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cases import ANALYSES, NM, Case, MismatchError, Truth, Way
from host import HERE, MissingError, load
from numpy.typing import NDArray

# Bytes of positions that mdtraj reads at a time: its speed does not depend on it from 1 MiB on.
BLOCK_BYTES, MAX_BLOCK_FRAMES = 32 << 20, 500
# mdtraj's class for each format, and Å in its unit of length.
MDTRAJ_FORMATS = {
    ".xtc": ("XTCTrajectoryFile", NM),
    ".trr": ("TRRTrajectoryFile", NM),
    ".dcd": ("DCDTrajectoryFile", 1.0),
    ".nc": ("NetCDFTrajectoryFile", 1.0),
    ".h5": ("HDF5TrajectoryFile", NM),
}
MOLLY = HERE / "molly" / "target" / "release" / "trajet-bench-molly"
MOLLY_PATHS = ("bufreader", "scratch", "buffered")
# XTC's usual precision: positions in Å times this are whole numbers.
STEPS_PER_ANGSTROM = 100.0
TOLERANCE = 1e-4  # Å, of positions: from Å to nm and back
# Where HDF5 files hold positions, and the attribute that names their unit.
DATASETS = {
    ".h5md": ("particles/trajectory/position/value", "unit"),
    ".h5": ("coordinates", "units"),
}
# Bytes that the limit writes at a time.
PIECE = 1 << 16
GUEST = "MDAnalysis, our readers"
# Programs in the order of the rounds; commands with the pattern of their versions.
TOOLS = ("MDAnalysis", "mdtraj", "ProLIF", "molly", "gmx", "cpptraj", GUEST, "trajet", "limit")
VERSIONS = {"gmx": r"GROMACS version:\s+([\w.]+)", "cpptraj": r"Version\s+V?([\w.]+)"}


@dataclass(frozen=True)
class Contestant:
    """A program with `threads`, ready for one case.

    `verify` compares its values with the truth and returns how many it has and their largest
    difference; `run` does the case once and returns its seconds, without those of opening.
    """

    tool: str
    version: str
    threads: int
    verify: Callable[[], tuple[int, float]]
    run: Callable[[], float]
    isa: str | None = None
    note: str = ""


def expect(holds: bool, tool: str, what: str) -> None:
    """Raise `MismatchError` unless `holds`."""
    if not holds:
        raise MismatchError(f"{tool}: other {what} than expected")


def compare_values(values: Any, case: Case, truth: Truth, tool: str) -> tuple[int, float]:
    """Return the number of values and the largest difference; raise an error if it is too large."""
    assert truth.values is not None
    values = np.asarray(values, np.float64)
    expect(values.shape == truth.values.shape, tool, f"shape {values.shape}")
    expect(np.array_equal(np.isnan(values), np.isnan(truth.values)), tool, "NaN")
    apart = np.abs(values - truth.values)
    allowed = ANALYSES[case.task].allowed
    within = apart <= (allowed(truth.values) if callable(allowed) else allowed)
    expect(bool((within | np.isnan(apart)).all()), tool, f"{case.task} ({np.nanmax(apart)})")
    return values.size, float(np.nanmax(apart))


def compare_positions(ours: Any, theirs: Any, tool: str, *, exact: bool) -> tuple[int, float]:
    """Return the number of positions and the largest difference; raise an error if too large."""
    apart = float(np.abs(np.asarray(ours, np.float64) - theirs).max())
    expect(np.array_equal(ours, theirs) if exact else apart <= TOLERANCE, tool, "positions")
    return np.asarray(theirs).size, apart


class Opened:
    """A case in a program; its files are open and its indexes built outside any clock."""

    tool, version, threads, note = "", "", 1, ""
    isa: str | None = None
    case: Case

    def rewind(self) -> None:
        """Go to the first frame, before a pass and outside the clock."""

    def contestant(
        self, verify: Callable[[], tuple[int, float]], job: Callable[[], Any], check: Any = None
    ) -> Contestant:
        """Return the program with a job to time; `check` takes each of its results."""

        def run() -> float:
            self.rewind()
            begin = perf_counter()
            result = job()
            seconds = perf_counter() - begin
            if check is not None:
                check(result)
            del result  # memory is freed outside the clock
            return seconds

        return Contestant(self.tool, self.version, self.threads, verify, run, self.isa, self.note)

    def analysing(self, way: Way, truth: Truth) -> Contestant:
        """Return the program that runs the analysis of the case."""
        job = way.prepare(self)

        def verify() -> tuple[int, float]:
            self.rewind()
            return compare_values(way.values(job()), self.case, truth, self.tool)

        return self.contestant(verify, job)

    def reading(self, truth: Truth, *, exact: bool) -> Contestant:
        """Return the program that reads all frames."""

        def verify() -> tuple[int, float]:
            ours = self.positions(truth.frames)
            return compare_positions(ours, truth.positions, self.tool, exact=exact)

        def check(n_frames: int) -> None:
            expect(n_frames == truth.n_frames, self.tool, "numbers of frames")

        return self.contestant(verify, self.read, check)

    def writing(self, truth: Truth, path: Path, write: Any, *, exact: bool) -> Contestant:
        """Return the program that writes the output of the case."""

        def verify() -> tuple[int, float]:
            self.rewind()
            write(path)
            frames = MDAnalysis(self.case).universe.trajectory
            source = (ts.positions[truth.indices] for ts in frames)
            largest = 0.0
            for ours, theirs in zip_longest(read_back(path, len(truth.indices)), source):
                expect(ours is not None and theirs is not None, self.tool, "numbers of frames")
                _, apart = compare_positions(ours, theirs, self.tool, exact=exact)
                largest = max(largest, apart)
            path.unlink()
            return truth.n_frames * len(truth.indices) * 3, largest

        # Removed, or the next output waits for the disk because of this one.
        return self.contestant(verify, lambda: write(path), lambda _: path.unlink())

    def positions(self, frames: list[int]) -> Any:
        """Return positions of the atoms in some frames, Å."""
        raise NotImplementedError

    def read(self) -> int:
        """Read all frames; return their number."""
        raise NotImplementedError


class MDAnalysis(Opened):
    """A case in MDAnalysis."""

    tool = "MDAnalysis"

    def __init__(self, case: Case) -> None:
        import MDAnalysis as mda

        self.case, self.version, self.stop = case, version("MDAnalysis"), case.n_frames
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no cell in ADK's frames, no elements in the PSF
            self.universe: Any = mda.Universe(str(case.topology), str(case.trajectory))
        of = self.universe
        self.atoms = of.select_atoms(case.selection) if case.selection else of.atoms

    def each(self, compute: Callable[[], Any], reduce: Any = None) -> Callable[[], Any]:
        """Return a loop over the frames, in which values may be reduced."""
        frames = self.universe.trajectory[: self.stop]
        if reduce is None:
            return lambda: np.array([compute() for _ in frames])
        return lambda: np.array([reduce(compute()) for _ in frames])

    def run(self, module: str, name: str, *arguments: Any, **options: Any) -> Callable[[], Any]:
        """Return the serial run of an analysis."""
        analysis = getattr(import_module(f"MDAnalysis.analysis.{module}"), name)
        job = analysis(*arguments, **options)
        return lambda: job.run(stop=self.stop).results

    def distances(self, name: str, **options: Any) -> Callable[..., Any]:
        """Return a function of `MDAnalysis.lib.distances` of the atoms."""
        function, atoms = getattr(import_module("MDAnalysis.lib.distances"), name), self.atoms
        return lambda **more: function(atoms.positions, box=atoms.dimensions, **options, **more)

    def all_pairs(self) -> Callable[[], Any]:
        """Return a loop that fills the table of distances of all pairs of atoms."""
        n, measure = len(self.atoms), self.distances("self_distance_array")

        def run() -> Any:
            frames = self.universe.trajectory[: self.stop]
            table = np.empty((len(frames), n * (n - 1) // 2))
            for row, _ in zip(table, frames, strict=True):
                measure(result=row)
            return table

        return run

    def backbone(self) -> list[Any]:
        """Return φ and ψ, alternating, of the residues that have both, as groups of four atoms."""
        residues = self.atoms.residues
        pairs = zip(residues.phi_selections(), residues.psi_selections(), strict=True)
        return [four for pair in pairs if all(pair) for four in pair]

    def positions(self, frames: list[int]) -> Any:
        """Return positions of the atoms in some frames."""
        trajectory, indices = self.universe.trajectory, self.atoms.indices
        found = np.stack([trajectory[frame].positions[indices] for frame in frames])
        trajectory.rewind()
        return found

    def read(self) -> int:
        """Read all frames, without a copy if these are all atoms."""
        indices = slice(None) if self.case.selection is None else self.atoms.indices
        return sum(len(ts.positions[indices]) > 0 for ts in self.universe.trajectory)

    def write(self, path: Path) -> None:
        """Write the atoms of each frame."""
        import MDAnalysis as mda

        n_frames = len(self.universe.trajectory)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no cell
            with mda.Writer(str(path), len(self.atoms), n_frames=n_frames) as writer:
                for _ in self.universe.trajectory:
                    writer.write(self.atoms)


class Guest(MDAnalysis):
    """A case in MDAnalysis that reads with trajet's readers (`trajet.mdanalysis.install`)."""

    tool = GUEST

    def __init__(self, case: Case) -> None:
        import trajet.mdanalysis as guest

        with guest.install():
            super().__init__(case)


class ProLIF(MDAnalysis):
    """A case in ProLIF, which takes groups of MDAnalysis."""

    tool = "ProLIF"

    def __init__(self, case: Case) -> None:
        try:
            import prolif
        except ModuleNotFoundError as error:
            raise MissingError(f"ProLIF: {error}") from None
        super().__init__(case)
        self.prolif: Any = prolif
        self.version = version("prolif")
        self.universe.guess_TopologyAttrs(to_guess=["elements"])


class Mdtraj(Opened):
    """A case in mdtraj, whose reader of the format reads in blocks of 32 MiB.

    `fours` are the indices of dihedral angles among the atoms that are read.
    """

    tool = "mdtraj"

    def __init__(self, case: Case, truth: Truth) -> None:
        try:
            import mdtraj
            from mdtraj import formats
        except ModuleNotFoundError as error:
            raise MissingError(f"mdtraj: {error}") from None
        self.mdtraj: Any = mdtraj
        self.case, self.version, self.truth = case, version("mdtraj"), truth
        name, self.unit = MDTRAJ_FORMATS[case.trajectory.suffix]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without netCDF4, SciPy reads NetCDF
            self._file = getattr(formats, name)(str(case.trajectory))
        atoms = truth.indices
        if truth.fours is not None:
            atoms, columns = np.unique(truth.fours, return_inverse=True)
            self.fours = columns.reshape(truth.fours.shape)
        self.n_read = len(atoms)
        self._atoms = None if self.n_read == truth.n_atoms else atoms
        self._size = min(MAX_BLOCK_FRAMES, max(1, BLOCK_BYTES // (12 * self.n_read)))

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """All pairs of the atoms that are read."""
        return np.stack(np.triu_indices(self.n_read, 1), axis=1)

    @cached_property
    def topology(self) -> Any:
        """The topology of the atoms that are read."""
        whole = self.mdtraj.load(str(self.case.topology.with_suffix(".pdb"))).topology
        return whole if self._atoms is None else whole.subset(self._atoms)

    def rewind(self, frame: int = 0) -> None:
        """Go to a frame; it opens DCD files again, and prints a message."""
        self._file.seek(frame)

    def _next(self, n_frames: int) -> NDArray[np.float32]:
        positions = self._file.read(n_frames, atom_indices=self._atoms)[0]
        # Numbers of NetCDF come in the byte order of the file.
        native: NDArray[np.float32] = positions.astype(np.float32, copy=False)
        return native

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        left = self.truth.n_frames
        while left > 0 and len(positions := self._next(min(self._size, left))):
            left -= len(positions)
            yield positions

    def each(self, analyse: Callable[[Any], Any], *, topology: bool = False) -> Callable[[], Any]:
        """Return a function that analyses block after block."""
        known = self.topology if topology else None

        def run() -> Any:
            blocks = (self.mdtraj.Trajectory(positions, known) for positions in self._blocks())
            return np.concatenate([analyse(block) for block in blocks])

        return run

    def call(
        self, name: str, *arguments: Any, topology: bool = False, **options: Any
    ) -> Callable[[], Any]:
        """Return a function that calls one of mdtraj's for each block."""
        function = getattr(self.mdtraj, name)
        return self.each(lambda block: function(block, *arguments, **options), topology=topology)

    def all(self, analyse: Callable[[Any], Any]) -> Callable[[], Any]:
        """Return a function that reads all frames, then analyses them."""
        made = self.mdtraj.Trajectory
        return lambda: analyse(made(np.concatenate(list(self._blocks())), None))

    def rmsd(self) -> Callable[[], Any]:
        """Return a function that computes the RMSD from the first frame."""
        first = self.mdtraj.Trajectory(self.truth.positions[:1] / np.float32(NM), None)
        return self.call("rmsd", first, 0, parallel=False, precentered=False)

    def positions(self, frames: list[int]) -> Any:
        """Return positions in some frames, Å."""
        found = []
        for frame in frames:
            self.rewind(frame)
            found.append(self._next(1)[0] * np.float32(self.unit))
        return np.stack(found)

    def read(self) -> int:
        """Read all frames."""
        return sum(len(positions) for positions in self._blocks())

    def write(self, path: Path) -> None:
        """Write the atoms of all frames; HDF5 without its usual compression."""
        from mdtraj import formats

        name, unit = MDTRAJ_FORMATS[path.suffix]
        options: dict[str, Any] = {"compression": None} if path.suffix == ".h5" else {}
        with getattr(formats, name)(str(path), "w", force_overwrite=True, **options) as target:
            while True:
                read = self._file.read(self._size, atom_indices=self._atoms)
                positions, time, step, box = read
                if not len(positions):
                    return
                if unit != self.unit:
                    positions *= np.float32(self.unit / unit)
                if path.suffix == ".xtc":
                    target.write(positions, time, step, box)
                elif path.suffix == ".dcd":
                    target.write(positions)
                else:
                    target.write(positions, time=time)


class Command(Opened):
    """A program that is timed as a whole command in a folder of its own, with an index of atoms."""

    def __init__(self, case: Case, truth: Truth, tool: str, pattern: str, folder: Path) -> None:
        if shutil.which(tool) is None:
            raise MissingError(f"{tool}: not on PATH")
        done = subprocess.run([tool, "--version"], check=False, capture_output=True, text=True)
        number = re.search(pattern, done.stdout + done.stderr)
        self.tool, self.version = tool, number[1] if number else "unknown"
        self.case, self.note, self.folder = case, f"{tool}: the whole command", folder
        self.atoms = [int(index) + 1 for index in truth.indices]
        (folder / "atoms.ndx").write_text(f"[ atoms ]\n{' '.join(map(str, self.atoms))}\n")

    def rmsd(self, *words: object, typed: str) -> Callable[[], Path]:
        """Return a function that runs a program which writes times and RMSDs to `rmsd.xvg`."""

        def run() -> Path:
            run_command([self.tool, *map(str, words)], typed, self.folder)
            return self.folder / "rmsd.xvg"

        return run

    def write(self, path: Path) -> None:
        """Write the atoms of all frames: `gmx trjconv`."""
        words = ("-f", str(self.case.trajectory.absolute()), "-n", "atoms.ndx", "-o", str(path))
        run_command([self.tool, "-quiet", "trjconv", *words], "0\n", self.folder)


def run_command(command: list[str], typed: str = "", folder: Path | None = None) -> None:
    """Run a command; raise `MissingError` if it fails."""
    how: dict[str, Any] = {"input": typed, "capture_output": True, "text": True, "cwd": folder}
    # gmx keeps no backups of files that it overwrites.
    environment = {**os.environ, "GMX_MAXBACKUP": "-1"}
    done = subprocess.run(command, check=False, env=environment, **how)
    if done.returncode:
        output = " ".join((done.stdout + done.stderr).split())
        raise MissingError(f"{command[0]} failed ({done.returncode}): ... {output[-400:]}")


class Trajet(Opened):
    """A case in trajet, on some threads."""

    tool = "trajet"

    def __init__(self, case: Case, truth: Truth | None, threads: int) -> None:
        tj = load()
        self.tj, self.case, self.threads, self.version = tj, case, threads, version("trajet")
        self.isa = tj._trajet.INSTRUCTION_SET
        self.fours = None if truth is None else truth.fours
        self.traj = tj.open(str(case.topology), str(case.trajectory))
        self.atoms = self.traj.select(case.selection) if case.selection else self.traj
        self.options = {"frames": slice(case.n_frames), "pool": tj.LocalPool(threads=threads)}

    def call(self, name: str, *arguments: Any, **options: Any) -> Callable[[], Any]:
        """Return a call of an analysis of the atoms."""
        return partial(getattr(self.tj, name), self.atoms, *arguments, **self.options, **options)

    def positions(self, frames: list[int]) -> Any:
        """Return positions in some frames."""
        return self.atoms.read(frames=frames).positions

    def read(self) -> int:
        """Read all frames in blocks."""
        return sum(len(block.positions) for block in self.atoms.blocks())

    def write(self, path: Path) -> None:
        """Write the atoms of all frames."""
        self.tj.convert(self.atoms, path, threads=self.threads, force=True)

    def command(self, path: Path) -> None:
        """Write the atoms of all frames by the whole command."""
        program = Path(sysconfig.get_path("scripts")) / "trajet"
        start = [str(program)] if program.exists() else [sys.executable, "-m", "trajet"]
        words = ["convert", "--quiet", "--threads", str(self.threads)]
        if self.case.selection:
            words += ["--topology", str(self.case.topology), "--select", self.case.selection]
        run_command([*start, *words, str(self.case.trajectory), str(path)])


def molly(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare the program in `molly/`, which measures itself, on the fastest of its three paths."""
    if case.trajectory.suffix != ".xtc":
        return []
    if not MOLLY.exists():
        raise MissingError("molly: not built (cargo build --release in benches/molly)")
    count, mode = len(truth.indices), ["mask", "-"]
    if count == truth.n_atoms:
        mode = ["all"]
    elif np.array_equal(truth.indices, np.arange(count)):
        mode = ["until", str(count)]
    atoms = " ".join(map(str, truth.indices))

    def once(path: str) -> dict[str, Any]:
        command = [str(MOLLY), "--path", path, "--repeat", "1", str(case.trajectory), *mode]
        done = subprocess.run(command, check=True, input=atoms, capture_output=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    first = {path: once(path) for path in MOLLY_PATHS}
    fastest = min(first, key=lambda path: float(first[path]["best_s"]))

    def verify() -> tuple[int, float]:
        steps = np.rint(truth.positions[-1].astype(np.float64) * STEPS_PER_ANGSTROM).ravel()
        checksum = int(steps.astype(np.int64) @ np.arange(1, steps.size + 1))
        expected = {"frames": truth.n_frames, "atoms": count, "last_checksum": checksum}
        for result in first.values():
            expect({name: result[name] for name in expected} == expected, "molly", "positions")
        return steps.size, 0.0

    note = f"molly: its path `{fastest}`, the fastest of {len(first)} here"
    number = str(first[fastest]["version"])
    run = lambda: float(once(fastest)["best_s"])  # noqa: E731
    return [Contestant("molly", number, 1, verify, run, note=note)]


def read_back(path: Path, n_atoms: int) -> Iterator[NDArray[np.float32]]:
    """Read the positions of each frame of an output, Å, with the readers of other programs."""
    if path.suffix in DATASETS:
        import h5py

        name, attribute = DATASETS[path.suffix]
        with h5py.File(path) as file:
            unit = file[name].attrs[attribute]
            is_nm = (unit if isinstance(unit, str) else unit.decode()).startswith("n")
            for begin in range(0, len(file[name]), MAX_BLOCK_FRAMES):
                block = file[name][begin : begin + MAX_BLOCK_FRAMES]
                yield from block * np.float32(NM if is_nm else 1)
        return
    import MDAnalysis as mda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no cell
        universe: Any = mda.Universe.empty(n_atoms)
        universe.load_new(str(path))
    for ts in universe.trajectory:
        yield ts.positions


def limit(case: Case, folder: Path) -> list[Contestant]:
    """Prepare the lower bound of any writer: as many bytes to a new file, and to the disk."""
    path = folder / f"limit{case.output}"
    Trajet(case, None, 2).write(path)
    size, piece = path.stat().st_size, np.ones(PIECE, np.uint8)
    path.unlink()

    def write() -> None:
        with path.open("wb", buffering=0) as file:
            for begin in range(0, size, PIECE):
                file.write(piece[: size - begin])
            os.fsync(file.fileno())

    opened = Opened()
    opened.tool, opened.note = "limit", f"limit: {size:,} bytes to a new file, and fsync"
    return [opened.contestant(lambda: (0, 0.0), write, lambda _: path.unlink())]


def open_case(tool: str, case: Case, truth: Truth, folder: Path) -> list[Any]:
    """Open a case in a program, in trajet with each number of threads."""
    if tool == "trajet":
        return [Trajet(case, truth, threads) for threads in sorted({1, case.target_threads})]
    if tool == "mdtraj":
        return [Mdtraj(case, truth)]
    if tool in VERSIONS:
        return [Command(case, truth, tool, VERSIONS[tool], folder)]
    return [{GUEST: Guest, "ProLIF": ProLIF}.get(tool, MDAnalysis)(case)]


def does(tool: str, case: Case) -> bool:
    """Return whether a program takes part in a case."""
    if case.task == "read":
        return tool not in ("gmx", "cpptraj", "ProLIF", "limit")
    if case.task == "copy":
        return tool not in ("molly", "cpptraj", "ProLIF", GUEST) and (
            tool != "gmx" or case.output == ".xtc"
        )
    return ("MDAnalysis" if tool == GUEST else tool) in ANALYSES[case.task].ways


def prepare(tool: str, case: Case, truth: Truth, folder: Path) -> list[Contestant]:
    """Return a program with a case open, outside any clock."""
    if not does(tool, case):
        return []
    if tool == "molly":
        return molly(case, truth)
    if tool == "limit":
        return limit(case, folder)
    # mdtraj does not write H5MD, but its own layout of HDF5.
    suffix = ".h5" if tool == "mdtraj" and case.output == ".h5md" else case.output
    path, contestants = folder / f"copy{suffix}", []
    for opened in open_case(tool, case, truth, folder):
        if case.task == "read":
            contestants.append(opened.reading(truth, exact=tool != "mdtraj"))
        elif case.task == "copy":
            contestants.append(opened.writing(truth, path, opened.write, exact=tool == "trajet"))
        else:
            way = ANALYSES[case.task].ways["MDAnalysis" if tool == GUEST else tool]
            contestants.append(opened.analysing(way, truth))
    if case.task == "copy" and tool == "trajet":
        whole = opened.writing(truth, path, opened.command, exact=True)
        contestants.append(replace(whole, tool="trajet convert"))
    return contestants


def reference(task: str) -> str:
    """Return the program whose values are the expected ones."""
    ways = ANALYSES[task].ways if task in ANALYSES else ["MDAnalysis"]
    return next(tool for tool in ("MDAnalysis", "mdtraj", "ProLIF") if tool in ways)


def find_truth(case: Case) -> Truth:
    """Read some frames with MDAnalysis, and run the analysis by the program that it refers to."""
    opened = MDAnalysis(case)
    n_frames = len(opened.universe.trajectory)
    frames = [0, n_frames // 2, n_frames - 1]
    fours = None
    if case.task == "dihedrals":
        fours = np.array([four.indices for four in opened.backbone()], np.int64)
    truth = Truth(
        n_frames=min(n_frames, case.n_frames or n_frames),
        n_atoms=len(opened.universe.atoms),
        indices=opened.atoms.indices.astype(np.int64),
        frames=frames,
        positions=opened.positions(frames).astype(np.float32),
        values=None,
        fours=fours,
    )
    if case.task in ANALYSES:
        tool = reference(case.task)
        way = ANALYSES[case.task].ways[tool]
        source = opened if tool == "MDAnalysis" else open_case(tool, case, truth, Path())[0]
        truth.values = np.asarray(way.values(way.prepare(source)()), np.float64)
    return truth
