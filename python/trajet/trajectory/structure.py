"""`LazyTopology`: the topology of a trajectory, which is read when it is first used.

Equal topology files of several trajectories are parsed once; see `sharing`.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, remote
from trajet._trajet import FormatError, Reader, SelectionError, StoreError, TrajetError
from trajet.atom_matching import place_in_file
from trajet.formats import formats_of
from trajet.messages import OF_TOPOLOGY, Code, Message
from trajet.quoting import quoted
from trajet.report_entries import InputEntry
from trajet.selection_text import names_residue_numbers, needs_positions
from trajet.startup import Stopwatch
from trajet.topology import Atoms, SidecarUse, Topology
from trajet.topology import load as load_structure
from trajet.trajectory.atom_index import AtomIndex
from trajet.trajectory.files import describe_file, opened_hdf5
from trajet.trajectory.groups import groups_of_size

if TYPE_CHECKING:
    from trajet.remote.objects import RemoteFile

_NUMBERS_OF_MOLECULES = (
    "{path}: `resid` means the residue numbers of the file, as in GRO and PDB files of GROMACS,"
    " which may repeat in each molecule; MDAnalysis counts the residues of TPR files from 1 instead"
)


# Most topologies that stay in memory; those that were used last are kept.
MAX_SHARED = 64

_current: ContextVar["SharedTopologies | None"] = ContextVar("shared_topologies", default=None)


class SharedTopologies:
    """Parsed topologies by the digests of their files.

    Attributes
    ----------
    n_parsed
        The number of files that were parsed.
    """

    def __init__(self) -> None:
        self.n_parsed = 0
        self._lock = Lock()
        # Digests by path, size and time of change.
        self._digests: dict[tuple[Path, int, int], str] = {}
        # By digest, ending and options.
        self._parsed: dict[tuple[str, str, str], _trajet.Topology] = {}

    def load(self, path: Path, sidecar: SidecarUse, format_options: str) -> Topology:
        """Return the topology of a file, which is parsed if no file with its bytes was.

        Raises
        ------
        FileNotFoundError, IsADirectoryError, FormatError, MissingPackageError
            As `trajet.topology.load`.
        """
        if not path.is_file():
            return load_structure(path, sidecar, format_options).topology
        with self._lock:
            key = (*self._key(path), format_options)
            native = self._parsed.pop(key, None)
            if native is None:
                native = load_structure(path, sidecar, format_options).topology.native
                self.n_parsed += 1
            self._parsed[key] = native
            while len(self._parsed) > MAX_SHARED:
                del self._parsed[next(iter(self._parsed))]
        return Topology(native, path, format_options)

    def key_of(self, path: Path) -> tuple[str, str]:
        """Return a key that topology files with the same bytes share, of others their path."""
        if not path.is_file():
            return "", str(path)
        with self._lock:
            return self._key(path)

    def _key(self, path: Path) -> tuple[str, str]:
        # The format may follow from the ending.
        return self._digest(path), path.suffix.lower()

    def _digest(self, path: Path) -> str:
        stat = path.stat()
        stamp = path.resolve(), stat.st_size, stat.st_mtime_ns
        if stamp not in self._digests:
            with path.open("rb") as file:
                self._digests[stamp] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[stamp]


@contextlib.contextmanager
def sharing(topologies: SharedTopologies) -> Iterator[None]:
    """Have trajectories that are opened in the block load their topologies from `topologies`."""
    token = _current.set(topologies)
    try:
        yield
    finally:
        _current.reset(token)


@dataclass(frozen=True, eq=False)
class TopologyFile:
    """Where a topology is read.

    Attributes
    ----------
    path
        The file, as given.
    at
        Where it is read, whatever the working folder is: the file, or a copy of an object in remote
        storage.
    sidecar
        How a sidecar of it is used.
    particles
        Name of the particles group of H5MD files; None for the only one.
    objects
        Open objects in remote storage, by path.
    format_options
        Options of formats, as JSON.
    shared
        Topologies that several trajectories share, or None.
    """

    path: Path
    at: Path
    sidecar: SidecarUse = field(default_factory=SidecarUse)
    particles: str | None = None
    objects: "Mapping[Path, RemoteFile]" = field(default_factory=dict)
    format_options: str = "{}"
    shared: SharedTopologies | None = field(default_factory=_current.get)

    def read(self) -> Topology:
        """Read the topology.

        Raises
        ------
        FormatError, MissingPackageError
            As `LazyTopology.topology`.
        """
        with _errors_about(self.path, self.at):
            if self.at in self.objects or h5md.is_hdf5(self.at):
                file = opened_hdf5(self.at, self.objects)
                found = h5md.read_structure(file, self.particles).topology
            elif self.shared is not None:
                found = self.shared.load(self.at, self.sidecar, self.format_options)
            else:
                found = load_structure(self.at, self.sidecar, self.format_options).topology
        found.path = self.path
        return found


class LazyTopology:
    """The topology of a trajectory, which is read when it is first used.

    Parameters
    ----------
    file
        Where it is read; None if there is none.
    index
        The atoms of a frame.
    first
        The first file of the trajectory, for messages.
    listing_bonds
        What h5py opens: an H5MD file of frames that may list bonds; else None.
    seconds
        Seconds that opening the files has taken.
    topology
        The topology, if it was read already.

    Attributes
    ----------
    seconds
        Seconds spent so far on opening the files and reading the topology.
    has_bonds_of_frames
        Whether its bonds are those that the trajectory lists.
    """

    def __init__(
        self,
        file: TopologyFile | None,
        index: AtomIndex,
        first: Path,
        *,
        listing_bonds: "h5md.HdfFile | None" = None,
        seconds: float = 0.0,
        topology: Topology | None = None,
    ) -> None:
        self.file, self.index, self.seconds = file, index, seconds
        self._first, self._listing_bonds = first, listing_bonds
        self.has_bonds_of_frames = False
        self._bond_messages: tuple[Message, ...] = ()
        # A message on the numbers of residues, once a selection has used them.
        self._residue_messages: tuple[Message, ...] = ()
        self._topology = topology
        if topology is not None:
            self._add_bonds_of_frames(topology)

    @property
    def path(self) -> Path | None:
        """Path of the topology, or None."""
        return None if self.file is None else self.file.path

    @property
    def topology(self) -> Topology:
        """The topology, with the errors of `Trajectory.topology`."""
        if self._topology is None:
            watch = Stopwatch()
            found = self.checked_file().read()
            self._check_size(found)
            self._add_bonds_of_frames(found)
            self._topology = found
            self.seconds += watch.seconds()
        return self._topology

    @property
    def atoms(self) -> Atoms:
        """The atoms of a frame, in their order, with their columns in the topology."""
        topology, origin = self.topology, self.index.origin
        return topology.atoms if origin is None else Atoms(topology, origin)

    @property
    def is_known(self) -> bool:
        """Whether names and masses of atoms are available."""
        return self.file is not None or self._topology is not None

    @property
    def where(self) -> str:
        """What a selection is made from, for messages."""
        return self.index.label if self.index.origin is not None else str(self.topology)

    def of(self, topology: Topology) -> Self:
        """Return the same with another topology, such as that of a Universe."""
        made = copy(self)
        made._topology = topology
        return made

    def checked_file(self) -> TopologyFile:
        """Return where the topology is read.

        Raises
        ------
        SelectionError
            If there is none.
        StoreError
            If the data set was removed since it was opened.
        """
        if self.file is None:
            raise SelectionError(
                f"{self.index.label} was opened without a topology: give one to open(), or select"
                " atoms by their indices"
            )
        path = self.file.path
        if self.index.dataset is not None and not path.exists():
            raise StoreError(
                f"{path}: no such file: {self.index.label} was removed since it was opened"
            )
        return self.file

    def updating(self, text: str, *, has_selected: bool) -> _trajet.UpdatingSelection:
        """Return a selection text for the evaluation of many frames.

        Raises
        ------
        SelectionError
            If the text is invalid, depends on positions of atoms that frames lack, or matches no
            atom whatever the positions are.
        """
        self.check_text(text)
        origin = self.index.origin
        return self.topology.updating(text, self.where, among=origin, has_selected=has_selected)

    def check_text(self, text: str) -> None:
        """Raise an error if a selection depends on positions of atoms that frames lack.

        A selection by numbers of residues that MDAnalysis counts is remembered for a message.

        Raises
        ------
        SelectionError
            If it does.
        """
        index = self.index
        is_new = not self._residue_messages and names_residue_numbers(text)
        if is_new and self.topology.repeats_residue_numbers:
            text = _NUMBERS_OF_MOLECULES.format(path=self.topology)
            self._residue_messages = (Message(Code.RESIDUE_NUMBERS, text),)
        if index.origin is None or not needs_positions(text):
            return
        absent = self.topology.atoms_absent(text, index.origin)
        if not len(absent):
            return
        first = self.topology.atoms.describe(int(absent[0]))
        which = first if len(absent) == 1 else f"{len(absent)} atoms (the first is {first})"
        if index.dataset is None:
            remedy = "give a trajectory that has them"
        else:
            tags = index.dataset.tags_with(absent)
            remedy = f"open the tag{'s' if len(tags) > 1 else ''} {', '.join(tags)}, too"
        raise SelectionError(
            f"selection {quoted(text)} depends on positions of {which}, {index.absent_atoms}:"
            f" {remedy}"
        )

    def messages(self, of_files: Sequence[Message], paths: Sequence[Path]) -> list[Message]:
        """Return messages on the topology, once it was read.

        Without those on a file that is a trajectory as well, which `of_files` have; `paths` are the
        files of the trajectory, as given and absolute.
        """
        found = [*self._residue_messages, *self._bond_messages]
        path = None if self._topology is None else self._topology.path
        if self._topology is not None and path is not None and self._topology.native.messages:
            of_topology = [one for one in self._topology.messages if one.code in OF_TOPOLOGY]
            if self.file is not None and {self.file.path, self.file.at} & {*paths}:
                of_topology = [
                    one for one in of_topology if not any(one in other for other in of_files)
                ]
            found = [*(one.prefixed(f"{path}: ") for one in of_topology), *found]
        return found

    def describe(self) -> list[InputEntry]:
        """Return the report's entry on the topology, if it is a file."""
        if self.file is None or not self.file.at.is_file():
            return []
        return [{**describe_file(self.file.at), "path": str(self.file.path)}]

    def _add_bonds_of_frames(self, found: Topology) -> None:
        """Take the bonds that an H5MD trajectory lists, if the topology lists none."""
        if found.native.bonds is not None or self._listing_bonds is None:
            return
        try:
            bonds = h5md.bonds_of(
                self._listing_bonds,
                None if self.file is None else self.file.particles,
                self.index.n_atoms,
            )
        except FormatError as error:
            # Most analyses need no bonds.
            self._bond_messages = (Message(Code.BONDS_LEFT_OUT, f"bonds are left out: {error}"),)
            return
        if bonds is not None:
            found.native = found.native.with_bonds(self.index.indices_of(bonds))
            found.bonds_path = self._first
            self.has_bonds_of_frames = True

    def _check_size(self, found: Topology) -> None:
        """Raise an error if a topology has another number of atoms."""
        expected = self.index.n_topology_atoms
        if found.n_atoms == expected:
            return
        some = groups_of_size(found, expected) if self.index.dataset is None else ""
        raise SelectionError(
            f"{found} has {found.n_atoms} atoms, but {self._first} has {expected}"
            f" (frame 0 at byte 0): give the topology of the atoms that were written{some}"
        )


def in_order(reader: Reader, structure: LazyTopology) -> tuple[Reader, list[Message]]:
    """Return a reader of files in the order of the topology, and messages on their atoms.

    Files that name their atoms are read in that order, or in that of the first such file. Without a
    topology that can be read, files are compared with one another; the error of the topology is
    raised where it is needed.

    Raises
    ------
    SelectionError
        If the order of a file is not unique, or its names differ from those of the topology beyond
        the conventions of programs.
    """
    segments = reader.segments()
    named = [k for k, one in enumerate(segments) if formats_of(one["format"])[0].has_topology]
    if not named or (structure.file is None and len(named) == 1):
        return reader, []
    reference, label = None, ""
    if structure.file is not None:
        # The topology of its own file has the names of frame 0.
        named = [k for k in named if not _is_same(segments[k]["path"], structure.file)]
        if not named:
            return reader, []
        with contextlib.suppress(TrajetError, OSError):
            reference, label = structure.atoms, str(structure.file.path)
    orders: list[NDArray[np.int64] | None] = [None] * len(segments)
    messages: list[Message] = []
    for k in named:
        path = segments[k]["path"]
        try:
            found = reader.first_structure(k)
        except FormatError as error:
            messages.append(
                Message(Code.ATOM_ORDER, f"its names of atoms cannot be compared: {error}")
            )
            continue
        assert found is not None
        # Files of elements or types are compared by masses.
        with contextlib.suppress(SelectionError):
            found.guess("masses")
        atoms = Topology(found.topology, path).atoms
        if reference is None:
            reference, label = atoms, str(path)
            continue
        placed = place_in_file(atoms, reference, str(path), label)
        orders[k] = placed.order_in_file
        messages += placed.messages
    if any(order is not None for order in orders):
        reader = reader.ordered([None if order is None else order.tolist() for order in orders])
    return reader, messages


def _is_same(path: Path, file: TopologyFile) -> bool:
    """Return whether a file is the topology."""
    if path == file.path:
        return True
    return path.exists() and file.at.exists() and path.samefile(file.at)


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
