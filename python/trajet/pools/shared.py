"""Memory that other processes of this machine see."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@contextmanager
def folder_in(place: Path | None) -> Iterator[Path]:
    """Make a folder that other processes of this machine see."""
    folder = Path(tempfile.mkdtemp(prefix=f"trajet-{os.getpid()}-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def in_memory() -> Path | None:
    """Return where files live in memory, if there is such a place."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def shared_rows(kept: ExitStack, path: Path, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return rows that other processes can write; on disk where memory has no room for them.

    Raises
    ------
    MemoryError
        If there is no room on the disk either.
    """
    size = 8 * shape[0] * shape[1]
    if size == 0:
        return np.zeros(shape)
    try:
        _reserve(path, size)
    except OSError:
        path.unlink(missing_ok=True)
        there = kept.enter_context(folder_in(None)) / path.name
        try:
            _reserve(there, size)
        except OSError as error:
            raise MemoryError(
                f"{-(-size // 2**30)} GiB are needed for the numbers of all frames, which neither"
                f" {path.parent.parent} nor {there.parent.parent} has"
            ) from error
        path.symlink_to(there)
    return np.asarray(np.memmap(path, np.float64, "r+", shape=shape))


def _reserve(path: Path, size: int) -> None:
    """Make a file of this size that a write cannot find full."""
    with path.open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
