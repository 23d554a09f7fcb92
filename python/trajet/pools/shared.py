"""Memory that other processes of this machine see."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Make a folder that other processes of this machine see, in memory where there is one."""
    memory = Path("/dev/shm")
    folder = Path(
        tempfile.mkdtemp(prefix="trajet-", dir=memory if os.access(memory, os.W_OK) else None)
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def shared_rows(path: Path, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return rows that other processes can write; on disk where memory has no room for them.

    Raises
    ------
    OSError
        If there is no room on the disk either.
    """
    size = 8 * shape[0] * shape[1]
    if size == 0:
        return np.zeros(shape)
    try:
        _reserve(path, size)
    except OSError:
        path.unlink(missing_ok=True)
        elsewhere = Path(tempfile.mkdtemp(prefix="trajet-")) / path.name
        _reserve(elsewhere, size)
        path.symlink_to(elsewhere)
    return np.asarray(np.memmap(path, np.float64, "r+", shape=shape))


def _reserve(path: Path, size: int) -> None:
    """Make a file of this size that a write cannot find full."""
    with path.open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
