"""`trajet native-contacts`."""

from typing import Literal, cast

import click

import trajet
from trajet.cli.analyses.shared import (
    contact_cutoff_option,
    no_pbc_option,
    reference_of,
    select_option,
    within_option,
)
from trajet.cli.analysis_options import AnalysisOptions, analysis


@analysis(
    select_option,
    within_option,
    click.option(
        "--reference",
        default="0",
        show_default=True,
        metavar="FRAME|FILE",
        help="A frame of the trajectory, or a structure file.",
    ),
    contact_cutoff_option,
    click.option(
        "--method",
        type=click.Choice(["soft", "hard", "radius"]),
        default="soft",
        show_default=True,
        help="soft: Best, Hummer and Eaton; hard: distances up to FACTOR times those of the"
        " reference; radius: up to FACTOR times the cut-off.",
    ),
    click.option(
        "--factor",
        type=click.FloatRange(0, min_open=True),
        metavar="FACTOR",
        help="Default: soft 1.8, hard 1.2, radius 1.",
    ),
    click.option(
        "--beta",
        type=click.FloatRange(0, min_open=True),
        default=5.0,
        show_default=True,
        metavar="1/Å",
        help="Steepness of the soft cut-off.",
    ),
    click.option(
        "--heavy/--all-atoms",
        default=None,
        help="Leave out hydrogens. Default: where residues have several selected atoms.",
    ),
    click.option(
        "--exclude-neighbors",
        type=click.IntRange(-1),
        metavar="N",
        help="Leave out pairs of residues of a chain that are up to N residues apart; -1 for none."
        " Default: 3 where residues have several selected atoms, else -1.",
    ),
    no_pbc_option,
)
def native_contacts(
    job: AnalysisOptions,
    *,
    select: str,
    to: str | None,
    reference: str,
    cutoff: float,
    method: str,
    factor: float | None,
    beta: float,
    heavy: bool | None,
    exclude_neighbors: int | None,
    no_pbc: bool,
) -> None:
    """Compute the fraction Q of native contacts against time.

    Native contacts are the pairs of atoms within the cut-off in the reference: of heavy atoms whose
    residues are more than three apart, as by Best, Hummer and Eaton, or of all atoms where each
    residue has one selected atom, such as its CA.

    \b
    Examples:
      trajet native-contacts adk.psf adk.xtc --select protein
      trajet native-contacts top.gro run.xtc --select "name CA" --cutoff 8 --method hard \\
          --reference crystal.pdb -o q.csv --plot q.png
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    job.run(
        trajet.native_contacts.job(
            selection,
            other,
            reference=reference_of(reference),
            cutoff=cutoff,
            method=cast('Literal["soft", "hard", "radius"]', method),
            factor=factor,
            beta=beta,
            heavy_only=heavy,
            exclude_neighbors=exclude_neighbors,
            pbc=not no_pbc,
        ),
    )


COMMANDS = (native_contacts,)
