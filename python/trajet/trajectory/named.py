"""Names that a caller of `open` gives: those of files, and of objects in remote storage."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trajet import cache, h5md, remote
from trajet.remote import StorageOptions

if TYPE_CHECKING:
    from trajet.remote.objects import RemoteFile

# The name of a file or of an object in remote storage.
TrajectoryName: TypeAlias = str | os.PathLike[str] | tuple[object, str]

# First bytes of HDF5 files.
_HDF5 = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class NamedFiles:
    """Files and open objects.

    Attributes
    ----------
    topology
        The topology; None if there is none.
    topology_at
        Where it is read: the file, or a copy of the object, but an HDF5 object itself; None if
        there is none.
    paths
        The trajectory's files.
    objects
        The objects among them, by path.
    """

    topology: Path | None
    topology_at: Path | None
    paths: list[Path]
    objects: "Mapping[Path, RemoteFile]" = field(repr=False)


def opened_names(
    topology: TrajectoryName | None,
    trajectories: Sequence[TrajectoryName],
    options: StorageOptions | None,
    *,
    allow_http: bool,
) -> NamedFiles:
    """Open the objects among topology and trajectories, and download the topology if it is one.

    A URL of a trajectory may have wildcards, `s3://bucket/run.*.xtc`.

    Raises
    ------
    FileNotFoundError, PermissionError, RemoteError, MissingPackageError, ValueError
        As `trajet.remote.objects.open_objects`, `trajet.remote.downloads.downloaded` and
        `trajet.remote.listing.matching`.
    """
    trajectories = _expanded(trajectories, options, allow_http=allow_http)
    given = trajectories if topology is None else (topology, *trajectories)
    of_objects = [name for name in given if remote.is_object(name)]
    objects: dict[Path, RemoteFile] = {}
    paths: list[Path] = []
    copy: Path | None = None
    if of_objects:
        from trajet.remote.objects import open_objects

        # The topology may be the trajectory, too.
        once = {_identity(name): name for name in of_objects}
        opened = open_objects(list(once.values()), options, allow_http=allow_http)
        _name_apart(opened)
        known = dict(zip(once, opened, strict=True))
    for name in given:
        if isinstance(name, tuple) or remote.is_url(name):
            found = known[_identity(name)]
            objects[found.path] = found
            paths.append(found.path)
        else:
            paths.append(Path(name))
    if topology is None:
        return NamedFiles(None, None, paths, objects)
    first, *rest = paths
    if first in objects and not is_hdf5(first, objects):
        from trajet.remote.downloads import downloaded

        copy = downloaded(objects[first], cache.folder())
        if first not in rest:
            del objects[first]
    return NamedFiles(first, copy or first.absolute(), rest, objects)


def _identity(name: remote.ObjectName) -> object:
    """Return a value that is equal for names of the same object in the same store."""
    return (id(name[0]), name[1]) if isinstance(name, tuple) else os.fspath(name)


def _name_apart(objects: "Sequence[RemoteFile]") -> None:
    """Give objects with equal paths numbers: paths name no stores of callers, nor users."""
    taken: set[Path] = set()
    for found in objects:
        scheme, divider, rest = str(found.path).partition("://")
        number = 1
        while found.path in taken:
            number += 1
            numbered = f"{scheme}+{number}{divider}{rest}"
            found.path = remote.ObjectPath(numbered, is_complete=False)
        taken.add(found.path)


def is_hdf5(path: Path, objects: "Mapping[Path, RemoteFile]") -> bool:
    """Return whether a file, or an object, is HDF5, by its first bytes."""
    if path not in objects:
        return h5md.is_hdf5(path)
    from trajet.remote.ranges import read_range

    found = objects[path]
    return read_range(found, 0, min(len(_HDF5), found.size)) == _HDF5


def opened_hdf5(path: Path, objects: "Mapping[Path, RemoteFile]") -> h5md.HdfFile:
    """Return what h5py opens: the path of a file, or an object as a file."""
    if path not in objects:
        return path
    from trajet.remote.ranges import RangeFile

    return RangeFile(objects[path])


def _expanded(
    names: Sequence[TrajectoryName], options: StorageOptions | None, *, allow_http: bool
) -> list[TrajectoryName]:
    """Return names with the objects that match a pattern in its place."""
    found: list[TrajectoryName] = []
    for name in names:
        if isinstance(name, tuple) or not remote.is_url(name):
            found.append(name)
            continue
        from trajet.remote.listing import is_pattern, matching

        if is_pattern(name):
            found += matching(os.fspath(name), options, allow_http=allow_http)
        else:
            found.append(name)
    return found
