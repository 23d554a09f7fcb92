"""`rdf_pairs`: radial distribution functions of several pairs of selections, of atoms or groups."""

from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.amounts import FEWER_BINS, check_bins
from trajet.analysis.arguments import Between, DistanceRange, OtherAtoms
from trajet.analysis.atom_groups import AtomGroups
from trajet.analysis.job import Steps, analysis
from trajet.analysis.rdf import check_range, distance_range, range_messages
from trajet.analysis.reference import Weights
from trajet.analysis.runner import RunOptions, RunRequest, further_selection, main_selection
from trajet.analysis.running_numbers import with_running_numbers
from trajet.analysis.unit_warnings import range_looks_like_nm
from trajet.messages import Message
from trajet.quoting import quoted
from trajet.result import RadialDistribution
from trajet.result.axes import bins as bins_axis
from trajet.result.axes import named
from trajet.trajectory import Selection

# Groups, finer ones first: a residue lies within one molecule and one chain.
_GROUPS = ("atom", "residue", "molecule", "chain")


def _check(range: tuple[float, float]) -> None:
    """Raise an error for an empty range."""
    check_range(range)


@analysis(
    check=_check,
    notes="Every frame needs a unit cell of any shape, periodic in all directions. Distances are"
    " those of nearest images.",
    examples=r"""
    trajet rdf-pairs top.tpr run.xtc --pairs "name OW" "name OW" --pairs "name OW" "name HW1 HW2" \
        --exclude molecule --plot rdf.png
    trajet rdf-pairs top.tpr run.xtc --pairs "resname POPC" "resname CHL1" --by residue -o rdf.csv
    """,
)
def rdf_pairs(
    pairs: Sequence[tuple[OtherAtoms, OtherAtoms]],
    *,
    range: DistanceRange = (0.0, 15.0),
    bins: Annotated[int, Between(1, 10**6)] = 75,
    exclude: Literal["residue", "molecule", "chain"] | None = None,
    by: Literal["atom", "residue", "molecule", "chain"] = "atom",
    weights: Literal["mass", "equal"] = "mass",
    **run: Unpack[RunOptions],
) -> Steps[RadialDistribution]:
    """Compute g(r) of many pairs of selections in one pass.

    Each is a radial distribution function, as `rdf` computes it.

    Parameters
    ----------
    pairs
        Pairs of selections. Such as `[(oxygen, oxygen), (oxygen, "name HW1 HW2")]`; all but the
        very first may be selection texts.
    range
        The least and the largest distance that are counted, Å.
    bins
        Number of bins of equal width.
    exclude
        Leave out pairs of sites of one residue, molecule or chain, which must not be smaller than
        the sites. None for all pairs. A site is never paired with itself.
    by
        The sites: atoms, or the centres of the selected atoms of residues, molecules or chains.
    weights
        Weights of centres: "mass" or "equal".

    Returns
    -------
    RadialDistribution
        `r` `(bins,)`, centres of the bins, Å; `g`, `counts` and `n` `(n_pairs, bins)`.

    Raises
    ------
    SelectionError
        If a selection matches no atom, no pair of different sites is left, masses or molecules are
        requested and missing, or a site has atoms of several groups that `exclude` names.
    AnalysisError
        If a frame has no unit cell, or one that is not periodic in all directions, by the volume of
        which g is normalised; or if an atom has no position.
    ValueError
        If the bins have no width, `by` or `exclude` are none of those above, or `exclude` is finer
        than `by`.

    Notes
    -----
    Distances, counts, g and n are those of `rdf`: of nearest images, normalised by the number of
    pairs that are not left out, and by the mean volume. Each frame is read and decoded once for all
    pairs.

    Centres are computed from positions as stored, and rounded to single precision: make molecules
    whole with `traj.whole()` before the selection. `warnings` name neighbouring atoms that
    lie on either side of the box in the first or last frame.

    For single atoms, g is that of MDAnalysis' `InterRDF_s`; with `exclude="residue"` it is that of
    `InterRDF` with `exclude_same="residue"`, but for the normalisation: MDAnalysis counts the
    excluded pairs there.

    Examples
    --------
    >>> import trajet as tj
    >>> wet = tj.open("solvated.tpr", "solvated.xtc")
    >>> water = wet.select("name OW")
    >>> sites = [(water, water), (water, "name HW1 HW2")]
    >>> result = tj.rdf_pairs(sites, exclude="molecule", range=(0, 8), frames=[0])
    >>> result.g.shape
    (2, 75)
    """
    if not pairs or any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
        raise TypeError("pairs must be a list of pairs of selections: [(a, b), (a, c)]")
    main = main_selection(pairs[0][0])
    trajectory = main.trajectory
    if by not in _GROUPS:
        raise ValueError(f"by must be 'atom', 'residue', 'molecule' or 'chain', not {by!r}")
    if exclude not in (None, "residue", "molecule", "chain"):
        raise ValueError(f"exclude must be 'residue', 'molecule', 'chain' or None, not {exclude!r}")
    if exclude is not None and _GROUPS.index(exclude) < _GROUPS.index(by):
        raise ValueError(
            f"exclude={exclude!r} is finer than by={by!r}: a site that is a {by} belongs to several"
            f" {exclude}s: exclude pairs of one {by}, or take smaller sites"
        )
    if not isinstance(weights, str):
        raise ValueError("weights of pairs of selections are 'mass' or 'equal', not numbers")
    check_bins(bins)
    messages: list[Message] = []
    # Each distinct selection is one list of sites.
    selections: list[Selection] = []
    known = dict[bytes, int]()
    numbers = []
    for k, pair in enumerate(pairs):
        found = [
            main if k == 0 and one is pairs[0][0] else further_selection(one, trajectory)
            for one in pair
        ]
        for one in found:
            if known.setdefault(one.columns.tobytes(), len(selections)) == len(selections):
                selections.append(one)
        numbers.append((known[found[0].columns.tobytes()], known[found[1].columns.tobytes()]))
    keys = dict[bytes, int]()
    made = [_sites(one, by, weights, exclude, keys, messages) for one in selections]
    lists, n_sites = [sites for sites, _ in made], [n for _, n in made]
    first, last = distance_range(range)
    plan = Plan("rdf_pairs", lists=lists, pairs=numbers, bins=(bins, (first, last)))
    outcome = yield RunRequest(
        plan,
        selections,
        smaller_state=FEWER_BINS,
        # Centres of molecules that are broken lie between their parts.
        as_written=() if by == "atom" else selections,
        chains_apart=True,
    )
    messages += range_messages(outcome.cells, last)
    n_frames, volume = outcome.number("n_frames"), outcome.number("volume")
    # In all frames.
    n_pairs = np.array([len(outcome.frames) * n for n in outcome.integers("pairs").tolist()], float)
    counts = outcome.integers("counts")
    messages += range_looks_like_nm(first, last, found=bool(counts.any()) or not n_frames)
    labels = [(selections[a].label, selections[b].label) for a, b in numbers]
    if n_frames and not n_pairs.all():
        a, b = labels[int(np.argmin(n_pairs))]
        raise SelectionError(
            f"{a!r} and {b!r}: there is no pair of different sites"
            + (f" that are not of one {exclude}" if exclude else "")
        )
    edges = np.linspace(first, last, bins + 1)
    shells = 4 / 3 * np.pi * np.diff(edges * edges * edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without frames there is no density, and g is NaN.
        g = counts / (n_pairs[:, None] / (volume / n_frames) * shells)
        density = np.array([n_sites[b] for _, b in numbers]) * n_frames / volume
    recorded = {
        "pairs": [list(pair) for pair in numbers],
        "mean_volume": volume / n_frames if n_frames else None,
    }
    firsts, seconds = np.array(labels, np.str_).T
    names = [" - ".join(dict.fromkeys(pair)) for pair in labels]
    groups = named("groups", names, first=firsts, second=seconds, density=density)
    result = RadialDistribution(
        values=g,
        axes=(groups, bins_axis("distance", edges)),
        name="g",
        units="",
        selections=tuple(one.label for one in selections),
        report=outcome.report(messages, recorded=recorded, uses_times=False),
        also={"count": counts},
    )
    n_centres = np.array([n_sites[a] for a, _ in numbers]) * len(outcome.frames)
    return with_running_numbers(result, n_centres)


def _sites(
    selection: Selection,
    by: Literal["atom", "residue", "molecule", "chain"],
    weights: Weights,
    exclude: Literal["residue", "molecule", "chain"] | None,
    keys: dict[bytes, int],
    messages: list[Message],
) -> tuple[dict[str, object], int]:
    """Return the sites of a selection as the plan has them (`rdf_pairs::Sites`), and their number.

    Groups of the same atoms get the same key, of which `keys` has those of earlier selections.
    """
    molecules = None if exclude is None else selection.group_numbers(exclude)
    if by == "atom":
        return {
            "atoms": selection.columns,
            "sizes": None,
            "weights": None,
            "keys": selection.columns,
            "labels": molecules,
        }, selection.n_atoms
    groups = AtomGroups.of([selection], by, weights, messages)
    starts = np.cumsum([0, *groups.sizes])
    own = [
        keys.setdefault(np.sort(groups.columns[begin:end]).tobytes(), len(keys))
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    labels = None
    if molecules is not None:
        of_atom = dict(zip(selection.columns.tolist(), molecules.tolist(), strict=True))
        of_atoms = np.array([of_atom[column] for column in groups.columns.tolist()])
        of_sites = of_atoms[starts[:-1]]
        several = np.flatnonzero(of_atoms != np.repeat(of_sites, groups.sizes))
        if several.size:
            site = groups.labels[int(np.searchsorted(starts, several[0], side="right")) - 1]
            raise SelectionError(
                f"{quoted(selection.label)}: the {by} {site} has atoms of several {exclude}s, so"
                " that"
                f" exclude={exclude!r} means nothing for it: leave it out, or take smaller sites,"
                ' such as by="residue"'
            )
        labels = of_sites
    return {
        "atoms": groups.columns,
        "sizes": groups.sizes,
        "weights": groups.weights,
        "keys": own,
        "labels": labels,
    }, len(own)
