"""Options that choose where tasks run, and the pool that they stand for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from trajet.pools.dask import DaskPool, connect
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool


@dataclass(frozen=True)
class Where:
    """What the options say."""

    pool: str
    workers: int | None
    threads: int | None
    scheduler: str | None

    def made(self) -> Pool:
        """Return the pool.

        Raises
        ------
        UsageError
            If options contradict each other.
        """
        if self.workers is not None and self.pool not in {"processes", "dask"}:
            raise click.UsageError(
                f"--workers goes with --pool processes or dask; with {self.pool} it is"
                f" {'mpiexec -n' if self.pool == 'mpi' else '--threads'} that says how many"
            )
        if self.scheduler is not None and self.pool != "dask":
            raise click.UsageError("--scheduler goes with --pool dask")
        if self.scheduler is not None and self.workers is not None:
            raise click.UsageError("the workers of a cluster are there already, without --workers")
        return _POOLS[self.pool](self)


_POOLS: dict[str, Callable[[Where], Pool]] = {
    "local": lambda where: LocalPool(threads=where.threads),
    "processes": lambda where: ProcessPool(workers=where.workers, threads=where.threads or 1),
    "dask": lambda where: DaskPool(
        connect(where.scheduler, where.workers), threads=where.threads or 1
    ),
    "mpi": lambda where: MpiPool(threads=where.threads or 1),
}


def _begin(ctx: click.Context, _: click.Parameter, name: str) -> str:
    """Let the ranks of MPI serve that do not lead, before they look at any other option."""
    if name == "mpi" and MpiPool().serve():
        ctx.exit()
    return name


def choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    options = (
        click.option(
            "--pool",
            type=click.Choice(list(_POOLS)),
            default="local",
            show_default=True,
            is_eager=True,
            callback=_begin,
            help="Where to run: on threads, on processes of this machine, on workers of Dask, or on"
            " the ranks of MPI that this was started with (mpiexec -n 8 trajet …).",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Processes, of this machine or of Dask on it. Default: as many as cores.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Threads. Default: all cores; of each process, worker or rank 1.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Dask's scheduler: tcp://host:8786. Default: one of our own on this machine.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
