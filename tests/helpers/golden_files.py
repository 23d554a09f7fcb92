"""The trajectories that MDAnalysisTests ships, and MDAnalysis' reading of them as the truth."""

import hashlib
import re
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import MDAnalysisTests
import numpy as np
import trajet as tj
from MDAnalysis.coordinates.DCD import DCDReader
from MDAnalysis.coordinates.GRO import GROReader
from MDAnalysis.coordinates.INPCRD import INPReader
from MDAnalysis.coordinates.LAMMPS import DumpReader
from MDAnalysis.coordinates.PDB import PDBReader
from MDAnalysis.coordinates.TRJ import NCDFReader
from MDAnalysis.coordinates.TRR import TRRReader
from MDAnalysis.coordinates.XTC import XTCReader
from MDAnalysis.coordinates.XYZ import XYZReader
from MDAnalysis.lib.mdamath import triclinic_box
from mdtraj.formats import AmberRestartFile

from helpers import frame_borders, lammps_dumps, made_files, xyz_files
from helpers.frame_borders import Borders

DATA = Path(MDAnalysisTests.__file__).parent / "data"

# Files that MDAnalysis does not read, and why.
UNREAD = {"empty.dcd": "it has no bytes"}


@dataclass(frozen=True)
class Format:
    """A format: its files, and how MDAnalysis reads them."""

    name: str
    suffixes: tuple[str, ...]
    # Opens a file.
    reader: Callable[[str], Any]
    # Finds the frames in the bytes of a file.
    borders: Callable[[bytes], Borders]
    # The step of a reader's current frame.
    step: Callable[[Any], int]
    # Error of MDAnalysis' cells, beside their rounding to float32: it computes lengths and angles
    # from stored box vectors in single precision.
    cells_off: float
    # Whether frames are found by a search, whose result a sidecar keeps.
    searched: bool
    # Whether the header has the number of frames, so that a file with fewer is a cut one.
    counted: bool
    # The files of the package; all of them if empty.
    chosen: tuple[str, ...] = ()
    # Whether the file is text, which may end behind any of its lines.
    is_text: bool = False
    # Makes files with features that those of the package lack, by their names.
    made: Mapping[str, Callable[[Path], Path]] = field(default_factory=dict)
    # The vectors of files that have more than positions: "xvf".
    vectors: Mapping[str, str] = field(default_factory=dict)
    # Files with a sidecar, frames of different times, and more frames and bytes than are compared
    # when it is loaded.
    long: frozenset[str] = frozenset()
    # The format that copies have, for a format that is only read.
    copied_as: str | None = None

    def files(self) -> dict[str, Path]:
        """Return every file of the package, once per content."""
        found: dict[str, Path] = {}
        seen = set()
        for path in sorted(p for suffix in self.suffixes for p in DATA.rglob(f"*{suffix}")):
            if self.chosen and path.name not in self.chosen:
                continue
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                assert path.name not in found, f"two different files are called {path.name}"
                found[path.name] = path
        return found


def _stored_step(reader: Any) -> int:
    return reader.ts.data["step"]


def _dcd_step(reader: Any) -> int:
    header = reader._file.header  # ts.data has the number of the next frame
    return header["istart"] + reader.ts.frame * header["nsavc"]


def _xtc(path: str) -> Any:
    return XTCReader(path, refresh_offsets=True)


def _trr(path: str) -> Any:
    return TRRReader(path, refresh_offsets=True)


def _ncdf(path: str) -> Any:
    return NCDFReader(path, mmap=False)


def _frame(reader: Any) -> int:
    return reader.ts.frame


FORMATS = {
    format.name: format
    for format in (
        Format(
            "XTC",
            (".xtc",),
            _xtc,
            frame_borders.xtc,
            _stored_step,
            1e-5,
            searched=True,
            counted=False,
            long=frozenset({"xyz_random_walk.xtc"}),
        ),
        Format(
            "TRR",
            (".trr",),
            _trr,
            frame_borders.trr,
            _stored_step,
            1e-5,
            searched=True,
            counted=False,
            made={
                "made_mixed.trr": made_files.mixed_trr,
                "made_double.trr": made_files.double_trr,
                "made_silent.trr": made_files.silent_trr,
                "made_many.trr": made_files.many_trr,
            },
            vectors={
                "adk_oplsaa.trr": "xv",
                "cobrotoxin.trr": "xvf",
                "test.trr": "xvf",
                "trr_test_only_10_frame_10_atoms.trr": "xvf",
                "made_mixed.trr": "xvf",
                "made_double.trr": "xvf",
                "made_silent.trr": "v",
                "made_many.trr": "xv",
            },
            long=frozenset({"made_many.trr"}),
        ),
        Format(
            "DCD",
            (".dcd",),
            DCDReader,
            frame_borders.dcd,
            _dcd_step,
            0.0,
            searched=False,
            counted=False,
            made={
                "made_fixed.dcd": made_files.fixed_dcd,
                "made_big_endian.dcd": made_files.big_endian_dcd,
                "made_vectors.dcd": made_files.vectors_dcd,
            },
        ),
        # The format has no steps.
        Format(
            "NCDF",
            (".nc", ".ncdf"),
            _ncdf,
            frame_borders.ncdf,
            _frame,
            0.0,
            searched=True,
            counted=True,
            made={"made_scaled.nc": made_files.scaled_nc, "made_many.nc": made_files.many_nc},
            vectors={
                "ace_mbondi3.nc": "xvf",
                "ace_tip3p.nc": "xvf",
                "posfor.ncdf": "xf",
                "made_scaled.nc": "xvf",
            },
            long=frozenset({"made_many.nc"}),
        ),
    )
}
XTC_FILES = FORMATS["XTC"].files()


def _gro_borders(data: bytes) -> Borders:
    """Count the lines of each frame."""
    lines = data.splitlines(keepends=True)
    at, k = [0], 0
    while k < len(lines):
        n_lines = int(lines[k + 1]) + 3
        at.append(at[-1] + sum(map(len, lines[k : k + n_lines])))
        k += n_lines
    return Borders(at)


class _GroFrames:
    """Reads each frame of a GRO file with MDAnalysis, which reads the first frame of a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._data = self._path.read_bytes()
        self.n_atoms = int(self._data.splitlines()[1])

    def __iter__(self) -> Iterator[Any]:
        at = _gro_borders(self._data).at
        for k, (begin, end) in enumerate(pairwise(at)):
            piece = self._path.with_suffix(".frame.gro")
            piece.write_bytes(self._data[begin:end])
            self.ts = GROReader(str(piece)).ts
            piece.unlink()
            title = self._data[begin:].splitlines()[0].decode()
            time, step = (re.search(rf"\b{name}= *(\S+)", title) for name in ("t", "step"))
            self.ts.data["time"] = float(time[1]) if time else float(k)
            self.ts.data["step"] = int(step[1]) if step else k
            yield self.ts

    def close(self) -> None:
        """Do nothing: no file is open."""


class _RestartFrame:
    """Reads a restart file of Amber: positions and time with MDAnalysis, the cell with mdtraj."""

    def __init__(self, path: str) -> None:
        reader = INPReader(path)
        self.n_atoms, self.ts = reader.n_atoms, reader.ts.copy()
        with AmberRestartFile(path) as file:
            _, _, lengths, angles = file.read()
        if lengths is not None:
            self.ts.dimensions = np.hstack((lengths, angles)).ravel()
        # Neither reads velocities, whose lines follow those of the positions.
        n_lines = -(-self.n_atoms // 2)
        lines = Path(path).read_text().splitlines()[2 + n_lines :]
        if len(lines) >= n_lines > 1:
            words = [line[k : k + 12] for line in lines[:n_lines] for k in range(0, len(line), 12)]
            velocities = np.array(words, float).reshape(-1, 3) * 20.455
            self.ts.velocities = velocities.astype(np.float32)

    def __iter__(self) -> Iterator[Any]:
        yield self.ts

    def close(self) -> None:
        """Do nothing: no file is open."""


# The records before the step of a snapshot.
_BEFORE_STEP = rb"(?:ITEM: (?:UNITS|TIME)\r?\n.*\n)*"


class _LammpsFrames:
    """Reads a dump without the records that MDAnalysis does not know: UNITS and TIME.

    Without units, times are the numbers of frames, and velocities are not read.
    """

    def __init__(self, path: str) -> None:
        data = Path(path).read_bytes()
        self._has_units = b"ITEM: UNITS" in data
        self._times = [float(time) for time in re.findall(rb"ITEM: TIME\r?\n(\S+)", data)]
        self._copy = Path(f"{path}.plain.lammpsdump")
        self._copy.write_bytes(re.sub(_BEFORE_STEP, b"", data))
        self._reader = DumpReader(str(self._copy))
        self.n_atoms = self._reader.n_atoms

    def __iter__(self) -> Iterator[Any]:
        for k, ts in enumerate(self._reader):
            ts.data["time"] = self._times[k] if self._times else float(k)
            ts.has_velocities &= self._has_units
            ts.has_forces &= self._has_units
            self.ts = ts
            yield ts

    def close(self) -> None:
        """Close and remove the copy."""
        self._reader.close()
        self._copy.unlink()


def _lammps_borders(data: bytes) -> Borders:
    """Find the first record of each snapshot."""
    begin = re.compile(_BEFORE_STEP + rb"ITEM: TIMESTEP")
    return Borders([*(found.start() for found in begin.finditer(data)), len(data)])


class _XyzFrames:
    """Reads positions of an XYZ file with MDAnalysis, which reads no comments and other columns."""

    def __init__(self, path: str) -> None:
        self._frames = [*xyz_files.frames_of(Path(path).read_text())]
        self._reader = XYZReader(path)
        self.n_atoms = self._reader.n_atoms

    def __iter__(self) -> Iterator[Any]:
        for k, ts in enumerate(self._reader):
            comment, rows = self._frames[k]
            found = re.match(r" *i = *(\d+), time = *(\S+),", comment)
            ts.data["time"] = float(found[2]) / 1000 if found else float(k)
            ts.data["step"] = int(found[1]) if found else k
            lattice = re.search('Lattice="([^"]+)"', comment)
            if lattice:
                ts.dimensions = triclinic_box(*np.reshape(lattice[1].split(), (3, 3)).astype(float))
            if "forces:R:3" in comment:
                forces = np.array([row[4:7] for row in rows], np.float64)
                ts.forces = (forces * xyz_files.KJ_PER_EV).astype(np.float32)
            self.ts = ts
            yield ts

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


def _xyz_borders(data: bytes) -> Borders:
    """Count the lines of each frame."""
    lines = data.splitlines(keepends=True)
    at, k = [0], 0
    while k < len(lines):
        n_lines = int(lines[k]) + 2
        at.append(at[-1] + sum(map(len, lines[k : k + n_lines])))
        k += n_lines
    return Borders(at)


# Formats of structures, which are trajectories too. They are only read.
STRUCTURES = {
    format.name: format
    for format in (
        Format(
            "PDB",
            (".pdb", ".ent"),
            PDBReader,
            frame_borders.pdb,
            _frame,
            0.0,
            searched=True,
            counted=False,
            chosen=(
                "cryst_then_model.pdb",
                "incomplete.pdb",
                "model_then_cryst.pdb",
                "nmr_neopetrosiamide.pdb",
                "varying_occ_tmp.pdb",
            ),
            is_text=True,
            made={"made_models.pdb": made_files.models_pdb},
            copied_as="DCD",
        ),
        Format(
            "GRO",
            (".gro",),
            _GroFrames,
            _gro_borders,
            _stored_step,
            2e-5,
            searched=True,
            counted=False,
            chosen=("test.gro", "two_water_gro_multiframe.gro"),
            is_text=True,
            made={"made_steps.gro": lambda path: made_files.write_gro(path, 12, 41)},
            vectors={"test.gro": "xv", "made_steps.gro": "xv"},
            long=frozenset({"made_steps.gro"}),
            copied_as="TRR",
        ),
        Format(
            "RST7",
            (".rst7", ".inpcrd", ".restrt", ".rst"),
            _RestartFrame,
            lambda data: Borders([0, len(data)]),
            lambda reader: 0,
            0.0,
            searched=True,
            counted=False,
            chosen=("parmed_ala2_solv.rst7", "test.inpcrd"),
            is_text=True,
            made={"made_moving.rst7": lambda path: made_files.write_rst7(path, 25)},
            vectors={"made_moving.rst7": "xv"},
            copied_as="NCDF",
        ),
        # Of others MDAnalysis subtracts the origin, or computes positions from fractions in single
        # precision.
        Format(
            "LAMMPS",
            (".lammpstrj", ".lammpsdump", ".dump"),
            _LammpsFrames,
            _lammps_borders,
            _stored_step,
            1e-5,
            searched=True,
            counted=False,
            chosen=("chain_dump_1.lammpstrj", "image_vf.lammpstrj"),
            is_text=True,
            made={
                "made_units.lammpstrj": lambda path: lammps_dumps.write_lammps(path, 12, 41),
            },
            vectors={"made_units.lammpstrj": "xv"},
            long=frozenset({"made_units.lammpstrj"}),
        ),
        Format(
            "XYZ",
            (".xyz", ".extxyz"),
            _XyzFrames,
            _xyz_borders,
            _stored_step,
            2e-5,
            searched=True,
            counted=False,
            chosen=("mini.xyz", "five.xyz", "2r9r-1b.xyz"),
            is_text=True,
            made={
                "made_cp2k.xyz": lambda path: xyz_files.write_cp2k(path, 12, 41),
                "made_cells.extxyz": lambda path: xyz_files.write_extended(path, 7, 5),
            },
            vectors={"made_cells.extxyz": "xf"},
            long=frozenset({"made_cp2k.xyz"}),
        ),
    )
}
# All formats that are read.
READ = {**FORMATS, **STRUCTURES}
MADE = {name: make for format in READ.values() for name, make in format.made.items()}


def format_of(path: Path) -> Format:
    """Return the format by the suffix."""
    return next(format for format in READ.values() if path.suffix in format.suffixes)


def borders_of(format: str, data: bytes) -> Borders:
    """Find the frames in the bytes of a whole file."""
    found = READ[format].borders(data)
    assert found.at[-1] <= len(data), "the last frame is cut"
    return found


@dataclass(frozen=True)
class Truth:
    """Values that MDAnalysis reads from a file: Å, ps, degrees, kJ/(mol Å)."""

    # NaN in frames without positions.
    positions: np.ndarray
    times: np.ndarray
    steps: np.ndarray
    cells: np.ndarray
    # None if no frame has them, NaN in frames without them.
    velocities: np.ndarray | None = None
    forces: np.ndarray | None = None
    cells_off: float = 1e-5

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return self.positions.shape[0]

    @property
    def n_atoms(self) -> int:
        """Return the number of atoms."""
        return self.positions.shape[1]


@dataclass(frozen=True)
class Golden:
    """A file of MDAnalysisTests, and MDAnalysis' reading of it."""

    name: str
    source: Path
    truth: Truth

    @property
    def format(self) -> Format:
        """Return the format of the file."""
        return format_of(self.source)

    def copy(self, folder: Path) -> Path:
        """Make a fresh copy to open."""
        return Path(shutil.copy(self.source, folder / self.name))


@dataclass(frozen=True)
class Adk:
    """Adenylate kinase: 3341 atoms, 98 frames, no cell."""

    psf: Path
    xtc: Path


def read_with_mdanalysis(path: Path, folder: Path) -> Truth:
    """Read every frame with MDAnalysis, from a copy in `folder` (it writes offsets beside it)."""
    copy = Path(shutil.copy(path, folder / f"for-mdanalysis-{path.name}"))
    try:
        return _read(format_of(path), str(copy))
    finally:
        copy.unlink()


def _read(format: Format, path: str) -> Truth:
    positions, velocities, forces, times, steps, cells = [], [], [], [], [], []
    reader = format.reader(path)
    missing = np.full((reader.n_atoms, 3), np.nan, np.float32)
    try:
        for ts in reader:
            positions.append(ts.positions.copy() if ts.has_positions else missing)
            velocities.append(ts.velocities.copy() if ts.has_velocities else missing)
            forces.append(ts.forces.copy() if ts.has_forces else missing)
            times.append(ts.time)
            steps.append(format.step(reader))
            cells.append(np.full(6, np.nan) if ts.dimensions is None else ts.dimensions.copy())
    finally:
        reader.close()

    # MDAnalysis takes the time step of LAMMPS, which is in fs, for one of CHARMM.
    header = Path(path).read_bytes()[:120]
    if b"CORD" in header[:8] and b"Written by LAMMPS" in header:
        (every,), (time_step,) = (
            struct.unpack_from("<i", header, 16),
            struct.unpack_from("<f", header, 44),
        )
        times = [k * every * time_step / 1000 for k in range(len(times))]

    def further(frames: list[np.ndarray]) -> np.ndarray | None:
        return None if all(f is missing for f in frames) else np.array(frames, np.float32)

    return Truth(
        np.array(positions, np.float32),
        np.array(times, np.float64),
        np.array(steps, np.int64),
        np.array(cells, np.float64),
        further(velocities),
        further(forces),
        format.cells_off,
    )


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays of floats agree in shape and every bit; NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    words = f"u{one.dtype.itemsize}"
    bits = [np.ascontiguousarray(array).view(words) for array in (one, other)]
    return bool(np.all((bits[0] == bits[1]) | (np.isnan(one) & np.isnan(other))))


def assert_same(block: "tj.Block", truth: Truth, frames: np.ndarray, atoms: np.ndarray) -> None:
    """Compare a block with these frames and atoms of the truth: shapes, types, order, values."""
    assert block.positions.dtype == np.float32
    assert block.positions.flags.c_contiguous
    assert same_bits(block.positions, truth.positions[frames][:, atoms])
    assert same_bits(block.times, truth.times[frames])
    assert block.steps.dtype == np.int64
    assert np.array_equal(block.steps, truth.steps[frames])
    assert block.frames.dtype == np.int64
    assert np.array_equal(block.frames, frames)
    for name in ("velocities", "forces"):
        found = getattr(block, name)
        if found is not None:
            assert found.flags.c_contiguous
            assert same_bits(found, getattr(truth, name)[frames][:, atoms])
    assert block.cells.dtype == np.float64
    cells = truth.cells[frames]
    assert block.cells.shape == cells.shape
    assert np.array_equal(np.isnan(block.cells), np.isnan(cells))
    # One unit in the last place of a float32.
    near = {"rtol": 2**-23, "atol": truth.cells_off, "equal_nan": True}
    assert np.allclose(block.cells, cells, **near)


def all_of(truth: Truth) -> tuple[np.ndarray, np.ndarray]:
    """Return every frame and every atom."""
    return np.arange(truth.n_frames), np.arange(truth.n_atoms)
