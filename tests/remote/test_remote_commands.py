"""Commands read objects in remote storage, with options for connections and storage."""

import json
from pathlib import Path

import click
import pytest
from helpers import commands, messages
from helpers.golden_files import Adk
from helpers.help_pages import every_command
from helpers.range_server import RangeServer
from trajet.cli.open_options import REMOTE

SECRET = "hunter2"
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
