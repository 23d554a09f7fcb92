"""What is measured: one setup is a line of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

POOLS = ("local", "processes", "dask", "mpi")
TASKS = ("rmsd", "dihedrals")
FORMATS = ("xtc", "trr", "dcd", "nc", "h5md")
# One file, which ranks read through MPI-IO, each by itself or together.
MPIO = ("mpio", "mpio-collective")
# One file; as many files as workers; a chain of many files; the wanted atoms alone, in memory.
ACCESSES = ("shared", "segments", "chain", *MPIO)
MEMORY = "memory"
# What `bench scheduler` runs.
EMPTY = "empty"
GATHERINGS = ("shared", "collective", "one-sided")
SCALINGS = ("strong", "weak")
CACHES = ("warm", "cold")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What stays the same over the repeats of a run.

    Attributes
    ----------
    task, load
        What is computed, and how many times over for each frame.
    format, access
        Of the trajectory.
    gathering
        Of MPI; empty for other pools, which have one way each.
    pool, workers, threads
        Where. Workers of `local` are threads; `threads` are those of each worker of the others.
    scaling
        "strong": all workers share `frames`. "weak": there are as many for each worker.
    cache
        "cold": the file's pages are dropped before each run.
    frames
        That are analysed.
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
        """Return of how many files the trajectory is."""
        return {"segments": self.workers, "chain": files_of_chain}.get(self.access, 1)


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What is varied; every combination is a setup."""

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
        """Go through the combinations; one worker is always among them, to compare with.

        What goes through MPI-IO is HDF5, read by ranks.
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
