"""Options that several commands share, and their values."""

import contextlib
import functools
import glob
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import click
import numpy as np
from numpy.typing import NDArray

import trajet
from trajet import advise, output
from trajet._trajet import time_text
from trajet.analysis.job import Job
from trajet.analysis.runner import rows_approved_by
from trajet.cli import pools, transforms
from trajet.cli.pools import Decorated
from trajet.cli.tables import EXPECTED, one_line
from trajet.cli.transforms import TransformOptions
from trajet.dataset import datasets_in, find_dataset
from trajet.pools.pool import Pool
from trajet.result import REPORT_SUFFIXES, Result, entries_of
from trajet.trajectory import (
    DEFAULT_REQUEST_SIZE,
    Selection,
    Trajectory,
    UpdatingSelection,
    is_structure,
)

_R = TypeVar("_R", bound=Result)

_LARGEST_REQUEST = 2**30
_MOST_NOTES = 5
# Bytes of a result's rows above which a command needs --force.
_LARGE_RESULT = 10**9
# Seconds before a terminal shows a line on a long step, and the width of that line.
_WAIT = 1.0
_WIDEST = 70
_REORDERED = "trajet.reordered"
_UNITS = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "kib": 2**10,
    "m": 2**20,
    "mib": 2**20,
    "g": 2**30,
    "gib": 2**30,
}


class Size(click.ParamType[int]):
    """A number of bytes up to the largest: 262144, 256KiB, 8MiB."""

    name = "size"

    def __init__(self, most: int = _LARGEST_REQUEST) -> None:
        self._most = most

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)\s*([a-z]*)", value.strip().lower())
        unit = _UNITS.get(found[2]) if found else None
        size = int(found[1]) * unit if found is not None and unit is not None else 0
        if not 0 < size <= self._most:
            self.fail(
                f"{value!r} is not a size up to {self._most // 2**30} GiB; write it as 262144,"
                " 256KiB or 8MiB",
                param,
                ctx,
            )
        return size


max_memory_option = click.option(
    "--max-memory",
    type=Size(most=2**50),
    metavar="BYTES",
    help="Memory that positions of all frames and results may take, as in 8GiB. Default: no limit.",
)
memory_size = Size(most=2**50)


def _nonzero(_: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Raise an error for a step of 0."""
    if value == 0:
        raise click.BadParameter("a step must not be 0", param=param)
    return value


def path_to(suffixes: tuple[str, ...]) -> Callable[..., Path | None]:
    """Return an option's callback that checks the path of an output before any work."""

    def check(_: click.Context, param: click.Parameter, value: str | None) -> Path | None:
        if value is None:
            return None
        path = Path(value)
        try:
            output.check(path, suffixes)
        except trajet.OutputError:
            raise
        except ValueError as error:
            raise click.BadParameter(str(error), param=param) from error
        return path

    return check


def _units(
    _: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, str] | None:
    """Split QUANTITY=UNIT; whether the quantity is known is checked when the file is opened."""
    for one in value:
        if "=" not in one:
            raise click.BadParameter(f"{one!r} is not of the form position=nm", param=param)
    return dict(one.split("=", 1) for one in value) or None


particles = click.option(
    "--particles", metavar="NAME", help="Group of particles of an H5MD file that has several."
)
units = click.option(
    "--unit",
    "units",
    multiple=True,
    callback=_units,
    metavar="QUANTITY=UNIT",
    help="Unit that an H5MD file does not name: position=nm, time=ps, velocity=…, force=….",
)
dcd_cell = click.option(
    "--dcd-cell",
    type=click.Choice(["matrix", "angles"]),
    help="Layout of the cells of DCD files that contradict themselves: CHARMM's symmetric matrix,"
    " or lengths and angles.",
)


def in_order(given: Sequence[str]) -> list[str]:
    """Return paths with patterns expanded, parts in natural order: part2 before part10.

    Arguments in alphabetical order are sorted so, too: a shell that expands a pattern gives this
    order.

    Raises
    ------
    FileNotFoundError
        If no file matches a pattern.
    """
    if len(given) > 1 and list(given) in (sorted(given), sorted(given, key=_as_words)):
        given = sorted(given, key=_natural)
    paths = []
    for name in given:
        if not re.search(r"[*?\[]", name) or os.path.lexists(name):
            paths.append(name)
            continue
        found = sorted(glob.glob(name), key=_natural)
        if not found:
            raise FileNotFoundError(f"{name}: no file matches this pattern")
        paths += found
    return paths


class HowToOpen(TypedDict, total=False):
    """Options of `trajet.open`."""

    allow_truncated_tail: bool
    request_size: int
    rebuild_index: bool
    threads: int | None
    particles: str | None
    units: dict[str, str] | None
    dcd_cell: str | None


def open_files(
    topology: str | None,
    files: list[str],
    *,
    quiet: bool = False,
    continuous: bool = False,
    **how: Unpack[HowToOpen],
) -> Trajectory:
    """Open trajectories, and show the progress of indexing.

    A single data set of a store is opened with its own topology.
    """
    if topology is None and len(files) == 1 and find_dataset(files[0]) is not None:
        topology, files = files[0], []
    with progress("indexing", "B", quiet=quiet) as show:
        return trajet.open(topology, *files, continuous=continuous, progress=show, **how)


def read_topology(opened: Trajectory, *, quiet: bool = False) -> None:
    """Read the topology, if there is one; a terminal shows a line meanwhile."""
    if opened.topology_path is None:
        return
    with waiting(f"reading {opened.topology_path}", quiet=quiet):
        _ = opened.topology


def select(opened: Trajectory, selection: str, *, quiet: bool = False) -> Selection:
    """Evaluate a selection; a terminal shows a line meanwhile."""
    with waiting(f"selecting {selection}", quiet=quiet):
        return opened.select(selection)


def _natural(name: str) -> tuple[list[tuple[int, int]], str]:
    """Return a sort key that compares numbers by value."""
    parts = re.findall(r"[0-9]+|[^0-9]", name)
    digit = ord("0")
    key = [(digit, int(part)) if part[0] in "0123456789" else (ord(part), 0) for part in parts]
    return key, name


def _as_words(name: str) -> tuple[str, str]:
    """Return the sort key of shells in many locales: letters and digits first."""
    return re.sub(r"[\W_]", "", name).casefold(), name


def in_files_order(ctx: click.Context, _: click.Parameter, given: tuple[str, ...]) -> list[str]:
    """Return the paths of an argument in order, as its callback."""
    paths = in_order(given)
    # A note tells users who wrote the names in another order.
    ctx.meta[_REORDERED] = set(paths) == set(given) and paths != list(given)
    return paths


files = click.argument("files", nargs=-1, required=True, metavar="FILE...", callback=in_files_order)
continuous = click.option(
    "--continuous",
    is_flag=True,
    help="Drop overlapping frames: sort the files by their first times, and keep the frames of the"
    " later file from its first time on.",
)
threads = click.option(
    "--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads. Default: all cores."
)
truncated = click.option(
    "--allow-truncated-tail",
    is_flag=True,
    help="Read a file that ends inside a frame (of a running simulation) without that frame.",
)
quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing.")

# Options of commands that write trajectories.
allow_loss = click.option(
    "--allow-loss",
    is_flag=True,
    help="Leave out fields that the format cannot hold, instead of failing.",
)
topology_out = click.option(
    "--topology-out", metavar="FILE", help="Also write a structure file: .pdb, .gro, …."
)

_FRAMES = (
    click.option("--start", type=int, metavar="FRAME", help="First frame; negative from the end."),
    click.option("--stop", type=int, metavar="FRAME", help="Frame to stop before."),
    click.option(
        "--step",
        type=int,
        metavar="N",
        callback=_nonzero,
        help="Take every N-th frame; may be negative.",
    ),
    click.option("--begin", type=float, metavar="PS", help="Take frames from this time on."),
    click.option("--end", type=float, metavar="PS", help="Take frames up to this time."),
)


def frames(command: Decorated) -> Decorated:
    """Add options for the choice of frames to a command."""
    for option in reversed(_FRAMES):
        command = option(command)
    return command


def amount(
    name: str, default: float, help_: str, *, least: float = 1, metavar: str = "N"
) -> Callable[[Decorated], Decorated]:
    """Return an option for a number of at least `least`, of the type of its default."""
    of_type = click.IntRange(int(least)) if isinstance(default, int) else click.FloatRange(least)
    return click.option(
        name, type=of_type, default=default, show_default=True, metavar=metavar, help=help_
    )


@dataclass(frozen=True)
class AnalysisOptions:
    """Values of the options that all analyses share.

    Attributes
    ----------
    trajectory
        The open trajectory.
    frames
        The chosen frames.
    pool
        The pool to run on.
    outputs
        Paths of "output", "plot" and "report", or None.
    quiet
        Whether to print nothing.
    any_size
        Whether a result may be larger than `_LARGE_RESULT`.
    sample
        Whether to measure a serial sample for R_comp/IO before the run.
    joint
        The run of several analyses to which this one belongs; None if it runs on its own.
    """

    trajectory: Trajectory
    frames: slice | NDArray[np.int64]
    pool: Pool
    outputs: dict[str, Path | None]
    quiet: bool
    any_size: bool
    sample: bool
    joint: "JointRun | None" = None

    def select(self, selection: str) -> Selection:
        """Evaluate a selection."""
        return select(self.trajectory, selection, quiet=self.quiet)

    def select_in(self, selection: str, *, updating: bool) -> Selection | UpdatingSelection:
        """Evaluate a selection, on frame 0 or in each frame."""
        return self.select_updating(selection) if updating else self.select(selection)

    def select_updating(self, selection: str) -> UpdatingSelection:
        """Return a selection that is evaluated in each frame."""
        with waiting(f"selecting {selection}", quiet=self.quiet):
            return self.trajectory.select(selection, updating=True)

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show the progress of an analysis, and raise an error for a result that is too large."""
        if self.joint is not None:
            raise click.UsageError(f"{what} reads frames on its own: run it outside of a plan")
        with progress(what, " frames", quiet=self.quiet) as show, rows_approved_by(self._approve):
            yield show

    def _approve(self, n_frames: int, width: int) -> None:
        """Raise an error for rows that are too large, before any frame is read.

        Raises
        ------
        OutputError
            If they are larger than `_LARGE_RESULT`, and `any_size` is False.
        """
        size = 8 * n_frames * width
        if size > _LARGE_RESULT and not self.any_size:
            raise trajet.OutputError(
                f"the result would take {size / 1e9:.1f} GB of memory ({width} numbers of each of"
                f" {n_frames} frames): choose fewer atoms or frames, compute it anyway (--force),"
                " or write it to a file (--rows-in FILE.npy with --pool dask or mpi)"
            )

    def run(
        self,
        prepared: Job[_R],
        table: Callable[[_R], str],
        *,
        write: Callable[[_R], Sequence[Path]] = lambda _: (),
    ) -> None:
        """Run an analysis, then write the requested files, and print the table of the result.

        `write` writes further files of the command, and returns their paths. In a run of several
        analyses this is done later, for all of them.
        """

        def finish(result: _R) -> None:
            self.finish(result, lambda: table(result), write(result))

        if self.joint is not None:
            self.joint.jobs.append((prepared, finish))
            return
        with self.progress(prepared.name.replace("_", "-")) as show:
            results = trajet.run(
                [prepared], frames=self.frames, pool=self.pool, progress=show, sample=self.sample
            )
        finish(results[0])

    def finish(
        self, result: Result, table: Callable[[], str], written: Sequence[Path] = ()
    ) -> None:
        """Write the requested files, then print the table and the paths of the files."""
        if (path := self.outputs["output"]) is not None:
            result.save(path)
        if (path := self.outputs["plot"]) is not None:
            _save_figure(result, path)
        if (path := self.outputs["report"]) is not None:
            result.report.save(path)
        # The reader of a pipe may close it at any time: the files are written before.
        if not self.quiet:
            click.echo(table())
            for line in advise.lead(entries_of(result.report)):
                click.echo(line)
            for line in notes(self.trajectory, result.report["remarks"]):
                click.echo(line)
            of_all = (self.outputs[name] for name in ("plot", "report", "output"))
            for path in (*written, *of_all):
                if path is not None:
                    click.echo(path)


@dataclass
class JointRun:
    """Analyses that `trajet run` runs together.

    Attributes
    ----------
    kept
        Closes the pool at the end.
    first
        Options of the first analysis, with the trajectory before its transforms: all analyses share
        its files, frames and pool.
    jobs
        Each analysis, and what to do with its result.
    """

    kept: contextlib.ExitStack
    first: AnalysisOptions | None = None
    jobs: list[tuple[Job[Any], Callable[[Any], None]]] = field(default_factory=list)

    def run(self) -> None:
        """Run all analyses, then write their files and print their tables.

        Those that fail are named, and the others have their files.

        Raises
        ------
        Exit
            If an analysis failed.
        """
        first = self.first
        if first is None:
            return
        with (
            progress("run", " frames", quiet=first.quiet) as show,
            rows_approved_by(first._approve),
        ):
            results = trajet.run(
                [prepared for prepared, _ in self.jobs],
                frames=first.frames,
                pool=first.pool,
                progress=show,
                sample=first.sample,
                keep_going=True,
            )
        failed = False
        for number, ((job, finish), result) in enumerate(zip(self.jobs, results, strict=True), 1):
            try:
                if isinstance(result, Exception):
                    raise result
                finish(result)
            except BrokenPipeError:
                raise
            except EXPECTED as error:
                failed = True
                name = job.name.replace("_", "-")
                click.echo(f"trajet: analysis {number} ({name}): {one_line(error)}", err=True)
        if failed:
            raise click.exceptions.Exit(1)


def notes(opened: Trajectory, remarks: Sequence[str]) -> list[str]:
    """Return remarks as lines, after notes on the order and the truncated end of the files."""
    lines = [f"note: {remark}" for remark in remarks[:_MOST_NOTES]]
    if cut := opened.reader.truncated_tail:
        lines.insert(0, f"note: {cut} bytes of an unfinished frame at the end are left out")
    if click.get_current_context().meta.get(_REORDERED):
        lines.insert(0, f"note: files are read in the order of their numbers, {opened.path} first")
    more = len(remarks) - _MOST_NOTES
    return lines if more <= 0 else [*lines, f"… and {more} more notes (the report has all)"]


# Options that the analyses of a run have in common.
OPTIONS_OF_RUN = frozenset(
    (
        *("continuous", "start", "stop", "step", "begin", "end", "pool", "workers", "threads"),
        *("scheduler", "request-size", "allow-truncated-tail", "particles", "units", "dcd-cell"),
        *("rows-in", "sample", "force", "quiet"),
    )
)

_SHARED = (
    click.argument("topology", metavar="TOPOLOGY|STORE/NAME"),
    click.argument("trajectories", nargs=-1, metavar="[TRAJECTORY...]", callback=in_files_order),
    continuous,
    frames,
    pools.choice(),
    click.option(
        "--request-size",
        type=Size(),
        default=DEFAULT_REQUEST_SIZE,
        metavar="BYTES",
        help="Bytes of a read request: 256KiB (default) for local disks, 8MiB for network ones.",
    ),
    truncated,
    particles,
    units,
    dcd_cell,
    transforms.options,
    click.option(
        "-o", "--output", callback=path_to((".npz", ".csv")), metavar="FILE", help=".npz or .csv"
    ),
    click.option(
        "--plot",
        callback=path_to((".png", ".pdf", ".svg")),
        metavar="FILE",
        help="A figure: .png, .pdf or .svg",
    ),
    click.option(
        "--report",
        callback=path_to(REPORT_SUFFIXES),
        metavar="FILE",
        help="A report of the run's timings: .json, or .html with figures",
    ),
    click.option(
        "--rows-in",
        callback=path_to((".npy",)),
        metavar="FILE",
        help="Write the numbers of all frames to a .npy file. With --pool dask or mpi.",
    ),
    click.option(
        "--sample",
        is_flag=True,
        help="Also measure R_comp/IO for the report, on a few frames that one thread reads first.",
    ),
    click.option("--force", is_flag=True, help="Compute a result of more than 1 GB in memory."),
    quiet,
)


def analysis(
    *own: Callable[[Callable[..., None]], object],
    check: Callable[..., None] | None = None,
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function of `AnalysisOptions` and `own` options.

    `check` is called with the values of the own options before any file is opened, and raises
    `UsageError` if they contradict each other.
    """

    def make(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def command(
            *,
            topology: str,
            trajectories: list[str],
            continuous: bool,
            start: int | None,
            stop: int | None,
            step: int | None,
            begin: float | None,
            end: float | None,
            pool: str,
            workers: int | None,
            threads: int | None,
            scheduler: str | None,
            request_size: int,
            allow_truncated_tail: bool,
            particles: str | None,
            units: dict[str, str] | None,
            dcd_cell: str | None,
            transforms: TransformOptions,
            output: Path | None,
            plot: Path | None,
            report: Path | None,
            rows_in: Path | None,
            sample: bool,
            force: bool,
            quiet: bool,
            **values: object,
        ) -> None:
            if check is not None:
                check(**values)
            if (start is not None or stop is not None) and (begin is not None or end is not None):
                raise click.UsageError(
                    "choose frames (--start, --stop) or times (--begin, --end), not both"
                )
            is_whole = find_dataset(topology) is not None or is_structure(topology)
            if not trajectories and not is_whole:
                if (names := datasets_in(topology)) is not None:
                    known = ", ".join(str(Path(topology) / name) for name in names) or "none yet"
                    raise click.UsageError(f"{topology} is a store: name a data set of it: {known}")
                raise click.UsageError(
                    f"give a trajectory after the topology {topology}, or only a PDB or GRO file,"
                    " or a data set of a store: STORE/NAME"
                )

            def shared() -> AnalysisOptions:
                opened = open_files(
                    topology,
                    trajectories,
                    quiet=quiet,
                    continuous=continuous,
                    allow_truncated_tail=allow_truncated_tail,
                    request_size=request_size,
                    # Times that choose frames are read from the files now, not from a kept index.
                    rebuild_index=begin is not None or end is not None,
                    threads=threads,
                    particles=particles,
                    units=units,
                    dcd_cell=dcd_cell,
                )
                chosen = choose_frames(opened, start, stop, step, begin, end)
                if stop is not None and stop > opened.n_frames and not quiet:
                    click.echo(
                        f"note: {opened.label} ends before --stop {stop}: its last frame is"
                        f" {opened.n_frames - 1}",
                        err=True,
                    )
                read_topology(opened, quiet=quiet)
                return AnalysisOptions(
                    trajectory=opened,
                    frames=chosen,
                    pool=kept.enter_context(where),
                    outputs={},
                    quiet=quiet,
                    any_size=force or rows_in is not None,
                    sample=sample,
                    joint=joint,
                )

            where = pools.made(pool, pools.PoolOptions(workers, threads, scheduler, rows_in))
            joint = click.get_current_context().find_object(JointRun)
            with contextlib.ExitStack() as of_command:
                kept = of_command if joint is None else joint.kept
                if joint is None:
                    job = shared()
                else:
                    job = joint.first = joint.first or shared()
                outputs = {"output": output, "plot": plot, "report": report}
                opened = transforms.applied_to(job.trajectory)
                function(replace(job, trajectory=opened, outputs=outputs), **values)

        all_options: Sequence[Callable[[Callable[..., None]], object]]
        all_options = (*_SHARED[:2], *own, *_SHARED[2:])
        for option in reversed(all_options):
            # Some wrap the function, others only note the option in it.
            command = option(command) or command
        epilog = "The report's entries are described in docs/report.md."
        return click.command(epilog=epilog)(command)

    return make


def choose_frames(
    opened: Trajectory,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
) -> slice | NDArray[np.int64]:
    """Return the frames of the options; raise an error if there are none."""
    if begin is None and end is None:
        if start is not None and not -opened.n_frames <= start < opened.n_frames:
            raise trajet.FrameError(
                f"{opened.label}: frame {start} is out of range: the trajectory has"
                f" {opened.n_frames} frames, 0 to {opened.n_frames - 1}"
            )
        chosen = slice(start, stop, step)
        if not range(*chosen.indices(opened.n_frames)):
            given = ", ".join(
                f"--{name} {value}"
                for name, value in (("start", start), ("stop", stop), ("step", step))
                if value is not None
            )
            raise trajet.FrameError(
                f"{opened.label}: no frame is left by {given}: frames go from --start up to the one"
                f" before --stop, and the trajectory has frames 0 to {opened.n_frames - 1}"
            )
        return chosen
    times = opened.times
    first = -np.inf if begin is None else begin
    last = np.inf if end is None else end
    # --begin 1 includes a frame whose time is 0.99999994 ps.
    slack = 2 * np.spacing(np.abs(times).astype(np.float32)).astype(np.float64)
    steps = np.abs(np.diff(times))
    if (steps > 0).any():
        # The slack must not include neighbouring frames, if times are large.
        slack = np.minimum(slack, 0.4 * np.median(steps[steps > 0]))
    inside = np.isfinite(times) & (times >= first - slack) & (times <= last + slack)
    numbers = np.flatnonzero(inside).astype(np.int64)[:: step or 1]
    if not len(numbers):
        if begin is None:
            where = f"up to {time_text(last)} ps"
        else:
            where = f"from {time_text(first)} ps "
            where += "on" if end is None else f"to {time_text(last)} ps"
        raise trajet.FrameError(
            f"{opened.label}: no frame lies {where}: times go from {time_text(times.min())} to"
            f" {time_text(times.max())} ps"
        )
    return numbers


def _save_figure(result: Result, path: Path) -> None:
    figure = result.plot()
    suffix = path.suffix.lower().removeprefix(".")
    output.write(path, lambda file: figure.savefig(file, format=suffix))


@contextlib.contextmanager
def waiting(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show a line on a terminal while a block runs for longer than a second."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"{what[:_WIDEST]} …", end="", file=sys.stderr, flush=True)

    # The block is a single call, so that another thread has to print the line.
    timer = threading.Timer(_WAIT, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(what: str, unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar if standard error is a terminal; yield a function to update it."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from tqdm import tqdm

    with tqdm(
        total=0,
        desc=what,
        unit=unit,
        unit_scale=True,
        leave=False,
        delay=0.3,
        file=sys.stderr,
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
