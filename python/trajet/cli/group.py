"""The command `trajet` itself."""

import click

import trajet


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command has its own help with examples: trajet rmsd --help",
)
@click.version_option(trajet.__version__, prog_name="trajet")
def commands() -> None:
    """Analyse molecular-dynamics trajectories, on all cores.

    Only the selected atoms are decoded, and an index of frames is kept beside each trajectory.
    Units are Å and ps; frames count from 0; selections are written in MDAnalysis' language.

    \b
    Examples:
      trajet info adk.xtc
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
      trajet rdf water.gro water.xtc --select "name OW" --plot rdf.png
    """
