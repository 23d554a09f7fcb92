"""`free_energy`: profiles and maps of free energy along coordinates of frames.

F = -k_B T ln ρ with the density ρ of the weighted frames in bins.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.kinetics.basins import basins_of
from trajet.kinetics.bins import (
    Bins,
    Region,
    axis_of,
    cells_of,
    central_rows,
    in_region,
    volumes_of,
)
from trajet.kinetics.coordinates import Series, are_rows_of_files, coordinates_of
from trajet.kinetics.weighted_frames import (
    FrameNumbers,
    Units,
    WeightedFrames,
    thermal_energy,
    weighted_frames,
)
from trajet.result import Table
from trajet.result.axes import Axis

_MAX_BINS_OF_MAP = 10**6


def free_energy(
    x: Series,
    y: Series | None = None,
    *,
    temperature: float,
    weights: FrameNumbers | None = None,
    bias: FrameNumbers | None = None,
    reference: Region | None = None,
    bins: Bins | tuple[Bins, Bins] = 50,
    jacobian: Literal["kept", "removed"] = "kept",
    units: Units = "kJ/mol",
    basin_depth: float = 1.0,
) -> Table:
    """Return the free energy along one coordinate or two, with its errors and basins.

    Parameters
    ----------
    x, y
        Results with a number of each frame, such as `tj.rmsd(...)`; or one series of a result, by
        its label or number: `(angles, "phi ALA3")`, `(components, 0)`. Both have the same frames.
        Results of an ensemble are replicas of one system, whose frames count together.
    temperature
        K.
    weights
        One number for each frame, not negative, such as π_i / n_i of a Markov model: the
        probability of the frame's state divided by its frames. None for equal ones.
    bias
        Instead of weights: the bias of each frame in the simulation, kJ/mol, or in the unit of a
        result. Weights are exp(bias / k_B T). A bias that changes, as in metadynamics, must be the
        one that is corrected for its offset: `rbias` of PLUMED.
    reference
        Where F is 0: a number, for the bin that has it, or a range, for all bins whose centres are
        in it, along each coordinate, as in `(-60, -45)` or `((-100, -30), (-80, 0))`. None for the
        lowest bin. Errors are those of the difference from there.
    bins
        Number of bins of each axis, or their edges; for two axes also a pair of these. Axes of
        dihedral angles are circles, others, also of angles in files of other programs, go from the
        least value to the largest. Frames outside of given edges do not count.
    jacobian
        "removed" divides distances between two points by the volumes of the shells, and angles of
        three points by the integral of their sine: F of particles that do not interact is then 0
        everywhere. "kept" leaves the density along the coordinate.
    units
        "kJ/mol", "kcal/mol", or "kT".
    basin_depth
        Basins that are less deep, k_B T, are parts of their neighbours.

    Returns
    -------
    Table
        `values`, `(n_x,)` or `(n_x, n_y)`: NaN in bins without a frame. `standard_errors`,
        `half_widths` and `resolved` are those of F - F(reference); `also` has the number of
        frames of each bin ("count"), its basin ("basin", from 0, the deepest; -1 where there is
        none) and, of one trajectory, its most central frame and its time, ps ("frame", -1 where
        there is none, and "time"). The part "basins" has the free energy of each whole basin
        relative to that of the reference, its lowest bin, and the probability of its frames
        ("share"). `plot()` draws it.

    Raises
    ------
    ValueError
        If an argument is invalid, frames of x and y differ, weights are others than one for each
        frame, no frame is in a bin, or the reference has none.
    TypeError
        If x or y is no result with numbers of frames.
    AnalysisError
        If a value is not a finite number, or all members of an ensemble failed.

    Notes
    -----
    Errors come from up to 127 blocks of consecutive frames, and of several replicas from the
    differences between them if these are larger; see docs/statistics.md. The Jacobian of a distance
    holds below half of the shortest edge of a periodic cell only.

    Examples
    --------
    >>> import trajet as tj
    >>> angles = tj.dihedrals(traj.select("protein"))
    >>> energy = tj.free_energy((angles, "phi GLY10"), (angles, "psi GLY10"), temperature=300)
    >>> energy.values.shape, energy.units
    ((50, 50), 'kJ/mol')
    """
    thermal = thermal_energy(temperature, units)
    coordinates = coordinates_of(x, y)
    if not sum(map(len, coordinates[0].values)):
        raise ValueError("x has no frames: choose others")
    if not (isinstance(basin_depth, (int, float, np.number)) and 0 <= basin_depth < np.inf):
        raise ValueError(f"basin_depth is a number of 0 or more, not {basin_depth!r}")
    of_axes = bins if isinstance(bins, tuple) and y is not None else (bins,) * len(coordinates)
    if len(of_axes) != len(coordinates):
        raise ValueError(f"bins of two axes are a number, edges or a pair, not {bins!r}")
    axes = tuple(axis_of(one, own) for one, own in zip(coordinates, of_axes, strict=True))
    shape = tuple(map(len, axes))
    if np.prod(shape) > _MAX_BINS_OF_MAP:
        raise ValueError(
            f"{' x '.join(map(str, shape))} bins are more than {_MAX_BINS_OF_MAP:,}: give fewer"
        )
    frames = weighted_frames(
        coordinates,
        cells_of(axes, [np.concatenate(one.values) for one in coordinates]),
        weights=weights,
        bias=bias,
        temperature=temperature,
    )
    shares = frames.shares(frames.cells, int(np.prod(shape)))
    if not shares.any():
        raise ValueError("no frame with a weight above 0 is in a bin: give other edges")
    volumes = volumes_of(axes, coordinates, jacobian)
    is_reference = _reference(axes, shares / volumes, reference)
    zero = np.log(shares[is_reference].sum() / volumes[is_reference].sum())
    with np.errstate(divide="ignore"):
        levels = np.where(shares > 0, zero - np.log(shares / volumes), np.nan)
    basins = basins_of(levels.reshape(shape), [one.is_closed for one in axes], basin_depth)
    errors, half_widths, reasons = frames.errors(frames.cells, len(shares), is_reference)
    first = coordinates[0].tables[0]
    of_all = [
        one for coordinate in coordinates for table in coordinate.tables for one in table.messages
    ]
    report = first.report.changed(
        messages=list(dict.fromkeys([*frames.messages(reasons, partial(_label, axes)), *of_all])),
        parameters={
            "n_frames": len(frames.cells),
            "temperature": temperature,
            "frame_weights": _source_of_weights(weights, bias),
            "zero": "lowest bin" if reference is None else str(reference),
            "bins": list(shape),
            "jacobian": jacobian,
            "basin_depth": basin_depth,
            "n_frames_outside": int(np.count_nonzero(frames.cells < 0)),
            "n_effective": frames.n_effective,
        },
        analysis="free_energy",
    )
    counts = np.bincount(frames.cells[frames.cells >= 0], minlength=len(shares))
    central = {}
    if len(frames.lengths) == 1 and not are_rows_of_files(coordinates):
        rows = central_rows(axes, coordinates, frames.cells).reshape(shape)
        central["frame"] = np.where(rows >= 0, first.frames[rows], -1)
        central["time"] = np.where(rows >= 0, first.times[rows], np.nan)
    whole = Table(
        values=thermal * levels.reshape(shape),
        axes=axes,
        name="free energy" if jacobian == "kept" else "free energy without Jacobian",
        units=units,
        selections=tuple(
            dict.fromkeys(text for one in coordinates for text in one.tables[0].selections)
        ),
        report=report,
        standard_errors=thermal * errors.reshape(shape),
        half_widths=thermal * half_widths.reshape(shape),
        resolved=(np.isfinite(half_widths) & (reasons == "")).reshape(shape),
        also={"count": counts.reshape(shape), "basin": basins, **central},
    )
    at = int(np.nanargmin(np.where(is_reference, levels, np.nan)))
    return replace(whole, parts={"basins": _basins(whole, frames, at, thermal)})


def _reference(
    axes: Sequence[Axis], densities: NDArray[np.float64], region: Region | None
) -> NDArray[np.bool_]:
    """Return which bins are the reference: those of a region, or the one of the highest density.

    Raises
    ------
    ValueError
        If no frame is in them.
    """
    if region is None:
        return np.equal(np.arange(len(densities)), densities.argmax())
    centres = np.meshgrid(*(axis["centre"].astype(np.float64) for axis in axes), indexing="ij")
    chosen = in_region(axes, [one.ravel() for one in centres], region)
    if not densities[chosen].any():
        raise ValueError(f"no frame is in the reference {region!r}: F would be infinite there")
    return chosen


def _source_of_weights(weights: FrameNumbers | None, bias: FrameNumbers | None) -> str:
    """Return where weights are from, for the report."""
    return "bias" if bias is not None else "equal" if weights is None else "given"


def _label(axes: Sequence[Axis], number: int) -> str:
    """Return the place of a bin, given its number in the flat array, for messages."""
    places = np.unravel_index(number, tuple(map(len, axes)))
    return ", ".join(
        f"{axis.quantity} {in_digits(float(axis['centre'][k]))}".rstrip()
        for axis, k in zip(axes, places, strict=True)
    )


def _basins(whole: Table, frames: WeightedFrames, at: int, thermal: float) -> Table:
    """Return the free energies of whole basins, relative to that of the bin `at`."""
    basins = whole.also["basin"].ravel().astype(np.int64)
    n = int(basins.max()) + 1
    states = np.append(basins, -1)[frames.cells]
    shares = frames.shares(states, n)
    is_reference = np.arange(n) == basins[at]
    errors, half_widths, reasons = frames.errors(states, n, is_reference)
    values = whole.values.ravel()
    lowest = [int(np.where(basins == one, values, np.inf).argmin()) for one in range(n)]
    places = np.unravel_index(lowest, whole.values.shape)
    columns = {
        name: axis["centre"][own] for name, axis, own in zip("xy", whole.axes, places, strict=False)
    }
    return Table(
        values=thermal * np.log(shares[basins[at]] / shares),
        axes=(Axis("basins", {"number": np.arange(n), **columns}),),
        name="free energy",
        units=whole.units,
        selections=whole.selections,
        report=whole.report,
        standard_errors=thermal * errors,
        half_widths=thermal * half_widths,
        resolved=np.isfinite(half_widths) & (reasons == ""),
        also={
            "share": shares / shares.sum(),
            "count": np.bincount(states[states >= 0], minlength=n),
        },
    )
