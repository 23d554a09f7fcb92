"""`trajet contact-map`."""

import click

import trajet
from trajet.cli.analyses.shared import (
    contact_cutoff_option,
    heavy_option,
    no_pbc_option,
    select_option,
    within_option,
)
from trajet.cli.analysis_options import AnalysisOptions, analysis


@analysis(
    select_option,
    within_option,
    contact_cutoff_option,
    click.option(
        "--by",
        type=click.Choice(["residue", "atom"]),
        default="residue",
        show_default=True,
        help="The rows and columns of the map.",
    ),
    heavy_option,
    click.option(
        "--exclude-neighbors",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        metavar="N",
        help="Leave out residues of a chain that are up to N residues apart.",
    ),
    no_pbc_option,
)
def contact_map(
    job: AnalysisOptions,
    *,
    select: str,
    to: str | None,
    cutoff: float,
    by: str,
    heavy: bool,
    exclude_neighbors: int,
    no_pbc: bool,
) -> None:
    """Fraction of frames in which residues are in contact.

    Two residues are in contact if any atom of one is within the cut-off of any atom of the other.

    \b
    Examples:
      trajet contact-map adk.psf adk.xtc --select protein --heavy --plot map.png
      trajet contact-map top.gro run.xtc --select "resid 1:99" --to "resid 100:198" -o map.csv
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    job.run(
        trajet.contact_map.job(
            selection,
            other,
            cutoff=cutoff,
            heavy_only=heavy,
            exclude_neighbors=exclude_neighbors,
            by="atom" if by == "atom" else "residue",
            pbc=not no_pbc,
        ),
    )


COMMANDS = (contact_map,)
