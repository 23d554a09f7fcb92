"""`centers`: centres of mass or of geometry of groups of atoms."""

from typing import Unpack

from trajet._trajet import Plan
from trajet.analysis.arguments import Atoms
from trajet.analysis.atom_groups import AtomGroups, GroupBy
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.messages import Message
from trajet.result import Centers
from trajet.result.axes import named


@analysis(
    axes=("frames",),
    stored=True,
    examples=r"""
    trajet centers adk.psf adk.xtc --select protein --by residue -o centers.npz
    trajet centers top.tpr run.xtc --select "resname LIG" --by molecule --whole -o ligand.csv
    """,
)
def centers(
    selection: Atoms,
    *,
    by: GroupBy = "residue",
    weights: Weights = "mass",
    **run: Unpack[RunOptions],
) -> Steps[Centers]:
    """Compute centres of residues, molecules or chains.

    Or the centre of the whole selection.

    Parameters
    ----------
    by
        The groups whose centres are computed. "residue", "molecule", "chain" or "selection", as
        `Selection.split` makes them. Only selected atoms count.
    weights
        "mass" for centres of mass, "equal" for centres of geometry. Or one number per atom.

    Returns
    -------
    Centers
        `values` `(n_frames, n_groups, 3)`, float64, Å; the second axis has the groups.

    Raises
    ------
    SelectionError
        If masses are requested and missing, or molecules and the topology has no bonds.
    MemoryError
        If the centres of all frames do not fit into memory: choose fewer groups or frames.

    Notes
    -----
    The centre of a molecule that is broken over the box lies between its parts.

    A centre takes 24 bytes: the 11,302 residues of a solvated protein in 1,000 frames are 271 MB.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.centers(traj.select("protein"), by="residue")
    >>> result.values.shape, result.axis("residues").labels(2)
    ((98, 214, 3), ['MET1', 'ARG2'])
    """
    main = main_selection(selection)
    messages: list[Message] = []
    groups = AtomGroups.of([main], by, weights, messages)

    plan = Plan(
        "centers",
        atoms=groups.columns,
        sizes=groups.sizes,
        weights=groups.weights,
        quantity="centers",
        periodic=False,
    )
    outcome = yield RunRequest(plan, [main], as_written=[main], chains_apart=by != "selection")
    return Centers(
        values=outcome.floats("centers"),
        axes=(outcome.frames_axis, groups.axis, named("coordinates", tuple("xyz"))),
        name="center",
        units="Å",
        selections=(main.label,),
        report=outcome.report(messages, recorded={"n_groups": len(groups.sizes)}),
    )
