"""The model beside published runs: parameters fitted on some rows, residuals of the others.

Numbers in `papers.csv` are facts of

- Khoshlessan et al., draft of 2018, table 5: mean seconds of a rank for reading (io) and computing
  (comp) the trajectory of 2,512,200 frames of 3,341 atoms, 30 GB of XTC;
- Khoshlessan et al. 2020, doi:10.1002/cpe.5789, tables 4 (splitting the trajectory) and 6
  (computing repeated 40, 70 and 100 times).

Reading in the papers includes decompression of XTC, a request for each frame.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from trajet.advise import Cluster, Environment, Setup, Storage, Workload, predict

DATA = Path(__file__).with_name("papers.csv")
FRAMES = 2_512_200
FRAME_BYTES = 30e9 / FRAMES
CORES = {"Comet": 24, "Bridges": 28, "SuperMIC": 20}


@dataclass(frozen=True)
class Row:
    """A row of a table: a `stage` ("io", "comp", "total"), and its seconds by number of ranks."""

    source: str
    cluster: str
    calculation: str
    gather: str
    files: str
    stage: str
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Cluster, calculation, gathering, files and stage."""
        return f"{self.cluster}, {self.calculation}, {self.gather}, {self.files}, {self.stage}"

    @property
    def is_contended(self) -> bool:
        """Whether this is reading of one file by all ranks."""
        return self.files == "shared" and self.stage == "io"


def rows() -> list[Row]:
    """Return the rows of all tables."""
    found: dict[tuple[str, ...], Row] = {}
    with DATA.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            key = tuple(line[name] for name in list(line)[:6])
            row = found.setdefault(key, Row(*key))
            row.seconds[int(line["ranks"])] = float(line["seconds"])
    return list(found.values())


def modelled(row: Row, alone: float, ranks: int, crowding: float, exclusive: float) -> float:
    """Return the seconds that the model expects of a mean rank, by those of one rank `alone`."""
    work = Workload(FRAMES, 0.0, alone / FRAMES, 0.0, FRAME_BYTES, FRAME_BYTES)
    cluster = Cluster(cores_per_node=CORES[row.cluster], crowding=crowding)
    layout = "shared" if row.is_contended else "segments"
    storage = Storage(exclusive_seconds=exclusive if row.is_contended else 0.0)
    # Each rank of the papers had a block of frames.
    setup = Setup("mpi", layout, ranks, task_frames=math.ceil(FRAMES / ranks))
    found = predict(work, setup, Environment(storage, cluster))
    return found.parts["computing"] + found.parts["shared file"]


def columns(rows: Sequence[Row], only: int | None) -> Iterator[tuple[float, int, float]]:
    """Yield the seconds of one rank, numbers of ranks and seconds; `only` the first columns."""
    for row in rows:
        for ranks, seconds in list(row.seconds.items())[1 : None if only is None else 1 + only]:
            yield row.seconds[1], ranks, seconds


def fitted_crowding(rows: Sequence[Row], only: int | None = None) -> float:
    """Return the factor of full nodes: the median over rows without contention."""
    factors = [seconds * ranks / alone for alone, ranks, seconds in columns(rows, only)]
    return median(factors) if factors else 1.0


def fitted_exclusive(rows: Sequence[Row], crowding: float, only: int | None = None) -> float:
    """Return the seconds for which a request to a shared file excludes others: the median."""
    left = [
        (seconds - crowding * alone / ranks) / FRAMES
        for alone, ranks, seconds in columns(rows, only)
    ]
    return max(0.0, median(left)) if left else 0.0


@dataclass(frozen=True)
class Residual:
    """A held-out number beside the model's and t₁/N."""

    row: Row
    ranks: int
    measured: float
    model: float
    plain: float

    @property
    def errors(self) -> tuple[float, float]:
        """Relative errors of the model and of t₁/N."""
        return self.model / self.measured - 1, self.plain / self.measured - 1


def from_one_node(table: Sequence[Row]) -> Iterator[Residual]:
    """Fit each row on one rank and on its first number of ranks; yield the other columns.

    That is what a user has who ran once on one node. Where all ranks read one file the factor of
    full nodes is that of the rows of the cluster that do not.
    """
    for row in table:
        _, *others = list(row.seconds)[1:]
        crowding, exclusive = fitted_crowding([row], 1), 0.0
        if row.is_contended:
            same = [each for each in table if (each.cluster, each.stage) == (row.cluster, "io")]
            free = [each for each in same if not each.is_contended]
            crowding = fitted_crowding(free, 1)
            exclusive = fitted_exclusive([row], crowding, 1)
        for ranks in others:
            model = modelled(row, row.seconds[1], ranks, crowding, exclusive)
            yield Residual(row, ranks, row.seconds[ranks], model, row.seconds[1] / ranks)


def from_other_rows(table: Sequence[Row]) -> Iterator[Residual]:
    """Fit each cluster on all rows but one; yield that row."""
    for row in table:
        others = [each for each in table if each.cluster == row.cluster and each is not row]
        crowding = fitted_crowding([each for each in others if not each.is_contended])
        exclusive = fitted_exclusive([each for each in others if each.is_contended], crowding)
        for ranks in list(row.seconds)[1:]:
            model = modelled(row, row.seconds[1], ranks, crowding, exclusive)
            yield Residual(row, ranks, row.seconds[ranks], model, row.seconds[1] / ranks)


def table_of(residuals: Sequence[Residual]) -> list[str]:
    """Return a table of residuals, a line for each row of the papers."""
    lines = ["| row | ranks: measured, model, t₁/N (error %) |", "|---|---|"]
    by_row: dict[str, list[Residual]] = {}
    for each in residuals:
        by_row.setdefault(each.row.name, []).append(each)
    for name, found in by_row.items():
        cells = [
            f"{one.ranks}: {one.measured:g}, {one.model:.3g} ({100 * one.errors[0]:+.0f}),"
            f" {one.plain:.3g} ({100 * one.errors[1]:+.0f})"
            for one in found
        ]
        lines.append(f"| {name} | {'; '.join(cells)} |")
    return lines


def summary(what: str, residuals: Sequence[Residual]) -> str:
    """Return a line with the median errors of the model and of t₁/N."""
    model, plain = (median(abs(one.errors[k]) for one in residuals) for k in (0, 1))
    worst = max(abs(one.errors[0]) for one in residuals)
    return (
        f"{what}: {len(residuals)} numbers, median error {100 * model:.1f} % (t₁/N:"
        f" {100 * plain:.1f} %), largest {100 * worst:.0f} %."
    )


def repaired(table: Sequence[Row]) -> list[Row]:
    """Return the rows with what looks like misprints corrected: exchanged rows, 1,005 s."""
    changed = []
    for row in table:
        seconds = dict(row.seconds)
        if (row.cluster, row.files) == ("SuperMIC", "hdf5"):
            both = [each for each in table if (each.cluster, each.files) == ("SuperMIC", "hdf5")]
            (other,) = (each for each in both if each.stage != row.stage)
            seconds = {1: seconds[1], **{n: t for n, t in other.seconds.items() if n > 1}}
        if (row.calculation, row.stage) == ("dihedrals", "io"):
            seconds[1] = 0.4e-3 * FRAMES
        changed.append(replace(row, seconds=seconds))
    return changed


def other_tables(table: Sequence[Row]) -> list[str]:
    """Return lines on tables 4 and 6 of 2020, and on numbers of the texts."""
    lines = ["| number | fitted on | measured | model | error % |", "|---|---|---|---|---|"]
    splitting = next(row for row in table if row.source.startswith("table 4")).seconds
    first, second = 24, 48
    part = (splitting[first] - splitting[second]) / (1 / first - 1 / second)
    rest = splitting[first] - part / first
    for ranks in list(splitting)[2:]:
        lines.append(
            _line(f"table 4, {ranks} ranks", "24, 48", splitting[ranks], part / ranks + rest)
        )
    loads = {
        int(row.calculation.split()[1][:-1]): row.seconds[1]
        for row in table
        if row.source.startswith("table 6")
    }
    each = (loads[40] - loads[1]) / 39
    for load in (70, 100):
        lines.append(
            _line(f"table 6, {load}x", "1x, 40x", loads[load], loads[1] + each * (load - 1))
        )
    return [*lines, *_texts(table)]


def _texts(table: Sequence[Row]) -> Iterator[str]:
    """Yield lines on numbers of the texts that follow from table 5."""
    hdf5 = {row.stage: row for row in table if (row.cluster, row.files) == ("Comet", "hdf5")}
    crowding = {stage: fitted_crowding([row], 1) for stage, row in hdf5.items()}
    total = {
        ranks: sum(
            modelled(row, row.seconds[1], ranks, crowding[stage], 0) for stage, row in hdf5.items()
        )
        for ranks in (192, 384)
    }
    alone = sum(row.seconds[1] for row in hdf5.values())
    yield _line("text: HDF5, 384 ranks, almost 300 times as fast", "1, 24", 300, alone / total[384])
    yield _line("text: HDF5, 384 ranks, 2.3 s", "1, 24", 2.3, total[384])
    yield _line(
        "text: HDF5, 192 ranks, efficiency above 0.8", "1, 24", 0.8, alone / total[192] / 192
    )


def _line(what: str, on: str, measured: float, model: float) -> str:
    return f"| {what} | {on} | {measured:g} | {model:.3g} | {100 * (model / measured - 1):+.0f} |"


def report() -> list[str]:
    """Return all tables and summaries as lines."""
    everything = rows()
    table = [row for row in everything if row.source.startswith("table 5")]
    lines: list[str] = []
    found: Mapping[str, Sequence[Row]] = {
        "as printed": table,
        "with the likely misprints corrected": repaired(table),
    }
    ways = {"fitted on one node": from_one_node, "fitted on the other rows": from_other_rows}
    for way, residuals_of in ways.items():
        for state, these in found.items():
            residuals = list(residuals_of(these))
            shared = [one for one in residuals if one.row.is_contended]
            others = [one for one in residuals if not one.row.is_contended]
            lines.append(summary(f"Table 5 {state}, {way}, all rows", residuals))
            lines.append(summary(f"Table 5 {state}, {way}, reading of a shared file", shared))
            lines.append(summary(f"Table 5 {state}, {way}, all others", others))
    lines.append("")
    for way, residuals_of in ways.items():
        lines += [f"Held out, {way}, as printed:", "", *table_of(list(residuals_of(table))), ""]
    shared_rows = [row for row in repaired(table) if row.is_contended]
    corrected = [one for one in from_one_node(repaired(table)) if one.row in shared_rows]
    lines += ["Reading of a shared file, fitted on one node, corrected:", "", *table_of(corrected)]
    return [*lines, "", *other_tables(everything)]
