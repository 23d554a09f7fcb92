"""The server of the page against clients that mean harm; without the programs of `make viewer`."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.random_requests import (
    assert_only_the_loopback_address_listens,
    assert_oversized_requests_are_refused,
    assert_random_requests_leak_nothing,
)
from helpers.served_files import TOKEN, Served

# Words of paths in random requests.
WORDS = ("scene.json", "frame", "structure", "series", "0", "97", "view.css", "view.js", "vendor")
# `trajet view` without its check of what is installed.
SCRIPT = """
import sys
import trajet as tj
from trajet import server, viewer
from trajet.viewer.layers import make_layer

opened = tj.open(sys.argv[1], sys.argv[2])
scene = viewer.Scene(
    opened, [make_layer(opened.select("name CA"))], series=viewer.parse_series("end-to-end")
)
at = server.Address("127.0.0.1", 0)
access = server.Access(sys.argv[3], at.names())
app = server.ViewApp(scene, lambda _: None)
server.serve(
    app,
    access,
    at,
    headers=server.PAGE_HEADERS,
    failed=lambda error: print(error, file=sys.stderr),
    started=lambda: print(at.port, flush=True),
)
"""


@pytest.fixture(scope="module")
def server(adk: Adk) -> Iterator[Served]:
    """Return the server of a page."""
    command = [sys.executable, "-c", SCRIPT, adk.psf, adk.xtc, TOKEN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(process, int(process.stdout.readline()), [])
        finally:
            process.kill()


def test_random_requests_neither_hang_nor_leak(server: Served, adk: Adk) -> None:
    """The page is as before."""
    frame = server.get("frame/42").body
    assert_random_requests_leak_nothing(server, WORDS, [adk.xtc.parent], examples(500))
    again = server.get("frame/42").body
    assert (again[:16], again[24:]) == (frame[:16], frame[24:])


def test_oversized_requests_are_refused(server: Served) -> None:
    """Long lines, many headers, and bodies, which no request of the page has."""
    assert_oversized_requests_are_refused(server)
    head = f"POST /{TOKEN}/frame/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    found = server.send(head.encode() + b"x" * 1_000_000)
    # The server does not wait for the body, and its answer may be lost with the connection.
    assert found == b"" or b" 405 " in found.splitlines()[0]
    assert server.get("frame/0?" + "positions=stored&" * 500).status == 200
    assert server.get(f"frame/{'9' * 5000}").status == 404


def test_only_admitted_requests_are_answered(server: Served) -> None:
    """Without the token, with a wrong one, or by another name there is not even a file name."""
    for token in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
        for name in ("", "scene.json", "frame/0", "view.css"):
            assert server.get(name, token=token).status == 401
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0"):
        assert server.get("scene.json", Host=host).status == 403
    for host in ("localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert server.get("scene.json", Host=host).status == 200


@pytest.mark.parametrize(
    "name",
    [
        *("../view.css", "%2e%2e/view.css", "..%2fview.css", "page/view.css", "vendor/molstar.js"),
        *("/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "view.css/", "view.css%00.js"),
        *("saved.html", "saved.js", "widget.js", "redirect.html", "__init__.py", "scene", "."),
    ],
)
def test_paths_outside_of_the_table_are_not_found(server: Served, name: str) -> None:
    """Files are those of a closed table."""
    assert server.get(name).status == 404


def test_only_the_loopback_address_listens(server: Served) -> None:
    """Of IPv4 and IPv6."""
    assert_only_the_loopback_address_listens(server)
