"""`ProcessPool`: other processes of this machine."""

import atexit
import gc
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import ClassVar, Generic, Self

import numpy as np

from trajet import _trajet
from trajet._trajet import Pass, Plan, Reader, WorkerError
from trajet.output import folder_in
from trajet.pools.dispatch import Cancel, Copy, Dispatch, GiveUp, Instruction, Submit, Take
from trajet.pools.jobs import (
    Job,
    JobResult,
    JobSpec,
    JobWorker,
    Outcome,
    Payload,
    TakeResult,
    store_in,
    try_job,
)
from trajet.pools.mapping import MappingPool
from trajet.pools.passes import PassRun, passes, tasks_of
from trajet.pools.pool import (
    Frames,
    Pool,
    PoolFacts,
    Progress,
    RunOutput,
    check_counts,
    n_frames_of,
)
from trajet.pools.shared import file_of, in_memory, shared_buffer
from trajet.pools.tasks import Sections, Task, TaskOutcome, Worker, WorkerSpec, sections_of
from trajet.pools.timing import RunTiming
from trajet.pools.worker_processes import DiedError, WorkerProcesses, start_forked, start_new

# Bytes that are read at once of those that end a wait.
_WAKES = 4096


@dataclass(frozen=True, kw_only=True)
class ProcessPool(MappingPool, Pool):
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
    """

    kind: ClassVar[str] = "processes"

    workers: int | None = None
    threads: int = 1
    task_frames: int | None = None
    fork: bool = False

    def __post_init__(self) -> None:
        check_counts(workers=self.workers, threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads of all processes."""
        return self._n_workers * self.threads

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool."""
        return PoolFacts(
            n_threads=self.n_threads,
            threads=self.threads,
            processes_here=self._n_workers,
            is_local=True,
            takes_members=not self.fork,
            task_frames=self.task_frames,
        )

    @property
    def _n_workers(self) -> int:
        return self.workers or _trajet.available_threads()

    @contextmanager
    def _processes(self, calls_of_each: int = 1) -> Iterator[WorkerProcesses]:
        """Yield the processes of a run; they are killed if it fails."""
        processes = WorkerProcesses(start_forked) if self.fork else _kept_processes()
        try:
            processes.limit(self._n_workers, calls_of_each)
            yield processes
        except BaseException:
            # Tasks that still run would write to files that are gone.
            processes.end(kill=True)
            raise
        if self.fork:
            processes.end()
        else:
            _keep(processes)

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        if self.fork and reader.connections is not None:
            raise ValueError(
                "forked processes cannot read remote storage, as its threads are not copied: leave"
                " fork=True out"
            )
        workers = self._n_workers
        timing, numbers = RunTiming(), _WorkerNumbers()
        n_frames = n_frames_of(frames)
        with ExitStack() as kept:
            folder, buffer_at = kept.enter_context(folder_in(in_memory())), Path()

            def make_sections(pass_: Pass, n_frames: int) -> Sections:
                nonlocal buffer_at
                buffer, buffer_at = shared_buffer(kept, pass_.sections(n_frames)[1])
                return sections_of(pass_, n_frames, buffer)

            all_passes = passes(
                reader,
                plan,
                frames,
                timing,
                threads=self.threads,
                make_tasks=lambda pass_: tasks_of(pass_, workers * self.threads, self.task_frames),
                make_sections=make_sections,
                secrets=True,
            )
            # After a failure, processes end before the files that they use are closed.
            with self._processes() as processes:
                for part in all_passes:
                    before = timing.passes * n_frames
                    self._do(processes, folder, part, buffer_at, timing, numbers, before, progress)
            report = timing.report(pool=self.kind, processes=workers, threads=self.threads)
            return part.output(report)

    def _do(
        self,
        processes: WorkerProcesses,
        folder: Path,
        part: PassRun,
        buffer: Path,
        timing: RunTiming,
        numbers: "_WorkerNumbers",
        before: int,
        progress: Progress | None,
    ) -> None:
        """Run a pass."""
        spec = folder / f"spec{timing.passes}"
        spec.write_bytes(pickle.dumps(part.worker_spec))

        def call_of(number: int) -> Callable[[], TaskOutcome]:
            task = part.tasks[number]
            return partial(_do, spec, buffer, task, part.task_bytes(task))

        def take(number: int, done: object) -> Collection[int]:
            assert isinstance(done, TaskOutcome)
            part.states.add(done.states)
            timing.add(numbers.number(done.process), part.tasks[number], done)
            return ()

        def name_of(number: int) -> str:
            first, end = part.tasks[number].frames
            return f"the task of frames {first} to {end - 1}"

        tasks = _Tasks(
            processes=processes,
            name_of=name_of,
            call_of=call_of,
            take=take,
            retry=lambda number, error: timing.retry(part.tasks[number], error),
        )
        tasks.add([task.n_frames for task in part.tasks])
        while tasks.are_left:
            tasks.wait()
            if progress is not None:
                progress(before + tasks.frames_done, before + part.n_frames)

    def do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None = None,
        take: TakeResult[Outcome] | None = None,
    ) -> list[JobResult[Outcome]]:
        """Run jobs; see `trajet.pools.jobs.JobPool`."""
        done: dict[int, JobResult[Outcome]] = {}
        take_result = take or store_in(done)
        total, frames_done = sum(job.n_frames for job in jobs), 0
        with ExitStack() as kept:
            processes = kept.enter_context(self._processes())
            # Processes start while the spec is pickled.
            processes.start(len(jobs))
            path = kept.enter_context(file_of(pickle.dumps(spec)))
            stream = kept.enter_context(_JobStream[Payload, Outcome](processes, path, self.threads))
            stream.submit(jobs)
            unwanted = set[int]()
            while stream.has_jobs:
                for number, result in stream.wait():
                    if number in unwanted:
                        continue
                    frames_done += jobs[number].n_frames
                    no_more = take_result(number, result)
                    unwanted.update(no_more)
                    stream.leave_out(no_more)
                if progress is not None:
                    progress(frames_done, total)
            processes.tell_all(_release_jobs)
        return [done[number] for number in sorted(done)]

    @contextmanager
    def job_stream(
        self, spec: JobSpec[Payload, Outcome]
    ) -> "Iterator[_JobStream[Payload, Outcome]]":
        """Return jobs with a common part; see `trajet.pools.jobs.StreamPool`."""
        with ExitStack() as kept:
            processes = kept.enter_context(self._processes(calls_of_each=2))
            path = kept.enter_context(file_of(pickle.dumps(spec)))
            stream = kept.enter_context(_JobStream[Payload, Outcome](processes, path, self.threads))
            yield stream
            # Calls of jobs that are wanted no more end before the workers are used again.
            while stream.has_jobs:
                stream.wait()
            processes.tell_all(_release_jobs)


@dataclass(frozen=True, kw_only=True)
class _Tasks:
    """Tasks that the dispatch core gives to processes.

    Attributes
    ----------
    processes
        The processes.
    name_of
        Returns the name of a task, for errors.
    call_of
        Returns the function that a worker calls for a task, by the number of the task.
    take
        Takes the result of a task; returns the numbers of tasks that are wanted no more.
    retry
        Notes that a task failed, with an error of the storage, and is tried again.
    """

    processes: WorkerProcesses
    name_of: Callable[[int], str]
    call_of: Callable[[int], Callable[[], object]]
    take: Callable[[int, object], Collection[int]]
    retry: Callable[[int, str], None]
    _dispatch: Dispatch = field(default_factory=lambda: Dispatch([]))

    @property
    def are_left(self) -> bool:
        """Whether a task is not done, or a call of a task that is wanted no more has not ended."""
        return not self._dispatch.is_done or self.processes.have_calls

    @property
    def frames_done(self) -> int:
        """Frames of the tasks that are done."""
        return self._dispatch.frames_done

    def add(self, n_frames: Sequence[int]) -> None:
        """Add tasks, given the frames of each; their numbers follow those of earlier ones."""
        self._carry_out(self._dispatch.add(n_frames))

    def leave_out(self, numbers: Collection[int]) -> None:
        """Leave out tasks that are wanted no more."""
        if numbers:
            self._carry_out(self._dispatch.leave_out(numbers))

    def wait(self, wake: int | None = None) -> None:
        """Take the results that have come; see `WorkerProcesses.wait`.

        Raises
        ------
        WorkerError
            If a process dies.
        """
        for copy, value, error in self.processes.wait(wake):
            if error is None:
                # The core needs neither for tasks without a rule for stragglers.
                instructions = self._dispatch.finished(copy, "", 0.0)
            else:
                instructions = self._dispatch.failed(copy, error)
            for instruction in instructions:
                match instruction:
                    case Take():
                        self.leave_out(self.take(copy.task, value))
                    case Submit():
                        if error is not None:
                            self.retry(copy.task, str(error))
                        self._carry_out([instruction])
                    case GiveUp():
                        assert error is not None
                        raise self._error_of(copy, error)

    def _carry_out(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Submit():
                    copy = instruction.copy
                    self.processes.submit(copy, self.call_of(copy.task))
                case Cancel():
                    self.processes.withdraw(instruction.copies)

    def _error_of(self, copy: Copy, error: BaseException) -> BaseException:
        """Return the error of a task as the caller gets it."""
        if not isinstance(error, DiedError):
            return error
        return WorkerError(
            f"a process of the pool died during {self.name_of(copy.task)}{error}: was it killed, or"
            " is memory short?"
        )


class _JobStream(Generic[Payload, Outcome]):
    """Jobs of some processes; see `trajet.pools.jobs.JobStream`.

    Parameters
    ----------
    processes
        The processes.
    spec
        File of the common part of the jobs.
    threads
        Threads of each process.
    """

    def __init__(self, processes: WorkerProcesses, spec: Path, threads: int) -> None:
        self._spec, self._threads, self._folder = spec, threads, _folder()
        self._jobs: dict[int, Job[Payload]] = {}
        self._n_submitted = 0
        self._results: list[tuple[int, JobResult[Outcome]]] = []
        self._retried: defaultdict[int, list[str]] = defaultdict(list)
        self._numbers = _WorkerNumbers()
        self._tasks = _Tasks(
            processes=processes,
            name_of=lambda number: f"job {number} of {self._n_submitted}",
            call_of=self._call_of,
            take=self._take,
            retry=lambda number, error: self._retried[number].append(error),
        )
        # The ends of a pipe; None after the end.
        self._wakes: tuple[int, int] | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._wakes = os.pipe()
        for end in self._wakes:
            os.set_blocking(end, False)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            ends, self._wakes = self._wakes, None
        for end in ends or ():
            os.close(end)

    @property
    def has_jobs(self) -> bool:
        """Whether a job is not done, or one that is wanted no more has not ended."""
        return self._tasks.are_left

    def submit(self, jobs: Sequence[Job[Payload]]) -> range:
        """Submit further jobs; return their numbers."""
        numbers = range(self._n_submitted, self._n_submitted + len(jobs))
        self._n_submitted = numbers.stop
        self._jobs.update(zip(numbers, jobs, strict=True))
        # Files without frames have jobs too.
        self._tasks.add([max(1, job.n_frames) for job in jobs])
        return numbers

    def leave_out(self, numbers: Collection[int]) -> None:
        """Leave out jobs that are wanted no more, if they have not begun."""
        self._tasks.leave_out(numbers)
        for number in numbers:
            self._jobs.pop(number, None)

    def wait(self) -> list[tuple[int, JobResult[Outcome]]]:
        """Wait until results have come, a tenth of a second at most; return them."""
        assert self._wakes is not None
        self._tasks.wait(self._wakes[0])
        with suppress(BlockingIOError):
            os.read(self._wakes[0], _WAKES)
        results, self._results = self._results, []
        return results

    def wake(self) -> None:
        """Have `wait` return; another thread may call it, at any time."""
        with self._lock, suppress(BlockingIOError):
            if self._wakes is not None:
                os.write(self._wakes[1], b"x")

    def _call_of(self, number: int) -> Callable[[], object]:
        return partial(_do_job, self._spec, self._jobs[number], self._threads, self._folder)

    def _take(self, number: int, answer: object) -> Collection[int]:
        assert isinstance(answer, JobResult)
        self._jobs.pop(number, None)
        where = self._numbers.number(answer.where["process"])
        retried = self._retried.pop(number, [])
        self._results.append((number, replace(answer.by(worker=where), retried=retried)))
        return ()


class _WorkerNumbers:
    """Numbers of workers, by process, in the order of their first results."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, process: int) -> int:
        return self._numbers.setdefault(process, len(self._numbers))


# Processes that no run uses now, for the next one.
_kept: WorkerProcesses | None = None
_lock = Lock()


def _kept_processes() -> WorkerProcesses:
    """Return the processes of an earlier run, or an object that starts some."""
    global _kept
    with _lock:
        processes, _kept = _kept, None
    return processes or WorkerProcesses(start_new)


def _keep(processes: WorkerProcesses) -> None:
    """Keep processes for the next run; end those that are kept already, by another thread."""
    global _kept
    with _lock:
        before, _kept = _kept, processes
    if before is not None:
        before.end()


@atexit.register
def end_kept() -> None:
    """End the processes that are kept for the next run."""
    _kept_processes().end()


def _forget() -> None:
    """Forget processes in a child of this process, which has other children."""
    global _kept, _lock
    _kept, _lock = None, Lock()


os.register_at_fork(after_in_child=_forget)


# Worker of the current pass, by the file of its spec.
_at_work: dict[Path, Worker] = {}


def _do(spec: Path, buffer: Path, task: Task, what: bytes) -> TaskOutcome:
    """Run a task in a worker, which fills its part of a file of all arrays."""
    worker = _at_work.get(spec)
    if worker is None:
        worker_spec: WorkerSpec = pickle.loads(spec.read_bytes())
        last = next(iter(_at_work.values()), None)
        _at_work.clear()
        worker = _at_work[spec] = Worker(worker_spec, last)
    n_frames = worker.worker_spec.n_frames
    _, size = worker.pass_.sections(n_frames)
    mapped = np.asarray(np.memmap(buffer, np.uint8, "r+")) if size else np.zeros(0, np.uint8)
    return worker.do(what, task.part(sections_of(worker.pass_, n_frames, mapped)))


def _folder() -> str | None:
    """Return the current folder, if it still exists."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


# Worker of the current jobs, by the file of its spec.
_jobs_at_work: dict[Path, JobWorker[object, object]] = {}


def _do_job(spec: Path, job: Job[object], threads: int, folder: str | None) -> JobResult[object]:
    """Run a job in a worker, in the folder of the calling process."""
    if folder is not None:
        os.chdir(folder)
    worker = _jobs_at_work.get(spec)
    if worker is None:
        made: JobSpec[object, object] = pickle.loads(spec.read_bytes())
        worker = _jobs_at_work[spec] = made.begin()
    return try_job(worker, job, threads, lambda _: None)


def _release_jobs() -> None:
    """Delete the `JobWorker` of finished jobs in this process, which closes its files."""
    _jobs_at_work.clear()
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
