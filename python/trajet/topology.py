"""Topologies: names, residues, masses and bonds of atoms, and atoms that selections match."""

import contextlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, cache, universes
from trajet._trajet import SelectionError
from trajet.box import Box
from trajet.hints import hint_on_attribute
from trajet.messages import Message, Messages
from trajet.quoting import quoted
from trajet.selection_text import explained_error, needs_positions, parsed
from trajet.structure_files import read_structure

if TYPE_CHECKING:
    from trajet.universes import Universe

# Most kinds of masses that a message names.
_MAX_NAMED = 5


# Columns by the types of their elements: texts, int64 and float64.
TextName: TypeAlias = Literal[
    "names",
    "types",
    "elements",
    "chainIDs",
    "altLocs",
    "record_types",
    "moltypes",
    "resnames",
    "icodes",
    "segids",
]
IntegerName: TypeAlias = Literal[
    "ids", "formalcharges", "molnums", "resindices", "resids", "segindices"
]
FloatName: TypeAlias = Literal["masses", "charges", "occupancies", "tempfactors", "radii"]
Column: TypeAlias = NDArray[np.str_] | NDArray[np.int64] | NDArray[np.float64]
# Columns of residues; an atom has that of its residue.
OF_RESIDUES = ("resnames", "resids", "icodes", "segindices")
# Columns that are attributes of a topology.
COLUMNS = (*get_args(TextName), *get_args(IntegerName), *get_args(FloatName))


def _array(
    found: Column | tuple[NDArray[np.uint32], list[str]] | None,
    rows: NDArray[np.int64] | None = None,
) -> Column | None:
    """Return a native column, or some rows of it, as an array."""
    if found is None:
        return None
    if isinstance(found, tuple):
        codes, texts = found
        return np.array(texts, np.str_)[codes if rows is None else codes[rows]]
    return found if rows is None else found[rows]


class _ResidueColumns:
    """Columns of residues as attributes, which `__getattr__` reads."""

    resnames: NDArray[np.str_]
    resids: NDArray[np.int64]
    icodes: NDArray[np.str_]
    segindices: NDArray[np.int64]
    segids: NDArray[np.str_]


class _Columns:
    """Columns by their names, with the types of their elements."""

    @overload
    def column(self, name: TextName) -> NDArray[np.str_] | None: ...
    @overload
    def column(self, name: IntegerName) -> NDArray[np.int64] | None: ...
    @overload
    def column(self, name: FloatName) -> NDArray[np.float64] | None: ...
    @overload
    def column(self, name: str) -> Column | None: ...
    def column(self, name: str) -> Column | None:
        """Return a column, or None if the topology lacks it.

        Raises
        ------
        KeyError
            If there is no column with this name.
        """
        return self._column(name)

    def _column(self, name: str) -> Column | None:
        raise NotImplementedError


@dataclass(frozen=True)
class _Parts:
    """Residues of a file that are parts of one residue, or at one place of their chain.

    Attributes
    ----------
    residues, places
        `(n,)`, int64, residue and place of each residue of the file.
    rows
        `(n_residues,)`, int64, a residue of the file for each residue.
    """

    residues: NDArray[np.int64]
    places: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(
        cls, residues: NDArray[np.int64], places: NDArray[np.int64], native: _trajet.Topology
    ) -> "_Parts":
        """Return the parts; of a residue, the first with a segment stands for it."""
        segments, ids = native.column("segindices"), native.column("segids")
        order = np.arange(len(residues))
        if isinstance(segments, np.ndarray) and isinstance(ids, tuple):
            unnamed = np.array([not text.strip() for text in ids[1]])[ids[0]]
            order = np.argsort(unnamed[segments], kind="stable")
        return cls(residues, places, order[np.unique(residues[order], return_index=True)[1]])


class Topology(Messages, _Columns, _ResidueColumns):
    """The atoms of a system; `Trajectory.topology`.

    A residue is a place in its chain, also if the file states it in several parts: at alternate
    locations line by line, or with a segment on some atoms only. Residues of different names at one
    place (exclusive locations) are residues of their own; analyses by residue count the place once.
    `byres`, `same residue as` and `resindex` of the selection language mean MDAnalysis' residues,
    which are the parts.

    Columns are arrays with one element for each atom, under MDAnalysis' names: `names`, `types`,
    `elements`, `masses` (u), `charges` (e), `resids`, `resnames`, `icodes`, `segids`, `chainIDs`,
    `altLocs`, `record_types`, `ids`, `occupancies`, `tempfactors`, `radii` (Å), `formalcharges`,
    `molnums`, `moltypes`, `resindices`. Texts are arrays of str. A column that the file lacks
    raises `AttributeError`, except for types and masses, which are guessed.

    Attributes
    ----------
    path
        The file, or None for the Universe of an AtomGroup.
    native
        The native topology.
    format_options
        Options of formats, as JSON, with which the file was read.

    Examples
    --------
    >>> traj.topology.resnames[:3]
    array(['MET', 'MET', 'MET'], dtype='<U3')
    """

    # `__getattr__` reads them.
    names: NDArray[np.str_]
    types: NDArray[np.str_]
    elements: NDArray[np.str_]
    masses: NDArray[np.float64]
    charges: NDArray[np.float64]
    formalcharges: NDArray[np.int64]
    chainIDs: NDArray[np.str_]
    altLocs: NDArray[np.str_]
    record_types: NDArray[np.str_]
    ids: NDArray[np.int64]
    occupancies: NDArray[np.float64]
    tempfactors: NDArray[np.float64]
    radii: NDArray[np.float64]
    molnums: NDArray[np.int64]
    moltypes: NDArray[np.str_]
    resindices: NDArray[np.int64]

    def __init__(
        self, native: _trajet.Topology, path: Path | None, format_options: str = "{}"
    ) -> None:
        self.native = native
        self.path = path
        self.format_options = format_options
        # The trajectory that lists the bonds, if the topology does not.
        self.bonds_path: Path | None = None

    def __len__(self) -> int:
        return self.n_atoms

    def __repr__(self) -> str:
        name = "" if self.path is None else f" {self.path}"
        return (
            f"<Topology{name}: {self.n_atoms} atoms, {self.n_residues} residues,"
            f" {self.n_segments} segments>"
        )

    def __fspath__(self) -> str:
        if self.path is None:
            raise TypeError("this topology is that of a Universe: it has no file")
        return os.fspath(self.path)

    def __str__(self) -> str:
        return "the Universe" if self.path is None else str(self.path)

    def __getattr__(self, name: str) -> Column:
        if name not in COLUMNS:
            hint = hint_on_attribute(["Topology"], name)
            raise AttributeError(f"a topology has no attribute {name!r}{hint}")
        if (values := self.atoms.column(name)) is None:
            raise AttributeError(f"{self} has no {name}")
        return values

    def __dir__(self) -> list[str]:
        present = [name for name in COLUMNS if self.native.column(name) is not None]
        return [*super().__dir__(), *present]

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages on the file, such as numbers or bonds that are not certain."""
        return tuple(self.native.messages)

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return self.native.n_atoms

    @property
    def n_residues(self) -> int:
        """Number of residues."""
        return self.native.n_residues if self._parts is None else len(self._parts.rows)

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return self.native.n_segments

    @cached_property
    def atoms(self) -> "Atoms":
        """All atoms."""
        return Atoms(self, np.arange(self.n_atoms, dtype=np.int64))

    @cached_property
    def residues(self) -> "Residues":
        """The residues."""
        return Residues(self)

    @cached_property
    def molecules(self) -> NDArray[np.int64]:
        """Number of the molecule of each atom, `(n_atoms,)`, int64.

        Molecules are those that the file lists, or else sets of bonded atoms.

        Raises
        ------
        SelectionError
            If the topology has neither molecules nor bonds, or some bonds only; see
            `missing_bonds_message`.
        """
        listed_molecules = self.column("molnums")
        if listed_molecules is not None:
            return listed_molecules
        fragments = self.native.fragments()
        if fragments is None:
            raise SelectionError(
                f"{self} has neither molecules nor bonds: use a topology that has, such as a TPR,"
                " PSF or PRMTOP"
            )
        if not self.has_all_bonds:
            raise SelectionError(
                f"{self.missing_bonds_message}, so that its molecules are not known: use a"
                " topology with all bonds, such as a TPR, PSF or PRMTOP, or residues in place of"
                " molecules"
            )
        return fragments

    @property
    def repeats_residue_numbers(self) -> bool:
        """Whether residues have numbers of their molecules, as in TPR files, which may repeat."""
        numbers = self.residues.resids
        is_counted = np.array_equal(numbers, np.arange(1, len(numbers) + 1))
        # Files of LAMMPS have numbers of molecules alone, and name no residues.
        is_named = self.column("resnames") is not None
        return self.column("molnums") is not None and is_named and not is_counted

    @cached_property
    def bonds(self) -> NDArray[np.int64] | None:
        """Bonds, `(n_bonds, 2)`, int64, indices of atoms; None if the file lists none."""
        return self.native.bonds

    @property
    def has_all_bonds(self) -> bool:
        """Whether the bonds are known: all of them, as far as residues tell."""
        return not self.missing_bonds_message

    @cached_property
    def missing_bonds_message(self) -> str:
        """The beginning of an error on bonds that no file lists; empty if all are listed.

        CONECT records of a PDB file are often those of ligands and disulfides alone, and an H5MD
        file may list bonds of some molecules: more than a tenth of the residues lack bonds then.
        """
        if self.native.bonds is None:
            return f"{self} has no bonds"
        unconnected = self.native.unconnected()
        if unconnected is None:
            return ""
        n, of, atom = unconnected
        return (
            f"{n} of {of} residues are not connected by the bonds of {self.bonds_path or self}, the"
            f" first has"
            f" {self.atoms.describe(atom)}"
        )

    @cached_property
    def connections(self) -> NDArray[np.int64] | None:
        """Bonds, and pairs of virtual sites with the atoms that construct them; else as `bonds`."""
        bonds, others = self.native.bonds, self.native.connections
        if bonds is None or others is None:
            return bonds if others is None else others
        return np.concatenate([bonds, others])

    @cached_property
    def sites(self) -> NDArray[np.bool_]:
        """Mask of the particles that are no atoms, as the file states, `(n_atoms,)`.

        These are virtual sites, extra points, lone pairs, Drude particles and shells.
        """
        found = self.native.sites()
        return np.zeros(self.n_atoms, np.bool_) if found is None else found

    @cached_property
    def named_sites(self) -> NDArray[np.bool_]:
        """Mask of sites that only their names tell, and whose mass is unknown, `(n_atoms,)`."""
        found = self.native.named_sites()
        return np.zeros(self.n_atoms, np.bool_) if found is None else found

    @cached_property
    def alternate_locations(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Numbers of residue and location of each atom, `(n_atoms,)` each; None without locations.

        A residue is a position in its chain, whose parts may have different names. Residues without
        locations have the number 0, as have atoms without.
        """
        return self.native.alternate_locations()

    @property
    def guessed_bonds(self) -> NDArray[np.int64]:
        """Bonds guessed from the distances in the file, as `bonds`, whatever bonds it lists.

        Raises
        ------
        SelectionError
            If the file has no positions, or no radius is known, as of coarse-grained models.
        """
        return self._guessed[0]

    @property
    def never_bonded(self) -> NDArray[np.int64]:
        """Atoms that `guessed_bonds` lacks, as their radius is unknown, `(n,)`, int64, indices."""
        return self._guessed[1]

    @cached_property
    def _guessed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        path, options = self.path, self.format_options
        found = None if path is None else read_structure(path, format_options=options)
        if found is None or isinstance(found, str) or found.positions is None:
            raise SelectionError(
                f"{self} has no positions from which bonds can be guessed: use a structure file"
                " (GRO, PDB), or a topology with bonds, such as a TPR, PSF or PRMTOP"
            )
        without = found.guess_bonds()
        bonds = found.topology.bonds
        assert bonds is not None
        return bonds, without

    def _column(self, name: str) -> Column | None:
        """Return a column with one element for each atom, residue or segment."""
        if name == "resindices":
            return self.atoms_residues
        rows = None if self._parts is None or name not in OF_RESIDUES else self._parts.rows
        return _array(self.native.column(name), rows)

    @cached_property
    def _parts(self) -> "_Parts | None":
        """The residues of the file that are parts of others; None if there are none."""
        found = self.native.places()
        return None if found is None else _Parts.of(found[0], found[1], self.native)

    @cached_property
    def file_residues(self) -> NDArray[np.int64]:
        """Index of each atom's residue in the file, `(n_atoms,)`, int64; those of MDAnalysis.

        A residue that the file states in several parts has several.
        """
        found = self.native.column("resindices")
        assert isinstance(found, np.ndarray)
        return found.astype(np.int64, copy=False)

    @cached_property
    def atoms_residues(self) -> NDArray[np.int64]:
        """Index of the residue of each atom, `(n_atoms,)`, int64."""
        rows = self.file_residues
        return rows if self._parts is None else self._parts.residues[rows]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Number of each atom's place in its chain, `(n_atoms,)`, int64; see `Topology`."""
        return (
            self.atoms_residues if self._parts is None else self._parts.places[self.file_residues]
        )

    @property
    def n_places(self) -> int:
        """Number of places in chains."""
        return self.n_residues if self._parts is None else int(self._parts.places.max()) + 1

    @cached_property
    def residue_segments(self) -> NDArray[np.int64]:
        """Index of the segment of each residue, `(n_residues,)`, int64."""
        found = self.column("segindices")
        assert found is not None
        return found

    def select(
        self,
        text: str,
        where: str,
        *,
        among: NDArray[np.int64] | None = None,
        positions: NDArray[np.float32] | None = None,
        box: Box | None = None,
        empty: bool = False,
    ) -> NDArray[np.int64]:
        """Return the indices of the atoms that a selection text matches, ascending.

        Parameters
        ----------
        text
            The selection, in MDAnalysis' language.
        where
            The topology, for messages.
        among
            The atoms to select among, which are those that have positions; None for all.
        positions
            `(n_atoms, 3)`, float32, Å; NaN for atoms outside of `among`.
        box
            The box for nearest images.
        empty
            Whether the selection may match no atom.

        Raises
        ------
        SelectionError
            If the text is invalid, depends on positions of other atoms, or matches no atom and the
            result may not be `empty`.
        """
        vectors, periodic = None, [True] * 3
        if box is not None and box.exists:
            vectors, periodic = box.vectors.tolist(), box.periodic.tolist()
        selection = parsed(text)
        try:
            atoms = selection.select(self.native, positions, vectors, among, periodic)
        except SelectionError as error:
            raise explained_error(text, str(error)) from error
        if not len(atoms) and not empty:
            raise self._matches_none(text, where, among)
        return atoms

    def atoms_absent(self, text: str, among: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the atoms without which a text cannot be evaluated, `(n,)`, int64, ascending.

        Parameters
        ----------
        text
            The selection, in MDAnalysis' language.
        among
            The atoms to select among, which are those that have positions.

        Raises
        ------
        SelectionError
            If the text is invalid, or the topology lacks something.
        """
        try:
            return parsed(text).atoms_absent(self.native, among)
        except SelectionError as error:
            raise explained_error(text, str(error)) from error

    def updating(
        self, text: str, where: str, *, among: NDArray[np.int64] | None, has_selected: bool
    ) -> _trajet.UpdatingSelection:
        """Return a selection text for the evaluation of many frames.

        Parameters
        ----------
        text, where, among
            As for `select`.
        has_selected
            Whether it is given the positions of all atoms that it may select, too.

        Raises
        ------
        SelectionError
            If the text is invalid, depends on positions of other atoms, or matches no atom whatever
            the positions are.
        """
        selection = parsed(text)
        try:
            made = selection.updating(self.native, among, has_selected=has_selected)
        except SelectionError as error:
            raise explained_error(text, str(error)) from error
        if not made.atoms_possible.size:
            raise self._matches_none(text, where, among)
        return made

    def _matches_none(
        self, text: str, where: str, among: NDArray[np.int64] | None
    ) -> SelectionError:
        n_among = self.n_atoms if among is None else len(among)
        listed = "its names" if self.path is None else f"`trajet info {self.path}`"
        return SelectionError(
            f"selection {quoted(text)} matches none of the {n_among} atoms of {where}: compare it"
            f" with {listed}"
        )


class Atoms(_Columns):
    """Some atoms of a topology, in any order, with their columns.

    Attributes
    ----------
    topology
        The topology.
    indices
        `(n,)`, int64, indices in the topology.
    """

    def __init__(self, topology: Topology, indices: NDArray[np.int64]) -> None:
        self.topology = topology
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, chosen: "NDArray[np.integer | np.bool_]") -> "Atoms":
        return Atoms(self.topology, self.indices[chosen])

    def _column(self, name: str) -> Column | None:
        """Return a column with one element for each atom."""
        topology = self.topology
        if name == "resindices":
            return self.residues
        rows = self.indices
        if name in (*OF_RESIDUES, "segids"):
            rows = topology.file_residues[rows]
        if name == "segids":
            segments = topology.native.column("segindices")
            assert isinstance(segments, np.ndarray)
            rows = segments[rows].astype(np.int64)
        return _array(topology.native.column(name), rows)

    @property
    def residues(self) -> NDArray[np.int64]:
        """Index of the residue of each atom, `(n,)`, int64."""
        return self.topology.atoms_residues[self.indices]

    @property
    def places(self) -> NDArray[np.int64]:
        """Number of the place of each atom in its chain, `(n,)`, int64."""
        return self.topology.places[self.indices]

    def by_place(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the residue of the first atom at each place, and the row of each atom among these.

        Returns
        -------
        residues
            `(n_places,)`, int64, one residue for each place.
        rows
            `(n,)`, int64.
        """
        _, first, rows = np.unique(self.places, return_index=True, return_inverse=True)
        return self.residues[first], rows

    def named(self, name: str) -> NDArray[np.int64]:
        """Return the positions in the group of the atoms with a name; none without names."""
        found = self.topology.native.column("names")
        if not isinstance(found, tuple):
            return np.zeros(0, np.int64)
        # Texts are compared once for all atoms that have them.
        codes, texts = found
        is_named = np.array([text == name for text in texts], bool)
        return np.flatnonzero(is_named[codes[self.indices]])

    def name_of(self, k: int) -> str:
        """Return the name of the atom at position `k` of the group, or "?"."""
        return str(self.topology.native.value("names", int(self.indices[k])) or "?")

    def describe(self, k: int) -> str:
        """Return a text with index, name and residue of the atom at position `k` of the group."""
        index = int(self.indices[k])
        native, residue = self.topology.native, int(self.topology.file_residues[index])
        resname, resid = native.value("resnames", residue), native.value("resids", residue)
        # A number alone would not show what it counts.
        of_residue = f"of residue {resid}" if resname is None else f"{resname}{resid}"
        name = native.value("names", index)
        return " ".join(filter(None, [f"atom {index}", str(name or ""), of_residue]))


class Residues(_ResidueColumns):
    """The residues of a topology; `Topology.residues`.

    The columns `resids`, `resnames`, `icodes` and `segids` are arrays with one element for each
    residue. A column that the file lacks raises `AttributeError`.

    Examples
    --------
    >>> traj.topology.residues.resnames[:3]
    array(['MET', 'ARG', 'ILE'], dtype='<U3')
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    def __len__(self) -> int:
        return self._topology.n_residues

    def __dir__(self) -> list[str]:
        native = self._topology.native
        present = [n for n in (*OF_RESIDUES, "segids") if native.column(n) is not None]
        return [*super().__dir__(), *present]

    def __getattr__(self, name: str) -> Column:
        topology = self._topology
        if name == "segids":
            values = _array(topology.native.column(name), topology.residue_segments)
        elif name in OF_RESIDUES:
            values = topology.column(name)
        else:
            raise AttributeError(f"residues have no attribute {name!r}")
        if values is None:
            raise AttributeError(f"{topology} has no {name}")
        return values


@dataclass(frozen=True)
class Structure:
    """A topology with the positions of its file.

    Attributes
    ----------
    topology
        The topology.
    positions
        `(n_atoms, 3)`, float32, Å; None if the file has none.
    box
        The box of the file.
    """

    topology: Topology
    positions: NDArray[np.float32] | None
    box: Box

    def positions_of(self, where: str) -> NDArray[np.float32]:
        """Return the positions; `where` names the structure in errors.

        Raises
        ------
        SelectionError
            If the file has none.
        """
        if self.positions is None:
            raise SelectionError(
                f"{where} has no coordinates: give a structure that has (PDB, GRO, …)"
            )
        return self.positions

    def select(self, text: str, where: str) -> NDArray[np.int64]:
        """Return the indices of the atoms that a selection text matches.

        Raises
        ------
        SelectionError
            As `Topology.select`, or if the selection needs positions and there are none.
        """
        positions = self.positions_of(where) if needs_positions(text) else self.positions
        return self.topology.select(text, where, positions=positions, box=self.box)


@dataclass(frozen=True, kw_only=True)
class SidecarUse:
    """Options of the sidecar of a topology, the file that stores what MDAnalysis parsed.

    Attributes
    ----------
    is_used
        Whether a sidecar is read and written.
    rebuild
        Whether one that exists is replaced.
    beside
        Whether it may be beside the topology; otherwise it is in the cache folder.
    """

    is_used: bool = True
    rebuild: bool = False
    beside: bool = True


def load(path: Path, sidecar: SidecarUse = SidecarUse(), format_options: str = "{}") -> Structure:
    """Read a topology or structure file.

    Parameters
    ----------
    path
        The file.
    sidecar
        How a sidecar is used, if only MDAnalysis reads the format.
    format_options
        Options of formats as JSON.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    FormatError
        If it cannot be read.
    MissingPackageError
        If only MDAnalysis reads its format, and MDAnalysis is not installed.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder: give the path of a topology")
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: there is no such topology or structure file: check the path"
        )
    found = read_structure(path, format_options=format_options)
    if isinstance(found, str):
        found = _by_mdanalysis(path, found, sidecar)
    return structure_of(found, path, format_options)


def structure_of(found: _trajet.StructureFile, path: Path, format_options: str = "{}") -> Structure:
    """Return the content of a file, with types and masses guessed where it has none."""
    # As MDAnalysis does; masses of coarse-grained beads are unknown.
    found.guess("types")
    with contextlib.suppress(SelectionError):
        found.guess("masses")
    box = Box() if found.cell is None else Box.of_cell(found.cell, found.vectors)
    return Structure(Topology(found.topology, path, format_options), found.positions, box)


def _by_mdanalysis(path: Path, reason: str, use: SidecarUse) -> _trajet.StructureFile:
    """Return the content of a file that only MDAnalysis reads, from its sidecar if there is one.

    `reason` states why the file is not read otherwise.
    """
    sidecar = None
    if use.is_used and (program := universes.program()) and universes.is_one_file(path):
        sidecar = _trajet.TopologySidecar.of(path, program, beside=use.beside, cache=cache.folder())
    if sidecar is not None and not use.rebuild and (kept := sidecar.load()) is not None:
        return kept
    parsed = universes.read_structure(path, reason)
    if sidecar is not None:
        sidecar.save(parsed)
    return parsed


def of_universe(universe: "Universe") -> Structure:
    """Return the topology of a Universe, with its current positions and cell.

    The unit cell of a crystal in a PDB file is no box, unless `universe.dimensions` was changed.
    """
    path, box = universe.filename, Box.of_cell(universes.cell_of(universe))
    pdb = universes.pdb_file_of_cell(universe)
    if pdb is not None and not load(pdb).box.exists:
        box = Box()
    return Structure(
        Topology(universes.topology_of(universe), None if path is None else Path(str(path))),
        universes.positions_of(universe),
        box,
    )


def listed(names: list[str]) -> str:
    """Return the number of names and the first of them as text."""
    return f"{len(names)} ({first_of(names)})"


def first_of(names: list[str]) -> str:
    """Return the first of some names as text."""
    more = ["…"] if len(names) > _MAX_NAMED else []
    return ", ".join(names[:_MAX_NAMED] + more)
