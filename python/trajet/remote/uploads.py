"""Uploads of objects: readers see the old one or the new one."""

from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from trajet._trajet import StoreError
from trajet.remote.attempts import attempts
from trajet.remote.failures import Failure, exception_of, failure_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore


def upload(
    store: "ObjectStore", key: str, contents: Callable[[], IO[bytes]] | bytes, shown: str
) -> None:
    """Write an object: readers see the old one or the new one.

    Parameters
    ----------
    contents
        The bytes, or a function that opens a file.

    Raises
    ------
    StoreError
        If the file cannot be read.
    FileNotFoundError, PermissionError, RemoteError
        If it cannot be written: there is no such bucket, access is denied, or a request fails.
    """

    def put() -> Failure | None:
        if isinstance(contents, bytes):
            return _put(store, key, contents)
        try:
            file = contents()
        except FileNotFoundError as error:
            raise StoreError(f"{error}: trajet store verify") from error
        with file:
            return _put(store, key, file)

    if (failure := attempts(put)) is not None:
        raise exception_of(shown, failure, "write")


def _put(store: "ObjectStore", key: str, contents: IO[bytes] | bytes) -> Failure | None:
    """Write an object with one request; return why that failed."""
    try:
        store.put(key, contents)
    except Exception as error:
        return failure_of(error)
    return None
