"""Entries of tasks in columns: some hundred bytes a task, where a dictionary has 1,400."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from trajet.report_entries import TaskEntry

Column: TypeAlias = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.float64]


class TaskColumns(Sequence[TaskEntry]):
    """The `tasks` of a report; an entry is made when it is read.

    Parameters
    ----------
    columns
        Numbers of all tasks by the names of their entries, in the order of these.
    first
        Entries that all tasks have alike, before the others.
    """

    def __init__(
        self, columns: Mapping[str, Column], first: Mapping[str, object] | None = None
    ) -> None:
        self._columns, self._first = dict(columns), dict(first or {})
        self._n_tasks = len(next(iter(self._columns.values()), ()))

    def __len__(self) -> int:
        return self._n_tasks

    @overload
    def __getitem__(self, which: int) -> TaskEntry: ...

    @overload
    def __getitem__(self, which: slice) -> list[TaskEntry]: ...

    def __getitem__(self, which: int | slice) -> TaskEntry | list[TaskEntry]:
        if isinstance(which, slice):
            return list(self._entries(which))
        number = range(self._n_tasks)[which]
        return next(self._entries(slice(number, number + 1)))

    def __iter__(self) -> Iterator[TaskEntry]:
        for at in range(0, self._n_tasks, _AT_ONCE):
            yield from self._entries(slice(at, at + _AT_ONCE))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def n_bytes(self) -> int:
        """Bytes of the columns."""
        return sum(column.nbytes for column in self._columns.values())

    def chunks(self) -> Iterator[list[TaskEntry]]:
        """Iterate over the entries of some thousand tasks at a time."""
        for at in range(0, self._n_tasks, _AT_ONCE):
            yield self[at : at + _AT_ONCE]

    def numbers(self, name: str) -> NDArray[np.int64]:
        """Return the whole numbers of all tasks at a name."""
        return self._columns[name].astype(np.int64)

    def seconds(self, name: str) -> NDArray[np.float64]:
        """Return the seconds of all tasks at a name."""
        return self._columns[name].astype(np.float64)

    def with_columns(self, columns: Mapping[str, Column]) -> "TaskColumns":
        """Return the same tasks with other or further numbers."""
        return TaskColumns({**self._columns, **columns}, self._first)

    def with_first(self, **entries: object) -> "TaskColumns":
        """Return the same tasks with further entries that all of them have alike."""
        return TaskColumns(self._columns, {**entries, **self._first})

    def later(self, seconds: float) -> "TaskColumns":
        """Return the same tasks, which begin and end some seconds later."""
        moved = {name: self.seconds(name) + seconds for name in ("t_begin", "t_end")}
        return self.with_columns(moved)

    def _entries(self, which: slice) -> Iterator[TaskEntry]:
        """Iterate over the entries of some tasks."""
        names = tuple(self._columns)
        rows = zip(*(column[which].tolist() for column in self._columns.values()), strict=True)
        for row in rows:
            yield cast(TaskEntry, {**self._first, **dict(zip(names, row, strict=True))})


# Tasks whose entries are made at a time.
_AT_ONCE = 4096
