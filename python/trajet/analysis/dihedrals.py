"""Dihedral angles, and their cosines and sines as features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, mdanalysis
from trajet._trajet import SelectionError
from trajet.analysis.subject import main_selection, run
from trajet.pools.elsewhere import led
from trajet.pools.pool import Plan, Pool, Progress
from trajet.result import Dihedrals
from trajet.trajectory import FrameChoice, Selection, Trajectory


@led("result")
def dihedrals(
    selection: Selection | Trajectory | Any,
    quadruples: Sequence[Sequence[int]] | NDArray[Any] | None = None,
    *,
    features: bool = False,
    pbc: bool = True,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> Dihedrals:
    """Compute dihedral angles frame by frame.

    Parameters
    ----------
    selection
        Without `quadruples`: the residues of these atoms; of each that has both φ (C'-N-CA-C) and ψ
        (N-CA-C-N'), both are computed. With them: the trajectory, or any selection of it.
    quadruples
        `(n, 4)` atom indices, as for `Trajectory.select`.
    features
        Return cosine and sine of each angle instead of the angle: no jump at 180 degrees.
    pbc
        Whether the bonds are those between the nearest images, where a frame has a cell.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.

    Returns
    -------
    Dihedrals
        `values` `(n_frames, n)`, float64, degrees from -180 to 180, with the sign of IUPAC: for
        residues φ, ψ of the first, then of the next. With `features` `(n_frames, 2 n)`: cosine and
        sine of the first angle, then of the next. Not-a-number where three atoms lie on a line.

    Raises
    ------
    SelectionError
        If no residue has both angles, or an index is out of range.
    FrameError, FormatError
        If a frame is out of range, or corrupt.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.dihedrals(traj.select("protein"), features=True).values.shape
    (98, 848)
    >>> tj.dihedrals(traj, [[0, 4, 6, 8]]).values.shape
    (98, 1)
    """
    main = main_selection(selection)
    backbone = quadruples is None
    remarks = []
    if quadruples is None:
        names, fours = mdanalysis.backbone_dihedrals(main.named, main.label)
        places, there = main.trajectory.places_of(fours)
        # φ and ψ of a residue go together.
        whole = np.repeat(there.reshape(-1, 8).all(axis=1), 2)
        if not whole.any():
            raise SelectionError(
                f"{main.trajectory.label}: selection {main.label!r}: no residue has all atoms of φ"
                " and ψ in the tags that are open: open the whole data set"
            )
        if n_left_out := int((~whole).sum()) // 2:
            remarks.append(
                "residues left out, since atoms of their φ and ψ are in tags that are not open:"
                f" {n_left_out}"
            )
        names = tuple(name for name, kept in zip(names, whole, strict=True) if kept)
        fours, places = fours[whole], places[whole]
    else:
        fours = _checked(quadruples)
        places = main.trajectory.places(fours.ravel()).reshape(fours.shape)
        names = tuple("-".join(map(str, four)) for four in fours.tolist())
    outcome = run(
        main.trajectory,
        frames,
        pool,
        progress,
        lambda _: Plan.of(_trajet.dihedrals_plan, places, features=features, periodic=pbc),
    )
    columns = names
    if features:
        columns = tuple(f"{function} {name}" for name in names for function in ("cos", "sin"))
    parameters = {
        "selections": [main.label],
        "n_dihedrals": len(fours),
        "backbone": backbone,
        "features": features,
        "pbc": pbc,
    }
    return Dihedrals(
        values=outcome.rows,
        times=outcome.times,
        frames=outcome.frames,
        units="" if features else "degrees",
        columns=columns,
        name="dihedral features" if features else "dihedral angles",
        report=outcome.report("dihedrals", parameters, remarks=remarks),
        atoms=fours,
        backbone=backbone,
        features=features,
    )


def _checked(quadruples: Sequence[Sequence[int]] | NDArray[Any]) -> NDArray[np.int64]:
    """Return quadruples as an array.

    Raises
    ------
    SelectionError
        If there is none.
    TypeError
        If they are no whole numbers in rows of four.
    """
    try:
        fours = np.asarray(quadruples)
    except ValueError:
        # Rows of different lengths make no array.
        fours = np.empty(1)
    if fours.size == 0:
        raise SelectionError("no quadruple of atoms was given")
    if fours.ndim != 2 or fours.shape[1] != 4 or not np.issubdtype(fours.dtype, np.integer):
        raise TypeError("quadruples must be whole numbers of shape (n, 4)")
    return np.ascontiguousarray(fours, dtype=np.int64)
