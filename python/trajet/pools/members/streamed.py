"""`MembersInStream`: members of an ensemble on a pool whose workers take jobs as they come.

Workers begin with the first member that is ready, and go from one member to the next without
waiting for one another. Drivers get further members ready meanwhile, a few at a time: they share
one interpreter, so that the first of many would be ready late.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty

from trajet.pools.jobs import JobStream, StreamPool
from trajet.pools.members.batches import (
    Drive,
    MembersInBatches,
    MemberTask,
    Spec,
    Submission,
)
from trajet.pools.members.member_pool import TaskResult, task_counts
from trajet.pools.shared import file_of

# Seconds without work for any worker after which twice as many members are got ready at a time.
_STARVED = 0.05

_Stream = JobStream[MemberTask, TaskResult]


class MembersInStream(MembersInBatches):
    """Members whose tasks are jobs of a stream; see `MembersInBatches`."""

    # Members that are got ready at a time; 0 before the workers are counted.
    _n_preparing = 0
    _stream: _Stream | None = None

    def _count_workers(self) -> None:
        super()._count_workers()
        self._n_tasks = task_counts(self._sizes, self.n_workers)
        self._n_preparing = self._n_preparing or self.n_workers + 1

    def _begin(self, drive: Drive) -> None:
        """Begin members, until enough are open or get ready."""
        while self._unopened and self._n_open < self._most:
            if self._n_open - len(self._waiting or ()) >= self._n_preparing:
                break
            self._begin_one(drive)

    @contextmanager
    def spec_of(self, data: bytes) -> Iterator[Spec]:
        """Yield the file with the setup of a pass of a member, if there is room for it.

        It may be larger than what a pipe to a worker holds. No other file gets its name: a worker
        may still have a task of a member that has failed.
        """
        with ExitStack() as kept:
            spec: Spec = data
            # Without room the bytes travel with each task.
            with suppress(OSError):
                spec = kept.enter_context(file_of(data))
            yield spec

    def _put(self, event: int | Submission) -> None:
        super()._put(event)
        if (stream := self._stream) is not None:
            stream.wake()

    def _drive(self, drive: Drive) -> Generator[int, None, None]:
        """Do what drivers submit, until all members are done; yield their numbers."""
        pool = self.pool
        assert isinstance(pool, StreamPool)
        while self._n_open:
            owners: dict[int, tuple[Submission, int]] = {}
            try:
                with pool.job_stream(self._spec) as self._stream:
                    yield from self._until_all_are_done(self._stream, owners, drive)
            except Exception as error:
                # An error of the pool is that of one member.
                undone = list(dict.fromkeys(one for one, _ in owners.values() if one.left))
                if len(undone) == 1:
                    self._end(undone[0], error)
                elif not undone:
                    raise
                else:
                    for one in undone:
                        self._do([one])
            finally:
                self._stream = None

    def _until_all_are_done(
        self, stream: _Stream, owners: dict[int, tuple[Submission, int]], drive: Drive
    ) -> Generator[int, None, None]:
        """Do what drivers submit on a stream; `owners` are filled with the jobs that are not done.

        Raises
        ------
        Exception
            The error of the pool.
        """
        while self._n_open:
            while (event := self._next(is_idle=not owners)) is not None:
                match event:
                    case int(member):
                        self._n_open -= 1
                        yield member
                    case submission:
                        jobs = submission.jobs
                        owners.update(
                            (job, (submission, number))
                            for number, job in enumerate(stream.submit(jobs))
                        )
                        if not jobs:
                            self._end(submission)
                self._begin(drive)
            if not owners:
                if self._n_open:
                    self._n_preparing = min(2 * self._n_preparing, self._most)
                    self._begin(drive)
                continue
            for job, done in stream.wait():
                if job not in owners:
                    continue
                one, number = owners.pop(job)
                if not self._take(one, number, done):
                    unwanted = [k for k, (other, _) in owners.items() if other is one]
                    stream.leave_out(unwanted)
                    for k in unwanted:
                        del owners[k]

    def _next(self, *, is_idle: bool) -> int | Submission | None:
        """Return what a driver gave, if it gave anything; wait for it if no worker has a task."""
        try:
            return self._events.get(timeout=_STARVED) if is_idle else self._events.get_nowait()
        except Empty:
            return None
