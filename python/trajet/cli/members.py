"""Results of the members of an ensemble: files, tables and errors of `trajet run`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from trajet import output
from trajet._trajet import AnalysisError
from trajet.cli.tables import lines_of, one_line
from trajet.result import Result

if TYPE_CHECKING:
    from trajet.result import EnsembleResult, ReplicaMeans

# Rows of a table of means, and remarks, that are printed.
_ROWS = 12
_MOST_NOTES = 5
_SUMMARY = ".summary.csv"


@dataclass(frozen=True)
class MembersChoice:
    """The members of a plan, and how they are run.

    Attributes
    ----------
    rows
        The members: a table, a pattern or dictionaries, as `trajet.ensemble` takes them.
    topology
        The topology of members that name none.
    keep_going
        Whether members that fail are left out.
    resume
        The folder of results that are used again.
    verify
        Whether all bytes of trajectories are compared with those of earlier runs.
    """

    rows: "str | Sequence[Mapping[str, object]]"
    topology: str | None = None
    keep_going: bool = False
    resume: Path | None = None
    verify: bool = False


@dataclass
class MembersOutput:
    """Files and tables for the results of an analysis of all members.

    Attributes
    ----------
    paths
        Paths of "output", "plot" and "report", or None.
    quiet, as_json
        Whether to print nothing, or JSON.
    documents
        The results as JSON, to which one is added.
    """

    paths: Mapping[str, Path | None]
    quiet: bool
    as_json: bool
    documents: list[Mapping[str, object]] = field(default_factory=list)

    def finish(self, result: "EnsembleResult[Result]") -> None:
        """Write the files of a result, then print the table of its means.

        Raises
        ------
        AnalysisError
            If all members failed.
        OutputError
            If a file cannot be written.
        """
        result.done()
        written: list[Path] = []
        notes: list[str] = []
        means: ReplicaMeans | None = None
        try:
            means = result.mean()
            notes += means.remarks
        except AnalysisError as error:
            notes.append(f"no mean over replicas: {one_line(error)}")
        if (path := self.paths.get("output")) is not None:
            result.save(path)
            written.append(path)
            if means is not None:
                summary = path.with_name(path.stem + _SUMMARY)
                means.save(summary)
                written.append(summary)
        if (path := self.paths.get("plot")) is not None:
            save_figure(result, path)
            written.append(path)
        if result.n_reused:
            notes.append(
                f"{result.n_reused} of {len(result)} results were computed before and used again"
            )
        if self.as_json:
            self.documents.append(_document(result, means, notes, written))
        elif not self.quiet:
            for line in _lines(result, means, notes):
                click.echo(line)
            for path in written:
                click.echo(path)


def check_outputs(paths: Mapping[str, Path | None], parts: Mapping[str, Path]) -> None:
    """Raise an error for outputs that results of several members do not have.

    Raises
    ------
    UsageError
        If there are some.
    """
    path = paths.get("output")
    if path is not None and path.suffix.lower() != ".csv":
        raise click.UsageError(f"{path}: the results of members are a table: name a .csv file")
    if paths.get("report") is not None:
        raise click.UsageError("report is of one trajectory: leave it out for members")
    if parts:
        raise click.UsageError("save is of one trajectory: leave it out for members")


def echo_failures(results: "Sequence[EnsembleResult[Result]]") -> bool:
    """Print one line for each member that failed; return whether there is one."""
    lines: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for one in result.failures:
            assert one.error is not None
            lines.setdefault((one.label, one_line(one.error)), []).append(result.name)
    for (label, error), names in lines.items():
        some = "" if len(names) == len(results) else f" ({', '.join(names)})".replace("_", "-")
        click.echo(f"trajet: member {label}{some}: {error}", err=True)
    return bool(lines)


def save_figure(result: "EnsembleResult[Result]", path: Path) -> None:
    """Draw the means of a result into a file."""
    figure = result.plot()
    suffix = path.suffix.lower().removeprefix(".")
    output.write(path, lambda file: figure.savefig(file, format=suffix))


def _lines(
    result: "EnsembleResult[Result]", means: "ReplicaMeans | None", notes: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a table."""
    failed = f", {len(result.failures)} failed" if result.failures else ""
    name = result.name.replace("_", "-")
    yield f"{name} of {len(result.outcomes)} members{failed}: mean and 95 % interval"
    if means is not None:
        heads = ("group", "replicas", "quantity", "mean", "±", "between/within")
        rows = [*_rows(means)]
        yield from lines_of([heads, *rows[:_ROWS]])
        if len(rows) > _ROWS:
            yield f"… and {len(rows) - _ROWS} more (-o FILE.csv writes all)"
    for note in notes[:_MOST_NOTES]:
        yield f"note: {note}"
    if len(notes) > _MOST_NOTES:
        yield f"… and {len(notes) - _MOST_NOTES} more notes"


def _rows(means: "ReplicaMeans") -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of means; those of atoms are summed up."""
    for group in means:
        quantities = group.axes["quantity"].astype(np.str_)
        for quantity in dict.fromkeys(quantities.tolist()):
            own = quantities == quantity
            halves, ratios = group.half_width[own], group.ratio[own]
            what = quantity if own.sum() == 1 else f"{quantity}, mean of {own.sum()} rows"
            yield (
                group.label,
                str(group.n_replicas),
                what,
                f"{group.mean[own].mean():.4g}",
                _number(halves[0]) if own.sum() == 1 else "-",
                _number(np.median(ratios)),
            )


def _number(value: "float | np.floating") -> str:
    return f"{value:.2g}" if np.isfinite(value) else "-"


def _document(
    result: "EnsembleResult[Result]",
    means: "ReplicaMeans | None",
    notes: Sequence[str],
    written: Sequence[Path],
) -> dict[str, object]:
    """Return the means of a result for JSON."""
    rows: list[dict[str, object]] = []
    for group in means or ():
        low, high = group.interval
        numbers = {"mean": group.mean, "low": low, "high": high, "ratio": group.ratio}
        lists = {name: one.tolist() for name, one in [*group.axes.items(), *numbers.items()]}
        for k in range(len(low)):
            row = {name: _plain(column[k]) for name, column in lists.items()}
            rows.append({**group.keys, "replicas": group.n_replicas, **row})
    return {
        "analysis": result.name,
        "members": len(result.outcomes),
        "failures": [
            {**one.keys, "error": one_line(one.error)}
            for one in result.failures
            if one.error is not None
        ],
        "means": rows,
        "remarks": list(notes),
        "outputs": list(map(str, written)),
    }


def _plain(value: object) -> object:
    """Return a value that JSON has: NaN is null."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
