"""The dispatch core, without processes or clocks: the tests set the time."""

import errno
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from helpers.extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from trajet.advise import RunningVerdict, Verdict
from trajet.pools.dispatch import (
    MAX_ATTEMPTS,
    Cancel,
    Copy,
    Dispatch,
    GiveUp,
    History,
    Instruction,
    StragglerRule,
    Submit,
    Take,
    is_retried,
)
from trajet.pools.task_batches import MAX_TASKS, SHARE, BatchRule, BatchSizes
from trajet.pools.task_table import OWN_CELLS, TaskTable

RULE = StragglerRule(min_done=3, grace=0.25)
TABLE_RULE = StragglerRule(min_done=1, grace=0.05)
TRANSIENT = OSError(errno.EIO, "the storage is not well")


class Backend:
    """Carries out instructions as an adapter does, and asserts the invariants of each."""

    def __init__(self, n_frames: Sequence[int], dispatch: Dispatch) -> None:
        self.n_frames, self.dispatch = n_frames, dispatch
        self.queued: list[Copy] = []
        self.on: dict[Copy, str] = {}
        self.computed: list[Copy] = []
        self.submitted: set[Copy] = set()
        self.cancelled: set[Copy] = set()
        self.taken: list[int] = []
        self.failures: dict[int, int] = {}
        self.given_up: Copy | None = None

    def follow(self, instructions: Sequence[Instruction]) -> None:
        """Carry out instructions."""
        for instruction in instructions:
            match instruction:
                case Submit(copy):
                    assert copy not in self.submitted
                    assert copy.task not in self.taken
                    self.submitted.add(copy)
                    self.queued.append(copy)
                case Cancel(copies):
                    assert copies
                    for copy in copies:
                        assert copy in self.submitted - self.cancelled
                        self.cancelled.add(copy)
                case Take(copy):
                    assert copy not in self.cancelled
                    assert copy.task not in self.taken
                    self.taken.append(copy.task)
                case GiveUp(copy):
                    self.given_up = copy

    def forget(self, copy: Copy) -> None:
        """Remove a copy from all lists."""
        self.on.pop(copy, None)
        for place in (self.queued, self.computed):
            if copy in place:
                place.remove(copy)

    def live(self) -> set[Copy]:
        """Return the copies from which a result may come."""
        return {*self.queued, *self.on, *self.computed} - self.cancelled


@dataclass
class CopyOfTwin:
    """A copy: its worker, and since when it runs and is gathered."""

    worker: str | None = None
    started: float | None = None
    gathering: float | None = None


class Twin:
    """Finds stragglers among all copies, from all times, as the rules are written down."""

    def __init__(self, n_frames: Sequence[int], rule_: StragglerRule | None) -> None:
        self.n_frames, self.rule = n_frames, rule_
        self.rates: list[float] = []
        self.gather_rates: list[float] = []
        self.copies: dict[int, dict[Copy, CopyOfTwin]] = {}
        self.is_computed: set[int] = set()
        self.busy: dict[Copy, str] = {}
        self.slow: set[str | None] = set()
        self.idle_since: dict[str, float] = {}
        # Workers that have begun a copy: others get none that waits, as they may hang.
        self.have_begun: set[str] = set()

    def follow(self, instructions: Sequence[Instruction]) -> None:
        """Note instructions."""
        for instruction in instructions:
            match instruction:
                case Submit(copy):
                    self.copies.setdefault(copy.task, {})[copy] = CopyOfTwin()
                    self.is_computed.discard(copy.task)
                case Cancel(copies):
                    for copy in copies:
                        self.forget(copy)
                case Take(copy):
                    self.copies.pop(copy.task)
                    self.busy.pop(copy, None)

    def find(self, copy: Copy) -> CopyOfTwin | None:
        """Return a copy that may still be taken."""
        return self.copies.get(copy.task, {}).get(copy)

    def forget(self, copy: Copy) -> None:
        """Remove a copy."""
        if self.find(copy) is not None:
            del self.copies[copy.task][copy]
            self.busy.pop(copy, None)

    def started(self, copy: Copy, workers: dict[str, int], worker: str, now: float) -> None:
        """Note that a copy runs."""
        if (found := self.find(copy)) is not None:
            found.worker, found.started = worker, now
            self.busy[copy] = worker
            self.have_begun.add(worker)
            if list(self.busy.values()).count(worker) >= workers[worker]:
                self.idle_since.pop(worker, None)

    def stopped(self, copy: Copy) -> None:
        """Note that a copy stopped."""
        if (found := self.find(copy)) is not None:
            found.gathering = None
            self.is_computed.discard(copy.task)
            self.busy.pop(copy, None)

    def computed(self, copy: Copy) -> None:
        """Note that a copy has a result."""
        if self.find(copy) is not None:
            self.is_computed.add(copy.task)
            self.busy.pop(copy, None)

    def gathering(self, copy: Copy, now: float) -> None:
        """Note that the arrays of a copy are on their way."""
        if (found := self.find(copy)) is not None:
            found.gathering = now

    def idle(self, workers: dict[str, int], now: float) -> dict[str, float]:
        """Return since when workers have been idle, as ticks have seen it."""
        busy = list(self.busy.values())
        names = [
            name for name, n in workers.items() if busy.count(name) < n and name not in self.slow
        ]
        self.idle_since = {name: self.idle_since.get(name, now) for name in names}
        return dict(self.idle_since)

    def overdue(
        self, idle: dict[str, float], now: float
    ) -> dict[int, tuple[str | None, list[str]]]:
        """Return the worker of each straggler, and the rules that it breaks."""
        late: dict[int, tuple[str | None, list[str]]] = {}
        if self.rule is None or not idle:
            return late
        for task, copies in self.copies.items():
            if len(copies) != 1:
                continue
            (copy,) = copies.values()
            if copy.gathering is not None:
                since, rates = copy.gathering, self.gather_rates
            elif task in self.is_computed:
                continue
            else:
                since = min(idle.values()) if copy.started is None else copy.started
                rates = self.rates
            if len(rates) < self.rule.min_done:
                continue
            limits = Verdict(rates).limits
            if rules := self.rule.broken(limits, now - since, self.n_frames[task]):
                late[task] = copy.worker, rules
        return late


class Dispatching(RuleBasedStateMachine):
    """Workers that join, leave, fail, straggle, answer late and twice, in any order."""

    @initialize(
        n_frames=st.lists(st.integers(1, 3), min_size=1, max_size=20),
        speculates=st.booleans(),
        pinned=st.booleans(),
        ahead=st.integers(1, 9),
    )
    def begin(self, n_frames: list[int], speculates: bool, pinned: bool, ahead: int) -> None:
        """Submit the tasks of a pass to two workers."""
        self.now, self.workers, self.joined = 0.0, {"w0": 1, "w1": 2}, 2
        self.pins = {k: f"w{k % 2}" for k in range(len(n_frames))} if pinned else {}
        rule_ = StragglerRule(min_done=1, grace=0.0) if speculates else None
        self.dispatch = Dispatch(n_frames, pins=self.pins, rule=rule_, ahead=ahead)
        self.twin = Twin(n_frames, rule_)
        self.backend = Backend(n_frames, self.dispatch)
        first = self.dispatch.start(self.workers)
        # Some tasks for each of three threads, and all that are pinned.
        n_first = len(n_frames) if pinned else min(len(n_frames), max(ahead, 12))
        assert [submit.copy for submit in first] == [Copy(k, 0) for k in range(n_first)]
        assert {s.copy.task: s.only for s in first if s.only} == self.pins
        self.follow(first)

    def follow(self, instructions: Sequence[Instruction]) -> None:
        """Carry out instructions, in the twin as well."""
        self.backend.follow(instructions)
        self.twin.follow(instructions)

    def one_of(self, data: st.DataObject, copies: Sequence[Copy]) -> Copy:
        """Draw a copy."""
        return data.draw(st.sampled_from(sorted(copies)))

    @rule(seconds=st.floats(0.0, 5.0))
    def tick(self, seconds: float) -> None:
        """Let time pass: each copy that this submits is for another worker than the straggler's."""
        self.now += seconds
        before = len(self.dispatch.stragglers)
        idle = self.twin.idle(self.workers, self.now)
        late_by_twin = self.twin.overdue(idle, self.now)
        submitted = self.dispatch.tick(self.now)
        late = self.dispatch.stragglers[before:]
        assert len(late) == len(submitted)
        for straggler, submit in zip(late, submitted, strict=True):
            assert isinstance(submit, Submit)
            assert submit.prefer == (straggler.also_on,)
            assert straggler.also_on in self.workers
            assert straggler.also_on != straggler.worker
            assert straggler.rules == late_by_twin.pop(straggler.task)[1]
            assert idle.pop(straggler.also_on) is not None
            copies = self.twin.copies[straggler.task].values()
            if all(copy.started is copy.gathering is None for copy in copies):
                assert straggler.also_on in self.twin.have_begun
        # No straggler is left for which a worker is idle.
        for task, (worker, _) in late_by_twin.items():
            (copy,) = self.twin.copies[task].values()
            waits = copy.started is copy.gathering is None
            assert not (set(idle) & self.twin.have_begun if waits else set(idle) - {worker})
        self.follow(submitted)
        self.twin.slow |= {straggler.worker for straggler in late}

    @precondition(lambda self: self.backend.queued and self.workers)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Have a worker begin a copy, cancelled or not."""
        copy = self.one_of(data, self.backend.queued)
        worker = data.draw(st.sampled_from(sorted(self.workers)))
        self.backend.queued.remove(copy)
        self.backend.on[copy] = worker
        self.dispatch.started(copy, worker, self.now)
        self.twin.started(copy, self.workers, worker, self.now)

    @precondition(lambda self: self.backend.on)
    @rule(data=st.data())
    def compute(self, data: st.DataObject) -> None:
        """End a copy with a result that is still at the worker."""
        copy = self.one_of(data, list(self.backend.on))
        del self.backend.on[copy]
        self.backend.computed.append(copy)
        self.twin.computed(copy)
        self.follow(self.dispatch.computed(copy))

    @precondition(lambda self: self.backend.computed)
    @rule(data=st.data())
    def gather(self, data: st.DataObject) -> None:
        """Begin to move rows."""
        copy = self.one_of(data, self.backend.computed)
        self.dispatch.gathering([copy], self.now)
        self.twin.gathering(copy, self.now)

    @precondition(lambda self: self.backend.computed)
    @rule(data=st.data(), seconds=st.floats(1e-3, 1.0))
    def deliver(self, data: st.DataObject, seconds: float) -> None:
        """Deliver a result; a second delivery of it is ignored."""
        copy = self.one_of(data, self.backend.computed)
        self.backend.forget(copy)
        self.dispatch.gathered(self.twin.n_frames[copy.task], seconds)
        self.twin.gather_rates.append(seconds / self.twin.n_frames[copy.task])
        wanted = copy not in self.backend.cancelled and self.dispatch.is_open(copy)
        instructions = self.dispatch.finished(copy, "w", seconds)
        assert (Take(copy) in instructions) == wanted
        if wanted:
            self.twin.rates.append(seconds / self.twin.n_frames[copy.task])
        self.follow(instructions)
        assert self.dispatch.finished(copy, "w", seconds) == []

    @precondition(lambda self: self.backend.on and self.backend.given_up is None)
    @rule(data=st.data(), transient=st.booleans())
    def fail(self, data: st.DataObject, transient: bool) -> None:
        """Fail in a copy: retried at most twice, and only if the storage may recover."""
        copy = self.one_of(data, list(self.backend.on))
        wanted = self.dispatch.is_open(copy)
        self.backend.forget(copy)
        instructions = self.dispatch.failed(copy, TRANSIENT if transient else ValueError("no"))
        if wanted:
            count = self.backend.failures[copy.task] = self.backend.failures.get(copy.task, 0) + 1
            assert (GiveUp(copy) in instructions) == (not transient or count == MAX_ATTEMPTS)
        else:
            assert instructions == []
        if GiveUp(copy) not in instructions:
            self.twin.forget(copy)
        self.follow(instructions)

    @precondition(lambda self: self.backend.live())
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """Lose a copy for good."""
        copy = self.one_of(data, list(self.backend.live()))
        self.backend.forget(copy)
        self.twin.forget(copy)
        self.follow(self.dispatch.lost(copy))

    @rule()
    def join(self) -> None:
        """Add a worker."""
        self.workers[f"w{self.joined}"] = 1
        self.joined += 1
        self.follow(self.dispatch.workers_changed(self.workers))

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        """Kill a worker: its backend queues its copies again."""
        worker = data.draw(st.sampled_from(sorted(self.workers)))
        del self.workers[worker]
        for copy in [copy for copy, where in self.backend.on.items() if where == worker]:
            self.backend.forget(copy)
            self.backend.queued.append(copy)
            self.dispatch.stopped(copy)
            self.twin.stopped(copy)
        instructions = self.dispatch.workers_changed(self.workers)
        assert all(s.only is None for s in instructions if isinstance(s, Submit))
        self.follow(instructions)

    @invariant()
    def no_task_is_lost(self) -> None:
        """Assert that every open task has a copy that may still answer."""
        if not hasattr(self, "dispatch") or self.backend.given_up is not None:
            return
        waiting = {copy.task for copy in self.backend.submitted} - set(self.backend.taken)
        assert {copy.task for copy in self.backend.live()} == waiting
        n_taken, n_tasks = len(self.backend.taken), len(self.backend.n_frames)
        assert self.dispatch.is_done == (n_taken == n_tasks)
        # Some tasks of each thread are submitted ahead, and tasks in their order.
        assert len(waiting) >= min(sum(self.workers.values()), n_tasks - n_taken)
        assert n_taken + len(waiting) == 1 + max(copy.task for copy in self.backend.submitted)
        done = sum(self.backend.n_frames[task] for task in self.backend.taken)
        assert self.dispatch.frames_done == done

    def teardown(self) -> None:
        """Let all copies answer: every task is taken once, whatever happened before."""
        if not hasattr(self, "dispatch") or self.backend.given_up is not None:
            return
        while live := self.backend.live():
            copy = min(live)
            self.backend.forget(copy)
            self.backend.follow(self.dispatch.computed(copy))
            self.backend.follow(self.dispatch.finished(copy, "last", 1.0))
        assert sorted(self.backend.taken) == list(range(len(self.backend.n_frames)))
        assert self.dispatch.is_done
        for straggler in self.dispatch.stragglers:
            assert straggler.answered_by is not None


class ArrayCells:
    """Cells of all workers in memory of this process."""

    def __init__(self, all_cells: list[np.ndarray], worker: int) -> None:
        self.all, self.worker = all_cells, worker

    def add(self, cell: int, value: int) -> int:
        """Add and return the old value."""
        before = int(self.all[0][cell])
        self.all[0][cell] += value
        return before

    def swap_if_zero(self, cell: int, value: int) -> bool:
        """Replace zero."""
        was_zero = bool(self.all[0][cell] == 0)
        if was_zero:
            self.all[0][cell] = value
        return was_zero

    def read(self, cell: int, count: int) -> np.ndarray:
        """Return some cells."""
        return self.all[0][cell : cell + count].copy()

    def write(self, worker: int, cell: int, values: Sequence[int]) -> None:
        """Replace some cells."""
        self.all[worker][cell : cell + len(values)] = values

    def tell(self, cell: int, values: dict[int, int]) -> None:
        """Replace a cell of some workers."""
        for worker, value in values.items():
            self.write(worker, cell, [value])

    def own(self) -> np.ndarray:
        """Return the cells of this worker."""
        return self.all[self.worker]


def tables(n_workers: int, n_frames: Sequence[int]) -> list[TaskTable]:
    """Return the table as each of some workers sees it."""
    cells = [TaskTable.first_cells(n_workers, len(n_frames))]
    cells += [np.zeros(OWN_CELLS, np.int64) for _ in range(1, n_workers)]
    return [
        TaskTable(ArrayCells(cells, k), k, n_workers, n_frames, TABLE_RULE)
        for k in range(n_workers)
    ]


class Pulling(RuleBasedStateMachine):
    """Workers that pull tasks from one table, one step of any of them at a time."""

    @initialize(n_frames=st.lists(st.integers(1, 9), max_size=60), n_workers=st.integers(1, 5))
    def begin(self, n_frames: list[int], n_workers: int) -> None:
        """Make the table."""
        self.now, self.n_frames = 1, n_frames
        self.tables = tables(n_workers, n_frames)
        self.busy: dict[int, range] = {}
        self.handed_out: list[int] = []
        self.merged: list[int] = []
        self.again: list[int] = []
        self.idle: set[int] = set()
        # of batches that were begun: when and by whom; of those that are done, seconds a frame
        self.begun: dict[range, int] = {}
        self.owners: dict[range, int] = {}
        self.rates: list[float] = []
        self.slow: set[int] = set()

    @rule(data=st.data(), size=st.integers(1, 2 * MAX_TASKS))
    def take(self, data: st.DataObject, size: int) -> None:
        """Have a worker take a batch, or rest if no task is left."""
        worker = data.draw(st.integers(0, len(self.tables) - 1))
        if worker in self.busy:
            return
        table = self.tables[worker]
        left = len(self.n_frames) - len(self.handed_out)
        if (tasks := table.next(size)) is not None:
            assert len(tasks) <= max(1, min(size, left // SHARE))
            table.begin(tasks, self.now)
            self.handed_out += tasks
            self.busy[worker] = tasks
            self.begun[tasks], self.owners[tasks] = self.now, worker
        elif worker not in self.idle:
            assert table.rest(self.now) == (len(self.merged) == len(self.n_frames))
            self.idle.add(worker)

    @rule()
    def look(self) -> None:
        """Have worker 0 give stragglers to idle workers, which begin them."""
        late = self.late() if self.idle else []
        self.slow |= {self.owners[tasks] for tasks in late}
        n_helpers = min(len(late), len(self.idle - self.slow))
        self.tables[0].look(self.now)
        given = []
        for worker in sorted(self.idle):
            table = self.tables[worker]
            if table.has_ended:
                assert len(self.merged) == len(self.n_frames)
            elif (found := table.helped()) is not None:
                tasks, owner = found
                assert owner != worker
                assert self.busy[owner] == tasks
                given.append(tasks)
                self.busy[worker] = tasks
                self.idle.remove(worker)
        assert len(given) == n_helpers
        # Those that take longest.
        assert set(given) == set(late[:n_helpers])
        for tasks in given:
            self.again += tasks

    def frames(self, tasks: range) -> int:
        """Return the frames of a batch."""
        return sum(self.n_frames[number] for number in tasks)

    def late(self) -> list[range]:
        """Return the batches that break a rule and run once, the longest first."""
        if not self.rates:
            return []
        limits = Verdict(self.rates).limits
        running = [n for n in self.owners if n.start not in {*self.merged, *self.again}]
        seconds = {tasks: 1e-9 * (self.now - self.begun[tasks]) for tasks in running}
        late = [n for n in running if TABLE_RULE.broken(limits, seconds[n], self.frames(n))]
        return sorted(late, key=lambda tasks: (-seconds[tasks], self.owners[tasks]))

    @rule(data=st.data(), seconds=st.floats(0.0, 5.0))
    def finish(self, data: st.DataObject, seconds: float) -> None:
        """Have a worker end its batch; the first of two results counts and cancels the other."""
        if not self.busy:
            return
        worker = data.draw(st.sampled_from(sorted(self.busy)))
        tasks = self.busy.pop(worker)
        won = self.tables[worker].claim(tasks, seconds)
        assert won == (tasks.start not in self.merged)
        if won:
            self.merged += tasks
            self.rates.append(1e-9 * max(1, int(1e9 * seconds)) / self.frames(tasks))
            claims = self.tables[0].claims()
            assert (claims[tasks.start : tasks.stop] == worker).all()
        for other, its in self.busy.items():
            assert self.tables[other].is_cancelled(its) == (its.start in self.merged)

    @rule(nanoseconds=st.integers(1, 10**10))
    def pass_time(self, nanoseconds: int) -> None:
        """Let time pass."""
        self.now += nanoseconds

    @invariant()
    def tasks_are_taken_once(self) -> None:
        """Assert that no task is handed out or merged twice, and each is repeated at most once."""
        if not hasattr(self, "tables"):
            return
        for numbers in (self.handed_out, self.merged, self.again):
            assert len(numbers) == len(set(numbers))
        assert self.tables[0].frames_done() == sum(self.n_frames[k] for k in self.merged)
        assert self.tables[-1].is_done == (len(self.merged) == len(self.n_frames))

    def teardown(self) -> None:
        """Let every worker continue until nothing is left: all tasks are merged."""
        if not hasattr(self, "tables"):
            return
        for worker, table in enumerate(self.tables):
            tasks = self.busy.pop(worker, None)
            while tasks is not None:
                if table.claim(tasks, 1.0):
                    self.merged += tasks
                if (tasks := table.next(3)) is not None:
                    self.handed_out += tasks
                    table.begin(tasks, self.now)
        # Idle workers take the remaining tasks.
        for table in self.tables:
            while (tasks := table.next(3)) is not None:
                table.begin(tasks, self.now)
                assert table.claim(tasks, 1.0)
                self.merged += tasks
        assert sorted(self.merged) == list(range(len(self.n_frames)))
        assert all(table.is_done for table in self.tables)
        # Worker 0 rests once, and ends all that rest already.
        self.tables[0].rest(self.now)
        assert all(self.tables[worker].has_ended for worker in self.idle)


RUNS = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
TestDispatching = Dispatching.TestCase
TestDispatching.settings = RUNS
TestPulling = Pulling.TestCase
TestPulling.settings = RUNS


@given(st.lists(st.floats(0.0, 1e9), max_size=60))
@settings(deadline=None, max_examples=examples(100))
def test_running_verdict_has_the_bits_of_the_plain_one(times: list[float]) -> None:
    """After each time the limits are those of all times until then."""
    running = RunningVerdict()
    for n in range(len(times) + 1):
        plain = Verdict(times[:n])
        assert (len(running), running.limits) == (n, plain.limits)
        assert (running.median, running.fastest) == (plain.median, plain.fastest)
        if n < len(times):
            running.add(times[n])


def run_all(dispatch: Dispatch, n_tasks: int, slow: int | None) -> dict[int, float]:
    """Run tasks of a second each, but one for a minute; return the merged copies of each task."""
    copies = {submit.copy: (0.0, "w0") for submit in dispatch.start({"w0": 1, "w1": 1})}
    merged: dict[int, float] = {}
    for copy in copies:
        dispatch.started(copy, "w0", 0.0)
    for step in range(1, 700):
        now = step / 10
        due = [
            copy
            for copy, (since, _) in copies.items()
            if now - since >= (60.0 if copy == (slow, 0) else 1.0) and dispatch.is_open(copy)
        ]
        for copy in due:
            if not dispatch.is_open(copy):
                continue
            dispatch.computed(copy)
            for instruction in dispatch.finished(copy, copies[copy][1], now - copies[copy][0]):
                if isinstance(instruction, Take):
                    # The numbers of a task are those of any copy.
                    assert instruction.copy.task not in merged
                    merged[instruction.copy.task] = float(instruction.copy.task)
        for submit in dispatch.tick(now):
            assert isinstance(submit, Submit)
            copies[submit.copy] = (now, submit.prefer[0])
            dispatch.started(submit.copy, submit.prefer[0], now)
    assert len(merged) == n_tasks
    return merged


@given(n_tasks=st.integers(4, 20), slow=st.none() | st.integers(0, 3))
@settings(deadline=None, max_examples=examples(30))
def test_speculation_changes_no_result(n_tasks: int, slow: int | None) -> None:
    """Merged results are equal with and without speculation, with and without a straggler."""
    alone = run_all(Dispatch([1] * n_tasks), n_tasks, slow)
    twice = run_all(Dispatch([1] * n_tasks, rule=RULE), n_tasks, slow)
    assert alone == twice


@pytest.mark.parametrize("n_tasks", [5, 9])
def test_straggler_is_named(n_tasks: int) -> None:
    """The report names its worker, stage and rules, and the worker that did its task."""
    dispatch = Dispatch([1] * n_tasks, rule=RULE)
    run_all(dispatch, n_tasks, slow=2)
    (late,) = dispatch.stragglers
    assert (late.task, late.worker, late.state, late.also_on) == (2, "w0", "running", "w1")
    assert late.answered_by == "w1"
    assert set(late.rules) <= {"median", "fastest"}
    assert late.seconds < 10


def test_worker_that_straggled_gets_no_copy() -> None:
    """An idle worker that was slow once gets no copy of another straggler's task."""
    dispatch = Dispatch([1] * 8, rule=StragglerRule(min_done=1, grace=0.0))
    copies = [submit.copy for submit in dispatch.start({"w0": 1, "w1": 1, "w2": 1})]
    dispatch.started(copies[0], "w0", 0.0)
    dispatch.started(copies[1], "w1", 0.0)
    dispatch.started(copies[2], "w2", 0.0)
    assert Take(copies[2]) in dispatch.finished(copies[2], "w2", 0.1)
    (first, *_) = dispatch.tick(10.0)
    assert isinstance(first, Submit)
    assert first.copy == Copy(0, 1)
    dispatch.started(first.copy, "w2", 10.0)
    assert Take(first.copy) in dispatch.finished(first.copy, "w2", 0.1)
    later = dispatch.tick(20.0)
    assert all(isinstance(s, Submit) and s.prefer == ("w2",) for s in later)


def test_rows_that_do_not_arrive_are_computed_again() -> None:
    """A copy whose rows take too long to arrive is a straggler in gathering."""
    dispatch = Dispatch([1] * 5, rule=RULE)
    copies = [submit.copy for submit in dispatch.start({"w0": 1, "w1": 1})]
    for copy in copies[:4]:
        dispatch.started(copy, "w0", 0.0)
        dispatch.computed(copy)
        dispatch.gathering([copy], 1.0)
        dispatch.gathered(1, 0.1)
        dispatch.finished(copy, "w0", 1.0)
    dispatch.started(copies[4], "w0", 0.0)
    assert dispatch.computed(copies[4]) == []
    assert dispatch.tick(50.0) == []
    dispatch.gathering([copies[4]], 50.0)
    assert dispatch.tick(50.1) == []
    assert dispatch.tick(52.0) == [Submit(Copy(4, 1), None, ("w1",))]
    assert dispatch.stragglers[0].state == "gathering"
    # The rows arrive after all: the copy is cancelled.
    assert dispatch.finished(copies[4], "w0", 1.0) == [Cancel((Copy(4, 1),)), Take(copies[4])]
    assert dispatch.is_done


def test_result_of_a_cancelled_copy_is_ignored() -> None:
    """It is ignored even while its task is open: the copy that was computed first counts."""
    dispatch = Dispatch([1, 1], rule=StragglerRule(min_done=1, grace=0.0))
    first, second = (submit.copy for submit in dispatch.start({"w0": 1, "w1": 1}))
    dispatch.started(first, "w0", 0.0)
    dispatch.started(second, "w1", 0.0)
    assert Take(second) in dispatch.finished(second, "w1", 0.1)
    (again,) = dispatch.tick(9.0)
    assert isinstance(again, Submit)
    assert dispatch.computed(first) == [Cancel((again.copy,))]
    assert dispatch.computed(again.copy) == []
    assert dispatch.finished(again.copy, "w1", 0.1) == []
    assert dispatch.failed(again.copy, TRANSIENT) == dispatch.lost(again.copy) == []
    assert dispatch.finished(first, "w0", 9.5) == [Take(first)]


def test_straggling_batch_that_fails_later_is_answered_by_its_first_task() -> None:
    """The report says who did it, also if no copy of the whole batch has ended well."""
    rule_, batch_rule = StragglerRule(min_done=1, grace=0.0), BatchRule(100.0, 0.0, frame_bytes=8)
    dispatch = Dispatch([1] * 100, rule=rule_, batches=batch_rule)
    queue = deque(dispatch.start({"a": 1, "b": 1}))
    while queue[0].n_tasks == 1:
        copy = queue.popleft().copy
        dispatch.started(copy, "b", 0.0)
        dispatch.computed(copy)
        queue += [one for one in dispatch.finished(copy, "b", 1.0) if isinstance(one, Submit)]
    first, *others = (one.copy for one in queue)
    dispatch.started(first, "a", 0.0)
    for copy in others:
        # They wait for no worker.
        dispatch.computed(copy)
    dispatch.tick(0.0)
    dispatch.tick(1e6)
    (late,) = dispatch.stragglers
    assert (late.worker, late.also_on) == ("a", "b")
    assert dispatch.failed(Copy(first.task, 1), TRANSIENT) == []
    alone, *_ = dispatch.failed(first, TRANSIENT)
    assert isinstance(alone, Submit)
    assert (alone.copy, alone.n_tasks) == (Copy(first.task, 2), 1)
    assert late.answered_by is None
    dispatch.finished(alone.copy, "b", 1.0)
    assert late.answered_by == "b"


def test_tasks_that_are_left_out_are_cancelled_or_never_submitted() -> None:
    """Their results and errors are not taken, and the others end the run."""
    dispatch = Dispatch([1] * 8, ahead=4)
    first = [one.copy for one in dispatch.start({"a": 1})]
    assert [copy.task for copy in first] == [0, 1, 2, 3]
    assert Take(first[0]) in dispatch.finished(first[0], "a", 1.0)
    cancelled, *more = dispatch.leave_out([0, 2, 3, 5, 6])
    assert isinstance(cancelled, Cancel)
    assert sorted(cancelled.copies) == first[2:]
    # Task 0 is done, 1 and 4 are open.
    assert [one.copy for one in more if isinstance(one, Submit)] == [Copy(7, 0)]
    assert dispatch.leave_out([2, 6]) == []
    assert dispatch.finished(first[2], "a", 1.0) == dispatch.failed(first[3], TRANSIENT) == []
    for copy in (first[1], Copy(4, 0), Copy(7, 0)):
        assert not dispatch.is_done
        assert dispatch.finished(copy, "a", 1.0) == [Take(copy)]
    assert dispatch.is_done
    assert dispatch.frames_done == 4


@given(
    added=st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=6),
    fails=st.sets(st.integers(0, 23)),
    order=st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=examples(30))
def test_tasks_that_are_added_are_taken_once(
    added: list[list[int]], fails: set[int], order: Random
) -> None:
    """At any moment, also after all earlier ones are done; none is submitted before it is there."""
    dispatch = Dispatch([], ahead=4)
    left, n_frames, open_copies = deque(added), list[int](), list[Copy]()
    backend = Backend(n_frames, dispatch)
    while left or open_copies:
        if left and (not open_copies or order.random() < 0.3):
            more = left.popleft()
            n_frames += more
            backend.follow(dispatch.add(more))
        elif open_copies:
            copy = open_copies.pop(order.randrange(len(open_copies)))
            is_first = copy.number == 0
            if is_first and copy.task in fails:
                backend.follow(dispatch.failed(copy, TRANSIENT))
            else:
                backend.follow(dispatch.finished(copy, "", 0.0))
        open_copies += backend.queued
        backend.queued.clear()
        assert all(copy.task < len(n_frames) for copy in open_copies)
        assert dispatch.is_done == (len(backend.taken) == len(n_frames))
    assert sorted(backend.taken) == list(range(len(n_frames)))
    assert dispatch.frames_done == sum(n_frames)


def test_retries_are_bounded() -> None:
    """Errors of the storage are retried up to three attempts; other errors end the run at once."""
    assert is_retried(TRANSIENT, 1)
    assert is_retried(TRANSIENT, MAX_ATTEMPTS - 1)
    assert not is_retried(TRANSIENT, MAX_ATTEMPTS)
    assert not is_retried(OSError(errno.ENOENT, "none"), 1)
    assert not is_retried(ValueError("no"), 1)


def test_retry_prefers_other_workers() -> None:
    """The worker on which the task failed is the last choice."""
    dispatch = Dispatch([1])
    (first,) = dispatch.start({"w0": 1, "w1": 1})
    dispatch.started(first.copy, "w0", 0.0)
    assert dispatch.failed(first.copy, TRANSIENT) == [Submit(Copy(0, 1), None, ("w1",))]


def test_failure_ends_all_workers() -> None:
    """No task is begun after a worker has failed, and all that run are cancelled."""
    all_tables = tables(3, [1] * 9)
    running = [table.next() for table in all_tables]
    all_tables[1].fail()
    assert [table.next() for table in all_tables] == [None] * 3
    for table, tasks in zip(all_tables, running, strict=True):
        assert tasks is not None
        assert table.is_cancelled(tasks)
        assert table.has_failed
        assert table.is_done


@given(n_tasks=st.integers(0, 5000), n_workers=st.integers(1, 9), size=st.integers(1, 10**4))
@settings(deadline=None, max_examples=examples(60))
def test_batches_shrink_to_one_task(n_tasks: int, n_workers: int, size: int) -> None:
    """Workers take every task once; the last tasks of a run are taken one by one."""
    all_tables = tables(n_workers, [1] * n_tasks)
    taken: list[range] = []
    at_work = list(all_tables)
    while at_work:
        for table in list(at_work):
            if (tasks := table.next(size)) is None:
                at_work.remove(table)
            else:
                taken.append(tasks)
    assert sorted(number for tasks in taken for number in tasks) == list(range(n_tasks))
    assert all(len(tasks) <= min(size, MAX_TASKS) for tasks in taken)
    if n_workers == 1:
        assert [len(tasks) for tasks in taken[2 - 2 * SHARE :]] == [1] * min(n_tasks, 2 * SHARE - 2)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(0, 10**9)), max_size=30))
@settings(deadline=None, max_examples=examples(60))
def test_batches_take_the_seconds_and_bytes_that_they_may(tasks: list[tuple[float, int]]) -> None:
    """The first batch is one task; the next are as long as measured tasks allow."""
    sizes = BatchSizes(0.1)
    assert sizes.size == 1
    for seconds, n_bytes in tasks:
        before = sizes.size
        sizes.add(before, before * seconds, before * n_bytes)
        assert 1 <= sizes.size <= min(4 * before, MAX_TASKS)
        assert sizes.size == 1 or sizes.size * seconds <= 0.1 * (1 + 1e-9)
        assert sizes.size == 1 or sizes.size * n_bytes <= 2**26
        if seconds >= 0.1:
            assert sizes.size == 1


def run_batches(dispatch: Dispatch, numbers: Random, n_workers: int) -> list[list[range]]:
    """Run batches that end early, fail, straggle and are lost; return those taken, in order.

    The first list has what was submitted, the second what was taken.
    """
    workers = {f"w{k}": 1 for k in range(n_workers)}
    sent: dict[Copy, range] = {}
    all_submitted: set[Copy] = set()
    batches: list[range] = []
    taken: list[range] = []
    failures: Counter[int] = Counter()
    now = 0.0

    def follow(instructions: Sequence[Instruction], done: int = 0) -> None:
        for instruction in instructions:
            match instruction:
                case Submit(copy, _, _, n_tasks, most_seconds):
                    assert copy not in all_submitted
                    assert most_seconds > 0
                    all_submitted.add(copy)
                    sent[copy] = range(copy.task, copy.task + n_tasks)
                    batches.append(sent[copy])
                case Cancel(copies):
                    for copy in copies:
                        del sent[copy]
                case Take(copy):
                    taken.append(sent.pop(copy)[:done])
                case GiveUp():
                    raise AssertionError("no task fails so often")

    follow(dispatch.start(workers))
    while not dispatch.is_done:
        copy = numbers.choice(sorted(sent))
        worker, now = numbers.choice(sorted(workers)), now + numbers.random()
        tasks = sent[copy]
        dispatch.started(copy, worker, now)
        how = numbers.choice(("ends", "ends", "ends", "is left", "fails", "is lost", "hangs"))
        if how == "hangs":
            follow(dispatch.tick(now + 1e4 * numbers.random()))
        elif how == "is lost":
            del sent[copy]
            follow(dispatch.lost(copy))
        elif how == "fails" and failures[tasks[0]] < MAX_ATTEMPTS - 1:
            failures[tasks[0]] += 1
            del sent[copy]
            follow(dispatch.failed(copy, TRANSIENT))
        else:
            n_done = len(tasks) if how == "ends" else numbers.randint(1, len(tasks))
            error = None
            if n_done < len(tasks) and failures[tasks[n_done]] < MAX_ATTEMPTS - 1:
                failures[tasks[n_done]] += 1
                error = TRANSIENT
            follow(dispatch.computed(copy))
            seconds = 1e-3 * n_done * numbers.random()
            follow(dispatch.finished(copy, worker, seconds, n_done, error), n_done)
    assert not sent
    return [batches, taken]


@given(
    n_frames=st.lists(st.integers(1, 9), max_size=300),
    numbers=st.randoms(use_true_random=False),
    n_workers=st.integers(1, 4),
)
@settings(deadline=None, max_examples=examples(60))
def test_every_task_of_a_batch_is_taken_once(
    n_frames: list[int], numbers: Random, n_workers: int
) -> None:
    """Whatever becomes of batches, each task is taken once."""
    rule_ = StragglerRule(min_done=1, grace=0.0)
    dispatch = Dispatch(n_frames, rule=rule_, batches=BatchRule(1.0, 0.0, frame_bytes=8))
    _, taken = run_batches(dispatch, numbers, n_workers)
    assert sorted(task for tasks in taken for task in tasks) == list(range(len(n_frames)))
    assert dispatch.frames_done == sum(n_frames)


def test_batches_are_long_at_first_and_single_at_the_end() -> None:
    """Short tasks are grouped as soon as some are done; long ones never are."""

    def sizes(seconds: float) -> list[int]:
        """Return the tasks of all batches, of tasks of so many seconds."""
        rule_ = StragglerRule(min_done=3, grace=0.25)
        dispatch = Dispatch([1] * 5000, rule=rule_, batches=BatchRule(0.5, 1e-3, frame_bytes=8))
        queue, sizes = deque(dispatch.start({"w0": 1, "w1": 1})), []
        while queue:
            submit = queue.popleft()
            sizes.append(submit.n_tasks)
            found = dispatch.finished(submit.copy, "w0", seconds * submit.n_tasks)
            queue += [one for one in found if isinstance(one, Submit)]
        assert dispatch.is_done
        return sizes

    short = sizes(1e-3)
    # Four for each worker before any is measured.
    assert short[:8] == [1] * 8
    assert 250 < max(short) <= 500
    assert len(short) < 5000 / 50
    assert short[-2 * SHARE :] == [1] * 2 * SHARE
    assert sizes(0.5) == [1] * 5000


def test_batch_takes_longer_with_many_workers() -> None:
    """So that the calling process is not busy with messages all of the time."""
    rule_, many = BatchRule(0.5, 1e-3, frame_bytes=8), 10**9
    assert rule_.size(1.0, 1, 1000, many, largest=100) == 1
    assert rule_.size(1.0, 1, 10_000, many, largest=100) == 10
    assert rule_.size(1.0, 1, 10_000, many, largest=1) == 4
    assert rule_.size(1e-6, 1000, 1, many, largest=MAX_TASKS) == 500
    assert BatchRule(0.5, 1e-3, 2**20).size(1e-6, 32, 1, many, largest=100) == 2
    # Also at the end, where batches are short.
    assert rule_.size(1.0, 1, 10_000, 8 * SHARE * 10_000, largest=100) == 8
    assert rule_.size(1.0, 1, 10_000, 10, largest=100) == 3
    assert rule_.size(1.0, 1, 100, 10, largest=100) == 1


def test_many_workers_get_one_task_each_until_half_have_answered() -> None:
    """The first that end are the fastest: batches of their size would be too long."""
    n = 2000
    dispatch = Dispatch(
        [1] * 100 * n,
        rule=StragglerRule(min_done=3, grace=0.25),
        batches=BatchRule(0.5, 1e-3, frame_bytes=8),
    )
    submitted = dispatch.start({f"w{k}": 1 for k in range(n)})
    assert [one.n_tasks for one in submitted] == [1] * n
    sizes = []
    for k, one in enumerate(submitted):
        found = dispatch.finished(one.copy, f"w{k}", 0.01 if k < n // 4 else 0.1)
        sizes.append([new.n_tasks for new in found if isinstance(new, Submit)])
    # Until then batches are at most four times as long as the longest; then they take 2 s.
    assert {size for some in sizes[: n // 2 - 1] for size in some} == {4}
    assert sum(map(len, sizes[: n // 2 - 1])) < n
    # The median is then that of the slower half.
    assert max(map(max, filter(None, sizes[n // 2 :]))) <= 20


@pytest.mark.parametrize("is_known", [False, True])
def test_few_tasks_are_found_late_by_those_before(is_known: bool) -> None:
    """A single task that waits behind a worker that hangs is done by one that is known to work."""
    history = History() if is_known else None
    rule_ = StragglerRule(min_done=3, grace=0.25)
    first = Dispatch([10] * 4, rule=rule_, history=history)
    for submit in first.start({"a": 1, "hangs": 1}):
        first.started(submit.copy, "a", 0.0)
        first.computed(submit.copy)
        first.finished(submit.copy, "a", 1.0)
    assert first.is_done
    last = Dispatch([10], rule=rule_, history=history)
    (submit,) = last.start({"a": 1, "hangs": 1})
    found = [one for now in (0.0, 5.0, 50.0) for one in last.tick(now)]
    assert [one.prefer for one in found if isinstance(one, Submit)] == [("a",)] * is_known
    assert submit.copy.task == 0
