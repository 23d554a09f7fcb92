"""Atoms that are listed several times count each time, and a message says so."""

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk

REPEATED = "are listed more than once in"


def messages_of(result: tj.Table) -> list[str]:
    """Return the messages on repeated atoms."""
    return [message for message in result.messages if REPEATED in message]


@pytest.fixture
def parts(adk: Adk) -> tuple[tj.Selection, tj.Selection]:
    """Return the atoms of two parts that overlap, listed once and as they are joined."""
    traj = tj.open(adk.psf, adk.xtc)
    first, second = traj.select("resid 1:6").indices, traj.select("resid 5:8").indices
    joined = np.concatenate([first, second])
    return traj.select(np.unique(joined)), traj.select(joined)


COUNTING = {
    "gyration": lambda one: tj.gyration(one, frames=[0]),
    "count": lambda one: tj.count(one, frames=[0]),
    "contacts": lambda one: tj.contacts(one, cutoff=3.0, frames=[0]),
    "sasa": lambda one: tj.sasa(one, points=20, frames=[0]),
    "rmsd": lambda one: tj.rmsd(one, frames=[0]),
    "density": lambda one: tj.density(one, spacing=9.0, frames=[0]),
}


@pytest.mark.parametrize("name", COUNTING)
def test_repeated_atoms_are_counted_with_a_message(
    name: str, parts: tuple[tj.Selection, tj.Selection]
) -> None:
    """The number of atoms that are repeated is named, however often they are."""
    once, joined = parts
    n_repeated = joined.n_atoms - once.n_atoms
    assert messages_of(COUNTING[name](once)) == []
    (message,) = messages_of(COUNTING[name](joined))
    assert f"{n_repeated} atoms {REPEATED} selection= and count each time" in message
    assert "numpy.unique" in message
    again = joined.trajectory.select(np.concatenate([joined.indices, joined.indices]))
    (message,) = messages_of(COUNTING[name](again))
    assert f"{once.n_atoms} atoms {REPEATED}" in message


def test_every_argument_and_every_job_has_the_message(
    parts: tuple[tj.Selection, tj.Selection],
) -> None:
    """Second groups, lists of groups and analyses of one run."""
    once, joined = parts
    traj = once.trajectory
    (message,) = messages_of(tj.contacts(once, joined, frames=[0]))
    assert f"{REPEATED} other=" in message
    (message,) = messages_of(tj.rmsd(once, groups=[once, joined], frames=[0]))
    assert f"{REPEATED} groups=" in message
    jobs = [tj.gyration.job(joined), tj.gyration.job(once)]
    counts = [len(messages_of(result)) for result in tj.run(jobs, frames=[0])]
    assert counts == [1, 0]
    # Texts, and masks, select each atom once.
    mask = np.isin(np.arange(traj.n_atoms), joined.indices)
    assert messages_of(tj.gyration(traj.select(mask), frames=[0])) == []
    assert messages_of(tj.sasa(once, context=joined, points=20, frames=[0])) == []


def test_lists_of_atoms_may_repeat_them(parts: tuple[tj.Selection, tj.Selection]) -> None:
    """Distances have a column for each pair, a minimum has none of its own, no message is due."""
    once, joined = parts
    for result in (
        tj.distances(joined, once, frames=[0]),
        tj.min_distance(joined, frames=[0]),
        tj.apply(joined, lambda x: x.sum(), frames=[0]),
    ):
        assert messages_of(result) == []
    least = [tj.min_distance(each, frames=[0]).values[0] for each in parts]
    assert least[0] == least[1] > 0
