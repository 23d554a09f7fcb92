"""Names of objects in remote storage: URLs, and what of them may be shown."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PosixPath
from typing import Self, TypeAlias, TypeGuard

# The name of an object: a URL, or a store or filesystem with a path.
ObjectName: TypeAlias = str | os.PathLike[str] | tuple[object, str]
# Options of a store, as obstore takes them (`trajet.open`).
StorageOptions: TypeAlias = Mapping[str, object]

# Ending that the name of an object's published index has after the name of the object.
INDEX_SUFFIX = ".trajet-index"

_SCHEMES = ("s3", "gs", "az", "https", "http")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Names of options whose values are not shown, nor sent to other machines.
_SECRET = re.compile(
    r"secret|token|password|passwd|access_?key|account_?key|credential|sas|authorization|headers"
    r"|service_account|application_?key|private",
    re.IGNORECASE,
)


class ObjectPath(PosixPath):
    """The name of an object where a path of a file is expected; its text is a URL without secrets.

    An ordinary Path makes one slash of the two in a URL.
    """

    _shown: str
    # Whether the URL alone opens the object again.
    is_complete: bool = True

    def __new__(cls, shown: str, is_complete: bool = True) -> Self:
        """Return the path of an object with this redacted URL."""
        made = super().__new__(cls, shown)
        made._shown = str(shown)
        made.is_complete = is_complete
        return made

    def __init__(self, shown: str, is_complete: bool = True) -> None:
        # Python 3.11 makes paths in `__new__` alone.
        if sys.version_info >= (3, 12):
            super().__init__(shown)

    def __str__(self) -> str:
        """Return the redacted URL."""
        return getattr(self, "_shown", None) or super().__str__()

    def __fspath__(self) -> str:
        """Return the redacted URL, which no file has as its name."""
        return str(self)

    def __repr__(self) -> str:
        """Return the class and the redacted URL."""
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type["ObjectPath"], tuple[str, bool]]:
        """Return what pickle keeps."""
        return type(self), (str(self), self.is_complete)

    def absolute(self) -> Self:
        """Return the path itself: it depends on no working folder."""
        return self

    def is_file(self) -> bool:
        """Return False: it is no file of this machine."""
        return False


def is_url(name: object) -> bool:
    """Return whether a name is a URL, of whatever scheme, and not that of a file."""
    if isinstance(name, ObjectPath):
        return True
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else None
    return isinstance(text, str) and _URL.match(text) is not None


def is_object(name: object) -> TypeGuard[ObjectName]:
    """Return whether a trajectory is an object in remote storage: a URL, or a store and a path."""
    if isinstance(name, tuple):
        return len(name) == 2 and isinstance(name[1], str)
    return is_url(name)


def absolute(name: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file, or the URL of an object as a path.

    Raises
    ------
    ValueError
        If the URL holds secrets, which a path does not keep, or is none that is read.
    """
    if not is_url(name):
        return Path(name).absolute()
    address = address_of(os.fspath(name))
    if address.has_secrets:
        raise ValueError(
            f"{address.shown}: user, password and query of a URL are not kept here: give a URL"
            " without, and credentials in the environment"
        )
    return ObjectPath(address.shown)


def shown(url: str | os.PathLike[str]) -> str:
    """Return a URL without user, password and query."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(os.fspath(url))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, or the redacted URL of an object, for messages."""
    return shown(path) if is_url(path) else os.fspath(path)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of the name of a file or an object, such as ".xtc", in lower case."""
    name = shown(path) if is_url(path) else os.fspath(path)
    return os.path.splitext(name)[1].lower()


def is_published(name: object) -> TypeGuard[ObjectName]:
    """Return whether an object is a published data set, and no file, by its name.

    Data sets have tags (…/NAME@TAG) or no dot in their names.
    """
    if not is_object(name):
        return False
    text = name[1] if isinstance(name, tuple) else shown(name)
    last = text.rpartition("/")[2]
    return last != "" and ("@" in last or "." not in last)


def is_secret(option: str) -> bool:
    """Return whether the value of a storage option is a secret, by the option's name."""
    return _SECRET.search(option) is not None


def options_for(names: Iterable[object], options: StorageOptions | None) -> StorageOptions | None:
    """Return the storage options if one of the names is that of an object, else None.

    For options that several trajectories share, some of which are files.
    """
    return options if any(map(is_object, names)) else None


def without_secrets(options: StorageOptions | None) -> StorageOptions | None:
    """Return the options that may be sent to other machines."""
    if options is None:
        return None
    kept = {name: value for name, value in options.items() if not is_secret(name)}
    client = kept.get("client_options")
    if isinstance(client, Mapping):
        kept["client_options"] = {
            name: value for name, value in client.items() if not is_secret(name)
        }
    return kept


@dataclass(frozen=True, repr=False)
class Address:
    """Where an object is.

    Attributes
    ----------
    scheme
        "s3", "gs", "az", "https" or "http".
    store
        URL of the store: of a bucket, or of the object itself with `path` empty (HTTP).
    path
        Key of the object in the store.
    shown
        The URL without user, password and the values of its query.
    authorization
        Value of the HTTP header of that name, made of user and password; None without.
    """

    scheme: str
    store: str
    path: str
    shown: str
    authorization: str | None

    @property
    def has_secrets(self) -> bool:
        """Whether the URL holds what is not shown."""
        return self.authorization is not None or (
            self.scheme in {"http", "https"} and "?" in self.store
        )

    def beside(self, suffix: str) -> "Address | None":
        """Return where the object is whose name has a further suffix.

        None if the URL has a query, which is the signature or name of this object alone.
        """
        shown = self.shown + suffix
        if self.scheme not in {"http", "https"}:
            return replace(self, path=self.path + suffix, shown=shown)
        return None if "?" in self.store else replace(self, store=self.store + suffix, shown=shown)


def address_of(url: str) -> Address:
    """Return where the object with a URL is.

    Raises
    ------
    ValueError
        If the URL is of another scheme, or names no object.
    """
    import base64
    import hashlib
    from urllib.parse import unquote, urlsplit, urlunsplit

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = ""
    if parts.query:
        # Queries tell objects apart, and may be signatures.
        digest = hashlib.sha256(parts.query.encode()).hexdigest()[:8]
        query = f"redacted-{digest}"
    shown = urlunsplit((parts.scheme.lower(), host, parts.path, query, ""))
    scheme = parts.scheme.lower()
    if scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        raise ValueError(
            f"{shown}: URLs of this kind are not read: give one that begins with {known}"
        )
    path = parts.path.lstrip("/")
    if not host or not path or path.endswith("/"):
        raise ValueError(f"{shown}: names no object: give scheme://bucket-or-host/path/of/the/file")
    if scheme not in {"http", "https"}:
        if parts.query or parts.netloc != host:
            raise ValueError(
                f"{shown}: give credentials as storage_options={{…}} or in the environment,"
                " not in the URL"
            )
        return Address(scheme, f"{scheme}://{host}", path, shown, None)
    authorization = None
    if parts.netloc != host:
        user = unquote(parts.netloc.rpartition("@")[0]).encode()
        authorization = f"Basic {base64.b64encode(user).decode()}"
    # The path of an HTTP object is taken as it is, with its query.
    store = urlunsplit((scheme, host, parts.path, parts.query, ""))
    return Address(scheme, store, "", shown, authorization)
