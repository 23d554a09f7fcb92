"""`gyration`: radius of gyration."""

from typing import Unpack

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights, weights_of
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import Table
from trajet.result.axes import series


@analysis(
    axes=("frames",),
    stored=True,
    examples=r"""
    trajet gyration adk.psf adk.xtc --select protein -o gyration.csv --plot gyration.png
    trajet gyration top.gro run.xtc --select "name CA" --weights equal
    """,
)
def gyration(
    selection: Atoms,
    *,
    per_axis: bool = False,
    weights: Weights = "mass",
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Compute the radius of gyration of atoms, frame by frame.

    It is the square root of the weighted mean of the squared distances of the atoms from their
    weighted centre.

    Parameters
    ----------
    per_axis
        Also compute the radii about the x, y and z axes through the centre. They are the roots of
        the weighted mean squared distances from these axes.
    weights
        Weights of the atoms. "mass", "equal", or one number per atom.

    Returns
    -------
    Table
        `values` `(n_frames,)`, float64, Å; with `per_axis` `(n_frames, 4)`: the radius, and those
        about the x, y and z axes.

    Notes
    -----
    Radii and axes are those of `gmx gyrate`, which takes masses; `gyration_moments` has the
    principal moments.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.gyration(traj.select("protein")).values[:3].round(2)
    array([16.67, 16.67, 16.73])
    """
    main = main_selection(selection)
    messages: list[Message] = []
    if main.n_atoms == 1:
        messages.append(
            Message(
                Code.NO_NUMBERS,
                f"{quoted(main.label)} is one atom, whose radius of gyration is 0",
                "choose more",
            )
        )
    plan = Plan(
        "gyration",
        atoms=main.columns,
        weights=weights_of(weights, main, messages),
        quantity="axes" if per_axis else "radius",
    )
    outcome = yield RunRequest(plan, [main], as_written=[main])
    labels = [main.label, *(f"about {axis}" for axis in "xyz" if per_axis)]
    return Table(
        values=outcome.floats("radii" if per_axis else "radius"),
        axes=(outcome.frames_axis, *series(labels)),
        name="Rg",
        units="Å",
        selections=(main.label,),
        report=outcome.report(messages),
    )
