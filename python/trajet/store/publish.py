"""Publishing data sets: all files are copied to object storage, the manifest last."""

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from trajet._trajet import STORE_MANIFEST, StoreError
from trajet._trajet import Store as NativeStore
from trajet._types import Manifest
from trajet.dataset import StoreFile
from trajet.pools.pool import Progress
from trajet.remote import INDEX_SUFFIX, ObjectName, StorageOptions, is_published
from trajet.remote.published import TIERS, Folder, tables_of
from trajet.remote.uploads import upload
from trajet.store.entry import Published

if TYPE_CHECKING:
    from obstore.store import ObjectStore


def publish(
    store: NativeStore,
    name: str,
    to: ObjectName,
    *,
    options: StorageOptions | None,
    allow_http: bool,
    progress: Progress | None,
) -> Published:
    """Copy a data set to object storage; see `Store.publish`."""
    folder = Folder.of(to, options, allow_http=allow_http)
    target, prefix = _writable(folder)
    last = folder.shown.rstrip("/").rpartition("/")[2]
    if "@" in last or not is_published(to):
        raise ValueError(
            f"{folder.shown}: the last part of the URL names the data set, and has neither a dot"
            f" nor an @: give another one, …/{name.replace('.', '-')}"
        )
    text = store.manifest(name)
    manifest: Manifest = json.loads(text)
    files = list(_files_of(store, name, manifest))
    total, done = sum(size for _, _, size in files), 0
    for opened, key, size in files:
        upload(target, f"{prefix}{key}", opened, f"{folder.shown}/{key}")
        done += size
        if progress is not None:
            progress(done, total)
    if store.manifest(name) != text:
        raise StoreError(
            f"{name}: was changed while it was copied: publish it again; the URL has what it had"
        )
    for source in manifest["source"]:
        # Paths of this machine are not published.
        source["path"] = "/" + Path(source["path"]).name
    manifest["moved_links"] = []
    contents = json.dumps(manifest).encode()
    upload(target, f"{prefix}{STORE_MANIFEST}", contents, f"{folder.shown}/{STORE_MANIFEST}")
    return Published(folder.shown, len(files) + 1, total + len(contents))


def _writable(folder: Folder) -> tuple["ObjectStore", str]:
    """Return the store of a folder, and the prefix of its keys."""
    if folder.opening is None:
        if not hasattr(folder.store, "put"):
            raise TypeError(
                f"{folder.shown}: data sets are published to a URL or a store of obstore"
            )
        return cast("ObjectStore", folder.store), f"{folder.key}/"
    if folder.opening.is_http:
        raise ValueError(
            f"{folder.shown}: web servers take no uploads: publish to s3://, gs:// or az://, or"
            " upload a published folder with the server's own program"
        )
    return folder.opening.store(), f"{folder.opening.address.path}/"


def _files_of(
    store: NativeStore, name: str, manifest: Manifest
) -> Iterator[tuple[Callable[[], IO[bytes]], str, int]]:
    """Yield for all files but the manifest what opens them, key and size: those of tags first."""
    tiers = {tier: Path(found["folder"]) for tier, found in json.loads(store.tiers()).items()}
    for segment in manifest["segments"]:
        for file in segment["files"]:
            path = tiers[file["tier"]] / file["path"]
            key = f"{TIERS}/{file['tier']}/{file['path']}"
            own = StoreFile(store.folder, path)
            yield own.open, key, file["size"]
            for kept in file["companion_files"]:
                below = key.rpartition("/")[0]
                beside = StoreFile(store.folder, path.with_name(kept["file"]))
                yield beside.open, f"{below}/{kept['file']}", kept["size"]
            if (index := own.index()) is not None:
                opens = partial(_opened, index)
                with opens() as opened:
                    size = os.fstat(opened.fileno()).st_size
                yield opens, key + INDEX_SUFFIX, size
    for kept in tables_of(manifest):
        table = StoreFile(store.folder, store.folder / name / kept["file"])
        yield table.open, kept["file"], kept["size"]


def _opened(file: StoreFile | Path) -> IO[bytes]:
    return file.open() if isinstance(file, StoreFile) else file.open("rb")
