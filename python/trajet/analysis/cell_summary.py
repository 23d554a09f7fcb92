"""Unit cells of the frames of a run: how many are missing, and how many are too small."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trajet.messages import Code, Message
from trajet.trajectory import UpdatingSelection

# Keywords of selections that compare distances.
_BY_DISTANCE = re.compile(r"\b(around|point|sphlayer|sphzone|isolayer|cylayer|cyzone)\b")


@dataclass(frozen=True)
class CellSummary:
    """Summary of the unit cells of all frames of an analysis that uses them.

    The engine makes it from each frame that it reads, on every pool.

    Attributes
    ----------
    n_frames
        Number of frames.
    n_missing, first_missing
        Number of frames without a cell, and the first of them; -1 if there is none.
    n_small, first_small
        Number of frames in which half of the shortest lattice vector is less than the longest
        distance of the analysis, and the first of them; -1 if there is none.
    least_half, least_frame
        Half of the shortest lattice vector of the smallest of these cells, Å, and its frame.
    """

    n_frames: int
    n_missing: int
    first_missing: int
    n_small: int
    first_small: int
    least_half: float
    least_frame: int

    @property
    def n_present(self) -> int:
        """Number of frames with a cell."""
        return self.n_frames - self.n_missing

    def missing(self) -> list[Message]:
        """Return a message if nearest images were asked for in frames that have no cell."""
        if not self.n_missing:
            return []
        return [
            Message(
                Code.NO_CELL,
                f"{self._missing_frames()}: their distances are those of the positions as they"
                " are, not of nearest images",
                f"give pbc=False if that is meant for all frames"
                f"{', or leave these frames out' if self.n_present else ''}",
            )
        ]

    def missing_in_some(self) -> list[Message]:
        """Return the message of `missing` if other frames have a cell.

        For analyses of distances within molecules, which a trajectory without any cell may have.
        """
        return self.missing() if self.n_present else []

    def missing_for(self, selections: Iterable[object]) -> list[Message]:
        """Return a message if an updating selection compares distances in frames without a cell."""
        by_distance = any(
            isinstance(each, UpdatingSelection) and _BY_DISTANCE.search(each.text)
            for each in selections
        )
        if not (by_distance and self.n_missing):
            return []
        return [
            Message(
                Code.NO_CELL,
                f"{self._missing_frames()}: distances that the selection compares are those of the"
                " positions as they are, not of nearest images"
                f"{': leave these frames out unless that is meant' if self.n_present else ''}",
            )
        ]

    def too_small(self, longest: str, consequence: str) -> list[Message]:
        """Return a message if distances exceed half of the shortest lattice vector.

        Parameters
        ----------
        longest
            Words for the distance that exceeds half a cell, such as "distances up to 9 Å are
            counted, but".
        consequence
            The consequence, and advice.
        """
        if not self.n_small:
            return []
        first = f", first in frame {self.first_small}" if self.n_small > 1 else ""
        return [
            Message(
                Code.SMALL_CELL,
                f"{longest} half of the distance between an atom and its own nearest image is less"
                f" in {self.n_small} of {self.n_frames} frames{first}: {self.least_half:.1f} Å in"
                f" frame {self.least_frame}",
                consequence,
            )
        ]

    def _missing_frames(self) -> str:
        """Return the beginning of a message on frames without a cell."""
        number = f"{self.n_missing} of {self.n_frames} frames have no unit cell"
        return f"{number} (the first is frame {self.first_missing})" if self.n_present else number
