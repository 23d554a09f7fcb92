"""Commands on files: `trajet info | index`."""

import contextlib
from collections.abc import Iterable, Iterator

import click
import numpy as np

import trajet
from trajet._trajet import time_text
from trajet.advise import in_bytes
from trajet.cli import options
from trajet.cli.command import command
from trajet.cli.tables import EXPECTED, one_line
from trajet.cli.terminal import progress
from trajet.dataset import find_dataset
from trajet.trajectory import Trajectory, rounding_of_times


@command()
@options.files
@options.continuous
@options.truncated
@options.particles
@options.units
@options.dcd_cell
@options.time_step
def info(
    files: list[str],
    continuous: bool,
    allow_truncated_tail: bool,
    particles: str | None,
    units: dict[str, str] | None,
    dcd_cell: str | None,
    time_step: float | None,
) -> None:
    """Describe trajectories.

    The first use of a file builds its index and keeps it beside the file. Several files of the same
    atoms are also described as one trajectory, as other commands read them. If a file cannot be
    read, an error is printed, the other files are described, and the exit code is 1.

    \b
    Examples:
      trajet info adk.xtc
      trajet info run*/traj.xtc
      trajet info --continuous 'run.part*.xtc'
      trajet info --allow-truncated-tail still-running.xtc
    """
    how: options.HowToOpen = {
        "allow_truncated_tail": allow_truncated_tail,
        "particles": particles,
        "units": units,
        "dcd_cell": dcd_cell,
        "time_step": time_step,
    }
    n_atoms, failures = list[int](), _Failures()
    for file in files:
        facts = list[tuple[str, str]]()
        with failures.go_on():
            opened = options.open_files(None, [file], **how)
            facts += _facts(opened)
        if facts:
            if n_atoms:
                click.echo()
            n_atoms.append(opened.n_atoms)
            _print(facts)
    failures.leave()
    if len(files) > 1 and len(set(n_atoms)) == 1:
        click.echo()
        _print(_facts_together(options.open_files(None, files, continuous=continuous, **how)))


class _Failures:
    """Collects errors of files, so that a command goes on with the other files.

    Nothing may be printed inside of `go_on`: an error of standard output is not one of a file.
    """

    def __init__(self) -> None:
        self._any = False

    @contextlib.contextmanager
    def go_on(self) -> Iterator[None]:
        """Run a block for one file, and print its error, if any."""
        try:
            yield
        except EXPECTED as error:
            self._any = True
            click.echo(f"trajet: {one_line(error)}", err=True)

    def leave(self) -> None:
        """Exit with code 1 if a file could not be read."""
        if self._any:
            raise click.exceptions.Exit(1)


def _print(facts: Iterable[tuple[str, str]]) -> None:
    for name, value in facts:
        click.echo(f"{name:<14}{value}")


def _facts_together(opened: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the lines of `info` on several files as one trajectory."""
    times = opened.reader.times()
    yield "together", f"{len(opened.paths)} files"
    yield "frames", str(opened.n_frames)
    yield "time", f"{time_text(times[0])} to {time_text(times[-1])} ps"
    yield "time step", _time_step(opened)
    yield "size", f"{opened.reader.size} bytes ({in_bytes(opened.reader.size)})"
    # The remarks on each file are printed already.
    for remark in opened.reader.chain_remarks:
        yield "note", remark


def _facts(opened: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the lines of `info`."""
    reader, times = opened.reader, opened.reader.times()
    first = opened.read(frames=[0], atoms=[0])
    yield "file", opened.label
    yield "format", opened.format
    yield "atoms", str(opened.n_atoms)
    yield "frames", str(opened.n_frames)
    yield "time", f"{time_text(times[0])} to {time_text(times[-1])} ps"
    yield "time step", _time_step(opened)
    cell = first.cells[0]
    if np.isnan(cell).any():
        yield "cell", "none"
    else:
        a, b, c, *angles = (f"{value:.7g}" for value in cell)
        yield "cell", f"{a} x {b} x {c} Å, {' '.join(angles)} degrees (frame 0)"
    size = reader.size if opened.dataset is None else opened.dataset.size
    yield "size", f"{size} bytes ({in_bytes(size)})"
    whole = size - reader.truncated_tail
    yield "bytes a frame", f"{whole / opened.n_frames:.1f}"
    if reader.truncated_tail:
        yield "cut", f"{reader.truncated_tail} bytes of an unfinished frame at the end are left out"
    if opened.dataset is not None:
        yield "index", "kept by the store"
    elif opened.index_state == "computed":
        yield "index", "none needed: frame offsets follow from the format"
    else:
        where = "in memory only" if opened.index_path is None else str(opened.index_path)
        yield "index", f"{opened.index_state}, {where}"
    for remark in opened.remarks:
        yield "note", remark


def _time_step(opened: Trajectory) -> str:
    """Return a text on the time between frames."""
    times = opened.reader.times()
    steps = np.diff(times)
    if not len(steps):
        return "one frame only"
    if not np.ptp(times):
        return "none: all frames have the same time"
    middle = float(np.nanmedian(steps))
    slack = rounding_of_times(opened.reader, times)
    slack = np.minimum(np.maximum(slack[1:], slack[:-1]) + 1e-6 * abs(middle), abs(middle) / 2)
    odd = int((~(np.abs(steps - middle) <= slack)).sum())
    uneven = f" (differs at {odd} of {len(steps)} frames)" if odd else ""
    # A time step has fewer digits than the times, and no sign where it is zero.
    return f"{middle + 0.0:.6g} ps{uneven}"


@command()
@options.files
@click.option("--force", is_flag=True, help="Build the index again even if a valid one exists.")
@options.threads
@options.truncated
@options.dcd_cell
@options.quiet
def index(
    files: list[str],
    force: bool,
    threads: int | None,
    allow_truncated_tail: bool,
    dcd_cell: str | None,
    quiet: bool,
) -> None:
    """Build the index of trajectories ahead of time.

    Other commands do so when they need the index. It is kept in a hidden file beside the
    trajectory, or in the cache folder if that folder is read-only. If a file cannot be read, an
    error is printed, the other files are indexed, and the exit code is 1.

    \b
    Examples:
      trajet index long.xtc
      trajet index --force --threads 8 run*/traj.xtc
    """
    failures = _Failures()
    for file in files:
        message = ""
        with failures.go_on():
            if find_dataset(file) is not None:
                message = "nothing to do: the store keeps its index"
            else:
                with progress("indexing", "B", quiet=quiet) as show:
                    opened = trajet.open(
                        None,
                        file,
                        allow_truncated_tail=allow_truncated_tail,
                        rebuild_index=force,
                        dcd_cell=dcd_cell,
                        threads=threads,
                        progress=show,
                    )
                message = f"{opened.n_frames} frames, {opened.index_state}, {_location(opened)}"
        if message and not quiet:
            click.echo(f"{file}: {message}")
    failures.leave()


def _location(opened: Trajectory) -> str:
    """Return the location of the index."""
    if opened.index_state == "computed":
        return "nothing to keep: frame offsets follow from the format"
    return str(opened.index_path or "in memory only: no folder could be written")


COMMANDS = (info, index)
