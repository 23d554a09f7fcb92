"""The tasks of a simulated run, their costs and states, and what came out of it."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

import numpy as np
import trajet as tj
from host import as_lines
from numpy.typing import NDArray
from trajet._trajet import Pass, Plan, States, task
from trajet.pools.passes import tasks_of
from trajet.pools.tasks import Task, Worker, WorkerSpec, sections_of

# Bytes of the states of a leaf before its mean position, and of that: three numbers.
_MEAN = b"\x01\x18"
_MEAN_BYTES = 24


@dataclass(frozen=True)
class Costs:
    """Costs of the tasks of a run."""

    seconds: Sequence[float]  # of decoding and computing, of which one is drawn for each task
    n_bytes: float
    n_requests: int
    row_bytes: int  # of the numbers of a task that move to the calling process
    task_bytes: int = 64  # of a serialised task

    @classmethod
    def of_report(cls, path: Path, row_bytes: int, task_seconds: float | None = None) -> "Costs":
        """Return the costs of the tasks of a report; with `task_seconds` scaled to that mean."""
        report = json.loads(path.read_text())
        tasks = report["tasks"]
        spent = [one["t_decode"] + one["t_comp"] + one["t_merge"] for one in tasks]
        mean = sum(spent) / len(spent)
        factor = 1.0 if task_seconds is None else task_seconds / mean
        return cls(
            seconds=[factor * seconds for seconds in spent],
            n_bytes=factor * report["bytes_read"] / len(tasks),
            n_requests=max(1, round(factor * report["requests"] / len(tasks))),
            row_bytes=row_bytes,
        )


class Workload:
    """A pass of moments whose states are sums of floats: another order of merges changes bits."""

    def __init__(self, n_tasks: int, n_workers: int, costs: Costs, seed: int = 1) -> None:
        plan = Plan("moments", atoms=[0], align=None, average=False)
        one_leaf = Pass(plan, 1, n_tasks * 256, []).frames_of(0, 1)[1]
        self.pass_ = Pass(plan, 1, n_tasks * one_leaf, [])
        self.tasks: Sequence[Task] = tasks_of(self.pass_, n_workers, one_leaf)
        self.costs = costs
        self.n_frames = np.full(len(self.tasks), one_leaf, np.int64)
        self._leaf, self._at = _state_of_a_leaf(plan)
        self._means = np.random.default_rng(seed).random((self.pass_.n_leaves, 3))
        numbers = random.Random(seed)
        self.seconds = numbers.choices(costs.seconds, k=len(self.tasks))

    def states(self, number: int) -> NDArray[np.uint8]:
        """Return the states of a task as a worker sends them: those of its largest subtrees."""
        leaves = range(*self.tasks[number].leaves)
        if len(leaves) == 1:
            return self._state(leaves[0])
        states = States(self.pass_)
        for leaf in leaves:
            states.add(self._state(leaf))
        return states.subtrees()

    def whole(self) -> bytes:
        """Return the state of the pass, of tasks that are merged in order."""
        states = States(self.pass_)
        for leaf in range(self.pass_.n_leaves):
            states.add(self._state(leaf))
        return states.whole().tobytes()

    def _state(self, leaf: int) -> NDArray[np.uint8]:
        before, after = self._leaf[: self._at], self._leaf[self._at + _MEAN_BYTES :]
        mean = self._means[leaf].tobytes()
        return np.frombuffer(b"".join((b"\0", _varint(leaf), before, mean, after)), np.uint8)


@dataclass(frozen=True)
class Outcome:
    """Times (s) and counts of a simulated run."""

    n_tasks: int
    n_workers: int
    seconds: float  # simulated
    work: float  # that one usual worker would compute
    root_busy: float  # of rank 0, or the calling process
    scheduler_busy: float
    messages: int  # of rank 0; with MPI, one-sided operations on its memory
    repeated: int  # tasks of stragglers that another worker did as well
    core_seconds: dict[str, float]  # real ones in the product's code, and calls, by method
    core_calls: dict[str, int]
    state: bytes  # merged
    # of the simulation, with all of its workers
    peak_bytes: int = field(default_factory=lambda: 1024 * getrusage(RUSAGE_SELF).ru_maxrss)

    @property
    def efficiency(self) -> float:
        """The time of as many usual workers without any other cost, over the time of the run."""
        return self.work / self.n_workers / self.seconds

    def record(self) -> dict[str, object]:
        """Return a row of the record."""
        row = {**asdict(self), "efficiency": self.efficiency}
        del row["state"]
        seconds = row.pop("seconds")
        return {**row, "threads": row.pop("n_workers"), "best_s": seconds, "median_s": seconds}


def as_table(rows: Sequence[tuple[str, Outcome, float]]) -> list[str]:
    """Return the lines of a table of Markdown: names, outcomes and real seconds."""
    head = (
        *("", "workers", "tasks", "seconds", "efficiency", "rank 0 busy", "scheduler busy"),
        *("messages a task", "repeated", "core µs a task", "memory, MB", "real seconds"),
    )
    lines = []
    for name, outcome, real in rows:
        shares = (outcome.efficiency, outcome.root_busy / outcome.seconds)
        shares += (outcome.scheduler_busy / outcome.seconds,)
        counts = f"{outcome.messages / outcome.n_tasks:.1f}", str(outcome.repeated)
        core = 1e6 * sum(outcome.core_seconds.values()) / outcome.n_tasks
        sizes = f"{core:.1f}", f"{outcome.peak_bytes / 1e6:.0f}", f"{real:.1f}"
        numbers = f"{outcome.n_workers:,}", f"{outcome.n_tasks:,}", f"{outcome.seconds:.1f}"
        lines.append([name, *numbers, *(f"{100 * one:.1f} %" for one in shares), *counts, *sizes])
    return as_lines(head, lines)


def _varint(number: int) -> bytes:
    """Return a number as postcard writes it: seven bits a byte, the lowest first."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _state_of_a_leaf(plan: Plan) -> tuple[bytes, int]:
    """Return the state of a leaf without its place in the tree, and where its mean position is."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "one.dcd"
        tj.write(path, np.zeros((1, 1, 3), np.float32), times=[0.0])
        reader = tj.open(None, path, sidecar=False).source.reader
        pass_ = Pass(plan, 1, 1, [])
        worker = Worker(WorkerSpec(reader.worker_input(pass_.atoms), plan, 1, (), 1))
        sections = sections_of(pass_, 1, np.empty(pass_.sections(1)[1], np.uint8))
        done = worker.do(task(reader, pass_, (0, 1, 1), 0, 1), sections)
    state = done.states.tobytes()[2:]
    return state, state.index(_MEAN) + len(_MEAN)
