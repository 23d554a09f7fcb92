"""Positions of all frames in memory, for analyses that compare or combine all of them."""

from collections.abc import Sequence

from trajet import _trajet
from trajet.pools.local import LocalPool
from trajet.pools.pool import Pool


def threads_of(pool: Pool | None) -> int:
    """Return the number of threads of this process that compute once the frames are collected.

    All cores, or as many as a `LocalPool` has.
    """
    return pool.n_threads if isinstance(pool, LocalPool) else _trajet.available_threads()


def check_memory(parts: Sequence[tuple[str, int]], max_memory: int | None, advice: str) -> None:
    """Raise an error if an analysis needs more memory than it may take.

    Parameters
    ----------
    parts
        For each part its name in messages, and its number of bytes.
    max_memory
        Bytes; None for no limit but that of the system.
    advice
        End of the message: how to need less memory.

    Raises
    ------
    MemoryError
        If the parts together exceed the limit.
    """
    needed = sum(size for _, size in parts)
    if max_memory is not None and needed > max_memory:
        listed = ", ".join(f"{what} {in_bytes(size)}" for what, size in parts)
        raise MemoryError(
            f"{in_bytes(needed)} are needed ({listed}), and max_memory is {in_bytes(max_memory)}:"
            f" {advice}"
        )


def check_limit(max_memory: int | None) -> None:
    """Raise an error if a memory limit is not a positive number of bytes.

    Raises
    ------
    ValueError
        If it is not above 0.
    """
    if max_memory is not None and max_memory <= 0:
        raise ValueError(f"max_memory is a number of bytes above 0, not {max_memory!r}")


def in_bytes(size: int) -> str:
    """Return a number of bytes as text, such as `1.5 GiB`."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
