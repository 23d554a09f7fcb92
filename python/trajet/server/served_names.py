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
from trajet._trajet import TrajetError
from trajet.dataset import DatasetPath, StoreFile, is_store
from trajet.store.catalog import Store
from trajet.store.link_folder import links_of, tag_files

# Seconds between two readings of the stores, which may change while they are served.
_AGAIN = 1.0


@dataclass(frozen=True)
class TagFile:
    """A file of a tag of a store, and its frames."""

    file: StoreFile
    frames: DatasetPath


@dataclass(frozen=True)
class _Names:
    """What names stand for at one time: both are replaced together, while others read them."""

    files: dict[str, Path | StoreFile]
    trajectories: dict[str, str | TagFile]

    def trajectory(self, name: str) -> str | TagFile | None:
        """Return what to open as a trajectory; None if there is none."""
        # The name of a file may have @ and commas.
        if (found := self.trajectories.get(name)) is not None:
            return found
        dataset, at, tags = name.partition("@")
        path = self.trajectories.get(dataset)
        parts = [f"{dataset}@{tag}" for tag in tags.split(",")]
        if (
            not at
            or not isinstance(path, str)
            or not all(part in self.trajectories for part in parts)
        ):
            return None
        return f"{path}@{tags}"


@dataclass
class ServedNames:
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
        files: dict[str, Path | StoreFile] = {}
        trajectories: dict[str, str | TagFile] = {}
        for path in self.paths:
            name = _name_of(path)
            if not is_store(path):
                files[name] = path.resolve()
                trajectories[name] = str(path.resolve())
                continue
            for found, target in _names_in(path):
                if isinstance(target, StoreFile):
                    files[f"{name}/{found}"] = target
                else:
                    trajectories[f"{name}/{found}"] = target
        self._now = _Names(files, trajectories)

    def file(self, name: str) -> Path | StoreFile | None:
        """Return a file: its path, resolved, or that in a store; None if no file has this name.

        Stores are read again if the file is unknown or not where it was.
        """
        path = self._now.files.get(name)
        if path is None or not _path_of(path).exists():
            self._refresh()
        return self._now.files.get(name)

    def trajectory(self, name: str) -> str | TagFile | None:
        """Return what to open as a trajectory: a file, or a data set, tags or a file of a store."""
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

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files by name, bytes."""
        return {name: _size(file) for name, file in self._now.files.items()}

    def datasets(self) -> list[str]:
        """Return the names of the data sets that are served."""
        now = self._now
        return [name for name in now.trajectories if name not in now.files and "@" not in name]

    def listing(self, folder: str) -> list[dict[str, str | int | bool]] | None:
        """Return the entries of a folder, as MDsrv lists them; None if there is no such folder."""
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        found: dict[str, dict[str, str | int | bool]] = {}
        for name, file in sorted(self._now.files.items()):
            if not name.startswith(prefix):
                continue
            first, inner, _ = name.removeprefix(prefix).partition("/")
            if inner:
                found[first] = {"name": first, "path": f"{prefix}{first}", "dir": True}
            else:
                found[first] = {"name": first, "path": name, "size": _size(file)}
        return list(found.values()) if found or not prefix else None


def _name_of(path: Path) -> str:
    """Return the name of a path that was given, such as "md" for "md/", "." or "md/run/.."."""
    return path.resolve().name if path.name in ("", "..") else path.name


def _path_of(file: Path | StoreFile) -> Path:
    return file.path if isinstance(file, StoreFile) else file


def _size(file: Path | StoreFile) -> int:
    """Return the size of a file, bytes; 0 if it cannot be opened."""
    try:
        if isinstance(file, Path):
            return file.stat().st_size
        with file.open() as opened:
            return os.fstat(opened.fileno()).st_size
    except (TrajetError, OSError):
        return 0


def _names_in(folder: Path) -> Iterator[tuple[str, StoreFile | TagFile | str]]:
    """Yield the names of files in a store, and those of trajectories, of its readable data sets."""
    folder = folder.absolute()
    native = _trajet.Store(folder)
    entries, _ = Store(folder).show_all()
    for entry in entries:
        yield entry.name, str(folder / entry.name)
        for kept in entry.tags:
            tag = f"{entry.name}@{kept.tag.name}"
            yield tag, str(folder / tag)
            for number, (name, path) in enumerate(tag_files(entry, kept)):
                frames = DatasetPath(folder, entry.name, (kept.tag.name,), name, segment=number)
                yield name, TagFile(StoreFile(folder, path), frames)
        for name, path in links_of(entry):
            yield name, StoreFile(folder, path)
        manifest = json.loads(native.manifest(entry.name))
        topology = folder / entry.name / os.path.basename(manifest["topology"]["file"])
        yield f"{entry.name}{topology.suffix}", StoreFile(folder, topology)
