"""`gyration_moments`: principal moments of the gyration tensor."""

from typing import Unpack

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights, weights_of
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.messages import Message
from trajet.result import GyrationMoments
from trajet.result.axes import named


@analysis(
    axes=("frames",),
    stored=True,
    examples=r"""
    trajet gyration-moments adk.psf adk.xtc --select protein -o moments.csv --plot moments.png
    trajet gyration-moments top.gro run.xtc --select "name CA" --weights equal
    """,
)
def gyration_moments(
    selection: Atoms,
    *,
    weights: Weights = "mass",
    **run: Unpack[RunOptions],
) -> Steps[GyrationMoments]:
    """Compute the principal moments of the gyration tensor.

    They measure the shape of a group of atoms. The tensor is the weighted mean of (x - c)(x - c)ᵀ
    over the atoms, with their weighted centre c. Its eigenvalues are the principal moments, their
    sum is the square of the radius of gyration.

    Parameters
    ----------
    weights
        Weights of the atoms. "mass", "equal", or one number per atom.

    Returns
    -------
    GyrationMoments
        `values` `(n_frames, 3)`, float64, Å², in ascending order; `radius`, `asphericity`,
        `acylindricity` and `anisotropy` (κ²) follow from them.

    Notes
    -----
    Moments and shape: D. N. Theodorou and U. W. Suter, Macromolecules 18, 1206 (1985),
    doi:10.1021/ma00148a028. With `weights="equal"` the moments are those of mdtraj, with masses
    those of MDAnalysis' `gyration_moments`.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> shape = tj.gyration_moments(traj.select("protein"))
    >>> shape.values.shape, shape.anisotropy[:2].round(3)
    ((98, 3), array([0.02 , 0.022]))
    """
    main = main_selection(selection)
    messages: list[Message] = []

    plan = Plan(
        "gyration",
        atoms=main.columns,
        weights=weights_of(weights, main, messages),
        quantity="moments",
    )
    outcome = yield RunRequest(plan, [main], as_written=[main])
    return GyrationMoments(
        values=outcome.floats("moments"),
        axes=(outcome.frames_axis, named("groups", ["smallest", "middle", "largest"])),
        name="principal moment",
        units="Å²",
        selections=(main.label,),
        report=outcome.report(messages),
    )
