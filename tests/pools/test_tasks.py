"""How a pass is divided among workers elsewhere."""

from itertools import pairwise

import numpy as np
from trajet import _trajet
from trajet.pools.passes import tasks_of
from trajet.pools.pool import Plan


def test_tasks_of_wide_rows_are_small() -> None:
    """Those of the papers' longest run: 17 GB of rows, 64 MiB a task at most."""
    fours = np.arange(4 * 424).reshape(-1, 4)
    plan = Plan.of("dihedrals", quadruples=fours, features=True, periodic=True).build()
    pass_ = _trajet.Pass(plan, 3341, 2_512_200, [])
    tasks = tasks_of(pass_, 2, None)
    assert tasks[0].frames[0] == 0
    assert tasks[-1].frames[1] == 2_512_200
    assert all(a.frames[1] == b.frames[0] for a, b in pairwise(tasks))
    leaf = pass_.frames_of(0, 1)[1]
    assert all(task.n_frames <= 2**26 // (8 * 848) + leaf for task in tasks)
    # Whoever says how large they are gets that.
    assert len(tasks_of(pass_, 2, 1_256_100)) == 2
