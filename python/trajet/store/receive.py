"""Copies of published data sets in a store: all tags, compared with their checksums."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from trajet import _trajet, output
from trajet._trajet import OutputError, StoreError
from trajet._trajet import Store as NativeStore
from trajet.pools.pool import Progress
from trajet.remote import ObjectName, StorageOptions
from trajet.remote.objects import RemoteFile
from trajet.remote.published import PublishedDataset
from trajet.remote.ranges import pieces

_STAYS = "what was copied stays: the same call goes on with it, and trajet store repair removes it"


def receive(
    at: Callable[[], NativeStore],
    url: ObjectName,
    name: str | None,
    *,
    options: StorageOptions | None,
    allow_http: bool,
    connections: int,
    threads: int | None,
    progress: Progress | None,
) -> str:
    """Copy a published data set to a store, which `at` makes; see `Store.download`."""
    published = PublishedDataset.at(url, options, allow_http=allow_http)
    if published.tags is not None:
        raise ValueError(
            f"{published.shown}: a data set has all its tags: leave @{','.join(published.tags)}"
            " out, or write these to a file"
        )
    text, manifest = published.manifest()
    name = name or manifest["name"]
    store = at()
    where = f"{store.folder}\n{name}\n{published.shown}\n"
    files = [file for segment in manifest["segments"] for file in segment["files"]]
    beside = [kept for file in files for kept in file["companion_files"]]
    done, total = 0, sum(file["size"] for file in [*files, *beside])

    def show(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(min(done, total), total)

    def append(file: RemoteFile, there: int, path: Path, out: IO[bytes], key: str) -> None:
        for piece in pieces(file, there, connections):
            try:
                out.write(piece)
                out.flush()
            except OSError as error:
                raise _unwritten(path, error) from error
            if key.startswith("tiers/"):
                show(len(piece))

    def copy(key: str, path: Path, size: int) -> None:
        with _opened(path) as out:
            there = os.fstat(out.fileno()).st_size
            if there > size:
                out.truncate(0)
                there = 0
            if key.startswith("tiers/"):
                show(there)
            if there < size:
                append(_published_file(published, key, size), there, path, out, key)
            # A file that is complete may be that of a call that was killed before it came here.
            try:
                os.fsync(out.fileno())
            except OSError as error:
                raise _unwritten(path, error) from error

    store.receive(
        name,
        text.decode(),
        hashlib.sha256(where.encode() + text).hexdigest()[:32],
        copy,
        threads=threads or _trajet.available_threads(),
    )
    return name


def _published_file(published: PublishedDataset, key: str, size: int) -> RemoteFile:
    """Open an object of a data set.

    Raises
    ------
    StoreError
        If there is none, or it has another size than the manifest states.
    """
    try:
        file = published.folder.file(key)
    except FileNotFoundError:
        raise StoreError(
            f"{published.shown}/{key}: is missing: publish the data set again (trajet store repair"
            " removes what was copied)"
        ) from None
    if file.size != size:
        raise StoreError(
            f"{file.path}: has {file.size} bytes, and {size} by the manifest: publish the data set"
            " again (trajet store repair removes what was copied)"
        )
    return file


def _opened(path: Path) -> IO[bytes]:
    """Open a file to append to it; not through a link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.fdopen(os.open(path, flags, 0o666), "ab")
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path}: cannot be written: {output.why(error)} ({_STAYS})")
