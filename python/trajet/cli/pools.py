"""Options for the choice of a pool."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

import trajet
from trajet.pools.pool import Pool


@dataclass(frozen=True)
class PoolOptions:
    """Options of a pool.

    Attributes
    ----------
    workers
        Number of processes; None for the number of cores.
    threads
        Threads per process; None for the default of the pool.
    scheduler
        Address of Dask's scheduler; None to start a cluster on this machine.
    rows_in
        Folder for the numbers of all frames; None for memory.
    """

    workers: int | None
    threads: int | None
    scheduler: str | None
    rows_in: Path | None = None


@contextmanager
def _local(options: PoolOptions) -> Iterator[Pool]:
    yield trajet.LocalPool(threads=options.threads)


@contextmanager
def _processes(options: PoolOptions) -> Iterator[Pool]:
    yield trajet.ProcessPool(workers=options.workers, threads=options.threads or 1)


@contextmanager
def _dask(options: PoolOptions) -> Iterator[Pool]:
    from trajet.pools.dask import DaskPool, dask_client

    with dask_client(options.scheduler, options.workers) as client:
        yield DaskPool(client, threads=options.threads or 1, rows_in=options.rows_in)


@contextmanager
def _mpi(options: PoolOptions) -> Iterator[Pool]:
    yield trajet.MpiPool(threads=options.threads or 1, rows_in=options.rows_in)


_POOLS: dict[str, Callable[[PoolOptions], AbstractContextManager[Pool]]] = {
    "local": _local,
    "processes": _processes,
    "dask": _dask,
    "mpi": _mpi,
}
NAMES = tuple(_POOLS)

# Descriptions of the pools in help texts.
_WHAT = {
    "local": "threads",
    "processes": "processes",
    "dask": "a Dask cluster",
    "mpi": "the ranks of mpiexec -n N trajet …",
}


# Environment variables that mpiexec sets: MPICH and its derivatives, Open MPI.
_RANK_AND_SIZE = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def _begin(ctx: click.Context, _: click.Parameter, name: str) -> str:
    """Make the ranks other than 0 serve, before other options are evaluated."""
    if name != "mpi":
        _warn_of_ranks()
    elif (pool := trajet.MpiPool()).serve():
        ctx.exit()
    elif pool.size == 1:
        click.echo(
            "note: --pool mpi with one rank: start several with mpiexec -n N trajet …, the mpiexec"
            " of the MPI that python -m mpi4py --mpi-lib-version names",
            err=True,
        )
    return name


def _warn_of_ranks() -> None:
    """Print a note if mpiexec started several processes that would all do the whole work."""
    for rank, size in _RANK_AND_SIZE:
        if os.environ.get(rank) == "0" and int(os.environ.get(size, "1")) > 1:
            click.echo(
                f"note: mpiexec has started this {os.environ[size]} times, and each process does"
                " all of the work: give --pool mpi to share it",
                err=True,
            )


_STARTED = (
    click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Number of processes. Default: the number of cores.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster: tcp://host:8786. Default: workers on this machine.",
    ),
)


# An object that click decorates: a function or a command.
Decorated = TypeVar("Decorated", bound=Callable[..., object] | click.Command)


def choice(*names: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds the options to a command, for these pools or for all."""
    known = names or NAMES
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
            help="Threads. Default: all cores, or 1 per process or rank.",
        ),
    )

    def add(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def made(name: str, options: PoolOptions) -> AbstractContextManager[Pool]:
    """Return a context manager for the chosen pool.

    Raises
    ------
    UsageError
        If the options do not apply to the pool.
    """
    if options.scheduler is not None and name != "dask":
        raise click.UsageError("--scheduler needs --pool dask")
    if options.rows_in is not None and name not in ("dask", "mpi"):
        raise click.UsageError("--rows-in needs --pool dask or --pool mpi")
    if options.workers is not None:
        if name == "local":
            raise click.UsageError(
                "--workers needs --pool processes or --pool dask; use --threads with --pool local"
            )
        if name == "mpi":
            raise click.UsageError(
                "with --pool mpi, the number of ranks is set by mpiexec -n: leave --workers out"
            )
        if options.scheduler is not None:
            raise click.UsageError("the scheduler has its own workers: leave --workers out")
    from trajet.pools import shared

    shared.remove_leftovers()
    return _POOLS[name](options)


mpiexec_option = click.option(
    "--mpiexec",
    metavar="COMMAND",
    help='What starts ranks, where it is not mpiexec: "mpiexec --oversubscribe", "srun".',
)


def starting_ranks(given: str | None, ranks: int) -> list[str]:
    """Return the command that starts ranks: the given one, or the mpiexec beside this Python."""
    beside = Path(sys.executable).with_name("mpiexec")
    start = shlex.split(given) if given else [str(beside) if beside.exists() else "mpiexec"]
    return [*start, "-n", str(ranks)]
