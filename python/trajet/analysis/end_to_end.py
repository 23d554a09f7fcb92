"""`end_to_end`: distance between the first and the last atom of chains."""

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import STORED_POSITIONS, Atoms
from trajet.analysis.atom_groups import AtomGroups, GroupBy
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection, selection_seconds
from trajet.result import GroupSeries


@analysis(
    counts_repeats=False,
    notes=STORED_POSITIONS,
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
) -> Steps[GroupSeries]:
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
    GroupSeries
        `values` `(n_frames,)` if there is one chain, else `(n_frames, n_chains)`; float64, Å.

    Raises
    ------
    SelectionError
        If a chain has only one selected atom, or molecules are requested and the topology has no
        bonds.
    FrameError
        If a frame is out of range.
    FormatError
        If a frame is corrupt.

    Notes
    -----
    Positions are used as stored, since the ends of a long chain may be further apart than half of
    the box: make chains that are broken over the box whole with `selection.whole()`.
    `report["remarks"]` say in how many frames neighbouring atoms of a chain lie on either side of
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

    def plan(_: NDArray[np.int64]) -> Plan:
        return Plan(
            "centers",
            # All atoms, as those between the ends show whether a chain is broken.
            atoms=groups.columns,
            sizes=groups.sizes,
            weights=None,
            quantity="ends",
            periodic=False,
        )

    outcome = yield RunRequest(
        main.trajectory,
        plan,
        t_select=selection_seconds(main),
        as_written=[main],
        chains_apart=by != "selection",
        **run,
    )
    distances = outcome.floats("distances")
    parameters = {
        "selections": [main.label],
        "n_atoms": [main.n_atoms],
        "by": by,
        "n_groups": len(sizes),
    }
    return GroupSeries(
        values=distances[:, 0] if len(sizes) == 1 else distances,
        times=outcome.times,
        frames=outcome.frames,
        units="Å",
        columns=groups.labels,
        name="end-to-end distance",
        report=outcome.report("end_to_end", parameters),
    )
