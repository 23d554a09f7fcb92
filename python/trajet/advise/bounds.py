"""The bound of a run, which limited its speed: a stage, the start of the run, or stragglers."""

from collections.abc import Mapping
from dataclasses import dataclass

from trajet.report_entries import (
    SHORT,
    STAGES_OF,
    Entries,
    Lane,
    busy,
    lane_of,
    median,
    seconds_in,
)

# Stragglers bound a run if they delayed its end by at least this part of its time.
_LATE = 0.25


@dataclass(frozen=True)
class Bound:
    """The bound of a run.

    Attributes
    ----------
    what
        The word for a stage, "preparing", "starting", "joining", "straggler" or "short".
    shares
        Parts of the workers' time by word, from the begin of the call to its end; their sum is 1.
    late
        Seconds by which stragglers finished after the others.
    """

    what: str
    shares: Mapping[str, float]
    late: float


def bound(report: Entries) -> Bound:
    """Return the bound of a run."""
    workers, total = report["workers"], report["stages"]["t_total"]
    spent = {word: 0.0 for word in (*STAGES_OF, "preparing", "starting", "joining")}
    for worker in workers:
        for word, names in STAGES_OF.items():
            spent[word] += seconds_in(worker, names)
    # The rest is time before a worker's first task or after its last. All workers wait while the
    # pieces that they wrote are joined.
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


def _late(report: Entries) -> float:
    """Return by how many seconds stragglers finished after the others."""
    workers, tasks = report["workers"], report["tasks"]
    slow = {lane_of(entry) for entry in report["stragglers"] if "task" not in entry}
    late = 0.0
    if 0 < len(slow) < len(workers):
        for seconds in (busy, lambda worker: busy(worker) - worker["t_comm"]):
            theirs = [seconds(worker) for worker in workers if lane_of(worker) in slow]
            others = [seconds(worker) for worker in workers if lane_of(worker) not in slow]
            late = max(late, max(theirs) - median(others))
    ends: dict[Lane, float] = {}
    for task in tasks:
        ends[lane_of(task)] = max(ends.get(lane_of(task), 0.0), task["t_end"])
    for entry in report["stragglers"]:
        if "task" in entry:
            others = [end for lane, end in ends.items() if lane != lane_of(entry)]
            mine = ends[lane_of(entry)]
            behind = mine - median(others) if others else entry["seconds"] - entry["median"]
            late = max(late, min(behind, entry["seconds"] - entry["median"]))
    return late
