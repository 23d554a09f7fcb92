"""Times of frames at equal distances, which correlation times need."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits

# Times deviate from even ones by at most this share of a step, or by the rounding of single
# precision: text files round them too.
_DEVIATION = 0.1
_ROUNDING = 2.0**-22


@dataclass(frozen=True)
class FrameClock:
    """How a number of frames becomes a time.

    Attributes
    ----------
    step
        Time between neighbouring frames, `unit`.
    unit
        "ps", or "frames" (of blocks "blocks") if times are unknown or all are equal.
    reason
        How times deviate from even ones; empty if they do not.
    samples
        What the values of a series belong to: "frames", or "blocks" of them.
    is_falling
        Whether the frames go from the end of the simulation to its beginning.
    """

    step: float = 1.0
    unit: str = "frames"
    reason: str = ""
    samples: str = "frames"
    is_falling: bool = False

    def ascending(
        self, values: NDArray[np.float64], frames: NDArray[np.int64]
    ) -> tuple["FrameClock", NDArray[np.float64], NDArray[np.int64]]:
        """Return clock, values and frame numbers (`(n_frames, …)`) in the order of time."""
        if not self.is_falling:
            return self, values, frames
        return replace(self, is_falling=False), values[::-1], frames[::-1]


def clock_of(
    times: NDArray[np.float64] | None, frames: NDArray[np.int64] | None = None
) -> FrameClock:
    """Return the clock of frames at some times, ps.

    Parameters
    ----------
    times
        `(n_frames,)`, ps; None if they are unknown.
    frames
        Frame numbers, for the reason, and the order where times do not tell it; None for 0, 1, ….
    """
    if times is None or len(times) < 2 or not np.isfinite(times).all() or not np.ptp(times):
        return FrameClock(is_falling=frames is not None and _fall(frames))
    steps = np.diff(times)
    usual = float(np.median(steps))
    slack = _DEVIATION * abs(usual) + _ROUNDING * np.abs(times[1:])
    # Where times are rounded to more than a step, only their direction is known.
    wrong = (np.abs(steps - usual) > slack) | (steps * np.sign(usual) < 0)
    if not wrong.any():
        step = abs(float(times[-1] - times[0])) / len(steps)
        return FrameClock(step, "ps", is_falling=bool(times[-1] < times[0]))
    k = int(wrong.argmax())
    first, second = (k, k + 1) if frames is None else (int(frames[k]), int(frames[k + 1]))
    largest = float(np.abs(times).max())
    return FrameClock(
        reason=f"times are not even: {in_digits(steps[k], of=largest)} ps from frame {first} to"
        f" frame {second}, and {in_digits(usual, of=largest)} ps between most"
    )


def are_in_order(frames: NDArray[np.int64]) -> bool:
    """Return whether frame numbers never fall, or always do."""
    return _fall(frames) or not (np.diff(frames) < 0).any()


def _fall(frames: NDArray[np.int64]) -> bool:
    return len(frames) > 1 and bool((np.diff(frames) < 0).all())
