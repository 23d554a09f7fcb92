"""Reports: timings and counters of a run, its inputs, and advice."""

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast, get_args

import numpy as np

from trajet import advise, machine, output
from trajet._trajet import INSTRUCTION_SET, FormatError, __version__, available_threads
from trajet._types import Json
from trajet.advise.task_columns import TaskColumns
from trajet.messages import Message, as_entries, messages_in
from trajet.parsing import ParseError, parsed
from trajet.report_entries import (
    AnalysisEntries,
    CountingEntry,
    CountName,
    Entries,
    MeasuredBefore,
    OpeningEntry,
    OutsideName,
    PlaceBytes,
    RunReport,
    StageName,
    Stages,
    TaskEntry,
    TransformWarnings,
    WorkerEntry,
    finite_ratio,
)
from trajet.startup import import_seconds

if TYPE_CHECKING:
    from typing import IO

    from trajet.advise import Allocation

SCHEMA = 4
REPORT_SUFFIXES = (".json", ".html")
STAGES: tuple[StageName, ...] = get_args(StageName)
COUNTS: tuple[CountName, ...] = get_args(CountName)
_COUNTING_STAGES: tuple[Literal["t_open", "t_read", "t_decode", "t_comp"], ...] = (
    "t_open",
    "t_read",
    "t_decode",
    "t_comp",
)
_BYTES_BY_PLACE: tuple[Literal["bytes_by_tier", "bytes_by_tag"], ...] = (
    "bytes_by_tier",
    "bytes_by_tag",
)
# Times outside of t_total, and the sum of all.
OUTSIDE: tuple[OutsideName, ...] = get_args(OutsideName)
# Entries that `Report.load` requires, in the report itself and in its lists.
_NAMES = (
    "analysis",
    "parameters",
    "inputs",
    "warnings",
    "notes",
    "stages",
    "averages",
    "requests",
    "bytes_read",
    "frames",
    "r_comp_io",
    "threads",
    "ranks_per_node",
    "workers",
    "tasks",
    "stragglers",
    "retried",
    "repeated",
    "advice",
    "versions",
    "cpu",
    "instruction_set",
    "host",
    "platform",
)
_NUMBER = (int, float)
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("requests", "bytes_read", "frames", "threads"), _NUMBER),
    **dict.fromkeys(("stages", "averages", "versions", "parameters"), dict),
    **dict.fromkeys(("workers", "tasks", "advice", "inputs", "warnings", "notes"), list),
}
_OF_WORKER = (*STAGES, "worker", "thread", "host", "tasks", "frames", "requests", "opens")
_OF_TASK = ("pass", "task", "worker", "thread", "first", "frames", "t_begin", "t_end")


class Report(Mapping[str, object]):
    """Timings and counters of a run, and what it read; docs/report.md describes each entry.

    Users look up entries by name; `entries_of` returns them with their types.

    Parameters
    ----------
    entries
        The entries, all of them or those of `AnalysisEntries`.
    conclude
        Returns all entries, given these; called when another one is first read.
    """

    def __init__(
        self,
        entries: Entries | AnalysisEntries,
        conclude: Callable[[Entries], Entries] | None = None,
    ) -> None:
        self._recorded = cast(Entries, {**entries})
        self._conclude = conclude

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report that was saved as JSON.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        FormatError
            If the file is not a report, or a report of another schema.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: not a text file: give the .json report of a run") from error
        return cls.from_json(text, str(path))

    @classmethod
    def from_json(cls, text: str, path: str) -> "Report":
        """Return the report of a JSON text; messages name it `path`.

        Raises
        ------
        FormatError
            If the text is not a report, or a report of another schema.
        """
        try:
            entries = parsed(json.loads, text)
        except ParseError as error:
            raise FormatError(
                f"{path}: not a report: {error}; give the .json report of a run"
            ) from error
        schema = entries.get("schema") if isinstance(entries, dict) else None
        if schema is None:
            raise FormatError(f"{path}: JSON, but not a report: give the .json report of a run")
        if schema != SCHEMA:
            raise FormatError(
                f"{path}: a report of schema {schema}; this version of trajet reads schema"
                f" {SCHEMA}: run the analysis again"
            )
        if mistyped := next(_mistyped(entries), None):
            raise FormatError(
                f"{path}: a report whose entry {mistyped} has the wrong type: give the .json"
                " report of a run"
            )
        if missing := sorted(_missing(entries)):
            raise FormatError(
                f"{path}: a report without the entry {missing[0]}: give the .json report of a run"
            )
        return cls(entries)

    @property
    def _entries(self) -> Entries:
        """All entries."""
        # Several threads may read one report.
        conclude = self._conclude
        if conclude is not None:
            try:
                self._recorded = conclude(self._recorded)
            except KeyError as error:
                # A mapping would take it for a missing entry.
                raise RuntimeError(f"the report of the pool lacks {error}") from error
            self._conclude = None
        return self._recorded

    def __getitem__(self, name: str) -> object:
        entries: Mapping[str, object] = self._recorded
        found = entries[name] if name in entries else self._entries[name]  # type: ignore[literal-required]
        return list(found) if isinstance(found, TaskColumns) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        entries = self._entries
        stages = entries["stages"]
        lines = [f"{name:<12}{stages[name]:>12.4f} s" for name in STAGES if stages[name] > 0]
        lines += [f"{name:<12}{entries[name]:>12.4f} s" for name in OUTSIDE if name in entries]
        ratio = entries["r_comp_io"]
        lines.append(
            f"{entries['frames']} frames, {entries['requests']} requests,"
            f" {entries['bytes_read']} bytes, {entries['threads']} threads"
            f"{'' if ratio is None else f', R_comp/IO {ratio:.3f}'}"
        )
        lines += [f"{one.label}: {one}" for one in self.messages]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return stages, counters and messages as a table, which notebooks show."""
        from trajet.html.facts import facts

        entries = self._entries
        stages = entries["stages"]
        rows: list[tuple[str, object]] = [
            (name, f"{stages[name]:.4f} s") for name in STAGES if stages[name] > 0
        ]
        rows += [(name, f"{entries[name]:.4f} s") for name in OUTSIDE if name in entries]
        rows += [
            ("frames", entries["frames"]),
            ("requests", entries["requests"]),
            ("bytes read", entries["bytes_read"]),
            ("threads", entries["threads"]),
        ]
        if (ratio := entries["r_comp_io"]) is not None:
            rows.append(("R_comp/IO", f"{ratio:.3f}"))
        return facts(f"Report of {entries['analysis']}", rows, self.messages)

    def scaling(
        self, workers: Iterable[int], storage: str | os.PathLike[str] | None = None
    ) -> "Allocation":
        """Predict how the analysis scales, and say how many ranks to ask for.

        Parameters
        ----------
        workers
            Numbers of ranks, processes or threads to compare.
        storage
            A file in TOML that describes storage and cluster (docs/scaling.md); None: the storage
            serves any number of workers as it served this run.

        Returns
        -------
        Allocation
            `sentences`, the first of which says what to ask for, and `rows()` of predictions.

        Raises
        ------
        ValueError
            If the report is not of an analysis of frames, or the file is no such description.
        FileNotFoundError
            If there is no such file.
        """
        environment = None if storage is None else advise.Environment.load(storage)
        return advise.allocate(self._entries, workers, environment)

    def changed(
        self,
        *,
        messages: list[Message],
        parameters: Mapping[str, object],
        analysis: str | None = None,
    ) -> "Report":
        """Return a report with other messages, some parameters, and another analysis if given.

        It shares everything else with this one.
        """
        changed = Report(self._recorded, self._conclude)
        changed._record(messages)
        changed._recorded["parameters"] = {**self._recorded["parameters"], **parameters}
        if analysis is not None:
            changed._recorded["analysis"] = analysis
        return changed

    def record_scalars(self, scalars: Mapping[str, object]) -> None:
        """Add the numbers that describe the whole result, when they are known."""
        self._recorded["scalars"] = json_object(scalars)

    @property
    def seconds_of_run(self) -> float:
        """Seconds of the run: those of all that are not outside of it."""
        entries = self._recorded
        seconds = entries.get("t_command", 0.0)
        for name in OUTSIDE[:-1]:
            seconds -= entries.get(name, 0.0)
        return seconds

    def record_seconds(self, name: OutsideName, seconds: float) -> None:
        """Add seconds to an entry on the time outside of the run, and to their sum."""
        for entry in (name, "t_command"):
            self._recorded[entry] = self._recorded.get(entry, 0.0) + seconds

    def record_imports(self) -> None:
        """Count what imports have taken since the report was made."""
        self.record_seconds("t_import", import_seconds() - self._recorded.get("t_import", 0.0))

    def record_messages(self, messages: Sequence[Message]) -> None:
        """Add messages on the numbers of the result, before the others."""
        if messages:
            self._record([*messages, *self.messages])

    def _record(self, messages: Iterable[Message]) -> None:
        """Replace the messages."""
        entries = as_entries(messages)
        self._recorded["warnings"], self._recorded["notes"] = entries["warnings"], entries["notes"]

    @property
    def messages(self) -> list[Message]:
        """Warnings and notes, which need no conclusions."""
        return messages_in(self._recorded)

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return "".join(self._json())

    def _json(self) -> Iterator[str]:
        """Iterate over the JSON text, with some thousand tasks at a time."""
        tasks = self._entries["tasks"]
        if not isinstance(tasks, TaskColumns):
            yield _json_text(self._entries) + "\n"
            return
        text = _json_text({**self._entries, "tasks": []})
        # Only names of the report itself follow one space: texts in it have no line feeds.
        before, name, after = text.partition('\n "tasks": [')
        yield before + name
        separator = ""
        for entries in tasks.chunks():
            # Without the brackets of the list, and one level deeper.
            yield separator + _json_text(entries)[1:-2].replace("\n", "\n ")
            separator = ","
        yield ("\n " if separator else "") + after + "\n"

    def to_html(self) -> str:
        """Return the report as a self-contained HTML page."""
        from trajet import html

        return html.page(entries_of(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON, or as a self-contained HTML page with figures.

        Raises
        ------
        ValueError
            If the name ends in neither `.json` nor `.html`.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, REPORT_SUFFIXES)
        pieces = self._json() if path.suffix.lower() == ".json" else iter((self.to_html(),))
        # Entries that follow from others are found before the file is begun.
        first = next(pieces)

        def write(file: "IO[bytes]") -> None:
            # File names need not be valid Unicode.
            for piece in chain((first,), pieces):
                file.write(piece.encode(errors="backslashreplace"))

        output.write(path, write)


def _json_text(value: object) -> str:
    return json.dumps(value, indent=1, allow_nan=False)


def _mistyped(entries: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of entries whose values have the wrong type."""
    for name, kind in _TYPES.items():
        if name in entries and not isinstance(entries[name], kind):
            yield name
            return
    if not _has_numbers(entries.get("stages", {}), STAGES):
        yield "stages"
    for name, numbers in (("workers", (*STAGES, *COUNTS)), ("tasks", ("t_begin", "t_end"))):
        if not all(_has_numbers(entry, numbers) for entry in _list(entries, name)):
            yield name


def _missing(entries: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of required entries that a report lacks."""
    yield from (name for name in _NAMES if name not in entries)
    for name, needed in (("workers", _OF_WORKER), ("tasks", _OF_TASK)):
        for entry in _list(entries, name):
            yield from (f"{each} in {name}" for each in needed if each not in entry)


def _list(entries: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = entries.get(name)
    return value if isinstance(value, list) else []


def _has_numbers(entry: object, names: Iterable[str]) -> bool:
    """Return whether an object of JSON has numbers at these names, as far as it has them."""
    return isinstance(entry, dict) and all(
        isinstance(entry.get(each, 0), _NUMBER) for each in names
    )


def plain(value: object) -> Json:
    """Return a value with lists for tuples and arrays, and None for numbers that JSON lacks.

    Raises
    ------
    TypeError
        If JSON has no such value.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return json_object({str(key): one for key, one in value.items()})
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (int, float, str)):
        return value
    raise TypeError(f"JSON has no {type(value).__name__}")


def json_object(entries: Mapping[str, object]) -> dict[str, Json]:
    """Return entries by name, with the values that `plain` makes of them."""
    return {name: plain(value) for name, value in entries.items()}


def entries_of(report: Report) -> Entries:
    """Return the entries of a report, with their types."""
    return report._entries


def analysis_of(report: Report) -> AnalysisEntries:
    """Return the entries on the analysis, its inputs and messages, which need no conclusions."""
    return report._recorded


def bytes_by_place(entries: Iterable[PlaceBytes]) -> PlaceBytes:
    """Return the bytes read from each tier and each tag of a store, summed over `entries`.

    The dictionary lacks `bytes_by_tier` and `bytes_by_tag` where no entry has them.
    """
    entries = list(entries)
    sums: PlaceBytes = {}
    for name in _BYTES_BY_PLACE:
        if counts := [entry[name] for entry in entries if name in entry]:
            sums[name] = [sum(column) for column in zip(*counts, strict=True)]
    return sums


def transform_warnings(entries: Iterable[TransformWarnings]) -> TransformWarnings:
    """Return the warnings of transforms, summed over `entries`."""
    found = [entry for entry in entries if "large_steps" in entry]
    if not found:
        return {}
    steps = [one for entry in found if (one := entry["first_large_step"]) is not None]
    return {
        "infinite_molecules": sum(entry["infinite_molecules"] for entry in found),
        "large_steps": sum(entry["large_steps"] for entry in found),
        "first_large_step": min(steps, default=None),
    }


def counting_of(readers: Iterable["Counting"]) -> MeasuredBefore:
    """Return the entry on the reads in which jumps were counted before, if there were any."""
    entries = [entry for reader in readers if (entry := reader.counting())["frames"]]
    if not entries:
        return {}
    stages = {name: sum(entry[name] for entry in entries) for name in _COUNTING_STAGES}
    counts = {name: sum(entry[name] for entry in entries) for name in COUNTS}
    return {"counting": cast(CountingEntry, {**stages, **counts, **bytes_by_place(entries)})}


class Counting(Protocol):
    """A reader that may have counted jumps before frames are read."""

    def counting(self) -> CountingEntry:
        """Return counts and times of these reads."""
        ...


class Opened(Protocol):
    """A trajectory whose opening was measured, such as a reader."""

    def opening(self) -> OpeningEntry:
        """Return what opening the files cost."""
        ...


def make_report(
    reader: Opened,
    run: RunReport,
    analysis: AnalysisEntries,
    tiers: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> Report:
    """Build the report of a run from the pool's report, the opened files and the machine.

    Parameters
    ----------
    reader
        The trajectory.
    run
        Report of the pool: `workers`, `tasks`, `passes`, `t_total`, and entries of its own,
        which are copied into the report; its `versions` are added to the others.
    analysis
        Name, parameters and inputs of the analysis; copied into the report.
    tiers
        Tiers of the store that holds the data set, in the order of `bytes_by_tier`.
    tags
        Open tags of the data set, in the order of `bytes_by_tag`.
    """
    if missing := {"workers", "tasks", "passes", "t_total"} - run.keys():
        raise TypeError(f"the report of the pool lacks {', '.join(sorted(missing))}")
    versions = {"trajet": __version__, "python": sys.version.split()[0], "numpy": np.__version__}
    if (loaded := sys.modules.get("MDAnalysis")) is not None:
        versions["MDAnalysis"] = loaded.__version__
    here = {
        "cores": available_threads(),
        "opening": reader.opening(),
        "versions": {**versions, **run.get("versions", {})},
        "cpu": machine.processor(),
        "instruction_set": INSTRUCTION_SET,
        "host": os.uname().nodename,
        "platform": machine.system(),
    }
    return Report(analysis, partial(_concluded, run, here, os.getpid(), tiers, tags))


def _concluded(
    run: RunReport,
    here: Mapping[str, object],
    process: int,
    tiers: Sequence[str],
    tags: Sequence[str],
    analysis: Entries,
) -> Entries:
    """Return all entries of a report: sums over workers, and ratios and advice that follow."""
    opening, counting = cast(OpeningEntry, here["opening"]), run.get("counting")
    workers, tasks = _workers_and_tasks(run, cast(str, here["host"]), process)
    for worker in workers:
        worker["t_io"] = worker["t_read"] + worker["t_decode"]
    stages: dict[str, float] = {name: sum(worker[name] for worker in workers) for name in STAGES}
    input_time = stages["t_read"] + stages["t_decode"]
    sums: dict[str, float] = {**stages, "t_io": input_time}
    averages = {name: seconds / max(1, len(workers)) for name, seconds in sums.items()}
    stages["t_open"] += opening["t_open"]
    stages["t_index"] += opening["t_index"]
    stages["t_merge"] += run.get("t_joining", 0.0)
    stages["t_total"] = run["t_total"]
    counts: dict[str, int] = {name: sum(worker[name] for worker in workers) for name in COUNTS}
    counts["opens"] += opening["opens"]
    if counting is not None:
        for stage in _COUNTING_STAGES:
            stages[stage] += counting[stage]
        for count in COUNTS:
            counts[count] += counting[count]
    hosts_and_workers = {(worker["host"], worker["worker"]) for worker in workers}
    by_place = bytes_by_place([*workers, *([] if counting is None else [counting])])
    found: dict[str, object] = {
        "pool": "local",
        **run,
        "schema": SCHEMA,
        **analysis,
        "stages": stages,
        "averages": averages,
        **counts,
        **by_place,
        # `bytes_by_tier` may have more elements than there are tiers.
        "tiers": dict(zip(tiers, by_place.get("bytes_by_tier", [0] * len(tiers)), strict=False)),
        "tags": dict(zip(tags, by_place.get("bytes_by_tag", [0] * len(tags)), strict=True)),
        "passes": run["passes"],
        "threads": len(workers),
        "ranks_per_node": dict(sorted(Counter(host for host, _ in hosts_and_workers).items())),
        "workers": workers,
        "tasks": tasks,
        "retried": run.get("retried", []),
        "repeated": run.get("repeated", []),
        **here,
    }
    del found["t_total"]
    measured = cast(Entries, found)
    serial: Stages | None = workers[0] if len(workers) == 1 else measured.get("sample")
    entries: Entries = {
        **measured,
        "r_comp_io": advise.computing_to_input(serial),
        "r_comp_comm": finite_ratio(stages["t_comp"], stages["t_comm"]),
        "stragglers": advise.stragglers(workers, tasks, stages["t_total"]),
    }
    return {
        **entries,
        "advice": advise.advice(entries),
        "heuristics": advise.heuristics(entries),
    }


def _workers_and_tasks(
    run: RunReport, host: str, process: int
) -> tuple[list[WorkerEntry], Sequence[TaskEntry]]:
    """Return the workers and tasks of a run with process, thread and host.

    The workers of the engine are threads of this process.
    """
    if all("thread" in worker for worker in run["workers"]):
        of_pool: list[WorkerEntry] = [{"host": host, **worker} for worker in run["workers"]]
        if isinstance(run["tasks"], TaskColumns):
            return of_pool, run["tasks"].with_first(thread=None)
        return of_pool, [{"thread": None, **task} for task in run["tasks"]]
    workers: list[WorkerEntry] = [
        {"host": host, "process": process, **w, "worker": 0, "thread": w["worker"]}
        for w in run["workers"]
    ]
    tasks: list[TaskEntry] = [
        {**task, "worker": 0, "thread": task["worker"]} for task in run["tasks"]
    ]
    return workers, tasks
