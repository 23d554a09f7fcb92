"""`centers`: centres of mass or of geometry of groups of atoms."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.arguments import STORED_POSITIONS, Atoms
from trajet.analysis.atom_groups import AtomGroups, GroupBy
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    describe,
    main_selection,
    selection_seconds,
)
from trajet.result import Centers


@analysis(
    notes=STORED_POSITIONS,
    examples=r"""
    trajet centers adk.psf adk.xtc --select protein --by residue -o centers.npz
    trajet centers top.tpr run.xtc --select "resname LIG" --by molecule --whole -o ligand.csv
    """,
)
def centers(
    selection: Atoms,
    *,
    by: GroupBy = "residue",
    weights: Weights = "mass",
    **run: Unpack[RunOptions],
) -> Steps[Centers]:
    """Compute centres of residues, molecules or chains.

    Or the centre of the whole selection.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file.
    by
        The groups whose centres are computed. "residue", "molecule", "chain" or "selection", as
        `Selection.split` makes them. Only selected atoms count.
    weights
        "mass" for centres of mass, "equal" for centres of geometry. Or one number per atom.

    Returns
    -------
    Centers
        `values` `(n_frames, n_groups, 3)`, float64, Å; `labels` name the groups.

    Raises
    ------
    SelectionError
        If masses are requested and missing, or molecules and the topology has no bonds.
    MemoryError
        If the centres of all frames do not fit into memory: choose fewer groups or frames.
    FrameError
        If a frame is out of range.
    FormatError
        If a frame is corrupt.

    Notes
    -----
    Positions are used as stored: the centre of a molecule that is broken over the box lies between
    its parts. Make molecules whole with `selection.whole()`; `report["remarks"]` say in how many
    frames neighbouring atoms lie on either side of the box.

    A centre takes 24 bytes: the 11,302 residues of a solvated protein in 1,000 frames are 271 MB.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.centers(traj.select("protein"), by="residue")
    >>> result.values.shape, result.labels[:2]
    ((98, 214, 3), ('MET1', 'ARG2'))
    """
    main = main_selection(selection)
    remarks: list[str] = []
    groups = AtomGroups.of([main], by, weights, remarks)

    def plan(_: NDArray[np.int64]) -> Plan:
        return Plan(
            "centers",
            atoms=groups.columns,
            sizes=groups.sizes,
            weights=groups.weights,
            quantity="centers",
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
    centers = outcome.floats("centers")
    parameters = {
        "selections": [main.label],
        "n_atoms": [main.n_atoms],
        "by": by,
        "n_groups": len(groups.sizes),
        "weights": describe(weights),
    }
    return Centers(
        values=centers,
        times=outcome.times,
        frames=outcome.frames,
        units="Å",
        columns=_columns(groups.labels),
        name="center",
        report=outcome.report("centers", parameters, remarks=remarks),
        labels=groups.labels,
        sizes=np.array(groups.sizes, np.int64),
    )


def _columns(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each coordinate. There may be tens of thousands of groups."""
    names: list[str] = [""] * (3 * len(labels))
    for k, axis in enumerate((" x", " y", " z")):
        names[k::3] = [label + axis for label in labels]
    return tuple(names)
