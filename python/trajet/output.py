"""Output files: checked before the work, written beside their path, renamed when complete.

Where a file is (`destination`), its permissions and its renaming are the rule of the native writers
(`trajet_files::output`).
"""

import contextlib
import errno
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from trajet import _trajet, signals
from trajet._trajet import OutputError

if TYPE_CHECKING:
    from concurrent.futures import Future

# Bytes between two calls of fsync while a file is written.
_SYNCED = 2**25
# Attempts at removing a hidden folder, and the seconds between them.
_REMOVALS = 20
_BETWEEN = 0.05

# Temporary files and folders of this process that are not complete, and where those belong that
# become outputs.
_unfinished: dict[Path, Path | None] = {}
# A forked process leaves those of its parent alone.
os.register_at_fork(after_in_child=_unfinished.clear)


def destination(path: Path) -> Path:
    """Return where the file of an output is: an absolute path, behind all links of its name.

    Raises
    ------
    OutputError
        If a link cannot be followed.
    """
    try:
        return _trajet.destination(path)
    except OSError as error:
        raise refused(path, error) from error


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
        If its folder is missing or cannot be written, or the path is a folder or a device.
    """
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise ValueError(f"{path}: the name of this output must end in {known}")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: give the name of a file in it")
    place = destination(path)
    if place.exists() and not place.is_file():
        raise OutputError(f"{path}: is no regular file: give the name of a file")
    folder = place.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise OutputError(f"{path}: there is no folder {folder}: create it first")
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"{path}: the folder {folder} cannot be written: {error.strerror}: choose another"
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
        If there is a file or folder.
    """
    if path.exists():
        raise OutputError(
            f"{path}: already exists: give another name, or replace it with force=True"
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

    Raises
    ------
    OutputError
        If `path` is a link that cannot be followed.
    """
    place = destination(path)
    # Some writers choose the format by the ending.
    own = temporary_in(place.parent, path.suffix)
    _unfinished[own] = place
    return own


def temporary_in(folder: Path, suffix: str = "") -> Path:
    """Return a unique temporary name in a folder, which is removed as that of `name_beside`."""
    folder = folder.absolute()
    return unfinished(folder / (_trajet.temporary_name(folder) + suffix))


def unfinished(own: Path) -> Path:
    """Register a path that `signals.end` will remove if it exists, and return it."""
    _unfinished[own] = None
    return own


def make_new(own: Path) -> None:
    """Create a file of `name_beside`, with the permissions of the file that it will replace.

    Raises
    ------
    OSError
        If it exists, or cannot be created.
    """
    _trajet.create_file_beside(own, _unfinished.get(own) or own)


def remove(own: Path) -> None:
    """Remove a temporary file or folder if it exists and this process has registered it."""
    if own not in _unfinished:
        return
    with contextlib.suppress(OSError):
        if own.is_dir() and not own.is_symlink():
            import shutil

            shutil.rmtree(own, ignore_errors=True)
        else:
            own.unlink()
    if not os.path.lexists(own):
        del _unfinished[own]


def unfinished_paths() -> list[Path]:
    """Return all temporary files and folders that this process has not completed."""
    return list(_unfinished)


def remove_unfinished() -> None:
    """Remove all temporary files and folders that this process has not completed."""
    for own in unfinished_paths():
        remove(own)


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
        remove(own)
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise refused(path, error) from error
        raise


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
    """Rename a complete file of `name_beside` to `path`; replace a file only with `force`.

    Raises
    ------
    OutputError
        If `path` exists and `force` is False, or the file cannot be renamed; it is kept, and the
        error names it.
    """
    place = _unfinished.pop(own, None)
    if place is None:
        raise OutputError(f"{path}: another process writes it: write a file of another name")
    _trajet.publish_file(path, place, own, force=force)


@contextlib.contextmanager
def folder_within(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder in `folder` for incomplete files; remove it at the end.

    Other processes may write into it, too. Files that they leave behind are removed with it.

    Raises
    ------
    OutputError
        If the folder cannot be created.
    """
    own = temporary_in(folder)
    # Ctrl-C may come as soon as the folder exists.
    try:
        try:
            own.mkdir(0o700)
        except OSError as error:
            raise refused(folder, error) from error
        yield own
    finally:
        # A worker that is being stopped may still create a file in it.
        for _ in range(_REMOVALS):
            remove(own)
            if own not in _unfinished:
                break
            time.sleep(_BETWEEN)


@contextlib.contextmanager
def folder_in(place: Path | None) -> Iterator[Path]:
    """Make a folder in `place` (None: that of temporary files) and remove it at the end.

    Other users cannot read it. If this process is killed, the next one that makes a folder there
    removes it.
    """
    place = temporary_folder() if place is None else place
    _trajet.remove_leftovers(place)
    folder = place / f"trajet-{_trajet.process_mark()}-{os.urandom(6).hex()}"
    unfinished(folder)
    try:
        folder.mkdir(0o700)
        yield folder
    finally:
        # Threads and processes of an interrupted command may make files in it until `signals.end`.
        if signals.received() is None:
            remove(folder)


def temporary_folder() -> Path:
    """Return the folder of temporary files, that of `tempfile.gettempdir`.

    The import of `tempfile` takes several milliseconds, of every command.
    """
    # The first call of `gettempdir` also makes a file to try a folder, which an interrupt leaves.
    chosen = filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))
    first = next(chosen, "/tmp")
    if (
        "tempfile" not in sys.modules
        and os.path.isdir(first)
        and os.access(first, os.W_OK | os.X_OK)
    ):
        return Path(first).absolute()
    import tempfile

    return Path(tempfile.gettempdir())


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
