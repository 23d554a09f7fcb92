"""`count`: number of selected atoms."""

from typing import TYPE_CHECKING, Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.arguments import AtomsOption
from trajet.analysis.distance_units import selections_in_nm
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection, selection_seconds
from trajet.result import Series
from trajet.trajectory import Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


@analysis(
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
) -> Steps[Series]:
    """Count the selected atoms, frame by frame.

    Parameters
    ----------
    selection
        A Selection, usually an updating one, whose atoms are chosen in each frame:
        `traj.select("name OW and around 3.5 protein", updating=True)`.

    Returns
    -------
    Series
        `values` `(n_frames,)`, float64: numbers of atoms.

    Raises
    ------
    AnalysisError
        If an atom on which the selection depends has no position, or the cell of a frame has no
        volume.
    FrameError
        If a frame is out of range.
    FormatError
        If a frame is corrupt.

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
    native, columns, n_atoms = None, None, None
    if isinstance(main, UpdatingSelection):
        native, columns = main.prepared(has_selected=False)
    else:
        columns, n_atoms = main.columns, main.n_atoms

    def plan(_: NDArray[np.int64]) -> Plan:
        return Plan("count", atoms=columns, selection=None if native is None else native.to_bytes())

    outcome = yield RunRequest(main.trajectory, plan, t_select=selection_seconds(main), **run)
    remarks = selections_in_nm(
        [main.label], found=bool(outcome.arrays["count"].any()) or not len(outcome.frames)
    )
    remarks += outcome.cells.missing_for([main])
    parameters = {
        "selections": [main.label],
        "n_atoms": [n_atoms],
        "updating": native is not None,
    }
    return Series(
        values=outcome.integers("count").astype(np.float64),
        times=outcome.times,
        frames=outcome.frames,
        units="atoms",
        columns=(main.label,),
        name="N",
        report=outcome.report("count", parameters, remarks=remarks),
    )
