"""Workers of a Dask cluster.

Tasks are futures of Dask, whose scheduler assigns them to workers. This package broadcasts the
setup of a run, gathers arrays, runs stragglers again and writes the report.

Dask gives the worker plugin of a pass also to workers that come later. Its keys are never used
twice. A worker whose task was cancelled stops between two requests, also if the client died.
Workers report the time spent on a task while it runs. The end of a run waits for no worker, and
leaves nothing on scheduler or workers.
"""

from trajet.pools.dask.cluster import dask_client
from trajet.pools.dask.pool import DaskPool

__all__ = ["DaskPool", "dask_client"]
