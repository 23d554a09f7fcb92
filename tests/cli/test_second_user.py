"""Another user of the machine can neither plant indexes and links nor reach our Dask cluster.

These tests act as the user 65534 (nobody) through setpriv, which only root can do.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.changed_times import FRAME, WRITERS, sidecar_of
from helpers.commands import fail, python, succeed
from helpers.messages import raises
from trajet import cache, output, topology, universes
from trajet.pools.dask import dask_client

OTHER_USER = 65534
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="not tested here: acting as a second user needs root and setpriv",
)


@pytest.fixture
def shared() -> Iterator[Path]:
    """Make a folder that every user may write to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def as_other_user(*command: object, content: bytes = b"") -> None:
    """Run a command as another user."""
    own = [f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
    subprocess.run(["setpriv", *own, "--", *map(str, command)], input=content, check=True)


def forged_index(path: Path) -> bytes:
    """Return an index that fits the file at `path`, except for another time of `FRAME`."""
    true = path.read_bytes()
    at = int(tj.open(None, path).source.reader.offsets()[FRAME])
    data = bytearray(true)
    if path.suffix == ".nc":
        at = data.index(np.array(2.5 * FRAME, ">f4").tobytes(), at)
    else:
        at += xtc_bytes.TIME if path.suffix == ".xtc" else 24 + 13 * 4
    data[at : at + 4] = np.array(1e6, ">f4").tobytes()
    path.write_bytes(data)
    tj.open(None, path, rebuild_index=True)
    path.write_bytes(true)
    forged = sidecar_of(path).read_bytes()
    sidecar_of(path).unlink()
    return forged


def plant(path: Path, content: bytes) -> None:
    """Write a file as another user."""
    as_other_user("sh", "-c", 'cat > "$0"', path, content=content)
    assert path.stat().st_uid == OTHER_USER


def write_gro(path: Path, n_atoms: int) -> Path:
    """Write a topology of one water and argon."""
    names = ["OW", "HW1", "HW2"] + ["AR"] * (n_atoms - 3)
    lines = [
        f"{1 + k // 3:5d}{'SOL' if k < 3 else 'AR':<5}{name:>5}{k + 1:5d}" + "   0.000" * 3
        for k, name in enumerate(names)
    ]
    path.write_text("\n".join(["made", str(n_atoms), *lines, "3.0 3.0 3.0", ""]))
    return path


@pytest.mark.parametrize("ending", WRITERS)
def test_index_of_another_user_is_ignored_and_kept(shared: Path, ending: str) -> None:
    """A forged time hides no frame, a message states why the index is built, the file stays."""
    path = WRITERS[ending](shared / f"run{ending}")
    true = tj.open(None, path, sidecar=False).times
    forged = forged_index(path)
    plant(sidecar_of(path), forged)
    opened = tj.open(None, path)
    assert opened.index_state == "built"
    assert np.array_equal(opened.source.reader.times(), true)
    message = opened.messages[-1]
    assert str(sidecar_of(path)) in message
    assert "belongs to another user (user id 65534)" in message
    assert sidecar_of(path).read_bytes() == forged
    # Our own index is kept in the cache folder, where it is found again.
    again = tj.open(None, path)
    assert again.index_state == "loaded"
    assert again.index_path is not None
    assert again.index_path.parent != shared
    assert np.array_equal(again.source.reader.times(), true)
    assert sorted(shared.iterdir()) == sorted([path, sidecar_of(path)])


def test_topology_sidecar_of_another_user_is_ignored_and_kept(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that would fit is not used either: ours is in the cache folder."""
    path, sidecar = shared / "a.pqr", shared / ".a.pqr.trajet-topology"
    path.write_text("ATOM 1 CA ALA 1 0 0 0 0 1.5\nATOM 2 CB ALA 1 1 1 1 0 1.5\n")
    topology.load(path)
    good = sidecar.read_bytes()
    sidecar.unlink()
    plant(sidecar, good)
    parsed = []
    read = universes.read_structure
    monkeypatch.setattr(
        universes, "read_structure", lambda *given: parsed.append(given) or read(*given)
    )
    for _ in range(3):
        assert topology.load(path).select("name CA", "").tolist() == [0]
    assert len(parsed) == 1
    assert sidecar.read_bytes() == good
    # The owner of the topology could change it anyway.
    os.chown(path, OTHER_USER, OTHER_USER)
    cached = cache.folder()
    assert cached is not None
    shutil.rmtree(cached / "topology")
    topology.load(path)
    assert len(parsed) == 1


def test_command_chooses_all_frames_beside_a_forged_index(shared: Path) -> None:
    """`--begin` and `--end` copy the frame whose time the planted index hides."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    plant(sidecar_of(path), forged_index(path))
    copy = shared / "copy.xtc"
    succeed("convert", path, copy, "--begin", FRAME - 1, "--end", FRAME + 1, "--quiet")
    assert tj.open(None, copy).times.tolist() == [FRAME - 1, FRAME, FRAME + 1]


def test_forged_index_that_passes_as_ours_hides_no_frame(shared: Path) -> None:
    """Times that choose frames are compared with the frame headers, also if the index is ours."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    sidecar_of(path).write_bytes(forged_index(path))
    opened = tj.open(None, path)
    assert opened.index_state == "loaded"
    with raises(tj.StaleIndexError):
        _ = opened.times


def test_index_of_the_owner_of_the_trajectory_is_used(shared: Path) -> None:
    """A user who can change the frames needs no forged index."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    tj.open(None, path)
    for each in (path, sidecar_of(path)):
        os.chown(each, OTHER_USER, OTHER_USER)
    opened = tj.open(None, path)
    assert (opened.index_state, opened.messages) == ("loaded", ())


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_index_is_neither_read_nor_written_through_links_and_pipes(shared: Path, kind: str) -> None:
    """A planted link or named pipe is ignored: nothing hangs, and its target keeps its bytes."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    victim = shared / "victim"
    victim.write_bytes(b"precious")
    if kind == "link":
        as_other_user("ln", "-s", victim, sidecar_of(path))
    else:
        as_other_user("mkfifo", sidecar_of(path))
    opened = tj.open(None, path)
    assert opened.n_frames == 100
    assert "it is no regular file" in opened.messages[-1]
    assert victim.read_bytes() == b"precious"
    assert not sidecar_of(path).is_file() or sidecar_of(path).is_symlink()


def test_outputs_do_not_follow_planted_links(shared: Path) -> None:
    """A link of another user at the path of a copy is an error, and its target keeps its bytes."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    victim = shared / "victim"
    victim.write_bytes(b"precious")
    for ending in (".xtc", ".h5md"):
        target = shared / f"copy{ending}"
        as_other_user("ln", "-s", victim, target)
        fail("convert", path, target, "--force", "--quiet")
        assert victim.read_bytes() == b"precious"
        target.unlink()
        target.symlink_to(shared / f"mine{ending}")
        succeed("convert", path, target, "--force", "--quiet")
        assert target.is_symlink()
        assert tj.open(None, target).n_frames == 100


def test_temporary_file_is_not_written_through_a_link(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guessed name does not help: the file must be new."""
    victim, guessed = shared / "victim", shared / ".trajet-guessed.tmp"
    victim.write_bytes(b"precious")
    as_other_user("ln", "-s", victim, guessed)
    monkeypatch.setattr(output, "name_beside", lambda path: guessed)
    with pytest.raises(tj.OutputError), output.replacing_file(shared / "result.csv") as own:
        own.write_bytes(b"forged")
    assert victim.read_bytes() == b"precious"


def test_modes_of_new_files_follow_the_mask(shared: Path) -> None:
    """A private mask makes private indexes, copies and stores."""
    path = WRITERS[".xtc"](shared / "run.xtc")
    old = os.umask(0o077)
    try:
        opened = tj.open(None, path)
        tj.convert(opened, shared / "copy.xtc")
        tj.convert(opened, shared / "copy.h5md")
        topology = write_gro(shared / "run.gro", 9)
        tj.Store(shared / "store", create=True).add("run", tj.open(topology, path))
    finally:
        os.umask(old)
    made = {each for each in shared.rglob("*") if each.is_file()} - {path}
    assert {sidecar_of(path), shared / "copy.xtc", shared / "copy.h5md"} < made
    assert {each: each.stat().st_mode & 0o777 for each in made} == dict.fromkeys(made, 0o600)


# Its exit code is 0 if the scheduler answers a client with these certificates, or with none.
KNOCK = f"""
import json, os, socket, sys
from distributed import Client
from distributed.security import Security

given = json.load(sys.stdin)
security = Security(require_encryption=True, **given["certificates"])
os.setgroups([])
os.setresgid({OTHER_USER}, {OTHER_USER}, {OTHER_USER})
os.setresuid({OTHER_USER}, {OTHER_USER}, {OTHER_USER})
host, port = given["address"].removeprefix("tls://").split(":")
socket.create_connection((host, int(port))).close()
answers = []
for address, how in (
    (given["address"].replace("tls://", "tcp://"), None),
    (given["address"], Security.temporary()),
    (given["address"], security),
):
    try:
        with Client(address, security=how, timeout=2) as client:
            answers.append(bool(client.scheduler_info()["workers"]))
    except OSError:
        answers.append(False)
print(json.dumps(answers))
"""


def test_another_user_does_not_reach_a_running_scheduler() -> None:
    """Only the certificate of the cluster is accepted: neither none nor another user's own."""
    with dask_client(workers=1) as client:
        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        certificates = {n: Path(getattr(client.security, n)).read_text() for n in names}
        given = {"address": client.scheduler.address, "certificates": certificates}
        done = python("-c", KNOCK, input=json.dumps(given))
        assert json.loads(done.stdout) == [False, False, True], done.stderr
        # Data that workers spill to the disk comes back as pickles: nobody else may write there.
        folders = client.run(lambda dask_worker: dask_worker.local_directory)
    for folder in folders.values():
        private = [at for at in Path(folder).parents if at.name.startswith("trajet-")]
        assert len(private) == 1, folder
