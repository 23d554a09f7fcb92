"""`trajet dihedrals`."""

import click

import trajet
from trajet.cli.analyses.shared import no_pbc_option
from trajet.cli.analysis_options import AnalysisOptions, analysis


def _quadruples(
    _: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[list[int]] | None:
    """Parse four atom indices from each value."""
    fours = []
    for value in values:
        four = value.replace(",", " ").split()
        if len(four) != 4 or not all(atom.isdecimal() for atom in four):
            raise click.BadParameter(f"{value!r}: write four atom indices: 4,6,8,14", param=param)
        fours.append([int(atom) for atom in four])
    return fours or None


def _check_dihedrals(
    *, select: str | None, quadruples: list[list[int]] | None, **_: object
) -> None:
    """Raise an error unless one of the two is given."""
    if (select is None) == (quadruples is None):
        raise click.UsageError("choose residues (--select) or four atoms (--quadruple)")


@analysis(
    click.option("--select", metavar="SELECTION", help="Atoms of the residues for φ and ψ."),
    click.option(
        "--quadruple",
        "quadruples",
        multiple=True,
        callback=_quadruples,
        metavar="I,J,K,L",
        help="Four atoms by index (from 0) instead. May be repeated.",
    ),
    click.option(
        "--features", is_flag=True, help="Cosine and sine of each angle instead of degrees."
    ),
    no_pbc_option,
    check=_check_dihedrals,
)
def dihedrals(
    job: AnalysisOptions,
    *,
    select: str | None,
    quadruples: list[list[int]] | None,
    features: bool,
    no_pbc: bool,
) -> None:
    """Dihedral angles against time: φ, ψ, or any four atoms.

    \b
    Examples:
      trajet dihedrals adk.psf adk.xtc --select protein --plot ramachandran.png
      trajet dihedrals adk.psf adk.xtc --select "resid 10:20" -o angles.csv
      trajet dihedrals adk.psf adk.xtc --quadruple 4,6,8,14 --quadruple 6,8,14,16 -o angles.npz
      trajet dihedrals adk.psf adk.xtc --select protein --features -o features.npz
    """
    subject = job.trajectory if select is None else job.select(select)
    job.run(
        trajet.dihedrals.job(
            subject,
            quadruples,
            sin_cos=features,
            pbc=not no_pbc,
        ),
    )


COMMANDS = (dihedrals,)
