"""`trajet min-distance`."""

import click

import trajet
from trajet.cli.analyses.shared import (
    no_pbc_option,
    select_option,
    within_option,
)
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance


@analysis(
    select_option,
    within_option,
    click.option(
        "--cutoff",
        type=Distance(positive=True),
        metavar="Å",
        help="Also count pairs up to this distance; they are in the output file.",
    ),
    no_pbc_option,
)
def min_distance(
    job: AnalysisOptions, *, select: str, to: str | None, cutoff: float | None, no_pbc: bool
) -> None:
    """Minimum distance of two groups against time.

    Distances are those of nearest images in cells of any shape. The output file names the nearest
    pair of atoms in each frame.

    \b
    Examples:
      trajet min-distance adk.psf adk.xtc --select "resid 30:59" --to "resid 122:159" -o near.csv
      trajet min-distance top.gro run.xtc --select protein --to "resname LIG" --cutoff 6
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    job.run(
        trajet.min_distance.job(
            selection,
            other,
            cutoff=cutoff,
            pbc=not no_pbc,
        ),
    )


COMMANDS = (min_distance,)
