"""What bounded a run: a stage, its begin, or those that were slow."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from trajet.advise.entries import SHORT, STAGES_OF, Entry, busy, lane_of, seconds_in

# Stragglers bound a run without which this part of the run would not have been.
_LATE = 0.25


@dataclass(frozen=True)
class Bound:
    """What bounded a run.

    Attributes
    ----------
    what
        A stage's word, "preparing", "starting", "joining", "straggler" or "short".
    shares
        Parts of the workers' time by word, from the call's begin to its end; they make up 1.
    late
        Seconds by which stragglers were behind the others.
    """

    what: str
    shares: Mapping[str, float]
    late: float


def bound(report: Entry) -> Bound:
    """Return what bounded a run, by the numbers of its report."""
    workers, total = report["workers"], report["stages"]["t_total"]
    spent = {word: 0.0 for word in (*STAGES_OF, "preparing", "starting", "joining")}
    for worker in workers:
        for word, names in STAGES_OF.items():
            spent[word] += seconds_in(worker, names)
    # What is left lies before a worker's first task or behind its last. While what they wrote is
    # joined, all workers wait.
    left = max(0.0, len(workers) * total - sum(spent.values()))
    before = report.get("t_preparing", 0.0)
    first = min((task["t_begin"] for task in report["tasks"]), default=before)
    joining = report.get("t_joining", 0.0)
    for word, seconds in (
        ("preparing", before),
        ("starting", first - before),
        ("joining", joining),
    ):
        spent[word] = min(left, len(workers) * max(0.0, seconds))
        left -= spent[word]
    spent["waiting"] += left
    everything = sum(spent.values())
    shares = {word: part / everything if everything > 0 else 0.0 for word, part in spent.items()}
    late = _late(report)
    if total < SHORT or everything == 0:
        what = "short"
    elif late >= _LATE * total:
        what = "straggler"
    else:
        what = max(shares, key=lambda word: shares[word])
    return Bound(what, shares, late)


def _late(report: Entry) -> float:
    """Return how many seconds later stragglers were done than the others."""
    workers, tasks = report["workers"], report["tasks"]
    slow = {lane_of(entry) for entry in report["stragglers"] if "task" not in entry}
    late = 0.0
    if 0 < len(slow) < len(workers):
        for seconds in (busy, lambda worker: busy(worker) - worker["t_comm"]):
            theirs = [seconds(worker) for worker in workers if lane_of(worker) in slow]
            others = [seconds(worker) for worker in workers if lane_of(worker) not in slow]
            late = max(late, max(theirs) - median(others))
    ends: dict[Any, float] = {}
    for task in tasks:
        ends[lane_of(task)] = max(ends.get(lane_of(task), 0.0), task["t_end"])
    for entry in report["stragglers"]:
        if "task" in entry:
            others = [end for lane, end in ends.items() if lane != lane_of(entry)]
            mine = ends[lane_of(entry)]
            behind = mine - median(others) if others else entry["seconds"] - entry["median"]
            late = max(late, min(behind, entry["seconds"] - entry["median"]))
    return late
