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
    """Parameters of a benchmark, which its repeats share."""

    task: str
    load: int = 1  # how often the task is computed for each frame
    format: str
    access: str  # how the files are shared by the workers
    gathering: str  # of rows on MPI; empty for other pools
    pool: str
    workers: int  # of `local`: threads
    threads: int = 1  # per worker
    scaling: str = "strong"  # weak: the number of frames per worker is fixed
    cache: str = "warm"  # cold: the file's pages are dropped before each run
    frames: int  # analysed by all workers together

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
    access: Sequence[str] = ("shared",)
    gathering: Sequence[str] = ("shared",)
    pools: Sequence[str] = ("local",)
    workers: Sequence[int] = (1,)
    scaling: Sequence[str] = ("strong",)
    cache: Sequence[str] = ("warm",)

    def setups(self) -> Iterator[Setup]:
        """Yield all combinations, and always those with one worker, for comparison.

        MPI-IO is combined with H5MD files and the pool `mpi` only.
        """
        axes = (self.tasks, self.loads, self.formats, self.access, self.pools)
        for task, load, format_, access, pool in product(*axes):
            if access in MPIO and (format_, pool) != ("h5md", "mpi"):
                continue
            gatherings = self.gathering if pool == "mpi" else ("",)
            several = (gatherings, self.scaling, self.cache, sorted({1, *self.workers}))
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
