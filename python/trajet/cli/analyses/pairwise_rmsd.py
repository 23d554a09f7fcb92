"""`trajet pairwise-rmsd`."""

from pathlib import Path

import click
import numpy as np

import trajet
from trajet.cli.analyses.shared import cut, head_of, select_option, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import max_memory_option, path_to
from trajet.cli.tables import lines_of
from trajet.result import PairwiseRmsd


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
    weights: str | None,
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
        trajet.pairwise_rmsd.job(selection, weights=weights, path=matrix, max_memory=max_memory),
        _table,
    )


def _table(result: PairwiseRmsd) -> str:
    """Return a table with mean, spread and extremes of all pairs."""
    rows: list[tuple[str, ...]] = [("selection", "pairs", "mean", "std", "min", "max")]
    pairs = result.off_diagonal()
    numbers: list[str] = []
    if pairs.size:
        mean, std = pairs.mean(dtype=np.float64), pairs.std(dtype=np.float64)
        numbers = [f"{number:.3f}" for number in (mean, std, pairs.min(), pairs.max())]
    rows.append((cut(result.columns[0]), str(pairs.size), *(numbers or ["-"] * 4)))
    return "\n".join([head_of("pairwise RMSD (Å)", result.report), *lines_of(rows)])


COMMANDS = (pairwise_rmsd,)
