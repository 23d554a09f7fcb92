"""`trajet center-distances`."""

import click

import trajet
from trajet.cli.analyses.shared import no_pbc_option
from trajet.cli.analysis_options import AnalysisOptions, analysis


def _check_groups(*, select: tuple[str, ...], to: tuple[str, ...], by: str, **_: object) -> None:
    """Raise an error if there is only one group."""
    if len(select) == 1 and not to and by == "selection":
        raise click.UsageError(
            "one group has no distance to another: give --to, several --select, or --by residue"
        )


@analysis(
    click.option(
        "--select",
        required=True,
        multiple=True,
        metavar="SELECTION",
        help="A group of atoms, in MDAnalysis' language. May be repeated.",
    ),
    click.option(
        "--to",
        multiple=True,
        metavar="SELECTION",
        help="A second group. May be repeated. Default: pairs of the groups of --select.",
    ),
    click.option(
        "--by",
        type=click.Choice(["selection", "residue", "molecule", "chain"]),
        default="selection",
        show_default=True,
        help="Groups: the selections, or their residues, molecules or chains.",
    ),
    click.option(
        "--weights",
        type=click.Choice(["mass", "equal"]),
        default="mass",
        show_default=True,
        help="Weights of the atoms: centres of mass or of geometry.",
    ),
    no_pbc_option,
    check=_check_groups,
)
def center_distances(
    job: AnalysisOptions,
    *,
    select: tuple[str, ...],
    to: tuple[str, ...],
    by: str,
    weights: str,
    no_pbc: bool,
) -> None:
    """Distances between centres of groups against time.

    Centres are those of mass, or of geometry with --weights equal. They are computed from positions
    as stored: if molecules are broken over the box, make them whole with --make-whole.

    \b
    Examples:
      trajet center-distances adk.psf adk.xtc --select "resid 122-159" --to "resid 1-29"
      trajet center-distances adk.psf adk.xtc --select protein --by residue --plot matrix.png
      trajet center-distances top.tpr run.xtc --select "resname LIG" --to "resid 50" --make-whole
    """
    groups = [job.select(text) for text in select]
    job.run(
        trajet.center_distances.job(
            groups,
            [job.select(text) for text in to] or None,
            by=by,  # type: ignore[arg-type]
            weights="mass" if weights == "mass" else "equal",
            pbc=not no_pbc,
        ),
    )


COMMANDS = (center_distances,)
