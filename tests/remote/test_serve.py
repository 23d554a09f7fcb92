"""`trajet serve`: files by ranges, frames in MDsrv's protocol, and what is refused."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
import uvicorn
from anyio import CapacityLimiter
from helpers import commands
from helpers.doc_examples import examples as examples_of
from helpers.doc_examples import place_of, run_python
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.made_stores import Solvated, make_store
from helpers.messages import raises
from helpers.random_requests import (
    assert_only_the_loopback_address_listens,
    assert_oversized_requests_are_refused,
    assert_random_requests_leak_nothing,
    basic,
)
from helpers.served_files import PATIENCE, TOKEN, Served, serving
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from trajet.server import running
from trajet.server.access import Access
from trajet.server.ranges import ChangedFileError, OpenFile, file_response
from trajet.server.served_names import ServedNames
from uvicorn.server import ServerState

# Words of paths in random requests.
WORDS = ("file", "traj", "frame", "numframes", "dir", "adk.xtc", "store", "wet@protein")
DOCUMENT = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return a store with the data set `wet`."""
    return make_store(tmp_path_factory.mktemp("wet"))


@pytest.fixture(scope="module")
def server(wet: Solvated, adk: Adk) -> Iterator[Served]:
    """Return a server of a store and of three files."""
    with serving(wet.store.folder, adk.psf, adk.xtc, wet.xtc) as served:
        yield served


def test_ranges_equal_the_bytes_of_the_file(server: Served, adk: Adk) -> None:
    """Single bytes, borders of pieces, the end, and random ranges."""
    whole = adk.xtc.read_bytes()
    size, chosen = len(whole), random.Random(1)
    ranges = [(0, 1), (size - 1, size), (262143, 262145), (0, 262144), (5, size)]
    for _ in range(20):
        start = chosen.randrange(size)
        ranges.append((start, chosen.randrange(start, size) + 1))
    for start, stop in ranges:
        found = server.get("file/adk.xtc", Range=f"bytes={start}-{stop - 1}")
        assert (found.status, found.body) == (206, whole[start:stop])
        assert found.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{size}"
    assert server.get("file/adk.xtc", Range="bytes=-7").body == whole[-7:]
    found = server.get("file/adk.xtc")
    assert (found.status, found.body, found.headers["Accept-Ranges"]) == (200, whole, "bytes")


def test_conditions_on_the_etag(server: Served, adk: Adk) -> None:
    """The ETag is strong, and conditions name it."""
    head = server.get("file/adk.xtc", method="HEAD")
    etag = head.headers["ETag"]
    assert (head.status, head.body, etag[0]) == (200, b"", '"')
    assert head.headers["Content-Length"] == str(adk.xtc.stat().st_size)
    ranged = {"Range": "bytes=0-3"}
    assert server.get("file/adk.xtc", If_Match=etag, **ranged).status == 206
    assert server.get("file/adk.xtc", If_Match='"other"', **ranged).status == 412
    assert server.get("file/adk.xtc", If_None_Match=etag).status == 304
    assert server.get("file/adk.xtc", If_Range='"other"', **ranged).status == 200
    assert server.get("file/adk.xtc", If_Range=etag, **ranged).status == 206


def test_another_trajet_reads_what_is_served(server: Served, adk: Adk, wet: Solvated) -> None:
    """By ranges, with the token as the password of the URL, which is shown nowhere."""
    base = f"http://trajet:{TOKEN}@127.0.0.1:{server.port}/file"
    remote = tj.open(adk.psf, f"{base}/adk.xtc", allow_http=True)
    result = tj.rmsd(remote.select("name CA"))
    local = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    assert np.array_equal(result.values, local.values)
    assert TOKEN not in f"{remote!r} {remote.paths} {dict(result.report)}"
    tag = tj.open(None, f"{base}/store/wet%40protein.xtc", allow_http=True)
    expected = tj.open(f"{wet.store.folder}/wet@protein")[4].positions
    assert np.array_equal(tag[4].positions, expected)
    with pytest.raises(PermissionError) as denied:
        tj.open(None, f"{base.replace(TOKEN, TOKEN + 'x')}/adk.xtc", allow_http=True)
    assert TOKEN not in str(denied.value)


def test_files_of_a_store_are_those_of_its_tags(server: Served, wet: Solvated) -> None:
    """Each tag has its trajectory, structure and index; the data set its topology."""
    listed = json.loads(server.get("dir/").body)
    assert [entry["name"] for entry in listed] == ["adk.psf", "adk.xtc", "store", "wet.xtc"]
    listed = json.loads(server.get("dir/store").body)
    tags = ("ion", "protein", "water")
    names = [f"wet@{tag}.{suffix}" for tag in tags for suffix in ("gro", "ndx", "xtc")]
    assert [entry["name"] for entry in listed] == sorted(["wet.gro", *names])
    assert server.get("file/store/wet.gro").body == wet.gro.read_bytes()
    entry = wet.store.show("wet")
    for tag in entry.tags:
        found = server.get(f"file/store/wet@{tag.tag.name}.xtc")
        assert found.body == tag.paths[0].read_bytes()
    assert server.get("file/store/manifest.json").status == 404


def test_index_of_a_trajectory_is_served(server: Served, adk: Adk) -> None:
    """Another trajet asks for it by this name, and needs no walk over the frames."""
    found = server.get("file/adk.xtc.trajet-index")
    assert found.status == 200
    path = tj.open(None, adk.xtc).index_path
    assert path is not None and found.body == path.read_bytes()
    assert server.get("file/adk.psf.trajet-index").status == 404
    url = f"http://trajet:{TOKEN}@127.0.0.1:{server.port}/file/adk.xtc"
    there = tj.open(None, url, allow_http=True)
    assert there.index_state == "published"
    assert there.n_frames == 98


def taken_apart(body: bytes) -> tuple[int, float, NDArray[np.float32], NDArray[np.float32]]:
    """Return number of frames, time, box and positions of a frame, as NGL reads them."""
    values = np.frombuffer(body, "<f4")
    n_frames = int(np.frombuffer(body, "<i4", 1)[0])
    return n_frames, float(values[1]), values[2:11].reshape(3, 3), values[11:].reshape(-1, 3)


@pytest.mark.parametrize(
    ("name", "ranges"),
    [
        ("wet.xtc", None),
        ("wet.xtc", "0,10;22,31;47680,47681"),
        ("adk.xtc", "5,6"),
        ("store/wet", "100,4000"),
        ("store/wet@protein", ""),
        ("store/wet@protein,ion", "3340,3345"),
        ("store/wet@water.xtc", "0,3"),
    ],
)
def test_frames_equal_those_that_are_read(
    server: Served, wet: Solvated, adk: Adk, name: str, ranges: str | None
) -> None:
    """Of files, data sets and tags: all atoms, or ranges."""
    store = wet.store.folder
    opened = {
        "wet.xtc": lambda: tj.open(None, wet.xtc),
        "adk.xtc": lambda: tj.open(None, adk.xtc),
        "store/wet@water.xtc": lambda: tj.open(f"{store}/wet@water"),
    }.get(name, lambda: tj.open(store / name.removeprefix("store/")))()
    count = server.get(f"traj/numframes/{name}")
    assert count.body.decode() == str(opened.n_frames)
    pairs = [pair.split(",") for pair in (ranges or f"0,{opened.n_atoms}").split(";")]
    columns = np.concatenate([np.arange(int(first), int(stop)) for first, stop in pairs])
    for number in (0, opened.n_frames - 1):
        frame = opened[number]
        n_frames, time, box, positions = taken_apart(server.frame(name, number, ranges).body)
        assert (n_frames, time) == (opened.n_frames, np.float32(frame.time))
        assert np.array_equal(positions, frame.positions[columns])
        expected = frame.box.vectors if frame.box.exists else np.zeros((3, 3))
        assert np.array_equal(box, expected.astype(np.float32))


def test_frames_of_many_clients_are_each_ones_own(server: Served, wet: Solvated, adk: Adk) -> None:
    """At the same time: more selections than are kept, of several trajectories."""
    all_adk, all_wet = tj.open(None, adk.xtc), tj.open(None, wet.xtc)

    def ask(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(6):
            name, opened = chosen.choice((("adk.xtc", all_adk), ("store/wet", all_wet)))
            number, start = chosen.randrange(opened.n_frames), chosen.randrange(8)
            found = taken_apart(server.frame(name, number, f"{start},{start + 50}").body)
            expected = opened.read(frames=[number], atoms=range(start, start + 50)).positions[0]
            assert np.array_equal(found[3], expected)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(16)))


@pytest.mark.parametrize(
    ("number", "ranges", "status"),
    [
        *((98, "0,1", 404), (10**15, "0,1", 404), (0, "0,3342", 400), (0, "5,5", 400)),
        *((0, "3,2", 400), (0, "0,2;1,3", 400), (0, "0-2", 400), (0, "0,²", 400), (0, ";", 400)),
        *((0, "0,1" + "0" * 9000, 400), (0, "x" * 17_000_000, 413)),
    ],
)
def test_wrong_frames_and_atoms_are_refused(
    server: Served, number: int, ranges: str, status: int
) -> None:
    """Atoms are ranges that ascend, so that a request asks for no atom twice."""
    body = f"atomIndices={ranges}".encode()
    found = server.get(f"traj/frame/{number}/adk.xtc", method="POST", body=body)
    assert found.status == status
    assert server.frame("adk.psf", 0).status == 404


def test_forms_of_many_fields_are_refused(server: Served) -> None:
    """They would take seconds; few other fields are passed over."""
    for n, status in ((7, 200), (100_000, 400)):
        body = b"a=1&" * n + b"atomIndices=0,1"
        found = server.get("traj/frame/0/adk.xtc", method="POST", body=body)
        assert found.status == status


def test_files_are_found_by_their_whole_names(adk: Adk, tmp_path: Path) -> None:
    """Also with @ and commas, which stand before tags otherwise."""
    path = Path(shutil.copy(adk.xtc, tmp_path / "a@b,c.xtc"))
    table = ServedNames([path])
    assert table.trajectory(path.name) == str(path)
    assert table.trajectory("a@b") is None and table.trajectory("a@b,d.xtc") is None


def test_store_of_the_parent_folder_has_its_name(
    wet: Solvated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not `..`, which clients take away from paths."""
    monkeypatch.chdir(wet.store.folder / "wet")
    name = wet.store.folder.resolve().name
    assert ServedNames([Path("..")]).trajectory(f"{name}/wet@protein") is not None


def test_requests_without_the_token_are_refused(server: Served) -> None:
    """Every form of the token, right and wrong."""
    assert server.get("dir/", token="").status == 401
    assert server.get("dir/", token=TOKEN[:-1]).status == 401
    assert server.get("dir/", token=TOKEN + "x").status == 401
    for header in (basic(TOKEN), f"Bearer {TOKEN}", f"bearer  {TOKEN}"):
        assert server.get("dir/", token="", Authorization=header).status == 200
    for header in ("", "Basic", "Basic ****", basic("wrong"), "Bearer é", f"Digest {TOKEN}"):
        found = server.get("dir/", token="", Authorization=header)
        assert found.status == 401
        assert found.headers["WWW-Authenticate"].startswith("Basic ")
        assert TOKEN.encode() not in found.body


def test_other_host_names_are_refused(server: Served) -> None:
    """A page cannot make a browser call this server under the page's own name."""
    own = ("127.0.0.1", f"127.0.0.1:{server.port}", "localhost:1", "LOCALHOST.", "[::1]:80")
    for host in own:
        assert server.get("dir/", Host=host).status == 200
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "[::2]",
        "localhost]x",
        "localhost:80:evil",
        "localhost:x",
        socket.gethostname(),
    ):
        assert server.get("dir/", Host=host).status == 403
    path = f"/{TOKEN}/dir/".encode()
    assert b" 403 " in server.send(b"GET " + path + b" HTTP/1.0\r\n\r\n").splitlines()[0]
    access = Access(TOKEN, {"name"}, any_address=True)
    assert [access.knows_host(host) for host in ("10.0.0.1:80", "name", "other")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("../adk.psf", "%2e%2e/adk.psf", "./adk.psf", "//adk.psf", "adk.psf/", "adk.psf%00"),
        *("", ".", "..%2fadk.psf", "/etc/passwd", "store/../adk.psf", "store"),
        *("store/wet/manifest.json", "store/wet@protein,none", "store/wet@", "adk.xtc@protein"),
    ],
)
def test_paths_that_leave_the_table_are_not_found(server: Served, name: str) -> None:
    """The table is closed: names are compared, never joined to a folder."""
    for kind in ("file/", "traj/numframes/"):
        assert server.get(kind + name).status == 404


def test_methods_that_write_are_refused(server: Served) -> None:
    """The server is read-only."""
    for method in ("PUT", "DELETE", "POST", "PATCH", "OPTIONS"):
        assert server.get("file/adk.xtc", method=method).status == 405
    assert server.get("traj/frame/0/adk.xtc").status == 405


def test_oversized_requests_are_refused(server: Served) -> None:
    """Long lines, many headers and many ranges."""
    assert_oversized_requests_are_refused(server)
    ranges = ",".join(f"{number}-{number}" for number in range(1000))
    assert server.get("file/adk.xtc", method="HEAD", Range=f"bytes={ranges}").status == 200


def test_random_requests_neither_hang_nor_leak(server: Served, adk: Adk, wet: Solvated) -> None:
    """A file is served before and after them."""
    assert server.get("file/adk.xtc", Range="bytes=0-9").status == 206
    folders = (adk.xtc.parent, wet.folder)
    assert_random_requests_leak_nothing(server, WORDS, folders, examples(1000))
    assert server.get("traj/numframes/adk.xtc").body == b"98"


def test_only_the_loopback_address_listens(server: Served) -> None:
    """Of IPv4 and IPv6."""
    assert_only_the_loopback_address_listens(server)


def test_changed_file_is_another_object(own_adk: Adk, tmp_path: Path) -> None:
    """The ETag changes with the file, and a trajectory that has grown is opened anew."""
    (other := tmp_path / "link.psf").symlink_to(own_adk.psf)
    with serving(own_adk.xtc, other) as server:
        etag = server.get("file/adk.xtc", method="HEAD").headers["ETag"]
        assert server.get("traj/numframes/adk.xtc").body == b"98"
        own_adk.xtc.write_bytes(own_adk.xtc.read_bytes() * 2)
        found = server.get("file/adk.xtc", If_Match=etag)
        assert (found.status, found.headers["ETag"] != etag) == (412, True)
        assert server.get("traj/numframes/adk.xtc").body == b"196"
        assert server.frame("adk.xtc", 195).body[44:] == server.frame("adk.xtc", 97).body[44:]
        # A link that the user named is followed once; one that takes its place is not.
        assert server.get("file/link.psf").body == own_adk.psf.read_bytes()
        own_adk.psf.rename(tmp_path / "secret")
        own_adk.psf.symlink_to(tmp_path / "secret")
        assert server.get("file/link.psf").status in (404, 500)
        own_adk.xtc.write_bytes(b"no trajectory")
        found = server.frame("adk.xtc", 0)
        assert found.status in (404, 500) and bytes(tmp_path) not in found.body
        code, _, errors = server.end(signal.SIGTERM)
        assert code == 0 and "Traceback" not in errors


def test_bytes_of_two_states_of_a_file_never_mix(tmp_path: Path) -> None:
    """A file that is written to while it is sent ends the answer."""
    path = tmp_path / "run.xtc"
    path.write_bytes(b"a" * 100)
    file = OpenFile.of(path)
    assert file.read(10, 5) == b"aaaaa"
    path.write_bytes(b"b" * 101)
    with pytest.raises(ChangedFileError):
        file.read(10, 5)
    file.close()
    os.mkfifo(tmp_path / "pipe")
    with raises(OSError):
        OpenFile.of(tmp_path / "pipe")


RANGES = {
    **{"bytes=0-0": (0, 1), "bytes=5-": (5, 10), "bytes=-3": (7, 10), "BYTES = 1 - 2": (1, 3)},
    **{"bytes=0-99": (0, 10), "bytes=-99": (0, 10), "bytes=00-01": (0, 2)},
    # Refused: there are no such bytes.
    **{"bytes=10-": None, "bytes=3-2": None, "bytes=-0": None},
    # Ignored: other units, several ranges, no ranges. The whole file is sent.
    **dict.fromkeys(["bytes=0-1,3-4", "bytes=-", "items=0-1", "bytes=\u0663-4", "bytes=1e3-"], ""),
    **dict.fromkeys(["", "bytes", "bytes=", "=0-1", "bytes=0-1x", f"bytes=0-{10**30}"], ""),
}


@pytest.mark.parametrize(("header", "expected"), RANGES.items())
def test_range_headers(tmp_path: Path, header: str, expected: object) -> None:
    """One range of bytes is sent or refused; what is none is ignored (RFC 9110, 14.2)."""
    (tmp_path / "ten").write_bytes(b"0123456789")
    headers = [(b"range", header.encode("utf-8"))]
    request = Request({"type": "http", "method": "HEAD", "headers": headers})
    answer = file_response(request, OpenFile.of(tmp_path / "ten"), CapacityLimiter(1))
    found = answer.status_code, answer.headers.get("content-range")
    if expected == "":
        assert found == (200, None)
    elif expected is None:
        assert found == (416, "bytes */10")
    else:
        start, stop = expected
        assert found == (206, f"bytes {start}-{stop - 1}/10")
        assert answer.headers["content-length"] == str(stop - start)


def test_growing_store_shows_its_new_frames(tmp_path: Path) -> None:
    """Files that an append adds are found without a restart."""
    made = make_store(tmp_path)
    with serving(made.store.folder) as server:
        assert server.get("traj/numframes/store/wet").body == b"10"
        assert made.store.append("wet", tj.open(None, shutil.copy(made.xtc, tmp_path / "b.xtc")))
        assert server.get("traj/numframes/store/wet").body == b"20"
        # Stores are read again at most once a second.
        names: list[str] = []
        while not any("-001" in name for name in names):
            assert server.get("file/store/unknown").status == 404
            names = [entry["name"] for entry in json.loads(server.get("dir/store").body)]
        assert server.get("file/store/wet@ion-001.xtc").status == 200


def test_signal_ends_the_server_at_once(adk: Adk) -> None:
    """Also while a client reads a file and another has sent half a request."""
    with serving(adk.xtc) as server:
        address = ("127.0.0.1", server.port)
        with (
            socket.create_connection(address, PATIENCE) as reader,
            socket.create_connection(address, PATIENCE) as half,
        ):
            request = f"GET /{TOKEN}/file/adk.xtc HTTP/1.1\r\nHost: localhost\r\n\r\n"
            reader.sendall(request.encode())
            assert reader.recv(1)
            half.sendall(b"GET / HTTP")
            code, output, errors = server.end()
        assert (code, errors) == (0, "")
        assert output.splitlines()[-1].startswith("ended; requests: 1, refused: 0, sent: ")


def test_token_of_the_user_is_not_printed(server: Served) -> None:
    """The lines have the name of the variable instead."""
    assert TOKEN not in "\n".join(server.lines)
    assert server.lines[-1].endswith("/$TRAJET_TOKEN/")


def pasted(lines: list[str]) -> list[str]:
    """Return the lines that open what is served: one of a shell, one of Python."""
    at = lines.index("open it in a shell, or in Python:")
    assert lines[at + 3].startswith("base address")
    return lines[at + 1 : at + 3]


@pytest.mark.parametrize("token", [None, TOKEN])
def test_printed_lines_open_what_is_served(
    adk: Adk, tmp_path: Path, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand, with the token; one of the user's own is taken from the environment."""
    place_of(DOCUMENT, adk, tmp_path, monkeypatch)
    if token is not None:
        monkeypatch.setenv("TRAJET_TOKEN", token)
    with serving("adk.psf", "adk.xtc", token=token) as server:
        shell, python = pasted(server.lines)
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        for words in ("format        PSF", "format        XTC", "frames        98"):
            assert words in done.stdout
        namespace: dict[str, object] = {}
        exec(python, namespace)
        traj = namespace["traj"]
        assert isinstance(traj, tj.Trajectory)
        assert (traj.n_frames, traj.topology.n_atoms) == (98, 3341)


def test_printed_lines_open_what_belongs_together(adk: Adk, wet: Solvated, tmp_path: Path) -> None:
    """A tag with its structure, a structure alone, a trajectory alone if any topology may fit."""
    other = Path(shutil.copy(adk.psf, tmp_path / "other.psf"))
    third = Path(shutil.copy(adk.psf, tmp_path / "third.psf"))
    for paths, opened in (
        ([wet.store.folder], ("store/wet%40protein.gro", "store/wet%40protein.xtc")),
        ([wet.gro], ("wet.gro",)),
        ([other, adk.xtc], ("other.psf", "adk.xtc")),
        ([other, adk.psf, adk.xtc], ("adk.psf", "adk.xtc")),
        ([other, third, adk.xtc], ("None", "adk.xtc")),
    ):
        with serving(*paths, token=None) as server:
            _, python = pasted(server.lines)
            names = ["None" if name == "None" else f'f"{{url}}/{name}"' for name in opened]
            assert f"tj.open({', '.join(names)}, allow_http=True)" in python
            namespace: dict[str, object] = {}
            exec(python, namespace)
            assert isinstance(namespace["traj"], tj.Trajectory)
    with serving(adk.psf, token=None) as server:
        assert not any("tj.open" in line for line in server.lines)


def test_address_that_others_reach_is_warned_of(adk: Adk) -> None:
    """Data and token are not encrypted there; the token that was made is long."""
    with serving(
        adk.xtc, "--address", "0.0.0.0", "--host-name", "md.example", token=None
    ) as server:
        token = server.lines[-1].rstrip("/").rpartition("/")[2]
        assert len(token) == 32
        assert f"//trajet:{token}@" in server.lines[1]
        for host in (socket.gethostname(), "10.1.2.3", "md.example"):
            assert server.get("dir/", token=token, Host=host).status == 200
        assert server.get("dir/", token=token, Host="evil.example").status == 403
        code, _, errors = server.end(signal.SIGTERM)
        assert code == 0 and "not encrypted" in errors and token not in errors


def test_wrong_arguments_are_one_line(
    tmp_path: Path, adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is served then."""
    commands.fail("serve", tmp_path / "none.xtc")
    commands.fail("serve", tmp_path)
    (same := tmp_path / "adk.xtc").write_bytes(b"")
    commands.fail("serve", adk.xtc, same)
    commands.fail("serve", adk.xtc, "--address", "x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        commands.fail("serve", adk.xtc, "--port", port)
    commands.misuse("serve", adk.xtc, "--quiet")
    monkeypatch.setenv("TRAJET_TOKEN", "short")
    commands.fail("serve", adk.xtc)


def test_example_of_the_documentation_reads_a_frame(server: Served, adk: Adk) -> None:
    """A program that knows nothing of trajet."""
    (example,) = examples_of(DOCUMENT)
    base = f"http://127.0.0.1:{server.port}/{TOKEN}"
    text = example.text.replace("http://127.0.0.1:8765/TOKEN", base)
    namespace: dict[str, object] = {}
    run_python(DOCUMENT, replace(example, text=text), namespace)
    atoms = [*range(214), *range(500, 600)]
    expected = tj.open(None, adk.xtc)[10]
    assert np.array_equal(namespace["positions"], expected.positions[atoms])
    assert (namespace["n_frames"], namespace["time"]) == (98, np.float32(expected.time))


def test_headers_must_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose header does not arrive in time is closed; answers may take longer."""

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.6)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def answers(*requests: bytes) -> list[bytes]:
        config = uvicorn.Config(slow, http=running._Protocol, lifespan="off", log_config=None)
        config.load()
        make = partial(running._Protocol, config=config, server_state=ServerState(), app_state={})
        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        found = []
        for request in requests:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(request)
            found.append(await asyncio.wait_for(reader.read(20), PATIENCE))
            writer.close()
        server.close()
        return found

    monkeypatch.setattr(running, "_HEADER_WITHIN", 0.3)
    begun, whole = b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    ended, answered = asyncio.run(answers(begun, whole))
    assert (ended, answered[:12]) == (b"", b"HTTP/1.1 204")


@pytest.mark.long
def test_slow_requests_end(server: Served) -> None:
    """A client that never ends its header holds no connection for long."""
    with socket.create_connection(("127.0.0.1", server.port), 60) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHo")
        assert slow.recv(100) == b""
    with socket.create_connection(("127.0.0.1", server.port), 60) as slow:
        start = f"POST /{TOKEN}/traj/frame/0/adk.xtc HTTP/1.1\r\nHost: localhost\r\n"
        slow.sendall(start.encode() + b"Content-Length: 9\r\n\r\natom")
        assert b" 408 " in slow.recv(100)
