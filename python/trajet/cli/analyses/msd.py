"""`trajet msd`."""

from dataclasses import replace

import click

import trajet
from trajet.analysis.msd import MAX_MEMORY, Particles
from trajet.cli.analyses.shared import WordOfWeights, select_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import Size
from trajet.cli.quantities import Time, same_units


@analysis(
    select_option,
    click.option(
        "--by",
        type=click.Choice(["atom", "residue", "molecule", "chain"]),
        default="atom",
        show_default=True,
        help="Whose displacements: those of atoms, or of centres of groups of atoms.",
    ),
    click.option(
        "--weights",
        type=click.Choice(["mass", "equal"]),
        default="mass",
        show_default=True,
        help="Weights of centres.",
    ),
    click.option("--axes", default="xyz", show_default=True, help="Axes of the displacement."),
    click.option(
        "--max-lag",
        type=Time(),
        metavar="PS",
        help="The longest lag. Default: the length of the trajectory.",
    ),
    click.option(
        "--fit-range",
        type=Time(),
        nargs=2,
        callback=same_units,
        metavar="FROM TO",
        help="Lags of the fit, ps. Default: 10 % to 50 % of the longest.",
    ),
    click.option("--no-fft", is_flag=True, help="Sum over all pairs of frames one by one."),
    click.option(
        "--unwrapped",
        is_flag=True,
        help="Positions are unwrapped: large steps between frames are no error.",
    ),
    click.option(
        "--max-memory",
        type=Size(2**50),
        default=MAX_MEMORY,
        metavar="BYTES",
        help="Memory of positions and transforms: 512MiB (default). With less, files are read"
        " several times.",
    ),
)
def msd(
    job: AnalysisOptions,
    *,
    select: str,
    by: Particles,
    weights: WordOfWeights,
    axes: str,
    max_lag: float | None,
    fit_range: tuple[float, float] | None,
    no_fft: bool,
    unwrapped: bool,
    max_memory: int,
) -> None:
    """Mean squared displacement, and diffusion coefficient.

    Positions must be unwrapped: remove jumps over the box with --nojump, for molecules with
    --make-whole --nojump. Frames must be equally spaced in time. The error of the coefficient is
    the standard error of those of groups of particles, which holds if particles move independently;
    for one particle it is the difference between the halves of the fitted range.

    \b
    Examples:
      trajet msd top.tpr run.xtc --select "resname SOL" --by molecule --make-whole --nojump
      trajet msd top.tpr run.xtc --select "name P" --axes xy --nojump --fit-range 1000 5000 \\
          -o msd.csv --plot msd.png
    """
    selection = job.select(select)
    # The positions that are read are bounded by --max-memory, and no result.
    with replace(job, any_size=True).progress("msd") as show:
        analysis_job = trajet.msd.job(
            selection,
            axes=axes,
            max_lag=max_lag,
            fit_range=fit_range,
            fft=not no_fft,
            unwrapped=unwrapped,
            by=by,
            weights=weights,
            max_memory=max_memory,
        )
        (result,) = trajet.run(
            [analysis_job],
            time_sample=job.sample,
            frames=job.frames,
            pool=job.pool,
            progress=show,
        )

    job.finish(result)


COMMANDS = (msd,)
