"""`conductivity`: collective motion of the charges of an electrolyte."""

from collections.abc import Iterable
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.analysis.arguments import BYTES, PS, Above, Atoms, Metavar, Unit
from trajet.analysis.charges import MolecularCharges, dipole_plan, dipoles_of, volumes_of
from trajet.analysis.displacements import Displacements, Shape
from trajet.analysis.ions import Ions
from trajet.analysis.job import Steps, analysis
from trajet.analysis.origin_blocks import Origins
from trajet.analysis.particle_series import (
    MAX_MEMORY,
    lags_of,
    message_on_reads,
    read_series,
    threads_here,
)
from trajet.analysis.runner import AnalysisOutcome, RunOptions, RunRequest, main_selection
from trajet.analysis.unwrapped_positions import UnwrappedChecks
from trajet.constants import ELEMENTARY_CHARGE, thermal_energy
from trajet.messages import Code, Message
from trajet.result import (
    Diffusion,
    Scalar,
    Table,
    diffusion,
    errors_of,
    fit_messages,
    range_of_fit,
    scalar_table,
)
from trajet.result.axes import Axis, named

# The longest lag by default, as a share of the trajectory. Half of it is fitted, so that there are
# forty windows: with twenty, intervals hold less than they should (`benches/interval_coverage.py`).
SHARE = 0.05
# e² Å² / (ps Å³ J) in S/m.
_IN_SIEMENS = ELEMENTARY_CHARGE**2 * 1e22


@analysis(
    is_bounded=True,
    notes=(
        "Positions must be unwrapped: remove jumps over the box with --nojump. Frames must be"
        " equally spaced in time. The conductivity of a liquid needs many nanoseconds: it is that"
        " of one collective motion."
    ),
    examples=r"""
    trajet conductivity top.tpr run.xtc --select "resname NA CL" --nojump --temperature 300
    trajet conductivity molten_salt.data molten_salt.lammpstrj --select all --nojump \
        --temperature 1150 --max-lag 8 --fit-range 1 8 -o charges.csv --plot charges.png
    """,
)
def conductivity(
    selection: Atoms,
    *,
    temperature: Annotated[float, Unit("K"), Above(0)],
    max_lag: Annotated[float, PS] | None = None,
    fit_range: Annotated[tuple[float, float], PS, Metavar("FROM TO")] | None = None,
    unwrapped: bool = False,
    max_memory: Annotated[int, BYTES] = MAX_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the ionic conductivity from the displacement of all charges together.

    The conductivity of ions that move independently is computed, too.

    Parameters
    ----------
    selection
        A Selection of ions, or of all atoms, or an MDAnalysis AtomGroup whose coordinates are those
        of a file. Charges are those of the topology. Jumps over the box must be removed:
        `selection.nojump()`, or `selection.nojump(view="toroidal")` if the cell changes.
    temperature
        Temperature of the simulation, K.
    max_lag
        The longest lag, ps. None for a twentieth of the trajectory.
    fit_range
        Shortest and longest lag of the fits, ps. None for 10 % to 50 % of the longest lag.
    unwrapped
        Whether positions are known to be unwrapped.
    max_memory
        Memory that positions and transforms may take; see `msd`.

    Returns
    -------
    Table
        `values` `(n_lags, 2)`, float64, e² Å²: mean squared displacements of charge, of all charges
        together and of ions on their own, with `half_widths` of their 95 % intervals. The part
        "scalars" has both conductivities, S/m, and the diffusion coefficient of each kind of
        ion, Å²/ps.

    Raises
    ------
    AnalysisError
        If positions are not unwrapped, times are not equally spaced, there are fewer than two
        frames, or a frame has no cell or no positions.
    SelectionError
        If no ion is selected, or charges or masses are missing.
    ValueError
        If the temperature is not above 0, the longest lag exceeds the trajectory, or the fit has
        fewer than two lags or ends beyond the longest one.

    Notes
    -----
    Einstein: σ = lim ⟨|Σ q (r(t) - r(0))|²⟩ / (6 V k_B T t), the slope of the first column by least
    squares. Nernst-Einstein: σ = Σ N q² D / (V k_B T), which neglects correlations of ions; see
    J. P. Hansen and I. R. McDonald, Theory of Simple Liquids, section 10.5. Positions are relative
    to the centre of mass of all atoms of the trajectory. An ion is an atom, or a molecule if the
    topology has bonds, with the sum of its charges; those of neutral molecules may add up to 0.01
    e, which is spread over their atoms.

    Errors of the first column and its conductivity are those of blocks of time origins, errors of
    ions on their own those of groups of ions; see `msd`. Errors of several kinds of ions are added
    as independent ones.

    Examples
    --------
    >>> import trajet as tj
    >>> salt = tj.samples.molten_salt().open().nojump()
    >>> result = tj.conductivity(salt.all_atoms(), temperature=1150, max_lag=8, fit_range=(1, 8))
    >>> result.parts["scalars"].axes[0].labels()[:2]
    ['conductivity', 'Nernst-Einstein conductivity']
    """
    energy = thermal_energy(temperature)
    main = main_selection(selection)
    trajectory = main.trajectory
    numbers = trajectory.source.numbers(run.get("frames"))
    lags = lags_of(trajectory, numbers, max_lag, SHARE)
    range_of_fit(lags, fit_range)
    messages: list[Message] = []
    charged = MolecularCharges.of(main, messages, needs_bonds=False)
    ions = Ions.of(charged, messages)
    checks = UnwrappedChecks(main, ions.moving, "xyz", unwrapped=unwrapped)
    if not checks.is_unwrapped:
        raise AnalysisError(
            f"{trajectory.label}: conductivity needs unwrapped positions: remove jumps with"
            " selection.nojump(), or give unwrapped=True if there are none"
        )
    begun = yield RunRequest(dipole_plan(charged, trajectory.all_atoms(), messages), [main])
    dipoles, centres = dipoles_of(begun, charged)
    volume = float(volumes_of(begun, trajectory.label).mean())
    net = float(charged.charges.sum())
    if round(net, 3):
        messages.append(
            Message(
                Code.NET_CHARGE,
                f"the selection has a charge of {net:+.3g} e: this is the conductivity of some of"
                " the ions",
                "select all ions",
            )
        )
    drift = centres.T - centres[0][:, np.newaxis]
    collective = (dipoles.T - net * drift)[np.newaxis]
    shape = Shape(len(numbers), len(lags), 3, np.array([0, 1]), True, max_memory)
    together, origins = Displacements(shape), Origins(shape)
    together.add(collective, 0)
    origins.add(collective)
    shape = Shape(len(numbers), len(lags), 3, ions.borders, True, max_memory)
    sums = Displacements(shape, threads_here(run.get("pool")))

    def take(outcome: AnalysisOutcome, series: NDArray[np.float64], first: int, group: int) -> None:
        checks.check_series(outcome, series, first)
        sums.add(series - drift, group)

    outcome, n_reads = yield from read_series(
        main, ions.moving, shape, "xyz", run.get("progress"), take, checks.check_rows
    )
    values, blocks, one = together.means(), origins.blocks(), np.array([1])
    errors = errors_of(values, one, blocks)
    fit = diffusion(lags, values, one, 3, fit_range, blocks)
    kinds = [*ions.by_kind(lags, sums.means(), fit_range)]
    messages += [*checks.messages, *message_on_reads(n_reads, max_memory)]
    messages += fit_messages(fit, lags, "the conductivity")
    recorded = {
        "fit_range": [fit.first, fit.last] if np.isfinite(fit.first) else None,
        "mean_volume": volume,
        "n_ions": ions.moving.n_particles,
        "n_reads": n_reads,
    }
    report = outcome.report(messages, recorded=recorded, uses_times="lags")
    squares = [kind.squared_charge for kind in kinds]
    alone = [kind.fit for kind in kinds]
    in_siemens = _IN_SIEMENS / (volume * energy)
    found = {
        "conductivity": ("S/m", _scaled(fit, in_siemens)),
        "Nernst-Einstein conductivity": ("S/m", _scaled(_sum(alone, squares), in_siemens)),
        **{f"diffusion:{kind.label}": ("Å²/ps", kind.fit) for kind in kinds},
    }
    rows = [
        Scalar(name, unit, one.coefficient, one.error, one.half_width, not one.reason)
        for name, (unit, one) in found.items()
    ]
    halves = _root_of_squares([kind.half_widths for kind in kinds], squares)
    of_alone = _root_of_squares([kind.standard_errors for kind in kinds], squares)
    msd = sum(square * kind.msd for square, kind in zip(squares, kinds, strict=True))
    are_resolved = np.array([not reason for reason in errors.reasons], bool)
    return Table(
        values=np.stack([values[:, 0], msd], axis=1),
        axes=(Axis("lag", {"time": lags}), named("groups", ("all charges", "ions on their own"))),
        name="displacement of charge",
        units="e² Å²",
        selections=(main.label,),
        report=report,
        standard_errors=np.stack([errors.standard_errors, of_alone], axis=1),
        half_widths=np.stack([errors.half_widths, halves], axis=1),
        resolved=np.stack([are_resolved, np.isfinite(halves)], axis=1),
        parts={"scalars": scalar_table(rows, (main.label,), report)},
    )


def _scaled(fit: Diffusion, factor: float) -> Diffusion:
    """Return a fit with another unit of its coefficient."""
    numbers = {name: factor * getattr(fit, name) for name in ("coefficient", "error", "half_width")}
    return fit._replace(**numbers)


def _sum(fits: list[Diffusion], weights: list[float]) -> Diffusion:
    """Return the weighted sum of independent fits over the same lags."""
    return fits[0]._replace(
        coefficient=sum(w * one.coefficient for w, one in zip(weights, fits, strict=True)),
        error=float(_root_of_squares([np.array(one.error) for one in fits], weights)),
        half_width=float(_root_of_squares([np.array(one.half_width) for one in fits], weights)),
        reason=next((one.reason for one in fits if one.reason), ""),
    )


def _root_of_squares(
    errors: Iterable[NDArray[np.float64]], weights: Iterable[float]
) -> NDArray[np.float64]:
    """Return the error of a weighted sum of independent numbers."""
    return np.sqrt(sum((w * one) ** 2 for w, one in zip(weights, errors, strict=True)))
