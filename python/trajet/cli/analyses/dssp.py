"""`trajet dssp`."""

import click

import trajet
from trajet.cli.analyses.shared import head_of
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.tables import lines_of
from trajet.result import SecondaryStructure


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
        _table,
    )


def _table(result: SecondaryStructure) -> str:
    """Return a table with the share of each class."""
    content = result.content()
    rows: list[tuple[str, ...]] = [("class", "mean", "std", "min", "max", "last")]
    labels = map(" ".join, zip(content.letters, content.columns, strict=True))
    for label, column in zip(labels, content.values.T, strict=True):
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((label, *(f"{100 * number:.1f}" for number in numbers)))
    head = head_of(f"secondary structure (% of {len(result.columns)} residues)", result.report)
    return "\n".join([head, *lines_of(rows)])


COMMANDS = (dssp,)
