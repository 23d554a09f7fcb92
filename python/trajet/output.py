"""Output files: checked before the work, written beside their path, renamed when complete."""

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from trajet import _trajet
from trajet._trajet import OutputError

if TYPE_CHECKING:
    from concurrent.futures import Future

# Bytes between two calls of fsync while a file is written.
_SYNCED = 2**25
# Attempts at removing a hidden folder, and the seconds between them.
_REMOVALS = 20
_BETWEEN = 0.05

# Temporary files and folders of this process that are not complete.
_unfinished: set[Path] = set()


def check(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise an error if `path` cannot be written later.

    Parameters
    ----------
    path
        Path of the output.
    suffixes
        Allowed file name endings.

    Raises
    ------
    ValueError
        If the path has another ending.
    OutputError
        If its folder is missing or cannot be written, or the path is a folder.
    """
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise ValueError(f"{path}: the name of this output must end in {known}")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}: create it first")
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(
            f"{path}: the folder {path.parent} cannot be written: {error.strerror}: choose another"
            " folder"
        ) from error


def allocate(file: int, begin: int, size: int) -> None:
    """Take room on the disk for bytes of an open file that are not written yet.

    Raises
    ------
    OSError
        If there is no room.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, begin, size)
        return
    # macOS has no such function.
    zeros = memoryview(bytes(min(size, 2**20)))
    end = begin + size
    while begin < end:
        begin += os.pwrite(file, zeros[: end - begin], begin)


def check_folder(path: Path) -> None:
    """Raise an error if `path` is not a folder for NumPy files and cannot become one.

    Raises
    ------
    OutputError
        If it is a file or has the name of one, or the folder above is missing.
    """
    if path.suffix == ".npy":
        raise OutputError(f"{path}: give the name of a folder: each array has a file in it")
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file: give the name of a folder")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}: create it first")


def check_new(path: Path) -> None:
    """Raise an error if `path` exists.

    Raises
    ------
    OutputError
        If there is a file, folder or link.
    """
    if os.path.lexists(path):
        raise OutputError(
            f"{path}: already exists: give another name, or replace it with --force (force=True)"
        )


def refused(path: Path, error: OSError | RuntimeError) -> OutputError:
    """Return the OutputError for an error of the operating system or of HDF5."""
    return OutputError(f"{path}: cannot be written: {why(error)}")


def why(error: Exception) -> str:
    """Return the operating system's message, with advice if the disk is full."""
    number = error.errno if isinstance(error, OSError) else None
    # HDF5's library gives the number within a longer message.
    if number is None and (found := re.search(r"errno = (\d+)", str(error))):
        number = int(found[1])
    message = str(error) if number is None else os.strerror(number)
    if number in (errno.ENOSPC, errno.EDQUOT):
        message += ": make room, or write it elsewhere"
    return message


def name_beside(path: Path) -> Path:
    """Return a unique temporary name for a file that becomes `path` when it is complete.

    If this process is killed, the next process that writes into the folder removes the file.
    """
    # Some writers choose the format by the ending.
    return unfinished(path.with_name(_trajet.temporary_name(path.parent) + path.suffix))


def unfinished(own: Path) -> Path:
    """Register a path that `remove_unfinished` will remove if it exists, and return it."""
    _unfinished.add(own)
    return own


def make_new(own: Path) -> None:
    """Create an empty file with the permissions of the user's umask; never follow a link.

    Raises
    ------
    OSError
        If the path exists, or the file cannot be created.
    """
    os.close(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))


def remove_unfinished() -> None:
    """Remove all temporary files and folders that this process has not completed."""
    for own in list(_unfinished):
        with contextlib.suppress(OSError):
            if own.is_dir() and not own.is_symlink():
                import shutil

                shutil.rmtree(own)
            else:
                own.unlink()


@contextlib.contextmanager
def replacing_file(path: Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`; sync and rename it to `path` at the end.

    Parameters
    ----------
    path
        Path of the output.
    force
        Whether to replace an existing file.

    Raises
    ------
    OutputError
        If writing fails; the temporary file is removed then.
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
    """Sync a file to the disk in a thread while it grows, so that the last sync is short.

    Yields a function to call with the number of bytes written since its last call. The system
    reports a failure of the disk once; that error is raised in this function or at the end.
    """
    from concurrent.futures import ThreadPoolExecutor

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
    """Rename a complete file to `path`; replace an existing file only with `force`.

    Raises
    ------
    OutputError
        If `path` exists and `force` is False, or the file cannot be renamed.
    """
    try:
        if force:
            os.replace(own, path)
            return
        try:
            # Atomic: a file that another process created meanwhile is kept.
            os.link(own, path)
        except OSError:
            # The path exists, or the file system has no hard links.
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
    """Yield a hidden folder in `folder` for incomplete files; remove it at the end.

    Other processes may write into it, too. Files that they leave behind are removed with it.

    Raises
    ------
    OutputError
        If the folder cannot be created.
    """
    import shutil

    own = name_beside(folder / "parts")
    # Ctrl-C may come as soon as the folder exists.
    try:
        try:
            own.mkdir()
        except OSError as error:
            raise refused(folder, error) from error
        yield own
    finally:
        # A worker that is being stopped may still create a file in it.
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
        Path of the output; an existing file is replaced.
    writer
        Called with the open file.

    Raises
    ------
    OutputError
        If writing fails; the temporary file is removed then.
    """
    with replacing_file(path) as own, own.open("wb") as file:
        writer(file)
