"""`SharedTopologies`: equal topology files of several trajectories are parsed once."""

import contextlib
import hashlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from threading import Lock

from trajet import _trajet
from trajet.topology import SidecarUse, Topology
from trajet.topology import load as load_structure

# Most topologies that stay in memory; those that were used last are kept.
MOST_SHARED = 64

_current: ContextVar["SharedTopologies | None"] = ContextVar("shared_topologies", default=None)


class SharedTopologies:
    """Parsed topologies by the digests of their files.

    Attributes
    ----------
    n_parsed
        The number of files that were parsed.
    """

    def __init__(self) -> None:
        self.n_parsed = 0
        self._lock = Lock()
        # Digests by path, size and time of change.
        self._digests: dict[tuple[Path, int, int], str] = {}
        self._parsed: dict[tuple[str, str], _trajet.Topology] = {}

    def load(self, path: Path, sidecar: SidecarUse) -> Topology:
        """Return the topology of a file, which is parsed if no file with its bytes was.

        Raises
        ------
        FileNotFoundError, IsADirectoryError, FormatError, MissingPackageError
            As `trajet.topology.load`.
        """
        if not path.is_file():
            return load_structure(path, sidecar).topology
        with self._lock:
            key = self._key(path)
            native = self._parsed.pop(key, None)
            if native is None:
                native = load_structure(path, sidecar).topology.native
                self.n_parsed += 1
            self._parsed[key] = native
            while len(self._parsed) > MOST_SHARED:
                del self._parsed[next(iter(self._parsed))]
        return Topology(native, path)

    def key_of(self, path: Path) -> tuple[str, str]:
        """Return a key that topology files with the same bytes share, of others their path."""
        if not path.is_file():
            return "", str(path)
        with self._lock:
            return self._key(path)

    def _key(self, path: Path) -> tuple[str, str]:
        # The format may follow from the ending.
        return self._digest(path), path.suffix.lower()

    def _digest(self, path: Path) -> str:
        stat = path.stat()
        stamp = path.resolve(), stat.st_size, stat.st_mtime_ns
        if stamp not in self._digests:
            with path.open("rb") as file:
                self._digests[stamp] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[stamp]


def current() -> SharedTopologies | None:
    """Return the topologies that trajectories opened now share; None if they share none."""
    return _current.get()


@contextlib.contextmanager
def sharing(topologies: SharedTopologies) -> Iterator[None]:
    """Have trajectories that are opened in the block load their topologies from `topologies`."""
    token = _current.set(topologies)
    try:
        yield
    finally:
        _current.reset(token)
