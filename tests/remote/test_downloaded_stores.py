"""Published data sets are copied to a store whole, or not at all; a further call goes on."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, misuse, succeed
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer, error
from trajet.store.profile import Profile

SAMPLE = tj.samples.peptide_in_water()
TOPOLOGY, SOURCE = SAMPLE.topology, SAMPLE.trajectory
LOSSY = """
[tiers]
fast = "nvme"

[[tags]]
name = "core"
select = "resid 1:29"
tier = "fast"

[[tags]]
name = "others"
select = "rest"
tier = "fast"
format = "xtc"
lossy = true
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a published data set of two segments."""
    from obstore.store import LocalStore

    folder = tmp_path_factory.mktemp("published")
    halves = [folder / "a.xtc", folder / "b.xtc"]
    whole = tj.open(TOPOLOGY, SOURCE)
    tj.convert(whole, halves[0], frames=slice(0, 40))
    tj.convert(whole, halves[1], frames=slice(40, None))
    store = tj.Store(folder / "md", create=True)
    store.add("run", tj.open(TOPOLOGY, halves[0]))
    store.append("run", tj.open(None, halves[1]))
    store.publish("run", (LocalStore(folder / "served", mkdir=True), "md/run"))
    return folder / "served"


@pytest.fixture
def server(published: Path, tmp_path: Path) -> Iterator[RangeServer]:
    """Return a server of a copy of it."""
    folder = tmp_path / "served"
    shutil.copytree(published, folder)
    with RangeServer(folder) as running:
        yield running


def download(server: RangeServer, store: tj.Store, name: str | None = None) -> str:
    """Copy the data set to a store."""
    return store.download(server.url("md/run"), name, allow_http=True, connections=2)


def files_of(folder: Path) -> set[str]:
    """Return the files below a folder, but for those of every store."""
    kept = re.compile(r"store\.json|lock|\.trajet-tier-.*")
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in found if not kept.fullmatch(path.name)}


def tag_sizes(folder: Path) -> int:
    """Return the bytes of all files of tags, with their structures."""
    paths = (path for path in folder.rglob("tiers/*/*/*") if path.suffix != ".trajet-index")
    return sum(path.stat().st_size for path in paths)


def is_sound(store: tj.Store, name: str) -> None:
    """Assert that a data set has all bits of the original."""
    assert store.verify(name) == ()
    here, there = tj.open(TOPOLOGY, SOURCE), store.open(name)
    assert same_bits(there.read().positions, here.read().positions)
    assert np.array_equal(there.times, here.times)


def test_a_copy_is_a_data_set_with_all_tags(server: RangeServer, tmp_path: Path) -> None:
    """Tags, tiers, structures, both segments; each byte is sent once."""
    store = tj.Store(tmp_path / "here", create=True)
    shown: list[tuple[int, int]] = []
    name = store.download(
        server.url("md/run"),
        allow_http=True,
        progress=lambda done, total: shown.append((done, total)),
    )
    assert name == "run"
    assert store.list() == ("run",)
    size = tag_sizes(server.folder)
    assert shown[-1] == (size, size)
    is_sound(store, "run")
    files = [request for request in server.requests if "/tiers/" in request.path]
    # Each object is opened with its first and last 64 KiB.
    ends = 2 * 65536 * len({request.path for request in files})
    assert sum(request.sent for request in files) <= size + ends
    entry = store.show("run")
    assert [kept.tag.name for kept in entry.tags] == ["protein", "ion", "water", "rest"]
    assert {kept.tag.tier for kept in entry.tags} == {"fast", "slow"}
    assert list(store.tiers) == ["fast", "slow"]
    assert all(len(kept.paths) == 2 for kept in entry.tags)
    assert store.repair() == ()
    moved = entry.tags[0].tag.name
    store.move("run", moved, "slow")
    store.remove("run")
    assert files_of(store.folder) == set()


def test_several_copies_have_names_of_their_own(server: RangeServer, tmp_path: Path) -> None:
    """A name that is taken is an error before any file of a tag is asked for."""
    store = tj.Store(tmp_path / "here", create=True)
    assert download(server, store, "one") == "one"
    assert download(server, store, "two") == "two"
    for name in ("one", "two"):
        is_sound(store, name)
    server.clear()
    with raises(tj.StoreError):
        download(server, store, "one")
    assert {request.path for request in server.requests} == {"md/run/manifest.json"}
    with raises(ValueError):
        store.download(server.url("md/run") + "@protein", allow_http=True)
    with raises(tj.StoreError):
        store.download(server.url("md/other"), allow_http=True)


def test_a_copy_goes_on_where_it_stopped(server: RangeServer, tmp_path: Path) -> None:
    """After a failed request: no data set, and no complete file is asked for again."""
    store = tj.Store(tmp_path / "here", create=True)
    late = sorted(server.folder.glob("md/run/tiers/*/*/water.xtc"))[-1]
    key = str(late.relative_to(server.folder))
    server.always(lambda answer: error(403, ""), path=key)
    with pytest.raises(PermissionError):
        download(server, store)
    assert store.list() == ()
    there = files_of(store.folder)
    assert [name for name in there if name.endswith("/protein.xtc")], there
    # Part of a file is there.
    (begun,) = (path for path in store.folder.rglob("water.xtc") if path.stat().st_size == 0)
    begun.write_bytes(late.read_bytes()[:100_000])
    complete = {request.path for request in server.requests} - {key, "md/run/manifest.json"}
    server.clear()
    download(server, store)
    is_sound(store, "run")
    assert not {request.path for request in server.requests} & complete
    ends = 2 * 65536
    sent = sum(request.sent for request in server.requests if request.path == key)
    assert sent <= late.stat().st_size - 100_000 + ends
    assert store.repair() == ()


def test_a_file_that_was_complete_is_synced(
    server: RangeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that wrote its last byte may have been killed before it was on the disk."""
    store = tj.Store(tmp_path / "here", create=True)
    late = sorted(server.folder.glob("md/run/tiers/*/*/water.xtc"))[-1]
    server.always(lambda answer: error(403, ""), path=str(late.relative_to(server.folder)))
    with pytest.raises(PermissionError):
        download(server, store)
    server.clear()
    synced: set[int] = set()
    sync = os.fsync

    def noting(number: int) -> None:
        synced.add(os.fstat(number).st_ino)
        sync(number)

    monkeypatch.setattr(os, "fsync", noting)
    download(server, store)
    paths = [path for tag in store.show("run").tags for path in tag.paths]
    assert {path.stat().st_ino for path in paths} <= synced


def test_repair_removes_what_an_interrupted_copy_left(server: RangeServer, tmp_path: Path) -> None:
    """Its tiers, too."""
    store = tj.Store(tmp_path / "here", create=True)
    server.always(lambda answer: error(403, ""), path="md/run/tiers/slow")
    for path in server.folder.glob("md/run/tiers/slow/*/water.xtc"):
        path.unlink()
    with raises(tj.StoreError):
        download(server, store)
    (line,) = store.repair()
    assert line.startswith("get of")
    assert files_of(store.folder) == set()
    assert store.tiers == {}


def test_changed_bytes_are_an_error_and_nothing_is_left(
    server: RangeServer, tmp_path: Path
) -> None:
    """Of a file of a tag, a structure beside it, a table, the topology."""
    base = server.folder / "md/run"
    for pattern in ("tiers/*/*/protein.xtc", "tiers/*/*/ion.gro", "frames*", "topology*"):
        path = next(iter(sorted(base.glob(pattern))))
        contents = path.read_bytes()
        changed = bytearray(contents)
        changed[len(changed) // 2] ^= 1
        path.write_bytes(changed)
        store = tj.Store(tmp_path / "here", create=True)
        with raises(tj.StoreError, store.folder):
            download(server, store)
        assert files_of(store.folder) == set(), pattern
        assert store.list() == () == store.repair()
        path.write_bytes(contents)
    path.write_bytes(contents[:-1])
    with raises(tj.StoreError):
        download(server, store)


def test_limits_of_tiers_are_checked_first(server: RangeServer, tmp_path: Path) -> None:
    """The tiers of the store are used by their names."""
    text = """
[tiers]
fast = "nvme"
slow = {folder = "archive", limit = "200 kB"}

[[tags]]
name = "all"
select = "all"
tier = "fast"
"""
    (tmp_path / "my.toml").write_text(text)
    store = tj.Store(tmp_path / "here", create=True)
    frame = tmp_path / "frame.xtc"
    tj.convert(tj.open(TOPOLOGY, SOURCE), frame, frames=[0])
    store.add("small", tj.open(TOPOLOGY, frame), profile=Profile.load(tmp_path / "my.toml"))
    server.clear()
    with raises(tj.StoreError):
        download(server, store)
    assert {request.path for request in server.requests} == {"md/run/manifest.json"}
    assert store.list() == ("small",)
    assert store.repair() == ()
    settings = store.folder / "store.json"
    settings.write_text(settings.read_text().replace("200000", "null"))
    download(server, store)
    assert list(tmp_path.glob("nvme/run-*/protein.xtc"))
    is_sound(store, "run")


def test_links_in_place_of_files_are_not_followed(server: RangeServer, tmp_path: Path) -> None:
    """A file that somebody else put where a copy goes on."""
    store = tj.Store(tmp_path / "here", create=True)
    path = sorted(server.folder.glob("md/run/tiers/*/*/water.xtc"))[-1]
    server.always(lambda answer: error(403, ""), path=str(path.relative_to(server.folder)))
    with pytest.raises(PermissionError):
        download(server, store)
    server.clear()
    begun = next(path for path in store.folder.rglob("water.xtc") if path.stat().st_size == 0)
    begun.unlink()
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    begun.symlink_to(victim)
    with raises(tj.OutputError):
        download(server, store)
    assert victim.read_bytes() == b""


def test_command(server: RangeServer, tmp_path: Path) -> None:
    """An output without an ending is a data set."""
    url, to = server.url("md/run"), tmp_path / "here" / "mine"
    lines = succeed("store", "get", url, "-o", to, "--allow-http")
    assert lines[-1].startswith("mine: 100 frames")
    is_sound(tj.Store(tmp_path / "here"), "mine")
    fail("store", "get", url, "-o", to, "--allow-http")
    for words in (["--tag", "protein"], ["--force"], ["--topology-out", "x.gro"]):
        misuse("store", "get", url, "-o", tmp_path / "here" / "x", "--allow-http", *words)


@pytest.mark.parametrize("to", ["s3://bucket/md/run", "https://host/md/run.xtc?sig=hunter2"])
def test_outputs_in_remote_storage_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    """Not folders whose names are those of URLs; nothing is asked for."""
    monkeypatch.chdir(tmp_path)
    for source in ("http://127.0.0.1:1/md/run", "md/run"):
        misuse("store", "get", source, "-o", to, "--allow-http")
    assert list(tmp_path.iterdir()) == []


DOWNLOAD = """
import sys, trajet as tj
store = tj.Store(sys.argv[1], create=True)
print("begun", flush=True)
store.download(sys.argv[2], allow_http=True, connections=2)
"""


@pytest.mark.kills(1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_copies_go_on(
    server: RangeServer, tmp_path: Path, how: signal.Signals, kills: int
) -> None:
    """At random moments: no data set or a whole one; then a call without faults completes it."""
    chance = random.Random(int(how))
    server.delay = 0.01
    begin = time.monotonic()
    store = tj.Store(tmp_path / "first", create=True)
    download(server, store)
    whole = time.monotonic() - begin
    for number in range(kills):
        folder = tmp_path / f"killed-{number}"
        command = [sys.executable, "-c", DOWNLOAD, str(folder), server.url("md/run")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(chance.random() * whole)
        process.send_signal(how)
        process.communicate()
        store = tj.Store(folder, create=True)
        if "run" not in store.list():
            download(server, store)
        is_sound(store, "run")
        store.repair()
        is_sound(store, "run")


def test_copies_have_layouts_digests_and_other_contents(tmp_path: Path, adk: Adk) -> None:
    """Of an H5MD original: all kinds of files that a manifest names."""
    from obstore.store import LocalStore

    original, profile = tmp_path / "adk.h5md", tmp_path / "lossy.toml"
    tj.convert(tj.open(adk.psf, adk.xtc), original, frames=slice(0, 6), allow_loss=True)
    profile.write_text(LOSSY)
    made = tj.Store(tmp_path / "md", create=True)
    made.add("adk", tj.open(adk.psf, original), profile=profile)
    made.publish("adk", (LocalStore(tmp_path / "served", mkdir=True), "adk"))
    published = LocalStore(tmp_path / "served"), "adk"
    store = tj.Store(tmp_path / "here", create=True)
    assert store.download(published, "mine") == "mine"
    assert store.verify("mine") == ()
    kinds = {path.name.rpartition("-")[0] for path in (store.folder / "mine").iterdir()}
    assert {"topology", "other-0", "frames", "metadata", "layout-core"} <= kinds
    expected = made.open("adk").read()
    found = store.open("mine").read()
    assert same_bits(found.positions, expected.positions)
    assert np.array_equal(found.times, expected.times)
    assert store.repair() == ()
