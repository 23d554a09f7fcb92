"""Positions of all frames in memory, for analyses that compare or combine all of them."""

from trajet import _trajet
from trajet.pools.pool import Pool, facts_of


def threads_of(pool: Pool | None) -> int:
    """Return the number of threads of this process that compute once the frames are collected.

    All cores, or as many as a pool has whose threads are in this process.
    """
    if pool is not None and (facts := facts_of(pool)).threads_here:
        return facts.n_threads
    return _trajet.available_threads()
