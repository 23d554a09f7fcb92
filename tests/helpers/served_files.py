"""`trajet serve` in a process of its own, for the duration of a test."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOKEN = "a-token-of-the-tests-own"
# Timeout, s: a process that takes longer hangs.
PATIENCE = 60


@dataclass(frozen=True)
class Response:
    """An answer as a client sees it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Served:
    """A running server, and the lines that it printed when it started."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str]

    def get(
        self,
        name: str,
        *,
        method: str = "GET",
        body: str | bytes | None = None,
        token: str = TOKEN,
        **headers: str,
    ) -> Response:
        """Make one request; names of headers are written with `_`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        fields = {key.replace("_", "-"): value for key, value in headers.items()}
        with contextlib.closing(connection):
            prefix = f"/{token}" if token else ""
            connection.request(method, f"{prefix}/{name}", body, fields)
            response = connection.getresponse()
            return Response(response.status, response.headers, response.read())

    def frame(self, name: str, number: int, ranges: str | None = None) -> Response:
        """Ask for a frame as NGL does, or, without ranges, as 3Dmol does."""
        body = None if ranges is None else f"atomIndices={ranges}"
        return self.get(f"traj/frame/{number}/{name}", method="POST", body=body)

    def send(self, data: bytes) -> bytes:
        """Send bytes that may be no request, and return what comes until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            found = b""
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    found += piece
            return found

    def open_files(self) -> int:
        """Return the number of open files of the process."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """End the server; return the exit code, further output and standard error."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, output, errors


def start(*arguments: object, token: str | None = TOKEN) -> Served:
    """Start the server, and wait until it has printed its addresses."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    environment.pop("TRAJET_TOKEN", None)
    if token is not None:
        environment["TRAJET_TOKEN"] = token
    process = subprocess.Popen(
        [sys.executable, "-m", "trajet", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith("base address")):
        line = process.stdout.readline()
        assert line, process.communicate()
        lines.append(line.rstrip("\n"))
    port = int(lines[-1].split("//")[1].split("/")[0].rpartition(":")[2])
    return Served(process, port, lines)


@contextlib.contextmanager
def serving(*arguments: object, token: str | None = TOKEN) -> Iterator[Served]:
    """Serve files and stores."""
    served = start(*arguments, token=token)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate()
