"""Published data sets are read where they are: the tags that are needed, and no byte of others."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.golden_files import same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from helpers.systems import FILES
from trajet import cache
from trajet.store.profile import Profile

TOPOLOGY, SOURCE = FILES["solvated.xtc"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tj.Store:
    """Return a store of a solvated protein."""
    made = tj.Store(tmp_path_factory.mktemp("store") / "md", create=True)
    made.add("run", tj.open(TOPOLOGY, SOURCE))
    return made


def local(folder: Path, key: str = "md/run") -> tuple[object, str]:
    """Return a place in an obstore store that is a folder."""
    from obstore.store import LocalStore

    return LocalStore(folder, mkdir=True), key


@pytest.fixture
def server(store: tj.Store, tmp_path: Path) -> Iterator[RangeServer]:
    """Return a server of the published data set."""
    folder = tmp_path / "served"
    store.publish("run", local(folder))
    with RangeServer(folder) as running:
        yield running


def opened(server: RangeServer, tags: str = "", **options: Any) -> tj.Trajectory:
    """Open the published data set."""
    return tj.open(server.url("md/run") + tags, allow_http=True, connections=4, **options)


def test_rmsd_of_the_protein_reads_no_byte_of_water(server: RangeServer, store: tj.Store) -> None:
    """Only files of its tag, the manifest, the topology and the tables are asked for."""
    expected = tj.rmsd(store.open("run").select("protein")).values
    for tags in ("@protein", ""):
        server.clear()
        traj = opened(server, tags)
        assert same_bits(tj.rmsd(traj.select("protein")).values, expected)
        asked = {request.path for request in server.requests}
        assert not [path for path in asked if "/tiers/" in path and "protein" not in path], asked
        assert any("protein" in path for path in asked)
        size = sum(kept.size for kept in store.show("run").tags if kept.tag.name == "protein")
        sent = sum(r.sent for r in server.requests if "/tiers/" in r.path)
        assert sent <= size + 2 * 65536 + 100_000
    assert traj.label.startswith("http://127.0.0.1")


def test_paths_are_those_of_the_published_data_set(server: RangeServer) -> None:
    """The manifest at its URL, and not its copy; in reports too."""
    for tags in ("", "@protein"):
        traj = opened(server, tags)
        assert str(traj.path) == server.url("md/run/manifest.json")
        assert traj.label == server.url("md/run") + tags
        report = json.dumps(tj.rmsd(traj.select("name CA")).report, default=str)
        assert str(cache.folder()) not in report


def test_all_tags_have_the_bits_of_the_original(server: RangeServer, tmp_path: Path) -> None:
    """Frames, times, cells; and a copy by the command is the local copy."""
    here, there = tj.open(TOPOLOGY, SOURCE), opened(server)
    assert same_bits(there.read().positions, here.read().positions)
    assert np.array_equal(there.times, here.times)
    url = server.url("md/run") + "@protein"
    out = tmp_path / "protein.xtc"
    succeed("store", "get", url, "-o", out, "--allow-http", "--quiet")
    protein = here.select("protein").indices
    assert same_bits(tj.open(None, out).read().positions, here.read(atoms=protein).positions)


def test_worker_processes_read_tags_where_they_are(server: RangeServer, store: tj.Store) -> None:
    """Started processes open the objects by themselves; they need no copy of the tables."""
    expected = tj.rmsd(store.open("run").select("protein")).values
    traj = opened(server, "@protein")
    atoms = traj.select("protein")
    shutil.rmtree((cache.folder() or server.folder) / "stores")
    found = tj.rmsd(atoms, pool=tj.ProcessPool(workers=2))
    assert same_bits(found.values, expected)


def test_tables_are_copied_once(server: RangeServer) -> None:
    """The manifest is asked for each time."""
    opened(server)
    server.clear()
    opened(server)
    assert {request.path for request in server.requests} == {"md/run/manifest.json"}
    # One of them asks for redirects.
    assert server.count() == 2


def test_changed_bytes_of_a_tag_are_an_error(server: RangeServer) -> None:
    """Digests are compared as in a local store."""
    (path,) = server.folder.glob("md/run/tiers/*/*/*protein*.xtc")
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    with raises(tj.TrajetError):
        opened(server, "@protein").read()
    path.write_bytes(contents[:-1])
    with raises(tj.TrajetError):
        opened(server, "@protein").read()
    path.unlink()
    with raises(FileNotFoundError):
        opened(server, "@protein").read()


WRONG_NAMES = ('"../x"', '"/x"', '".."', '""', '"a\\u0000"', '"other"', '"tiers"', "7", '"\\udc80"')


def test_manifests_that_lie_are_errors(server: RangeServer) -> None:
    """Names outside of the folder, sizes, other contents: nothing is written elsewhere."""
    path = server.folder / "md/run/manifest.json"
    good = path.read_text()
    bad = [
        b"",
        b"<html>",
        b"[1]",
        b"{}",
        b'{"schema": 99}',
        # Nested so deeply that Python's parser gives up.
        *(b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        b'{"schema": \xff}',
        good.replace(
            '"n_atoms": ', f'"further": {"[" * 5000}{"]" * 5000}, "n_atoms": ', 1
        ).encode(),
        # No valid UTF-8.
        good.encode().replace(b'"name": "run"', b'"name": "r\xffn"', 1),
        *(good.replace('"name": "run"', f'"name": {name}', 1).encode() for name in WRONG_NAMES),
        good.replace('"file": "topology', '"file": "../topology', 1).encode(),
        good.replace('"file": "topology', '"file": "s3://x/topology', 1).encode(),
        good.replace('"n_atoms": ', '"n_atoms": 9', 1).encode(),
        good.replace('"size": ', '"size": 9', 1).encode(),
    ]
    assert good.encode() not in bad
    for text in bad:
        path.write_bytes(text)
        with raises((tj.TrajetError, OSError)):
            opened(server).read()
    assert {request.path.partition("/")[0] for request in server.requests} == {"md"}


def test_published_data_sets_name_no_folder_of_this_machine(
    server: RangeServer, store: tj.Store
) -> None:
    """Neither that of the store nor that of the original."""
    for path in server.folder.rglob("*.json"):
        text = path.read_text()
        assert str(store.folder) not in text
        assert str(Path(SOURCE).parent) not in text


def test_a_data_set_may_have_another_name_where_it_is_published(
    store: tj.Store, tmp_path: Path
) -> None:
    """A URL that would be taken for that of a file is refused."""
    store.publish("run", local(tmp_path, "md/other"))
    traj = tj.open(local(tmp_path, "md/other@protein"))
    assert traj.n_frames == tj.open(TOPOLOGY, SOURCE).n_frames
    for key in ("md/run.1", "md/run@protein"):
        with raises(ValueError):
            store.publish("run", local(tmp_path, key))


def test_nothing_is_changed_where_a_data_set_is_published(store: tj.Store, tmp_path: Path) -> None:
    """Precise errors, before any request."""
    with raises(tj.StoreError):
        tj.Store("s3://bucket/md")
    with raises(ValueError):
        store.publish("run", "https://host/md/run")
    profile = tmp_path / "remote.toml"
    profile.write_text(
        '[tiers]\ncold = "s3://bucket/md"\n[[tags]]\nname = "all"\nselect = "all"\ntier = "cold"\n'
    )
    with raises(tj.StoreError):
        Profile.load(profile)
    fail("store", "remove", "s3://bucket/md/run", "--yes")
    with raises(tj.StoreError):
        tj.open(local(tmp_path, "nothing"))


def test_a_damaged_data_set_is_not_published(store: tj.Store, tmp_path: Path) -> None:
    """Checksums are compared first."""
    copy = tj.Store(tmp_path / "copy", create=True)
    copy.add("run", tj.open(TOPOLOGY, SOURCE))
    path = next(kept.paths[0] for kept in copy.show("run").tags if kept.tag.name == "protein")
    contents = bytearray(path.read_bytes())
    contents[-9] ^= 1
    path.write_bytes(contents)
    with raises(tj.StoreError):
        copy.publish("run", local(tmp_path / "served"))
    assert not list((tmp_path / "served").rglob("*"))


PUBLISH = """
import sys, trajet as tj
from obstore.store import LocalStore
print("begun", flush=True)
tj.Store(sys.argv[1]).publish("run", (LocalStore(sys.argv[2], mkdir=True), "md/run"))
"""


@pytest.mark.kills(2)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_publishing_leaves_the_old_data_set_or_the_new_one(
    store: tj.Store, tmp_path: Path, how: signal.Signals, kills: int
) -> None:
    """At random moments: no manifest, or a whole data set."""
    served = tmp_path / "served"
    expected = tj.open(TOPOLOGY, SOURCE).read(frames=[1]).positions
    chance = random.Random(hashlib.sha256(how.name.encode()).digest())
    begin = time.monotonic()
    store.publish("run", local(served))
    whole = time.monotonic() - begin
    for _ in range(kills):
        shutil.rmtree(served, ignore_errors=True)
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH, store.folder, served],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(chance.random() * whole)
        process.send_signal(how)
        process.communicate()
        if (served / "md/run/manifest.json").exists():
            assert same_bits(tj.open(local(served)).read(frames=[1]).positions, expected)
        else:
            with raises(tj.StoreError):
                tj.open(local(served))


def test_several_at_once_open_a_data_set_for_the_first_time(server: RangeServer) -> None:
    """They share the folder of the tables; none meets a store that another has begun."""
    for kept in (cache.folder() or server.folder).glob("stores/*"):
        shutil.rmtree(kept)
    expected = opened(server, "@protein").n_atoms
    for _ in range(5):
        with ThreadPoolExecutor(8) as threads:
            found = threads.map(lambda _: opened(server, "@protein").n_atoms, range(16))
            assert set(found) == {expected}
