"""`Trajectory`: an open trajectory with its topology."""

import contextlib
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, universes
from trajet._trajet import FormatError, SelectionError, StoreError, TrajetError
from trajet.atom_matching import place_in_file
from trajet.box import Box
from trajet.dataset import DatasetPath
from trajet.startup import Stopwatch
from trajet.topology import (
    Atoms,
    SidecarUse,
    Topology,
    names_residue_numbers,
    needs_positions,
    of_universe,
)
from trajet.topology import load as load_structure
from trajet.trajectory.block import Block
from trajet.trajectory.choice import (
    AtomChoice,
    FrameChoice,
    frame_numbers,
    resolve_frames,
    resolve_indices,
)
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.files import DEFAULT_REQUEST_SIZE
from trajet.trajectory.frame import Frame
from trajet.trajectory.groups import groups_of_size
from trajet.trajectory.reading import ReadingByColumns
from trajet.trajectory.reopening import OpenCall
from trajet.trajectory.selection import Selection
from trajet.trajectory.transforms import MakeSteps, Step, native
from trajet.trajectory.updating import UpdatingSelection

if TYPE_CHECKING:
    from trajet.h5md import Numbers
    from trajet.universes import Universe


_NUMBERS_OF_MOLECULES = (
    "{path}: `resid` means the residue numbers of the file, as in GRO and PDB files of GROMACS,"
    " which may repeat in each molecule; MDAnalysis counts the residues of TPR files from 1 instead"
)


class Trajectory(ReadingByColumns):
    """An open trajectory with random access to its frames; made by `trajet.open`.

    Attributes
    ----------
    paths
        The files, in the order of their frames.
    topology_path
        Path of the topology, or None.
    dataset
        The opened data set of a store, or None for files.
    transforms
        The transforms of its frames, in order.
    t_topology
        Seconds spent so far on opening the files and reading the topology.
    """

    _INTERNAL = frozenset(
        (
            *(
                "absent_atoms",
                "adopt",
                "advice_on_absent_atoms",
                "before_run",
                "blocks_of_places",
                "call",
                "choose_atoms",
            ),
            *("count_read",),
            *("describe_inputs", "with_steps"),
            *("describe_transforms", "fresh", "frame_numbers", "has_bonds_of_frames"),
            *("indices_of", "n_named"),
            *(
                "of_dataset",
                "of_open_atoms",
                "particles",
                "places",
                "places_of",
                "put_in_order",
                "read_places",
            ),
            *("reader", "reader_for", "record_analysis", "rotates", "run_before"),
            *("select_indices", "sidecar", "stem", "t_topology", "topology_atoms"),
            *("copies_rows", "time_remarks", "time_step", "transform_remarks", "updating"),
        )
    )

    @classmethod
    def of_dataset(
        cls,
        place: DatasetPath,
        *,
        request_size: int = DEFAULT_REQUEST_SIZE,
        time_step: float | None = None,
    ) -> "Trajectory":
        """Open a data set of a store, with times `time_step` ps apart if that is given."""
        watch = Stopwatch()
        dataset, reader = place.open(request_size=request_size)
        if time_step is not None:
            reader = reader.with_time_step(time_step)
        # A store has no files but its own.
        sidecar = SidecarUse(beside=False)
        return cls(
            dataset.topology,
            reader,
            dataset=dataset,
            t_open=watch.seconds(),
            sidecar=sidecar,
            time_step=time_step,
            call=OpenCall(None, (), {"request_size": request_size, "time_step": time_step}, place),
        )

    def __repr__(self) -> str:
        """Return label, size and transforms."""
        if self.is_closed:
            return f"<Trajectory {self.label}: closed>"
        names = "".join(f", {step.words['transform']}" for step in self.transforms)
        return f"<Trajectory {self.label}: {self.n_frames} frames of {self.n_atoms} atoms{names}>"

    def __enter__(self) -> Self:
        """Return the trajectory, which is closed at the end of the block.

        Examples
        --------
        >>> import trajet as tj
        >>> with tj.open("adk.psf", "adk.xtc") as traj:
        ...     len(traj)
        98
        """
        return self

    def __exit__(self, *_: object) -> None:
        """Close the trajectory."""
        self.close()

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.n_frames

    def __getitem__(self, number: int) -> Frame:
        """Return a frame; negative numbers count from the end.

        Examples
        --------
        >>> traj[10]
        <Frame 10: 11 ps, 3341 atoms>
        """
        return self.all_atoms()[number]

    def __iter__(self) -> Iterator[Frame]:
        """Iterate over all frames."""
        selection = self.all_atoms()
        for block in selection.blocks():
            for k in range(len(block.frames)):
                yield Frame.of(block, k, selection)

    def __copy__(self) -> Self:
        """Return a copy, which shares the open files."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, _: object) -> Self:
        """Return a copy, which shares the open files: nothing of a trajectory changes."""
        return copy(self)

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the trajectory with further transforms; see `Transformable`."""
        # This may read the topology, which both share.
        return self.with_steps(make(self))

    def with_steps(self, added: Sequence[Step]) -> Self:
        """Return the trajectory with further steps, which were made for it."""
        made = copy(self)
        made.transforms = (*self.transforms, *added)
        steps = native(made.transforms, self.n_atoms)
        made._untransformed = self.untransformed
        made._reader = self.untransformed._reader.transformed(steps)
        # Selections see the positions after the transforms.
        made._universe = made._first = None
        return made

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
        where = self._topology_at or path
        if h5md.is_hdf5(where):
            found = h5md.read_structure(where, self.particles).topology
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
        named = [k for k, one in enumerate(segments) if one["format"] in _trajet.STRUCTURES]
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
            orders[k] = placed.places
            remarks += placed.remarks
        self._order_remarks = tuple(remarks)
        if any(order is not None for order in orders):
            lists = [None if order is None else order.tolist() for order in orders]
            self._reader = self._reader.ordered(lists)

    def _is_topology(self, path: Path) -> bool:
        """Return whether a file is the topology."""
        assert self._topology_at is not None
        return path.exists() and self._topology_at.exists() and path.samefile(self._topology_at)

    def _bonds_of_frames(self) -> NDArray[np.int64] | None:
        """Return the bonds that the first file of the trajectory lists, if that is H5MD."""
        if self.dataset is not None or self._reader.segments()[0]["format"] != "H5MD":
            return None
        try:
            return h5md.bonds_of(self._absolute_paths[0], self.particles, self.n_atoms)
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
        if found.n_atoms == self.n_named:
            return
        some = groups_of_size(found, self.n_named) if self.dataset is None else ""
        raise SelectionError(
            f"{found} has {found.n_atoms} atoms, but {self.path} has {self.n_named} (frame 0 at"
            f" byte 0): give the topology of the atoms that were written{some}"
        )

    @property
    def topology_atoms(self) -> Atoms:
        """The atoms of a frame, in their order, with their columns in the topology."""
        topology, origin = self.topology, self._origin
        return topology.atoms if origin is None else Atoms(topology, origin)

    @property
    def universe(self) -> "Universe":
        """The topology as an MDAnalysis Universe, at the positions of frame 0.

        For some tags of a data set, and files with some atoms of the topology, it has all atoms;
        those that frames lack have NaN as positions.

        Raises
        ------
        SelectionError
            If there is no topology, or its number of atoms is not the trajectory's.
        MissingPackageError
            If MDAnalysis is not installed.
        """
        if self._universe is None:
            path = self._checked_topology_path()
            watch = Stopwatch()
            universe = universes.load(
                self._topology_at or path, f"{path}: making a Universe or AtomGroup of it"
            )
            if len(universe.atoms) != self.n_named:
                raise SelectionError(
                    f"{path} has {len(universe.atoms)} atoms in MDAnalysis, and {self.n_named} here"
                )
            self.t_topology += watch.seconds()
            positions, box = self._first_frame()
            # A Universe cannot hold a rotated box.
            cell = np.full(6, np.nan) if self.rotates else box.cell
            universes.place(universe, positions, cell)
            self._universe = universe
        return self._universe

    def _first_frame(self) -> tuple[NDArray[np.float32], Box]:
        """Return the positions of all atoms of the topology in frame 0, and its box.

        Atoms that frames lack are NaN.
        """
        if self._first is None:
            block = self.read_places([0], None, None, counted=False)
            positions = block.positions[0]
            if (origin := self._origin) is not None:
                positions = np.full((self.n_named, 3), np.nan, np.float32)
                positions[origin] = block.positions[0]
            self._first = positions, Box.of(block)
        return self._first

    def adopt(self, universe: "Universe", box: Box) -> None:
        """Use a Universe as topology, at its current frame, which has this box."""
        structure = of_universe(universe)
        assert structure.positions is not None
        self._universe, self._first, self.call = universe, (structure.positions, box), None
        self._topology = structure.topology

    @property
    def has_topology(self) -> bool:
        """Whether names and masses of atoms are available."""
        return self.topology_path is not None or self._topology is not None

    def frame_numbers(self, frames: FrameChoice) -> NDArray[np.int64]:
        """Return frame numbers, `(n_frames,)`, int64, of a choice as for `read`."""
        return frame_numbers(resolve_frames(frames, self.n_frames, str(self.path)))

    @overload
    def select(self, selection: AtomChoice, *, updating: Literal[False] = False) -> Selection: ...

    @overload
    def select(self, selection: str, *, updating: Literal[True]) -> UpdatingSelection: ...

    def select(
        self, selection: AtomChoice, *, updating: bool = False
    ) -> Selection | UpdatingSelection:
        """Select atoms.

        Parameters
        ----------
        selection
            Text in MDAnalysis' language, evaluated once, on frame 0; or atom indices of the
            topology in any order, even if only some tags of a data set are open.
        updating
            Whether the text is evaluated in each frame anew. `count` and `apply` take such a
            selection; analyses that need the same atoms in every frame do not.

        Returns
        -------
        Selection or UpdatingSelection
            The atoms, for analyses and for reading.

        Raises
        ------
        SelectionError
            If the text is invalid or matches no atom, or an index is out of range. An updating
            selection may match no atom in some frames.
        TypeError
            If `updating` is True, and indices are given.

        Examples
        --------
        >>> traj.select("name CA")
        <Selection 'name CA': 214 of 3341 atoms>
        >>> traj.select("name CA and around 6 resid 100", updating=True)
        <UpdatingSelection 'name CA and around 6 resid 100' of 3341 atoms>
        """
        if updating:
            if not isinstance(selection, str):
                raise TypeError("updating=True: give a selection text: indices do not change")
            # As below.
            _ = self.topology
            watch = Stopwatch()
            made = UpdatingSelection(self, selection)
            made.prepared(has_selected=False)
            made.t_select = watch.seconds()
            return made
        if isinstance(selection, str):
            # Reading the topology is not part of evaluating the selection.
            where = self.label if self._origin is not None else str(self.topology)
            watch = Stopwatch()
            places, _ = self.places_of(self.select_indices(selection, where))
            return Selection(self, places, selection, watch.seconds())
        watch = Stopwatch()
        return Selection(self, self.places(selection), None, watch.seconds())

    def updating(self, text: str, *, has_selected: bool) -> _trajet.UpdatingSelection:
        """Return a selection text for the evaluation of many frames.

        Raises
        ------
        SelectionError
            If the text is invalid, or matches no atom whatever the positions are.
        """
        self._remark_on_residue_numbers(text)
        where = self.label if self._origin is not None else str(self.topology)
        return self.topology.updating(text, where, among=self._origin, has_selected=has_selected)

    def select_indices(self, text: str, where: str, *, empty: bool = False) -> NDArray[np.int64]:
        """Return the topology indices of the open atoms that a selection text matches in frame 0.

        Raises
        ------
        SelectionError
            As `Topology.select`.
        """
        self._remark_on_residue_numbers(text)
        positions, box = self._first_frame() if needs_positions(text) else (None, None)
        return self.topology.select(
            text, where, among=self._origin, positions=positions, box=box, empty=empty
        )

    def _remark_on_residue_numbers(self, text: str) -> None:
        """Remark, once, that a selection has numbers of residues that MDAnalysis counts."""
        if self._residue_remarks or not names_residue_numbers(text):
            return
        if self.topology.repeats_residue_numbers:
            self._residue_remarks = (_NUMBERS_OF_MOLECULES.format(path=self.topology),)

    def all_atoms(self) -> Selection:
        """Return the selection of all atoms of a frame."""
        return Selection(self, np.arange(self.n_atoms, dtype=np.int64), "all")

    def places(self, atoms: Sequence[int] | NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
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
        elif chosen.dtype == np.bool_ and chosen.shape == (self.n_named,):
            chosen = np.flatnonzero(chosen)
        indices = resolve_indices(chosen, self.n_named)
        places, there = self.places_of(indices)
        if not there.all():
            raise SelectionError(
                f"{self.label}: atom {indices[~there][0]} is {self.absent_atoms} (indices are those"
                " of the topology): leave it out"
                + ("" if self.dataset is None else ", or open its tag too")
            )
        return places

    def read(
        self,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
        out: NDArray[np.float32] | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
    ) -> Block:
        """Read positions of frames, and velocities and forces if requested.

        Parameters
        ----------
        frames
            A slice, frame numbers in any order (negative numbers count from the end), or a mask;
            None for all.
        atoms
            Atom indices in any order, as for `select`; None for all.
        out
            An array `(n_frames, n_atoms, 3)`, float32, C order, that receives the positions.
        velocities, forces
            Whether to read these too. TRR, NCDF and H5MD can hold them. They are NaN in frames that
            lack them, as are the positions of TRR frames without positions.
        threads
            Threads that read and decode; None for one thread up to 16 MiB of positions, and all
            cores above.

        Returns
        -------
        Block
            `positions` `(n_frames, n_atoms, 3)`, float32, Å, with times, steps and cells; if
            requested, `velocities` in Å/ps and `forces` in kJ/(mol Å) of the same shape.

        Raises
        ------
        FrameError, SelectionError
            If a frame or an atom is out of range.
        FormatError
            If a frame is corrupt, or none of the frames has the requested velocities or forces.
        ValueError
            If `out` does not fit, or `threads` is below 1.

        Examples
        --------
        >>> traj.read(frames=slice(0, 10), atoms=[0, 7]).positions.shape
        (10, 2, 3)
        """
        places = None if atoms is None else self.places(atoms)
        return self.read_places(
            frames, places, out, velocities=velocities, forces=forces, threads=threads
        )

    def blocks(
        self,
        size: int | None = None,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
    ) -> Iterator[Block]:
        """Iterate over blocks of frames; each block overwrites the `positions` of the last one.

        Parameters
        ----------
        size
            Frames per block; the last block may be smaller. None for 512 KiB of positions, at least
            one frame and at most 256, which is fastest.
        frames, atoms
            As for `read`, with the same errors.

        Yields
        ------
        Block
            The next frames, as `read` returns them. Copy the positions to keep them.

        Examples
        --------
        >>> sum(len(block.frames) for block in traj.blocks())
        98
        """
        places = None if atoms is None else self.places(atoms)
        return self.blocks_of_places(size, frames, places)

    def cursor(
        self,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
        *,
        positions: bool = True,
        velocities: bool = False,
        forces: bool = False,
        read_ahead: bool = True,
    ) -> Cursor:
        """Return a cursor, which reads one frame at a time, in any order.

        Parameters
        ----------
        atoms
            Atom indices in any order, as for `select`; none ([]) to read times and cells alone,
            without decoding; None for all.
        positions, velocities, forces
            What to read; all of it in one pass.
        read_ahead
            Whether a thread decodes the frames that follow, once frames are read in order.

        Returns
        -------
        Cursor

        Raises
        ------
        SelectionError
            If an atom is out of range.

        Examples
        --------
        >>> cursor = traj.cursor([0, 7])
        >>> cursor.read(10).positions.shape
        (2, 3)
        >>> f"{cursor.time:.1f} ps"
        '11.0 ps'
        """
        if atoms is None:
            places = None
        else:
            places = self.places(atoms) if len(atoms) else np.empty(0, np.int64)
        return Cursor(
            self,
            places,
            positions=positions,
            velocities=velocities,
            forces=forces,
            read_ahead=read_ahead,
        )

    def observables(self, frame: int) -> "Numbers":
        """Return numbers of a frame beside its atoms: λ of TRR, observables of H5MD.

        Parameters
        ----------
        frame
            The frame; negative numbers count from the end.

        Returns
        -------
        dict
            Numbers or arrays by name: "lambda" for TRR; for H5MD the paths below "observables",
            such as "protein/energy", in the units of the file. Empty for other formats.

        Raises
        ------
        FrameError
            If there is no such frame.
        MissingPackageError
            If the file is H5MD and h5py is not installed.
        FormatError
            If an H5MD file has changed since it was opened.

        Notes
        -----
        Rows of H5MD series are found by their steps. A series has no number for a frame whose step
        it lacks. Series whose steps repeat or go back are left out, unless they are the steps of
        the frames.

        Examples
        --------
        >>> traj.observables(0)
        {}
        """
        (number,) = self.frame_numbers([frame]).tolist()
        found: Numbers = {}
        for name, value in self.fresh(self._reader.observables, number).items():
            found[name] = np.float64(value)
        if self.dataset is not None:
            return found
        if "H5MD" in self.format:
            file, within, step = self._reader.place(number)
            if file not in self._observables:
                self._observables[file] = self._open_observables(file)
            if (series := self._observables[file]) is not None:
                found |= series.at(within, step)
        return found

    def _open_observables(self, file: int) -> "h5md.Observables | None":
        """Return the observables of a file; None if it is not H5MD.

        Raises
        ------
        FormatError
            If another file is found under its name.
        """
        segment = self._reader.segments()[file]
        if segment["format"] != "H5MD":
            return None
        path = self._absolute_paths[file]
        if _trajet.file_digest(path) != segment["digest"]:
            raise FormatError(f"{path}: it has changed since it was opened: open it again")
        return h5md.Observables(path, self.particles, segment["n_frames"])
