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
    _files: dict[str, Path] = field(default_factory=dict)
    _trajectories: dict[str, str] = field(default_factory=dict)
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
        self._files, self._trajectories = files, trajectories
        self._read_at = time.monotonic()

    def file(self, name: str) -> Path | None:
        """Return the path of a file, resolved; None if no file has this name.

        Stores are read again if the file is unknown or not where it was.
        """
        path = self._files.get(name)
        if path is None or not path.exists():
            self._refresh()
        return self._files.get(name)

    def trajectory(self, name: str) -> str | None:
        """Return what to open as a trajectory: a file, or a data set or tags of a store."""
        dataset, at, tags = name.partition("@")
        parts = [f"{dataset}@{tag}" for tag in tags.split(",")] if at else [name]
        if not all(part in self._trajectories for part in parts):
            self._refresh()
        found = [self._trajectories.get(part) for part in parts]
        if not parts[1:] or None in found:
            return None if None in found else found[0]
        return f"{self._trajectories[dataset]}@{tags}"

    def _refresh(self) -> None:
        """Read the stores again, at most once a second."""
        with self._lock:
            if time.monotonic() - self._read_at > _AGAIN:
                self._read()

    def files(self) -> dict[str, Path]:
        """Return all files by name."""
        return dict(self._files)

    def datasets(self) -> list[str]:
        """Return the names of the data sets that are served."""
        return [name for name in self._trajectories if name not in self._files and "@" not in name]

    def listing(self, folder: str) -> list[dict[str, str | int | bool]] | None:
        """Return the entries of a folder, as MDsrv lists them; None if there is no such folder."""
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        found: dict[str, dict[str, str | int | bool]] = {}
        for name, path in sorted(self._files.items()):
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
    """Return the name of a path that was given, such as "md" for "md/" or "."."""
    return path.name or path.resolve().name


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
