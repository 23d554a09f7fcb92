"""Results on the terminal: tables for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence

import click

from trajet import advise, startup
from trajet.cli.tables import lines_of
from trajet.result import Report, Table, entries_of

# Tables cut longer labels, and leave out further rows.
_LABEL = 40
_ROWS = 12

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print numbers, remarks and inputs as JSON."
)


def check_json(*, as_json: bool, quiet: bool) -> None:
    """Raise an error if JSON is to be printed and nothing is to be printed.

    Raises
    ------
    UsageError
        If both are asked for.
    """
    if as_json and quiet:
        raise click.UsageError("--json prints a result and --quiet prints nothing: choose one")


def echo_json(value: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
    """Print a document, or a list of documents, with one entry a line."""
    if isinstance(value, Mapping):
        click.echo(_object(value))
    else:
        click.echo("[" + ",\n".join(map(_object, value)) + "]")


def _object(entries: Mapping[str, object]) -> str:
    lines = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in entries.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def table_of(result: Table, after: Mapping[str, float]) -> list[str]:
    """Return the lines of a result's table.

    Parameters
    ----------
    result
        The result.
    after
        Seconds of the steps after the run, such as drawing, by their names.
    """
    summary = result.summary(_ROWS)
    lines = [head_of(summary.title, result.report, after), *summary.lines]
    if not summary.columns:
        return lines
    first, *others = (column.texts() for column in summary.columns)
    rows = zip(map(_cut, first), *others, strict=True)
    lines += lines_of([tuple(column.name for column in summary.columns), *rows])
    if (more := summary.count - len(first)) > 0:
        all_rows = "-o FILE" if result.TABLE_PART is None else f"--save {result.TABLE_PART}=FILE"
        lines.append(f"… and {more} more ({all_rows} writes all)")
    return lines


def _cut(label: str) -> str:
    """Return a label, cut to the width of a column."""
    return label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"


def head_of(what: str, report: Report, after: Mapping[str, float]) -> str:
    """Return the first line of a table: its quantity, and the whole wait with its steps."""
    entries = entries_of(report)
    n_frames = entries["parameters"]["n_frames"]
    wait = advise.words_of_wait(entries, startup.process_seconds(), after)
    return f"{what} of {n_frames} frame{'' if n_frames == 1 else 's'} in {wait}"
