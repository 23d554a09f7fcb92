"""Folders and memory that processes of this machine share."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet.output import folder_in, temporary_folder

# Open files of this process, as Linux shows them to others.
_OPEN_FILES = Path("/proc/self/fd")


@contextmanager
def file_of(data: bytes) -> Iterator[Path]:
    """Write bytes to a file for other processes of this machine, and remove it at the end.

    It is on disk if memory has no room for it.
    """
    with ExitStack() as kept:
        memory = in_memory()
        if memory is not None:
            path = kept.enter_context(folder_in(memory)) / "spec"
            try:
                path.write_bytes(data)
            except OSError:
                kept.close()
                memory = None
        if memory is None:
            path = kept.enter_context(folder_in(None)) / "spec"
            path.write_bytes(data)
        yield path


def remove_leftovers() -> None:
    """Remove the files that dead processes of this user left in memory and on disk."""
    for place in (in_memory(), temporary_folder()):
        if place is not None:
            _trajet.remove_leftovers(place)


def in_memory() -> Path | None:
    """Return the folder of files in memory, if there is one."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def shared_buffer(kept: ExitStack, size: int) -> tuple[NDArray[np.uint8], Path]:
    """Return memory that other processes can write, and the path by which they open it.

    It is on disk if memory has no room for it. The path is valid while `kept` is open; on Linux the
    file has no name that a killed process would leave behind.

    Raises
    ------
    MemoryError
        If there is no room on the disk either.
    """
    if size == 0:
        return np.zeros(0, np.uint8), Path()
    folders = [place for place in (in_memory(), temporary_folder()) if place is not None]
    for place in folders:
        try:
            file = _reserved(kept, place, size)
        except OSError as error:
            full = error
        else:
            return np.asarray(np.memmap(file, np.uint8, "r+", shape=(size,))), path_of(file)
    raise MemoryError(
        f"{-(-size // 2**30)} GiB are needed for the numbers of all frames, which"
        f" {' and '.join(map(str, folders))} have no room for"
    ) from full


def _reserved(kept: ExitStack, place: Path, size: int) -> IO[bytes]:
    """Return a temporary file, whose bytes are allocated already."""
    with ExitStack() as own:
        file = own.enter_context(temporary_file(place))
        output.allocate(file.fileno(), 0, size)
        kept.enter_context(own.pop_all())
    return file


def temporary_file(place: Path | None = None) -> IO[bytes]:
    """Return a temporary file that is removed when it is closed; None: in the usual folder.

    It has a name only where other processes could not open it otherwise, see `path_of`.
    """
    import tempfile

    if _OPEN_FILES.is_dir():
        return tempfile.TemporaryFile(dir=place)
    return tempfile.NamedTemporaryFile(dir=place)


def path_of(file: IO[bytes]) -> Path:
    """Return the path by which other processes of this machine open a file of `temporary_file`."""
    if _OPEN_FILES.is_dir():
        return Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    return Path(file.name)
