"""`FilesWithTopology`: open files and the topology of their atoms."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, remote
from trajet._trajet import FormatError, SelectionError, StoreError, TrajetError
from trajet.atom_matching import place_in_file
from trajet.formats import formats_of
from trajet.quoting import quoted
from trajet.selection_text import names_residue_numbers, needs_positions
from trajet.startup import Stopwatch
from trajet.topology import Atoms, Topology
from trajet.topology import load as load_structure
from trajet.trajectory.choice import AtomChoice, resolve_indices
from trajet.trajectory.files import TrajectoryFiles
from trajet.trajectory.groups import groups_of_size

_NUMBERS_OF_MOLECULES = (
    "{path}: `resid` means the residue numbers of the file, as in GRO and PDB files of GROMACS,"
    " which may repeat in each molecule; MDAnalysis counts the residues of TPR files from 1 instead"
)


class FilesWithTopology(TrajectoryFiles):
    """Open files and the topology of their atoms; see `Trajectory`."""

    @property
    def topology(self) -> Topology:
        """The topology: names, residues, masses and bonds of the atoms.

        For some tags of a data set, or files with some `atoms`, it has all. If it lists no bonds,
        its bonds are those that an H5MD trajectory lists, `connectivity/bonds`.

        Raises
        ------
        SelectionError
            If there is no topology, or its number of atoms is not the trajectory's.
        StoreError
            If the data set was removed since it was opened.
        FormatError
            If it cannot be read.
        MissingPackageError
            If only MDAnalysis reads its format, and MDAnalysis is not installed.
        """
        if self._topology is None:
            watch = Stopwatch()
            found = self._load_topology()
            self._check_size(found)
            self._add_bonds_of_frames(found)
            self._topology = found
            self.t_topology += watch.seconds()
        return self._topology

    def _load_topology(self) -> Topology:
        path = self._checked_topology_path()
        where = self.topology_at or path
        with _errors_about(path, where):
            if where in self.objects or h5md.is_hdf5(where):
                found = h5md.read_structure(self.hdf5_at(where), self.particles).topology
            elif self._shared_topologies is not None:
                found = self._shared_topologies.load(where, self.sidecar)
            else:
                found = load_structure(where, self.sidecar).topology
        found.path = path
        return found

    def choose_atoms(self, atoms: AtomChoice) -> None:
        """Take the atoms of each frame for some of the topology, in its order; see `open`.

        Raises
        ------
        SelectionError
            If their number is not that of a frame.
        """
        watch = Stopwatch()
        found = self._load_topology()
        if isinstance(atoms, str):
            if needs_positions(atoms):
                raise SelectionError(
                    f"atoms={atoms!r}: the atoms of the files cannot be found by positions: select"
                    " them by names, or give their indices"
                )
            chosen = found.select(atoms, str(found))
        else:
            chosen = resolve_indices(np.asarray(atoms), found.n_atoms)
            if (np.diff(chosen) <= 0).any():
                raise SelectionError("atoms: the indices must rise, as files have that order")
        if len(chosen) != self.n_atoms:
            raise SelectionError(
                f"atoms={atoms if isinstance(atoms, str) else 'indices'!r}: selects"
                f" {len(chosen)} of the {found.n_atoms} atoms of {found}, but {self.path} has"
                f" {self.n_atoms}{groups_of_size(found, self.n_atoms)}"
            )
        self._chosen = chosen, found.n_atoms
        self._add_bonds_of_frames(found)
        self._topology = found
        self.t_topology += watch.seconds()

    def _add_bonds_of_frames(self, found: Topology) -> None:
        if found.native.bonds is None and (bonds := self._bonds_of_frames()) is not None:
            found.native = found.native.with_bonds(self.indices_of(bonds))
            found.bonds_path = self.path
            self.has_bonds_of_frames = True

    def put_in_order(self) -> None:
        """Read files that name their atoms in the order of the topology, or of the first such file.

        Without a topology that can be read, files are compared with one another; the error of the
        topology is raised where it is needed.

        Raises
        ------
        SelectionError
            If the order of a file is not unique, or its names differ from those of the topology
            beyond the conventions of programs.
        """
        segments = self._reader.segments()
        named = [k for k, one in enumerate(segments) if formats_of(one["format"])[0].has_topology]
        if not named or (self.topology_path is None and len(named) == 1):
            return
        reference, label = None, ""
        if self.topology_path is not None:
            # The topology of its own file has the names of frame 0.
            named = [k for k in named if not self._is_topology(segments[k]["path"])]
            if not named:
                return
            with contextlib.suppress(TrajetError, OSError):
                reference, label = self.topology_atoms, str(self.topology_path)
        orders: list[NDArray[np.int64] | None] = [None] * len(segments)
        remarks: list[str] = []
        for k in named:
            path = segments[k]["path"]
            try:
                found = self._reader.first_structure(k)
            except FormatError as error:
                remarks.append(f"its names of atoms cannot be compared: {error}")
                continue
            assert found is not None
            atoms = Topology(found.topology, path).atoms
            if reference is None:
                reference, label = atoms, str(path)
                continue
            placed = place_in_file(atoms, reference, str(path), label)
            orders[k] = placed.order_in_file
            remarks += placed.remarks
        self._order_remarks = tuple(remarks)
        if any(order is not None for order in orders):
            lists = [None if order is None else order.tolist() for order in orders]
            self._reader = self._reader.ordered(lists)

    def _is_topology(self, path: Path) -> bool:
        """Return whether a file is the topology."""
        if path == self.topology_path:
            return True
        assert self.topology_at is not None
        return path.exists() and self.topology_at.exists() and path.samefile(self.topology_at)

    def _bonds_of_frames(self) -> NDArray[np.int64] | None:
        """Return the bonds that the first file of the trajectory lists, if that is H5MD."""
        if self.dataset is not None or self._reader.segments()[0]["format"] != h5md.HDF5.name:
            return None
        try:
            return h5md.bonds_of(
                self.hdf5_at(self._absolute_paths[0]), self.particles, self.n_atoms
            )
        except FormatError as error:
            # Most analyses need no bonds.
            self._bond_remarks = (f"bonds are left out: {error}",)
            return None

    def _checked_topology_path(self) -> Path:
        """Return the path of the topology.

        Raises
        ------
        SelectionError
            If there is none.
        StoreError
            If the data set was removed since it was opened.
        """
        path = self.topology_path
        if path is None:
            raise SelectionError(
                f"{self.label} was opened without a topology: give one to open(), or select"
                " atoms by their indices"
            )
        if self.dataset is not None and not path.exists():
            raise StoreError(f"{path}: no such file: {self.label} was removed since it was opened")
        return path

    def _check_size(self, found: Topology) -> None:
        """Raise an error if a topology has another number of atoms."""
        if found.n_atoms == self.n_topology_atoms:
            return
        some = groups_of_size(found, self.n_topology_atoms) if self.dataset is None else ""
        raise SelectionError(
            f"{found} has {found.n_atoms} atoms, but {self.path} has {self.n_topology_atoms}"
            f" (frame 0 at byte 0): give the topology of the atoms that were written{some}"
        )

    @property
    def topology_atoms(self) -> Atoms:
        """The atoms of a frame, in their order, with their columns in the topology."""
        topology, origin = self.topology, self._origin
        return topology.atoms if origin is None else Atoms(topology, origin)

    @property
    def has_topology(self) -> bool:
        """Whether names and masses of atoms are available."""
        return self.topology_path is not None or self._topology is not None

    def updating(self, text: str, *, has_selected: bool) -> _trajet.UpdatingSelection:
        """Return a selection text for the evaluation of many frames.

        Raises
        ------
        SelectionError
            If the text is invalid, depends on positions of atoms that frames lack, or matches no
            atom whatever the positions are.
        """
        self._remark_on_residue_numbers(text)
        self._check_positions(text)
        where = self.label if self._origin is not None else str(self.topology)
        return self.topology.updating(text, where, among=self._origin, has_selected=has_selected)

    def _check_positions(self, text: str) -> None:
        """Raise an error if a selection depends on positions of atoms that frames lack."""
        if self._origin is None or not needs_positions(text):
            return
        absent = self.topology.atoms_absent(text, self._origin)
        if not len(absent):
            return
        first = self.topology.atoms.describe(int(absent[0]))
        which = first if len(absent) == 1 else f"{len(absent)} atoms (the first is {first})"
        if self.dataset is None:
            remedy = "give a trajectory that has them"
        else:
            tags = self.dataset.tags_with(absent)
            remedy = f"open the tag{'s' if len(tags) > 1 else ''} {', '.join(tags)}, too"
        raise SelectionError(
            f"selection {quoted(text)} depends on positions of {which}, {self.absent_atoms}:"
            f" {remedy}"
        )

    def _remark_on_residue_numbers(self, text: str) -> None:
        """Remark, once, that a selection has numbers of residues that MDAnalysis counts."""
        if self._residue_remarks or not names_residue_numbers(text):
            return
        if self.topology.repeats_residue_numbers:
            self._residue_remarks = (_NUMBERS_OF_MOLECULES.format(path=self.topology),)

    def columns(self, atoms: Sequence[int] | NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
        """Return the indices in a frame of atoms given by topology indices or by a mask.

        A mask has one element per atom of a frame, or per atom of the topology.

        Raises
        ------
        SelectionError
            If there are none, or one is out of range or in a tag that is not open.
        """
        chosen = np.asarray(atoms)
        if chosen.dtype == np.bool_ and chosen.shape == (self.n_atoms,):
            chosen = self.indices_of(np.flatnonzero(chosen))
        elif chosen.dtype == np.bool_ and chosen.shape == (self.n_topology_atoms,):
            chosen = np.flatnonzero(chosen)
        indices = resolve_indices(chosen, self.n_topology_atoms)
        columns, there = self.columns_of(indices)
        if not there.all():
            raise SelectionError(
                f"{self.label}: atom {indices[~there][0]} is {self.absent_atoms} (indices are those"
                " of the topology): leave it out"
                + ("" if self.dataset is None else ", or open its tag too")
            )
        return columns


@contextlib.contextmanager
def _errors_about(path: Path, copy: Path) -> Iterator[None]:
    """Name the object in errors about its copy, which the user has not named.

    Raises
    ------
    FormatError
        If the block raises one.
    """
    try:
        yield
    except FormatError as error:
        if not isinstance(path, remote.ObjectPath):
            raise
        raise FormatError(str(error).replace(str(copy), str(path))) from error
