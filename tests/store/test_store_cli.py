"""`trajet store …` prints, writes and refuses as documented, and watches a folder."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import fail, misuse, names_in, python, run, succeed
from helpers.golden_files import Adk
from helpers.made_stores import TWO_TAGS, Solvated, make_sources
from helpers.messages import raises
from trajet.cli.entry import commands
from trajet.store.profile import default_text
from trajet.store.watch import Watch


@pytest.fixture
def sources(tmp_path: Path) -> Solvated:
    """Return topology, trajectory and profile, without a store."""
    return make_sources(tmp_path)


def test_commands_from_adding_to_removing(sources: Solvated) -> None:
    """Every command is run on one data set."""
    at = ("--store", sources.folder / "store")
    given = ("--topology", sources.gro, "--profile", sources.profile)
    lines = succeed("store", "add", "wet", *at, *given, "--trajectory", sources.xtc)
    assert [line.split()[0] for line in lines] == ["tag", "protein", "ion", "water", "wet:"]
    assert "10 frames of 47681 atoms" in lines[-1]
    _, line = succeed("store", "list", *at)
    assert line.split()[:4] == ["wet", "10", "47681", "3"]
    shown = succeed("store", "show", "wet", *at)
    files = [Path(line.strip()) for line in shown if line.startswith("  ")]
    assert [path.name for path in files] == ["protein.xtc", "ion.xtc", "water.xtc"]
    assert all(path.is_file() for path in files)
    whole = sources.folder / "whole.xtc"
    succeed("store", "get", "wet", *at, "-o", whole)
    assert whole.read_bytes() == sources.xtc.read_bytes()
    part, gro = sources.folder / "part.dcd", sources.folder / "part.gro"
    tags = ("--tag", "ion", "--tag", "p")
    succeed("store", "get", "wet", *at, *tags, "-o", part, "--topology-out", gro)
    assert tj.open(gro, part).select("resname NA+").n_atoms == 4
    (line,) = succeed("store", "move", "wet", *at, "--tag", "protein", "--tier", "slow")
    assert line.endswith("is on slow")
    (line,) = succeed("store", "verify", *at)
    assert "wet" in line
    message, overlap, line = succeed(
        "store", "append", "wet", *at, "--trajectory", sources.xtc, sources.xtc
    )
    assert "new frames begin at 0 ps" in message
    assert "step back at 1 of 1 file boundaries" in overlap
    assert line == "wet: 10 frames added, 20 in all"
    head, *_ = succeed("store", "stats", *at)
    assert head.startswith("wet: 2 uses")
    assert len(succeed("store", "link", sources.folder / "links", *at)) == 15
    succeed("store", "retag", "wet", *at, "--profile", sources.profile)
    assert succeed("store", "repair", *at) == ["nothing was left behind"]
    *_, line = succeed("store", "remove", "wet", *at, "--yes")
    assert line == "wet: removed"
    assert succeed("store", "list", *at) == ["no data sets"]
    assert whole.read_bytes() == sources.xtc.read_bytes()


def test_quiet_prints_nothing(sources: Solvated) -> None:
    """The commands have no output."""
    at = ("--store", sources.folder / "store", "--quiet")
    given = ("--topology", sources.gro, "--trajectory", sources.xtc)
    assert succeed("store", "add", "wet", *at, *given) == []
    for command in (("list",), ("show", "wet"), ("verify",), ("stats",), ("repair",)):
        assert succeed("store", *command, *at) == []
    assert succeed("store", "link", sources.folder / "links", *at) == []
    assert succeed("store", "remove", "wet", *at, "--yes") == []


def test_printed_profile_is_a_profile(tmp_path: Path) -> None:
    """It can be used unedited."""
    path = tmp_path / "my.toml"
    path.write_text("\n".join(succeed("store", "profile")) + "\n")
    assert path.read_text() == default_text()
    assert len(tj.store.Profile.load(path).tags) == 7


def test_analyses_of_a_data_set_equal_those_of_the_trajectory(
    own_wet: Solvated, tmp_path: Path
) -> None:
    """`trajet rmsd STORE/NAME`, `info` and `convert` are compared."""
    select = ("--select", "name CA")
    succeed("rmsd", own_wet.path, *select, "-o", tmp_path / "ours.npz", "--quiet")
    succeed("rmsd", own_wet.gro, own_wet.xtc, *select, "-o", tmp_path / "plain.npz", "--quiet")
    ours, plain = (np.load(tmp_path / f"{name}.npz")["values"] for name in ("ours", "plain"))
    assert ours.tobytes() == plain.tobytes()
    assert own_wet.store.stats("wet").uses == 1
    facts = succeed("info", f"{own_wet.path}@protein")
    assert f"file          {own_wet.path}@protein" in facts
    assert "atoms         3341" in facts
    size = own_wet.store.show("wet").tags[0].size
    assert any(fact.startswith(f"size          {size} bytes") for fact in facts)
    # No atom of this tag is the first of the topology.
    some = succeed("info", f"{own_wet.path}@ion")
    assert "atoms         4" in some
    assert "topology      47681 atoms of all tags, on which the lines below are" in some
    assert "of all tags" not in succeed("info", own_wet.path)
    succeed("convert", own_wet.path, tmp_path / "ca.xtc", *select)
    assert tj.open(None, tmp_path / "ca.xtc").n_atoms == 214
    succeed("split", "--segments", 2, own_wet.xtc, "-o", tmp_path / "parts")


def test_invalid_requests_are_errors(own_wet: Solvated) -> None:
    """The output is one line and status 1, or the usage and status 2."""
    at = ("--store", own_wet.folder / "store")
    given = ("--topology", own_wet.gro, "--trajectory", own_wet.xtc)
    fail("store", "list", "--store", own_wet.folder)
    fail("store", "add", "wet", *at, *given)
    fail("store", "show", "dry", *at)
    fail("rmsd", f"{own_wet.path}@lipid", "--select", "all")
    fail("store", "get", "wet", *at, "--tag", "lipid", "-o", own_wet.folder / "x.xtc")
    fail("store", "move", "wet", *at, "--tag", "ion", "--tier", "t")
    fail("store", "retag", "wet", *at, "--profile", "none.toml")
    fail("store", "watch", own_wet.folder / "none", *at)
    misuse("rmsd", own_wet.folder / "any.tpr", "--select", "name CA")
    store = own_wet.store.folder
    misuse("rmsd", store, "--select", "name CA")
    misuse("store", "add", "x", *at, "--topology", own_wet.gro)
    misuse("store", "add", *at, *given)


@pytest.fixture
def adk_store(adk: Adk, tmp_path: Path) -> Path:
    """Return a data set of ADK with two tags; the store is beside its original, run.xtc."""
    shutil.copy(adk.xtc, tmp_path / "run.xtc")
    store = tj.Store(tmp_path / "md", create=True)
    (tmp_path / "two.toml").write_text(TWO_TAGS)
    store.add("run", tj.open(adk.psf, tmp_path / "run.xtc"), profile=tmp_path / "two.toml")
    return tmp_path / "md" / "run"


def parsed(*arguments: object) -> None:
    """Run a command in this process, so that exceptions are visible."""
    commands.main([*map(str, arguments)], "trajet", standalone_mode=False)


def test_path_of_a_data_set_equals_store_and_name(
    adk: Adk, adk_store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two forms print the same; a store alone means all of its data sets."""
    store = adk_store.parent
    original, at = store.parent / "run.xtc", ("--store", store)

    def printed(*arguments: object) -> list[str]:
        parsed("store", *arguments)
        return capsys.readouterr().out.splitlines()

    assert printed("show", adk_store) == printed("show", "run", *at)
    assert printed("stats", adk_store) == printed("stats", "run", *at)
    assert printed("stats", store) == printed("stats", *at)
    assert printed("verify", adk_store) == printed("verify", store) == printed("verify", *at)
    profile = ("--profile", store.parent / "two.toml")
    given = ("--topology", adk.psf, "--trajectory", original, *profile)
    assert "98 frames" in printed("add", store / "two", *given)[-1]
    line = printed("append", store / "two", "--trajectory", original, original)[-1]
    assert line == "two: 98 frames added, 196 in all"
    assert "196 frames" in printed("retag", store / "two", *profile)[-1]
    assert printed("remove", store / "two", "--yes")[-1] == "two: removed"
    assert tj.Store(store).list() == ("run",)
    monkeypatch.chdir(store)
    assert printed("show", "run")[1] == "frames     98"
    assert printed("show", "./run/")[1] == "frames     98"


def test_tags_of_a_path_equal_the_option(adk_store: Path) -> None:
    """`get` and `move` take STORE/NAME@TAG; other commands refuse tags, and change nothing."""
    folder, at = adk_store.parents[1], ("--store", adk_store.parent)
    parsed("store", "get", f"{adk_store}@others,s", "-o", folder / "both.xtc")
    assert (folder / "both.xtc").read_bytes() == (folder / "run.xtc").read_bytes()
    parsed("store", "get", f"{adk_store}@some", "-o", folder / "ours.xtc")
    parsed("store", "get", "run", *at, "--tag", "some", "-o", folder / "theirs.xtc")
    assert (folder / "ours.xtc").read_bytes() == (folder / "theirs.xtc").read_bytes()
    assert tj.open(None, folder / "ours.xtc").n_atoms == 151
    parsed("store", "move", f"{adk_store}@s", "--tier", "slow")
    assert [kept.tag.tier for kept in tj.Store(adk_store.parent).show("run").tags] == ["slow"] * 2
    with raises(click.UsageError):
        parsed("store", "get", f"{adk_store}@some", "--tag", "others", "-o", folder / "no.xtc")
    for named in (f"{adk_store}@s,o", str(adk_store)):
        with raises(click.UsageError):
            parsed("store", "move", named, "--tier", "fast")
    for command in ("show", "stats", "verify", "remove"):
        with raises(click.UsageError):
            parsed("store", command, f"{adk_store}@some", *["--yes"][command != "remove" :])
    assert tj.Store(adk_store.parent).list() == ("run",)


def test_data_set_needs_one_store(adk_store: Path) -> None:
    """None and two are refused before any file is opened."""
    with raises(click.UsageError):
        parsed("store", "show", "run")
    with raises(click.UsageError):
        parsed("store", "show", adk_store, "--store", adk_store.parent)
    with raises(click.UsageError):
        parsed("store", "verify")
    with raises(tj.StoreError):
        parsed("store", "show", adk_store.parents[1] / "none" / "run")


def test_remove_without_a_terminal_requires_yes(adk_store: Path) -> None:
    """The exit code is 2; the message lists the files and the state of the original."""
    original = adk_store.parents[1] / "run.xtc"
    misuse("store", "remove", adk_store)
    assert tj.open(adk_store).n_frames == 98
    lines = succeed("store", "remove", adk_store, "--yes")
    assert lines[0].startswith("run: 98 frames")
    assert lines[-1] == "run: removed"
    assert tj.Store(adk_store.parent).list() == ()
    assert original.is_file()


def test_remove_states_the_condition_of_the_original(adk_store: Path) -> None:
    """It may have another size, other bytes, be missing or unreadable: each has its own message."""
    original = adk_store.parents[1] / "run.xtc"
    whole = original.read_bytes()
    store = tj.Store(adk_store.parent)
    assert [each.state for each in store.originals("run")] == ["unchanged"]
    original.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert [each.state for each in store.originals("run")] == ["changed"]
    original.write_bytes(whole + whole)
    assert [each.state for each in store.originals("run")] == ["changed"]
    original.unlink()
    assert [each.state for each in store.originals("run")] == ["missing"]
    misuse("store", "remove", adk_store)
    original.symlink_to(original)
    (state,) = (each.state for each in store.originals("run"))
    assert state.startswith("unreadable: ")


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("", 1), ("y", 0)])
def test_remove_asks_on_a_terminal(adk_store: Path, answer: str, code: int) -> None:
    """Only yes removes the data set."""
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = python("-m", "trajet", "store", "remove", adk_store, stdin=theirs, code=None)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "tag some" in done.stderr
    assert "Remove run? [y/N]" in done.stderr
    assert done.stdout == ("run: removed\n" if code == 0 else "")
    assert ("nothing was removed" in done.stderr) == (code == 1)
    assert tj.Store(adk_store.parent).list() == (() if code == 0 else ("run",))


def test_damage_is_an_exit_code(own_wet: Solvated) -> None:
    """`verify` prints one line per damage on standard error."""
    path = own_wet.store.show("wet").tags[1].paths[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    fail("store", "verify", "--store", own_wet.folder / "store")


def test_manifest_of_a_newer_schema_is_an_error(own_wet: Solvated) -> None:
    """Its content is not guessed."""
    path = own_wet.path / "manifest.json"
    path.write_text(path.read_text().replace('"schema":3', '"schema":4'))
    fail("store", "show", "wet", "--store", own_wet.folder / "store")


def test_error_of_an_older_store_has_the_commands_that_rebuild_it(own_wet: Solvated) -> None:
    """`get` restores the trajectory from the tags, `add` divides it again, into the same bits."""
    store, whole = own_wet.folder / "store", own_wet.folder / "again.xtc"
    succeed("store", "get", own_wet.path, "-o", whole)
    for path in (store / "store.json", own_wet.path / "manifest.json"):
        text = path.read_text()
        path.write_text(re.sub(r'"schema":( ?)3', r'"schema":\g<1>2', text))
        error = fail("store", "list", "--store", store)
        path.write_text(text)
    (topology,) = re.findall(r"with the topology (\S+) and the profile that it had", error)
    (new,) = re.findall(r": trajet store add (\S+)$", error)
    words = ("--topology", topology, "--trajectory", whole, "--profile", own_wet.profile)
    succeed("store", "add", new, *words)
    first, again = own_wet.store, tj.Store(f"{store}-new")
    assert again.show("wet").tags[0].size == first.show("wet").tags[0].size
    assert again.verify() == ()


def test_damaged_data_set_hides_no_other(own_wet: Solvated) -> None:
    """The other data sets are listed; the error names the damage and the remedy."""
    store = own_wet.folder / "store"
    own_wet.store.add("dry", tj.open(own_wet.gro, own_wet.xtc), profile=own_wet.profile)
    (store / "dry" / "manifest.json").write_text("{")
    for command in (["list"], ["stats"], ["link", own_wet.folder / "links"]):
        done = run("store", *command, "--store", store)
        assert done.returncode == 1
        # Of links the whole path is printed, which contains the folder's name, too.
        assert any(Path(line).name.startswith("wet") for line in done.stdout.splitlines()), command
        messages.compare(done.stderr)


def test_moved_store_is_repaired(own_wet: Solvated) -> None:
    """It moves with its tiers: reading changes nothing and names the remedy, `repair`."""
    made, new = own_wet.folder / "made", own_wet.folder / "new"
    given = ("--topology", own_wet.gro, "--trajectory", own_wet.xtc)
    succeed("store", "add", "wet", "--store", made, *given)
    succeed("store", "move", "wet", "--store", made, "--tag", "protein", "--tier", "slow")
    made.rename(new)
    at = ("--store", new)
    fail("rmsd", new / "wet", "--select", "name CA")
    for command in (("remove", "wet", "--yes"), ("move", "wet", "--tag", "ion", "--tier", "fast")):
        fail("store", *command, *at)
    fail("store", "add", "two", *at, *given)
    assert len(succeed("store", "repair", *at)) == 2
    assert succeed("store", "repair", *at) == ["nothing was left behind"]
    whole = own_wet.folder / "whole.xtc"
    succeed("store", "get", "wet", *at, "-o", whole)
    assert whole.read_bytes() == own_wet.xtc.read_bytes()
    links = [path for path in new.rglob("*") if path.is_symlink()]
    assert links
    assert all(path.resolve().is_relative_to(new) and path.exists() for path in links)
    succeed("store", "verify", *at)
    succeed("store", "remove", "wet", *at, "--yes")


def arrivals(sources: Solvated) -> Path:
    """Make a folder with the topology of all trajectories that will arrive."""
    folder = sources.folder / "in"
    folder.mkdir()
    shutil.copy(sources.gro, folder / "system.gro")
    return folder


def test_watch_once_adds_and_appends(sources: Solvated) -> None:
    """Settled files are divided and grown files are appended; other files are ignored."""
    folder, store = arrivals(sources), sources.folder / "taken"
    shutil.copy(sources.xtc, folder / "one.xtc")
    shutil.copy(sources.xtc, folder / ".two.xtc.part")
    (folder / "notes.txt").write_text("not for a store")
    (folder / "old").mkdir()
    shutil.copy(sources.xtc, folder / "old" / "three.xtc")
    before = names_in(folder)
    once = ("store", "watch", folder, "--store", store, "--once", "--settle", 0)
    (line,) = succeed(*once)
    assert line.endswith("one.xtc: 10 frames added to one")
    assert succeed(*once) == []
    with (folder / "one.xtc").open("ab") as grown:
        grown.write(sources.xtc.read_bytes())
    (line,) = succeed(*once)
    assert line.endswith("one.xtc: 10 frames added to one")
    assert tj.open(store / "one").n_frames == 20
    assert tj.Store(store).list() == ("one",)
    assert names_in(folder) == before | {".one.xtc.trajet-index"}


class Clock:
    """A clock that advances only when it is set."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_growing_file_is_ignored(sources: Solvated) -> None:
    """It is added when it has not changed for the settling time."""
    folder, clock = arrivals(sources), Clock()
    watch = Watch(tj.Store(sources.folder / "store", create=True), folder, 60, clock=clock)
    data = sources.xtc.read_bytes()
    for part in (3, 2, 1):
        (folder / "run.xtc").write_bytes(data[: len(data) // part])
        assert list(watch.look()) == []
        clock.now += 59
    assert list(watch.look()) == []
    clock.now += 1
    (arrival,) = watch.look()
    assert (arrival.name, arrival.frames, arrival.error) == ("run", 10, None)
    assert list(watch.look()) == []


def test_failures_are_reportedce(sources: Solvated) -> None:
    """A file is retried when trajectory or topology change; the others are added meanwhile."""
    folder, clock = arrivals(sources), Clock()
    watch = Watch(tj.Store(sources.folder / "store", create=True), folder, 0, clock=clock)
    data = sources.xtc.read_bytes()
    (folder / "cut.xtc").write_bytes(data[: len(data) // 2])
    (folder / "good.xtc").write_bytes(data)
    cut, good = watch.look()
    assert isinstance(cut.error, tj.TruncatedError)
    assert (good.name, good.frames) == ("good", 10)
    assert list(watch.look()) == []
    (folder / "cut.xtc").write_bytes(data)
    (arrival,) = watch.look()
    assert (arrival.name, arrival.frames) == ("cut", 10)
    assert "allow_truncated_tail=True" in str(cut.error)
    shutil.copy(folder / "system.gro", folder / "other.gro")
    (folder / "third.xtc").write_bytes(data)
    (arrival,) = watch.look()
    assert "several topologies" in str(arrival.error)
    assert list(watch.look()) == []
    shutil.copy(folder / "system.gro", folder / "third.gro")
    (arrival,) = watch.look()
    assert arrival.error is None
    (folder / "good.xtc").write_bytes(data[: len(data) // 2] + data)
    (arrival,) = watch.look()
    assert arrival.error is not None
    assert watch.store.show("good").n_frames == 10


@pytest.mark.parametrize("settled", ["system.xtc", "system.dcd"])
def test_watch_adds_whole_frames_of_a_cut_file_on_request(sources: Solvated, settled: str) -> None:
    """They are added once; later frames are appended, up to the last one."""
    folder, source = arrivals(sources), sources.folder / settled
    tj.convert(tj.open(None, sources.xtc), source)
    data, path = source.read_bytes(), folder / settled
    path.write_bytes(data[: len(data) // 2 + 100])
    at = ("--store", sources.folder / "store", "--once", "--settle", 0)
    fail("store", "watch", folder, *at)
    asked = ("store", "watch", folder, *at, "--allow-truncated-tail")
    (line,) = succeed(*asked)
    first = int(line.split()[1])
    assert 3 <= first <= 6
    assert succeed(*asked) == []
    # Part of a further frame is not added, and not reported again and again.
    path.write_bytes(data[: len(data) // 2 + 104])
    watch = Watch(tj.Store(sources.folder / "store"), folder, 0, allow_truncated_tail=True)
    opened = []
    take_in = watch._take_in
    watch._take_in = lambda *what: opened.append(what) or take_in(*what)
    assert [list(watch.look()) for _ in range(3)] == [[], [], []]
    assert len(opened) <= 1
    path.write_bytes(data)
    (line,) = succeed(*asked)
    assert int(line.split()[1]) == 10 - first
    ours = tj.open(sources.folder / "store" / "system").read().positions
    assert ours.tobytes() == tj.open(None, source).read().positions.tobytes()


def test_damaged_data_set_is_reportedce_and_the_others_are_added(sources: Solvated) -> None:
    """Its own files are added when it is repaired."""
    folder, store = arrivals(sources), sources.folder / "store"
    data, more = sources.xtc.read_bytes(), tj.open(None, sources.xtc)
    for name in ("grown", "damaged"):
        (folder / f"{name}.xtc").write_bytes(data)
    watch = Watch(tj.Store(store, create=True), folder, 0)
    assert len(list(watch.look())) == 2
    tj.convert(more, folder / "second.xtc")
    watch.store.append("damaged", tj.open(None, folder / "second.xtc"))
    assert list(watch.look()) == []
    manifest = store / "damaged" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_text("{")
    for name in ("grown", "second"):
        with (folder / f"{name}.xtc").open("ab") as grown:
            grown.write(data)
    damage, arrival = watch.look()
    assert (damage.path, damage.name) == (manifest.parent, "damaged")
    assert "is not what a store writes" in str(damage.error)
    assert (arrival.name, arrival.frames) == ("grown", 10)
    assert list(watch.look()) == []
    # A watch that has never read the manifest adds nothing new: it may belong to that data set.
    done = run("store", "watch", folder, "--store", store, "--once", "--settle", 0)
    assert done.returncode == 1
    messages.compare(done.stderr)
    assert sorted(path.parent.name for path in store.glob("*/manifest.json")) == [
        "damaged",
        "grown",
    ]
    manifest.write_bytes(whole)
    assert [arrival.name for arrival in watch.look()] == ["damaged"]


def test_folder_that_disappears_is_reportedce(sources: Solvated) -> None:
    """Folders on a network do so: the watch continues."""
    folder = arrivals(sources)
    watch = Watch(tj.Store(sources.folder / "store", create=True), folder, 0)
    away = folder.rename(sources.folder / "away")
    (arrival,) = watch.look()
    assert isinstance(arrival.error, FileNotFoundError)
    assert list(watch.look()) == []
    shutil.copy(sources.xtc, away / "run.xtc")
    away.rename(folder)
    (arrival,) = watch.look()
    assert (arrival.name, arrival.frames) == ("run", 10)


def test_interrupted_watch_exits_with_130(sources: Solvated) -> None:
    """Data sets that were added before Ctrl-C are complete."""
    folder, store = arrivals(sources), sources.folder / "taken"
    shutil.copy(sources.xtc, folder / "one.xtc")
    command = ("store", "watch", folder, "--store", store, "--settle", 0, "--interval", 0.05)
    watching = subprocess.Popen(
        [sys.executable, "-m", "trajet", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert watching.stdout is not None
    assert "one.xtc: 10 frames added to one" in watching.stdout.readline()
    shutil.copy(sources.xtc, folder / "two.xtc")
    assert "two.xtc" in watching.stdout.readline()
    time.sleep(0.2)
    watching.send_signal(signal.SIGINT)
    _, stderr = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert stderr.strip() == "trajet: interrupted"
    assert tj.Store(store).list() == ("one", "two")
    assert run("store", "verify", "--store", store).returncode == 0


def test_watch_ignores_named_pipes(sources: Solvated) -> None:
    """A pipe is neither a trajectory nor a topology: nothing waits for its writer."""
    folder = arrivals(sources)
    (folder / "run.xtc").write_bytes(sources.xtc.read_bytes())
    for name in ("pipe.xtc", "pipe.psf"):
        os.mkfifo(folder / name)
    watch = Watch(tj.Store(sources.folder / "store", create=True), folder, 0)
    (arrival,) = watch.look()
    assert (arrival.name, arrival.frames, arrival.error) == ("run", 10, None)
    (folder / "system.gro").unlink()
    (folder / "next.xtc").write_bytes(sources.xtc.read_bytes())
    (arrival,) = watch.look()
    assert "there is no topology beside it" in str(arrival.error)


@pytest.mark.parametrize("ending", [b".xtc", b".gro"])
def test_watch_names_files_whose_names_are_not_text(sources: Solvated, ending: bytes) -> None:
    """Such a trajectory, or topology, is an error; its name is printed escaped."""
    folder = arrivals(sources)
    (folder / "run.xtc").write_bytes(sources.xtc.read_bytes())
    odd = os.fsencode(folder) + b"/caf\xe9" + ending
    os.rename(folder / ("run.xtc" if ending == b".xtc" else "system.gro"), odd)
    store = sources.folder / "store"
    fail("store", "watch", folder, "--store", store, "--once", "--settle", 0)
