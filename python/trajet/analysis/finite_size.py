"""Diffusion coefficients of an infinite system: the correction of Yeh and Hummer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet.constants import thermal_energy
from trajet.result import MeanSquaredDisplacement
from trajet.result.displacement import CM2_PER_S
from trajet.uncertainty.student_t import quantile

# Of a cubic lattice: the self term of the Ewald sum of the Oseen tensor.
_XI = 2.837297
# 1 m²/s in Å²/ps.
_FROM_SI = 1e8
# Deviation of lengths and angles of a cubic cell, as shares.
_CUBIC = 1e-3
# Numbers of a cell: lengths and angles.
_CELL = 6


class CorrectedDiffusion(NamedTuple):
    """A diffusion coefficient of an infinite system.

    Attributes
    ----------
    diffusion, half_width
        The coefficient, and half of its 95 % interval, Å²/ps; of each simulation, `(n,)`, if the
        viscosity is given. NaN where unknown.
    viscosity, viscosity_half_width
        The shear viscosity, mPa·s: the given one, or that of the fit, with half of its 95 %
        interval.
    """

    diffusion: NDArray[np.float64]
    half_width: NDArray[np.float64]
    viscosity: float
    viscosity_half_width: float

    @property
    def diffusion_cm2_per_s(self) -> NDArray[np.float64]:
        """The coefficient, cm²/s."""
        return self.diffusion * CM2_PER_S


def finite_size_correction(
    diffusion: "ArrayLike | MeanSquaredDisplacement | Sequence[MeanSquaredDisplacement]",
    cell: ArrayLike,
    *,
    temperature: float,
    viscosity: float | None = None,
    half_widths: ArrayLike | None = None,
) -> CorrectedDiffusion:
    """Correct diffusion coefficients for the size of a cubic periodic cell.

    Parameters
    ----------
    diffusion
        Diffusion coefficient, Å²/ps, or the result of `msd`; of simulations in several cells, a
        sequence.
    cell
        Length of the cubic cell, Å, or its lengths and angles, `(6,)`; of each simulation.
    temperature
        Temperature, K.
    viscosity
        Shear viscosity of the model, mPa·s. None to fit it to cells of several lengths.
    half_widths
        Halves of the 95 % intervals of the coefficients, Å²/ps; those of results are known. With
        them, a fit weights its points.

    Returns
    -------
    CorrectedDiffusion

    Raises
    ------
    ValueError
        If a cell is not cubic, the numbers of coefficients and cells differ, there are not two
        lengths to fit, or coefficients do not grow with the length.

    Notes
    -----
    D∞ = D + 2.837297 k_B T / (6π η L): I.-C. Yeh and G. Hummer, J. Phys. Chem. B 108, 15873 (2004),
    doi:10.1021/jp0477147; B. Dünweg and K. Kremer, J. Chem. Phys. 99, 6983 (1993),
    doi:10.1063/1.465445. It is for diffusion in three dimensions of particles in a liquid, not for
    membranes and other shapes of cells. Without `viscosity`, D∞ and η follow from the straight line
    through D against 1/L by least squares; its errors are those of the points, or follow from
    deviations from the line if half widths are unknown, which needs three lengths.

    Examples
    --------
    >>> import trajet as tj
    >>> found = tj.finite_size_correction(0.2, 30.0, temperature=300, viscosity=0.9)
    >>> found.diffusion.round(4)
    array([0.2231])
    """
    energy = thermal_energy(temperature)
    results = [diffusion] if isinstance(diffusion, MeanSquaredDisplacement) else diffusion
    if isinstance(results, Sequence) and any(
        isinstance(one, MeanSquaredDisplacement) for one in results
    ):
        known = [one for one in results if isinstance(one, MeanSquaredDisplacement)]
        results = [one.diffusion for one in known]
        half_widths = [one.diffusion_half_width for one in known]
    values = np.atleast_1d(np.asarray(results, np.float64))
    lengths = _lengths(cell, len(values))
    halves = np.full(len(values), np.nan)
    if half_widths is not None:
        halves = np.atleast_1d(np.asarray(half_widths, np.float64))
    if values.ndim > 1 or not len(values) == len(lengths) == len(halves):
        raise ValueError(
            f"{values.size} diffusion coefficients, {len(lengths)} cells and {halves.size} half"
            " widths: give one of each for each simulation"
        )
    # Å²/ps mPa·s, divided by a length in Å.
    numerator = _XI * energy / (6 * np.pi * 1e-10) * _FROM_SI * 1e3
    if viscosity is not None:
        if not viscosity > 0:
            raise ValueError(f"the viscosity must be above 0 mPa·s, not {viscosity}")
        return CorrectedDiffusion(
            values + numerator / (viscosity * lengths), halves, viscosity, float("nan")
        )
    if len(np.unique(lengths)) < 2:
        raise ValueError(
            "cells of one length do not tell the viscosity: give viscosity=, or simulations of"
            " cells of several lengths"
        )
    (infinite, slope), errors = _line(1 / lengths, values, halves)
    if not slope < 0:
        raise ValueError(
            "the diffusion coefficients do not grow with the length of the cell, so that they do"
            " not tell the viscosity: give viscosity="
        )
    found = -numerator / slope
    return CorrectedDiffusion(
        np.array([infinite]), errors[:1], float(found), float(errors[1] * found / -slope)
    )


def _lengths(cell: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the length of each cubic cell of n simulations, `(n,)`, Å.

    Raises
    ------
    ValueError
        If a cell is not cubic, or six numbers may be one cell or lengths of six cells.
    """
    cells = np.asarray(cell, np.float64)
    if cells.ndim > 1 and cells.shape[1:] != (_CELL,):
        raise ValueError(
            f"cell has the shape {cells.shape}: give the length of each cell, or its lengths and"
            f" angles, ({n}, {_CELL})"
        )
    if n == _CELL and cells.shape == (_CELL,) and (cells[3:] == 90).all():
        raise ValueError(
            f"{cells.tolist()} may be one cell or the lengths of six: give lengths and angles of"
            f" each cell, ({n}, {_CELL})"
        )
    if cells.ndim > 1 or (len(np.atleast_1d(cells)) == _CELL and n == 1):
        cells = cells.reshape(-1, _CELL)
        lengths: NDArray[np.float64] = cells[:, :3].mean(axis=1)
        is_cubic = (np.abs(cells[:, :3] / lengths[:, np.newaxis] - 1) <= _CUBIC).all(axis=1)
        is_cubic &= (np.abs(cells[:, 3:] / 90 - 1) <= _CUBIC).all(axis=1)
    else:
        lengths = np.atleast_1d(cells)
        is_cubic = np.ones(len(lengths), bool)
    is_cubic &= (lengths > 0) & np.isfinite(lengths)
    if not is_cubic.all():
        raise ValueError(
            f"cell {int(is_cubic.argmin())} is not cubic: the correction is for cubic cells"
        )
    return lengths


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], halves: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intercept and slope of a line by least squares, and halves of their intervals."""
    is_weighted = bool((halves > 0).all())
    normal = float(quantile(np.inf))
    deviations = halves / normal if is_weighted else np.ones(len(x))
    design = np.stack([np.ones(len(x)), x], axis=1) / deviations[:, np.newaxis]
    covariance = np.linalg.inv(design.T @ design)
    found = covariance @ design.T @ (y / deviations)
    if is_weighted:
        return found, normal * np.sqrt(np.diag(covariance))
    if len(x) < 3:
        return found, np.full(2, np.nan)
    variance = ((y - found[0] - found[1] * x) ** 2).sum() / (len(x) - 2)
    t = float(quantile(len(x) - 2.0))
    return found, t * np.sqrt(variance * np.diag(covariance))
