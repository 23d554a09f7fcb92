"""Times that step back within one file, and frames that it repeats."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises

BEGINS = [range(10), range(6, 14), range(14, 20)]


def restarted(path: Path, unit: float = 1.0) -> np.ndarray:
    """Write runs that repeat frames 6 to 9; return the number that each frame holds."""
    numbers = np.concatenate([np.array(run) for run in BEGINS])
    positions = np.zeros((len(numbers), 3, 3), np.float32)
    positions[:, :, 0] = np.arange(len(numbers))[:, None]
    tj.write(path, positions, times=unit * numbers)
    return numbers


@pytest.mark.parametrize("ending", [".xtc", ".trr", ".nc", ".h5md"])
def test_continuous_drops_what_the_same_file_repeats(tmp_path: Path, ending: str) -> None:
    """Frames of the later run are kept."""
    path = tmp_path / f"cat{ending}"
    restarted(path)
    plain = tj.open(None, path)
    assert len(plain) == 24
    where = "times step back or repeat at 1 places within the file, first from 9 ps (frame 9) to 6"
    assert where in str(plain.messages)
    with raises(tj.AnalysisError):
        tj.msd(plain.all_atoms(), weights="equal", unwrapped=True)
    once = tj.open(None, path, continuous=True)
    assert np.array_equal(once.times, np.arange(20))
    kept = [*range(6), *range(10, 24)]
    assert np.array_equal(once.read().positions[:, 0, 0], kept)
    assert np.array_equal(once.read([6, 2]).positions[:, 0, 0], [10, 2])
    assert "4 frames were dropped" in str(once.messages)
    assert tj.msd(once.all_atoms(), weights="equal", unwrapped=True).lags[1] == 1
    copy = tmp_path / f"copy{ending}"
    tj.convert(once, copy)
    assert np.array_equal(tj.open(None, copy).times, np.arange(20))


def test_workers_read_the_kept_frames(tmp_path: Path) -> None:
    """A file of which frames were dropped is no whole file for them."""
    path = tmp_path / "cat.xtc"
    restarted(path)
    once = tj.open(None, path, continuous=True)
    here = tj.gyration(once.all_atoms(), weights="equal")
    there = tj.gyration(
        once.all_atoms(), weights="equal", pool=tj.ProcessPool(workers=2, fork=True)
    )
    assert np.array_equal(here.values, there.values)
    assert np.array_equal(here.times, there.times)


@pytest.mark.parametrize("base", [0.0, 1e6, 3e7])
def test_any_division_into_runs_and_files_gives_each_time_once(tmp_path: Path, base: float) -> None:
    """If single precision cannot tell times apart, steps do."""
    rng = np.random.default_rng(int(base) + 3)
    for case in range(4):
        ends = np.sort(rng.choice(np.arange(2, 40), 4, replace=False))
        begins = [0, *(int(end) - int(rng.integers(0, min(end, 5))) for end in ends)]
        runs = [np.arange(a, b) for a, b in zip(begins, [*ends, 40], strict=True)]
        cut = int(rng.integers(1, len(runs)))
        paths = [tmp_path / f"{case}-{k}.xtc" for k in range(2)]
        for path, some in zip(paths, (runs[:cut], runs[cut:]), strict=True):
            numbers = np.concatenate(some)
            positions = np.zeros((len(numbers), 2, 3), np.float32)
            # XTC holds 32 bits of a step.
            steps = ((500 * (numbers + int(base)) + 2**31) % 2**32) - 2**31
            tj.write(path, positions, times=base + numbers, steps=steps, allow_loss=True)
        joined = tj.open(None, *paths, continuous=True)
        expected = ((500 * (np.arange(40) + int(base)) + 2**31) % 2**32) - 2**31
        assert np.array_equal(joined.steps, expected)


def test_frame_numbers_do_not_tell_coarse_times(tmp_path: Path) -> None:
    """Frames are neither dropped nor kept then: it is an error."""
    for name, first in (("a.xtc", 0), ("b.xtc", 5)):
        times = 3e7 + first + np.arange(9)
        tj.write(tmp_path / name, np.zeros((9, 2, 3), "f4"), times=times, allow_loss=True)
    with raises(tj.FormatError):
        tj.open(None, tmp_path / "a.xtc", tmp_path / "b.xtc", continuous=True)


FORMATS = ("xtc", "trr", "nc", "h5md", "dcd")


@pytest.mark.parametrize("second", FORMATS)
@pytest.mark.parametrize("first", FORMATS)
def test_times_of_two_formats_are_the_same_up_to_their_precision(
    tmp_path: Path, first: str, second: str
) -> None:
    """Also if a part has a single frame, and from times far from 0 on."""
    for case, (step, start) in enumerate([(0.1, 0), (0.02, 0), (1.0, 0), (10.0, 3), (0.1, 2000)]):
        for begin, end in ((5, 6), (5, 12)):
            paths = [tmp_path / f"{case}-{end}a.{first}", tmp_path / f"{case}-{end}b.{second}"]
            for path, numbers in zip(paths, (range(8), range(begin, end)), strict=True):
                positions = np.zeros((len(numbers), 2, 3), np.float32)
                positions[:, :, 0] = np.array(numbers)[:, None]
                tj.write(path, positions, times=step * (start + np.array(numbers)))
            joined = tj.open(None, *paths, continuous=True)
            found = np.rint(joined.read().positions[:, 0, 0])
            assert np.array_equal(found, np.arange(end)), (step, start, end)


@pytest.mark.parametrize("ending", ["h5md", "nc"])
def test_a_restart_repeats_a_time_up_to_its_last_bits(tmp_path: Path, ending: str) -> None:
    """One run multiplies the step, the other one adds it up; frames close by are kept."""
    added = np.cumsum(np.full(8, 0.1)) - 0.1
    times = np.concatenate([added[:4], 0.1 * np.arange(3, 8)])
    positions = np.zeros((len(times), 2, 3), np.float32)
    tj.write(tmp_path / f"a.{ending}", positions, times=times)
    assert len(tj.open(None, tmp_path / f"a.{ending}", continuous=True)) == 8
    uneven = np.cumsum(10.0 ** np.arange(-3, 4))
    tj.write(tmp_path / f"b.{ending}", positions[: len(uneven)], times=uneven)
    assert len(tj.open(None, tmp_path / f"b.{ending}", continuous=True)) == len(uneven)


def text_frames(path: Path, times: np.ndarray, first: int) -> Path:
    """Write a GRO file with numbered frames, whose times have three decimals."""
    frames = [
        f"t= {time:.3f}\n    1\n    1ALA     CA    1{0.1 * k:8.3f}   0.000   0.000\n   9 9 9\n"
        for k, time in enumerate(times, first)
    ]
    path.write_text("".join(frames))
    return path


@pytest.mark.parametrize("step", [0.0209, 0.02, 1.0, 10.0])
def test_times_in_text_are_rounded_to_their_decimals_only(tmp_path: Path, step: float) -> None:
    """A file that goes on soon after the last frame repeats none; one that is rounded does."""
    times = step * np.arange(8)
    positions = np.zeros((8, 1, 3), np.float32)
    positions[:, 0, 0] = np.arange(8)
    tj.write(tmp_path / "a.nc", positions, times=times)
    for name in ("a.nc", "a.gro"):
        text_frames(tmp_path / "a.gro", times, 0)
        same = text_frames(tmp_path / "same.gro", times[7] + step * np.arange(4), 7)
        joined = tj.open(None, tmp_path / name, same, continuous=True)
        assert np.array_equal(np.rint(joined.read().positions[:, 0, 0]), np.arange(11)), name
        soon = text_frames(tmp_path / "soon.gro", times[7] + step * (np.arange(4) + 0.095), 8)
        joined = tj.open(None, tmp_path / name, soon, continuous=True)
        assert len(joined) == 12, name
