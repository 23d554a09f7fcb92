"""The HTML page of a report."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Literal

from trajet import advise
from trajet.advise.entries import BeforeName, Entries, StageName
from trajet.html import figures
from trajet.html.style import CSS, STAGE_COLOURS

# The table of tasks shows this many of the slowest. The JSON report has all of them.
_MOST_TASKS = 100
# Times outside of t_total.
_BEFORE: dict[BeforeName, str] = {
    "t_import": "importing trajet, and MDAnalysis if something needs it",
    "t_topology": "opening the files and reading the topology",
    "t_select": "evaluating the selections",
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
    title = f"{report['analysis']}: {_count(report['parameters']['n_frames'], 'frame')}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(_subject(report))}</p>',
        _facts(report),
        _advice(report),
        _workers(report),
        _tasks(report),
        _numbers(report),
        _origin(report),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>trajet {escape(title)}</title><style>{CSS}</style></head>\n"
        f"<body>{''.join(part + chr(10) for part in parts if part)}</body></html>\n"
    )


def _subject(report: Entries) -> str:
    files = [entry["path"] for entry in report["inputs"] if "format" in entry]
    more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    return f"{files[0]}{more}, on {report['host']}, trajet {report['versions']['trajet']}"


def _facts(report: Entries) -> str:
    """Return the most important numbers."""
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
    return '<div class="facts">{}</div>'.format(
        "".join(f"<div><b>{escape(value)}</b><span>{name}</span></div>" for value, name in facts)
    )


def _advice(report: Entries) -> str:
    lead, *more = report["advice"]
    points = "".join(f"<li>{escape(line)}</li>" for line in more)
    parts = [f'<h2>What to do</h2><p class="lead">{escape(lead)}</p>']
    if points:
        parts.append(f"<ul>{points}</ul>")
    if lines := report.get("heuristics"):
        parts.append(_folded("What the papers say", _list(lines)))
    return "".join(parts)


def _workers(report: Entries) -> str:
    """Return the bars of stages."""
    if not report["workers"]:
        return ""
    limit = (
        " ▲ marks stragglers; a dashed line, where it is not beyond the end,"
        f" {advise.OVER_MEDIAN:g} times the median time without waiting."
        if len(report["workers"]) > 1
        else ""
    )
    return (
        "<h2>Where the time went</h2>"
        f"<figure>{figures.legend(report)}{figures.bars(report)}"
        f"<figcaption>Stages of each worker; together they are its t_total.{limit}</figcaption>"
        "</figure>"
    )


def _tasks(report: Entries) -> str:
    """Return the task stream and the histogram."""
    tasks = report["tasks"]
    if not tasks:
        return ""
    text = (
        "<h2>Tasks over time</h2>"
        f"<figure>{figures.stream(report)}"
        f"<figcaption>{_count(len(tasks), 'task')}, from the run's begin to its end. The stages of"
        " a task alternate; they are drawn one after the other.</figcaption>"
        "</figure>"
    )
    if len(figures.lanes_of(report)) > 1:
        text += (
            "<h2>Tasks of each worker</h2>"
            f"<figure>{figures.histogram(report)}"
            "<figcaption>Workers (above) by their number of tasks (below).</figcaption></figure>"
        )
    return text


def _numbers(report: Entries) -> str:
    """Return the tables."""
    stages, averages = report["stages"], report["averages"]
    number = _writer(stages["t_total"])
    names: list[StageName] = [*STAGE_COLOURS, "t_total"]
    summed = sum(stages[name] for name in STAGE_COLOURS)
    rows = [
        (
            name,
            number(stages[name]),
            number(averages[name]),
            f"{100 * stages[name] / summed:.1f} %" if name in STAGE_COLOURS and summed > 0 else "",
        )
        for name in names
    ]
    parts = [
        "<h2>Numbers</h2>",
        _table(("stage", "all workers (s)", "average (s)", "share"), rows),
        '<p class="soft">The papers\' t_IO is t_read + t_decode. t_total of all is the clock around'
        " the run; its average is that of the workers. t_open and t_index of all hold the"
        f" opening's{', t_merge the joining of pieces' if 't_joining' in report else ''}.</p>",
    ]
    if "t_command" in report:
        before = [(name, number(report[name]), what) for name, what in _BEFORE.items()]
        parts += [
            "<h3>Before the run</h3>",
            _table(("time", "seconds", "what"), before, kind="text"),
        ]
    if found := report["stragglers"]:
        slow = [
            (
                advise.name_of(report, entry),
                entry["host"],
                f"{entry['task']}" if "task" in entry else "all",
                entry["stage"],
                *map(number, (entry["seconds"], entry["median"], entry["fastest"], entry["lost"])),
            )
            for entry in found
        ]
        head = ("straggler", "host", "task", "stage", "seconds", "median", "fastest", "lost in it")
        parts += ["<h3>Stragglers</h3>", _table(head, slow)]
    workers = [
        (
            advise.name_of(report, worker),
            *(_cell(worker[name]) for name in _ABOUT_WORKER),
            *(number(worker[name]) for name in names),
        )
        for worker in report["workers"]
    ]
    parts.append(_folded("Workers", _table(("worker", *_ABOUT_WORKER, *names), workers)))
    if tasks := report["tasks"]:
        worst = sorted(tasks, key=lambda task: task["t_begin"] - task["t_end"])[:_MOST_TASKS]
        more = [name for name in _SECONDS_OF_TASK if name in tasks[0]]
        lines = [
            (
                *(_cell(task[name]) for name in _ABOUT_TASK),
                number(task["t_begin"]),
                number(task["t_end"] - task["t_begin"]),
                *(number(task[name]) for name in more),
            )
            for task in worst
        ]
        title = f"The slowest {len(worst)} of {_count(len(tasks), 'task')}"
        parts.append(_folded(title, _table((*_ABOUT_TASK, "t_begin", "seconds", *more), lines)))
    return "".join(parts)


def _origin(report: Entries) -> str:
    """Return parameters, inputs, machine and versions of the run."""
    files = [
        (
            entry["path"],
            entry["digest"],
            str(entry.get("format", "")),
            f"{entry['size']:,}",
            _cell(entry.get("n_frames", "")),
        )
        for entry in report["inputs"]
    ]
    asked = [(name, _cell(value)) for name, value in report["parameters"].items()]
    where = [
        ("cpu", report["cpu"]),
        ("instruction set", report["instruction_set"]),
        ("platform", report["platform"]),
        *((f"processes on {host}", f"{n}") for host, n in report["ranks_per_node"].items()),
        *report["versions"].items(),
    ]
    parts = [
        "<h2>What was run</h2>",
        _table(("parameter", "value"), asked, kind="text"),
        "<h3>Inputs</h3>",
        _table(("file", "digest", "format", "bytes", "frames"), files, kind="files"),
        _list(report.get("remarks", ())),
        "<h3>Machine and versions</h3>",
        _table(("what", "which"), where, kind="text"),
    ]
    again = [
        f"task {entry['task']} of pass {entry['pass']}: {entry['error']}"
        for entry in report["retried"]
    ]
    if again:
        parts += ["<h3>Tried again</h3>", _list(again)]
    return "".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "") -> str:
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    named = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named}><tr>{titles}</tr>{lines}</table></div>'


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _writer(longest: float) -> Callable[[float], str]:
    """Return a function that formats seconds so that the `longest` has four digits."""
    places = 4 if longest <= 0 else min(9, max(4, 3 - math.floor(math.log10(longest))))
    return lambda seconds: f"{seconds:.{places}f}" if seconds < 1000 else f"{seconds:,.1f}"


def _cell(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    if isinstance(value, bool) or value is None:
        return "–" if value is None else str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
