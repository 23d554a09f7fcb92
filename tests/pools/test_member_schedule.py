"""The schedule of members keeps cores busy, and runs each task once."""

import pytest
from helpers.simulated_members import MIXES, Simulated, simulate
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("workers", [2, 16, 1000])
@pytest.mark.parametrize("mix", MIXES)
def test_cores_are_busy(mix: str, workers: int) -> None:
    """For nine tenths of the time, or but for one leaf at the end."""
    done = simulate(MIXES[mix], workers)
    assert done.busy >= min(0.9, done.bound)
    check_all_ran(done, MIXES[mix])


@given(
    frames=st.lists(st.sampled_from([1, 7, 100, 1000, 30_000]), min_size=1, max_size=30),
    workers=st.integers(1, 40),
    most_open=st.integers(1, 20),
    opening=st.sampled_from([0.0, 30.0]),
    least=st.sampled_from([0.0, 500.0]),
    seed=st.integers(0, 99),
)
def test_each_task_runs_once(
    frames: list[int], workers: int, most_open: int, opening: float, least: float, seed: int
) -> None:
    """Whatever the members, and no more of them are open than may be."""
    done = simulate(
        frames,
        workers,
        spread=0.5,
        opening=opening,
        least=least,
        most_open=most_open,
        seed=seed,
    )
    check_all_ran(done, frames)
    assert done.most_open <= most_open


def test_few_members_are_open() -> None:
    """No more than keep the workers busy: here 1,000 that are one task each."""
    assert simulate([100] * 1000, 2, least=100.0).most_open <= 6


def check_all_ran(done: Simulated, frames: list[int]) -> None:
    """Check that all frames of each member were in one task each."""
    assert sum(n * times for (_, n), times in done.tasks.items()) == sum(frames)
    for member, n_frames in enumerate(frames):
        own = {n: times for (k, n), times in done.tasks.items() if k == member}
        assert sum(n * times for n, times in own.items()) == n_frames
