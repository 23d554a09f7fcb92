"""Topologies and selections, by MDAnalysis: the only room that imports it.

It takes most of a second to import, so that every function here does so when it is called.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError, OutputError, SelectionError

# Words of selections that look at where atoms are.
_PLACES = {
    *("around", "sphlayer", "sphzone", "isolayer", "cylayer", "cyzone", "point"),
    *("prop", "smarts", "x", "y", "z"),
}
# Of these the ones that look at distances of nearest images alone: axes do not matter ...
_IMAGES = {"around", "sphlayer", "sphzone", "isolayer"}
# ... those to which axes matter alone, and those to which both do.
_AXES = {"prop"}
_AXES_AND_IMAGES = {"point", "cylayer", "cyzone"}
_NUMBERS = {"index", "bynum"}
# What a residue is called by.
_OF_RESIDUES = ("resnames", "resids", "icodes")
# In place of an atom that a residue has not, or has several of.
_NONE, _SEVERAL = -1, -2
# Most residues or masses that a remark names.
_MOST_NAMED = 5
_REFUSE = "this AtomGroup cannot serve as a selection: "


@dataclass(frozen=True)
class FromAtomGroup:
    """What an AtomGroup says of its files and of the frame at which its Universe stands."""

    paths: tuple[Path, ...]
    topology: Path | None
    indices: NDArray[np.int64]
    universe: Any
    n_atoms: int
    n_frames: int
    frame: int
    time: float
    # Between frames, ps, where the Universe says it and not the file; of DCD always.
    time_step: float | None
    positions: NDArray[np.float32]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MDAnalysis' remarks on topologies (no elements, no box, …) from standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Box:
    """The box of a frame.

    MDAnalysis knows boxes by lengths and angles, and takes the first vector to lie along x and the
    second in the plane of x and y. Where they do not, positions must be rotated with the box before
    it looks for nearest images; distances stay as they are.

    Attributes
    ----------
    cell
        `(6,)`, Å and degrees; not a number where there is none.
    rotation
        `(3, 3)`: multiplied with it, positions and vectors lie as MDAnalysis takes them to lie.
        None where they do.
    """

    cell: NDArray[np.float64] = field(default_factory=lambda: np.full(6, np.nan))
    rotation: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, block: Any) -> "Box":
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
            # A box without volume, which analyses refuse.
            return cls(block.cells[0])
        return cls(block.cells[0], rotation)

    @property
    def is_turned(self) -> bool:
        """Whether its vectors lie otherwise than lengths and angles tell."""
        return self.rotation is not None

    def rotated(self, positions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return positions as they lie in the box of lengths and angles."""
        if self.rotation is None:
            return positions
        return (positions.astype(np.float64) @ self.rotation).astype(np.float32)


def load(path: Path) -> Any:
    """Return a Universe of the topology alone.

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
    import MDAnalysis

    try:
        with _quiet():
            return MDAnalysis.Universe(str(path))
    except Exception as error:
        # MDAnalysis raises whatever its parsers meet.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{path}: MDAnalysis cannot read it as a topology: {reason}") from error


def place(universe: Any, positions: NDArray[np.float32], cell: NDArray[np.float64]) -> None:
    """Give a Universe one frame of coordinates, for selections by place ("around 5 …")."""
    with _quiet():
        dimensions = None if np.isnan(cell).any() else cell.astype(np.float32)
        universe.load_new(positions[None], order="fac", dimensions=dimensions)


@contextmanager
def placed_for(text: str, universe: Any, box: Box) -> Iterator[None]:
    """Have a Universe at the positions of a frame with this box while a selection is evaluated.

    In a turned box, positions are rotated with it for selections by distance.

    Raises
    ------
    SelectionError
        If the box is turned, and the selection looks at axes too.
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


def displace(universe: Any) -> None:
    """Take the positions that the topology's own file has from a Universe: they are of no frame."""
    nowhere = np.full((len(universe.atoms), 3), np.nan, np.float32)
    place(universe, nowhere, np.full(6, np.nan))


def looks_at_places(text: str) -> bool:
    """Tell whether a selection may need positions."""
    return not _PLACES.isdisjoint(_words(text))


def looks_at_numbers(text: str) -> bool:
    """Tell whether a selection depends on where atoms stand in the topology."""
    return not _NUMBERS.isdisjoint(_words(text))


def _words(text: str) -> list[str]:
    return text.replace("(", " ").replace(")", " ").split()


def select(among: Any, text: str, where: str, *, empty: bool = False) -> Any:
    """Return the atoms that a selection names, among those of a group.

    Raises
    ------
    SelectionError
        If it is no selection, or names no atom of `where` and may not be `empty`.
    """
    if len(among) < len(among.universe.atoms) and "global" in _words(text):
        raise SelectionError(
            f"selection {text!r}: {where} has some of the atoms only, and `global` asks for all:"
            " open the whole data set, or leave `global` out"
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


def describe_atom(atom: Any) -> str:
    """Return an atom in words: number, name and residue as far as the topology has them."""
    residue = f"{getattr(atom, 'resname', '')}{getattr(atom, 'resid', '')}"
    return " ".join(filter(None, [f"atom {atom.index}", getattr(atom, "name", ""), residue]))


def is_atomgroup(thing: object) -> bool:
    """Tell whether something is an AtomGroup, without importing MDAnalysis."""
    return _is_a("AtomGroup", thing)


def is_universe(thing: object) -> bool:
    """Tell whether something is a Universe, without importing MDAnalysis."""
    return _is_a("Universe", thing)


def _is_a(name: str, thing: object) -> bool:
    loaded = sys.modules.get("MDAnalysis")
    return loaded is not None and isinstance(thing, getattr(loaded, name))


def fixed_indices(atoms: Any) -> NDArray[np.int64]:
    """Return the indices of an AtomGroup.

    Raises
    ------
    SelectionError
        If it is empty, or another one on every frame.
    """
    from MDAnalysis.core.groups import UpdatingAtomGroup

    if isinstance(atoms, UpdatingAtomGroup):
        raise SelectionError(
            _REFUSE + "it is updating, another one on every frame; select it without updating=True"
        )
    if len(atoms) == 0:
        raise SelectionError(_REFUSE + "it is empty")
    return np.asarray(atoms.indices, dtype=np.int64)


def from_atomgroup(atoms: Any) -> FromAtomGroup:
    """Return what an AtomGroup says of its file and atoms.

    Raises
    ------
    SelectionError
        If its coordinates are not those of one file.
    """
    indices = fixed_indices(atoms)
    universe = atoms.universe
    trajectory = getattr(universe, "trajectory", None)
    if trajectory is None:
        raise SelectionError(_REFUSE + "its Universe has no trajectory")
    # A chain of files has a reader for each.
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
    # A chain counts its own time through; that of the frame is the file's.
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


def _is_continuous(trajectory: Any) -> bool:
    """Tell whether a chain leaves out or orders frames by their times."""
    if getattr(trajectory, "_kwargs", {}).get("continuous"):
        return True
    return int(trajectory.n_frames) != sum(int(one.n_frames) for one in trajectory.readers)


def masses(atoms: Any, where: str, remarks: list[str]) -> NDArray[np.float64]:
    """Return the masses of atoms, u; that they are guessed from names is added to the remarks.

    Raises
    ------
    SelectionError
        If an atom has none.
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
    # MDAnalysis takes W of Martini for tungsten. Of elements that a file has, masses are sure.
    guessed = {attribute.attrname for attribute in atoms.universe._topology.guessed_attributes}
    if {"masses", "types"} <= guessed:
        kinds, first = np.unique(values, return_index=True)
        words = [
            f"{getattr(atoms[int(k)], 'name', '?')} {mass:.3f}"
            for mass, k in zip(kinds, first, strict=True)
        ]
        remarks.append(
            f"masses are guessed from the names of atoms, as {where} has neither masses nor"
            f" elements: {_listed(words)}; coarse-grained and united atoms have others: use a"
            " topology with masses, such as a TPR, PSF or PRMTOP, or give weights as numbers"
        )
    return values


def check_structure(path: Path) -> None:
    """Make sure that MDAnalysis writes structures of this ending.

    Raises
    ------
    ValueError
        If it does not.
    """
    from MDAnalysis.core._get_readers import get_writer_for

    try:
        get_writer_for(str(path), multiframe=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: MDAnalysis writes no structure with this ending: use .pdb or .gro"
        ) from error


def write_structure(path: Path, atoms: Any, positions: NDArray[np.float32], box: Box) -> None:
    """Write atoms as MDAnalysis does for the ending of the path.

    A turned box is left out: formats of structures have no place for it, and one that is not turned
    would make other images of these positions.

    Raises
    ------
    OutputError
        If it cannot.
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
            # MDAnalysis raises whatever its writers meet.
            reason = " ".join(str(error).split()) or type(error).__name__
            raise OutputError(
                f"MDAnalysis cannot write these atoms as {path.suffix} ({reason}): use .pdb or .gro"
            ) from error
        finally:
            universe.atoms.positions = kept
            universe.dimensions = dimensions


def residue_numbers(atoms: Any) -> NDArray[np.int64] | None:
    """Return the residue number of each atom; None where residues have none."""
    numbers = getattr(atoms, "resids", None)
    return None if numbers is None else np.asarray(numbers, dtype=np.int64)


def backbone_dihedrals(
    atoms: Any, label: str, remarks: list[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return names and atoms of φ and ψ of each residue of `atoms` that has both.

    Neighbours are next to each other in the topology, in one segment; that they are bonded is left
    to be seen. Numbers of residues do not say who is: 52A and 53 follow 52, and chains in one
    segment have the same ones. Of several N, CA or C of a residue, as of alternate locations, it is
    the one among `atoms`; residues that are left out where this is none or several are added to the
    remarks.

    Raises
    ------
    SelectionError
        If none has.
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
    # Of the parts of a residue the first one counts.
    if parts := _called(residues[here[near & ~(torn[here - 1] & torn[here])]]):
        remarks.append(
            "residues left out, since they or their neighbours have several names (alternate"
            f" locations?): {_listed(parts)}; give a topology with one of the names"
        )
    if doubtful := _called(residues[here[~both & ~near & (fours != _NONE).all(axis=1)]]):
        remarks.append(
            "residues left out, since they or their neighbours have several N, CA or C (alternate"
            f" locations?): {_listed(doubtful)}; a selection that has one of them decides ('… and"
            " not altloc B')"
        )
    if not both.any():
        raise SelectionError(
            f"selection {label!r}: none of its {len(atoms.residues)} residues has both φ and ψ:"
            " they need the atoms N, CA and C, and neighbours in the sequence; other angles go by"
            " quadruples" + "".join(f"; {remark}" for remark in remarks)
        )
    names = _names(residues[here[both]], alpha[here[both]])
    angles = tuple(f"{angle} {name}" for name in names for angle in ("phi", "psi"))
    return angles, fours[both].reshape(-1, 4).astype(np.int64)


def _one_of_each(atoms: Any, name: str) -> NDArray[np.int64]:
    """Return the atom of this name of each residue; of several the one that `atoms` have."""
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


def _torn(residues: Any) -> NDArray[np.bool_]:
    """Tell which residues are parts of one that has several names.

    These are three or more of one number, or two where some of the atoms have alternate locations:
    two chains in one segment may end and begin with the same number.
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


def _names(residues: Any, alpha: NDArray[np.int64]) -> list[str]:
    """Return what residues are called, each otherwise: by the index of CA where need be."""
    names = _called(residues)
    of_segments = [
        f"{segment}:{name}" for segment, name in zip(residues.segids, names, strict=True)
    ]
    for unlike in (names, of_segments):
        if len(set(unlike)) == len(unlike):
            return unlike
    # Chains in one segment, as in GRO files.
    return [f"{name} atom{atom}" for name, atom in zip(names, alpha.tolist(), strict=True)]


def _called(residues: Any) -> list[str]:
    parts = [getattr(residues, part, [""] * len(residues)) for part in _OF_RESIDUES]
    return ["".join(map(str, each)) for each in zip(*parts, strict=True)]


def _listed(names: list[str]) -> str:
    """Return how many there are, and the first of them."""
    more = ["…"] if len(names) > _MOST_NAMED else []
    return f"{len(names)} ({', '.join(names[:_MOST_NAMED] + more)})"


def lengths(one: NDArray[np.float32], other: NDArray[np.float32], box: Box) -> NDArray[np.float64]:
    """Return the distances of pairs of positions, Å; nearest images where there is a cell."""
    from MDAnalysis.lib.distances import calc_bonds

    cell = None if np.isnan(box.cell).any() else box.cell.astype(np.float32)
    found: NDArray[np.float64] = calc_bonds(box.rotated(one), box.rotated(other), box=cell)
    return found


def cell(universe: Any) -> NDArray[np.float64]:
    """Return the cell that a Universe has now, `(6,)`, Å and degrees; not a number without one."""
    box = universe.dimensions
    return np.full(6, np.nan) if box is None else np.asarray(box, dtype=np.float64)


def positions(atoms: Any, where: str) -> NDArray[np.float32]:
    """Return the positions that atoms have now, `(n_atoms, 3)`, Å.

    Raises
    ------
    SelectionError
        If they have none.
    """
    from MDAnalysis.exceptions import NoDataError

    try:
        return np.ascontiguousarray(atoms.positions, dtype=np.float32)
    except (NoDataError, AttributeError) as error:
        raise SelectionError(
            f"{where} has no coordinates: give a structure that has (PDB, GRO, …)"
        ) from error


def version() -> str | None:
    """Return MDAnalysis' version, none where it was not needed."""
    module = sys.modules.get("MDAnalysis")
    return None if module is None else str(module.__version__)
