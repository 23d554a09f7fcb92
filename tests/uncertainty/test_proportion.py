"""The interval of a probability agrees with SciPy's."""

import numpy as np
import pytest
from scipy import stats
from trajet.uncertainty.proportion import interval_of_share


@pytest.mark.parametrize("trials", [1, 2, 17.5, 100, 12345, 10**7])
def test_intervals_are_those_of_clopper_and_pearson(trials: float) -> None:
    """Also of numbers that are not whole, which design effects give."""
    for share in (0, 1e-6, 0.003, 0.1, 0.5, 0.97, 1):
        if 0 < (events := trials * share) < 1:
            continue
        low, high = interval_of_share(events, trials)
        if events:
            expected = stats.beta.ppf(0.025, events, trials - events + 1)
            assert np.isclose(low, expected, rtol=1e-5, atol=0)
        else:
            assert low == 0
        if events < trials:
            expected = stats.beta.ppf(0.975, events + 1, trials - events)
            assert np.isclose(high, expected, rtol=1e-5, atol=0)
        else:
            assert high == 1
    assert interval_of_share(0, 0) == (0, 1)
