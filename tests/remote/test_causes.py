"""Servers and networks that fail for a reason: the error names it, and what to do.

Each cause is made for real, without and with an endpoint of object storage.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers import commands
from helpers import range_server as faults
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.range_server import RangeServer
from helpers.served_files import TOKEN, serving
from trajet.remote.objects import RemoteFile

SECRET = "hunter2"
QUICK = {"client_options": {"read_timeout": "200ms"}}


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the servers of the tests directly, and again after short pauses."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(RemoteFile, "pauses", (0.01, 0.01))


@pytest.fixture
def server(tmp_path: Path, adk: Adk) -> Iterator[RangeServer]:
    """Return a server of adk.xtc."""
    shutil.copyfile(adk.xtc, tmp_path / "adk.xtc")
    with RangeServer(tmp_path) as running:
        yield running


def address_of(listening: socket.socket) -> str:
    """Return host and port of a socket."""
    return f"127.0.0.1:{listening.getsockname()[1]}"


def closed_port() -> str:
    """Return host and port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return address_of(listening)


def refuse_web(host: str, scheme: str = "http", **options: Any) -> None:
    """Expect an error for a URL with secrets, which has none of them."""
    url = f"{scheme}://user:{SECRET}@{host}/run.xtc?sig={SECRET}"
    with raises(OSError) as raised:
        tj.open(None, url, allow_http=True, sidecar=False, **options)
    assert SECRET not in str(raised.value)


def refuse_bucket(endpoint: str) -> None:
    """Expect an error for an object of a bucket."""
    bucket = {
        "endpoint": endpoint,
        "virtual_hosted_style_request": False,
        "skip_signature": True,
        "region": "x",
    }
    with raises(tj.RemoteError):
        tj.open(None, "s3://bucket/run.xtc", storage_options={**bucket, **QUICK}, allow_http=True)


def test_refused_connection() -> None:
    """Nobody listens at the port."""
    host = closed_port()
    refuse_web(host)
    refuse_bucket(f"http://{host}")


def test_unknown_host() -> None:
    """The name has no address: those that end in .invalid never have one (RFC 2606)."""
    refuse_web("nowhere.invalid")
    refuse_bucket("http://nowhere.invalid")


def test_server_that_never_answers() -> None:
    """It takes connections and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host = address_of(listening)
        refuse_web(host, storage_options=QUICK)
        refuse_bucket(f"http://{host}")


def test_server_that_is_silent_within_an_answer(server: RangeServer) -> None:
    """The headers come, and then no byte of the body."""
    server.always(faults.stalled(100))
    url = server.url("adk.xtc")
    with raises(tj.RemoteError):
        tj.open(None, url, allow_http=True, sidecar=False, storage_options=QUICK)


def test_server_whose_certificate_nobody_knows(tmp_path: Path) -> None:
    """It signed its certificate itself. With the option that the error names, it is asked."""
    files = certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    names += ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(certificate), *names],
        check=True,
        capture_output=True,
    )
    with RangeServer(tmp_path, certificate=files) as server:
        host = f"127.0.0.1:{server.port}"
        refuse_web(host, "https")
        refuse_bucket(f"https://{host}")
        option = f"client_options.root_certificate={certificate.read_text()}"
        url = server.url("none.xtc")
        commands.fail("info", url, "--storage-option", option)


def test_server_without_encryption(server: RangeServer) -> None:
    """The URL has https://, and the server speaks plain HTTP."""
    host = f"127.0.0.1:{server.port}"
    refuse_web(host, "https")
    refuse_bucket(f"https://{host}")


def test_server_that_closes_the_connection(server: RangeServer) -> None:
    """Before any byte of an answer."""
    server.always(faults.closed())
    host = f"127.0.0.1:{server.port}"
    refuse_web(host)
    refuse_bucket(f"http://{host}")


@pytest.mark.parametrize("status", [503, 429, 500, 502])
def test_overloaded_and_failed_servers(server: RangeServer, status: int) -> None:
    """Its status tells them apart; they are asked as often as before."""
    server.always(faults.throttled(status))
    host = f"127.0.0.1:{server.port}"
    refuse_web(host)
    refuse_bucket(f"http://{host}")
    assert server.count() == 2 * 3


def test_server_that_wants_another_token(adk: Adk) -> None:
    """`trajet serve` with a wrong token, without one, and under a name that it does not know."""
    with serving(adk.xtc) as served:
        host, name = f"127.0.0.1:{served.port}", "file/adk.xtc"
        for user in (f"trajet:{TOKEN}x@", f"user:{SECRET}@", ""):
            with raises(PermissionError):
                tj.open(None, f"http://{user}{host}/{name}", allow_http=True)
        options = {"client_options": {"default_headers": {"Host": "elsewhere.example"}}}
        url = f"http://trajet:{TOKEN}@{host}/{name}"
        with raises(PermissionError):
            tj.open(None, url, allow_http=True, storage_options=options)


def test_web_server_that_denies_access(server: RangeServer) -> None:
    """Advice for buckets would not help."""
    server.always(lambda _: faults.error(403, ""))
    refuse_web(f"127.0.0.1:{server.port}")


def test_server_that_ends_while_it_is_read(server: RangeServer) -> None:
    """The error of a run names the cause of the last request."""
    url = server.url("adk.xtc")
    traj = tj.open(None, url, allow_http=True, sidecar=False, merge_gap=0, connections=1)
    server.close()
    with raises(tj.RemoteError):
        traj.read(frames=[50])


def test_commands_print_the_cause() -> None:
    """One line on standard error, with the URL without its secrets."""
    host = closed_port()
    commands.fail("info", f"http://user:{SECRET}@{host}/run.xtc", "--allow-http")
