"""`trajet density`."""

from pathlib import Path
from typing import Literal

import click

import trajet
from trajet.cli.analyses.shared import select_option, updating_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import path_to
from trajet.cli.quantities import Distance, same_units
from trajet.result import Density


@analysis(
    select_option,
    updating_option,
    click.option(
        "--spacing",
        type=Distance(positive=True),
        default=1.0,
        show_default=True,
        metavar="Å",
        help="Edge of a voxel.",
    ),
    click.option(
        "--center",
        type=Distance(),
        nargs=3,
        callback=same_units,
        metavar="X Y Z",
        help="Centre of the grid, Å. Default: the middle of the atoms in the first frame.",
    ),
    click.option(
        "--size",
        type=Distance(positive=True),
        nargs=3,
        callback=same_units,
        metavar="X Y Z",
        help="Edges of the grid, Å. Default: the extent of the atoms in the first frame, and"
        " --padding on each side.",
    ),
    click.option(
        "--padding",
        type=Distance(0),
        default=2.0,
        show_default=True,
        metavar="Å",
        help="Space around the atoms, without --size.",
    ),
    click.option(
        "--quantity",
        type=click.Choice(["number", "mass", "charge"]),
        default="number",
        show_default=True,
        help="Density of numbers (1/Å³), of mass (g/cm³) or of charge (e/Å³).",
    ),
    click.option(
        "--dx", callback=path_to((".dx",)), metavar="FILE", help="OpenDX, for VMD and PyMOL: .dx"
    ),
)
def density(
    job: AnalysisOptions,
    *,
    select: str,
    updating: bool,
    spacing: float,
    center: tuple[float, float, float] | None,
    size: tuple[float, float, float] | None,
    padding: float,
    quantity: Literal["number", "mass", "charge"],
    dx: Path | None,
) -> None:
    """Mean density of atoms on a grid of cubic voxels.

    Positions are used as stored. Repair and fit the trajectory first, so that the grid stays with
    the molecule of interest: --make-whole, --center-on, --wrap, --fit.

    \b
    Examples:
      trajet density top.tpr run.xtc --select "name OW" --make-whole --center-on protein --wrap \\
          --fit "name CA" --dx water.dx
      trajet density adk.psf adk.xtc --select protein --spacing 2 --plot density.png -o density.npz
    """
    selection = job.select_in(select, updating=updating)

    def write(result: Density) -> list[Path]:
        if dx is None:
            return []
        result.save(dx)
        return [dx]

    job.run(
        trajet.density.job(
            selection,
            spacing=spacing,
            grid_center=center,
            grid_size=size,
            padding=padding,
            quantity=quantity,
        ),
        write=write,
    )


COMMANDS = (density,)
