"""A pass is divided into tasks for workers in other processes."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from trajet import _trajet
from trajet._trajet import Plan
from trajet.pools.passes import tasks_of


def test_tasks_of_wide_rows_are_small() -> None:
    """The papers' longest run has 17 GB of rows, in tasks of at most 64 MiB."""
    fours = np.arange(4 * 424).reshape(-1, 4)
    plan = Plan("dihedrals", quadruples=fours, features=True, periodic=True)
    pass_ = _trajet.Pass(plan, 3341, 2_512_200, [])
    tasks = tasks_of(pass_, 2, None)
    assert tasks[0].frames[0] == 0
    assert tasks[-1].frames[1] == 2_512_200
    assert all(a.frames[1] == b.frames[0] for a, b in pairwise(tasks))
    leaf = pass_.frames_of(0, 1)[1]
    assert all(task.n_frames <= 2**26 // (8 * 848) + leaf for task in tasks)
    # A task size that the user gives is used.
    assert len(tasks_of(pass_, 2, 1_256_100)) == 2


def test_task_of_listed_frames_reads_no_others(tmp_path: Path) -> None:
    """Of a million numbers of frames, those of the task are looked at: the others may be any."""
    tj.write(tmp_path / "one.dcd", np.zeros((4, 1, 3), np.float32), times=np.arange(4.0))
    reader = tj.open(None, tmp_path / "one.dcd", sidecar=False).source.reader
    frames = np.tile(np.arange(4), 256)
    pass_ = _trajet.Pass(Plan("moments", atoms=[0], align=None, average=False), 1, 1024, [])
    first, end = pass_.frames_of(0, 1)
    others = np.full_like(frames, 99)
    others[first:end] = frames[first:end]
    # A view of every second number is no copy either.
    spread = np.repeat(others, 2)[::2]
    expected = _trajet.task(reader, pass_, frames, 0, 1)
    assert _trajet.task(reader, pass_, others, 0, 1) == expected
    assert _trajet.task(reader, pass_, spread, 0, 1) == expected
    with pytest.raises(IndexError):
        _trajet.task(reader, pass_, others, 1, 2)
