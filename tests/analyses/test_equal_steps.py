"""Lags need equally spaced frames: times may deviate by one rounding of their stored type."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises

SINGLE = ("xtc", "trr", "nc")


def written(path: Path, numbers: np.ndarray, times: np.ndarray, **more: np.ndarray) -> tj.Selection:
    """Return the atoms of a file in which all move by 1 Å per frame number; times are rounded."""
    positions = np.zeros((len(numbers), 2, 3), np.float32)
    positions[:, :, 0] = numbers[:, None]
    tj.write(path, positions, times=times, allow_loss=path.suffix != ".h5md", **more)
    return tj.open(None, path).all_atoms()


@pytest.mark.parametrize("kind", [*SINGLE, "h5md"])
@pytest.mark.parametrize(
    ("begin", "step"), [(0.3, 0.02), (1e4, 1 / 3), (1e6, 0.02), (1e6, 10.0), (1e7, 1.0)]
)
def test_rounded_times_pass_and_lost_frames_do_not(
    tmp_path: Path, kind: str, begin: float, step: float
) -> None:
    """Times of any type pass as far as the type resolves the step; beyond, none do."""
    whole = np.arange(30)
    resolution = 4 * np.spacing(np.float32(begin + step)) if kind in SINGLE else 0.0
    atoms = written(tmp_path / f"whole.{kind}", whole, begin + step * whole)
    if resolution <= step:
        found = tj.msd(atoms, unwrapped=True)
        assert found.lags[1] == pytest.approx(step, rel=0.01)
        assert found.values[1] == pytest.approx(1)
    for lost in ([12], [7, 8, 9, 20]):
        left = np.delete(whole, lost)
        path = tmp_path / f"lost{lost[0]}.{kind}"
        atoms = written(path, left, begin + step * left)
        with raises(tj.AnalysisError, path):
            tj.msd(atoms, unwrapped=True)


@pytest.mark.parametrize("kind", ["xtc", "trr"])
def test_steps_decide_where_times_cannot(tmp_path: Path, kind: str) -> None:
    """Steps of a run, not numbers of frames; the given time step decides too."""
    numbers = np.arange(300)
    begin = 2e7
    steps = 500 * numbers
    atoms = written(tmp_path / f"a.{kind}", numbers, begin + numbers, steps=steps)
    assert tj.msd(atoms).lags[1] == pytest.approx(1, rel=0.01)
    with raises(tj.AnalysisError):
        tj.msd(atoms, frames=slice(0, 30))
    left = np.delete(numbers, [12])
    atoms = written(tmp_path / f"b.{kind}", left, begin + left, steps=500 * left)
    with raises(tj.AnalysisError):
        tj.msd(atoms)
    path = tmp_path / f"c.{kind}"
    atoms = written(path, numbers, begin + numbers)
    with raises(tj.AnalysisError):
        tj.msd(atoms)
    assert tj.msd(tj.open(None, path, time_step=1.0).all_atoms()).lags[1] == 1


def test_advice_on_a_gap_can_be_followed(tmp_path: Path) -> None:
    """Each of the three ways that the error names."""
    left = np.delete(np.arange(30), [12])
    path = tmp_path / "gap.xtc"
    atoms = written(path, left, 2.0 * left)
    with raises(tj.AnalysisError):
        tj.msd(atoms)
    assert tj.msd(atoms, frames=slice(None, 12)).lags[1] == 2
    assert tj.msd(atoms, frames=slice(12, None)).lags[1] == 2
    assert tj.msd(tj.open(None, path, time_step=2).all_atoms()).lags[1] == 2
    with raises(tj.AnalysisError):
        tj.msd(atoms, frames=[0, 1, 2, 4])


def test_times_that_a_program_has_summed_up_pass(tmp_path: Path) -> None:
    """The roundings of many additions in double precision are no gaps."""
    times = np.cumsum(np.full(200000, 0.002))[::5000]
    found = tj.msd(written(tmp_path / "sum.h5md", np.arange(len(times)), times))
    assert found.lags[1] == pytest.approx(10)
