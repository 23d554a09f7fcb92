"""Files that are written: checked before the work, written beside, renamed when whole."""

import contextlib
import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from trajet import _trajet
from trajet._trajet import OutputError

# Bytes that are sent to the disk at a time, while others are written.
_SYNCED = 2**25
# How often a hidden folder is removed where it is not gone, and the seconds in between.
_REMOVALS = 20
_BETWEEN = 0.05

# Names that this process has given to files and folders until they are whole.
_unfinished: set[Path] = set()


def check(path: Path, suffixes: tuple[str, ...]) -> None:
    """Make sure that `path` can be written later.

    Parameters
    ----------
    path
        Where the output will go.
    suffixes
        The endings that the writer knows.

    Raises
    ------
    ValueError
        If the path has another ending.
    OutputError
        If its folder is missing or cannot be written, or it is a folder itself.
    """
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise ValueError(f"{path}: the name of this output must end in {known}")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}: make it first")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(
            f"{path}: the folder {path.parent} cannot be written: {error.strerror}: write it"
            " elsewhere"
        ) from error


def check_new(path: Path) -> None:
    """Make sure that nothing stands at `path`.

    Raises
    ------
    OutputError
        If there is something.
    """
    if os.path.lexists(path):
        raise OutputError(
            f"{path}: is there already: give another name, or replace it with --force (force=True)"
        )


def refused(path: Path, error: OSError | RuntimeError) -> OutputError:
    """Return the error of an output that the operating system refuses."""
    return OutputError(f"{path}: cannot be written: {why(error)}")


def why(error: Exception) -> str:
    """Return what the operating system said, and what to do where that is known."""
    number = error.errno if isinstance(error, OSError) else None
    # HDF5's library hides it among names and addresses.
    if number is None and (found := re.search(r"errno = (\d+)", str(error))):
        number = int(found[1])
    said = str(error) if number is None else os.strerror(number)
    if number in (errno.ENOSPC, errno.EDQUOT):
        said += ": make room, or write it elsewhere"
    return said


def name_beside(path: Path) -> Path:
    """Return a name that nobody else takes, for what becomes `path` once it is whole.

    Where the process is killed, the next one that writes into that folder removes the file.
    """
    # Some writers go by the ending.
    return unfinished(path.with_name(_trajet.temporary_name(path.parent) + path.suffix))


def unfinished(own: Path) -> Path:
    """Return a path that `remove_unfinished` removes, if there is something then."""
    _unfinished.add(own)
    return own


def make_new(own: Path) -> None:
    """Make an empty file, as private as the user's mask says; never through a link.

    Raises
    ------
    OSError
        If there is something, or it cannot be made.
    """
    os.close(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))


def remove_unfinished() -> None:
    """Remove all files and folders that this process has begun and not finished."""
    for own in list(_unfinished):
        with contextlib.suppress(OSError):
            if own.is_dir() and not own.is_symlink():
                shutil.rmtree(own)
            else:
                own.unlink()


@contextlib.contextmanager
def beside(path: Path, *, force: bool = True) -> Iterator[Path]:
    """Give a path of its own to write a file to, which becomes `path` once it is whole.

    Parameters
    ----------
    path
        Where the output goes.
    force
        Whether to replace what stands there then.

    Raises
    ------
    OutputError
        If writing fails; then nothing is left behind.
    """
    own = name_beside(path)
    try:
        make_new(own)
        yield own
        with own.open("rb") as file:
            os.fsync(file.fileno())
        give_name(own, path, force=force)
    except BaseException as error:
        with contextlib.suppress(OSError):
            own.unlink()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise refused(path, error) from error
        raise
    _unfinished.discard(own)


@contextlib.contextmanager
def synced_on_the_way(own: Path) -> Iterator[Callable[[int], None]]:
    """Bring a file to the disk while it grows, so that little is left to do when it is whole.

    What is given is called with the number of bytes that were written since. The system tells a
    failure of the disk once: it is raised there, or at the end.
    """
    with own.open("rb") as file, ThreadPoolExecutor(1, "trajet-sync") as executor:
        last: Future[None] | None = None
        since = 0

        def wrote(n: int) -> None:
            nonlocal last, since
            since += n
            if since < _SYNCED or (last is not None and not last.done()):
                return
            if last is not None:
                last.result()
            last, since = executor.submit(os.fsync, file.fileno()), 0

        yield wrote
        if last is not None:
            last.result()


def give_name(own: Path, path: Path, *, force: bool) -> None:
    """Give a whole file its name; what stands there is replaced only by `force`.

    Raises
    ------
    OutputError
        If it cannot have it.
    """
    try:
        if force:
            os.replace(own, path)
            return
        try:
            # In one step: a file that somebody else made meanwhile stays.
            os.link(own, path)
        except OSError:
            # It is there, or the file system has no links.
            check_new(path)
            os.replace(own, path)
        else:
            own.unlink()
    except OutputError:
        raise
    except OSError as error:
        raise refused(path, error) from error


@contextlib.contextmanager
def folder_within(folder: Path) -> Iterator[Path]:
    """Give a hidden folder for files that move to `folder` once all are whole; it goes at the end.

    Other processes may write into it. What one of them that died leaves there goes too.

    Raises
    ------
    OutputError
        If it cannot be made.
    """
    own = name_beside(folder / "parts")
    # Ctrl-C may be met as soon as it is there.
    try:
        try:
            own.mkdir()
        except OSError as error:
            raise refused(folder, error) from error
        yield own
    finally:
        # Who was told to stop may just be making a file in there.
        for _ in range(_REMOVALS):
            shutil.rmtree(own, ignore_errors=True)
            if not own.exists():
                break
            time.sleep(_BETWEEN)


def write(path: Path, writer: Callable[[IO[bytes]], object]) -> None:
    """Write a file beside `path` and rename it, so that `path` is never half a file.

    Parameters
    ----------
    path
        Where the output goes; what stands there is replaced.
    writer
        Called with the open file.

    Raises
    ------
    OutputError
        If writing fails; then nothing is left behind.
    """
    with beside(path) as own, own.open("wb") as file:
        writer(file)
