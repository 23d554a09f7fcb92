"""`distances`: distances of all pairs of atoms."""

from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms, OtherAtoms
from trajet.analysis.atom_groups import labelled_atoms
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    ReferenceStructure,
    describe_reference,
    frame_of,
    is_average,
    reference_positions,
)
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.messages import Message
from trajet.result import Distances
from trajet.result.axes import pairs_within


def _check(other: object, reference: ReferenceStructure | None) -> None:
    """Raise a ValueError if both are given, or the reference is the average structure."""
    if other is not None and reference is not None:
        raise ValueError("give other atoms (other=) or a reference (reference=), not both")
    if reference is not None and is_average(reference):
        raise ValueError(
            "the average structure is no reference for distances: give a frame or a file"
        )


@analysis(
    axes=("frames",),
    counts_repeats=False,
    check=_check,
    examples=r"""
    trajet distances adk.psf adk.xtc --select "resid 55 and name CA" --other "resid 169 and name CA"
    trajet distances adk.psf adk.xtc --select "name CA" -o pairs.npz --plot matrix.png
    trajet distances adk.psf adk.xtc --select "name CA" --reference 0 -o moved.npz
    """,
)
def distances(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    reference: ReferenceStructure | None = None,
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[Distances]:
    """Compute the distances of all pairs of atoms.

    Parameters
    ----------
    other
        The second group. Selection text, a Selection or an AtomGroup. None for each pair within
        `selection` once, without a reference.
    reference
        Instead of `other`: a reference structure, as for `rmsd`. Distances are computed from each
        atom of `selection` in the frame to each atom of `selection` in the reference.
    pbc
        Whether distances are those of nearest images, in frames with a cell.

    Returns
    -------
    Distances
        `values` in Å, float64: `(n_frames, n_a, n_b)`; with a reference `(n_frames, n_a, n_a)`, the
        frame first; within `selection` `(n_frames, n_a (n_a - 1) / 2)`: the pairs 0-1, 0-2, …, 1-2,
        …, in the order of SciPy's `pdist` and MDAnalysis' `self_distance_array`.

    Raises
    ------
    SelectionError
        If atoms and reference do not fit each other.
    MemoryError
        If the distances of all frames do not fit into memory: choose fewer atoms or frames.

    Notes
    -----
    Distances are computed in double precision from the stored positions.

    A distance takes 8 bytes: all pairs of ADK's 3341 atoms in 98 frames are 4.4 GB. If memory has
    no room for them, write them to a file with `rows_in` of `DaskPool` or `MpiPool`, or compute
    some `frames` at a time. Only the command line asks for `--force` above 1 GB.

    Nearest images in cells of any shape use a reduced lattice basis: I. Semaev, LNCS 2146, 181
    (2001), doi:10.1007/3-540-44670-2_13; P. Q. Nguyen and D. Stehlé, ACM Trans. Algorithms 5, 46
    (2009), doi:10.1145/1597036.1597050.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.distances(traj.select("name CA"), "resname ARG and name CZ").values.shape
    (98, 214, 13)
    """
    main = main_selection(selection)
    others = None if other is None else further_selection(other, main.trajectory)
    messages: list[Message] = []

    def plan(chosen: NDArray[np.int64]) -> Plan:
        partner: object = "themselves"
        if others is not None:
            partner = {"atoms": others.columns}
        elif reference is not None:
            target = reference_positions(reference, main, [], messages, chosen)[0]
            partner = {"positions": target.positions}
        return Plan("distances", atoms=main.columns, partner=partner, periodic=pbc)

    selections = [main] if others is None else [main, others]
    outcome = yield RunRequest(
        plan,
        selections,
        reference=None if reference is None else frame_of(reference, main.trajectory),
    )
    partners = None if others is None and reference is None else (others or main)
    values = outcome.floats("distances")
    if partners is not None:
        values = values.reshape(len(outcome.frames), main.n_atoms, partners.n_atoms)
    if pbc:
        messages += outcome.cells.missing_in_some()
    inputs = [] if reference is None else describe_reference(reference)
    atoms = labelled_atoms(main)
    if partners is None:
        axes = [pairs_within(atoms)]
    else:
        of_partners = replace(labelled_atoms(partners), is_reference=reference is not None)
        axes = [atoms, of_partners]
    return Distances(
        values=values,
        axes=(outcome.frames_axis, *axes),
        name="distance",
        units="Å",
        selections=tuple(one.label for one in selections),
        report=outcome.report(messages, inputs=inputs),
    )
