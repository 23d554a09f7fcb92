"""Batches: neighbouring tasks that a worker gets at once.

A message costs much more than to run a task of a few milliseconds. So short tasks travel in
batches, whose size follows from the measured seconds of the tasks before. Tasks that are long, or
not measured yet, travel alone. Batches get smaller towards the end of the work, down to one task,
so that workers end together.
"""

from dataclasses import dataclass

# Largest number of tasks in a batch; the task table has 12 bits for it.
MAX_TASKS = 4095
# Seconds of the shortest batches, relative to those that messages call for.
LEAST = 0.3
# At most 1/SHARE of the tasks that are left for a worker are in its next batch.
SHARE = 4
# A batch has at most so many times the tasks of the one before: one measurement may be wrong.
_GROWTH = 4
# Bytes of numbers and states of a batch, which are in memory until it ends.
_MAX_BYTES = 2**26


@dataclass(frozen=True)
class BatchRule:
    """Decides how many tasks the calling process sends to a worker at once.

    Attributes
    ----------
    seconds
        Seconds that a batch takes, as far as tasks are short enough.
    message_seconds
        Seconds of a batch for each worker, if that is more: with many workers, messages about
        batches would keep the calling process busy all of the time. Batches at the end of the work
        take `LEAST` of it.
    frame_bytes
        Bytes of the numbers of a frame.
    """

    seconds: float
    message_seconds: float
    frame_bytes: int

    def size(self, rate: float, n_frames: int, n_workers: int, left: int, largest: int) -> int:
        """Return the tasks of the next batch.

        Parameters
        ----------
        rate
            Usual seconds of a frame.
        n_frames
            Frames of each task.
        n_workers
            Tasks that workers run at a time.
        left
            Tasks that are to be submitted.
        largest
            Tasks of the largest batch that is done.
        """
        for_messages = n_workers * self.message_seconds
        task_seconds = max(n_frames * rate, 1e-9)
        by_time = max(self.seconds, for_messages) / task_seconds
        by_bytes = _MAX_BYTES / max(n_frames * self.frame_bytes, 1)
        most = max(1, int(min(by_time, by_bytes, _GROWTH * largest, MAX_TASKS)))
        least = round(LEAST * for_messages / task_seconds)
        return min(most, max(least, shared(most, left // n_workers)))


class BatchSizes:
    """Sizes of the batches of a worker, by the measured seconds and bytes of its tasks.

    Parameters
    ----------
    seconds
        Seconds that a batch takes, as far as tasks are short enough.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._size = seconds, 1

    @property
    def size(self) -> int:
        """Tasks of the next batch, if enough are left."""
        return self._size

    def add(self, n_tasks: int, seconds: float, n_bytes: int) -> None:
        """Note a batch that is done: its tasks, their seconds and bytes together."""
        by_time = n_tasks * self._seconds / max(seconds, 1e-9)
        by_bytes = n_tasks * _MAX_BYTES / max(n_bytes, 1)
        most = min(by_time, by_bytes, _GROWTH * n_tasks, MAX_TASKS)
        self._size = max(1, int(most))


def shared(size: int, left: int) -> int:
    """Return the tasks of a batch of at most `size`, if `left` remain for some workers."""
    return max(1, min(size, left // SHARE))
