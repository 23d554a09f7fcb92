"""`Step`: a transform as the native module takes it, and how its frames are reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet

# Bytes of the shifts that are kept for the runs of frames whose jumps are counted in parallel.
_SHIFT_BYTES = 64 * 1024 * 1024
# Most runs of frames whose jumps are counted in parallel.
_MOST_RUNS = 256
# Fewest frames of such a run.
_RUN_FRAMES = 8
# Most atoms that are decoded for each atom that is analysed, if the frames of a task are kept.
_MOST_KEPT = 32
# Number of decoded atoms that are kept for however few atoms.
_FEW_ATOMS = 20_000


@dataclass(frozen=True)
class Step:
    """A transform, as the native module takes it.

    Attributes
    ----------
    name
        Name of the native step.
    arguments
        Its parameters.
    words
        What it does, for reports: a name, and the arguments that the user gave.
    remarks
        Doubts about it.
    every_frame
        Whether frames that a stride skips are read, too (removal of jumps).
    unknown
        Columns of atoms whose molecules it needs and that are unknown: they cannot be read.
    """

    name: str
    arguments: dict[str, object]
    words: Mapping[str, object]
    remarks: tuple[str, ...] = ()
    every_frame: bool = False
    unknown: NDArray[np.int64] | None = None


def n_runs(n_frames: int, n_atoms: int) -> int:
    """Return the number of runs of frames in which jumps are counted before frames are read.

    Processes, and steps back in the order of frames, begin at the start of a run. One thread that
    reads frames in order, and threads that hand over to one another, need one run only: they count
    jumps while they read.
    """
    most = _SHIFT_BYTES // (24 * max(1, n_atoms))
    return max(1, min(_MOST_RUNS, most, n_frames // _RUN_FRAMES))


def may_be_kept(n_decoded: int, places: NDArray[np.int64] | None) -> bool:
    """Return whether a thread may keep the frames of a task until the task before hands over.

    Tasks are as long as few atoms that are analysed need, and all that are decoded are kept.
    """
    return places is None or n_decoded <= max(_MOST_KEPT * len(places), _FEW_ATOMS)


def fits_without_jumps(steps: Sequence[Step]) -> bool:
    """Return whether frames are fitted to frame 0 after their jumps are removed."""
    names = [step.name for step in steps]
    if "no_jump" not in names:
        return False
    later = steps[names.index("no_jump") :]
    return any(step.words.get("reference") == "frame 0" for step in later)


def frames_walked(numbers: NDArray[np.int64], *, every_frame: bool) -> NDArray[np.int64]:
    """Return the frames from which jumps are counted for these frames, ascending, each once."""
    if every_frame and len(numbers):
        return np.arange(numbers.min(), numbers.max() + 1)
    return np.unique(numbers)


def native(steps: Sequence[Step], n_atoms: int) -> _trajet.Transforms:
    """Return steps as the native module takes them."""
    return _trajet.Transforms([(step.name, step.arguments) for step in steps], n_atoms)
