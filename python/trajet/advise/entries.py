"""Queries on the entries of a report: seconds by stage, workers and their names."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Entry: TypeAlias = Mapping[str, Any]

# Words for the stages of a worker. The stages of `PER_FRAME` grow with the number of frames.
ONCE = {"opening": ("t_open", "t_index"), "closing": ("t_close",)}
GATHERING = {"gathering": ("t_comm",)}
PER_FRAME = {
    "reading": ("t_read",),
    "decoding": ("t_decode",),
    "computing": ("t_comp",),
    "merging": ("t_merge",),
    "overhead": ("t_overhead",),
}
STAGES_OF = {**ONCE, **PER_FRAME, **GATHERING, "waiting": ("t_wait",)}

# Seconds; runs that are shorter consist mostly of start and end.
SHORT = 0.1
_WORTH_NAMING = 0.05
_NOISE = 0.1


def busy(worker: Entry) -> float:
    """Return the total seconds of a worker less those that it waited."""
    return float(worker["t_total"] - worker["t_wait"])


def n_processes(report: Entry) -> int:
    """Return the number of processes that did the work."""
    return len({worker["worker"] for worker in report["workers"]})


def name_of(report: Entry, entry: Entry) -> str:
    """Return the name of the worker of an entry of `workers`, `tasks` or `stragglers`."""
    worker = f"rank {entry['rank']}" if "rank" in entry else f"worker {entry['worker']}"
    processes = n_processes(report)
    if entry["thread"] is None or processes == len(report["workers"]):
        return worker
    return f"thread {entry['thread']}" if processes == 1 else f"{worker}, thread {entry['thread']}"


def seconds_in(entry: Entry, names: Iterable[str]) -> float:
    """Return the seconds of an entry in these stages; a stage that it lacks counts as 0."""
    return float(sum(entry.get(name, 0.0) for name in names))


def lane_of(entry: Entry) -> tuple[Any, Any]:
    """Return worker and thread of an entry, which identify a thread among all processes."""
    return entry["worker"], entry["thread"]


def worth_naming(total: float) -> float:
    """Return the least delay, in seconds, that is reported for a run that took `total` seconds."""
    return max(_WORTH_NAMING * total, _NOISE)


def computing_to_input(spent: Entry | None) -> float | None:
    """Return t_comp / t_io, where t_io is reading and decoding; None if t_io is 0."""
    if spent is None:
        return None
    t_io = seconds_in(spent, ("t_read", "t_decode"))
    return float(spent["t_comp"]) / t_io if t_io > 0 else None
