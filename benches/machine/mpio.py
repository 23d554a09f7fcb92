"""MPI-IO as in the papers: each rank reads its share of the frames by HDF5's library.

After Khoshlessan, Paraskevakos, Fox, Jha and Beckstein (2020), section 3.3
(doi:10.1002/cpe.5789). Differences:

1. They read frame by frame. Here a request reads many frames, as in the other readers.
2. The engine's kernels compute: positions are copied to a file in memory, which the engine reads.
   Copying is part of `t_decode`; `t_read` is the time of HDF5, including decompression.
"""

import math
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray
from trajet import _trajet, h5md, trajectory
from trajet._trajet import Pass, Plan
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.mpi.communicator import Communicator
from trajet.pools.mpi.pool import SectionStorage
from trajet.pools.mpi.section_transport import TransportSpec, make_transports
from trajet.pools.pool import Frames, Progress, RunOutput
from trajet.pools.shared import in_memory, path_of
from trajet.pools.tasks import NO_STATES, Sections, Task, TaskOutcome
from trajet.pools.timing import WORKER_STAGES, RunTiming
from trajet.report_entries import StageName, TaskReport, WorkerEntry
from trajet.result import COUNTS
from trajet.trajectory import frame_numbers

from machine.files import create_dcd

# Bytes of a request, and of selected positions that are computed at a time.
_CALL = 2**22
_AT_ONCE = 2**24
_ATOM = 12
# a, γ, b, β, α, c of a, b, c, α, β, γ.
_AS_DCD = [0, 5, 1, 4, 3, 2]


@dataclass(frozen=True, kw_only=True)
class MpioPool(MpiPool):
    """Ranks that read an HDF5 file through MPI-IO, each a share of consecutive frames.

    It runs analyses of one pass whose arrays have an entry for each frame, on boxes that are not
    rotated, as in all files of the benchmark. A rank has one thread; `gathering` must be given.
    """

    collective: bool = False

    def run(
        self,
        reader: _trajet.Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`. Rank 0 does, while the others follow."""
        assert self.gathering is not None
        timing, stages, numbers = RunTiming(), _Stages(), frame_numbers(frames)
        pass_ = Pass(plan, reader.n_atoms, len(numbers), [])
        (segment,) = reader.segments()
        with ExitStack() as stack:
            storage = SectionStorage(self.gathering, None, stack)
            sections = storage.sections(pass_, len(numbers))
            path, arrays = segment["path"], pass_.arrays
            job = _Job(path, plan, numbers, self.collective, arrays, storage.transport)
            stages.end("t_comm")
            done = self.run_on_all(
                lambda ranks: job.take(ranks, stages, sections, storage.found), job
            )
        for rank, one in enumerate(done):
            timing.spend(rank, one)
        no_cells = 0, -1, 0, -1, np.inf, -1
        report = timing.report(pool=self.kind, threads=1)
        found = {
            name: section.view(dtype).reshape(len(numbers), *shape)
            for (name, dtype, shape), section in zip(arrays, sections, strict=True)
        }
        return RunOutput([(found, no_cells, (None, None), [])], report)


class _Stages:
    """Timer of a rank's stages; time belongs to the stage that ends next."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = dict.fromkeys(WORKER_STAGES, 0.0)
        self._begin = time.time()
        self._since = time.perf_counter()

    def end(self, stage: StageName) -> None:
        """End a stage."""
        now = time.perf_counter()
        self._seconds[stage] += now - self._since
        self._since = now

    def part(self, stage: StageName, seconds: float) -> None:
        """Count seconds before now for a stage."""
        self._seconds[stage] += seconds
        self._since += seconds

    def done(self, host: str, **counts: int) -> TaskOutcome:
        """Return the outcome of the rank with its stages and counters."""
        total = sum(self._seconds.values())
        zeros: dict[str, float] = dict.fromkeys(COUNTS, 0)
        worker: dict[str, float] = {**zeros, **counts, **self._seconds, "t_total": total}
        report: TaskReport = {"workers": [cast(WorkerEntry, worker)]}
        return TaskOutcome(NO_STATES, report, self._begin, self._begin + total, host, os.getpid())


@dataclass(frozen=True)
class _Job:
    """The job that rank 0 broadcasts; `arrays` have a name, a dtype and a shape each."""

    path: Path
    plan: Plan
    numbers: NDArray[np.int64]
    collective: bool
    arrays: list[tuple[str, str, list[int]]]
    transport: TransportSpec

    def __call__(self, ranks: Communicator) -> None:
        """Take part in what rank 0 does."""
        self.take(ranks, _Stages(), None, lambda: None)

    def take(
        self, ranks: Communicator, stages: _Stages, sections: Sections | None, found: Any
    ) -> list[TaskOutcome]:
        """Read and compute the share of this rank; return what all ranks did, on rank 0.

        `sections` are those of rank 0, and `found` is called when all ranks have found them.
        """
        with (
            ranks.abort_all(),
            h5md.MpioFrames(self.path, ranks.comm, collective=self.collective) as stored,
        ):
            stages.end("t_open")
            shares = self._shares(stored, ranks.size)
            tasks = [task for share in shares for task, _ in share]
            sizes = [np.dtype(dtype).itemsize * math.prod(shape) for _, dtype, shape in self.arrays]
            transports = make_transports(
                self.transport, ranks, tasks, sections, len(self.numbers), sizes
            )
            ranks.barrier()
            found()
            stages.end("t_comm")
            most = max(task.n_frames for task in tasks)
            frames, requests = 0, 0
            with tempfile.TemporaryFile(dir=in_memory()) as file:
                memory = _Memory(file, self.plan, most)
                stages.end("t_decode")
                for task, calls in shares[ranks.rank]:
                    for call in calls:
                        read = stored.read(self.numbers[call.start : call.stop], memory.atoms)
                        stages.end("t_read")
                        memory.put(call.start - task.frames[0], *read)
                        stages.end("t_decode")
                        requests += len(call) > 0
                    if task.n_frames:
                        parts = memory.compute(task.n_frames, stages)
                        for array, transport in transports.items():
                            transport.put(task, parts[self.arrays[array][0]])
                        stages.end("t_comm")
                        frames += task.n_frames
            for transport in transports.values():
                transport.flush()
            stages.end("t_comm")
            ranks.barrier()
            stages.end("t_wait")
            winners = np.repeat(np.arange(ranks.size), [len(share) for share in shares])
            for transport in transports.values():
                transport.collect(winners)
                transport.close()
            stages.end("t_comm")
        stages.end("t_close")
        done = stages.done(ranks.host, opens=1, requests=requests, frames=frames)
        return ranks.gather_objects(done)

    def _shares(
        self, stored: h5md.MpioFrames, n_ranks: int
    ) -> list[list[tuple[Task, list[range]]]]:
        """Return what each rank computes at a time, with the calls that read it."""
        unit = stored.chunk_frames
        call = max(unit, _CALL // (_ATOM * stored.n_atoms))
        at_once = max(1, _AT_ONCE // (_ATOM * len(self.plan.atoms) * call))
        shares: list[list[tuple[Task, list[range]]]] = []
        for calls in h5md.shares(len(self.numbers), n_ranks, unit=unit, call=call):
            groups = [calls[k : k + at_once] for k in range(0, len(calls), at_once)]
            share = []
            for k, group in enumerate(groups, len(shares) * len(groups)):
                share.append((Task(k, (k, k + 1), (group[0].start, group[-1].stop)), group))
            shares.append(share)
        return shares


class _Memory:
    """A DCD file in memory, from which the engine reads positions."""

    def __init__(self, file: IO[bytes], plan: Plan, n_frames: int) -> None:
        self.atoms, self._plan = plan.atoms, plan.condensed()
        self._axes, self._cells = create_dcd(file, n_frames, len(self.atoms))
        self._reader = trajectory.open(None, path_of(file), sidecar=False).source.reader

    def put(self, at: int, positions: NDArray[np.float32], cells: NDArray[np.float64]) -> None:
        """Write consecutive frames, the first at index `at`."""
        there = slice(at, at + len(positions))
        self._axes[there] = positions.transpose(0, 2, 1)
        self._cells[there] = np.nan_to_num(cells[:, _AS_DCD])

    def compute(self, n_frames: int, stages: _Stages) -> dict[str, NDArray[np.uint8]]:
        """Return the bytes of the arrays of the first frames."""
        output = LocalPool(threads=1).run(self._reader, self._plan, (0, 1, n_frames))
        (worker,) = output.report["workers"]
        stages.part("t_decode", worker["t_read"] + worker["t_decode"])
        stages.part("t_comp", worker["t_comp"])
        stages.end("t_overhead")
        ((arrays, *_),) = output.analyses
        return {
            name: numbers.reshape(n_frames, -1).view(np.uint8) for name, numbers in arrays.items()
        }
