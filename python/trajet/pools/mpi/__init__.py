"""Ranks of MPI, where every rank runs the same script.

Other ranks than 0 take part in a run before an analysis looks at its arguments (`root_only` of
`rank_placeholder`). Each rank takes its own run of tasks, then those of the rank with most left; a
rank that finds none rests, and looks at its own memory only. Rank 0 finds stragglers and gives
them to resting ranks; of two that did a task, the first to claim it counts. A thread computes
while the main thread looks for messages.
"""

from trajet.pools.mpi.pool import MpiPool

__all__ = ["MpiPool"]
