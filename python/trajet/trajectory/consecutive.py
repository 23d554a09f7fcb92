"""Several files as one trajectory: parts of one run, or replicas that were chained by mistake."""

from typing import Protocol

import numpy as np

from trajet._trajet import FormatError, Reader
from trajet.digits import in_digits
from trajet.messages import Code, Message

# Share of the frames of a file that a continued run may repeat.
_MAX_REPEATED = 0.5
# Messages on the times of files that follow one another.
_ON_TIMES = frozenset(
    {Code.OVERLAPPING_FILES, Code.DROPPED_FRAMES, Code.NO_TIMES, Code.UNKNOWN_TIMES}
)


class _Files(Protocol):
    """Files that are open as one trajectory; see `Trajectory`."""

    @property
    def reader(self) -> Reader:
        """The native reader."""

    @property
    def time_step(self) -> float | None:
        """Time between frames that a user gave, ps; None for the times in the files."""

    @property
    def time_messages(self) -> tuple[Message, ...]:
        """Messages on times that the files do not state."""


def check_consecutive(files: _Files) -> None:
    """Raise an error if files that are read as one trajectory look like replicas.

    They do if the times of two files overlap by more than half of the shorter one, which is more
    than a run repeats that was continued from a checkpoint, or if files with several frames state
    no times. Files of one frame, and files with a given time step, may be anything.

    Raises
    ------
    FormatError
        If they do.
    """
    if doubt := _doubt(files):
        raise FormatError(f"{doubt}. {_question(len(files.reader.segments()))}")


def with_question(files: _Files, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages on files; that on their times asks whether files that look so are replicas.

    A trajectory whose times do not overlap is not asked about, and reads no times for this.
    """
    for k, message in enumerate(messages):
        if message.code in _ON_TIMES:
            if not _doubt(files):
                break
            n_files = len(files.reader.segments())
            asked = Message(
                message.code,
                message,
                f"if the {n_files} files are replicas, analyse them as members of an"
                ' ensemble: tj.ensemble("rep{replica}.xtc", topology=...), or the same pattern as'
                " the trajectory of a plan",
            )
            return (*messages[:k], asked, *messages[k + 1 :])
    return messages


def _doubt(files: _Files) -> str:
    """Return why files look like replicas; an empty text if they do not."""
    segments = files.reader.segments()
    counts = [segment["n_frames"] - segment["dropped_frames"] for segment in segments]
    is_dropped = any(segment["dropped_frames"] for segment in segments)
    if len(segments) < 2 or files.time_step is not None or is_dropped or max(counts) < 2:
        return ""
    if unstated := files.time_messages:
        return unstated[0]
    parts = np.split(files.reader.times(), np.cumsum(counts)[:-1])
    several = [
        (times, segment["path"])
        for times, segment in zip(parts, segments, strict=True)
        if len(times) > 1
    ]
    several.sort(key=lambda one: float(one[0].min()))
    for k, (times, path) in enumerate(several):
        # The file before it that ends last.
        earlier = max(several[:k], key=lambda one: float(one[0].max()), default=None)
        if earlier is None:
            continue
        before, other = earlier
        n_repeated = int((times <= before.max()).sum())
        n_before = int((before >= times.min()).sum())
        least = min(len(times), len(before))
        if min(n_repeated, n_before) > max(1, _MAX_REPEATED * least):
            return (
                f"{path}: {n_repeated} of its {len(times)} frames lie at times of {other}, which"
                f" goes from {in_digits(before.min())} to {in_digits(before.max())} ps"
            )
    return ""


def _question(n_files: int) -> str:
    """Return what is asked, and how to answer."""
    return (
        f"Are the {n_files} files parts of one run, or replicas? Replicas are members of an"
        ' ensemble, as in trajectory = "rep{replica}.xtc" of a plan or tj.ensemble; of parts,'
        " continuous = true drops frames that later ones repeat, and chain = true keeps all"
    )
