"""Times, messages and memory of a simulated run, and their table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Outcome:
    """Times and counts of a simulated run.

    Attributes
    ----------
    seconds
        Simulated time of the run.
    work
        Seconds that one usual worker would compute.
    root_busy, scheduler_busy
        Seconds for which rank 0 (the calling process) and Dask's scheduler were busy.
    messages
        Messages that rank 0 sent and received; with MPI, one-sided operations on its memory.
    repeated
        Tasks of stragglers that were given to another worker as well.
    core_seconds, core_calls
        Real seconds in the product's code, and calls, by method.
    peak_bytes
        Peak memory of the simulation, all of its workers included.
    state
        Bytes of the merged state.
    """

    n_tasks: int
    n_workers: int
    seconds: float
    work: float
    root_busy: float
    scheduler_busy: float
    messages: int
    repeated: int
    core_seconds: dict[str, float]
    core_calls: dict[str, int]
    peak_bytes: int
    state: bytes

    @property
    def efficiency(self) -> float:
        """The time of as many usual workers without any other cost, over the time of the run."""
        return self.work / self.n_workers / self.seconds

    def record(self) -> dict[str, object]:
        """Return the record of the run as JSON takes it."""
        entries = asdict(self)
        del entries["state"]
        return {**entries, "efficiency": self.efficiency}


def as_table(rows: Sequence[tuple[str, Outcome, float]]) -> list[str]:
    """Return the lines of a table of Markdown: names, outcomes and real seconds."""
    head = (
        *("", "workers", "tasks", "seconds", "efficiency", "rank 0 busy", "scheduler busy"),
        *("messages a task", "repeated", "core µs a task", "memory, MB", "real seconds"),
    )
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, outcome, real in rows:
        core = 1e6 * sum(outcome.core_seconds.values()) / outcome.n_tasks
        cells = (
            name,
            f"{outcome.n_workers:,}",
            f"{outcome.n_tasks:,}",
            f"{outcome.seconds:.1f}",
            f"{100 * outcome.efficiency:.1f} %",
            f"{100 * outcome.root_busy / outcome.seconds:.1f} %",
            f"{100 * outcome.scheduler_busy / outcome.seconds:.1f} %",
            f"{outcome.messages / outcome.n_tasks:.1f}",
            str(outcome.repeated),
            f"{core:.1f}",
            f"{outcome.peak_bytes / 1e6:.0f}",
            f"{real:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
