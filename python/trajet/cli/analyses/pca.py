"""`trajet pca`."""

from pathlib import Path

import click

import trajet
from trajet.cli.analyses.shared import WordOfWeights, reference_of, select_option, weights_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import max_memory_option, path_to
from trajet.result import PrincipalComponents

# Structures along the first component.
_MODELS = 20


def _check_pca(
    *,
    align: str | None,
    reference: str | None,
    weights: WordOfWeights,
    as_stored: bool,
    **_: object,
) -> None:
    """Raise an error for options of a superposition without one."""
    if as_stored and not (align is None and reference is None and weights == "equal"):
        raise click.UsageError("--align, --reference and --weights need a superposition")


@analysis(
    select_option,
    click.option(
        "--align",
        metavar="SELECTION",
        help="Atoms by which to superpose each frame first. Default: those of --select.",
    ),
    click.option("--as-stored", is_flag=True, help="Do not superpose frames."),
    click.option(
        "--reference",
        metavar="FRAME|FILE|average",
        help="Structure to superpose on: a frame, a structure file, or the average structure"
        " (default).",
    ),
    weights_option("--weights", "Weights of the superposition. Default: equal."),
    click.option(
        "--components",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        metavar="N",
        help="How many components to write.",
    ),
    click.option(
        "--extremes",
        callback=path_to((".pdb",)),
        metavar="FILE",
        help=f"Write {_MODELS} structures along the first component to a PDB file.",
    ),
    max_memory_option,
    check=_check_pca,
)
def pca(
    job: AnalysisOptions,
    *,
    select: str,
    align: str | None,
    as_stored: bool,
    reference: str | None,
    weights: WordOfWeights,
    components: int,
    extremes: Path | None,
    max_memory: int | None,
) -> None:
    """Principal components of positions, and projections.

    \b
    Examples:
      trajet pca adk.psf adk.xtc --select "name CA" -o pca.csv --plot pca.png
      trajet pca adk.psf adk.xtc --select "name CA" --extremes first.pdb
    """
    selection = job.select(select)
    stored = None if as_stored else "same"

    def write(result: PrincipalComponents) -> list[Path]:
        """Write the structures along the first component, and return the path."""
        if extremes is None:
            return []
        return [result.save_extremes(extremes, n_structures=_MODELS)]

    job.run(
        trajet.pca.job(
            selection,
            align=stored if align is None else job.select(align),
            reference=reference_of(reference or "average", "average"),
            n_components=components,
            weights=weights,
            max_memory=max_memory,
        ),
        write=write,
    )


COMMANDS = (pca,)
