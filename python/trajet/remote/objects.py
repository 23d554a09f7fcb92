"""Opening and reading objects in remote storage, through obstore or an fsspec filesystem.

The native module calls `read` from threads of its own. It makes requests again that failed for a
moment; obstore itself does not, as it would go on after a cut connection without the ETag.
"""

import os
import pickle
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, cast

from trajet._trajet import RemoteError
from trajet.messages import Code, Message
from trajet.remote.attempts import PAUSES, attempts, in_threads, is_left
from trajet.remote.failures import LATER, Failure, exception_of, failure_of
from trajet.remote.names import INDEX_SUFFIX, ObjectName, ObjectPath, StorageOptions, address_of
from trajet.remote.stores import Opening, check_process, place_of

if TYPE_CHECKING:
    from obstore import Bytes, GetOptions, GetResult
    from obstore.store import ObjectStore

Answer: TypeAlias = "Bytes | bytes | memoryview | Failure"
IsLeft: TypeAlias = Callable[[], bool]
# Redacted URL, key, size, ETag, messages, time of modification, and whether it was redirected.
_Known: TypeAlias = tuple[str, str, int, str | None, tuple[Message, ...], datetime, bool]

# Bytes of the first request; the native module keeps as many of both ends.
_END_BYTES = 64 * 1024
# Bytes of an answer after which it is left if nobody waits for it any more.
_PIECE = 256 * 1024
# Least time between two requests for where a URL leads, seconds.
_RENEWAL = 1.0
# Objects of a trajectory that are opened at the same time.
_MAX_OPENED = 16
_WEAK = (
    "{} gives it no strong ETag: if another object of the same size takes its place, {}and the"
    " headers of frames (DCD has none) alone tell"
)
# Names under which fsspec filesystems give what changes with the contents of a file.
_PROPERTIES = (
    "ETag",
    "etag",
    "e_tag",
    "md5Hash",
    "content_md5",
    "checksum",
    "sha",
    "generation",
    "version_id",
    "VersionId",
    "LastModified",
    "last_modified",
    "mtime",
    "modified",
    "updated",
    "created",
    "ino",
)


class FileSystem(Protocol):
    """The methods of an fsspec filesystem that are called."""

    def info(self, path: str) -> Mapping[str, object]:
        """Return size and other properties of a file."""
        ...

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """Return a range of a file."""
        ...


@dataclass(repr=False)
class RemoteFile:
    """An open object, as the native module reads it.

    Attributes
    ----------
    path
        Its name.
    key
        Its path in the store.
    size
        Bytes.
    etag
        Its strong ETag; None if the server gives none.
    messages
        Messages on it for the user.
    """

    path: ObjectPath
    key: str
    size: int
    etag: str | None
    messages: tuple[Message, ...]
    # Pauses before a request is made again after a transient failure, seconds.
    pauses: ClassVar[Sequence[float]] = PAUSES

    @property
    def n_held(self) -> int:
        """Bytes at its beginning that opening it has read: reading them takes no request."""
        return 0

    @property
    def version(self) -> str | None:
        """Text that differs for all objects and contents with this path; None if none does.

        Copies and indexes in the cache folder are found by path and version.
        """
        return None

    def read(self, start: int, end: int, is_left: IsLeft | None = None) -> Answer:
        """Return bytes `start` to `end`, or a kind of failure and its description.

        `is_left` returns whether nobody waits for them any more.
        """
        raise NotImplementedError

    def published_index(self, most: int) -> "Bytes | bytes | memoryview | str | None":
        """Return the index that is published beside the object.

        None if there is none, and a text that says why it is not used if it has more than `most`
        bytes or cannot be read.
        """
        try:
            beside = self._beside(INDEX_SUFFIX)
        except (FileNotFoundError, PermissionError):
            # S3 denies access to a missing object if the bucket may not be listed.
            return None
        except Exception as error:
            return f"it cannot be read ({type(error).__name__})"
        if beside is None:
            return None
        if beside.size > most:
            return f"it has {beside.size} bytes, and those of this object have at most {most}"
        answer = beside.read(0, beside.size)
        if isinstance(answer, tuple):
            return f"it cannot be read ({answer[1] or answer[0]})"
        return answer

    def _beside(self, suffix: str) -> "RemoteFile | None":
        """Open the object whose name has a further suffix; None if it can have none."""
        raise NotImplementedError

    def for_worker(self, secrets: bool) -> bytes:
        """Return the data from which a worker process opens it; empty if it cannot."""
        raise NotImplementedError


@dataclass(repr=False)
class StoredObject(RemoteFile):
    """An object that obstore reads.

    Attributes
    ----------
    modified
        Time of its modification.
    opening
        How its store was opened; None for a store of the caller.
    front
        Its first bytes, as far as they are known.
    """

    store: "ObjectStore"
    modified: datetime
    opening: Opening | None
    front: memoryview
    _renewing: Lock = field(default_factory=Lock)
    _renewed_at: float = field(default_factory=time.monotonic)

    @property
    def n_held(self) -> int:
        """Bytes at its beginning that opening it has read: reading them takes no request."""
        return len(self.front)

    @property
    def version(self) -> str | None:
        """Text that differs for all objects and contents with this path; None if none does.

        ETags are compared within one store, which the path does not name.
        """
        place = place_of(self.store, self.opening)
        return None if self.etag is None or place is None else f"{self.etag}{place}"

    def read(self, start: int, end: int, is_left: IsLeft | None = None) -> Answer:
        """Return bytes `start` to `end`, or a kind of failure and its description."""
        if end <= max(start, len(self.front)):
            return self.front[start:end]
        store = self.store
        answer = self._read_from(store, start, end, is_left)
        if isinstance(answer, tuple) and answer[0] == "denied" and self._is_renewed(store):
            return self._read_from(self.store, start, end, is_left)
        return answer

    def _read_from(
        self, store: "ObjectStore", start: int, end: int, is_left: IsLeft | None
    ) -> Answer:
        """Return bytes `start` to `end` of a store, or a kind of failure and its description."""
        options: GetOptions = {"range": (start, end)}
        if self.etag is not None:
            options["if_match"] = self.etag
        else:
            options["if_unmodified_since"] = self.modified
        try:
            found = store.get(self.key, options=options)
            return self._fault(found, start, end) or _body(found, end - start, is_left)
        except Exception as error:
            return failure_of(error, is_web=scheme_of(store) == "http")

    def _is_renewed(self, used: "ObjectStore") -> bool:
        """Return whether the server has redirected to another URL: signed ones expire soon."""
        if self.opening is None or self.opening.target is None:
            return False
        with self._renewing:
            if self.store is not used:
                return True
            if time.monotonic() - self._renewed_at < _RENEWAL:
                return False
            self._renewed_at = time.monotonic()
            try:
                self.opening = self.opening.resolved()
                self.store = self.opening.store()
            except OSError:
                return False
            return True

    def _fault(self, found: "GetResult", start: int, end: int) -> Failure | None:
        """Return what is wrong with an answer that the server takes for right."""
        meta = found.meta
        # Servers may not know If-Match.
        is_same = meta["size"] == self.size and meta["last_modified"] == self.modified
        if not is_same or (self.etag is not None and meta["e_tag"] != self.etag):
            return "replaced", ""
        if (first := found.range) != (start, end):
            return "transient", f"bytes {first[0]} to {first[1]} were sent{LATER}"
        return _compression(found)

    def _beside(self, suffix: str) -> RemoteFile | None:
        """Open the object whose name has a further suffix; None if it can have none."""
        if self.opening is None:
            return open_in_store(self.store, self.key + suffix)
        if (address := self.opening.address.beside(suffix)) is None:
            return None
        return open_address(Opening(address, self.opening.options, self.opening.allow_http))

    def for_worker(self, secrets: bool) -> bytes:
        """Return the data from which a worker process opens it; empty if it cannot."""
        is_redirected = self.opening is not None and self.opening.target is not None
        about = (self.size, self.etag, self.messages, self.modified, is_redirected)
        known = (str(self.path), self.key, *about)
        if self.opening is None:
            return pickle.dumps((known, self.store)) if secrets else b""
        if secrets:
            return pickle.dumps((known, replace(self.opening, target=None)))
        if self.opening.address.has_secrets:
            return b""
        return pickle.dumps((known, self.opening.without_secrets()))


@dataclass(repr=False)
class FilesystemObject(RemoteFile):
    """A file of an fsspec filesystem."""

    filesystem: FileSystem
    # Properties that are others after the file was replaced.
    properties: Mapping[str, object]

    def read(self, start: int, end: int, is_left: IsLeft | None = None) -> Answer:
        """Return bytes `start` to `end`, or a kind of failure and its description."""
        if start == end:
            return b""
        try:
            found = self.filesystem.cat_file(self.key, start=start, end=end)
            is_same = _properties(self.filesystem, self.key) == self.properties
            return found if is_same else ("replaced", "")
        except FileNotFoundError:
            return "replaced", ""
        except PermissionError:
            return "denied", "access is denied: renew the credentials of the filesystem"
        except Exception as error:
            what = f"the filesystem failed ({type(error).__name__})"
            is_transient = isinstance(error, OSError)
            return ("transient", f"{what}{LATER}") if is_transient else ("refused", what)

    def _beside(self, suffix: str) -> RemoteFile | None:
        """Open the file whose name has a further suffix."""
        return open_in_store(self.filesystem, self.key + suffix)

    def for_worker(self, secrets: bool) -> bytes:
        """Return the data from which a worker process opens it; empty if it cannot."""
        return pickle.dumps(self) if secrets else b""


def _compression(found: "GetResult") -> Failure | None:
    """Return the fault of an object that is sent compressed."""
    for name, value in found.attributes.items():
        if str(name).lower() == "content-encoding" and str(value).lower() not in {"", "identity"}:
            return "refused", (
                "it is sent compressed (Content-Encoding), and a range of that is none of the"
                " trajectory: download and unpack it, or store it without"
            )
    return None


def _body(found: "GetResult", length: int, is_left: IsLeft | None = None) -> Answer:
    """Return the bytes of an answer, of which no more are received than were asked for."""
    pieces: list[Bytes | bytes] = []
    received = 0
    # Iterated to its end, as connections whose answers have not ended are not used again.
    for piece in found.stream(min_chunk_size=max(1, min(length, _PIECE))):
        received += len(piece)
        if received > length:
            return "transient", f"more bytes were sent than asked for{LATER}"
        if is_left is not None and is_left():
            return "transient", "nobody waits for it"
        pieces.append(piece)
    if received < length:
        return "transient", f"{received} bytes were sent instead of {length}{LATER}"
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _opened(
    path: ObjectPath, store: "ObjectStore | None", key: str, opening: Opening | None
) -> StoredObject:
    """Return an object, after one request for its first bytes.

    Without a store, it is that of `opening`, after redirects.
    """
    resolved: Opening | None = None

    def opened() -> StoredObject | Failure:
        nonlocal resolved
        if store is not None:
            return _answered(path, store, key, opening)
        assert opening is not None
        try:
            resolved = resolved or opening.resolved()
        except RemoteError:
            raise
        except OSError as error:
            return failure_of(error, is_web=True)
        return _answered(path, resolved.store(), key, resolved)

    answer = attempts(opened, RemoteFile.pauses, is_opened=False)
    if isinstance(answer, tuple):
        raise exception_of(str(path), answer)
    return answer


def _answered(
    path: ObjectPath, store: "ObjectStore", key: str, opening: Opening | None
) -> StoredObject | Failure:
    """Return an object, after one request for its first bytes, or why it cannot be opened."""
    try:
        try:
            found = store.get(key, options={"range": (0, _END_BYTES)})
        except Exception as error:
            # A server that refuses ranges beyond the end (416), of a file that is not empty.
            if failure_of(error)[0] != "replaced" or not (known := store.head(key)["size"]):
                raise
            found = store.get(key, options={"range": (0, min(known, _END_BYTES))})
        if (compressed := _compression(found)) is not None:
            return compressed
        first, last = found.range
        front = _body(found, last - first, is_left)
    except Exception as error:
        failure = failure_of(error, is_web=scheme_of(store) == "http")
        if failure[0] == "replaced":
            return "refused", (
                "it is empty, or the server refuses ranges beyond its end (status 416): was the"
                " copy cut short?"
            )
        return failure
    meta = found.meta
    etag, size = meta["e_tag"], meta["size"]
    if isinstance(front, tuple) or (first, last) != (0, min(size, _END_BYTES)):
        return "transient", f"other bytes were sent than asked for{LATER}"
    if etag is not None and etag.startswith("W/"):
        etag = None
    messages = []
    if etag is None:
        text = _WEAK.format("the server", "the time of modification ")
        messages.append(Message(Code.WEAK_VERSION, text))
    if opening is not None and opening.target is not None:
        text = f"the server redirects to {opening.target.shown}, which is read"
        messages.append(Message(Code.REDIRECTED, text))
    modified = meta["last_modified"]
    held = memoryview(front)
    return StoredObject(path, key, size, etag, tuple(messages), store, modified, opening, held)


def _open_url(url: str, options: StorageOptions, *, allow_http: bool) -> StoredObject:
    """Return the object with a URL."""
    address = address_of(url)
    if address.scheme == "http" and not allow_http:
        raise ValueError(
            f"{address.shown}: plain HTTP is neither encrypted nor protected against changes on the"
            " way: give https://, or allow_http=True"
        )
    return open_address(Opening(address, dict(options), allow_http))


def open_address(opening: Opening) -> StoredObject:
    """Return the object at an address."""
    address = opening.address
    # Wrong options are errors before any request.
    store = opening.store()
    path = ObjectPath(address.shown, is_complete=not address.has_secrets)
    return _opened(path, None if opening.is_http else store, address.path, opening)


def open_in_store(store: object, key: str) -> RemoteFile:
    """Return the object of an obstore store or an fsspec filesystem."""
    path = ObjectPath(f"{scheme_of(store)}://{key.lstrip('/')}", is_complete=False)
    if hasattr(store, "cat_file"):
        filesystem = cast(FileSystem, store)
        found = _properties(filesystem, key)
        size = found.get("size")
        if not isinstance(size, int):
            raise RemoteError(f"{path}: the filesystem does not know its size: download it")
        compared = "".join(f"{name}, " for name in found if name != "size")
        text = _WEAK.format("an fsspec filesystem", compared)
        weak = (Message(Code.WEAK_VERSION, text),)
        return FilesystemObject(path, key, size, None, weak, filesystem, found)
    if hasattr(store, "get") and hasattr(store, "head"):
        check_process()
        return _opened(path, cast("ObjectStore", store), key, None)
    raise TypeError(
        f"{type(store).__name__} is neither a store of obstore nor an fsspec filesystem"
    )


def _properties(filesystem: FileSystem, key: str) -> dict[str, object]:
    """Return the properties of a file that are others after it was replaced, without a cache."""
    if (forget := getattr(filesystem, "invalidate_cache", None)) is not None:
        forget(key)
    info = filesystem.info(key)
    return {name: info[name] for name in ("size", *_PROPERTIES) if info.get(name) is not None}


def scheme_of(store: object) -> str:
    """Return the name of a kind of store, for messages: "s3" of S3Store."""
    protocol: object = getattr(store, "protocol", None)
    if isinstance(protocol, (tuple, list)):
        protocol = protocol[0]
    kind = type(store).__name__.removesuffix("Store").lower()
    return re.sub(r"[^a-z0-9]", "", protocol if isinstance(protocol, str) else kind) or "store"


def open_objects(
    names: Sequence[ObjectName], options: StorageOptions | None, *, allow_http: bool
) -> list[RemoteFile]:
    """Open objects, each with one request; several at the same time.

    Parameters
    ----------
    names
        URLs, or stores of obstore or fsspec filesystems, each with a path.
    options
        Options of the stores of URLs.
    allow_http
        Whether `http://` is read.

    Raises
    ------
    FileNotFoundError, PermissionError, RemoteError
        If an object cannot be opened.
    MissingPackageError
        If obstore is not installed.
    ValueError
        If a URL or an option is wrong.
    """

    def opened(name: ObjectName) -> RemoteFile:
        if isinstance(name, tuple):
            return open_in_store(*name)
        return _open_url(os.fspath(name), options or {}, allow_http=allow_http)

    return list(in_threads(opened, names, _MAX_OPENED))


def open_in_worker(data: bytes) -> RemoteFile:
    """Open an object in a worker process; see `RemoteFile.for_worker`.

    No request is made, but for a URL that was redirected when it was opened first.

    Raises
    ------
    RemoteError
        If the data is empty.
    """
    if not data:
        raise RemoteError(
            "its URL or its store holds secrets, which are sent to no other machine: give a URL"
            " without, and credentials in the environment of the workers"
        )
    check_process()
    load: Callable[[bytes], object] = pickle.loads
    found = load(data)
    if isinstance(found, RemoteFile):
        return found
    (shown, key, size, etag, messages, modified, is_redirected), how = cast(
        "tuple[_Known, Opening | ObjectStore]",
        found,
    )
    opening: Opening | None = None
    if not isinstance(how, Opening):
        store = how
    else:
        try:
            opening = how.resolved() if is_redirected else how
        except RemoteError:
            raise
        except OSError as error:
            raise exception_of(shown, failure_of(error, is_web=True)) from None
        store = opening.store()
    path, front = ObjectPath(shown), memoryview(b"")
    return StoredObject(path, key, size, etag, messages, store, modified, opening, front)
