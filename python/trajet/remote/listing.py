"""Objects whose names match a pattern, found by listing a bucket."""

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from trajet.natural_order import natural
from trajet.remote.attempts import attempts, in_threads
from trajet.remote.failures import Failure, exception_of, failure_of
from trajet.remote.names import StorageOptions, address_of, shown
from trajet.remote.stores import Opening

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_WILDCARDS = re.compile(r"[*\[]")
# Folders that are listed at the same time.
_AT_ONCE = 16


def is_pattern(url: str | os.PathLike[str]) -> bool:
    """Return whether a URL has wildcards: `*` or `[…]` in its path; `?` begins a query."""
    path = shown(url).partition("://")[2].partition("/")[2]
    return _WILDCARDS.search(path) is not None


def matching(pattern: str, options: StorageOptions | None, *, allow_http: bool) -> list[str]:
    """Return the URLs of objects that match a pattern, in natural order: part2 before part10.

    Wildcards match within one folder, and no name that begins with a dot, as those of files. An
    object of which the pattern is the name itself is the only match.

    Parameters
    ----------
    pattern
        A URL with wildcards.
    options
        Options of the store.
    allow_http
        Whether the store may be without encryption.

    Raises
    ------
    FileNotFoundError
        If no object matches.
    ValueError
        If it is the URL of a web server, which has no listings.
    PermissionError, RemoteError
        If the bucket cannot be listed.
    """
    address = address_of(pattern)
    if address.scheme in {"http", "https"}:
        raise ValueError(
            f"{address.shown}: web servers do not list their files: give the URL of each file"
            " instead of a pattern ([ and * in names are written %5B and %2A)"
        )
    store = Opening(address, dict(options or {}), allow_http).store()
    segments = address.path.split("/")
    first = next(k for k, one in enumerate(segments) if _WILDCARDS.search(one))
    folders = ["".join(f"{one}/" for one in segments[:first])]
    names: list[str] = []
    for depth, segment in enumerate(segments[first:], first):
        is_last = depth + 1 == len(segments)

        def listed(folder: str, is_last: bool = is_last) -> list[str]:
            return _listed(store, folder, address.shown, objects=is_last)

        found = in_threads(listed, folders, _AT_ONCE)
        names = [
            folder + name
            for folder, entries in zip(folders, found, strict=True)
            for name in _chosen(entries, segment)
        ]
        folders = [f"{name}/" for name in names]
    if not names:
        raise FileNotFoundError(f"{address.shown}: no object matches this pattern")
    return [f"{address.store}/{name}" for name in sorted(names, key=natural)]


def _listed(store: "ObjectStore", folder: str, name: str, *, objects: bool) -> list[str]:
    """Return the names of the objects in a folder, or of the folders in it."""

    def ask() -> list[str] | Failure:
        try:
            found = store.list_with_delimiter(folder or None)
            if objects:
                return [entry["path"] for entry in found["objects"]]
            return list(found["common_prefixes"])
        except Exception as error:
            return failure_of(error)

    answer = attempts(ask, is_opened=False)
    if isinstance(answer, tuple):
        raise exception_of(name, answer)
    return [path.rstrip("/").rpartition("/")[2] for path in answer]


def _chosen(names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that match a pattern; that which equals it alone."""
    if pattern in names:
        return [pattern]
    may_hide = pattern.startswith(".")
    return [name for name in names if fnmatchcase(name, pattern) and (may_hide or name[:1] != ".")]
