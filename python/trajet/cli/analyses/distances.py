"""`trajet distances`."""

import click

import trajet
from trajet.cli.analyses.shared import (
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
        metavar="FRAME|FILE",
        help="Instead of --to: the atoms of --select in a frame or a structure file.",
    ),
    no_pbc_option,
    check=lambda *, to, reference, **_: _one_of_two(to, reference),
)
def distances(
    job: AnalysisOptions, *, select: str, to: str | None, reference: str | None, no_pbc: bool
) -> None:
    """Distances of all pairs of atoms against time.

    \b
    Examples:
      trajet distances adk.psf adk.xtc --select "resid 55 and name CA" --to "resid 169 and name CA"
      trajet distances adk.psf adk.xtc --select "name CA" -o pairs.npz --plot matrix.png
      trajet distances adk.psf adk.xtc --select "name CA" --reference 0 -o moved.npz
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    job.run(
        trajet.distances.job(
            selection,
            other,
            reference=None if reference is None else reference_of(reference),
            pbc=not no_pbc,
        ),
    )


def _one_of_two(to: str | None, reference: str | None) -> None:
    """Raise an error if both are given."""
    if to is not None and reference is not None:
        raise click.UsageError("choose other atoms (--to) or a reference (--reference), not both")


COMMANDS = (distances,)
