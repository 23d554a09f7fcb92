"""Files that a copy of a reader knows again, by their size and their ends."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from trajet.trajectory.trajectory import Trajectory

# Bytes at both ends of a file by which it is known again.
_END = 4096

# Path, size, and digest of both ends of a file.
Ends = tuple[str, int, str]


def identity_of(trajectory: Trajectory) -> list[Ends]:
    """Return by what the files of a trajectory are known again."""
    return [
        (
            str(segment["path"].absolute()),
            segment["size"],
            _digest_of_ends(segment["path"], segment["size"]),
        )
        for segment in trajectory.source.reader.segments()
    ]


def _digest_of_ends(path: Path, size: int) -> str:
    """Return the digest of the first bytes, and of those before this size."""
    with path.open("rb") as file:
        first = file.read(min(_END, size))
        file.seek(max(0, size - _END))
        last = file.read(min(_END, size))
    return hashlib.sha256(first + last).hexdigest()


def changed_files(before: list[Ends]) -> Iterator[str]:
    """Return the files that are others than before; one may have grown."""
    for path, size, ends in before:
        try:
            is_same = _digest_of_ends(Path(path), size) == ends
        except OSError:
            is_same = False
        if not is_same:
            yield path
