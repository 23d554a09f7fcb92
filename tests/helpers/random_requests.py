"""Laws of servers: requests of which parts are wrong, oversized ones, and the address."""

import base64
import os
import random
from collections.abc import Sequence
from pathlib import Path

from helpers.served_files import TOKEN, Served

_ODD = ("..", "0", "-1", "%2e%2e", "%00", "", "é", "//", "?a=b", "etc", "\\", "%", "*")


def basic(token: str) -> str:
    """Return the header of Basic authentication."""
    return "Basic " + base64.b64encode(f"trajet:{token}".encode()).decode()


def random_request(chosen: random.Random, token: str, words: Sequence[str]) -> bytes:
    """Return a request of which parts are wrong, or bytes that are no request.

    Parameters
    ----------
    token
        The token of the server.
    words
        Parts of paths that the server knows.
    """
    if chosen.random() < 0.2:
        return chosen.randbytes(chosen.randrange(200))
    path = "/".join(chosen.choices((*words, *_ODD), k=chosen.randrange(1, 6)))
    prefix = chosen.choice(("", f"/{token}", f"/{token[:-1]}", f"/{token}/", "/x"))
    method = chosen.choice(("GET", "POST", "HEAD", "PUT", "OPTIONS", "get", "\x00"))
    headers = [
        f"Host: {chosen.choice(('localhost', '127.0.0.1', 'evil.example', 'a b', ''))}",
        f"Range: {chosen.choice(('bytes=0-9', 'bytes=9-0', 'bytes=-', 'x', 'bytes=99999999999-'))}",
        f"Content-Length: {chosen.choice(('0', '5', '-1', 'x', '99999999'))}",
        f"Authorization: {chosen.choice((basic(token), basic('x'), 'Basic ?', 'x'))}",
        f"If-Match: {chosen.choice(('*', 'x', ''))}",
        chosen.choice(("Transfer-Encoding: chunked", "Connection: close", "Upgrade: websocket")),
        chosen.choice(("Host: localhost", "no header", "X: \x01", "Expect: 100-continue")),
    ]
    lines = [f"{method} {prefix}/{path} HTTP/1.1", *chosen.sample(headers, chosen.randrange(7))]
    data = "\r\n".join([*lines, "", "atomIndices=0,5"]).encode("utf-8", "replace")
    return data[: chosen.randrange(len(data))] if chosen.random() < 0.1 else data


def assert_random_requests_leak_nothing(
    server: Served, words: Sequence[str], folders: Sequence[Path], n: int
) -> None:
    """Find no path and no token in answers, none without the token, and no file left open."""
    chosen, before = random.Random(n), server.open_files()
    secrets = (TOKEN.encode(), *map(os.fsencode, (*folders, Path.cwd())))
    for _ in range(n):
        data = random_request(chosen, TOKEN, words)
        answer = server.send(data)
        assert not any(secret in answer for secret in secrets), data
        if b" 200 " in answer.partition(b"\r\n")[0]:
            assert TOKEN.encode() in data or basic(TOKEN).encode() in data
    # Files of the requests are closed when the server sees that their connections are.
    assert server.get("").status in (200, 404)
    assert server.open_files() <= before + 2


def assert_oversized_requests_are_refused(server: Served) -> None:
    """Send long lines and many headers."""
    many = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 1000) for number in range(1000))
    for begin in (
        b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + many,
    ):
        found = server.send(begin + b"\r\n")
        assert found == b"" or b" 400 " in found.splitlines()[0]


def assert_only_the_loopback_address_listens(server: Served) -> None:
    """Find no other socket of this port in the kernel's table."""
    tables = (Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6"))
    rows = [row.split() for table in tables for row in table]
    port = f":{server.port:04X}"
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(port)]
    assert listening == [f"0100007F{port}"]
