"""Workers of a Dask cluster.

Tasks are futures of Dask, whose scheduler decides who does them; the rest is what it leaves open:
what workers are told once, where rows go, tasks that straggle, and what the report says.
"""

from trajet.pools.dask.cluster import dask_client
from trajet.pools.dask.pool import DaskPool

__all__ = ["DaskPool", "dask_client"]
