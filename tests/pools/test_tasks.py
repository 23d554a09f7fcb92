"""A pass is divided into tasks for workers in other processes."""

from itertools import pairwise

import numpy as np
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
