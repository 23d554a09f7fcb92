"""`pca`: principal components of the positions of atoms."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Deviations
from trajet.analysis.collected import check_limit, check_memory, threads_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.pbc_checks import find_broken_molecules, find_broken_molecules_at
from trajet.analysis.reference import (
    AVERAGE,
    Reference,
    Weights,
    describe_reference,
    first_of,
    frame_of,
    group_of,
    is_average,
    reference_positions,
)
from trajet.analysis.runner import (
    RunRequest,
    describe,
    further_selection,
    main_selection,
    selecting,
)
from trajet.pools.pool import AnalysisSpec, Pool, Progress
from trajet.result import PrincipalComponents
from trajet.trajectory import FrameChoice, Selection

if TYPE_CHECKING:
    from trajet.mdanalysis import AtomGroup

# Bytes of each coordinate: as a row of the run, and as a deviation.
_ROW, _DEVIATION = 8, 4
# Bytes of each element of the matrix while LAPACK works: it, a copy, and room for two more.
_MATRIX = 32
# Variances below this part of the largest are rounding.
_RANK = 1e-10
# Columns or rows of a table of deviations in float64 at a time.
_CHUNK = 512


@analysis
def pca(
    selection: "Selection | AtomGroup",
    *,
    align: "bool | str | Selection | AtomGroup" = True,
    reference: Reference = AVERAGE,
    weights: Weights = None,
    n_components: int | None = 10,
    max_memory: int | None = None,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
    sample: bool = False,
) -> Steps[PrincipalComponents]:
    """Compute the principal components of the positions of atoms.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file.
    align
        Atoms by which each frame is superposed on the reference first: True for the selection
        itself, or selection text, a Selection or an AtomGroup. False takes positions as stored: the
        file must be aligned already.
    reference
        With `align`: `"average"`, the average structure after superposition on the first of the
        frames (two passes), or a reference structure as for `rmsd`. MDAnalysis' PCA takes the first
        frame.
    weights
        With `align`: weights of the superposition: None for equal ones, "mass", or one number per
        atom. The components are those of unweighted positions.
    n_components
        How many components and projections to return; None for all. Variances are returned of all.
    max_memory
        Bytes that positions and matrix may take together; None for no limit but the system's.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to read frames; None for `LocalPool()`. The matrix is computed by threads of this
        process: those of a `LocalPool`, otherwise one for each core.
    progress
        Called with frames done and in total, while they are read.
    sample
        Also measure R_comp/IO on a few frames that one thread reads before the run, for the report
        (`r_comp_io` and `sample`); a run on one thread needs no sample.

    Returns
    -------
    PrincipalComponents
        `variances` (Å²) in descending order, those of n frames divided by n - 1; `components`
        `(n_components, n_atoms, 3)`, of length 1 each, the number that is largest by amount being
        positive; `projections` `(n_frames, n_components)`, Å; `mean` `(n_atoms, 3)`, Å.

    Raises
    ------
    SelectionError
        If atoms and reference do not match, or masses are requested and missing.
    MemoryError
        If positions and matrix need more than `max_memory`, or than the system has.
    AnalysisError
        If there are fewer than two frames, if an atom has no position in a frame, or if no atom
        moves.
    FrameError, FormatError
        If a frame is out of range, or corrupt.

    Notes
    -----
    Positions of all frames are kept in memory, 12 bytes for each coordinate. The matrix is the
    covariance of the coordinates, or, where frames are fewer, the products of the deviations of all
    pairs of frames, which has the same variances (L. Sirovich, Q. Appl. Math. 45, 561 (1987)). Its
    smaller side m costs 32 m² bytes: for 3341 atoms in 4187 frames 1.1 GB in all.

    The matrix has the same bits on any pool and any processor: deviations are rounded to float32,
    and their products are exact and are added in the order of the numbers. Eigenvectors are
    LAPACK's (`numpy.linalg.eigh`): they have the same bits on one machine with the same NumPy and
    the same number of BLAS threads (`OPENBLAS_NUM_THREADS=1`), and agree within rounding otherwise.

    Variances below 1e-10 of the largest are rounding, and left out with their components.

    A. Amadei, A. B. M. Linssen and H. J. C. Berendsen, Proteins 17, 412 (1993),
    doi:10.1002/prot.340170408.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.pca(traj.select("name CA"))
    >>> result.projections.shape
    (98, 10)
    """
    main = main_selection(selection)
    check_limit(max_memory)
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components is a number above 0, or None for all: {n_components!r}")
    onto = None
    if align is True:
        onto = main
    elif align is not False:
        onto = further_selection(align, main.trajectory)
    average = is_average(reference)
    if onto is None and not (average and weights is None):
        raise ValueError("reference and weights need align: without it nothing is superposed")
    remarks: list[str] = []

    def plan(chosen: NDArray[np.int64]) -> AnalysisSpec:
        if len(chosen) < 2:
            raise AnalysisError(
                f"{main.trajectory.label}: principal components need two frames at least, and"
                f" {len(chosen)} {'is' if len(chosen) == 1 else 'are'} chosen"
            )
        _check_size(len(chosen), 3 * main.n_atoms, max_memory)
        group = None
        if onto is not None:
            here = first_of(chosen) if average else reference
            target = reference_positions(here, onto, [], remarks, chosen)[0]
            remarks.extend(find_broken_molecules(onto, target))
            group = group_of(onto, target, weights, remarks)
        remarks.extend(find_broken_molecules_at(main, [*chosen[:1], *chosen[1:][-1:]]))
        return AnalysisSpec.of(
            "positions",
            atoms=main.places,
            align=group,
            average=average and onto is not None,
            finite=True,
        )

    outcome = yield RunRequest(
        main.trajectory,
        frames,
        pool,
        progress,
        plan,
        t_select=selecting(main, None if onto is main else onto),
        sample=sample,
        reference=None if onto is None else frame_of(reference, main.trajectory),
    )
    positions = np.ascontiguousarray(outcome.rows)
    variances, components, projections, mean = _components(
        positions, n_components, threads_of(pool), main.label
    )
    parameters = {
        "selections": [main.label],
        "n_atoms": [main.n_atoms],
        "align": None if onto is None else onto.label,
        "reference": None if onto is None else describe(reference),
        "weights": describe(weights),
        "n_components": len(components),
    }
    inputs = [] if onto is None else describe_reference(reference)
    has_topology = main.trajectory.has_topology
    return PrincipalComponents(
        variances=variances,
        components=components.reshape(len(components), -1, 3),
        projections=projections,
        mean=mean.reshape(-1, 3),
        times=outcome.times,
        frames=outcome.frames,
        atoms=main.indices,
        topology_atoms=main.topology_atoms if has_topology else None,
        label=main.label,
        report=outcome.report("pca", parameters, inputs, remarks),
    )


def _check_size(n_frames: int, width: int, max_memory: int | None) -> None:
    """Raise a MemoryError if the positions and the matrix do not fit."""
    side = min(n_frames, width)
    parts = [
        ("positions", n_frames * width * (_ROW + _DEVIATION)),
        ("the matrix and its eigenvectors", _MATRIX * side * side),
    ]
    check_memory(parts, max_memory, "choose fewer frames (frames=slice(None, None, 10)) or atoms")


def _components(
    positions: NDArray[np.float64], n_components: int | None, threads: int, label: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return variances, components, projections and the mean of positions `(n_frames, width)`."""
    n_frames, width = positions.shape
    of_frames = n_frames <= width
    deviations = Deviations(positions, of_frames=of_frames, threads=threads)
    mean = deviations.mean
    matrix = deviations.products(threads=threads, progress=None)
    del deviations
    values, vectors = np.linalg.eigh(matrix)
    del matrix
    values, vectors = values[::-1] / (n_frames - 1), vectors[:, ::-1]
    rank = int((values > _RANK * values[0]).sum())
    if rank == 0 or not math.isfinite(values[0]):
        raise AnalysisError(f"selection {label!r}: no atom moves: there are no components")
    count = rank if n_components is None else min(rank, n_components)
    kept = vectors[:, :count]
    if of_frames:
        # From directions in the space of frames to those in the space of coordinates.
        components = np.empty((width, count))
        for first in range(0, width, _CHUNK):
            part = slice(first, first + _CHUNK)
            components[part] = (positions[:, part] - mean[part]).T @ kept
        components /= np.linalg.norm(components, axis=0)
    else:
        components = kept.copy()
    largest = np.abs(components).argmax(axis=0)
    components *= np.sign(components[largest, np.arange(count)])
    projections = np.empty((n_frames, count))
    for first in range(0, n_frames, _CHUNK):
        projections[first : first + _CHUNK] = (
            positions[first : first + _CHUNK] - mean
        ) @ components
    return values[:rank].copy(), np.ascontiguousarray(components.T), projections, mean
