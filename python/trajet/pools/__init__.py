"""Pools: the dispatch core, and its adapters for threads, processes, Dask and MPI."""
