"""Options that several commands share, and their values."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

import trajet
from trajet import output
from trajet.checked_numbers import whole_number
from trajet.cli.param_type import ParamType
from trajet.cli.pools import Decorated
from trajet.cli.quantities import Time
from trajet.cli.terminal import waiting
from trajet.cli.translation import as_options, line_of
from trajet.digits import in_digits
from trajet.formats import formats_of, matching_files
from trajet.messages import OF_OPENING, Code, Message
from trajet.natural_order import natural
from trajet.remote import is_url, name_of
from trajet.trajectory import Selection, Trajectory, rounding_of_times

_LARGEST_REQUEST = 2**30
_MAX_NOTES = 5
_REORDERED = "trajet.reordered"
_UNSTATED = "trajet.unstated_times"
_OPENED = "trajet.printed_opening"
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


class Size(ParamType[int]):
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

    def text_of(self, size: int) -> str:
        """Return a number of bytes as a value of the option."""
        return text_of_size(size)


def whole_numbers(
    _: click.Context, param: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Parse whole numbers above 0 with commas between them; None if none are given."""
    if text is None:
        return None
    try:
        found = tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not of the form 1,2,4", param=param) from error
    if min(found) < 1:
        raise click.BadParameter("numbers are at least 1", param=param)
    return found


def text_of_size(size: int) -> str:
    """Return a number of bytes in the largest unit of which it is a multiple."""
    units = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    name, unit = next(((name, unit) for name, unit in units if size % unit == 0), ("", 1))
    return f"{size // unit}{name}"


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
            raise click.BadParameter(as_options(str(error)), param=param) from error
        return path

    return check


def folder_for_outputs(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """Return the path of a folder for outputs, which is checked before any work."""
    if value is None:
        return None
    output.check_folder(Path(value))
    return Path(value)


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
        given = sorted(given, key=natural)
    paths = []
    for name in given:
        # Storage is asked for the names of objects when they are opened.
        paths += [name] if is_url(name) else matching_files(name)
    return paths


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


def reference_of(text: str, *words: str) -> int | str:
    """Return the reference that an option gives: a frame number, a file, or one of the words.

    Raises
    ------
    FileNotFoundError
        If it is none of these.
    """
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text not in words and not os.path.lexists(text):
        also = "".join(f", nor {word}" for word in words)
        raise FileNotFoundError(
            f"{name_of(text)}: not a frame number{also}, and there is no such file"
        )
    return text


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
threads = click.option(
    "--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads. Default: all cores."
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
    click.option("--begin", type=Time(), metavar="PS", help="Take frames from this time on."),
    click.option("--end", type=Time(), metavar="PS", help="Take frames up to this time."),
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


def words(
    name: str, known: Sequence[str], default: str, help_: str
) -> Callable[[Decorated], Decorated]:
    """Return an option for known words with commas between them."""

    def split(_: click.Context, param: click.Parameter, text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        for word in found:
            if word not in known:
                raise click.BadParameter(f"{word!r} is none of {', '.join(known)}", param=param)
        return found

    return click.option(
        name, default=default, show_default=True, callback=split, metavar="A,B", help=help_
    )


def notes(opened: Trajectory, messages: Sequence[Message]) -> list[str]:
    """Return messages as lines, after those of opening the files, which a command prints once."""
    meta = click.get_current_context().meta
    # Frames were chosen by times, also where the result has none.
    messages = [*dict.fromkeys((*meta.get(_UNSTATED, ()), *messages))]
    of_opening = [one for one in messages if one.code in OF_OPENING]
    messages = [one for one in messages if one.code not in OF_OPENING]
    some = messages[:_MAX_NOTES]
    if not meta.setdefault(_OPENED, False):
        meta[_OPENED] = True
        some = [*notes_of_opening(opened), *of_opening, *some]
    lines = [line_of(one) for one in some]
    more = len(messages) - _MAX_NOTES
    return lines if more <= 0 else [*lines, f"… and {more} more (the report has all)"]


def notes_of_opening(opened: Trajectory) -> list[Message]:
    """Return notes on the order and the truncated end of the files."""
    found = []
    if click.get_current_context().meta.get(_REORDERED):
        text = f"files are read in the order of their numbers, {opened.path} first"
        found.append(Message(Code.FILE_ORDER, text))
    if cut := opened.source.reader.truncated_tail:
        text = f"{cut} bytes of an unfinished frame at the end are left out"
        found.append(Message(Code.CUT_FRAME, text))
    return found


def _frame_numbers(
    _: click.Context, param: click.Parameter, value: str | None
) -> NDArray[np.int64] | None:
    """Return the numbers in the column `frame` of a table.

    They count from 0: the last frame has no other number, and bins without a frame have -1.
    """
    if value is None:
        return None
    import csv

    numbers: list[int] = []
    with open(value, encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            for row in rows:
                numbers.append(whole_number(int(row["frame"]), "frame", least=0))
        except (KeyError, ValueError, TypeError):
            line = rows.line_num
            raise click.BadParameter(
                f"{value}: line {line} has no whole number from 0 on in a column frame", param=param
            ) from None
    if not numbers:
        raise click.BadParameter(f"{value} has no frames", param=param)
    return np.array(numbers, np.int64)


frames_file = click.option(
    "--frames-file",
    callback=_frame_numbers,
    metavar="FILE",
    help="The frames of a table, by its column frame: .csv.",
)


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
    if len(times) > 1 and not np.ptp(times):
        raise trajet.FrameError(
            f"{opened.label}: --begin and --end choose frames by their times, and all"
            f" {len(times)} frames are at {in_digits(times[0])} ps: choose them by their numbers"
            " with --start and --stop, or give the time between frames with --time-step PS"
        )
    click.get_current_context().meta[_UNSTATED] = opened.source.files.time_messages
    # --begin 1 includes a frame whose time is 0.99999994 ps.
    slack = 2 * rounding_of_times(opened.source.reader, times)
    if any(info.times == "even" for info in formats_of(opened.format)):
        # Their headers hold the time step in single precision.
        slack = np.maximum(slack, 2 * np.finfo(np.float32).eps * np.abs(times))
    steps = np.abs(np.diff(times))
    if (steps > 0).any():
        # The slack must not include neighbouring frames, if times are large.
        slack = np.minimum(slack, 0.4 * np.median(steps[steps > 0]))
    inside = np.isfinite(times) & (times >= first - slack) & (times <= last + slack)
    numbers = np.flatnonzero(inside).astype(np.int64)[:: step or 1]
    if not len(numbers):
        if begin is None:
            where = f"up to {in_digits(last)} ps"
        else:
            where = f"from {in_digits(first)} ps "
            where += "on" if end is None else f"to {in_digits(last)} ps"
        raise trajet.FrameError(
            f"{opened.label}: no frame lies {where}: times go from {in_digits(times.min())} to"
            f" {in_digits(times.max())} ps"
        )
    return numbers
