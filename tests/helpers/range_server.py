"""A server of files by ranges, on 127.0.0.1, that fails as servers and networks do.

It serves the files of a folder like object storage: `Range`, a strong ETag, `If-Match`,
`Last-Modified`, `HEAD`, and lists the folders below it as buckets of S3. A test switches faults on
for chosen requests, and asserts how many requests and bytes there were::

    with RangeServer(folder) as server:
        server.on_request(3, throttled(503, retry_after=1), times=2)
        server.on_request(9, replaced("run.xtc", other))
        tj.open("top.gro", server.url("run.xtc"), ...)
    assert server.sent < 20_000
"""

import gzip
import hashlib
import os
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

EXPIRED = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message>
<RequestId>4442587FB7D0A2F9</RequestId></Error>"""
THROTTLED = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"""


@dataclass(frozen=True)
class Request:
    """A request as it was answered.

    `number` counts from 0, `range` is what the header asked for, `status` and `sent` (bytes of the
    body) are the answer's; the status is 0 if the connection was closed without one.
    """

    number: int
    method: str
    path: str
    query: str
    headers: dict[str, str]
    range: str | None
    status: int
    sent: int


@dataclass(frozen=True)
class Answer:
    """An answer before it is sent, which faults change.

    `whole` is the whole file. The connection is closed after `cut_at` bytes of the body, before
    any header if that is negative, and sleeps for `stall` seconds there (or until the server ends).
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bytes = b""
    cut_at: int | None = None
    stall: float = 0.0


Fault = Callable[[Answer], Answer]


def throttled(status: int = 503, *, retry_after: int | None = None) -> Fault:
    """Refuse with 503 or 429."""
    wait = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return lambda answer: error(status, THROTTLED, wait)


def expired_token(status: int = 400) -> Fault:
    """Refuse as S3 does after the end of a session: 400 or 403, and the reason as XML."""
    return lambda answer: error(status, EXPIRED)


def redirected(to: str, status: int = 302) -> Fault:
    """Send the client to another address, which may be one of plain HTTP or of another host."""
    return lambda answer: Answer(status, {"Location": to})


def cut(at: int) -> Fault:
    """Close the connection after `at` bytes of a body whose length is announced whole."""
    return lambda answer: replace(answer, cut_at=at)


def closed() -> Fault:
    """Close the connection without an answer."""
    return lambda answer: replace(answer, cut_at=-1)


def stalled(at: int, seconds: float = 60.0) -> Fault:
    """Send `at` bytes of the body, then nothing for some seconds, then close the connection."""
    return lambda answer: replace(answer, cut_at=at, stall=seconds)


def shortened(by: int = 1, *, claims_all: bool = False) -> Fault:
    """Send a shorter body whose length is consistent with its headers.

    `Content-Range` names the bytes that are sent or, with `claims_all`, those that were asked for.
    """

    def fault(answer: Answer) -> Answer:
        body = answer.body[: max(0, len(answer.body) - by)]
        headers = dict(answer.headers)
        if "Content-Range" in headers and body and not claims_all:
            first, size = headers["Content-Range"].split("-")[0], len(answer.whole)
            start = int(first.removeprefix("bytes "))
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{size}"
        return replace(answer, headers=headers, body=body)

    return fault


def wrong_bytes(at: int = 0, *, mask: int = 0xFF) -> Fault:
    """Change one byte of the body."""

    def fault(answer: Answer) -> Answer:
        body = bytearray(answer.body)
        if at < len(body):
            body[at] ^= mask
        return replace(answer, body=bytes(body))

    return fault


def gzipped() -> Fault:
    """Compress the body, and say so, although the client did not ask for it."""

    def fault(answer: Answer) -> Answer:
        headers = {**answer.headers, "Content-Encoding": "gzip"}
        return replace(answer, headers=headers, body=gzip.compress(answer.body, mtime=0))

    return fault


def without_ranges() -> Fault:
    """Ignore the range: 200 with the whole file, as plain servers do."""

    def fault(answer: Answer) -> Answer:
        headers = {k: v for k, v in answer.headers.items() if k != "Content-Range"}
        headers["Accept-Ranges"] = "none"
        return replace(answer, status=200, headers=headers, body=answer.whole)

    return lambda answer: fault(answer) if answer.status in (200, 206, 416) else answer


def header(name: str, value: str | None) -> Fault:
    """Set a header of the answer, or leave it out if `value` is None."""

    def fault(answer: Answer) -> Answer:
        headers = {k: v for k, v in answer.headers.items() if k != name}
        return replace(answer, headers=headers if value is None else {**headers, name: value})

    return fault


@dataclass(frozen=True)
class Replacement:
    """Contents that a file gets before a request is answered, and with them another ETag."""

    name: str
    contents: bytes


def replaced(name: str, contents: bytes) -> Replacement:
    """Replace a file of the folder before the request is answered."""
    return Replacement(name, contents)


def error(status: int, text: str, headers: dict[str, str] | None = None) -> Answer:
    """Return an error with a body of XML, as of object storage."""
    body = text.encode()
    return Answer(status, {"Content-Type": "application/xml", **(headers or {})}, body)


class RangeServer:
    """A server of the files of a folder; a context manager.

    Parameters
    ----------
    folder
        Its files are served, by their paths below it.
    delay
        Seconds to sleep before each answer.
    certificate
        Files of a certificate and its key; without them connections are not encrypted.
    """

    def __init__(
        self, folder: Path, *, delay: float = 0.0, certificate: tuple[Path, Path] | None = None
    ) -> None:
        self.folder = folder.resolve()
        self.delay = delay
        self.requests: list[Request] = []
        self.n_connections = 0
        self.most_at_once = 0
        self._now = 0
        self._next = 0
        self._planned: list[tuple[range | None, str | None, Fault | Replacement]] = []
        self._lock = threading.Lock()
        self.ended = threading.Event()
        handler = type("Handler", (_Handler,), {"files": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            self._server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._server.context.load_cert_chain(*certificate)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the server, which is running."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server."""
        self.close()

    def close(self) -> None:
        """End the server and all of its connections."""
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()

    def url(self, name: str = "", *, host: str = "127.0.0.1") -> str:
        """Return the address of a file."""
        return f"{self._scheme}://{host}:{self.port}/{quote(name)}"

    def on_request(
        self, number: int, fault: "Fault | Replacement", *, times: int = 1, path: str | None = None
    ) -> None:
        """Apply a fault to the `number`-th request from now on, and to `times - 1` that follow.

        With `path`, the fault is for this file alone; other requests count all the same. A
        replacement takes place once, before the first of these requests.
        """
        with self._lock:
            first = self._next + number
            self._planned.append((range(first, first + times), path, fault))

    def always(self, fault: Fault, *, path: str | None = None) -> None:
        """Apply a fault to every request from now on."""
        with self._lock:
            self._planned.append((None, path, fault))

    def clear(self) -> None:
        """Forget all faults and all requests that were counted."""
        with self._lock:
            self._planned.clear()
            self.requests.clear()
            self.n_connections = 0
            self.most_at_once = self._now

    @property
    def sent(self) -> int:
        """Bytes of all bodies that were sent."""
        with self._lock:
            return sum(request.sent for request in self.requests)

    def count(self, method: str = "GET", *, path: str | None = None) -> int:
        """Return the number of requests of a method, of one file or of all."""
        with self._lock:
            return sum(
                request.method == method and path in (None, request.path)
                for request in self.requests
            )

    def statuses(self) -> Counter[int]:
        """Return how often each status was the answer."""
        with self._lock:
            return Counter(request.status for request in self.requests)

    def begin(self, path: str) -> tuple[int, list[Fault]]:
        """Count a request. Returns its number and its faults, after replacements took place."""
        with self._lock:
            number = self._next
            self._next += 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            faults: list[Fault] = []
            for planned in list(self._planned):
                numbers, of, fault = planned
                if (numbers is not None and number not in numbers) or of not in (None, path):
                    continue
                if isinstance(fault, Replacement):
                    self._planned.remove(planned)
                    self.replace(fault.name, fault.contents)
                else:
                    faults.append(fault)
        return number, faults

    def end(self, request: Request) -> None:
        """Keep the record of a request."""
        with self._lock:
            self._now -= 1
            self.requests.append(request)

    def replace(self, name: str, contents: bytes) -> None:
        """Replace a file at once, by renaming."""
        path = self.folder / name
        beside = path.with_name(f".{path.name}.new")
        beside.write_bytes(contents)
        os.replace(beside, path)

    def find(self, path: str) -> Path | None:
        """Return a file of the folder, or None if there is no such file below it."""
        found = (self.folder / path).resolve()
        return found if found.is_file() and found.is_relative_to(self.folder) else None


class _Server(ThreadingHTTPServer):
    """The listening socket and its connections."""

    daemon_threads = True
    request_queue_size = 512
    context: ssl.SSLContext | None = None

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; its thread makes the handshake."""
        accepted, address = super().get_request()
        if self.context is not None:
            accepted = self.context.wrap_socket(
                accepted, server_side=True, do_handshake_on_connect=False
            )
        return accepted, address

    def process_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        self._open.add(request)
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def shutdown_request(self, request: object) -> None:
        assert isinstance(request, socket.socket)
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Shut down connections that clients keep alive."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    files: RangeServer

    def setup(self) -> None:
        super().setup()
        self.files.n_connections += 1

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    do_POST = do_DELETE = do_PUT

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path).lstrip("/")
        number, faults = self.files.begin(path)
        status, sent = 0, 0
        try:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.files.delay:
                self.files.ended.wait(self.files.delay)
            answer = self._planned_answer(path)
            for fault in faults:
                answer = fault(answer)
            # Counted before the client sees the last byte, as the test may ask from then on.
            closes = answer.cut_at is not None and answer.cut_at < 0
            status, sent = 0 if closes else answer.status, self._n_bytes(answer)
        finally:
            asked = self.headers.get("Range")
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.files.end(
                Request(number, self.command, path, parts.query, headers, asked, status, sent)
            )
        self._send(answer)

    def _planned_answer(self, path: str) -> Answer:
        if self.command not in ("GET", "HEAD"):
            return error(405, "<Error><Code>MethodNotAllowed</Code></Error>")
        found = self.files.find(path)
        if found is None:
            return self._without_file(path)
        with found.open("rb") as file:
            stat = os.fstat(file.fileno())
            whole = file.read()
        tag = hashlib.sha256(f"{stat.st_ino} {stat.st_mtime_ns}".encode() + whole).hexdigest()
        etag = f'"{tag[:32]}"'
        headers = {
            "ETag": etag,
            "Last-Modified": formatdate(stat.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        if (match := self.headers.get("If-Match")) is not None and match not in (etag, "*"):
            return error(412, "<Error><Code>PreconditionFailed</Code></Error>", headers)
        if self.headers.get("If-None-Match") in (etag, "*"):
            return Answer(304, headers)
        if self.headers.get("If-Range", etag) != etag or "Range" not in self.headers:
            return Answer(200, headers, whole, whole)
        return ranged(self.headers["Range"], headers, whole)

    def _without_file(self, path: str) -> Answer:
        query = dict(parse_qsl(urlsplit(self.path).query))
        if query.get("list-type") == "2":
            return listing(self.files.folder / path, query)
        return error(404, "<Error><Code>NoSuchKey</Code></Error>")

    def _n_bytes(self, answer: Answer) -> int:
        if self.command == "HEAD" or (answer.cut_at or 0) < 0:
            return 0
        return len(answer.body[: answer.cut_at])

    def _send(self, answer: Answer) -> None:
        if answer.cut_at is not None and answer.cut_at < 0:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[: answer.cut_at])
            self.wfile.flush()
        if answer.stall:
            self.files.ended.wait(answer.stall)
        if answer.cut_at is not None:
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def ranged(asked: str, headers: dict[str, str], whole: bytes) -> Answer:
    """Answer a `Range` header of one range; the whole file is the answer to any other."""
    unit, _, text = asked.partition("=")
    first, dash, last = text.strip().partition("-")
    numbers = all(part.isdecimal() for part in (first, last) if part)
    if unit != "bytes" or not dash or not numbers or not (first or last):
        return Answer(200, headers, whole, whole)
    size = len(whole)
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
    if start >= stop:
        return replace(
            error(416, "<Error><Code>InvalidRange</Code></Error>"),
            headers={**headers, "Content-Range": f"bytes */{size}"},
            whole=whole,
        )
    headers = {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{size}"}
    return Answer(206, headers, whole[start:stop], whole)


def listing(bucket: Path, query: dict[str, str]) -> Answer:
    """Answer `ListObjectsV2` of S3 with the delimiter "/": all objects, and folders below."""
    prefix = query.get("prefix", "")
    assert query.get("delimiter") == "/", query
    folder = bucket / prefix
    if not bucket.is_dir():
        return error(404, "<Error><Code>NoSuchBucket</Code></Error>")
    entries = ""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        key = escape(prefix + path.name)
        entries += (
            f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>"
            if path.is_dir()
            else f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z"
            f'</LastModified><ETag>"1"</ETag><Size>{path.stat().st_size}</Size></Contents>'
        )
    body = f'<?xml version="1.0"?><ListBucketResult>{entries}</ListBucketResult>'
    return Answer(200, {"Content-Type": "application/xml"}, body.encode())
