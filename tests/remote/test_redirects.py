"""Redirects are resolved once: to HTTPS, public addresses, and without credentials."""

import socket
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers import range_server as faults
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from trajet.remote import attempts, redirects
from trajet.remote.names import address_of
from trajet.remote.stores import Opening

SECRET = "hunter2"


def redirect(server: RangeServer, to: str, status: int = 302) -> None:
    """Redirect every request for run.xtc."""
    server.clear()
    server.always(faults.redirected(to, status), path="run.xtc")


def opened(server: RangeServer, **options: Any) -> tj.Trajectory:
    """Open run.xtc with user and password in the URL."""
    url = server.url("run.xtc").replace("://", f"://user:{SECRET}@")
    return tj.open(None, url, allow_http=True, sidecar=False, connections=2, **options)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_of_the_same_server_is_resolved_once(
    server: RangeServer, adk: Adk, status: int
) -> None:
    """Later requests go to the target; a message names its host, without the query."""
    redirect(server, f"/adk.xtc?sig={SECRET}", status)
    traj = opened(server)
    expected = tj.open(None, adk.xtc).read().positions
    assert same_bits(traj.read().positions, expected)
    assert server.count(path="run.xtc") == 1
    assert server.count(path="adk.xtc") > 2
    [message] = [message for message in traj.messages if "redirects" in message]
    assert message.count(f"http://127.0.0.1:{server.port}") >= 1
    assert SECRET not in message + str(traj.path) + repr(traj)
    report = tj.rmsd(traj.select([0, 1, 2])).report
    assert any("redirects" in message for message in report.messages)
    assert SECRET not in str(report)


def test_an_expired_target_is_asked_for_again(
    server: RangeServer, adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed URLs to which archives redirect hold for seconds."""
    monkeypatch.setattr("trajet.remote.objects._RENEWAL", 0.0)
    redirect(server, "/adk.xtc?sig=1")
    traj = opened(server, merge_gap=0)
    expected = tj.open(None, adk.xtc).read().positions
    server.on_request(0, faults.expired_token(403), path="adk.xtc")
    assert same_bits(traj.read(frames=[50]).positions, expected[50:51])
    assert server.count(path="run.xtc") == 2
    # The target of every request has expired: the error is that of the server.
    server.always(faults.expired_token(403), path="adk.xtc")
    with raises(PermissionError):
        traj.read(frames=[60])


def test_a_target_with_other_bytes_is_a_replaced_object(
    server: RangeServer, adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewed target has the ETag of the first."""
    monkeypatch.setattr("trajet.remote.objects._RENEWAL", 0.0)
    (server.folder / "other.xtc").write_bytes(adk.xtc.read_bytes())
    redirect(server, "/adk.xtc")
    traj = opened(server, merge_gap=0)
    redirect(server, "/other.xtc")
    server.always(faults.expired_token(403), path="adk.xtc")
    with pytest.raises(tj.StaleIndexError):
        traj.read(frames=[50])


def test_worker_processes_resolve_by_themselves(server: RangeServer, adk: Adk) -> None:
    """No worker gets a signed target."""
    redirect(server, f"/adk.xtc?sig={SECRET}")
    traj = tj.open(adk.psf, server.url("run.xtc"), allow_http=True, connections=2)
    assert SECRET.encode() not in traj.source.reader.worker_input(None, secrets=True)
    there = tj.rmsd(traj.select("name CA"), pool=tj.ProcessPool(workers=1))
    assert same_bits(there.values, tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).values)


def test_a_busy_server_is_asked_again(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect after a failure is resolved here, too; pauses between requests are left out."""
    paused: list[float] = []
    monkeypatch.setattr(attempts, "_wait", paused.append)
    redirect(server, "/adk.xtc")
    server.on_request(0, faults.throttled(503), path="run.xtc")
    assert opened(server).n_frames == 98
    assert server.statuses()[302] == 1
    server.clear()
    server.always(faults.throttled(503))
    with raises(tj.RemoteError):
        opened(server)
    assert {*attempts.PAUSES} <= {*paused}


PRIVATE = (
    *("127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "localhost", "0.0.0.0"),
    *("[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:0a00:0001::]", "[fd00::1]"),
)
REFUSED = [
    f"http://example.org/run.xtc?sig={SECRET}",
    f"ftp://example.org/run.xtc?sig={SECRET}",
    f"file:///etc/passwd?sig={SECRET}",
    *(f"https://{host}/run.xtc?sig={SECRET}" for host in PRIVATE),
    f"https://user:{SECRET}@[::1",
    "https://10.0.0.1:99999/run.xtc",
    f"/run.xtc?sig={SECRET}",
]


@pytest.mark.parametrize("to", REFUSED)
def test_other_targets_are_refused(server: RangeServer, to: str) -> None:
    """Plain HTTP, private addresses, loops: one line, without a request to them."""
    redirect(server, to)
    with raises(tj.RemoteError) as raised:
        opened(server)
    assert SECRET not in str(raised.value)
    assert server.count() <= 6


def test_another_server_on_this_machine_gets_no_request(
    server: RangeServer, tmp_path: Path
) -> None:
    """Another port is another server."""
    with RangeServer(tmp_path) as other:
        redirect(server, other.url("served/adk.xtc"))
        with raises(tj.RemoteError):
            opened(server)
        assert other.requests == []


def test_another_host_gets_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it is resolved, nor later."""
    asked: list[tuple[str, dict[str, str]]] = []
    steps = {
        "https://archive.example/run.xtc": f"https://store.example/b/run.xtc?sig={SECRET}",
        f"https://store.example/b/run.xtc?sig={SECRET}": "https://archive.example/other.xtc",
        "https://archive.example/other.xtc": None,
    }

    def location(_: object, url: str, headers: dict[str, str], silence: float) -> str | None:
        assert silence == 15
        asked.append((url, dict(headers)))
        return steps[url]

    def public(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))]

    monkeypatch.setattr(redirects, "_location", location)
    monkeypatch.setattr(socket, "getaddrinfo", public)
    options = {"client_options": {"default_headers": {"X-Token": SECRET}}}
    address = address_of(f"https://user:{SECRET}@archive.example/run.xtc")
    opening = Opening(address, options, allow_http=True).resolved()
    assert [url for url, _ in asked] == list(steps)
    assert set(asked[0][1]) == {"X-Token", "authorization"}
    # Once the request has left the server, a way back proves nothing.
    assert [headers for _, headers in asked[1:]] == [{}, {}]
    assert opening.target is not None and not opening.target.is_same_server
    store = opening.store()
    assert store.client_options is not None
    assert SECRET not in str(store.client_options)
    assert store.client_options["allow_http"] in (False, "false")


def test_addresses_of_a_name_must_all_be_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """One private address among them is enough to refuse a name."""
    for addresses, is_public in (
        (["8.8.8.8"], True),
        (["8.8.8.8", "10.0.0.1"], False),
        ([], False),
    ):
        found = [(2, 1, 6, "", (address, 443)) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=found, **__: found)
        assert redirects._is_public("name.example", 443) == is_public
