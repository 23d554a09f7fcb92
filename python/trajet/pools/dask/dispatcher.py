"""Dask adapter of the dispatch core: submits the tasks of a pass and gathers their results."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import cast

from distributed import Client, KilledWorker

from trajet.pools.dask.plugins import BatchResult, BatchSpec, do
from trajet.pools.dask.submissions import RULE, Submissions, SubmittedCopy, killed
from trajet.pools.dask.workers import Workers
from trajet.pools.dispatch import Copy, Dispatch, GiveUp, Submit, Take
from trajet.pools.passes import PassRun, section_writer
from trajet.pools.pool import Progress
from trajet.pools.task_batches import BatchRule
from trajet.pools.tasks import Sections, Task
from trajet.pools.timing import RunTiming, partial_outcome
from trajet.report_entries import Place, RepeatedEntry

# Bytes of tasks that are sent to the scheduler at once; Dask warns of more than 10 MB.
_MAX_SENT = 4 << 20
# Seconds of a batch: some thirty times what its messages cost; and for each worker, so that a
# thousand workers send a thousand messages a second.
_BATCH = 0.5
_BATCH_OF_EACH = 1e-3


class Dispatcher(Submissions[BatchResult]):
    """Runs the tasks of a pass on the workers of a client."""

    def __init__(
        self,
        client: Client,
        workers: Workers,
        name: str,
        part: PassRun,
        timing: RunTiming,
        pins: dict[int, str],
    ) -> None:
        self._part, self._timing = part, timing
        self._frame_bytes: int = sum(section.shape[1] for section in part.sections)
        dispatch = Dispatch(
            [task.n_frames for task in part.tasks],
            pins=pins,
            rule=None if pins else RULE,
            batches=BatchRule(_BATCH, _BATCH_OF_EACH, self._frame_bytes),
        )
        super().__init__(client, workers, name, dispatch, part.tasks)
        self._put: Callable[[int, Sections], None]

    def do(self, before: int, progress: Progress | None) -> None:
        """Run all tasks; `before` are the frames of the passes before."""

        def show(done: int) -> None:
            if progress is not None:
                progress(before + done, before + self._part.n_frames)

        with section_writer(self._part.sections) as self._put:
            self._run(show)
            show(self._part.n_frames)
            self._account_for_cancelled()

    @property
    def repeated(self) -> list[RepeatedEntry]:
        """Stragglers, as the report shows them."""
        entries: list[RepeatedEntry] = []
        for straggler in self._dispatch.stragglers:
            entry = asdict(straggler)
            address = entry.pop("worker")
            entry = {"pass": self._timing.passes, "address": address, **entry}
            entries.append(cast(RepeatedEntry, entry))
        return entries

    def _submit(self, submitted: Iterable[Submit], workers: list[str], *, anywhere: bool) -> None:
        """Submit copies for some workers, or with `anywhere` rather for these than for others."""
        for message in self._messages(submitted):
            tasks = [
                self._tasks[copy.task : copy.task + len(batch.texts)] for copy, batch in message
            ]
            firsts = [(some[0].number, some[0].frames[0]) for some in tasks]
            copies = [(copy, some) for (copy, _), some in zip(message, tasks, strict=True)]
            batches = [batch for _, batch in message]
            call = partial(do, self._name)
            self._send(call, copies, [batches, firsts], workers, anywhere=anywhere)

    def _messages(self, submitted: Iterable[Submit]) -> Iterator[list[tuple[Copy, BatchSpec]]]:
        """Divide copies into messages that the scheduler takes at once."""
        message: list[tuple[Copy, BatchSpec]] = []
        size = 0
        for one in submitted:
            copy = one.copy
            tasks = self._tasks[copy.task : copy.task + one.n_tasks]
            texts = [self._part.task_bytes(task) for task in tasks]
            n_bytes = sum(map(len, texts))
            if message and size + n_bytes > _MAX_SENT:
                yield message
                message, size = [], 0
            batch = BatchSpec(texts, [task.n_frames for task in tasks], one.most_seconds)
            message.append((copy, batch))
            size += n_bytes
        if message:
            yield message

    def _n_bytes(self, sent: SubmittedCopy) -> int:
        """Return the bytes of the arrays of a copy."""
        return sent.n_frames * self._frame_bytes

    def _name_of(self, sent: SubmittedCopy) -> str:
        """Return the name of a copy in errors."""
        return f"the task of {_frames(sent.tasks)}"

    def _failed(self, sent: SubmittedCopy, error: BaseException) -> None:
        """Run a task again if the core says so, or raise its error."""
        instructions = self._dispatch.failed(sent.copy, error)
        if GiveUp(sent.copy) not in instructions:
            self._timing.retry(sent.tasks[0], error)
            self._forget(sent)
            self._follow(instructions)
            return
        if isinstance(error, KilledWorker):
            raise killed(error, self._name_of(sent)) from error
        raise _placed(error, sent.tasks[0], sent.address)

    def _take(
        self, sent: SubmittedCopy, answer: BatchResult | None, moved: tuple[float, float]
    ) -> None:
        """Merge the result of a copy, if the core says so."""
        if sent.copy not in self._sent:
            return
        if answer is None:
            # Dask took the worker for dead, and then found it again.
            instructions = self._dispatch.lost(sent.copy)
        else:
            seconds = answer.end - answer.begin
            instructions = self._dispatch.finished(
                sent.copy, answer.address, seconds, answer.n_done, answer.error
            )
            if answer.error is not None:
                failed = sent.tasks[answer.n_done]
                if GiveUp(sent.copy) in instructions:
                    raise _placed(answer.error, failed, answer.address)
                self._timing.retry(failed, answer.error)
        self._forget(sent)
        self._follow(instructions)
        if answer is None or Take(sent.copy) not in instructions:
            return
        self._put(sent.tasks[0].frames[0], answer.sections)
        self._part.states.add(answer.states)
        answer.timing.of_batch(sent.copy.number)
        where: Place = {
            "host": answer.host,
            "process": answer.process,
            "address": answer.address,
        }
        number = self._workers.number(answer.address, answer.thread)
        self._timing.take(number, answer.timing, where, moved=moved)

    def _account_for_cancelled(self) -> None:
        """Record the known time of copies that were cancelled."""
        threads = self._part.worker_spec.threads
        # Last messages.
        while not self._events.empty():
            self._events.get()()
        for sent in self._cancelled.values():
            message = sent.message
            if message is None:
                continue
            number = self._workers.number(message.worker, message.thread)
            where: Place = {
                "host": message.host,
                "process": message.process,
                "address": message.worker,
            }
            if sent.fetching is not None:
                now = time.time()
                since = now - (time.monotonic() - sent.fetching)
                self._timing.hold(number, threads, where, sent.moved or (since, now))
                continue
            spent = message.spent.copy()
            if message.opening and message.worker in self._workers.threads:
                # The worker counts it only once the file is open.
                spent["t_open"] += message.opening + time.monotonic() - sent.received
            if any(spent.values()):
                done = partial_outcome(message.begin, spent, threads)
                self._timing.spend(number, done, where=where)


def _placed(error: BaseException, task: Task, address: str | None) -> BaseException:
    """Return the error of a task, with a note on where it happened."""
    error.add_note(f"during the task of {_frames([task])}, on the worker {address}")
    return error


def _frames(tasks: Sequence[Task]) -> str:
    first, end = tasks[0].frames[0], tasks[-1].frames[1]
    return f"frames {first} to {end - 1} of the chosen frames"
