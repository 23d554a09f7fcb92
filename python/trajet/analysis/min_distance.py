"""`min_distance`: the nearest pair of two groups."""

from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.analysis.arguments import ANGSTROM, Above, Atoms, OtherAtoms
from trajet.analysis.atom_sets import fixed_set
from trajet.analysis.contacts import between, check_for_pairs, contacts_plan
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.labels import insertion_codes_of, residues_of
from trajet.result import MinDistance
from trajet.result.columns import residue_columns


@analysis(
    axes=("frames",),
    counts_repeats=False,
    examples=r"""
    trajet min-distance adk.psf adk.xtc --select "resid 30:59" --other "resid 122:159" -o near.csv
    trajet min-distance top.gro run.xtc --select protein --other "resname LIG" --cutoff 6
    """,
)
def min_distance(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    cutoff: Annotated[float, ANGSTROM, Above(0)] | None = None,
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[MinDistance]:
    """Compute the minimum distance of two groups of atoms.

    Parameters
    ----------
    other
        The second group. Selection text, a Selection or an AtomGroup. None for pairs within
        `selection`.
    cutoff
        If given, pairs up to this distance (Å) are counted, too. They are those of `contacts`.
    pbc
        Whether distances are those of nearest images, in frames with a cell.

    Returns
    -------
    MinDistance
        `values` `(n_frames,)`, float64, Å; `pairs` `(n_frames, 2)`, int64, the nearest atoms;
        `contacts` `(n_frames,)`, int64, or None without a cut-off.

    Raises
    ------
    SelectionError
        If a selection matches no atom, or there is no pair of different atoms.
    AnalysisError
        If the cut-off is above half of the shortest lattice vector of a frame, or an atom has no
        position.
    ValueError
        If the cut-off is not positive.

    Notes
    -----
    An atom is never paired with itself. Of several pairs at the same distance, the first one is
    returned. The numbers are those of `gmx mindist`. With `pbc`, a message in the report names the
    number of frames without a cell, whose distances are those of the positions as they are.

    A search from one atom to the nearest of the other group, and so on, gives a distance that is
    nearly the minimum. Then a cell list finds all pairs up to this distance: M. P. Allen and D. J.
    Tildesley, Computer Simulation of Liquids, 2nd edition (2017), 5.3.2.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.min_distance(traj.select("resid 30:59"), "resid 122:159", cutoff=6.0)
    >>> result.values[:3].round(2)
    array([1.48, 1.58, 1.66])
    """
    main = main_selection(selection)
    others = None if other is None else further_selection(other, main.trajectory)
    sets = fixed_set(main), None if others is None else fixed_set(others)
    check_for_pairs(*sets)
    cutoff = None if cutoff is None else float(cutoff)
    plan = contacts_plan(*sets, nearest=True, cutoff=cutoff, pbc=pbc)
    outcome = yield RunRequest(plan, [main] if others is None else [main, others])
    messages = outcome.cells.missing() if pbc else []
    found = cutoff is None or not len(outcome.frames) or bool(outcome.arrays["count"].any())
    messages += looks_like_nm("cutoff", cutoff, found=found, what="no contact is")
    nearest = outcome.integers("pair")
    # Both selections have atoms: there is a nearest pair, unless all pairs exclude each other.
    if (nearest < 0).any():
        raise SelectionError(
            f"{between(main, others)}: all atoms are at different alternate locations of one"
            " residue, so that there is no pair of them: choose more atoms"
        )
    first, second = nearest.T
    partners = main if others is None else others
    pairs = np.stack([main.indices[first], partners.indices[second]], axis=1)
    topology = main.trajectory.topology if main.trajectory.has_topology else None
    names, numbers = residues_of(topology, pairs)
    codes = insertion_codes_of(topology, pairs)
    also: dict[str, NDArray[np.generic]] = {}
    for k, of in enumerate(("atom", "partner")):
        also[of] = pairs[:, k]
        also.update(residue_columns(of, names, numbers, np.s_[:, k], codes))
    if cutoff is not None:
        also["contacts"] = outcome.integers("count")
    return MinDistance(
        values=outcome.floats("distance"),
        axes=(outcome.frames_axis,),
        name="minimum distance",
        units="Å",
        selections=tuple(each.label for each in (main, others) if each is not None),
        report=outcome.report(messages),
        also=also,
    )
