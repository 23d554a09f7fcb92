"""Passes of a plan, the tasks of a pass, and memory for its arrays."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import OutputError, Plan, Reader
from trajet.pools.pool import Frames, RunOutput, n_frames_of
from trajet.pools.tasks import Sections, Task, WorkerSpec, sections_of
from trajet.pools.timing import RunTiming
from trajet.report_entries import RunReport

# Largest size of the arrays of a task, which are in memory twice while they move.
_MAX_BYTES = 2**26
# Buffers begin at multiples of this many bytes, as the sections in them do.
_ALIGNMENT = 64

# Returns memory for the arrays of a pass over a number of frames.
MakeSections: TypeAlias = Callable[[_trajet.Pass, int], Sections]


@dataclass(frozen=True)
class PassRun:
    """A pass, as the calling process distributes it.

    Attributes
    ----------
    worker_spec
        Setup of the workers.
    tasks
        Tasks of the pass.
    n_frames
        Number of requested frames.
    sections
        Bytes of the arrays with an entry for each frame, to be filled.
    states
        Merged states of the tasks.
    """

    reader: Reader
    frames: Frames
    pass_: _trajet.Pass
    worker_spec: WorkerSpec
    tasks: Sequence[Task]
    n_frames: int
    sections: Sections
    states: _trajet.States

    def task_bytes(self, task: Task) -> bytes:
        """Return a serialised task, for `Worker.do`."""
        return _trajet.task(self.reader, self.pass_, self.frames, *task.leaves)

    def output(self, report: RunReport) -> RunOutput:
        """Return the output of the run after its last pass."""
        return RunOutput(self.states.finish(self.sections), report)


def most_frames(pass_: _trajet.Pass) -> int:
    """Return the largest number of frames of a task, if the user gives none."""
    return max(1, _MAX_BYTES // max(1, sum(pass_.entry_bytes)))


class TaskRuns(Sequence[Task]):
    """Tasks of a pass, of which only the first leaves are in memory: every rank has all tasks."""

    def __init__(self, pass_: _trajet.Pass, runs: Sequence[tuple[int, int]]) -> None:
        self._pass = pass_
        self._borders = np.array([first for first, _ in runs] + [end for _, end in runs[-1:]])

    def __len__(self) -> int:
        return max(0, len(self._borders) - 1)

    @overload
    def __getitem__(self, which: int) -> Task: ...

    @overload
    def __getitem__(self, which: slice) -> list[Task]: ...

    def __getitem__(self, which: int | slice) -> Task | list[Task]:
        numbers = range(len(self))[which]
        if isinstance(numbers, range):
            return [self._task(number) for number in numbers]
        return self._task(numbers)

    def _task(self, number: int) -> Task:
        run = int(self._borders[number]), int(self._borders[number + 1])
        return Task(number, run, self._pass.frames_of(*run))


def tasks_of(pass_: _trajet.Pass, workers: int, task_frames: int | None) -> Sequence[Task]:
    """Return the tasks of a pass."""
    runs = pass_.tasks(workers, task_frames)
    if task_frames is None and runs:
        first, end = pass_.frames_of(*runs[0])
        if end - first > most_frames(pass_):
            runs = pass_.tasks(workers, most_frames(pass_))
    return TaskRuns(pass_, runs)


def blocks_of(pass_: _trajet.Pass, count: int) -> list[Task]:
    """Return `count` tasks of a pass, as equal as leaves allow."""
    n = pass_.n_leaves
    borders = [n * k // count for k in range(count + 1)]
    runs = [run for run in pairwise(borders) if run[0] < run[1]]
    return [Task(k, run, pass_.frames_of(*run)) for k, run in enumerate(runs)]


def new_sections(pass_: _trajet.Pass, n_frames: int) -> Sections:
    """Return memory for the arrays of a pass: the sections of one buffer."""
    _, size = pass_.sections(n_frames)
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    address: int = memory.__array_interface__["data"][0]
    return sections_of(pass_, n_frames, memory[-address % _ALIGNMENT :])


@contextmanager
def sections_in(folder: Path | None) -> Iterator[MakeSections]:
    """Yield a function that allocates arrays in NumPy files, or in memory if `folder` is None.

    The files get their names at the end and replace older ones; arrays that are mapped from an
    older file keep their values.

    Raises
    ------
    OutputError
        If the files have no room.
    """
    if folder is None:
        yield new_sections
        return
    output.check_folder(folder)
    is_new = not folder.exists()
    unfinished: dict[Path, Path] = {}

    def make(pass_: _trajet.Pass, n_frames: int) -> Sections:
        return [
            _section_in_file(folder / f"{name}.npy", dtype, (n_frames, *shape), unfinished)
            if n_frames * size
            else np.zeros((n_frames, size), np.uint8)
            for (name, dtype, shape), size in zip(pass_.arrays, pass_.entry_bytes, strict=True)
        ]

    try:
        yield make
        for path, own in unfinished.items():
            output.give_name(own, path, force=True)
    finally:
        for own in unfinished.values():
            output.remove(own)
        if is_new:
            # A folder with files stays.
            with suppress(OSError):
                folder.rmdir()


def _section_in_file(
    path: Path, dtype: str, shape: tuple[int, ...], unfinished: dict[Path, Path]
) -> NDArray[np.uint8]:
    """Return the bytes of an array in a file beside `path`, which is added to `unfinished`."""
    try:
        path.parent.mkdir(exist_ok=True)
        output.check(path, (".npy",))
        if (before := unfinished.get(path)) is not None:
            output.remove(before)
        own = unfinished[path] = output.name_beside(path)
        output.make_new(own)
        numbers = np.lib.format.open_memmap(own, "w+", np.dtype(dtype), shape)
        with own.open("r+b") as file:
            # A write to mapped memory cannot report a full disk.
            output.allocate(file.fileno(), numbers.offset, numbers.nbytes)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    return mapped_section(own, numbers.offset, shape[0], numbers.nbytes // shape[0])


def mapped_section(
    path: Path, offset: int, n_frames: int, size: int, mode: Literal["r", "r+"] = "r+"
) -> NDArray[np.uint8]:
    """Return the bytes of an array in a file; `size` are those of the entry of a frame."""
    if n_frames * size == 0:
        return np.zeros((n_frames, size), np.uint8)
    return np.asarray(np.memmap(path, np.uint8, mode, offset, (n_frames, size)))


@contextmanager
def section_writer(sections: Sections) -> Iterator[Callable[[int, Sections], None]]:
    """Yield a function that stores the entries of some frames in `sections`, from a first frame on.

    Entries of arrays that are mapped from a file are written to the file: pages that are changed
    through the map would count as memory of this process.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    with ExitStack() as files:
        writers = []
        for section in sections:
            mapped = section.base
            if isinstance(mapped, np.memmap):
                file = files.enter_context(open(str(mapped.filename), "r+b", buffering=0))
                writers.append(_writer(file, mapped.offset, section.strides[0]))
            else:
                writers.append(partial(_keep, section))

        def write_all(first: int, parts: Sections) -> None:
            for write, part in zip(writers, parts, strict=True):
                write(first, part)

        yield write_all


def _keep(section: NDArray[np.uint8], first: int, part: NDArray[np.uint8]) -> None:
    """Store the entries of some frames in a section."""
    section[first : first + len(part)] = part


def _writer(
    file: FileIO, offset: int, entry_bytes: int
) -> Callable[[int, NDArray[np.uint8]], None]:
    """Return a function that writes the entries of some frames to a file."""

    def write(first: int, part: NDArray[np.uint8]) -> None:
        left = np.ascontiguousarray(part).data.cast("B")
        try:
            file.seek(offset + first * entry_bytes)
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise OutputError(f"{file.name}: cannot be written: {error.strerror}") from error

    return write


def passes(
    reader: Reader,
    plan: Plan,
    frames: Frames,
    timing: RunTiming,
    *,
    threads: int,
    make_tasks: Callable[[_trajet.Pass], Sequence[Task]],
    make_sections: MakeSections = new_sections,
    secrets: bool = False,
) -> Iterator[PassRun]:
    """Iterate over the passes of a plan; each must be done before the next is requested.

    Secrets of remote storage are sent to workers on this machine alone.
    """
    n_frames = n_frames_of(frames)
    states: list[NDArray[np.uint8]] = []
    while True:
        pass_ = _trajet.Pass(plan, reader.n_atoms, n_frames, states)
        worker_input = reader.worker_input(pass_.atoms, secrets=secrets)
        worker_spec = WorkerSpec(worker_input, plan, n_frames, tuple(states), threads)
        sections, merged = make_sections(pass_, n_frames), _trajet.States(pass_)
        tasks = make_tasks(pass_)
        yield PassRun(reader, frames, pass_, worker_spec, tasks, n_frames, sections, merged)
        timing.passes += 1
        if pass_.is_last:
            return
        states.append(merged.whole())
