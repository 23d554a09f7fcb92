"""`trajet linear-density`."""

from typing import Literal

import click

import trajet
from trajet.cli.analysis_options import AnalysisOptions, analysis


@analysis(
    click.option(
        "--select",
        required=True,
        multiple=True,
        metavar="SELECTION",
        help="Atoms, in MDAnalysis' language. May be repeated: one profile for each.",
    ),
    click.option(
        "--axis",
        type=click.Choice(["x", "y", "z"]),
        default="z",
        show_default=True,
        help="Axis of the cell along which slices lie.",
    ),
    click.option(
        "--quantity",
        type=click.Choice(["mass", "number", "charge"]),
        default="mass",
        show_default=True,
        help="Density of mass (g/cm³), of numbers (1/Å³) or of charge (e/Å³).",
    ),
    click.option(
        "--bins", type=click.IntRange(1, 10**6), default=100, show_default=True, metavar="N"
    ),
)
def linear_density(
    job: AnalysisOptions,
    *,
    select: tuple[str, ...],
    axis: Literal["x", "y", "z"],
    quantity: Literal["number", "mass", "charge"],
    bins: int,
) -> None:
    """Density profile along an axis of the cell.

    Every frame needs a unit cell. Atoms are wrapped into it. In a triclinic cell, slices of
    --axis x and y follow one another along the normal of a face of the cell. To have a membrane in
    the middle, put its centre there first, with --center-on.

    \b
    Examples:
      trajet linear-density top.tpr run.xtc --select "resname POPC" --select "resname SOL" \\
          --center-on "resname POPC" --plot profile.png
      trajet linear-density top.tpr run.xtc --select all --quantity charge -o charge.csv
    """
    groups = [job.select(text) for text in select]

    job.run(
        trajet.linear_density.job(
            groups,
            axis=axis,
            bins=bins,
            quantity=quantity,
        ),
    )


COMMANDS = (linear_density,)
