"""Data sets of stores: where they are, which atoms their tags have, and who used them."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet

# What makes a folder a store.
SETTINGS = "store.json"
USES = "uses.jsonl"


def find_dataset(path: str | os.PathLike[str]) -> "Place | None":
    """Return what a path in a store names: STORE/NAME, STORE/NAME@TAG,TAG; None where no store is.

    That the store has it is not looked at. A file is no data set, wherever it lies.
    """
    if os.path.isfile(path):
        return None
    folder, name, wanted = split_path(path)
    if not is_store(folder):
        return None
    label = os.path.join(folder, os.path.basename(os.path.normpath(path)))
    return Place(Path(folder).absolute(), name, wanted, label)


def split_path(path: str | os.PathLike[str]) -> tuple[str, str, tuple[str, ...] | None]:
    """Split STORE/NAME@TAG,TAG into the store's folder, the data set and its tags.

    The folder is empty where the path names no folder; the tags are None where it names none.
    """
    folder, last = os.path.split(os.path.normpath(path))
    name, divider, tags = last.partition("@")
    return folder, name, tuple(tags.split(",")) if divider else None


def is_store(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a store."""
    return os.path.isfile(os.path.join(folder, SETTINGS))


def datasets_in(folder: str | os.PathLike[str]) -> list[str] | None:
    """Return the names of a store's data sets; None where no store is."""
    return _trajet.Store(folder).names() if is_store(folder) else None


@dataclass(frozen=True)
class Place:
    """Where a data set of a store is, or some of its tags.

    Attributes
    ----------
    folder
        The store's, absolute.
    name
        Its name there.
    tags
        The tags that are wanted, by names or short names; None for all.
    label
        What messages call it.
    """

    folder: Path
    name: str
    tags: tuple[str, ...] | None
    label: str

    def open(self, *, request_size: int) -> tuple["Dataset", _trajet.Reader]:
        """Open it.

        Raises
        ------
        StoreError
            If there is no such data set or tag.
        """
        store = _trajet.Store(self.folder)
        tags = None if self.tags is None else list(self.tags)
        while True:
            told = store.manifest(self.name)
            reader = store.reader(self.name, tags, request_size=request_size)
            # Somebody may have divided it anew between the two.
            if store.manifest(self.name) == told:
                return Dataset(self, json.loads(told), tuple(json.loads(store.tiers()))), reader


@dataclass(frozen=True)
class Dataset:
    """What an opened data set is made of.

    Attributes
    ----------
    place
        Where it is.
    manifest
        What the store says of it.
    tiers
        The store's tiers, in the order in which their bytes are counted.
    """

    place: Place
    manifest: Mapping[str, Any]
    tiers: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder of what the store keeps beside the tags."""
        return self.place.folder / self.place.name

    @property
    def topology(self) -> Path:
        """The topology of the original.

        Raises
        ------
        StoreError
            If it is no regular file: a named pipe would be waited for.
        """
        path = self.folder / str(self.manifest["topology"]["file"])
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            raise _trajet.StoreError(
                f"{path}: is a link or no regular file: bring it back from a copy"
            )
        return path

    @cached_property
    def _places(self) -> list[int]:
        """The tags that are wanted, by their places in the manifest."""
        names = [(tag["name"], tag["short"]) for tag in self.manifest["tags"]]
        if self.place.tags is None:
            return list(range(len(names)))
        # As the native store finds them.
        wanted = self.place.tags
        return sorted(
            {next(place for place, called in enumerate(names) if name in called) for name in wanted}
        )

    @cached_property
    def _ranges(self) -> NDArray[np.int64]:
        """The first atom, the one behind the last, and the tag of each range that is wanted."""
        tags = self.manifest["tags"]
        ranges = [(*atoms, place) for place in self._places for atoms in tags[place]["atoms"]]
        return np.array(sorted(ranges), np.int64).reshape(-1, 3)

    @property
    def rest(self) -> list[tuple[Path, int]] | None:
        """What original H5MD files hold beside their frames, and how many of these they have.

        None where the store has not kept that. The files are compared with their checksums.
        """
        return _trajet.Store(self.place.folder).rest(self.place.name)

    @cached_property
    def _owners(self) -> NDArray[np.int16]:
        """Which tag, by its place in the manifest, each atom has that is wanted."""
        starts, stops, places = self._ranges.T
        return np.repeat(places.astype(np.int16), stops - starts)

    @cached_property
    def origin(self) -> NDArray[np.int64] | None:
        """The number in the original of each atom that is wanted; None where all are."""
        if self.place.tags is None:
            return None
        return np.concatenate([np.arange(start, stop) for start, stop, _ in self._ranges])

    def tags_of(self, places: NDArray[np.int64] | None) -> list[str]:
        """Return the tags that hold atoms, given by their places among those that are wanted."""
        holders = self._places if places is None else np.unique(self._owners[places])
        return [str(self.manifest["tags"][holder]["name"]) for holder in holders]

    @property
    def size(self) -> int:
        """Bytes of the files of the tags that are wanted."""
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
class Uses:
    """Writes down what is read of a data set.

    Reads of one opened trajectory are one use, written when it is let go; each analysis is one.
    """

    dataset: Dataset
    _reads: dict[tuple[str, ...], "_Read"] = field(default_factory=dict)

    @cached_property
    def _open(self) -> list[str]:
        """The tags that are open, in the order in which their bytes are counted."""
        return self.dataset.tags_of(None)

    def read(self, places: NDArray[np.int64] | None, counts: Mapping[str, Any]) -> None:
        """Remember a read of atoms, by what the native module counts of it."""
        tags = tuple(self.dataset.tags_of(places))
        self._reads.setdefault(tags, _Read()).add(counts, self._open)

    def analysed(
        self, what: str, places: NDArray[np.int64] | None, counts: Iterable[Mapping[str, Any]]
    ) -> None:
        """Write down an analysis of atoms, by what was counted of each of its workers."""
        together = _Read()
        for one in counts:
            together.add(one, self._open)
        self._write(what, self.dataset.tags_of(places), together)

    def close(self) -> None:
        """Write down the reads."""
        reads, self._reads = self._reads, {}
        for tags, read in reads.items():
            self._write("read", tags, read)

    def _write(self, what: str, tags: Sequence[str], read: "_Read") -> None:
        by_tag = [(tag, read.by_tag.get(tag, 0)) for tag in tags]
        _trajet.write_down_use(self.dataset.folder, what, read.frames, by_tag)


@dataclass
class _Read:
    """Frames, and the bytes of each tag that were read for them."""

    frames: int = 0
    by_tag: dict[str, int] = field(default_factory=dict)

    def add(self, counts: Mapping[str, Any], tags: Sequence[str]) -> None:
        self.frames += int(counts["frames"])
        for tag, count in zip(tags, counts.get("bytes_by_tag", ()), strict=False):
            self.by_tag[tag] = self.by_tag.get(tag, 0) + int(count)
