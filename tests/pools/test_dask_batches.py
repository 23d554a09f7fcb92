"""Short tasks travel in batches to workers of Dask, which fail and die with a batch in hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from distributed import Client
from helpers.dask_cluster import change_do
from helpers.golden_files import Adk
from trajet.pools.dask import dispatcher


def test_worker_that_fails_and_dies_in_a_batch_changes_nothing(
    client: Client, long_adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that failed runs again by itself; each task counts once."""
    # Batches of several tasks, however busy the machine is.
    monkeypatch.setattr(dispatcher, "_BATCH", 60.0)
    first, victim, *_ = sorted(client.nthreads())
    pulled, died = tmp_path / "pulled", tmp_path / "died"

    def fail(tasks: Any, _stop: Any) -> None:
        import errno
        import os

        from distributed import get_worker

        tasks.calls = getattr(tasks, "calls", 0) + 1
        if tasks.calls < 8:
            return
        if get_worker().address == first and not pulled.exists():
            pulled.touch()
            raise OSError(errno.EIO, "a cable was pulled")
        if get_worker().address == victim and not died.exists():
            died.touch()
            os._exit(1)

    traj = tj.open(long_adk.psf, long_adk.xtc)
    atoms = traj.select("name CA")
    here = tj.rmsd(atoms, pool=tj.LocalPool()).values
    change_do(client, fail)
    result = tj.rmsd(atoms, pool=tj.DaskPool(client, task_frames=4))
    assert result.values.tobytes() == here.tobytes()
    tasks = result.report["tasks"]
    assert isinstance(tasks, list)
    assert [task["task"] for task in tasks] == list(range(len(tasks)))
    assert sum(task["frames"] for task in tasks) == len(here)
    sizes = Counter((task["batch"], task["copy"]) for task in tasks)
    assert max(sizes.values()) > 1
    assert len(sizes) < len(tasks) / 2
    assert died.exists()
    (retried,) = result.report["retried"]
    assert "a cable was pulled" in retried["error"]
    again = tasks[retried["task"]]
    assert sizes[again["task"], again["copy"]] == 1
