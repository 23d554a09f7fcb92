"""`trajet rmsd`."""

import click

import trajet
from trajet.cli.analyses.shared import WordOfWeights, reference_of, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis


def _check_rmsd(*, no_superposition: bool, center: bool, **_: object) -> None:
    """Raise an error for --center with a superposition, which centres anyway."""
    if center and not no_superposition:
        raise click.UsageError("--center needs --no-superposition: a superposition centres too")


@analysis(
    click.option(
        "--select", required=True, metavar="SELECTION", help="Atoms to superpose and to compare."
    ),
    click.option(
        "--reference",
        default="0",
        show_default=True,
        metavar="FRAME|FILE|average",
        help="A frame of the trajectory, a structure file, or the average structure.",
    ),
    click.option(
        "--group",
        "groups",
        multiple=True,
        metavar="SELECTION",
        help="Further atoms: their RMSD after the superposition of --select. May be repeated.",
    ),
    weights_option("--weights", "Weights of --select. Default: equal."),
    weights_option(
        "--group-weights", "Weights of the groups. Default: equal, even with --weights mass."
    ),
    click.option("--no-superposition", is_flag=True, help="Compare positions as stored."),
    click.option("--center", is_flag=True, help="With --no-superposition: superpose the centres."),
    check=_check_rmsd,
)
def rmsd(
    job: AnalysisOptions,
    *,
    select: str,
    reference: str,
    groups: tuple[str, ...],
    weights: WordOfWeights,
    group_weights: WordOfWeights,
    no_superposition: bool,
    center: bool,
) -> None:
    """RMSD of a selection against time, after superposition.

    TOPOLOGY is a PSF, PDB, GRO, TPR, PRMTOP or mmCIF file, or another that MDAnalysis reads.
    TRAJECTORY is an XTC, TRR, DCD, Amber NetCDF, H5MD, PDB or GRO file; PDB and GRO files need no
    other topology. Several files are read as one trajectory; files that match a pattern are in
    natural order, part2 before part10.
    Positions are used as stored: if molecules are broken over the box, make them whole with
    --make-whole. Selections are evaluated once, on frame 0.

    \b
    Examples:
      trajet rmsd adk.psf adk.xtc --select "name CA"
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
      trajet rmsd top.gro run.xtc --select "backbone and resid 1:29" --group "resname LIG" \\
          --weights mass --reference crystal.pdb -o rmsd.npz --report report.json
      trajet rmsd top.gro run.xtc --select "name CA" --begin 1000 --end 5000 --step 10
      trajet rmsd top.gro run.part*.xtc --continuous --select "name CA" -o rmsd.csv
    """
    selection, further = job.select(select), [job.select(group) for group in groups]
    job.run(
        trajet.rmsd.job(
            selection,
            reference=reference_of(reference, "average"),
            groups=further,
            motion="translation" if center else "none" if no_superposition else "superposition",
            weights=weights,
            group_weights=group_weights,
        ),
    )


COMMANDS = (rmsd,)
