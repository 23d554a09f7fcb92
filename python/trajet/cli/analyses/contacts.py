"""`trajet contacts`."""

import trajet
from trajet.cli.analyses.shared import (
    contact_cutoff_option,
    no_pbc_option,
    select_option,
    updating_option,
    within_option,
)
from trajet.cli.analysis_options import AnalysisOptions, analysis


@analysis(select_option, within_option, updating_option, contact_cutoff_option, no_pbc_option)
def contacts(
    job: AnalysisOptions,
    *,
    select: str,
    to: str | None,
    updating: bool,
    cutoff: float,
    no_pbc: bool,
) -> None:
    """Count the pairs of atoms within a cut-off against time.

    Distances are those of nearest images in cells of any shape.

    \b
    Examples:
      trajet contacts adk.psf adk.xtc --select "resid 30:59" --to "resid 122:159" -o contacts.csv
      trajet contacts top.gro run.xtc --select protein --to "resname LIG" --cutoff 4
      trajet contacts top.gro run.xtc --select "name OW and around 6 resid 9" --to "resid 9" \\
          --updating
    """
    selection = job.select_in(select, updating=updating)
    other = None if to is None else job.select_in(to, updating=updating)
    job.run(
        trajet.contacts.job(
            selection,
            other,
            cutoff=cutoff,
            pbc=not no_pbc,
        ),
    )


COMMANDS = (contacts,)
