"""Options and tables that commands of analyses share."""

import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from trajet import advise
from trajet.cli.quantities import Distance
from trajet.cli.tables import lines_of
from trajet.result import Report, Series, entries_of

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# Tables cut longer labels, and leave out further lines.
_LABEL = 40
LINES = 12

select_option = click.option(
    "--select", required=True, metavar="SELECTION", help="Atoms, in MDAnalysis' language."
)
no_pbc_option = click.option(
    "--no-pbc", is_flag=True, help="Use positions as stored instead of nearest images."
)
within_option = click.option(
    "--to", metavar="SELECTION", help="The second group. Default: pairs within --select."
)
contact_cutoff_option = click.option(
    "--cutoff",
    type=Distance(positive=True),
    default=4.5,
    show_default=True,
    metavar="Å",
    help="The largest distance of a contact.",
)
updating_option = click.option(
    "--updating", is_flag=True, help="Evaluate selections in each frame, not only on frame 0."
)
heavy_option = click.option("--heavy", is_flag=True, help="Leave out hydrogens.")


def weights_option(name: str, what: str) -> Callable[[Decorated], Decorated]:
    """Return the option for weights that are equal unless masses are asked for."""
    return click.option(
        name,
        type=click.Choice(["mass", "equal"]),
        callback=lambda context, option, value: None if value == "equal" else value,
        help=what,
    )


def reference_of(text: str, *words: str) -> int | str:
    """Return the reference that an option gives: a frame number, a file, or one of the words.

    Raises
    ------
    FileNotFoundError
        If it is none of these.
    """
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text not in words and not os.path.lexists(text):
        also = "".join(f", nor {word}" for word in words)
        raise FileNotFoundError(f"{text}: not a frame number{also}, and there is no such file")
    return text


def series_table(result: Series) -> str:
    """Return a table with mean, spread and extremes of each series."""
    rows: list[tuple[str, ...]] = [("selection", "mean", "std", "min", "max", "last")]
    values = result.values.reshape(len(result.frames), -1)
    for label, column in zip(result.columns[:LINES], values.T, strict=False):
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((cut(label), *(f"{number:.3f}" for number in numbers)))
    head = head_of(result.quantity, result.report)
    return "\n".join([head, *lines_of(rows), *left_out(len(result.columns))])


def left_out(count: int) -> list[str]:
    """Return a line with the number of rows that a table leaves out, if any."""
    return [] if count <= LINES else [f"… and {count - LINES} more (-o FILE writes all)"]


def cut(label: str) -> str:
    """Return a label, cut to the width of a column."""
    return label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"


def head_of(what: str, report: Report) -> str:
    """Return the first line of a table: its quantity, and the time of the run."""
    n_frames = report["parameters"]["n_frames"]
    head = f"{what} of {n_frames} frame{'' if n_frames == 1 else 's'}"
    seconds, threads = report["stages"]["t_total"], report["threads"]
    if seconds > 0:
        head += f" in {seconds:.3g} s on {threads} thread{'s' if threads > 1 else ''}"
    before = advise.before_run(entries_of(report))
    return f"{head}; {before}" if before else head
