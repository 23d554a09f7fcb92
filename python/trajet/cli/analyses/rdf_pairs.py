"""`trajet rdf-pairs`."""

from typing import Literal

import click
import numpy as np

import trajet
from trajet.cli.analyses.shared import LINES, cut, head_of, left_out
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance, same_units
from trajet.cli.tables import lines_of
from trajet.result import RadialDistributions


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

    def table(result: RadialDistributions) -> str:
        rows: list[tuple[str, ...]] = [("groups", "pairs counted", "highest g", "at r (Å)")]
        for name, g, counts in list(zip(result.names(), result.g, result.counts, strict=True))[
            :LINES
        ]:
            most = int(np.argmax(g))
            numbers = (f"{g[most]:.3f}", f"{result.r[most]:.3f}")
            rows.append((cut(name), str(int(counts.sum())), *numbers))
        head = head_of(f"{len(result.g)} RDFs", result.report)
        return "\n".join([head, *lines_of(rows), *left_out(len(result.g))])

    job.run(
        trajet.rdf_pairs.job(
            chosen,
            by=by,
            weights="mass" if weights == "mass" else None,
            exclude=exclude,
            bins=bins,
            range=value_range,
        ),
        table,
    )


COMMANDS = (rdf_pairs,)
