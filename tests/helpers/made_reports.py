"""Made-up reports: workers and tasks that spent their time as a test sets it."""

from collections.abc import Sequence
from typing import Any

import trajet as tj
from trajet.messages import Message, as_entries
from trajet.result import STAGES, make_report

COUNTS = ("opens", "empty_frames", "atoms_decoded")


class Opened:
    """A reader as far as a report uses it."""

    def __init__(self, **opening: Any) -> None:
        self._opening = {"t_open": 0.0, "t_index": 0.0, "opens": 1, "index": "loaded", **opening}

    def opening(self) -> dict[str, Any]:
        """Return the time of the opening."""
        return self._opening


def worker(number: int, *, frames: int = 1000, **stages: Any) -> dict[str, Any]:
    """Return a worker with these stages, which make up its t_total."""
    entries = {name: stages.pop(name, 0.0) for name in STAGES if name != "t_total"}
    return {
        "worker": number,
        "thread": 0,
        "host": f"node{number // 4}",
        "process": 100 + number,
        "tasks": 1,
        "frames": frames,
        "requests": 10,
        "bytes_read": 1000 * frames,
        "bytes_used": 990 * frames,
        **dict.fromkeys(COUNTS, 1),
        **entries,
        **stages,
        "t_total": sum(entries.values()),
    }


def task(
    number: int, worker: int, begin: float, end: float, *, frames: int = 100, **further: Any
) -> dict[str, Any]:
    """Return a task; time in none of the given stages was computing."""
    entries = {
        "pass": 0,
        "task": number,
        "worker": worker,
        "first": 100 * number,
        "frames": frames,
        "t_begin": begin,
        "t_end": end,
        **dict.fromkeys(("t_open", "t_read", "t_decode", "t_comp", "t_merge"), 0.0),
        **further,
    }
    if not set(further) & {"t_open", "t_read", "t_decode", "t_comp", "t_merge"}:
        entries["t_comp"] = end - begin
    return entries


def report(
    workers: Sequence[dict[str, Any]],
    tasks: Sequence[dict[str, Any]] = (),
    *,
    total: float | None = None,
    analysis: str = "rmsd",
    opening: dict[str, Any] | None = None,
    tags: Sequence[str] = (),
    messages: Sequence[Message] = (),
    **run: Any,
) -> tj.Report:
    """Return the report of a run of a pool called "made"."""
    frames = sum(worker["frames"] for worker in workers)
    asked = {
        "analysis": analysis,
        "parameters": {"n_frames": frames, "select": "name CA & <b>"},
        "inputs": [
            {
                "path": "/data/<adk> & co.xtc",
                "format": "XTC",
                "size": 10**9,
                "digest": "00",
                "n_frames": frames,
            }
        ],
        **as_entries(messages),
    }
    longest = max([entry["t_total"] for entry in workers] + [entry["t_end"] for entry in tasks])
    outcome = {
        "pool": "made",
        "workers": [dict(entry) for entry in workers],
        "tasks": [dict(entry) for entry in tasks],
        "passes": 1,
        "t_total": longest if total is None else total,
        **run,
    }
    return make_report(Opened(**(opening or {})), outcome, asked, tags=tags)
