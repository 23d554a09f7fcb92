"""`trajet bench`: how an analysis of a trajectory scales on this machine."""

import csv
import io
import math
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Literal

import click
import numpy as np

from trajet import advise, output
from trajet._trajet import WorkerError, available_threads
from trajet.cli import pools
from trajet.cli.command import Command, command
from trajet.cli.open_options import REMOTE, opening, remote_arguments
from trajet.cli.options import amount, in_files_order, path_to, whole_numbers
from trajet.cli.pools import Decorated
from trajet.cli.tables import lines_of
from trajet.cli.terminal import waiting
from trajet.report_entries import Entries
from trajet.result import Report, entries_of
from trajet.trajectory import OpenOptions

_COLUMNS = ("pool", "workers", "t_total", "sd", "t_io", "t_comp", "S", "E", "R_comp/IO")


def words(
    name: str, known: Sequence[str], default: str, help_: str
) -> Callable[[Decorated], Decorated]:
    """Return an option for known words with commas between them."""

    def split(_: click.Context, param: click.Parameter, text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        for word in found:
            if word not in known:
                raise click.BadParameter(f"{word!r} is none of {', '.join(known)}", param=param)
        return found

    return click.option(
        name, default=default, show_default=True, callback=split, metavar="A,B", help=help_
    )


def _powers_of_two() -> str:
    most = available_threads()
    return ",".join(str(2**k) for k in range(most.bit_length()) if 2**k <= most)


pools_option = words("--pools", pools.NAMES, "local", "Of " + ", ".join(pools.NAMES) + ".")
workers_option = click.option(
    "--workers",
    default=_powers_of_two,
    callback=whole_numbers,
    metavar="1,2,4",
    help="Numbers of workers: threads, processes, ranks. Default: powers of two up to the cores.",
)
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


@dataclass(frozen=True)
class _Point:
    """Runs of the analysis on a number of workers of a pool."""

    pool: str
    workers: int
    reports: Sequence[Report]

    @property
    def _entries(self) -> list[Entries]:
        return [entries_of(report) for report in self.reports]

    @property
    def seconds(self) -> list[float]:
        return [report["stages"]["t_total"] for report in self._entries]

    def average(self, stage: Literal["t_io", "t_comp"]) -> float:
        """Return the mean seconds of a worker in a stage."""
        return mean(report["averages"][stage] for report in self._entries)

    def line(self, alone: "_Point") -> tuple[str, ...]:
        """Return the cells of a line of the table, with the speed-up over one worker."""
        spread = stdev(self.seconds) if len(self.seconds) > 1 else math.nan
        speed_up = mean(alone.seconds) / mean(self.seconds)
        ratios = [advise.computing_to_input(report["stages"]) for report in self._entries]
        known = [ratio for ratio in ratios if ratio is not None]
        return (
            self.pool,
            str(self.workers),
            *(
                "" if math.isnan(number) else f"{number:.3g}"
                for number in (
                    mean(self.seconds),
                    spread,
                    self.average("t_io"),
                    self.average("t_comp"),
                    speed_up,
                    speed_up / self.workers,
                    mean(known) if known else math.nan,
                )
            ),
        )


class _Bench(Command):
    """The command `bench`, which hands over to `bench storage` if that is asked for.

    A topology has a suffix, so that none is called "storage".
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Return the context of the command that is asked for."""
        if args[:1] != ["storage"]:
            return super().make_context(info_name, args, parent, **extra)
        from trajet.cli.storage_bench import storage

        return storage.make_context(f"{info_name} storage", args[1:], parent, **extra)


@command(cls=_Bench)
@click.argument("topology", metavar="TOPOLOGY")
@click.argument(
    "trajectories", nargs=-1, required=True, metavar="TRAJECTORY...", callback=in_files_order
)
@click.option(
    "--select", default="name CA", show_default=True, metavar="SELECTION", help="Atoms of the RMSD."
)
@click.option("--frames", type=click.IntRange(1), metavar="N", help="First frames. Default: all.")
@pools_option
@workers_option
@amount("--repeats", 3, "Runs of each line that count; one before them does not.")
@mpiexec_option
@opening(*REMOTE)
@click.option(
    "-o", "--output", "table", callback=path_to((".csv",)), metavar="FILE", help="The table: .csv"
)
def bench(
    topology: str,
    trajectories: list[str],
    select: str,
    frames: int | None,
    pools: tuple[str, ...],
    workers: tuple[int, ...],
    repeats: int,
    mpiexec: str | None,
    how: OpenOptions,
    table: Path | None,
) -> None:
    """Measure how the RMSD scales over pools and workers.

    Each run is a `trajet rmsd` of its own, on files that were read before. S is the speed-up of
    t_total over one worker, which is always measured, and E = S / workers. R_comp/IO is the ratio
    of computing to reading and decoding: the smaller, the sooner storage bounds the run. Advice is
    on the fastest setup.

    `trajet bench storage PATH` measures a storage instead, and has a help of its own.

    \b
    Examples:
      trajet bench adk.psf adk.xtc --pools local,processes --workers 1,2,4
      trajet bench adk.psf adk.xtc --pools mpi --mpiexec srun -o scaling.csv
      trajet bench storage /scratch/me -o lustre.toml
    """
    arguments = [topology, *trajectories, "--select", select]
    arguments += [] if frames is None else ["--stop", str(frames)]
    arguments += remote_arguments(how)
    lines: list[tuple[str, ...]] = []
    points: list[_Point] = []
    values: bytes | None = None
    with output.folder_in(None) as folder:
        for pool in pools:
            for count in sorted({1, *workers}):
                with waiting(f"measuring {pool} with {count}"):
                    runs = [
                        _run(arguments, pool, count, mpiexec, folder / f"{repeat}")
                        for repeat in range(repeats + 1)
                    ]
                values = runs[0][1] if values is None else values
                if any(found != values for _, found in runs):
                    raise WorkerError(
                        f"the numbers of {pool} with {count} differ from others: please report this"
                    )
                points.append(_Point(pool, count, [report for report, _ in runs[1:]]))
                alone = next(point for point in points if point.pool == pool)
                lines.append(points[-1].line(alone))
    fastest = min(points, key=lambda point: mean(point.seconds))
    if table is not None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([_COLUMNS, *lines])
        with output.replacing_file(table) as own:
            own.write_text(text.getvalue())
    for line in lines_of([_COLUMNS, *lines]):
        click.echo(line)
    click.echo(f"fastest: {fastest.pool} with {fastest.workers}")
    for line in entries_of(fastest.reports[-1])["advice"]:
        click.echo(line)
    if table is not None:
        click.echo(table)


def _run(
    arguments: Sequence[str], pool: str, workers: int, mpiexec: str | None, stem: Path
) -> tuple[Report, bytes]:
    """Run `trajet rmsd` and return its report and the bytes of its values.

    Raises
    ------
    WorkerError
        If it fails; with its error message.
    """
    report, values = stem.with_suffix(".json"), stem.with_suffix(".npz")
    start = starting_ranks(mpiexec, workers) if pool == "mpi" else []
    number = ["--threads" if pool == "local" else "--workers", str(workers)]
    run = [*start, sys.executable, "-m", "trajet", "rmsd", *arguments, "--pool", pool, "--quiet"]
    run += ["--report", str(report), "-o", str(values), *([] if pool == "mpi" else number)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode or not values.exists():
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        # Messages of MPI on aborted ranks may follow that of the command.
        message = next((line for line in lines[::-1] if line.startswith("trajet: ")), lines[-1])
        raise WorkerError(f"{shlex.join(run[: len(start) + 4])} … failed: {message}")
    with np.load(values) as arrays:
        return Report.load(report), arrays["values"].tobytes()


COMMANDS = (bench,)
