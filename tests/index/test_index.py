"""The sidecar saves time and never causes an error, wrong frames or leftover files."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.changed_times import sidecar_of
from helpers.commands import names_in, python
from helpers.golden_files import XTC_FILES, Adk, Truth, read_with_mdanalysis
from helpers.messages import raises


def assert_reads(traj: "tj.Trajectory", truth: Truth) -> None:
    """Compare the trajectory with the truth: frames, times, steps, positions."""
    assert traj.n_frames == truth.n_frames
    assert traj.n_atoms == truth.n_atoms
    assert np.array_equal(traj.times, truth.times)
    assert np.array_equal(traj.steps, truth.steps)
    assert np.array_equal(traj.read().positions, truth.positions)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Write a small trajectory of 30 frames into a folder of its own."""
    folder = tmp_path / "made"
    folder.mkdir()
    x = np.random.default_rng(1).uniform(0, 3, (30, 40, 3))
    return xtc_bytes.write_xtc(folder / "made.xtc", x)


@pytest.fixture
def made_truth(made: Path, tmp_path: Path) -> Truth:
    """Return MDAnalysis' reading of `made`."""
    return read_with_mdanalysis(made, tmp_path)


def test_relative_path_equals_full_path(
    made: Path, made_truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare file name is found, also after a change of folder."""
    monkeypatch.chdir(made.parent)
    traj = tj.open(None, made.name)
    assert traj.index_path is not None
    assert traj.index_path.resolve() == sidecar_of(made).resolve()
    assert tj.open(None, made.name).index_state == "loaded"
    monkeypatch.chdir(tmp_path)
    assert_reads(traj, made_truth)
    assert tj.rmsd(traj.select([0, 1, 2])).values.shape == (30,)


def test_selecting_leaves_no_files_of_mdanalysis(own_adk: Adk) -> None:
    """MDAnalysis' own offset and lock files do not appear when a selection is evaluated."""
    traj = tj.open(own_adk.psf, own_adk.xtc)
    assert traj.select("name CA").n_atoms == 214
    assert names_in(own_adk.xtc.parent) == {"adk.psf", "adk.xtc", ".adk.xtc.trajet-index"}


def test_modification_time_causes_no_rebuild(made: Path, made_truth: Truth) -> None:
    """A copied or touched file keeps its index."""
    tj.open(None, made)
    for when in (0, 1_000_000_000, 4_000_000_000):
        os.utime(made, (when, when))
        traj = tj.open(None, made)
        assert traj.index_state == "loaded"
        assert_reads(traj, made_truth)


def test_sidecar_travels_with_its_file(made: Path, made_truth: Truth, tmp_path: Path) -> None:
    """A folder that is moved or copied as a whole needs no new index."""
    tj.open(None, made)
    copy = tmp_path / "elsewhere"
    shutil.copytree(made.parent, copy)
    traj = tj.open(None, copy / made.name)
    assert traj.index_state == "loaded"
    assert_reads(traj, made_truth)


def test_file_that_grew_by_half_a_frame_is_an_error(made: Path, made_truth: Truth) -> None:
    """A frame that is still being written is left out on request."""
    data = made.read_bytes()
    starts = [frame.start for frame in xtc_bytes.walk(data)]
    made.write_bytes(data[: starts[20]])
    tj.open(None, made)
    made.write_bytes(data[: starts[25] + 77])
    with raises(tj.TruncatedError):
        tj.open(None, made)
    traj = tj.open(None, made, allow_truncated_tail=True)
    assert traj.n_frames == 25
    assert np.array_equal(traj.read().positions, made_truth.positions[:25])
    # The index of the whole frames must not hide the tail from the next, stricter opening.
    with raises(tj.TruncatedError):
        tj.open(None, made)
    made.write_bytes(data)
    assert_reads(tj.open(None, made), made_truth)


def test_replacement_of_the_same_size_is_detected(tmp_path: Path) -> None:
    """An uncompressed format has other times and coordinates in exactly as many bytes."""
    folder = tmp_path / "made"
    folder.mkdir()
    rng = np.random.default_rng(2)
    path = folder / "plain.xtc"
    sizes = set()
    for k in range(4):
        times = (100.0 * k + np.arange(50)).tolist()
        xtc_bytes.write_xtc(path, rng.uniform(0, 3, (50, 5, 3)), times=times)
        sizes.add(path.stat().st_size)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        traj = tj.open(None, path)
        assert traj.index_state == "built"
        assert_reads(traj, read_with_mdanalysis(path, tmp_path))
        assert tj.open(None, path).index_state == "loaded"
    assert len(sizes) == 1


def test_frames_exchanged_anywhere_are_detected(tmp_path: Path) -> None:
    """Reading gives the new frames or an error, not the old ones."""
    folder = tmp_path / "made"
    folder.mkdir()
    path = folder / "xyz_random_walk.xtc"
    data = XTC_FILES["xyz_random_walk.xtc"].read_bytes()
    read = refused = 0
    for first in range(10, 90, 7):
        parts = xtc_bytes.pieces(data)
        path.write_bytes(data)
        tj.open(None, path)
        parts[first], parts[first + 1] = parts[first + 1], parts[first]
        path.write_bytes(b"".join(parts))
        truth = read_with_mdanalysis(path, tmp_path)
        for frames in ([first], [first + 1], [first, first + 1], slice(None)):
            try:
                block = tj.open(None, path).read(frames=frames)
            except tj.FormatError:
                refused += 1
            else:
                read += 1
                assert np.array_equal(block.positions, truth.positions[frames])
                assert np.array_equal(block.steps, truth.steps[frames])
        # The remedy of the message works.
        assert_reads(tj.open(None, path, sidecar=False), truth)
        sidecar_of(path).unlink()
    assert read + refused == 12 * 4


def test_file_that_shrank_is_detected(made: Path, made_truth: Truth) -> None:
    """Cut between frames it has a new index; cut inside a frame it is an error, sidecar or not."""
    data = made.read_bytes()
    starts = [frame.start for frame in xtc_bytes.walk(data)]
    tj.open(None, made)
    made.write_bytes(data[: starts[12]])
    traj = tj.open(None, made)
    assert traj.index_state == "built"
    assert traj.n_frames == 12
    assert np.array_equal(traj.read().positions, made_truth.positions[:12])
    made.write_bytes(data)
    assert_reads(tj.open(None, made), made_truth)
    made.write_bytes(data[: starts[12] + 60])
    with raises(tj.TruncatedError):
        tj.open(None, made)
    made.write_bytes(b"")
    with pytest.raises(tj.FormatError):
        tj.open(None, made)


def test_damaged_sidecar_is_rebuilt_silently(
    made: Path, made_truth: Truth, capfd: pytest.CaptureFixture[str]
) -> None:
    """For any content of the sidecar, the file is read right, without a message, and rebuilt."""
    tj.open(None, made)
    sidecar = sidecar_of(made)
    good = sidecar.read_bytes()
    rng = np.random.default_rng(4)
    damaged = [b"", b"\0", b"rubbish", b"\0" * len(good), b"\xff" * len(good), good + b"\0"]
    damaged += [good[: rng.integers(1, len(good))] for _ in range(20)]
    damaged += [good[: len(good) - k] for k in (1, 2, 4, 8)]
    damaged += [good[::-1], good + good, rng.bytes(len(good)), made.read_bytes()]
    for position in [*range(min(64, len(good))), *rng.integers(0, len(good), size=60)]:
        changed = bytearray(good)
        changed[position] ^= 1 << int(rng.integers(0, 8))
        damaged.append(bytes(changed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for content in damaged:
            sidecar.write_bytes(content)
            traj = tj.open(None, made)
            assert traj.index_state == "built"
            assert_reads(traj, made_truth)
            assert tj.open(None, made).index_state == "loaded"
    assert capfd.readouterr() == ("", "")
    assert names_in(made.parent) == {made.name, sidecar.name}


def test_sidecar_can_be_disabled(made: Path, made_truth: Truth, cache_home: Path) -> None:
    """sidecar=False neither writes an index nor reads one."""
    before = sorted(cache_home.rglob("*"))
    traj = tj.open(None, made, sidecar=False)
    assert traj.index_state == "built"
    assert traj.index_path is None
    assert_reads(traj, made_truth)
    assert names_in(made.parent) == {made.name}
    assert sorted(cache_home.rglob("*")) == before
    sidecar_of(made).write_bytes(b"rubbish")
    assert_reads(tj.open(None, made, sidecar=False), made_truth)
    assert sidecar_of(made).read_bytes() == b"rubbish"


def test_folder_that_takes_no_sidecar_uses_the_cache(
    made: Path, made_truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index goes to the user's cache folder; the trajectory's folder is unchanged."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Nothing can be renamed onto a folder: this binds the superuser too, unlike permissions.
    sidecar_of(made).mkdir()
    (sidecar_of(made) / "something").touch()
    for state in ("built", "loaded"):
        traj = tj.open(None, made)
        assert traj.index_state == state
        assert traj.index_path is not None
        assert traj.index_path.is_relative_to(cache / "trajet")
        assert traj.index_path.is_file()
        assert_reads(traj, made_truth)
    assert names_in(made.parent) == {made.name, sidecar_of(made).name}
    assert names_in(sidecar_of(made)) == {"something"}
    assert [path for path in cache.rglob("*") if path.is_file()] == [traj.index_path]


def test_files_of_one_name_do_not_share_a_cached_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the cache folder, trajectories of the same name in different folders keep apart."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(7)
    paths = []
    for k in range(3):
        folder = tmp_path / str(k)
        folder.mkdir()
        paths.append(xtc_bytes.write_xtc(folder / "x.xtc", rng.uniform(0, 3, (5 + k, 20, 3))))
        sidecar_of(paths[-1]).mkdir()
    for state in ("built", "loaded"):
        for path in paths:
            traj = tj.open(None, path)
            assert traj.index_state == state
            assert_reads(traj, read_with_mdanalysis(path, tmp_path))


@pytest.mark.parametrize("kind", ["file", "missing parent", "occupied"])
def test_missing_place_for_an_index_is_no_error(
    made: Path, made_truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """If neither folder can be written, the index stays in memory."""
    blocker = tmp_path / "blocker"
    if kind == "occupied":
        blocker.mkdir()
        (blocker / "trajet").touch()
    else:
        blocker.touch()
    home = blocker if kind != "missing parent" else blocker / "below" / "a" / "file"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    sidecar_of(made).mkdir()
    for _ in range(2):
        traj = tj.open(None, made)
        assert traj.index_state == "built"
        assert traj.index_path is None
        assert_reads(traj, made_truth)
    assert names_in(made.parent) == {made.name, sidecar_of(made).name}


def test_folder_without_write_permission_is_unchanged(
    made: Path, made_truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only folder is unchanged, except by the superuser, who can write to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made.parent.chmod(0o555)
    try:
        traj = tj.open(None, made)
        assert_reads(traj, made_truth)
        assert traj.index_path is not None
        bound = os.geteuid() != 0
        assert traj.index_path.is_relative_to(tmp_path / "cache") == bound
        assert names_in(made.parent) == (
            {made.name} if bound else {made.name, sidecar_of(made).name}
        )
    finally:
        made.parent.chmod(0o755)


def index_with_command(xtc: Path, threads: int) -> None:
    """Rebuild the index with so many threads."""
    python("-m", "trajet", "index", "--force", "--threads", threads, xtc)


def test_large_file_has_the_same_index_with_any_threads(tmp_path: Path) -> None:
    """The file is large enough for several threads."""
    source = XTC_FILES["adk_oplsaa.xtc"]
    truth = read_with_mdanalysis(source, tmp_path)
    parts = xtc_bytes.pieces(source.read_bytes())
    order = np.random.default_rng(8).integers(0, len(parts), size=300)
    frames = [xtc_bytes.with_field(parts[k], xtc_bytes.STEP, step) for step, k in enumerate(order)]
    path = tmp_path / "large.xtc"
    path.write_bytes(b"".join(frames))
    starts = np.cumsum([0, *(len(frame) for frame in frames)])
    for threads in (1, 2, 3, 8):
        index_with_command(path, threads)
        traj = tj.open(None, path)
        assert traj.index_state == "loaded"
        assert np.array_equal(traj.steps, np.arange(300))
        assert np.array_equal(traj.times, truth.times[order])
        block = traj.read(frames=[299, 0, 100, 150, 200], atoms=[0, 47680, 1234])
        expected = truth.positions[order[[299, 0, 100, 150, 200]]][:, [0, 47680, 1234]]
        assert np.array_equal(block.positions, expected)
    with path.open("r+b") as file:
        file.truncate(int(starts[299]) + 1000)
        with raises(tj.TruncatedError):
            tj.open(None, path)
        file.seek(int(starts[200]))
        file.write(b"\0\0\7\0")
        file.flush()
        with raises(tj.FormatError):
            tj.open(None, path, rebuild_index=True)


def test_frames_within_frames_are_not_found(tmp_path: Path) -> None:
    """The coordinates contain headers, frame after frame: only the walk from byte 0 is right."""
    n = 300_000
    words = np.zeros((n, 41), ">i4")  # 14 words of header, 9 atoms
    for header in (0, 14):
        words[:, header + 0] = 1995
        words[:, header + 1] = 9
        words[:, header + 13] = 9
    words[:, 2] = np.arange(n)
    words[:, 14 + 2] = -7
    path = tmp_path / "nested.xtc"
    path.write_bytes(words.tobytes())
    for threads in (1, 3, 8):
        index_with_command(path, threads)
        traj = tj.open(None, path)
        assert traj.n_frames == n
        assert np.array_equal(traj.steps, np.arange(n))
    assert np.array_equal(tj.open(None, path, sidecar=False).steps, np.arange(n))


# Forks processes that open a file when all of them are there.
OPENERS = """
import json, os, sys, time, traceback
from pathlib import Path
import numpy as np
import trajet as tj
import trajet.trajectory

path, barrier, n = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
assert "MDAnalysis" not in sys.modules

def work(number):
    (barrier / str(number)).touch(exist_ok=False)
    while not (barrier / "go").exists():
        time.sleep(0.001)
    traj = tj.open(None, path)
    block = traj.read(atoms=[0, 333, 3340])
    answer = {
        "state": traj.index_state,
        "index": str(traj.index_path),
        "times": traj.times.tolist(),
        "positions": block.positions.tolist(),
    }
    (barrier / f"{number}.json").write_text(json.dumps(answer))

children = []
for number in range(n):
    if child := os.fork():
        children.append(child)
        continue
    try:
        work(number)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


@pytest.mark.parametrize("start", ["no sidecar", "damaged sidecar"])
def test_many_processes_open_a_file_at_once(
    own_adk: Adk, adk_truth: Truth, tmp_path: Path, start: str
) -> None:
    """12 processes open one new file together: all read it right and leave one sidecar."""
    n = 12
    xtc = own_adk.xtc
    own_adk.psf.unlink()
    if start == "damaged sidecar":
        sidecar_of(xtc).write_bytes(b"rubbish")
    barrier = tmp_path / "barrier"
    barrier.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", OPENERS, str(xtc), str(barrier), str(n)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    ) as parent:
        end = time.monotonic() + 60
        try:
            while len(names_in(barrier)) < n:
                assert parent.poll() is None, parent.communicate()[1]
                assert time.monotonic() < end
                time.sleep(0.01)
            (barrier / "go").touch()
            _, errors = parent.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)
    assert errors == ""
    assert parent.returncode == 0
    expected = adk_truth.positions[:, [0, 333, 3340]]
    for number in range(n):
        answer = json.loads((barrier / f"{number}.json").read_text())
        assert answer["state"] in ("built", "loaded")
        assert answer["index"] == str(sidecar_of(xtc))
        assert answer["times"] == adk_truth.times.tolist()
        assert np.array_equal(np.array(answer["positions"], np.float32), expected)
    assert names_in(xtc.parent) == {xtc.name, sidecar_of(xtc).name}
    traj = tj.open(None, xtc)
    assert traj.index_state == "loaded"
    assert_reads(traj, adk_truth)
