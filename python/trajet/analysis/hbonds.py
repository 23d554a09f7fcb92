"""`hbonds`: hydrogen bonds."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import MAX_BLOCKS_OF_ERRORS
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
from trajet.analysis.atom_groups import axis_of_atoms, residues_axis
from trajet.analysis.block_errors import BlockErrors, block_errors, occupancy_series
from trajet.analysis.bond_search import BondSearch
from trajet.analysis.hydrogen_sites import hydrogen_sites
from trajet.analysis.job import Steps, analysis
from trajet.analysis.lifetimes import (
    BYTES_OF_KEY,
    DEFAULT_MEMORY,
    Lasting,
    as_many,
    check_intermittency,
    check_lifetimes,
    within_memory,
)
from trajet.analysis.runner import (
    AnalysisOutcome,
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.unit_warnings import looks_like_nm, looks_like_other_angle
from trajet.labels import atom_names
from trajet.messages import Message
from trajet.result import (
    HydrogenBondList,
    HydrogenBondPairs,
    HydrogenBonds,
)
from trajet.result.axes import Axis
from trajet.result.hydrogen_bonds import MEMBERS
from trajet.result.table import Table
from trajet.topology import Topology
from trajet.trajectory import Selection

# Default cut-offs, Å.
_CUTOFFS = {"donor-acceptor": 3.0, "hydrogen-acceptor": 2.5}
# Bytes of a pair in all blocks, and of the series that are made of them.
_ERROR_BYTES = 3 * 8 * MAX_BLOCKS_OF_ERRORS
# Bytes per entry of a state, while two states are merged and the result is made.
_BYTES = {"occupancies": 4 * 16, "entries": 4 * 40, "keys": BYTES_OF_KEY}


def _symbols(text: str) -> list[str]:
    """Return the symbols of elements in a text with commas."""
    return [symbol.strip() for symbol in text.split(",")]


@analysis(
    counts_repeats=False,
    axes=("frames",),
    check=check_lifetimes,
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
        lifetimes, and dwell times. The frames are then read twice, or more often if `max_memory`
        requires it.
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
        `list_bonds`, `bonds`; with `lifetimes`, `lifetimes` and `dwell_times`.

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

    Notes
    -----
    An atom is no acceptor of its own hydrogens, nor of atoms at another alternate location of its
    residue. Of hydrogens that are not in `selection`, those at other locations than selected atoms
    of their residue do not count. Distances and angles are computed in double
    precision from the stored positions. With `pbc`, `warnings` name the number of frames
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
    frames instead, as the third column of `lifetimes` does; both are the same if each frame has as
    many bonds. It fills gaps for the intermittent one, too. `tj.survival` says what dwell times
    are.

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
    check_intermittency(intermittency)
    messages: list[Message] = []

    def further(atoms: OtherAtoms | None) -> Selection | None:
        return None if atoms is None else further_selection(atoms, first.trajectory)

    second = further(other)
    groups = None if second is None else (first, second)
    # Donors and acceptors are among these atoms.
    main = first if second is None else first | second
    chosen = (further(donors), further(hydrogens), further(acceptors))
    sites = hydrogen_sites(
        main, *chosen, elements=elements, guess_bonds=guess_bonds, messages=messages
    )
    limit = _CUTOFFS[distance] if cutoff is None else float(cutoff)
    criterion: _Criterion = {
        "distance": distance.replace("-", "_"),
        "cutoff": limit,
        "angle": float(angle),
        "donor_angle": None if donor_angle is None else float(donor_angle),
        "periodic": pbc,
    }
    requests = _Requests(
        selections=[first] if second is None else [first, second],
        search=BondSearch(main, sites, groups, by),
        criterion=criterion,
        errors=errors,
        max_memory=max_memory,
    )
    outcome = yield requests.of_pairs()
    values = outcome.integers("count").astype(np.float64)
    listed = None
    if list_bonds:
        listed = yield from _all_bonds(requests, int(values.sum()))
    lasting = None
    if lifetimes:
        lasting = Lasting(outcome, max_lag, intermittency)
        yield from _correlate(requests, outcome, lasting)
        messages += lasting.messages()
    messages += looks_like_nm(
        "cutoff",
        limit,
        found=bool(values.any()) or not len(values),
        what="no hydrogen bond is",
    )
    messages += looks_like_other_angle(float(angle), donor_angle)
    recorded = {
        "n_donors": len(np.unique(sites.pairs[:, 0])),
        "n_hydrogens": len(np.unique(sites.pairs[:, 1])),
        "n_acceptors": len(sites.acceptors),
        **criterion,
        **({} if donor_angle is None else {"angle": None}),
    }
    if pbc:
        messages += outcome.cells.missing()
        messages += outcome.cells.too_small(
            f"distances up to the cut-off of {limit:g} Å are bonds, but",
            "only the nearest image of a pair counts: choose a smaller cut-off",
        )
    members, counts, order = requests.search.table(outcome)
    of_pairs = _errors(outcome, order, messages) if errors else None
    # The store remembers the analysis once.
    report = outcome.report(messages, recorded=recorded, uses_times="lags" if lifetimes else True)
    topology, labels = main.trajectory.topology, tuple(one.label for one in requests.selections)
    parts: dict[str, Table] = {
        "pairs": HydrogenBondPairs(
            values=counts / max(1, len(outcome.frames)),
            axes=(_axis(topology, "residues" if by == "residue" else "atoms", members),),
            name="occupancy",
            units="",
            selections=labels,
            report=report,
            also={"frames": counts},
            n_frames=len(outcome.frames),
            standard_errors=None if of_pairs is None else of_pairs.standard_errors,
            half_widths=None if of_pairs is None else of_pairs.half_widths,
            resolved=None if of_pairs is None else of_pairs.resolved,
        )
    }
    if listed is not None:
        axis = _axis(
            topology, "atoms", main.trajectory.source.index.indices_of(listed.integers("atoms"))
        )
        frames = np.repeat(listed.frames, listed.integers("count"))
        parts["bonds"] = HydrogenBondList(
            values=listed.floats("distances"),
            axes=(replace(axis, kind="bonds", columns={"frame": frames}),),
            name="distance",
            units="Å",
            selections=labels,
            report=report,
            also={"angle": listed.floats("angles")},
        )
    if lasting is not None:
        parts |= lasting.parts(labels, report)
    return HydrogenBonds(
        values=values,
        axes=(outcome.frames_axis,),
        name="hydrogen bonds",
        units="",
        selections=labels,
        report=report,
        parts=parts,
    )


def _axis(
    topology: Topology, kind: Literal["atoms", "residues"], indices: NDArray[np.int64]
) -> Axis:
    """Return the axis of pairs or bonds, given the atoms or residues of each, `(n, 2 or 3)`."""
    known, members = np.unique(indices, return_inverse=True)
    if kind == "residues":
        of = residues_axis(topology, known)
    else:
        of = axis_of_atoms(topology.atoms[known])
        of = of.with_column("residue", topology.atoms_residues[known])
        of = of.with_column("own_label", atom_names(topology, known))
    return Axis("hydrogen bonds", {}, of=of, members=members.reshape(indices.shape))


class _Criterion(TypedDict):
    """The criterion of a hydrogen bond, as parameters of a plan."""

    distance: str
    cutoff: float
    angle: float
    donor_angle: float | None
    periodic: bool


@dataclass(frozen=True, kw_only=True)
class _Requests:
    """Requests of runs over the frames, which have a search and a criterion in common.

    Attributes
    ----------
    selections
        The first group, and the second one if there are two.
    search
        The search.
    criterion
        The criterion of a bond.
    errors
        Whether occupancies are those of blocks of frames, too.
    max_memory
        Bytes that a table or list may take.
    """

    selections: list[Selection]
    search: BondSearch
    criterion: _Criterion
    errors: bool
    max_memory: int

    def of_pairs(self) -> RunRequest:
        """Return the request of the table of pairs with their occupancies."""
        # Errors need a table of each block, and series of all pairs.
        each = _BYTES["occupancies"] + _ERROR_BYTES * self.errors
        too_many = (
            f"more than {self.max_memory // each} different pairs form hydrogen bonds,"
            f" which take more than max_memory={self.max_memory}: raise it,"
            ' choose fewer atoms or frames, or count by="residue"'
            f"{', or leave errors=True out' if self.errors else ''}"
        )
        return self._of("occupancies", each, too_many)

    def of_bonds(self, n_bonds: int) -> RunRequest:
        """Return the request of the list of all bonds."""
        return self._of("entries", _BYTES["entries"], self._too_long(n_bonds))

    def of_keys(self, n_bonds: int, labels: tuple[int, int]) -> RunRequest:
        """Return the request of the bonds of donors with some labels, as keys."""
        return self._of("keys", _BYTES["keys"], self._too_long(n_bonds), labels)

    def _of(
        self, fold: str, each: int, too_large: str, labels: tuple[int, int] | None = None
    ) -> RunRequest:
        """Return the request of a run that collects `fold`, whose entries take `each` bytes."""
        most = max(1, self.max_memory // each)
        plan = self.search.plan(fold, labels, most=most, **self.criterion)
        return RunRequest(
            plan,
            self.selections,
            too_large=too_large,
            in_blocks=self.errors and fold == "occupancies",
        )

    def _too_long(self, n_bonds: int) -> str:
        """Return the message on a list of bonds that does not fit into memory."""
        return (
            f"{self.selections[0].trajectory.label}: the {n_bonds} hydrogen bonds that were to be"
            f" kept at a time take more than max_memory={self.max_memory}:"
            " choose fewer atoms or frames, or, if memory is left, raise max_memory="
        )


def _all_bonds(
    requests: _Requests, n_bonds: int
) -> Generator[RunRequest, AnalysisOutcome, AnalysisOutcome]:
    """Collect all bonds of all frames, `n_bonds` in number.

    Raises
    ------
    MemoryError
        If they do not fit into the memory of the requests.
    """
    size = n_bonds * _BYTES["entries"]
    if size > requests.max_memory:
        raise MemoryError(
            f"a list of {n_bonds} hydrogen bonds takes {size} bytes while it is made, more than"
            f" max_memory={requests.max_memory}: raise it, choose fewer atoms or"
            " frames, or leave list_bonds=True out"
        )
    listed = yield requests.of_bonds(n_bonds)
    return as_many(listed, "distances", n_bonds, "hydrogen bonds")


def _correlate(
    requests: _Requests, outcome: AnalysisOutcome, lasting: Lasting
) -> Generator[RunRequest, AnalysisOutcome, None]:
    """Add all bonds to `lasting`, those of some donors at a time, as memory has room.

    `outcome` is that of the table of pairs.
    """
    of_donors = requests.search.bonds_of_donors(outcome)
    for labels in within_memory(of_donors, requests.max_memory, "bonds of one donor"):
        n_bonds = int(of_donors[slice(*labels)].sum())
        keys = yield requests.of_keys(n_bonds, labels)
        lasting.add_outcome(as_many(keys, "keys", n_bonds, "hydrogen bonds"))


def _errors(
    outcome: AnalysisOutcome, order: NDArray[np.int64], messages: list[Message]
) -> BlockErrors:
    """Return the errors of occupancies, and add a message on those that are not resolved.

    Parameters
    ----------
    outcome
        Of a run over blocks.
    order
        `(n_pairs,)`, the place of each pair by its key.
    messages
        Messages on the result.
    """
    series = occupancy_series(outcome.blocks, outcome.integers("keys"), len(outcome.frames))
    found = block_errors(series[:, order], "occupancies of pairs")
    messages += found.messages
    return found
