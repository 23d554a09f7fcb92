"""Mounted stores are read by programs that know nothing of trajet."""

import errno
import hashlib
import json
import mmap
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import execute, python
from helpers.golden_files import FORMATS, Adk
from helpers.made_files import write_names
from helpers.made_stores import TWO_TAGS, Solvated
from helpers.messages import raises
from helpers.mounted_stores import (
    PATIENCE,
    Mounted,
    becomes_true,
    is_mounted,
    mounted,
    needs_fuse,
    start,
    unmount,
)

READERS = {
    "xtc": mdtraj.formats.XTCTrajectoryFile,
    "trr": mdtraj.formats.TRRTrajectoryFile,
    "dcd": mdtraj.formats.DCDTrajectoryFile,
    "nc": mdtraj.formats.NetCDFTrajectoryFile,
}


@pytest.fixture(scope="module")
def shown(wet: Solvated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    """Return the mounted store."""
    with mounted(wet.store.folder, tmp_path_factory.mktemp("shown")) as at:
        yield at


def frames_of_mdanalysis(path: Path, numbers: list[int]) -> Iterator[tuple[Any, ...]]:
    """Yield positions, cells and times that MDAnalysis reads of some frames."""
    kind = {"xtc": "XTC", "trr": "TRR", "dcd": "DCD", "nc": "NCDF"}[path.suffix[1:]]
    with FORMATS[kind].reader(str(path)) as reader:
        for number in numbers:
            ts = reader[number]
            yield ts.positions.copy(), ts.dimensions, ts.time


def frames_of_mdtraj(path: Path, numbers: list[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the frames that mdtraj reads."""
    with READERS[path.suffix[1:]](str(path)) as file:
        for number in numbers:
            file.seek(number)
            yield tuple(file.read(n_frames=1))


def assert_same(read: Iterator[tuple[Any, ...]], source: Iterator[tuple[Any, ...]]) -> None:
    """Compare frames, number by number."""
    for ours, theirs in zip(read, source, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None)
            assert a is None or np.array_equal(a, b)


def test_whole_is_the_source_and_tags_are_their_files(wet: Solvated, shown: Mounted) -> None:
    """GROMACS' file is returned byte for byte, with its size known before it is read."""
    names = {"wet.xtc", "wet.dcd", "wet.gro"}
    for tag in ("protein", "ion", "water"):
        names |= {f"wet@{tag}.{ending}" for ending in ("xtc", "dcd", "gro", "ndx")}
    assert {path.name for path in shown.folder.iterdir()} == names
    same = {"wet.xtc": wet.xtc, "wet.gro": wet.gro}
    for tag, tier in (("protein", "fast"), ("ion", "slow"), ("water", "slow")):
        (folder,) = (wet.folder / tier).glob("wet-*")
        names_of_tag = [f"{tag}.{ending}" for ending in ("xtc", "gro", "ndx")]
        same |= {f"wet@{name}": folder / name for name in names_of_tag}
    for name, path in same.items():
        found = (shown / name).stat()
        assert found.st_size == path.stat().st_size
        assert found.st_mode == 0o100444
        assert found.st_mtime_ns == (wet.path / "manifest.json").stat().st_mtime_ns
        assert (shown / name).read_bytes() == path.read_bytes()
    for refused in (lambda: (shown / "new").write_text(""), (shown / "wet.xtc").unlink):
        with raises(OSError):
            refused()
    assert not (shown / "wet.nc").exists()
    assert not (shown / "dry.xtc").exists()


def test_decoded_views_equal_the_source(wet: Solvated, shown: Mounted) -> None:
    """DCD files have the cells and times of the source, and every bit of its positions."""
    source = tj.open(wet.gro, wet.xtc)
    for name, atoms in (("wet.dcd", "all"), ("wet@protein.dcd", "protein")):
        view = tj.open(None, shown / name).read()
        truth = source.select(atoms).read()
        assert np.array_equal(view.positions, truth.positions)
        assert np.allclose(view.times, truth.times, rtol=1e-6)
        assert np.allclose(view.cells, truth.cells, rtol=1e-6)


def test_view_that_cannot_hold_the_frames_is_not_shown(own_wet: Solvated, tmp_path: Path) -> None:
    """DCD has no place for unequal time steps, as after a simulation that was restarted."""
    own_wet.store.append("wet", tj.open(None, own_wet.xtc, own_wet.xtc, sidecar=False))
    with mounted(own_wet.store.folder, tmp_path / "shown") as shown:
        names = os.listdir(shown.folder)
        assert "wet.xtc" in names
        assert not [name for name in names if name.endswith(".dcd")]
        assert not (shown / "wet.dcd").exists()
        assert all((shown / name).stat().st_size for name in names)
        assert (shown / "wet.xtc").read_bytes() == 2 * own_wet.xtc.read_bytes()
        assert shown.end() == (0, "")


def test_listing_reads_the_manifests_alone(adk: Adk, tmp_path: Path) -> None:
    """Times are in tables, which a listing does not read, for any number of frames."""
    store, profile = tj.Store(tmp_path / "store", create=True), tmp_path / "profile.toml"
    profile.write_text(TWO_TAGS.replace(" or index 200:250", ""))
    chosen = tj.open(adk.psf, adk.xtc).select("index 0:119")
    tj.convert(chosen, tmp_path / "few.xtc", topology=tmp_path / "few.gro")
    few = (tmp_path / "few.xtc").read_bytes()
    names = ["one", "two", "three"]
    for name, times in zip(names, (1, 120, 120), strict=True):
        xtc = tmp_path / f"{name}.xtc"
        xtc.write_bytes(few * times)
        store.add(name, tj.open(tmp_path / "few.gro", xtc), profile=profile)
    manifests = [store.folder / name / "manifest.json" for name in names]
    moments = 2 * 120 * 98 * 16
    with mounted(store.folder, tmp_path / "shown") as shown:
        counts = Path(f"/proc/{shown.process.pid}/io")
        before = int(counts.read_text().split()[1])
        listed = os.listdir(shown.folder)
        read = int(counts.read_text().split()[1]) - before
    views = {"one.dcd", "one@some.dcd", "one@others.dcd"}
    assert {name for name in listed if name.endswith(".dcd")} == views
    # Settings and requests of the kernel are read, too.
    assert read < sum(path.stat().st_size for path in manifests) + 2**14 < moments


def test_reads_are_logged_when_a_file_is_closed(own_wet: Solvated, tmp_path: Path) -> None:
    """The entry has tags, frames and bytes; a failed read, or a look at metadata, is not logged."""
    sizes = {kept.tag.name: kept.size for kept in own_wet.store.show("wet").tags}
    record = own_wet.path / "access.jsonl"

    def nth_use(count: int) -> dict[str, Any]:
        # The kernel reports later that a file was closed.
        assert becomes_true(lambda: record.exists() and record.read_text().count("\n") >= count)
        use: dict[str, Any] = json.loads(record.read_text().splitlines()[count - 1])
        assert use.pop("at")[:2] == "20"
        return use

    with mounted(own_wet.store.folder, tmp_path / "shown") as shown:
        for name in os.listdir(shown.folder):
            (shown / name).stat()
        (shown / "wet@protein.ndx").read_bytes()
        (shown / "wet@protein.xtc").read_bytes()
        of_protein = {"protein": sizes["protein"]}
        once = {"what": "mount", "tags": ["protein"], "frames": 10, "bytes": of_protein}
        assert nth_use(1) == once
        (shown / "wet.xtc").read_bytes()
        whole = nth_use(2)
        assert (whole["tags"], whole["frames"]) == (["protein", "ion", "water"], 10)
        for tag, size in sizes.items():
            # Opening a file costs some bytes, too.
            assert size <= whole["bytes"][tag] <= size + 40_000
        (shown / "wet@ion.dcd").read_bytes()
        assert (nth_use(3)["tags"], nth_use(3)["frames"]) == (["ion"], 10)
        with (shown / "wet@water.xtc").open("rb", buffering=0) as left_open:
            left_open.read(700_000)
            assert shown.end() == (0, "")
            assert nth_use(4)["tags"] == ["water"]
            assert 4 <= nth_use(4)["frames"] < 10
    stats = own_wet.store.stats("wet")
    assert stats.uses == 4
    assert {tag.name: tag.uses for tag in stats.tags} == {"protein": 2, "ion": 2, "water": 2}


def test_log_that_cannot_be_written_is_no_error_of_reads(own_wet: Solvated, tmp_path: Path) -> None:
    """The store is on a read-only disk, for example."""
    (own_wet.path / "access.jsonl").mkdir()
    with mounted(own_wet.store.folder, tmp_path / "shown") as shown:
        for _ in range(2):
            assert (shown / "wet.xtc").read_bytes() == own_wet.xtc.read_bytes()
        assert shown.end() == (0, "")


def test_store_may_be_an_option(wet: Solvated, tmp_path: Path) -> None:
    """All other commands take the option, too; both forms at once are an error."""
    needs_fuse()
    folder = tmp_path / "shown"
    folder.mkdir()
    words = [sys.executable, "-m", "trajet", "store", "mount"]
    store = str(wet.store.folder)
    process = subprocess.Popen([*words, "--store", store, str(folder)], stdout=subprocess.PIPE)
    try:
        assert becomes_true(lambda: is_mounted(folder))
        assert (folder / "wet.xtc").read_bytes() == wet.xtc.read_bytes()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        process.communicate()
    for wrong in (["--store", store, store, str(folder)], [str(folder)], []):
        messages.compare(execute(*words, *wrong, code=2).stderr)


def test_files_can_be_mapped_into_memory(wet: Solvated, shown: Mounted) -> None:
    """Readers of NetCDF do this."""
    with (
        (shown / "wet.xtc").open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
    ):
        assert mapped[:] == wet.xtc.read_bytes()


def test_other_programs_read_forwards_and_at_random(wet: Solvated, shown: Mounted) -> None:
    """MDAnalysis and mdtraj read every frame."""
    numbers = list(range(10))
    anyhow = random.Random(7).choices(numbers, k=20)
    for order in (numbers, anyhow):
        for frames in (frames_of_mdanalysis, frames_of_mdtraj):
            assert_same(frames(shown / "wet.xtc", order), frames(wet.xtc, order))


@pytest.mark.parametrize("ending", sorted(READERS))
def test_grown_data_sets_of_every_format_are_one_file(ending: str, tmp_path: Path) -> None:
    """The whole and each tag are one file, however many segments they have."""
    source = tj.open(None, FORMATS["XTC"].files()["cobrotoxin.xtc"], sidecar=False)
    first, whole = tmp_path / f"first.{ending}", tmp_path / f"all.{ending}"
    tj.convert(source, first, frames=slice(0, 2), allow_loss=True)
    tj.convert(source, whole, allow_loss=True)
    topology = tmp_path / "top.gro"
    write_names(topology, source.n_atoms)
    (tmp_path / "two.toml").write_text(TWO_TAGS)
    store = tj.Store(tmp_path / "store", create=True)
    growing = tmp_path / f"grown.{ending}"
    growing.write_bytes(first.read_bytes())
    store.add("set", tj.open(topology, growing, sidecar=False), profile=tmp_path / "two.toml")
    growing.write_bytes(whole.read_bytes())
    store.append("set", tj.open(topology, growing, sidecar=False))
    with mounted(store.folder, tmp_path / "shown") as shown:
        read = tj.open(None, shown / f"set.{ending}", sidecar=False)
        truth = tj.open(None, whole, sidecar=False)
        assert read.n_frames == truth.n_frames > 2
        for a, b in zip(read.blocks(1), truth.blocks(1), strict=True):
            assert np.array_equal(a.positions, b.positions)
            assert np.array_equal(a.cells, b.cells, equal_nan=True)
            assert np.array_equal(a.times, b.times)
        assert (shown / f"set.{ending}").read_bytes() == whole.read_bytes()
        numbers = random.Random(3).choices(range(read.n_frames), k=2 * read.n_frames)
        for frames in (frames_of_mdanalysis, frames_of_mdtraj):
            assert_same(frames(shown / f"set.{ending}", numbers), frames(whole, numbers))
        for tag in ("some", "others"):
            for view in {ending, "dcd"}:
                part = tj.open(None, shown / f"set@{tag}.{view}", sidecar=False)
                mine = store.open("set", tags=[tag]).read()
                assert np.array_equal(part.read().positions, mine.positions)
                assert np.allclose(part.times, truth.times, rtol=1e-6)
        assert shown.end() == (0, "")


# Eight processes, which are forked before they open the file.
READ_AT_ONCE = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_mount import digest_of_frames
with multiprocessing.get_context("fork").Pool(8) as pool:
    jobs = [(Path(sys.argv[1]), seed) for seed in range(8)]
    print(*pool.starmap(digest_of_frames, jobs, chunksize=1))
"""


def digest_of_frames(path: Path, seed: int) -> str:
    """Return a digest of all frames, read forwards and then at random."""
    numbers = [*range(10), *random.Random(seed).choices(range(10), k=8)]
    digest = hashlib.sha256()
    for frames in (frames_of_mdanalysis, frames_of_mdtraj):
        for frame in frames(path, numbers):
            for value in frame:
                digest.update(np.asarray(value).tobytes())
    return digest.hexdigest()


def test_eight_readers_at_once_read_the_source(wet: Solvated, tmp_path: Path) -> None:
    """They are processes that all start with the same file."""
    with mounted(wet.store.folder, tmp_path / "shown") as shown:
        here = Path(__file__).parent
        digests = python(
            "-c", READ_AT_ONCE, shown / "wet.xtc", here, timeout=4 * PATIENCE
        ).stdout.split()
        assert digests == [digest_of_frames(wet.xtc, seed) for seed in range(8)]
        assert shown.end() == (0, "")


READ_FOR_EVER = """
import os, sys
print("reading", flush=True)
try:
    while True:
        with open(sys.argv[1], "rb") as file:
            while file.read(1 << 16):
                pass
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
except OSError as error:
    print(error, flush=True)
"""


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    """Return a signal that newly started processes handle, also under nohup."""
    before = signal.signal(request.param, signal.SIG_DFL)
    yield request.param
    signal.signal(request.param, before)


def test_unmounting_ends_active_readers(wet: Solvated, tmp_path: Path, number: int) -> None:
    """The mount ends at once and cleanly; the readers get errors."""
    with mounted(wet.store.folder, tmp_path / "shown") as shown:
        names = ["wet.xtc", "wet.dcd", "wet@water.xtc", "wet@protein.dcd"]
        words = [[sys.executable, "-c", READ_FOR_EVER, str(shown / name)] for name in names]
        readers = [subprocess.Popen(w, stdout=subprocess.PIPE, text=True) for w in words]
        try:
            for reader in readers:
                assert reader.stdout is not None
                assert reader.stdout.readline() == "reading\n"
            assert shown.end(number) == (0, "")
            for reader in readers:
                output, _ = reader.communicate(timeout=PATIENCE)
                assert output.startswith("[Errno"), output
        finally:
            for reader in readers:
                reader.kill()
        assert not any(shown.folder.iterdir())


def test_open_files_are_served_after_a_lazy_unmount(wet: Solvated, tmp_path: Path) -> None:
    """After `umount -l`, the mount ends when the last file is closed."""
    with mounted(wet.store.folder, tmp_path / "shown") as shown:
        with (shown / "wet.xtc").open("rb") as file:
            begin = file.read(1000)
            unmount(shown.folder, lazily=True)
            assert not is_mounted(shown.folder)
            assert begin + file.read() == wet.xtc.read_bytes()
            assert shown.process.poll() is None
        assert shown.ended() == (0, "")


def test_killed_mount_is_mounted_again(wet: Solvated, tmp_path: Path) -> None:
    """Readers get errors, and the next mount removes the stale one."""
    folder = tmp_path / "shown"
    with mounted(wet.store.folder, folder) as shown:
        file = (shown / "wet.xtc").open("rb", buffering=0)
        shown.process.kill()
        shown.process.wait()
        assert is_mounted(folder)
        with pytest.raises(OSError):
            file.read()
        with raises(OSError):
            file.close()
        with raises(OSError):
            folder.stat()
        words = start(wet.store.folder, folder)
        try:
            assert becomes_true(lambda: is_alive(folder))
            assert (folder / "wet.xtc").read_bytes() == wet.xtc.read_bytes()
        finally:
            words.send_signal(signal.SIGINT)
            assert words.wait(PATIENCE) == 0
            words.communicate()


def is_alive(folder: Path) -> bool:
    """Return whether a folder can be listed and is not empty."""
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def test_missing_file_is_an_error_of_reads_that_need_it(own_wet: Solvated, tmp_path: Path) -> None:
    """Other tags are read as before, sizes are known, and the file may come back."""
    (water,) = (own_wet.folder / "slow").glob("wet-*/water.xtc")
    (ion,) = (own_wet.folder / "slow").glob("wet-*/ion.xtc")
    with mounted(own_wet.store.folder, tmp_path / "shown") as shown:
        water.rename(water.with_suffix(".away"))
        ion.write_bytes(ion.read_bytes()[:-8])
        for name in ("wet.xtc", "wet.dcd", "wet@water.xtc", "wet@water.dcd", "wet@ion.xtc"):
            assert (shown / name).stat().st_size > 0
            with raises(OSError) as caught:
                (shown / name).read_bytes()
            assert caught.value.errno == errno.EIO
        protein = next((own_wet.folder / "fast").glob("wet-*/protein.xtc"))
        assert (shown / "wet@protein.xtc").read_bytes() == protein.read_bytes()
        water.with_suffix(".away").rename(water)
        assert (shown / "wet@water.xtc").read_bytes() == water.read_bytes()
        code, stderr = shown.end()
    assert code == 0
    assert f"trajet: wet@water.xtc: {water}: cannot open: No such file" in stderr
    assert f"trajet: wet@ion.xtc: {ion}: has " in stderr
    assert "trajet: wet.xtc: " in stderr


def test_changed_byte_is_an_error_of_reads_that_need_it(own_wet: Solvated, tmp_path: Path) -> None:
    """These are the whole, the tag and decoded views; frames before it and other tags are read."""
    protein = next((own_wet.folder / "fast").glob("wet-*/protein.xtc"))
    begin = int(tj.open(None, protein).source.reader.offsets()[6])
    data = bytearray(protein.read_bytes())
    data[begin + 1000] ^= 1
    protein.write_bytes(data)
    with mounted(own_wet.store.folder, tmp_path / "shown") as shown:
        for name in ("wet.xtc", "wet.dcd", "wet@protein.xtc", "wet@protein.dcd"):
            with raises(OSError) as caught:
                (shown / name).read_bytes()
            assert caught.value.errno == errno.EIO
        before = int(tj.open(None, own_wet.xtc).source.reader.offsets()[5])
        with (shown / "wet.xtc").open("rb") as file:
            assert file.read(before) == own_wet.xtc.read_bytes()[:before]
        water = next((own_wet.folder / "slow").glob("wet-*/water.xtc"))
        assert (shown / "wet@water.xtc").read_bytes() == water.read_bytes()
        code, stderr = shown.end()
    assert code == 0
    lines = [
        line for line in stderr.splitlines() if f"{protein}: frame 6 at byte {begin} is not" in line
    ]
    assert {line.split(": ")[1] for line in lines} == {
        "wet.xtc",
        "wet.dcd",
        "wet@protein.xtc",
        "wet@protein.dcd",
    }
    assert all(f"trajet store verify {own_wet.path} says" in line for line in lines)


def test_mount_follows_the_store(own_wet: Solvated, tmp_path: Path) -> None:
    """Added and removed data sets appear and disappear; open files stay readable."""
    store = own_wet.store
    with mounted(store.folder, tmp_path / "shown") as shown:
        before = (shown / "wet.xtc").stat()
        with (shown / "wet.xtc").open("rb") as file, (shown / "wet@water.xtc").open("rb") as part:
            begin, of_water = file.read(500_000), part.read(1000)
            (water,) = (own_wet.folder / "slow").glob("wet-*/water.xtc")
            bytes_of_water = water.read_bytes()
            store.move("wet", "water", "fast")
            assert becomes_true(lambda: (shown / "wet.xtc").stat().st_ino != before.st_ino)
            assert begin + file.read() == own_wet.xtc.read_bytes()
            assert of_water + part.read() == bytes_of_water
        assert (shown / "wet.xtc").read_bytes() == own_wet.xtc.read_bytes()
        store.add("more.sets", tj.open(own_wet.gro, own_wet.xtc), profile=own_wet.profile)
        assert "more.sets@ion.dcd" in os.listdir(shown.folder)
        assert (shown / "more.sets.xtc").read_bytes() == own_wet.xtc.read_bytes()
        store.append("wet", tj.open(None, own_wet.xtc, own_wet.xtc, sidecar=False))
        assert becomes_true(lambda: (shown / "wet.xtc").stat().st_size == 2 * before.st_size)
        assert (shown / "wet.xtc").read_bytes() == own_wet.xtc.read_bytes() * 2
        store.remove("wet")
        assert becomes_true(lambda: not (shown / "wet.xtc").exists())
        assert all(name.startswith("more.sets") for name in os.listdir(shown.folder))
        assert shown.end() == (0, "")


def _file(folder: Path, _: Path) -> AbstractContextManager[object]:
    folder.write_text("")
    return nullcontext()


def _full(folder: Path, _: Path) -> AbstractContextManager[object]:
    folder.mkdir()
    (folder / "mine").touch()
    return nullcontext()


# The function that makes each folder, and the error message.
REFUSALS: dict[str, tuple[Callable[[Path, Path], AbstractContextManager[object]], str]] = {
    "missing": (lambda folder, store: nullcontext(), "there is no such folder to mount on"),
    "file": (_file, "not a folder"),
    "full": (_full, "is not empty (there is mine)"),
    "in use": (
        lambda folder, store: mounted(store, folder),
        "mounted there already (trajet, fuse)",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_unusable_mount_points_are_errors(case: str, wet: Solvated, tmp_path: Path) -> None:
    """One line states the reason and the remedy."""
    begin, words = REFUSALS[case]
    folder = tmp_path / "shown"
    with begin(folder, wet.store.folder):
        process = start(wet.store.folder, folder)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert stderr.startswith(f"trajet: {folder}: ") and words in stderr
    assert stderr.count("\n") == 1
    assert not is_mounted(folder)


def test_folder_in_the_store_and_missing_store_are_errors(wet: Solvated, tmp_path: Path) -> None:
    """Neither is mounted."""
    inside = wet.store.folder / "shown"
    on_tier = wet.folder / "fast" / "shown"
    inside.mkdir()
    on_tier.mkdir()
    for store, folder, words in (
        (wet.store.folder, inside, "lies in the store itself"),
        (wet.store.folder, on_tier, "or in a tier"),
        (tmp_path, tmp_path, "not a store"),
    ):
        process = start(store, folder)
        _, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert words in stderr
    inside.rmdir()
    on_tier.rmdir()


def test_number_of_threads_changes_nothing(wet: Solvated, tmp_path: Path) -> None:
    """A single thread that answers is enough."""
    script = (
        "import sys, trajet as tj\n"
        "ready = lambda: print('shows', flush=True)\n"
        "tj.Store(sys.argv[1]).mount(sys.argv[2], threads=1, ready=ready)\n"
    )
    needs_fuse()
    folder = tmp_path / "shown"
    folder.mkdir()
    words = [sys.executable, "-c", script, wet.store.folder, folder]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "shows\n"
        assert (folder / "wet.xtc").read_bytes() == wet.xtc.read_bytes()
        unmount(folder)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()
        if is_mounted(folder):
            unmount(folder, lazily=True)
