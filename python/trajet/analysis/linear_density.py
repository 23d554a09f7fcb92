"""`linear_density`: density profile along an axis of the cell."""

from typing import Annotated, Literal, Unpack

import numpy as np

from trajet._trajet import Plan
from trajet.analysis.amounts import FEWER_BINS, UNITS, Quantity, amounts_of, check_bins
from trajet.analysis.arguments import Between
from trajet.analysis.atom_groups import Selections, main_selections
from trajet.analysis.block_errors import block_errors, with_errors
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest
from trajet.messages import Code, Message
from trajet.result import LinearDensity
from trajet.result.axes import bins as bins_axis
from trajet.result.axes import named


@analysis(
    notes=(
        "Every frame needs a unit cell. Atoms are wrapped into it. To have a membrane in the"
        " middle, put its centre there first, with --center."
    ),
    examples=r"""
    trajet linear-density top.tpr run.xtc --select "resname POPC" --select "resname SOL" \
        --center "resname POPC" --plot profile.png
    trajet linear-density top.tpr run.xtc --select all --quantity charge -o charge.csv
    """,
)
def linear_density(
    selection: Selections,
    *,
    axis: Literal["x", "y", "z"] = "z",
    bins: Annotated[int, Between(1, 10**6)] = 100,
    quantity: Quantity = "mass",
    errors: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[LinearDensity]:
    """Compute the mean density along an axis of the cell.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file; or a list of
        several, of which all but the first may be selection texts: one profile for each.
    axis
        Axis of the cell along which slices lie, parallel to the other two box vectors. In a
        triclinic cell they follow one another along the normal of that face, which is z for "z",
        but not x for "x".
    bins
        Number of slices.
    quantity
        Density of mass (g/cm³), of numbers (1/Å³) or of charge (e/Å³).
    errors
        Whether errors are estimated from blocks of frames. They take up to 1 kB per slice.

    Returns
    -------
    LinearDensity
        `position` `(bins,)`, Å, and `values` `(bins,)`, or `(bins, n_selections)` for a list; mass
        in g/cm³, numbers in 1/Å³, charge in e/Å³; with `errors` also `standard_errors` and
        `half_widths`, longer sides of the 95 % intervals.

    Raises
    ------
    SelectionError
        If masses or charges are requested and missing.
    AnalysisError
        If a frame has no unit cell, or an atom has no position; if the cell is not periodic along
        another axis, or an atom is outside of a cell that is not periodic along this axis.
    ValueError
        If axis, quantity or bins are none of those above.

    Notes
    -----
    Atoms are wrapped into the cell of their frame, and each frame contributes the density in slices
    of its own cell: `position` are the centres of slices of the mean height of the cell. To have a
    membrane in the middle, centre it first: `traj.center(...)` before the selection. In a triclinic
    cell, `position` is measured at right angles to the other two box vectors. If the cell is not
    periodic along the axis, slices divide the length that the file gives it, and nothing is
    wrapped; a note says so.

    `gmx density` does the same with slices of rectangular boxes (1 kg/m³ is 0.001 g/cm³).
    MDAnalysis' `LinearDensity` takes the cell of the first frame for all frames.

    Examples
    --------
    >>> import trajet as tj
    >>> wet = tj.open("solvated.tpr", "solvated.xtc")
    >>> profile = tj.linear_density(wet.select("resname SOL"), quantity="number")
    >>> profile.values.shape, profile.units
    ((100,), '1/Å³')
    """
    chosen = main_selections(selection)
    if axis not in ("x", "y", "z"):
        raise ValueError(f"axis must be 'x', 'y' or 'z', not {axis!r}")
    check_bins(bins)
    messages: list[Message] = []
    found = [amounts_of(quantity, one, messages) for one in chosen]
    amounts = [one for one in found if one is not None]

    plan = Plan(
        "linear_density",
        atoms=np.concatenate([one.columns for one in chosen]),
        sizes=[one.n_atoms for one in chosen],
        amounts=np.concatenate(amounts) if amounts else None,
        axis="xyz".index(axis),
        bins=bins,
    )
    outcome = yield RunRequest(plan, chosen, smaller_state=FEWER_BINS, in_blocks=errors)
    n_frames, volume = outcome.number("n_frames"), outcome.number("volume")
    direction: str = axis
    if outcome.number("n_tilted"):
        direction = (
            f"the normal of the {'-'.join('abc'.replace('abc'['xyz'.index(axis)], ''))} face"
        )
    if n_open := int(outcome.number("n_open")):
        messages.append(
            Message(
                Code.OPEN_BOUNDARY,
                f"in {n_open} of {int(n_frames)} frames the cell is not periodic along {axis}:"
                " slices divide the length that the file gives it",
            )
        )
    units, factor = UNITS[quantity]
    with np.errstate(invalid="ignore"):
        # Without frames there is no density, and values are NaN.
        values = outcome.floats("densities").T / n_frames * factor
        edges = np.linspace(0, outcome.number("height") / n_frames, bins + 1)
    found_errors = None
    if errors:
        of_blocks = [
            np.asarray(block["densities"], np.float64) / float(block["n_frames"]) * factor
            for block in outcome.blocks
        ]
        series = np.array(of_blocks).reshape(len(of_blocks), bins * len(chosen))
        found_errors = block_errors(series, "slices")
        messages += found_errors.messages

    several = isinstance(selection, (list, tuple))
    labels = [one.label for one in chosen]
    recorded = {
        "direction": direction,
        "mean_volume": volume / n_frames if n_frames else None,
    }
    slices = bins_axis("position", edges)
    result = LinearDensity(
        values=np.ascontiguousarray(values if several else values[:, 0]),
        axes=(slices, named("groups", labels)) if several else (slices,),
        name=f"{quantity} density",
        units=units,
        selections=tuple(labels),
        report=outcome.report(messages, recorded=recorded, uses_times=False),
        label="" if several else labels[0],
        direction=direction,
    )
    # One profile after the other.
    return with_errors(result, found_errors, order="F")
