"""Tables of benchmark runs: mean, standard deviation, speed-up, efficiency.

The wide table has the shape of table 5 in the draft of 2018 of Khoshlessan et al. 2020
(doi:10.1002/cpe.5789): a row per observable, two columns per number of workers.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import hypot, isnan, nan
from statistics import mean, stdev
from typing import Any, TypeAlias

from machine.child_process import Row
from machine.figures import Curve
from machine.setups import Setup

# Values of some columns.
Key: TypeAlias = tuple[Any, ...]
OBSERVABLES = ("t_open", "t_io", "t_comp", "t_comm", "t_wait", "t_N", "t_total")
SPEED_UP, EFFICIENCY = "S", "E"
# Parameters of a curve, whose points differ in the number of workers.
CURVE = tuple(f.name for f in fields(Setup) if f.name not in {"workers", "frames"})


@dataclass(frozen=True)
class Figure:
    """Mean over the repeats and standard deviation, which is NaN for one repeat."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        """Return mean and standard deviation of some values."""
        return cls(mean(values), stdev(values) if len(values) > 1 else nan)

    def over(self, other: "Figure") -> "Figure":
        """Return the ratio to an independent figure."""
        if other.mean == 0:
            return Figure(nan, nan)
        ratio = self.mean / other.mean
        relative = hypot(self.sd / self.mean, other.sd / other.mean) if self.mean else nan
        return Figure(ratio, ratio * relative)

    def times(self, factor: float) -> "Figure":
        """Return the figure multiplied by a factor."""
        return Figure(self.mean * factor, self.sd * factor)


@dataclass(frozen=True)
class Point:
    """Figures of a setup; `curve` are the values of the parameters `CURVE`."""

    curve: Key
    workers: int
    frames: int
    figures: Mapping[str, Figure]


def points(rows: Iterable[Row]) -> list[Point]:
    """Return a point for each setup.

    For strong scaling, S(N) = t(1) / t(N) and E(N) = S(N) / N of `t_total`; for weak scaling,
    E(N) = t(1) / t(N) and S(N) = N E(N). Both are NaN without t(1).
    """
    grouped: dict[tuple[Key, int, int], list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in CURVE), row["workers"], row["frames"]
        grouped.setdefault(key, []).append(row)
    found = []
    for (curve, workers, frames), runs in grouped.items():
        figures = {name: Figure.of([run[name] for run in runs]) for name in OBSERVABLES}
        found.append(Point(curve, workers, frames, figures))
    alone = {point.curve: point.figures["t_total"] for point in found if point.workers == 1}
    return [_with_scaling(point, alone.get(point.curve)) for point in found]


def _with_scaling(point: Point, alone: Figure | None) -> Point:
    ratio = Figure(nan, nan)
    if alone is not None and point.workers == 1:
        ratio = Figure(1.0, 0.0)
    elif alone is not None:
        ratio = alone.over(point.figures["t_total"])
    weak = dict(zip(CURVE, point.curve, strict=True))["scaling"] == "weak"
    n = point.workers
    speed_up, efficiency = (ratio.times(n), ratio) if weak else (ratio, ratio.times(1 / n))
    figures = {**point.figures, SPEED_UP: speed_up, EFFICIENCY: efficiency}
    return Point(point.curve, point.workers, point.frames, figures)


def ratios(found: Iterable[Point]) -> dict[Key, float]:
    """Return R_comp/IO of each curve: t_comp / t_io of the serial run."""
    serial = [point for point in found if point.workers == 1]
    return {p.curve: p.figures["t_comp"].over(p.figures["t_io"]).mean for p in serial}


def wide(found: Sequence[Point]) -> str:
    """Return the table as CSV, with mean and standard deviation per number of workers."""
    numbers = sorted({point.workers for point in found})
    columns = [name for n in numbers for name in (f"{n}", f"{n} sd")]
    r_comp_io = ratios(found)
    lines: list[list[object]] = [[*CURVE, "r_comp_io", "observable", *columns]]
    for curve in dict.fromkeys(point.curve for point in found):
        by_number = {point.workers: point.figures for point in found if point.curve == curve}
        for name in (*OBSERVABLES, SPEED_UP, EFFICIENCY):
            cells: list[object] = []
            for n in numbers:
                figure = by_number[n][name] if n in by_number else None
                cells += ["", ""] if figure is None else [_cell(figure.mean), _cell(figure.sd)]
            lines.append([*curve, _cell(r_comp_io.get(curve, nan)), name, *cells])
    return as_csv(lines)


def curves(found: Sequence[Point]) -> dict[tuple[str, str, str], list[Curve]]:
    """Return the curves to draw: a figure per task, scaling and cache, with a line per setup.

    Labels name the parameters that differ between the lines of a figure.
    """
    figures: dict[tuple[str, str, str], dict[Key, list[Point]]] = {}
    for point in sorted(found, key=lambda point: point.workers):
        setup = dict(zip(CURVE, point.curve, strict=True))
        key = task_of(setup), setup["scaling"], setup["cache"]
        figures.setdefault(key, {}).setdefault(point.curve, []).append(point)
    return {
        key: [_curve(line, list(lines)) for line in lines.values()]
        for key, lines in figures.items()
    }


def _curve(line: Sequence[Point], setups: Sequence[Key]) -> Curve:
    figures = {
        name: ([p.figures[name].mean for p in line], [p.figures[name].sd for p in line])
        for name in line[0].figures
    }
    words = [
        f"{value} rows" if name == "gathering" else str(value)
        for k, (name, value) in enumerate(zip(CURVE, line[0].curve, strict=True))
        if value and len({setup[k] for setup in setups} - {""}) > 1
    ]
    label = ", ".join(words) or dict(zip(CURVE, line[0].curve, strict=True))["pool"]
    return Curve(label, [p.workers for p in line], figures)


def task_of(setup: Row) -> str:
    """Return the name of a task with its load."""
    return setup["task"] if setup["load"] == 1 else f"{setup['task']} {setup['load']}x"


def long(rows: Sequence[Row]) -> str:
    """Return every run as CSV."""
    names = [name for name in rows[0] if name != "rates"]
    return as_csv([names, *([row[name] for name in names] for row in rows)])


def as_csv(lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _cell(number: float) -> str:
    return "" if isnan(number) else f"{number:.6g}"
