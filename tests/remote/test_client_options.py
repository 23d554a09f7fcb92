"""Options of the client hold for all requests: those of obstore, and the one for redirects."""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from trajet.remote import redirects
from trajet.remote.failures import failure_of

FOR = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
NO_AUTHORITY = ["-addext", "basicConstraints=critical,CA:FALSE"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return files of a certificate that nobody trusts, and of its key."""
    folder = tmp_path_factory.mktemp("certificate")
    files = folder / "certificate.pem", folder / "key.pem"
    made = ["-nodes", "-newkey", "rsa:2048", "-keyout", str(files[1]), "-out", str(files[0])]
    command = ["openssl", "req", "-x509", *made, *FOR, *NO_AUTHORITY]
    subprocess.run(command, check=True, capture_output=True)
    return files


@pytest.fixture
def server(tmp_path: Path, adk: Adk, certificate: tuple[Path, Path]) -> Iterator[RangeServer]:
    """Return a server of adk.xtc with this certificate, also as a bucket."""
    folder = tmp_path / "served"
    folder.mkdir()
    shutil.copyfile(adk.xtc, folder / "adk.xtc")
    with RangeServer(folder, certificate=certificate) as running:
        yield running


def opened(server: RangeServer, **client: Any) -> tj.Trajectory:
    """Open it with options of the client."""
    options = {"client_options": client}
    return tj.open(None, server.url("adk.xtc"), storage_options=options, sidecar=False)


def test_a_certificate_that_is_not_trusted_is_an_error_at_once(server: RangeServer) -> None:
    """Of web servers and of object storage; no attempt follows."""
    with raises(tj.RemoteError):
        opened(server)
    assert server.n_connections == 1
    bucket = {
        "endpoint": server.url().rstrip("/"),
        "virtual_hosted_style_request": False,
        "skip_signature": True,
        "region": "us-east-1",
    }
    with raises(tj.RemoteError):
        tj.open(None, "s3://bucket/adk.xtc", storage_options=bucket)
    assert server.n_connections == 2
    assert server.requests == []


def test_certificates_of_other_hosts_and_times_have_other_advice(
    server: RangeServer, certificate: tuple[Path, Path]
) -> None:
    """That of an authority helps with unknown ones only."""
    trusted = {"root_certificate": certificate[0].read_text()}
    bucket = {
        "endpoint": server.url().rstrip("/").replace("127.0.0.1", "localhost"),
        "virtual_hosted_style_request": False,
        "skip_signature": True,
        "region": "us-east-1",
        "client_options": trusted,
    }
    with raises(tj.RemoteError):
        tj.open(None, "s3://bucket/adk.xtc", storage_options=bucket)
    url = server.url("adk.xtc").replace("127.0.0.1", "localhost")
    with raises(tj.RemoteError):
        tj.open(None, url, storage_options={"client_options": trusted}, sidecar=False)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("UnknownIssuer", "not trusted: name that of its authority"),
        ("BadSignature", "not trusted: name that of its authority"),
        ("Expired", "has expired"),
        ("ExpiredContext { time: 3, not_after: 2 }", "has expired"),
        ("NotValidYet", "not valid yet"),
        ("NotValidForName", "that of another host"),
        ("Other(OtherError(CaUsedAsEndEntity))", r"one of an authority \(CA:TRUE\)"),
        ("Other(OtherError(Revoked))", r"not trusted \(Revoked\): ask who runs the server"),
    ],
)
def test_each_reason_of_the_client_has_its_words(reason: str, words: str) -> None:
    """The client library writes them with the source of its error."""
    for inside in (reason, f"\n    {reason},\n", reason.replace("(", "(\n    ")):
        text = f"Generic error\n\nDebug source: source: InvalidCertificate({inside})"
        kind, what = failure_of(Exception(text))
        assert kind == "refused"
        assert re.search(words, what)
        assert ("root_certificate" in what) == ("that of its authority" in words)


@pytest.mark.parametrize("value", [True, "true", "True"])
def test_any_certificate_is_allowed_by_a_switch_or_its_text(
    server: RangeServer, adk: Adk, value: object
) -> None:
    """Command lines give texts."""
    found = opened(server, allow_invalid_certificates=value).read(frames=[3])
    assert same_bits(found.positions, tj.open(None, adk.xtc).read(frames=[3]).positions)


def test_switches_have_two_values(server: RangeServer) -> None:
    """Others are errors before any request."""
    with raises(ValueError):
        opened(server, allow_invalid_certificates="yes")
    with raises(tj.RemoteError):
        opened(server, allow_invalid_certificates="false")
    assert server.requests == []


def test_authorities_are_named_by_their_certificates(
    server: RangeServer, certificate: tuple[Path, Path], adk: Adk
) -> None:
    """As text or bytes."""
    for text in (certificate[0].read_text(), certificate[0].read_bytes()):
        found = opened(server, root_certificate=text, user_agent="mine/1").n_frames
        assert found == 98
    assert {request.headers["user-agent"] for request in server.requests} == {"mine/1"}


def test_excluded_hosts_are_asked_without_the_proxy(tmp_path: Path, adk: Adk) -> None:
    """No connection reaches the proxy."""
    shutil.copyfile(adk.xtc, tmp_path / "adk.xtc")
    listening = socket.create_server(("127.0.0.1", 0))
    reached = threading.Event()

    def accept() -> None:
        try:
            listening.accept()[0].close()
        except OSError:
            return
        reached.set()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with RangeServer(tmp_path) as server:
        for excluded in ("127.0.0.1", "example.org, 127.0.0.0/8"):
            client = {"proxy_url": proxy, "proxy_excludes": excluded}
            options = {"client_options": client}
            traj = tj.open(None, server.url("adk.xtc"), allow_http=True, storage_options=options)
            assert traj.n_frames == 98
    assert not reached.is_set()
    listening.close()


def test_hosts_of_lists() -> None:
    """Names, domains, addresses and networks."""
    within = [
        ("a.example.org", "example.org"),
        ("a.example.org", ".example.org"),
        ("a.example.org", "*.example.org"),
        ("example.org", "*"),
        ("10.1.2.3", "10.0.0.0/8"),
        ("::1", "::1"),
    ]
    without = [("badexample.org", "example.org"), ("11.1.2.3", "10.0.0.0/8"), ("10.1.2.3", "a.b")]
    for host, entry in within:
        assert redirects._is_within(host, entry), (host, entry)
    for host, entry in without:
        assert not redirects._is_within(host, entry), (host, entry)


def test_times_of_options() -> None:
    """As obstore takes them."""
    assert redirects._seconds("15s") == 15
    assert redirects._seconds("1m 30s") == 90
    assert redirects._seconds("300ms") == pytest.approx(0.3)
    assert redirects._seconds(None) == redirects._SILENCE
