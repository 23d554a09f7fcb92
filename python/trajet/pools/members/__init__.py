"""Runs over the members of an ensemble, which share the workers of one pool.

Numbers have the bits of runs one by one: tasks are runs of leaves, as on every pool.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from trajet.pools.jobs import GrowingPool, JobPool
from trajet.pools.local import LocalPool
from trajet.pools.members.jobs import MembersOnJobs
from trajet.pools.members.threads import MembersOnThreads
from trajet.pools.pool import Pool, facts_of

# Runs the analyses of a member, given its number and its pool.
Work: TypeAlias = "Callable[[int, Pool | None], None]"


def each_member(
    pool: Pool | None, sizes: Sequence[float | None], work: Work
) -> Generator[int, None, None]:
    """Call `work` for each member; yield the numbers of those that are done.

    Members share the workers of the pool, unless it has but one, forks from this process, writes
    rows to files, or is a user's own. Then `work` is called for one member after the other. If the
    caller ends the iteration, members that are open are stopped.

    Parameters
    ----------
    pool
        Where the tasks of all members run; None for `LocalPool()`.
    sizes
        Work of each member, in bytes of its files; None if not known, as in remote storage.
    work
        Called with the number of a member and its pool, in other threads and for several members
        at a time. It raises no error.
    """
    where = LocalPool() if pool is None else pool
    facts = facts_of(where)
    # Further workers of a cluster may join at any time.
    is_shared = isinstance(where, GrowingPool) or facts.n_threads > 1
    if len(sizes) > 1 and is_shared and facts.takes_members:
        if facts.hands_over:
            yield from MembersOnThreads(facts, sizes).run(work)
            return
        if isinstance(where, JobPool):
            yield from MembersOnJobs(where, sizes).run(work)
            return
    for member in range(len(sizes)):
        work(member, pool)
        yield member
