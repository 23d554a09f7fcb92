"""Objects that are read whole: topologies, which are downloaded to the cache folder."""

import contextlib
import hashlib
import os
import re
import stat
from pathlib import Path

from trajet import _trajet
from trajet._trajet import RemoteError
from trajet.remote.names import shown
from trajet.remote.objects import RemoteFile
from trajet.remote.ranges import pieces

# Bytes of the largest object that is downloaded.
LARGEST = 2**31


def downloaded(file: RemoteFile, cache: Path | None) -> Path:
    """Return the path of a copy of an object in the cache folder, which other users cannot read.

    A copy of the same version is used again. An object that has none (no strong ETag, or a store of
    this process alone) is downloaded anew, and its copy is named by its bytes.

    Parameters
    ----------
    file
        The object.
    cache
        The cache folder, or None if there is none.

    Raises
    ------
    RemoteError
        If it is larger than `LARGEST`, there is no folder for it, or a request fails.
    StaleIndexError, PermissionError, FileNotFoundError
        As `trajet.remote.ranges.read_range`.
    """
    if file.size > LARGEST:
        raise RemoteError(
            f"{file.path}: it has {file.size} bytes, and up to {LARGEST} are downloaded: download"
            " it, and give the path"
        )
    if cache is None:
        raise _no_folder(file, "there is no cache folder")
    folder = cache / "topologies"
    version = file.version
    target = folder / f"{_key(f'{file.path}|{version}|{file.size}'.encode())}-{_name(file)}"
    if version is not None and _is_copy(target, file.size):
        return target
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, beside = new_file(folder)
    except OSError as error:
        raise _no_folder(file, f"{folder}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as copy:
            digest = hashlib.sha256()
            for piece in pieces(file):
                digest.update(piece)
                copy.write(piece)
        if version is None:
            target = folder / f"{_key(digest.digest())}-{_name(file)}"
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    return target


def new_file(folder: Path) -> tuple[int, Path]:
    """Make a file in a folder that other users cannot read, under a temporary name.

    If this process is killed, the next one that makes a file there removes it.

    Returns
    -------
    tuple of int and Path
        Its descriptor and its path.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    path = folder / _trajet.temporary_name(folder)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), path


def _no_folder(file: RemoteFile, reason: str) -> RemoteError:
    return RemoteError(
        f"{file.path}: a copy cannot be kept ({reason}): set XDG_CACHE_HOME to a folder that can be"
        " written"
    )


def _key(text: bytes) -> str:
    """Return the digest that names a copy."""
    return hashlib.sha256(text).hexdigest()[:32]


def _name(file: RemoteFile) -> str:
    """Return the last part of an object's name, whose endings tell the format."""
    last = shown(file.path).rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9._-]", "_", last)[-80:]


def _is_copy(path: Path, size: int) -> bool:
    """Return whether a file is one of this user, of the size of the object."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_size == size
