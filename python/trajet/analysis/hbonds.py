"""`hbonds`: hydrogen bonds."""

from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import MOST_BLOCKS_OF_ERRORS, AnalysisError, Plan, SelectionError
from trajet.analysis.arguments import (
    ANGSTROM,
    BYTES,
    DEGREES,
    PS,
    Above,
    Atoms,
    Between,
    OtherAtoms,
    ParsedOption,
    Unit,
)
from trajet.analysis.block_errors import BlockErrors, block_errors, occupancy_series
from trajet.analysis.bond_lifetimes import (
    add_bonds,
    frames_of_lag,
    interval_of,
    sums_by_lag,
    undecayed,
    unresolved,
)
from trajet.analysis.contacts import between, pairs_entries
from trajet.analysis.distance_units import looks_like_nm
from trajet.analysis.hydrogen_sites import HydrogenSites, hydrogen_sites
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import (
    AnalysisOutcome,
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
    selection_seconds,
)
from trajet.checked_numbers import whole_number
from trajet.quoting import quoted
from trajet.result import (
    HydrogenBondLifetimes,
    HydrogenBondList,
    HydrogenBondPairs,
    HydrogenBonds,
    Report,
)
from trajet.result.hydrogen_bonds import MEMBERS
from trajet.trajectory import Selection

# Default cut-offs, Å.
_CUTOFFS = {"donor-acceptor": 3.0, "hydrogen-acceptor": 2.5}
# Bytes of a pair in all blocks, and of the series that are made of them.
_ERROR_BYTES = 3 * 8 * MOST_BLOCKS_OF_ERRORS
# Bytes per entry of a state, while two states are merged and the result is made.
_BYTES = {"occupancies": 4 * 16, "bonds": 4 * 40, "keys": 6 * 8}
DEFAULT_MEMORY = 2**30


def _symbols(text: str) -> list[str]:
    """Return the symbols of elements in a text with commas."""
    return [symbol.strip() for symbol in text.split(",")]


def _check(*, lifetimes: bool, max_lag: float | None, intermittency: int) -> None:
    """Raise a ValueError for parameters of lifetimes without these."""
    if not lifetimes and (max_lag is not None or intermittency):
        raise ValueError("max_lag= and intermittency= are options of lifetimes: set lifetimes=True")


@analysis(
    counts_repeats=False,
    check=_check,
    select="all",
    notes=(
        "The topology needs bonds, or --guess-bonds. Distances are those of nearest images:"
        " positions need no repair."
    ),
    examples=r"""
    trajet hbonds top.tpr run.xtc --select protein -o number.csv --save pairs=pairs.csv
    trajet hbonds top.tpr run.xtc --select protein --other "resname SOL" --by residue --plot h.png
    trajet hbonds top.tpr run.xtc --select "resname SOL" --distance hydrogen-acceptor --angle 120
    trajet hbonds top.tpr run.xtc --select protein --save lifetimes=lifetimes.csv --max-lag 100
    """,
)
def hbonds(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    donors: OtherAtoms | None = None,
    hydrogens: OtherAtoms | None = None,
    acceptors: OtherAtoms | None = None,
    elements: Annotated[Sequence[str], ParsedOption(_symbols, "A,B,…")] = ("N", "O"),
    guess_bonds: bool = False,
    distance: Literal["donor-acceptor", "hydrogen-acceptor"] = "donor-acceptor",
    cutoff: Annotated[float, ANGSTROM, Above(0)] | None = None,
    angle: Annotated[float, DEGREES, Between(0, 180)] = 150.0,
    donor_angle: Annotated[float, DEGREES, Between(0, 180)] | None = None,
    list_bonds: bool = False,
    lifetimes: bool = False,
    max_lag: Annotated[float, PS, Between(0)] | None = None,
    intermittency: Annotated[int, Unit("frames"), Between(0)] = 0,
    by: Literal["bond", "pair", "residue"] = "bond",
    pbc: bool = True,
    errors: bool = False,
    max_memory: Annotated[int, BYTES] = DEFAULT_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[HydrogenBonds]:
    """Find hydrogen bonds by distance and angle.

    The result has their number in each frame, and the pairs that form them. A hydrogen H that is
    bonded to the donor D forms a hydrogen bond with the acceptor A if their distance is at most
    `cutoff`, and the angle D-H-A is at least `angle`, or the angle H-D-A at most `donor_angle`.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. Donors and
        acceptors are among these atoms; hydrogens belong to their donors.
    other
        The second group, for bonds between a donor of one group and an acceptor of the other, in
        both directions. Selection text, a Selection or an AtomGroup. None for bonds within
        `selection`.
    donors
        Atoms that are donors. As `other`. None for those of the `elements` with hydrogens.
    hydrogens
        Hydrogens of the donors. As `other`. None for all that donors have.
    acceptors
        Atoms that are acceptors. As `other`. None for those of the `elements`.
    elements
        Elements of donors and acceptors. Elements that a topology lacks are guessed from masses or
        names.
    guess_bonds
        Whether the bonds of donors and hydrogens are guessed from distances in the structure file,
        instead of taken from the topology.
    distance
        The distance that `cutoff` limits. "donor-acceptor" or "hydrogen-acceptor".
    cutoff
        Largest distance, Å. None for 3.0 Å of donor and acceptor, or 2.5 Å of hydrogen and
        acceptor.
    angle
        Least angle D-H-A, degrees; without effect if `donor_angle` is given.
    donor_angle
        Largest angle H-D-A, degrees, instead of `angle`. `cutoff=3.5, donor_angle=30` is the
        criterion of `gmx hbond`.
    list_bonds
        Whether the result lists each hydrogen bond of each frame. The frames are then read twice.
    lifetimes
        Whether the result has the correlation functions of the pairs of `by`, which give their
        lifetimes. The frames are then read twice, or more often if `max_memory` requires it.
    max_lag
        The largest lag of the correlation functions, ps. None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that the continuous correlation ignores. A pair that is bonded
        before and after it counts as bonded throughout.
    by
        The pairs whose occupancies are computed. "bond" for each hydrogen with an acceptor, "pair"
        for each donor with an acceptor, "residue" for residues of donors and acceptors.
    pbc
        Whether distances and angles are those of nearest images, in frames with a cell.
    errors
        Whether errors of occupancies are estimated from blocks of frames. They take up to 3 kB per
        pair, within `max_memory`.
    max_memory
        Memory for the table of pairs and the errors of their occupancies, for the list of bonds,
        and for the bonds that are correlated at a time.

    Returns
    -------
    HydrogenBonds
        `values` `(n_frames,)`, the number of hydrogen bonds; `pairs` with their occupancies; with
        `list_bonds`, `bonds`; with `lifetimes`, `lifetimes`.

    Raises
    ------
    SelectionError
        If the topology has no bonds, hydrogens, donors or acceptors.
    MemoryError
        If pairs or bonds take more than `max_memory`.
    AnalysisError
        If an atom has no position in a frame, or, for lifetimes, if frames are not evenly spaced;
        or if a second run over the frames collects more or fewer bonds than they have.
    ValueError
        If a lag is longer than the trajectory, or a limit is impossible.
    FrameError, FormatError
        If a frame is out of range, or corrupt.

    Notes
    -----
    An atom is no acceptor of its own hydrogens. Distances and angles are computed in double
    precision from the stored positions. With `pbc`, remarks in the report name the number of frames
    without a cell, in which bonds are those of the positions as they are, and of frames whose cell
    is too small for the cut-off. MDAnalysis' `HydrogenBondAnalysis` with the same donors,
    hydrogens and acceptors finds the same bonds, but for pairs within rounding (1e-5 Å) of the
    cut-off; it also drops pairs of donor and acceptor that are closer than 1 Å.

    The correlation functions are ratios of sums over all pairs and all frames t with t + τ within
    the trajectory. Let h(t) be 1 if a pair is bonded in frame t, else 0, and H(t) the same after
    gaps of up to `intermittency` frames are filled. The intermittent correlation is
    Σ h(t) h(t + τ) / Σ h(t) (A. Luzar and D. Chandler, Nature 379, 55 (1996),
    doi:10.1038/379055a0), the continuous one Σ H(t) H(t + Δ) … H(t + τ) / Σ H(t), with the
    interval Δ of the frames (D. C. Rapaport, Mol. Phys. 50, 1151 (1983),
    doi:10.1080/00268978300102931). MDAnalysis' `lifetime` averages the ratios of single start
    frames instead, which gives the same if each has as many bonds, and fills gaps for both.

    Criteria: E. N. Baker and R. E. Hubbard, Prog. Biophys. Mol. Biol. 44, 97 (1984),
    doi:10.1016/0079-6107(84)90007-5; R. J. Gowers and P. Carbone, J. Chem. Phys. 142, 224907
    (2015), doi:10.1063/1.4922445.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> found = tj.hbonds(traj.select("protein"))
    >>> found.values[:3]
    array([92., 94., 97.])
    >>> found.pairs.labels(1)
    ['ARG71:NH2-HH22 -- ASP76:OD1']
    """
    first = main_selection(selection)
    if by not in MEMBERS:
        raise ValueError(f"by is one of {', '.join(map(repr, MEMBERS))}, not {by!r}")
    if distance not in _CUTOFFS:
        raise ValueError(f"distance is one of {', '.join(map(repr, _CUTOFFS))}, not {distance!r}")
    whole_number(intermittency, "intermittency is a number of frames: it", least=0)
    remarks: list[str] = []

    def further(atoms: OtherAtoms | None) -> Selection | None:
        return None if atoms is None else further_selection(atoms, first.trajectory)

    second = further(other)
    groups = None if second is None else (first, second)
    # Donors and acceptors are among these atoms.
    main = first if second is None else first | second
    chosen = (further(donors), further(hydrogens), further(acceptors))
    sites = hydrogen_sites(
        main, *chosen, elements=elements, guess_bonds=guess_bonds, remarks=remarks
    )
    search = _Search(main, sites, groups, by)
    limit = _CUTOFFS[distance] if cutoff is None else float(cutoff)
    criterion = {
        "distance": distance.replace("-", "_"),
        "cutoff": limit,
        "angle": float(angle),
        "donor_angle": None if donor_angle is None else float(donor_angle),
        "periodic": pbc,
    }

    # Errors need a table of each block, and series of all pairs.
    n_bytes = {**_BYTES, "occupancies": _BYTES["occupancies"] + _ERROR_BYTES * errors}

    def request(fold: str, too_large: str, labels: tuple[int, int] | None = None) -> RunRequest:
        most = max(1, max_memory // n_bytes[fold])
        plan = search.plan(fold, labels, most=most, **criterion)
        return RunRequest(
            main.trajectory,
            lambda _: plan,
            t_select=selection_seconds(first, second, *chosen),
            too_large=too_large,
            in_blocks=errors and fold == "occupancies",
            **run,
        )

    too_many = (
        f"more than {max_memory // n_bytes['occupancies']} different pairs form hydrogen bonds,"
        f" which take more than max_memory={max_memory} bytes (--max-memory): raise it, choose"
        ' fewer atoms or frames, or count by="residue"'
        f"{', or leave errors out' if errors else ''}"
    )
    outcome = yield request("occupancies", too_many)
    values = outcome.integers("count").astype(np.float64)
    listed = None
    if list_bonds:
        size = int(values.sum()) * _BYTES["bonds"]
        if size > max_memory:
            raise MemoryError(
                f"a list of {int(values.sum())} hydrogen bonds takes {size} bytes while it is made,"
                f" more than max_memory={max_memory} (--max-memory): raise it, choose fewer atoms"
                " or frames, or leave list_bonds out"
            )
        too_long = _too_long(main, int(values.sum()), max_memory)
        listed = _check_bonds((yield request("bonds", too_long)), "distances")
    lasting, interval = None, 0.0
    if lifetimes:
        interval = interval_of(outcome)
        longest = frames_of_lag(max_lag, interval, len(values))
        correlation = _trajet.Correlation(len(values), longest, intermittency)
        of_donors = search.bonds_of_donors(outcome)
        for labels in search.parts(of_donors, max_memory // _BYTES["keys"]):
            too_long = _too_long(main, int(of_donors[slice(*labels)].sum()), max_memory)
            keys = _check_bonds((yield request("keys", too_long, labels)), "keys")
            add_bonds(correlation, keys)
        lasting = sums_by_lag(correlation)
        remarks += [*unresolved(lasting, interval), *undecayed(lasting)]
    remarks += looks_like_nm(
        "cutoff",
        "--cutoff",
        limit,
        found=bool(values.any()) or not len(values),
        what="no hydrogen bond is",
    )
    parameters = {
        **pairs_entries(first, second),
        "n_donors": len(np.unique(sites.pairs[:, 0])),
        "n_hydrogens": len(np.unique(sites.pairs[:, 1])),
        "n_acceptors": len(sites.acceptors),
        **criterion,
        **({} if donor_angle is None else {"angle": None}),
        "list_bonds": list_bonds,
        "lifetimes": lifetimes,
        "max_lag": max_lag,
        "intermittency": intermittency,
        "by": by,
        "errors": errors,
        "max_memory": max_memory,
    }
    if pbc:
        remarks += outcome.cells.missing()
        remarks += outcome.cells.too_small(
            f"distances up to the cut-off of {limit:g} Å are bonds, but",
            "only the nearest image of a pair counts: choose a smaller cut-off",
        )
    members, counts, order = search.table(outcome)
    of_pairs = _errors(outcome, order, remarks) if errors else None
    # The store remembers the analysis once.
    report = outcome.report("hbonds", parameters, remarks=remarks)
    return HydrogenBonds(
        values=values,
        times=outcome.times,
        frames=outcome.frames,
        units="",
        columns=(between(first, second),),
        name="hydrogen bonds",
        report=report,
        pairs=HydrogenBondPairs(
            by=by,
            members=members,
            counts=counts,
            n_frames=len(outcome.frames),
            topology=main.trajectory.topology,
            stored_labels=None,
            report=report,
            standard_errors=None if of_pairs is None else of_pairs.standard_errors,
            half_widths=None if of_pairs is None else of_pairs.half_widths,
        ),
        bonds=None if listed is None else _list_of(main, listed, report),
        lifetimes=None
        if lasting is None
        else HydrogenBondLifetimes(
            times=interval * np.arange(len(lasting[0]), dtype=np.float64),
            intermittent=lasting[0],
            continuous=lasting[1],
            intermittency=intermittency,
            report=report,
        ),
    )


class _Search:
    """A search for hydrogen bonds: its donors and acceptors, and the labels of their groups.

    Parameters
    ----------
    main
        The main selection.
    sites
        Donors with their hydrogens, and acceptors.
    groups
        Two groups, for bonds between them; None for bonds of all.
    by
        Kind of pairs, as for `hbonds`.
    """

    def __init__(
        self,
        main: Selection,
        sites: HydrogenSites,
        groups: tuple[Selection, Selection] | None,
        by: str,
    ) -> None:
        topology = main.trajectory.topology
        pairs, acceptors = sites.pairs, sites.acceptors
        # The groups that have labels, and the label of each pair and acceptor.
        if by == "residue":
            of_donors = topology.atoms_residues[pairs[:, :1]]
            of_acceptors = topology.atoms_residues[acceptors]
        else:
            of_donors, of_acceptors = pairs if by == "bond" else pairs[:, :1], acceptors
        self._donors, labels = np.unique(of_donors, axis=0, return_inverse=True)
        self._acceptors, acceptor_labels = np.unique(of_acceptors, return_inverse=True)
        columns = [_columns(main, atoms) for atoms in (pairs[:, 0], pairs[:, 1], acceptors)]
        self._searches: list[dict[str, NDArray[np.int64]]] = []
        for donor_group, acceptor_group in _directions(groups):
            kept = _among(pairs[:, 0], donor_group)
            taken = _among(acceptors, acceptor_group)
            self._searches.append(
                {
                    "donors": columns[0][kept],
                    "hydrogens": columns[1][kept],
                    "donor_labels": labels.reshape(-1)[kept],
                    "acceptors": columns[2][taken],
                    "acceptor_labels": acceptor_labels[taken],
                }
            )
        if groups is not None and not any(
            len(search["donors"]) and len(search["acceptors"]) for search in self._searches
        ):
            raise SelectionError(
                f"between {quoted(groups[0].label)} and {quoted(groups[1].label)}: neither group"
                " has a donor with hydrogens where the other has an acceptor"
            )

    def plan(
        self, fold: str, labels: tuple[int, int] | None, *, most: int, **criterion: object
    ) -> Plan:
        """Return the plan of a run that collects `fold`, with at most `most` entries.

        Only the donors with a label in the range `labels` are searched; None for all.
        """
        searches = self._searches
        if labels is not None:
            searches = [_with_labels(search, *labels) for search in searches]
        return Plan(
            "hydrogen_bonds",
            searches=searches,
            fold=fold,
            most=most,
            n_acceptor_labels=len(self._acceptors),
            **criterion,
        )

    def bonds_of_donors(self, outcome: AnalysisOutcome) -> NDArray[np.int64]:
        """Return the number of bonds of each label of donors, from a run for occupancies."""
        labels = outcome.integers("keys") // len(self._acceptors)
        counts = outcome.integers("counts")
        return np.bincount(labels, counts, len(self._donors)).astype(np.int64)

    def parts(self, bonds: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
        """Return ranges of labels of donors with at most `most` bonds each.

        Parameters
        ----------
        bonds
            Number of bonds of each label.

        Raises
        ------
        MemoryError
            If one donor has more.
        """
        if bonds.max(initial=0) > most:
            raise MemoryError(
                f"the {bonds.max()} bonds of one donor take {bonds.max() * _BYTES['keys']} bytes"
                " while they are correlated, more than max_memory (--max-memory): raise it, or"
                " choose fewer frames"
            )
        ends = np.concatenate([[0], np.cumsum(bonds)])
        parts = []
        first = 0
        while first < len(bonds):
            last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
            parts.append((first, last))
            first = last
        return parts

    def table(
        self, outcome: AnalysisOutcome
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return members and count of each pair, the most frequent first, and its place by key."""
        keys, counts = outcome.integers("keys"), outcome.integers("counts")
        donors, acceptors = np.divmod(keys, len(self._acceptors))
        order = np.argsort(-counts, kind="stable")
        members = np.column_stack([self._donors[donors], self._acceptors[acceptors]])
        return members[order], counts[order], order


def _errors(outcome: AnalysisOutcome, order: NDArray[np.int64], remarks: list[str]) -> BlockErrors:
    """Return the errors of occupancies, and add a remark on those that are not resolved.

    Parameters
    ----------
    outcome
        Of a run over blocks.
    order
        `(n_pairs,)`, the place of each pair by its key.
    remarks
        Remarks on the result.
    """
    series = occupancy_series(outcome.blocks, outcome.integers("keys"), len(outcome.frames))
    found = block_errors(series[:, order], "occupancies of pairs")
    remarks += found.remarks
    return found


def _with_labels(
    search: dict[str, NDArray[np.int64]], first: int, last: int
) -> dict[str, NDArray[np.int64]]:
    """Return a search of the donors with a label from `first` on, before `last`."""
    kept = (search["donor_labels"] >= first) & (search["donor_labels"] < last)
    return {
        name: values[kept] if name in ("donors", "hydrogens", "donor_labels") else values
        for name, values in search.items()
    }


def _directions(
    groups: tuple[Selection, Selection] | None,
) -> list[tuple[Selection | None, Selection | None]]:
    """Return the group of the donors and that of the acceptors of each search; None for all."""
    return [(None, None)] if groups is None else [groups, groups[::-1]]


def _among(atoms: NDArray[np.int64], group: Selection | None) -> NDArray[np.bool_]:
    """Return which atoms belong to a group."""
    return np.isin(atoms, group.indices) if group is not None else np.ones(len(atoms), np.bool_)


def _columns(main: Selection, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns of atoms in a frame.

    Raises
    ------
    SelectionError
        If an atom is in a tag of a data set that is not open.
    """
    columns, there = main.trajectory.columns_of(atoms)
    if not there.all():
        raise SelectionError(
            f"{main.trajectory.label}: hydrogens of {int((~there).sum())} donors are in tags that"
            " are not open: open the whole data set"
        )
    return columns


def _too_long(main: Selection, n_bonds: int, max_memory: int) -> str:
    """Return the message on a list of bonds that does not fit into memory."""
    return (
        f"{main.trajectory.label}: the {n_bonds} hydrogen bonds that were to be kept at a time take"
        f" more than max_memory={max_memory} bytes (--max-memory): choose fewer atoms or frames,"
        " or, if memory is left, raise max_memory"
    )


def _check_bonds(outcome: AnalysisOutcome, name: str) -> AnalysisOutcome:
    """Return the outcome if the array `name` has as many bonds as the frames have.

    Raises
    ------
    AnalysisError
        If their numbers differ.
    """
    expected, collected = int(outcome.integers("count").sum()), len(outcome.arrays[name])
    if collected != expected:
        raise AnalysisError(
            f"{outcome.trajectory.label}: the frames have {expected} hydrogen bonds, but"
            f" {collected} were collected: run the analysis again, and report a bug if this stays"
        )
    return outcome


def _list_of(main: Selection, listed: AnalysisOutcome, report: Report) -> HydrogenBondList:
    """Return the list of all bonds."""
    donors, hydrogens, acceptors = main.trajectory.indices_of(listed.integers("atoms")).T
    return HydrogenBondList(
        frames=np.repeat(listed.frames, listed.integers("count")),
        donors=donors,
        hydrogens=hydrogens,
        acceptors=acceptors,
        distances=listed.floats("distances"),
        angles=listed.floats("angles"),
        report=report,
        topology=main.trajectory.topology,
    )
