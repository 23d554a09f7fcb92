"""`trajet rdf`."""

import click

import trajet
from trajet.cli.analyses.shared import select_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance, same_units


def _check_rdf(*, value_range: tuple[float, float], **_: object) -> None:
    """Raise an error for an empty range."""
    if not 0 <= value_range[0] < value_range[1]:
        raise click.UsageError("--range must go from 0 or more up to a larger distance")


@analysis(
    select_option,
    click.option(
        "--to", metavar="SELECTION", help="The second group. Default: the atoms of --select."
    ),
    click.option(
        "--bins", type=click.IntRange(1, 10**6), default=75, show_default=True, metavar="N"
    ),
    click.option(
        "--range",
        "value_range",
        type=Distance(),
        nargs=2,
        callback=same_units,
        default=(0.0, 15.0),
        show_default=True,
        metavar="FROM TO",
        help="Distances, Å.",
    ),
    click.option(
        "--exclusion-block",
        type=click.IntRange(1),
        nargs=2,
        metavar="N M",
        help="Exclude pairs of the first N atoms of --select and the first M of --to, and so on:"
        " pairs within molecules. Pairs of an atom with itself are always excluded.",
    ),
    check=_check_rdf,
)
def rdf(
    job: AnalysisOptions,
    *,
    select: str,
    to: str | None,
    bins: int,
    value_range: tuple[float, float],
    exclusion_block: tuple[int, int] | None,
) -> None:
    """Radial distribution function of one or two groups.

    Every frame needs a unit cell of any shape. Distances are those of nearest images. Pairs of an
    atom with itself are not counted, and g is normalised by the number of pairs of different atoms.

    \b
    Examples:
      trajet rdf water.gro water.xtc --select "name OW" --plot rdf.png
      trajet rdf top.gro run.xtc --select "resname NA" --to "name OW" --range 0 10 -o rdf.csv
    """
    selection, other = job.select(select), None if to is None else job.select(to)

    job.run(
        trajet.rdf.job(
            selection,
            other,
            range=value_range,
            bins=bins,
            exclude=exclusion_block,
        ),
    )


COMMANDS = (rdf,)
