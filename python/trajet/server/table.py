"""The table of what is served: names, and the files and trajectories that they stand for.

No request reaches a file that is not in the table; paths of this machine are in no answer.
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trajet import _trajet
from trajet.dataset import DatasetPath, is_store
from trajet.store.catalog import Store
from trajet.store.link_folder import links_of

# Seconds between two readings of the stores, which may change while they are served.
_AGAIN = 1.0


@dataclass(frozen=True)
class _Names:
    """What names stand for at one time: both are replaced together, while others read them."""

    files: dict[str, Path]
    trajectories: dict[str, str]

    def trajectory(self, name: str) -> str | None:
        """Return what to open as a trajectory; None if there is none."""
        # The name of a file may have @ and commas.
        if (found := self.trajectories.get(name)) is not None:
            return found
        dataset, at, tags = name.partition("@")
        path = self.trajectories.get(dataset)
        parts = [f"{dataset}@{tag}" for tag in tags.split(",")]
        if not at or path is None or not all(part in self.trajectories for part in parts):
            return None
        return f"{path}@{tags}"


@dataclass
class Table:
    """Files and trajectories by the names under which they are served.

    Attributes
    ----------
    paths
        The files and stores that were given. A file has its own name; files of a store are
        `STORE/NAME.psf` (topology of a data set) and `STORE/NAME@TAG.xtc`, as `trajet store link`
        names them.
    """

    paths: Sequence[Path]
    _now: "_Names" = field(default_factory=lambda: _Names({}, {}))
    _read_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read the table.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            If a path is neither a file nor a store.
        ValueError
            If two paths would be served under the same name.
        """
        names: dict[str, Path] = {}
        for path in self.paths:
            if not path.exists():
                raise FileNotFoundError(f"{path}: no such file or store")
            if not path.is_file() and not is_store(path):
                raise IsADirectoryError(f"{path}: is neither a file nor a store: name its files")
            name = _name_of(path)
            if (other := names.setdefault(name, path)) is not path:
                raise ValueError(f"{other} and {path} have the same name: serve one of them")
        self._read()

    def _read(self) -> None:
        # Stores that cannot be read for a moment are not read again for every request.
        self._read_at = time.monotonic()
        files: dict[str, Path] = {}
        trajectories: dict[str, str] = {}
        for path in self.paths:
            name = _name_of(path)
            if not is_store(path):
                files[name] = path.resolve()
                trajectories[name] = str(path.resolve())
                continue
            for dataset, entry_files in _datasets(path):
                trajectories[f"{name}/{dataset}"] = str(path.absolute() / dataset)
                for file, target in entry_files.items():
                    files[f"{name}/{file}"] = target
                    tag = file.partition(".")[0]
                    if "@" in tag:
                        trajectories.setdefault(f"{name}/{tag}", str(path.absolute() / tag))
                    trajectories[f"{name}/{file}"] = str(target)
        self._now = _Names(files, trajectories)

    def file(self, name: str) -> Path | None:
        """Return the path of a file, resolved; None if no file has this name.

        Stores are read again if the file is unknown or not where it was.
        """
        path = self._now.files.get(name)
        if path is None or not path.exists():
            self._refresh()
        return self._now.files.get(name)

    def trajectory(self, name: str) -> str | None:
        """Return what to open as a trajectory: a file, or a data set or tags of a store."""
        found = self._now.trajectory(name)
        if found is None:
            self._refresh()
            found = self._now.trajectory(name)
        return found

    def _refresh(self) -> None:
        """Read the stores again, at most once a second."""
        with self._lock:
            if time.monotonic() - self._read_at > _AGAIN:
                self._read()

    def files(self) -> dict[str, Path]:
        """Return all files by name."""
        return dict(self._now.files)

    def datasets(self) -> list[str]:
        """Return the names of the data sets that are served."""
        now = self._now
        return [name for name in now.trajectories if name not in now.files and "@" not in name]

    def listing(self, folder: str) -> list[dict[str, str | int | bool]] | None:
        """Return the entries of a folder, as MDsrv lists them; None if there is no such folder."""
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        found: dict[str, dict[str, str | int | bool]] = {}
        for name, path in sorted(self._now.files.items()):
            if not name.startswith(prefix):
                continue
            first, inner, _ = name.removeprefix(prefix).partition("/")
            if inner:
                found[first] = {"name": first, "path": f"{prefix}{first}", "dir": True}
            else:
                size = path.stat().st_size if path.exists() else 0
                found[first] = {"name": first, "path": name, "size": size}
        return list(found.values()) if found or not prefix else None


def _name_of(path: Path) -> str:
    """Return the name of a path that was given, such as "md" for "md/", "." or "md/run/.."."""
    return path.resolve().name if path.name in ("", "..") else path.name


def _datasets(folder: Path) -> Iterator[tuple[str, dict[str, Path]]]:
    """Yield the readable data sets of a store, each with its files by name."""
    store = Store(folder)
    native = _trajet.Store(folder.absolute())
    entries, _ = store.show_all()
    for entry in entries:
        files = {name: path.resolve() for name, path in links_of(entry)}
        manifest = json.loads(native.manifest(entry.name))
        beside = DatasetPath(folder.absolute(), entry.name, None, entry.name)
        topology = beside.folder / beside.name / os.path.basename(manifest["topology"]["file"])
        files[f"{entry.name}{topology.suffix}"] = topology
        yield entry.name, files
