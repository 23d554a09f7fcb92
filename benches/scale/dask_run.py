"""A run with Dask: `Dispatch` in the calling process, a scheduler and workers that are simulated.

The calling process handles one message after the other, as the adapter does, and looks at the
tasks every `LOOK` seconds. Dask's scheduler gives each worker up to `QUEUED` tasks.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from trajet._trajet import States
from trajet.pools.dask.plugins import LATER, first_word
from trajet.pools.dispatch import Cancel, Copy, Dispatch, Instruction, StragglerRule, Submit, Take
from trajet.pools.fetching import FetchQueue, Request
from trajet.pools.task_batches import BatchRule

from scale.cluster import Cluster, Disks, Fates
from scale.events import Events, Meter, Server
from scale.workload import Outcome, Workload

RULE = StragglerRule(min_done=3, grace=0.25)
# Seconds of a batch, and for each worker.
BATCH, BATCH_OF_EACH = 0.5, 1e-3
LOOK = 0.1
COUNT = 1.0
# Tasks of a worker, the running one included: `distributed.scheduler.worker-saturation` is 1.1.
QUEUED = 2
# Seconds after which the scheduler knows that a worker has died.
NOTICED = 0.5


@dataclass
class _Worker:
    """A simulated worker: the copies that it has, of which the first runs."""

    name: str
    number: int
    copies: deque[Copy] = field(default_factory=deque)
    # how often its tasks have changed: an end of a task that was cancelled is none
    turn: int = 0
    is_alive: bool = True
    has_opened: bool = False


class DaskRun:
    """Simulates one run."""

    def __init__(self, cluster: Cluster, workload: Workload, meter: Meter) -> None:
        self.events, self._meter = Events(), meter
        self._cluster, self._load, self._net = cluster, workload, cluster.network
        self._first_word = first_word(cluster.n_workers)
        mean = sum(workload.costs.seconds) / len(workload.costs.seconds)
        self._fates = Fates(cluster, mean * len(workload.tasks) / cluster.n_workers)
        self._disks = Disks(cluster.storage)
        self._client, self._scheduler, self._wire = Server(), Server(), Server()
        n_frames = workload.n_frames.tolist()
        frame_bytes = workload.costs.row_bytes // n_frames[0]
        batches = BatchRule(BATCH, BATCH_OF_EACH, frame_bytes)
        self._dispatch = Dispatch(n_frames, rule=RULE, batches=batches)
        # tasks of each copy, and the seconds after which its worker begins no further one; of those
        # that are done, how many
        self._batches: dict[Copy, tuple[range, float]] = {}
        self._done: dict[Copy, int] = {}
        self._workers = {f"w{k}": _Worker(f"w{k}", k) for k in range(cluster.n_workers)}
        self._ready: deque[Copy] = deque()
        self._idle = deque(self._workers)
        self._where: dict[Copy, _Worker] = {}
        self._cancelled: set[Copy] = set()
        self._begun: dict[Copy, float] = {}
        self._took: dict[Copy, float] = {}
        self._fetch_queue = FetchQueue(self._dispatch.is_open)
        self._states = States(workload.pass_)
        self._messages = 0
        self.taken: list[int] = []
        self._inbox: deque[Callable[[], None]] = deque()
        self._is_handling = False
        self._looked = self._counted = 0.0
        self._useful = 0.0

    def run(self) -> Outcome:
        """Run all tasks."""
        begin = self._meter.clock()
        instructions = self._dispatch.start(self._names())
        spent = self._meter.add("start", begin)
        self._client.serve(0.0, spent)
        self._follow(instructions)
        for number, when in self._fates.deaths.items():
            self.events.at(when, partial(self._die, self._workers[f"w{number}"]))
        self.events.at(LOOK, self._wake)
        self.events.run()
        return Outcome(
            n_tasks=len(self._load.tasks),
            n_workers=self._cluster.n_workers,
            seconds=self._client.free,
            work=sum(self._load.seconds),
            root_busy=self._client.busy,
            scheduler_busy=self._scheduler.busy,
            messages=self._messages,
            repeated=len(self._dispatch.stragglers),
            core_seconds=dict(self._meter.seconds),
            core_calls=dict(self._meter.calls),
            state=self._states.whole().tobytes(),
        )

    # The calling process.

    def _tell(self, event: Callable[[], None], delay: float = 0.0, extra: int = 0) -> None:
        """Send a message to the calling process, which `extra` further messages keep busy."""
        self._messages += 1 + extra
        self._client.serve(self.events.now, extra * self._net.client_seconds)
        self.events.at(self.events.now + delay + self._net.latency, partial(self._arrive, event))

    def _arrive(self, event: Callable[[], None]) -> None:
        self._inbox.append(event)
        if not self._is_handling:
            self._is_handling = True
            self.events.at(self._client.free, self._handle)

    def _handle(self) -> None:
        self._client.serve(self.events.now, self._net.client_seconds)
        self._inbox.popleft()()
        self._look()
        self._is_handling = bool(self._inbox)
        if self._inbox:
            self.events.at(self._client.free, self._handle)

    def _wake(self) -> None:
        if not self._dispatch.is_done:
            self.events.at(self.events.now + LOOK, self._wake)
            if not self._is_handling:
                self._look()

    def _core(self, name: str, call: Callable[[], Sequence[Instruction] | None]) -> None:
        """Call a method of the core, which keeps the calling process busy, and do what it says."""
        begin = self._meter.clock()
        instructions = call()
        self._client.serve(self.events.now, self._meter.add(name, begin))
        self._follow(instructions or [])

    def _look(self) -> None:
        now = self.events.now
        if now - self._looked < LOOK or self._dispatch.is_done:
            return
        self._looked = now
        if now - self._counted > COUNT:
            self._counted = now
            names = self._names()
            self._core("workers_changed", lambda: self._dispatch.workers_changed(names))
        if not self._inbox:
            self._core("tick", lambda: self._dispatch.tick(now))

    def _names(self) -> dict[str, int]:
        return {name: 1 for name, worker in self._workers.items() if worker.is_alive}

    def _follow(self, instructions: Sequence[Instruction]) -> None:
        submitted: list[Submit] = []
        for instruction in instructions:
            match instruction:
                case Cancel(copies):
                    when = self._client.free + self._net.latency
                    for copy in copies:
                        self._cancelled.add(copy)
                        self.events.at(when, partial(self._cancel, copy))
                case Submit():
                    submitted.append(instruction)
                case Take(copy):
                    self._take(copy)
        for one in submitted:
            first = one.copy.task
            self._batches[one.copy] = range(first, first + one.n_tasks), one.most_seconds
        if submitted:
            self._messages += 1
            when = self._client.serve(self.events.now, self._net.client_seconds)
            self.events.at(when + self._net.latency, partial(self._submitted, submitted))

    def _take(self, copy: Copy) -> None:
        tasks = self._batches.pop(copy)[0][: self._done.pop(copy)]
        self.taken += tasks
        # The worker has merged them.
        merged = States(self._load.pass_)
        for number in tasks:
            merged.add(self._load.states(number))
        states = merged.subtrees()
        begin = self._meter.clock()
        self._states.add(states)
        self._client.serve(self.events.now, self._meter.add("merge", begin))
        if self._dispatch.is_done:
            self.events.stop()

    # The scheduler.

    def _submitted(self, submitted: Sequence[Submit]) -> None:
        for one in submitted:
            self._scheduler.serve(self.events.now, self._net.scheduler_seconds)
            worker = self._workers[one.prefer[0]] if one.prefer else None
            if worker is not None and worker.is_alive:
                self._give(worker, one.copy)
            else:
                self._ready.append(one.copy)
        self._assign()

    def _assign(self) -> None:
        """Give ready tasks to workers: first to those without any, then to those with one."""
        while self._ready and self._idle:
            worker = self._workers[self._idle.popleft()]
            if worker.is_alive and len(worker.copies) < QUEUED:
                copy = self._ready.popleft()
                if copy not in self._cancelled:
                    self._give(worker, copy)
                if len(worker.copies) < QUEUED:
                    self._idle.append(worker.name)

    def _give(self, worker: _Worker, copy: Copy) -> None:
        worker.copies.append(copy)
        self._where[copy] = worker
        if len(worker.copies) == 1:
            delay = max(0.0, self._scheduler.free - self.events.now) + self._net.latency
            self.events.at(self.events.now + delay, partial(self._begin, worker, worker.turn))

    def _cancel(self, copy: Copy) -> None:
        self._scheduler.serve(self.events.now, self._net.scheduler_seconds)
        worker = self._where.pop(copy, None)
        if worker is None or copy not in worker.copies:
            return
        was_running = worker.copies[0] == copy
        worker.copies.remove(copy)
        if was_running:
            worker.turn += 1
            if worker.copies:
                self._begin(worker, worker.turn)
        self._idle.append(worker.name)
        self._assign()

    # A worker.

    def _begin(self, worker: _Worker, turn: int) -> None:
        """Begin the first task of a worker."""
        if not worker.is_alive or worker.turn != turn or not worker.copies:
            return
        worker.turn += 1
        copy, now = worker.copies[0], self.events.now
        self._begun[copy] = now
        self._scheduler.serve(now, 0.0)
        started = lambda: self._dispatch.started(copy, worker.name, self.events.now)  # noqa: E731
        self._tell(partial(self._core, "started", started))
        costs = self._load.costs
        opened = now if worker.has_opened else self._disks.open(now)
        worker.has_opened = True
        factor = self._fates.factors[worker.number]
        tasks, most_seconds = self._batches[copy]
        end, n_done = now, 0
        for number in tasks:
            if n_done and end - now > most_seconds:
                break
            read = self._disks.read(max(end, opened), number, costs.n_bytes, costs.n_requests)
            end += factor * (read - end + self._load.seconds[number])
            n_done += 1
        self._done[copy] = n_done
        self.events.at(end, partial(self._end, worker, worker.turn))

    def _end(self, worker: _Worker, turn: int) -> None:
        """End a task of a worker."""
        if not worker.is_alive or worker.turn != turn:
            return
        copy = worker.copies.popleft()
        self._where.pop(copy, None)
        seconds = self._took[copy] = self.events.now - self._begun.pop(copy)
        later = self._first_word
        extra = 1
        while later < seconds:
            extra, later = extra + 1, later * (1 + LATER)
        when = self._scheduler.serve(self.events.now, self._net.scheduler_seconds)
        self._tell(partial(self._computed, worker, copy), when - self.events.now, extra)
        worker.turn += 1
        if worker.copies:
            self._begin(worker, worker.turn)
        self._idle.append(worker.name)
        self.events.at(when, self._assign)

    def _die(self, worker: _Worker) -> None:
        """End a worker: the scheduler queues its tasks again, as soon as it knows."""
        worker.is_alive = False
        lost = [copy for copy in worker.copies if copy not in self._cancelled]
        worker.copies.clear()

        def noticed() -> None:
            self._ready.extendleft(lost)
            self._assign()

        self.events.at(self.events.now + NOTICED, noticed)

    # Results.

    def _n_frames(self, copy: Copy) -> int:
        """Return the frames of the tasks of a copy that are done."""
        first = copy.task
        return int(self._load.n_frames[first : first + self._done[copy]].sum())

    def _computed(self, worker: _Worker, copy: Copy) -> None:
        if not self._dispatch.is_open(copy):
            return
        self._core("computed", lambda: self._dispatch.computed(copy))
        self._fetch_queue.add(worker.name, copy, self._done[copy] * self._load.costs.row_bytes)
        self._fetch()

    def _fetch(self) -> None:
        while True:
            begin = self._meter.clock()
            request = self._fetch_queue.next(self._dispatch.slow)
            self._client.serve(self.events.now, self._meter.add("fetch", begin))
            if request is None:
                return
            now = self.events.now
            self._core("gathering", partial(self._dispatch.gathering, request.copies, now))
            n_done = sum(self._done[copy] for copy in request.copies)
            size = n_done * self._load.costs.row_bytes
            begin = self._client.free + self._net.latency
            when = self._wire.serve(begin, size / self._net.bandwidth) + self._net.latency
            self.events.at(when, partial(self._sent, request, now))

    def _sent(self, request: Request, since: float) -> None:
        self._tell(partial(self._arrived, request, since))

    def _arrived(self, request: Request, since: float) -> None:
        worker = self._workers[str(request.worker)]
        self._fetch_queue.arrived(worker.name)
        if worker.is_alive:
            seconds = self.events.now - since
            n_frames = sum(self._n_frames(copy) for copy in request.copies)
            self._core("gathered", lambda: self._dispatch.gathered(n_frames, seconds))
            for copy in request.copies:
                how = worker.name, self._took.pop(copy), self._done[copy]
                self._core("finished", partial(self._dispatch.finished, copy, *how))
        else:
            again = [copy for copy in request.copies if self._dispatch.is_open(copy)]
            for copy in again:
                self._dispatch.stopped(copy)
            self._ready.extendleft(again)
            self._assign()
        self._fetch()
