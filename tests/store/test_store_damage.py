"""No number is computed from a file of a tag, or of a store, that was changed from outside."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import execute
from helpers.golden_files import Adk
from helpers.made_stores import TWO_TAGS
from helpers.messages import raises
from trajet._trajet import StoreError
from trajet.cli.tables import one_line
from trajet.dataset import Dataset, DatasetPath
from trajet.quoting import escaped, lines_of
from trajet.store import Profile
from trajet.store.access_log import recorded

N_FRAMES = 12
ENDINGS = ("xtc", "trr", "dcd", "nc")


@dataclass(frozen=True)
class Case:
    """A data set and the file of its tag `some`."""

    store: tj.Store
    psf: Path
    source: Path
    file: Path

    @property
    def path(self) -> Path:
        """Return the path of the data set."""
        return self.store.folder / "set"

    def flip(self, at: int) -> None:
        """Change a bit of the file."""
        data = bytearray(self.file.read_bytes())
        data[at] ^= 4
        self.file.write_bytes(data)

    def offset(self, frame: int) -> int:
        """Return the offset of a frame of the file."""
        return int(tj.open(None, self.file).source.reader.offsets()[frame])


def make(adk: Adk, folder: Path, ending: str) -> Case:
    """Divide the first frames, in a format."""
    source, profile = folder / f"set.{ending}", folder / "profile.toml"
    tj.convert(tj.open(adk.psf, adk.xtc), source, frames=slice(0, N_FRAMES))
    profile.write_text(TWO_TAGS)
    store = tj.Store(folder / "store", create=True)
    store.add("set", tj.open(adk.psf, source), profile=profile)
    (some,) = (kept for kept in store.show("set").tags if kept.tag.name == "some")
    return Case(store, adk.psf, source, some.paths[0])


@pytest.fixture(params=ENDINGS)
def case(adk: Adk, tmp_path: Path, request: pytest.FixtureRequest) -> Case:
    """Return one case of each format."""
    return make(adk, tmp_path, request.param)


def read_all(case: Case) -> object:
    """Read all tags."""
    return tj.open(case.path).read()


def read_one_atom(case: Case) -> object:
    """Read a few atoms of each frame."""
    return tj.open(case.path).read(atoms=[3])


def read_raw(case: Case) -> object:
    """Copy the tag, as it is stored."""
    out = case.store.folder.parent / f"copy{case.file.suffix}"
    try:
        return case.store.get("set", out, tags=["some"])
    finally:
        assert not out.exists()


def analyse(pool: Callable[[], tj.Pool]) -> Callable[[Case], object]:
    """Return a function that analyses the tag in a pool."""

    def run(case: Case) -> object:
        return tj.rmsd(tj.open(case.path).select("index 0:99"), pool=pool())

    return run


READS: dict[str, Callable[[Case], object]] = {
    "all": read_all,
    "one": read_one_atom,
    "get": read_raw,
    "threads": analyse(lambda: tj.LocalPool(threads=2)),
    "processes": analyse(lambda: tj.ProcessPool(workers=2, task_frames=3)),
}


def places_and_ways() -> Iterator[object]:
    """Yield every place with every way to read; after an error, processes start anew."""
    for place in ("begin", "middle", "end"):
        for way in READS:
            is_long = way == "processes" and place != "middle"
            yield pytest.param(place, way, marks=pytest.mark.long if is_long else ())


@pytest.mark.parametrize(("place", "way"), [*places_and_ways()])
def test_changed_frame_is_an_error(case: Case, place: str, way: str) -> None:
    """It names file, frame and byte, and the remedy; the other tag is read as before."""
    frame = {"begin": 0, "middle": 5, "end": N_FRAMES - 1}[place]
    begin, size = case.offset(frame), case.file.stat().st_size
    end = size if frame == N_FRAMES - 1 else case.offset(frame + 1)
    case.flip({"begin": begin + (end - begin) // 2, "middle": end - 9, "end": size - 1}[place])
    with raises(tj.StoreError):
        READS[way](case)
    others = tj.open(case.psf, case.source).select("not (index 0:99 or index 200:250)")
    read = tj.open(f"{case.path}@others").read()
    assert np.array_equal(read.positions, others.read().positions)
    (problem,) = case.store.verify("set")
    assert f"frame {frame} (bytes {begin} to {end})" in problem


@pytest.mark.parametrize("case", ["dcd", "nc"], indirect=True)
@pytest.mark.parametrize("at", [13, 60, -1])
def test_changed_head_is_an_error(case: Case, at: int) -> None:
    """The byte may be anywhere before the first frame."""
    case.flip(at if at >= 0 else case.offset(0) - 1)
    with raises(tj.StoreError):
        read_one_atom(case)


@pytest.mark.parametrize("change", ["cut", "grown", "replaced"])
def test_another_file_is_an_error(case: Case, change: str) -> None:
    """It is an error even if the file is valid by itself."""
    data = case.file.read_bytes()
    match change:
        case "cut":
            case.file.write_bytes(data[: case.offset(N_FRAMES - 1)])
        case "grown":
            case.file.write_bytes(data + data[case.offset(N_FRAMES - 1) :])
        case "replaced":
            atoms = tj.open(case.psf, case.source).select("index 1:100 or index 200:250")
            own = case.file.with_name(f"own{case.file.suffix}")
            tj.convert(atoms, own)
            own.replace(case.file)
    with raises(tj.StoreError):
        read_one_atom(case)


def test_command_reports_damage_in_one_line(case: Case) -> None:
    """Its exit code is 1, and it has no result."""
    case.flip(case.offset(7) + 40)
    out = case.store.folder.parent / "out.npz"
    words = [sys.executable, "-m", "trajet", "rmsd", case.path, "--select", "index 0:99"]
    done = execute(*words, "-o", out, "--quiet", code=None)
    assert (done.returncode, len(done.stderr.splitlines()), out.exists()) == (1, 1, False)
    messages.compare(done.stderr)


@pytest.fixture
def store(adk: Adk, tmp_path: Path) -> tj.Store:
    """Make a store of two tags of `adk`."""
    profile = tmp_path / "profile.toml"
    profile.write_text(TWO_TAGS)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("adk", tj.open(adk.psf, adk.xtc), profile=profile)
    return store


@pytest.mark.parametrize("key", ["segments", "source"])
def test_manifest_without_frames_or_source_is_an_error(adk: Adk, store: tj.Store, key: str) -> None:
    """It is a StoreError, not an IndexError."""
    path = store.folder / "adk" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: []}))
    with raises(StoreError):
        store.append("adk", tj.open(None, adk.xtc))


def test_topology_that_is_a_named_pipe_or_a_link_is_an_error(store: tj.Store) -> None:
    """Opening a pipe would block."""
    (topology,) = (store.folder / "adk").glob("topology-*")
    kept = topology.rename(topology.with_name("kept"))
    os.mkfifo(topology)
    with raises(StoreError):
        _ = store.open("adk").topology
    topology.unlink()
    topology.symlink_to(kept)
    with raises(StoreError):
        _ = store.open("adk").topology


def test_deeply_nested_profile_is_an_error(tmp_path: Path) -> None:
    """It is not a RecursionError."""
    path = tmp_path / "deep.toml"
    path.write_text("tiers = " + "[" * 100_000)
    with raises(StoreError):
        Profile.load(path)


def test_name_has_at_most_100_characters(tmp_path: Path) -> None:
    """Profiles and manifests have the same limit."""
    text = TWO_TAGS.replace('"some"', f'"{"x" * 101}"')
    with raises(StoreError):
        Profile.parse(text, "profile", tmp_path)
    Profile.parse(TWO_TAGS.replace('"some"', f'"{"x" * 100}"'), "profile", tmp_path)


def test_escape_sequences_are_printed_escaped() -> None:
    """A terminal would obey them."""
    assert escaped("plain … ü") == "plain … ü"
    assert escaped("a\x1b[31m\udc80") == "a\\x1b[31m\\udc80"
    assert lines_of([("\x07", "x"), ("ab", "y")]) == ["\\x07  x", "ab    y"]
    assert one_line(ValueError("a\nb\x1b")) == "a b\\x1b"
    assert one_line(FileNotFoundError(2, "gone", "\x1b[2J")) == "\\x1b[2J: gone"


def test_atoms_of_tags_are_those_of_the_manifest(store: tj.Store) -> None:
    """Tags have their atoms with the numbers in the original."""
    manifest = json.loads(store._native.manifest("adk"))
    n_atoms = manifest["n_atoms"]
    some = np.r_[0:100, 200:251]
    place = DatasetPath(store.folder, "adk", ("s",), "label")
    dataset = Dataset(place, manifest, ("fast", "slow"))
    assert dataset.origin is not None
    np.testing.assert_array_equal(dataset.origin, some)
    assert dataset.tags_of(None) == dataset.tags_of(np.array([0])) == ["some"]
    whole = Dataset(DatasetPath(store.folder, "adk", None, "label"), manifest, ("fast", "slow"))
    assert whole.origin is None
    assert whole.tags_of(None) == ["some", "others"]
    assert whole.tags_of(some) == ["some"]
    assert whole.tags_of(np.setdiff1d(np.arange(n_atoms), some)) == ["others"]


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, "{}", "[]", "null", '{"at":1,"what":[],"tags":7,"frames":{},"bytes":1}', "\0"],
)
def test_damaged_line_of_the_access_log_is_ignored(tmp_path: Path, line: str) -> None:
    """The other lines count."""
    good = '{"at":"x","what":"read","tags":["a"],"frames":1,"bytes":{"a":2}}'
    path = tmp_path / "access.jsonl"
    path.write_text(f"{line}\n{good}\n")
    assert [use.bytes for use in recorded(path)] == [{"a": 2}]


def test_access_log_that_is_no_regular_file_is_empty(tmp_path: Path) -> None:
    """Opening a named pipe would block."""
    os.mkfifo(tmp_path / "access.jsonl")
    assert list(recorded(tmp_path / "access.jsonl")) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", 7), ("tasks", [1]), ("stages", []), ("threads", "x"), ("stages", {"t_read": ""})],
)
def test_mistyped_report_is_an_error(adk: Adk, tmp_path: Path, name: str, value: object) -> None:
    """It is not a TypeError."""
    path = tmp_path / "report.json"
    report = tj.rmsf(tj.open(adk.psf, adk.xtc).select(range(3)), frames=slice(2)).report
    path.write_text(json.dumps(dict(report) | {name: value}))
    with raises(tj.FormatError):
        tj.Report.load(path)
    path.write_text("[" * 100_000)
    with raises(tj.FormatError):
        tj.Report.load(path)
