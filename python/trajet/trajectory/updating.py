"""`UpdatingAtoms`: atoms that a text matches in each frame anew."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import SelectionError
from trajet.block import Block
from trajet.trajectory.atom_index import FrameChoice, frame_number
from trajet.trajectory.frame import Frame
from trajet.trajectory.selected_atoms import SelectedAtoms
from trajet.trajectory.source import FrameSource


class UpdatingAtoms:
    """Atoms of open files that a selection text matches in each frame anew."""

    def __init__(self, source: FrameSource, text: str, t_select: float = 0.0) -> None:
        self.source = source
        self.text = text
        self.t_select = t_select
        self._native: dict[bool, _trajet.UpdatingSelection] = {}

    def __iter__(self) -> Iterator[Frame]:
        return self._frames(None)

    def __getitem__(self, number: int) -> Frame:
        number = frame_number(number)
        native, columns = self.prepared(has_selected=True)
        run = self.source.run_before(number)
        block = self.source.read([number], columns, None, run=run)
        return Frame.of(block, 0, *self._chosen(block, 0, native))

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
            native = self.source.structure.updating(self.text, has_selected=has_selected)
            self._native[has_selected] = native
        return native, self.source.index.columns_of(native.atoms)[0]

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

    def _frames(self, frames: FrameChoice) -> Iterator[Frame]:
        native, columns = self.prepared(has_selected=True)
        for block in self.source.blocks(None, frames, columns):
            for k in range(len(block.frames)):
                yield Frame.of(block, k, *self._chosen(block, k, native))

    def _chosen(
        self, block: Block, k: int, native: _trajet.UpdatingSelection
    ) -> tuple[SelectedAtoms, NDArray[np.int64]]:
        """Return the atoms that are selected in a frame of a block, and their columns there."""
        indices = selected_indices(native, block, k)
        selection = SelectedAtoms(self.source, self.source.index.columns_of(indices)[0], self.text)
        return selection, np.searchsorted(native.atoms, indices)


def selected_indices(native: _trajet.UpdatingSelection, block: Block, k: int) -> NDArray[np.int64]:
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
    periodic = [True] * 3 if block.periodic is None else block.periodic[k].tolist()
    try:
        return native.select(block.positions[k], block.cells[k].tolist(), vectors, periodic)
    except SelectionError as error:
        raise SelectionError(f"{where}: {error}") from error
