"""A run on MPI ranks: a `TaskTable` for each, whose cells are memory of this process.

An operation on the memory of rank 0 takes a round trip, waits for the next poll of rank 0, and
keeps rank 0 busy for a while; operations come one after the other, as the adapter makes them.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from trajet._trajet import States
from trajet.pools.dispatch import StragglerRule
from trajet.pools.mpi.section_transport import merge_steps
from trajet.pools.task_batches import BatchSizes
from trajet.pools.task_table import OWN_CELLS, TaskTable

from scale.cluster import Cluster, Disks, Fates
from scale.events import Booked, Events, Meter
from scale.workload import Outcome, Workload

RULE = StragglerRule(min_done=1, grace=0.05)
# Seconds between two looks of rank 0 for stragglers, and of idle ranks at their own memory.
LOOK = 0.02
# Seconds of a batch.
BATCH = 0.1
_CELL = 8


class _Traffic:
    """Messages to and from the memory of rank 0."""

    def __init__(self, events: Events, cluster: Cluster) -> None:
        self._events, self._net = events, cluster.network
        self.root = Booked()
        self.messages = 0
        self.n_bytes = 0
        # ranks whose own numbers were written since they looked at them
        self.told: dict[int, None] = {}
        # when the operations of the current call are done
        self.time = 0.0

    def move(self, size: int, *, is_local: bool, is_awaited: bool = True) -> None:
        """Move some bytes from or to memory of rank 0, after the operation before."""
        busy = self._net.message_seconds + size / self._net.bandwidth
        if is_local:
            self.time += busy
            return
        self.messages += 1
        self.n_bytes += size
        arrived = self.time + self._net.latency + self._net.poll_seconds / 2
        done = self.root.serve(arrived, busy) + self._net.latency
        if is_awaited:
            self.time = done


class _Cells:
    """Cells of a rank."""

    def __init__(self, traffic: _Traffic, memory: list[NDArray[np.int64]], rank: int) -> None:
        self._traffic, self._memory, self._rank = traffic, memory, rank

    def _move(self, count: int, rank: int = 0, *, is_awaited: bool = True) -> None:
        is_local = rank == self._rank
        self._traffic.move(_CELL * count, is_local=is_local, is_awaited=is_awaited)

    def add(self, cell: int, value: int) -> int:
        """Add to a cell of rank 0 and return what it was."""
        self._move(1)
        before = int(self._memory[0][cell])
        self._memory[0][cell] += value
        return before

    def swap_if_zero(self, cell: int, value: int) -> bool:
        """Replace a cell of rank 0 if it is zero; return whether it was."""
        self._move(1)
        was_zero = bool(self._memory[0][cell] == 0)
        if was_zero:
            self._memory[0][cell] = value
        return was_zero

    def read(self, cell: int, count: int) -> NDArray[np.int64]:
        """Return cells of rank 0."""
        self._move(count)
        return self._memory[0][cell : cell + count].copy()

    def write(self, worker: int, cell: int, values: Sequence[int]) -> None:
        """Replace cells of a rank; those of rank 0 need no answer."""
        self._move(len(values), worker, is_awaited=worker != 0)
        if cell < OWN_CELLS:
            self._traffic.told[worker] = None
        self._memory[worker][cell : cell + len(values)] = values

    def tell(self, cell: int, values: Mapping[int, int]) -> None:
        """Replace a cell of several ranks."""
        for rank, value in values.items():
            self.write(rank, cell, [value])

    def own(self) -> NDArray[np.int64]:
        """Return the cells of this rank."""
        return self._memory[self._rank]


class MpiRun:
    """Simulates one run; no rank dies, since that ends all of them."""

    def __init__(self, cluster: Cluster, workload: Workload, meter: Meter) -> None:
        self.events, self._meter = Events(), meter
        self._cluster, self._load, n = cluster, workload, cluster.n_workers
        self._fates, self._disks = Fates(cluster, 0.0), Disks(cluster.storage)
        self._traffic = _Traffic(self.events, cluster)
        first = TaskTable.first_cells(n, len(workload.tasks))
        own = np.zeros((n, OWN_CELLS), np.int64)
        memory = [first, *own[1:]]
        self._tables = [
            TaskTable(_Cells(self._traffic, memory, rank), rank, n, workload.n_frames, RULE)
            for rank in range(n)
        ]
        self._states: list[States | None] = [None] * n
        self._sizes = [BatchSizes(BATCH) for _ in range(n)]
        # batch of each rank that runs one, and since when
        self._running: dict[int, tuple[range, float]] = {}
        self._has_opened = [False] * n
        self._turns = [0] * n
        self._idle: dict[int, None] = {}
        self._over = [0.0] * n
        self._n_over = 0
        self._repeated = 0
        self.taken: list[int] = []

    def run(self) -> Outcome:
        """Run all tasks, and merge the states of all ranks."""
        for rank in range(self._cluster.n_workers):
            self.events.at(0.0, partial(self._pull, rank))
        self.events.at(LOOK, self._look)
        self.events.run()
        if self._n_over < self._cluster.n_workers:
            raise RuntimeError(f"{self._cluster.n_workers - self._n_over} ranks wait for ever")
        collected = self._collect(max(self._over))
        end, whole = self._merge(collected)
        core = sum(self._meter.seconds.get(name, 0.0) for name in ("look", "collect"))
        return Outcome(
            n_tasks=len(self._load.tasks),
            n_workers=self._cluster.n_workers,
            seconds=end,
            work=sum(self._load.seconds),
            root_busy=self._traffic.root.busy + core,
            scheduler_busy=0.0,
            messages=self._traffic.messages,
            repeated=self._repeated,
            core_seconds=dict(self._meter.seconds),
            core_calls=dict(self._meter.calls),
            state=whole.tobytes(),
        )

    def _now(self) -> int:
        return int(1e9 * self.events.now) + 1

    def _pull(self, rank: int) -> None:
        """Take the next task of a rank, as `RankWorker` does."""
        table, traffic = self._tables[rank], self._traffic
        traffic.time = self.events.now
        begin = self._meter.clock()
        tasks = table.next(self._sizes[rank].size)
        if tasks is not None:
            table.begin(tasks, self._now())
        elif table.rest(self._now()):
            self._end(rank)
        else:
            self._idle[rank] = None
        self._meter.add("pull", begin)
        if tasks is not None:
            self._start(rank, tasks)

    def _start(self, rank: int, tasks: range) -> None:
        costs, traffic = self._load.costs, self._traffic
        traffic.move(len(tasks) * costs.task_bytes, is_local=rank == 0)
        now = end = traffic.time
        opened = now if self._has_opened[rank] else self._disks.open(now)
        self._has_opened[rank] = True
        for number in tasks:
            begin = max(end, opened)
            read = self._disks.read(begin, number, costs.n_bytes, costs.n_requests)
            end += self._fates.factors[rank] * (read - end + self._load.seconds[number])
        self._turns[rank] += 1
        self._running[rank] = tasks, now
        self.events.at(end, partial(self._done, rank, self._turns[rank]))

    def _done(self, rank: int, turn: int) -> None:
        if self._turns[rank] != turn:
            return
        self._turns[rank] += 1
        tasks, since = self._running.pop(rank)
        traffic, table = self._traffic, self._tables[rank]
        traffic.time = self.events.now
        begin = self._meter.clock()
        seconds = self.events.now - since
        won = table.claim(tasks, seconds)
        self._meter.add("claim", begin)
        if won:
            self.taken += tasks
            states = self._states[rank] = self._states[rank] or States(self._load.pass_)
            for number in tasks:
                states.add(self._load.states(number))
            self._sizes[rank].add(len(tasks), seconds, len(tasks) * self._load.costs.row_bytes)
        self.events.at(traffic.time, partial(self._pull, rank))

    def _look(self) -> None:
        """Look for stragglers on rank 0, and let idle ranks look at their own memory."""
        if not self._over[0]:
            self._traffic.time = self.events.now
            begin = self._meter.clock()
            self._tables[0].look(self._now())
            self._meter.add("look", begin)
        told, self._traffic.told = self._traffic.told, {}
        for rank in told:
            own = self._tables[rank]
            self._traffic.time = self.events.now + LOOK / 2
            if rank in self._running:
                if own.is_cancelled(self._running[rank][0]):
                    del self._running[rank]
                    self._turns[rank] += 1
                    self._pull(rank)
            elif rank not in self._idle:
                continue
            elif own.has_ended:
                del self._idle[rank]
                self._end(rank)
            elif (late := own.helped()) is not None:
                del self._idle[rank]
                self._repeated += len(late[0])
                self._start(rank, late[0])
        # Rank 0 looks no more when it has ended: by then it has told the others.
        if told or self._running or not self._over[0]:
            self.events.at(self.events.now + LOOK, self._look)

    def _end(self, rank: int) -> None:
        self._over[rank] = self._traffic.time
        self._n_over += 1

    def _collect(self, time: float) -> float:
        """Return when rank 0 has the arrays: gathered at the end, one message of each rank."""
        net, costs = self._cluster.network, self._load.costs
        size = costs.row_bytes * len(self._load.tasks)
        batches = -(-size // 2**26)
        busy = batches * self._cluster.n_workers * net.message_seconds + size / net.bandwidth
        return self._traffic.root.serve(time, busy)

    def _merge(self, time: float) -> tuple[float, NDArray[np.uint8]]:
        """Merge the states of all ranks along the tree of ranks; return when, and the whole."""
        net, n = self._cluster.network, self._cluster.n_workers
        ready = [time] * n
        begin = self._meter.clock()
        for rank in reversed(range(n)):
            for partner, is_sender in merge_steps(rank, n):
                if is_sender:
                    break
                states = self._states[partner]
                if states is not None:
                    sent = states.subtrees()
                    mine = self._states[rank] = self._states[rank] or States(self._load.pass_)
                    mine.add(sent)
                    self._states[partner] = None
                    moved = net.latency + len(sent) / net.bandwidth
                    ready[rank] = max(ready[rank], ready[partner]) + moved + net.message_seconds
        self._meter.add("merge", begin)
        assert self._states[0] is not None
        return ready[0], self._states[0].whole()
