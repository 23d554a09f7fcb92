"""`center_distances`: distances between the centres of groups of atoms."""

from typing import Unpack

from trajet._trajet import Plan, SelectionError
from trajet.analysis.atom_groups import (
    AtomGroups,
    GroupBy,
    Selections,
    further_selections,
    main_selections,
)
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights
from trajet.analysis.runner import RunOptions, RunRequest
from trajet.messages import Message
from trajet.quoting import quoted
from trajet.result import Distances
from trajet.result.axes import pairs_within


def _check(selection: object, other: object, by: str) -> None:
    """Raise a SelectionError if there is only one group."""
    several = isinstance(selection, (list, tuple)) and len(selection) > 1
    if by == "selection" and other is None and not several:
        raise SelectionError(
            "the selection is one group, which has no distance to another: give the second"
            " selection (other=), several selections, or by='residue'"
        )


@analysis(
    axes=("frames",),
    check=_check,
    stored=True,
    examples=r"""
    trajet center-distances adk.psf adk.xtc --select "resid 122-159" --other "resid 1-29"
    trajet center-distances adk.psf adk.xtc --select protein --by residue --plot matrix.png
    trajet center-distances top.tpr run.xtc --select "resname LIG" --other "resid 50" --whole
    """,
)
def center_distances(
    selection: Selections,
    other: Selections | None = None,
    *,
    by: GroupBy = "selection",
    weights: Weights = "mass",
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[Distances]:
    """Compute distances between centres of groups of atoms.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file; or a list of
        several, of which all but the first may be selection texts.
    other
        The second groups. As `selection`, or selection texts. None for each pair within `selection`
        once.
    by
        The groups: the selections, or their residues, molecules or chains, as by `centers`.
    weights
        "mass" for centres of mass, "equal" for centres of geometry. Or, for one selection without
        `other`, one number per atom.
    pbc
        Whether distances are those of the nearest images of the centres, in frames with a cell.

    Returns
    -------
    Distances
        `values` in Å, float64: `(n_frames, n_a, n_b)`; within `selection`
        `(n_frames, n_a (n_a - 1) / 2)`: the pairs 0-1, 0-2, …, 1-2, …, in the order of SciPy's
        `pdist`.

    Raises
    ------
    SelectionError
        If masses are requested and missing, molecules are requested and the topology has no bonds,
        or there is only one group and `other` is None.
    MemoryError
        If the distances of all frames do not fit into memory: choose fewer groups or frames.

    Notes
    -----
    A molecule that is broken over the box has a wrong centre. Select all groups from `traj.whole()`
    if there are several: they must be of one trajectory.

    With `pbc`, the nearest image of the difference of two centres is taken, as by `distances`. A
    message names the number of frames without a cell, whose distances are those of the positions as
    they are.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> lid, core = traj.select("resid 122-159"), traj.select("resid 1-29 60-121 160-214")
    >>> tj.center_distances(lid, core).values[:3, 0, 0].round(2)
    array([20.56, 20.66, 20.8 ])
    """
    own = main_selections(selection)
    main = own[0]
    others = [] if other is None else further_selections(other, main.trajectory)
    if others and not isinstance(weights, str):
        raise ValueError("weights of several selections are 'mass' or 'equal', not numbers")
    messages: list[Message] = []
    selections = [*own, *others]
    groups = AtomGroups.of(selections, by, weights, messages)
    n_a = groups.n_groups_of(len(own))
    if other is None and n_a < 2:
        raise SelectionError(
            f"{quoted(main.label)} is one group, which has no distance to another: give the other"
            " selection, a list of selections, or divide it (by='residue')"
        )

    plan = Plan(
        "centers",
        atoms=groups.columns,
        sizes=groups.sizes,
        weights=groups.weights,
        quantity="within" if other is None else {"between": n_a},
        periodic=pbc,
    )
    outcome = yield RunRequest(
        plan, selections, as_written=selections, chains_apart=by != "selection"
    )
    messages += outcome.cells.missing() if pbc else []
    values = outcome.floats("distances")
    if other is not None:
        values = values.reshape(len(outcome.frames), n_a, len(groups.sizes) - n_a)
    first, second = groups.axis.some(slice(n_a)), groups.axis.some(slice(n_a, None))
    n_groups = [n_a] if other is None else [n_a, len(second)]
    return Distances(
        values=values,
        axes=(
            outcome.frames_axis,
            *([pairs_within(first)] if other is None else [first, second]),
        ),
        name="distance",
        units="Å",
        selections=tuple(one.label for one in selections),
        report=outcome.report(messages, recorded={"n_groups": n_groups}),
    )
