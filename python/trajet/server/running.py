"""Runs the application with uvicorn until a signal ends it."""

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from trajet.server.access import Access, Guard

# Connections; further ones are answered with 503.
_CONNECTIONS = 256
# Seconds within which the header of a request must arrive, and after which an idle connection and
# one that takes no byte are closed.
_HEADER_WITHIN = 10.0
_IDLE = 30
_STALLED = 30
# Bytes of a request's header.
_LARGEST_HEADER = 16 * 1024


@dataclass(frozen=True)
class Served:
    """What a server has done: its requests, those it refused, and the bytes it sent."""

    n_requests: int
    n_refused: int
    n_bytes: int


class Application(Protocol):
    """An ASGI application that has open files."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def close(self) -> None:
        """Close the files."""


class Address:
    """A socket that listens.

    Parameters
    ----------
    address
        IP address.
    port
        Port; 0 for a free one.

    Attributes
    ----------
    port
        The port.
    is_loopback
        Whether only this machine reaches it.
    is_any
        Whether it is reached under every address of this machine.

    Raises
    ------
    ValueError
        If `address` is no IP address.
    OSError
        If the socket cannot be bound.
    """

    def __init__(self, address: str, port: int) -> None:
        ip = ipaddress.ip_address(address)
        self.address = str(ip)
        self.is_loopback, self.is_any = ip.is_loopback, ip.is_unspecified
        family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
        # asyncio sends small answers at once (TCP_NODELAY) only if the socket names its protocol;
        # otherwise each waits 40 ms for an acknowledgement.
        self.socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit this: the system ends those that take no byte. macOS has no such
        # option: there they stay until the client or the server ends.
        if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            self.socket.setsockopt(socket.IPPROTO_TCP, option, _STALLED * 1000)
        try:
            self.socket.bind((self.address, port))
        except OSError:
            self.socket.close()
            raise
        self.port: int = self.socket.getsockname()[1]
        self._is_v6 = ip.version == 6

    @property
    def host(self) -> str:
        """The host in URLs: the address, or this machine's name if it is every address."""
        if self.is_any:
            return socket.gethostname()
        return f"[{self.address}]" if self._is_v6 else self.address

    def names(self) -> set[str]:
        """Return the host names and addresses that name this server, in lower case."""
        names = {"localhost", "127.0.0.1", "::1", self.address}
        if not self.is_loopback:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return names


class _Protocol(H11Protocol):
    """A connection, which is closed if the header of a request does not arrive in time.

    uvicorn documents neither `cycle`, `transport` nor `loop` of its protocols:
    `test_headers_must_end` fails if a later version has other names for them.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        self._wait_for_header()
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_header(self) -> None:
        if self._deadline is None and self._is_idle():
            self._deadline = self.loop.call_later(_HEADER_WITHIN, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def serve(
    app: Application,
    access: Access,
    address: Address,
    *,
    headers: Mapping[str, str],
    failed: Callable[[Exception], None],
    started: Callable[[], None],
    is_done: Callable[[], bool] = lambda: False,
) -> Served:
    """Serve an application until SIGINT, SIGTERM or SIGHUP, and close it.

    Parameters
    ----------
    headers
        Headers of every answer, besides those that all servers have.
    failed
        Called with errors that requests have met.
    started
        Called when connections are accepted.
    is_done
        Called ten times a second; True ends the server, too.
    """
    guard = Guard(app, access, failed, headers)
    # Log lines would contain the token, which is part of paths.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)
    config = uvicorn.Config(
        guard,
        access_log=False,
        date_header=True,
        h11_max_incomplete_event_size=_LARGEST_HEADER,
        http=_Protocol,
        lifespan="off",
        limit_concurrency=_CONNECTIONS,
        log_config=None,
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=0,
        timeout_keep_alive=_IDLE,
        ws="none",
    )
    try:
        _Server(config, started, is_done).run(sockets=[address.socket])
    finally:
        address.socket.close()
        app.close()
    return Served(guard.n_requests, guard.n_refused, guard.n_bytes)


class _Server(uvicorn.Server):
    """A server that a signal ends at once."""

    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], is_done: Callable[[], bool]
    ) -> None:
        super().__init__(config)
        self._say_started, self._is_done = started, is_done

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._is_done()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._say_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Make signals end the server in order; nohup makes a process ignore SIGHUP."""

        def end(_number: int, _frame: FrameType | None) -> None:
            self.should_exit = self.force_exit = True

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, end) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
