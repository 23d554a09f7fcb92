"""`trajet rmsf`."""

import click
import numpy as np

import trajet
from trajet.cli.analyses.shared import cut, head_of, reference_of, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.tables import lines_of
from trajet.result import AtomValues


def _check_rmsf(
    *, align: str | None, reference: str | None, weights: str | None, **_: object
) -> None:
    """Raise an error for options of a superposition without one."""
    if align is None and (reference is not None or weights is not None):
        raise click.UsageError("--reference and --weights need --align")


@analysis(
    click.option(
        "--select", required=True, metavar="SELECTION", help="Atoms whose fluctuation to compute."
    ),
    click.option(
        "--align",
        metavar="SELECTION",
        help="Atoms by which to superpose each frame first. Default: positions as stored.",
    ),
    click.option(
        "--reference",
        metavar="FRAME|FILE|average",
        help="Reference for --align: a frame (default: 0), a structure file, or the average"
        " structure.",
    ),
    weights_option("--weights", "Weights of --align. Default: equal."),
    check=_check_rmsf,
)
def rmsf(
    job: AnalysisOptions,
    *,
    select: str,
    align: str | None,
    reference: str | None,
    weights: str | None,
) -> None:
    """RMSF of each atom about its mean position.

    Without --align, positions are used as stored: rotation of the whole molecule counts as
    fluctuation unless the file is aligned already.

    \b
    Examples:
      trajet rmsf adk.psf adk.xtc --select "name CA" --align "name CA" --reference average
      trajet rmsf top.gro run.xtc --select "name CA" --align backbone -o rmsf.csv --plot rmsf.png
    """
    selection, onto = job.select(select), None if align is None else job.select(align)

    def table(result: AtomValues) -> str:
        rows: list[tuple[str, ...]] = [("selection", "atoms", "mean", "min", "max", "atom of max")]
        values, most = result.values, int(np.argmax(result.values))
        numbers = (f"{number:.3f}" for number in (values.mean(), values.min(), values.max()))
        where = str(result.atoms[most])
        if result.residues is not None:
            where += f" (residue {result.residues[most]})"
        rows.append((cut(result.label), str(len(values)), *numbers, where))
        return "\n".join([head_of("RMSF (Å)", result.report), *lines_of(rows)])

    job.run(
        trajet.rmsf.job(
            selection,
            align=onto,
            reference=reference_of(reference or "0", "average"),
            weights=weights,
        ),
        table,
    )


COMMANDS = (rmsf,)
