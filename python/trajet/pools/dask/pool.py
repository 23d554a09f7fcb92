"""`DaskPool`, the pool of a Dask cluster."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from trajet._trajet import Pass, Plan, Reader, WorkerError
from trajet.advise.task_columns import TaskColumns
from trajet.pools.dask.cluster import distributed
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, TakeResult, store_in
from trajet.pools.mapping import MappingPool
from trajet.pools.passes import (
    MakeSections,
    blocks_of,
    most_frames,
    passes,
    sections_in,
    tasks_of,
)
from trajet.pools.pool import (
    Frames,
    Pool,
    PoolFacts,
    Progress,
    RunOutput,
    check_counts,
    n_frames_of,
)
from trajet.pools.tasks import Task
from trajet.pools.timing import RunTiming
from trajet.report_entries import RepeatedEntry, TaskEntry, TransitionEntry

if TYPE_CHECKING:
    from distributed import Client

    from trajet.pools.dask.plugins import SchedulerRecord
    from trajet.pools.dask.workers import Workers

Scheduling = Literal["dynamic", "static"]


@dataclass(frozen=True)
class DaskPool(MappingPool, Pool):
    """Workers of a Dask cluster: on this machine, by the address of a scheduler, or on SLURM.

    Workers read the files of the trajectory themselves, by the absolute paths that they have here.

    Attributes
    ----------
    client
        A `distributed.Client`. A run waits for a first worker, and workers that join during the run
        take part in it.
    threads
        Threads of each task. A Dask worker with several threads runs as many tasks at once.
    task_frames
        Frames of a task, rounded up to whole leaves; None for a size that keeps all workers busy.
        It changes no bit of a result.
    scheduling
        "dynamic": Dask's scheduler assigns tasks as workers come free, and an idle worker runs a
        straggler as well. "static": one block of neighbouring frames for each thread of Dask's
        workers; several if the numbers of one would be over 64 MiB.
    oversubscription
        Tasks for each thread of Dask's workers, instead of `task_frames`.
    rows_in
        A folder for the numbers of all frames, if memory has no room for them: a `.npy` file for
        each array. Existing files are replaced.
    wait_for_workers
        Seconds that a run waits for a first worker.

    Raises
    ------
    ValueError
        If a number is below one, a scheduling is unknown, or the client is an asynchronous one.
    TypeError
        If `client` is not a client, for example the address of a scheduler.
    MissingPackageError
        At a run, if distributed is not installed.
    WorkerError
        At a run, if no worker joins, if a task kills its workers again and again, or if the
        scheduler cannot be reached.
    """

    kind: ClassVar[str] = "dask"

    client: "Client"
    _: KW_ONLY
    threads: int = 1
    task_frames: int | None = None
    scheduling: Scheduling = "dynamic"
    oversubscription: int | None = None
    rows_in: str | os.PathLike[str] | None = None
    wait_for_workers: float = 60.0

    def __post_init__(self) -> None:
        check_counts(
            threads=self.threads,
            task_frames=self.task_frames,
            oversubscription=self.oversubscription,
        )
        if self.scheduling not in get_args(Scheduling):
            known = " or ".join(get_args(Scheduling))
            raise ValueError(f"scheduling must be {known}, not {self.scheduling}")
        if not hasattr(self.client, "submit"):
            given = f"n_workers={self.client}" if isinstance(self.client, int) else "SCHEDULER"
            given = repr(self.client) if isinstance(self.client, str) else given
            raise TypeError(
                f"DaskPool takes a distributed.Client, not {self.client!r}: write"
                f" tj.DaskPool(Client({given})), after from distributed import Client"
            )
        if self.client.asynchronous:
            raise ValueError("the client is asynchronous: make one without that option")

    @property
    def n_threads(self) -> int:
        """Number of threads of all tasks that run at once on the workers that have joined."""
        there: dict[str, int] = {}
        # A run raises the error of a broken client.
        with suppress(OSError):
            there = self.client.nthreads() if self.client.status == "running" else {}
        return max(1, sum(there.values())) * self.threads

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool."""
        return PoolFacts(
            n_threads=self.n_threads,
            threads=self.threads,
            has_room_for_rows=self.rows_in is not None,
            takes_members=self.rows_in is None,
            task_frames=self.task_frames,
        )

    def await_worker(self) -> None:
        """Wait until a worker has joined, for `wait_for_workers` seconds at most.

        Raises
        ------
        WorkerError
            If none comes, or the scheduler cannot be reached.
        """
        with self._workers():
            pass

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        kept = None if self.rows_in is None else Path(self.rows_in)
        with sections_in(kept) as make_sections:
            return self._run(reader, plan, frames, make_sections, progress)

    def _run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        make_sections: MakeSections,
        progress: Progress | None,
    ) -> RunOutput:
        module = distributed()
        from trajet.pools.dask.dispatcher import Dispatcher
        from trajet.pools.dask.workers import started_run

        client, timing = self.client, RunTiming()
        repeated: list[RepeatedEntry] = []
        with self._workers() as workers, started_run(client) as run:
            all_passes = passes(
                reader,
                plan,
                frames,
                timing,
                threads=self.threads,
                make_tasks=lambda pass_: self._tasks(pass_, len(workers.slots())),
                make_sections=make_sections,
            )
            for part in all_passes:
                name = run.announce(part.worker_spec, sum(workers.threads.values()))
                pins = self._pins(part.tasks, workers.slots())
                dispatcher = Dispatcher(client, workers, name, part, timing, pins)
                run.on_progress = dispatcher.on_progress
                dispatcher.do(timing.passes * n_frames_of(frames), progress)
                repeated += dispatcher.repeated
            record = run.end()
        report = timing.report(
            pool=self.kind,
            threads_per_task=self.threads,
            scheduler=client.scheduler.address,
            scheduling=self.scheduling,
            versions={"distributed": module.__version__},
            repeated=repeated,
            transitions=_transitions(timing, record),
            transitions_left_out=record.left_out,
        )
        report["tasks"] = _with_scheduler(report["tasks"], record.spans)
        return part.output(report)

    def do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None = None,
        take: TakeResult[Outcome] | None = None,
    ) -> list[JobResult[Outcome]]:
        """Run jobs; see `trajet.pools.jobs.JobPool`."""
        distributed()
        from trajet.pools.dask.jobs import run_jobs

        done: dict[int, JobResult[Outcome]] = {}
        take = take or store_in(done)
        with self._workers() as workers:
            run_jobs(self.client, workers, spec, jobs, self.threads, progress, take)
        return [done[number] for number in sorted(done)]

    @contextmanager
    def _workers(self) -> Iterator["Workers"]:
        """Wait for a worker; yield the workers, and name the scheduler in connection errors."""
        module = distributed()
        from trajet.pools.dask.workers import Workers

        client = self.client
        if client.status != "running":
            raise WorkerError(f"the client of Dask is {client.status}: make a new one")
        workers, scheduler = Workers(client, self.wait_for_workers), client.scheduler.address
        try:
            yield workers
        except module.comm.CommClosedError as error:
            raise WorkerError(f"the scheduler {scheduler} cannot be reached: {error}") from error

    def _tasks(self, pass_: Pass, slots: int) -> Sequence[Task]:
        """Return the tasks of a pass."""
        per_slot = self.oversubscription
        if self.scheduling == "static" and self.task_frames is None and per_slot is None:
            _, n_frames = pass_.frames_of(0, pass_.n_leaves)
            per_slot = max(1, -(-n_frames // (slots * most_frames(pass_))))
        if per_slot is None:
            return tasks_of(pass_, slots, self.task_frames)
        return blocks_of(pass_, slots * per_slot)

    def _pins(self, tasks: Sequence[Task], slots: list[str]) -> dict[int, str]:
        """Return the worker of each task, where the scheduler does not choose it."""
        if self.scheduling == "dynamic":
            return {}
        return {task.number: slots[k * len(slots) // len(tasks)] for k, task in enumerate(tasks)}


def _with_scheduler(
    tasks: Sequence[TaskEntry], spans: Mapping[tuple[int, int, int], tuple[float, float]]
) -> TaskColumns:
    """Return the entries of tasks with the scheduler's times of them.

    The time that a batch has waited counts for each of its tasks in equal parts.
    """
    assert isinstance(tasks, TaskColumns)
    if not tasks:
        return tasks
    keys = np.stack([tasks.numbers(name) for name in ("pass", "batch", "copy")], axis=1)
    batches, of_task, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    # NumPy 2.0.0 returns a column.
    of_task = of_task.reshape(-1)
    spent = tasks.seconds("t_end") - tasks.seconds("t_begin")
    of_batch = np.bincount(of_task, spent, len(batches))
    # A batch whose end the scheduler has not recorded has not waited, as far as is known.
    known = [
        spans.get((number, batch, copy), (0.0, seconds))
        for (number, batch, copy), seconds in zip(batches.tolist(), of_batch, strict=True)
    ]
    given = np.array(known, np.float64).reshape(-1, 2)
    waiting = ((given[:, 1] - given[:, 0] - of_batch) / counts)[of_task]
    scheduler = spent + waiting
    return tasks.with_columns({"t_scheduler": scheduler, "t_waiting": scheduler - spent})


def _transitions(timing: RunTiming, record: "SchedulerRecord") -> list[TransitionEntry]:
    """Return every state change of a batch."""
    return [
        {
            "time": change.time - timing.begin,
            "pass": change.key[0],
            "task": change.key[1],
            "copy": change.key[2],
            "start": change.start,
            "finish": change.finish,
            "address": change.worker,
        }
        for change in record.changes
    ]
