"""Commands on reports that were kept: `trajet advise`."""

from pathlib import Path

import click

from trajet.cli.options import path_to
from trajet.result import Report


@click.command()
@click.argument("report", metavar="REPORT.json")
@click.option(
    "-o",
    "--output",
    callback=path_to((".html",)),
    metavar="FILE",
    help="A page with figures: .html",
)
@click.option("--verbose", "-v", is_flag=True, help="Add what papers say of such runs on clusters.")
def advise(report: str, output: Path | None, verbose: bool) -> None:
    """Say what to do about a run and what bounded it, by its report.

    REPORT.json is what --report wrote. The first line is plain advice; then come the stage that
    took most, slow workers with the stage in which they lost their time, and what else was
    remarkable.

    \b
    Examples:
      trajet advise report.json
      trajet advise report.json --verbose
      trajet advise report.json -o report.html
    """
    kept = Report.load(report)
    if output is not None:
        kept.save(output)
    for line in kept["advice"]:
        click.echo(line)
    if verbose:
        for line in kept.get("heuristics", ()):
            click.echo(line)
    if output is not None:
        click.echo(output)


COMMANDS = (advise,)
