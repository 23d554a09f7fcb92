"""Commands that measure this machine: `benches/machine scaling | load | scheduler | store`."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from trajet import h5md, output
from trajet._trajet import available_threads
from trajet.cli.bench import pools_option, workers_option
from trajet.cli.command import Group
from trajet.cli.options import amount, whole_numbers, words
from trajet.cli.pools import Decorated, mpiexec_option
from trajet.output import folder_in

from machine import figures, setups, table
from machine.child_process import Row
from machine.files import Files, write_empty
from machine.run import SetupRun, check_same, measured
from machine.setups import EMPTY, MEMORY, MPIO, Axes, Setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Of the papers.
_CORE = "(resid 1:29 or resid 60:121 or resid 160:214) and name CA"
_LOADS = "1,40,70,100"
_topology = click.argument("topology", metavar="TOPOLOGY")
_trajectories = click.argument("trajectories", nargs=-1, required=True, metavar="TRAJECTORY...")
_frames = amount(
    "--frames", 10_000, "Frames, those of TRAJECTORY again and again; weak: of each worker."
)
_select = click.option(
    "--select", default=_CORE, show_default=True, metavar="SELECTION", help="Atoms of the RMSD."
)
_scratch = click.option(
    "--scratch",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where trajectories are made: the storage to be measured. Default: the output's folder.",
)
into_folder = click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder for runs.csv, table.csv and figures.",
)


def repeated(count: int) -> Callable[[Decorated], Decorated]:
    """Return the option of repeats."""
    return amount("--repeats", count, "Runs of each line that count; one before them does not.")


@click.group(cls=Group)
def bench() -> None:
    """Measure how analyses scale here, and what a store saves.

    Made after Khoshlessan et al. 2017 and 2020 (doi:10.25080/shinma-7f4c6e7-00a, 10.1002/cpe.5789),
    and Deng et al. 2021 (doi:10.1145/3472456.3473509).

    \b
    Examples:
      benches/machine scaling adk.psf adk.xtc --pools local,mpi --workers 1,2,4 -o scaling
    """


@bench.command()
@_topology
@_trajectories
@_frames
@_select
@words("--tasks", setups.TASKS, "rmsd", "RMSD; cosines and sines of φ and ψ.")
@words("--formats", setups.FORMATS, "xtc", "Of " + ", ".join(setups.FORMATS) + ".")
@words(
    "--access",
    setups.ACCESSES,
    "shared",
    "One shared file; segments: a file for each worker; chain: many files; mpio, mpio-collective:"
    " one HDF5 file that ranks read through MPI-IO.",
)
@amount("--files", 64, "Files of a chain.")
@words("--gathering", setups.GATHERINGS, "shared", "Of MPI's ranks: shared, collective, one-sided.")
@pools_option
@workers_option
@words("--scaling", setups.SCALINGS, "strong", "strong: all share the frames; weak: each has them.")
@words("--cache", setups.CACHES, "warm", "cold: the files' pages are dropped before each run.")
@repeated(5)
@mpiexec_option
@_scratch
@into_folder
def scaling(
    topology: str,
    trajectories: tuple[str, ...],
    select: str,
    files: int,
    repeats: int,
    mpiexec: str | None,
    scratch: Path | None,
    folder: Path,
    **axes: Any,
) -> None:
    """Vary task, file, pool and number of workers, every combination.

    Trajectories are made of the frames of TRAJECTORY. runs.csv has every run; table.csv their means
    and standard deviations, an observable a line, and the speed-up S and efficiency E by t_total.

    \b
    Examples:
      benches/machine scaling adk.psf adk.xtc --pools local,mpi --workers 1,2,4 -o scaling
      benches/machine scaling adk.psf adk.xtc --tasks rmsd,dihedrals --formats xtc,h5md \\
          --access shared,segments --cache cold --scaling strong,weak -o scaling
    """
    if through := [word for word in axes["access"] if word in MPIO]:
        option = f"--access {','.join(through)}"
        if "h5md" not in axes["formats"] or "mpi" not in axes["pools"]:
            raise click.UsageError(f"{option} is HDF5 on ranks: --formats h5md --pools mpi")
        h5md.parallel_h5py(option)
    folder.mkdir(parents=True, exist_ok=True)
    with Files(topology, trajectories, select, files, scratch or folder) as made:
        rows = _measure(Axes(**axes).setups(), made, repeats, mpiexec)
    _write(folder, rows)


@bench.command()
@_topology
@_trajectories
@_frames
@_select
@click.option(
    "--loads",
    default=_LOADS,
    show_default=True,
    callback=whole_numbers,
    metavar="1,40",
    help="Numbers of RMSDs of each frame.",
)
@pools_option
@workers_option
@repeated(5)
@mpiexec_option
@_scratch
@into_folder
def load(
    topology: str,
    trajectories: tuple[str, ...],
    select: str,
    repeats: int,
    mpiexec: str | None,
    scratch: Path | None,
    folder: Path,
    **axes: Any,
) -> None:
    """Compute the RMSD of each frame many times over.

    As one superposition and RMSD, then the RMSD of as many groups of the same atoms after it. From
    memory: of the wanted atoms alone, as DCD in /dev/shm, so that there is next to nothing to read.

    \b
    Examples:
      benches/machine load adk.psf adk.xtc --pools local,mpi --workers 1,2,4 -o load
    """
    from_file = Axes(**axes)
    from_memory = replace(from_file, formats=("dcd",), access=(MEMORY,))
    both = [*from_file.setups(), *from_memory.setups()]
    folder.mkdir(parents=True, exist_ok=True)
    with Files(topology, trajectories, select, 1, scratch or folder) as made:
        rows = _measure(both, made, repeats, mpiexec)
    _write(folder, rows)


@bench.command()
@amount("--tasks", 100_000, "Tasks of a run.")
@words("--pools", setups.POOLS, ",".join(setups.POOLS), "Of " + ", ".join(setups.POOLS) + ".")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=available_threads,
    metavar="N",
    help="Workers, or threads of one. Default: the cores.",
)
@click.option("--alone", is_flag=True, help="Send each task in its own message, as long ones are.")
@repeated(10)
@mpiexec_option
@into_folder
def scheduler(
    tasks: int,
    pools: tuple[str, ...],
    workers: int,
    alone: bool,
    repeats: int,
    mpiexec: str | None,
    folder: Path,
) -> None:
    """Count how many tasks each pool hands out in a second.

    Nothing is done in them. One worker with many threads against many workers of one thread. A task
    reads one frame of 192 kB, from the page cache.

    \b
    Examples:
      benches/machine scheduler -o scheduler
      benches/machine scheduler --tasks 10000 --pools dask,mpi --workers 16 --repeats 3 -o scheduler
    """
    common = {"task": EMPTY, "format": "dcd", "access": "shared", "frames": tasks}
    chosen = [
        Setup(**common, pool=pool, workers=size, threads=threads, gathering=rows)  # type: ignore[arg-type]
        for pool, rows in ((pool, "shared" if pool == "mpi" else "") for pool in pools)
        for size, threads in sorted({(1, workers), (workers, 1)})
        # A local pool has threads only.
        if pool != "local" or size == 1
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with folder_in(folder) as place:
        file = place / "empty.dcd"
        write_empty(file)
        rows = []
        for setup in chosen:
            rows += _run(SetupRun(setup, [str(file)], [], repeats, alone), mpiexec)
    save(folder / "runs.csv", table.long(rows))
    names = ("pool", "workers", "threads", "repeat", "time", "tasks_per_second")
    lines = [[*(row[name] for name in names[:4]), *point] for row in rows for point in row["rates"]]
    save(folder / "rates.csv", table.as_csv([names, *lines]))
    curves: dict[str, dict[str, list[NDArray[np.float64]]]] = {}
    for row in rows:
        label = f"{row['workers']} × {row['threads']} thread{'s' * (row['threads'] > 1)}"
        curves.setdefault(row["pool"], {}).setdefault(label, []).append(np.array(row["rates"]))
    title = f"{tasks:,} empty tasks: mean of {repeats}, one standard deviation on both sides"
    save_figure(folder / "throughput.png", figures.throughput(curves, title=title))


def _measure(chosen: Iterable[Setup], made: Files, repeats: int, mpiexec: str | None) -> list[Row]:
    rows: list[Row] = []
    for setup in chosen:
        files = [str(path) for path in made.of(setup)]
        rows += _run(SetupRun(setup, files, made.atoms_of(setup).tolist(), repeats), mpiexec)
        check_same(rows)
    return rows


def _run(job: SetupRun, mpiexec: str | None) -> list[Row]:
    """Measure a setup and print the mean time."""
    rows = measured(job, mpiexec)
    total = table.Figure.of([row["t_total"] for row in rows])
    s, task = job.setup, table.task_of(rows[0])
    words = f"{task} {s.format} {s.access} {s.pool} {s.gathering} {s.workers} x {s.threads}"
    sd = "" if len(rows) == 1 else f" ± {total.sd:.2g}"
    each = f", {1e6 * total.mean / s.frames:.1f} µs a task" if s.task == EMPTY else ""
    click.echo(f"{' '.join(words.split())} {s.scaling} {s.cache}: {total.mean:.4g}{sd} s{each}")
    return rows


def _write(folder: Path, rows: list[Row]) -> None:
    """Write tables and figures."""
    save(folder / "runs.csv", table.long(rows))
    found = table.points(rows)
    save(folder / "table.csv", table.wide(found))
    frames = min(point.frames for point in found)
    for (task, scaling, cache), curves in table.curves(found).items():
        title = f"{task}, {scaling} scaling, {cache} cache, {frames:,} frames on one worker"
        figure = figures.scaling(curves, title=title, weak=scaling == "weak")
        save_figure(folder / f"{task.replace(' ', '-')}-{scaling}-{cache}.png", figure)


def save(path: Path, text: str) -> None:
    """Write a table and say where."""
    with output.replacing_file(path) as own:
        own.write_text(text)
    click.echo(path)


def save_figure(path: Path, figure: "Figure") -> None:
    """Write a figure and say where."""
    output.write(path, lambda file: figure.savefig(file, format="png"))
    click.echo(path)
