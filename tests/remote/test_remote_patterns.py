"""Patterns of URLs name the objects of a bucket, in the order of files."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers import commands
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer, error

SECRET = "hunter2"


@pytest.fixture
def server(tmp_path: Path, adk: Adk, monkeypatch: pytest.MonkeyPatch) -> Iterator[RangeServer]:
    """Return a server of a bucket with parts of adk.xtc, and with replicas."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    bucket = tmp_path / "served/bucket"
    (bucket / "md").mkdir(parents=True)
    whole = tj.open(None, adk.xtc, sidecar=False)
    for k, begin in ((2, 0), (10, 3), (11, 6)):
        tj.convert(whole, bucket / f"md/run.{k}.xtc", frames=slice(begin, begin + 3))
    (bucket / "md/.run.1.xtc").write_bytes(b"hidden")
    (bucket / "md/run.2.xtc.old").write_bytes(b"old")
    for k in (1, 2, 10):
        (bucket / f"wt/rep{k}").mkdir(parents=True)
        shutil.copyfile(bucket / "md/run.2.xtc", bucket / f"wt/rep{k}/traj.xtc")
    with RangeServer(bucket.parent) as running:
        yield running


def options(server: RangeServer) -> dict[str, Any]:
    """Return the options for the bucket."""
    config = {
        "endpoint": f"http://127.0.0.1:{server.port}",
        "virtual_hosted_style_request": "false",
    }
    return {"allow_http": True, "storage_options": config, "sidecar": False}


def test_a_pattern_is_the_files_in_natural_order(server: RangeServer, adk: Adk) -> None:
    """2 before 10; with one request for the list, and one for each object to open it."""
    traj = tj.open(adk.psf, "s3://bucket/md/run.*.xtc", **options(server))
    assert [str(path) for path in traj.paths] == [
        f"s3://bucket/md/run.{k}.xtc" for k in (2, 10, 11)
    ]
    expected = tj.open(None, adk.xtc).read(frames=slice(0, 9))
    assert same_bits(traj.read().positions, expected.positions)
    assert [request.query for request in server.requests].count("") >= 3
    n_lists = sum("list-type=2" in request.query for request in server.requests)
    assert n_lists == 1
    assert all(SECRET not in str(request) for request in server.requests)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("md/run.1[0-9].xtc", ["md/run.10.xtc", "md/run.11.xtc"]),
        ("*/rep*/traj.xtc", [f"wt/rep{k}/traj.xtc" for k in (1, 2, 10)]),
        ("w*/rep2/*.xtc", ["wt/rep2/traj.xtc"]),
        ("md/.run*", ["md/.run.1.xtc"]),
    ],
)
def test_wildcards_match_as_those_of_files(
    server: RangeServer, pattern: str, found: list[str]
) -> None:
    """Within one folder; hidden names only where the pattern begins with a dot."""
    from trajet.remote.listing import matching

    given = options(server)["storage_options"]
    urls = matching(f"s3://bucket/{pattern}", given, allow_http=True)
    assert urls == [f"s3://bucket/{name}" for name in found]


def test_patterns_that_cannot_be_listed_are_errors(server: RangeServer) -> None:
    """Of web servers, without a match, and without access."""
    for url in (f"https://u:{SECRET}@host/run*.xtc?sig={SECRET}", "https://host/run[1].xtc"):
        with raises(ValueError) as raised:
            tj.open(None, url)
        assert SECRET not in str(raised.value)
    with raises(FileNotFoundError):
        tj.open(None, "s3://bucket/md/*.trr", **options(server))
    server.always(lambda _: error(403, "<Error><Code>AccessDenied</Code></Error>"))
    with raises(PermissionError) as denied:
        tj.open(None, "s3://bucket/md/*.xtc", **options(server))
    assert SECRET not in str(denied.value)


def test_commands_and_members_take_patterns(server: RangeServer, adk: Adk, tmp_path: Path) -> None:
    """Members by a placeholder, whose values are found in the bucket."""
    given = options(server)
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), frames=slice(0, 3)).values
    members = tj.ensemble(
        [{"topology": adk.psf, "trajectory": "s3://bucket/wt/rep{replica}/tr*.xtc"}], **given
    )
    assert [member.keys["replica"] for member in members] == [1, 2, 10]
    found = tj.rmsd(members.select("name CA"))
    assert all(same_bits(one.values, expected) for one in found)
    config = [
        f"--storage-option={name}={value}" for name, value in given["storage_options"].items()
    ]
    done = commands.run(
        *("info", "s3://bucket/md/run.*.xtc", "--allow-http", *config), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "frames        9" in done.stdout
