"""`OpenFiles`: what a trajectory and its transformed copies read from."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md
from trajet._trajet import FormatError, Reader, StaleIndexError
from trajet.block import Block
from trajet.dataset import AccessLog, Dataset
from trajet.messages import Message
from trajet.remote import is_url
from trajet.report_entries import Counts, InputEntry, WorkerEntry
from trajet.trajectory.consecutive import with_question

if TYPE_CHECKING:
    from trajet.h5md import Numbers
    from trajet.remote.objects import RemoteFile

# Nanoseconds after which the time of change of a file tells whether it has changed since.
_SETTLED_NS = 2_000_000_000


class OpenFiles:
    """The open files of a trajectory, which all of its transformed copies share.

    Parameters
    ----------
    reader
        The native reader of frames as they are stored.
    dataset
        The data set of a store, or None for files.
    objects
        Open objects in remote storage, by path.
    particles
        Name of the particles group that is read from H5MD files; None for the only one.
    time_step
        Time between frames that was given in place of the times in the files, ps.
    order_messages
        Messages on the order and names of the atoms in files that name them.

    Attributes
    ----------
    paths, absolute_paths
        The files in the order of their frames, as given, and whatever the working folder is now.
    access_log
        The log of a data set of a store; None for files and published data sets.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        dataset: Dataset | None = None,
        objects: "Mapping[Path, RemoteFile] | None" = None,
        particles: str | None = None,
        time_step: float | None = None,
        order_messages: Sequence[Message] = (),
    ) -> None:
        # Those of a published data set are copies.
        published = None if dataset is None else dataset.path.manifest_url
        paths: list[Path] = [published or segment["path"] for segment in reader.segments()]
        self.paths, self.absolute_paths = tuple(paths), tuple([path.absolute() for path in paths])
        self.reader, self.dataset, self.objects = reader, dataset, objects or {}
        self.particles, self.time_step = particles, time_step
        self.order_messages = tuple(order_messages)
        # Open files of observables, by the numbers of the files.
        self._observables: dict[int, h5md.Observables | None] = {}
        self.access_log: AccessLog | None = None
        if dataset is not None and not dataset.path.objects:
            self.access_log = AccessLog(dataset)
            finalize(self, self.access_log.close)

    def hdf5_at(self, path: Path) -> h5md.HdfFile:
        """Return what h5py opens: the path of a file, or an object in remote storage."""
        return opened_hdf5(path, self.objects)

    @property
    def path(self) -> Path:
        """The first or only file."""
        return self.paths[0]

    @property
    def label(self) -> str:
        """Name in messages: the data set, or the first file and the number of files."""
        if self.dataset is not None:
            return self.dataset.path.label
        if len(self.paths) == 1:
            return str(self.path)
        return f"{self.path} … ({len(self.paths)} files)"

    @property
    def stem(self) -> str:
        """Base name for files made from the trajectory."""
        return self.path.stem if self.dataset is None else self.dataset.path.name

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers of the store that holds the data set, in the order of `bytes_by_tier`."""
        return () if self.dataset is None else self.dataset.tiers

    @property
    def tags(self) -> tuple[str, ...]:
        """Open tags of the data set, in the order of `bytes_by_tag`."""
        return () if self.dataset is None else tuple(self.dataset.tags_of(None))

    def closed(self) -> Self:
        """Return the files without their reader, which is closed when nothing else refers to it."""
        if self.access_log is not None:
            self.access_log.close()
        closed = copy(self)
        closed.reader = cast(Reader, ClosedReader(self.label))
        closed.access_log, closed._observables = None, {}
        return closed

    def messages(self) -> tuple[Message, ...]:
        """Return messages on the files, such as headers that contradict the frames."""
        messages = (*self.reader.messages, *self.time_messages)
        return (
            with_question(self, messages) if len(self.paths) > 1 and not self.dataset else messages
        )

    @property
    def copies_rows(self) -> bool:
        """Whether frames have the times in their files, and each file's first ones are kept.

        Other rows of H5MD files can be copied along with the frames then.
        """
        begin = 0
        for file, segment in enumerate(self.reader.segments()):
            n_kept = segment["n_frames"] - segment["dropped_frames"]
            for frame in {0, n_kept - 1} if n_kept else set():
                if self.reader.place(begin + frame)[:2] != (file, frame):
                    return False
            begin += n_kept
        return self.time_step is None

    @property
    def time_messages(self) -> tuple[Message, ...]:
        """Messages on times that the files do not state, for what uses times."""
        # A single frame has no time between frames.
        return tuple(self.reader.unstated_times) if self.reader.n_frames > 1 else ()

    @property
    def index_path(self) -> Path | None:
        """The index file of the first file; None if the index is kept in memory only."""
        path: Path | None = self.reader.segments()[0]["index_path"]
        return path

    def count_read(self, columns: NDArray[np.int64] | None, counts: Counts | WorkerEntry) -> None:
        """Count a read of atoms for the access log, if this is a data set of a store."""
        if self.access_log is not None:
            self.access_log.read(columns, counts)

    def record_analysis(
        self, what: str, columns: NDArray[np.int64] | None, counts: Sequence[Counts | WorkerEntry]
    ) -> None:
        """Record an analysis in the access log, if this is a data set of a store."""
        if self.access_log is not None:
            self.access_log.analysed(what, columns, counts)

    def guard_blocks(
        self, blocks: Iterator[Block], columns: NDArray[np.int64] | None, parts: _trajet.Parts
    ) -> Iterator[Block]:
        """Yield blocks; remove a stale index, and write in the access log what was read."""
        try:
            with self.stale_index_removed():
                yield from blocks
        finally:
            if self.access_log is not None:
                self.access_log.read(columns, parts.counts())

    @contextlib.contextmanager
    def stale_index_removed(self) -> Iterator[None]:
        """If a loaded index turns out to be stale, remove the index file.

        The error is raised again: frame numbers from that index may have been used already, and a
        result must not mix frames of two versions of a file.
        """
        try:
            yield
        except StaleIndexError as error:
            for segment in self.reader.segments():
                if segment["path"] == error.path and segment["index_path"] is not None:
                    with contextlib.suppress(OSError):
                        segment["index_path"].unlink()
            if is_url(error.path) and "does not match the index" in str(error):
                # The next opening would read a published index again.
                advice = "rebuild_index=True makes a new one"
                fault = StaleIndexError(f"{error}; if it has a published index, {advice}")
                fault.path = error.path
                raise fault from None
            raise

    def describe(self) -> list[InputEntry]:
        """Return the report's entries on the files."""
        inputs: list[InputEntry] = []
        for segment in self.reader.segments():
            entry = {name: value for name, value in segment.items() if name != "index_path"}
            entry["path"] = str(segment["path"])
            if messages := segment["messages"]:
                entry["messages"] = [message.entry for message in messages]
            inputs.append(cast(InputEntry, entry))
        return inputs

    def observables(self, number: int) -> "Numbers":
        """Return numbers of a frame beside its atoms; see `Trajectory.observables`."""
        with self.stale_index_removed():
            of_frame = self.reader.observables(number)
        found: Numbers = {name: np.float64(value) for name, value in of_frame.items()}
        if self.dataset is not None:
            return found
        if h5md.HDF5.name in self.reader.format:
            file, within, step = self.reader.place(number)
            if file not in self._observables:
                self._observables[file] = self._open_observables(file)
            if (series := self._observables[file]) is not None:
                found |= series.at(within, step)
        return found

    def _open_observables(self, file: int) -> "h5md.Observables | None":
        """Return the observables of a file; None if it is not H5MD.

        Raises
        ------
        FormatError
            If another file is found under its name.
        """
        segment = self.reader.segments()[file]
        if segment["format"] != h5md.HDF5.name:
            return None
        path = self.hdf5_at(self.absolute_paths[file])
        # The ETag tells whether an object has changed.
        if isinstance(path, Path) and _trajet.file_digest(path) != segment["digest"]:
            raise FormatError(f"{path}: it has changed since it was opened: open it again")
        return h5md.Observables(path, self.particles, segment["n_frames"])


def opened_hdf5(path: Path, objects: "Mapping[Path, RemoteFile]") -> h5md.HdfFile:
    """Return what h5py opens: the path of a file, or an object as a file."""
    if path not in objects:
        return path
    from trajet.remote.ranges import RangeFile

    return RangeFile(objects[path])


class ClosedReader:
    """Raises an error for everything that needs the files of a closed trajectory."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            f"{self._label}: the trajectory is closed: open it again, or read within its `with`"
            " block"
        )


def describe_file(path: Path) -> InputEntry:
    """Return the report's entry on a structure file: path, size and digest."""
    # To hash a whole trajectory takes too long.
    is_whole = not h5md.is_hdf5(path)
    digest = whole_digest(path) if is_whole else _trajet.file_digest(path)
    return {"path": str(path), "size": path.stat().st_size, "digest": digest}


def whole_digest(path: Path) -> str:
    """Return the digest of all bytes of a file."""
    stat = path.stat()
    stamp = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
    # A file that has just changed may change again without another time of change.
    is_settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS
    digest = _sha256(path, stamp) if is_settled else _sha256.__wrapped__(path, stamp)
    return f"sha256:{digest}"


@lru_cache(maxsize=64)
def _sha256(path: Path, _stamp: tuple[int, ...]) -> str:
    """Return the digest of a file, which members of an ensemble share."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
