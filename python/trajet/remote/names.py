"""Names of objects in remote storage: URLs, and what of them may be shown."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PosixPath
from typing import Self, TypeAlias, TypeGuard

# The name of an object: a URL, or a store or filesystem with a path.
ObjectName: TypeAlias = str | os.PathLike[str] | tuple[object, str]
# Options of a store, as obstore takes them (`trajet.open`).
StorageOptions: TypeAlias = Mapping[str, object]

# Ending that the name of an object's published index has after the name of the object.
INDEX_SUFFIX = ".trajet-index"
# Endings of files that are compressed, as Compression in trajet-formats knows them.
_COMPRESSED = (".gz", ".zst")

_SCHEMES = ("s3", "gs", "az", "https", "http")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Names of options whose values are no secrets. Those of all others are not shown, nor sent to other
# machines.
_PUBLIC = re.compile(
    r"""
    ((aws|amazon|azure_storage|azure|google|gcp|object_store)_)?
    ( (default_)?region | endpoint(_url(_s3)?)? | bucket(_name)? | prefix | container_name
    | account_name | skip_signature | allow_http | virtual_hosted_style_request | unsigned_payload
    | imdsv1_fallback | metadata_endpoint | request_payer | requester_pays | s3_express
    | checksum_algorithm | conditional_put | copy_if_not_exists | disable_tagging | use_emulator
    | disable_bulk_delete | role_arn | role_session_name | sts_endpoint | server_side_encryption
    | sse_kms_key_id | sse_bucket_key_enabled | base_url | use_fabric_endpoint | use_azure_cli
    | tenant_id | authority_id | authority_host | client_id | object_id | credential_type
    | msi_endpoint | msi_resource_id
    | ((connect|read|pool_idle)_)?timeout | pool_max_idle_per_host | http1_only
    | http2_(only|keep_alive_(interval|timeout|while_idle)|max_frame_size) | user_agent
    | proxy_(url|excludes|ca_certificate) | root_certificate | allow_invalid_certificates
    | randomize_addresses | default_content_type )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Values that hold user and password.
_USER = re.compile("//[^/]*@")


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
        return getattr(self, "_shown", None) or super().__str__()

    def __fspath__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type["ObjectPath"], tuple[str, bool]]:
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

    text = os.fspath(url)
    if not _is_web(text):
        scheme, divider, rest = text.partition("?")[0].partition("://")
        place, slash, key = rest.partition("/")
        return f"{scheme}{divider}{place.rpartition('@')[2]}{slash}{key}"
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _is_web(url: str) -> bool:
    """Return whether a URL is one of HTTP, where a fragment is no part of the name."""
    return url.partition("://")[0].lower() in {"http", "https"}


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, or the redacted URL of an object, for messages."""
    return shown(path) if is_url(path) else os.fspath(path)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of the name of a file or an object, such as ".xtc", in lower case.

    That of a file compressed by gzip or zstd is the ending of the name inside.
    """
    name = shown(path) if is_url(path) else os.fspath(path)
    inside, ending = os.path.splitext(name)
    return (os.path.splitext(inside)[1] if ending.lower() in _COMPRESSED else ending).lower()


def is_published(name: object) -> TypeGuard[ObjectName]:
    """Return whether an object is a published data set, and no file, by its name.

    Data sets have tags (…/NAME@TAG) or no dot in their names.
    """
    if not is_object(name):
        return False
    text = name[1] if isinstance(name, tuple) else shown(name)
    last = text.rpartition("/")[2]
    return last != "" and ("@" in last or "." not in last)


def split_tags(name: str) -> tuple[str, tuple[str, ...] | None]:
    """Split NAME@TAG,TAG into the name of a data set and its tags, which are None without an @."""
    name, divider, tags = name.partition("@")
    return name, tuple(tags.split(",")) if divider else None


def is_secret(option: str, value: object = None) -> bool:
    """Return whether the value of a storage option is a secret, or may be one.

    Those of a known list are none, unless they are URLs with a user.
    """
    name = option.rpartition(".")[2]
    has_user = value is not None and _USER.search(str(value)) is not None
    return has_user or _PUBLIC.fullmatch(name) is None


def without_secrets(options: StorageOptions | None) -> StorageOptions | None:
    """Return the options that may be sent to other machines."""
    if options is None:
        return None
    kept = {name: value for name, value in options.items() if not is_secret(name, value)}
    client = options.get("client_options")
    if isinstance(client, Mapping):
        kept["client_options"] = {
            name: value for name, value in client.items() if not is_secret(name, value)
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

    if not _is_web(url):
        return _address_in_bucket(url)
    parts = urlsplit(url)
    if parts.fragment:
        raise ValueError(
            f"{shown(url)}: a fragment (#...) names no part of a file: leave it out, or write # in"
            " a name as %23"
        )
    host = parts.netloc.rpartition("@")[2]
    query = ""
    if parts.query:
        # Queries tell objects apart, and may be signatures.
        digest = hashlib.sha256(parts.query.encode()).hexdigest()[:8]
        query = f"redacted-{digest}"
    redacted = urlunsplit((parts.scheme.lower(), host, parts.path, query, ""))
    scheme = parts.scheme.lower()
    _check_path(host, parts.path, redacted)
    authorization = None
    if parts.netloc != host:
        user = unquote(parts.netloc.rpartition("@")[0]).encode()
        authorization = f"Basic {base64.b64encode(user).decode()}"
    # The path of an HTTP object is taken as it is, with its query.
    store = urlunsplit((scheme, host, parts.path, parts.query, ""))
    return Address(scheme, store, "", redacted, authorization)


def _address_in_bucket(url: str) -> Address:
    """Return where an object in a bucket is: all that follows the bucket is its key.

    Raises
    ------
    ValueError
        As `address_of`.
    """
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    bucket, _, path = rest.partition("/")
    text = f"{scheme}://{shown(url).partition('://')[2]}"
    if scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        raise ValueError(
            f"{text}: URLs of this kind are not read: give one that begins with {known}"
        )
    if "?" in rest or "@" in bucket:
        raise ValueError(
            f"{text}: give credentials as storage_options={{…}} or in the environment,"
            " not in the URL; an object with ? in its name is given as (store, name)"
        )
    _check_path(bucket, path, text)
    return Address(scheme, f"{scheme}://{bucket}", path.lstrip("/"), text, None)


def _check_path(host: str, path: str, text: str) -> None:
    """Check that a URL names an object.

    Raises
    ------
    ValueError
        If it does not.
    """
    if not host or not path.lstrip("/") or path.endswith("/"):
        raise ValueError(f"{text}: names no object: give scheme://bucket-or-host/path/of/the/file")
