"""`MpiPool`, the pool of MPI ranks."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from trajet import signals
from trajet._trajet import Pass, Plan, Reader, WorkerError
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, TakeResult, store_in
from trajet.pools.mapping import Item, Table, map_items
from trajet.pools.mpi.communicator import (
    Communicator,
    Message,
    communicator_of,
    library,
    pickled,
)
from trajet.pools.mpi.jobs import FollowerJobs, JobsSpec, run_jobs
from trajet.pools.mpi.rank_worker import PassSpec, RankRecord, RankWorker, RootPass
from trajet.pools.mpi.section_transport import TransportSpec
from trajet.pools.passes import mapped_section, most_frames, passes, sections_in, tasks_of
from trajet.pools.pool import (
    Frames,
    Pool,
    PoolFacts,
    Progress,
    RunOutput,
    check_counts,
    n_frames_of,
)
from trajet.pools.rank_placeholder import RankPlaceholder
from trajet.pools.shared import shared_buffer
from trajet.pools.tasks import Sections, Task, Worker, sections_of
from trajet.pools.timing import RunTiming
from trajet.report_entries import Place, RunReport

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Scheduling = Literal["dynamic", "static"]
Gathering = Literal["shared", "one-sided", "collective"]
# Tasks of a rank with dynamic scheduling: enough to even out slow ones.
_OVERSUBSCRIPTION = 16
_T = TypeVar("_T")


@dataclass(frozen=True)
class MpiPool(Pool):
    """Ranks of MPI: every rank runs the same script, and makes this pool.

    Rank 0 alone opens, selects and has the results. On the other ranks analyses ignore their
    arguments, take part in the run, and return an object that is false. With
    `open(..., pool=pool)` the other ranks do not open the trajectory either.

    An error of an analysis is raised on every rank. Every other error on a single rank aborts all
    ranks: the pool sets `sys.excepthook` for that.

    Attributes
    ----------
    comm
        The communicator; None for all ranks.
    threads
        Threads of each rank.
    task_frames
        Frames of a task, rounded up to whole leaves.
    oversubscription
        Tasks for each rank, instead of `task_frames`; None for 16, or 1 with static scheduling, and
        for more if the numbers of a task would be over 64 MiB. Neither changes a bit of a result.
    scheduling
        "dynamic": a rank that has done its own part takes tasks of others, and then runs their
        stragglers as well. "static": every rank does its own part.
    gathering
        How numbers move to rank 0: "collective" at the end, "one-sided" as tasks are done, "shared"
        through memory, if all ranks are on one machine. None for shared if possible, otherwise
        collective.
    rows_in
        A folder that takes the numbers of all frames instead of memory, a `.npy` file for each
        array; each rank writes its own frames. The values of the result are then mapped from it.

    Raises
    ------
    ValueError
        If a number is below one, or a name is not one of these.
    TypeError
        If `comm` is no communicator, for example a number of ranks.
    MissingPackageError
        If mpi4py is not installed or finds no MPI.

    Examples
    --------
    >>> pool = tj.MpiPool()  # doctest: +SKIP
    >>> traj = tj.open("adk.psf", "adk.xtc", pool=pool)  # doctest: +SKIP
    >>> result = tj.rmsd(traj.select("name CA"), pool=pool)  # doctest: +SKIP
    >>> if result:  # doctest: +SKIP
    ...     result.save("rmsd.npz")
    """

    kind: ClassVar[str] = "mpi"

    comm: "Intracomm | None" = None
    _: KW_ONLY
    threads: int = 1
    task_frames: int | None = None
    oversubscription: int | None = None
    scheduling: Scheduling = "dynamic"
    gathering: Gathering | None = None
    rows_in: str | os.PathLike[str] | None = None
    _ranks: Communicator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_counts(
            threads=self.threads,
            task_frames=self.task_frames,
            oversubscription=self.oversubscription,
        )
        _check_one_of("scheduling", self.scheduling, get_args(Scheduling))
        _check_one_of("gathering", self.gathering, (None, *get_args(Gathering)))
        if self.rows_in is not None and self.gathering is not None:
            raise ValueError("numbers go to files (rows_in) or to rank 0 (gathering), not both")
        if self.comm is not None and not hasattr(self.comm, "Get_attr"):
            raise TypeError(
                f"MpiPool takes a communicator of mpi4py, not {self.comm!r}: write tj.MpiPool();"
                " mpiexec -n sets the number of ranks"
            )
        object.__setattr__(self, "_ranks", communicator_of(self.comm))
        if self.gathering == "shared" and not self._ranks.one_memory:
            raise ValueError("gathering='shared' needs all ranks on one machine")

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._ranks.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._ranks.size

    @property
    def n_threads(self) -> int:
        """Number of threads of all ranks."""
        return self.size * self.threads

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool."""
        return PoolFacts(
            n_threads=self.n_threads,
            threads=self.threads,
            has_room_for_rows=self.rows_in is not None,
            takes_members=self.rows_in is None,
            task_frames=self.task_frames,
            rank=self.rank,
        )

    def lead(self, what: str, work: Callable[[], _T]) -> _T | RankPlaceholder:
        """Do `work` on rank 0; on the others, take part and return a placeholder.

        `work` may run several plans: the others take part until it has returned.

        Raises
        ------
        BaseException
            On every rank, what rank 0 raised.
        """
        if self._ranks.rank:
            self.follow()
            return RankPlaceholder(what)
        self._ranks.awaited = self._ranks.leading = True
        try:
            result = work()
        except Exception as error:
            self._broadcast_failure(error)
            raise
        except KeyboardInterrupt as error:
            # Unfinished outputs are removed by now. The others may wait for this rank.
            if self._ranks.size > 1:
                self._ranks.end(signals.message(), error)
            raise
        finally:
            self._ranks.leading = False
        self._broadcast(Message.DONE)
        return result

    @contextmanager
    def keeping_failures(self) -> Iterator[None]:
        """Keep the errors of runs on rank 0; the others wait for its next run.

        Called on rank 0 within `lead`, whose end broadcasts the outcome to the others.
        """
        self._ranks.keeping = True
        try:
            yield
        finally:
            self._ranks.keeping = False

    def follow(self) -> None:
        """Take part in the next call of rank 0 that uses the pool.

        Raises
        ------
        WorkerError
            If rank 0 has ended instead.
        BaseException
            The error that rank 0 raised.
        """
        while True:
            message, body = self._receive(Message.CLOSED)
            if message == Message.LEFT:
                raise WorkerError("rank 0 has ended its script, and this rank waits for it")
            if message == Message.DONE:
                return
            self._respond(message, body)

    def serve(self) -> bool:
        """Take part in all calls of rank 0, until it closes the pool or ends.

        For programs that only rank 0 runs.

        Returns
        -------
        bool
            False on rank 0, at once; True on the others.
        """
        if not self._ranks.rank:
            return False
        while True:
            message, body = self._receive()
            if message in {Message.LEFT, Message.CLOSED}:
                return True
            try:
                self._respond(message, body)
            except Exception as error:
                if error is not self._ranks.shared:
                    raise

    def close(self) -> None:
        """Let ranks that serve return; does nothing on ranks other than 0."""
        if not self._ranks.rank:
            self._broadcast(Message.CLOSED)

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`. Rank 0 calls it, the others `follow`."""
        if self._ranks.rank:
            raise WorkerError("only rank 0 runs an analysis: call pool.follow() on this rank")
        self._ranks.awaited = True
        try:
            found = self._run(reader, plan, frames, progress)
        except Exception as error:
            if self._ranks.keeping:
                self._ranks.awaited = True
            else:
                self._broadcast_failure(error)
            raise
        # The others wait for a further run, or for the end.
        self._ranks.awaited = True
        if not self._ranks.leading:
            self._broadcast(Message.DONE)
        return found

    def do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None = None,
        take: TakeResult[Outcome] | None = None,
    ) -> list[JobResult[Outcome]]:
        """Run jobs; see `trajet.pools.jobs.JobPool`. Ranks take them as they come free.

        Every rank calls it, or rank 0 alone within `lead`. Ranks other than 0 get a placeholder.
        """
        return self._led("list", lambda: self._do_jobs(spec, jobs, progress, take))

    def map(
        self,
        function: Callable[[Item], Table],
        items: Iterable[Item],
        *,
        progress: Progress | None = None,
    ) -> list[Table]:
        """Call a function for every item, on all ranks.

        As `map` of the other pools. Every rank calls it; those other than 0 ignore its arguments
        and get a placeholder, which is false.

        Examples
        --------
        >>> pool = tj.MpiPool()  # doctest: +SKIP
        >>> lengths = pool.map(len, ["protein", "water"])  # doctest: +SKIP
        >>> if lengths:  # doctest: +SKIP
        ...     print(lengths)
        [7, 5]
        """
        return self._led("list", lambda: map_items(self, function, items, progress))

    def _led(self, what: str, work: Callable[[], _T]) -> _T:
        """Do `work` within `lead`."""
        # Callers check for the placeholder, which the type does not show.
        return work() if self._ranks.leading else cast(_T, self.lead(what, work))

    def _do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None,
        take: TakeResult[Outcome] | None,
    ) -> list[JobResult[Outcome]]:
        texts = [pickle.dumps(job) for job in jobs]
        jobs_spec = JobsSpec(
            spec,
            self.threads,
            [job.n_frames for job in jobs],
            np.cumsum([len(text) for text in texts], dtype=np.int64),
        )
        done: dict[int, JobResult[Outcome]] = {}
        self.run_on_all(
            lambda ranks: run_jobs(ranks, jobs_spec, texts, progress, take or store_in(done)),
            FollowerJobs(jobs_spec),
        )
        return [done[number] for number in sorted(done)]

    def run_on_all(
        self, lead: Callable[[Communicator], _T], follow: Callable[[Communicator], None]
    ) -> _T:
        """Call `lead` on rank 0 and `follow` on the other ranks; return the result of `lead`.

        Both must return on all ranks; the error of rank 0 counts. `follow` is pickled. The method
        is called within `MpiPool.lead`, whose end broadcasts the outcome to the others.
        """
        body = pickle.dumps(follow)
        self._ranks.awaited = False
        with self._ranks.abort_all(interrupts=False):
            self._ranks.broadcast(Message.WORK, body)
        self._ranks.awaited = True
        return lead(self._ranks)

    def _run(
        self, reader: Reader, plan: Plan, frames: Frames, progress: Progress | None
    ) -> RunOutput:
        ranks, timing, n_frames = self._ranks, RunTiming(), n_frames_of(frames)

        def size(pass_: Pass) -> int:
            return self._task_frames(n_frames, most_frames(pass_))

        rows_in = None if self.rows_in is None else Path(self.rows_in)
        with ExitStack() as stack:
            rank_worker = stack.enter_context(RankWorker(ranks, self.threads))
            storage = SectionStorage(self._gathering, rows_in, stack)
            worker: Worker | None = None
            for part in passes(
                reader,
                plan,
                frames,
                timing,
                threads=self.threads,
                make_tasks=lambda pass_: tasks_of(pass_, ranks.size, size(pass_)),
                make_sections=rank_worker.clock("t_comm")(storage.sections),
            ):
                with rank_worker.clock("t_comm"):
                    worker = Worker(part.worker_spec, worker)
                    texts = [part.task_bytes(task) for task in part.tasks]
                    pass_spec = PassSpec(
                        worker_spec=None if timing.passes else part.worker_spec,
                        states=part.worker_spec.states,
                        task_frames=size(part.pass_),
                        dynamic=self.scheduling == "dynamic",
                        transport=storage.transport,
                        ends=np.cumsum([len(text) for text in texts], dtype=np.int64),
                        keeps_failure=ranks.keeping,
                    )
                    self._broadcast(Message.BEGIN, pickle.dumps(pass_spec))
                show = partial(_show, progress, timing.passes, n_frames)
                lead = RootPass(part, texts, show, storage.found)
                records, error = rank_worker.take_part(pass_spec, worker, lead)
                self._write_down(timing, part.tasks, records)
                if error is not None:
                    raise error
                ranks.awaited = not part.pass_.is_last
            # Files get their names after that: an error leaves older ones.
            analyses = part.states.finish(storage.finished(part.sections))
        return RunOutput(analyses, self._report(timing, records))

    def _task_frames(self, n_frames: int, most: int) -> int:
        """Return the frames of a task."""
        if self.task_frames is not None:
            return self.task_frames
        if self.oversubscription is not None:
            return max(1, -(-n_frames // (self.oversubscription * self._ranks.size)))
        per_rank = _OVERSUBSCRIPTION if self.scheduling == "dynamic" else 1
        return max(1, min(-(-n_frames // (per_rank * self._ranks.size)), most))

    @property
    def _gathering(self) -> Gathering:
        if self.gathering is not None:
            return self.gathering
        return "shared" if self._ranks.one_memory else "collective"

    def _broadcast(self, message: Message, body: bytes = b"") -> None:
        self._ranks.awaited = False
        with self._ranks.abort_all():
            self._ranks.broadcast(message, body)

    def _broadcast_failure(self, error: Exception) -> None:
        """Have the others raise the same error, if they wait."""
        if self._ranks.awaited:
            self._ranks.shared = error
            self._broadcast(Message.FAILED, pickled(error))

    def _receive(self, but: Message | None = None) -> tuple[Message, bytes]:
        """Wait for the next message that is not `but`."""
        with self._ranks.abort_all():
            while (received := self._ranks.receive())[0] == but:
                pass
        if received[0] == Message.LEFT:
            self._ranks.leave()
        return received

    def _respond(self, message: Message, body: bytes) -> None:
        """Carry out a message of rank 0."""
        if message == Message.FAILED:
            self._ranks.shared = pickle.loads(body)
            raise self._ranks.shared
        if message == Message.BEGIN:
            self._take_part(pickle.loads(body))
        if message == Message.WORK:
            with self._ranks.abort_all():
                pickle.loads(body)(self._ranks)

    def _take_part(self, pass_spec: PassSpec) -> None:
        """Take part in the passes of an analysis that rank 0 runs."""
        assert pass_spec.worker_spec is not None
        worker_spec, worker = pass_spec.worker_spec, None
        with RankWorker(self._ranks, worker_spec.threads) as rank_worker:
            while True:
                with self._ranks.abort_all():
                    worker = Worker(pass_spec.spec_after(worker_spec), worker)
                _, error = rank_worker.take_part(pass_spec, worker)
                if error is not None:
                    if pass_spec.keeps_failure:
                        return
                    raise error
                if worker.pass_.is_last:
                    return
                with rank_worker.clock("t_wait"):
                    message, body = self._receive()
                further = pickle.loads(body) if message == Message.BEGIN else None
                if further is None or further.worker_spec is not None:
                    # Rank 0 has given up this run.
                    break
                pass_spec = further
        self._respond(message, body)

    def _write_down(
        self, timing: RunTiming, tasks: Sequence[Task], records: Sequence[RankRecord]
    ) -> None:
        """Add the records of all ranks to the timing."""
        for rank, record in enumerate(records):
            where: Place = {"host": record.host, "process": record.process, "rank": rank}
            timing.join(rank, self.threads, where)
            shift = records[0].zero - record.zero
            timing.take(rank, record.timing, where, shift=shift)
            for number, error in record.retried:
                timing.retry(tasks[number], error)
            for number, late, won in record.speculated:
                timing.repeat(tasks[number], late, rank, won=won)

    def _report(self, timing: RunTiming, records: Sequence[RankRecord]) -> RunReport:
        """Return the report of the run."""
        mpi = library()
        nodes: dict[str, int] = {}
        for record in records:
            nodes[record.host] = nodes.get(record.host, 0) + 1
        return timing.report(
            {rank: record.seconds for rank, record in enumerate(records)},
            pool=self.kind,
            threads=self.threads,
            mpi={
                "library": " ".join(mpi.Get_library_version().strip("\0").split("\n")[0].split()),
                "standard": ".".join(map(str, mpi.Get_version())),
                "ranks": self._ranks.size,
                "ranks_per_node": nodes,
                "scheduling": self.scheduling,
                "gathering": "file" if self.rows_in is not None else self._gathering,
            },
        )


class SectionStorage:
    """Memory or files of rank 0 for the arrays of a pass, and how other ranks send them there.

    Attributes
    ----------
    transport
        How the arrays move to rank 0.
    """

    def __init__(self, gathering: Gathering, rows_in: Path | None, stack: ExitStack) -> None:
        self._gathering, self._rows_in = gathering, rows_in
        self._make = stack.enter_context(sections_in(rows_in))
        self._seen = stack.enter_context(ExitStack())
        self.transport: TransportSpec = (gathering, [])

    def sections(self, pass_: Pass, n_frames: int) -> Sections:
        """Allocate the arrays of a pass."""
        if self._rows_in is not None:
            sections = self._make(pass_, n_frames)
            self.transport = ("file", [_place(section) for section in sections])
            return sections
        if self._gathering == "shared":
            begins, size = pass_.sections(n_frames)
            buffer, path = shared_buffer(self._seen, size)
            self.transport = ("shared", [(path, begin) for begin in begins])
            return sections_of(pass_, n_frames, buffer)
        return self._make(pass_, n_frames)

    def found(self) -> None:
        """Close the shared file, which all ranks have opened by now."""
        self._seen.close()

    def finished(self, sections: Sections) -> Sections:
        """Return the sections of all frames."""
        if self._rows_in is None:
            return sections
        # Other ranks wrote to the files: they are mapped again.
        return [
            mapped_section(*place, len(section), section.shape[1], "r")
            for place, section in zip(self.transport[1], sections, strict=True)
        ]


def _place(section: NDArray[np.uint8]) -> tuple[Path, int]:
    """Return the file of a section, and the offset in it; any for one without bytes."""
    mapped = section.base
    if not isinstance(mapped, np.memmap):
        return Path(), 0
    return Path(str(mapped.filename)).absolute(), mapped.offset


def _show(progress: Progress | None, passes_done: int, n_frames: int, done: int) -> None:
    """Report progress, with the frames of all passes until now."""
    if progress is not None:
        progress(passes_done * n_frames + done, (passes_done + 1) * n_frames)


def _check_one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(map(repr, known))}, not {value!r}")
