"""Servers and networks that fail: the right bits, or one precise error."""

import contextlib
import os
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import range_server as faults
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from numpy.typing import NDArray
from trajet.remote import redirects
from trajet.remote.objects import RemoteFile

# Seconds of silence after which a connection counts as cut.
SILENCE = {"client_options": {"read_timeout": "300ms"}}


def opened(server: RangeServer, name: str = "adk.xtc", **options: Any) -> tj.Trajectory:
    """Open a file of the server, whose frames are read one by one."""
    options = {"connections": 4, "merge_gap": 0, "sidecar": False, **options}
    return tj.open(None, server.url(name), allow_http=True, **options)


@pytest.fixture
def positions(adk: Adk) -> NDArray[np.float32]:
    """Return the positions of adk.xtc."""
    return tj.open(None, adk.xtc).read().positions


def test_a_storm_of_503_is_waited_for(server: RangeServer, positions: NDArray[np.float32]) -> None:
    """Every connection is refused several times in a row."""
    traj = opened(server)
    server.on_request(5, faults.throttled(503), times=8)
    assert same_bits(traj.read().positions, positions)
    assert server.statuses()[503] == 8


def test_a_storm_that_does_not_end_is_an_error(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a bounded number of requests."""
    monkeypatch.setattr(RemoteFile, "pauses", (0.01, 0.02))
    traj = opened(server, connections=1)
    server.clear()
    server.always(faults.throttled(503))
    with raises(tj.RemoteError):
        traj.read(frames=[50])
    assert server.count() == 3


def test_bodies_are_cut_anywhere(server: RangeServer, positions: NDArray[np.float32]) -> None:
    """Before the first byte, within, and before the last one."""
    traj = opened(server)
    lengths = random.Random(36).sample(range(1, 10_000), 4)
    for number, at in enumerate((0, 1, *lengths, 10_000)):
        server.on_request(3 + 5 * number, faults.cut(at))
    assert same_bits(traj.read().positions, positions)


def read_with_one_fault(
    traj: tj.Trajectory, server: RangeServer, fault: faults.Fault, positions: NDArray[np.float32]
) -> None:
    """Read twice, the second time with a fault, which takes one more request."""
    counts = []
    for is_faulty in (False, True):
        server.clear()
        if is_faulty:
            server.on_request(3, fault)
        found = traj.read(frames=range(40, 60), atoms=[0, 700]).positions
        assert same_bits(found, positions[40:60, [0, 700]])
        counts.append(server.count())
    assert counts[0] >= 20
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize("at", [0, 100, 500])
def test_silent_servers_are_asked_again(
    server: RangeServer, positions: NDArray[np.float32], at: int
) -> None:
    """A body that stalls counts as cut."""
    read_with_one_fault(
        opened(server, storage_options=SILENCE), server, faults.stalled(at), positions
    )


@pytest.mark.parametrize("claims_all", [False, True])
def test_short_bodies_are_asked_for_again(
    server: RangeServer, positions: NDArray[np.float32], claims_all: bool
) -> None:
    """Whether or not the headers admit it."""
    fault = faults.shortened(7, claims_all=claims_all)
    read_with_one_fault(opened(server), server, fault, positions)


def test_wrong_headers_of_frames_are_an_error(server: RangeServer) -> None:
    """The magic number, the number of atoms, the step and the time are compared with the index."""
    traj = opened(server)
    for at in (3, 7, 11, 13):
        server.clear()
        server.on_request(0, faults.wrong_bytes(at))
        with raises(tj.TrajetError):
            traj.read(frames=[50])


class Endless(threading.Thread):
    """A server whose bodies never end: chunks, though the headers name a range."""

    def __init__(self, head: bytes, size: int) -> None:
        super().__init__(daemon=True)
        self.head, self.size, self.sent = head, size, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.start()

    def run(self) -> None:
        """Answer connections until the socket is closed."""
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        asked = connection.recv(65536).decode().lower()
        start, stop = asked.split("range: bytes=")[1].split("\r\n")[0].split("-")
        last = min(int(stop), self.size - 1)
        head = (
            "HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n"
            'ETag: "1"\r\nLast-Modified: Fri, 27 Nov 2026 00:00:00 GMT\r\n'
            f"Content-Range: bytes {start}-{last}/{self.size}\r\n\r\n"
        )
        piece = b"10000\r\n" + bytes(65536) + b"\r\n"
        try:
            connection.sendall(head.encode())
            for _ in range(2000):
                connection.sendall(piece)
                self.sent += len(piece)
        except OSError:
            return


def test_bodies_without_an_end_are_left(adk: Adk) -> None:
    """No more is received than was asked for."""
    server = Endless(adk.xtc.read_bytes()[:65536], adk.xtc.stat().st_size)
    url = f"http://127.0.0.1:{server.socket.getsockname()[1]}/run.xtc"
    with raises(tj.RemoteError):
        tj.open(None, url, allow_http=True, sidecar=False)
    server.socket.close()
    # Of each of a few requests, what fits into the buffers of the system.
    assert server.sent < 60_000_000


class Simple(BaseHTTPRequestHandler):
    """Ranges of a file as small servers send them; `kind` names what is unusual."""

    protocol_version = "HTTP/1.1"
    data, kind = b"", ""

    def log_message(self, *_: object) -> None:
        """Write nothing."""

    def do_HEAD(self) -> None:
        """Send the size."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()

    def do_GET(self) -> None:
        """Send a range."""
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        size, end = len(self.data), last + 1
        if self.kind == "refuses the end" and end > size:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = self.data[first:end]
        self.send_response(206)
        self.send_header("ETag", '"x"')
        if self.kind != "no range":
            total = "*" if self.kind == "no size" else size
            self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{total}")
        if self.kind == "chunks":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        elif self.kind == "no length":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def simple_server(data: bytes, kind: str) -> Iterator[str]:
    """Serve data; yield its URL."""
    handler = type("Handler", (Simple,), {"data": data, "kind": kind})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/run.xtc"
        server.shutdown()


@pytest.mark.parametrize("n_frames", [1, 7, 98])
def test_files_of_servers_that_refuse_ranges_beyond_the_end(adk: Adk, n_frames: int) -> None:
    """They say the size, with status 416: these bytes are asked for, however small the file is."""
    with tj.open(None, adk.xtc) as traj:
        offsets = [*traj.source.reader.offsets(), adk.xtc.stat().st_size]
    expected = tj.open(None, adk.xtc).read(frames=range(n_frames)).positions
    data = adk.xtc.read_bytes()[: offsets[n_frames]]
    with simple_server(data, "refuses the end") as url:
        found = tj.open(None, url, allow_http=True, sidecar=False).read().positions
    assert same_bits(found, expected)


def test_empty_file_of_such_a_server_is_an_error() -> None:
    """It is not asked for again."""
    with simple_server(b"", "refuses the end") as url, raises(tj.RemoteError):
        tj.open(None, url, allow_http=True, sidecar=False)


@pytest.mark.parametrize("kind", ["no size", "no length", "chunks", "no range"])
def test_servers_that_state_no_sizes_are_an_error(adk: Adk, kind: str) -> None:
    """It says which headers are missing, and what to do."""
    with simple_server(adk.xtc.read_bytes()[:20_000], kind) as url, raises(tj.RemoteError):
        tj.open(None, url, allow_http=True, sidecar=False)


HEADS = {
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n",
    "interim answers with headers": b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n",
    "other interim answers": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "no HTTP": b"\0",
    "empty lines": b"\r\n",
}


@pytest.mark.parametrize("piece", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_heads_without_an_end_are_left(
    monkeypatch: pytest.MonkeyPatch, piece: bytes, pause: float
) -> None:
    """However fast a server sends them: an error of one line, after a few requests."""
    monkeypatch.setattr(redirects, "_HEADERS", 0.5)
    connections, sent = [], 0

    def flood(connection: socket.socket) -> None:
        nonlocal sent
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            while True:
                connection.sendall(piece if pause else 100 * piece)
                sent += len(piece)
                time.sleep(pause)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connections.append(server.accept()[0])
                threading.Thread(target=flood, args=connections[-1:], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/run.xtc"
        client = {"timeout": "1s", "read_timeout": "1s"}
        with raises(tj.RemoteError, url):
            tj.open(None, url, allow_http=True, storage_options={"client_options": client})
    assert len(connections) <= 8


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_without_a_strong_etag_the_time_of_modification_is_compared(
    server: RangeServer, adk: Adk, positions: NDArray[np.float32], etag: str | None
) -> None:
    """Another object of the same size has another one; a message says what is compared."""
    server.always(faults.header("ETag", etag))
    traj = opened(server)
    assert same_bits(traj.read().positions, positions)
    [message] = [message for message in traj.messages if "no strong ETag" in message]
    assert "time of modification and the headers of frames" in message
    server.replace("adk.xtc", adk.xtc.read_bytes())
    os.utime(server.folder / "adk.xtc", (10**9, 10**9))
    with raises(tj.StaleIndexError):
        traj.read(frames=[50])


def test_without_any_condition_sizes_and_headers_are_compared(
    server: RangeServer, adk: Adk, positions: NDArray[np.float32]
) -> None:
    """Neither an ETag nor a time: the size, and the time and length of each frame."""
    server.always(faults.header("ETag", None))
    server.always(faults.header("Last-Modified", None))
    traj = opened(server)
    assert same_bits(traj.read().positions, positions)
    assert any("no strong ETag" in message for message in traj.messages)
    whole = adk.xtc.read_bytes()
    server.replace("adk.xtc", whole[:-4])
    with raises(tj.StaleIndexError):
        traj.read(frames=[50])
    # Of the same size, with frames in another order.
    half = adk.xtc.parent / "half.xtc"
    tj.convert(tj.open(None, adk.xtc), half, frames=slice(50, None))
    begin = len(whole) - half.stat().st_size
    server.replace("adk.xtc", whole[begin:] + whole[:begin])
    with pytest.raises(tj.StaleIndexError):
        traj.read(frames=[60])


# Random sequences of faults.

N_FRAMES, N_ATOMS = 60, 900


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, NDArray[np.float32]]]:
    """Return two versions of a trajectory, as bytes and positions."""
    folder, made = tmp_path_factory.mktemp("versions"), []
    for seed in (1, 2):
        values = np.random.default_rng(seed).uniform(0, 50, (N_FRAMES, N_ATOMS, 3))
        path = folder / f"{seed}.xtc"
        tj.write(path, values.astype(np.float32), times=np.arange(float(N_FRAMES)))
        made.append((path.read_bytes(), tj.open(None, path).read().positions))
    # Between the ends, which are kept, most frames are requests of their own.
    assert len(made[0][0]) > 3 * 65536
    return made


class OneFile:
    """A filesystem of fsspec with one file, whose contents may change."""

    def __init__(self, contents: bytes) -> None:
        self.contents, self.mtime = contents, 1

    def info(self, path: str) -> dict[str, object]:
        """Return its size and time of modification."""
        return {"name": path, "size": len(self.contents), "mtime": self.mtime}

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """Return a range of its bytes."""
        return self.contents[start:end]


@pytest.mark.parametrize("suffix", ["dcd", "h5md"])
def test_files_of_fsspec_that_are_replaced_are_not_mixed(tmp_path: Path, suffix: str) -> None:
    """Frames of DCD have no headers: properties of the file are compared after each request."""
    n_frames = 40
    for x in (10.0, 20.0):
        positions = np.full((n_frames, 4000, 3), x, np.float32)
        tj.write(tmp_path / f"{x}.{suffix}", positions, times=np.arange(float(n_frames)))
    contents = [(tmp_path / f"{x}.{suffix}").read_bytes() for x in (10.0, 20.0)]
    filesystem = OneFile(contents[0])
    traj = tj.open(None, (filesystem, f"md/run.{suffix}"), connections=2)
    assert any("mtime, and the headers" in message for message in traj.messages)
    assert traj.read(frames=[20]).positions[0, 0, 0] == 10
    filesystem.contents, filesystem.mtime = contents[1], 2
    with raises(tj.StaleIndexError):
        traj.read(frames=[21])


@pytest.mark.parametrize("suffix", ["xtc", "trr", "dcd", "nc"])
def test_cells_of_frames_are_read_without_atoms(tmp_path: Path, suffix: str) -> None:
    """Servers refuse requests for no bytes."""
    positions = np.random.default_rng(0).random((4, 20_000, 3), np.float32) * 50
    cells = np.tile([50.0, 50, 50, 90, 90, 90], (4, 1))
    tj.write(tmp_path / f"a.{suffix}", positions, times=np.arange(4.0), cells=cells)
    with RangeServer(tmp_path) as server:
        for atoms in ([], [19_999]):
            traj = tj.open(None, server.url(f"a.{suffix}"), allow_http=True, merge_gap=0)
            with traj.cursor(atoms, positions=atoms != [], read_ahead=False) as cursor:
                assert same_bits(cursor.read(2).cell, cells[2].astype(cursor.cell.dtype))
                if atoms:
                    assert abs(cursor.positions[0] - positions[2, atoms[0]]).max() < 0.01


def passing(chance: random.Random) -> faults.Fault:
    """Return a fault after which the same request succeeds."""
    at = chance.randrange(10_000)
    return chance.choice(
        [
            *(faults.throttled(503), faults.throttled(429), faults.closed()),
            *(faults.cut(at), faults.stalled(at)),
            *(faults.shortened(1 + at), faults.shortened(1 + at, claims_all=True)),
        ]
    )


def lasting(chance: random.Random) -> tuple[faults.Fault, tuple[type[Exception], str]]:
    """Return a fault that is an error, with the error."""
    refused: list[tuple[faults.Fault, tuple[type[Exception], str]]] = [
        (faults.gzipped(), (tj.RemoteError, "Content-Encoding")),
        (faults.without_ranges(), (tj.RemoteError, "no ranges of bytes")),
        (faults.expired_token(chance.choice([400, 403])), (PermissionError, "have expired")),
        (lambda _: faults.error(404, ""), (FileNotFoundError, "no such object")),
    ]
    return chance.choice(refused)


def run_sequence(seed: int, folder: Path, versions: list[tuple[bytes, NDArray[np.float32]]]) -> str:
    """Open and read a trajectory while the server fails at random; return how it ended."""
    chance = random.Random(seed)
    (first, positions), (second, other) = versions
    (folder / "run.xtc").write_bytes(first)
    errors: list[tuple[type[Exception], str]] = []
    with RangeServer(folder) as server:
        begins = chance.random() < 0.7
        if begins:
            traj = opened(server, "run.xtc", storage_options=SILENCE)
        # The first requests have fewer attempts while an object is opened.
        for number in chance.sample(range(0 if begins else 6, 60), chance.randint(1, 5)):
            server.on_request(number, passing(chance))
        if chance.random() < 0.4:
            fault, error = lasting(chance)
            server.on_request(chance.randrange(60), fault)
            errors.append(error)
        if chance.random() < 0.4:
            server.on_request(chance.randrange(60), faults.replaced("run.xtc", second))
            errors.append((tj.StaleIndexError, "open it again"))
        try:
            if not begins:
                traj = opened(server, "run.xtc", storage_options=SILENCE)
            atoms = chance.choice([None, [0, 5], [0, 5, N_ATOMS // 2]])
            found = traj.read(atoms=atoms).positions
        except Exception as error:
            message = str(error)
            assert message.startswith(server.url("run.xtc")) and "\n" not in message, message
            matching = [words for kind, words in errors if type(error) is kind and words in message]
            assert matching, f"{type(error).__name__}: {message}"
            return type(error).__name__
    columns = slice(None) if atoms is None else atoms
    is_first = same_bits(found, positions[:, columns])
    # Opened after the replacement, it is the other one, and whole.
    assert is_first or (not begins and errors and same_bits(found, other[:, columns]))
    return "bits"


@pytest.mark.parametrize("n", [20, pytest.param(500, marks=pytest.mark.long)])
def test_random_faults_end_in_the_right_bits_or_one_error(
    tmp_path: Path, versions: list[tuple[bytes, NDArray[np.float32]]], n: int
) -> None:
    """The seed of a sequence that fails is in the message."""

    def run(seed: int) -> str:
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            return run_sequence(seed, folder, versions)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        finally:
            shutil.rmtree(folder)

    # They wait for most of their time.
    with ThreadPoolExecutor(5) as threads:
        ends = list(threads.map(run, range(n)))
    assert ends.count("bits") >= len(ends) // 4
    assert len(set(ends)) >= 3
