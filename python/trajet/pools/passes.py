"""Passes of a plan, the tasks of a pass, and memory for its rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import OutputError, Plan, Reader
from trajet.pools.pool import Frames, n_frames_of
from trajet.pools.tasks import Task, WorkerSpec
from trajet.pools.timing import RunTiming

# Largest size of the rows of a task, which are in memory twice while they move.
_ROW_BYTES = 2**26


@dataclass(frozen=True)
class PassRun:
    """A pass, as the calling process distributes it.

    Attributes
    ----------
    worker_spec
        Setup of the workers.
    tasks
        Tasks of the pass.
    rows
        `(n_frames, row_width)`, to be filled.
    states
        Merged states of the tasks.
    """

    reader: Reader
    frames: Frames
    pass_: _trajet.Pass
    worker_spec: WorkerSpec
    tasks: Sequence[Task]
    rows: NDArray[np.float64]
    states: _trajet.States

    def task_bytes(self, task: Task) -> bytes:
        """Return a serialised task, for `Worker.do`."""
        return _trajet.task(self.reader, self.pass_, self.frames, *task.leaves)


def most_frames(pass_: _trajet.Pass) -> int:
    """Return the largest number of frames of a task, if the user gives none."""
    return max(1, _ROW_BYTES // (8 * max(1, pass_.row_width)))


def tasks_of(pass_: _trajet.Pass, workers: int, task_frames: int | None) -> list[Task]:
    """Return the tasks of a pass."""
    runs = pass_.tasks(workers, task_frames)
    if task_frames is None and runs:
        first, end = pass_.frames_of(*runs[0])
        if end - first > most_frames(pass_):
            runs = pass_.tasks(workers, most_frames(pass_))
    return [Task(k, run, pass_.frames_of(*run)) for k, run in enumerate(runs)]


def blocks_of(pass_: _trajet.Pass, count: int) -> list[Task]:
    """Return `count` tasks of a pass, as equal as leaves allow."""
    n = pass_.n_leaves
    borders = [n * k // count for k in range(count + 1)]
    runs = [run for run in pairwise(borders) if run[0] < run[1]]
    return [Task(k, run, pass_.frames_of(*run)) for k, run in enumerate(runs)]


# returns memory for rows of a shape
MakeRows: TypeAlias = Callable[[tuple[int, int]], NDArray[np.float64]]


def new_rows(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return memory for rows."""
    return np.zeros(shape)


@contextmanager
def rows_in_file(path: Path | None) -> Iterator[MakeRows]:
    """Yield a function that allocates rows in a NumPy file, or in memory if `path` is None.

    The file gets its name at the end and replaces an older one; arrays that are mapped from the
    older file keep their values.

    Raises
    ------
    OutputError
        If the file has no room.
    """
    if path is None:
        yield new_rows
        return
    output.check(path, (".npy",))
    own = output.name_beside(path)

    def make(shape: tuple[int, int]) -> NDArray[np.float64]:
        if 0 in shape:
            return new_rows(shape)
        try:
            own.unlink(missing_ok=True)
            output.make_new(own)
            rows = np.lib.format.open_memmap(own, "w+", np.float64, shape)
            with own.open("r+b") as file:
                # A write to mapped memory cannot report a full disk.
                os.posix_fallocate(file.fileno(), 0, own.stat().st_size)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        return np.asarray(rows)

    try:
        yield make
        if own.exists():
            own.replace(path)
    finally:
        own.unlink(missing_ok=True)


@contextmanager
def row_writer(rows: NDArray[np.float64]) -> Iterator[Callable[[int, NDArray[np.float64]], None]]:
    """Yield a function that stores values in `rows`, from a first row on.

    Rows that are mapped from a file are written to the file: pages that are changed through the
    map would count as memory of this process.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    mapped = rows.base
    if not isinstance(mapped, np.memmap):

        def keep(first: int, values: NDArray[np.float64]) -> None:
            rows[first : first + len(values)] = values

        yield keep
        return
    with open(str(mapped.filename), "r+b", buffering=0) as file:

        def write(first: int, values: NDArray[np.float64]) -> None:
            left = np.ascontiguousarray(values).data.cast("B")
            try:
                file.seek(mapped.offset + first * rows.strides[0])
                while left:
                    left = left[file.write(left) :]
            except OSError as error:
                raise OutputError(f"{file.name}: cannot be written: {error.strerror}") from error

        yield write


def passes(
    reader: Reader,
    plan: Plan,
    frames: Frames,
    timing: RunTiming,
    *,
    threads: int,
    make_tasks: Callable[[_trajet.Pass], Sequence[Task]],
    make_rows: MakeRows = new_rows,
) -> Iterator[PassRun]:
    """Iterate over the passes of a plan; each must be done before the next is requested."""
    n_frames = n_frames_of(frames)
    states: list[NDArray[np.uint8]] = []
    while True:
        pass_ = _trajet.Pass(plan, reader.n_atoms, n_frames, states)
        outline = reader.outline(pass_.atoms)
        worker_spec = WorkerSpec(outline, plan, n_frames, tuple(states), threads)
        rows = make_rows((n_frames, pass_.row_width))
        merged = _trajet.States(pass_)
        yield PassRun(reader, frames, pass_, worker_spec, make_tasks(pass_), rows, merged)
        timing.passes += 1
        if pass_.is_last:
            return
        states.append(merged.whole())
