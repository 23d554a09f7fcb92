"""Positions of all frames in memory, for analyses that compare or combine all of them."""

from trajet import _trajet
from trajet.pools.local import LocalPool
from trajet.pools.pool import Pool


def threads_of(pool: Pool | None) -> int:
    """Return the number of threads of this process that compute once the frames are collected.

    All cores, or as many as a `LocalPool` has.
    """
    return pool.n_threads if isinstance(pool, LocalPool) else _trajet.available_threads()
