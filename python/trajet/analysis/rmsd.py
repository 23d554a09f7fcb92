"""`rmsd`: root mean square deviation from a reference."""

from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms, OtherAtoms
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    Reference,
    Weights,
    broken_in_reference,
    describe_reference,
    first_of,
    frame_of,
    group_of,
    is_average,
    reference_positions,
)
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.symmetries import symmetries
from trajet.particles import equal_weights
from trajet.result import Table
from trajet.result.axes import series
from trajet.trajectory import few_atoms_messages

_EQUAL_GROUP_WEIGHTS = equal_weights('group_weights="equal"')
# Names of motions in plans.
_FITS = {"superposition": "superposition", "translation": "centre", "none": "none"}


def _check(
    reference: Reference, motion: str, groups: Sequence[OtherAtoms], symmetric: bool
) -> None:
    """Raise a ValueError for a motion that does not lead to the average, or symmetry of nothing."""
    if symmetric and not groups:
        raise ValueError(
            "symmetric= is of groups=: fit the protein, and give the ligand in groups="
        )
    if is_average(reference) and motion != "superposition":
        raise ValueError(f"reference='average' needs a superposition: leave motion={motion!r} out")


@analysis(
    axes=("frames",),
    check=_check,
    stored=True,
    notes="Selections are evaluated once, on frame 0.",
    examples=r"""
    trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
    trajet rmsd top.tpr run.xtc --select backbone --groups "resname LIG and not name H*" \
        --symmetric --weights mass --reference crystal.pdb -o rmsd.npz --report report.json
    trajet rmsd top.gro run.part*.xtc --continuous --select "name CA" --begin 1000 --end 5000
    """,
)
def rmsd(
    selection: Atoms,
    *,
    reference: Reference = 0,
    motion: Literal["superposition", "translation", "none"] = "superposition",
    groups: Sequence[OtherAtoms] = (),
    weights: Weights = "equal",
    group_weights: Literal["mass", "equal"] = "equal",
    symmetric: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the RMSD of atoms from a reference.

    Parameters
    ----------
    reference
        The reference structure. A frame number of the same trajectory; the path of a structure
        file, in which the selections are evaluated again; an AtomGroup at its current positions; a
        Selection, at frame 0 of its trajectory; positions `(n_atoms, 3)` in Å; or `"average"`, the
        average of the analysed frames after superposition on the first of them (two passes).
    motion
        How each frame is moved first. "superposition" for translation and
        rotation, "translation" of the centre alone, or "none" for positions as stored.
    groups
        Further atoms, moved along with `selection`. Text, Selections or AtomGroups of the same
        system, as MDAnalysis' `groupselections`; each adds a column. If `selection` is an
        AtomGroup, text is evaluated in the current state of its Universe.
    weights
        Weights of motion and RMSD of `selection`. "equal", "mass", or one number per
        atom.
    group_weights
        Weights of `groups`. "equal", even if `weights` are masses, or "mass".
    symmetric
        Whether symmetries of groups count. The RMSD of a group is then the least over the orders of
        its atoms that leave elements and bonds as they are, as of a ring that has flipped. Each
        group has the heavy atoms of one molecule, and the topology has bonds.

    Returns
    -------
    Table
        `values` `(n_frames,)`, or `(n_frames, 1 + n_groups)` with groups; float64, Å.

    Raises
    ------
    SelectionError
        If atoms and reference do not match, or masses are requested and missing; or, with
        `symmetric`, if there are no bonds, or a group has hydrogens or several molecules.
    ValueError
        If `symmetric` is given without groups.

    Notes
    -----
    The superposition uses the quaternion characteristic polynomial: D. L. Theobald, Acta Cryst. A
    61, 478 (2005).

    Symmetries are the automorphisms of the graph of heavy atoms, without orders of bonds and
    charges, as of spyrmsd (R. Meli and P. C. Biggin, J. Cheminform. 12, 49 (2020),
    doi:10.1186/s13321-020-00455-2): both oxygens of a carboxylate are the same, and so are those of
    a carboxylic acid. Of a molecule with more than 10,000, or a million atoms in all of them, some
    count, and a warning says so.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> core = "(resid 1:29 or resid 60:121 or resid 160:214) and name CA"
    >>> result = tj.rmsd(traj.select(core), groups=["name CA"])
    >>> result.values.shape
    (98, 2)
    """
    main = main_selection(selection)
    trajectory = main.trajectory
    if isinstance(groups, str):
        groups = (groups,)
    others = [further_selection(group, trajectory) for group in groups]
    items = [main, *others]
    if motion not in _FITS:
        raise ValueError(f"motion is {', '.join(map(repr, _FITS))}, not {motion!r}")
    average = is_average(reference)
    messages = few_atoms_messages(main) if motion == "superposition" else []
    as_given = np.empty(0, np.uint32)
    orders = [symmetries(one, messages).ravel() if symmetric else as_given for one in others]

    def plan(chosen: NDArray[np.int64]) -> Plan:
        here = first_of(chosen) if average else reference
        targets = reference_positions(here, main, others, messages, chosen)
        messages.extend(broken_in_reference(items, targets, frame_of(here, trajectory), chosen))
        return Plan(
            "rmsd",
            main=group_of(main, targets[0], weights, messages),
            groups=[
                group_of(group, target, group_weights, messages, _EQUAL_GROUP_WEIGHTS)
                for group, target in zip(others, targets[1:], strict=True)
            ],
            orders=orders,
            fit=_FITS[motion],
            average=average,
        )

    outcome = yield RunRequest(
        plan, items, reference=frame_of(reference, trajectory), as_written=items
    )
    rmsds = outcome.floats("rmsd")
    labels = [item.label for item in items]
    return Table(
        values=rmsds if others else rmsds[:, 0],
        axes=(outcome.frames_axis, *series(labels)),
        name="RMSD",
        units="Å",
        selections=tuple(labels),
        report=outcome.report(messages, inputs=describe_reference(reference)),
    )
