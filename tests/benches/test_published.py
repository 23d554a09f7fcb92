"""`benches/published.py` makes the files that it states, and measures the stated conditions."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import MDAnalysis
import numpy as np
import published
import pytest
import repeated_frames
import trajet as tj
from helpers.messages import raises
from published_systems import RUNS, Condition

N_ATOMS, N_DISTINCT = 12, 3


@pytest.fixture
def distinct() -> repeated_frames.Encoded:
    """Three frames of twelve atoms."""
    universe: Any = MDAnalysis.Universe.empty(N_ATOMS, trajectory=True)
    universe.dimensions = [50, 50, 50, 90, 90, 90]
    random = np.random.default_rng(1)
    frames = (random.uniform(0, 50, (N_ATOMS, 3)).astype(np.float32) for _ in range(N_DISTINCT))
    return repeated_frames.encode(universe, frames)


@pytest.mark.parametrize("n_frames", [1, 3, 8])
def test_repeated_frames_have_their_own_steps_and_times(
    distinct: repeated_frames.Encoded, tmp_path: Path, n_frames: int
) -> None:
    """Positions and cells repeat, steps and times go on; bytes and offsets are the stated ones."""
    path = tmp_path / "repeated.xtc"
    repeated_frames.write_repeated(path, distinct, n_frames, 2.5)
    assert path.stat().st_size == distinct.size(n_frames)
    plain = tmp_path / "distinct.xtc"
    distinct.data.tofile(plain)
    once, block = tj.open(None, plain).read(), tj.open(None, path).read()
    places = np.arange(n_frames) % N_DISTINCT
    assert np.array_equal(block.positions, once.positions[places])
    assert np.array_equal(block.cells, once.cells[places])
    assert np.array_equal(block.steps, np.arange(n_frames))
    assert np.array_equal(block.times, 2.5 * np.arange(n_frames))
    reader: Any = MDAnalysis.coordinates.XTC.XTCReader(str(path))
    assert np.array_equal(reader._xdr.offsets, distinct.offsets(n_frames))


def test_large_files_are_written_in_pieces(
    distinct: repeated_frames.Encoded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of many pieces, each of several rounds, has the bytes of one piece."""
    small, large = tmp_path / "small.xtc", tmp_path / "large.xtc"
    repeated_frames.write_repeated(small, distinct, 100, 1.0)
    monkeypatch.setattr(repeated_frames, "WRITTEN", 2 * len(distinct.data))
    monkeypatch.setattr(repeated_frames, "SYNCED", len(distinct.data))
    repeated_frames.write_repeated(large, distinct, 100, 1.0)
    assert large.read_bytes() == small.read_bytes()


def test_disk_without_room_is_an_error(
    distinct: repeated_frames.Encoded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error states both sizes, and nothing is written."""
    free = repeated_frames.MARGIN + distinct.size(1000) - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with raises(repeated_frames.NoRoomError):
        repeated_frames.write_repeated(tmp_path / "a.xtc", distinct, 1000, 1.0)
    assert not list(tmp_path.iterdir())
    repeated_frames.write_repeated(tmp_path / "a.xtc", distinct, 999, 1.0)


def test_table_has_a_line_for_each_condition() -> None:
    """Medians over the rounds, cold before warm, with the target where it applies."""
    rows = [
        published.Row("adk", 10, cache, "kept", cores, k, k + 1.0, 2.0, 0.0, 10**9, 10**9, 3.0)
        for cache in ("warm", "cold")
        for cores in (2, 1)
        for k in range(3)
    ]
    run = replace(RUNS[0], target=(Condition("cold", "kept", 2), 60.0))
    lines = published.as_table(rows, run)[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| cold", "| cold", "| warm", "| warm"]
    assert lines[1] == (
        "| cold | kept | 2 | 10 | 2.0 (1.0 to 3.0) | 2.0 (2.0 to 2.0) |  | 1.00 | 1.00"
        " | 3.0 (3.0 to 3.0) | 60 |"
    )


@pytest.mark.long
def test_runs_are_measured_and_compared_with_mdanalysis(tmp_path: Path) -> None:
    """Each condition has a row: cold ones read the disk, and the index costs bytes."""
    run = replace(RUNS[0], part=500)
    files = published.make(run, tmp_path, 1e-6)
    assert files.n_frames == run.part
    rows = published.take_round(run, files, [1], 0, tmp_path / "rmsd.npz")
    assert [(row.cache, row.index) for row in rows] == [
        ("cold", "to build"),
        ("cold", "kept"),
        ("warm", "kept"),
        ("warm", "to build"),
    ]
    built, kept = rows[:2]
    assert built.bytes_read > kept.bytes_read > 0
    assert published.mdanalysis_seconds(run, files, tmp_path / "rmsd.npz", tmp_path) > 0
    files.remove()
    assert not list(tmp_path.glob("*published*"))
