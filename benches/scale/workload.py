"""The tasks of a simulated run: the product's plan, costs of a real run, and states that merge."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet._trajet import Pass, Plan, States, task
from trajet.pools.passes import tasks_of
from trajet.pools.tasks import Task, Worker, WorkerSpec, sections_of

# Bytes of the states of a leaf before its mean position, and of that: three numbers.
_MEAN = b"\x01\x18"
_MEAN_BYTES = 24


@dataclass(frozen=True)
class Costs:
    """Costs of the tasks of a run.

    Attributes
    ----------
    seconds
        Seconds of decoding and computing of a task, of which one is drawn for each.
    n_bytes, n_requests
        Bytes and read requests of a task.
    row_bytes
        Bytes of the numbers of a task that move to the calling process.
    task_bytes
        Bytes of a serialised task.
    """

    seconds: Sequence[float]
    n_bytes: float
    n_requests: int
    row_bytes: int
    task_bytes: int = 64

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
    """A pass whose states are sums of floats, so that another order of merges changes bits.

    Attributes
    ----------
    pass_
        The pass: moments of the positions of one atom.
    tasks
        Its tasks, each of whole leaves.
    """

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
