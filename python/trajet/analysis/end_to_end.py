"""`end_to_end`: distance between the first and the last atom of chains."""

from typing import Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import Atoms
from trajet.analysis.atom_groups import AtomGroups, GroupBy
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.result import Table


@analysis(
    axes=("frames",),
    counts_repeats=False,
    stored=True,
    examples=r"""
    trajet end-to-end adk.psf adk.xtc --select "name CA" -o ends.csv --plot ends.png
    trajet end-to-end top.tpr melt.xtc --select "name C*" --by molecule --whole -o ends.npz
    """,
)
def end_to_end(
    selection: Atoms,
    *,
    by: GroupBy = "selection",
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the end-to-end distance of chains.

    It is the distance from the first to the last selected atom of each chain.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file: for a protein
        its CA atoms, for a polymer its backbone.
    by
        "selection" for one distance, "chain", "molecule" or "residue" for one of each. They are
        those of `Selection.split`.

    Returns
    -------
    Table
        `values` `(n_frames,)` if there is one chain, else `(n_frames, n_chains)`; float64, Å.

    Raises
    ------
    SelectionError
        If a chain has only one selected atom, or molecules are requested and the topology has no
        bonds.

    Notes
    -----
    Nearest images are not taken, since the ends of a long chain may be further apart than half of
    the box.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.end_to_end(traj.select("name CA")).values[:3].round(2)
    array([10.94, 10.84, 10.41])
    """
    main = main_selection(selection)
    groups = AtomGroups.of([main], by, "equal", [])
    sizes = np.array(groups.sizes)
    if (sizes < 2).any():
        short = groups.labels[int(np.argmax(sizes < 2))]
        raise SelectionError(
            f"{short!r} has only one selected atom, and no second end: select more of its atoms, or"
            " leave it out"
        )

    plan = Plan(
        "centers",
        # All atoms, as those between the ends show whether a chain is broken.
        atoms=groups.columns,
        sizes=groups.sizes,
        weights=None,
        quantity="ends",
        periodic=False,
    )
    outcome = yield RunRequest(plan, [main], as_written=[main], chains_apart=by != "selection")
    distances = outcome.floats("distances")
    return Table(
        values=distances[:, 0] if len(sizes) == 1 else distances,
        axes=(outcome.frames_axis, *([groups.axis] if len(sizes) > 1 else [])),
        name="end-to-end distance",
        units="Å",
        selections=(main.label,),
        label=groups.labels[0] if len(sizes) == 1 else "",
        report=outcome.report(recorded={"n_groups": len(sizes)}),
    )
