"""Results of earlier runs that are used again: a folder for each member and analysis.

A folder is written beside its place and renamed, so that it is complete or absent. Its name ends in
a digest of everything on which the numbers depend: the version of trajet, the analysis and its
arguments, the frames, the transforms, and the files. It does not depend on threads or the pool.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import FormatError, __version__
from trajet.dataset import Dataset, StoreFile
from trajet.members import Ensemble, EnsembleSelection, Member, OpenMember
from trajet.parsing import ParseError, parsed
from trajet.remote import is_url
from trajet.result import MemberOutcome, Table
from trajet.result.loading import load_table
from trajet.trajectory import OpenOptions, Selection, Trajectory, whole_digest

if TYPE_CHECKING:
    from trajet.remote.objects import RemoteFile

_RESULT, _START, _ABOUT = "result.npz", "start.npy", "about.json"
_LONGEST_LABEL = 80
_DIGITS = 24
# Topologies, references and other files are compared whole up to this size, bytes.
_WHOLE = 2**26
# Options of opening on which numbers depend; others are how files are read.
_OF_NUMBERS = ("continuous", "allow_truncated_tail", "format_options", "atoms", "time_step")


class MemberJob(Protocol):
    """An analysis of an ensemble, with its arguments; see `trajet.analysis.job.EnsembleJob`."""

    @property
    def name(self) -> str:
        """Name of the analysis."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble."""
        ...

    @property
    def args(self) -> tuple[object, ...]:
        """Arguments by position."""
        ...

    @property
    def kwargs(self) -> Mapping[str, object]:
        """Arguments by name."""
        ...


class ResumeFolder:
    """A folder with the results of members that were computed before.

    Parameters
    ----------
    folder
        The folder; it is made if it does not exist.
    verify
        Whether all bytes of all files are compared, instead of size, time of change, and the digest
        of the first and last bytes of trajectories and other large files.

    Raises
    ------
    OutputError
        If the folder cannot be made.
    """

    def __init__(self, folder: Path, *, verify: bool = False) -> None:
        self.folder = folder.absolute()
        self.verify = verify
        # Once, before several threads ask for it.
        self._code = _digest_of_code()
        # NumPy reads headers by `ast.parse`, which may fail in several threads at once: in Python
        # 3.11 they share the count of its recursions (python/cpython#106905).
        self._loading = threading.Lock()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise output.refused(folder, error) from error

    def place(self, job: MemberJob, opened: OpenMember, frames: NDArray[np.int64]) -> Path:
        """Return the folder of a result, which need not exist.

        Raises
        ------
        ValueError
            If an argument cannot be compared with that of an earlier run, such as a function.
        """
        digest = hashlib.sha256()
        # Arguments by name and by position are the same only if they are given in the same way.
        arguments = [job.name, list(job.args), dict(job.kwargs), frames]
        about = [__version__, self._code, *arguments]
        member, files = opened.member, opened.files
        feed = _Feed(digest, opened, job.name, verify=self.verify)
        found = _files(files, member.options, verify=self.verify)
        feed.value([*about, member.is_chained, found])
        label = re.sub(r"[^\w.=-]+", "_", member.label)[:_LONGEST_LABEL]
        return self.folder / f"{label}-{job.name}-{digest.hexdigest()[:_DIGITS]}"

    def load(self, member: Member, place: Path) -> MemberOutcome[Table] | None:
        """Return a result that was stored; None if there is none, or it is damaged."""
        try:
            with self._loading:
                result = load_table(place / _RESULT)
                start = parsed(functools.partial(np.load, allow_pickle=False), place / _START)
        except (FormatError, OSError, ParseError, MemoryError):
            return None
        known = start.astype(np.float32).reshape(-1, 3) if start.size else None
        return MemberOutcome(member.keys, result, start=known, is_reused=True)

    def store(self, outcome: MemberOutcome[Table], place: Path) -> None:
        """Write a result.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        assert outcome.result is not None
        own = output.temporary_in(place.parent)
        try:
            own.mkdir()
            outcome.result.save(own / _RESULT)
            start = np.empty((0, 3)) if outcome.start is None else outcome.start
            output.write(own / _START, lambda file: np.save(file, start, allow_pickle=False))
            about = json.dumps({"member": dict(outcome.keys), "trajet": __version__})
            output.write(own / _ABOUT, lambda file: file.write(about.encode()))
            # A damaged result, or that of another process, which is the same.
            if place.exists():
                shutil.rmtree(place)
            own.rename(place)
        except OSError as error:
            # Another process may have been faster.
            if not (place / _RESULT).exists():
                raise output.refused(place, error) from error
        finally:
            output.remove(own)


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


class _Feed:
    """Feeds values to a digest; equal values of different types give different digests."""

    def __init__(self, digest: _Hash, opened: OpenMember, job: str, *, verify: bool) -> None:
        self._digest = digest
        self._opened = opened
        self._job = job
        self._verify = verify

    def value(self, value: object) -> None:
        """Feed a value.

        Raises
        ------
        ValueError
            If its contents are not known, as those of a function.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, bytes, slice, range)):
            self._text(type(value).__name__, repr(value))
        elif isinstance(value, (str, os.PathLike)):
            if is_url(value):
                raise ValueError(
                    f"{self._job}: a structure in remote storage may change between runs:"
                    " download it, or leave resume= out"
                )
            self._text("text", os.fspath(value))
            # The structure of a reference.
            if (path := _file(value)) is not None:
                self._text("file", json.dumps(_stamp(path, verify=self._verify)))
        elif isinstance(value, np.ndarray):
            self._text("array", f"{value.dtype.str} {value.shape}")
            self._digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (list, tuple)):
            self._text("list", str(len(value)))
            for one in value:
                self.value(one)
        elif isinstance(value, Mapping):
            self._text("dict", str(len(value)))
            for name in sorted(value, key=str):
                self.value(str(name))
                self.value(value[name])
        else:
            self._atoms(value)

    def _atoms(self, value: object) -> None:
        """Feed an argument that stands for atoms of a trajectory."""
        if isinstance(value, Ensemble):
            self._text("ensemble", "")
            self._transforms(value.of(self._opened))
        elif isinstance(value, EnsembleSelection):
            self.value(["selection", value.text, value.is_updating, value.ensemble])
        elif isinstance(value, Selection):
            self.value(["atoms", value.indices, value.trajectory])
        elif isinstance(value, Trajectory):
            if value.source.call is None:
                raise ValueError(
                    f"{self._job}: the topology of {value.label} is that of a Universe, which"
                    " cannot be compared with that of an earlier run: open its files with"
                    " trajet.open, or leave resume= out"
                )
            files = _files(value, value.source.call.options, verify=self._verify)
            self.value(["trajectory", files])
            self._transforms(value)
        else:
            raise ValueError(
                f"{self._job}: an argument of the type {type(value).__name__} cannot be compared"
                " with that of an earlier run: leave resume= out for this analysis"
            )

    def _transforms(self, trajectory: Trajectory) -> None:
        for step in trajectory.transforms:
            self.value(["transform", step.name, step.arguments, step.words])

    def _text(self, kind: str, text: str) -> None:
        data = text.encode(errors="surrogateescape")
        self._digest.update(f"{kind} {len(data)} ".encode() + data)


@functools.cache
def _digest_of_code() -> str:
    """Return the digest of this package: another state of it may compute other numbers."""
    digest = hashlib.sha256()
    folder = Path(output.__file__).parent
    for path in sorted([*folder.rglob("*.py"), *folder.glob("_trajet*")]):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _file(value: "str | os.PathLike[str]") -> Path | None:
    """Return the path of a file that a text names, or None."""
    with contextlib.suppress(OSError, ValueError):
        path = Path(value)
        if path.is_file():
            return path
    return None


def _files(trajectory: Trajectory, options: OpenOptions, *, verify: bool) -> list[object]:
    """Return what tells the files of a trajectory from others, and how they are opened."""
    of_numbers = {name: getattr(options, name) for name in _OF_NUMBERS}
    found: list[object] = [of_numbers, _stamps(trajectory, verify=verify)]
    # Of an object in remote storage, the copy.
    file = trajectory.source.structure.file
    if file is None:
        return found
    topology = file.at
    if topology in trajectory.source.files.objects:
        found.append(_version(trajectory.source.files.objects[topology]))
    elif topology.is_file():
        found.append(_stamp(topology, verify=verify))
    return found


def _stamp(path: Path, *, verify: bool, ends: str | None = None) -> list[object]:
    """Return what tells a file of any kind from others.

    Parameters
    ----------
    verify
        Whether this is a digest of all bytes, whatever the size.
    ends
        Digest of both ends of a trajectory, which is compared by it and the time of change, like
        other large files.
    """
    state = path.stat()
    if verify or (ends is None and state.st_size <= _WHOLE):
        return [whole_digest(path)]
    return [state.st_size, state.st_mtime_ns, ends or _trajet.file_digest(path)]


def _version(file: "RemoteFile") -> str:
    """Return a text that changes whenever the contents of an object do.

    Raises
    ------
    ValueError
        If its server gives none.
    """
    if file.version is None:
        raise ValueError(
            f"{file.path}: its server gives no strong ETag, so nothing shows whether the object has"
            " changed since the last run: leave resume= out, or copy the file to this machine"
        )
    return file.version


def _stamps(trajectory: Trajectory, *, verify: bool) -> list[object]:
    """Return the stamps of a trajectory's files: those of their indexes, or of all bytes.

    Of objects in remote storage their version tells the bytes.
    """
    if (dataset := trajectory.dataset) is not None:
        # Its tables have the digests of all frames, which are compared when frames are read.
        stamps: list[object] = [json.dumps(dataset.manifest, sort_keys=True), *trajectory.tags]
        return [*stamps, *(_digests(dataset) if verify and not dataset.path.objects else ())]
    found: list[object] = []
    segments = trajectory.source.reader.segments()
    for path, segment in zip(trajectory.source.files.absolute_paths, segments, strict=True):
        found += [segment["size"], segment["n_frames"], segment["digest"]]
        if path in trajectory.source.files.objects:
            found.append(_version(trajectory.source.files.objects[path]))
        else:
            found.append(_stamp(path, verify=verify, ends=segment["digest"]))
    return found


def _digests(dataset: Dataset) -> Iterator[str]:
    """Yield the digests of all files of the open tags of a data set."""
    store = _trajet.Store(dataset.path.folder)
    for tag in dataset.tags_of(None):
        for path in store.paths(dataset.path.name, tag):
            with StoreFile(dataset.path.folder, path).open() as file:
                yield hashlib.file_digest(file, "sha256").hexdigest()
