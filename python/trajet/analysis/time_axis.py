"""Times of frames at equal distances, which lags, correlations and fits need."""

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.digits import in_digits
from trajet.trajectory import Trajectory, rounding_of_times

# Times of double precision that a program has summed up step by step deviate by less than this
# share of the step.
_SUMMED = 1e-6
# Rounded times tell whether steps are equal if a rounding is at most this share of the step.
_TELLS = 0.25
# The mean of rounded steps is known at least this well, as a share of the step.
_KNOWN = 0.01
_GIVE = "give the time between frames with time_step=PS"


def equal_step(trajectory: Trajectory, numbers: NDArray[np.int64], needs: str) -> float:
    """Return the time between neighbouring frames, ps, of frames at equal distances.

    Times may deviate by one rounding of the type in which they are stored. Where that is too coarse
    to tell, the integration steps of the frames decide.

    Parameters
    ----------
    trajectory
        The trajectory.
    numbers
        Numbers of the frames, at least two.
    needs
        The quantity that needs the time between frames, for messages.

    Raises
    ------
    AnalysisError
        If times are equal, unknown, or not equally spaced, if that cannot be decided, or if
        roundings leave the time between frames uncertain by more than 1 %.
    """
    label = trajectory.label
    times = trajectory.source.reader.times()[numbers]
    if not np.isfinite(times).all():
        k = int(np.flatnonzero(~np.isfinite(times))[0])
        raise AnalysisError(
            f"{label}: {needs} the time between frames, and that of frame {numbers[k]} is not"
            f" stated: {_GIVE}"
        )
    if not np.ptp(times) and np.ptp(numbers):
        raise AnalysisError(
            f"{label}: {needs} the time between frames, and all {len(times)} frames are at"
            f" {in_digits(times[0])} ps: {_GIVE}"
        )
    steps = np.diff(times)
    step = float((times[-1] - times[0]) / len(steps))
    usual = _usual(steps)
    rounding = rounding_of_times(trajectory.source.reader, times)
    # Each of the two times is rounded by half of this at most.
    slack = np.maximum(rounding[1:], rounding[:-1]) + _SUMMED * abs(usual)
    if not rounding.max() <= _TELLS * usual and np.ptp(steps) > _SUMMED * abs(usual):
        _check_steps(trajectory, numbers, times, 2 * slack)
    else:
        slack = np.minimum(slack, abs(usual) / 2)
        wrong = ~((steps > 0) & (np.abs(steps - step) <= slack))
        if wrong.any():
            raise _uneven(trajectory, numbers, times, slack)
    # First and last time are off by half of a rounding each.
    uncertain = float(rounding.max()) / len(steps)
    if np.ptp(steps) > _SUMMED * abs(usual) and uncertain > _KNOWN * step:
        within, unit = (in_digits(one, significant=2) for one in (uncertain, rounding.max()))
        raise AnalysisError(
            f"{label}: {needs} the time between frames, which is {in_digits(step, significant=3)}"
            f" ps within {within} ps only, as stored times are rounded to {unit} ps at"
            f" {in_digits(times[-1])} ps: {_GIVE}"
        )
    return step


def _check_steps(
    trajectory: Trajectory,
    numbers: NDArray[np.int64],
    times: NDArray[np.float64],
    slack: NDArray[np.float64],
) -> None:
    """Check by their integration steps that frames are equally spaced.

    `slack` is the largest deviation of the time between two frames that roundings explain.

    Raises
    ------
    AnalysisError
        If they are not, or steps only number the frames.
    """
    between = np.diff(times)
    usual = _usual(between)
    if not usual > 0 or (np.abs(between - usual) > np.maximum(slack, usual / 2)).any():
        raise _uneven(trajectory, numbers, times, slack)
    steps = trajectory.source.reader.steps()[numbers]
    # XTC and TRR hold 32 bits of a step.
    by = np.diff(steps) % 2**32
    label = trajectory.label
    if np.array_equal(steps, numbers) or not by.any():
        raise AnalysisError(
            f"{label}: whether frames are equally spaced cannot be decided: at"
            f" {in_digits(times[-1])} ps, times in single precision are rounded to"
            f" {in_digits(slack.max() / 2, significant=2)} ps, while frames are about"
            f" {in_digits(usual, significant=2)} ps apart, and their steps only number the frames:"
            f" {_GIVE}"
        )
    usual_by = int(np.median(by))
    wrong = np.flatnonzero(by != usual_by)
    if wrong.size:
        k = int(wrong[0])
        raise AnalysisError(
            f"{label}: times are not equally spaced: {by[k]} steps from frame {numbers[k]} to"
            f" frame {numbers[k + 1]}, and {usual_by} between most frames: {_advice(numbers, k)}"
        )


def _uneven(
    trajectory: Trajectory,
    numbers: NDArray[np.int64],
    times: NDArray[np.float64],
    slack: NDArray[np.float64],
) -> AnalysisError:
    """Return the error of frames that are not equally spaced."""
    steps = np.diff(times)
    usual = _usual(steps)
    # Most steps are equal, and the others are the wrong ones.
    far = np.flatnonzero(~((steps > 0) & (np.abs(steps - usual) <= slack)))
    k = int(far[0]) if far.size else int(np.abs(steps - usual).argmax())
    largest = float(np.abs(times).max())
    between = (
        f"{in_digits(steps[k], of=largest)} ps from frame {numbers[k]} to frame {numbers[k + 1]}"
    )
    if trajectory.source.reader.unstated_times:
        advice = _GIVE
    elif steps[k] <= 0 and numbers[k + 1] > numbers[k]:
        advice = "give continuous=True, which drops frames that a continued run repeats"
    else:
        advice = _advice(numbers, k)
    if usual > 0:
        most = f"{in_digits(usual, of=largest)} ps between most frames"
        found = f"times are not equally spaced: {between}, and {most}"
    else:
        found = f"times do not rise: {between}"
    return AnalysisError(f"{trajectory.label}: {found}: {advice}")


def _usual(steps: NDArray[np.float64]) -> float:
    """Return the time between most frames; the mean where most are rounded to none."""
    middle = float(np.median(steps))
    return middle if middle > 0 else float(steps.mean())


def _advice(numbers: NDArray[np.int64], k: int) -> str:
    """Return advice on frames with a gap behind the k-th."""
    by = np.diff(numbers)
    if (by < 0).all():
        return "choose frames from the first to the last with frames="
    if np.ptp(by) or by[k] <= 0:
        return "choose frames at equal intervals with frames="
    return (
        f"choose the frames on one side of the gap (frames=slice({numbers[k] + 1}) or"
        f" frames=slice({numbers[k + 1]}, None)), or, if frames are equally spaced after all,"
        f" {_GIVE}"
    )
