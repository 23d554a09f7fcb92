"""`velocity_autocorrelation`: correlation of velocities over time, diffusion and spectra."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.analysis.arguments import BYTES, PS, Atoms
from trajet.analysis.displacements import Shape
from trajet.analysis.job import Steps, analysis
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
from trajet.analysis.runner import AnalysisOutcome, RunOptions, main_selection
from trajet.analysis.velocity_correlations import (
    VelocityCorrelations,
    Window,
    check_velocities,
    messages_on_decay,
    messages_on_hydrogens,
    running_integrals,
    spectra,
    wavenumbers,
)
from trajet.messages import Message
from trajet.particles import masses
from trajet.result import Scalar, Table, errors_of, scalar_table
from trajet.result.axes import Axis
from trajet.trajectory import Selection

# The longest lag by default, as a share of the trajectory.
_SHARE = 0.1


@analysis(
    is_bounded=True,
    notes=(
        "Trajectories must have velocities, as TRR, NCDF, H5MD and LAMMPS files may. Frames must be"
        " equally spaced in time, and at most 4 fs apart for bonds to hydrogen."
    ),
    examples=r"""
    trajet velocity-autocorrelation top.tpr run.trr --select "name OW" -o vacf.csv
    trajet velocity-autocorrelation top.tpr run.trr --select "resname SOL" --mass-weighted \
        --spectrum --max-lag 2 -o spectrum.csv --plot spectrum.png
    """,
)
def velocity_autocorrelation(
    selection: Atoms,
    *,
    max_lag: Annotated[float, PS] | None = None,
    by: Particles = "atom",
    mass_weighted: bool = False,
    normalized: bool = False,
    spectrum: bool = False,
    window: Window = "hann",
    max_memory: Annotated[int, BYTES] = MAX_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the autocorrelation of velocities against lag time, or its spectrum.

    The diffusion coefficient of the particles follows from the integral of the correlation.

    Parameters
    ----------
    max_lag
        The longest lag, ps. None for a tenth of the trajectory.
    by
        The particles: each atom, or the centre of mass of the selected atoms of each residue,
        molecule or chain.
    mass_weighted
        Whether particles count by their mass: the spectrum is that of the kinetic energy then, the
        vibrational density of states. There is no diffusion coefficient.
    normalized
        Whether the correlation is divided by its value at lag 0.
    spectrum
        Whether the result is the spectrum, with the correlation as its part "correlation".
    window
        Function by which the correlation is multiplied before its transform: "hann",
        ½ (1 + cos πτ/τ_max), or "none".
    max_memory
        Memory that velocities and transforms may take. If the velocities of all particles take
        more, the trajectory is read several times, for some of the particles at a time.

    Returns
    -------
    Table
        `values` `(n_lags,)`, float64, Å²/ps² (none if `normalized`): means over all pairs of frames
        and all particles, with `half_widths` of their 95 % intervals. The part "diffusion" has the
        integral up to each lag, Å²/ps, and "scalars" that up to the longest one. With
        `spectrum`, per 1/cm (unit cm) at wavenumbers up to the Nyquist limit; the integral is 1.

    Raises
    ------
    FormatError
        If the format has no velocities.
    AnalysisError
        If a frame has no velocities, times are not equally spaced, or there are fewer than two
        frames.
    ValueError
        If the longest lag exceeds the trajectory, or one particle does not fit into `max_memory`.
    SelectionError
        If masses, or bonds for molecules, are missing.

    Notes
    -----
    C(τ) = ⟨v(0)·v(τ)⟩, and D = ⅓ ∫ C dτ by trapezoids (R. Kubo, J. Phys. Soc. Jpn. 12, 570 (1957),
    doi:10.1143/JPSJ.12.570). Choose `max_lag` where the part "diffusion" is flat. Masses weight
    particles by m over the mean mass. Velocities are those of the file: transforms of positions
    change nothing, and motion of the whole system is not removed.

    Errors take particles as independent, in up to 20 groups of consecutive ones; of fewer than five
    particles they are those of blocks of time origins, as those of `msd`.

    A warning says if frames are too far apart: a vibration above the Nyquist limit appears as a
    slower one.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("solvated.tpr", "solvated.trr")  # doctest: +SKIP
    >>> vacf = tj.velocity_autocorrelation(traj.select("name OW"))  # doctest: +SKIP
    >>> vacf.scalars()["diffusion_A2_per_ps"]  # doctest: +SKIP
    0.41
    """
    main = main_selection(selection)
    trajectory = main.trajectory
    numbers = trajectory.source.numbers(run.get("frames"))
    lags = lags_of(trajectory, numbers, max_lag, _SHARE)
    step = float(lags[1])
    messages = messages_on_hydrogens(main, step) if by == "atom" else []
    moving = MovingParticles.of(main, by, "mass", messages, "take atoms (by='atom')")
    borders = borders_of_groups(moving.n_particles)
    shape = Shape(len(numbers), len(lags), 3, borders, True, max_memory)
    factors = _factors(main, moving, messages) if mass_weighted else np.ones(moving.n_particles)
    sums = VelocityCorrelations(shape, threads_here(run.get("pool")))

    def take(outcome: AnalysisOutcome, series: NDArray[np.float64], first: int, group: int) -> None:
        check_velocities(trajectory.label, outcome, series)
        some = factors[first : first + len(series)]
        sums.add(series * some[:, np.newaxis, np.newaxis], group)

    outcome, n_reads = yield from read_series(
        main, moving, shape, "xyz", run.get("progress"), take, quantity="velocities"
    )
    groups, blocks = sums.means(), sums.blocks()
    mean = groups @ (np.diff(borders) / moving.n_particles)
    if not mean[0] > 0:
        raise AnalysisError(f"{trajectory.label}: all velocities of the selection are 0")
    messages += [*messages_on_decay(mean, lags), *message_on_reads(n_reads, max_memory)]
    recorded = {"n_particles": moving.n_particles, "n_reads": n_reads}
    report = outcome.report(messages, recorded=recorded, uses_times="lags")
    lag_axis = Axis("lag", {"time": lags})

    def relative(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ratios to lag 0, to first order in the deviations of groups or blocks."""
        ratio = (mean / mean[0])[:, np.newaxis]
        found: NDArray[np.float64] = ratio + (parts - ratio * parts[0]) / mean[0]
        return found

    def curve(
        of: Callable[[NDArray[np.float64]], NDArray[np.float64]], name: str, units: str, axis: Axis
    ) -> Table:
        """Return the table of a function of the correlations of groups and of blocks."""
        errors = errors_of(of(groups), np.diff(borders), None if blocks is None else of(blocks))
        return Table(
            values=of(mean[:, np.newaxis])[:, 0],
            axes=(axis,),
            name=name,
            units=units,
            selections=(main.label,),
            report=report,
            standard_errors=errors.standard_errors,
            half_widths=errors.half_widths,
            resolved=np.array([not reason for reason in errors.reasons], bool),
        )

    if normalized:
        found = curve(relative, "normalized VACF", "", lag_axis)
    else:
        found = curve(lambda parts: parts, "VACF", "Å²/ps²", lag_axis)
    parts = {}
    if not mass_weighted:
        integral = curve(lambda one: running_integrals(one, step) / 3, "D", "Å²/ps", lag_axis)
        parts = {"diffusion": integral, "scalars": _diffusion(integral)}
    if not spectrum:
        return replace(found, parts=parts)
    # Blocks that do not reach the longest lag have no spectrum.
    blocks = None if blocks is None else blocks[:, np.isfinite(blocks[-1])]
    axis = Axis("wavenumber", {"wavenumber": wavenumbers(len(lags), step)})
    density = curve(lambda one: spectra(relative(one), step, window), "density", "cm", axis)
    return replace(density, parts={"correlation": found, **parts})


def _diffusion(integral: Table) -> Table:
    """Return the diffusion coefficient, the integral up to the longest lag."""
    assert integral.standard_errors is not None
    assert integral.half_widths is not None
    assert integral.resolved is not None
    numbers = (integral.values, integral.standard_errors, integral.half_widths)
    value, error, half = (float(one[-1]) for one in numbers)
    row = Scalar("diffusion", integral.units, value, error, half, bool(integral.resolved[-1]))
    return scalar_table([row], integral.selections, integral.report)


def _factors(
    main: Selection, moving: MovingParticles, messages: list[Message]
) -> NDArray[np.float64]:
    """Return the factor of the velocity of each particle, the root of its mass over the mean."""
    order = np.argsort(main.columns, kind="stable")
    places = order[np.searchsorted(main.columns, moving.columns, sorter=order)]
    heavy = masses(main.topology_atoms, messages, "leave mass_weighted out")[places]
    of_particles = np.add.reduceat(heavy, moving.starts[:-1])
    found: NDArray[np.float64] = np.sqrt(of_particles / of_particles.mean())
    return found
