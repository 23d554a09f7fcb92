"""Results on the terminal: tables for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence

import click

from trajet import advise, startup
from trajet.cli.tables import wrapped
from trajet.result import Report, Table, entries_of
from trajet.result.summary import MAX_ROWS

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print numbers, messages and inputs as JSON."
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


def table_of(result: Table, *, is_alone: bool = True, is_verbose: bool = False) -> list[str]:
    """Return the lines of a result's table.

    Parameters
    ----------
    result
        The result.
    is_alone
        Whether its run had no other analysis: the first line has the time.
    is_verbose
        Whether lines say how the errors of means were estimated.
    """
    summary = result.summary(MAX_ROWS)
    texts = [*summary.lines, *(summary.verbose if is_verbose else ())]
    all_rows = "-o FILE" if result.TABLE_PART is None else f"--save {result.TABLE_PART}=FILE"
    return [
        head_of(summary.title, result.report, is_alone=is_alone),
        *(line for text in texts for line in wrapped(text)),
        *summary.table_lines(f" ({all_rows} writes all)"),
    ]


def head_of(what: str, report: Report, *, is_alone: bool) -> str:
    """Return the first line of a table: its quantity, and the whole wait with its steps.

    Of several analyses of one run, none has a time of its own.
    """
    entries = entries_of(report)
    n_frames = entries["parameters"]["n_frames"]
    head = f"{what} of {n_frames} frame{'' if n_frames == 1 else 's'}"
    if not is_alone:
        return head
    return f"{head} in {advise.words_of_wait(entries, startup.process_seconds())}"
