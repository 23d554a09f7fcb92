"""`count`: number of selected atoms."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.command import Command
from trajet.analysis.distance_units import selections_in_nm
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunRequest, main_selection, selecting
from trajet.pools.pool import AnalysisSpec, Pool, Progress
from trajet.result import Series
from trajet.trajectory import FrameChoice, Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


@analysis
def count(
    selection: "Selection | UpdatingSelection | AtomGroup",
    *,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> Steps[Series]:
    """Count the selected atoms, frame by frame.

    Parameters
    ----------
    selection
        An updating selection, `traj.select("name OW and around 3.5 protein", updating=True)`; the
        number of atoms of any other selection is the same in every frame.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.

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
    native, places, n_atoms = None, None, None
    if isinstance(main, UpdatingSelection):
        native, places = main.prepared(has_selected=False)
    else:
        places, n_atoms = main.places, main.n_atoms

    def plan(_: NDArray[np.int64]) -> AnalysisSpec:
        return AnalysisSpec.of(
            "count", atoms=places, selection=None if native is None else native.to_bytes()
        )

    outcome = yield RunRequest(
        main.trajectory, frames, pool, progress, plan, t_select=selecting(main)
    )
    remarks = selections_in_nm(
        [main.label], found=bool(outcome.rows.any()) or not len(outcome.frames)
    )
    remarks += outcome.cells.missing_for([main])
    parameters = {
        "selections": [main.label],
        "n_atoms": [n_atoms],
        "updating": native is not None,
    }
    return Series(
        values=outcome.rows[:, 0].copy(),
        times=outcome.times,
        frames=outcome.frames,
        units="atoms",
        columns=(main.label,),
        name="N",
        report=outcome.report("count", parameters, remarks=remarks),
    )


COMMAND = Command(
    count,
    """Atoms of a selection against time.

    The selection is evaluated in each frame. Distances are those of nearest images. To count
    molecules, select one atom of each.

    \b
    Examples:
      trajet count top.gro run.xtc --select "name OW and around 3.5 protein" -o shell.csv
      trajet count adk.psf adk.xtc --select "name CA and around 6 resid 100" --plot near.png
    """,
    updating=True,
)
