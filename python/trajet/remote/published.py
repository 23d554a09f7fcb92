"""Published data sets of stores: tags are read by ranges where they are, the rest is copied.

A published data set is a folder of objects: the manifest, which is uploaded last, the topology and
the tables of frames beside it, and the files of tags below `tiers`.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast

from trajet import _trajet
from trajet._trajet import STORE_MANIFEST, STORE_SETTINGS, RemoteError, StoreError
from trajet.parsing import ParseError, parsed
from trajet.remote.attempts import in_threads
from trajet.remote.downloads import new_file
from trajet.remote.names import (
    ObjectName,
    ObjectPath,
    StorageOptions,
    address_of,
    split_tags,
)
from trajet.remote.objects import Answer, IsLeft, RemoteFile, open_address, open_in_store, scheme_of
from trajet.remote.ranges import pieces
from trajet.remote.stores import Opening

if TYPE_CHECKING:
    from trajet._types import Manifest, StoredFile

# Folder of the files of tags, below which each tier has one.
TIERS = "tiers"
# Mark of the folders of tiers, which are empty.
_MARK = "remote"
# Bytes of the longest manifest, and of all files that are copied, that are read.
_LONGEST = 2**26
_MOST = 2**31
# Files that are copied at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, repr=False)
class Folder:
    """A folder of objects: below a URL, or in a store of obstore or an fsspec filesystem.

    Attributes
    ----------
    shown
        Its URL without secrets.
    """

    shown: str
    opening: Opening | None
    store: object
    key: str

    @classmethod
    def of(cls, name: ObjectName, options: StorageOptions | None, *, allow_http: bool) -> "Folder":
        """Return the folder with a URL, or in a store."""
        if isinstance(name, tuple):
            store, key = name
            key = key.strip("/")
            return cls(f"{scheme_of(store)}://{key}", None, store, key)
        address = address_of(os.fspath(name))
        return cls(address.shown, Opening(address, dict(options or {}), allow_http), None, "")

    def file(self, path: str) -> RemoteFile:
        """Open an object of the folder, as `trajet.remote.objects.open_objects`."""
        if self.opening is None:
            return open_in_store(self.store, f"{self.key}/{path}")
        address = self.opening.address.beside(f"/{path}")
        if address is None:
            raise ValueError(
                f"{self.shown}: a data set has many files, and the query of a URL is that of one:"
                " give a URL without"
            )
        return open_address(Opening(address, self.opening.options, self.opening.allow_http))

    def without_secrets(self) -> "Folder | None":
        """Return it as it may be sent to other machines; None if it cannot."""
        if self.opening is None or self.opening.address.has_secrets:
            return None
        return Folder(self.shown, self.opening.without_secrets(), None, "")


@dataclass(repr=False)
class TagFile(RemoteFile):
    """A file of a tag, which is opened when it is first read.

    Its size is that of the manifest, and its frames are compared with their digests.
    """

    folder: Folder
    _opened: RemoteFile | None = None
    _opening: Lock = field(default_factory=Lock)

    def __reduce__(self) -> tuple[type["TagFile"], tuple[object, ...]]:
        about = (self.path, self.key, self.size, self.etag, (), self.folder)
        return TagFile, about

    def _file(self) -> RemoteFile:
        """Open the object.

        Raises
        ------
        FileNotFoundError, PermissionError, RemoteError
            If it cannot be opened.
        """
        # Several connections ask at once: all must read the same version of the object.
        with self._opening:
            if self._opened is None:
                self._opened = self.folder.file(self.key)
                self.etag = self.etag or self._opened.etag
            return self._opened

    def read(self, start: int, end: int, is_left: IsLeft | None = None) -> Answer:
        """Return bytes `start` to `end`, or a kind of failure and its description."""
        try:
            file = self._file()
        except FileNotFoundError:
            return "missing", "the manifest names it: publish the data set again"
        except PermissionError:
            return "denied", "access is denied: give credentials"
        except RemoteError as error:
            return "refused", str(error).removeprefix(f"{self.path}: ")
        if file.size != self.size:
            return "refused", (
                f"it has {file.size} bytes, and {self.size} by the manifest: publish the data set"
                " again"
            )
        if self.etag != file.etag:
            return "replaced", ""
        return file.read(start, end, is_left)

    def _beside(self, suffix: str) -> RemoteFile | None:
        """Open the object whose name has a further suffix."""
        return self.folder.file(self.key + suffix)

    def for_worker(self, secrets: bool) -> bytes:
        """Return the data from which a worker process opens it; empty if it cannot."""
        import pickle

        folder = self.folder if secrets else self.folder.without_secrets()
        if folder is None:
            return b""
        about = (self.path, self.key, self.size, self.etag, (), folder)
        return pickle.dumps(TagFile(*about))


@dataclass(frozen=True, repr=False)
class PublishedDataset:
    """A published data set, or some of its tags.

    Attributes
    ----------
    shown
        Its URL without secrets, and the tags.
    folder
        Its objects.
    tags
        Names of the tags to open; None for all.
    """

    shown: str
    folder: Folder
    tags: tuple[str, ...] | None

    @classmethod
    def at(
        cls, name: ObjectName, options: StorageOptions | None, *, allow_http: bool
    ) -> "PublishedDataset":
        """Return the data set with a URL: …/NAME or …/NAME@TAG,TAG."""
        store, url = name if isinstance(name, tuple) else (None, os.fspath(name))
        head, slash, last = url.rpartition("/")
        last, wanted = split_tags(last)
        base = head + slash + last
        folder = Folder.of(base if store is None else (store, base), options, allow_http=allow_http)
        tags = "" if wanted is None else f"@{','.join(wanted)}"
        return cls(folder.shown + tags, folder, wanted)

    def copied(self, cache: Path | None) -> tuple[Path, str, dict[Path, RemoteFile]]:
        """Copy all but the tags to the cache folder.

        Files of the same manifest are copied once. No request is made for the files of tags.

        Returns
        -------
        tuple of Path, str and dict
            The folder of a store with the data set, its name by its manifest, and the objects that
            are read in place of the files of tags, by path.

        Raises
        ------
        StoreError
            If no data set is published there, or its manifest is not that of a store.
        RemoteError
            If there is no folder for the copies, or a request fails.
        """
        if cache is None:
            raise RemoteError(
                f"{self.shown}: its tables cannot be kept, as there is no cache folder: set"
                " XDG_CACHE_HOME to a folder that can be written"
            )
        text = self._text()
        key = hashlib.sha256(f"{self.folder.shown}\n".encode() + text).hexdigest()[:32]
        folder = cache / "stores" / key
        schema, name = _schema_and_name_of(text, self.shown)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            manifest = _checked(text, schema, name, folder.parent)
            beside = folder / name
            files = [file for segment in manifest["segments"] for file in segment["files"]]
            tiers = {file["tier"] for file in files} | {tag["tier"] for tag in manifest["tags"]}
            # Others may open the same data set meanwhile: all write the same files.
            beside.mkdir(mode=0o700, exist_ok=True)
            _replace(beside / STORE_MANIFEST, [text])
            _write_settings(folder, schema, sorted(tiers))
            # Their names are checked by the store before they become those of folders.
            for tier in json.loads(_trajet.Store(folder).tiers()):
                marked = folder / TIERS / tier
                marked.mkdir(mode=0o700, parents=True, exist_ok=True)
                (marked / f".trajet-tier-{_MARK}").touch(mode=0o600)
            self._copy_tables(beside, manifest)
        except OSError as error:
            if isinstance(error, (FileNotFoundError, PermissionError)) and error.errno is None:
                raise
            raise RemoteError(
                f"{self.shown}: its tables cannot be kept ({folder}: {error.strerror}): set"
                " XDG_CACHE_HOME to a folder that can be written"
            ) from error
        objects: dict[Path, RemoteFile] = {}
        for file in files:
            below = f"{TIERS}/{file['tier']}/{file['path']}"
            path = ObjectPath(f"{self.folder.shown}/{below}", is_complete=False)
            objects[folder / below] = TagFile(path, below, file["size"], None, (), self.folder)
        return folder, name, objects

    def manifest(self) -> tuple[bytes, "Manifest"]:
        """Return the manifest as it is published, and after its checks.

        Raises
        ------
        StoreError
            If no data set is published there, or its manifest is not that of a store.
        RemoteError
            If a request fails.
        """
        text = self._text()
        return text, _checked(text, *_schema_and_name_of(text, self.shown), None)

    def _text(self) -> bytes:
        """Return the manifest as it is published."""
        try:
            file = self.folder.file(STORE_MANIFEST)
        except FileNotFoundError:
            raise StoreError(
                f"{self.shown}: no data set is published there, as it has no {STORE_MANIFEST}: give"
                " the URL of one, or a topology and a trajectory"
            ) from None
        if file.size > _LONGEST:
            raise StoreError(f"{file.path}: has {file.size} bytes, and is no manifest of a store")
        return b"".join(pieces(file))

    def _copy_tables(self, beside: Path, manifest: "Manifest") -> None:
        """Copy the topology and the tables of frames that are not there yet."""
        missing = [
            kept
            for kept in tables_of(manifest)
            if not (beside / kept["file"]).is_file()
            or (beside / kept["file"]).stat().st_size != kept["size"]
        ]
        if (size := sum(kept["size"] for kept in missing)) > _MOST:
            raise RemoteError(f"{self.shown}: its tables have {size} bytes, and {_MOST} are copied")

        def copy(kept: "StoredFile") -> None:
            file = self.folder.file(kept["file"])
            if file.size != kept["size"]:
                raise StoreError(
                    f"{file.path}: has {file.size} bytes, and {kept['size']} by the manifest:"
                    " publish the data set again"
                )
            _replace(beside / kept["file"], pieces(file))

        for _ in in_threads(copy, missing, _AT_ONCE):
            pass


def tables_of(manifest: "Manifest") -> Iterator["StoredFile"]:
    """Yield the files beside the manifest that reading needs."""
    yield manifest["topology"]
    for source in manifest["source"]:
        if (other := source.get("other_contents")) is not None:
            yield other
    for segment in manifest["segments"]:
        yield segment["frames"]
        yield segment["frame_metadata"]
        if (digests := segment.get("original_digests")) is not None:
            yield digests
        for file in segment["files"]:
            if (layout := file.get("layout_file")) is not None:
                yield layout


def _checked(text: bytes, schema: int, name: str, parent: Path | None) -> "Manifest":
    """Return a manifest after its checks, in a store of its own below a folder.

    `parent` is None for the folder of temporary files.

    Raises
    ------
    StoreError
        If it is not that of a store, or the name is not that of a data set.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    folder = place / _trajet.temporary_name(place)
    folder.mkdir(0o700)
    try:
        _write_settings(folder, schema, ())
        # The name is checked by the store.
        if os.sep not in name and name not in {"", ".", ".."}:
            (folder / name).mkdir()
            (folder / name / STORE_MANIFEST).write_bytes(text)
        return cast("Manifest", json.loads(_trajet.Store(folder).manifest(name)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _schema_and_name_of(manifest: bytes, shown: str) -> tuple[int, str]:
    """Return the version of the schema and the name of the data set that a manifest states."""
    try:
        found: object = parsed(json.loads, manifest)
    except ParseError:
        found = None
    stated = found if isinstance(found, dict) else {}
    schema, name = stated.get("schema"), stated.get("name")
    if not isinstance(schema, int) or not isinstance(name, str) or not name.isprintable():
        raise StoreError(f"{shown}: its {STORE_MANIFEST} is not that of a store: publish it again")
    return schema, name


def _write_settings(folder: Path, schema: int, tiers: Sequence[str]) -> None:
    """Write the settings of the store in the cache folder, with these tiers."""
    described: Mapping[str, object] = {
        tier: {"folder": str(folder / TIERS / tier), "limit": None, "rank": rank, "mark": _MARK}
        for rank, tier in enumerate(tiers)
    }
    settings = {"schema": schema, "folder": str(folder), "tiers": described}
    _replace(folder / STORE_SETTINGS, [json.dumps(settings).encode()])


def _replace(path: Path, contents: "Iterator[bytes] | Sequence[bytes]") -> None:
    """Write a file beside its path and rename it."""
    descriptor, beside = new_file(path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(contents)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
