"""trajet reads a real S3, as moto serves it: credentials of the environment, and wrong ones.

`make test-moto` installs moto into an environment of its own, whose Python `TRAJET_MOTO` names.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from MDAnalysisTests import datafiles

HERE = Path(__file__).parent


class Bucket:
    """A bucket "bucket", which holds top.gro and parts of a trajectory, run.N.xtc."""

    def __init__(self, port: int, users: list[dict[str, str]]) -> None:
        self.users = users
        self.options: dict[str, Any] = {
            "allow_http": True,
            "storage_options": {"endpoint": f"http://127.0.0.1:{port}"},
        }

    def open(self, *names: str) -> tj.Trajectory:
        """Open objects, the topology first."""
        return tj.open(*(f"s3://bucket/{name}" for name in names), **self.options)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder whose files are in the bucket."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "md").mkdir()
    shutil.copyfile(datafiles.GRO, folder / "md/top.gro")
    whole = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    for number, begin in ((2, 0), (10, 5)):
        tj.convert(whole, folder / f"md/run.{number}.xtc", frames=slice(begin, begin + 5))
    tj.convert(whole, folder / "md/run.h5md", compression=1)
    return folder


@pytest.fixture(scope="module")
def moto(local: Path) -> Iterator[Bucket]:
    """Return the bucket on a server that checks signatures."""
    command = [os.environ["TRAJET_MOTO"], str(HERE / "moto_here.py"), str(local)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Bucket(**json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(30)


@pytest.fixture
def bucket(moto: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """Return the bucket, with credentials in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    _as_user(monkeypatch, moto.users[0])
    return moto


def _as_user(monkeypatch: pytest.MonkeyPatch, user: dict[str, str]) -> None:
    """Take the credentials of a user."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", user["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", user["secret"])


def test_rmsd_has_the_bits_of_local_files(bucket: Bucket, local: Path) -> None:
    """A topology and a pattern, and an HDF5 file; on threads and on processes."""
    here = tj.open(local / "md/top.gro", local / "md/run.2.xtc", local / "md/run.10.xtc")
    expected = tj.rmsd(here.select("protein"))
    traj = bucket.open("md/top.gro", "md/run.*.xtc")
    assert [path.name for path in traj.paths] == ["run.2.xtc", "run.10.xtc"]
    assert not traj.messages
    for pool in (tj.LocalPool(), tj.ProcessPool(workers=2)):
        found = tj.rmsd(traj.select("protein"), pool=pool)
        assert np.array_equal(found.values, expected.values)
    size = sum((local / f"md/run.{k}.xtc").stat().st_size for k in (2, 10))
    assert found.report["bytes_read"] < size / 3
    of_hdf5 = tj.rmsd(bucket.open("md/top.gro", "md/run.h5md").select("protein"))
    here = tj.open(local / "md/top.gro", local / "md/run.h5md")
    assert np.array_equal(of_hdf5.values, tj.rmsd(here.select("protein")).values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": "AKIAOTHER"}, "the credentials are wrong"),
        ({"secret": "other"}, "the credentials are wrong"),
        (None, "access is denied"),
    ],
)
@pytest.mark.parametrize("name", ["md/run.2.xtc", "md/run.*.xtc"])
def test_wrong_credentials_are_an_error_of_their_own(
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, str] | None,
    words: str,
    name: str,
) -> None:
    """An unknown key, a wrong secret, and a user who may not read."""
    user = bucket.users[1] if change is None else bucket.users[0] | change
    _as_user(monkeypatch, user)
    with pytest.raises(PermissionError, match=words) as raised:
        tj.open(None, f"s3://bucket/{name}", **bucket.options)
    assert str(raised.value).startswith("s3://bucket/md/run")
    for secret in (user["key"], user["secret"]):
        assert secret not in str(raised.value)


def test_objects_that_are_not_there_are_missing(bucket: Bucket) -> None:
    """Of a bucket, or a bucket itself."""
    for url in ("s3://bucket/md/other.xtc", "s3://other/run.xtc"):
        with pytest.raises(FileNotFoundError, match="no such object"):
            tj.open(None, url, **bucket.options)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tj.Store:
    """Return a store of a solvated protein."""
    made = tj.Store(tmp_path_factory.mktemp("store") / "md", create=True)
    made.add("run", tj.open(datafiles.GRO, datafiles.XTC))
    return made


def remote_store(bucket: Bucket) -> Any:
    """Return the bucket as obstore has it."""
    from obstore.store import S3Store

    endpoint = bucket.options["storage_options"]["endpoint"]
    return S3Store("bucket", endpoint=endpoint, client_options={"allow_http": True})


def test_rmsd_of_the_protein_needs_no_object_of_water(bucket: Bucket, store: tj.Store) -> None:
    """It has its bits, and its bytes, when all other tags are gone from the bucket."""
    expected = tj.rmsd(tj.open(datafiles.GRO, datafiles.XTC).select("protein"))
    url = "s3://bucket/md/published"
    store.publish("run", url, **bucket.options)
    every = remote_store(bucket)
    keys = [entry["path"] for page in every.list("md/published") for entry in page]
    others = [key for key in keys if "/tiers/" in key and "protein" not in key]
    assert others
    every.delete(others)
    sizes = {kept.tag.name: kept.size for kept in store.show("run").tags}
    for name in (url, f"{url}@protein"):
        traj = tj.open(name, connections=4, **bucket.options)
        found = tj.rmsd(traj.select("protein"))
        assert np.array_equal(found.values, expected.values)
        assert found.report["bytes_read"] <= sizes["protein"] + 3 * 65536 < sizes["water"]
    with pytest.raises(FileNotFoundError, match="publish the data set again"):
        tj.open(url, **bucket.options).read()
    store.publish("run", url, **bucket.options)
    whole = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False).read(frames=[3])
    again = tj.open(url, **bucket.options).read(frames=[3])
    assert np.array_equal(again.positions, whole.positions)


def test_a_published_data_set_is_copied_to_a_store(
    bucket: Bucket, store: tj.Store, tmp_path: Path
) -> None:
    """All of its tags, with the bits of the original."""
    url = "s3://bucket/md/copied"
    store.publish("run", url, **bucket.options)
    copy = tj.Store(tmp_path / "copy", create=True)
    assert copy.download(url, "mine", **bucket.options) == "mine"
    assert copy.verify("mine") == ()
    whole = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False).read().positions
    assert np.array_equal(copy.open("mine").read().positions, whole)


def test_publishing_by_who_may_not_write_is_an_error(
    bucket: Bucket, store: tj.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its own, without a secret; and into no bucket."""
    with pytest.raises(FileNotFoundError, match="s3://other/run"):
        store.publish("run", "s3://other/run", **bucket.options)
    _as_user(monkeypatch, bucket.users[1])
    with pytest.raises(PermissionError, match="cannot write it") as raised:
        store.publish("run", "s3://bucket/md/denied", **bucket.options)
    assert bucket.users[1]["secret"] not in str(raised.value)


PUBLISH = """
import sys, trajet as tj
print("begun", flush=True)
options = {"allow_http": True, "storage_options": {"endpoint": sys.argv[2]}}
tj.Store(sys.argv[1]).publish("run", sys.argv[3], **options)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_publishing_leaves_no_data_set_or_a_whole_one(
    bucket: Bucket, store: tj.Store, how: signal.Signals
) -> None:
    """At random moments; and what was published before is whole until the new one is."""
    expected = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False).read(frames=[1]).positions
    chance = random.Random(how.name)
    before = f"s3://bucket/md/before-{how.name}"
    begin = time.monotonic()
    store.publish("run", before, **bucket.options)
    whole = time.monotonic() - begin
    endpoint = bucket.options["storage_options"]["endpoint"]
    n_whole = 0
    for number in range(6):
        for url in (f"s3://bucket/md/{how.name}-{number}", before):
            process = subprocess.Popen(
                [sys.executable, "-c", PUBLISH, str(store.folder), endpoint, url],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(1.2 * whole * chance.random())
            process.send_signal(how)
            _, errors = process.communicate(30)
            assert process.returncode in (0, -how), errors
            try:
                traj = tj.open(url, **bucket.options)
            except tj.StoreError as error:
                assert "no data set is published there" in str(error)
                assert url != before
            else:
                n_whole += url != before
                assert np.array_equal(traj.read(frames=[1]).positions, expected)
    assert n_whole < 6
