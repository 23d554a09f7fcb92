"""`trajet sasa`."""

import click

import trajet
from trajet.cli.analyses.shared import LINES, cut, head_of, left_out, select_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.quantities import Distance
from trajet.cli.tables import lines_of
from trajet.result import SurfaceAreas


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
        _table,
    )


def _table(result: SurfaceAreas) -> str:
    """Return a table with mean, spread and extremes of the total, or of each residue or atom."""
    values = result.values.reshape(len(result.frames), -1)
    rows: list[tuple[str, ...]] = [(result.by, "mean", "std", "min", "max", "last")]
    named = [*zip(result.columns, values.T, strict=True)]
    if result.by != "total":
        named.insert(0, (f"all of {result.label}", values.sum(axis=1)))
    for label, column in named[: LINES + 1]:
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((cut(label), *(f"{number:.1f}" for number in numbers)))
    lines = [head_of(f"{result.name} ({result.units})", result.report), *lines_of(rows)]
    return "\n".join([*lines, *left_out(len(result.columns))])


COMMANDS = (sasa,)
