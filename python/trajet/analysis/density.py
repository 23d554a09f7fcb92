"""`density`: mean density on a grid."""

from collections.abc import Sequence
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import MAX_BLOCKS_OF_ERRORS, AnalysisError, Plan, SelectionError
from trajet.analysis.amounts import UNITS, Quantity, amounts_of
from trajet.analysis.arguments import ANGSTROM, Above, AsOption, Between, Metavar, UpdatingAtoms
from trajet.analysis.atom_sets import AtomSet, main_set
from trajet.analysis.block_errors import block_errors, with_errors
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest
from trajet.memory import check_memory
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import Density
from trajet.result.axes import bins
from trajet.trajectory import (
    FrameChoice,
    frame_numbers,
    resolve_frames,
)

# Voxels of a grid of 1 GiB.
_MAX_VOXELS = 2**27
# Bytes of a voxel in all blocks, and of the series that are made of them.
_BLOCK_BYTES = 2 * 8 * MAX_BLOCKS_OF_ERRORS

# Three numbers on the command line.
_POINT = Annotated[tuple[float, float, float], ANGSTROM, Metavar("X Y Z")]
_EDGES = Annotated[tuple[float, float, float], ANGSTROM, Above(0), Metavar("X Y Z")]


@analysis(
    notes=(
        "Positions are used as stored. Repair and fit the trajectory first, so that the grid stays"
        " with the molecule of interest: --whole, --center, --wrap, --fit."
    ),
    examples=r"""
    trajet density top.tpr run.xtc --select "name OW" --whole --center protein --wrap \
        --fit "name CA" --save grid=water.dx
    trajet density adk.psf adk.xtc --select protein --spacing 2 --plot density.png -o density.npz
    """,
)
def density(
    selection: UpdatingAtoms,
    *,
    spacing: Annotated[float, ANGSTROM, Above(0)] = 1.0,
    grid_center: Annotated[Sequence[float] | NDArray[np.floating], AsOption(_POINT)] | None = None,
    grid_size: Annotated[float | Sequence[float], AsOption(_EDGES)] | None = None,
    padding: Annotated[float, ANGSTROM, Between(0)] = 2.0,
    quantity: Quantity = "number",
    errors: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[Density]:
    """Compute the mean density of atoms on a grid.

    Voxels are cubic.

    Parameters
    ----------
    selection
        A Selection, an updating selection, whose atoms are chosen in each frame, or an MDAnalysis
        AtomGroup whose coordinates are those of a file.
    spacing
        Edge of a voxel, Å.
    grid_center
        Centre of the grid, Å. None for the middle of the atoms in the first chosen frame.
    grid_size
        Edges of the grid, Å. One number, or one for x, y and z. None for the extent of the atoms in
        the first chosen frame, and `padding` on each side. It is enlarged to whole voxels.
    padding
        Space beyond the outermost atoms, Å, without `grid_size`.
    quantity
        Density of numbers (1/Å³), of mass (g/cm³) or of charge (e/Å³).
    errors
        Whether errors are estimated from blocks of frames. They take up to 2 kB per voxel.

    Returns
    -------
    Density
        `values` `(nx, ny, nz)`, float64: numbers in 1/Å³, mass in g/cm³, charge in e/Å³; with the
        `edges` of the voxels. `save("density.dx")` writes OpenDX for VMD, PyMOL and ChimeraX. With
        `errors` also `standard_errors` and `half_widths`, longer sides of the 95 % intervals; NaN
        where no atom ever was.

    Raises
    ------
    SelectionError
        If masses or charges are requested and missing; or if an updating selection selects no atom
        in the first chosen frame, without `grid_center` and `grid_size`.
    AnalysisError
        If an atom has no position.
    ValueError
        If the grid has no voxel, or more than 134,217,728 (1 GiB): choose a larger spacing.

    Notes
    -----
    Positions are used as stored: they are not wrapped into the cell. Repair, centre and fit the
    trajectory first, so that the grid stays with the molecule of interest: `traj.whole()`,
    `traj.center(...)`, `traj.wrap()`, `traj.fit(...)`. `warnings` say how many atoms were
    outside of the grid.

    Without `grid_center` and `grid_size` the grid is that of MDAnalysis' `DensityAnalysis`. Each
    thread holds a few copies of the grid, of 8 bytes a voxel, and one more copy waits to be merged
    for each doubling of the number of frames.

    Examples
    --------
    >>> import trajet as tj
    >>> wet = tj.open("solvated.tpr", "solvated.xtc")
    >>> grid = tj.density(wet.select("name OW"), spacing=2.0)
    >>> grid.values.shape, grid.units
    ((62, 43, 31), '1/Å³')
    """
    main = main_set(selection)
    if not (np.isfinite(spacing) and spacing > 0):
        raise ValueError(f"spacing must be a length above 0 Å, not {spacing}")
    if not (np.isfinite(padding) and padding >= 0):
        raise ValueError(f"padding must be a length of 0 Å or more, not {padding}")
    messages: list[Message] = []
    amounts = amounts_of(quantity, main.atoms, messages)
    low, counts = _grid(main, spacing, grid_center, grid_size, padding, run.get("frames"))
    high = low + counts * spacing
    grid = [(int(n), (float(a), float(b))) for n, a, b in zip(counts, low, high, strict=True)]

    smaller = "choose a larger spacing= or a smaller grid_size="
    if errors:
        n_bytes = _BLOCK_BYTES * int(counts.prod())
        check_memory([("errors of voxels", n_bytes)], None, smaller)

    plan = Plan(
        "density", atoms=main.atoms.columns, selection=main.native, amounts=amounts, grid=grid
    )
    outcome = yield RunRequest(plan, [main], smaller_state=smaller, in_blocks=errors)
    n_frames = outcome.number("n_frames")
    counted, inside = outcome.number("n_atoms"), outcome.number("n_inside")
    units, factor = UNITS[quantity]
    messages += outcome.cells.missing_for([main.updating])
    outside = counted - inside
    if outside:
        share = 100 * outside / counted
        messages.append(
            Message(
                Code.OUTSIDE_GRID,
                f"{share:.3g} % of the atoms, over all frames, lie outside of the grid",
                "choose another"
                " grid_center or a larger grid_size, or wrap and centre the trajectory first"
                + ("" if inside else "; both are in Å, not in nm"),
            )
        )
    voxel = spacing * spacing * spacing
    with np.errstate(invalid="ignore"):
        # Without frames there is no density, and values are NaN.
        values = outcome.floats("sums") / (n_frames * voxel) * factor
    found = None
    if errors:
        of_blocks = [
            np.asarray(block["sums"], np.float64).ravel()
            * (factor / (float(block["n_frames"]) * voxel))
            for block in outcome.blocks
        ]
        series = np.array(of_blocks).reshape(len(of_blocks), values.size)
        found = block_errors(series, "voxels")
        messages += found.messages
    recorded = {
        "updating": main.updating is not None,
        "origin": low.tolist(),
        "shape": counts.tolist(),
    }
    axes = [bins(k, np.linspace(a, b, n + 1)) for k, (n, (a, b)) in zip("xyz", grid, strict=True)]
    result = Density(
        values=values,
        axes=tuple(axes),
        name=f"{quantity} density",
        units=units,
        selections=(main.label,),
        report=outcome.report(messages, recorded=recorded, uses_times=False),
        spacing=float(spacing),
    )
    return with_errors(result, found)


def _grid(
    atoms: AtomSet,
    spacing: float,
    center: Sequence[float] | NDArray[np.floating] | None,
    size: float | Sequence[float] | None,
    padding: float,
    frames: FrameChoice,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the lower corner of the grid, `(3,)`, Å, and its voxels along x, y and z.

    Raises
    ------
    ValueError
        If centre or size are not finite numbers, or there are too many voxels.
    """
    middle = np.full(3, np.nan) if center is None else np.asarray(center, np.float64)
    edges = np.asarray(np.nan if size is None else size, np.float64)
    edges = np.full(3, edges) if edges.ndim == 0 else edges
    if middle.shape != (3,) or not (center is None or np.isfinite(middle).all()):
        raise ValueError(f"grid_center must be three finite numbers (Å), not {center!r}")
    if edges.shape != (3,) or not (size is None or (np.isfinite(edges) & (edges > 0)).all()):
        raise ValueError(f"grid_size must be one or three lengths above 0 Å, not {size!r}")
    if center is None or size is None:
        trajectory = atoms.trajectory
        numbers = frame_numbers(resolve_frames(frames, trajectory))
        number = int(numbers[0]) if len(numbers) else 0
        first = atoms.positions_in(number, numbers)
        if not len(first):
            raise SelectionError(
                f"{quoted(atoms.label)} selects no atom in frame {number}, the first one: give"
                " grid_center and grid_size"
            )
        if not np.isfinite(first).all():
            raise AnalysisError(
                f"{trajectory.label}: a selected atom has no position (NaN) in its first frame:"
                " give grid_center and grid_size, or leave this frame out"
            )
        least, most = (pick(first.astype(np.float64), axis=0) for pick in (np.min, np.max))
        if center is None:
            middle = (least + most) / 2
        if size is None:
            edges = most - least + 2 * padding
    with np.errstate(over="ignore"):
        # An extent that is a whole number of voxels stays one in spite of rounding.
        counts = np.maximum(1, np.ceil(edges / spacing - 1e-9))
        n_voxels = float(counts.prod())
    if n_voxels > _MAX_VOXELS:
        shape = " x ".join(f"{n:.6g}" for n in counts)
        raise ValueError(
            f"the grid would have {shape} voxels, {n_voxels * 8 / 2**30:.3g} GiB: choose a"
            " larger spacing or a smaller grid_size"
        )
    return middle - counts * spacing / 2, counts.astype(np.int64)
