"""`Trajectory`, an open trajectory, and `Selection` and `UpdatingSelection`, some of its atoms."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.block import Block
from trajet.dataset import DatasetPath
from trajet.quoting import quoted
from trajet.startup import Stopwatch
from trajet.topology import SidecarUse
from trajet.trajectory.choice import AtomChoice, frame_number
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.frame import Frame
from trajet.trajectory.options import OpenOptions
from trajet.trajectory.reading import ReadingByColumns
from trajet.trajectory.reopening import DatasetCall
from trajet.trajectory.selected_atoms import SelectedAtoms
from trajet.trajectory.steps import Step, native
from trajet.trajectory.transforms import MakeSteps, Transformable
from trajet.trajectory.updating import UpdatingAtoms, selected_indices


class Trajectory(ReadingByColumns, Transformable):
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
                "absolute_paths",
                "use_universe",
                "advice_on_absent_atoms",
                "before_run",
                "blocks_of_columns",
                "call",
                "check_known",
                "choose_atoms",
            ),
            *("count_read",),
            *("describe_inputs", "with_steps"),
            *(
                "describe_transforms",
                "frame_numbers",
                "has_bonds_of_frames",
                "hdf5_at",
                "stale_index_removed",
            ),
            *("indices_of", "n_topology_atoms"),
            *(
                "objects",
                "of_dataset",
                "of_open_atoms",
                "particles",
                "columns",
                "columns_of",
                "columns_of_text",
                "put_in_order",
                "read_columns",
            ),
            *("reader", "reader_for", "record_analysis", "rotates", "run_before"),
            *("select_indices", "sidecar", "stem", "t_topology", "topology_at"),
            *("topology_atoms",),
            *("copies_rows", "time_remarks", "time_step", "transform_remarks", "updating"),
        )
    )

    @classmethod
    def of_dataset(cls, place: DatasetPath, options: OpenOptions | None = None) -> "Trajectory":
        """Open a data set of a store; of the options, `request_size` and `time_step` are used."""
        watch = Stopwatch()
        options = options or OpenOptions()
        dataset, reader = place.open(request_size=options.request_size)
        if options.time_step is not None:
            reader = reader.with_time_step(options.time_step)
        # A store has no files but its own.
        sidecar = SidecarUse(beside=False)
        return cls(
            dataset.topology,
            reader,
            dataset=dataset,
            t_open=watch.seconds(),
            sidecar=sidecar,
            time_step=options.time_step,
            call=DatasetCall(place, options.to_open_again()),
        )

    def __repr__(self) -> str:
        """Return label, size and transforms."""
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
        return facts("Trajectory", rows, self.remarks)

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
            return Selection(self, self.columns(selection), None, watch.seconds())
        if not updating:
            return Selection(self, self.columns_of_text(selection), selection, watch.seconds())
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
            columns = self.columns(atoms) if len(atoms) else np.empty(0, np.int64)
        return Cursor(
            self,
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

    _INTERNAL = frozenset(
        {"group_numbers", "read_uncounted", "columns", "t_select", "topology_atoms"}
    )

    trajectory: Trajectory

    def __repr__(self) -> str:
        """Return the selection and its size."""
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
        return made

    def __getitem__(self, number: int) -> Frame:
        """Return a frame; negative numbers count from the end."""
        number = frame_number(number)
        trajectory = self.trajectory
        run = trajectory.run_before(number)
        return Frame.of(trajectory.read_columns([number], self.columns, None, run=run), 0, self)

    def __and__(self, other: "Selection") -> "Selection":
        """Return the atoms that are in both selections, in ascending order."""
        return self._combined(other, np.logical_and, "({}) and ({})")

    def __or__(self, other: "Selection") -> "Selection":
        """Return the atoms that are in one of the selections, in ascending order."""
        return self._combined(other, np.logical_or, "({}) or ({})")

    def __invert__(self) -> "Selection":
        """Return the atoms of the trajectory that are not in the selection."""
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
        residues = self.trajectory.topology_atoms.residues
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
            self.trajectory,
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

    trajectory: Trajectory

    def __repr__(self) -> str:
        """Return the selection."""
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
        run = self.trajectory.run_before(number)
        block = self.trajectory.read_columns([number], columns, None, counted=False, run=run)
        indices = selected_indices(native, block, 0)
        if not len(indices):
            raise SelectionError(f"{quoted(self.text)} selects no atom in frame {block.frames[0]}")
        return Selection(self.trajectory, self.trajectory.columns_of(indices)[0], None)

    def read_uncounted(
        self, frame: int, run: NDArray[np.int64] | None = None
    ) -> tuple[Selection, Block]:
        """Read the atoms that are selected in a frame without an entry in the access log.

        Jumps are counted from the first of the frames `run`, or not at all.
        """
        native, columns = self.prepared(has_selected=True)
        block = self.trajectory.read_columns([frame], columns, None, counted=False, run=run)
        chosen, in_block = self._chosen(block, 0, native)
        selection = Selection(self.trajectory, chosen.columns, self.text)
        return selection, replace(block, positions=block.positions[:, in_block])
