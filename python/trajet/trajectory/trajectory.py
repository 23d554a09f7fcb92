"""`Trajectory`, an open trajectory, and `Selection` and `UpdatingSelection`, some of its atoms."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.block import Block
from trajet.dataset import Dataset
from trajet.messages import Message, Messages, emit
from trajet.quoting import quoted
from trajet.startup import Stopwatch
from trajet.topology import Topology
from trajet.trajectory.atom_index import AtomChoice, FrameChoice, frame_number
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.frame import Frame
from trajet.trajectory.selected_atoms import SelectedAtoms
from trajet.trajectory.source import FrameSource, Step
from trajet.trajectory.transforms import MakeSteps, Transformable
from trajet.trajectory.updating import UpdatingAtoms, selected_indices

if TYPE_CHECKING:
    from trajet.h5md import Numbers
    from trajet.universes import Universe


class Trajectory(Messages, Transformable):
    """An open trajectory with random access to its frames; made by `trajet.open`.

    Attributes
    ----------
    source
        Its parts, for code that needs more than users do: files, topology and native reader.
    """

    def __init__(self, source: FrameSource) -> None:
        self.source = source

    def __repr__(self) -> str:
        if self.is_closed:
            return f"<Trajectory {self.label}: closed>"
        names = "".join(f", {step.words['transform']}" for step in self.transforms)
        return f"<Trajectory {self.label}: {self.n_frames} frames of {self.n_atoms} atoms{names}>"

    def _repr_html_(self) -> str:
        """Return name, format, size and transforms as a table, which notebooks show.

        Nothing is read from files for it.
        """
        from trajet.html.facts import facts

        if self.is_closed:
            return facts("Trajectory", [("file", self.label), ("state", "closed")])
        rows: list[tuple[str, object]] = [
            ("file", self.label),
            ("format", self.format),
            ("frames", self.n_frames),
            ("atoms", self.n_atoms),
        ]
        if self.transforms:
            names = [str(step.words["transform"]) for step in self.transforms]
            rows.append(("transforms", ", ".join(names)))
        return facts("Trajectory", rows, self.messages)

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
        self.close()

    def __len__(self) -> int:
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
        selection = self.all_atoms()
        for block in selection.blocks():
            for k in range(len(block.frames)):
                yield Frame.of(block, k, selection)

    def __copy__(self) -> Self:
        return type(self)(copy(self.source))

    def __bool__(self) -> bool:
        return True

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the trajectory with further transforms; see `Transformable`."""
        # This may read the topology, which both share.
        return type(self)(self.source.transformed(make(self.source)))

    def close(self) -> None:
        """Close the files; reading frames is an error from then on.

        Trajectories that were made from this one by transforms keep the files open. Closing is
        optional: files are closed when nothing refers to the trajectory any more.
        """
        self.source.close()

    @property
    def is_closed(self) -> bool:
        """Whether the trajectory was closed."""
        return self.source.is_closed

    @property
    def transforms(self) -> tuple[Step, ...]:
        """The transforms of its frames, in order."""
        return self.source.transforms

    @property
    def dataset(self) -> Dataset | None:
        """The opened data set of a store, or None for files."""
        return self.source.files.dataset

    @property
    def topology_path(self) -> Path | None:
        """Path of the topology, or None."""
        return self.source.structure.path

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of their frames."""
        return self.source.files.paths

    @property
    def path(self) -> Path:
        """The first or only file."""
        return self.source.files.path

    @property
    def label(self) -> str:
        """Name in messages: the data set, or the first file and the number of files."""
        return self.source.label

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers of the store that holds the data set, in the order of `bytes_by_tier`."""
        return self.source.files.tiers

    @property
    def tags(self) -> tuple[str, ...]:
        """Open tags of the data set, in the order of `bytes_by_tag`."""
        return self.source.files.tags

    @property
    def index_path(self) -> Path | None:
        """The index file of the first file; None if the index is kept in memory only."""
        return self.source.files.index_path

    @property
    def format(self) -> str:
        """Format of the files: "XTC", "NCDF", "H5MD", …; several are listed: "XTC, TRR"."""
        return self.source.reader.format

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self.source.reader.n_frames

    @property
    def n_atoms(self) -> int:
        """Number of atoms of every frame."""
        return self.source.reader.n_atoms

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all frames, `(n_frames,)`, float64, ps; no positions are decoded.

        If the index was loaded from a sidecar file, its times are compared once with the headers of
        all frames, since frames may be chosen by them.

        Raises
        ------
        StaleIndexError
            If the index does not match the frames; the index file is removed.
        """
        return self.source.times

    @property
    def steps(self) -> NDArray[np.int64]:
        """Integration steps of all frames, `(n_frames,)`, int64."""
        return self.source.reader.steps()

    @property
    def index_state(self) -> str:
        """Origin of the index: "built", "loaded", "extended" or, by arithmetic, "computed".

        "published" if it was read from a file beside an object in remote storage.

        With several files, the origin that took most work.
        """
        return self.source.reader.index_state

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages on the files, such as headers that contradict the frames.

        Also on times that are not stated, overlap or step back, and on dropped frames; that
        on times of several files asks whether they are replicas, if they look so. Once the topology
        was read, also on what is not certain there.
        """
        return self.source.messages()

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
        return self.source.structure.topology

    @property
    def has_topology(self) -> bool:
        """Whether names and masses of atoms are available."""
        return self.source.structure.is_known

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
        return self.source.universe

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
        columns = None if atoms is None else self.source.index.columns(atoms)
        block = self.source.read(
            frames, columns, out, velocities=velocities, forces=forces, threads=threads
        )
        emit(block.messages)
        return block

    def blocks(
        self,
        size: int | None = None,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
    ) -> Iterator[Block]:
        """Iterate over blocks of frames, in bounded memory if the caller keeps none of them.

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
            The next frames, as `read` returns them.

        Examples
        --------
        >>> sum(len(block.frames) for block in traj.blocks())
        98
        """
        columns = None if atoms is None else self.source.index.columns(atoms)
        return self.source.blocks(size, frames, columns)

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
        return self.source.observables(frame)

    @overload
    def select(self, selection: AtomChoice, *, updating: Literal[False] = False) -> "Selection": ...

    @overload
    def select(self, selection: str, *, updating: Literal[True]) -> "UpdatingSelection": ...

    def select(
        self, selection: AtomChoice, *, updating: bool = False
    ) -> "Selection | UpdatingSelection":
        """Select atoms.

        Parameters
        ----------
        selection
            Text in MDAnalysis' language, evaluated once, on frame 0; or atom indices of the
            topology in any order, even if only some tags of a data set are open.
        updating
            Whether the text is evaluated in each frame anew. `count`, `contacts`, `density` and
            `apply` take such a selection; other analyses need the same atoms in every frame.

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
        if isinstance(selection, str):
            # Reading the topology is not part of evaluating the selection.
            _ = self.topology
        elif updating:
            raise TypeError("updating=True: give a selection text: indices do not change")
        watch = Stopwatch()
        if not isinstance(selection, str):
            return Selection(self, self.source.index.columns(selection), None, watch.seconds())
        if not updating:
            return Selection(
                self, self.source.columns_of_text(selection), selection, watch.seconds()
            )
        made = UpdatingSelection(self, selection)
        made.prepared(has_selected=False)
        made.t_select = watch.seconds()
        return made

    def all_atoms(self) -> "Selection":
        """Return the selection of all atoms of a frame."""
        return Selection(self, np.arange(self.n_atoms, dtype=np.int64), "all")

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
            The fields to read, all of them in one pass.
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
            columns = None
        else:
            columns = self.source.index.columns(atoms) if len(atoms) else np.empty(0, np.int64)
        return Cursor(
            self.source,
            columns,
            positions=positions,
            velocities=velocities,
            forces=forces,
            read_ahead=read_ahead,
        )


class Selection(SelectedAtoms, Transformable):
    """Some atoms of a trajectory; made by `Trajectory.select`.

    Attributes
    ----------
    trajectory
        The trajectory.
    indices
        `(n_atoms,)`, int64: indices in the topology, in the order in which positions are read.
    columns
        `(n_atoms,)`, int64: indices in a frame. They differ from `indices` if only some tags of a
        data set are open, as its frames have only their atoms.
    text
        The selection in MDAnalysis' language; None if indices were given.
    t_select
        Seconds that evaluating the selection took.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        columns: NDArray[np.int64],
        text: str | None,
        t_select: float = 0.0,
    ) -> None:
        super().__init__(trajectory.source, columns, text, t_select)
        self.trajectory = trajectory

    def __repr__(self) -> str:
        what = "of indices" if self.text is None else repr(self.text)
        return f"<Selection {what}: {self.n_atoms} of {self.trajectory.n_atoms} atoms>"

    def _repr_html_(self) -> str:
        """Return the selection, its size and its trajectory as a table, which notebooks show."""
        from trajet.html.facts import facts

        return facts(
            "Selection",
            [
                ("selection", "of indices" if self.text is None else self.text),
                ("atoms", f"{self.n_atoms:,} of {self.trajectory.n_atoms:,}"),
                ("trajectory", self.trajectory.label),
            ],
        )

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the same atoms of the transformed trajectory; see `Transformable`."""
        made = copy(self)
        made.trajectory = self.trajectory._transformed(make)
        made.source = made.trajectory.source
        return made

    def __getitem__(self, number: int) -> Frame:
        number = frame_number(number)
        run = self.source.run_before(number)
        return Frame.of(self.source.read([number], self.columns, None, run=run), 0, self)

    def __and__(self, other: "Selection") -> "Selection":
        return self._combined(other, np.logical_and, "({}) and ({})")

    def __or__(self, other: "Selection") -> "Selection":
        return self._combined(other, np.logical_or, "({}) or ({})")

    def __invert__(self) -> "Selection":
        others = np.ones(self.trajectory.n_atoms, np.bool_)
        others[self.columns] = False
        text = None if self.text is None else f"not ({self.text})"
        return self._made(np.flatnonzero(others), text)

    def by_residue(self) -> "Selection":
        """Return all atoms of the residues that have an atom in the selection.

        Examples
        --------
        >>> traj.select("name CA").by_residue().n_atoms
        3341
        """
        residues = self.source.structure.atoms.residues
        chosen = np.flatnonzero(np.isin(residues, residues[self.columns]))
        return self._made(chosen, None if self.text is None else f"byres ({self.text})")

    def split(self, by: Literal["residue", "molecule", "chain"]) -> list["Selection"]:
        """Return the selected atoms of each residue, molecule or chain, by their first atoms.

        Molecules are those that the topology lists (TPR), or else sets of bonded atoms. Chains have
        the same chain identifier, or the same segment in topologies without chain identifiers.

        Raises
        ------
        SelectionError
            If the topology has neither molecules nor bonds.

        Examples
        --------
        >>> len(traj.select("name CA").split("residue"))
        214
        """
        groups = self.group_numbers(by)
        _, first, which = np.unique(groups, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return [self._made(self.columns[which == kind], None) for kind in order.tolist()]

    def _combined(
        self,
        other: "Selection",
        combine: Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.bool_]],
        text: str,
    ) -> "Selection":
        """Return a combination of two selections of one trajectory."""
        if not isinstance(other, Selection):
            return NotImplemented
        if other.trajectory is not self.trajectory:
            raise SelectionError(
                f"{other!r} is of another trajectory: transform the trajectory, then select from it"
            )
        both = self.text is not None and other.text is not None
        masks = np.zeros((2, self.trajectory.n_atoms), np.bool_)
        masks[0, self.columns] = masks[1, other.columns] = True
        return self._made(
            np.flatnonzero(combine(*masks)),
            text.format(self.text, other.text) if both else None,
        )

    def _made(self, columns: NDArray[np.int64], text: str | None) -> "Selection":
        """Return a selection made from this one.

        Raises
        ------
        SelectionError
            If it has no atom.
        """
        if not len(columns):
            raise SelectionError(
                f"{'the combination' if text is None else quoted(text)} selects none of the"
                f" {self.trajectory.n_atoms} atoms of {self.trajectory.label}"
            )
        return Selection(self.trajectory, columns, text)

    def cursor(
        self,
        *,
        positions: bool = True,
        velocities: bool = False,
        forces: bool = False,
        read_ahead: bool = True,
    ) -> Cursor:
        """Return a cursor, which reads one frame at a time of these atoms; see `Trajectory.cursor`.

        Examples
        --------
        >>> with traj.select("name CA").cursor() as cursor:
        ...     max(frame.positions[:, 2].max() for frame in cursor) > 0
        np.True_
        """
        return Cursor(
            self.source,
            self.columns,
            positions=positions,
            velocities=velocities,
            forces=forces,
            read_ahead=read_ahead,
        )


class UpdatingSelection(UpdatingAtoms, Transformable):
    """Atoms that a text matches in each frame anew; `Trajectory.select(..., updating=True)`.

    `count`, `contacts`, `density` and `apply` take it; they evaluate it in the workers of the pool.
    The other analyses need the same atoms in every frame. Only atoms on whose positions the
    selection depends are decoded, and those that it may select if their positions are used.

    Attributes
    ----------
    trajectory
        The trajectory.
    text
        The selection in MDAnalysis' language.
    t_select
        Seconds that evaluating took what does not depend on positions.

    Examples
    --------
    >>> near = traj.select("name CA and around 6 resid 100", updating=True)
    >>> [len(frame.indices) for frame in near.read(frames=[0, 97])]
    [6, 6]
    """

    def __init__(self, trajectory: Trajectory, text: str, t_select: float = 0.0) -> None:
        super().__init__(trajectory.source, text, t_select)
        self.trajectory = trajectory

    def __repr__(self) -> str:
        return f"<UpdatingSelection {quoted(self.text)} of {self.trajectory.n_atoms} atoms>"

    def _repr_html_(self) -> str:
        """Return the selection and its trajectory as a table, which notebooks show."""
        from trajet.html.facts import facts

        return facts(
            "UpdatingSelection",
            [
                ("selection", f"{self.text}, in each frame"),
                ("of atoms", self.trajectory.n_atoms),
                ("trajectory", self.trajectory.label),
            ],
        )

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the same selection of the transformed trajectory; see `Transformable`."""
        made = copy(self)
        made.trajectory = self.trajectory._transformed(make)
        made.source = made.trajectory.source
        return made

    def at(self, frame: int) -> Selection:
        """Return the atoms that are selected in one frame, for analyses of all frames.

        Parameters
        ----------
        frame
            Frame number; negative numbers count from the end.

        Raises
        ------
        SelectionError
            If no atom is selected there.
        FrameError
            If the frame is out of range.

        Examples
        --------
        >>> traj.select("name CA and around 6 resid 100", updating=True).at(97).n_atoms
        6
        """
        number = frame_number(frame)
        native, columns = self.prepared(has_selected=False)
        run = self.source.run_before(number)
        block = self.source.read([number], columns, None, counted=False, run=run)
        indices = selected_indices(native, block, 0)
        if not len(indices):
            raise SelectionError(f"{quoted(self.text)} selects no atom in frame {block.frames[0]}")
        return Selection(self.trajectory, self.source.index.columns_of(indices)[0], None)

    def read_uncounted(
        self, frame: int, run: NDArray[np.int64] | None = None
    ) -> tuple[Selection, Block]:
        """Read the atoms that are selected in a frame without an entry in the access log.

        Jumps are counted from the first of the frames `run`, or not at all.
        """
        native, columns = self.prepared(has_selected=True)
        block = self.source.read([frame], columns, None, counted=False, run=run)
        chosen, in_block = self._chosen(block, 0, native)
        selection = Selection(self.trajectory, chosen.columns, self.text)
        return selection, replace(block, positions=block.positions[:, in_block])
