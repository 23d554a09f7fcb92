"""`pca`: principal components of the positions of atoms."""

from collections.abc import Generator
from functools import partial
from typing import Annotated, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Deviations, Plan
from trajet.analysis.arguments import BYTES, Atoms, Between
from trajet.analysis.atom_groups import atoms_axis
from trajet.analysis.collected import threads_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    AVERAGE,
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
from trajet.analysis.runner import AnalysisOutcome, RunOptions, RunRequest, main_selection
from trajet.checked_numbers import whole_number
from trajet.memory import STATES, check_limit, check_memory
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import PrincipalComponents, Table
from trajet.result.axes import named
from trajet.trajectory import Selection

# Bytes of each coordinate: as a row of the run, and as a deviation.
_ROW, _DEVIATION = 8, 4
# Bytes of each element of the matrix while LAPACK works: it, a copy, and room for two more.
_MATRIX = 32
# Coordinates up to which the covariance is folded, and frames need not be kept: 9 MB a state.
_FOLDED = 1536
# Variances below this part of the largest, and a largest one below this (Å²), are rounding.
_RANK = 1e-10
_STILL = 1e-12
# Columns or rows of a table of deviations in float64 at a time.
_CHUNK = 512

_Float: TypeAlias = NDArray[np.float64]
# Variances, components by column, projections, and the mean.
_Components: TypeAlias = tuple[_Float, _Float, _Float, _Float]


def _check(align: object, reference: Reference, weights: Weights) -> None:
    """Raise a ValueError for parameters of a superposition without one."""
    if align is None and not (is_average(reference) and is_equal(weights)):
        raise ValueError("reference= and weights= need align=, without which nothing is superposed")


@analysis(
    check=_check,
    examples=r"""
    trajet pca adk.psf adk.xtc --select "name CA" -o pca.csv --plot pca.png
    trajet pca adk.psf adk.xtc --select "name CA" --save extremes=first.pdb
    """,
)
def pca(
    selection: Atoms,
    *,
    align: Align = "same",
    reference: Reference = AVERAGE,
    n_components: Annotated[int, Between(1)] | None = 10,
    weights: Weights = "equal",
    max_memory: Annotated[int, BYTES] | None = None,
    **run: Unpack[RunOptions],
) -> Steps[PrincipalComponents]:
    """Compute the principal components of positions.

    Parameters
    ----------
    align
        Atoms by which each frame is superposed on the reference first. "same" for the selection
        itself, or selection text, a Selection or an AtomGroup. None for positions as stored. Then
        the file must be aligned already.
    reference
        With `align`: the reference structure, as for `rmsd`. `"average"` is the average structure
        after superposition on the first of the frames (two passes). MDAnalysis' PCA takes the first
        frame.
    n_components
        How many components and projections to return. None for all. All variances are returned.
    weights
        With `align`: weights of the superposition. "equal", "mass", or one number per atom. The
        components are those of unweighted positions.
    max_memory
        Memory that positions and matrix may take together. None for all that is available.

    Returns
    -------
    PrincipalComponents
        `variances` (Å²) in descending order, sums over n frames divided by n - 1; `components`
        `(n_components, n_atoms, 3)`, each of length 1, and with the sign that makes its number of
        largest magnitude positive; `projections` `(n_frames, n_components)`, Å; `mean`
        `(n_atoms, 3)`, Å.

    Raises
    ------
    SelectionError
        If atoms and reference do not match, or masses are requested and missing.
    MemoryError
        If positions and matrix need more than `max_memory`, or than is available.
    AnalysisError
        If there are fewer than two frames, if an atom has no position in a frame, or if no atom
        moves.

    Notes
    -----
    The matrix is computed by threads of this process: those of a `LocalPool`, otherwise one for
    each core.

    The matrix is the covariance of the coordinates, or, where frames are fewer, the products of the
    deviations of all pairs of frames, which has the same variances (L. Sirovich, Q. Appl. Math. 45,
    561 (1987)). Its side m costs 32 m² bytes.

    Up to 512 atoms in more frames than coordinates, covariances of parts are merged (T. F. Chan,
    G. H. Golub and R. J. LeVeque, Am. Stat. 37, 242 (1983)) and frames are read once more for the
    projections, which alone grow with the frames. Otherwise the positions of all frames are kept in
    memory, 12 bytes for each coordinate: 3341 atoms in 4187 frames take 1.1 GB in all.

    The matrix has the same bits on any pool and any processor: deviations are rounded to float32,
    and their products are exact and are added in the order of the numbers. Eigenvectors are
    LAPACK's (`numpy.linalg.eigh` on one BLAS thread): they have the same bits on one machine with
    the same NumPy, and agree within rounding otherwise.

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
    if n_components is not None:
        whole_number(n_components, "n_components", least=1)
    onto = aligned_atoms(align, main)
    average = is_average(reference)
    messages: list[Message] = []

    prepared: list[dict[str, object]] = []

    def plan(chosen: NDArray[np.int64]) -> Plan:
        if len(chosen) < 2:
            raise AnalysisError(
                f"{main.trajectory.label}: principal components need two frames at least, and"
                f" {len(chosen)} {'is' if len(chosen) == 1 else 'are'} chosen"
            )
        n_frames, width = len(chosen), 3 * main.n_atoms
        folded = _is_folded(n_frames, width)
        _check_size(n_frames, width, n_components, max_memory, threads_of(run.get("pool")))
        group = None
        if onto is not None:
            here = first_of(chosen) if average else reference
            target = reference_positions(here, onto, [], messages, chosen)[0]
            number = frame_of(here, main.trajectory)
            messages.extend(broken_in_reference([onto], [target], number, chosen))
            group = group_of(onto, target, weights, messages)
        prepared[:] = [
            {
                "atoms": main.columns,
                "align": group,
                "average": average and onto is not None,
                "finite": True,
            }
        ]
        quantity = "covariance" if folded else "positions"
        return Plan("positions", **prepared[0], quantity=quantity)

    compared = None if onto is None else frame_of(reference, main.trajectory)
    outcome = yield RunRequest(
        plan,
        [main],
        reference=compared,
        as_written=[main] if onto is None or onto is main else [main, onto],
    )
    if _is_folded(len(outcome.frames), 3 * main.n_atoms):
        found = yield from _projected(main, outcome, prepared[0], n_components, reference=compared)
    else:
        positions = outcome.floats("positions")
        found = _collected(positions, n_components, threads_of(run.get("pool")), main.label)
    variances, components, projections, mean = found
    components = np.ascontiguousarray(components.T)
    recorded = {
        "align": None if onto is None else onto.label,
        **({"reference": None} if onto is None else {}),
        "n_components": len(components),
    }
    inputs = [] if onto is None else describe_reference(reference)
    report = outcome.report(
        [*messages, *_fewer(n_components, projections, main)], recorded=recorded, inputs=inputs
    )
    numbers = named("components", [str(k) for k in range(1, len(variances) + 1)])
    chosen = numbers.some(slice(len(components)))
    structure = atoms_axis(main), named("coordinates", tuple("xyz"))
    part = partial(Table, selections=(main.label,), report=report)
    return PrincipalComponents(
        values=projections,
        axes=(outcome.frames_axis, chosen),
        name="projection",
        units="Å",
        selections=(main.label,),
        report=report,
        parts={
            "variances": part(variances, (numbers,), "variance", "Å²"),
            "components": part(
                components.reshape(len(components), -1, 3), (chosen, *structure), "direction", ""
            ),
            "mean": part(mean.reshape(-1, 3), structure, "average structure", "Å"),
        },
        topology_atoms=main.topology_atoms if main.trajectory.has_topology else None,
    )


def _projected(
    main: Selection,
    outcome: AnalysisOutcome,
    options: dict[str, object],
    n_components: int | None,
    *,
    reference: int | None,
) -> Generator[RunRequest, AnalysisOutcome, _Components]:
    """Return components from merged covariances, and read the frames once more to project them.

    Parameters
    ----------
    outcome
        Of the run for covariances.
    options
        The options of its plan.
    """
    mean, average_structure = outcome.floats("mean"), outcome.floats("average")
    sums = _unfolded(outcome.floats("sums"), 3 * main.n_atoms)
    variances, components = _directions(sums, len(outcome.frames), n_components, main.label)
    _make_positive(components)
    along = {"mean": mean, "components": np.ascontiguousarray(components.T).ravel()}
    last = {**options, "quantity": {"projections": along}, "average": False}
    if len(average_structure):
        # Frames need not be read again for it.
        last["align"] = {**cast(dict[str, object], last["align"]), "reference": average_structure}
    second = yield RunRequest(Plan("positions", **last), [main], reference=reference)
    return variances, components, second.floats("projections"), mean


def _fewer(
    n_components: int | None, projections: NDArray[np.float64], main: Selection
) -> list[Message]:
    """Return a message if there are fewer components than were asked for."""
    n_frames, count = projections.shape
    if n_components is None or count >= n_components:
        return []
    return [
        Message(
            Code.FEWER_COMPONENTS,
            f"there are {count} components, not {n_components}: {n_frames} frames of {main.n_atoms}"
            " atoms have no more that differ from zero",
        )
    ]


def _is_folded(n_frames: int, width: int) -> bool:
    """Return whether covariances of parts are merged, instead of collecting positions."""
    return width < n_frames and width <= _FOLDED


def _check_size(
    n_frames: int, width: int, n_components: int | None, max_memory: int | None, threads: int
) -> None:
    """Raise a MemoryError if positions, or states and projections, and the matrix do not fit."""
    side = min(n_frames, width)
    matrix = ("the matrix and its eigenvectors", _MATRIX * side * side)
    if _is_folded(n_frames, width):
        count = width if n_components is None else min(width, n_components)
        parts = [
            ("projections", n_frames * count * _ROW),
            ("covariances of parts", STATES * threads * _ROW * width * (width + 1) // 2),
            matrix,
        ]
    else:
        parts = [("positions", n_frames * width * (_ROW + _DEVIATION)), matrix]
    raised = "" if max_memory else "; max_memory= allows more"
    advice = f"choose fewer frames (frames=slice(None, None, 10)) or atoms{raised}"
    check_memory(parts, max_memory, advice)


def _unfolded(sums: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the symmetric matrix `(width, width)` of the rows of its upper triangle."""
    matrix = np.zeros((width, width))
    first = 0
    for k in range(width):
        matrix[k, k:] = matrix[k:, k] = sums[first : first + width - k]
        first += width - k
    return matrix


def _directions(
    matrix: NDArray[np.float64], n_frames: int, n_components: int | None, label: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances `(rank,)` and eigenvectors `(side, n_components)` of sums of products."""
    # Imported here, as it looks for the libraries of this process.
    from threadpoolctl import threadpool_limits

    # The bits depend on the number of threads.
    with threadpool_limits(1, "blas"):
        values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1] / (n_frames - 1), vectors[:, ::-1]
    rank = int((values > _RANK * values[0]).sum())
    if not values[0] > _STILL:
        raise AnalysisError(f"selection {quoted(label)}: no atom moves: there are no components")
    count = rank if n_components is None else min(rank, n_components)
    return values[:rank].copy(), vectors[:, :count].copy()


def _make_positive(components: NDArray[np.float64]) -> None:
    """Change signs so that the largest number of each column by amount is positive."""
    largest = np.abs(components).argmax(axis=0)
    components *= np.sign(components[largest, np.arange(components.shape[1])])


def _collected(
    positions: NDArray[np.float64], n_components: int | None, threads: int, label: str
) -> _Components:
    """Return variances, components, projections and the mean of positions `(n_frames, width)`."""
    n_frames, width = positions.shape
    of_frames = n_frames <= width
    deviations = Deviations(positions, of_frames=of_frames, threads=threads)
    mean = deviations.mean
    matrix = deviations.products(threads=threads, progress=None)
    del deviations
    variances, vectors = _directions(matrix, n_frames, n_components, label)
    del matrix
    components = vectors
    if of_frames:
        # From directions in the space of frames to those in the space of coordinates.
        components = np.empty((width, vectors.shape[1]))
        for first in range(0, width, _CHUNK):
            part = slice(first, first + _CHUNK)
            components[part] = (positions[:, part] - mean[part]).T @ vectors
        components /= np.linalg.norm(components, axis=0)
    _make_positive(components)
    projections = np.empty((n_frames, components.shape[1]))
    for first in range(0, n_frames, _CHUNK):
        part = slice(first, first + _CHUNK)
        projections[part] = (positions[part] - mean) @ components
    return variances, components, projections, mean
