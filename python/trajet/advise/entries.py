"""What a report's entries tell: seconds by stage, who did the work, and what they are called."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Entry: TypeAlias = Mapping[str, Any]

# Words for the stages of a worker. Those of `PER_FRAME` grow with its frames.
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

# Shorter runs, in seconds, are mostly begin and end.
SHORT = 0.1
_WORTH_NAMING = 0.05
_NOISE = 0.1


def busy(worker: Entry) -> float:
    """Return the seconds of a worker without its waiting."""
    return float(worker["t_total"] - worker["t_wait"])


def n_processes(report: Entry) -> int:
    """Return how many processes did the work."""
    return len({worker["worker"] for worker in report["workers"]})


def name_of(report: Entry, entry: Entry) -> str:
    """Return what a worker is called, or the one that an entry of another list tells of."""
    who = f"rank {entry['rank']}" if "rank" in entry else f"worker {entry['worker']}"
    processes = n_processes(report)
    if entry["thread"] is None or processes == len(report["workers"]):
        return who
    return f"thread {entry['thread']}" if processes == 1 else f"{who}, thread {entry['thread']}"


def seconds_in(entry: Entry, names: Iterable[str]) -> float:
    """Return the seconds that an entry gives for these stages; none for those it does not have."""
    return float(sum(entry.get(name, 0.0) for name in names))


def lane_of(entry: Entry) -> tuple[Any, Any]:
    """Return what tells apart the threads of all processes."""
    return entry["worker"], entry["thread"]


def worth_naming(total: float) -> float:
    """Return by how many seconds one must be behind to be named, in a run that took `total`."""
    return max(_WORTH_NAMING * total, _NOISE)


def computing_to_input(spent: Entry | None) -> float | None:
    """Return t_comp / t_io, where t_io is reading and decoding; None where it has no meaning."""
    if spent is None:
        return None
    t_io = seconds_in(spent, ("t_read", "t_decode"))
    return float(spent["t_comp"]) / t_io if t_io > 0 else None
