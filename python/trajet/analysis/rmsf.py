"""`rmsf`: root mean square fluctuations."""

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms
from trajet.analysis.atom_groups import atoms_axis
from trajet.analysis.block_errors import block_errors, fluctuations, with_errors
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    Align,
    Reference,
    Weights,
    aligned_atoms,
    broken_in_reference,
    describe_reference,
    first_of,
    frame_of,
    group_of,
    is_average,
    is_equal,
    reference_positions,
)
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.messages import Code, Message
from trajet.result import Table
from trajet.trajectory import Trajectory, few_atoms_messages


def _check(align: object, reference: Reference, weights: Weights) -> None:
    """Raise a ValueError for parameters of a superposition without one."""
    is_default = isinstance(reference, (int, np.integer)) and reference == 0 and is_equal(weights)
    if align is None and not is_default:
        raise ValueError("reference= and weights= need align=, without which nothing is superposed")


@analysis(
    axes=("atoms",),
    check=_check,
    notes=(
        "Without --align, positions are used as stored: rotation of the whole molecule counts as"
        " fluctuation unless the file is aligned already."
    ),
    examples=r"""
    trajet rmsf adk.psf adk.xtc --select "name CA" --align "name CA" --reference average
    trajet rmsf top.gro run.xtc --select "name CA" --align backbone -o rmsf.csv --plot rmsf.png
    """,
)
def rmsf(
    selection: Atoms,
    *,
    align: Align = None,
    reference: Reference = 0,
    weights: Weights = "equal",
    errors: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the RMSF of each atom about its mean position.

    Parameters
    ----------
    align
        Atoms by which each frame is superposed on the reference first. Selection text, a Selection
        or an AtomGroup, or "same" for the selection itself. None for positions as stored. Then the
        file must be aligned already, as for MDAnalysis' RMSF.
    reference
        With `align`: the reference structure, as for `rmsd`. `"average"` is the average structure
        after superposition on the first of the frames (two passes).
    weights
        With `align`: weights of the superposition. "equal", "mass", or one number per atom.
    errors
        Whether errors are estimated from blocks of frames. They take 48 bytes per atom and block.

    Returns
    -------
    Table
        `values` `(n_atoms,)`, float64, Å: the square root of the squared distance from the mean
        position, averaged over n frames (divided by n, not by n - 1). With `errors` also
        `standard_errors` and `half_widths`, longer sides of the 95 % intervals.

    Raises
    ------
    SelectionError
        If atoms and reference do not match, or masses are requested and missing.
    AnalysisError
        If a frame has no positions: it would make every mean NaN.

    Notes
    -----
    `warnings` name molecules that are broken over the box in the reference, say in how
    many frames they are, and say so if no frame was superposed.

    Errors are those of 64 to 128 blocks of equally many frames, one after the other, by the
    jackknife; frames beyond the last whole block have none.

    Moments are merged pairwise: T. F. Chan, G. H. Golub and R. J. LeVeque, Am. Stat. 37, 242
    (1983).

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.rmsf(traj.select("name CA"), align="same", reference="average").values.shape
    (214,)
    """
    main = main_selection(selection)
    average = is_average(reference)
    onto = aligned_atoms(align, main)
    messages = _nothing_fitted(main.trajectory) if onto is None else few_atoms_messages(onto)

    def plan(chosen: NDArray[np.int64]) -> Plan:
        group = None
        if onto is not None:
            here = first_of(chosen) if average else reference
            target = reference_positions(here, onto, [], messages, chosen)[0]
            number = frame_of(here, main.trajectory)
            messages.extend(broken_in_reference([onto], [target], number, chosen))
            group = group_of(onto, target, weights, messages)
        return Plan("moments", atoms=main.columns, align=group, average=average)

    others = [] if onto is None or onto is main else [onto]
    outcome = yield RunRequest(
        plan,
        [main],
        reference=None if onto is None else frame_of(reference, main.trajectory),
        as_written=[main, *others],
        in_blocks=errors,
    )
    count, squares = outcome.number("n_frames"), outcome.floats("squares")
    if not count:
        squares, count = np.full_like(squares, np.nan), np.float64(1)
    elif len(outcome.frames) == 1:
        messages.append(
            Message(
                Code.ONE_FRAME,
                "one frame has no fluctuations: all values are 0",
                "choose more frames",
            )
        )
    # Without a superposition, the default reference is not used.
    recorded = {"align": None, "reference": None} if onto is None else {"align": onto.label}
    inputs = [] if onto is None else describe_reference(reference)
    found = None
    if errors:
        found = block_errors(fluctuations(outcome.blocks, main.n_atoms), "RMSF of atoms")
        messages += found.messages
    result = Table(
        values=np.sqrt((squares[:, 0] + squares[:, 1] + squares[:, 2]) / count),
        axes=(atoms_axis(main),),
        name="RMSF",
        units="Å",
        selections=(main.label,),
        report=outcome.report(messages, recorded=recorded, inputs=inputs, uses_times=False),
    )
    return with_errors(result, found)


def _nothing_fitted(trajectory: Trajectory) -> list[Message]:
    """Return a warning if no frame is superposed, by `rmsf` or by a transform before it."""
    if any(step.name == "fit" for step in trajectory.transforms):
        return []
    return [
        Message(
            Code.NOT_SUPERPOSED,
            "nothing was fitted: rotation and translation of the whole count as fluctuation,"
            " unless the file is aligned",
            'give align="same" or other atoms',
        )
    ]
