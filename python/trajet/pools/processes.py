"""`ProcessPool`: other processes of this machine."""

import gc
import os
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, signals
from trajet._trajet import MissingPackageError, Reader, WorkerError
from trajet.advise.entries import RunReport
from trajet.pools.dispatch import Copy, Dispatch, GiveUp, Submit, Take
from trajet.pools.forked import ForkedExecutor, forked
from trajet.pools.jobs import Job, JobResult, JobSpec, JobWorker, try_job
from trajet.pools.mapping import MappingPool
from trajet.pools.passes import PassRun, passes, tasks_of
from trajet.pools.pool import AnalysisSpec, Frames, Progress, check_counts, n_frames_of
from trajet.pools.shared import file_of, folder_in, in_memory, shared_rows
from trajet.pools.tasks import Task, TaskOutcome, Worker, WorkerSpec
from trajet.pools.timing import RunTiming

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

    Executor: TypeAlias = ProcessPoolExecutor | ForkedExecutor


# Seconds between two checks for Ctrl-C.
_LOOK = 0.1
# Module of loky that workers of it have.
_LOKY = "loky.process_executor"


@dataclass(frozen=True, kw_only=True)
class ProcessPool(MappingPool):
    """Other processes of this machine, by default started on first use and kept for the next run.

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
    fork
        Whether the processes are forked from this one for each run instead, and end with it. They
        need not import packages, which may take longer than to analyse a few thousand frames: use
        it in scripts that have imported MDAnalysis. As with all forks, a lock that another thread
        of this process holds at this moment stays locked in them, and open files are shared: do
        not fork under MPI, or while other threads compute, OpenMP's among them.

    Raises
    ------
    ValueError
        If a number is below one.
    MissingPackageError
        When it runs without `fork`, if loky is not installed.
    """

    kind: ClassVar[str] = "processes"

    workers: int | None = None
    threads: int = 1
    task_frames: int | None = None
    fork: bool = False

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_counts(workers=self.workers, threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads of all processes."""
        return self._n_workers * self.threads

    @property
    def _n_workers(self) -> int:
        return self.workers or _trajet.available_threads()

    @contextmanager
    def _processes(self) -> Iterator["Executor"]:
        """Yield the executor of a run."""
        if self.fork:
            with forked(self._n_workers) as executor:
                yield executor
        else:
            yield _executor(self._n_workers)

    def run(
        self,
        reader: Reader,
        plan: AnalysisSpec,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], RunReport]:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        workers = self._n_workers
        timing, numbers = RunTiming(), _WorkerNumbers()
        n_frames = n_frames_of(frames)
        with ExitStack() as kept:
            executor = kept.enter_context(self._processes())
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
        report = timing.report(pool=self.kind, processes=workers, threads=self.threads)
        return part.rows, state, report

    def _do(
        self,
        executor: "Executor",
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

        def submit(number: int) -> "Future[TaskOutcome]":
            task = part.tasks[number]
            task_bytes, shape = part.task_bytes(task), part.rows.shape
            future: Future[TaskOutcome] = executor.submit(_do, spec, rows, shape, task, task_bytes)
            return future

        def take(number: int, done: TaskOutcome) -> None:
            part.states.add(done.states)
            timing.add(numbers.number(done.process), part.tasks[number], done)

        def show(done: int) -> None:
            if progress is not None:
                progress(before + done, before + len(part.rows))

        frames = [task.frames for task in part.tasks]
        _Tasks(
            n_frames=[task.n_frames for task in part.tasks],
            names=[f"the task of frames {first} to {end - 1}" for first, end in frames],
            submit=submit,
            take=take,
            retry=lambda number, error: timing.retry(part.tasks[number], error),
        ).run(show)

    def do_jobs(
        self, spec: JobSpec, jobs: Sequence[Job], progress: Progress | None = None
    ) -> list[JobResult]:
        """Run jobs; see `trajet.pools.jobs.JobPool`."""
        with self._processes() as executor:
            return self._do_jobs(executor, spec, jobs, progress)

    def _do_jobs(
        self,
        executor: "Executor",
        spec: JobSpec,
        jobs: Sequence[Job],
        progress: Progress | None,
    ) -> list[JobResult]:
        """Run jobs on an executor."""
        # Processes start while the spec is pickled.
        with signals.kept_from_children():
            executor.submit(os.getpid)
        numbers, here = _WorkerNumbers(), _folder()
        done: dict[int, JobResult] = {}
        retried: defaultdict[int, list[str]] = defaultdict(list)
        total = sum(job.n_frames for job in jobs)
        with file_of(pickle.dumps(spec)) as path:

            def submit(number: int) -> "Future[JobResult]":
                future: Future[JobResult]
                future = executor.submit(_do_job, path, jobs[number], self.threads, here)
                return future

            def take(number: int, answer: JobResult) -> None:
                where = numbers.number(answer.where["process"])
                done[number] = replace(answer.by(worker=where), retried=retried[number])

            def show(_: int) -> None:
                if progress is not None:
                    progress(sum(jobs[number].n_frames for number in done), total)

            try:
                _Tasks(
                    # Files without frames have jobs too.
                    n_frames=[max(1, job.n_frames) for job in jobs],
                    names=[f"job {number} of {len(jobs)}" for number in range(len(jobs))],
                    submit=submit,
                    take=take,
                    retry=lambda number, error: retried[number].append(str(error)),
                ).run(show)
            except BaseException:
                executor.shutdown(wait=True, kill_workers=True)
                raise
        return [done[number] for number in range(len(jobs))]


@dataclass(frozen=True, kw_only=True)
class _Tasks:
    """Tasks that the dispatch core gives to processes.

    Attributes
    ----------
    n_frames
        Frames of each task.
    names
        Names of the tasks, for errors.
    submit
        Submits a task, by its number.
    take
        Takes the result of a task.
    retry
        Notes that a task failed, with an error of the storage, and is tried again.
    """

    n_frames: Sequence[int]
    names: Sequence[str]
    submit: Callable[[int], "Future[Any]"]
    take: Callable[[int, Any], None]
    retry: Callable[[int, str], None]

    def run(self, show: Callable[[int], None]) -> None:
        """Run all tasks; `show` is called with the frames that are done.

        Raises
        ------
        WorkerError
            If a process dies.
        """
        dispatch = Dispatch(self.n_frames)
        running: dict[Future[Any], Copy] = {}

        def submit(copy: Copy) -> None:
            # This starts processes, or a thread that starts them.
            try:
                with signals.kept_from_children():
                    future = self.submit(copy.task)
            except BrokenExecutor as error:
                raise self._died(copy) from error
            running[future] = copy

        for first in dispatch.start({}):
            submit(first.copy)
        while not dispatch.is_done:
            ended, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in sorted(ended, key=lambda future: running[future].task):
                copy = running.pop(future)
                error = future.exception()
                if error is None:
                    done = future.result()
                    # The core needs neither for tasks without a rule for stragglers.
                    instructions = dispatch.finished(copy, "", 0.0)
                else:
                    instructions = dispatch.failed(copy, error)
                for instruction in instructions:
                    match instruction:
                        case Take():
                            self.take(copy.task, done)
                        case Submit(again):
                            self.retry(copy.task, str(error))
                            submit(again)
                        case GiveUp() if isinstance(error, BrokenExecutor):
                            raise self._died(copy) from error
                        case GiveUp():
                            future.result()
            show(dispatch.frames_done)

    def _died(self, copy: Copy) -> WorkerError:
        return WorkerError(
            f"a process of the pool died during {self.names[copy.task]}: was it killed, or is"
            " memory short?"
        )


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


def _folder() -> str | None:
    """Return the current folder, if it still exists."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


# Worker of the current jobs, by the file of its spec.
_jobs_at_work: dict[Path, JobWorker] = {}
_jobs_lock = Lock()


def _do_job(spec: Path, job: Job, threads: int, folder: str | None) -> JobResult:
    """Run a job in a worker, in the folder of the calling process."""
    if folder is not None:
        os.chdir(folder)
    with _jobs_lock:
        worker = _jobs_at_work.get(spec)
        if worker is None:
            if _jobs_at_work:
                _jobs_at_work.clear()
                _collect()
            _growth_limit()
            _limit_growth(sys.maxsize)
            made: JobSpec = pickle.loads(spec.read_bytes())
            worker = _jobs_at_work[spec] = made.begin()
            Thread(target=_release_after, args=(spec,), daemon=True).start()
    return try_job(worker, job, threads, lambda _: None)


def _release_after(spec: Path) -> None:
    """Release the worker of some jobs, with the files that it has open, when the jobs are done.

    Then the calling process removes the file of their spec. loky can send no message to a certain
    process, which may get no further task.
    """
    while spec.exists():
        time.sleep(_LOOK)
    with _jobs_lock:
        if _jobs_at_work.pop(spec, None) is None:
            return
        # Others use the same processes.
        _limit_growth(_growth_limit())
        _collect()


# Whether this worker has imported what its jobs need.
_is_warm = False


def _collect() -> None:
    """Collect what jobs held that are done, such as a Universe, which may refer to itself.

    After the first jobs the remaining objects are those of modules, for the most part: the worker
    no longer goes through them whenever it collects.
    """
    global _is_warm  # noqa: PLW0603
    gc.collect()
    if not _is_warm:
        gc.freeze()
        _is_warm = True


@cache
def _growth_limit() -> int:
    """Return loky's own limit of the bytes by which a worker may grow."""
    loky = sys.modules.get(_LOKY)
    limit: int = sys.maxsize if loky is None else loky._MAX_MEMORY_LEAK_SIZE
    return limit


def _limit_growth(limit: int) -> None:
    """Let loky end this worker, with what was sent to it, if it grows by more bytes."""
    # Forked workers may be without loky.
    if (loky := sys.modules.get(_LOKY)) is not None:
        loky._MAX_MEMORY_LEAK_SIZE = limit  # type: ignore[attr-defined]
