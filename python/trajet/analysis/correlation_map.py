"""`correlation_map`: correlated motion of atoms or residues."""

from dataclasses import replace
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.analysis.arguments import BYTES, Atoms, Between
from trajet.analysis.atom_groups import labelled_atoms, residues_axis
from trajet.analysis.correlations import (
    cross_correlations,
    generalised_correlations,
    sums_of_centres,
)
from trajet.analysis.covariances import check_superposition, covariances
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    AVERAGE,
    Align,
    Reference,
    Weights,
    aligned_atoms,
    describe_reference,
)
from trajet.analysis.runner import AnalysisOutcome, RunOptions, main_selection
from trajet.messages import Code, Message
from trajet.result import Part, Table
from trajet.result.axes import Axis, named
from trajet.trajectory import Selection
from trajet.uncertainty.estimates import MIN_EFFECTIVE
from trajet.uncertainty.even_times import clock_of
from trajet.uncertainty.statistics import statistics_of_frames

# Components whose projections say how many frames are independent, as many as `pca` returns.
_COMPONENTS = 10
# Fewer frames have six coordinates that depend on one another.
_MIN_FRAMES = 7


@analysis(
    check=check_superposition,
    parts={"n_effective": Part("effective frames of principal components")},
    examples=r"""
    trajet correlation-map adk.psf adk.xtc --select "name CA" --plot correlations.png
    trajet correlation-map adk.psf adk.xtc --select "name CA" --method lmi -o correlations.csv
    """,
)
def correlation_map(
    selection: Atoms,
    *,
    method: Literal["dccm", "lmi"] = "dccm",
    by: Literal["atom", "residue"] = "atom",
    align: Align = "same",
    reference: Reference = AVERAGE,
    weights: Weights = "equal",
    max_memory: Annotated[int, BYTES, Between(1)] | None = None,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute how far the motions of atoms, or of residues, are correlated.

    Parameters
    ----------
    method
        "dccm" for the dynamic cross-correlation, from -1 to 1; "lmi" for the generalised
        correlation of linear mutual information, from 0 to 1.
    by
        The rows and columns of the map. "atom", or "residue" for the centres of the selected atoms
        of each residue, with equal weights.
    align
        Atoms by which each frame is superposed on the reference first. "same" for the selection
        itself, or selection text, a Selection or an AtomGroup. None for positions as stored. Then
        the file must be aligned already.
    reference
        With `align`: the reference structure, as for `rmsd`. `"average"` is the average structure
        after superposition on the first of the frames (two passes).
    weights
        With `align`: weights of the superposition. "equal", "mass", or one number per atom.
    max_memory
        Memory that positions and matrices may take together. None for all that is available.

    Returns
    -------
    Table
        `values` `(n, n)`, float64; NaN for what does not move, and with "lmi" for what moves in a
        plane or on a line. The axes are "atoms" and "other atoms", or "residues" and "other
        residues". The part "n_effective" has the effective frames of the projections on each of the
        first 10 principal components.

    Raises
    ------
    SelectionError
        If atoms and reference do not match, or masses are requested and missing.
    MemoryError
        If positions and matrices need more than `max_memory`, or than is available.
    AnalysisError
        If there are fewer than two frames, or with "lmi" fewer than seven; if an atom has no
        position in a frame, or if no atom moves.

    Notes
    -----
    With the deviation Δr of a position from its mean, the cross-correlation is ⟨Δrᵢ · Δrⱼ⟩ /
    √(⟨Δrᵢ²⟩⟨Δrⱼ²⟩) (T. Ichiye and M. Karplus, Proteins 11, 205 (1991),
    doi:10.1002/prot.340110305). Motions that are correlated at a right angle have 0. The linear
    mutual information I = ½ ln(det Cᵢ det Cⱼ / det Cᵢⱼ), of the covariances of one and two atoms,
    sees these, too. It is given as √(1 - exp(-2I/3)), without a sign (O. F. Lange and H.
    Grubmüller, Proteins 62, 1053 (2006), doi:10.1002/prot.20784).

    The superposition decides which motions there are: rigid domains that move against each other
    are superposed on one of them with `align`.

    Covariances, memory and time are those of `pca`. So is the measure of sampling: the map changes
    with slow motions of large amplitude, and a note says if one of the first 10 components has
    fewer than 20 effective frames (see docs/statistics.md). Compare replicas: the mean of an
    ensemble has intervals.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.correlation_map(traj.select("name CA"))
    >>> result.values.shape
    (214, 214)
    >>> result.plot().savefig("correlations.png")  # doctest: +SKIP
    """
    if method not in ("dccm", "lmi"):
        raise ValueError(f"method is 'dccm' or 'lmi', not {method!r}")
    if by not in ("atom", "residue"):
        raise ValueError(f"a map is by 'atom' or by 'residue', not {by!r}")
    main = main_selection(selection)
    onto = aligned_atoms(align, main)
    axis, members = _places(main, by)
    messages: list[Message] = []
    found = yield from covariances(
        *(main, onto, reference, weights, messages),
        n_components=_COMPONENTS,
        max_memory=max_memory,
        run=run,
        has_sums=True,
    )
    outcome, sums = found.outcome, found.sums
    assert sums is not None
    n_frames = len(outcome.frames)
    if method == "lmi" and n_frames < _MIN_FRAMES:
        raise AnalysisError(
            f"{main.trajectory.label}: linear mutual information needs {_MIN_FRAMES} frames at"
            f" least, and {n_frames} are chosen"
        )
    if members is not None:
        sums = sums_of_centres(sums, members)
    sums /= n_frames
    values = cross_correlations(sums) if method == "dccm" else generalised_correlations(sums)
    unknown = np.flatnonzero(np.isnan(values.diagonal()))
    if len(unknown):
        how = "does not move" if method == "dccm" else "does not move in all directions"
        messages.append(
            Message(
                Code.NO_NUMBERS,
                f"{len(unknown)} of {len(values)} {by}s have no correlations, the first is"
                f" {axis.labels()[unknown[0]]}, which {how}",
            )
        )
    effective, note = _sampled(outcome, found.projections)
    recorded = {
        "align": None if onto is None else onto.label,
        **({"reference": None} if onto is None else {}),
        "n_effective": None if np.isnan(effective).any() else float(effective.min()),
    }
    inputs = [] if onto is None else describe_reference(reference)
    report = outcome.report([*messages, *note], recorded=recorded, inputs=inputs, uses_times=False)
    numbers = named("components", [str(k + 1) for k in range(len(effective))])
    selections = (main.label,)
    return Table(
        values=values,
        axes=(axis, replace(axis, kind=f"other {axis.kind}")),
        name="correlation" if method == "dccm" else "generalised correlation",
        units="",
        selections=selections,
        report=report,
        parts={"n_effective": Table(effective, (numbers,), "frames", "", selections, report)},
    )


def _places(main: Selection, by: str) -> tuple[Axis, NDArray[np.int64] | None]:
    """Return the axis of rows, and the row of each atom; None if each has its own."""
    if by == "atom":
        return labelled_atoms(main), None
    residues, rows = np.unique(main.topology_atoms.residues, return_inverse=True)
    return residues_axis(main.trajectory.topology, residues), rows


def _sampled(
    outcome: AnalysisOutcome, projections: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[Message]]:
    """Return the effective frames of each projection, and a message if some are too few."""
    clock = clock_of(outcome.times, outcome.frames)
    effective = statistics_of_frames(projections, clock, outcome.frames).estimates.n_effective
    fewest = int(np.argmin(effective))
    if effective[fewest] >= MIN_EFFECTIVE:
        return effective, []
    count = f"{effective[fewest]:.3g}" if np.isfinite(effective[fewest]) else "too few or uneven"
    return effective, [
        Message(
            Code.NOT_RESOLVED,
            f"too short to tell: principal component {fewest + 1} has {count} effective frames, and"
            f" {MIN_EFFECTIVE} are needed, so that correlations may be those of one slow motion",
            "simulate longer, or compare replicas",
        )
    ]
