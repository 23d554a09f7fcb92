"""Memory that is available, and checks before it is taken.

Linux gives memory that it does not have, and kills processes when they use it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

# States that a thread holds at most, with those that wait to be merged.
STATES = 8
# Smaller amounts are not compared with the memory of the system.
_MUCH = 2**28
_MEMORY = Path("/proc/meminfo")
_GROUPS = Path("/proc/self/cgroup")
_GROUP_FOLDER = Path("/sys/fs/cgroup")
# Limit, usage, and files that the system has read, which give way; of versions 2 and 1.
_NAMES = ("memory.max", "memory.current", "inactive_file")
_OLD_NAMES = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available() -> int | None:
    """Return the bytes that the system, and the control groups of this process, have available.

    None if the system does not say.
    """
    found = [*_of_system(), *_of_groups()]
    return min(found) if found else None


def _of_system() -> Iterator[int]:
    """Yield the bytes that are available without swapping."""
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield 1024 * int(line.split()[1])


def _of_groups() -> Iterator[int]:
    """Yield the bytes that each control group of this process may still take."""
    lines: list[str] = []
    with suppress(OSError, ValueError):
        lines = _GROUPS.read_text().splitlines()
    for line in lines:
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds not in ("", "memory") and "memory" not in kinds.split(","):
            continue
        root, names = _GROUP_FOLDER, _NAMES
        if kinds:
            root, names = root / "memory", _OLD_NAMES
        folder = root / path.lstrip("/")
        while folder != root and root in folder.parents:
            yield from _of_group(folder, *names)
            folder = folder.parent
        # In a container it may be the group of this process.
        yield from _of_group(root, *names)


def _of_group(folder: Path, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Yield the bytes that a control group may still take, if it has a limit."""
    with suppress(OSError, ValueError, IndexError):
        # "max" is no number.
        free = int((folder / limit).read_text()) - int((folder / usage).read_text())
        with suppress(OSError):
            for line in (folder / "memory.stat").read_text().splitlines():
                name, _, size = line.partition(" ")
                free += int(size) if name == cached else 0
        yield max(0, free)


def connections_that_fit(connections: int, least: int, bytes_each: int) -> int:
    """Return how many of some connections to remote storage the available memory has room for.

    Each waits in a thread, which holds states and frames like a thread that computes.

    Parameters
    ----------
    connections
        The connections that were asked for.
    least
        Returned where less than that has room: the threads that there are in any case.
    bytes_each
        Bytes that each of their threads may take.
    """
    if connections * bytes_each <= _MUCH or (limit := available()) is None:
        return connections
    return min(connections, max(least, limit // bytes_each, 1))


def check_memory(parts: Sequence[tuple[str, int]], max_memory: int | None, advice: str) -> None:
    """Raise an error if a run needs more memory than it may take, or than there is.

    Parameters
    ----------
    parts
        For each part its name in messages, and its number of bytes.
    max_memory
        Bytes; None for the memory that is available.
    advice
        End of the message: how to need less memory.

    Raises
    ------
    MemoryError
        If the parts together exceed the limit.
    """
    needed = sum([size for _, size in parts])
    if max_memory is None:
        if needed <= _MUCH or (limit := available()) is None:
            return
        named = f"{in_bytes(limit)} are available"
    else:
        limit, named = max_memory, f"max_memory is {in_bytes(max_memory)}"
    if needed > limit:
        listed = ", ".join(f"{what} {in_bytes(size)}" for what, size in parts)
        raise MemoryError(f"{in_bytes(needed)} are needed ({listed}), and {named}: {advice}")


def check_limit(max_memory: int | None) -> None:
    """Raise an error if a memory limit is not a positive number of bytes.

    Raises
    ------
    ValueError
        If it is not above 0.
    """
    if max_memory is not None and not max_memory > 0:
        raise ValueError(f"max_memory is a number of bytes above 0, not {max_memory!r}")


def in_bytes(size: int) -> str:
    """Return a number of bytes as text, such as `1.5 GiB`."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
