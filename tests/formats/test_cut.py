"""Damage to XTC files, and reports of cut ones; test_formats has the laws of every format."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.damage import outcomes_of_damage, word
from helpers.golden_files import Golden
from helpers.messages import raises


def test_report_records_the_unread_tail(golden: Golden, golden_xtc: Path) -> None:
    """The report of a run on a cut file has the number of bytes that were left unread."""
    frames = xtc_bytes.walk(golden_xtc.read_bytes())
    for left in (40, 1, 0):
        with golden_xtc.open("r+b") as file:
            file.truncate(frames[-1].start + left)
        traj = tj.open(None, golden_xtc, allow_truncated_tail=True)
        result = tj.rmsd(traj.select(np.arange(traj.n_atoms)))
        assert result.values.shape == (len(frames) - 1,)
        assert result.report["inputs"][0]["truncated_tail"] == left
        assert result.report["frames"] == len(frames) - 1


def test_truncated_tail_does_not_excuse_other_damage(golden: Golden, golden_xtc: Path) -> None:
    """allow_truncated_tail permits an unfinished last frame, not other damage of a file."""
    data = golden_xtc.read_bytes()
    frames = xtc_bytes.walk(data)
    golden_xtc.write_bytes(xtc_bytes.with_field(data, frames[1].start, 1996))
    with raises(tj.FormatError):
        tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)
    golden_xtc.write_bytes(data + b"rubbish at the end of a file, longer than a frame header" * 4)
    with raises(tj.FormatError):
        tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)


@pytest.mark.parametrize("n_frames", [1, 4])
@pytest.mark.parametrize("magic", [1995, 2023])
def test_giant_sizes_are_refused(n_frames: int, magic: int, tmp_path: Path) -> None:
    """A size that the file cannot hold is refused before memory is allocated for it."""
    x = np.random.default_rng(5).uniform(0, 3, (n_frames, 300, 3))
    path = xtc_bytes.write_xtc(tmp_path / "made.xtc", x)
    parts = xtc_bytes.pieces(path.read_bytes())
    if magic == 2023:
        parts = [xtc_bytes.with_magic_2023(part) for part in parts]
    data = b"".join(parts)
    path.write_bytes(data)
    cases = []
    for frame in xtc_bytes.walk(data):
        for value in (0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0):
            natoms = word(frame.start + xtc_bytes.NATOMS, value)
            again = word(frame.start + xtc_bytes.NATOMS_AGAIN, value)
            cases += [natoms, again, natoms + again]
            cases.append(word(frame.start + xtc_bytes.SMALLIDX, value))
            cases.append(word(frame.start + xtc_bytes.BYTE_COUNT, value))
            if magic == 2023:
                if value == 0:
                    cases.pop()  # the high word of a 64-bit count is 0 already
                cases.append(word(frame.start + xtc_bytes.BYTE_COUNT + 4, value))
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) <= {"FormatError", "TruncatedError"}


@pytest.mark.parametrize("natoms", [0x7FFFFFFF, 298_261_618, 20_000_000, 100_000])
def test_atom_count_that_the_bytes_cannot_hold(natoms: int, tmp_path: Path) -> None:
    """A whole, consistent header that counts more atoms than its bytes can hold is refused."""
    x = np.random.default_rng(6).uniform(0, 3, (1, 300, 3))
    path = xtc_bytes.write_xtc(tmp_path / "made.xtc", x)
    case = word(xtc_bytes.NATOMS, natoms) + word(xtc_bytes.NATOMS_AGAIN, natoms)
    assert outcomes_of_damage(path, [case]) == ["FormatError"]


def test_impossible_headers_are_errors(tmp_path: Path) -> None:
    """Bounds, precision and small index that no encoder writes are refused."""
    x = np.random.default_rng(7).uniform(0, 3, (2, 300, 3))
    path = xtc_bytes.write_xtc(tmp_path / "made.xtc", x)
    cases = []
    for frame in xtc_bytes.walk(path.read_bytes()):
        at = frame.start
        # The least coordinate above the greatest.
        cases.append(word(at + xtc_bytes.MININT, 0x7FFFFFFF))
        cases.append(word(at + xtc_bytes.MAXINT + 8, 0x80000000))
        cases += [word(at + xtc_bytes.SMALLIDX, value) for value in (1, 8, 74, 200, 0xFFFFFFF7)]
        # Precision zero, negative, NaN, infinite.
        cases += [
            word(at + xtc_bytes.PRECISION, value)
            for value in (0x00000000, 0xBF800000, 0x7FC00000, 0x7F800000)
        ]
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) == {"FormatError"}
