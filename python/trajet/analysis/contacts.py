"""`contacts`: the number of contacts of two groups."""

from typing import Annotated, Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import ANGSTROM, Above, OtherUpdatingAtoms, UpdatingAtoms
from trajet.analysis.atom_sets import AtomSet, further_set, main_set, selected_locations
from trajet.analysis.distance_units import looks_like_nm, selections_in_nm
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import LabelledSelection, RunOptions, RunRequest
from trajet.result import Table


@analysis(
    axes=("frames",),
    examples=r"""
    trajet contacts adk.psf adk.xtc --select "resid 30:59" --other "resid 122:159" -o contacts.csv
    trajet contacts top.gro run.xtc --select protein --other "resname LIG" --cutoff 4
    trajet contacts top.gro run.xtc --select "name OW and around 6 resid 9" --other "resid 9" \
        --updating
    """,
)
def contacts(
    selection: UpdatingAtoms,
    other: OtherUpdatingAtoms | None = None,
    *,
    cutoff: Annotated[float, ANGSTROM, Above(0)] = 4.5,
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Count the pairs of atoms within a cut-off in each frame.

    Parameters
    ----------
    selection
        A Selection, an updating selection, whose atoms are chosen in each frame, or an MDAnalysis
        AtomGroup whose coordinates are those of a file.
    other
        The second group. Selection text, a Selection, an updating selection or an AtomGroup. None
        for pairs within `selection`, each of which is counted once.
    cutoff
        The largest distance of a contact, Å.
    pbc
        Whether distances are those of nearest images, in frames with a cell.

    Returns
    -------
    Table
        `values` `(n_frames,)`, float64 holding integers, without unit.

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
    A pair at the distance of the cut-off is a contact. An atom is never paired with itself. If two
    groups share atoms i and j, the pairs i, j and j, i are both counted, as by MDAnalysis'
    `distance_array`. With `pbc`, a remark in the report names the number of frames without a cell,
    whose distances are those of the positions as they are.

    Pairs are found by a cell list: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids,
    2nd edition (2017), 5.3.2.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> acidic = traj.select("resname ASP GLU and name OD1 OD2 OE1 OE2")
    >>> tj.contacts(acidic, "resname ARG LYS and name NH1 NH2 NZ", cutoff=4.0).values[:3]
    array([61., 64., 69.])
    """
    main = main_set(selection)
    others = None if other is None else further_set(other, main.trajectory)
    check_for_pairs(main, others)
    cutoff = float(cutoff)
    plan = contacts_plan(main, others, nearest=False, cutoff=cutoff, pbc=pbc)
    sets = [main] if others is None else [main, others]
    outcome = yield RunRequest(plan, sets)
    updating = [each.updating for each in sets]
    cells = outcome.cells
    remarks = cells.missing() if pbc else cells.missing_for(updating)
    remarks += shared_remarks(main, others)
    found = bool(outcome.arrays["count"].any()) or not len(outcome.frames)
    remarks += looks_like_nm("cutoff", "--cutoff", cutoff, found=found, what="no contact is")
    texts = [each.label for each in sets if each.updating is not None]
    remarks += selections_in_nm(texts, found=found)
    return Table(
        values=outcome.integers("count").astype(np.float64),
        axes=(outcome.frames_axis,),
        name="contacts",
        units="",
        selections=tuple(each.label for each in sets),
        report=outcome.report(remarks, recorded={"updating": any(updating)}),
    )


def contacts_plan(
    main: AtomSet, other: AtomSet | None, *, nearest: bool, cutoff: float | None, pbc: bool
) -> Plan:
    """Return the plan that counts contacts, finds the nearest pair, or does both."""
    groups = [main.atoms] if other is None else [main.atoms, other.atoms]
    return Plan(
        "contacts",
        atoms=main.atoms.columns,
        others=None if other is None else other.atoms.columns,
        selections=(main.native, None if other is None else other.native),
        nearest=nearest,
        cutoff=cutoff,
        periodic=pbc,
        locations=selected_locations(groups),
    )


def check_for_pairs(main: AtomSet, other: AtomSet | None) -> None:
    """Raise an error if there is no pair of different atoms.

    Raises
    ------
    SelectionError
        If both groups, or the only one, have the same single atom.
    """
    columns = [each.possible for each in (main, other) if each is not None]
    if len(np.unique(np.concatenate(columns))) < 2:
        labels = " and ".join(repr(each.label) for each in (main, other) if each is not None)
        raise SelectionError(f"{labels}: there is no pair of different atoms: choose more atoms")


def between(main: LabelledSelection, other: LabelledSelection | None) -> str:
    """Return the names of the two groups, or of the only one."""
    return main.label if other is None else f"{main.label} and {other.label}"


def shared_remarks(main: AtomSet, other: AtomSet | None) -> list[str]:
    """Return a remark if pairs of two groups are counted twice, as both groups have both atoms."""
    shared = 0 if other is None else len(np.intersect1d(main.possible, other.possible))
    if shared < 2:
        return []
    is_sure = main.updating is None and other is not None and other.updating is None
    verb = "are" if is_sure else "may be"
    return [
        f"{shared} atoms {verb} in both groups: contacts among them are counted twice, once from"
        " each group: give one group for the contacts within it"
    ]
