"""Adds trajectories to a store as they arrive in a folder."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trajet._trajet import StoreError, TrajetError
from trajet.formats import WRITTEN_SUFFIXES
from trajet.pools.pool import Progress
from trajet.store.catalog import Store
from trajet.store.entry import Entry
from trajet.store.profile import Profile
from trajet.trajectory import Trajectory
from trajet.trajectory import open as open_trajectory

# File name endings of trajectories; .h5 is the ending of many other files, too.
TRAJECTORIES = tuple(suffix for suffix in WRITTEN_SUFFIXES if suffix != ".h5")
# File name endings of topologies, in the order of preference.
TOPOLOGIES = (".tpr", ".psf", ".prmtop", ".parm7", ".gro", ".pdb")

# Size and modification time of a file.
_Stamp = tuple[int, int]


@dataclass(frozen=True)
class Arrival:
    """Outcome of adding a trajectory that arrived.

    Attributes
    ----------
    path
        The trajectory; or the data set or the folder that cannot be read.
    name
        Name of the data set.
    frames
        Number of frames that were added; 0 after an error.
    error
        The error, or None.
    """

    path: Path
    name: str
    frames: int
    error: Exception | None = None


@dataclass
class Watch:
    """Watches a folder and adds trajectories that have stopped growing.

    The data set has the name of the trajectory without its ending. Its topology is the file of the
    same name with an ending of topologies, or the only topology in the folder. Other files are
    ignored. A trajectory that has grown since it was added is appended to its data set.

    Attributes
    ----------
    store
        The store to add to.
    folder
        The folder to watch, without its subfolders.
    settle
        Seconds for which a file must not have changed.
    profile
        As for `Store.add`.
    threads
        Number of threads; None for all cores.
    allow_truncated_tail
        Whether to add the complete frames of a settled trajectory that ends inside a frame; frames
        that are written later are appended.
    clock
        Returns the time in seconds.
    """

    store: Store
    folder: Path
    settle: float
    profile: Profile | None = None
    threads: int | None = None
    allow_truncated_tail: bool = False
    clock: Callable[[], float] = time.monotonic
    # The current stamp of each file, and when it was first seen.
    _seen: dict[Path, tuple[_Stamp, float]] = field(default_factory=dict)
    # Failures, which are tried again when trajectory or topology have changed.
    _failed: dict[Path, tuple[_Stamp | None, _Stamp | None]] = field(default_factory=dict)
    # Data sets as they were last read, and those that cannot be read now.
    _entries: dict[str, Entry] = field(default_factory=dict)
    _damaged: frozenset[str] = frozenset()

    def look(self, progress: Progress | None = None) -> Iterator[Arrival]:
        """Add all trajectories that have settled; yield the outcomes, each error only once."""
        try:
            names = sorted(
                path
                for path in self.folder.iterdir()
                if path.suffix.lower() in TRAJECTORIES and not path.name.startswith(".")
            )
            wrong = self._look_at_store()
        except (TrajetError, OSError) as error:
            # The storage may come back.
            if self.folder not in self._failed:
                self._failed[self.folder] = (None, None)
                yield Arrival(self.folder, self.folder.name, 0, error)
            return
        self._failed.pop(self.folder, None)
        for name in sorted(wrong.keys() - self._damaged):
            yield Arrival(self.store.folder / name, name, 0, wrong[name])
        self._damaged = frozenset(wrong)
        # A new file may belong to a data set that could never be read.
        takes_new = wrong.keys() <= self._entries.keys()
        sources = {
            path.absolute(): (entry.name, size)
            for entry in self._entries.values()
            for path, size in entry.source_sizes
        }
        for path in names:
            stamp = _stamp(path)
            if stamp is None or not self._settled(path, stamp):
                continue
            dataset, size = sources.get(path.absolute(), (None, None))
            name = dataset or path.stem
            # Unreadable data sets cannot be appended to.
            if size == stamp[0] or name in wrong or not (dataset or takes_new):
                continue
            topology, trouble = self._topology_of(path)
            tried = (stamp, None if topology is None else _stamp(topology))
            if self._failed.get(path) == tried:
                continue
            try:
                _check_is_text(path)
                if trouble is not None:
                    raise trouble
                frames = self._take_in(path, topology, dataset, progress)
            except (TrajetError, OSError, ValueError) as error:
                self._failed[path] = tried
                yield Arrival(path, name, 0, error)
            else:
                self._failed.pop(path, None)
                if frames == 0:
                    # The file has grown by less than a frame, and the manifest has not changed.
                    self._failed[path] = tried
                    continue
                yield Arrival(path, name, frames)

    def _look_at_store(self) -> dict[str, Exception]:
        """Read all data sets; return the errors of those that cannot be read."""
        entries, wrong = self.store.show_all()
        # The files of unreadable data sets are known from before.
        known = {name: entry for name, entry in self._entries.items() if name in wrong}
        self._entries = known | {entry.name: entry for entry in entries}
        return wrong

    def _settled(self, path: Path, stamp: _Stamp) -> bool:
        before, since = self._seen.get(path, (None, 0.0))
        if before != stamp:
            since = self.clock()
            self._seen[path] = (stamp, since)
        return self.clock() - since >= self.settle

    def _topology_of(self, path: Path) -> tuple[Path | None, StoreError | None]:
        """Return the topology of a trajectory, or the error that there is none."""
        for suffix in TOPOLOGIES:
            if (own := path.with_suffix(suffix)).is_file():
                return own, None
        # Opening a named pipe would block.
        found = sorted(
            each
            for each in self.folder.iterdir()
            if each.suffix.lower() in TOPOLOGIES and each.is_file()
        )
        if len(found) == 1:
            return found[0], None
        what = f"are several topologies ({found[0].name}, …)" if found else "is no topology"
        return None, StoreError(
            f"{path}: there {what} beside it: name its topology {path.stem}.psf, .gro, .tpr, …"
        )

    def _take_in(
        self, path: Path, topology: Path | None, dataset: str | None, progress: Progress | None
    ) -> int:
        """Add a trajectory, or append its new frames to `dataset`; return their number."""
        if dataset is None:
            if topology is not None:
                _check_is_text(topology)
            opened = self._opened(topology, path)
            done = self.store.add(
                path.stem, opened, profile=self.profile, threads=self.threads, progress=progress
            )
            return done.n_frames
        opened = self._opened(None, *(source for source, _ in self._entries[dataset].source_sizes))
        done = self.store.append(dataset, opened, threads=self.threads, progress=progress)
        return done.n_frames

    def _opened(self, topology: Path | None, *trajectories: Path) -> Trajectory:
        return open_trajectory(
            topology,
            *trajectories,
            allow_truncated_tail=self.allow_truncated_tail,
            threads=self.threads,
        )


def _check_is_text(path: Path) -> None:
    """Raise an error if a path is not text, which manifests need.

    Raises
    ------
    StoreError
        If its bytes are not UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"{path}: the file name is not UTF-8: rename the file") from error


def _stamp(path: Path) -> _Stamp | None:
    """Return size and modification time of a regular file, else None."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if os.path.isfile(path) else None
