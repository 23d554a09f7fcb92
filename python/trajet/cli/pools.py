"""Options that choose where tasks run, and the pool that they stand for."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from trajet.pools import shared
from trajet.pools.dask import DaskPool, dask_client
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool


@dataclass(frozen=True)
class Crew:
    """What the options say of who works.

    Attributes
    ----------
    workers
        Processes; None for as many as there are cores.
    threads
        Of each; None for what the pool takes by itself.
    scheduler
        Where Dask's scheduler listens; None for a cluster of this machine's own.
    rows_in
        The file that the rows of a result go to; None for memory.
    """

    workers: int | None
    threads: int | None
    scheduler: str | None
    rows_in: Path | None = None


@contextmanager
def _local(crew: Crew) -> Iterator[Pool]:
    yield LocalPool(threads=crew.threads)


@contextmanager
def _processes(crew: Crew) -> Iterator[Pool]:
    yield ProcessPool(workers=crew.workers, threads=crew.threads or 1)


@contextmanager
def _dask(crew: Crew) -> Iterator[Pool]:
    with dask_client(crew.scheduler, crew.workers) as client:
        yield DaskPool(client, threads=crew.threads or 1, rows_in=crew.rows_in)


@contextmanager
def _mpi(crew: Crew) -> Iterator[Pool]:
    yield MpiPool(threads=crew.threads or 1, rows_in=crew.rows_in)


_POOLS: dict[str, Callable[[Crew], AbstractContextManager[Pool]]] = {
    "local": _local,
    "processes": _processes,
    "dask": _dask,
    "mpi": _mpi,
}

# What help says of them.
_WHAT = {
    "local": "threads",
    "processes": "processes",
    "dask": "a Dask cluster",
    "mpi": "the ranks of mpiexec -n N trajet …",
}


# What MPICH and its kin, and Open MPI, tell each process that mpiexec starts.
_RANK_AND_SIZE = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def _begin(ctx: click.Context, _: click.Parameter, name: str) -> str:
    """Let the ranks of MPI serve that do not lead, before they look at any other option."""
    if name != "mpi":
        _warn_of_ranks()
    elif (pool := MpiPool()).serve():
        ctx.exit()
    elif pool.size == 1:
        click.echo(
            "note: --pool mpi with one rank: start several with mpiexec -n N trajet …, the mpiexec"
            " of the MPI that python -m mpi4py --mpi-lib-version names",
            err=True,
        )
    return name


def _warn_of_ranks() -> None:
    """Say so where mpiexec started this several times over, and each would do all of it."""
    for rank, size in _RANK_AND_SIZE:
        if os.environ.get(rank) == "0" and int(os.environ.get(size, "1")) > 1:
            click.echo(
                f"note: mpiexec has started this {os.environ[size]} times, and each does all of it:"
                " --pool mpi lets them share the work",
                err=True,
            )


_STARTED = (
    click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Processes. Default: as many as there are cores.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Of a Dask cluster: tcp://host:8786. Default: workers of this machine.",
    ),
)


def choice(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds the options to a command, for pools of these names, or for all."""
    known = names or tuple(_POOLS)
    what = ", ".join(_WHAT[name] for name in known[:-1]) + f" or {_WHAT[known[-1]]}"
    options = (
        click.option(
            "--pool",
            type=click.Choice(known),
            default="local",
            show_default=True,
            is_eager=True,
            callback=_begin,
            help=f"Where to run: {what}.",
        ),
        *(_STARTED if "dask" in known else ()),
        click.option(
            "--threads",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Threads: all cores by default; of each process or rank 1.",
        ),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def made(name: str, crew: Crew) -> AbstractContextManager[Pool]:
    """Return the pool that was chosen, for as long as it is used."""
    if crew.scheduler is not None and name != "dask":
        raise click.UsageError("--scheduler goes with --pool dask")
    if crew.rows_in is not None and name not in ("dask", "mpi"):
        raise click.UsageError("--rows-in goes with --pool dask and --pool mpi")
    if crew.workers is not None:
        if name == "local":
            raise click.UsageError(
                "--workers goes with --pool processes and --pool dask; --threads with any"
            )
        if name == "mpi":
            raise click.UsageError("how many ranks there are is what mpiexec -n says")
        if crew.scheduler is not None:
            raise click.UsageError("the scheduler has workers of its own: leave --workers out")
    shared.remove_leftovers()
    return _POOLS[name](crew)
