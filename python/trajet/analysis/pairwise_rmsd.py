"""`pairwise_rmsd`: RMSD of every frame from every other."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import numpy as np

from trajet import output
from trajet._trajet import CentredFrames, Plan
from trajet.analysis.arguments import BYTES, PYTHON_ONLY, Atoms, AtomsOption, FileOption
from trajet.analysis.collected import threads_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights, check_same_atoms, weights_of
from trajet.analysis.runner import (
    AnalysisOutcome,
    ResultSize,
    RunOptions,
    RunRequest,
    main_selection,
)
from trajet.memory import check_limit, check_memory
from trajet.messages import Message
from trajet.result import PairwiseRmsd
from trajet.result.axes import named
from trajet.trajectory import FrameChoice, Selection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

# Bytes of each coordinate: as a row of the run, and centred.
_ROW, _CENTRED = 8, 4
# Bytes of rows of the matrix that are computed at a time if they go to a file.
_STRIP = 2**28
FEWER = "choose fewer frames (frames=slice(None, None, 10)) or atoms"

_TO_FILE = ', or write the matrix to a file (matrix_path="FILE.npy")'


@analysis(
    axes=("frames", "other frames"),
    examples=r"""
    trajet pairwise-rmsd adk.psf adk.xtc --select "name CA" -o pairs.npz --plot pairs.png
    trajet pairwise-rmsd top.gro run.xtc --select backbone --step 10 --matrix-path pairs.npy
    """,
)
def pairwise_rmsd(
    selection: Atoms,
    other: Annotated["Selection | AtomGroup | None", AtomsOption(), PYTHON_ONLY] = None,
    *,
    other_frames: Annotated[FrameChoice, PYTHON_ONLY] = None,
    matrix_path: Annotated[str | os.PathLike[str], FileOption((".npy",))] | None = None,
    weights: Weights = "equal",
    max_memory: Annotated[int, BYTES] | None = None,
    **run: Unpack[RunOptions],
) -> Steps[PairwiseRmsd]:
    """Compute the RMSD of every frame from every other.

    Each pair is superposed optimally.

    Parameters
    ----------
    other
        The same atoms of another trajectory, or of this one with `other_frames`: every frame of the
        first is compared with every frame of the second. None compares the frames of one.
    other_frames
        Frames of `other`, chosen as by `frames`.
    matrix_path
        A .npy file to which the matrix is written, in parts, instead of to memory. An existing file
        is replaced.
    weights
        Weights of superposition and average. "equal", "mass", or one number per atom.
    max_memory
        Memory that positions and matrix may take together. None for all that is available.

    Returns
    -------
    PairwiseRmsd
        `values` `(n_frames, n_other)`, float32, Å. Within one trajectory the matrix is symmetric,
        with zeros on the diagonal. With `matrix_path`, `values` are mapped from the file. RMSDs of
        a frame without positions are NaN.

    Raises
    ------
    SelectionError
        If the two selections do not match, or masses are requested and missing.
    MemoryError
        If positions and matrix need more than `max_memory`, or than is available.
    OutputError
        If the file cannot be written.

    Notes
    -----
    Pairs are computed by threads of this process: those of a `LocalPool`, otherwise one for each
    core.

    While frames are read, each coordinate takes 12 bytes, and each pair 4 bytes: 10,000 frames of
    214 atoms take 0.08 GB and their matrix 0.4 GB.

    Positions are used as stored: make molecules that are broken over the box whole with
    `selection.whole()`. They are rounded to float32 after they are centred, which changes an RMSD
    by at most 2e-6 Å for atoms within 30 Å of the centre.

    The superposition uses the quaternion characteristic polynomial: D. L. Theobald, Acta Cryst. A
    61, 478 (2005), doi:10.1107/S0108767305015266.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.pairwise_rmsd(traj.select("name CA")).values.shape
    (98, 98)
    """
    main = main_selection(selection)
    second = None if other is None else main_selection(other)
    if second is None and other_frames is not None:
        raise ValueError("other_frames are those of a second selection: give other, too")
    check_limit(max_memory)
    path = None if matrix_path is None else Path(matrix_path)
    if path is not None:
        output.check(path, (".npy",))
    messages: list[Message] = []
    if second is not None:
        check_same_atoms(main, second, messages)
    numbers = weights_of(weights, main, messages)
    chosen = [main.trajectory.source.numbers(run.get("frames"))]
    if second is not None:
        chosen.append(second.trajectory.source.numbers(other_frames))
    n_frames = [len(of_one) for of_one in chosen]
    check_size(n_frames, main.n_atoms, max_memory, in_memory=path is None)
    is_free = path is None and max_memory is None
    further = matrix_size(n_frames, _TO_FILE) if is_free else None

    def plan_of(atoms: Selection) -> Plan:
        return Plan(
            "positions",
            atoms=atoms.columns,
            align=None,
            average=False,
            finite=False,
            quantity="positions",
        )

    threads = threads_of(run.get("pool"))

    def centred(outcome: AnalysisOutcome) -> CentredFrames:
        return CentredFrames(outcome.floats("positions"), numbers, threads=threads)

    selections = [main] if second is None else [main, second]
    outcome = yield RunRequest(plan_of(main), selections, as_written=[main], further_result=further)
    own, others, beside = centred(outcome), None, None
    if second is not None:
        beside = yield RunRequest(
            plan_of(second),
            [second],
            frames=slice(None) if other_frames is None else other_frames,
            as_written=[second],
        )
        others = centred(beside)
    if path is None:
        values = own.rmsds(others, 0, len(own), threads=threads, progress=None)
    else:
        strip_bytes = _STRIP
        if max_memory is not None:
            strip_bytes = min(strip_bytes, max_memory - _bytes_of_positions(n_frames, main.n_atoms))
        _write(path, own, others, threads=threads, strip_bytes=strip_bytes)
        values = np.load(path, mmap_mode="r")
    if beside is not None:
        messages += beside.broken
    recorded = {"n_other_frames": None if beside is None else len(beside.frames)}
    inputs = [] if second is None else second.trajectory.source.describe_inputs()
    columns = outcome.frames_axis if beside is None else beside.frames_axis
    labels = list(map(str, columns["frame"].tolist()))
    return PairwiseRmsd(
        values=values,
        axes=(outcome.frames_axis, named("other frames", labels, **columns.columns)),
        name="RMSD",
        units="Å",
        selections=tuple(one.label for one in selections),
        report=outcome.report(messages, recorded=recorded, inputs=inputs),
    )


def check_size(
    n_frames: list[int],
    n_atoms: int,
    max_memory: int | None,
    *,
    in_memory: bool = True,
    further: Sequence[tuple[str, int]] = (),
    advice: str = _TO_FILE,
) -> None:
    """Raise an error if positions and matrix do not fit; counts of one or two selections.

    `further` are the names and sizes of other arrays that are in memory together with the matrix,
    and `advice` is how to do without it.
    """
    positions = _bytes_of_positions(n_frames, n_atoms)
    width = n_frames[-1]
    # One block of rows at least.
    height = n_frames[0] if in_memory else min(n_frames[0], CentredFrames.BLOCK)
    parts = [("positions", positions), ("the matrix" if in_memory else "rows", 4 * width * height)]
    raised = "" if max_memory else "; max_memory= allows more"
    check_memory([*parts, *further], max_memory, FEWER + advice * in_memory + raised)


def matrix_size(n_frames: list[int], advice: str) -> ResultSize:
    """Return the size of a matrix of one or two selections, with advice on how to do without."""
    height, width = n_frames[0], n_frames[-1]
    return ResultSize(4 * width * height, f"RMSDs of {height} frames from {width}", advice)


def _bytes_of_positions(n_frames: list[int], n_atoms: int) -> int:
    """Return the bytes that rows of the run and centred positions take together."""
    return sum(n_frames) * 3 * n_atoms * (_ROW + _CENTRED)


def _write(
    path: Path, own: CentredFrames, others: CentredFrames | None, *, threads: int, strip_bytes: int
) -> None:
    """Write the matrix to a .npy file, in strips of at least one block of rows.

    A strip of several blocks takes at most `strip_bytes`.
    """
    n, width = len(own), len(own if others is None else others)
    row = 4 * width
    height = max(1, strip_bytes // max(1, row * CentredFrames.BLOCK)) * CentredFrames.BLOCK
    with output.replacing_file(path) as unfinished, unfinished.open("r+b") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n, width)}
        np.lib.format.write_array_header_1_0(file, header)
        start = file.tell()
        for first in range(0, n, height):
            last = min(n, first + height)
            rows = own.rmsds(others, first, last, threads=threads, progress=None)
            if others is None:
                # Each pair is computed once: columns before these rows are in the rows before.
                for k in range(first):
                    file.seek(start + k * row + 4 * first)
                    rows[:, k] = np.fromfile(file, "<f4", last - first)
            file.seek(start + first * row)
            file.write(rows.astype("<f4", copy=False).data)
