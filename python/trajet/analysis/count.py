"""`count`: number of selected atoms."""

from typing import TYPE_CHECKING, Annotated, Unpack

import numpy as np

from trajet._trajet import Plan
from trajet.analysis.arguments import AtomsOption
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.analysis.unit_warnings import selections_in_nm
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import Table
from trajet.trajectory import Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


@analysis(
    axes=("frames",),
    notes=(
        "The selection is evaluated in each frame. Distances are those of nearest images. To count"
        " molecules, select one atom of each."
    ),
    examples=r"""
    trajet count top.gro run.xtc --select "name OW and around 3.5 protein" -o shell.csv
    trajet count adk.psf adk.xtc --select "name CA and around 6 resid 100" --plot near.png
    """,
)
def count(
    selection: Annotated[
        "Selection | UpdatingSelection | AtomGroup", AtomsOption(updating="always")
    ],
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Count the selected atoms, frame by frame.

    Parameters
    ----------
    selection
        A Selection, usually an updating one, whose atoms are chosen in each frame:
        `traj.select("name OW and around 3.5 protein", updating=True)`.

    Returns
    -------
    Table
        `values` `(n_frames,)`, float64: numbers of atoms.

    Raises
    ------
    AnalysisError
        If an atom on which the selection depends has no position, or the cell of a frame has no
        volume.

    Notes
    -----
    Distances are those of nearest images in frames that have a cell. To count molecules, select one
    atom of each, such as the oxygen of water.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> near = traj.select("name CA and around 6 resid 100", updating=True)
    >>> tj.count(near).values[:3]
    array([6., 6., 6.])
    """
    main = selection if isinstance(selection, UpdatingSelection) else main_selection(selection)
    if isinstance(main, UpdatingSelection):
        native, columns = main.prepared(has_selected=False)
        plan = Plan("count", atoms=columns, selection=native.to_bytes(), members=None)
    else:
        plan = Plan("count", atoms=main.columns, selection=None, members=None)
    outcome = yield RunRequest(plan, [main])
    messages = selections_in_nm(
        [main.label], found=bool(outcome.arrays["count"].any()) or not len(outcome.frames)
    )
    messages += outcome.cells.missing_for([main])
    if not isinstance(main, UpdatingSelection):
        messages.append(
            Message(
                Code.SAME_ATOMS,
                f"{quoted(main.label)} are the same atoms in all frames, and so is their number",
                "select those of each frame with traj.select(..., updating=True)",
            )
        )
    return Table(
        values=outcome.integers("count").astype(np.float64),
        axes=(outcome.frames_axis,),
        name="N",
        units="atoms",
        selections=(main.label,),
        report=outcome.report(messages, recorded={"updating": isinstance(main, UpdatingSelection)}),
    )
