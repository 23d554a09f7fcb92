"""Topologies and selections by MDAnalysis; no other module imports it, except benchmarks.

Its import takes most of a second, so functions import it when they are called.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import startup
from trajet._trajet import FormatError, OutputError, SelectionError

if TYPE_CHECKING:
    import MDAnalysis
    from MDAnalysis.coordinates.base import ReaderBase
    from MDAnalysis.core.groups import Atom, ResidueGroup

    from trajet.trajectory import Block

# MDAnalysis has no types that mypy knows: these names tell readers what is meant.
AtomGroup: TypeAlias = "MDAnalysis.AtomGroup"
Universe: TypeAlias = "MDAnalysis.Universe"

# Keywords of selections that depend on positions.
_PLACES = {
    *("around", "sphlayer", "sphzone", "isolayer", "cylayer", "cyzone", "point"),
    *("prop", "smarts", "x", "y", "z"),
}
# Keywords that depend only on distances of nearest images ...
_IMAGES = {"around", "sphlayer", "sphzone", "isolayer"}
# ... only on the axes of the coordinate system, and on both.
_AXES = {"prop"}
_AXES_AND_IMAGES = {"point", "cylayer", "cyzone"}
_NUMBERS = {"index", "bynum"}
# Attributes that make up the name of a residue.
_OF_RESIDUES = ("resnames", "resids", "icodes")
# Stand for an atom that a residue lacks, or has several of.
_NONE, _SEVERAL = -1, -2
# Most residues or masses that a remark names.
_MOST_NAMED = 5
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
    positions: NDArray[np.float32]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress MDAnalysis' warnings on topologies (no elements, no box, …)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def import_package() -> None:
    """Import MDAnalysis, and count the time as import time."""
    with startup.importing("MDAnalysis"):
        import MDAnalysis  # noqa: F401


@dataclass(frozen=True)
class Box:
    """The box of a frame.

    MDAnalysis describes boxes by lengths and angles, and assumes that the first vector is along x
    and the second in the x-y plane. If they are not, positions must be rotated with the box before
    MDAnalysis finds nearest images; the rotation keeps all distances.

    Attributes
    ----------
    cell
        `(6,)`, float64, lengths in Å and angles in degrees; NaN without a box.
    rotation
        `(3, 3)`, float64: rows of positions times this matrix are in the orientation that
        MDAnalysis assumes. None if they are so already.
    """

    cell: NDArray[np.float64] = field(default_factory=lambda: np.full(6, np.nan))
    rotation: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, block: "Block") -> "Box":
        """Return the box of the first frame of a `Block`."""
        vectors = None if block.vectors is None else block.vectors[0]
        if vectors is None or np.isnan(vectors).any():
            return cls(block.cells[0])
        usual = np.tril(vectors)
        if np.array_equal(usual, vectors) and (np.diagonal(vectors) >= 0).all():
            return cls(block.cells[0])
        try:
            usual = np.linalg.cholesky(vectors @ vectors.T)
            rotation = np.linalg.solve(vectors, usual)
        except np.linalg.LinAlgError:
            # A box without volume; analyses raise errors on it.
            return cls(block.cells[0])
        return cls(block.cells[0], rotation)

    @property
    def is_turned(self) -> bool:
        """Whether the box is rotated against the orientation that MDAnalysis assumes."""
        return self.rotation is not None

    def rotated(self, positions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return positions rotated with the box into the orientation that MDAnalysis assumes."""
        if self.rotation is None:
            return positions
        return (positions.astype(np.float64) @ self.rotation).astype(np.float32)


def load(path: Path) -> "Universe":
    """Return a Universe of a topology or structure file.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    FormatError
        If MDAnalysis cannot read it.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder: give the path of a topology")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such topology or structure file")
    import_package()
    import MDAnalysis

    try:
        with _quiet():
            return MDAnalysis.Universe(str(path))
    except Exception as error:
        # MDAnalysis' parsers raise errors of any type.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{path}: MDAnalysis cannot read it as a topology: {reason}") from error


def place(universe: "Universe", positions: NDArray[np.float32], cell: NDArray[np.float64]) -> None:
    """Load one frame of coordinates into a Universe, for geometric selections ("around 5 …")."""
    with _quiet():
        dimensions = None if np.isnan(cell).any() else cell.astype(np.float32)
        universe.load_new(positions[None], order="fac", dimensions=dimensions)


@contextmanager
def placed_for(text: str, universe: "Universe", box: Box) -> Iterator[None]:
    """Rotate the positions of a Universe with a rotated box while a selection is evaluated.

    Nothing is rotated unless the selection depends on distances of nearest images.

    Raises
    ------
    SelectionError
        If the box is rotated, and the selection depends on axes, too.
    """
    words = set(_words(text))
    if not box.is_turned or words.isdisjoint(_IMAGES | _AXES_AND_IMAGES):
        yield
        return
    axes = sorted(words & (_AXES | _AXES_AND_IMAGES))
    if axes:
        raise SelectionError(
            f"selection {text!r}: the box of its frame is turned (its first vector is not along x,"
            " or its second not in the plane of x and y), so that nearest images cannot be looked"
            f" for together with {', '.join(axes)}: select by 'around', 'sphlayer', 'sphzone' and"
            " 'isolayer' and by 'prop' each on their own, and join the indices"
        )
    kept, dimensions = universe.atoms.positions, universe.dimensions
    try:
        universe.atoms.positions = box.rotated(kept)
        universe.dimensions = box.cell.astype(np.float32)
        yield
    finally:
        universe.atoms.positions = kept
        universe.dimensions = dimensions


def displace(universe: "Universe") -> None:
    """Replace the positions of a topology file by NaN: they belong to no frame."""
    nowhere = np.full((len(universe.atoms), 3), np.nan, np.float32)
    place(universe, nowhere, np.full(6, np.nan))


def looks_at_places(text: str) -> bool:
    """Return whether a selection may depend on positions."""
    return not _PLACES.isdisjoint(_words(text))


def looks_at_numbers(text: str) -> bool:
    """Return whether a selection depends on the order of atoms in the topology."""
    return not _NUMBERS.isdisjoint(_words(text))


def _words(text: str) -> list[str]:
    return text.replace("(", " ").replace(")", " ").split()


def select(among: "AtomGroup", text: str, where: str, *, empty: bool = False) -> "AtomGroup":
    """Return the atoms of a group that a selection text matches.

    Raises
    ------
    SelectionError
        If the text is invalid, or matches no atom and the result may not be `empty`.
    """
    if len(among) < len(among.universe.atoms) and "global" in _words(text):
        raise SelectionError(
            f"selection {text!r}: only some atoms of {where} are open, but `global` selects among"
            " all: open the whole data set, or leave `global` out"
        )
    try:
        with _quiet():
            atoms = among.select_atoms(text)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SelectionError(
            f"selection {text!r}: {reason}; it is written in MDAnalysis' language, such as"
            " 'name CA and resid 1:29'"
        ) from error
    if len(atoms) == 0 and not empty:
        raise SelectionError(
            f"selection {text!r} matches none of the {len(among)} atoms of {where}:"
            " check names and residues there"
        )
    return atoms


def describe_atom(atom: "Atom") -> str:
    """Return a text with index, name and residue of an atom, if the topology has them."""
    residue = f"{getattr(atom, 'resname', '')}{getattr(atom, 'resid', '')}"
    return " ".join(filter(None, [f"atom {atom.index}", getattr(atom, "name", ""), residue]))


def is_atomgroup(thing: object) -> bool:
    """Return whether an object is an AtomGroup, without importing MDAnalysis."""
    return _is_a("AtomGroup", thing)


def is_universe(thing: object) -> bool:
    """Return whether an object is a Universe, without importing MDAnalysis."""
    return _is_a("Universe", thing)


def _is_a(name: str, thing: object) -> bool:
    loaded = sys.modules.get("MDAnalysis")
    return loaded is not None and isinstance(thing, getattr(loaded, name))


def fixed_indices(atoms: "AtomGroup") -> NDArray[np.int64]:
    """Return the indices of an AtomGroup.

    Raises
    ------
    SelectionError
        If it is empty, or an updating group.
    """
    from MDAnalysis.core.groups import UpdatingAtomGroup

    if isinstance(atoms, UpdatingAtomGroup):
        raise SelectionError(
            _REFUSE + "it is updating, another one on every frame; select it without updating=True"
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
        positions=np.asarray(atoms.positions, dtype=np.float32),
    )


def _is_continuous(trajectory: "ReaderBase") -> bool:
    """Return whether a chain drops or sorts frames by their times."""
    if getattr(trajectory, "_kwargs", {}).get("continuous"):
        return True
    return int(trajectory.n_frames) != sum(int(one.n_frames) for one in trajectory.readers)


def masses(atoms: "AtomGroup", where: str, remarks: list[str]) -> NDArray[np.float64]:
    """Return the masses of atoms, u; append a remark if they are guessed from names.

    Raises
    ------
    SelectionError
        If an atom has no mass.
    """
    values = np.asarray(getattr(atoms, "masses", np.zeros(len(atoms))), dtype=np.float64)
    without = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if without.size:
        atom = atoms[int(without[0])]
        name = getattr(atom, "name", "without a name")
        raise SelectionError(
            f"{without.size} of {len(values)} atoms have no mass in {where}, the first is atom"
            f" {atom.index} ({name}): use a topology with masses, leave these atoms out, or give"
            " weights as numbers"
        )
    # From names, MDAnalysis takes Martini's W for tungsten. Masses of known elements are certain.
    guessed = {attribute.attrname for attribute in atoms.universe._topology.guessed_attributes}
    if {"masses", "types"} <= guessed:
        kinds, first = np.unique(values, return_index=True)
        words = [
            f"{getattr(atoms[int(k)], 'name', '?')} {mass:.3f}"
            for mass, k in zip(kinds, first, strict=True)
        ]
        remarks.append(
            f"masses are guessed from the names of atoms, as {where} has neither masses nor"
            f" elements: {_listed(words)}; coarse-grained and united atoms have other masses: use a"
            " topology with masses, such as a TPR, PSF or PRMTOP, or give weights as numbers"
        )
    return values


def check_structure(path: Path) -> None:
    """Raise an error if MDAnalysis cannot write structures with this file name ending.

    Raises
    ------
    ValueError
        If it cannot.
    """
    from MDAnalysis.core._get_readers import get_writer_for

    try:
        get_writer_for(str(path), multiframe=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: MDAnalysis writes no structure with this ending: use .pdb or .gro"
        ) from error


def write_structure(
    path: Path, atoms: "AtomGroup", positions: NDArray[np.float32], box: Box
) -> None:
    """Write atoms in the format of the path's ending, by MDAnalysis.

    A rotated box is left out: structure formats cannot store it, and a box in another orientation
    would give other nearest images.

    Raises
    ------
    OutputError
        If MDAnalysis cannot write the atoms.
    """
    with _quiet():
        universe = atoms.universe
        kept, dimensions = universe.atoms.positions, universe.dimensions
        is_held = not (np.isnan(box.cell).any() or box.is_turned)
        try:
            atoms.positions = positions
            universe.dimensions = box.cell if is_held else None
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


def residue_numbers(atoms: "AtomGroup") -> NDArray[np.int64] | None:
    """Return the residue number of each atom, or None if residues have none."""
    numbers = getattr(atoms, "resids", None)
    return None if numbers is None else np.asarray(numbers, dtype=np.int64)


def backbone_dihedrals(
    atoms: "AtomGroup", label: str, remarks: list[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return names and atoms of φ and ψ of each residue of `atoms` that has both.

    Neighbouring residues follow one another in a segment of the topology; whether they are bonded
    is not checked. Residue numbers cannot show it: 52A and 53 follow 52, and chains in one segment
    may share numbers. If a residue has several N, CA or C (alternate locations), the one in `atoms`
    is used. Residues with none or several in `atoms` are left out, which a remark says.

    Returns
    -------
    names : tuple of str
        Names of the angles, φ and ψ of one residue after the other.
    fours
        `(n, 4)`, int64, atom indices of each angle.

    Raises
    ------
    SelectionError
        If no residue has both angles.
    """
    residues = atoms.universe.residues
    try:
        n, alpha, c = (_one_of_each(atoms, name) for name in ("N", "CA", "C"))
    except AttributeError as error:
        raise SelectionError(f"φ and ψ need names of atoms and residues: {error}") from error
    here = atoms.residues.ix
    segments = residues.segindices
    here = here[(here > 0) & (here < len(residues) - 1)]
    here = here[(segments[here - 1] == segments[here]) & (segments[here] == segments[here + 1])]
    fours = np.stack(
        [
            *(c[here - 1], n[here], alpha[here], c[here]),
            *(n[here], alpha[here], c[here], n[here + 1]),
        ],
        axis=1,
    )
    both = (fours >= 0).all(axis=1)
    torn, protein = _torn(residues), (np.stack([n, alpha, c]) != _NONE).any(axis=0)
    near = (torn[here - 1] | torn[here] | torn[here + 1]) & protein[here]
    both &= ~near
    # Only the first part of a residue is counted.
    if parts := _called(residues[here[near & ~(torn[here - 1] & torn[here])]]):
        remarks.append(
            "residues left out, since they or their neighbours have several names (alternate"
            f" locations?): {_listed(parts)}; give a topology with one of the names"
        )
    if doubtful := _called(residues[here[~both & ~near & (fours != _NONE).all(axis=1)]]):
        remarks.append(
            "residues left out, since they or their neighbours have several N, CA or C (alternate"
            f" locations?): {_listed(doubtful)}; use a selection that has one of them ('… and not"
            " altloc B')"
        )
    if not both.any():
        raise SelectionError(
            f"selection {label!r}: none of its {len(atoms.residues)} residues has both φ and ψ:"
            " they need the atoms N, CA and C, and neighbours in the sequence; give other angles as"
            " quadruples" + "".join(f"; {remark}" for remark in remarks)
        )
    names = _names(residues[here[both]], alpha[here[both]])
    angles = tuple(f"{angle} {name}" for name in names for angle in ("phi", "psi"))
    return angles, fours[both].reshape(-1, 4).astype(np.int64)


def _one_of_each(atoms: "AtomGroup", name: str) -> NDArray[np.int64]:
    """Return the atom with this name of each residue, of several the only one in `atoms`.

    Elements are `_NONE` or `_SEVERAL` for residues without such an atom or with several.
    """
    everything = atoms.universe.atoms
    found = np.flatnonzero(everything.names == name)
    owners = everything.resindices[found]
    one = np.full(len(everything.residues), _NONE, np.int64)
    several = np.bincount(owners, minlength=len(one)) > 1
    one[owners] = found
    one[several] = _SEVERAL
    chosen = several[owners] & np.isin(found, atoms.ix)
    found, owners = found[chosen], owners[chosen]
    alone = np.bincount(owners, minlength=len(one))[owners] == 1
    one[owners[alone]] = found[alone]
    return one


def _torn(residues: "ResidueGroup") -> NDArray[np.bool_]:
    """Return which residues are parts of one residue that has several names.

    These are three or more consecutive residues with the same number, or two if some of their atoms
    have alternate locations: two chains in a segment may end and begin with the same number.
    """
    same = np.ones(max(0, len(residues) - 1), np.bool_)
    for name in ("resids", "icodes", "segindices"):
        values = np.asarray(getattr(residues, name, np.zeros(len(residues))))
        same &= values[1:] == values[:-1]
    three = np.concatenate([[False, False], same[1:] & same[:-1], [False, False]])
    torn = three[:-2] | three[1:-1] | three[2:]
    atoms = residues.atoms
    if hasattr(atoms, "altLocs"):
        located = np.zeros(len(residues), np.bool_)
        located[atoms.resindices[np.char.strip(atoms.altLocs.astype(str)) != ""]] = True
        two = np.concatenate([[False], same & (located[1:] | located[:-1]), [False]])
        torn |= two[1:] | two[:-1]
    return np.asarray(torn)


def _names(residues: "ResidueGroup", alpha: NDArray[np.int64]) -> list[str]:
    """Return unique names of residues, with the segment or the index of CA if needed."""
    names = _called(residues)
    of_segments = [
        f"{segment}:{name}" for segment, name in zip(residues.segids, names, strict=True)
    ]
    for unlike in (names, of_segments):
        if len(set(unlike)) == len(unlike):
            return unlike
    # Chains in one segment, as in GRO files.
    return [f"{name} atom{atom}" for name, atom in zip(names, alpha.tolist(), strict=True)]


def _called(residues: "ResidueGroup") -> list[str]:
    parts = [getattr(residues, part, [""] * len(residues)) for part in _OF_RESIDUES]
    return ["".join(map(str, each)) for each in zip(*parts, strict=True)]


def _listed(names: list[str]) -> str:
    """Return the number of names and the first of them as text."""
    more = ["…"] if len(names) > _MOST_NAMED else []
    return f"{len(names)} ({', '.join(names[:_MOST_NAMED] + more)})"


def lengths(one: NDArray[np.float32], other: NDArray[np.float32], box: Box) -> NDArray[np.float64]:
    """Return distances of pairs of positions, `(n,)`, Å; of nearest images if there is a cell."""
    from MDAnalysis.lib.distances import calc_bonds

    cell = None if np.isnan(box.cell).any() else box.cell.astype(np.float32)
    found: NDArray[np.float64] = calc_bonds(box.rotated(one), box.rotated(other), box=cell)
    return found


def cell(universe: "Universe") -> NDArray[np.float64]:
    """Return the current cell of a Universe, `(6,)`, Å and degrees; NaN without a cell."""
    box = universe.dimensions
    return np.full(6, np.nan) if box is None else np.asarray(box, dtype=np.float64)


def positions(atoms: "AtomGroup", where: str) -> NDArray[np.float32]:
    """Return the current positions of atoms, `(n_atoms, 3)`, float32, Å.

    Raises
    ------
    SelectionError
        If they have no positions.
    """
    from MDAnalysis.exceptions import NoDataError

    try:
        return np.ascontiguousarray(atoms.positions, dtype=np.float32)
    except (NoDataError, AttributeError) as error:
        raise SelectionError(
            f"{where} has no coordinates: give a structure that has (PDB, GRO, …)"
        ) from error


def version() -> str | None:
    """Return MDAnalysis' version, or None if it was not imported."""
    module = sys.modules.get("MDAnalysis")
    return None if module is None else str(module.__version__)
