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
def advise(report: str, output: Path | None) -> None:
    """Say what bounded a run and what to try, by its report.

    REPORT.json is what --report wrote. Slow workers are named, with the stage in which they lost
    their time.

    \b
    Examples:
      trajet advise report.json
      trajet advise report.json -o report.html
    """
    kept = Report.load(report)
    if output is not None:
        kept.save(output)
    for line in kept["advice"]:
        click.echo(line)
    if output is not None:
        click.echo(output)


COMMANDS = (advise,)
