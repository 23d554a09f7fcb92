"""The HTML page of a report."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from trajet import advise
from trajet.html import figures
from trajet.messages import messages_in
from trajet.report_entries import Entries, OutsideName, StageName, TaskEntry

if TYPE_CHECKING:
    from jinja2 import Template

Format: TypeAlias = Callable[[float], str]
Rows: TypeAlias = list[tuple[str, ...]]
# Titles of the columns, and rows.
Table: TypeAlias = tuple[tuple[str, ...], Rows]

_STAGES: tuple[StageName, ...] = (*figures.STAGE_COLOURS, "t_total")
# The table of tasks shows this many of the slowest. The JSON report has all of them.
_MAX_TASKS = 100
# Times outside of t_total.
_OUTSIDE: dict[OutsideName, str] = {
    "t_import": "importing trajet, and MDAnalysis if something needs it",
    "t_topology": "opening the files and reading the topology",
    "t_select": "evaluating the selections, and preparing the analysis",
    "t_result": "computing the result of the numbers of frames: pairs, clusters, errors",
    "t_files": "writing the result to files",
    "t_figure": "drawing the figure",
    "t_command": "the sum of these and t_total",
}
_ABOUT_WORKER: tuple[Literal["host", "tasks", "frames", "requests", "opens", "bytes_read"], ...] = (
    "host",
    "tasks",
    "frames",
    "requests",
    "opens",
    "bytes_read",
)
_ABOUT_TASK: tuple[Literal["pass", "task", "worker", "thread", "first", "frames"], ...] = (
    "pass",
    "task",
    "worker",
    "thread",
    "first",
    "frames",
)
_SECONDS_OF_TASK: tuple[Literal["t_open", "t_read", "t_decode", "t_comp", "t_scheduler"], ...] = (
    "t_open",
    "t_read",
    "t_decode",
    "t_comp",
    "t_scheduler",
)


def page(report: Entries) -> str:
    """Return a report as a self-contained HTML page.

    Parameters
    ----------
    report
        The entries of a report.
    """
    number = _formatter(report["stages"]["t_total"])
    is_drawn = bool(report["tasks"])
    return _template().render(
        report=report,
        title=f"{report['analysis']}: {_count(report['parameters']['n_frames'], 'frame')}",
        subject=_subject(report),
        facts=_facts(report),
        heuristics=report.get("heuristics", ()),
        messages=messages_in(report),
        legend=figures.legend(report),
        bars=figures.bars(report),
        stream=figures.stream(report) if is_drawn else None,
        columns=figures.histogram(report) if len(figures.lanes_of(report)) > 1 else (),
        width=figures.WIDTH,
        over_median=advise.OVER_MEDIAN,
        n_tasks=_count(len(report["tasks"]), "task"),
        stages=_stages(report, number),
        outside=[(name, number(report.get(name, 0.0)), what) for name, what in _OUTSIDE.items()],
        stragglers=_stragglers(report, number),
        workers=_workers(report, number),
        tasks=_tasks(report["tasks"], number) if is_drawn else None,
        parameters=[(name, _cell(value)) for name, value in report["parameters"].items()],
        inputs=_inputs(report),
        machine=_machine(report),
    )


def _template() -> "Template":
    # Most runs write no page.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trajet", "html"),
        autoescape=True,
        # Coordinates in figures: six digits are less than a pixel.
        finalize=lambda value: f"{value:.6g}" if isinstance(value, float) else value,
        undefined=jinja2.StrictUndefined,
    )
    template: Template = environment.get_template("page.html")
    return template


def _subject(report: Entries) -> str:
    files = [entry["path"] for entry in report["inputs"] if "format" in entry]
    more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    # A Universe in memory has no file.
    first = files[0] if files else "positions in memory"
    return f"{first}{more}, on {report['host']}, trajet {report['versions']['trajet']}"


def _facts(report: Entries) -> list[tuple[str, str]]:
    """Return the most important numbers and their names."""
    total, ratio = report["stages"]["t_total"], report["r_comp_io"]
    processes, threads = advise.n_processes(report), report["threads"]
    facts = [
        (advise.in_seconds(total), "time of the run"),
        (f"{report['frames'] / total:,.0f}" if total > 0 else "–", "frames a second"),
        (f"{processes} × {threads // max(1, processes)}", "processes × threads"),
        (advise.in_bytes(report["bytes_read"]), "read"),
        (f"{report['requests']:,}", "read requests"),
    ]
    if ratio is not None:
        facts.append((advise.in_two_digits(ratio), "R_comp/IO"))
    if "t_command" in report:
        facts.insert(1, (advise.in_seconds(report["t_command"]), "with imports and topology"))
    return facts


def _stages(report: Entries, number: Format) -> Rows:
    """Return seconds and share of each stage."""
    stages, averages = report["stages"], report["averages"]
    total = sum(stages[name] for name in figures.STAGE_COLOURS)
    share = {name: 100 * stages[name] / total for name in figures.STAGE_COLOURS if total > 0}
    return [
        (
            name,
            number(stages[name]),
            number(averages[name]),
            f"{share[name]:.1f} %" if name in share else "",
        )
        for name in _STAGES
    ]


def _stragglers(report: Entries, number: Format) -> Rows:
    return [
        (
            advise.name_of(report, entry),
            entry["host"],
            f"{entry['task']}" if "task" in entry else "all",
            entry["stage"],
            *map(number, (entry["seconds"], entry["median"], entry["fastest"], entry["lost"])),
        )
        for entry in report["stragglers"]
    ]


def _workers(report: Entries, number: Format) -> Table:
    rows = [
        (
            advise.name_of(report, worker),
            *(_cell(worker[name]) for name in _ABOUT_WORKER),
            *(number(worker[name]) for name in _STAGES),
        )
        for worker in report["workers"]
    ]
    return ("worker", *_ABOUT_WORKER, *_STAGES), rows


def _tasks(tasks: Sequence[TaskEntry], number: Format) -> Table:
    """Return the slowest tasks."""
    slowest = sorted(tasks, key=lambda task: task["t_begin"] - task["t_end"])[:_MAX_TASKS]
    stages = [name for name in _SECONDS_OF_TASK if name in tasks[0]]
    rows = [
        (
            *(_cell(task[name]) for name in _ABOUT_TASK),
            number(task["t_begin"]),
            number(task["t_end"] - task["t_begin"]),
            *(number(task[name]) for name in stages),
        )
        for task in slowest
    ]
    return (*_ABOUT_TASK, "t_begin", "seconds", *stages), rows


def _inputs(report: Entries) -> Rows:
    return [
        (
            entry["path"],
            entry["digest"],
            str(entry.get("format", "")),
            f"{entry['size']:,}",
            _cell(entry.get("n_frames", "")),
        )
        for entry in report["inputs"]
    ]


def _machine(report: Entries) -> Rows:
    """Return processor, processes of each host, and versions."""
    return [
        ("cpu", report["cpu"]),
        ("instruction set", report["instruction_set"]),
        ("platform", report["platform"]),
        *((f"processes on {host}", f"{n}") for host, n in report["ranks_per_node"].items()),
        *report["versions"].items(),
    ]


def _formatter(longest: float) -> Format:
    """Return a function that formats seconds so that the `longest` has four digits."""
    decimals = 4 if longest <= 0 else min(9, max(4, 3 - math.floor(math.log10(longest))))
    return lambda seconds: f"{seconds:.{decimals}f}" if seconds < 1000 else f"{seconds:,.1f}"


def _cell(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    if isinstance(value, bool) or value is None:
        return "–" if value is None else str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _count(number: object, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
