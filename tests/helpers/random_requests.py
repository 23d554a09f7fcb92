"""Requests to servers of which parts are wrong."""

import base64
import random
from collections.abc import Sequence

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
