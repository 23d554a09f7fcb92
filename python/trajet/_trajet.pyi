"""Types of the native module."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__version__: str
DEBUG_BUILD: bool
INSTRUCTION_SET: str
INSTRUCTION_SETS: list[str]
REMARKS_ATTRIBUTE: str
# suffixes of file names by the name of the format; the first is the usual one
FORMATS: dict[str, tuple[str, ...]]

class TrajetError(Exception): ...
class FormatError(TrajetError, ValueError): ...
class TruncatedError(FormatError): ...

class StaleIndexError(FormatError):
    path: Path | None

class FrameError(TrajetError, IndexError): ...
class SelectionError(TrajetError, ValueError): ...
class OutputError(TrajetError, OSError): ...
class AnalysisError(TrajetError, ValueError): ...
class TaskError(TrajetError, RuntimeError): ...
class WorkerError(TrajetError, RuntimeError): ...
class StoreError(TrajetError, ValueError): ...
class MissingPackageError(TrajetError, ImportError): ...

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]
# (atom indices, reference positions (n_atoms, 3) in Å, weights or None)
Group: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64] | None]
# called with (done, total) every 100 ms on the calling thread
Progress: TypeAlias = Callable[[int, int], None]
# kind, the words that all frames share, their number, the first of them
Loss: TypeAlias = tuple[str, str | None, int, int]

class Reader:
    def __init__(
        self,
        paths: list[Path],
        *,
        continuous: bool,
        allow_truncated_tail: bool,
        request_size: int,
        sidecar: bool,
        rebuild_index: bool,
        cache: Path | None,
        threads: int,
        progress: Progress | None,
        # HDF5 files, as `trajet.h5md.describe` tells of them
        described: dict[Path, dict[str, Any]],
        # "matrix" or "angles"
        dcd_cell: str | None = None,
    ) -> None: ...
    @property
    def format(self) -> str: ...
    @property
    def n_frames(self) -> int: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def remarks(self) -> list[str]: ...
    @property
    def chain_remarks(self) -> list[str]: ...
    # the remarks that copies to this format keep, without a word on whose they are
    def doubts(self, copied_to: str) -> list[str]: ...
    @property
    def truncated_tail(self) -> int: ...
    @property
    def index_state(self) -> str: ...
    # compares a kept index with the headers of all frames, once; StaleIndexError
    def check_times(self, threads: int) -> None: ...
    # what `Elsewhere` is made of, whose readers read these atoms alone; None for all
    def outline(self, atoms_wanted: NDArray[np.int64] | None) -> bytes: ...
    # what its readers are made of
    def slice(self, frames: Frames) -> bytes: ...
    def segments(self) -> list[dict[str, Any]]: ...
    def opening(self) -> dict[str, Any]: ...
    def times(self) -> NDArray[np.float64]: ...
    def steps(self) -> NDArray[np.int64]: ...
    def lost(self, atoms: NDArray[np.int64] | None) -> list[tuple[str, str]]: ...
    # what only their own formats have a place for, by positions among the frames; the remark on a
    # copy in H5MD
    def left_out(
        self, frames: Frames, atoms_wanted: NDArray[np.int64] | None
    ) -> tuple[list[Loss], str | None]: ...
    # variables and attributes that no other format has a place for
    def further_names(self, frame: int) -> list[str]: ...
    def offsets(self) -> NDArray[np.uint64]: ...
    def read(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        out: NDArray[np.float32],
        field: str,
        *,
        threads: int = 1,
        # H5MD of single precision: in the unit of the file
        native_units: bool = False,
    ) -> dict[str, Any]: ...
    # H5MD: (vectors or None, which frames have them, factor) by "positions", "velocities" and
    # "forces"; "times" and "edges" (n, 9) in units of the file, with their factors
    # without `tables`: vectors and steps only, which workers have, too
    def stored(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        *,
        tables: bool = True,
    ) -> dict[str, Any]: ...
    # positions that are read part by part as in one call
    def parts(self, frames: Frames, atoms_wanted: NDArray[np.int64] | None) -> Parts: ...

class Parts:
    # fills `out` from the frame at position `begin` on; times, steps, frame numbers, cells
    def read(
        self, begin: int, out: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
    # as those of `Reader.read`, of all parts so far
    def counts(self) -> dict[str, int]: ...

class Plan: ...

def rmsd_plan(main: Group, groups: list[Group], *, fit: str, average: bool) -> Plan: ...
def moments_plan(atoms: NDArray[np.int64], *, align: Group | None, average: bool) -> Plan: ...
def dihedrals_plan(quadruples: NDArray[np.int64], *, features: bool, periodic: bool) -> Plan: ...
def distances_plan(
    atoms: NDArray[np.int64],
    partner: NDArray[np.int64] | NDArray[np.float32] | None,
    *,
    periodic: bool,
) -> Plan: ...
def rdf_plan(
    atoms: NDArray[np.int64],
    others: NDArray[np.int64] | None,
    *,
    bins: int,
    range: tuple[float, float],
    exclusion_block: tuple[int, int] | None,
) -> Plan: ...
def apply_plan(
    atoms: NDArray[np.int64],
    function: Callable[..., Any],
    reducer: Callable[..., Any] | None,
    *,
    by_frame: bool,
    cells: bool,
    shape: tuple[int, ...],
) -> Plan: ...
def pack_chunks(
    vectors: NDArray[np.float32], chunk: tuple[int, int], *, level: int, threads: int
) -> list[tuple[int, int, int, bytes]]: ...
def cells_of_vectors(
    vectors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
def convert(
    reader: Reader,
    parts: list[tuple[Path, Frames]],
    atoms_wanted: NDArray[np.int64] | None,
    how: object,
    *,
    force: bool,
    threads: int,
    progress: Progress | None,
    within: object = None,
) -> list[tuple[int, list[str], list[Loss], dict[str, Any]]]: ...
def join_stretches(
    reader: Reader,
    part: tuple[Path, Frames],
    atoms_wanted: NDArray[np.int64] | None,
    how: object,
    stretches: list[tuple[Path, int]],
    losses: list[Loss],
    *,
    force: bool,
    progress: Progress | None,
) -> tuple[int, list[str]]: ...

# A pass of a plan over so many frames, made from the states of those before it.
class Pass:
    def __init__(
        self, plan: Plan, n_atoms: int, n_frames: int, states: list[NDArray[np.float64]]
    ) -> None: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def row_width(self) -> int: ...
    # that are read, ascending; None for all
    @property
    def atoms(self) -> NDArray[np.int64] | None: ...
    @property
    def is_last(self) -> bool: ...
    # runs of leaves: the first, and behind the last
    def tasks(self, workers: int, task_frames: int | None) -> list[tuple[int, int]]: ...
    def frames_of(self, begin: int, end: int) -> tuple[int, int]: ...

# What a worker needs to know of the leaves from `begin` to before `end`: frames and their index.
def task(reader: Reader, pass_: Pass, frames: Frames, begin: int, end: int) -> bytes: ...

# Ends what looks at it, within 100 ms.
class Stop:
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...
    # seconds by stage (t_open, t_read, t_decode, t_comp) on leaves that are done, also while the
    # task goes on
    def spent(self) -> dict[str, float]: ...
    # what a task that it ended had done; None where it ended none
    @property
    def report(self) -> dict[str, Any] | None: ...

# A trajectory that was opened in another process: files are opened when they are first read.
class Elsewhere:
    def __init__(self, outline: bytes) -> None: ...
    @property
    def n_atoms(self) -> int: ...
    # seconds that the longest opening of a file lasts which is under way in a task, by what ends it
    def opening(self, task: Stop) -> float: ...
    # for the frames of a `Reader.slice` alone, by their numbers; and counts of what opening cost
    def reader(self, slice: bytes) -> tuple[Reader, dict[str, int]]: ...
    # fills `rows`, (n_frames, row_width); returns packed states and the report
    def run(
        self,
        pass_: Pass,
        task: bytes,
        rows: NDArray[np.float64],
        *,
        threads: int,
        stop: Stop | None,
    ) -> tuple[NDArray[np.float64], dict[str, Any]]: ...

# Merges packed states of tasks, in any order, along the tree of the leaves.
class States:
    def __init__(self, pass_: Pass) -> None: ...
    def add(self, states: NDArray[np.float64]) -> None: ...
    # what could not be merged yet, packed, to be added elsewhere
    def subtrees(self) -> NDArray[np.float64]: ...
    # of the whole pass; ValueError where some were not added
    def whole(self) -> NDArray[np.float64]: ...

def available_threads() -> int: ...
def time_text(time: float) -> str: ...
def run(
    reader: Reader,
    plan: Plan,
    frames: Frames,
    *,
    threads: int,
    task_frames: int | None,
    progress: Progress | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]: ...

class Store:
    """A store; `progress(done, total)` is called every 100 ms."""

    folder: Path
    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        create: bool = False,
        # writes tags in HDF5: `trajet.h5md.write_described`
        hdf5: Callable[..., dict[str, Any]] | None = None,
    ) -> None: ...
    def tiers(self) -> str: ...
    def names(self) -> list[str]: ...
    def manifest(self, name: str) -> str: ...
    def add(
        self,
        name: str,
        reader: Reader,
        spec_json: str,
        topology: str | PathLike[str],
        structures: list[list[Path]],
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
        # H5MD: what each file holds beside its frames: `trajet.h5md.keep`
        rest: list[Path] | None = None,
    ) -> dict[str, Any]: ...
    def append(
        self,
        name: str,
        reader: Reader,
        *,
        skip: int,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
        rest: list[Path] | None = None,
    ) -> dict[str, Any]: ...
    def retag(
        self,
        name: str,
        spec_json: str,
        structures: list[list[Path]],
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Any]: ...
    def move(
        self,
        name: str,
        tag: str,
        tier: str,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None: ...
    def remove(self, name: str) -> None: ...
    def verify(
        self,
        name: str,
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[str]: ...
    def repair(self) -> list[str]: ...
    def paths(self, name: str, tag: str) -> list[Path]: ...
    def rest(self, name: str) -> list[tuple[Path, int]] | None: ...
    def reader(self, name: str, tags: list[str] | None = None, *, request_size: int) -> Reader: ...
    def mount(
        self,
        folder: str | PathLike[str],
        *,
        threads: int,
        ready: Callable[[], None],
        say: Callable[[str], None],
    ) -> None: ...

# what was read of a data set (its folder), for the advice of `trajet store stats`
def write_down_use(dataset: Path, what: str, frames: int, read: list[tuple[str, int]]) -> None: ...

# digest of a file's size, head and tail, as reports and manifests name it
def file_digest(path: Path) -> str: ...

# part of temporary names that identifies this process: host, namespace, number and start
def process_mark() -> str: ...

# name for a temporary file in a folder; the first call for a folder removes leftovers there
def temporary_name(folder: Path) -> str: ...

# removes temporary files and folders of dead processes of this host and user; how many
def remove_leftovers(folder: Path) -> int: ...
