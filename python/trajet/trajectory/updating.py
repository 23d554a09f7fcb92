"""`UpdatingSelection`: atoms that a selection text matches in each frame anew."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import SelectionError
from trajet.quoting import quoted
from trajet.trajectory.block import Block
from trajet.trajectory.choice import FrameChoice, frame_number
from trajet.trajectory.frame import Frame
from trajet.trajectory.selection import Selection
from trajet.trajectory.transforms import MakeSteps, Transformable

if TYPE_CHECKING:
    from trajet.trajectory.trajectory import Trajectory


class UpdatingSelection(Transformable):
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

    def __init__(self, trajectory: "Trajectory", text: str, t_select: float = 0.0) -> None:
        self.trajectory = trajectory
        self.text = text
        self.t_select = t_select
        self._native: dict[bool, _trajet.UpdatingSelection] = {}

    def __repr__(self) -> str:
        """Return the selection."""
        return f"<UpdatingSelection {quoted(self.text)} of {self.trajectory.n_atoms} atoms>"

    def __iter__(self) -> Iterator[Frame]:
        """Iterate over all frames, each with the atoms that are selected in it."""
        return self._frames(None)

    def __getitem__(self, number: int) -> Frame:
        """Return a frame with the atoms that are selected in it; see `Selection`."""
        number = frame_number(number)
        native, places = self.prepared(has_selected=True)
        run = self.trajectory.run_before(number)
        block = self.trajectory.read_places([number], places, None, run=run)
        return Frame.of(block, 0, *self._chosen(block, 0, native))

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the same selection of the transformed trajectory; see `Transformable`."""
        made = copy(self)
        made.trajectory = self.trajectory._transformed(make)
        return made

    @property
    def label(self) -> str:
        """Name in figures and reports: the text."""
        return self.text

    def prepared(
        self, *, has_selected: bool
    ) -> tuple[_trajet.UpdatingSelection, NDArray[np.int64]]:
        """Return the selection for workers, and the indices in a frame of the atoms to read.

        Parameters
        ----------
        has_selected
            Whether atoms that may be selected are read, too, if the selection does not depend on
            their positions.

        Raises
        ------
        SelectionError
            If the topology lacks something.
        """
        if (native := self._native.get(has_selected)) is None:
            native = self.trajectory.updating(self.text, has_selected=has_selected)
            self._native[has_selected] = native
        return native, self.trajectory.places_of(native.atoms)[0]

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
        native, places = self.prepared(has_selected=False)
        run = self.trajectory.run_before(number)
        block = self.trajectory.read_places([number], places, None, counted=False, run=run)
        indices = _selected(native, block, 0)
        if not len(indices):
            raise SelectionError(f"{quoted(self.text)} selects no atom in frame {block.frames[0]}")
        return Selection(self.trajectory, self.trajectory.places_of(indices)[0], None)

    def read(self, frames: FrameChoice = None) -> list[Frame]:
        """Read frames, each with the positions of the atoms that are selected in it.

        Parameters
        ----------
        frames
            A slice, frame numbers in any order (negative numbers count from the end), or a mask;
            None for all.

        Returns
        -------
        list of Frame
            `frame.positions` `(n_atoms, 3)` and `frame.indices` `(n_atoms,)`, where `n_atoms` is
            the number of atoms that are selected in this frame, and may be 0.

        Raises
        ------
        FrameError
            If a frame is out of range.
        FormatError
            If a frame is corrupt.
        SelectionError
            If an atom on which the selection depends has no position, or the cell no volume.

        Examples
        --------
        >>> traj.select("prop z > 0 and name CA", updating=True).read(frames=[0])[0].positions.shape
        (102, 3)
        """
        return list(self._frames(frames))

    def look(self, frame: int, run: NDArray[np.int64] | None = None) -> tuple[Selection, Block]:
        """Read the atoms that are selected in a frame without an entry in the access log.

        Jumps are counted from the first of the frames `run`, or not at all.
        """
        native, places = self.prepared(has_selected=True)
        block = self.trajectory.read_places([frame], places, None, counted=False, run=run)
        selection, columns = self._chosen(block, 0, native)
        return selection, replace(block, positions=block.positions[:, columns])

    def _frames(self, frames: FrameChoice) -> Iterator[Frame]:
        native, places = self.prepared(has_selected=True)
        for block in self.trajectory.blocks_of_places(None, frames, places):
            for k in range(len(block.frames)):
                yield Frame.of(block, k, *self._chosen(block, k, native))

    def _chosen(
        self, block: Block, k: int, native: _trajet.UpdatingSelection
    ) -> tuple[Selection, NDArray[np.int64]]:
        """Return the atoms that are selected in a frame of a block, and their columns there."""
        indices = _selected(native, block, k)
        selection = Selection(self.trajectory, self.trajectory.places_of(indices)[0], self.text)
        return selection, np.searchsorted(native.atoms, indices)


def _selected(native: _trajet.UpdatingSelection, block: Block, k: int) -> NDArray[np.int64]:
    """Return the indices in the topology of the atoms that are selected in a frame of a block.

    Raises
    ------
    SelectionError
        If the selection cannot be evaluated there.
    """
    where = f"frame {block.frames[k]}"
    if not np.isfinite(block.positions[k]).all():
        raise SelectionError(
            f"{where}: an atom on which the selection depends has no position there (not a"
            " number): leave this frame out"
        )
    vectors = None if block.vectors is None else block.vectors[k].ravel().tolist()
    try:
        return native.select(block.positions[k], block.cells[k].tolist(), vectors)
    except SelectionError as error:
        raise SelectionError(f"{where}: {error}") from error
