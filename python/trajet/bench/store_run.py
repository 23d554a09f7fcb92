"""A case is measured in a process of its own, once: what it leaves in memory is nobody else's.

The definitions, after section 4 of Deng et al. 2021:

- `t_turnaround`: from opening the files until every frame of what is asked for is an array in
  memory. Topologies are read and atoms selected inside of it; modules are imported before.
- `t_retrieval`: the same files' bytes, from begin to end, read and forgotten.
- `cpu`: CPU seconds of the turnaround, of all threads.
- `bytes_read`: what the turnaround read of files: what would reach the side that computes, were the
  storage elsewhere.
- `peak_memory`: most bytes that were ever resident in the process; `idle_memory` are those before.
- `energy`: J, of all processor packages in the turnaround, where the machine counts them.
"""

import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trajet import plots
from trajet.bench import child_process, store_loaders
from trajet.bench.files import drop
from trajet.bench.store_cases import Job

Row = dict[str, Any]

# In a row, what tells positions apart.
CHECK = "check"

_REQUEST = 2**20
_POWERCAP = Path("/sys/class/powercap")


def measured(job: Job) -> Row:
    """Return what a case comes to, measured elsewhere.

    Raises
    ------
    WorkerError
        If it fails there; with what it said.
    """
    row: Row = child_process.run(__name__, job.to_json())
    return row


def row_of(job: Job) -> Row:
    """Measure here."""
    load = store_loaders.prepare(job.case)
    files = [Path(name) for name in job.files]
    if job.cold:
        drop(files)
    idle = _of_status("VmRSS")
    before = _Counters.now()
    with _limited(job):
        held = load(job)
    spent = _Counters.now().since(before)
    row = {
        **asdict(job.case),
        "frames": len(held.positions),
        "t_turnaround": spent.wall,
        "cpu": spent.cpu,
        "energy": spent.energy,
        "bytes_read": spent.read + _mapped(files),
        "idle_memory": idle,
        "peak_memory": _of_status("VmHWM"),
        CHECK: _check(held),
    }
    return row | _drawing(held, job.drawn) | {"t_retrieval": _retrieval(files, cold=job.cold)}


@contextmanager
def _limited(job: Job) -> Iterator[None]:
    """Let this process have only so many bytes more; it is ended if it hangs for want of them."""
    if job.limit is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_of_status("VmData") + job.limit, hard))
    # Some libraries ask again and again; Rust waits for itself where a backtrace lacks memory.
    os.environ["RUST_BACKTRACE"] = "0"
    signal.alarm(job.patience)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@dataclass(frozen=True)
class _Counters:
    """What a process has spent; `energy` of the machine, None where that is not counted."""

    wall: float
    cpu: float
    read: int
    energy: float | None

    @classmethod
    def now(cls) -> "_Counters":
        used = resource.getrusage(resource.RUSAGE_SELF)
        (read,) = (
            int(line.split()[1])
            for line in Path("/proc/self/io").read_text().splitlines()
            if line.startswith("rchar:")
        )
        return cls(time.perf_counter(), used.ru_utime + used.ru_stime, read, _energy())

    def since(self, before: "_Counters") -> "_Counters":
        energy = None
        if self.energy is not None and before.energy is not None:
            energy = self.energy - before.energy
        return _Counters(
            self.wall - before.wall, self.cpu - before.cpu, self.read - before.read, energy
        )


def _energy() -> float | None:
    """Return J that the processor packages have used, None where they are not counted."""
    try:
        return (
            sum(
                int((package / "energy_uj").read_text()) * 1e-6
                for package in _POWERCAP.glob("intel-rapl:?")
            )
            or None
        )
    except OSError:
        return None


def _of_status(name: str) -> int:
    """Return bytes that the system counts of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status: there is no {name}")


def _mapped(files: Sequence[Path]) -> int:
    """Return bytes of mapped files that were touched: no request reads these."""
    names = {str(path.resolve()) for path in files}
    touched, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if not words[0].endswith(":"):
            counts = len(words) == 6 and words[5] in names
        elif counts and words[0] == "Rss:":
            touched += int(words[1]) * 1024
    return touched


def _check(held: store_loaders.Held) -> list[float]:
    """Return what tells positions apart: of three frames, means weighted along the protein."""
    sums: list[float] = []
    for frame in (0, len(held.positions) // 2, len(held.positions) - 1):
        places = held.drawn(frame).astype(np.float64) * held.scale
        weights = np.linspace(1, 2, len(places))
        sums += (weights @ places / len(places)).tolist()
    return sums


def _drawing(held: store_loaders.Held, count: int) -> Row:
    """Draw frames spread over all of them; return how many and the seconds that it took."""
    frames = np.unique(np.linspace(0, len(held.positions) - 1, count).astype(int)).tolist()
    if not frames:
        return {"drawn": 0, "t_draw": 0.0}
    first = held.drawn(0)
    draw = plots.points_drawn(first.min(axis=0), first.max(axis=0))
    begin = time.perf_counter()
    for frame in frames:
        draw(held.drawn(frame))
    return {"drawn": len(frames), "t_draw": time.perf_counter() - begin}


def _retrieval(files: Sequence[Path], *, cold: bool) -> float:
    """Return the seconds in which all bytes of files come into memory."""
    if cold:
        drop(files)
    into = memoryview(bytearray(_REQUEST))
    begin = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(into):
                pass
    return time.perf_counter() - begin


def _respond(told: str) -> Row:
    return row_of(Job.from_json(told))


if __name__ == "__main__":
    child_process.serve(_respond)
