"""`trajet cluster-rmsd`."""

from pathlib import Path
from typing import Literal

import click

import trajet
from trajet.cli.analyses.shared import WordOfWeights, select_option, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import max_memory_option
from trajet.cli.quantities import Distance
from trajet.result import Clusters


def _check(*, cutoff: float | None, method: str, clusters: int | None, **_: object) -> None:
    """Raise an error for a method that lacks its parameter."""
    if method == "gromos" and (cutoff is None or clusters is not None):
        raise click.UsageError(
            "--method gromos finds the clusters from a cut-off: give --cutoff 1.5 (Å), without"
            " --clusters; for a number of clusters, give --method average, complete or single"
        )
    if (cutoff is None) == (clusters is None):
        raise click.UsageError(f"--method {method} needs --cutoff or --clusters, one of both")


@analysis(
    select_option,
    click.option(
        "--cutoff",
        type=Distance(0),
        metavar="Å",
        help="Largest RMSD of neighbours (gromos), or of clusters that are joined.",
    ),
    click.option(
        "--method",
        type=click.Choice(["gromos", "average", "complete", "single"]),
        default="gromos",
        show_default=True,
        help="GROMOS (Daura et al. 1999), or the linkage of hierarchical clusters.",
    ),
    click.option(
        "--clusters",
        type=click.IntRange(min=1),
        metavar="N",
        help="Instead of --cutoff: how many hierarchical clusters at most.",
    ),
    weights_option("--weights", "Weights. Default: equal."),
    click.option(
        "--medoids",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Write the medoid of each cluster to a PDB file in this folder, which is made.",
    ),
    max_memory_option,
    check=_check,
)
def cluster_rmsd(
    job: AnalysisOptions,
    *,
    select: str,
    cutoff: float | None,
    method: Literal["gromos", "average", "complete", "single"],
    clusters: int | None,
    weights: WordOfWeights,
    medoids: Path | None,
    max_memory: int | None,
) -> None:
    """Clusters of similar frames, by the RMSDs of all pairs.

    \b
    Examples:
      trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --cutoff 1.5 --plot clusters.png
      trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --method average --clusters 4
    """
    selection = job.select(select)

    def write(result: Clusters) -> list[Path]:
        """Write the medoids, and return their paths."""
        if medoids is None:
            return []
        medoids.mkdir(parents=True, exist_ok=True)
        return result.save_medoids(medoids, force=True)

    job.run(
        trajet.cluster_rmsd.job(
            selection,
            cutoff=cutoff,
            method=method,
            n_clusters=clusters,
            weights=weights,
            max_memory=max_memory,
        ),
        write=write,
    )


COMMANDS = (cluster_rmsd,)
