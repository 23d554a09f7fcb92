"""Ranks of MPI, where every rank runs the same script."""

from trajet.pools.mpi.pool import MpiPool

__all__ = ["MpiPool"]
