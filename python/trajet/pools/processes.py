"""`ProcessPool`: other processes of this machine."""

import pickle
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, signals
from trajet._trajet import MissingPackageError, Reader, WorkerError
from trajet.advise.entries import RunReport
from trajet.pools.dispatch import Copy, Dispatch, GiveUp, Submit, Take
from trajet.pools.passes import PassRun, passes, tasks_of
from trajet.pools.pool import AnalysisSpec, Frames, Progress, check_counts, n_frames_of
from trajet.pools.shared import folder_in, in_memory, shared_rows
from trajet.pools.tasks import Task, TaskOutcome, Worker, WorkerSpec
from trajet.pools.timing import RunTiming

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor


# Seconds between two checks for Ctrl-C.
_LOOK = 0.1


@dataclass(frozen=True, kw_only=True)
class ProcessPool:
    """Other processes of this machine, started on first use and kept for the next run.

    Threads do the same work with less overhead. Processes serve where many threads of one process
    are slow (memory of several sockets), and to try out a cluster.

    Attributes
    ----------
    workers
        Processes; None for as many as this one may use cores.
    threads
        Threads of each.
    task_frames
        Frames of a task, rounded up to whole leaves; None for a size that keeps all workers busy.
        It changes no bit of a result.

    Raises
    ------
    ValueError
        If a number is below one.
    MissingPackageError
        When it runs, if loky is not installed.
    """

    workers: int | None = None
    threads: int = 1
    task_frames: int | None = None

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_counts(workers=self.workers, threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads of all processes."""
        return (self.workers or _trajet.available_threads()) * self.threads

    def run(
        self,
        reader: Reader,
        plan: AnalysisSpec,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], RunReport]:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        workers = self.workers or _trajet.available_threads()
        executor = _executor(workers)
        timing, numbers = RunTiming(), _WorkerNumbers()
        n_frames = n_frames_of(frames)
        with ExitStack() as kept:
            folder, rows_at = kept.enter_context(folder_in(in_memory())), Path()

            def make_rows(shape: tuple[int, int]) -> NDArray[np.float64]:
                nonlocal rows_at
                rows, rows_at = shared_rows(kept, shape)
                return rows

            all_passes = passes(
                reader,
                plan,
                frames,
                timing,
                threads=self.threads,
                make_tasks=lambda pass_: tasks_of(pass_, workers * self.threads, self.task_frames),
                make_rows=make_rows,
            )
            for part in all_passes:
                before = timing.passes * n_frames
                try:
                    self._do(executor, folder, part, rows_at, timing, numbers, before, progress)
                except BaseException:
                    # Tasks that still run would write to files that are gone.
                    executor.shutdown(wait=True, kill_workers=True)
                    raise
        state = part.states.whole()
        report = timing.report(pool="processes", processes=workers, threads=self.threads)
        return part.rows, state, report

    def _do(
        self,
        executor: "ProcessPoolExecutor",
        folder: Path,
        part: PassRun,
        rows: Path,
        timing: RunTiming,
        numbers: "_WorkerNumbers",
        before: int,
        progress: Progress | None,
    ) -> None:
        """Run a pass."""
        spec = folder / f"spec{timing.passes}"
        spec.write_bytes(pickle.dumps(part.worker_spec))
        dispatch = Dispatch([task.n_frames for task in part.tasks])
        running: dict[Future[TaskOutcome], Copy] = {}

        def died(copy: Copy) -> WorkerError:
            first, end = part.tasks[copy.task].frames
            return WorkerError(
                f"a process of the pool died during the task of frames {first} to"
                f" {end - 1}: was it killed, or is memory short?"
            )

        def submit(copy: Copy) -> None:
            task = part.tasks[copy.task]
            task_bytes = part.task_bytes(task)
            # This starts processes, or a thread that starts them.
            try:
                with signals.kept_from_children():
                    future = executor.submit(_do, spec, rows, part.rows.shape, task, task_bytes)
            except BrokenExecutor as error:
                raise died(copy) from error
            running[future] = copy

        for first in dispatch.start({}):
            submit(first.copy)
        while not dispatch.is_done:
            ended, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in sorted(ended, key=lambda future: running[future].task):
                copy = running.pop(future)
                task, error = part.tasks[copy.task], future.exception()
                if error is None:
                    done = future.result()
                    name, seconds = str(done.process), done.end - done.begin
                    instructions = dispatch.finished(copy, name, seconds)
                else:
                    instructions = dispatch.failed(copy, error)
                for instruction in instructions:
                    match instruction:
                        case Take():
                            part.states.add(done.states)
                            timing.add(numbers.number(done.process), task, done)
                        case Submit(again):
                            timing.retry(task, str(error))
                            submit(again)
                        case GiveUp() if isinstance(error, BrokenExecutor):
                            raise died(copy) from error
                        case GiveUp():
                            future.result()
            if progress is not None:
                progress(before + dispatch.frames_done, before + len(part.rows))


class _WorkerNumbers:
    """Numbers of workers, by process, in the order of their first results."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, process: int) -> int:
        return self._numbers.setdefault(process, len(self._numbers))


def _executor(workers: int) -> "ProcessPoolExecutor":
    try:
        from loky import get_reusable_executor
    except ImportError as error:
        raise MissingPackageError(
            "a pool of processes needs loky: pip install 'trajet[processes]'"
        ) from error
    # This starts a process that removes semaphores.
    with signals.kept_from_children():
        return get_reusable_executor(max_workers=workers)


# Worker of the current pass, by the file of its spec.
_at_work: dict[Path, Worker] = {}


def _do(spec: Path, rows: Path, shape: tuple[int, int], task: Task, what: bytes) -> TaskOutcome:
    """Run a task in a worker."""
    worker = _at_work.get(spec)
    if worker is None:
        worker_spec: WorkerSpec = pickle.loads(spec.read_bytes())
        last = next(iter(_at_work.values()), None)
        _at_work.clear()
        worker = _at_work[spec] = Worker(worker_spec, last)
    first, end = task.frames
    if 0 in shape:
        return worker.do(what, np.zeros((end - first, shape[1])))
    mapped = np.memmap(rows, np.float64, "r+", shape=shape)
    return worker.do(what, np.asarray(mapped)[first:end])
