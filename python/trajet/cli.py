"""The command line: `trajet info | index | rmsd`."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
from numpy.typing import NDArray

import trajet
from trajet import output
from trajet.pools.local import LocalPool
from trajet.result import Series
from trajet.trajectory import DEFAULT_REQUEST_SIZE, Trajectory

# Shown by a shell for a process that Ctrl-C ended.
INTERRUPTED = 130
FAILED = 1
_LARGEST_REQUEST = 2**30
_UNITS = {"": 1, "b": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30}


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        commands.main(prog_name="trajet", standalone_mode=False)
        sys.stdout.flush()
        code = 0
    except click.exceptions.Exit as request:
        code = request.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("trajet: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; what Python still holds of it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except (trajet.TrajetError, OSError, ValueError) as error:
        print(f"trajet: {_one_line(error)}", file=sys.stderr)
        code = FAILED
    except SystemExit:
        # Only the command line's own library leaves so: whoever read the output has left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except MemoryError as error:
        print(
            f"trajet: not enough memory ({_one_line(error)}): choose fewer atoms or frames",
            file=sys.stderr,
        )
        code = FAILED
    except BaseException as error:
        # A panic of the native module is no Exception.
        if os.environ.get("TRAJET_DEBUG"):
            raise
        print(
            f"trajet: internal error, please report it ({type(error).__name__}:"
            f" {_one_line(error)}); TRAJET_DEBUG=1 shows where",
            file=sys.stderr,
        )
        code = FAILED
    sys.exit(code)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


class _Bytes(click.ParamType[int]):
    """A number of bytes: 262144, 256KiB, 8MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)\s*([a-z]*)", value.strip().lower())
        unit = _UNITS.get(found[2]) if found else None
        size = int(found[1]) * unit if found is not None and unit is not None else 0
        if not 0 < size <= _LARGEST_REQUEST:
            self.fail(
                f"{value!r} is no size up to 1 GiB; write it as 262144, 256KiB or 8MiB", param, ctx
            )
        return size


def _nonzero(_: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Refuse a step that leads nowhere."""
    if value == 0:
        raise click.BadParameter("a step is not 0", param=param)
    return value


def _path(suffixes: tuple[str, ...]) -> Callable[..., Path | None]:
    """Return a check of an output's path that runs before any work."""

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


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command has its own help with examples: trajet rmsd --help",
)
@click.version_option(trajet.__version__, prog_name="trajet")
def commands() -> None:
    """Analyse molecular-dynamics trajectories, on all cores.

    Only the selected atoms are decoded, and an index of frames is kept beside each trajectory.
    Units are Å and ps; frames count from 0; selections are written in MDAnalysis' language.

    \b
    Examples:
      trajet info adk.xtc
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
    """


_files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
_threads = click.option(
    "--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads. Default: all cores."
)
_truncated = click.option(
    "--allow-truncated-tail",
    is_flag=True,
    help="Read the whole frames of a file that ends inside a frame, as while a simulation runs.",
)
_quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing.")


@commands.command()
@_files
@_truncated
def info(files: tuple[str, ...], allow_truncated_tail: bool) -> None:
    """Say what trajectories hold.

    The first look at a file builds its index and keeps it beside the file.

    \b
    Examples:
      trajet info adk.xtc
      trajet info run*/traj.xtc
      trajet info --allow-truncated-tail still-running.xtc
    """
    for k, file in enumerate(files):
        with _progress("indexing", "B") as progress:
            opened = trajet.open(
                None, file, allow_truncated_tail=allow_truncated_tail, progress=progress
            )
        if k:
            click.echo()
        for name, value in _facts(opened):
            click.echo(f"{name:<14}{value}")


def _facts(opened: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the lines of `info`."""
    reader, times = opened.reader, opened.times
    first = opened.read(frames=[0], atoms=[0])
    yield "file", str(opened.path)
    yield "format", opened.format
    yield "atoms", str(opened.n_atoms)
    yield "frames", str(opened.n_frames)
    yield "time", f"{times[0]:.10g} to {times[-1]:.10g} ps"
    yield "time step", _time_step(times)
    cell = first.cells[0]
    if np.isnan(cell).any():
        yield "cell", "none"
    else:
        a, b, c, *angles = (f"{value:.7g}" for value in cell)
        yield "cell", f"{a} x {b} x {c} Å, {' '.join(angles)} degrees (frame 0)"
    yield "size", f"{reader.size} bytes ({_human(reader.size)})"
    whole = reader.size - reader.truncated_tail
    yield "bytes a frame", f"{whole / opened.n_frames:.1f}"
    if reader.truncated_tail:
        yield "cut", f"{reader.truncated_tail} bytes of an unfinished frame at the end are left out"
    if opened.index_state == "computed":
        yield "index", "none needed: frames are of equal size"
    else:
        where = "in memory only" if opened.index_path is None else str(opened.index_path)
        yield "index", f"{opened.index_state}, {where}"
    for remark in opened.remarks:
        yield "note", remark


def _time_step(times: NDArray[np.float64]) -> str:
    """Say by how much time goes on from frame to frame."""
    steps = np.diff(times)
    if not len(steps):
        return "one frame only"
    middle = float(np.median(steps))
    odd = int((np.abs(steps - middle) > _rounding(times) + 1e-6 * abs(middle)).sum())
    uneven = f" (differs at {odd} of {len(steps)} frames)" if odd else ""
    return f"{middle:.6g} ps{uneven}"


def _rounding(times: NDArray[np.float64]) -> float:
    """Return by how much times are uncertain: XTC keeps them as float32."""
    return 4 * float(np.finfo(np.float32).eps) * float(np.abs(times).max())


def _human(n_bytes: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"


@commands.command()
@_files
@click.option("--force", is_flag=True, help="Build the index again even if there is one that fits.")
@_threads
@_truncated
@_quiet
def index(
    files: tuple[str, ...],
    force: bool,
    threads: int | None,
    allow_truncated_tail: bool,
    quiet: bool,
) -> None:
    """Build the index of trajectories ahead of time.

    Other commands do so by themselves when they need it. The index lies in a hidden file beside the
    trajectory, or in the cache folder where that cannot be written.

    \b
    Examples:
      trajet index long.xtc
      trajet index --force --threads 8 run*/traj.xtc
    """
    for file in files:
        with _progress("indexing", "B", quiet=quiet) as progress:
            opened = trajet.open(
                None,
                file,
                allow_truncated_tail=allow_truncated_tail,
                rebuild_index=force,
                threads=threads,
                progress=progress,
            )
        if not quiet:
            where: Path | str = opened.index_path or "in memory only: no folder could be written"
            if opened.index_state == "computed":
                where = "nothing to keep: frames are of equal size"
            click.echo(f"{file}: {opened.n_frames} frames, {opened.index_state}, {where}")


@commands.command(epilog="The report's entries are described in docs/report.md.")
@click.argument("topology", metavar="TOPOLOGY")
@click.argument("trajectory", nargs=-1, required=True, metavar="TRAJECTORY...")
@click.option(
    "--select", required=True, metavar="SELECTION", help="Atoms to superpose and to compare."
)
@click.option(
    "--reference",
    default="0",
    show_default=True,
    metavar="FRAME|FILE|average",
    help="A frame of the trajectory, a structure file, or the average structure.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="SELECTION",
    help="Further atoms: their RMSD after the superposition of --select. May be repeated.",
)
@click.option("--weights", type=click.Choice(["mass"]), help="Weights of --select. Default: equal.")
@click.option(
    "--group-weights",
    type=click.Choice(["mass"]),
    help="Weights of the groups. Default: equal, also where --weights is mass.",
)
@click.option("--no-superposition", is_flag=True, help="Compare positions as they are.")
@click.option("--center", is_flag=True, help="With --no-superposition: lay centre on centre.")
@click.option("--start", type=int, metavar="FRAME", help="First frame; negative from the end.")
@click.option("--stop", type=int, metavar="FRAME", help="Frame to stop before.")
@click.option(
    "--step",
    type=int,
    metavar="N",
    callback=_nonzero,
    help="Take every N-th frame; may be negative.",
)
@click.option("--begin", type=float, metavar="PS", help="Take frames from this time on.")
@click.option("--end", type=float, metavar="PS", help="Take frames up to this time.")
@click.option(
    "--pool", type=click.Choice(["local"]), default="local", show_default=True, help="Where to run."
)
@_threads
@click.option(
    "--request-size",
    type=_Bytes(),
    default=DEFAULT_REQUEST_SIZE,
    metavar="BYTES",
    help="Bytes of a read request: 256KiB (default) for local disks, 8MiB for network ones.",
)
@_truncated
@click.option(
    "-o", "--output", callback=_path((".npz", ".csv")), metavar="FILE", help=".npz or .csv"
)
@click.option(
    "--plot",
    callback=_path((".png", ".pdf", ".svg")),
    metavar="FILE",
    help="A figure: .png, .pdf or .svg",
)
@click.option(
    "--report", callback=_path((".json",)), metavar="FILE", help="Where the time went: .json"
)
@_quiet
def rmsd(
    topology: str,
    trajectory: tuple[str, ...],
    select: str,
    reference: str,
    groups: tuple[str, ...],
    weights: str | None,
    group_weights: str | None,
    no_superposition: bool,
    center: bool,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
    pool: str,
    threads: int | None,
    request_size: int,
    allow_truncated_tail: bool,
    output: Path | None,
    plot: Path | None,
    report: Path | None,
    quiet: bool,
) -> None:
    """RMSD of a selection against time, after optimal superposition.

    TOPOLOGY is a file that MDAnalysis reads (PSF, PDB, GRO, TPR, …), TRAJECTORY an XTC file.
    Positions are taken as they are written: make molecules whole first where they are broken
    over the box (gmx trjconv -pbc whole). Selections are evaluated once, on frame 0.

    \b
    Examples:
      trajet rmsd adk.psf adk.xtc --select "name CA"
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
      trajet rmsd top.gro run.xtc --select "backbone and resid 1:29" --group "resname LIG" \\
          --weights mass --reference crystal.pdb -o rmsd.npz --report report.json
      trajet rmsd top.gro run.xtc --select "name CA" --begin 1000 --end 5000 --step 10
    """
    if center and not no_superposition:
        raise click.UsageError("--center goes with --no-superposition: a superposition centres too")
    if (start is not None or stop is not None) and (begin is not None or end is not None):
        raise click.UsageError(
            "choose frames (--start, --stop) or times (--begin, --end), not both"
        )
    if len(trajectory) > 1:
        raise click.UsageError(
            f"{len(trajectory)} trajectory files were given: one is read so far;"
            " join the segments with 'gmx trjcat' first"
        )
    with _progress("indexing", "B", quiet=quiet) as progress:
        opened = trajet.open(
            topology,
            trajectory[0],
            allow_truncated_tail=allow_truncated_tail,
            request_size=request_size,
            threads=threads,
            progress=progress,
        )
    onto: int | str = int(reference) if re.fullmatch(r"-?\d+", reference) else reference
    selection = opened.select(select)
    frames = _frames(opened, start, stop, step, begin, end)
    with _progress("rmsd", " frames", quiet=quiet) as progress:
        result = trajet.rmsd(
            selection,
            reference=onto,
            groups=groups,
            weights=weights,
            group_weights=group_weights,
            superposition=not no_superposition,
            center=center or None,
            frames=frames,
            pool=LocalPool(threads=threads),
            progress=progress,
        )
    if output is not None:
        result.save(output)
    if plot is not None:
        _save_figure(result, plot)
    if report is not None:
        result.report.save(report)
    # Whoever reads this may leave at any time: the files are there already.
    if not quiet:
        click.echo(_table(result))
    for path in (plot, report, output):
        if path is not None and not quiet:
            click.echo(path)


def _frames(
    opened: Trajectory,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
) -> slice | NDArray[np.int64]:
    """Return the frames that the options choose."""
    if begin is None and end is None:
        if start is not None and not -opened.n_frames <= start < opened.n_frames:
            raise trajet.FrameError(
                f"{opened.path}: frame {start} is out of range: the trajectory has"
                f" {opened.n_frames} frames, 0 to {opened.n_frames - 1}"
            )
        chosen = slice(start, stop, step)
        if not range(*chosen.indices(opened.n_frames)):
            raise trajet.FrameError(f"{opened.path}: --start, --stop and --step leave no frame")
        return chosen
    times = opened.times
    first = -np.inf if begin is None else begin
    last = np.inf if end is None else end
    # Who asks for 1 ps means the frame whose time is 0.99999994 ps too.
    slack = 2 * np.spacing(np.abs(times).astype(np.float32)).astype(np.float64)
    inside = np.isfinite(times) & (times >= first - slack) & (times <= last + slack)
    numbers = np.flatnonzero(inside).astype(np.int64)[:: step or 1]
    if not len(numbers):
        raise trajet.FrameError(
            f"{opened.path}: no frame lies between {first} and {last} ps:"
            f" times go from {times.min():.10g} to {times.max():.10g} ps"
        )
    return numbers


def _table(result: Series) -> str:
    """Return a short table: what came out, and how fast."""
    rows: list[tuple[str, ...]] = [("selection", "mean", "std", "min", "max", "last")]
    values = result.values.reshape(len(result.frames), -1)
    for label, column in zip(result.columns, values.T, strict=True):
        name = label if len(label) <= 40 else label[:39] + "…"
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((name, *(f"{number:.3f}" for number in numbers)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *cells in rows:
        right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    report = result.report
    seconds = report["stages"]["t_total"]
    head = f"{result.name} ({result.units}) of {len(result.frames)} frames"
    if seconds > 0:
        threads = report["threads"]
        head += f" in {seconds:.3g} s on {threads} thread{'s' if threads > 1 else ''}"
    return "\n".join([head, *lines])


def _save_figure(result: Series, path: Path) -> None:
    figure = result.plot()
    suffix = path.suffix.lower().removeprefix(".")
    output.write(path, lambda file: figure.savefig(file, format=suffix))


@contextlib.contextmanager
def _progress(what: str, unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with rate and time left on a terminal; nothing where standard error is a pipe."""
    from tqdm import tqdm

    with tqdm(
        total=0,
        desc=what,
        unit=unit,
        unit_scale=True,
        leave=False,
        delay=0.3,
        disable=True if quiet else None,
        file=sys.stderr,
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
