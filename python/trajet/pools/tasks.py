"""Tasks of pools whose workers are other processes.

The calling process sends each worker the setup of a pass once (`WorkerSpec`), and with each task
the rows of its frames. Workers parse no topology, look for no index and import no MDAnalysis.
Their states are merged along the tree of the leaves, so that the bits are those of one process.
"""

import os
import time
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Plan
from trajet.report_entries import TaskReport

# Bytes of some frames in each array of a pass: `(n_frames, entry_bytes)`.
Sections: TypeAlias = list[NDArray[np.uint8]]


def sections_of(pass_: _trajet.Pass, n_frames: int, buffer: NDArray[np.uint8]) -> Sections:
    """Divide a buffer for `n_frames` frames into the sections of the arrays of a pass."""
    begins, _ = pass_.sections(n_frames)
    # Empty sections would be the same part of the buffer, which is borrowed once.
    return [
        buffer[begin : begin + n_frames * size].reshape(n_frames, size)
        if n_frames * size
        else np.zeros((n_frames, size), np.uint8)
        for begin, size in zip(begins, pass_.entry_bytes, strict=True)
    ]


@dataclass(frozen=True)
class WorkerSpec:
    """Everything that a worker needs to open the trajectory and run tasks of a pass.

    Attributes
    ----------
    worker_input
        The trajectory, by `Reader.worker_input`.
    plan
        The analysis.
    n_frames
        Number of requested frames.
    states
        States of the passes before this one.
    threads
        Threads of each worker.
    """

    worker_input: bytes
    plan: Plan
    n_frames: int
    states: tuple[NDArray[np.uint8], ...]
    threads: int


# States of tasks that analyse nothing, or whose result is not used.
NO_STATES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class TaskOutcome:
    """Table of a task, apart from its arrays.

    Attributes
    ----------
    states
        Bytes of the states of its largest whole subtrees.
    report
        Report of the engine.
    begin, end
        Seconds by the worker's clock (`time.time`).
    host, process
        Where it ran.
    """

    states: NDArray[np.uint8]
    report: TaskReport
    begin: float
    end: float
    host: str
    process: int


class Worker:
    """Runs tasks of a pass in this process."""

    def __init__(self, worker_spec: WorkerSpec, before: "Worker | None" = None) -> None:
        self.worker_spec = worker_spec
        if before is not None and before.worker_spec.worker_input == worker_spec.worker_input:
            self._trajectory: _trajet.WorkerTrajectory = before._trajectory
        else:
            self._trajectory = _trajet.WorkerTrajectory(worker_spec.worker_input)
        self.pass_ = _trajet.Pass(
            worker_spec.plan,
            self._trajectory.n_atoms,
            worker_spec.n_frames,
            list(worker_spec.states),
        )

    def opening(self, task: _trajet.Stop) -> float:
        """Return the seconds for which a task, by its cancel handle, has waited for an open."""
        return self._trajectory.opening(task)

    def do(self, task: bytes, sections: Sections, stop: _trajet.Stop | None = None) -> TaskOutcome:
        """Run a task and fill its `sections`."""
        begin = time.time()
        states, report = self._trajectory.run(
            self.pass_,
            task,
            sections,
            threads=self.worker_spec.threads,
            stop=stop,
        )
        return TaskOutcome(states, report, begin, time.time(), os.uname().nodename, os.getpid())


@dataclass(frozen=True)
class Task:
    """Neighbouring leaves of a pass.

    Attributes
    ----------
    number
        From 0.
    leaves
        First leaf and end (exclusive).
    frames
        Positions among the chosen frames: first and end (exclusive).
    """

    number: int
    leaves: tuple[int, int]
    frames: tuple[int, int]

    @property
    def n_frames(self) -> int:
        """Frames of the task."""
        return self.frames[1] - self.frames[0]

    def part(self, sections: Sections) -> Sections:
        """Return its frames of arrays of all frames."""
        return [section[slice(*self.frames)] for section in sections]
