"""Student's t distribution agrees with SciPy's."""

import numpy as np
from scipy import stats
from trajet.uncertainty.student_t import quantile, two_sided_p

FREEDOM = np.concatenate([np.geomspace(0.5, 1e7, 200), [1, 2, 3, 4, 499.9, 500.1, np.inf]])


def test_quantiles_are_those_of_scipy() -> None:
    """Also of fractional degrees of freedom, and of other levels."""
    for level in (0.95, 0.5, 0.999):
        expected = stats.t.ppf((1 + level) / 2, FREEDOM)
        assert np.abs(quantile(FREEDOM, level) / expected - 1).max() < 1e-12
    assert quantile(np.full((2, 3), 7.5)).shape == (2, 3)
    assert quantile([]).shape == (0,)


def test_probabilities_are_those_of_scipy() -> None:
    """SciPy itself is wrong in the ninth digit where t is 1e-8."""
    t = np.array([0.01, 0.3, 1.0, 2.0, 3.5, 10.0, 100.0])[:, np.newaxis]
    expected = 2 * stats.t.sf(t, FREEDOM)
    found = two_sided_p(-t, FREEDOM)
    seen = expected > 1e-30
    assert np.abs(found[seen] / expected[seen] - 1).max() < 1e-11
    assert two_sided_p(0.0, 5.0) == 1
    # The Cauchy distribution.
    tail = np.array([1e-8, 1e-3, 1.0, 1e3, 1e8])
    assert np.abs(two_sided_p(tail, 1.0) / (np.arctan(1 / tail) * 2 / np.pi) - 1).max() < 1e-13
