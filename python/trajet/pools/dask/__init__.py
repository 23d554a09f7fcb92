"""Workers of a Dask cluster.

Tasks are futures of Dask, whose scheduler assigns them to workers. This package broadcasts the
setup of a run, gathers arrays, runs stragglers again and writes the report.
"""

from trajet.pools.dask.cluster import dask_client
from trajet.pools.dask.pool import DaskPool

__all__ = ["DaskPool", "dask_client"]
