"""Statistical inefficiencies agree with sums that follow the definition term by term."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from trajet.uncertainty import correlation
from trajet.uncertainty.correlation import autocovariances, inefficiency


def made(n: int, phi: float, seed: int = 0, n_series: int = 1) -> NDArray[np.float64]:
    """Return AR(1) series of mean 0 and of a deviation near 1, `(n_series, n)`."""
    rng = np.random.default_rng([seed, n])
    rows = np.empty((n_series, n))
    now = rng.normal(size=n_series)
    for k in range(n):
        now = phi * now + math.sqrt(1 - phi**2) * rng.normal(size=n_series)
        rows[:, k] = now
    return rows - rows.mean(axis=1)[:, np.newaxis]


def naive(series: list[float]) -> tuple[float, int]:
    """Return inefficiency and window by Geyer's initial monotone sequence."""
    n = len(series)

    def covariance(lag: int) -> float:
        return math.fsum(series[k] * series[k + lag] for k in range(n - lag)) / n

    pairs: list[float] = []
    for lag in range(0, n, 2):
        pair = (covariance(lag) + covariance(lag + 1)) / covariance(0)
        if pair <= 1e-12:
            break
        pairs.append(min([pair, *pairs]))
    g = 2 * math.fsum(pairs) - 1
    return max(g, 1 / max(1, math.log10(n))), max(0, 2 * len(pairs) - 1)


@pytest.mark.parametrize("n", [4, 5, 7, 100, 1023, 2500])
@pytest.mark.parametrize("phi", [0.0, 0.9, 0.99, -0.5, -0.95])
def test_inefficiency_equals_naive_sum(n: int, phi: float) -> None:
    """Also where the sequence is longer than the lags that are computed first."""
    rows = made(n, phi, n_series=2)
    g, windows = inefficiency(rows)
    for row, found, window in zip(rows, g, windows, strict=True):
        expected, last = naive(row.tolist())
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert window == last


@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=40),
    st.sampled_from([1, 2, 7, 1024]),
    st.booleans(),
)
def test_few_lags_at_a_time_change_nothing(
    numbers: list[int], first: int, by_transforms: bool
) -> None:
    """Any numbers, also with ties and with sums of exactly 0, as short series and as long ones."""
    series = np.array(numbers, float)
    series -= series.mean()
    if not series.any():
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "_FIRST_LAGS", first)
        if by_transforms:
            patch.setattr(correlation, "_SHORT", 0)
        g, windows = inefficiency(series[np.newaxis])
    expected, last = naive(series.tolist())
    assert g[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert windows[0] == last


@pytest.mark.parametrize("phi", [0.0, 0.9, 0.999, -0.9])
def test_inefficiency_of_long_series_equals_naive_sum(phi: float) -> None:
    """Their means over 64 frames tell how many lags are computed, and no number depends on it."""
    n = 70_001
    row = made(n, phi)[0]
    pairs: list[float] = []
    for lag in range(0, n, 2):
        pair = float(row[: n - lag] @ row[lag:] + row[: n - lag - 1] @ row[lag + 1 :])
        if pair <= 1e-12 * float(row @ row):
            break
        pairs.append(min([pair / float(row @ row), *pairs[-1:]]))
    expected = max(2 * math.fsum(pairs) - 1, 1 / math.log10(n))
    g, windows = inefficiency(row[np.newaxis])
    assert g[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert windows[0] == max(0, 2 * len(pairs) - 1)


@pytest.mark.parametrize("n_lags", [1024, 4096, 9000])
def test_long_series_have_the_bits_of_each_alone(n_lags: int) -> None:
    """Fast and slow ones, constants over 64 frames, and those of a step."""
    n = 66_000
    alternating = np.tile([1.0, -1.0], n // 2)
    step = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    rows = np.concatenate([made(n, 0.99), made(n, 0.0), [alternating, step], made(n, 0.999)])
    g, windows = inefficiency(rows)
    for row, found, window in zip(rows, g, windows, strict=True):
        alone, last = inefficiency(row[np.newaxis])
        assert (found, window) == (alone[0], last[0])
    found = autocovariances(rows, n_lags)
    for row, some in zip(rows, found, strict=True):
        assert autocovariances(row[np.newaxis], n_lags)[0].tobytes() == some.tobytes()
        for lag in (0, 1, n_lags // 2, n_lags - 1):
            assert some[lag] == pytest.approx(row[: n - lag] @ row[lag:] / n, abs=1e-10)


def test_segments_of_long_series_give_the_sums_of_the_whole() -> None:
    """Autocovariances of a series in segments, beside a direct sum."""
    rows = made(70_001, 0.999, n_series=2)
    n_lags = 1500
    found = autocovariances(rows, n_lags)
    for lag in (0, 1, 2, 777, n_lags - 1):
        expected = (rows[:, : rows.shape[1] - lag] * rows[:, lag:]).sum(axis=1) / rows.shape[1]
        assert np.abs(found[:, lag] - expected).max() < 1e-12
    # These lags are those of two transforms of another length.
    assert np.abs(autocovariances(rows, 9000)[:, :n_lags] - found).max() < 1e-12


def test_sum_of_pymbar_is_near() -> None:
    """Its sum ends at the first lag that is not positive, without pairs: a few per cent apart.

    J. D. Chodera et al., J. Chem. Theory Comput. 3, 26 (2007), doi:10.1021/ct0502864.
    """
    rows = made(20_000, 0.9, n_series=8)
    g, _ = inefficiency(rows)
    of_pymbar = []
    for covariances in autocovariances(rows, 500):
        correlations = covariances / covariances[0]
        end = int((correlations <= 0).argmax())
        of_pymbar.append(1 + 2 * correlations[1:end].sum())
    assert np.abs(g / of_pymbar - 1).max() < 0.1
    assert abs(g.mean() / 19 - 1) < 0.1


@pytest.mark.parametrize("n", [4, 65, 128, 300])
@pytest.mark.parametrize("phi", [0.8, 0.0, -0.6])
def test_wide_tables_take_the_same_sums_as_single_columns(n: int, phi: float) -> None:
    """A series among others has the same bits as alone."""
    rows = made(n, phi, n_series=50)
    together, windows = inefficiency(rows)
    alone = [inefficiency(row[np.newaxis]) for row in rows]
    assert together.tolist() == [g[0] for g, _ in alone]
    assert windows.tolist() == [window[0] for _, window in alone]
