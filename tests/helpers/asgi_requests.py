"""Requests to an ASGI application within this process, without a server."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Answer:
    """An answer: status, headers in lower case, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(
    app: ASGIApp,
    path: str,
    query: str = "",
    *,
    host: str = "127.0.0.1",
    method: str = "GET",
    body: bytes = b"",
    accept_encoding: str = "",
) -> Answer:
    """Make one request to an application."""
    return asyncio.run(
        requested(
            app, path, query, host=host, method=method, body=body, accept_encoding=accept_encoding
        )
    )


async def requested(
    app: ASGIApp,
    path: str,
    query: str = "",
    *,
    host: str = "127.0.0.1",
    method: str = "GET",
    body: bytes = b"",
    accept_encoding: str = "",
) -> Answer:
    """Make one request to an application, in the event loop of the caller."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", host.encode()), (b"accept-encoding", accept_encoding.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    sent: list[Message] = []
    is_given = False

    async def receive() -> Message:
        nonlocal is_given
        if is_given:
            # The client waits for the answer.
            await asyncio.Event().wait()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {key.decode().lower(): value.decode() for key, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers, content)
