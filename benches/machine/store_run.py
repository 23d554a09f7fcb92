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

import importlib
import importlib.util
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from host import drop_pages
from numpy.typing import NDArray
from trajet import trajectory
from trajet.store import Store

from machine import child_process, figures
from machine.child_process import Row

# Column with numbers that depend on the positions.
CHECK = "check"

_REQUEST = 2**20
_POWERCAP = Path("/sys/class/powercap")


# The compressed file (C in the paper), uncompressed files (D), and stores (ADA), whose tags are in
# the format of the source or decoded.
PLAIN, UNCOMPRESSED = ("xtc",), ("dcd", "nc")
HDF5 = "store-h5md"
STORE = ("store-exact", "store-dcd", "store-nc", HDF5)
STORAGES = (*PLAIN, *UNCOMPRESSED, *STORE)
TOOLS = ("trajet", "MDAnalysis", "mdtraj")
# The atoms of the paper: the active subset, and all.
PROTEIN, ALL = "protein", "all"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of the table: a tool reads atoms into memory; of a store, the open tags."""

    storage: str
    tool: str
    atoms: str

    @property
    def label(self) -> str:
        """Name in tables and figures."""
        return f"{self.storage}, {self.tool}, {self.atoms}"


# The reference for comparisons: what most people do today.
USUAL = Case(storage="xtc", tool="MDAnalysis", atoms=PROTEIN)


def cases(storages: Sequence[str], tools: Sequence[str]) -> Iterator[Case]:
    """Yield every case of some storages and tools."""
    for storage in storages:
        for tool in tools:
            if storage in STORE and tool != "trajet":
                continue
            if storage in UNCOMPRESSED and tool == "mdtraj":
                continue
            for atoms in (PROTEIN, ALL):
                yield Case(storage=storage, tool=tool, atoms=atoms)


@dataclass(frozen=True, kw_only=True)
class CaseRun:
    """A case with its files, for the process that measures it.

    `files` are all that hold the atoms of the case. `limit` is the memory that may be used besides
    that of Python and its modules (bytes); such a run is killed after `patience` (s).
    """

    case: Case
    topology: str
    source: str
    files: Sequence[str]
    frames: int
    cold: bool = False
    drawn: int = 0
    limit: int | None = None
    patience: int = 0


# The data set's name in a store.
NAME = "proteins"
_AA_PER_NM = 10.0


@dataclass(frozen=True)
class LoadedFrames:
    """Frames in memory, ready to draw; `protein` are the atoms that a viewer draws, None for all.

    `scale` is Å in the unit of positions, `kept` owns their memory.
    """

    positions: NDArray[np.float32]
    protein: NDArray[np.int64] | None
    scale: float = 1.0
    kept: object = None

    def drawn(self, frame: int) -> NDArray[np.float32]:
        """Return the positions of the protein in a frame, `(n, 3)`."""
        positions: NDArray[np.float32] = self.positions[frame]
        return positions if self.protein is None else positions[self.protein]


def missing(tool: str) -> bool:
    """Return whether a tool is not installed."""
    return importlib.util.find_spec(tool) is None


def prepare(case: Case) -> Callable[[CaseRun], LoadedFrames]:
    """Import the modules of a case, which is not measured, and return its loader."""
    importlib.import_module(case.tool)
    return _store if case.storage in STORE else _LOADERS[case.tool]


def _trajet(job: CaseRun) -> LoadedFrames:
    opened, frames = trajectory.open(job.topology, job.source), slice(0, job.frames)
    protein = opened.select(PROTEIN)
    if job.case.atoms == PROTEIN:
        return LoadedFrames(protein.read(frames).positions, None)
    return LoadedFrames(opened.read(frames).positions, protein.indices)


def _store(job: CaseRun) -> LoadedFrames:
    tags = None if job.case.atoms == ALL else [PROTEIN]
    opened = Store(job.source).open(NAME, tags=tags)
    protein = None if tags else opened.select(PROTEIN).indices
    return LoadedFrames(opened.read(slice(0, job.frames)).positions, protein)


def _mdanalysis(job: CaseRun) -> LoadedFrames:
    import MDAnalysis

    universe = MDAnalysis.Universe(job.topology, job.source)
    protein, reader = universe.select_atoms(PROTEIN), universe.trajectory
    if job.case.atoms == PROTEIN:
        positions = reader.timeseries(protein, stop=job.frames, order="fac")
        return LoadedFrames(positions, None, kept=universe)
    # The reader is kept so that the pages of its mapped file are counted.
    universe.transfer_to_memory(stop=job.frames)
    return LoadedFrames(universe.trajectory.get_array(), protein.indices, kept=(universe, reader))


def _mdtraj(job: CaseRun) -> LoadedFrames:
    import mdtraj

    topology = mdtraj.load_topology(job.topology)
    protein = topology.select(PROTEIN)
    is_part = job.case.atoms == PROTEIN
    loaded = mdtraj.load(job.source, top=topology, atom_indices=protein if is_part else None)
    return LoadedFrames(loaded.xyz, None if is_part else protein, scale=_AA_PER_NM, kept=loaded)


_LOADERS = {"trajet": _trajet, "MDAnalysis": _mdanalysis, "mdtraj": _mdtraj}


def measured(job: CaseRun) -> Row:
    """Measure a case in a process of its own."""
    row: Row = child_process.run(__name__, job)
    return row


def row_of(job: CaseRun) -> Row:
    """Measure a case in this process."""
    load = prepare(job.case)
    files = [Path(name) for name in job.files]
    for path in files if job.cold else ():
        drop_pages(path)
    idle = _of_status("VmRSS")
    before = _counters()
    with _limited(job):
        loaded = load(job)
    spent: Row = {name: value - before[name] for name, value in _counters().items()}
    row = {
        **asdict(job.case),
        "frames": len(loaded.positions),
        "energy": None,
        **spent,
        "bytes_read": spent["bytes_read"] + _mapped(files),
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


def _counters() -> dict[str, float]:
    """Return resources that this process has used; `energy` (J) is that of the machine."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    lines = Path("/proc/self/io").read_text().splitlines()
    (read,) = (int(line.split()[1]) for line in lines if line.startswith("rchar:"))
    counters = {"t_turnaround": time.perf_counter(), "cpu": used.ru_utime + used.ru_stime}
    energy = _energy()
    return {**counters, "bytes_read": read, **({} if energy is None else {"energy": energy})}


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


def _check(loaded: LoadedFrames) -> list[float]:
    """Return weighted means of the protein's positions in three frames, to compare positions."""
    sums: list[float] = []
    for frame in (0, len(loaded.positions) // 2, len(loaded.positions) - 1):
        positions = loaded.drawn(frame).astype(np.float64) * loaded.scale
        weights = np.linspace(1, 2, len(positions))
        sums += (weights @ positions / len(positions)).tolist()
    return sums


def _drawing(loaded: LoadedFrames, count: int) -> Row:
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
    for path in files if cold else ():
        drop_pages(path)
    into = memoryview(bytearray(_REQUEST))
    begin = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(into):
                pass
    return time.perf_counter() - begin


if __name__ == "__main__":
    child_process.serve(row_of)
