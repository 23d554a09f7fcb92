"""The simulated cluster of `benches/scale` drives the dispatch core: all tasks, any faults."""

from collections.abc import Callable
from typing import Any

import pytest
from scale.cluster import Cluster, Faults
from scale.dask_run import DaskRun
from scale.events import Booked, Meter
from scale.mpi_run import MpiRun
from scale.workload import Costs, Workload
from trajet.pools.overdue import Overdue

N_TASKS, N_WORKERS = 2000, 50
COSTS = Costs([0.8, 1.0, 1.2, 1.1], n_bytes=1e6, n_requests=4, row_bytes=2048)
# A core that takes no time makes a simulation the same on each machine.
NO_CLOCK = 0.0


def simulate(
    kind: Callable[..., Any], faults: Faults, n_tasks: int = N_TASKS
) -> tuple[Any, Any, Workload]:
    """Return a run, its outcome and its workload."""
    workload = Workload(n_tasks, N_WORKERS, COSTS)
    run = kind(Cluster(N_WORKERS, faults=faults), workload, Meter(lambda: NO_CLOCK))
    return run, run.run(), workload


@pytest.mark.parametrize("kind", [DaskRun, MpiRun])
def test_every_task_is_taken_once_and_merged_in_order(kind: Callable[..., Any]) -> None:
    """Slow workers and dying ones change no bit of the merged state, and cost little time."""
    dying = 0.06 if kind is DaskRun else 0.0
    run, outcome, workload = simulate(kind, Faults(slow=0.1, factor=10.0, dying=dying))
    assert sorted(run.taken) == list(range(N_TASKS))
    assert outcome.state == workload.whole()
    assert outcome.repeated > 0
    assert 0.7 < outcome.efficiency < 1.0


@pytest.mark.parametrize("kind", [DaskRun, MpiRun])
def test_messages_and_calls_a_task_do_not_grow_with_tasks(kind: Callable[..., Any]) -> None:
    """Rank 0 gets as many messages of a task in a run of four times as many."""
    faults = Faults(slow=0.04, factor=10.0)
    _, short, _ = simulate(kind, faults, n_tasks=1000)
    _, long, _ = simulate(kind, faults, n_tasks=4000)
    for outcome in (short, long):
        assert outcome.messages < 9 * outcome.n_tasks
    calls = [sum(outcome.core_calls.values()) / outcome.n_tasks for outcome in (short, long)]
    assert calls[1] <= calls[0]


def test_work_of_an_event_does_not_grow_with_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the tasks reads the first of each kind: most of 4,000 tasks are not read again."""
    looks = 0
    plain = Overdue.first

    def counted(overdue: Overdue, group: tuple[str, int]) -> Any:
        nonlocal looks
        looks += 1
        return plain(overdue, group)

    monkeypatch.setattr(Overdue, "first", counted)
    _, outcome, _ = simulate(DaskRun, Faults(slow=0.04, factor=10.0), n_tasks=4000)
    # Tasks that wait, run and are gathered; of a task that is not the first only if it is late.
    assert looks <= 3 * outcome.core_calls["tick"] + 2 * outcome.repeated


def test_booked_server_does_one_thing_at_a_time() -> None:
    """Requests that become known in any order take the time that they need together."""
    server = Booked()
    ends = [server.serve(time, 3e-4) for time in (0.01, 0.0, 0.01, 0.0, 0.01, 0.01)]
    assert server.busy == pytest.approx(6 * 3e-4)
    # Two of them begin at 0, and four at 10 ms, which need more than a slot.
    assert sorted(ends)[1] < 0.01
    assert max(ends) == pytest.approx(0.01 + 4 * 3e-4)
