"""Uploads of objects: readers see the old one or the new one."""

import contextlib
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from trajet._trajet import StoreError
from trajet.remote.failures import exception_of, failure_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

# Attempts at an upload, and the first pause between them, seconds; later ones double.
_ATTEMPTS = 5
_PAUSE = 0.5
# Seconds between two looks for Ctrl-C while a file is uploaded.
_POLL = 0.1


def upload(store: "ObjectStore", key: str, contents: Path | bytes, shown: str) -> None:
    """Write an object: readers see the old one or the new one.

    Raises
    ------
    StoreError
        If the file cannot be read.
    FileNotFoundError, PermissionError, RemoteError
        If it cannot be written: there is no such bucket, access is denied, or a request fails.
    """
    for attempt in range(_ATTEMPTS):
        try:
            _put_in_thread(store, key, contents)
            return
        except OSError as error:
            if isinstance(contents, Path) and isinstance(error, FileNotFoundError):
                raise StoreError(f"{contents}: is missing: trajet store verify") from error
            failure = failure_of(error)
        except Exception as error:
            failure = failure_of(error)
        if failure[0] != "transient" or attempt == _ATTEMPTS - 1:
            break
        time.sleep(_PAUSE * 2**attempt)
    raise exception_of(shown, failure, "write")


def _put_in_thread(store: "ObjectStore", key: str, contents: Path | bytes) -> None:
    """Write an object in a thread, so that Ctrl-C ends waiting for it."""
    import obstore

    raised: list[BaseException] = []

    def put() -> None:
        try:
            with contextlib.ExitStack() as stack:
                given: bytes | IO[bytes] = (
                    contents
                    if isinstance(contents, bytes)
                    else stack.enter_context(contents.open("rb"))
                )
                obstore.put(store, key, given)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=put, name="trajet-publish", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL)
    if raised:
        raise raised[0]
