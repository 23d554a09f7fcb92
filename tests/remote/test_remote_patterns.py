"""Patterns of URLs name objects in the order of files; commands take URLs as files."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import trajet as tj
from helpers import commands, messages
from helpers.golden_files import Adk, same_bits
from helpers.help_pages import every_command
from helpers.messages import raises
from helpers.range_server import RangeServer, error
from trajet.cli.open_options import REMOTE

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


# Commands that open trajectories, beside analyses.
OPENING = {
    *("bench", "convert", "frame", "index", "info", "split", "view"),
    *("rmsd", "rmsf", "contacts"),
}


def test_every_command_that_opens_trajectories_has_the_options() -> None:
    """Analyses and others."""
    having = {
        " ".join(names)
        for names, command in every_command()
        if not isinstance(command, click.Group)
        and set(REMOTE) <= {param.name for param in command.params}
    }
    assert having >= OPENING


def test_commands_have_the_numbers_of_the_local_file(
    server: RangeServer, adk: Adk, tmp_path: Path
) -> None:
    """An analysis, a copy and a frame, over three connections."""
    url, http = server.url("adk.xtc"), ["--allow-http", "--connections", "3"]
    files = {"rmsd.csv": ["rmsd", "--select", "name CA"], "frame.pdb": ["frame", "--frame", "7"]}
    for output, (command, *options) in files.items():
        for name, given in (("here", [str(adk.xtc)]), ("there", [url, *http])):
            made = tmp_path / f"{name}-{output}"
            done = commands.run(command, str(adk.psf), *given, *options, "-o", str(made))
            assert done.returncode == 0, done.stderr
        here, there = (tmp_path / f"{name}-{output}" for name in ("here", "there"))
        assert there.read_bytes() == here.read_bytes()
    assert server.most_at_once <= 3
    done = commands.run("convert", url, *http, str(tmp_path / "copy.xtc"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.xtc").read_bytes() == adk.xtc.read_bytes()


def test_stores_are_made_of_files(adk: Adk, tmp_path: Path) -> None:
    """An object is refused before a request."""
    given = ["--topology", adk.psf, "--trajectory", f"https://127.0.0.1:1/run.xtc?sig={SECRET}"]
    assert SECRET not in commands.misuse("store", "add", tmp_path / "md/adk", *given)


def test_info_and_index_describe_files_and_objects(server: RangeServer, adk: Adk) -> None:
    """Storage options are for the objects alone, and secrets of a URL are not printed."""
    url = server.url("adk.xtc")
    secret = url.replace("://", f"://user:{SECRET}@") + f"?sig={SECRET}"
    http = ["--allow-http", "--storage-option", "client_options.timeout=20s"]
    for command in ("info", "index"):
        done = commands.run(command, secret, str(adk.xtc), *http, "--json")
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr
        named = [entry["file"] for entry in json.loads(done.stdout) if "file" in entry]
        assert sorted(name.partition("?")[0] for name in named) == sorted([str(adk.xtc), url])


@pytest.mark.parametrize("command", [["serve"], ["rmsd", "adk.psf", "adk.xtc", "--reference"]])
def test_files_alone_are_served_or_references(command: list[str], adk: Adk) -> None:
    """The message for a URL has no secret."""
    url = f"https://user:{SECRET}@127.0.0.1:1/run.gro?sig={SECRET}"
    select = [] if command == ["serve"] else ["--select", "name CA"]
    done = commands.run(*command, url, *select, cwd=adk.psf.parent)
    assert done.returncode in (1, 2)
    assert SECRET not in done.stdout + done.stderr
    messages.compare(done.stderr)


@pytest.mark.parametrize(
    "given",
    [
        ["--storage-option", f"secret_access_key={SECRET}"],
        ["--storage-option", f"client_options.default_headers={SECRET}"],
        ["--storage-option", "region"],
        ["--storage-option", "a.b=c"],
        ["--storage-option", "region=x", "--storage-option", "region=y"],
        ["--connections", "0"],
    ],
)
def test_wrong_options_are_refused(adk: Adk, given: list[str]) -> None:
    """Before any file is opened, and without the value of a secret."""
    url = "https://127.0.0.1:1/run.xtc"
    assert SECRET not in commands.misuse("rmsd", adk.psf, url, *given)


def test_members_of_a_plan_may_be_objects(server: RangeServer, adk: Adk, tmp_path: Path) -> None:
    """Beside members that are files; the options are those of the plan."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
allow-http = true
connections = 2
storage-option = ["client_options.timeout=20s"]
[[members]]
replica = 1
topology = "{adk.psf}"
trajectory = "{server.url("adk.xtc")}"
[[members]]
replica = 2
topology = "{adk.psf}"
trajectory = "{adk.xtc}"
[[analysis]]
command = "rmsd"
select = "name CA"
output = "rmsd.csv"
"""
    )
    done = commands.run("run", str(plan))
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "rmsd.csv").read_text().splitlines()[1:]
    own = [[row.partition(",")[2] for row in rows if row.startswith(f"{k},")] for k in (1, 2)]
    assert own[0] == own[1] != []
