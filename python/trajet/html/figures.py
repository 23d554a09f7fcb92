"""Geometry of the figures of a report, which `page.html` draws.

Bars are SVG and scale with the window; labels are HTML and do not. The stacked bars follow figure
2d of Khoshlessan et al. 2020. The task stream follows figure 7 of Khoshlessan et al. 2017, with
time along x.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from trajet import advise
from trajet.report_entries import Entries, Lane, StageName, TaskEntry, lane_of

# Close to figure 2 of Khoshlessan et al. 2020; the palette of Okabe and Ito is safe for colour
# blindness.
STAGE_COLOURS: dict[StageName, str] = {
    "t_open": "#8c8c8c",
    "t_index": "#5f6b73",
    "t_read": "#0072b2",
    "t_decode": "#56b4e9",
    "t_comp": "#e69f00",
    "t_merge": "#cc79a7",
    "t_comm": "#d55e00",
    "t_close": "#009e73",
    "t_overhead": "var(--overhead)",
    "t_wait": "var(--wait)",
}
# The width of a figure in its own units.
WIDTH = 1000.0
_NAME_HEIGHT = 16
# Neighbouring tasks of a lane that are narrower than this are drawn as one.
_NARROWEST = 0.7
# With more tasks than this, tasks have no tooltips.
_MAX_TOOLTIPS = 1000
_MAX_COLUMNS = 16
_MAX_RANGES = 9
_MAX_TICKS = 8
_TASK_STAGES: tuple[StageName, ...] = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")


@dataclass
class Path:
    """An SVG path of one colour: thousands of elements would slow down a browser.

    Attributes
    ----------
    name
        CSS class.
    colour
        Fill; empty for that of the class.
    """

    name: str
    colour: str = ""
    _parts: list[str] = field(default_factory=list)

    @property
    def data(self) -> str:
        """Commands of the path; empty if there is nothing to draw."""
        return "".join(self._parts)

    def add_box(self, x: float, y: float, width: float, height: float) -> None:
        """Add a box, if it has any width."""
        if width > 0:
            self._parts.append(f"M{x:.6g} {y:.5g}h{width:.4g}v{height:.4g}h-{width:.4g}z")

    def add_line(self, x: float, y: float, height: float) -> None:
        """Add a vertical line."""
        self._parts.append(f"M{x:.6g} {y:.5g}v{height:.4g}")


@dataclass
class Chart:
    """Rows of bars over a time axis.

    Attributes
    ----------
    names
        Name of each row, and whether it is that of a straggler.
    seconds
        Length of the time axis.
    tooltips
        x, y and width of boxes of the height of a row, and their texts.
    limit
        x of a dashed line.
    """

    names: Sequence[tuple[str, bool]]
    seconds: float
    paths: list[Path] = field(default_factory=list)
    tooltips: list[tuple[float, float, float, str]] = field(default_factory=list)
    limit: float | None = None

    @property
    def scale(self) -> float:
        """Width of a second, in units of the figure."""
        return WIDTH / self.seconds if self.seconds > 0 else 0.0

    @property
    def row_height(self) -> int:
        """Height of a row, pixels."""
        limits = ((12, 26), (40, 18), (100, 8))
        return next((height for most, height in limits if len(self.names) <= most), 4)

    @property
    def bar_height(self) -> float:
        """Height of a bar, pixels; in low rows a bar fills the row."""
        return 0.85 * self.row_height if self.row_height > 8 else self.row_height

    @property
    def height(self) -> int:
        """Height of all rows, pixels."""
        return self.row_height * len(self.names)

    @property
    def widest_name(self) -> str:
        """The longest name, which sets the width of the column."""
        return max((name for name, _ in self.names), key=len, default="")

    def add_stages(self) -> dict[StageName, Path]:
        """Add a path for each stage."""
        paths = {stage: Path(stage, colour) for stage, colour in STAGE_COLOURS.items()}
        self.paths += paths.values()
        return paths

    def labels(self) -> Iterator[tuple[float, str, bool]]:
        """Yield middle, name and whether it is slow of rows whose names do not overlap.

        Names of stragglers take precedence.
        """
        step = max(1, math.ceil(_NAME_HEIGHT / self.row_height))
        rows = [(k, *row) for k, row in enumerate(self.names) if k % step == 0 or row[1]]
        taken: list[int] = []
        for k, name, slow in sorted(rows, key=lambda row: (not row[2], row[0])):
            if all(abs(k - other) >= step for other in taken):
                taken.append(k)
                yield (k + 0.5) * self.row_height, name, slow

    def ticks(self) -> Iterator[tuple[float, float]]:
        """Yield at most `_MAX_TICKS` + 1 round numbers of seconds, and where they are on the axis.

        0 is the start of the axis, 1 its end.
        """
        if self.seconds <= 0:
            return
        rough = self.seconds / _MAX_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough)
        for k in range(math.floor(self.seconds / step + 1e-9) + 1):
            second = float(f"{k * step:.12g}")
            yield second, second / self.seconds


def bars(report: Entries) -> Chart:
    """Return the stages of each worker as stacked bars."""
    workers = report["workers"]
    slow = {lane_of(entry) for entry in report["stragglers"]}
    names = [(advise.name_of(report, each), lane_of(each) in slow) for each in workers]
    end = max([report["stages"]["t_total"], *(worker["t_total"] for worker in workers)])
    chart = Chart(names, end)
    paths = chart.add_stages()
    for row, worker in enumerate(workers):
        x, top = 0.0, row * chart.row_height
        for stage, path in paths.items():
            width = worker[stage] * chart.scale
            path.add_box(x, top, width, chart.bar_height)
            x += width
        stages = (f"{stage} {worker[stage]:.4g} s" for stage in STAGE_COLOURS if worker[stage] > 0)
        text = ", ".join((*stages, f"t_total {worker['t_total']:.4g} s"))
        chart.tooltips.append((0, top, WIDTH, f"{names[row][0]}: {text}"))
    if len(workers) > 1:
        limit = advise.OVER_MEDIAN * median(map(advise.busy, workers)) * chart.scale
        chart.limit = limit if limit < WIDTH else None
    return chart


def stream(report: Entries) -> Chart:
    """Return the tasks of each worker as bars over the time of the run."""
    tasks, late = report["tasks"], report["stragglers"]
    lanes = lanes_of(report)
    workers = {lane_of(entry) for entry in late} | {(e["worker"], None) for e in late}
    end = max([report["stages"]["t_total"], *(task["t_end"] for task in tasks)])
    chart = Chart([(name, lane in workers) for lane, name in lanes.items()], end)
    scale, height = chart.scale, chart.bar_height
    tops = {lane: row * chart.row_height for row, lane in enumerate(lanes)}
    background, begins, slow = Path("lane"), Path("begin"), Path("slow")
    chart.paths.append(background)
    paths = chart.add_stages()
    chart.paths += [begins, slow]
    for top in tops.values():
        background.add_box(0, top, WIDTH, height)
    drawn = list(_bars_of(tasks, lanes, _NARROWEST / scale if scale > 0 else math.inf))
    for lane, begin, until, stages in drawn:
        # The threads of a task may sum up to more seconds than the task lasted.
        longest = max(until - begin, sum(stages.values()))
        part = (until - begin) / longest * scale if longest > 0 else 0.0
        x = begin * scale
        for stage, seconds in stages.items():
            paths[stage].add_box(x, tops[lane], seconds * part, height)
            x += seconds * part
        paths["t_overhead"].add_box(x, tops[lane], until * scale - x, height)
        if len(drawn) <= _MAX_TOOLTIPS:
            begins.add_line(begin * scale, tops[lane], height)
    found = {(e["pass"], e["task"], e["worker"]) for e in late if "task" in e}
    for task in tasks:
        took = task["t_end"] - task["t_begin"]
        x, width, top = task["t_begin"] * scale, took * scale, tops[lane_of(task)]
        if (task["pass"], task["task"], task["worker"]) in found:
            slow.add_box(x, top, width, height)
        if len(tasks) <= _MAX_TOOLTIPS:
            frames = f"{task['frames']} frames from {task['first']}"
            text = f"task {task['task']}: {frames}, {took:.4g} s"
            chart.tooltips.append((x, top, max(0.0, width), text))
    return chart


def histogram(report: Entries) -> list[tuple[int, float, str]]:
    """Return a histogram of tasks per worker, as in table 1 of the paper of 2017.

    Each column is a number of workers, a height in percent, and the label of their tasks.
    """
    tasks = Counter(map(lane_of, report["tasks"]))
    counts = [tasks[lane] for lane in lanes_of(report)]
    low, high = min(counts), max(counts)
    n_values = high - low + 1
    step = 1 if n_values <= _MAX_COLUMNS else math.ceil(n_values / _MAX_RANGES)
    bins = Counter((count - low) // step for count in counts)
    most = max(bins.values())
    columns = []
    for k in range((high - low) // step + 1):
        begin = low + k * step
        label = str(begin) if step == 1 else f"{begin}–{begin + step - 1}"
        columns.append((bins[k], 100 * bins[k] / most, label))
    return columns


def legend(report: Entries) -> list[tuple[StageName, str]]:
    """Return the stages that took any time, with their colours."""
    workers = report["workers"]
    return [
        (stage, colour)
        for stage, colour in STAGE_COLOURS.items()
        if any(worker[stage] > 0 for worker in workers)
    ]


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
        lanes.setdefault(lane_of(task), advise.name_of(report, task))
    return lanes


def _bars_of(
    tasks: Sequence[TaskEntry], lanes: Iterable[Lane], narrowest: float
) -> Iterator[tuple[Lane, float, float, dict[StageName, float]]]:
    """Yield lane, begin, end and stages of each bar; narrow neighbouring tasks share one."""
    of_lane: dict[Lane, list[TaskEntry]] = {lane: [] for lane in lanes}
    for task in tasks:
        of_lane[lane_of(task)].append(task)
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
