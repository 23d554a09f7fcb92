"""`rdf`: radial distribution functions."""

from typing import Annotated, Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import Atoms, Between, DistanceRange, Metavar, OtherAtoms
from trajet.analysis.block_errors import block_errors, with_errors
from trajet.analysis.cell_summary import CellSummary
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.running_numbers import with_first_minimum, with_running_numbers
from trajet.analysis.unit_warnings import range_looks_like_nm
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import RadialDistribution
from trajet.result.axes import bins as bins_axis
from trajet.trajectory import Selection

# Ranges that end before it have shells whose volume is no number, Å.
_SHORTEST_RANGE = 1e-30


def _check(range: tuple[float, float]) -> None:
    """Raise an error for an empty range."""
    check_range(range)


@analysis(
    check=_check,
    notes="Every frame needs a unit cell of any shape, periodic in all directions. Distances are"
    " those of nearest images.",
    examples=r"""
    trajet rdf water.gro water.xtc --select "name OW" --plot rdf.png
    trajet rdf top.gro run.xtc --select "resname NA" --other "name OW" --range 0 10 -o rdf.csv
    """,
)
def rdf(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    range: DistanceRange = (0.0, 15.0),
    bins: Annotated[int, Between(1, 10**6)] = 75,
    exclude: Annotated[tuple[int, int], Between(1), Metavar("N M")] | None = None,
    errors: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[RadialDistribution]:
    """Compute the radial distribution function g(r).

    It is that of two groups of atoms, or of one with itself.

    Parameters
    ----------
    other
        The second group. Selection text, a Selection or an AtomGroup. None for `selection`.
    range
        The least and the largest distance that are counted, Å.
    bins
        Number of bins of equal width.
    exclude
        Leave out pairs within molecules that have N atoms in `selection` and M in `other`. These
        are the first N atoms of `selection` with the first M of `other`, and so on. Pairs of an
        atom with itself are always left out.
    errors
        Whether errors are estimated from blocks of frames.

    Returns
    -------
    RadialDistribution
        `r` (centres of the bins, Å), `g`, `counts`, and `n`, each `(bins,)`; with `errors` also
        `standard_errors` and `half_widths` of `g`, longer sides of the 95 % intervals, and those of
        n in `coordination`.

    Raises
    ------
    SelectionError
        If a selection matches no atom, or no pair of different atoms is left.
    AnalysisError
        If a frame has no unit cell, or one that is not periodic in all directions, by the volume of
        which g is normalised; or if an atom has no position.
    ValueError
        If the bins have no width, or the blocks do not divide the groups.

    Notes
    -----
    A pair counts once per frame, at the distance of its nearest images. So g is too small beyond
    half of the distance between an atom and its own nearest image. For a selection with itself,
    every pair counts in both orders.

    An atom is never paired with itself, neither in the counts nor in the number of pairs by which g
    is normalised. This number is N (N - 1) for a group of N atoms with itself, N_a N_b - N_common
    for two groups that share N_common atoms, less the pairs that `exclude` leaves out. g is the
    counts divided by those of as many pairs that are spread evenly over the mean volume.
    MDAnalysis' `InterRDF` does the same with `exclusion_block=(1, 1)`; without it, MDAnalysis
    counts each atom with itself in the first bin and normalises by N².

    n(r) is the mean number of atoms of the second group between the begin of the range and the
    outer edge of a bin, around an atom of the first: pairs are counted, and g is not integrated.
    `coordination_number` is that up to the first minimum of g after its first maximum, where g is
    smoothed by a Gaussian with a standard deviation of 0.1 Å. The first maximum is above 1, and g
    then falls by a tenth of its height; from the minimum on it rises by 0.05; both by more than
    four standard errors of the counts. A parabola gives the distance within the bin. Errors of both
    numbers are those of the jackknife.

    Pairs are found by a cell list: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids,
    2nd edition (2017), 5.3.2.

    Examples
    --------
    >>> water = tj.open("water.gro", "water.xtc")  # doctest: +SKIP
    >>> tj.rdf(water.select("name OW")).plot()  # doctest: +SKIP
    """
    main = main_selection(selection)
    others = None if other is None else further_selection(other, main.trajectory)
    first, last = distance_range(range)
    n_a, n_b = main.n_atoms, main.n_atoms if others is None else others.n_atoms
    if exclude is not None:
        if len(exclude) != 2:
            raise ValueError(f"exclude is the numbers of atoms of two blocks, not {exclude!r}")
        blocks = [(n_a, exclude[0]), (n_b, exclude[1])]
        if any(size < 1 or n % size for n, size in blocks) or len({n // s for n, s in blocks}) > 1:
            raise ValueError(
                f"exclude={exclude} does not divide selections of {n_a} and"
                f" {n_b} atoms into equally many blocks"
            )
    plan = Plan(
        "rdf",
        atoms=main.columns,
        others=None if others is None else others.columns,
        bins=(bins, (first, last)),
        exclusion_block=exclude,
    )
    outcome = yield RunRequest(plan, [main] if others is None else [main, others], in_blocks=errors)
    messages = range_messages(outcome.cells, last)
    if exclude is not None:
        messages.extend(_across(main, others or main, exclude))
    n_frames, volume = outcome.number("n_frames"), outcome.number("volume")
    # In all frames.
    pairs = np.float64(len(outcome.frames) * int(outcome.integers("pairs")))
    counts = outcome.integers("counts")
    edges = np.linspace(first, last, bins + 1)
    messages += range_looks_like_nm(first, last, found=bool(counts.any()) or not n_frames)
    if n_frames and not pairs:
        if exclude is not None:
            raise SelectionError(f"exclude {exclude} leaves out every pair")
        raise SelectionError(
            f"{quoted(main.label)} and {quoted((others or main).label)}: there is no pair of"
            " different atoms"
        )
    shells = 4 / 3 * np.pi * np.diff(edges * edges * edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without frames there is no density, and g is NaN.
        g = counts / (pairs / (volume / n_frames) * shells)
        ideal = int(outcome.integers("pairs")) * shells * n_frames / volume
    found = None
    if errors:
        of_frame = int(outcome.integers("pairs")) * shells
        of_blocks = [
            block["counts"]
            * np.float64(block["volume"])
            / (of_frame * float(block["n_frames"]) ** 2)
            for block in outcome.blocks
        ]
        found = block_errors(np.array(of_blocks).reshape(-1, bins), "bins")
        messages += found.messages
    labels = (main.label, main.label if others is None else others.label)
    recorded = {
        "selections": list(labels),
        "n_atoms": [n_a, n_b],
        "mean_volume": volume / n_frames if n_frames else None,
    }
    result = RadialDistribution(
        values=g,
        axes=(bins_axis("distance", edges),),
        name="g",
        units="",
        selections=tuple(dict.fromkeys(labels)),
        report=outcome.report(messages, recorded=recorded, uses_times=False),
        also={"count": counts},
        number_density=n_b * n_frames / volume if n_frames else float("nan"),
    )
    result = with_running_numbers(result, np.array(n_a * len(outcome.frames)))
    result, unresolved = with_first_minimum(
        result, n_a, int(n_frames), ideal, outcome.blocks if errors else None
    )
    result.report.record_messages(unresolved)
    return with_errors(result, found)


def _across(first: Selection, second: Selection, sizes: tuple[int, int]) -> list[Message]:
    """Return a message if the residues show that blocks do not coincide with molecules."""
    if not first.trajectory.has_topology:
        return []
    residues = [
        selection.topology_atoms.residues.reshape(-1, size)
        for selection, size in zip((first, second), sizes, strict=True)
    ]
    single = [bool((of == of[:, :1]).all()) for of in residues]
    if all(single):
        wrong = residues[0][:, 0] != residues[1][:, 0]
    else:
        # A molecule may have several residues, but no residue may belong to two molecules.
        wrong = np.zeros(len(residues[0]), np.bool_)
        for of in residues:
            wrong[1:] |= of[1:, 0] == of[:-1, -1]
    if not wrong.any():
        return []
    k = int(wrong.argmax())
    words = [
        selection.topology_atoms.describe(k * size)
        for selection, size in zip((first, second), sizes, strict=True)
    ]
    return [
        Message(
            Code.EXCLUDED_PAIRS,
            f"exclude {sizes}: blocks do not coincide with residues; the first such block"
            f" begins with {words[0]} and {words[1]}: pairs of different molecules may be excluded",
            "choose atoms and sizes so that each block is one molecule",
        )
    ]


def range_messages(cells: CellSummary, last: float) -> list[Message]:
    """Return a message if the range exceeds half of the shortest lattice vector in some frames."""
    return cells.too_small(
        f"distances up to {last:g} Å are counted, but",
        "beyond it g is too small, as only the nearest image of a pair counts: choose a smaller"
        " range",
    )


def check_range(range: tuple[float, float]) -> None:
    """Raise an error for a range that is empty or begins below 0."""
    first, last = distance_range(range)
    if not 0 <= first < last:
        raise ValueError(
            "bins have no width: range= must go from 0 or more up to a larger distance"
        )


def distance_range(range: tuple[float, float]) -> tuple[float, float]:
    """Return the first and the last distance of an RDF, Å.

    Raises
    ------
    TypeError
        If they are not two numbers.
    """
    try:
        first, last = (float(value) for value in range)
    except (TypeError, ValueError):
        raise TypeError(
            f"range is the first and the last distance in Å, such as (0, 15), not {range!r}"
        ) from None
    if 0 <= last < _SHORTEST_RANGE:
        raise ValueError(
            f"range ends at {last:g} Å, where shells have no volume: choose a larger range"
        )
    return first, last
