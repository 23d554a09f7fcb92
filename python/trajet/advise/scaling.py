"""Analytic model of scaling: the time of an analysis on other numbers of workers.

The terms are those of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789, table 3), each as a function
of the number of workers. Workers share frames; the storage serves all of them at its total rates;
the caller hands out tasks one after another. Departures:

1. Whatever all workers share is a lower bound of the time in which frames are read (the
   "asymptotic bounds" of queueing networks), but for the locks of a shared file, which are added:
   the I/O times of the papers fit that (`benches/scale_model`).
2. Stragglers are draws from the times of the run's own tasks. The range of a prediction ends
   where the slowest of as many tasks as there are workers begins last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from trajet.advise.storage import Cluster, Environment, Storage
from trajet.advise.workload import Workload

WayName: TypeAlias = Literal["threads", "processes", "dask", "mpi"]
LayoutName: TypeAlias = Literal["shared", "segments", "store"]
LimitName: TypeAlias = Literal[
    "computing",
    "decoding",
    "latency",
    "client bandwidth",
    "reading",
    "bandwidth",
    "requests",
    "shared file",
    "opening",
    "starting",
    "preparing",
    "dispatching",
    "gathering",
    "tasks",
]


@dataclass(frozen=True)
class Way:
    """A way of running.

    Attributes
    ----------
    task_seconds
        Seconds of the caller, or of the scheduler, for each task.
    is_one_node
        Whether all workers run on the node of the caller.
    starts
        Whether workers import trajet when a run begins.
    moves
        Whether results move over the network.
    opens
        Whether each worker opens the files.
    slice_seconds
        Seconds for which a worker that has no core of its own makes the caller wait, for each
        worker per core: ranks of MPI do not sleep while they wait.
    """

    task_seconds: float
    is_one_node: bool
    starts: bool
    moves: bool
    opens: bool
    slice_seconds: float = 0.0


# Seconds of the start and the end of a Python process, MPI's included, for each of `importing`.
_WHOLE_START = 2.6
# Seconds of tasks: as `benches/machine scheduler --alone` measures them, on two cores of 2026.
WAYS: dict[WayName, Way] = {
    "threads": Way(2e-6, is_one_node=True, starts=False, moves=False, opens=False),
    "processes": Way(1.2e-4, is_one_node=True, starts=True, moves=False, opens=True),
    "dask": Way(4.8e-3, is_one_node=False, starts=False, moves=True, opens=True),
    "mpi": Way(6e-5, is_one_node=False, starts=True, moves=True, opens=True, slice_seconds=1.7e-3),
}
# Terms that need a core.
IN_CORES: tuple[LimitName, ...] = ("computing", "decoding")
LAYOUTS: tuple[LayoutName, ...] = ("shared", "segments", "store")


@dataclass(frozen=True)
class Setup:
    """A way of running, a layout of files, and a number of workers.

    Attributes
    ----------
    way
        Threads, processes, Dask or MPI.
    layout
        "shared": the files as they are; "segments": at least a file for each worker; "store": the
        atoms of the analysis by themselves, in segments.
    workers
        Threads that read and compute, in all processes.
    request_bytes
        Bytes of a read request. None: as in the run of the report.
    task_frames
        Frames of a task. None: as many as the pool takes by itself.
    threads
        Threads of each process, which share its open files.
    """

    way: WayName
    layout: LayoutName
    workers: int
    request_bytes: float | None = None
    task_frames: int | None = None
    threads: int = 1


@dataclass(frozen=True)
class Prediction:
    """The expected time of a setup.

    Attributes
    ----------
    setup
        The setup.
    parts
        Seconds by term; their sum is `seconds`. The term that limits the frames has all of the
        time in which frames are read and computed.
    seconds
        Expected wall time of the whole command.
    fastest, slowest
        The range that stragglers cause.
    limit
        The term that takes most of the time.
    work_limit
        What limits the time of the frames.
    """

    setup: Setup
    parts: dict[LimitName, float]
    seconds: float
    fastest: float
    slowest: float
    limit: LimitName
    work_limit: LimitName


def predict(work: Workload, setup: Setup, environment: Environment | None = None) -> Prediction:
    """Return the expected time of a setup.

    Parameters
    ----------
    work
        The analysis, of a report.
    setup
        Way of running, layout of the files, number of workers.
    environment
        Storage and cluster. None: a storage that serves any number of workers as it served the run
        of the report, and a core for each worker.

    Returns
    -------
    Prediction
        Seconds, their range and what limits them.
    """
    environment = environment or Environment()
    work = _part_of(work) if setup.layout == "store" else work
    work = _crowded(work, setup.workers, environment.cluster)
    parts = _once(work, setup, environment)
    tasks = work.n_tasks(setup.workers, setup.task_frames)
    frames = _frames(work, setup, environment, tasks)
    parts[frames.limit] += frames.seconds
    parts["tasks"] += frames.tail
    seconds = sum(parts.values())
    return Prediction(
        setup=setup,
        parts=parts,
        seconds=seconds,
        fastest=seconds - frames.sooner,
        slowest=seconds + frames.later,
        limit=max(parts, key=lambda name: parts[name]),
        work_limit=frames.limit,
    )


@dataclass(frozen=True)
class _Frames:
    """Seconds in which frames are read and computed.

    Attributes
    ----------
    seconds, limit
        The time if all workers ended together, and what limits it.
    tail
        Expected seconds from then to the end of the last task.
    sooner, later
        How much sooner or later than expected the last task may end.
    """

    seconds: float
    limit: LimitName
    tail: float
    sooner: float
    later: float


def _frames(work: Workload, setup: Setup, environment: Environment, tasks: int) -> _Frames:
    """Return the time of the frames."""
    n, cores = setup.workers, environment.cluster.cores
    alone = _alone(work, setup, environment.storage, tasks)
    bounds = _bounds(work, setup, environment.storage, tasks)
    in_cores: dict[LimitName, float] = {name: alone[name] for name in IN_CORES}
    # Workers beyond the number of cores share them, but wait for the storage side by side.
    mine, words = sum(alone.values()) / n, alone
    if sum(in_cores.values()) / min(n, cores) > mine:
        mine, words = sum(in_cores.values()) / cores, in_cores
    limit = max(words, key=lambda name: words[name])
    most = max(bounds, key=lambda name: bounds[name])
    seconds = mine
    if bounds[most] > mine:
        seconds, limit = bounds[most], most
    # A task takes as long as its worker needs for it, also if all workers wait for the storage.
    task = seconds * n / tasks
    slowest = task * _slowest_of(work.spread, min(n, tasks))
    if n == 1:
        return _Frames(seconds, limit, 0.0, 0.0, 0.0)
    tail = math.ceil(tasks / n) * task - seconds
    sooner = 0.0 if tasks <= n else tail
    # With fewer tasks than workers the slowest begins at once, else when the others end.
    last = slowest - task if tasks <= n else slowest - tail
    return _Frames(seconds, limit, tail, sooner, max(0.0, last))


def _alone(work: Workload, setup: Setup, storage: Storage, tasks: int) -> dict[LimitName, float]:
    """Return the seconds of all frames on a worker that is alone, by term."""
    alone: dict[LimitName, float] = {
        "computing": work.n_frames * work.computing,
        "decoding": work.n_frames * work.decoding,
    }
    if storage.latency is None and storage.client_bandwidth is None:
        alone["reading"] = work.n_frames * work.reading
        return alone
    n_bytes = work.n_frames * work.frame_bytes
    alone["latency"] = _requests(work, setup, tasks) * (storage.latency or 0.0)
    alone["client bandwidth"] = n_bytes / (storage.client_bandwidth or math.inf)
    return alone


def _bounds(work: Workload, setup: Setup, storage: Storage, tasks: int) -> dict[LimitName, float]:
    """Return the seconds below which no number of workers comes, by what they share."""
    n_bytes = work.n_frames * work.frame_bytes
    return {
        "bandwidth": n_bytes / storage.bandwidth_of(_n_files(work, setup)),
        "requests": _requests(work, setup, tasks) / storage.requests_per_s,
        "dispatching": tasks * WAYS[setup.way].task_seconds,
    }


def _once(work: Workload, setup: Setup, environment: Environment) -> dict[LimitName, float]:
    """Return the seconds of terms that do not belong to single frames, and 0 for the others."""
    storage, cluster = environment.storage, environment.cluster
    way, n = WAYS[setup.way], setup.workers
    crowd = max(1.0, n / cluster.cores)
    parts: dict[LimitName, float] = dict.fromkeys(get_args(LimitName), 0.0)
    parts["preparing"] = work.preparing
    parts["starting"] = _starting(work, setup, crowd)
    parts["dispatching"] = n * (crowd - 1.0) * way.slice_seconds
    parts["opening"] = work.opening_before
    if way.opens:
        parts["opening"] += _opening(work, setup, storage)
    if way.opens and _n_files(work, setup) < n:
        requests = _requests(work, setup, work.n_tasks(n, setup.task_frames))
        parts["shared file"] = requests * storage.exclusive_seconds
    if way.moves and n > 1:
        parts["gathering"] = work.result_bytes / cluster.network_bandwidth
    return parts


def _starting(work: Workload, setup: Setup, crowd: float) -> float:
    """Return the seconds of the start of all processes, and of their end."""
    whole = _WHOLE_START * work.importing
    # Ranks start side by side with the caller, processes after it.
    if setup.way == "mpi":
        return whole * crowd
    return whole + (work.importing * crowd if WAYS[setup.way].starts else 0.0)


def _opening(work: Workload, setup: Setup, storage: Storage) -> float:
    """Return the seconds until the last process has opened its files.

    All processes open at once. Of several files a process opens those of its own frames.
    """
    processes = math.ceil(setup.workers / setup.threads)
    each = max(1, math.ceil(_n_files(work, setup) / processes))
    one = work.opening if storage.open_seconds is None else storage.open_seconds
    return each * one + processes * each / storage.opens_per_s


def _n_files(work: Workload, setup: Setup) -> int:
    """Return the number of files: of segments, one for each worker at least."""
    return work.n_files if setup.layout == "shared" else max(work.n_files, setup.workers)


def _requests(work: Workload, setup: Setup, tasks: int) -> float:
    """Return the number of read requests: each task begins with one of its own."""
    size = setup.request_bytes or work.request_bytes
    return work.n_frames * work.frame_bytes / max(1.0, size) + tasks


def _part_of(work: Workload) -> Workload:
    """Return the work on a store, which holds the atoms of the analysis by themselves."""
    part = 1.0 if work.part is None else work.part
    return replace(
        work,
        decoding=part * work.decoding,
        reading=part * work.reading,
        frame_bytes=part * work.frame_bytes,
    )


def _crowded(work: Workload, workers: int, cluster: Cluster) -> Workload:
    """Return the work of a core whose node has as many busy cores as the workers fill."""
    on_node = cluster.cores_per_node or work.cores
    busy = min(1.0, (workers - 1) / max(1.0, on_node - 1))
    factor = 1.0 + (cluster.crowding - 1.0) * busy
    return replace(work, decoding=factor * work.decoding, computing=factor * work.computing)


def _slowest_of(spread: Sequence[float], count: int) -> float:
    """Return the expected maximum of `count` draws from observed values, in ascending order."""
    m = len(spread)
    return sum(
        value * ((k / m) ** count - ((k - 1) / m) ** count) for k, value in enumerate(spread, 1)
    )
