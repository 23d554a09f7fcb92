"""`trajet rdf-pairs`."""

from typing import Literal

import click

import trajet
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance, same_units


def _check(*, value_range: tuple[float, float], **_: object) -> None:
    """Raise an error for an empty range."""
    if not 0 <= value_range[0] < value_range[1]:
        raise click.UsageError("--range must go from 0 or more up to a larger distance")


@analysis(
    click.option(
        "--pair",
        "pairs",
        required=True,
        multiple=True,
        nargs=2,
        metavar="SELECTION SELECTION",
        help="Two selections, in MDAnalysis' language. May be repeated.",
    ),
    click.option(
        "--by",
        type=click.Choice(["atom", "residue", "molecule", "chain"]),
        default="atom",
        show_default=True,
        help="Sites: atoms, or centres of residues, molecules or chains.",
    ),
    click.option(
        "--weights",
        type=click.Choice(["mass", "equal"]),
        default="mass",
        show_default=True,
        help="Weights of the atoms of a centre.",
    ),
    click.option(
        "--exclude",
        type=click.Choice(["residue", "molecule", "chain"]),
        help="Leave out pairs of sites of one residue, molecule or chain, not smaller than --by.",
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
    check=_check,
)
def rdf_pairs(
    job: AnalysisOptions,
    *,
    pairs: tuple[tuple[str, str], ...],
    by: Literal["atom", "residue", "molecule", "chain"],
    weights: str,
    exclude: Literal["residue", "molecule", "chain"] | None,
    bins: int,
    value_range: tuple[float, float],
) -> None:
    """Radial distribution functions of many pairs in one pass.

    Every frame needs a unit cell of any shape. Distances are those of nearest images. Pairs of a
    site with itself are not counted.

    \b
    Examples:
      trajet rdf-pairs top.tpr run.xtc --pair "name OW" "name OW" --pair "name OW" "name HW1 HW2" \\
          --exclude molecule --plot rdf.png
      trajet rdf-pairs top.tpr run.xtc --pair "resname POPC" "resname CHL1" --by residue -o rdf.csv
    """
    chosen = [(job.select(one), job.select(other)) for one, other in pairs]

    job.run(
        trajet.rdf_pairs.job(
            chosen,
            range=value_range,
            bins=bins,
            exclude=exclude,
            by=by,
            weights="mass" if weights == "mass" else "equal",
        ),
    )


COMMANDS = (rdf_pairs,)
