"""`pca`: principal components of the positions of atoms."""

from functools import partial
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.arguments import BYTES, Atoms, Between
from trajet.analysis.atom_groups import atoms_axis
from trajet.analysis.covariances import check_superposition, covariances
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    AVERAGE,
    Align,
    Reference,
    Weights,
    aligned_atoms,
    describe_reference,
)
from trajet.analysis.runner import RunOptions, main_selection
from trajet.checked_numbers import whole_number
from trajet.messages import Code, Message
from trajet.result import PrincipalComponents, Table
from trajet.result.axes import named
from trajet.trajectory import Selection


@analysis(
    check=check_superposition,
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
    if n_components is not None:
        whole_number(n_components, "n_components", least=1)
    onto = aligned_atoms(align, main)
    messages: list[Message] = []
    found = yield from covariances(
        *(main, onto, reference, weights, messages),
        n_components=n_components,
        max_memory=max_memory,
        run=run,
    )
    outcome, variances, projections = found.outcome, found.variances, found.projections
    components = np.ascontiguousarray(found.components.T)
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
            "mean": part(found.mean.reshape(-1, 3), structure, "average structure", "Å"),
        },
        topology_atoms=main.topology_atoms if main.trajectory.has_topology else None,
    )


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
