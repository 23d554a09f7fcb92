"""`contacts`: the number of contacts of two groups."""

from typing import Annotated, Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import (
    ANGSTROM,
    BYTES,
    PS,
    Above,
    Between,
    OtherUpdatingAtoms,
    Unit,
    UpdatingAtoms,
)
from trajet.analysis.atom_sets import AtomSet, further_set, main_set, selected_locations
from trajet.analysis.job import Steps, analysis
from trajet.analysis.lifetimes import (
    DEFAULT_MEMORY,
    Lasting,
    Wanted,
    check_intermittency,
    check_lifetimes,
    too_many,
    wanted,
)
from trajet.analysis.runner import LabelledSelection, RunOptions, RunRequest
from trajet.analysis.unit_warnings import looks_like_nm, selections_in_nm
from trajet.messages import Code, Message
from trajet.result import Contacts


@analysis(
    axes=("frames",),
    check=check_lifetimes,
    examples=r"""
    trajet contacts adk.psf adk.xtc --select "resid 30:59" --other "resid 122:159" -o contacts.csv
    trajet contacts top.gro run.xtc --select protein --other "resname LIG" --cutoff 4
    trajet contacts top.gro run.xtc --select "name OW and around 6 resid 9" --other "resid 9" \
        --updating
    trajet contacts top.gro run.xtc --select protein --other "resname LIG" \
        --save dwell_times=dwell.csv
    """,
)
def contacts(
    selection: UpdatingAtoms,
    other: OtherUpdatingAtoms | None = None,
    *,
    cutoff: Annotated[float, ANGSTROM, Above(0)] = 4.5,
    lifetimes: bool = False,
    max_lag: Annotated[float, PS, Between(0)] | None = None,
    intermittency: Annotated[int, Unit("frames"), Between(0)] = 0,
    pbc: bool = True,
    max_memory: Annotated[int, BYTES] = DEFAULT_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[Contacts]:
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
    lifetimes
        Whether the result has the correlation functions of the pairs of atoms, which give their
        lifetimes, and dwell times.
    max_lag
        The largest lag of the correlation functions, ps. None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that does not end a contact.
    pbc
        Whether distances are those of nearest images, in frames with a cell.
    max_memory
        Memory for the pairs of all frames, of which lifetimes are computed.

    Returns
    -------
    Contacts
        `values` `(n_frames,)`, float64 holding integers, without unit; with `lifetimes`,
        `lifetimes` and `dwell_times`.

    Raises
    ------
    SelectionError
        If a selection matches no atom, or there is no pair of different atoms.
    AnalysisError
        If the cut-off is above half of the shortest lattice vector of a frame, or an atom has no
        position; or, for lifetimes, if frames are not evenly spaced.
    MemoryError
        If the pairs of all frames take more than `max_memory`.
    ValueError
        If the cut-off is not positive, or a lag is longer than the trajectory.

    Notes
    -----
    A pair at the distance of the cut-off is a contact. An atom is never paired with itself. If two
    groups share atoms i and j, the pairs i, j and j, i are both counted, as by MDAnalysis'
    `distance_array`. With `pbc`, a message in the report names the number of frames without a cell,
    whose distances are those of the positions as they are. `tj.survival` says what lifetimes and
    dwell times are.

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
    check_intermittency(intermittency)
    main = main_set(selection)
    others = None if other is None else further_set(other, main.trajectory)
    check_for_pairs(main, others)
    cutoff = float(cutoff)
    sets = [main] if others is None else [main, others]
    members = wanted(max_memory) if lifetimes else None
    plan = contacts_plan(main, others, nearest=False, cutoff=cutoff, pbc=pbc, members=members)
    outcome = yield RunRequest(plan, sets, too_large=too_many("contacts", max_memory))
    lasting = None
    if lifetimes:
        lasting = Lasting(outcome, max_lag, intermittency)
        lasting.add_outcome(outcome)
    updating = [each.updating for each in sets]
    cells = outcome.cells
    messages = cells.missing() if pbc else cells.missing_for(updating)
    messages += shared_messages(main, others)
    found = bool(outcome.arrays["count"].any()) or not len(outcome.frames)
    messages += looks_like_nm("cutoff", cutoff, found=found, what="no contact is")
    texts = [each.label for each in sets if each.updating is not None]
    messages += selections_in_nm(texts, found=found)
    messages += [] if lasting is None else lasting.messages()
    labels = tuple(each.label for each in sets)
    report = outcome.report(
        messages, recorded={"updating": any(updating)}, uses_times="lags" if lifetimes else True
    )
    return Contacts(
        values=outcome.integers("count").astype(np.float64),
        axes=(outcome.frames_axis,),
        name="contacts",
        units="",
        selections=labels,
        report=report,
        parts={} if lasting is None else lasting.parts(labels, report),
    )


def contacts_plan(
    main: AtomSet,
    other: AtomSet | None,
    *,
    nearest: bool,
    cutoff: float | None,
    pbc: bool,
    members: Wanted | None = None,
) -> Plan:
    """Return the plan that counts contacts, and finds the nearest pair or collects `members`."""
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
        members=members,
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


def shared_messages(main: AtomSet, other: AtomSet | None) -> list[Message]:
    """Return a message if pairs of two groups are counted twice, as both groups have both atoms."""
    shared = 0 if other is None else len(np.intersect1d(main.possible, other.possible))
    if shared < 2:
        return []
    is_sure = main.updating is None and other is not None and other.updating is None
    verb = "are" if is_sure else "may be"
    return [
        Message(
            Code.SHARED_ATOMS,
            f"{shared} atoms {verb} in both groups: contacts among them are counted twice, once"
            " from each group",
            "give one group for the contacts within it",
        )
    ]
