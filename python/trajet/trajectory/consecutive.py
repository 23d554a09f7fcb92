"""Several files as one trajectory: parts of one run, or replicas that were chained by mistake."""

import numpy as np

from trajet._trajet import FormatError
from trajet.trajectory.trajectory import Trajectory

# Share of the frames of a file that a continued run may repeat.
_MOST_REPEATED = 0.5


def check_consecutive(trajectory: Trajectory) -> None:
    """Raise an error if files that are read as one trajectory look like replicas.

    They do if the times of two files overlap by more than half of the shorter one, which is more
    than a run repeats that was continued from a checkpoint, or if files with several frames state
    no times. Files of one frame, and files with a given time step, may be anything.

    Raises
    ------
    FormatError
        If they do.
    """
    segments = trajectory.reader.segments()
    counts = [segment["n_frames"] - segment["dropped_frames"] for segment in segments]
    is_dropped = any(segment["dropped_frames"] for segment in segments)
    if len(segments) < 2 or trajectory.time_step is not None or is_dropped or max(counts) < 2:
        return
    if unstated := trajectory.time_remarks:
        raise FormatError(f"{unstated[0]}. {_question(len(segments))}")
    parts = np.split(trajectory.reader.times(), np.cumsum(counts)[:-1])
    files = [
        (times, segment["path"])
        for times, segment in zip(parts, segments, strict=True)
        if len(times) > 1
    ]
    files.sort(key=lambda one: float(one[0].min()))
    for k, (times, path) in enumerate(files):
        # The file before it that ends last.
        earlier = max(files[:k], key=lambda one: float(one[0].max()), default=None)
        if earlier is None:
            continue
        before, other = earlier
        n_repeated = int((times <= before.max()).sum())
        n_before = int((before >= times.min()).sum())
        least = min(len(times), len(before))
        if min(n_repeated, n_before) > max(1, _MOST_REPEATED * least):
            raise FormatError(
                f"{path}: {n_repeated} of its {len(times)} frames lie at times of {other}, which"
                f" goes from {before.min():g} to {before.max():g} ps. {_question(len(segments))}"
            )


def _question(n_files: int) -> str:
    """Return what is asked, and how to answer."""
    return (
        f"Are the {n_files} files parts of one run, or replicas? Replicas are members of an"
        ' ensemble, as in trajectory = "rep{replica}.xtc" of a plan or tj.ensemble; of parts,'
        " continuous = true drops frames that later ones repeat, and chain = true keeps all"
    )
