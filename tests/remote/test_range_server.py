"""The server of `helpers.range_server`: ranges, and every fault it can have."""

import gzip
import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commands import wait_until
from helpers.range_server import (
    RangeServer,
    closed,
    cut,
    expired_token,
    gzipped,
    header,
    redirected,
    replaced,
    shortened,
    stalled,
    throttled,
    without_ranges,
    wrong_bytes,
)

BYTES = bytes(range(256)) * 4
NAME = "run one.xtc"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RangeServer]:
    """Return a server of one file."""
    (tmp_path / NAME).write_bytes(BYTES)
    with RangeServer(tmp_path) as server:
        yield server


def get(
    server: RangeServer, method: str = "GET", path: str = "/run%20one.xtc", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """Make one request on a connection of its own; names of headers are written with `_`."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=fields)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        *(("bytes=0-0", 0, 1), ("bytes=5-99", 5, 100), ("bytes=1000-", 1000, 1024)),
        *(("bytes=-7", 1017, 1024), ("bytes=1000-9999", 1000, 1024), ("bytes=-9999", 0, 1024)),
    ],
)
def test_ranges_are_those_of_the_file(
    server: RangeServer, asked: str, start: int, stop: int
) -> None:
    """Each form of a range returns the bytes of the file."""
    response, body = get(server, Range=asked)
    assert (response.status, body) == (206, BYTES[start:stop])
    assert response.headers["Content-Range"] == f"bytes {start}-{stop - 1}/1024"


def test_without_a_range_the_whole_file_is_sent(server: RangeServer) -> None:
    """HEAD has the headers of GET, and no body."""
    response, body = get(server)
    assert (response.status, body) == (200, BYTES)
    head, nothing = get(server, "HEAD")
    assert (head.headers["Content-Length"], nothing) == ("1024", b"")
    assert head.headers["ETag"] == response.headers["ETag"]
    assert (server.count(), server.count("HEAD"), server.sent) == (1, 1, 1024)


def test_range_beyond_the_end_is_not_satisfiable(server: RangeServer) -> None:
    """The answer names the size of the file."""
    response, _ = get(server, Range="bytes=1024-")
    assert (response.status, response.headers["Content-Range"]) == (416, "bytes */1024")


@pytest.mark.parametrize("path", ["/none.xtc", "/", "/../conftest.py", "/%2e%2e/conftest.py"])
def test_files_outside_are_not_found(server: RangeServer, path: str) -> None:
    """A path that leaves the folder is not found."""
    assert get(server, path=path)[0].status == 404


def test_writing_is_not_allowed(server: RangeServer) -> None:
    """The server is read-only."""
    assert get(server, "PUT")[0].status == 405


def test_replaced_file_has_another_etag(server: RangeServer) -> None:
    """Even the same bytes are another object, and conditions on the ETag see that."""
    before = get(server)[0].headers["ETag"]
    assert get(server, If_Match=before, Range="bytes=0-3")[0].status == 206
    server.on_request(1, replaced(NAME, BYTES))
    assert get(server, If_Match=before)[0].status == 200
    assert get(server, If_Match=before)[0].status == 412
    response, body = get(server, If_Range=before, Range="bytes=0-3")
    assert (response.status, body) == (200, BYTES)
    assert get(server, If_None_Match=response.headers["ETag"])[0].status == 304


def test_faults_are_those_of_their_requests(server: RangeServer) -> None:
    """Requests count from the call on; a fault of another file does not apply."""
    server.on_request(1, throttled(429, retry_after=3), times=2)
    server.on_request(0, throttled(), path="other")
    answers = [get(server)[0] for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 429, 429, 200]
    assert answers[1].headers["Retry-After"] == "3"
    assert server.statuses() == {200: 2, 429: 2}
    server.clear()
    assert server.requests == []


def test_cut_body_ends_early(server: RangeServer) -> None:
    """The announced length is that of the whole body."""
    server.on_request(0, cut(10))
    with pytest.raises(http.client.IncompleteRead) as cut_short:
        get(server)
    assert cut_short.value.partial == BYTES[:10]
    assert server.requests[0].sent == 10


def test_closed_connection_has_no_answer(server: RangeServer) -> None:
    """Not even a status is sent."""
    server.on_request(0, closed())
    with pytest.raises(http.client.RemoteDisconnected):
        get(server)
    assert server.statuses() == {0: 1}


def test_stalled_body_ends_with_the_server(tmp_path: Path) -> None:
    """The end of the server ends a stalled connection at once."""
    (tmp_path / NAME).write_bytes(BYTES)
    partial: list[bytes] = []

    def read() -> None:
        with pytest.raises(http.client.IncompleteRead) as cut_short:
            get(server)
        partial.append(cut_short.value.partial)

    with RangeServer(tmp_path) as server:
        server.on_request(0, stalled(4))
        thread = threading.Thread(target=read)
        thread.start()
        wait_until(lambda: len(server.requests) == 1)
    thread.join(10)
    assert partial == [BYTES[:4]]


def test_changed_bodies_are_consistent_with_their_headers(server: RangeServer) -> None:
    """A short, wrong, compressed or whole body has the headers that such servers send."""
    server.on_request(0, shortened(3))
    response, body = get(server, Range="bytes=10-19")
    assert (body, response.headers["Content-Range"]) == (BYTES[10:17], "bytes 10-16/1024")
    server.on_request(0, shortened(3, claims_all=True))
    response, body = get(server, Range="bytes=10-19")
    assert (body, response.headers["Content-Range"]) == (BYTES[10:17], "bytes 10-19/1024")
    server.on_request(0, wrong_bytes(1, mask=1))
    assert get(server, Range="bytes=10-13")[1] == bytes([10, 10, 12, 13])
    server.on_request(0, gzipped())
    response, body = get(server, Range="bytes=10-13")
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == BYTES[10:14]
    server.on_request(0, without_ranges())
    response, body = get(server, Range="bytes=10-13")
    assert (response.status, body) == (200, BYTES)


def test_refusals_name_their_reason(server: RangeServer) -> None:
    """Expired tokens, redirects and headers are as asked for."""
    server.always(expired_token(403))
    response, body = get(server)
    assert response.status == 403 and b"<Code>ExpiredToken</Code>" in body
    server.clear()
    server.always(redirected("http://10.0.0.1/secret", 307))
    assert get(server)[0].headers["Location"] == "http://10.0.0.1/secret"
    server.clear()
    server.always(header("ETag", None))
    server.always(header("Content-Type", "text/html"))
    response, _ = get(server)
    assert "ETag" not in response.headers and response.headers["Content-Type"] == "text/html"


def test_connections_are_kept_and_counted(server: RangeServer) -> None:
    """Requests on one connection are one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for start in range(3):
        connection.request("GET", "/run%20one.xtc", headers={"Range": f"bytes={start}-9"})
        assert connection.getresponse().read() == BYTES[start:10]
    connection.close()
    assert (server.n_connections, server.count(path=NAME)) == (1, 3)
    assert [request.range for request in server.requests] == [f"bytes={i}-9" for i in range(3)]


def test_delayed_requests_wait_at_the_same_time(server: RangeServer) -> None:
    """A delay holds up no other request."""
    server.delay = 0.5
    threads = [threading.Thread(target=get, args=(server,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most_at_once == 8
