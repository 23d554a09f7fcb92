"""`trajet pairwise-rmsd`."""

from pathlib import Path

import click

import trajet
from trajet.cli.analyses.shared import WordOfWeights, select_option, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import max_memory_option, path_to


@analysis(
    select_option,
    weights_option("--weights", "Weights. Default: equal."),
    click.option(
        "--matrix",
        callback=path_to((".npy",)),
        metavar="FILE",
        help="Write the matrix to a .npy file, in parts, where it does not fit into memory.",
    ),
    max_memory_option,
)
def pairwise_rmsd(
    job: AnalysisOptions,
    *,
    select: str,
    weights: WordOfWeights,
    matrix: Path | None,
    max_memory: int | None,
) -> None:
    """RMSD of every frame from every other.

    \b
    Examples:
      trajet pairwise-rmsd adk.psf adk.xtc --select "name CA" -o pairs.npz --plot pairs.png
      trajet pairwise-rmsd top.gro run.xtc --select backbone --step 10 --matrix pairs.npy
    """
    selection = job.select(select)
    job.run(
        trajet.pairwise_rmsd.job(
            selection, matrix_path=matrix, weights=weights, max_memory=max_memory
        ),
    )


COMMANDS = (pairwise_rmsd,)
