"""`trajet sasa`."""

import click

import trajet
from trajet.cli.analyses.shared import select_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance


@analysis(
    select_option,
    click.option(
        "--by",
        type=click.Choice(["total", "residue", "atom"]),
        default="total",
        show_default=True,
        help="The area of all selected atoms, of each residue, or of each atom.",
    ),
    click.option(
        "--context",
        metavar="SELECTION",
        help="Atoms that cover the selected ones. Default: only these cover each other.",
    ),
    click.option(
        "--probe",
        type=Distance(0),
        default=1.4,
        show_default=True,
        metavar="Å",
        help="Radius of the probe.",
    ),
    click.option(
        "--points",
        type=click.IntRange(1, 10**6),
        default=960,
        show_default=True,
        metavar="N",
        help="Points on the sphere of each atom.",
    ),
)
def sasa(
    job: AnalysisOptions,
    *,
    select: str,
    by: str,
    context: str | None,
    probe: float,
    points: int,
) -> None:
    """Solvent-accessible surface areas against time.

    Radii are those of Bondi by elements. Positions are used as stored: if molecules are broken over
    the box, make them whole with --make-whole.

    \b
    Examples:
      trajet sasa adk.psf adk.xtc --select protein -o sasa.csv --plot sasa.png
      trajet sasa adk.psf adk.xtc --select protein --by residue --plot residues.png
      trajet sasa top.gro run.xtc --select "resname LIG" --context protein
    """
    selection, around = job.select(select), None if context is None else job.select(context)
    job.run(
        trajet.sasa.job(
            selection,
            by=by,  # type: ignore[arg-type]  # click checks the words
            context=around,
            probe=probe,
            points=points,
        ),
    )


COMMANDS = (sasa,)
