"""`benches/machine store`: loads the protein of a membrane system from files and stores."""

from pathlib import Path

import click
from trajet.cli.bench import words
from trajet.cli.command import command
from trajet.cli.options import amount, whole_numbers

from machine import figures, setups, store_cases, store_loaders, store_table
from machine.child_process import Row
from machine.commands import bench, into_folder, repeated, save, save_figure
from machine.store_bench import Bench

# The paper's figures 7a to 7c: file, column, label, and factor to the unit of the label.
_FIGURES = (
    ("retrieval", "t_retrieval", "raw data retrieval time (s)", 1.0),
    ("turnaround", "t_turnaround", "turnaround time without drawing (s)", 1.0),
    ("turnaround-drawn", "t_turnaround_drawn", "turnaround time, all frames drawn (s)", 1.0),
    ("memory", "peak_memory", "peak memory (MiB)", 2.0**-20),
)


@command()
@click.option(
    "--frames",
    default="626,1251,5006",
    show_default=True,
    callback=whole_numbers,
    metavar="N,N",
    help="Sizes, in frames; the default is table 1 of Deng et al. (2021).",
)
@words("--storages", store_cases.STORAGES, ",".join(store_cases.STORAGES), "Files and stores.")
@words(
    "--tools",
    store_cases.TOOLS,
    ",".join(store_cases.TOOLS),
    "Programs to measure; only trajet reads stores.",
)
@click.option(
    "--cache",
    type=click.Choice(setups.CACHES),
    default="warm",
    show_default=True,
    help="cold: the files' pages are dropped before each run.",
)
@amount("--draw", 100, "Number of frames to draw; the time of all is extrapolated.", least=0)
@amount(
    "--memory-limit",
    512,
    "Find how many frames of the largest size fit into this memory; see docs/benchmarks.md.",
    metavar="MIB",
)
@repeated(3)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder of the system, which is created once. Default: data in the output's folder.",
)
@into_folder
def store(
    frames: tuple[int, ...],
    storages: tuple[str, ...],
    tools: tuple[str, ...],
    cache: str,
    draw: int,
    memory_limit: int,
    repeats: int,
    data: Path | None,
    folder: Path,
) -> None:
    """Load the protein of a membrane system, from files and stores.

    The system is synthetic: 43,400 atoms, 45 % of them protein, 160 kB of XTC per frame. 5,006
    frames take 0.8 GB in the folder, and 3 GB more while the command runs. After Deng et al. 2021
    (doi:10.1145/3472456.3473509).

    \b
    Examples:
      benches/machine store -o store
      benches/machine store --frames 626 --tools trajet,MDAnalysis --repeats 1 -o store
    """
    for tool in [tool for tool in tools if store_loaders.missing(tool)]:
        click.echo(f"{tool} is not installed and left out: pip install 'trajet[bench]'", err=True)
    present = [tool for tool in tools if not store_loaders.missing(tool)]
    if store_cases.HDF5 in storages and store_loaders.missing("h5py"):
        click.echo(
            f"{store_cases.HDF5} is left out: h5py is missing: pip install 'trajet[bench]'",
            err=True,
        )
        storages = tuple(storage for storage in storages if storage != store_cases.HDF5)
    if not list(store_cases.cases(storages, present)):
        raise click.UsageError(
            "none of the tools reads any of the storages: only trajet reads stores"
        )
    data = data or folder / "data"
    for place in (folder, data):
        place.mkdir(parents=True, exist_ok=True)
    runs: list[Row] = []
    lines: list[Row] = []
    for size in sorted(set(frames)):
        limit = memory_limit * 2**20 if size == max(frames) else None
        bench = Bench(data, size, repeats, cache == "cold", draw, limit)
        own: list[Row] = []
        click.echo(store_table.head(size))
        for found in bench.rows(storages, present):
            runs += found
            own.append(store_table.best(found))
            store_table.check(found, own[0])
            click.echo(store_table.line(own[-1]))
        for sentence in store_table.verdict(own):
            click.echo(sentence)
        lines += own
    save(folder / "runs.csv", store_table.written(runs))
    save(folder / "table.csv", store_table.written(lines))
    for name, quantity, label, factor in _FIGURES:
        curves = store_table.curves(lines, quantity, factor)
        if curves:
            title = f"membrane system, {cache} cache, best of {repeats}"
            figure = figures.against_frames(curves, quantity=label, title=title)
            save_figure(folder / f"{name}.png", figure)


bench.add_command(store)

__all__ = ["bench"]
