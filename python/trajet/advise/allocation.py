"""How many ranks to ask for: predictions for several numbers of workers, and sentences on them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from trajet._types import Json
from trajet.advise.scaling import (
    IN_CORES,
    LAYOUTS,
    WAYS,
    LayoutName,
    LimitName,
    Prediction,
    Setup,
    WayName,
    predict,
)
from trajet.advise.storage import Environment
from trajet.advise.words import in_bytes, in_seconds, in_two_digits
from trajet.advise.workload import Workload
from trajet.report_entries import Entries

# Terms of which each worker has its own part: more workers shorten them.
_DIVIDED: tuple[LimitName, ...] = (
    "computing",
    "decoding",
    "reading",
    "latency",
    "client bandwidth",
)
# Twice the workers must shorten a run by this factor for more of them to be called a gain.
_STILL_GAINS = 1.5
# Workers that save less than this factor of one thread's time are not worth asking for.
_MIN_GAIN = 1.2
# A remedy is named if it leaves at most this part of the time.
_WORTH_SAYING = 0.9
_LARGE_REQUEST = 2**23
# Bytes per second of a thread that only memory reaches.
_MEMORY_RATE = 2**30
# Of ways that take about as long, the simplest is advised.
_PREFERENCE: dict[WayName, float] = {"threads": 1.0, "mpi": 1.02, "processes": 1.04, "dask": 1.06}
_WAY_TEXTS: dict[WayName, str] = {
    "threads": "{n} threads (pool=LocalPool(threads={n}))",
    "processes": "{n} processes (pool=ProcessPool(workers={n}))",
    "dask": "{n} workers of Dask",
    "mpi": "{n} ranks of MPI (mpiexec -n {n})",
}


@dataclass(frozen=True)
class Allocation:
    """Advice on how many workers to ask for, with the predictions behind it.

    Attributes
    ----------
    choice
        The setup that is advised.
    limit
        The term that limits this setup, or keeps more workers from being faster.
    alone
        The prediction for one thread.
    predictions
        Predictions for each number of workers, way and layout.
    sentences
        Advice. The first sentence says what to ask for, how long it will take, and why not more.
    """

    choice: Prediction
    limit: LimitName
    alone: Prediction
    predictions: Sequence[Prediction]
    sentences: Sequence[str]

    def speed_up(self, prediction: Prediction) -> float:
        """Return the time of one thread divided by that of a setup."""
        return self.alone.seconds / prediction.seconds

    def rows(self) -> list[dict[str, Json]]:
        """Return the predictions as rows: setup, seconds and their range, speed-up, efficiency."""
        return [
            {
                "workers": one.setup.workers,
                "pool": one.setup.way,
                "files": one.setup.layout,
                "seconds": one.seconds,
                "fastest": one.fastest,
                "slowest": one.slowest,
                "speed_up": self.speed_up(one),
                "efficiency": self.speed_up(one) / one.setup.workers,
                "limit": one.limit,
            }
            for one in self.predictions
        ]


def allocate(
    report: Entries, workers: Iterable[int], environment: Environment | None = None
) -> Allocation:
    """Return what to ask for to run the analysis of a report on a cluster.

    Parameters
    ----------
    report
        The entries of a report of the analysis, best of a run of one thread.
    workers
        Numbers of workers (threads, processes or ranks) to choose from.
    environment
        Storage and cluster; None as for `predict`.

    Raises
    ------
    ValueError
        If there are no numbers, or the report is not of an analysis of frames.
    """
    work = Workload.of(report)
    given = environment or Environment()
    counts = sorted(set(workers))
    if not counts or counts[0] < 1:
        raise ValueError("numbers of workers are at least 1: give one or more")
    on_node = given.cluster.cores_per_node or work.cores
    predictions = [
        predict(work, Setup(way, layout, n), given)
        for n in counts
        for way in WAYS
        if n <= on_node or not WAYS[way].is_one_node
        for layout in _layouts(work)
    ]
    alone = predict(work, Setup("threads", "shared", 1), given)
    as_it_is = [one for one in predictions if one.setup.layout == "shared"]
    # Twice the workers must save 29 % of the time to be worth asking for.
    choice = min(
        as_it_is,
        key=lambda one: one.seconds * math.sqrt(one.setup.workers) * _PREFERENCE[one.setup.way],
    )
    twice = 2 * choice.setup.workers
    ways = [choice.setup.way]
    if WAYS[choice.setup.way].is_one_node and twice > on_node:
        # The node has no more cores: further workers run on other nodes.
        ways = [way for way in WAYS if not WAYS[way].is_one_node]
    more = min(
        (predict(work, replace(choice.setup, way=way, workers=twice), given) for way in ways),
        key=lambda one: one.seconds,
    )
    limit = _limit(choice, more)
    gains = more.seconds <= choice.seconds / _STILL_GAINS
    asked = _ask(work, choice, alone, limit, given, gains=gains)
    sentences = [asked, *_remedy(work, choice, given), *_conditions(report, work, given)]
    return Allocation(choice, limit, alone, predictions, sentences)


def _layouts(work: Workload) -> list[LayoutName]:
    """Return the layouts of files to compare: a store gains if it leaves atoms out."""
    return [name for name in LAYOUTS if name != "store" or (work.part or 1.0) < 1.0]


def _limit(choice: Prediction, more: Prediction) -> LimitName:
    """Return what limits a setup, or what keeps twice the workers from being faster."""
    if more.seconds <= choice.seconds / _STILL_GAINS and choice.limit in _DIVIDED:
        return choice.limit
    # As many workers as cores: further ones share them.
    if more.limit in IN_CORES and more.parts[more.limit] > 0.75 * choice.parts[more.limit]:
        return more.limit
    stays: dict[LimitName, float] = {
        name: seconds for name, seconds in more.parts.items() if name not in _DIVIDED
    }
    return max(stays, key=lambda name: stays[name])


def _ask(
    work: Workload,
    choice: Prediction,
    alone: Prediction,
    limit: LimitName,
    environment: Environment,
    *,
    gains: bool,
) -> str:
    """Return the sentence on what to ask for; `gains`: whether twice the workers still would."""
    n = choice.setup.workers
    gain = alone.seconds / choice.seconds
    low, high = in_seconds(choice.fastest), in_seconds(choice.slowest)
    between = "" if low == high else f" ({low} to {high})"
    than = f", {in_two_digits(gain)} times as fast as one thread" if n > 1 else ""
    words = _WORDS[limit](work, choice, environment)
    if limit not in _DIVIDED:
        why = f"more would gain little: {words}"
    elif gains:
        why = f"{words} takes most of it, so that more would still gain"
    else:
        why = f"more would gain little: {words} keeps all cores busy"
    if n > 1 and gain < _MIN_GAIN:
        return (
            f"One thread (pool=LocalPool(threads=1)) is enough: {in_seconds(alone.seconds)};"
            f" {n} workers would take {in_seconds(choice.seconds)}{between}."
        )
    asked = (
        "one thread (pool=LocalPool(threads=1))"
        if n == 1
        else _WAY_TEXTS[choice.setup.way].format(n=n)
    )
    return f"Ask for {asked}: {in_seconds(choice.seconds)}{between}{than}; {why}."


def _words_of_bytes(work: Workload, choice: Prediction, environment: Environment) -> str:
    files = work.n_files if choice.setup.layout == "shared" else choice.setup.workers
    rate = in_bytes(environment.storage.bandwidth_of(files))
    n_bytes = in_bytes(work.n_frames * work.frame_bytes)
    where = "the servers of the file deliver" if files == 1 else "the storage delivers"
    return f"{where} {rate} a second to all, and there are {n_bytes} to read"


def _words_of_requests(work: Workload, _: Prediction, environment: Environment) -> str:
    size = in_bytes(work.request_bytes)
    rate = environment.storage.requests_per_s
    return f"the storage answers {rate:.3g} requests a second to all, of {size} each"


def _words_of_opening(_: Workload, choice: Prediction, __: Environment) -> str:
    return f"opening the files takes {in_seconds(choice.parts['opening'])} of it"


def _words_of_tasks(work: Workload, choice: Prediction, _: Environment) -> str:
    if work.n_leaves <= 2 * choice.setup.workers:
        return f"the frames make {work.n_leaves} tasks at most"
    return f"the last tasks end {in_seconds(choice.parts['tasks'])} after the others"


def _words_of_dispatch(work: Workload, choice: Prediction, _: Environment) -> str:
    tasks = work.n_tasks(choice.setup.workers, choice.setup.task_frames)
    return f"handing out {tasks} tasks takes one process most of that time"


_WORDS: dict[LimitName, Callable[[Workload, Prediction, Environment], str]] = {
    "computing": lambda *_: "computing",
    "decoding": lambda *_: "decoding",
    "reading": lambda *_: "reading",
    "latency": lambda *_: "waiting for answers of the storage",
    "client bandwidth": lambda *_: "reading at the bandwidth of one reader",
    "bandwidth": _words_of_bytes,
    "requests": _words_of_requests,
    "shared file": lambda *_: "requests to a file that all ranks read wait for each other",
    "opening": _words_of_opening,
    "starting": lambda *_: "importing and starting take as long on any number",
    "preparing": lambda *_: "one process prepares the run before the others begin",
    "dispatching": _words_of_dispatch,
    "gathering": lambda *_: "a single process receives all results",
    "tasks": _words_of_tasks,
}


def _remedy(work: Workload, choice: Prediction, environment: Environment) -> list[str]:
    """Return a sentence on the change that shortens the chosen setup most, if one is worth it."""
    setup = choice.setup
    per_rank = int(min(environment.cluster.cores_per_node or work.cores, setup.workers))
    request = max(_LARGE_REQUEST, int(work.request_bytes))
    changes = {
        "larger requests (request_size=8388608)": replace(setup, request_bytes=float(request)),
        f"tasks of {work.leaf_frames} frames (task_frames={work.leaf_frames})": replace(
            setup, task_frames=work.leaf_frames
        ),
        "a file for each rank (trajet split)": replace(setup, layout="segments"),
    }
    if "store" in _layouts(work):
        changes["the atoms of the analysis by themselves (trajet store)"] = replace(
            setup, layout="store"
        )
    if setup.way == "mpi" and per_rank > 1:
        ranks = math.ceil(setup.workers / per_rank)
        changes[f"{ranks} ranks of {per_rank} threads each (pool=MpiPool(threads={per_rank}))"] = (
            replace(setup, threads=per_rank)
        )
    times = {text: predict(work, one, environment).seconds for text, one in changes.items()}
    best = min(times, key=lambda text: times[text])
    if times[best] > _WORTH_SAYING * choice.seconds:
        return []
    return [f"With {best} it would take {in_seconds(times[best])}."]


def _conditions(report: Entries, work: Workload, environment: Environment) -> list[str]:
    """Return sentences on what the predictions take for granted."""
    lines: list[str] = []
    if work.workers > 1:
        lines.append(
            f"This run had {work.workers} workers, whose waiting for one another counts as reading"
            " here: the report of a run of one worker is a better start."
        )
    storage = environment.storage
    if storage.latency is None and storage.client_bandwidth is None:
        rate = work.frame_bytes / work.reading if work.reading > 0 else math.inf
        if rate > _MEMORY_RATE:
            lines.append(
                "The files were read from memory in this run, as fast as a disk hardly does:"
                " describe the storage (storage=FILE; trajet bench storage measures one)."
            )
        else:
            lines.append(
                "The storage is taken to serve all workers as well as those of this run: describe"
                " it (storage=FILE; trajet bench storage measures one)."
            )
    if report["opening"]["index"] == "built":
        built = in_seconds(report["opening"]["t_index"])
        lines.append(f"The index of frames was built in this run ({built}); later runs load it.")
    return lines
