"""One tool, ready for one case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """A tool with `threads`; `isa` if it reports its instruction set.

    `verify` compares the values of the tool with those of MDAnalysis; `once` processes all frames
    of the case and returns the seconds of that alone.
    """

    tool: str
    version: str
    threads: int
    verify: Callable[[], None]
    once: Callable[[], float]
    isa: str | None = None
    note: str = ""


def clock(job: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that calls `job` and returns the seconds that it took."""

    def once() -> float:
        start = perf_counter()
        result = job()
        seconds = perf_counter() - start
        del result  # freeing memory is outside the clock, for every tool
        return seconds

    return once
