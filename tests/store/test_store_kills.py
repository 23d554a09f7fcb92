"""After a kill or an error during a change, the store is the old one or the new one."""

import errno
import hashlib
import json
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import killed_store, xtc_bytes
from helpers.cut_short import CuttingProcess, Outcome, cutting
from helpers.forked_processes import forked_processes
from helpers.golden_files import Adk
from trajet import _trajet


def positions(reader: _trajet.Reader) -> bytes:
    """Return the digest of all positions, times, steps and cells."""
    digest = hashlib.sha256()
    out = np.empty((70, reader.n_atoms, 3), np.float32)
    for begin in range(0, reader.n_frames, len(out)):
        n = min(len(out), reader.n_frames - begin)
        metadata = reader.read((begin, 1, n), None, out[:n], "positions", threads=2)
        digest.update(out[:n])
        digest.update(np.array([metadata["times"], metadata["steps"]]))
        digest.update(metadata["cells"])
    return digest.digest()


def store_contents(folder: Path) -> dict[str, object]:
    """Return the content of a store, without its paths, after verifying it."""
    store = _trajet.Store(folder)
    found: dict[str, object] = {}
    for name in store.names():
        assert store.verify(name, threads=2) == []
        manifest = json.loads(store.manifest(name))
        tags = [(tag["name"], tag["tier"]) for tag in manifest["tags"]]
        segments = [segment["n_frames"] for segment in manifest["segments"]]
        reader = store.reader(name, request_size=1 << 18)
        found[name] = (tags, segments, positions(reader))
    return found


def files(folder: Path) -> set[str]:
    """Return the names of all files, except for those of operations."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    return {str(path) for path in found if path.parts[0] != "lock"}


def expected_files(folder: Path) -> set[str]:
    """Return the files that a store should have."""
    store, expected = _trajet.Store(folder), {"store.json"}
    for name, tier in json.loads(store.tiers()).items():
        expected.add(f"{name}/.trajet-tier-{tier['mark']}")
    for name in store.names():
        manifest = json.loads(store.manifest(name))
        expected |= {f"{name}/manifest.json", f"{name}/{manifest['topology']['file']}"}
        for segment in manifest["segments"]:
            expected |= {f"{name}/{segment[kind]['file']}" for kind in ("frames", "frame_metadata")}
        left = [link["file"] for link in manifest["moved_links"]]
        for file in [file for segment in manifest["segments"] for file in segment["files"]] + left:
            path = Path(file["tier"]) / file["path"]
            beside = [path.with_name(kept["file"]) for kept in file["companion_files"]]
            expected |= {str(path) for path in (path, *beside)}
            if "layout_file" in file:
                expected.add(f"{name}/{file['layout_file']['file']}")
    return expected


def is_index(name: str) -> bool:
    """Return whether a file is an index of a reader."""
    return name.endswith(".trajet-index")


@pytest.fixture(scope="module")
def ascending(thrice_adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return `thrice_adk` with steps that do not go back, as H5MD requires."""
    xtc = tmp_path_factory.mktemp("ascending") / "thrice.xtc"
    xtc.write_bytes(xtc_bytes.repeated(thrice_adk.xtc.read_bytes(), 294))
    return Adk(thrice_adk.psf, xtc)


@pytest.fixture(scope="module")
def in_hdf5(ascending: Adk, tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return `ascending` in H5MD."""
    path = tmp_path_factory.mktemp("in_hdf5") / "thrice.h5md"
    tj.convert(tj.open(None, ascending.xtc), path)
    return Adk(ascending.psf, path)


@pytest.fixture(scope="module")
def cutter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CuttingProcess]:
    """Return a process that runs changes of which a file operation kills or fails."""
    with cutting(tmp_path_factory.mktemp("cutter")) as process:
        yield process


@pytest.mark.kills(1)
@pytest.mark.parametrize(
    ("doing", "source"),
    [
        # Moving and removing files does not look into them.
        pytest.param(
            doing,
            source,
            marks=pytest.mark.long if source == "in_hdf5" and doing in ("move", "remove") else (),
        )
        for doing in ("add", "append", "move", "retag", "remove")
        for source in ("ascending", "in_hdf5")
    ],
)
def test_killed_change_leaves_the_old_or_the_new_store(
    adk: Adk, request: pytest.FixtureRequest, tmp_path: Path, doing: str, source: str, kills: int
) -> None:
    """At random moments of its work, the store is valid, and its source unchanged."""
    system = request.getfixturevalue(source)
    psf, trajectory = system.psf, system.xtc
    sources = (psf, trajectory)
    before = trajectory.read_bytes()
    old = tmp_path / "old"
    # Another data set is always present, which no change concerns.
    killed_store.change(old, "add", "other", adk.psf, adk.xtc)
    if doing != "add":
        killed_store.change(old, "add", "one", *sources)
    if doing == "append":
        more = shutil.copy(trajectory, tmp_path / f"more{trajectory.suffix}")
        sources = (psf, Path(more))
    new, folder = tmp_path / "new", tmp_path / "store"
    states = [store_contents(copy_store(old, new))]
    killed_store.change(new, doing, "one", *sources)
    states.append(store_contents(new))
    assert states[0] != states[1]
    lasts = duration_of(copy_store(old, folder), doing, sources)
    draw, inside, seen = random.Random(doing), 0, []
    # Some kills come too late.
    while inside < kills and len(seen) < 10 * kills:
        process = forked_processes().Process(
            target=killed_store.change, args=(copy_store(old, folder), doing, "one", *sources)
        )
        process.start()
        while process.is_alive() and not list(folder.glob(".pending/*")):
            time.sleep(0.0002)
        # Some are a little later than the change should take.
        time.sleep(draw.uniform(0, 1.1) * lasts)
        process.kill()
        process.join()
        caught = process.exitcode == -signal.SIGKILL and bool(list(folder.glob(".pending/*")))
        inside += caught
        if not caught:
            # The machine is faster now than it was.
            lasts *= 0.8
        found = store_contents(folder)
        assert found in states
        seen.append(states.index(found))
        repaired = _trajet.Store(folder).repair()
        assert len(repaired) <= 1
        assert store_contents(folder) == found
        assert {name for name in files(folder) if not is_index(name)} == expected_files(folder)
        if len(seen) % 5 == 1:
            # The interrupted change can be repeated.
            if found == states[0]:
                killed_store.change(folder, doing, "one", *sources)
            assert store_contents(folder) == states[1]
    assert inside == kills, seen
    assert trajectory.read_bytes() == before


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("doing", ["add", "append", "move", "retag", "remove"])
def test_kill_before_a_file_operation_leaves_the_old_or_the_new_store(
    adk: Adk, cutter: CuttingProcess, tmp_path: Path, doing: str, step: int
) -> None:
    """Every 29th file operation from a random one on is tested; `make test-long` has all."""
    xtc, more, old = tmp_path / "few.xtc", tmp_path / "more.xtc", tmp_path / "old"
    for path in (xtc, more):
        tj.convert(tj.open(None, adk.xtc), path, frames=slice(3))
    sources, folder, new = (
        (adk.psf, more if doing == "append" else xtc),
        tmp_path / "store",
        tmp_path / "new",
    )
    if doing != "add":
        killed_store.change(old, "add", "one", adk.psf, xtc)
    states = []
    for state in (copy_store(old, folder), new):
        if state == new:
            killed_store.change(copy_store(old, new), doing, "one", *sources)
        store = _trajet.Store(state, create=True)
        states.append((store_contents(state), sorted(json.loads(store.tiers()))))
    n = first = random.randint(1, min(step, 10))
    print(f"first {first}")
    while cutter.cut(n, copy_store(old, folder), doing, "one", *sources):
        store = _trajet.Store(folder, create=True)
        found = store_contents(folder)
        store.repair()
        assert store.repair() == []
        assert (store_contents(folder), sorted(json.loads(store.tiers()))) in states, n
        assert store_contents(folder) == found
        assert {name for name in files(folder) if not is_index(name)} == expected_files(folder), n
        empty = {
            path.name for path in folder.rglob("*") if path.is_dir() and not list(path.iterdir())
        }
        assert empty <= {".pending"}, n
        n += step
    assert n > 10
    assert n > first


CHANGES = ["add", "append", "move", "retag", "remove", "repair", "verify", "get"]


@pytest.mark.parametrize("doing", CHANGES)
def test_file_error_leaves_the_old_or_the_new_store(
    adk: Adk, cutter: CuttingProcess, tmp_path: Path, doing: str
) -> None:
    """Some file operations are tested; `make test-long` has all of them."""
    inject(adk, cutter, tmp_path, doing, errno.EIO, lasts=False, step=289)
    inject(adk, cutter, tmp_path, doing, errno.ENOSPC, lasts=True, step=189)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("lasts", [False, True])
def test_unwritable_journal_is_an_error_and_frees_the_lock(
    adk: Adk, cutter: CuttingProcess, tmp_path: Path, lasts: bool, step: int
) -> None:
    """A sixth of the operations on its files is tested; `make test-long` has all.

    The first entry, before anything is written, is always among them.
    """
    inject(adk, cutter, tmp_path, "move", errno.ENOSPC, lasts=lasts, step=step, below=".pending")


@pytest.mark.long
@pytest.mark.parametrize("doing", CHANGES)
@pytest.mark.parametrize(
    ("number", "lasts"),
    [(errno.EIO, False), (errno.ESTALE, False), (errno.ENOSPC, True), (errno.EROFS, True)],
    ids=["EIO", "ESTALE", "ENOSPC-from-there-on", "EROFS-from-there-on"],
)
def test_any_file_error_leaves_the_old_or_the_new_store(
    adk: Adk, cutter: CuttingProcess, tmp_path: Path, doing: str, number: int, lasts: bool
) -> None:
    """Every file operation of every operation on a store is tested.

    Full and read-only disks fail writing alone, of which three of them do little or nothing.
    """
    points = inject(adk, cutter, tmp_path, doing, number, lasts=lasts, step=1)
    assert points > 3 or (lasts and doing in ("repair", "verify", "get"))


@pytest.mark.parametrize("step", [59, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["out.xtc", "out.trr", "out.dcd", "out.nc", "out.csv", "out.npz"])
def test_file_error_leaves_the_old_or_the_new_output(
    adk: Adk, cutter: CuttingProcess, tmp_path: Path, name: str, step: int
) -> None:
    """Copies and saved results are complete, and nothing incomplete is left beside them."""
    few, folder, new = tmp_path / "few.xtc", tmp_path / "out", tmp_path / "new"
    tj.convert(tj.open(None, adk.xtc), few, frames=slice(3))
    doing, sources = ("convert" if name[4:] in tj_formats() else "save"), (adk.psf, few)
    new.mkdir()
    killed_store.change(new, doing, name, *sources)
    expected = (new / name).read_bytes()
    for number, lasts in [(errno.EIO, False), (errno.ENOSPC, True)]:
        n = 1
        while True:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / name).write_bytes(b"old")
            ended = cutter.fail(n, folder, number, lasts, doing, name, *sources)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
            for key, found in files.items():
                if found[:2] == b"PK" == expected[:2]:
                    # Zip files contain the time at which they were made.
                    files[key] = expected
            whole = files.pop(name)
            assert whole == (b"old" if ended is Outcome.FAILED else expected), (n, ended)
            # A complete file that can neither be renamed nor removed is kept.
            left = list(files.values())
            assert not lasts or left == [expected] * (ended is Outcome.FAILED and bool(left)), n
            if ended is Outcome.UNTOUCHED:
                break
            n += random.randint(1, 2 * step - 1)
        assert n > 3


def tj_formats() -> tuple[str, ...]:
    """Return the suffixes of trajectories."""
    return ("xtc", "trr", "dcd", "nc")


def inject(
    adk: Adk,
    cutter: CuttingProcess,
    tmp_path: Path,
    doing: str,
    number: int,
    *,
    lasts: bool,
    step: int,
    below: str = "",
) -> int:
    """Repeat an operation while another file operation fails; return the number of the last.

    The first fails, and then one of `step` on average.
    """
    xtc, more, old = tmp_path / "few.xtc", tmp_path / "more.xtc", tmp_path / "old"
    for path in (xtc, more):
        tj.convert(tj.open(None, adk.xtc), path, frames=slice(3), force=True)
    sources, folder, new = (
        (adk.psf, more if doing in ("append", "get") else xtc),
        tmp_path / "store",
        tmp_path / "new",
    )
    shutil.rmtree(old, ignore_errors=True)
    if doing != "add":
        killed_store.change(old, "add", "one", adk.psf, xtc)
    if doing == "repair":
        leave_behind(old)
    states = []
    for state in (copy_store(old, folder), new):
        if state == new:
            killed_store.change(copy_store(old, new), doing, "one", *sources)
        states.append(store_contents(state) if (state / "store.json").exists() else {})
    n = 1
    while True:
        given = (number, lasts, doing, "one", *sources)
        ended = cutter.fail(n, copy_store(old, folder), *given, below=below)
        if ended is Outcome.UNTOUCHED:
            return n
        store = _trajet.Store(folder, create=True)
        # A failed operation has changed nothing.
        assert store_contents(folder) == states[ended is Outcome.DONE], (n, ended)
        # Nothing can be removed from a read-only file system; `repair` does it later.
        assert store.repair() == [] or (lasts and number == errno.EROFS), n
        assert store.repair() == [], n
        left = {name for name in files(folder) if not is_index(name)}
        # Readers remove an incomplete index as soon as they can.
        left = {name for name in left if ".trajet-index." not in name}
        left.discard("one/access.jsonl")
        # Links to moved files exist if they could be made.
        missing = expected_files(folder) - left
        assert left <= expected_files(folder), n
        assert not missing or doing == "move", n
        assert all(path.startswith("slow/") for path in missing), n
        n += random.randint(1, 2 * step - 1)


def leave_behind(folder: Path) -> None:
    """Leave the files of a process that was killed just before the end of `add`."""
    (made := folder / "fast" / "one-012345678901").mkdir()
    (made / "front.xtc").write_bytes(b"cut short")
    lines: list[dict[str, object]] = [
        {"Doing": {"doing": "append", "name": "one"}},
        {"Made": {"tier": "fast", "path": made.name}},
    ]
    entry = folder / ".pending" / "012345678901.json"
    entry.parent.mkdir(exist_ok=True)
    entry.write_text("".join(json.dumps(line) + "\n" for line in lines))


def copy_store(old: Path, folder: Path) -> Path:
    """Return a copy of a store: its tiers are in its own folder."""
    shutil.rmtree(folder, ignore_errors=True)
    if not old.exists():
        return folder
    shutil.copytree(old, folder, symlinks=True)
    for path in (folder / "store.json", *folder.glob(".pending/*")):
        path.write_text(path.read_text().replace(str(old), str(folder)))
    return folder


def duration_of(folder: Path, doing: str, sources: tuple[Path, Path]) -> float:
    """Return the duration of an uninterrupted change, from its entry in the journal."""
    process = forked_processes().Process(
        target=killed_store.change, args=(folder, doing, "one", *sources)
    )
    process.start()
    while not list(folder.glob(".pending/*")):
        time.sleep(0.0002)
    begin = time.perf_counter()
    process.join()
    assert process.exitcode == 0
    return time.perf_counter() - begin
