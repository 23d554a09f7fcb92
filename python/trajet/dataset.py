"""Data sets of stores: paths, atoms of their tags, and entries in the access log."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, cache
from trajet._trajet import STORE_SETTINGS
from trajet._types import Manifest
from trajet.remote import ObjectPath, split_tags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trajet.remote.objects import RemoteFile
    from trajet.report_entries import Counts, WorkerEntry

# Formats of tags whose files have no index, as layouts or headers tell where frames are.
_WITHOUT_INDEX = (".h5md", ".h5", ".dcd")


def find_dataset(path: str | os.PathLike[str]) -> "DatasetPath | None":
    """Return the data set that a path names: STORE/NAME or STORE/NAME@TAG,TAG.

    None if the folder is not a store, or if the path is that of a file. Whether the store has such
    a data set is not checked.
    """
    if os.path.isfile(path):
        return None
    folder, name, wanted = split_path(path)
    if not is_store(folder):
        return None
    label = os.path.join(folder, os.path.basename(os.path.normpath(path)))
    return DatasetPath(Path(folder).absolute(), name, wanted, label)


def split_path(path: str | os.PathLike[str]) -> tuple[str, str, tuple[str, ...] | None]:
    """Split STORE/NAME@TAG,TAG into the store's folder, the data set and its tags.

    The folder is empty if the path has none; the tags are None if the path has no @.
    """
    folder, last = os.path.split(os.path.normpath(path))
    return folder, *split_tags(last)


def is_store(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a store."""
    return os.path.isfile(os.path.join(folder, STORE_SETTINGS))


def datasets_in(folder: str | os.PathLike[str]) -> list[str] | None:
    """Return the names of a store's data sets, or None if the folder is not a store."""
    return _trajet.Store(folder).names() if is_store(folder) else None


@dataclass(frozen=True)
class DatasetPath:
    """Path of a data set in a store, or of some of its tags.

    Attributes
    ----------
    folder
        Folder of the store, absolute.
    name
        Name of the data set.
    tags
        Names or short names of the tags to open; None for all.
    label
        Name in messages.
    objects
        Objects in remote storage that are read in place of the files of tags, by path; empty for a
        store of this machine.
    connections, merge_gap
        As for `trajet.open`.
    segment
        Number of the only file of each tag to open, in the order of their frames; None for all.
    """

    folder: Path
    name: str
    tags: tuple[str, ...] | None
    label: str
    objects: "Mapping[Path, RemoteFile]" = field(default_factory=dict, repr=False)
    connections: int = 1
    merge_gap: int | None = None
    segment: int | None = None

    @property
    def manifest_url(self) -> ObjectPath | None:
        """Where the manifest is published; None for a store of this machine."""
        if not self.objects:
            return None
        folder, slash, last = self.label.rpartition("/")
        return ObjectPath(f"{folder}{slash}{last.partition('@')[0]}/manifest.json", False)

    def open(self, *, request_size: int) -> tuple["Dataset", _trajet.Reader]:
        """Open the data set.

        Raises
        ------
        StoreError
            If there is no such data set or tag.
        """
        store = _trajet.Store(self.folder)
        tags = None if self.tags is None else list(self.tags)
        while True:
            manifest = store.manifest(self.name)
            reader = store.reader(
                self.name,
                tags,
                request_size=request_size,
                segment=self.segment,
                objects=self.objects,
                connections=self.connections,
                merge_gap=self.merge_gap,
                cache=cache.folder() if self.objects else None,
            )
            # Another process may have retagged the data set between the two calls.
            if store.manifest(self.name) == manifest:
                about: Manifest = json.loads(manifest)
                if self.segment is not None:
                    about["segments"] = [about["segments"][self.segment]]
                return Dataset(self, about, tuple(json.loads(store.tiers()))), reader


@dataclass(frozen=True)
class StoreFile:
    """A file of a store, on a tier or beside a manifest.

    A link in its place is followed only to another file of the store, as moves leave such links.

    Attributes
    ----------
    store
        Folder of the store, absolute.
    path
        Path of the file.
    """

    store: Path
    path: Path

    def descriptor(self) -> int:
        """Open the file for reading and return its descriptor.

        Raises
        ------
        OSError
            If it is missing, no regular file, or a link that leads elsewhere.
        """
        return _trajet.Store(self.store).open_file(self.path)

    def open(self) -> BufferedReader:
        """Open the file for reading.

        Raises
        ------
        OSError
            As for `descriptor`.
        """
        return os.fdopen(self.descriptor(), "rb")

    def index(self) -> "StoreFile | Path | None":
        """Return the index that is kept of a file of a tag, after making it if there is none.

        A path is one in the cache folder; None if there can be no index.

        Raises
        ------
        TrajetError, OSError
            If the file cannot be read.
        """
        if self.path.suffix in _WITHOUT_INDEX:
            return None
        found = _trajet.Store(self.store).index_of(self.path, cache.folder())
        if found is None or found.parent != self.path.parent:
            return found
        return StoreFile(self.store, found)


@dataclass(frozen=True)
class Dataset:
    """An opened data set.

    Attributes
    ----------
    path
        Path of the data set.
    manifest
        Manifest of the data set: its tags, segments and topology.
    tiers
        Tiers of the store, in the order of `bytes_by_tier`.
    """

    path: DatasetPath
    manifest: Manifest
    tiers: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder of the data set in the store."""
        return self.path.folder / self.path.name

    @property
    def topology(self) -> Path:
        """Path of the original's topology.

        Raises
        ------
        StoreError
            If it is not a regular file: opening a named pipe would block.
        """
        path = self.folder / str(self.manifest["topology"]["file"])
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            raise _trajet.StoreError(
                f"{path}: is a link or not a regular file: restore it from a copy"
            )
        return path

    @cached_property
    def _open_tags(self) -> list[int]:
        """Indices in the manifest of the open tags."""
        names = [(tag["name"], tag["short_name"]) for tag in self.manifest["tags"]]
        if self.path.tags is None:
            return list(range(len(names)))
        # By the rule of the native store.
        wanted = self.path.tags
        return sorted(
            {next(place for place, called in enumerate(names) if name in called) for name in wanted}
        )

    @cached_property
    def _ranges(self) -> NDArray[np.int64]:
        """Ranges of open atoms, `(n, 3)`: first atom, last atom + 1, index of the tag."""
        tags = self.manifest["tags"]
        ranges = [(*atoms, place) for place in self._open_tags for atoms in tags[place]["atoms"]]
        return np.array(sorted(ranges), np.int64).reshape(-1, 3)

    @property
    def other_contents(self) -> list[tuple[Path, int]] | None:
        """Files with the other contents of the original H5MD files, and the frames of each.

        None if the store keeps none. The files are compared with their checksums.
        """
        return _trajet.Store(self.path.folder).other_contents(self.path.name)

    @cached_property
    def _owners(self) -> NDArray[np.int16]:
        """Index in the manifest of the tag of each open atom."""
        starts, stops, tags = self._ranges.T
        return np.repeat(tags.astype(np.int16), stops - starts)

    @cached_property
    def origin(self) -> NDArray[np.int64] | None:
        """Index in the original of each open atom; None if all tags are open."""
        if self.path.tags is None:
            return None
        return np.concatenate([np.arange(start, stop) for start, stop, _ in self._ranges])

    def tags_of(self, columns: NDArray[np.int64] | None) -> list[str]:
        """Return the names of the tags that hold atoms, given by indices among the open atoms."""
        holders = self._open_tags if columns is None else np.unique(self._owners[columns])
        return [str(self.manifest["tags"][holder]["name"]) for holder in holders]

    def tags_with(self, indices: NDArray[np.int64]) -> list[str]:
        """Return the names of the tags that hold atoms, given by ascending original indices."""

        def has_any(start: int, stop: int) -> bool:
            first, end = np.searchsorted(indices, [start, stop])
            return bool(first < end)

        tags = self.manifest["tags"]
        return [str(tag["name"]) for tag in tags if any(has_any(*atoms) for atoms in tag["atoms"])]

    @property
    def size(self) -> int:
        """Bytes of the files of the open tags."""
        sizes = self.sizes()
        return sum(sizes[tag] for tag in self.tags_of(None))

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each tag's files."""
        segments = self.manifest["segments"]
        return {
            tag["name"]: sum(int(segment["files"][place]["size"]) for segment in segments)
            for place, tag in enumerate(self.manifest["tags"])
        }


@dataclass
class AccessLog:
    """Writes the access log of a data set.

    Each analysis is an entry. All reads of one open trajectory with the same tags are one entry,
    which is written when the trajectory is closed or freed.
    """

    dataset: Dataset
    _reads: dict[tuple[str, ...], "_Read"] = field(default_factory=dict)

    @cached_property
    def _open(self) -> list[str]:
        """The open tags, in the order of `bytes_by_tag`."""
        return self.dataset.tags_of(None)

    def read(self, columns: NDArray[np.int64] | None, counts: "Counts | WorkerEntry") -> None:
        """Count a read of atoms, given the counters of the native module."""
        tags = tuple(self.dataset.tags_of(columns))
        self._reads.setdefault(tags, _Read()).add(counts, self._open)

    def analysed(
        self, what: str, columns: NDArray[np.int64] | None, counts: Iterable["Counts | WorkerEntry"]
    ) -> None:
        """Write an entry for an analysis of atoms, given the counters of its workers."""
        total = _Read()
        for one in counts:
            total.add(one, self._open)
        self._write(what, self.dataset.tags_of(columns), total)

    def close(self) -> None:
        """Write the entries of all reads."""
        reads, self._reads = self._reads, {}
        for tags, read in reads.items():
            self._write("read", tags, read)

    def _write(self, what: str, tags: Sequence[str], read: "_Read") -> None:
        by_tag = [(tag, read.by_tag.get(tag, 0)) for tag in tags]
        _trajet.write_down_use(self.dataset.folder, what, read.frames, by_tag)


@dataclass
class _Read:
    """Number of frames read, and bytes read of each tag."""

    frames: int = 0
    by_tag: dict[str, int] = field(default_factory=dict)

    def add(self, counts: "Counts | WorkerEntry", tags: Sequence[str]) -> None:
        self.frames += int(counts["frames"])
        for tag, count in zip(tags, counts.get("bytes_by_tag", ()), strict=False):
            self.by_tag[tag] = self.by_tag.get(tag, 0) + int(count)
