"""Positions of frames as bytes, beside a plain evaluation of the documented rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from trajet.viewer import encoding

# Rows and blocks end within, at and beside these numbers of atoms.
SIZES = st.sampled_from([1, 2, 63, 64, 65, 700, 4095, 4096, 4097, 8200])
# Boxes of more than 655.34 Å do not fit.
WIDTHS = st.sampled_from([0.0, 0.02, 5.0, 90.0, 655.3, 655.34, 655.35, 3000.0])
CENTRES = st.sampled_from([0.0, 31.7, -250.0, 12345.678, 4e6])


@st.composite
def positions(draw: st.DrawFn) -> NDArray[np.float32]:
    """Return positions within a box that may be far away, some of them halfway between steps."""
    made = np.random.default_rng(draw(st.integers(0, 2**32)))
    width, shift = draw(WIDTHS), draw(CENTRES)
    found = made.uniform(-0.5, 0.5, (draw(SIZES), 3)) * width
    if draw(st.booleans()):
        found = np.rint(found * 200) / 200
    return (found + shift).astype(np.float32)


def plain_evaluation(frame: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return steps and origin by the rule: the nearest multiple of the step from the middle."""
    wide = frame.astype(np.float64)
    middle = ((wide.min(axis=0) + wide.max(axis=0)) / 2).astype(np.float32).astype(np.float64)
    return np.rint((wide - middle) / np.float64(np.float32(0.01))), middle


@given(positions())
def test_steps_are_those_of_a_plain_evaluation(frame: NDArray[np.float32]) -> None:
    """Bit for bit; frames that do not fit have 32 bits."""
    before = frame.copy()
    data, origin, step = encoding.quantised(frame)
    steps, middle = plain_evaluation(frame)
    if np.abs(steps).max() <= 32767:
        assert data == steps.astype("<i2").tobytes()
        assert (origin.tolist(), step) == (middle.tolist(), 0.01)
    else:
        assert (data, origin.tolist(), step) == (frame.tobytes(), [0, 0, 0], 0)
    assert frame.tobytes() == before.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("atom", [0, 63, 64, 99])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_number_stays_as_it_is(value: float, atom: int) -> None:
    """In every part of a row."""
    frame = np.ones((100, 3), np.float32)
    frame[atom, 1] = value
    assert encoding.quantised(frame)[::2] == (frame.tobytes(), 0)


@given(positions())
def test_centre_is_the_mean(frame: NDArray[np.float32]) -> None:
    """In double precision."""
    mean = frame.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(encoding.centre(frame), mean, rtol=1e-13, atol=1e-13)
