"""Index of the tasks that wait, run or are gathered, by what makes them stragglers first.

A task is overdue when it has taken longer than a limit, in seconds a frame, that changes as other
tasks are done. Of tasks of the same size the oldest is overdue first, whatever the limit: so each
size and state has a heap by time, and a look at the first of each heap finds all that are overdue.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class Watched(NamedTuple):
    """A task that may become a straggler.

    Attributes
    ----------
    since
        Since when it is in its state; 0 for tasks that wait.
    order
        Counts the entries, so that those of the same time are told apart.
    state
        `waiting`, `running` or `gathering`.
    n_frames
        Frames that it takes its time for.
    worker
        Its worker, if it has started.
    """

    since: float
    order: int
    task: int
    state: str
    n_frames: int
    worker: str | None


class Overdue:
    """Tasks in heaps; changes and looks cost O(log n), and one look at each size."""

    def __init__(self) -> None:
        self._heaps: defaultdict[tuple[str, int], list[Watched]] = defaultdict(list)
        self._sizes: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._entries: dict[int, Watched] = {}
        self._count = 0

    def watch(self, task: int, state: str, since: float, n_frames: int, worker: str | None) -> None:
        """Note the state of a task, instead of an earlier one."""
        self.forget(task)
        self._count += 1
        entry = Watched(since, self._count, task, state, n_frames, worker)
        self._entries[task] = entry
        key = state, n_frames
        self._sizes[key] += 1
        heapq.heappush(self._heaps[key], entry)

    def forget(self, task: int) -> None:
        """Watch a task no longer."""
        entry = self._entries.pop(task, None)
        if entry is None:
            return
        key = entry.state, entry.n_frames
        self._sizes[key] -= 1
        heap, live = self._heaps[key], self._sizes[key]
        if not live:
            del self._heaps[key], self._sizes[key]
            return
        # Entries that are no longer valid stay in the heap until half of it are.
        if len(heap) > 2 * live + 8:
            heap[:] = [other for other in heap if self._entries.get(other.task) is other]
            heapq.heapify(heap)

    def groups(self) -> list[tuple[str, int]]:
        """Return the states and sizes for which there are tasks."""
        return list(self._sizes)

    def first(self, group: tuple[str, int]) -> Watched | None:
        """Return the task of a group that is overdue first; None if there is none."""
        heap = self._heaps.get(group, [])
        while heap and self._entries.get(heap[0].task) is not heap[0]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def set_aside(self, entry: Watched) -> None:
        """Remove the first task of its group, until it is put back."""
        heapq.heappop(self._heaps[entry.state, entry.n_frames])

    def put_back(self, entries: Iterable[Watched]) -> None:
        """Put tasks back that were set aside."""
        for entry in entries:
            heapq.heappush(self._heaps[entry.state, entry.n_frames], entry)
