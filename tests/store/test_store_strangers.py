"""Stores and profiles of strangers are read and printed safely."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_stores import TWO_TAGS
from helpers.messages import raises
from trajet._trajet import StoreError
from trajet.cli.tables import one_line
from trajet.dataset import Dataset, DatasetPath
from trajet.quoting import escaped, lines_of
from trajet.store import Profile
from trajet.store.access_log import recorded


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
