"""Entries of a report, and queries on them; docs/report.md describes each entry."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

from trajet._types import Json
from trajet.messages import MessageEntries, MessageEntry

# Parameters of an analysis, by its own names; values are of types that JSON has.
Parameters: TypeAlias = Mapping[str, object]
StageName: TypeAlias = Literal[
    "t_open",
    "t_index",
    "t_read",
    "t_decode",
    "t_comp",
    "t_wait",
    "t_comm",
    "t_merge",
    "t_close",
    "t_overhead",
    "t_total",
]
CountName: TypeAlias = Literal[
    "requests",
    "opens",
    "bytes_read",
    "bytes_used",
    "frames",
    "empty_frames",
    "atoms_decoded",
]
OutsideName: TypeAlias = Literal[
    "t_import",
    "t_topology",
    "t_select",
    "t_result",
    "t_files",
    "t_figure",
    "t_command",
]
# A thread among all processes: its worker, and its number there, None where all threads of the
# worker share a task.
Lane: TypeAlias = tuple[int, int | None]


class Stages(TypedDict, total=False):
    """Seconds by stage; workers have all of them, tasks some."""

    t_open: float
    t_index: float
    t_read: float
    t_decode: float
    t_comp: float
    t_io: float
    t_wait: float
    t_comm: float
    t_merge: float
    t_close: float
    t_overhead: float
    t_total: float


class PlaceBytes(TypedDict, total=False):
    """Bytes by the numbers of tiers, and of open tags; absent where no data set was read."""

    bytes_by_tier: list[int]
    bytes_by_tag: list[int]


class TransformWarnings(TypedDict, total=False):
    """Counts of transformed positions that may be wrong; absent if there are none.

    `first_large_step` is the first frame with a large step, and the column of the atom.
    """

    infinite_molecules: int
    large_steps: int
    first_large_step: tuple[int, int] | None


class Counts(PlaceBytes, TransformWarnings):
    """Counts of reading."""

    requests: int
    opens: int
    bytes_read: int
    bytes_used: int
    empty_frames: int
    frames: int
    atoms_decoded: int


class Place(TypedDict, total=False):
    """Host, process and rank of a worker."""

    worker: int
    host: str
    process: int
    rank: int
    address: str


class WorkerEntry(Stages, PlaceBytes, TransformWarnings):
    """A worker; without thread and host it is a thread of this process."""

    worker: int
    tasks: int
    thread: NotRequired[int | None]
    host: NotRequired[str]
    process: NotRequired[int]
    rank: NotRequired[int]
    address: NotRequired[str]
    requests: NotRequired[int]
    opens: NotRequired[int]
    bytes_read: NotRequired[int]
    bytes_used: NotRequired[int]
    frames: NotRequired[int]
    empty_frames: NotRequired[int]
    atoms_decoded: NotRequired[int]


# A pass is a keyword of Python, which classes cannot have as a name.
OfPass = TypedDict("OfPass", {"pass": int})


class TaskEntry(OfPass, Stages):
    """A task; in reports of the engine, `worker` is the number of the thread."""

    task: int
    worker: int
    first: int
    frames: int
    t_begin: float
    t_end: float
    thread: NotRequired[int | None]
    rank: NotRequired[int]
    batch: NotRequired[int]
    copy: NotRequired[int]
    t_scheduler: NotRequired[float]
    t_waiting: NotRequired[float]


# A task, of an entry that may be of a worker.
OfTask = TypedDict("OfTask", {"pass": int, "task": int}, total=False)


class StragglerEntry(OfTask):
    """A straggler: a worker or, with `pass` and `task`, a task."""

    worker: int
    thread: int | None
    rank: NotRequired[int]
    host: str
    rules: list[str]
    seconds: float
    median: float
    fastest: float
    stage: NotRequired[str]
    lost: NotRequired[float]


class RetriedEntry(OfPass):
    """A retry of a task."""

    task: int
    error: str


class RepeatedEntry(OfPass):
    """A late task that an idle worker ran as well: `late` to `won` by MPI, the rest by Dask."""

    task: int
    late: NotRequired[int]
    worker: NotRequired[int]
    won: NotRequired[bool]
    address: NotRequired[str | None]
    state: NotRequired[str]
    seconds: NotRequired[float]
    rules: NotRequired[Sequence[str]]
    also_on: NotRequired[str]
    answered_by: NotRequired[str | None]


class TransitionEntry(OfPass):
    """A change of a task's state, as Dask's scheduler saw it."""

    time: float
    task: int
    copy: int
    start: str
    finish: str
    address: str | None


class SampleEntry(Stages):
    """The serial sample that R_comp/IO is computed from."""

    frames: int
    opens: int
    requests: int
    bytes_read: int


class MpiEntry(TypedDict):
    """The communicator of a run."""

    library: str
    standard: str
    ranks: int
    ranks_per_node: dict[str, int]
    scheduling: str
    gathering: str


class PoolEntries(TypedDict, total=False):
    """Entries that pools add to the report of a run."""

    pool: str
    processes: int
    # of each worker; of the report of a trajectory, of all workers
    threads: int
    threads_per_task: int
    scheduler: str
    scheduling: str
    versions: dict[str, str]
    retried: list[RetriedEntry]
    repeated: list[RepeatedEntry]
    transitions: list[TransitionEntry]
    transitions_left_out: int
    mpi: MpiEntry
    t_joining: float


class TaskReport(TypedDict):
    """Report of a worker on a task."""

    workers: list[WorkerEntry]


class MeasuredBefore(TypedDict, total=False):
    """Reads and a sample before the frames of a run; absent if there were none."""

    counting: "CountingEntry"
    sample: SampleEntry | None


class RunReport(TaskReport, PoolEntries, MeasuredBefore):
    """Report of a pool on a run."""

    tasks: Sequence[TaskEntry]
    passes: int
    t_total: float
    # since the call, where the analysis adds it
    t_preparing: NotRequired[float]


class OpeningEntry(TypedDict):
    """Cost of opening a trajectory, summed over its files."""

    t_open: float
    t_index: float
    opens: int
    requests: int
    bytes_read: int
    # "built", "loaded", "published", "extended" or "computed"
    index: str


class CountingEntry(Counts):
    """Reads in which jumps over the box were counted before the frames of a run were read."""

    t_open: float
    t_read: float
    t_decode: float
    t_comp: float


class InputEntry(TypedDict):
    """A file of the trajectory or, without `format`, a structure file."""

    path: str
    size: int
    digest: str
    format: NotRequired[str]
    n_atoms: NotRequired[int]
    n_frames: NotRequired[int]
    dropped_frames: NotRequired[int]
    truncated_tail: NotRequired[int]
    messages: NotRequired[list[MessageEntry]]


class SecondsOutside(TypedDict, total=False):
    """Seconds of this process before and after the run, and of all, as far as they were spent."""

    t_import: float
    t_topology: float
    t_select: float
    t_result: float
    t_files: float
    t_figure: float
    t_command: float


class AnalysisEntries(SecondsOutside, MessageEntries):
    """The analysis, its parameters and its input files."""

    analysis: str
    # of each analysis its own
    parameters: Parameters
    inputs: list[InputEntry]
    # of the arrays of the run, which move to the calling process
    result_bytes: NotRequired[int]


class Entries(AnalysisEntries, Counts):
    """All entries of a report."""

    schema: int
    pool: str
    stages: Stages
    averages: Stages
    tiers: dict[str, int]
    tags: dict[str, int]
    r_comp_io: float | None
    r_comp_comm: float | None
    passes: int
    threads: int
    cores: int
    ranks_per_node: dict[str, int]
    workers: list[WorkerEntry]
    tasks: Sequence[TaskEntry]
    stragglers: list[StragglerEntry]
    retried: list[RetriedEntry]
    repeated: list[RepeatedEntry]
    opening: OpeningEntry
    counting: NotRequired[CountingEntry]
    versions: dict[str, str]
    cpu: str
    instruction_set: str
    host: str
    platform: str
    t_preparing: NotRequired[float]
    t_joining: NotRequired[float]
    sample: NotRequired[SampleEntry | None]
    advice: NotRequired[list[str]]
    heuristics: NotRequired[list[str]]
    # of each result its own
    scalars: NotRequired[Mapping[str, Json]]


# Words for the stages of a worker. The stages of `PER_FRAME` grow with the number of frames.
ONCE: dict[str, tuple[StageName, ...]] = {"opening": ("t_open", "t_index"), "closing": ("t_close",)}
GATHERING: dict[str, tuple[StageName, ...]] = {"gathering": ("t_comm",)}
PER_FRAME: dict[str, tuple[StageName, ...]] = {
    "reading": ("t_read",),
    "decoding": ("t_decode",),
    "computing": ("t_comp",),
    "merging": ("t_merge",),
    "overhead": ("t_overhead",),
}
STAGES_OF: dict[str, tuple[StageName, ...]] = {
    **ONCE,
    **PER_FRAME,
    **GATHERING,
    "waiting": ("t_wait",),
}

# Seconds; runs that are shorter consist mostly of start and end.
SHORT = 0.1
_WORTH_NAMING = 0.05
_NOISE = 0.1


def busy(worker: WorkerEntry) -> float:
    """Return the total seconds of a worker less those that it waited."""
    return float(worker["t_total"] - worker["t_wait"])


def n_processes(report: Entries) -> int:
    """Return the number of processes that did the work."""
    return len({worker["worker"] for worker in report["workers"]})


def name_of(report: Entries, entry: WorkerEntry | TaskEntry | StragglerEntry) -> str:
    """Return the name of the worker of an entry of `workers`, `tasks` or `stragglers`."""
    worker = f"rank {entry['rank']}" if "rank" in entry else f"worker {entry['worker']}"
    processes = n_processes(report)
    if entry["thread"] is None or processes == len(report["workers"]):
        return worker
    return f"thread {entry['thread']}" if processes == 1 else f"{worker}, thread {entry['thread']}"


def seconds_in(entry: Stages, names: Iterable[StageName]) -> float:
    """Return the seconds of an entry in these stages; a stage that it lacks counts as 0."""
    return float(sum(entry.get(name, 0.0) for name in names))


def lane_of(entry: WorkerEntry | TaskEntry | StragglerEntry) -> Lane:
    """Return worker and thread of an entry, which identify a thread among all processes."""
    return entry["worker"], entry["thread"]


def median(values: Iterable[float]) -> float:
    """Return the middle value, or the mean of the two in the middle.

    `statistics` would take several milliseconds of every command to import.
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def worth_naming(total: float) -> float:
    """Return the least delay, in seconds, that is reported for a run that took `total` seconds."""
    return max(_WORTH_NAMING * total, _NOISE)


def computing_to_input(spent: Stages | None) -> float | None:
    """Return t_comp / t_io, where t_io is reading and decoding; None if t_io is 0."""
    if spent is None:
        return None
    return finite_ratio(spent["t_comp"], seconds_in(spent, ("t_read", "t_decode")))


def finite_ratio(part: float, other: float) -> float | None:
    """Return `part / other`, or None if that is not a finite number, which JSON cannot hold."""
    ratio = part / other if other > 0 else math.inf
    return ratio if math.isfinite(ratio) else None
