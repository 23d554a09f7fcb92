"""The correction of diffusion coefficients for the size of a periodic cell."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises

# TIP3P water at 298 K in five cubic cells (kinisi, pull request 181): Å, and 1e-5 cm²/s.
LENGTHS = np.array([18.58, 23.42, 29.51, 37.19, 46.86])
DIFFUSION = np.array([4.884, 5.123, 5.315, 5.466, 5.590])
# Of the authors of the correction, for the same model: mPa·s.
VISCOSITY = 0.31


def test_water_in_cells_of_several_lengths() -> None:
    """The line through D against 1/L, with the errors of NumPy; and each cell by the viscosity."""
    found = tj.finite_size_correction(DIFFUSION / 10, LENGTHS, temperature=298)
    (slope, infinite), covariance = np.polyfit(1 / LENGTHS, DIFFUSION, 1, cov=True)
    assert found.diffusion_cm2_per_s * 1e5 == pytest.approx([infinite])
    assert 6.0 < infinite < 6.1
    # k_B T of 298 K, J; the slope in m³/s.
    of_slope = 2.837297 * 4.11433e-21 / (6 * np.pi * -slope * 1e-9 * 1e-10)
    assert found.viscosity == pytest.approx(1e3 * of_slope, rel=1e-5)
    assert abs(found.viscosity - VISCOSITY) < 0.03
    # t of 3 degrees of freedom.
    errors = 3.182446305 * np.sqrt(np.diag(covariance))
    assert found.half_width * 10 == pytest.approx([errors[1]])
    assert found.viscosity_half_width / found.viscosity == pytest.approx(errors[0] / -slope)
    each = tj.finite_size_correction(
        DIFFUSION / 10, LENGTHS, temperature=298, viscosity=found.viscosity
    )
    assert each.diffusion * 10 == pytest.approx(DIFFUSION - slope / LENGTHS)
    assert np.ptp(each.diffusion * 10) < 0.02


def test_points_with_errors_are_weighted() -> None:
    """As NumPy weights them, without scaling their errors."""
    halves = np.array([0.1, 0.05, 0.02, 0.05, 0.1])
    found = tj.finite_size_correction(
        DIFFUSION / 10, LENGTHS, temperature=298, half_widths=halves / 10
    )
    normal = 1.959963985
    line, covariance = np.polyfit(1 / LENGTHS, DIFFUSION, 1, w=normal / halves, cov="unscaled")
    assert found.diffusion * 10 == pytest.approx([line[1]])
    assert found.half_width * 10 == pytest.approx([normal * np.sqrt(covariance[1, 1])])


def test_results_and_cells(tmp_path: Path) -> None:
    """Of `msd`, one or several, with cells of frames; the half width is that of the result."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(size=(100, 20, 3)), axis=0)
    traj = tj.open(None, tj.write(tmp_path / "walk.dcd", walk, cells=[30, 30, 30, 90, 90, 90]).path)
    result = tj.msd(traj.all_atoms(), unwrapped=True)
    cell = traj.read([0]).cells[0]
    found = tj.finite_size_correction(result, cell, temperature=300, viscosity=1.0)
    expected = 2.837297 * 1.380649e-23 * 300 / (6 * np.pi * 1e-3 * 30e-10) * 1e8
    assert found.diffusion == pytest.approx([result.diffusion + expected])
    assert found.half_width.tolist() == [result.diffusion_half_width]
    both = tj.finite_size_correction([result, result], [cell, cell], temperature=300, viscosity=1.0)
    assert both.diffusion.tolist() == 2 * found.diffusion.tolist()


@pytest.mark.parametrize(
    ("diffusion", "cell", "options"),
    [
        (0.2, [30, 30, 40, 90, 90, 90], {"viscosity": 1.0}),
        (0.2, [30, 30, 30, 90, 90, 60], {"viscosity": 1.0}),
        (0.2, -30, {"viscosity": 1.0}),
        (0.2, 30, {"viscosity": -1.0}),
        (0.2, 30, {}),
        ([0.2, 0.3], 30, {"viscosity": 1.0}),
        ([0.3, 0.2], [20, 30], {}),
        (0.2, 30, {"viscosity": 1.0, "temperature": 0}),
        # One cell for six coefficients; the vectors of a cell.
        (6 * [0.2], [30, 30, 30, 90, 90, 90], {"viscosity": 1.0}),
        (3 * [0.2], [[30, 0, 0], [0, 30, 0], [0, 0, 30]], {"viscosity": 1.0}),
    ],
)
def test_impossible_corrections_are_errors(
    diffusion: object, cell: object, options: dict[str, float]
) -> None:
    """Cells that are not cubic, one length without a viscosity, and numbers that do not fit."""
    with raises(ValueError):
        tj.finite_size_correction(diffusion, cell, **{"temperature": 300, **options})
