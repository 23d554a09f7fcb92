"""Which members of an ensemble are open, how their runs are cut into tasks, and which runs next.

The schedule decides and does nothing else: no clocks, threads or files. An adapter calls a method
per event, and carries out what it returns.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

Task = TypeVar("Task")

# Tasks that each worker gets of all members: they end within a part of this size of one another.
TASKS_OF_WORKER = 16


class MemberSchedule(Generic[Task]):
    """State machine of the members of an ensemble.

    Members are opened from the largest to the smallest, no more of them than keep the workers busy.
    Large members are cut into many tasks, and small ones are one task each. Tasks of members that
    were opened first run first, so that these are closed soon. Once all are open, the largest tasks
    run first, so that small ones fill the gaps at the end.

    Parameters
    ----------
    sizes
        Work of each member in any unit, such as the bytes of its files.
    workers
        Number of tasks that run at a time.
    most_open
        Most members that are open at a time.
    ready
        Tasks for each worker beyond which no further member is opened.
    least
        Least work of a task, below which its overhead would count.
    """

    def __init__(
        self,
        sizes: Sequence[float],
        workers: int,
        *,
        most_open: int,
        ready: float = 1.0,
        least: float = 0.0,
    ) -> None:
        self._sizes = sizes
        self._most_open, self._enough = max(1, most_open), max(1.0, ready * workers)
        # Work of a task.
        self._unit = max(sum(sizes) / (workers * TASKS_OF_WORKER), least, 1e-300)
        self._waiting = deque(sorted(range(len(sizes)), key=lambda member: -sizes[member]))
        # Members that are open, in the order of opening, with their tasks that are ready.
        self._open: dict[int, deque[Task]] = {}
        # Those that have had no task, with the number that is expected.
        self._expected: dict[int, int] = {}
        # Work of a task of each open member.
        self._work: dict[int, float] = {}
        self._n_ready = 0

    @property
    def is_done(self) -> bool:
        """Whether all members were opened and closed."""
        return not self._waiting and not self._open

    @property
    def n_ready(self) -> int:
        """Number of tasks that are ready."""
        return self._n_ready

    def open(self) -> list[int]:
        """Return the members to open now."""
        opened: list[int] = []
        while (
            self._waiting
            and len(self._open) < self._most_open
            and self._n_ready + sum(self._expected.values()) < self._enough
        ):
            member = self._waiting.popleft()
            self._open[member] = deque()
            self._expected[member] = self.n_tasks(member)
            opened.append(member)
        return opened

    def n_tasks(self, member: int) -> int:
        """Return the number of tasks into which a run of a member is cut, if it has the leaves."""
        return max(1, math.ceil(self._sizes[member] / self._unit - 1e-9))

    def add(self, member: int, tasks: Sequence[Task]) -> None:
        """Note the tasks of a run of an open member; each run is added once the one before ends."""
        self._expected.pop(member, None)
        self._open[member].extend(tasks)
        self._work[member] = self._sizes[member] / max(1, len(tasks))
        self._n_ready += len(tasks)

    def next(self) -> Task | None:
        """Return the task that runs next; None if none is ready."""
        ready = (member for member, tasks in self._open.items() if tasks)
        if self._waiting:
            member = next(ready, None)
        else:
            member = max(ready, key=lambda one: self._work[one], default=None)
        if member is None:
            return None
        self._n_ready -= 1
        return self._open[member].popleft()

    def drop(self, member: int) -> list[Task]:
        """Return the tasks of a member that have not begun, which will not run."""
        tasks = list(self._open[member])
        self._open[member].clear()
        self._n_ready -= len(tasks)
        return tasks

    def close(self, member: int) -> None:
        """Note that a member is done."""
        self.drop(member)
        self._expected.pop(member, None)
        self._work.pop(member, None)
        del self._open[member]

    def stop(self) -> None:
        """Open no further member."""
        self._waiting.clear()
