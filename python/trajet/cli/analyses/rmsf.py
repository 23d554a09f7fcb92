"""`trajet rmsf`."""

import click

import trajet
from trajet.cli.analyses.shared import WordOfWeights, reference_of, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis


def _check_rmsf(
    *, align: str | None, reference: str | None, weights: WordOfWeights, **_: object
) -> None:
    """Raise an error for options of a superposition without one."""
    if align is None and (reference is not None or weights != "equal"):
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
    weights: WordOfWeights,
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

    job.run(
        trajet.rmsf.job(
            selection,
            align=onto,
            reference=reference_of(reference or "0", "average"),
            weights=weights,
        ),
    )


COMMANDS = (rmsf,)
