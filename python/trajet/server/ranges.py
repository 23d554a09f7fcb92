"""Files by ranges, as object storage serves them: a strong ETag, and conditions on it."""

import hashlib
import os
import re
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from trajet.dataset import StoreFile

# Bytes that are read and sent at a time.
PIECE = 256 * 1024


class ChangedFileError(OSError):
    """A file has changed while it was sent."""


@dataclass(frozen=True)
class OpenFile:
    """An open file, of which only the state at its opening is sent.

    Attributes
    ----------
    descriptor
        The file's descriptor.
    size
        Its size, bytes.
    modified
        When it was modified, in nanoseconds of the epoch.
    etag
        Strong ETag: a digest of what tells two states of files apart.
    """

    descriptor: int
    size: int
    modified: int
    etag: str

    @classmethod
    def of(cls, path: Path | StoreFile) -> "OpenFile":
        """Open a regular file, without following a link but those that moves leave in stores.

        Raises
        ------
        OSError
            If there is none.
        """
        if isinstance(path, StoreFile):
            descriptor = path.descriptor()
        else:
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags)
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            os.close(descriptor)
            raise FileNotFoundError(f"{path}: is not a regular file")
        return cls(descriptor, state.st_size, state.st_mtime_ns, _etag(state))

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes.

        Raises
        ------
        ChangedFileError
            If the file is not what it was when it was opened: bytes of two states never mix.
        """
        found = os.pread(self.descriptor, length, offset)
        if len(found) != length or _etag(os.fstat(self.descriptor)) != self.etag:
            raise ChangedFileError("a file has changed while it was sent")
        return found

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)


# One range of bytes. Others are ignored (RFC 9110, 14.2), so that the whole file is sent: those in
# other units, several in one request, and what is no range.
_RANGE = re.compile(
    r"bytes\s*=\s*((?P<first>[0-9]{1,19})\s*-\s*(?P<last>[0-9]{0,19})|-\s*(?P<suffix>[0-9]{1,19}))",
    re.IGNORECASE | re.ASCII,
)


def _etag(state: os.stat_result) -> str:
    identity = f"{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
    return f'"{hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()}"'


def file_response(request: Request, file: OpenFile, limiter: CapacityLimiter) -> Response:
    """Return the answer to a GET or HEAD of a file, which is closed when it is sent.

    Parameters
    ----------
    limiter
        Bounds the number of threads that read files.
    """
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
        "ETag": file.etag,
        "Last-Modified": formatdate(file.modified // 10**9, usegmt=True),
    }
    early = _condition(request, file, headers)
    if early is not None:
        file.close()
        return early
    status, start, stop = 200, 0, file.size
    asked = request.headers.get("range")
    is_same = request.headers.get("if-range", file.etag) == file.etag
    if is_same and asked is not None and (wanted := _RANGE.fullmatch(asked.strip())) is not None:
        found = byte_range(wanted, file.size)
        if found is None:
            file.close()
            headers["Content-Range"] = f"bytes */{file.size}"
            headers["Content-Type"] = "text/plain; charset=utf-8"
            return PlainTextResponse("no such range\n", 416, headers)
        status, (start, stop) = 206, found
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    headers["Content-Length"] = str(stop - start)
    if request.method == "HEAD":
        file.close()
        return Response(status_code=status, headers=headers)
    return PiecesResponse(_pieces(file, start, stop, limiter), file.close, status, headers)


def _condition(request: Request, file: OpenFile, headers: dict[str, str]) -> Response | None:
    """Return the answer if a condition on the ETag decides it."""
    wanted = request.headers.get("if-match")
    if wanted is not None and not _names(wanted, file.etag):
        text = "the file is another one now\n"
        return PlainTextResponse(text, 412, {"ETag": file.etag})
    if _names(request.headers.get("if-none-match", ""), file.etag):
        return Response(status_code=304, headers=headers)
    return None


def _names(header: str, etag: str) -> bool:
    """Return whether a condition names an ETag."""
    return etag in (part.strip() for part in header.split(",")) or header.strip() == "*"


def byte_range(wanted: re.Match[str], size: int) -> tuple[int, int] | None:
    """Return first byte and last byte + 1 of a range; None if it cannot be satisfied."""
    first, last = wanted["first"], wanted["last"]
    if first:
        start, stop = int(first), min(size, int(last) + 1) if last else size
    else:
        start, stop = max(0, size - int(wanted["suffix"])), size
    return (start, stop) if start < stop else None


class PiecesResponse(StreamingResponse):
    """An answer in pieces, which calls a function when it is sent, or the client has gone.

    Only as much is in memory as the connection takes.
    """

    def __init__(
        self,
        content: AsyncIterator[bytes],
        release: Callable[[], None],
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(content, status, headers)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


async def _pieces(
    file: OpenFile, start: int, stop: int, limiter: CapacityLimiter
) -> AsyncIterator[bytes]:
    """Yield the bytes of a file in pieces."""
    for offset in range(start, stop, PIECE):
        read = partial(file.read, offset, min(PIECE, stop - offset))
        yield await to_thread.run_sync(read, limiter=limiter)
