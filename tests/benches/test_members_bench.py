"""`benches/members.py` drives the schedule of members: workers are busy."""

import pytest
from members import AIM, MIXES, in_batches

LONG = "1,000 of 100 frames"


@pytest.mark.parametrize(
    "mix", [pytest.param(mix, marks=[pytest.mark.long] * (mix == LONG)) for mix in MIXES]
)
def test_workers_are_busy(mix: str) -> None:
    """Their time is only counted: nine tenths of it are work, in batches of jobs."""
    assert in_batches(MIXES[mix], 16) >= AIM
