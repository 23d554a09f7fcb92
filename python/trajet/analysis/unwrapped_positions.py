"""Checks that positions are unwrapped and molecules whole, as displacements need them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.analysis.particle_series import MovingParticles
from trajet.analysis.runner import AnalysisOutcome
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.trajectory import Selection

# Change of a length of the cell that is more than the rounding of structure files.
_MIN_CHANGE = 1e-3
# Most lengths of the cell that wrapped positions extend over along an axis: a tilted one is wider.
_MAX_WRAPPED = 2


def _message_on_motion(words: Mapping[str, object]) -> Message | None:
    """Return a message on a transform that moves each frame as a whole; None for all others."""
    name, atoms = words["transform"], quoted(str(words.get("atoms")))
    if name == "fit" and words["motion"] != "translation":
        return Message(
            Code.NOT_SUPERPOSED,
            f"frames are rotated to fit {atoms}, which moves all other particles",
            "take the trajectory without fit()",
        )
    if name in ("center", "fit"):
        which = "fit()" if name == "fit" else "center() and repair()"
        return Message(
            Code.NOT_SUPERPOSED,
            f"frames are moved to keep {atoms} in one place: displacements are relative to it, and"
            f" its own diffusion is removed",
            f"take the trajectory without {which} for displacements in the cell",
        )
    return None


def _change_of(lengths: NDArray[np.float64]) -> float:
    """Return the largest relative change of a length of the cell; 0 if none is more than rounding.

    Parameters
    ----------
    lengths
        `(n_frames, 3)`, Å; NaN without a cell.
    """
    known = lengths[np.isfinite(lengths).all(axis=1)]
    change = float((np.ptp(known, axis=0) / known.max(axis=0)).max()) if len(known) else 0.0
    return change if change > _MIN_CHANGE else 0.0


def are_made_whole(steps: Sequence[Mapping[str, object]]) -> bool:
    """Return whether transforms make molecules whole, and none breaks them afterwards."""
    breaks = [words["transform"] == "wrap" and words["by"] != "molecule" for words in steps]
    broken = max((k for k, is_breaking in enumerate(breaks) if is_breaking), default=-1)
    return any(words["transform"] == "whole" for words in steps[broken + 1 :])


class UnwrappedChecks:
    """Checks that positions are there, whole and unwrapped.

    Attributes
    ----------
    is_unwrapped
        Whether jumps are removed, or positions are known to have none.
    messages
        Messages on transforms and cells.
    """

    def __init__(
        self, main: Selection, moving: MovingParticles, axes: str, *, unwrapped: bool
    ) -> None:
        self._main, self._moving, self._axes = main, moving, axes
        steps = [step.words for step in main.trajectory.transforms]
        names = [str(words["transform"]) for words in steps]
        # Transforms that put molecules into other images undo the removal of jumps.
        last = max((k for k, name in enumerate(names) if name in ("wrap", "cluster")), default=-1)
        self.is_unwrapped = unwrapped or "nojump" in names[last + 1 :]
        self._is_whole = self.is_unwrapped or are_made_whole(steps)
        self._half: NDArray[np.float64] | None = None
        self._is_read_unwrapped = False
        self._steps = steps
        self._moved = [text for words in steps if (text := _message_on_motion(words)) is not None]
        self.messages = self._moved

    def check_rows(self, outcome: AnalysisOutcome) -> None:
        """Check that no molecule is broken, and take the cells of the frames."""
        cells = outcome.floats("cell")
        axes = ["xyz".index(axis) for axis in self._axes]
        without = np.isnan(cells).any(axis=1)
        self.messages = [*self._moved]
        if not self.is_unwrapped and without.any():
            text = Message(
                Code.NO_CELL,
                "whether positions are wrapped over the box is not checked in frames that have no"
                f" cell or a rotated one ({int(without.sum())} of {len(cells)}): a wrapped position"
                " makes the MSD wrong",
            )
            self.messages.append(text)
        if change := _change_of(cells):
            self._is_read_unwrapped |= self._are_read_unwrapped(
                outcome.floats("vectors"), cells[:, axes]
            )
            self.messages += self._messages_on_cells(change)
        broken = np.flatnonzero(outcome.integers("broken"))
        if broken.size and not self._is_whole:
            k = int(broken[0])
            raise AnalysisError(
                f"{self._main.trajectory.label}: frame {outcome.frames[k]}:"
                f" {outcome.integers('broken')[k]} of {self._moving.n_particles} particles extend"
                " over more than half of the cell, as molecules do that are broken over the box:"
                " make them whole and remove their jumps with selection.whole().nojump(),"
                " or give unwrapped=True if they are long"
            )
        smaller = np.minimum(cells[1:, axes], cells[:-1, axes])
        self._half = None if self.is_unwrapped else smaller.T / 2

    def check_series(
        self, outcome: AnalysisOutcome, series: NDArray[np.float64], first: int
    ) -> None:
        """Check some particles, of which `first` is the first."""
        label = self._main.trajectory.label
        if not np.isfinite(series).all():
            k = int(np.flatnonzero(~np.isfinite(series).all(axis=(0, 1)))[0])
            raise AnalysisError(
                f"{label}: frame {outcome.frames[k]}: a selected atom has no position there (not a"
                " number): leave this frame out"
            )
        if self._half is None:
            return
        steps = np.abs(np.diff(series, axis=-1))
        # False without a cell.
        jumps = steps > self._half
        if not jumps.any():
            return
        k = int(np.flatnonzero(jumps.any(axis=(0, 1)))[0])
        particle, axis = (int(one[0]) for one in np.nonzero(jumps[:, :, k]))
        where = "xyz".index(self._axes[axis])
        raise AnalysisError(
            f"{label}: {self._name(first + particle)} moves by {steps[particle, axis, k]:.1f} Å"
            f" along {self._axes[axis]} from frame {outcome.frames[k]} to frame"
            f" {outcome.frames[k + 1]}, more than half of the cell"
            f" ({outcome.floats('cell')[k, where]:.1f} Å), as wrapped positions do: remove jumps"
            " with selection.nojump(), or give unwrapped=True if particles are that fast"
        )

    def _messages_on_cells(self, change: float) -> list[Message]:
        """Return a message if jumps are or were removed by the vectors of a changing cell."""
        views = [words["view"] for words in self._steps if words["transform"] == "nojump"]
        if self._is_read_unwrapped:
            motion = (
                "positions are unwrapped where they are read: if image flags did that, they move"
                " with its vectors"
            )
            fix = 'read wrapped positions, and remove their jumps with nojump(view="toroidal")'
        elif "lattice" in views:
            motion = "particles that have crossed it move with its vectors"
            fix = 'use nojump(view="toroidal")'
        else:
            return []
        text = (
            f"the cell changes by up to {100 * change:.2g} %, and {motion}, which makes the MSD too"
            " large"
        )
        return [Message(Code.WRAPPED_POSITIONS, text, fix)]

    def _are_read_unwrapped(
        self, vectors: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> bool:
        """Return whether positions of some particles were unwrapped before they were read.

        Jumps are removed from the first frame on, which stays as it is.

        Parameters
        ----------
        vectors
            `(n_frames, n_particles, n_axes)`, Å.
        lengths
            `(n_frames, n_axes)` of the cells, Å.
        """
        n = 1 if any(words["transform"] == "nojump" for words in self._steps) else len(vectors)
        return bool((np.ptp(vectors[:n], axis=1) > _MAX_WRAPPED * lengths[:n]).any())

    def _name(self, particle: int) -> str:
        """Return the name of a particle by its first atom."""
        column = self._moving.columns[self._moving.starts[particle]]
        trajectory = self._main.trajectory
        if trajectory.has_topology:
            name = trajectory.source.structure.atoms.describe(int(column))
        else:
            name = f"atom {trajectory.source.index.indices_of(np.array([column]))[0]}"
        return f"the centre of the particle of {name}" if self._moving.are_groups else name
