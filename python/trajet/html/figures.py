"""Figures of a report as SVG that scales with the window; their labels are HTML and do not scale.

The stacked bars follow figure 2d of Khoshlessan et al. 2020. The task stream follows figure 7 of
Khoshlessan et al. 2017, with time along x.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from statistics import median

from trajet import advise
from trajet.advise.entries import Entries, Lane, StageName, TaskEntry
from trajet.html.style import STAGE_COLOURS

# The width of a figure in its own units.
WIDTH = 1000.0
_NAME_HEIGHT = 16
# Neighbouring tasks of a lane that are narrower than this are drawn as one.
_NARROWEST = 0.7
# With more tasks than this, tasks have no tooltips.
_MOST_WORDS = 1000
_MOST_COLUMNS = 16
_MOST_RANGES = 9
_MOST_TICKS = 8
_TASK_STAGES: tuple[StageName, ...] = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")


def bars(report: Entries) -> str:
    """Return the stages of each worker as stacked bars."""
    workers = report["workers"]
    slow = {(entry["worker"], entry["thread"]) for entry in report["stragglers"]}
    end = max([report["stages"]["t_total"], *(worker["t_total"] for worker in workers)])
    scale = WIDTH / end if end > 0 else 0.0
    height = _row_height(len(workers))
    paths = {stage: _Boxes() for stage in STAGE_COLOURS}
    hovers = []
    for row, worker in enumerate(workers):
        x, top = 0.0, row * height
        for stage in STAGE_COLOURS:
            wide = worker[stage] * scale
            paths[stage].add(x, top, wide, _thick(height))
            x += wide
        stages = (f"{stage} {worker[stage]:.4g} s" for stage in STAGE_COLOURS if worker[stage] > 0)
        total = f"t_total {worker['t_total']:.4g} s"
        words = f"{advise.name_of(report, worker)}: {', '.join((*stages, total))}"
        hovers.append(_hover(0, row * height, WIDTH, height, words))
    marks = ""
    if len(workers) > 1:
        limit = advise.OVER_MEDIAN * median(advise.busy(worker) for worker in workers) * scale
        if limit < WIDTH:
            marks = _line("limit", limit, len(workers) * height)
    names = [
        (advise.name_of(report, worker), (worker["worker"], worker["thread"]) in slow)
        for worker in workers
    ]
    return _chart(names, height, end, [*_stages(paths), marks, *hovers])


def stream(report: Entries) -> str:
    """Return the tasks of each worker as bars over the time of the run."""
    tasks = report["tasks"]
    lanes = lanes_of(report)
    end = max([report["stages"]["t_total"], *(task["t_end"] for task in tasks)])
    scale = WIDTH / end if end > 0 else 0.0
    height = _row_height(len(lanes))
    thick = _thick(height)
    tops = {lane: row * height for row, lane in enumerate(lanes)}
    paths = {stage: _Boxes() for stage in STAGE_COLOURS}
    lying, begins, slow = _Boxes(), _Boxes(), _Boxes()
    for top in tops.values():
        lying.add(0, top, WIDTH, thick)
    drawn = list(_drawn(tasks, lanes, _NARROWEST / scale if scale > 0 else math.inf))
    for lane, begin, until, stages in drawn:
        # The threads of a task may sum up to more seconds than the task lasted.
        longest = max(until - begin, sum(stages.values()))
        part = (until - begin) / longest * scale if longest > 0 else 0.0
        x = begin * scale
        for stage, seconds in stages.items():
            paths[stage].add(x, tops[lane], seconds * part, thick)
            x += seconds * part
        paths["t_overhead"].add(x, tops[lane], until * scale - x, thick)
        if len(drawn) <= _MOST_WORDS:
            begins.line(begin * scale, tops[lane], thick)
    found = {(e["pass"], e["task"], e["worker"]) for e in report["stragglers"] if "task" in e}
    hovers = []
    for task in tasks:
        x, wide = task["t_begin"] * scale, (task["t_end"] - task["t_begin"]) * scale
        top = tops[_lane(task)]
        if (task["pass"], task["task"], task["worker"]) in found:
            slow.add(x, top, wide, thick)
        if len(tasks) <= _MOST_WORDS:
            took = task["t_end"] - task["t_begin"]
            words = (
                f"task {task['task']}: {task['frames']} frames from {task['first']}, {took:.4g} s"
            )
            hovers.append(_hover(x, top, wide, height, words))
    workers = {(entry["worker"], entry["thread"]) for entry in report["stragglers"]}
    workers |= {(entry["worker"], None) for entry in report["stragglers"]}
    names = [(name, lane in workers) for lane, name in lanes.items()]
    shapes = [lying.path("lane"), *_stages(paths), begins.path("begin"), slow.path("slow"), *hovers]
    return _chart(names, height, end, shapes)


def histogram(report: Entries) -> str:
    """Return a histogram of tasks per worker, as in table 1 of the paper of 2017."""
    tasks = Counter(_lane(task) for task in report["tasks"])
    counts = [tasks[lane] for lane in lanes_of(report)]
    low, high = min(counts), max(counts)
    wide = high - low + 1
    step = 1 if wide <= _MOST_COLUMNS else math.ceil(wide / _MOST_RANGES)
    columns = []
    bins = Counter((count - low) // step for count in counts)
    most = max(bins.values())
    for k in range((high - low) // step + 1):
        begin = low + k * step
        label = str(begin) if step == 1 else f"{begin}–{begin + step - 1}"
        tall = 100 * bins[k] / most
        bar = f'<i style="height:{tall:.4g}%"></i>' if bins[k] else ""
        columns.append(f"<div>{bins[k] or ''}{bar}<span>{label}</span></div>")
    return f'<div class="columns">{"".join(columns)}</div>'


def legend(report: Entries) -> str:
    """Return the colours of the stages that took any time."""
    seen = [
        stage for stage in STAGE_COLOURS if any(worker[stage] > 0 for worker in report["workers"])
    ]
    return '<div class="legend">{}</div>'.format(
        "".join(
            f'<span><i style="background:{STAGE_COLOURS[stage]}"></i>{stage}</span>'
            for stage in seen
        )
    )


def lanes_of(report: Entries) -> dict[Lane, str]:
    """Return the lanes of the task stream with their names.

    A lane is a worker, or a thread if threads do tasks of their own.
    """
    apart = any(task["thread"] is not None for task in report["tasks"])
    lanes: dict[Lane, str] = {}
    for worker in report["workers"]:
        lane = (worker["worker"], worker["thread"] if apart else None)
        lanes.setdefault(
            lane, advise.name_of(report, worker if apart else {**worker, "thread": None})
        )
    for task in report["tasks"]:
        lanes.setdefault(_lane(task), advise.name_of(report, task))
    return lanes


def _drawn(
    tasks: Sequence[TaskEntry], lanes: Iterable[Lane], narrowest: float
) -> Iterator[tuple[Lane, float, float, dict[StageName, float]]]:
    """Yield lane, begin, end and stages of each bar; narrow neighbouring tasks share one."""
    of_lane: dict[Lane, list[TaskEntry]] = {lane: [] for lane in lanes}
    for task in tasks:
        of_lane[_lane(task)].append(task)
    for lane, here in of_lane.items():
        begin = end = 0.0
        stages: dict[StageName, float] = {}
        for task in sorted(here, key=lambda task: float(task["t_begin"])):
            if stages and (end - begin > narrowest or task["t_begin"] - end > narrowest):
                yield lane, begin, end, stages
                stages = {}
            if not stages:
                begin = end = task["t_begin"]
                stages = dict.fromkeys(_TASK_STAGES, 0.0)
            end = max(end, task["t_end"])
            for stage in _TASK_STAGES:
                stages[stage] += task.get(stage, 0.0)
        if stages:
            yield lane, begin, end, stages


def _lane(task: TaskEntry) -> Lane:
    return task["worker"], task["thread"]


def _row_height(rows: int) -> int:
    """Return the height of a row in pixels."""
    for most, height in ((12, 26), (40, 18), (100, 8)):
        if rows <= most:
            return height
    return 4


def _thick(height: int) -> float:
    """Return the height of a bar in a row; in low rows a bar fills the row."""
    return 0.85 * height if height > 8 else height


class _Boxes:
    """Boxes of one colour as one SVG path: thousands of elements would slow down a browser."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, x: float, y: float, wide: float, tall: float) -> None:
        if wide > 0:
            self._parts.append(f"M{x:.6g} {y:.5g}h{wide:.4g}v{tall:.4g}h-{wide:.4g}z")

    def line(self, x: float, y: float, tall: float) -> None:
        self._parts.append(f"M{x:.6g} {y:.5g}v{tall:.4g}")

    def path(self, name: str = "", colour: str = "") -> str:
        if not self._parts:
            return ""
        paint = f' style="fill:{colour}"' if colour else ""
        return f'<path class="{name}"{paint} d="{"".join(self._parts)}"/>'


def _stages(paths: Mapping[StageName, _Boxes]) -> Iterator[str]:
    for stage, boxes in paths.items():
        yield boxes.path(stage, STAGE_COLOURS[stage])


def _hover(x: float, y: float, wide: float, tall: float, words: str) -> str:
    """Return an invisible box with a tooltip."""
    place = f'x="{x:.6g}" y="{y:.5g}" width="{max(0.0, wide):.4g}" height="{tall:.4g}"'
    return f'<rect class="hover" {place}><title>{escape(words)}</title></rect>'


def _line(name: str, x: float, height: float) -> str:
    return f'<line class="{name}" x1="{x:.6g}" x2="{x:.6g}" y1="0" y2="{height}"/>'


def _chart(
    names: Sequence[tuple[str, bool]], row: int, seconds: float, shapes: Iterable[str]
) -> str:
    """Return rows with their names, and a time axis below."""
    height = row * len(names)
    step = max(1, math.ceil(_NAME_HEIGHT / row))
    shown = [(k, name, slow) for k, (name, slow) in enumerate(names) if k % step == 0 or slow]
    labels = "".join(
        f'<b{" class=slow" if slow else ""} style="top:{(k + 0.5) * row:g}px">'
        f"{'▲ ' if slow else ''}{escape(name)}</b>"
        for k, name, slow in _apart(shown, step)
    )
    widest = max((name for name, _ in names), key=len, default="")
    ticks = list(_ticks(seconds))
    grid = "".join(_line("grid", tick / seconds * WIDTH, height) for tick in ticks if seconds > 0)
    axis = "".join(
        f'<span class="{"odd " * (k % 2)}{"last" * (tick > 0.97 * seconds)}"'
        f' style="left:{100 * tick / seconds if seconds > 0 else 0:.5g}%">{tick:g} s</span>'
        for k, tick in enumerate(ticks)
    )
    return (
        f'<div class="chart"><div class="names" style="height:{height}px">'
        f"<span>▲ {escape(widest)}</span>{labels}</div>"
        f'<div class="plot"><svg viewBox="0 0 {WIDTH:g} {height}" preserveAspectRatio="none"'
        f' height="{height}" role="img">{grid}{"".join(shapes)}</svg>{axis}</div></div>'
    )


def _apart(shown: Sequence[tuple[int, str, bool]], step: int) -> Iterator[tuple[int, str, bool]]:
    """Yield the names that do not overlap; names of slow workers take precedence."""
    taken: list[int] = []
    for k, name, slow in sorted(shown, key=lambda each: (not each[2], each[0])):
        if all(abs(k - other) >= step for other in taken):
            taken.append(k)
            yield k, name, slow


def _ticks(seconds: float) -> Iterator[float]:
    """Yield round numbers from 0 to `seconds`, at most `_MOST_TICKS` + 1."""
    if seconds <= 0:
        return
    rough = seconds / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough)
    for k in range(math.floor(seconds / step + 1e-9) + 1):
        yield float(f"{k * step:.12g}")
