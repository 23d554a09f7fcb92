"""Commands on saved reports: `trajet advise`."""

from collections.abc import Iterator
from pathlib import Path

import click

from trajet.advise import Allocation, Prediction
from trajet.advise.words import in_seconds
from trajet.cli.command import command
from trajet.cli.options import path_to, whole_numbers
from trajet.cli.results import echo_json, json_option
from trajet.cli.translation import as_options
from trajet.quoting import lines_of
from trajet.result import Report, entries_of

_COLUMNS = ("pool", "files", "workers", "time", "from", "to", "S", "E", "limit")


@command()
@click.argument("report", metavar="REPORT.json")
@click.option(
    "-o",
    "--output",
    callback=path_to((".html",)),
    metavar="FILE",
    help="A page with figures: .html",
)
@click.option(
    "--ranks",
    callback=whole_numbers,
    metavar="24,96,384",
    help="Predict the time on so many ranks, processes or threads, and say what to ask for.",
)
@click.option(
    "--storage",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Storage and cluster for --ranks: .toml, such as `trajet bench storage` writes.",
)
@json_option
@click.option("--verbose", "-v", is_flag=True, help="Add advice of papers on runs on clusters.")
def advise(
    report: str,
    output: Path | None,
    ranks: tuple[int, ...] | None,
    storage: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Give advice on a run by its report.

    REPORT.json is a file that --report wrote. The first line is plain advice. Further lines name
    the stage that bounded the run, slow workers with the stage in which they lost most time, and
    other observations.

    With --ranks the first line says how many ranks to ask for, how long the analysis will take on
    them, and why not more; a table follows: seconds with the range that stragglers cause, speed-up
    S over one thread, and efficiency E = S / workers. docs/scaling.md describes the model.

    \b
    Examples:
      trajet advise report.json
      trajet advise report.json --verbose
      trajet advise report.json -o report.html
      trajet advise report.json --ranks 24,96,384 --storage lustre.toml
    """
    if storage is not None and ranks is None:
        raise click.UsageError("--storage describes where --ranks would read: give both")
    loaded = Report.load(report)
    allocation = None if ranks is None else loaded.scaling(ranks, storage)
    if output is not None:
        loaded.save(output)
    if as_json:
        names = (
            "analysis",
            "scalars",
            "stages",
            "advice",
            "heuristics",
            "warnings",
            "notes",
            "inputs",
        )
        found = {name: loaded[name] for name in names if name in loaded}
        if allocation is not None:
            found["scaling"] = {"advice": [*allocation.sentences], "rows": allocation.rows()}
        echo_json(found | ({} if output is None else {"outputs": [str(output)]}))
        return
    entries = entries_of(loaded)
    lines = [*entries["advice"], *(entries.get("heuristics", ()) if verbose else ())]
    table: list[str] = []
    if allocation is not None:
        rows = [_cells(allocation, one) for one in allocation.predictions]
        lines, table = [*allocation.sentences], lines_of([_COLUMNS, *rows])
    commands = _commands(entries["analysis"])
    for line in (*(as_options(line, *commands) for line in lines), *table):
        click.echo(line)
    if output is not None:
        click.echo(output)


def _commands(analysis: str) -> Iterator[click.Command]:
    """Yield the commands whose options advice names: this one, and that of the analysis."""
    ctx = click.get_current_context()
    yield ctx.command
    group, name = ctx.find_root().command, analysis.replace("_", "-")
    if isinstance(group, click.Group) and name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        yield command


def _cells(allocation: Allocation, one: Prediction) -> tuple[str, ...]:
    """Return the cells of a line of the table of predictions."""
    setup, gain = one.setup, allocation.speed_up(one)
    times = map(in_seconds, (one.seconds, one.fastest, one.slowest))
    ratios = (f"{gain:.3g}", f"{gain / setup.workers:.3g}")
    return (setup.way, setup.layout, str(setup.workers), *times, *ratios, one.limit)


COMMANDS = (advise,)
