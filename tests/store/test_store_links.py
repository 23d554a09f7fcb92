"""A store of a stranger stays in its folder: links lead to no other file of the user.

Each attack is tried on each way of reading. Links that moves leave are followed.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_stores import TWO_TAGS
from helpers.messages import raises
from helpers.served_files import serving
from trajet.dataset import StoreFile
from trajet.store.link_folder import links_of

SECRET = b"PRIVATE KEY"


@pytest.fixture
def store(adk: Adk, tmp_path: Path) -> tj.Store:
    """Return the store of a stranger, with a file of the user and a trajectory beside it."""
    (tmp_path / "home" / "some").mkdir(parents=True)
    (tmp_path / "home" / "secret").write_bytes(SECRET)
    shutil.copy(adk.xtc, tmp_path / "home" / "own.xtc")
    (tmp_path / "profile.toml").write_text(TWO_TAGS)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("adk", tj.open(adk.psf, adk.xtc), profile=tmp_path / "profile.toml")
    return store


def files_of(store: tj.Store) -> list[Path]:
    """Return trajectory, structure and index file of the tag `some`."""
    (path,) = store.show("adk").tags[0].paths
    return [path, path.with_suffix(".gro"), path.with_suffix(".ndx")]


def replace(path: Path, target: str | Path) -> None:
    """Put a link in place of a file."""
    path.unlink()
    path.symlink_to(target)


def link(store: tj.Store, home: Path) -> None:
    """Link all files to one of the user's."""
    for path in files_of(store):
        replace(path, home / "secret")


def relative_link(store: tj.Store, home: Path) -> None:
    """Leave the tier by `..`."""
    for path in files_of(store):
        replace(path, os.path.relpath(home / "secret", path.parent))


def link_through_the_tier(store: tj.Store, home: Path) -> None:
    """Begin in the tier, and leave it by `..`."""
    for path in files_of(store):
        replace(path, path.parent / ".." / ".." / "home" / "secret")


def link_to_a_link(store: tj.Store, home: Path) -> None:
    """Link to a name in the tier, which links to the user's file."""
    for path in files_of(store):
        other = path.with_name(f"x-{path.name}")
        other.symlink_to(home / "secret")
        replace(path, other)


def circle(store: tj.Store, home: Path) -> None:
    """Make two links that lead to each other."""
    for path in files_of(store):
        other = path.with_name(f"x-{path.name}")
        other.symlink_to(path)
        replace(path, other)


def link_to_a_trajectory(store: tj.Store, home: Path) -> None:
    """Link to another trajectory, whose frames are not to be sent either."""
    for path in files_of(store):
        replace(path, home / "own.xtc")


def folder_link(store: tj.Store, home: Path) -> None:
    """Replace the folder on the tier by a link; the names in it are those of the store."""
    folder = files_of(store)[0].parent
    shutil.rmtree(folder)
    for path in files_of(store):
        (home / "some" / path.name).write_bytes(SECRET)
    folder.symlink_to(home / "some")


def link_through_a_folder(store: tj.Store, home: Path) -> None:
    """Link to a path below the tier that leads through a folder that is a link."""
    for path in files_of(store):
        (home / "some" / path.name).write_bytes(SECRET)
        replace(path, path.parents[1] / "adk-x" / path.name)
    (files_of(store)[0].parents[1] / "adk-x").symlink_to(home / "some")


def named_tier(store: tj.Store, home: Path) -> None:
    """Name a folder of the user, which has no mark, as the tier."""
    for path in files_of(store):
        (home / path.parent.name).mkdir(exist_ok=True)
        (home / path.parent.name / path.name).write_bytes(SECRET)
    settings = json.loads((store.folder / "store.json").read_text())
    settings["tiers"]["fast"]["folder"] = str(home)
    (store.folder / "store.json").write_text(json.dumps(settings))


def tier_link(store: tj.Store, home: Path) -> None:
    """Replace the tier by a link to a folder of the user, whose mark is a link."""
    named = files_of(store)
    tier = named[0].parents[1]
    for path in named:
        (home / path.parent.name).mkdir(exist_ok=True)
        (home / path.parent.name / path.name).write_bytes(SECRET)
    (mark,) = tier.glob(".trajet-tier-*")
    (home / mark.name).symlink_to(home / "secret")
    shutil.rmtree(tier)
    tier.symlink_to(home)


def pipe(store: tj.Store, home: Path) -> None:
    """Put named pipes in place of files: opening them would wait for ever."""
    for path in files_of(store):
        path.unlink()
        os.mkfifo(path)


def link_to_a_pipe(store: tj.Store, home: Path) -> None:
    """Link to a named pipe in the tier."""
    for path in files_of(store):
        other = path.with_name(f"x-{path.name}")
        os.mkfifo(other)
        replace(path, other)


def link_to_a_device(store: tj.Store, home: Path) -> None:
    """Link to a file without an end."""
    for path in files_of(store):
        replace(path, "/dev/zero")


def topology_link(store: tj.Store, home: Path) -> None:
    """Link the topology beside the manifest, too."""
    link(store, home)
    (topology,) = (store.folder / "adk").glob("topology-*")
    replace(topology, home / "secret")


ATTACKS = [
    *(link, relative_link, link_through_the_tier, link_to_a_link, circle, link_to_a_trajectory),
    *(folder_link, link_through_a_folder, named_tier, tier_link),
    *(pipe, link_to_a_pipe, link_to_a_device, topology_link),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_way_of_reading_leaves_the_store(
    store: tj.Store, tmp_path: Path, attack: Callable[[tj.Store, Path], None]
) -> None:
    """Opening, reading, verifying, moving, dividing, linking, publishing and serving."""
    native, before = store._native, files_of(store)
    attack(store, tmp_path / "home")
    for path in {*before, *files_of(store)}:
        with raises(OSError, path.name):
            native.open_file(path)
    label = str(store.folder / "adk")
    with pytest.raises((OSError, tj.TrajetError)):
        tj.open(f"{label}@some").read()
    with pytest.raises((OSError, tj.TrajetError)):
        tj.gyration(tj.open(f"{label}@some"), pool=tj.ProcessPool(workers=2, task_frames=20))
    assert store.verify() != ()
    links = tmp_path / "links"
    for way in (
        lambda: store.move("adk", "some", "slow"),
        lambda: store.retag("adk", tmp_path / "profile.toml"),
        lambda: store.get("adk", tmp_path / "out.xtc", tags=["some"]),
        lambda: store.publish("adk", "s3://bucket/never"),
    ):
        with pytest.raises((OSError, tj.TrajetError)):
            way()
    with suppress(OSError, tj.TrajetError):
        store.link(links)
    # On a tier that seems not to be mounted no file is found, and no link made.
    made = [path for path in links.glob("*") if path.is_symlink()] if links.exists() else []
    assert all(b"PRIVATE" not in path.read_bytes() for path in made if path.exists())
    names = [f"adk@some{suffix}" for suffix in (".xtc", ".gro", ".ndx")]
    with serving(store.folder) as server:
        for name in (*names, "adk.psf"):
            for suffix in ("", ".trajet-index"):
                found = server.get(f"file/store/{name}{suffix}")
                assert b"PRIVATE" not in found.body, name
                is_sound = name == "adk.psf" and attack is not topology_link and not suffix
                assert (found.status == 200) == is_sound, (name, suffix, found.status)
            assert server.frame(f"store/{name}", 0).status != 200
        assert server.frame("store/adk@some", 0).status != 200
        assert b"PRIVATE" not in server.get("dir/store").body
    assert not [path for path in (tmp_path / "home").rglob(".*index")], "nothing is written there"


def test_replaced_folders_are_never_followed(store: tj.Store, tmp_path: Path) -> None:
    """Between the look at a folder and the opening of its file, again and again."""
    path, home = files_of(store)[0], tmp_path / "home"
    folder, away = path.parent, path.parent.with_name("adk-away")
    (home / "some" / path.name).write_bytes(SECRET)
    file, stop = StoreFile(store.folder, path), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(away)
            folder.symlink_to(home / "some")
            folder.unlink()
            away.rename(folder)
            inner = path.with_name("x")
            path.rename(inner)
            path.symlink_to(home / "secret")
            inner.replace(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    n_read, end = 0, time.monotonic() + 20
    try:
        while n_read < 500 and time.monotonic() < end:
            with suppress(OSError), file.open() as opened:
                assert not opened.read(len(SECRET)).startswith(b"PRIVATE")
                n_read += 1
    finally:
        stop.set()
        swapping.join()
    assert n_read >= 20


def test_readers_and_servers_go_on_after_moves(store: tj.Store, tmp_path: Path) -> None:
    """With the paths of before: moved to the other tier, and back to a third folder."""
    place = f"{store.folder / 'adk'}@some"
    wanted = tj.open(place).read().positions.tobytes()
    early, old = tj.open(place), dict(links_of(store.show("adk")))
    bytes_of = {name: path.read_bytes() for name, path in old.items()}
    store.link(tmp_path / "links")
    with serving(store.folder) as server:
        assert server.frame("store/adk@some.xtc", 3).status == 200
        for tier in ("slow", "fast"):
            store.move("adk", "some", tier)
            assert early.read().positions.tobytes() == wanted
            pool = tj.ProcessPool(workers=2, task_frames=20)
            assert len(tj.gyration(early, pool=pool)) == early.n_frames
            linked = tj.open(None, tmp_path / "links" / "adk@some.xtc")
            assert linked.read().positions.tobytes() == wanted
            for name, path in old.items():
                assert server.get(f"file/store/{name}").body == bytes_of[name]
                with StoreFile(store.folder, path).open() as file:
                    assert file.read() == bytes_of[name]
            assert server.get("file/store/adk@some.xtc.trajet-index").status == 200
            assert server.frame("store/adk@some.xtc", 3).status == 200
    assert store.verify() == ()


def test_folder_of_a_tier_may_be_a_link(store: tj.Store, tmp_path: Path) -> None:
    """The user has put it on another disk; the mark is there."""
    wanted = tj.open(store.folder / "adk").read().positions.tobytes()
    tier = files_of(store)[0].parents[1]
    tier.rename(tmp_path / "disk")
    tier.symlink_to(tmp_path / "disk")
    assert tj.open(store.folder / "adk").read().positions.tobytes() == wanted
    assert store.verify() == ()
    with serving(store.folder) as server:
        assert server.get("file/store/adk@some.xtc").body == files_of(store)[0].read_bytes()
        assert server.get("file/store/adk@some.xtc.trajet-index").status == 200
    store.move("adk", "some", "slow")
    store.move("adk", "some", "fast")
    assert tj.open(store.folder / "adk").read().positions.tobytes() == wanted


def test_files_of_a_tag_are_served_one_by_one(store: tj.Store, adk: Adk, tmp_path: Path) -> None:
    """After an append each has its own frames."""
    shutil.copy(adk.xtc, tmp_path / "more.xtc")
    store.append("adk", tj.open(None, tmp_path / "more.xtc"))
    n = tj.open(adk.psf, adk.xtc).n_frames
    with serving(store.folder) as server:
        assert server.get("traj/numframes/store/adk@some").body == b"%d" % (2 * n)
        whole = [server.frame("store/adk@some", frame).body[44:] for frame in (1, n + 1)]
        for number, body in enumerate(whole):
            name = f"store/adk@some-00{number}.xtc"
            assert server.get(f"traj/numframes/{name}").body == b"%d" % n
            assert server.frame(name, 1).body[44:] == body
