"""`dielectric_constant`: fluctuations of the dipole moment of a liquid."""

from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.arguments import Above, Atoms, Unit
from trajet.analysis.charges import MolecularCharges, dipole_plan, dipoles_of, volumes_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.constants import ELEMENTARY_CHARGE, VACUUM_PERMITTIVITY, thermal_energy
from trajet.messages import Code, Message
from trajet.result import Scalar, Table, scalar_table
from trajet.result.axes import Axis, named
from trajet.uncertainty.estimates import estimates
from trajet.uncertainty.even_times import FrameClock

# (e·Å)² / (Å³ F/m) in J.
_IN_JOULE = ELEMENTARY_CHARGE**2 * 1e10


@analysis(
    notes=(
        "Molecules must be whole (--whole) and neutral. The dipole moment of water turns within"
        " picoseconds, but its mean square needs nanoseconds."
    ),
    examples=r"""
    trajet dielectric-constant top.tpr run.xtc --select "resname SOL" --whole --temperature 300
    trajet dielectric-constant top.tpr run.xtc --select all --whole --temperature 298.15 \
        -o running.csv --plot running.png
    """,
)
def dielectric_constant(
    selection: Atoms,
    *,
    temperature: Annotated[float, Unit("K"), Above(0)],
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the static dielectric constant from fluctuations of the dipole moment.

    Parameters
    ----------
    selection
        A Selection of neutral molecules, or an MDAnalysis AtomGroup whose coordinates are those of
        a file. Charges are those of the topology. Molecules must be whole: `selection.whole()`.
    temperature
        Temperature of the simulation, K.

    Returns
    -------
    Table
        `values` `(n_frames,)`, float64: the constant of the frames up to each time. The part
        "scalars" has that of all frames with its 95 % interval, "dipole" the dipole moment in
        each frame, `(n_frames, 3)`, e·Å.

    Raises
    ------
    AnalysisError
        If a molecule is broken over the box, or a frame has no cell or no positions.
    SelectionError
        If a molecule has a charge, or the topology has no charges or no bonds.
    ValueError
        If the temperature is not above 0.

    Notes
    -----
    ε = 1 + (⟨M²⟩ - ⟨M⟩²) / (3 ε₀ ⟨V⟩ k_B T), for lattice sums with conducting boundaries, as PME
    has them: M. Neumann, Mol. Phys. 50, 841 (1983), doi:10.1080/00268978300102721. Fixed charges
    have no electronic polarisation. The charges of a neutral molecule may add up to 0.01 e, which
    is spread over its atoms.

    The interval is that of the mean over frames of (|M - ⟨M⟩|² - (ε - 1) k (V - ⟨V⟩)) / (k ⟨V⟩)
    with k = 3 ε₀ k_B T, which has the error of the constant to first order, by the estimator of
    `trajet.statistics`. It is resolved if the mean dipole moment is, too.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.samples.peptide_in_water().open().whole()
    >>> epsilon = tj.dielectric_constant(traj.select("water"), temperature=300)
    >>> len(epsilon), epsilon.parts["dipole"].values.shape
    (100, (100, 3))
    """
    energy = thermal_energy(temperature)
    main = main_selection(selection)
    messages: list[Message] = []
    charged = MolecularCharges.of(main, messages, needs_bonds=True)
    charged.check_neutral()
    plan = dipole_plan(charged, None, messages)
    outcome = yield RunRequest(plan, [main], as_written=[main], chains_apart=True)
    charged.check_whole(outcome.broken)
    dipoles, _ = dipoles_of(outcome, charged)
    volumes = volumes_of(outcome, main.trajectory.label)
    unit = _IN_JOULE / (3 * VACUUM_PERMITTIVITY * energy)
    running, error, half, reason = dielectric(dipoles, volumes, unit)
    if reason:
        text = f"the error of the dielectric constant is not resolved: {reason}"
        messages.append(Message(Code.NOT_RESOLVED, text, "choose a longer trajectory"))
    volume = float(volumes.mean()) if len(volumes) else float("nan")
    report = outcome.report(messages, recorded={"mean_volume": volume})
    value = float(running[-1]) if len(running) else float("nan")
    row = Scalar("dielectric constant", "", value, error, half, not reason)
    dipole = Table(
        values=dipoles,
        axes=(outcome.frames_axis, named("coordinates", tuple("xyz"))),
        name="dipole",
        units="e Å",
        selections=(main.label,),
        report=report,
    )
    return Table(
        values=running,
        axes=(Axis("time", {"time": outcome.times}),),
        name="dielectric constant",
        units="",
        selections=(main.label,),
        report=report,
        parts={"scalars": scalar_table([row], (main.label,), report), "dipole": dipole},
    )


def dielectric(
    dipoles: NDArray[np.float64], volumes: NDArray[np.float64], unit: float
) -> tuple[NDArray[np.float64], float, float, str]:
    """Return the constant of the frames up to each, and the error of the last.

    Parameters
    ----------
    dipoles, volumes
        `(n_frames, 3)`, e·Å, and `(n_frames,)`, Å³.
    unit
        1 / (3 ε₀ k_B T), Å³ / (e·Å)².

    Returns
    -------
    running
        `(n_frames,)`.
    standard_error, half_width
        Standard error, and the longer side of the 95 % interval.
    reason
        Why the error is not resolved; an empty text if it is. The dipole moment must be resolved,
        too: the square of its mean is subtracted, which is 0 in a long run.
    """
    nan = float("nan")
    if not len(dipoles):
        return np.empty(0), nan, nan, "there are no frames"
    # The difference of large numbers would lose digits.
    deviations = dipoles - dipoles.mean(axis=0)
    squares, counts = (deviations**2).sum(axis=1), np.arange(1, len(dipoles) + 1)
    means = np.cumsum(deviations, axis=0) / counts[:, np.newaxis]
    variances = np.cumsum(squares) / counts - (means**2).sum(axis=1)
    running = 1 + unit * variances / (np.cumsum(volumes) / counts)
    # To first order, the error is that of the mean of these numbers.
    change = (unit * squares - (running[-1] - 1) * volumes) / volumes.mean()
    series = np.column_stack([change, dipoles])
    found = estimates(series, FrameClock(), np.arange(len(series)), with_cuts=False)
    reason = next((str(one) for one in found.reasons if one), "")
    return running, float(found.standard_error[0]), float(found.half_width[0]), reason
