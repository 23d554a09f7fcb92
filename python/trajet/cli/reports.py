"""Commands on saved reports: `trajet advise`."""

from pathlib import Path

import click

from trajet.cli.command import command
from trajet.cli.options import path_to
from trajet.cli.results import echo_json, json_option
from trajet.result import Report, entries_of


@command()
@click.argument("report", metavar="REPORT.json")
@click.option(
    "-o",
    "--output",
    callback=path_to((".html",)),
    metavar="FILE",
    help="A page with figures: .html",
)
@json_option
@click.option("--verbose", "-v", is_flag=True, help="Add advice of papers on runs on clusters.")
def advise(report: str, output: Path | None, as_json: bool, verbose: bool) -> None:
    """Give advice on a run by its report.

    REPORT.json is a file that --report wrote. The first line is plain advice. Further lines name
    the stage that bounded the run, slow workers with the stage in which they lost most time, and
    other observations.

    \b
    Examples:
      trajet advise report.json
      trajet advise report.json --verbose
      trajet advise report.json -o report.html
    """
    loaded = Report.load(report)
    if output is not None:
        loaded.save(output)
    if as_json:
        names = ("analysis", "scalars", "stages", "advice", "heuristics", "remarks", "inputs")
        found = {name: loaded[name] for name in names if name in loaded}
        echo_json(found | ({} if output is None else {"outputs": [str(output)]}))
        return
    entries = entries_of(loaded)
    for line in entries["advice"]:
        click.echo(line)
    if verbose:
        for line in entries.get("heuristics", ()):
            click.echo(line)
    if output is not None:
        click.echo(output)


COMMANDS = (advise,)
