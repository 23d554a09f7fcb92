"""`contact_map`: how often residues are in contact."""

import math
from typing import Annotated, Literal, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.alternate_locations import exclude_each_other
from trajet.analysis.arguments import (
    ANGSTROM,
    BYTES,
    PS,
    Above,
    Atoms,
    Between,
    OtherAtoms,
    Unit,
)
from trajet.analysis.atom_groups import labelled_atoms, residues_axis
from trajet.analysis.atom_sets import selected_locations
from trajet.analysis.block_errors import BlockErrors, block_errors
from trajet.analysis.chain_neighbours import ChainNeighbours
from trajet.analysis.job import Steps, analysis
from trajet.analysis.lifetimes import (
    DEFAULT_MEMORY,
    Lasting,
    as_many,
    check_intermittency,
    check_lifetimes,
    frames_of_keys,
    wanted,
    within_memory,
)
from trajet.analysis.runner import (
    AnalysisOutcome,
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.checked_numbers import whole_number
from trajet.memory import check_memory
from trajet.particles import heavy_atoms
from trajet.quoting import quoted
from trajet.result import ContactMap
from trajet.trajectory import Selection


@analysis(
    axes=("residues", "residues"),
    counts_repeats=False,
    check=check_lifetimes,
    examples=r"""
    trajet contact-map adk.psf adk.xtc --select protein --heavy-only --plot map.png
    trajet contact-map top.gro run.xtc --select "resid 1:99" --other "resid 100:198" -o map.csv
    """,
)
def contact_map(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    cutoff: Annotated[float, ANGSTROM, Above(0)] = 4.5,
    heavy_only: bool = False,
    exclude_neighbors: Annotated[int, Between(0)] = 0,
    by: Literal["residue", "atom"] = "residue",
    lifetimes: bool = False,
    max_lag: Annotated[float, PS, Between(0)] | None = None,
    intermittency: Annotated[int, Unit("frames"), Between(0)] = 0,
    pbc: bool = True,
    errors: bool = False,
    max_memory: Annotated[int, BYTES] = DEFAULT_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[ContactMap]:
    """Compute how often residues are in contact.

    The map has the fraction of frames in which each pair of residues is in contact. Two residues
    are in contact in a frame if any selected atom of one is within the cut-off of any selected atom
    of the other.

    Parameters
    ----------
    other
        The second group, whose residues are the columns of the map. Selection text, a Selection or
        an AtomGroup. None for `selection`.
    cutoff
        The largest distance of a contact, Å.
    heavy_only
        Whether hydrogens are left out, and sites that are no atoms, such as virtual sites.
    exclude_neighbors
        Leave out pairs of residues that are at most this many residues apart along the bonds of
        their backbone, which the topology lists, or which are found by distances in frame 0. 0
        leaves out only a residue with itself, 1 also those that follow each other. A gap of missing
        residues ends a chain; disulfides do not count.
    by
        The rows and columns of the map. "residue", or "atom" for contacts of single atoms.
    lifetimes
        Whether the result has the correlation functions of the pairs in contact, which give their
        lifetimes, and dwell times. The frames are then read twice, or more often if `max_memory`
        requires it.
    max_lag
        The largest lag of the correlation functions, ps. None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that does not end a contact.
    pbc
        Whether distances are those of nearest images, in frames with a cell.
    errors
        Whether errors are estimated from blocks of frames. They take up to 1 kB per pair.
    max_memory
        Memory for the contacts of which lifetimes are computed at a time.

    Returns
    -------
    ContactMap
        `values` `(n_rows, n_columns)`, float64, from 0 to 1, NaN for pairs that are left out;
        `counts`, the numbers of frames; the axes of rows and columns; with `errors` also
        `standard_errors` and `half_widths`, longer sides of the 95 % intervals, which are NaN for
        pairs that are in contact in every block of frames equally often; with `lifetimes`,
        `lifetimes` and `dwell_times`.

    Raises
    ------
    SelectionError
        If a selection matches no atom, every pair is left out, or hydrogens are unknown.
    AnalysisError
        If the cut-off is above half of the shortest lattice vector of a frame, or an atom has no
        position; or, for lifetimes, if frames are not evenly spaced.
    MemoryError
        If the map does not fit into memory, or the contacts of one row take more than `max_memory`.
    ValueError
        If the cut-off is not positive, the number of neighbours is negative, or a lag is longer
        than the trajectory.

    Notes
    -----
    A pair of atoms at the distance of the cut-off is a contact, unless they are at different
    alternate locations of one residue; with `by="atom"`, such pairs are left out. A map takes 8
    bytes per pair of residues on each thread. `tj.survival` says what lifetimes and dwell times
    are.

    Pairs are found by a cell list: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids,
    2nd edition (2017), 5.3.2.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.contact_map(traj.select("protein"), heavy_only=True, exclude_neighbors=3)
    >>> result.values.shape
    (214, 214)
    >>> result.plot().savefig("map.png")  # doctest: +SKIP
    """
    if by not in ("residue", "atom"):
        raise ValueError(f"a map is by 'residue' or by 'atom', not {by!r}")
    whole_number(exclude_neighbors, "exclude_neighbors", least=0)
    check_intermittency(intermittency)
    main = main_selection(selection)
    if exclude_neighbors and not main.trajectory.has_topology:
        raise SelectionError(
            "neighbours of residues are unknown without a topology: open the trajectory with one"
        )
    others = None if other is None else further_selection(other, main.trajectory)
    chosen = [main] if others is None else [main, others]
    groups = [_Groups.of(each, by, heavy_only) for each in chosen]
    rows, columns = groups[0], groups[-1]
    parameters = {
        "groups": rows.atoms,
        "others": None if others is None else columns.atoms,
        "cutoff": float(cutoff),
        "periodic": pbc,
        "locations": selected_locations(chosen),
    }
    plan = Plan("contact_map", **parameters, members=None)
    fewer = "choose fewer atoms"
    if by == "atom":
        fewer += ", or residues instead of atoms (by='residue')"
    shape = (len(rows.atoms), len(columns.atoms))
    _check_map(shape, fewer, within=others is None)
    outcome = yield RunRequest(plan, chosen, smaller_state=fewer, in_blocks=errors)
    n_frames = len(outcome.frames)
    neighbours = ChainNeighbours.of(main.trajectory) if exclude_neighbors else None
    left_out = _left_out(rows, columns, exclude_neighbors, neighbours)
    if by == "atom" and main.trajectory.has_topology:
        left_out |= exclude_each_other(
            main.trajectory.topology, rows.numbers[:, np.newaxis], columns.numbers
        )
    if left_out.all():
        raise SelectionError(
            f"every pair of {by}s is left out: choose more atoms, or a smaller exclude_neighbors"
        )
    counts = _square(outcome.integers("counts"), shape, within=others is None)
    lasting = None
    if lifetimes:
        lasting = Lasting(outcome, max_lag, intermittency)
        once = np.triu(counts) if others is None else counts
        for first, end in within_memory(once.sum(axis=1), max_memory, f"contacts of one {by}"):
            members = wanted(max_memory, first * shape[1], end * shape[1])
            part = yield RunRequest(Plan("contact_map", **parameters, members=members), chosen)
            as_many(part, "keys", int(once[first:end].sum()), "contacts")
            keys = part.integers("keys")
            kept = ~left_out.ravel()[keys]
            lasting.add(keys[kept], frames_of_keys(part.integers("count"))[kept])
    counts[left_out] = 0
    with np.errstate(invalid="ignore"):
        # Without frames there is no fraction.
        values = counts / np.float64(n_frames)
    values[left_out] = np.nan
    of_errors = _errors(outcome) if errors else None
    messages = outcome.cells.missing() if pbc else []
    messages += [] if of_errors is None else of_errors.messages
    found = bool(counts.any()) or not n_frames
    messages += looks_like_nm("cutoff", float(cutoff), found=found, what="no contact is")
    messages += [] if lasting is None else lasting.messages()
    labels = tuple(dict.fromkeys(each.label for each in chosen))
    report = outcome.report(messages, uses_times=lifetimes and "lags")
    return ContactMap(
        values=values,
        axes=(rows.axis, columns.axis),
        name="fraction",
        units="",
        selections=labels,
        report=report,
        also={"frames": counts},
        within=others is None,
        cutoff=float(cutoff),
        standard_errors=None
        if of_errors is None
        else _map(of_errors.standard_errors, left_out, others),
        half_widths=None if of_errors is None else _map(of_errors.half_widths, left_out, others),
        resolved=None
        if of_errors is None
        else _map(of_errors.resolved.astype(np.float64), left_out, others) == 1,
        parts={} if lasting is None else lasting.parts(labels, report),
    )


def _check_map(shape: tuple[int, int], fewer: str, *, within: bool) -> None:
    """Raise a MemoryError with the advice `fewer` if a map does not fit into memory."""
    # Numbers of frames, fractions, a mask of pairs; and for half of the pairs two indices, 8 bytes
    # each, or a transposed copy.
    pair_bytes = 25 if within else 17
    n_bytes = pair_bytes * math.prod(shape)
    check_memory([(f"a map of {shape[0]} x {shape[1]} pairs", n_bytes)], None, fewer)


def _errors(outcome: AnalysisOutcome) -> BlockErrors:
    """Return the errors of the fractions of pairs, from a run over blocks."""
    of_blocks = [block["counts"] / np.float64(block["n_frames"]) for block in outcome.blocks]
    n_pairs = outcome.integers("counts").size
    return block_errors(np.array(of_blocks).reshape(-1, n_pairs), "pairs")


def _map(
    errors: NDArray[np.float64], left_out: NDArray[np.bool_], others: Selection | None
) -> NDArray[np.float64]:
    """Return the errors of pairs as a map."""
    values = _square(errors, left_out.shape, within=others is None)
    values[left_out] = np.nan
    return values


_Number = TypeVar("_Number", np.int64, np.float64)


def _square(numbers: NDArray[_Number], shape: tuple[int, ...], *, within: bool) -> NDArray[_Number]:
    """Return a number per pair as a matrix; `within` a group each pair has one number."""
    if not within:
        return numbers.reshape(shape).copy()
    values = np.zeros(shape, numbers.dtype)
    values[np.triu_indices(shape[0], 1)] = numbers
    values += values.T
    return values


class _Groups:
    """The rows or the columns of a map.

    Attributes
    ----------
    by
        "residue" or "atom".
    atoms
        The atoms of each row, by index in a frame.
    keys
        `(n,)`, int64, ascending: the place of each residue, or the index of each atom.
    numbers
        `(n,)`, int64, index of each residue or atom in the topology.
    places
        `(n,)`, int64, the place of each row in its chain; empty without a topology.
    axis
        The axis of the rows.
    """

    def __init__(self, selection: Selection, by: str) -> None:
        columns, known = selection.columns, selection.trajectory.has_topology
        of_atom = selection.topology_atoms.places if by == "residue" else selection.indices
        self.by = by
        self.keys, first, which = np.unique(of_atom, return_index=True, return_inverse=True)
        self.numbers = selection.topology_atoms.residues[first] if by == "residue" else self.keys
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(self.numbers)))[:-1]
        self.atoms = np.split(columns[order], ends)
        self.places = selection.topology_atoms.places[first] if known else np.empty(0, np.int64)
        if by == "residue":
            self.axis = residues_axis(selection.trajectory.topology, self.numbers)
        else:
            self.axis = labelled_atoms(selection).some(first)

    @classmethod
    def of(cls, selection: Selection, by: str, heavy_only: bool) -> "_Groups":
        """Return the rows of a selection, without hydrogens if only heavy atoms count."""
        if heavy_only:
            chosen = heavy_atoms(selection.topology_atoms)
            if not chosen.any():
                raise SelectionError(f"{quoted(selection.label)} has no heavy atoms")
            selection = Selection(selection.trajectory, selection.columns[chosen], selection.text)
        return cls(selection, by)


def _left_out(
    rows: _Groups, columns: _Groups, exclude_neighbors: int, neighbours: ChainNeighbours | None
) -> NDArray[np.bool_]:
    """Return the pairs that are left out, `(n_rows, n_columns)`."""
    left_out: NDArray[np.bool_] = rows.keys[:, np.newaxis] == columns.keys
    if neighbours is not None:
        for k, place in enumerate(rows.places):
            left_out[k] |= neighbours.are_near(
                np.full_like(columns.places, place), columns.places, exclude_neighbors
            )
    return left_out
