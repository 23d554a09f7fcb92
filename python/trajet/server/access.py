"""Access control: checks token and host name before a request is looked at."""

import base64
import binascii
import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Fewer characters can be guessed.
MIN_TOKEN = 16
# Headers of every answer.
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# Further headers of files and frames. A page of any origin may read answers, as viewers do: the
# token admits it.
FILE_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Range, ETag",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def new_token() -> str:
    """Return a random token of 32 characters, which may stand in a URL."""
    return secrets.token_urlsafe(24)


def check_token(token: str, name: str) -> None:
    """Check a token of the user's own; `name` is where it stands.

    Raises
    ------
    ValueError
        If it is too short, or cannot stand in a URL.
    """
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{{MIN_TOKEN},}}", token):
        raise ValueError(f"{name}: needs at least {MIN_TOKEN} letters, digits, - or _")


@dataclass
class Access:
    """Admits requests that have the token and name this server as their host.

    Attributes
    ----------
    token
        The secret: the first part of the path, `/TOKEN/file/…`, or the password of Basic
        authentication, or a Bearer token.
    hosts
        Names and addresses by which this server may be called, in lower case. Of other names a
        page could make any browser call this server (DNS rebinding). Ports are not compared, as
        tunnels change them.
    any_address
        Whether every IP address is accepted as well: no page can rebind one.
    """

    token: str
    hosts: Collection[str]
    any_address: bool = False

    def knows_host(self, header: str) -> bool:
        """Return whether a `Host` header names this server."""
        found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::[0-9]*)?", header.strip().lower())
        if found is None:
            return False
        name = (found[1] or found[2] or "").removesuffix(".")
        if name in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.any_address

    def admits(self, given: str) -> bool:
        """Return whether this is the token, in a time that does not depend on where it differs."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def admits_header(self, header: str) -> bool:
        """Return whether an `Authorization` header has the token."""
        scheme, _, value = header.partition(" ")
        value = value.strip()
        if scheme.lower() == "bearer":
            return self.admits(value)
        if scheme.lower() != "basic":
            return False
        try:
            password = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self.admits(password)


class Guard:
    """An ASGI application that passes admitted requests on, and refuses all others.

    Parameters
    ----------
    app
        The application for admitted requests.
    access
        What admits requests.
    failed
        Called with an error of the application, which is not sent to the client.
    headers
        Headers of every answer, besides those that all servers have.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        failed: Callable[[Exception], None],
        headers: Mapping[str, str] = FILE_HEADERS,
    ) -> None:
        self._app, self._access, self._failed = app, access, failed
        self._headers = {**_HEADERS, **headers}
        self.n_requests = self.n_refused = self.n_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        is_started = False

        async def sending(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                # What is left of a refused request is not read.
                if int(message["status"]) >= 400:
                    headers["Connection"] = "close"
            else:
                self.n_bytes += len(message.get("body", b""))
            await send(message)

        self.n_requests += 1
        refusal = self._refusal(scope)
        if refusal is not None:
            self.n_refused += 1
            await refusal(scope, receive, sending)
            return
        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            self._failed(error)
            if is_started:
                # The server closes the connection: the client sees that the body is incomplete.
                raise
            await PlainTextResponse("the server failed\n", 500)(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not admitted; remove the token from a path."""
        request = Request(scope)
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._access.knows_host(hosts[0]):
            return PlainTextResponse("this server is not known by this host name\n", 403)
        path: str = scope["path"]
        first, slash, _ = path.removeprefix("/").partition("/")
        if slash and self._access.admits(first):
            scope["root_path"] = f"/{first}"
            return None
        if self._access.admits_header(request.headers.get("authorization", "")):
            return None
        headers = {"WWW-Authenticate": 'Basic realm="trajet"'}
        return PlainTextResponse("the token is missing or wrong\n", 401, headers)
