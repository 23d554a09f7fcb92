"""Results of the members of an ensemble: files, tables and errors of `trajet run`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from trajet._trajet import AnalysisError
from trajet.cli.figures import FigureOptions
from trajet.cli.tables import one_line
from trajet.cli.translation import as_options, error_line
from trajet.messages import Code, Message, as_entries
from trajet.natural_order import natural
from trajet.quoting import lines_of, quoted
from trajet.result import Table

if TYPE_CHECKING:
    from trajet.members import Ensemble
    from trajet.result import EnsembleResult, ReplicaDifference, ReplicaMeans
    from trajet.result.member_outcome import Key

# Rows of a table of means, and messages, that are printed.
_ROWS = 12
_MAX_NOTES = 5
_SUMMARY = ".summary"
_DIFFERENCE = ".difference"


@dataclass(frozen=True)
class Groups:
    """Two groups of members that are compared: the second minus the first.

    Attributes
    ----------
    by
        The key whose values name the groups.
    first, second
        The values of both groups.
    """

    by: str
    first: "Key"
    second: "Key"


def groups_of(ensemble: "Ensemble", values: "tuple[Key, Key]") -> Groups:
    """Return the groups that have two values of a key.

    Raises
    ------
    UsageError
        If no key, or several, have both values.
    """
    texts = list(map(str, values))
    found = []
    for name in ensemble.keys:
        known = {str(member.keys[name]): member.keys[name] for member in ensemble}
        if name != "replica" and all(text in known for text in texts):
            found.append(Groups(name, known[texts[0]], known[texts[1]]))
    if len(found) == 1:
        return found[0]
    asked = f"difference = [{quoted(texts[0])}, {quoted(texts[1])}]"
    if found:
        names = " and ".join(one.by for one in found)
        raise click.UsageError(f"{asked}: {names} have both values: rename those of one key")
    known_keys = {name: {str(member.keys[name]) for member in ensemble} for name in ensemble.keys}
    texts_of_keys = (
        f"{name} has {', '.join(sorted(known_keys[name], key=natural)[:_MAX_NOTES])}"
        for name in ensemble.keys
        if name != "replica"
    )
    raise click.UsageError(
        f"{asked}: no key has both values; {'; '.join(texts_of_keys) or 'replica is the only key'}"
    )


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
    difference
        Values of a key whose groups are compared; None for no comparison.
    """

    rows: "str | Sequence[Mapping[str, object]]"
    topology: str | None = None
    keep_going: bool = False
    resume: Path | None = None
    verify: bool = False
    difference: "tuple[Key, Key] | None" = None


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
    figure
        Title, size and resolution of figures.
    """

    paths: Mapping[str, Path | None]
    quiet: bool
    as_json: bool
    documents: list[Mapping[str, object]] = field(default_factory=list)
    figure: FigureOptions = field(default_factory=FigureOptions)

    def finish(self, result: "EnsembleResult[Table]", groups: Groups | None = None) -> None:
        """Write the files of a result, then print the table of its means.

        Parameters
        ----------
        result
            The result.
        groups
            Groups that are compared, or None.

        Raises
        ------
        AnalysisError
            If all members failed.
        OutputError
            If a file cannot be written.
        """
        result.done()
        notes: list[Message] = []
        means: ReplicaMeans | None = None
        change, sentences = None, list[str]()
        try:
            means = result.mean()
            notes += means.messages
            if groups is not None:
                change, sentences = _difference(result, groups, notes)
        except AnalysisError as error:
            notes.append(Message(Code.NO_NUMBERS, f"no mean over replicas: {one_line(error)}"))
        written = self._write(result, means, change)
        if result.n_reused:
            text = f"{result.n_reused} of {len(result)} results were computed before and used again"
            notes.append(Message(Code.USED_AGAIN, text))
        if self.as_json:
            of_change = {} if change is None else {"difference": _rows_of_difference(change)}
            self.documents.append(
                _document(result, means, notes, written) | of_change | {"sentences": sentences}
            )
        elif not self.quiet:
            for line in _lines(result, means, sentences, notes):
                click.echo(line)
            for path in written:
                click.echo(path)

    def _write(
        self,
        result: "EnsembleResult[Table]",
        means: "ReplicaMeans | None",
        change: "ReplicaDifference | None",
    ) -> list[Path]:
        """Write the files of a result, and return their paths."""
        written: list[Path] = []

        def beside(path: Path, ending: str) -> Path:
            written.append(path.with_name(path.stem + ending + path.suffix))
            return written[-1]

        if (path := self.paths.get("output")) is not None:
            result.save(beside(path, ""))
            for table, ending in ((means, _SUMMARY), (change, _DIFFERENCE)):
                if table is not None:
                    table.save(beside(path, ending))
        if (path := self.paths.get("plot")) is not None:
            self.figure.save(result, beside(path, ""))
            if change is not None:
                self.figure.save(change, beside(path, _DIFFERENCE))
        return written


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


def echo_failures(results: "Sequence[EnsembleResult[Table]]") -> bool:
    """Print one line for each member that failed; return whether there is one."""
    lines: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for one in result.failures:
            assert one.error is not None
            lines.setdefault((one.label, error_line(one.error)), []).append(result.name)
    for (label, error), names in lines.items():
        some = "" if len(names) == len(results) else f" ({', '.join(names)})".replace("_", "-")
        click.echo(f"trajet: member {label}{some}: {error}", err=True)
    return bool(lines)


def _lines(
    result: "EnsembleResult[Table]",
    means: "ReplicaMeans | None",
    sentences: Sequence[str],
    notes: Sequence[Message],
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
    yield from sentences[:_MAX_NOTES]
    for note in notes[:_MAX_NOTES]:
        yield f"note: {as_options(note)}"
    if len(notes) > _MAX_NOTES:
        yield f"… and {len(notes) - _MAX_NOTES} more notes"


def _rows(means: "ReplicaMeans") -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of means; those of atoms are summed up."""
    for group in means:
        quantities = group.axes["quantity"].astype(np.str_)
        for quantity in dict.fromkeys(quantities.tolist()):
            own = quantities == quantity
            n_rows = int(own.sum())
            members = group.members[:, own].mean(axis=1, keepdims=True)
            over = replace(group, members=members)
            yield (
                group.label,
                str(group.n_replicas),
                quantity if n_rows == 1 else f"{quantity}, mean of {n_rows} rows",
                f"{over.mean[0]:.4g}",
                _number(over.half_width[0]),
                _number(np.median(group.ratio[own])),
            )


def _number(value: "float | np.floating") -> str:
    return f"{value:.2g}" if np.isfinite(value) else "-"


def _document(
    result: "EnsembleResult[Table]",
    means: "ReplicaMeans | None",
    notes: Sequence[Message],
    written: Sequence[Path],
) -> dict[str, object]:
    """Return the means of a result for JSON."""
    rows: list[dict[str, object]] = []
    for group in means or ():
        low, high = group.interval
        numbers = {
            "mean": group.mean,
            "low": low,
            "high": high,
            "standard_error": group.standard_error,
            "within": group.within,
            "ratio": group.ratio,
        }
        lists = {name: one.tolist() for name, one in [*group.axes.items(), *numbers.items()]}
        keys = _named_apart(group.keys, ("replicas", *lists))
        for k in range(len(low)):
            row = {name: _plain(column[k]) for name, column in lists.items()}
            rows.append({**keys, "replicas": group.n_replicas, **row})
    return {
        "analysis": result.name,
        "members": len(result.outcomes),
        "failures": [
            {**_named_apart(one.keys, ("error",)), "error": one_line(one.error)}
            for one in result.failures
            if one.error is not None
        ],
        "means": rows,
        **as_entries(notes),
        "outputs": list(map(str, written)),
    }


def _named_apart(keys: "Mapping[str, Key]", others: Sequence[str]) -> "dict[str, Key]":
    """Return keys whose names differ from other ones, as in tables."""
    from trajet.result.member_outcome import key_columns

    return dict(zip(key_columns(tuple(keys), others), keys.values(), strict=True))


def _difference(
    result: "EnsembleResult[Table]", groups: Groups, notes: list[Message]
) -> "tuple[ReplicaDifference | None, list[str]]":
    """Return the difference of two groups with sentences; if there is none, a note says why.

    Of many rows, there are sentences on how many differ, and on the difference of their means.
    """
    first, second = groups.first, groups.second
    try:
        means = result.mean(groups.by)
        change = means.difference(first, second)
    except (AnalysisError, KeyError) as error:
        text = f"no difference of {second} and {first}: {one_line(error)}"
        notes.append(Message(Code.NO_NUMBERS, text))
        return None, []
    notes += [message for message in change.messages if message not in notes]
    sentences = change.sentences()
    if len(set(change.axes["quantity"].tolist())) < len(change.difference):
        sentences += means.over().difference(first, second).sentences()
    return change, sentences


def _rows_of_difference(change: "ReplicaDifference") -> list[dict[str, object]]:
    """Return the rows of a difference for JSON."""
    columns = {name: column.tolist() for name, column in change._columns().items()}
    return [
        {name: _plain(column[k]) for name, column in columns.items()}
        for k in range(len(change.difference))
    ]


def _plain(value: object) -> object:
    """Return a value that JSON has: NaN is null."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
