"""MDAnalysis: AtomGroups, Universes, and topologies in formats that only it reads.

It is optional, and no other module imports it, except benchmarks. Its import takes most of a
second, so functions import it when they are called.
"""

import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, startup
from trajet._trajet import FormatError, MissingPackageError, OutputError, SelectionError
from trajet.messages import Code, Message

if TYPE_CHECKING:
    import MDAnalysis
    from MDAnalysis.coordinates.base import ReaderBase

# MDAnalysis has no types that mypy knows: these names tell readers what is meant.
AtomGroup: TypeAlias = "MDAnalysis.AtomGroup"
Universe: TypeAlias = "MDAnalysis.Universe"

# Columns that topologies have here, by their names in MDAnalysis.
_OF_ATOMS = (
    "names",
    "types",
    "elements",
    "altLocs",
    "record_types",
    "chainIDs",
    "ids",
    "masses",
    "charges",
    "formalcharges",
    "occupancies",
    "tempfactors",
    "radii",
    "molnums",
    "moltypes",
)
_OF_RESIDUES = ("resnames", "resids", "icodes")
_OF_SEGMENTS = ("segids",)
# The command that installs MDAnalysis.
INSTALL = "pip install 'trajet[mdanalysis]'"
_REFUSE = "this AtomGroup cannot serve as a selection: "


@dataclass(frozen=True)
class FromAtomGroup:
    """Files, atoms and current frame of an AtomGroup and its Universe."""

    paths: tuple[Path, ...]
    topology: Path | None
    indices: NDArray[np.int64]
    universe: "Universe"
    n_atoms: int
    n_frames: int
    frame: int
    time: float
    # Time between frames, ps, if the Universe sets it instead of the file; always set for DCD.
    time_step: float | None
    # Whether the time of a frame is its integration step times `time_step`, as for LAMMPS dumps.
    counts_steps: bool
    positions: NDArray[np.float32]


@dataclass(frozen=True)
class FrameOfUniverse:
    """The current frame of some atoms of a Universe, in Å and ps; NaN in `cell` without one."""

    positions: NDArray[np.float32]
    velocities: NDArray[np.float32] | None
    forces: NDArray[np.float32] | None
    time: float
    step: int
    cell: NDArray[np.float64]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress MDAnalysis' warnings on topologies (no elements, no box, …)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def import_package(need: str) -> None:
    """Import MDAnalysis, and count the time as import time.

    Parameters
    ----------
    need
        The feature that needs MDAnalysis, for the error.

    Raises
    ------
    MissingPackageError
        If it is not installed.
    """
    with startup.importing("MDAnalysis"):
        try:
            import MDAnalysis  # noqa: F401
        except ImportError as error:
            if error.name != "MDAnalysis":
                raise
            raise MissingPackageError(f"{need} needs MDAnalysis: {INSTALL}") from error


def is_missing() -> bool:
    """Return whether MDAnalysis is not installed."""
    return sys.modules.get("MDAnalysis") is None and importlib.util.find_spec("MDAnalysis") is None


def program() -> str | None:
    """Return "MDAnalysis" and its version without importing it; None if it is not installed."""
    if (loaded := sys.modules.get("MDAnalysis")) is not None:
        return f"MDAnalysis {loaded.__version__}"
    found = None if is_missing() else importlib.util.find_spec("MDAnalysis")
    if found is None or found.origin is None:
        return None
    try:
        text = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    stated = re.search(r"^__version__ = [\"']([^\"']+)[\"']", text, re.MULTILINE)
    return None if stated is None else f"MDAnalysis {stated[1]}"


def is_one_file(path: Path) -> bool:
    """Return whether MDAnalysis reads a topology from this file alone; ITP files include others."""
    return ".itp" not in (suffix.lower() for suffix in path.suffixes)


def load(path: Path, need: str, *, guess: bool = True) -> "Universe":
    """Return a Universe of a topology or structure file.

    Parameters
    ----------
    path
        The file.
    need
        The feature that needs MDAnalysis, for the error if it is not installed.
    guess
        Whether MDAnalysis guesses types and masses that the file lacks.

    Raises
    ------
    FormatError
        If MDAnalysis cannot read it.
    MissingPackageError
        If MDAnalysis is not installed.
    """
    import_package(need)
    import MDAnalysis

    try:
        with _quiet():
            if guess:
                return MDAnalysis.Universe(str(path))
            return MDAnalysis.Universe(str(path), to_guess=())
    except Exception as error:
        # MDAnalysis' parsers raise errors of any type.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{path}: MDAnalysis cannot read it as a topology: {reason}") from error


def read_structure(path: Path, reason: str) -> _trajet.StructureFile:
    """Return the content of a file that only MDAnalysis reads, with nothing guessed.

    Parameters
    ----------
    path
        The file.
    reason
        Why it is not read without MDAnalysis.

    Raises
    ------
    FormatError, MissingPackageError
        As `load`.
    """
    universe = load(path, f"{path}: {reason}; reading it otherwise", guess=False)
    cell = cell_of(universe)
    try:
        native = topology_of(universe).with_messages(_end_messages(path))
    except ValueError as error:
        raise FormatError(f"{path}: its topology is not consistent: {error}") from error
    return _trajet.StructureFile.of(
        native,
        positions_of(universe),
        None if np.isnan(cell).any() else cell.tolist(),
    )


# The last records of whole files; others are no error, but such files may be cut.
_LAST_RECORDS = {
    ".pqr": (b"END", b"ENDMDL"),
    ".pdbqt": (b"END", b"ENDMDL", b"TER", b"TORSDOF"),
}


def _end_messages(path: Path) -> list[Message]:
    """Return a message on the end of a text file that may have been cut."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        tail = file.read()
    if b"\0" in tail or not tail.isascii():
        return []
    last = tail.rstrip().rsplit(b"\n", 1)[-1].split()[:1]
    expected = _LAST_RECORDS.get(path.suffix.lower())
    if expected is not None and last != [] and last[0] not in expected:
        names = " or ".join(record.decode() for record in expected if record != b"ENDMDL")
        text = f"the file ends without {names}: if it was cut, atoms are missing at its end"
        return [Message(Code.TOPOLOGY_MAY_BE_CUT, text)]
    if not tail.endswith(b"\n"):
        text = "the last line has no end: if the file was cut, records are missing at its end"
        return [Message(Code.TOPOLOGY_MAY_BE_CUT, text)]
    return []


def topology_of(universe: "Universe") -> _trajet.Topology:
    """Return the topology of a Universe."""
    atoms, residues = universe.atoms, universe.residues
    columns: dict[str, object] = {
        "resindices": np.asarray(atoms.resindices, np.int64),
        "segindices": np.asarray(residues.segindices, np.int64),
    }
    for group, names in (
        (atoms, _OF_ATOMS),
        (residues, _OF_RESIDUES),
        (universe.segments, _OF_SEGMENTS),
    ):
        for name in names:
            if hasattr(group, name):
                columns[name] = _plain(getattr(group, name))
    columns.setdefault("segids", [""] * len(universe.segments))
    bonds = np.asarray(universe.bonds.indices, np.int64) if hasattr(universe, "bonds") else None
    # An attribute that was added later replaces one of the same name.
    latest = {attribute.attrname: attribute for attribute in universe._topology.attrs}
    guessed = [
        attribute.attrname
        for attribute in universe._topology.guessed_attributes
        if latest[attribute.attrname] is attribute
    ]
    # PDB files, which have these columns, list bonds of some residues only.
    may_lack_bonds = "record_types" in columns
    return _trajet.Topology.from_columns(columns, bonds, guessed, may_lack_bonds=may_lack_bonds)


def _plain(values: NDArray[np.generic]) -> object:
    """Return numbers as float64 or int64, and everything else as a list of str."""
    if np.issubdtype(values.dtype, np.floating):
        return np.ascontiguousarray(values, np.float64)
    if np.issubdtype(values.dtype, np.integer):
        return np.ascontiguousarray(values, np.int64)
    return [str(value) for value in values.tolist()]


def positions_of(universe: "Universe") -> NDArray[np.float32] | None:
    """Return the current positions of a Universe, `(n_atoms, 3)`, Å; None if it has none."""
    from MDAnalysis.exceptions import NoDataError

    try:
        return np.ascontiguousarray(universe.atoms.positions, dtype=np.float32)
    except (NoDataError, AttributeError):
        return None


def cell_of(universe: "Universe") -> NDArray[np.float64]:
    """Return the current cell of a Universe, `(6,)`, Å and degrees; NaN without a cell."""
    box = getattr(universe, "dimensions", None)
    return np.full(6, np.nan) if box is None else np.asarray(box, dtype=np.float64)


def pdb_file_of_cell(universe: "Universe") -> Path | None:
    """Return the PDB file that states the current cell of a Universe.

    None if the positions are from another format, and if the file states another cell or none.
    """
    trajectory = getattr(universe, "trajectory", None)
    path = getattr(trajectory, "filename", None)
    if trajectory is None or not isinstance(path, (str, os.PathLike)):
        return None
    if "PDB" not in np.atleast_1d(trajectory.format) or universe.dimensions is None:
        return None
    with _quiet(), type(trajectory)(os.fspath(path)) as unchanged:
        is_stated = np.array_equal(unchanged.ts.dimensions, universe.dimensions)
    return Path(path) if is_stated else None


def frames_of(atoms: "Universe | AtomGroup") -> Iterator[FrameOfUniverse]:
    """Iterate over the frames of a Universe, with its transformations.

    Raises
    ------
    SelectionError
        If it has no atoms or no trajectory, or is an updating group.
    """
    if is_atomgroup(atoms) and _is_updating(atoms):
        raise SelectionError(
            "no frame can be written: this AtomGroup is updating, another one on every frame, and"
            " files have the same atoms in every frame: give a fixed group, such as"
            " universe.atoms[group.indices]"
        )
    atoms = atoms.atoms
    universe = atoms.universe
    trajectory = getattr(universe, "trajectory", None)
    if trajectory is None or not len(atoms):
        raise SelectionError("no frame can be written: the Universe has no atoms or no trajectory")
    for ts in trajectory:
        yield FrameOfUniverse(
            positions=np.array(atoms.positions, np.float32),
            velocities=np.array(atoms.velocities, np.float32) if ts.has_velocities else None,
            forces=np.array(atoms.forces, np.float32) if ts.has_forces else None,
            time=float(ts.time),
            step=int(ts.data.get("step", ts.frame)),
            cell=cell_of(universe),
        )


def place(universe: "Universe", positions: NDArray[np.float32], cell: NDArray[np.float64]) -> None:
    """Load one frame of coordinates into a Universe, replacing all others."""
    with _quiet():
        dimensions = None if np.isnan(cell).any() else cell.astype(np.float32)
        universe.load_new(positions[None], order="fac", dimensions=dimensions)


def displace(universe: "Universe") -> None:
    """Replace the positions of a topology file by NaN: they belong to no frame."""
    nowhere = np.full((len(universe.atoms), 3), np.nan, np.float32)
    place(universe, nowhere, np.full(6, np.nan))


def is_atomgroup(thing: object) -> bool:
    """Return whether an object is an AtomGroup, without importing MDAnalysis."""
    return _is_a("AtomGroup", thing)


def is_universe(thing: object) -> bool:
    """Return whether an object is a Universe, without importing MDAnalysis."""
    return _is_a("Universe", thing)


def _is_a(name: str, thing: object) -> bool:
    loaded = sys.modules.get("MDAnalysis")
    return loaded is not None and isinstance(thing, getattr(loaded, name))


def _is_updating(atoms: "AtomGroup") -> bool:
    """Return whether an AtomGroup is another one on every frame."""
    from MDAnalysis.core.groups import UpdatingAtomGroup

    return isinstance(atoms, UpdatingAtomGroup)


def fixed_indices(atoms: "AtomGroup") -> NDArray[np.int64]:
    """Return the indices of an AtomGroup.

    Raises
    ------
    SelectionError
        If it is empty, or an updating group.
    """
    if _is_updating(atoms):
        raise SelectionError(
            _REFUSE + "it is updating, another one on every frame; count(...), contacts(...),"
            " density(...) and apply(...) take trajectory.select(text,"
            " updating=True), other analyses need the same atoms"
        )
    if len(atoms) == 0:
        raise SelectionError(_REFUSE + "it is empty")
    return np.asarray(atoms.indices, dtype=np.int64)


def from_atomgroup(atoms: "AtomGroup") -> FromAtomGroup:
    """Return files, atoms and current frame of an AtomGroup.

    Raises
    ------
    SelectionError
        If its coordinates are not those of trajectory files.
    """
    indices = fixed_indices(atoms)
    universe = atoms.universe
    trajectory = getattr(universe, "trajectory", None)
    if trajectory is None:
        raise SelectionError(_REFUSE + "its Universe has no trajectory")
    # A chain of files has one reader per file.
    readers = getattr(trajectory, "readers", None)
    if any(one.transformations for one in (trajectory, *(readers or ()))):
        raise SelectionError(
            _REFUSE
            + "its Universe has transformations, so that its coordinates are not the file's;"
            " write the transformed trajectory to a file first"
        )
    names = [trajectory.filename] if readers is None else list(trajectory.filenames)
    in_memory = any("Memory" in type(one).__name__ for one in (trajectory, *(readers or ())))
    if in_memory or any(name is None for name in names):
        raise SelectionError(
            _REFUSE + "its Universe is in memory, so that its coordinates are not a file's;"
            " load it from the file (in_memory=False)"
        )
    if readers is not None and _is_continuous(trajectory):
        raise SelectionError(
            _REFUSE + "its Universe chooses frames of several files (continuous=True); give the"
            " files to trajet.open(..., continuous=True) and select there"
        )
    if not all(isinstance(name, (str, Path)) for name in names):
        raise SelectionError(_REFUSE + "its Universe does not read files by their names")
    topology = universe.filename
    # A chain has a time of its own; `ts.time` is that of the file.
    with _quiet():
        time = float(trajectory.ts.time)
    time_step = trajectory.ts.data.get("dt")
    return FromAtomGroup(
        paths=tuple(Path(str(name)) for name in names),
        topology=None if topology is None else Path(str(topology)),
        indices=indices,
        universe=universe,
        n_atoms=len(universe.atoms),
        n_frames=len(trajectory),
        frame=int(trajectory.frame),
        time=time,
        time_step=None if time_step is None else float(time_step),
        counts_steps=all("LAMMPSDUMP" in one.format for one in readers or (trajectory,)),
        positions=np.asarray(atoms.positions, dtype=np.float32),
    )


def _is_continuous(trajectory: "ReaderBase") -> bool:
    """Return whether a chain drops or sorts frames by their times."""
    if getattr(trajectory, "_kwargs", {}).get("continuous"):
        return True
    return int(trajectory.n_frames) != sum(int(one.n_frames) for one in trajectory.readers)


def check_structure(path: Path) -> None:
    """Raise an error if MDAnalysis cannot write structures with this file name ending.

    Raises
    ------
    ValueError
        If it cannot.
    """
    import_package(f"{path}: writing a structure with this ending")
    from MDAnalysis.core._get_readers import get_writer_for

    try:
        get_writer_for(str(path), multiframe=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: MDAnalysis writes no structure with this ending: use .pdb or .gro"
        ) from error


def write_structure(
    path: Path,
    atoms: "AtomGroup",
    positions: NDArray[np.float32],
    cell: NDArray[np.float64] | None,
) -> None:
    """Write atoms in the format of the path's ending, by MDAnalysis.

    Raises
    ------
    OutputError
        If MDAnalysis cannot write the atoms.
    """
    with _quiet():
        universe = atoms.universe
        kept, dimensions = universe.atoms.positions, universe.dimensions
        try:
            atoms.positions = positions
            universe.dimensions = cell
            atoms.write(str(path))
        except OSError:
            raise
        except Exception as error:
            # MDAnalysis' writers raise errors of any type.
            reason = " ".join(str(error).split()) or type(error).__name__
            raise OutputError(
                f"MDAnalysis cannot write these atoms as {path.suffix} ({reason}): use .pdb or .gro"
            ) from error
        finally:
            universe.atoms.positions = kept
            universe.dimensions = dimensions
