"""Measures a case of the store benchmark in a process of its own, once.

Definitions, after section 4 of Deng et al. 2021:

- `t_turnaround`: time from opening the files until all frames of the atoms are arrays in memory.
  It includes topologies and selections, but not the import of modules.
- `t_retrieval`: time to read all bytes of the same files and discard them.
- `cpu`: CPU seconds of the turnaround, of all threads.
- `bytes_read`: bytes that the turnaround read from files; with remote storage, bytes transferred.
- `peak_memory`: most resident bytes of the process; `idle_memory`: those before the turnaround.
- `energy`: J, of all processor packages during the turnaround, if the machine counts them.
"""

import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from machine import child_process, figures, store_loaders
from machine.child_process import Row
from machine.files import drop
from machine.store_cases import CaseRun

# Column with numbers that depend on the positions.
CHECK = "check"

_REQUEST = 2**20
_POWERCAP = Path("/sys/class/powercap")


def measured(job: CaseRun) -> Row:
    """Measure a case in a process of its own.

    Raises
    ------
    WorkerError
        If the process fails; with its error message.
    """
    row: Row = child_process.run(__name__, job.to_json())
    return row


def row_of(job: CaseRun) -> Row:
    """Measure a case in this process."""
    load = store_loaders.prepare(job.case)
    files = [Path(name) for name in job.files]
    if job.cold:
        drop(files)
    idle = _of_status("VmRSS")
    before = _Counters.now()
    with _limited(job):
        loaded = load(job)
    spent = _Counters.now().since(before)
    row = {
        **asdict(job.case),
        "frames": len(loaded.positions),
        "t_turnaround": spent.wall,
        "cpu": spent.cpu,
        "energy": spent.energy,
        "bytes_read": spent.read + _mapped(files),
        "idle_memory": idle,
        "peak_memory": _of_status("VmHWM"),
        CHECK: _check(loaded),
    }
    return row | _drawing(loaded, job.drawn) | {"t_retrieval": _retrieval(files, cold=job.cold)}


@contextmanager
def _limited(job: CaseRun) -> Iterator[None]:
    """Limit the memory of this process; kill it if it hangs for lack of memory."""
    if job.limit is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_of_status("VmData") + job.limit, hard))
    # Some libraries retry forever; Rust deadlocks if a backtrace lacks memory.
    os.environ["RUST_BACKTRACE"] = "0"
    signal.alarm(job.patience)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@dataclass(frozen=True)
class _Counters:
    """Resources used by a process; `energy` is that of the machine, None if it is not counted."""

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
    """Return the energy that the processor packages have used, J, or None if not counted."""
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
    """Return an entry of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status: there is no {name}")


def _mapped(files: Sequence[Path]) -> int:
    """Return the resident bytes of memory-mapped files, which no read request counts."""
    names = {str(path.resolve()) for path in files}
    touched, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if not words[0].endswith(":"):
            counts = len(words) == 6 and words[5] in names
        elif counts and words[0] == "Rss:":
            touched += int(words[1]) * 1024
    return touched


def _check(loaded: store_loaders.LoadedFrames) -> list[float]:
    """Return weighted means of the protein's positions in three frames, to compare positions."""
    sums: list[float] = []
    for frame in (0, len(loaded.positions) // 2, len(loaded.positions) - 1):
        positions = loaded.drawn(frame).astype(np.float64) * loaded.scale
        weights = np.linspace(1, 2, len(positions))
        sums += (weights @ positions / len(positions)).tolist()
    return sums


def _drawing(loaded: store_loaders.LoadedFrames, count: int) -> Row:
    """Draw evenly spaced frames; return their number and the seconds that it took."""
    frames = np.unique(np.linspace(0, len(loaded.positions) - 1, count).astype(int)).tolist()
    if not frames:
        return {"drawn": 0, "t_draw": 0.0}
    first = loaded.drawn(0)
    draw = figures.points_drawn(first.min(axis=0), first.max(axis=0))
    begin = time.perf_counter()
    for frame in frames:
        draw(loaded.drawn(frame))
    return {"drawn": len(frames), "t_draw": time.perf_counter() - begin}


def _retrieval(files: Sequence[Path], *, cold: bool) -> float:
    """Return the seconds that reading all bytes of files takes."""
    if cold:
        drop(files)
    into = memoryview(bytearray(_REQUEST))
    begin = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(into):
                pass
    return time.perf_counter() - begin


def _respond(job: str) -> Row:
    return row_of(CaseRun.from_json(job))


if __name__ == "__main__":
    child_process.serve(_respond)
