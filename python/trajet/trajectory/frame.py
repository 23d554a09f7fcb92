"""`Frame`: the positions of one frame, which can be saved as a structure file."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import OutputError
from trajet.block import Block
from trajet.box import Box
from trajet.digits import in_digits
from trajet.formats import has_velocities
from trajet.hints import Hinted
from trajet.messages import Message, Messages
from trajet.structure_output import check_writable, write_structure
from trajet.trajectory.selected_atoms import SelectedAtoms


@dataclass(frozen=True, repr=False)
class Frame(Messages, Hinted):
    """One frame of a trajectory or of a selection: `traj[10]`, `traj.select("protein")[10]`.

    Attributes
    ----------
    positions
        `(n_atoms, 3)`, float32, Å.
    frame
        Frame number.
    time
        Time, ps.
    step
        Integration step.
    cell
        `(6,)`, float64: a, b, c (Å), α, β, γ (degrees); NaN without a cell.
    box
        The box as vectors.
    messages
        Reasons why transformed positions may be wrong, as in `Block`.
    """

    positions: NDArray[np.float32]
    frame: int
    time: float
    step: int
    cell: NDArray[np.float64]
    box: Box
    messages: tuple[Message, ...]
    _selection: SelectedAtoms

    @classmethod
    def of(
        cls,
        block: Block,
        k: int,
        selection: SelectedAtoms,
        columns: NDArray[np.int64] | None = None,
    ) -> "Frame":
        """Return a copy of the `k`-th frame of a block, with the atoms of the selection.

        These are the given columns of the block; None for all.
        """
        return cls(
            block.positions[k].copy() if columns is None else block.positions[k, columns],
            int(block.frames[k]),
            float(block.times[k]),
            int(block.steps[k]),
            block.cells[k].copy(),
            Box.of(block, k),
            block.messages,
            selection,
        )

    def __repr__(self) -> str:
        notes = "".join([f"; {one.label}: {one}" for one in self.messages])
        return (
            f"<Frame {self.frame}: {in_digits(self.time)} ps, {len(self.positions)} atoms{notes}>"
        )

    def read_velocities(self) -> NDArray[np.float32] | None:
        """Read the velocities of the atoms, `(n_atoms, 3)`, float32, Å/ps; None if there are none.

        Raises
        ------
        FormatError
            If the frame is corrupt.
        """
        source = self._selection.source
        if not has_velocities(source.reader.format):
            return None
        block = source.read(
            [self.frame],
            self._selection.columns,
            None,
            velocities=True,
            required=False,
            run=source.run_before(self.frame),
        )
        return None if block.velocities is None else block.velocities[0]

    @property
    def indices(self) -> NDArray[np.int64]:
        """Indices of the atoms in the topology, `(n_atoms,)`, int64."""
        return self._selection.indices

    @property
    def is_rotated(self) -> bool:
        """Whether a fit has rotated the frame."""
        return any(
            step.name == "fit" and step.words["motion"] != "translation"
            for step in self._selection.source.transforms
        )

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the atoms to a structure file; the ending selects the format.

        Time and step are in the title of GRO and PDB files, and velocities in GRO files. Of frames
        that a fit has rotated there are neither velocities nor a cell: structure files cannot hold
        a rotated one.

        Parameters
        ----------
        path
            Path of the file: .pdb, .gro, or an ending that MDAnalysis writes.
        force
            Replace an existing file.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        OutputError
            If the file exists, cannot be written, or cannot hold the atoms, or a box that is
            rotated in the trajectory's file.
        SelectionError
            If the trajectory was opened without a topology.

        Examples
        --------
        >>> traj.select("protein")[10].save("frame10.pdb").name
        'frame10.pdb'
        """
        path = Path(path)
        source = self._selection.source
        _ = source.structure.topology
        output.check(path, (path.suffix.lower(),))
        if not force:
            output.check_new(path)
        check_writable(path)
        if (held := self.box.reason_not_held) is not None and not self.is_rotated:
            raise OutputError(
                f"{path}: frame {self.frame}: a structure cannot hold {held}, and"
                " nearest images would be wrong without it: save positions without a box by"
                " fitting the frame, or convert it to H5MD"
            )
        if not np.isfinite(self.positions).all():
            raise OutputError(f"{path}: frame {self.frame}: an atom has no position (NaN)")
        holds_velocities = path.suffix.lower() == ".gro" and not self.is_rotated
        with output.replacing_file(path) as own:
            write_structure(
                own,
                self._selection.topology_atoms,
                self.positions,
                self.box,
                lambda: source.universe,
                when=(self.time, self.step),
                velocities=self.read_velocities() if holds_velocities else None,
            )
        return path
