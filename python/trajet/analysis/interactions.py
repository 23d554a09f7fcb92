"""`interactions`: contacts by the chemistry of atoms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import MAX_BLOCKS_OF_ERRORS, FormatError, SelectionError
from trajet.analysis.arguments import (
    BYTES,
    PS,
    AsOption,
    Atoms,
    Between,
    OtherAtoms,
    ParsedOption,
    Unit,
)
from trajet.analysis.block_errors import BlockErrors, block_errors, occupancy_series, with_errors
from trajet.analysis.interaction_search import WORDS, InteractionSearch, limits_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.lifetimes import (
    BYTES_OF_KEY,
    Lasting,
    as_many,
    check_intermittency,
    check_lifetimes,
    frames_of_keys,
    messages_by_kind,
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
from trajet.messages import Message
from trajet.perception.chemistry import perceived
from trajet.perception.ligands import Template
from trajet.quantities import hint_on_text
from trajet.result import (
    Chemistry,
    InteractionBits,
    InteractionList,
    InteractionPairs,
    Interactions,
    Report,
)
from trajet.result.axes import Axis, named
from trajet.result.interactions import BRIDGE, KINDS, labels_of_pairs
from trajet.result.lifetimes_by_kind import LASTING
from trajet.result.table import Table
from trajet.trajectory import Selection

# Limits of each kind: the largest distance, Å, then angles, degrees; see `interactions`.
CRITERIA: Mapping[str, tuple[float, ...]] = {
    "hydrophobic": (4.5,),
    "hbond": (3.5, 130),
    "pi-face": (5.5, 35, 33),
    "pi-edge": (6.5, 50, 30, 1.5),
    "ionic": (4.5,),
    "cation-pi": (4.5, 30),
    "halogen": (3.5, 130, 80, 140),
    "metal": (2.8,),
}
# Those that words of kinds with another name use.
_CRITERIA_OF = {"pi": ("pi-face", "pi-edge"), "water-bridge": ("hbond",)}
# The limit that is a distance, besides the first of each kind.
_DISTANCES = (("pi-edge", 3),)
_KINDS = tuple(word for word in WORDS if word not in ("vdw", "water-bridge"))
# Bytes of a pair in all blocks, and of the series that are made of them.
_ERROR_BYTES = 3 * 8 * MAX_BLOCKS_OF_ERRORS
# Bytes per entry of a state, while two states are merged and the result is made.
_BYTES = {"occupancies": 4 * 16, "keys": 4 * 8, "entries": 4 * 64}


def _words(text: str) -> list[str]:
    """Return the words of a text with commas."""
    return [word.strip() for word in text.split(",")]


def _limits(text: str) -> dict[str, tuple[float, ...]]:
    """Return the limits in a text such as "hydrophobic=4,hbond=3.3/140"."""
    pairs = [one.partition("=")[::2] for one in _words(text)]
    return {name.strip(): tuple(map(float, numbers.split("/"))) for name, numbers in pairs}


_TEMPLATES = AsOption(
    Annotated[Sequence[str], ParsedOption(str, "[NAME=]SMILES|FILE", is_repeated=True)]
)


def _chemistry_of(text: str) -> Chemistry:
    """Return the chemistry in a file.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        return Chemistry.load(text)
    except (OSError, FormatError) as error:
        raise ValueError(str(error)) from error


def _check(
    *,
    kinds: str | Sequence[str],
    by: str,
    max_waters: int,
    chemistry: object,
    lifetimes: bool,
    max_lag: float | None,
    intermittency: int,
) -> None:
    """Raise an error for words that are no kinds, impossible numbers, and no chemistry."""
    words = _listed(kinds)
    if not words or (wrong := [word for word in words if word not in WORDS]):
        wrong = wrong if words else ["none"]
        raise ValueError(
            f"kinds are some of {', '.join(map(repr, WORDS))}, not {', '.join(map(repr, wrong))}"
        )
    if by not in ("residue", "atom"):
        raise ValueError(f"by is 'residue' or 'atom', not {by!r}")
    whole_number(max_waters, "max_waters", least=1)
    check_lifetimes(lifetimes=lifetimes, max_lag=max_lag, intermittency=intermittency)
    check_intermittency(intermittency)
    if not isinstance(chemistry, Chemistry | None):
        raise TypeError(
            f"chemistry= is what tj.chemistry(...) returns, not {type(chemistry).__name__}:"
            " tj.Chemistry.load('chemistry.json') restores it from a file"
        )


def _listed(kinds: str | Sequence[str]) -> Sequence[str]:
    """Return words of kinds, of which one may be given alone."""
    return [kinds] if isinstance(kinds, str) else kinds


@analysis(
    counts_repeats=False,
    axes=("frames", "kinds"),
    check=_check,
    notes="Nearest images are taken: positions need no repair.",
    examples=r"""
    trajet interactions top.tpr run.xtc --select "resname LIG" --other protein -o number.csv
    trajet interactions top.psf run.xtc --select "resname LIG" --other protein \
        --template LIG=lig.sdf --save pairs=pairs.csv --plot number.png
    trajet interactions top.tpr run.xtc --select "chainID A" --other "chainID B" --by atom \
        --kinds hbond,ionic --criteria "hbond=3.3/140,ionic=4" --save pairs=pairs.csv
    """,
)
def interactions(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    kinds: Annotated[str | Sequence[str], ParsedOption(_words, "A,B,…")] = _KINDS,
    template: Annotated["Template | Mapping[str, Template] | None", _TEMPLATES] = None,
    chemistry: Annotated[Chemistry, ParsedOption(_chemistry_of, "FILE")] | None = None,
    water: OtherAtoms | None = None,
    max_waters: Annotated[int, Between(1, 16)] = 1,
    criteria: Annotated[Mapping[str, float | Sequence[float]], ParsedOption(_limits, "KIND=A/B,…")]
    | None = None,
    by: Literal["residue", "atom"] = "residue",
    exclude_neighbors: Annotated[int, Between(0)] = 0,
    bits: bool = False,
    list_all: bool = False,
    lifetimes: bool = False,
    max_lag: Annotated[float, PS, Between(0)] | None = None,
    intermittency: Annotated[int, Unit("frames"), Between(0)] = 0,
    pbc: bool = True,
    errors: bool = False,
    max_memory: Annotated[int, BYTES] = 2**30,
    **run: Unpack[RunOptions],
) -> Steps[Interactions]:
    """Find interactions by the chemistry of atoms.

    The result has the number of interacting pairs of residues of each kind in each frame, and these
    pairs with their occupancies. Roles of atoms are those that `trajet.chemistry` finds.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. Kinds have
        names from its side: "hbond-donor" is a donor of these atoms, "anionic" an anion.
    other
        The second group. Selection text, a Selection or an AtomGroup. None for pairs within
        `selection`, with names from the side of the residue that is first in the topology.
    kinds
        Kinds of interactions: "hydrophobic", "hbond" (hbond-donor, hbond-acceptor), "pi" (pi-face,
        pi-edge), "ionic" (anionic, cationic), "cation-pi" (cation-pi, pi-cation), "halogen"
        (halogen-acceptor, halogen-donor), "metal" (metal-donor, metal-acceptor), "vdw" and
        "water-bridge". One word, or several.
    template
        Structures of residues that no table has, as for `trajet.chemistry`.
    chemistry
        The chemistry of all atoms, instead of that which is found.
    water
        Waters that may be bridges. As `other`. None for "water".
    max_waters
        Most waters of a bridge.
    criteria
        Limits of kinds by name, in place of the defaults: the largest distance, Å, then angles,
        degrees, as in `{"hydrophobic": 4, "hbond": (3.3, 140)}`. See Notes.
    by
        The ends of pairs. "residue", or "atom" for atoms and rings.
    exclude_neighbors
        Leave out pairs of residues that are at most this many residues apart in their chain, as for
        `contact_map`.
    bits
        Whether the result has the pairs of each frame, for timelines, similarities and slices. The
        frames are then read once more.
    list_all
        Whether the result lists each interaction of atoms with distance and angles. The frames are
        then read once more.
    lifetimes
        Whether the result has, by kind, the correlation functions of the pairs, which give their
        lifetimes, and dwell times. The frames are then read once more.
    max_lag
        The largest lag of the correlation functions, ps. None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that does not end an interaction of a pair.
    pbc
        Whether distances and angles are those of nearest images, in frames with a cell.
    errors
        Whether errors of occupancies are estimated from blocks of frames. They take up to 3 kB per
        pair, within `max_memory`.
    max_memory
        Memory for the table of pairs and the errors of their occupancies, and for the lists of all.

    Returns
    -------
    Interactions
        `values` `(n_frames, n_kinds)`, the number of pairs; `pairs` with their occupancies; with
        `bits`, `bits`; with `list_all`, `list`; with `lifetimes`, `lifetimes` and `dwell_times`.

    Raises
    ------
    SelectionError
        If an atom has no chemistry, or there are no waters for bridges.
    MemoryError
        If pairs or lists take more than `max_memory`.
    AnalysisError
        If an atom has no position in a frame, or, for lifetimes, if frames are not evenly spaced.
    TypeError
        If `chemistry` is something else, such as a path, or a limit is a text.
    ValueError
        If a kind is not known, a limit is impossible, both groups are the same atoms, or a lag is
        longer than the trajectory.

    Notes
    -----
    Two atoms interact if their roles and the distance allow it; limits belong to the range.

    - hydrophobic, ionic, metal: distance of two atoms.
    - hbond: distance of donor and acceptor; least angle D-H-A.
    - pi-face: distance of the centres of two rings; largest angle of their planes; largest angle of
      the normal of one and the line of centres.
    - pi-edge: distance of centres; least angle of planes; largest angle of a normal and the line;
      distance, Å, of the centre of that ring and the line in which the planes meet.
    - cation-pi: distance of cation and centre; largest angle of the normal and their line.
    - halogen: distance of halogen X and acceptor A; least angle A-X-D with the neighbour D of X;
      least and largest angle X-A-R with a neighbour R of A.
    - vdw: distance up to the sum of van der Waals radii.
    - water-bridge: chains of hydrogen bonds through waters; each pair has the fewest waters.

    Atoms of one residue do not interact, nor do atoms of two that three bonds or fewer connect.
    Limits are those of ProLIF (C. Bouysset and S. Fiorucci, J. Cheminform. 13, 72 (2021),
    doi:10.1186/s13321-021-00548-6), of which two rules differ: normals of rings do not depend on
    the order of their atoms, and pi-edge not on which group is the first. As there, CH₃ and
    chlorine are not hydrophobic. `tj.survival` says what lifetimes and dwell times are; a bridge
    stays when its waters change.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> found = tj.interactions(traj.select("resid 1:100"), "resid 101:214", kinds=["ionic"])
    >>> found.columns
    ('anionic', 'cationic')
    """
    first = main_selection(selection)
    second = None if other is None else further_selection(other, first.trajectory)
    if second is not None and np.array_equal(first.indices, second.indices):
        raise ValueError("both groups are the same atoms: leave other= out for pairs within one")
    kinds = _listed(kinds)
    messages: list[Message] = []
    used = _criteria(criteria)
    waters = _waters(first, water, kinds)
    if chemistry is None:
        union = first if second is None else first | second
        union = union if waters is None else union | waters
        # Hydrogens and neighbours belong to their atoms.
        chemistry = perceived(union.by_residue(), template=template)
        messages += chemistry.messages
    requests = _Requests(
        selections=[one for one in (first, second) if one is not None],
        search=InteractionSearch.of(
            (first, second),
            waters,
            chemistry,
            kinds=kinds,
            by=by,
            exclude_neighbors=whole_number(exclude_neighbors, "exclude_neighbors", least=0),
            max_waters=max_waters,
            messages=messages,
        ),
        limits=limits_of(used),
        pbc=pbc,
        errors=errors,
        max_memory=max_memory,
    )
    outcome = yield requests.of_pairs()
    values = outcome.integers("count").astype(np.float64)
    counts, keys = requests.pairs(outcome)
    lasting = {
        kind: Lasting(outcome, max_lag, intermittency)
        for kind in requests.search.kinds
        if lifetimes
    }
    of_frames = None
    if bits or lifetimes:
        each = BYTES_OF_KEY if lifetimes else _BYTES["keys"]
        of_frames = yield requests.of("keys", each - _BYTES["keys"])
        as_many(of_frames, "keys", int(values.sum()), "interacting pairs")
        requests.correlate(of_frames, lasting)
        messages += messages_by_kind(lasting) if lasting else []
    entries = (yield requests.of("entries")) if list_all else None
    if pbc:
        messages += outcome.cells.missing()
        messages += outcome.cells.too_small(
            "centres and atoms interact up to the largest of criteria=, but",
            "only the nearest image of a pair counts: choose smaller distances",
        )
    distances = {name: used[name][0] for name in criteria or {}}
    messages += _units(distances, requests.search.kinds, values)
    of_pairs = None
    if errors:
        of_pairs = requests.errors_of(outcome, keys)
        messages += of_pairs.messages
    told = {
        name: "/".join(f"{number:g}" for number in used[name])
        for word in kinds
        for name in _CRITERIA_OF.get(word, (word,))
        if name in used
    }
    recorded = {
        "criteria": ", ".join(f"{name} {text}" for name, text in told.items()),
        "template": dict(chemistry.smiles) or None,
        "chemistry": None,
    }
    # The store remembers the analysis once.
    report = outcome.report(messages, recorded=recorded, uses_times="lags" if lifetimes else True)
    labels = tuple(one.label for one in requests.selections)
    pairs = InteractionPairs(
        values=counts["frames"].astype(np.float64) / max(1, len(outcome.frames)),
        axes=(requests.search.axis_of(keys),),
        name="occupancy",
        units="",
        selections=labels,
        report=report,
        also=counts,
        n_frames=len(outcome.frames),
    )
    parts: dict[str, Table] = {"pairs": with_errors(pairs, of_pairs)}
    if bits and of_frames is not None:
        parts["bits"] = _bits(requests.search, of_frames, keys, labels, report)
    if entries is not None:
        parts["list"] = _list(requests.search, entries, labels, report)
    if lasting:
        each_kind = {kind: one.parts(labels, report) for kind, one in lasting.items()}
        for name, made in LASTING.items():
            parts[name] = made.of({kind: each[name] for kind, each in each_kind.items()})
    return Interactions(
        values=values,
        axes=(outcome.frames_axis, named("kinds", requests.search.kinds)),
        name="interactions",
        units="",
        selections=labels,
        report=report,
        parts=parts,
    )


def _bits(
    search: InteractionSearch,
    outcome: AnalysisOutcome,
    keys: NDArray[np.int64],
    labels: tuple[str, ...],
    report: Report,
) -> InteractionBits:
    """Return the pairs of each frame, as numbers of the rows with these keys."""
    frames = np.repeat(outcome.frames, outcome.integers("count").sum(axis=1))
    order = np.argsort(keys)
    of_bits, _ = search.pairs_of(outcome.integers("keys"))
    return InteractionBits(
        values=order[np.searchsorted(keys[order], of_bits)].astype(np.uint32),
        axes=(Axis("bits", {"frame": frames.astype(np.uint32)}),),
        name="pair",
        units="",
        selections=labels,
        report=report,
    )


def _list(
    search: InteractionSearch, outcome: AnalysisOutcome, labels: tuple[str, ...], report: Report
) -> InteractionList:
    """Return all interactions of each frame."""
    angles = outcome.floats("angles")
    frames = np.repeat(outcome.frames, outcome.integers("count").sum(axis=1))
    return InteractionList(
        values=outcome.floats("distances"),
        axes=(search.list_axis(outcome, frames),),
        name="distance",
        units="Å",
        selections=labels,
        report=report,
        also={"angle": angles[:, 0], "second angle": angles[:, 1]},
    )


def _criteria(
    given: Mapping[str, float | Sequence[float]] | None,
) -> dict[str, tuple[float, ...]]:
    """Return the limits of each kind, with defaults where none are given.

    Raises
    ------
    ValueError
        If there is no such kind, or it has fewer numbers.
    TypeError
        If a number is given as text.
    """
    used = dict(CRITERIA)
    for name, numbers in (given or {}).items():
        if name not in used:
            raise ValueError(f"criteria= has no {name!r}: choose from {', '.join(used)}")
        own = (numbers,) if isinstance(numbers, (int, float, str, np.number)) else tuple(numbers)
        text = ", ".join(map(str, used[name]))
        for k, one in enumerate(own):
            if isinstance(one, str):
                unit = "Å" if (name, k) in _DISTANCES or k == 0 else "degrees"
                raise TypeError(
                    f"criteria= of {name!r} are numbers, such as {text}, not {one!r}"
                    f"{hint_on_text(one, unit)}"
                )
        if len(own) > len(used[name]):
            raise ValueError(f"criteria= of {name!r} are {len(used[name])} numbers, such as {text}")
        used[name] = (*map(float, own), *used[name][len(own) :])
    return used


def _units(
    distances: Mapping[str, float],
    kinds: Sequence[str],
    values: NDArray[np.float64],
) -> list[Message]:
    """Return warnings of given distances that look like nm, within which nothing was found.

    `values` are `(n_frames, n_kinds)`.
    """
    messages: list[Message] = []
    for name, distance in distances.items():
        of_name = (*WORDS.get(name, (name,)), *((BRIDGE,) if name == "hbond" else ()))
        own = [kind in of_name for kind in kinds]
        if not any(own) or not len(values):
            continue
        messages += looks_like_nm(
            "criteria",
            distance,
            found=bool(values[:, own].any()),
            what=f"no two atoms or rings of the kind {name!r} are",
            key=name,
        )
    return messages


def _waters(first: Selection, water: OtherAtoms | None, kinds: Sequence[str]) -> Selection | None:
    """Return the waters of bridges, if these are searched.

    Raises
    ------
    SelectionError
        If there are none.
    """
    if "water-bridge" not in kinds:
        return None
    try:
        return further_selection("water" if water is None else water, first.trajectory)
    except SelectionError as error:
        raise SelectionError(f"water bridges need waters: {error}") from error


@dataclass(frozen=True, kw_only=True)
class _Requests:
    """Requests of runs over the frames, which have a search and limits in common.

    Attributes
    ----------
    selections
        The first group, and the second one if there are two.
    search
        The search.
    limits
        Limits of kinds.
    pbc
        Whether nearest images count.
    errors
        Whether occupancies are those of blocks of frames, too.
    max_memory
        Bytes that a table or list may take.
    """

    selections: list[Selection]
    search: InteractionSearch
    limits: list[list[float]]
    pbc: bool
    errors: bool
    max_memory: int

    def of_pairs(self) -> RunRequest:
        """Return the request of the table of pairs with their occupancies."""
        # Errors need a table of each block, and series of all pairs.
        return replace(self.of("occupancies", _ERROR_BYTES * self.errors), in_blocks=self.errors)

    def of(self, fold: str, more: int = 0) -> RunRequest:
        """Return the request of a run that collects `fold`, whose entries take `more` bytes."""
        each = _BYTES[fold] + more
        most = max(1, self.max_memory // each)
        what = "different pairs" if fold == "occupancies" else "interactions of all frames"
        too_large = (
            f"more than {most} {what}, which take more than max_memory={self.max_memory}: raise it,"
            " or choose fewer kinds, atoms or frames"
            f"{', or leave errors=True out' if more and fold == 'occupancies' else ''}"
        )
        plan = self.search.plan(fold, most=most, limits=self.limits, pbc=self.pbc)
        return RunRequest(plan, self.selections, too_large=too_large)

    def pairs(
        self, outcome: AnalysisOutcome
    ) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
        """Return numbers of frames, and of waters if there are bridges, and the key of each pair.

        The most frequent is the first.
        """
        of_codes, n_waters = self.search.pairs_of(outcome.integers("keys"))
        keys, which = np.unique(of_codes, return_inverse=True)
        counts = outcome.integers("counts")
        sums = np.bincount(which, counts, len(keys)).astype(np.int64)
        order = np.argsort(-sums, kind="stable")
        pairs: dict[str, NDArray[np.generic]] = {"frames": sums[order]}
        if self.search.max_waters:
            waters = np.bincount(which, counts * n_waters, len(keys))
            is_bridge = np.bincount(which, n_waters, len(keys)) > 0
            pairs["waters"] = np.where(is_bridge, waters / sums, np.nan)[order]
        return pairs, keys[order]

    def errors_of(self, outcome: AnalysisOutcome, keys: NDArray[np.int64]) -> BlockErrors:
        """Return the errors of the occupancies of pairs with these keys."""
        found = outcome.integers("keys")
        series = occupancy_series(outcome.blocks, found, len(outcome.frames))
        of_codes, _ = self.search.pairs_of(found)
        # Bridges of several numbers of waters are one pair, and follow one another.
        starts = np.flatnonzero(np.diff(of_codes, prepend=-1))
        if len(starts):
            series = np.add.reduceat(series, starts, axis=1)
        axis = self.search.axis_of(keys)
        return block_errors(
            series[:, np.searchsorted(of_codes[starts], keys)],
            "occupancies",
            lambda k: labels_of_pairs(axis, slice(k, k + 1))[0],
        )

    def correlate(self, outcome: AnalysisOutcome, lasting: Mapping[str, Lasting]) -> None:
        """Add the pairs of each frame to those of their kinds."""
        keys, _ = self.search.pairs_of(outcome.integers("keys"))
        frames = frames_of_keys(outcome.integers("count").sum(axis=1))
        kinds = keys % len(KINDS)
        for kind, one in lasting.items():
            of_kind = kinds == KINDS.index(kind)
            one.add(keys[of_kind], frames[of_kind])
