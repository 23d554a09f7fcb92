"""Frames chosen by time are chosen by times that were read from the file in this process."""

import os
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.changed_times import FRAME, WRITERS, give_time, sidecar_of
from helpers.commands import fail, succeed
from helpers.messages import raises


@pytest.mark.parametrize("ending", WRITERS)
def test_times_of_a_kept_index_are_compared_with_all_headers(tmp_path: Path, ending: str) -> None:
    """A frame that stale times leave out is an error, and the next reading finds it."""
    path = WRITERS[ending](tmp_path / f"run{ending}")
    was = tj.open(None, path).times
    give_time(path, FRAME, 1e6)
    stale = tj.open(None, path)
    assert stale.index_state == "loaded"
    assert stale.source.reader.times()[FRAME] == was[FRAME]
    with raises(tj.StaleIndexError):
        _ = stale.times
    assert not sidecar_of(path).exists()
    again = tj.open(None, path)
    assert (again.index_state, again.times[FRAME]) == ("built", 1e6)


@pytest.mark.parametrize("ending", WRITERS)
def test_begin_and_end_choose_by_the_times_in_the_file(tmp_path: Path, ending: str) -> None:
    """The command finds the frame whose time changed, although a kept index has the old time."""
    path = WRITERS[ending](tmp_path / f"run{ending}")
    tj.open(None, path)
    give_time(path, FRAME, 1e6)
    copy = tmp_path / f"late{ending}"
    succeed("convert", path, copy, "--begin", 5e5, "--quiet")
    assert np.array_equal(tj.open(None, copy).times, [1e6])
    assert np.array_equal(
        tj.open(None, copy).read().positions, tj.open(None, path).read([FRAME]).positions
    )


def test_continuous_drops_frames_by_the_times_in_the_files(tmp_path: Path) -> None:
    """A frame that the kept index takes for repeated is kept if its time differs."""
    first, second = WRITERS[".xtc"](tmp_path / "first.xtc"), tmp_path / "second.xtc"
    times = (FRAME + np.arange(100.0)).tolist()
    xtc_bytes.write_xtc(second, np.zeros((100, 9, 3)), times=times)
    before = tj.open(None, first, second, continuous=True)
    assert np.array_equal(before.times, np.arange(FRAME + 100.0))
    give_time(first, FRAME, FRAME - 0.5)
    after = tj.open(None, first, second, continuous=True)
    assert np.array_equal(after.times, [*range(FRAME), FRAME - 0.5, *times])


def test_continuous_finds_steps_back_by_the_times_in_the_file(tmp_path: Path) -> None:
    """A frame that steps back replaces those before it, although a kept index has rising times."""
    first, second = WRITERS[".xtc"](tmp_path / "first.xtc"), tmp_path / "second.xtc"
    times = (50.0 + np.arange(100)).tolist()
    xtc_bytes.write_xtc(second, np.zeros((100, 9, 3)), times=times)
    before = tj.open(None, first, second, continuous=True)
    assert np.array_equal(before.times, np.arange(150.0))
    give_time(first, FRAME, -7.0)
    after = tj.open(None, first, second, continuous=True)
    assert np.array_equal(after.times, [-7.0, *times])
    assert "step back or repeat at 1 places within files" in str(after.messages)
    assert "dropped frames lie where the later files have none" in str(after.messages)


def test_times_are_compared_once_and_not_at_all_where_the_index_was_built(tmp_path: Path) -> None:
    """Neither an index built in this process nor one already compared is walked again."""
    path = WRITERS[".xtc"](tmp_path / "run.xtc")
    built = tj.open(None, path)
    loaded = tj.open(None, path)
    assert (built.index_state, loaded.index_state) == ("built", "loaded")
    was = loaded.times
    give_time(path, FRAME, 1e6)
    assert np.array_equal(built.times, was)
    assert np.array_equal(loaded.times, was)
    # A frame that is read is compared nevertheless.
    with pytest.raises(tj.StaleIndexError):
        loaded.read([FRAME])


def test_matching_sidecar_is_not_written_again(tmp_path: Path) -> None:
    """Choosing by time reads the headers and does not change the sidecar."""
    path = WRITERS[".xtc"](tmp_path / "run.xtc")
    tj.open(None, path)
    was = os.stat(sidecar_of(path))
    opened = tj.open(None, path, rebuild_index=True)
    assert opened.index_state == "built"
    assert opened.index_path == sidecar_of(path)
    now = os.stat(sidecar_of(path))
    assert (now.st_ino, now.st_mtime_ns) == (was.st_ino, was.st_mtime_ns)


def test_times_are_printed_without_the_rounding_of_single_precision(tmp_path: Path) -> None:
    """Zero has no sign, and a number beside 1 is 1, in tables and in errors."""
    path = tmp_path / "run.xtc"
    times = [-0.0, float(np.float32(0.99999994)), float(np.float32(2.1))]
    xtc_bytes.write_xtc(path, np.zeros((3, 5, 3)), times=times)
    lines = succeed("info", path)
    assert "time          0 to 2.1 ps" in lines
    xtc_bytes.write_xtc(path, np.zeros((2, 5, 3)), times=times[:2])
    assert "time          0 to 1 ps" in succeed("info", path)
    fail("convert", path, tmp_path / "copy.xtc", "--begin", "-0.5", "--end", "-0.25")
