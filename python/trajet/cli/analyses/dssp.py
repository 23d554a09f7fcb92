"""`trajet dssp`."""

import click

import trajet
from trajet.cli.analysis_options import AnalysisOptions, analysis


@analysis(
    click.option(
        "--select",
        default="protein",
        show_default=True,
        metavar="SELECTION",
        help="Atoms of the residues, in MDAnalysis' language.",
    ),
    click.option(
        "--simplified", is_flag=True, help="Three classes: helix, strand and coil, not eight."
    ),
)
def dssp(job: AnalysisOptions, *, select: str, simplified: bool) -> None:
    """Secondary structure of each residue against time (DSSP).

    Positions are used as stored: if molecules are broken over the box, make them whole with
    --make-whole.

    \b
    Examples:
      trajet dssp adk.psf adk.xtc --plot dssp.png
      trajet dssp top.gro run.xtc --select "protein and resid 1:100" --simplified -o dssp.csv
    """
    selection = job.select(select)
    job.run(
        trajet.dssp.job(
            selection,
            simplified=simplified,
        ),
    )


COMMANDS = (dssp,)
