"""Probabilities of differences between small groups."""

import numpy as np
import pytest
from trajet.uncertainty.replicas import mean_and_variance
from trajet.uncertainty.student_t import quantile, two_sided_p
from trajet.uncertainty.welch import freedom_of, level_of_interval, probability

N_DRAWN = 50_000


@pytest.mark.parametrize("ratio", [1 / 3, 1.0, 3.0])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 10), (3, 5), (10, 3), (20, 2), (10, 10)])
def test_small_probabilities_are_as_rare_as_they_say(sizes: tuple[int, int], ratio: float) -> None:
    """Of groups whose variances differ up to threefold; 95 % intervals hold the difference."""
    rng = np.random.default_rng([*sizes, round(3 * ratio)])
    squares = [
        factor * rng.chisquare(n - 1, N_DRAWN) / (n - 1) / n
        for n, factor in zip(sizes, (ratio, 1.0), strict=True)
    ]
    error = np.sqrt(squares[0] + squares[1])
    t = rng.normal(size=N_DRAWN) * np.sqrt(ratio / sizes[0] + 1 / sizes[1]) / error
    freedom = freedom_of(squares[0], squares[1], sizes)
    p = probability(t, freedom, sizes)
    assert (p >= two_sided_p(t, freedom)).all()
    for level in (0.05, 0.005, 0.0005):
        allowed = level + 4 * np.sqrt(level / N_DRAWN)
        assert (p < level).mean() <= allowed, level
    missed = np.abs(t) > quantile(freedom, level_of_interval(sizes))
    assert missed.mean() <= 0.05 + 4 * np.sqrt(0.05 / N_DRAWN)


@pytest.mark.parametrize(("sizes", "ratio"), [((2, 10), 3.0), ((3, 5), 3.0), ((10, 10), 1.0)])
def test_probabilities_are_no_larger_than_needed(sizes: tuple[int, int], ratio: float) -> None:
    """With the worst variances, small ones are as frequent as they say."""
    rng = np.random.default_rng(sizes)
    first, second = (
        rng.normal(0, np.sqrt(variance), (n, N_DRAWN))
        for n, variance in zip(sizes, (ratio, 1.0), strict=True)
    )
    (mean_a, of_a), (mean_b, of_b) = mean_and_variance(first), mean_and_variance(second)
    squares = of_a / sizes[0], of_b / sizes[1]
    t, freedom = (mean_b - mean_a) / np.sqrt(sum(squares)), freedom_of(*squares, sizes)
    for level in (0.05, 0.005):
        found = (probability(t, freedom, sizes) < level).mean()
        assert abs(found - level) <= 0.05 * level + 4 * np.sqrt(level / N_DRAWN), level


@pytest.mark.parametrize("freedom", [1.0, 1.43, 9.0, 38.0, 499.0, 1e6])
@pytest.mark.parametrize("log_p", [-3.0, -20.0, -90.0])
def test_far_quantiles_have_their_probability(freedom: float, log_p: float) -> None:
    """Also of probabilities that are 1 when subtracted from 1."""
    found = two_sided_p(quantile(freedom, log_p=log_p), freedom)
    assert np.log(found) == pytest.approx(log_p, rel=1e-9)


def test_equal_numbers_have_no_variance() -> None:
    """Also if their mean is rounded, or their last bits differ."""
    rng = np.random.default_rng(1)
    for n in range(2, 12):
        values = np.repeat(rng.normal(size=100) * 10.0 ** rng.integers(-9, 9, 100), n)
        values = values.reshape(100, n).T.copy()
        values[0] = np.nextafter(values[0], np.inf)
        mean, variance = mean_and_variance(values)
        assert np.array_equal(mean, values[0])
        assert not variance.any()
        assert mean_and_variance(values * (1 + 1e-9 * np.arange(n))[:, np.newaxis])[1].all()
