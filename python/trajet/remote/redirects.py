"""Redirects of HTTP servers, which are resolved here before an object is opened.

The client library would follow them in silence, to any host. A target is of HTTPS, has a public
address and gets no credentials, unless it is of the same server as the URL.
"""

import re
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
    RemoteDisconnected,
)
from typing import IO, TYPE_CHECKING, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urljoin, urlsplit, urlunsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from trajet._trajet import RemoteError
from trajet.remote.failures import StatusError, untrusted

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

# Seconds that a server may be silent, if no option says so.
_SILENCE = 30.0
_MAX_REDIRECTS = 5
# Interim answers (100 Continue) before the answer, and seconds until all its headers are there.
_MAX_INTERIM = 10
_HEADERS = 60.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Answers of servers that are busy; from 500 on, they have failed.
_BUSY = frozenset({408, 425, 429})
# Codes of OpenSSL for certificates that are refused, and what failures.py calls these reasons.
_REASONS = {
    **dict.fromkeys((2, 7, 18, 19, 20, 21), "UnknownIssuer"),
    9: "NotValidYet",
    10: "Expired",
    **dict.fromkeys((62, 64), "NotValidForName"),
}
# Characters of a URL that stay as they are.
_SAFE = "%/:?=&;,+$@!~*'()[]#"


class UntrustedError(ConnectionError):
    """The certificate of a server is not trusted."""


@dataclass(frozen=True, repr=False)
class Target:
    """Where the redirects of a URL lead.

    Attributes
    ----------
    url
        The last URL, which may hold a signature.
    shown
        Its scheme and host.
    is_same_server
        Whether it is of the scheme, host and port of the first, so that it gets its credentials.
    """

    url: str
    shown: str
    is_same_server: bool


class _Unfollowed(HTTPRedirectHandler):
    """Makes redirects errors, which have status and headers."""

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage
    ) -> None:
        """Follow none."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Answer(HTTPResponse):
    """HTTP response with limits on interim answers, which Python reads for ever, and on time."""

    def __init__(self, sock: socket.socket, *args: object, **kwargs: object) -> None:
        super().__init__(sock, *args, **kwargs)  # type: ignore[arg-type]
        self._sock, self._n_heads = sock, 0

    def begin(self) -> None:
        """Read the headers; a server that sends them byte by byte is cut."""
        # Not that of TLS, which another thread may be using.
        cut = threading.Timer(_HEADERS, socket.socket.shutdown, (self._sock, socket.SHUT_RDWR))
        cut.daemon = True
        cut.start()
        try:
            super().begin()
        finally:
            cut.cancel()

    def _read_status(self) -> tuple[str, int, str]:
        self._n_heads += 1
        if self._n_heads > _MAX_INTERIM:
            raise HTTPException("interim answers without end")
        found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        return found


class _Connection(HTTPConnection):
    response_class = _Answer


class _SecureConnection(HTTPSConnection):
    response_class = _Answer


class _Http(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        """Send a request of HTTP."""
        return self.do_open(_Connection, req)


class _Https(HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._trusted = context

    def https_open(self, req: Request) -> HTTPResponse:
        """Send a request of HTTPS."""
        return self.do_open(_SecureConnection, req, context=self._trusted)


def resolve(
    url: str, shown: str, headers: Mapping[str, str], client: Mapping[str, object]
) -> Target | None:
    """Return where the redirects of a URL lead; None if it is not redirected.

    Each step is one request for the first byte, as signed URLs may allow no HEAD.

    Parameters
    ----------
    url
        URL of HTTP or HTTPS, without user and password.
    shown
        The URL as messages show it.
    headers
        Headers of requests, which only the same server gets.
    client
        Options of the client: proxies, certificates, name and patience.

    Raises
    ------
    RemoteError
        If a certificate is not trusted, or a target is of plain HTTP, has no public address, or
        there are too many.
    OSError
        If a server does not answer.
    """
    opener, silence = _opener(client), _seconds(client.get("read_timeout"))
    now, is_same = url, True
    for _ in range(_MAX_REDIRECTS + 1):
        try:
            location = _location(opener, now, headers if is_same else {}, silence)
        except UntrustedError as error:
            raise RemoteError(f"{shown}: {untrusted(str(error))}") from None
        if location is None:
            return None if now == url else Target(now, _host(now), is_same)
        now = _checked(shown, url, now, location)
        is_same = is_same and _server(now) == _server(url)
    raise RemoteError(f"{shown}: more than {_MAX_REDIRECTS} redirects: check the URL")


def _opener(client: Mapping[str, object]) -> OpenerDirector:
    """Return an opener that follows no redirect."""
    given = [client.get(name) for name in ("root_certificate", "proxy_ca_certificate")]
    texts = (one.decode() if isinstance(one, bytes) else str(one) for one in given if one)
    context = _context(tuple(texts), bool(client.get("allow_invalid_certificates")))
    proxy, excluded = client.get("proxy_url"), client.get("proxy_excludes")
    proxies = {"http": str(proxy), "https": str(proxy)} if proxy else None
    handler = _Proxies(proxies, str(excluded or "").split(","))
    opener = build_opener(_Unfollowed(), _Http(), _Https(context=context), handler)
    opener.addheaders = [("User-Agent", str(client.get("user_agent") or "trajet"))]
    return opener


@lru_cache(maxsize=4)
def _context(certificates: tuple[str, ...], takes_any: bool) -> ssl.SSLContext:
    """Return which servers are trusted: those of the system, and of further certificates.

    Reading those of the system takes 20 ms of a processor.
    """
    context = ssl.create_default_context()
    for text in certificates:
        context.load_verify_locations(cadata=text)
    if takes_any:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class _Proxies(ProxyHandler):
    """Proxies, but for the hosts of a list: names, their parts after a dot, addresses, networks."""

    def __init__(self, proxies: dict[str, str] | None, excluded: Sequence[str]) -> None:
        self._excluded = [entry.strip().lower() for entry in excluded if entry.strip()]
        super().__init__(proxies)

    def proxy_open(self, req: Request, proxy: str, type: str) -> object:
        """Send a request to its proxy; return None for one that goes to its host."""
        host = (urlsplit(req.full_url).hostname or "").lower()
        if any(_is_within(host, entry) for entry in self._excluded):
            return None
        found: object = super().proxy_open(req, proxy, type)
        return found


def _is_within(host: str, entry: str) -> bool:
    """Return whether a host is the one, or of the domain or network, of a list of hosts."""
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        name = entry.removeprefix("*").removeprefix(".")
        return entry == "*" or host == name or host.endswith(f".{name}")


def _seconds(time: object) -> float:
    """Return an option of time in seconds: "15s", "1m 30s", a timedelta; `_SILENCE` for others."""
    if isinstance(time, timedelta):
        return time.total_seconds()
    found = re.findall(r"(\d+)\s*(ms|s|m|h)(?![a-z])", str(time))
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    return sum(int(number) * units[unit] for number, unit in found) or _SILENCE


def _location(
    opener: OpenerDirector, url: str, headers: Mapping[str, str], silence: float
) -> str | None:
    """Return the target of the redirect that answers a URL; None if the answer is another.

    Raises
    ------
    UntrustedError
        If the certificate of the server is not trusted.
    OSError
        If there is no answer, or the server is busy.
    """
    request = Request(quote(url, safe=_SAFE), headers={**headers, "Range": "bytes=0-0"})
    try:
        opener.open(request, timeout=silence).close()
    except HTTPError as error:
        location = error.headers.get("Location")
        error.close()
        if error.code in _BUSY or error.code >= 500:
            raise StatusError(error.code) from None
        return location if error.code in _REDIRECTS else None
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            why = error.reason
            raise UntrustedError(_REASONS.get(why.verify_code, why.verify_message)) from None
        raise error.reason if isinstance(error.reason, OSError) else error from None
    except RemoteDisconnected:
        raise
    except (HTTPException, ValueError) as error:
        raise ConnectionError(type(error).__name__) from None
    return None


def _checked(shown: str, first: str, now: str, location: str) -> str:
    """Return where a URL is redirected by the header `Location`, without user and password.

    `first` is the URL that the caller gave.

    Raises
    ------
    RemoteError
        If it must not be followed.
    """
    advice = "give the URL of the file itself, if you trust it"
    try:
        parts = urlsplit(urljoin(now, location))
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise RemoteError(f"{shown}: redirected to no URL: check it with the archive") from None
    if not host:
        raise RemoteError(f"{shown}: redirected to no host: check it with the archive")
    url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    if _server(url) == _server(first):
        return url
    if parts.scheme != "https":
        raise RemoteError(
            f"{shown}: redirected to {_host(url)}, which is not HTTPS: it is not followed: {advice}"
        )
    if not _is_public(host, parts.port or 443):
        raise RemoteError(
            f"{shown}: redirected to {_host(url)}, which is no public address: it is not followed:"
            f" {advice}"
        )
    return url


def _server(url: str) -> tuple[str, str | None, int]:
    """Return scheme, host and port."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _host(url: str) -> str:
    """Return scheme and host of a URL, in characters that names of hosts have."""
    parts = urlsplit(url)
    kept = "".join(c for c in parts.netloc.rpartition("@")[2] if c.isalnum() or c in ".-:[]")
    return f"{parts.scheme}://{kept[:100]}"


def _is_public(host: str, port: int) -> bool:
    """Return whether all addresses of a host are public.

    Raises
    ------
    OSError
        If it has none.
    """
    import socket
    from ipaddress import ip_address

    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    texts = {cast(str, address[0]).partition("%")[0] for *_, address in found}
    return bool(texts) and all(_is_global(ip_address(text)) for text in texts)


def _is_global(address: "IPv4Address | IPv6Address") -> bool:
    """Return whether an address is public, as is the one of version 4 in one of version 6."""
    from ipaddress import IPv4Address, IPv6Network

    if not isinstance(address, IPv4Address):
        within = address.ipv4_mapped or address.sixtofour
        if address in IPv6Network("64:ff9b::/96"):
            within = IPv4Address(int(address) & 0xFFFF_FFFF)
        if within is not None:
            return _is_global(within)
    return address.is_global and not address.is_multicast
