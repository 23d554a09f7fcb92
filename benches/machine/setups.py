"""Setups of benchmarks; each is a row of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from trajet import _trajet
from trajet.cli import pools

POOLS = pools.NAMES
TASKS = ("rmsd", "dihedrals")
FORMATS = tuple(info.suffixes[0][1:] for info in _trajet.FORMATS.values() if info.is_written)
# One file that ranks read through MPI-IO, independently or collectively.
MPIO = ("mpio", "mpio-collective")
# One file; one file per worker; a chain of many files.
ACCESSES = ("shared", "segments", "chain", *MPIO)
MEMORY = "memory"
# The task of `scheduler`.
EMPTY = "empty"
GATHERINGS = ("shared", "collective", "one-sided")
SCALINGS = ("strong", "weak")
CACHES = ("warm", "cold")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Parameters of a benchmark, which its repeats share.

    Attributes
    ----------
    task, load
        The task, and how often it is computed for each frame.
    format, access
        Format of the trajectory, and how its files are shared by the workers.
    gathering
        How MPI gathers rows; empty for other pools.
    pool, workers, threads
        Pool, number of workers, and threads per worker. The workers of `local` are threads.
    scaling
        "strong": the number of frames is fixed. "weak": the number of frames per worker is fixed.
    cache
        "cold": the file's pages are dropped before each run.
    frames
        Number of frames that are analysed, by all workers.
    """

    task: str
    load: int = 1
    format: str
    access: str
    gathering: str
    pool: str
    workers: int
    threads: int = 1
    scaling: str = "strong"
    cache: str = "warm"
    frames: int

    def n_files(self, files_of_chain: int) -> int:
        """Return the number of files of the trajectory."""
        return {"segments": self.workers, "chain": files_of_chain}.get(self.access, 1)


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Values of each parameter; every combination is a setup."""

    frames: int
    tasks: Sequence[str] = ("rmsd",)
    loads: Sequence[int] = (1,)
    formats: Sequence[str] = ("xtc",)
    accesses: Sequence[str] = ("shared",)
    gatherings: Sequence[str] = ("shared",)
    pools: Sequence[str] = ("local",)
    workers: Sequence[int] = (1,)
    scalings: Sequence[str] = ("strong",)
    caches: Sequence[str] = ("warm",)

    def setups(self) -> Iterator[Setup]:
        """Yield all combinations, and always those with one worker, for comparison.

        MPI-IO is combined with H5MD files and the pool `mpi` only.
        """
        axes = (self.tasks, self.loads, self.formats, self.accesses, self.pools)
        for task, load, format_, access, pool in product(*axes):
            if access in MPIO and (format_, pool) != ("h5md", "mpi"):
                continue
            gatherings = self.gatherings if pool == "mpi" else ("",)
            several = (gatherings, self.scalings, self.caches, sorted({1, *self.workers}))
            for gathering, scaling, cache, workers in product(*several):
                yield Setup(
                    task=task,
                    load=load,
                    format=format_,
                    access=access,
                    gathering=gathering,
                    pool=pool,
                    workers=workers,
                    scaling=scaling,
                    cache=cache,
                    frames=self.frames * (workers if scaling == "weak" else 1),
                )
