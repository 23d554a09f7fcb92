"""One tool, ready for one case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """A tool with `threads`; `isa` where it says which instruction set it uses.

    `verify` compares what the tool reads or computes with MDAnalysis; `once` goes through all the
    case's frames and returns the seconds that only this took.
    """

    tool: str
    version: str
    threads: int
    verify: Callable[[], None]
    once: Callable[[], float]
    isa: str | None = None
    note: str = ""


def clock(job: Callable[[], Any]) -> Callable[[], float]:
    """Return what does `job` and returns the seconds that it took."""

    def once() -> float:
        start = perf_counter()
        result = job()
        seconds = perf_counter() - start
        del result  # giving memory back is outside the clock, for everybody
        return seconds

    return once
