"""`msd`: mean squared displacement and diffusion coefficient."""

from functools import partial
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.arguments import BYTES, PS, Atoms, Metavar
from trajet.analysis.displacements import Displacements, Shape
from trajet.analysis.job import Steps, analysis
from trajet.analysis.origin_blocks import Origins
from trajet.analysis.particle_series import (
    MAX_MEMORY,
    MovingParticles,
    Particles,
    borders_of_groups,
    lags_of,
    message_on_reads,
    read_series,
    threads_here,
)
from trajet.analysis.reference import Weights
from trajet.analysis.runner import AnalysisOutcome, RunOptions, main_selection
from trajet.analysis.unwrapped_positions import UnwrappedChecks
from trajet.messages import Message
from trajet.result import (
    MeanSquaredDisplacement,
    Table,
    diffusion,
    errors_of,
    fit_messages,
    range_of_fit,
)
from trajet.result.axes import Axis, named


@analysis(
    is_bounded=True,
    notes=(
        "Positions must be unwrapped: remove jumps over the box with --nojump, for molecules with"
        " --whole --nojump. Frames must be equally spaced in time. Errors are those of groups of"
        " particles, which holds if particles move independently; of fewer than five particles"
        " they are those of blocks of time origins."
    ),
    examples=r"""
    trajet msd top.tpr run.xtc --select "resname SOL" --by molecule --whole --nojump
    trajet msd top.tpr run.xtc --select "name P" --axes xy --nojump --fit-range 1000 5000 \
        -o msd.csv --plot msd.png
    """,
)
def msd(
    selection: Atoms,
    *,
    axes: str = "xyz",
    max_lag: Annotated[float, PS] | None = None,
    fit_range: Annotated[tuple[float, float], PS, Metavar("FROM TO")] | None = None,
    fft: bool = True,
    unwrapped: bool = False,
    by: Particles = "atom",
    weights: Weights = "mass",
    max_memory: Annotated[int, BYTES] = MAX_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[MeanSquaredDisplacement]:
    """Compute the mean squared displacement against lag time.

    The diffusion coefficient of the particles follows from it.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. Positions
        must be unwrapped: remove jumps over the box with `selection.nojump()`, or for molecules
        with `selection.whole().nojump()`; with `selection.nojump(view="toroidal")` if the cell
        changes, as at constant pressure.
    axes
        Axes along which displacements are measured: "xyz", "xy", "z", …. The diffusion coefficient
        is the slope divided by twice their number.
    max_lag
        The longest lag, ps. None for the length of the trajectory.
    fit_range
        Shortest and longest lag of the fit, ps. None for 10 % to 50 % of the longest lag. The
        result's `fit(first, last)` fits another range.
    fft
        Whether the sums over all pairs of frames are made by Fourier transforms. They take n log n
        steps, and n² steps pair by pair; the numbers differ by rounding.
    unwrapped
        Whether positions are known to be unwrapped: a step of more than half of the cell is then no
        error.
    by
        The particles: each atom, or the centre of the selected atoms of each residue, molecule or
        chain. They are those of `Selection.split`.
    weights
        Weights of the centres. "mass", "equal", or one number per atom.
    max_memory
        Memory that positions and transforms may take. If the positions of all particles take more,
        the trajectory is read several times, for some of the particles at a time.

    Returns
    -------
    MeanSquaredDisplacement
        `values` `(n_lags,)`, float64, Å², at `lags` (ps), averaged over all pairs of frames and all
        particles, with `half_widths` of their 95 % intervals; `diffusion` and
        `diffusion_half_width` in Å²/ps.

    Raises
    ------
    AnalysisError
        If positions jump over the box or molecules are broken, if times are not equally spaced, or
        if there are fewer than two frames, or a frame without positions.
    ValueError
        If the longest lag exceeds the trajectory, the fit has fewer than two lags or ends beyond
        the longest one, `axes` are not some of x, y and z, or one particle does not fit into
        `max_memory`.
    SelectionError
        If masses, or bonds for molecules, are missing.

    Notes
    -----
    Times of frames must be equally spaced, but for one rounding of the type in which they are
    stored.

    A step between neighbouring frames of more than half of the cell along an axis is an error,
    because it shows that positions are wrapped. Steps are not checked if jumps are removed
    (`nojump`), with `unwrapped`, and in frames that have no cell; `warnings` name such
    frames.

    Fourier transforms: G. R. Kneller, V. Keiner, M. Kneller and M. Schiller, Comput. Phys. Commun.
    91, 191 (1995), doi:10.1016/0010-4655(95)00048-K. The fit is described at
    `MeanSquaredDisplacement`.

    Errors take particles as independent, in up to 20 groups of consecutive ones. If intervals of
    time origins are more than three times as wide, `warnings` say that particles
    move together. Of fewer than five particles, errors follow from blocks of time origins, and
    messages say from which lag on the trajectory is too short for them. docs/statistics.md has the
    coverage of both.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("solvated.tpr", "solvated.xtc").nojump()
    >>> result = tj.msd(traj.select("resname SOL and not name MW"), by="molecule")
    >>> result.values[:3].round(2)
    array([  0.  , 207.42, 410.14])
    """
    main = main_selection(selection)
    trajectory = main.trajectory
    if not axes or set(axes) - set("xyz") or len(set(axes)) < len(axes):
        raise ValueError(f"axes are some of x, y and z, such as 'xyz' or 'z', not {axes!r}")
    numbers = trajectory.source.numbers(run.get("frames"))
    lags = lags_of(trajectory, numbers, max_lag)
    range_of_fit(lags, fit_range)
    messages: list[Message] = []
    moving = MovingParticles.of(main, by, weights, messages)
    borders = borders_of_groups(moving.n_particles)
    shape = Shape(len(numbers), len(lags), len(axes), borders, fft, max_memory)
    checks = UnwrappedChecks(main, moving, axes, unwrapped=unwrapped)
    sums, origins = Displacements(shape, threads_here(run.get("pool"))), Origins(shape)

    def take(outcome: AnalysisOutcome, series: NDArray[np.float64], first: int, group: int) -> None:
        checks.check_series(outcome, series, first)
        sums.add(series, group)
        origins.add(series)

    progress = run.get("progress")
    outcome, n_reads = yield from read_series(
        main, moving, shape, axes, progress, take, checks.check_rows
    )
    messages += message_on_reads(n_reads, max_memory)
    values = sums.means()
    sizes = np.diff(borders)
    blocks = origins.blocks()
    errors = errors_of(values, sizes, blocks)
    found = diffusion(lags, values, sizes, len(axes), fit_range, blocks)
    messages += [*checks.messages, *fit_messages(found, lags)]
    messages += origins.messages(values, sizes, lags, errors)
    recorded = {
        "n_particles": moving.n_particles,
        "fit_range": [found.first, found.last] if np.isfinite(found.first) else None,
        **({"weights": None} if by == "atom" else {}),
        "n_reads": n_reads,
    }
    report = outcome.report(messages, recorded=recorded, uses_times="lags")
    axis = Axis("lag", {"time": lags})
    part = partial(Table, name="MSD", units="Å²", selections=(main.label,), report=report)
    groups = named("parts", [f"group {k}" for k in range(len(sizes))], size=sizes)
    parts = {"groups": part(values, (axis, groups))}
    if blocks is not None:
        labels = [f"block {k}" for k in range(blocks.shape[1])]
        parts["blocks"] = part(blocks, (axis, named("parts", labels)))
    return MeanSquaredDisplacement(
        values=(values * (sizes / sizes.sum())).sum(axis=1),
        axes=(axis,),
        name="MSD",
        units="Å²",
        selections=(main.label,),
        report=report,
        also={"n_windows": len(numbers) - np.arange(len(lags), dtype=np.int64)},
        parts=parts,
        directions=axes,
        particles=by,
        fit_first=found.first,
        fit_last=found.last,
        diffusion=found.coefficient,
        diffusion_error=found.error,
        intercept=found.intercept,
        exponent=found.exponent,
        standard_errors=errors.standard_errors,
        half_widths=errors.half_widths,
        resolved=np.array([not reason for reason in errors.reasons], bool),
        diffusion_half_width=found.half_width,
    )
