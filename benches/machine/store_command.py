"""`benches/machine store`: loads the proteins of a large system from files and stores."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import click
from trajet._trajet import AnalysisError
from trajet.cli.command import command
from trajet.cli.options import amount, whole_numbers, words

from machine import figures, setups, store_run
from machine.child_process import Row
from machine.commands import into_folder, repeated, save, save_figure
from machine.figures import FrameCurve
from machine.store_bench import Bench
from machine.store_run import CHECK, STORE, Case, missing
from machine.table import long

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
@words("--storages", store_run.STORAGES, ",".join(store_run.STORAGES), "Files and stores.")
@words("--tools", store_run.TOOLS, ",".join(store_run.TOOLS), "Only trajet reads stores.")
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
    "Find how many frames of the largest size fit into this memory; see docs/scaling.md.",
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
    """Load the proteins of a large system, from files and stores.

    Six proteins in water: 43,398 atoms, 46 % of them protein, 162 kB of XTC per frame. 5,006 frames
    take 0.8 GB in the folder, and 3 GB more while the command runs. After Deng et al. 2021
    (doi:10.1145/3472456.3473509).

    \b
    Examples:
      benches/machine store -o store
      benches/machine store --frames 626 --tools trajet,MDAnalysis --repeats 1 -o store
    """
    needed = {**{tool: tool for tool in tools}, store_run.HDF5: "h5py"}
    out = {name for name, package in needed.items() if missing(package)}
    for name in sorted(out & {*tools, *storages}):
        click.echo(f"{name} is left out: pip install --group bench", err=True)
    present = [tool for tool in tools if tool not in out]
    storages = tuple(storage for storage in storages if storage not in out)
    if not list(store_run.cases(storages, present)):
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
        click.echo(head(size))
        for found in bench.rows(storages, present):
            runs += found
            own.append(best(found))
            check(found, own[0])
            click.echo(line(own[-1]))
        lines += own
    save(folder / "runs.csv", written(runs))
    save(folder / "table.csv", written(lines))
    for name, quantity, label, factor in _FIGURES:
        if drawn := curves(lines, quantity, factor):
            title = f"{cache} cache, best of {repeats}"
            figure = figures.against_frames(drawn, quantity=label, title=title)
            save_figure(folder / f"{name}.png", figure)


# Largest difference of positions, Å: mdtraj's nm times 10 have other bits than Å.
_EQUAL = 1e-3


def case_of(row: Row) -> Case:
    """Return the case of a row."""
    return Case(storage=row["storage"], tool=row["tool"], atoms=row["atoms"])


def check(rows: Sequence[Row], first: Row) -> None:
    """Raise an `AnalysisError` if rows have read other positions than the first of this size."""
    for row in rows:
        apart = max(abs(a - b) for a, b in zip(row[CHECK], first[CHECK], strict=True))
        if row["frames"] != first["frames"] or not apart <= _EQUAL:
            raise AnalysisError(
                f"{case_of(row).label}: read {row['frames']} frames whose protein is {apart:.3g} Å"
                f" from that of {case_of(first).label} ({first['frames']} frames)"
            )


def written(rows: Sequence[Row]) -> str:
    """Return rows as CSV."""
    return long([{name: row[name] for name in row if name != CHECK} for row in rows])


def best(rows: Sequence[Row]) -> Row:
    """Return the repeat with the shortest turnaround; its `t_retrieval` is the shortest of all."""
    quickest = min(rows, key=lambda row: row["t_turnaround"])
    row = {**quickest, "t_retrieval": min(row["t_retrieval"] for row in rows)}
    drawing = row["t_draw"] / row["drawn"] * row["frames"] if row["drawn"] else None
    row["t_turnaround_drawn"] = None if drawing is None else row["t_turnaround"] + drawing
    return row


def head(n_frames: int) -> str:
    """Return the header of the table of one size."""
    names = ("turnaround", "drawn", "retrieval", "CPU", "energy", "peak", "read", "fits")
    units = ("s", "s", "s", "s", "J", "MiB", "MB", "frames")
    return _line("", names) + "\n" + _line(f"{n_frames:,} frames", units)


def line(row: Row) -> str:
    """Return a case as a line for a terminal."""
    reached = row["frames_reached"]
    numbers = (
        *(row["t_turnaround"], row["t_turnaround_drawn"], row["t_retrieval"]),
        *(row["cpu"], row["energy"], row["peak_memory"] / 2**20, row["bytes_read"] / 1e6),
    )
    cells = [*map(_cell, numbers), "" if reached is None else f"{reached:,}"]
    return _line(case_of(row).label, cells)


def curves(rows: Sequence[Row], quantity: str, factor: float) -> list[FrameCurve]:
    """Return the curve of a quantity against the number of frames for each case.

    The retrieval does not depend on the tool, and has one curve per set of files.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        case = case_of(row)
        kind = f"{case.tool}, {case.atoms}"
        if quantity == "t_retrieval":
            kind = case.atoms if case.storage in STORE else ""
        if (value := row[quantity]) is not None:
            curve = found.setdefault((case.storage, kind), {})
            curve[row["frames"]] = min(curve.get(row["frames"], inf), value * factor)
    return [
        FrameCurve(", ".join(filter(None, key)), *key, list(curve), list(curve.values()))
        for key, curve in found.items()
    ]


def _line(label: str, cells: Sequence[str]) -> str:
    return f"{label:<32}" + "".join(f"{cell:>11}" for cell in cells)


def _cell(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
