"""Options that choose where tasks run, and the pool that they stand for."""

from collections.abc import Callable
from typing import Any

import click

from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool


def _local(workers: int | None, threads: int | None) -> Pool:
    if workers is not None:
        raise click.UsageError("--workers goes with --pool processes; --threads with any")
    return LocalPool(threads=threads)


def _processes(workers: int | None, threads: int | None) -> Pool:
    return ProcessPool(workers=workers, threads=threads or 1)


def _mpi(workers: int | None, threads: int | None) -> Pool:
    if workers is not None:
        raise click.UsageError("how many ranks there are is what mpiexec -n says, not --workers")
    return MpiPool(threads=threads or 1)


_POOLS: dict[str, Callable[[int | None, int | None], Pool]] = {
    "local": _local,
    "processes": _processes,
    "mpi": _mpi,
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
            help="Where to run: threads, processes, or the ranks of mpiexec -n N trajet ….",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Processes. Default: as many as there are cores.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Threads: all cores by default; of each process or rank 1.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def made(name: str, workers: int | None, threads: int | None) -> Pool:
    """Return the pool that was chosen."""
    return _POOLS[name](workers, threads)
