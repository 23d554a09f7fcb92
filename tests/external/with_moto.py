"""trajet reads a real S3, as moto serves it: credentials of the environment, and wrong ones.

`make test-moto` installs moto into an environment of its own, whose Python `TRAJET_MOTO` names.
"""

import json
import os
import shutil
import subprocess
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
    assert not traj.remarks
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
