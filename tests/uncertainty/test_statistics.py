"""Means with errors: values, angles, what is left out, and input that has no error."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.made_results import table
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from trajet.uncertainty.estimates import estimates_of_blocks
from trajet.uncertainty.statistics import with_error
from trajet.uncertainty.student_t import quantile


def made(n: int = 2000, phi: float = 0.8, seed: int = 3, n_series: int = 1) -> NDArray[np.float64]:
    """Return AR(1) series, `(n, n_series)`, or `(n,)` for one."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_series))
    for k in range(1, n):
        values[k] += phi * values[k - 1]
    return values[:, 0] if n_series == 1 else values


def test_numbers_follow_the_formulas() -> None:
    """Every number is told by g, W and the variance."""
    values = made()
    stats = tj.statistics(values, 10.0 + 2.0 * np.arange(2000))
    g = stats.inefficiency
    assert stats.mean == values.mean()
    assert stats.std == pytest.approx(values.std(), rel=1e-12)
    assert stats.correlation_time == pytest.approx((g - 1) / 2 * 2.0)
    assert stats.time_unit == "ps"
    assert stats.n_effective == pytest.approx(2000 / g)
    # 2W + 1 of the window, by the degrees of freedom.
    (freedom,) = stats.estimates.freedom
    summed = 2000 / freedom
    assert summed == pytest.approx(round(summed))
    error = math.sqrt(values.var() * g * (1 + summed / 2000) / 2000)
    assert stats.standard_error == pytest.approx(error, rel=1e-12)
    low, high = stats.interval
    half = float(quantile(freedom)) * error
    # The side of the longer tail is longer.
    assert min(values.mean() - low, high - values.mean()) == pytest.approx(half)
    assert half <= stats.estimates.half_width[0] < 1.1 * half
    assert stats.resolved
    assert stats.reason == ""
    assert stats.n_frames == 2000
    assert tj.statistics(values).time_unit == "frames"


def test_shapes_are_those_of_a_frame() -> None:
    """Of several series, each is as if it were alone; integers and lists are numbers, too."""
    values = made(n_series=6).reshape(2000, 2, 3)
    stats = tj.statistics(values)
    assert np.shape(stats.mean) == (2, 3)
    assert np.shape(stats.interval) == (2, 2, 3)
    assert len(stats.reason) == 6
    alone = tj.statistics(values[:, 1, 2])
    assert np.asarray(stats.standard_error)[1, 2] == alone.standard_error
    assert np.asarray(stats.mean)[1, 2] == pytest.approx(alone.mean, rel=1e-12)
    assert "6 series, 6 of them resolved" in repr(stats)
    assert tj.statistics([1, 2, 4, 2, 1, 3, 2, 2]).mean == pytest.approx(2.125)
    assert np.shape(tj.statistics(np.empty((10, 0))).mean) == (0,)


def test_scale_does_not_matter() -> None:
    """Also where squares would overflow or vanish."""
    values = made()
    usual = tj.statistics(values)
    for scale in (1e-200, 1e200):
        stats = tj.statistics(values * scale)
        assert stats.standard_error / scale == pytest.approx(usual.standard_error, rel=1e-9)
        assert stats.inefficiency == pytest.approx(usual.inefficiency, rel=1e-9)


@pytest.mark.parametrize("turn", [0.0, 180.0, 900.0])
def test_angles_have_circular_means(turn: float) -> None:
    """Small deviations have the errors of numbers, wherever on the circle they are."""
    deviations = made() * 0.1
    angles = (deviations + turn + 180) % 360 - 180
    stats, line = tj.statistics(angles, period=360), tj.statistics(deviations)
    assert (stats.mean - line.mean - turn + 180) % 360 - 180 == pytest.approx(0, abs=1e-5)
    assert -180 <= stats.mean <= 180
    assert stats.standard_error == pytest.approx(line.standard_error, rel=1e-3)
    assert stats.std == pytest.approx(line.std, rel=1e-3)
    radians = tj.statistics(np.radians(angles), period=2 * np.pi)
    assert math.degrees(radians.standard_error) == pytest.approx(stats.standard_error)


def test_interval_of_scattered_angles_is_the_whole_circle() -> None:
    """A mean that is nowhere is not resolved, and no interval is wider than the circle."""
    stats = tj.statistics(np.random.default_rng(2).uniform(-180, 180, 2000), period=360)
    low, high = stats.interval
    assert high - low == pytest.approx(360)
    assert not stats.resolved
    assert stats.reason.startswith("the interval is the whole circle")
    opposite = tj.statistics(np.where(np.arange(100) % 7 < 5, 0.0, 180.0), period=360)
    assert math.isnan(opposite.standard_error)
    assert not opposite.resolved
    assert "two opposite directions" in opposite.reason


def test_angles_in_two_opposite_states_of_equal_weight_have_no_mean() -> None:
    """The sines about such a mean are small, and the mean is chance: a ring that flips."""
    rng = np.random.default_rng(0)
    states = np.where(rng.random((2000, 100)) < 0.5, 90.0, -90.0)
    stats = tj.statistics(states + 5 * rng.normal(size=states.shape), period=360)
    # The mean cosine differs from 0 beyond its 95 % interval in about one of twenty.
    assert np.mean(stats.resolved) < 0.12
    low, high = stats.interval
    assert np.allclose((high - low)[~np.asarray(stats.resolved)], 360)


@pytest.mark.parametrize("share", [0.52, 0.6, 0.9])
def test_intervals_of_two_opposite_states_hold_their_mean(share: float) -> None:
    """The mean direction is that of the more frequent state, in 95 % of runs at least."""
    rng = np.random.default_rng(1)
    states = np.where(rng.random((1000, 200)) < share, 0.0, 180.0)
    stats = tj.statistics(states + 5 * rng.normal(size=states.shape), period=360)
    low, high = stats.interval
    assert np.mean((low <= 0) & (high >= 0)) > 0.9


def test_equilibration_is_suggested_and_cut_if_asked_for() -> None:
    """MSER finds a step at the beginning; nothing is left out unless `discard` says so."""
    values = made(phi=0.3)
    values[:300] += 10
    times = 5.0 * np.arange(2000)
    stats = tj.statistics(values, times)
    assert stats.n_frames == 2000
    assert 1500 <= stats.equilibration <= 1600
    auto = tj.statistics(values, times, discard="auto")
    assert auto.n_frames == 2000 - round(stats.equilibration / 5)
    assert auto.mean == values[round(stats.equilibration / 5) :].mean()
    assert auto.equilibration == stats.equilibration
    by_time = tj.statistics(values, times, discard=1500.0)
    assert by_time.mean == values[300:].mean()
    both = tj.statistics(np.stack([values, made()], axis=1), discard="auto")
    assert np.asarray(both.mean)[0] == pytest.approx(auto.mean)
    assert (np.asarray(both.equilibration) <= 1000).all()


@pytest.mark.parametrize("n", [2, 3, 10, 11, 5000, 6001])
def test_equilibration_is_the_minimum_of_mser(n: int) -> None:
    """The cut is that of the rule, computed for each cut by itself."""
    values = made(n, 0.9) + 5 * np.exp(-np.arange(n) / (n / 10))
    step = 1 + n // 2000
    cuts = range(0, n // 2 + 1, step)
    best = min(cuts, key=lambda cut: values[cut:].var() / (n - cut))
    found = tj.statistics(values).equilibration
    assert found == (best if n >= 4 else 0)


def test_short_series_keep_their_interval() -> None:
    """Withholding intervals of short series would select those that are too narrow."""
    stats = tj.statistics(made(60, 0.95))
    assert not stats.resolved
    assert "effective frames are fewer than 20" in str(stats.reason)
    low, high = stats.interval
    assert high > low
    assert f"not resolved: {stats.reason}" in repr(stats)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.full(50, 0.1), "nothing changes"),
        (np.zeros(50), "nothing changes"),
        (np.array([1.0, 2.0, 3.0]), "3 frames: an error needs at least 4"),
        (np.array([1.0]), "1 frame: an error needs at least 4"),
        (np.array([]), "there are no frames"),
    ],
)
def test_no_error_without_changes_and_frames(values: NDArray[np.float64], reason: str) -> None:
    """Never 0: the error is NaN, and the reason is given."""
    for period in (None, 360.0):
        stats = tj.statistics(values, period=period)
        assert math.isnan(stats.standard_error)
        assert np.isnan(stats.interval).all()
        assert math.isnan(stats.n_effective)
        assert not stats.resolved
        assert reason in str(stats.reason)
        assert str(stats.reason) in repr(stats)
        if len(values):
            assert stats.mean == pytest.approx(values.mean(), abs=1e-12)


UNUSABLE: list[tuple[Callable[[], object], type[Exception]]] = [
    (lambda: tj.statistics([1, 2, np.nan, 4, np.inf]), ValueError),
    (lambda: tj.statistics(made(), np.arange(3.0)), ValueError),
    (lambda: tj.statistics(np.arange(6.0), [0, 1, 2, 5, 6, 7]), ValueError),
    (lambda: tj.statistics(made(6), [0, 2, 4, 0, 2, 4]), ValueError),
    (lambda: tj.statistics(made(), discard=-1), ValueError),
    (lambda: tj.statistics(made(), discard="all"), ValueError),  # type: ignore[arg-type]
    (lambda: tj.statistics(made(), period=0), ValueError),
    (lambda: tj.statistics(3.0), ValueError),
    (lambda: tj.statistics(["a", "b"]), TypeError),
]


@pytest.mark.parametrize(("call", "kind"), UNUSABLE)
def test_unusable_input_is_an_error(call: Callable[[], object], kind: type[Exception]) -> None:
    """Messages say which row or which times."""
    with raises(kind):
        call()


def test_rounded_times_are_even() -> None:
    """Times of single precision, of text files, of reversed frames; equal ones tell nothing."""
    values = made(200)
    late = (1e6 + 0.1 * np.arange(200)).astype(np.float32).astype(np.float64)
    for times in (late, np.round(np.arange(200) / 3, 2), -2.0 * np.arange(200)):
        stats = tj.statistics(values, times)
        assert stats.time_unit == "ps"
        step = abs(times[-1] - times[0]) / 199
        expected = tj.statistics(values).correlation_time * step
        assert stats.correlation_time == pytest.approx(expected)
    assert tj.statistics(values, np.zeros(200)).time_unit == "frames"


def test_many_columns_are_worked_on_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces give the same bits."""
    values = made(100, n_series=7)
    whole = tj.statistics(values)
    monkeypatch.setattr("trajet.uncertainty.estimates._AT_ONCE", 300)
    pieces = tj.statistics(values)
    assert np.array_equal(whole.mean, pieces.mean)
    assert np.array_equal(whole.interval, pieces.interval)
    assert whole.reason == pieces.reason


def test_blocks_are_a_series() -> None:
    """Values of 64 blocks have the errors of a series of 64 frames; words are those of blocks."""
    values = made(64, 0.3, n_series=4)
    found, expected = estimates_of_blocks(values), tj.statistics(values)
    assert np.array_equal(found.standard_error, expected.standard_error)
    assert np.array_equal(found.correlation_steps, expected.correlation_time)
    one = estimates_of_blocks(made(30, 0.9)[:, np.newaxis])
    assert str(one.reasons[0]).endswith("effective blocks are fewer than 20")
    (reason,) = estimates_of_blocks(np.ones((1, 1))).reasons
    assert reason == "1 block: an error needs at least 4"


@settings(max_examples=15, deadline=None)
@given(
    st.integers(5, 60),
    st.sampled_from([None, 0.0, 7.0, "auto"]),
    st.sampled_from(["times", "frames"]),
)
def test_frames_that_go_backwards_have_the_same_beginning(n: int, discard: Any, by: str) -> None:
    """What is left out, and what MSER suggests, is the beginning of the simulation."""
    rng = np.random.default_rng(n)
    drift = np.where(np.arange(n) < n // 3, 9.0, 0.0) + rng.normal(size=n)
    frames = 3 * np.arange(n)
    times = frames * 1.0 if by == "times" else np.zeros(n)
    if by == "frames" and discard != "auto":
        # Without times nothing is left out by time.
        discard = None
    rising = of_frames(drift, times, frames).statistics(discard=discard)
    falling = of_frames(drift[::-1], times[::-1], frames[::-1]).statistics(discard=discard)
    for name in ("mean", "standard_error", "equilibration", "n_frames", "reason"):
        np.testing.assert_equal(getattr(rising, name), getattr(falling, name))
    if by == "times":
        alone = tj.statistics(drift[::-1], times[::-1], discard=discard)
        assert alone.equilibration == rising.equilibration
        assert alone.sentences() == rising.sentences()


def test_means_converge_from_the_beginning() -> None:
    """Figures of frames that go backwards are those of the same frames in order."""
    frames = np.arange(40)
    values = np.where(frames < 9, 9.0, frames % 3)
    curves = [
        of_frames(values[::step], frames[::step] * 1.0, frames[::step])
        .plot(kind="convergence")
        .axes[0]
        .lines[0]
        .get_xydata()
        for step in (1, -1)
    ]
    np.testing.assert_array_equal(*curves)


def of_frames(
    values: NDArray[np.float64], times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tj.Table:
    """Return a result with these values."""
    return table(values, frames, [], times=times)


def test_frames_in_no_order_have_no_beginning() -> None:
    """Nothing is discarded of them, and no equilibration is named."""
    values, frames = np.append(np.full(20, 9.0), np.arange(60) % 2), np.arange(80)
    frames = np.roll(frames, 7)
    result = of_frames(values, frames * 1.0, frames)
    assert result.statistics().equilibration == 0
    assert "MSER" not in repr(result.statistics())
    for discard in (5.0, "auto"):
        with raises(ValueError):
            result.statistics(discard=discard)  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [0.0, 0.1, 1.0, 7.3])
@pytest.mark.parametrize(("n", "cut"), [(100, 1), (100, 10), (1000, 7), (1000, 100)])
def test_rounding_does_not_choose_the_equilibration(n: int, cut: int, offset: float) -> None:
    """Of series that become constant, the first cut after which nothing changes is suggested."""
    values = np.full(n, offset)
    values[:cut] += 1.0
    assert tj.statistics(values, np.arange(n) * 1.0).equilibration == cut


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.2345, 0.1149, "1.23 ± 0.11 Å"),
        (1.2345, 0.0996, "1.23 ± 0.10 Å"),
        (-0.05, 0.6, "-0.05 ± 0.60 Å"),
        (5312.4, 131.0, "5310 ± 130 Å"),
        (3.52e-6, 4.1e-7, "(3.52 ± 0.41) × 10⁻⁶ Å"),
        (1e-8, 4.1e-6, "(0.0 ± 4.1) × 10⁻⁶ Å"),
        (-2.5e7, 1.23e6, "(-2.50 ± 0.12) × 10⁷ Å"),
        (2.345678e-5, math.nan, "2.346 × 10⁻⁵ Å"),
        (12.0, math.nan, "12 Å"),
        (2.0, 0.0, "2.000 ± 0.000 Å"),
        (math.nan, math.nan, "nan Å"),
    ],
)
def test_errors_have_two_digits_and_share_them_with_the_value(
    value: float, error: float, text: str
) -> None:
    """And the power of ten; digits of the value beyond those of the error say nothing."""
    assert with_error(value, error, "Å") == text
