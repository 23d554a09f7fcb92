"""Intervals of means of rare states and skewed series, and when they are resolved."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from numpy.typing import NDArray
from trajet.uncertainty.estimates import Estimates, estimates_of_blocks
from trajet.uncertainty.student_t import quantile

Made = tuple[NDArray[np.float64], float]


def two_states(
    n: int, n_series: int, tau: float, share: float, seed: int = 1
) -> NDArray[np.float64]:
    """Return series of 0 and 1, `(n, n_series)`, which are 1 in this share of an infinite run."""
    rng = np.random.default_rng(seed)
    leaves = -math.expm1(-1 / tau)
    state, values = rng.random(n_series) < share, np.empty((n, n_series))
    for row in values:
        row[:] = state
        chance = rng.random(n_series)
        state = np.where(state, chance >= leaves * (1 - share), chance < leaves * share)
    return values


def with_visits(share: float, visits: float, n: int = 1000, n_series: int = 1000) -> Made:
    """Return series of 0 and 1 in which the rarer state has so many visits on average."""
    return two_states(n, n_series, n * share * (1 - share) / visits, share), share


def wrong_and_resolved(found: Estimates, mean: float) -> tuple[float, float, float]:
    """Return shares: resolved and wrong, resolved, and of these that hold the mean."""
    holds, resolved = (found.low <= mean) & (mean <= found.high), found.is_resolved
    covered = holds[resolved].mean() if resolved.any() else math.nan
    return (resolved & ~holds).mean(), resolved.mean(), covered


@pytest.mark.parametrize("visits", [2, 5, 10, 20, 50])
@pytest.mark.parametrize("share", [0.5, 0.2, 0.05, 0.02, 0.95])
def test_resolved_occupancies_hold_their_truth(share: float, visits: float) -> None:
    """Few are resolved and wrong, whether frames or blocks of frames are the series."""
    n = max(1000, int(2 * visits / (share * (1 - share))))
    values, _ = with_visits(share, visits, n)
    whole = values[: n // 100 * 100].reshape(100, -1, 1000).mean(axis=1)
    for found in (tj.statistics(values).estimates, estimates_of_blocks(whole)):
        wrong, resolved, covered = wrong_and_resolved(found, share)
        # Three binomial errors of 1,000 series.
        assert wrong < 0.05 + 0.02
        assert resolved < 0.5 or covered > 0.93 - 0.03
        assert visits > 2 or resolved < 0.1
        assert visits < 20 or resolved > 0.9 - 0.03


@pytest.mark.parametrize("visits", [5, 12, 25])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_rotamers_are_as_occupancies(share: float, visits: float) -> None:
    """Their mean direction follows the share, although noise is in every frame."""
    values, _ = with_visits(share, visits)
    noise = np.random.default_rng(4).normal(0, 8, values.shape)
    true = math.degrees(np.angle(1 - share + share * np.exp(2j * math.pi / 3)))
    found = tj.statistics((120 * values + noise + 180) % 360 - 180, period=360).estimates
    wrong, resolved, covered = wrong_and_resolved(found, true)
    assert wrong < 0.07
    assert resolved < 0.5 or covered > 0.9
    assert visits < 20 or resolved > 0.87


@pytest.mark.parametrize("width", [0.5, 1.0])
@pytest.mark.parametrize("ratio", [25, 50, 100, 300])
def test_resolved_log_normal_series_hold_their_mean(width: float, ratio: float) -> None:
    """Means of series with a long tail are not too small too often."""
    rng, n = np.random.default_rng(7), 800
    phi = math.exp(-ratio / n)
    values = rng.normal(size=(n, 1000))
    values[1:] *= math.sqrt(1 - phi**2)
    for k in range(1, n):
        values[k] += phi * values[k - 1]
    wrong, resolved, covered = wrong_and_resolved(
        tj.statistics(np.exp(width * values)).estimates, math.exp(width**2 / 2)
    )
    assert wrong < 0.07
    assert resolved < 0.5 or covered > 0.9


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.9])
def test_the_long_side_of_two_values_is_that_of_wilson(share: float) -> None:
    """With Student's t, and the number of frames that gives the standard error."""
    values = (np.random.default_rng(3).random((400, 50)) < share).astype(float)
    found = tj.statistics(values).estimates
    p, t = found.mean, quantile(found.freedom)
    n = p * (1 - p) / found.standard_error**2
    # Longer series are the means of blocks.
    one = found.inefficiency < 2
    assert one.any()
    middle = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = np.sqrt(p * (1 - p) / n + (t / n / 2) ** 2) * t / (1 + t**2 / n)
    student = t * found.standard_error
    np.testing.assert_allclose(found.low[one], np.minimum(middle - half, p - student)[one])
    np.testing.assert_allclose(found.high[one], np.maximum(middle + half, p + student)[one])


def test_mirrored_values_have_the_mirrored_interval() -> None:
    """Neither sign, scale nor origin matters; means are plain means."""
    values = np.exp(np.random.default_rng(2).normal(size=(300, 40)))
    found, other = tj.statistics(values).estimates, tj.statistics(5 - 1e3 * values).estimates
    assert np.array_equal(found.mean, np.ascontiguousarray(values.T).mean(axis=1))
    np.testing.assert_allclose(5 - 1e3 * found.low, other.high, rtol=1e-9)
    np.testing.assert_allclose(5 - 1e3 * found.high, other.low, rtol=1e-9)
    assert (found.high - found.mean > found.mean - found.low).all()
    np.testing.assert_array_equal(found.half_width, found.high - found.mean)
    assert [a == b for a, b in zip(found.reasons, other.reasons, strict=True)] == [True] * 40


@pytest.mark.parametrize("frames", [2, 5, 12])
def test_a_state_that_noise_hides_needs_visits_too(frames: int) -> None:
    """Its few frames change neither correlation nor skewness; normal noise alone is resolved."""
    values = np.random.default_rng(6).normal(size=(2000, 100))
    assert np.asarray(tj.statistics(values).resolved).all()
    values[700 : 700 + frames] += 12
    stats = tj.statistics(values)
    # In a few, chance puts as many frames between noise and state.
    assert np.mean(stats.resolved) < 0.1
    assert sum("too short to tell" in reason for reason in stats.reason) > 90


def test_visits_are_in_the_reason() -> None:
    """A rare state seen in three stretches."""
    values = np.zeros(2000)
    for begin in (200, 900, 1500):
        values[begin : begin + 30] = 1
    reason = str(tj.statistics(values).reason)
    assert reason.startswith("too short to tell: the rarer side of the mean was visited about ")
    assert reason.endswith(" times, fewer than 8")


def test_numbers_of_visits_in_reasons_are_below_the_limit() -> None:
    """7.98 visits are not "8, fewer than 8"."""
    values = (np.arange(1024) % 128 == 0).astype(float)
    before, _, after = str(tj.statistics(values).reason).partition(" times, fewer than ")
    assert float(before.rpartition(" ")[2]) < float(after)


def test_rare_contacts_have_intervals_that_hold_their_occupancy(tmp_path: Path) -> None:
    """Maps of contacts between pairs of atoms that meet now and then."""
    share, n_pairs, n = 0.05, 40, 2000
    states = two_states(n, n_pairs, 20.0, share)
    positions = np.zeros((n, 2 * n_pairs, 3), np.float32)
    positions[:, 0::2, 0] = positions[:, 1::2, 0] = 50.0 * np.arange(n_pairs)
    positions[:, 1::2, 1] = np.where(states == 1, 2.0, 8.0)
    tj.write(tmp_path / "pairs.trr", positions, times=np.arange(float(n)))
    trajectory = tj.open(None, tmp_path / "pairs.trr")
    one, other = (trajectory.select(np.arange(k, 2 * n_pairs, 2)) for k in (0, 1))
    found = tj.contact_map(one, other, cutoff=4, by="atom", errors=True, pbc=False)
    assert found.half_widths is not None
    values, half = np.diag(found.values), np.diag(found.half_widths)
    np.testing.assert_allclose(values, states.mean(axis=0))
    known = np.isfinite(half)
    assert np.array_equal(known, states.any(axis=0))
    assert (np.abs(values - share) <= half)[known].mean() > 0.85
    assert found.resolved is not None
    resolved = np.diag(found.resolved)
    # Five visits are expected.
    assert resolved.mean() < 0.6
    assert (resolved & (np.abs(values - share) > half)).mean() <= 0.1
    assert "too short to tell" in str(found.messages)


def density_of(path: Path, states: NDArray[np.float64]) -> tj.Density:
    """Return densities of atoms, each of which is now and then in a voxel of its own."""
    n, n_atoms = states.shape
    positions = np.ones((n, n_atoms, 3), np.float32)
    positions[:, :, 0] = 2.0 * np.arange(n_atoms) + 1
    positions[:, :, 1] = np.where(states == 1, 1.0, 3.0)
    tj.write(path, positions, times=np.arange(float(n)))
    atoms = tj.open(None, path).select(np.arange(n_atoms))
    size = (2.0 * n_atoms, 4.0, 2.0)
    return tj.density(
        atoms, spacing=2.0, grid_center=(size[0] / 2, 2.0, 1.0), grid_size=size, errors=True
    )


def rdf_of(path: Path, states: NDArray[np.float64]) -> tj.RadialDistribution:
    """Return g of pairs, each of which is now and then at a distance of its own."""
    n, n_pairs = states.shape
    positions = np.zeros((n, 2 * n_pairs, 3), np.float32)
    positions[:, 0::2, 0] = positions[:, 1::2, 0] = 50.0 * np.arange(n_pairs)
    positions[:, 1::2, 1] = np.where(states == 1, 0.2 * np.arange(n_pairs) + 0.1, 20.0)
    cells = np.tile([50.0 * n_pairs, 60.0, 60.0, 90.0, 90.0, 90.0], (n, 1))
    tj.write(path, positions, times=np.arange(float(n)), cells=cells)
    trajectory = tj.open(None, path)
    one, other = (trajectory.select(np.arange(k, 2 * n_pairs, 2)) for k in (0, 1))
    return tj.rdf(one, other=other, range=(0, 0.2 * n_pairs), bins=n_pairs, errors=True)


@pytest.mark.parametrize(("visits", "is_rare"), [(5, True), (60, False)])
@pytest.mark.parametrize("of", [density_of, rdf_of])
def test_rare_voxels_and_bins_have_intervals_that_hold_their_occupancy(
    of: Callable[[Path, NDArray[np.float64]], tj.Density | tj.RadialDistribution],
    visits: float,
    is_rare: bool,
    tmp_path: Path,
) -> None:
    """Values are the occupancy times a factor; few visits are resolved in few."""
    n_series = 40
    states, share = with_visits(0.05, visits, 4000, n_series)
    found = of(tmp_path / "made.trr", states)
    assert found.half_widths is not None
    assert found.resolved is not None
    values, half, resolved = (
        np.asarray(each)[:, 0, 0] if np.ndim(each) == 3 else np.asarray(each)
        for each in (
            found.values if isinstance(found, tj.Density) else found.g,
            found.half_widths,
            found.resolved,
        )
    )
    occupied = states.mean(axis=0)
    known = occupied > 0
    truth = share * values[known] / occupied[known]
    assert np.allclose(values[~known], 0)
    holds = np.abs(values[known] - truth) <= half[known]
    # Three binomial errors of 40 series.
    assert holds.mean() > 0.85
    assert (resolved[known] & ~holds).mean() <= 0.15
    assert (resolved.mean() < 0.6) if is_rare else (resolved.mean() > 0.75)
