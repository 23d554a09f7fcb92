"""Damage: a cut file is never a short file, and no damage makes anything worse than an error."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
import xtc_bytes
from golden_files import XTC_FILES, Golden

N_CUTS = 200

# Runs in a process of its own under a limit on address space: a crash, a hang of memory or an
# exception that is no TrajetError ends it with a status other than 0.
DAMAGE = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import numpy as np
import trajet as tj

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

path, cases = sys.argv[1], json.load(open(sys.argv[2]))
data = open(path, "rb").read()
tj.open(None, path, sidecar=False).read()
before = peak()
outcomes = []
for case in cases:
    damaged = bytearray(data)
    for position, value in case:
        damaged[position] = value
    with open(path, "wb") as file:
        file.write(damaged)
    try:
        traj = tj.open(None, path, sidecar=False)
        block = traj.read()
    except tj.TrajetError as error:
        assert "\\n" not in str(error), str(error)
        assert path in str(error), str(error)
        outcomes.append(type(error).__name__)
    else:
        assert block.positions.shape == (traj.n_frames, traj.n_atoms, 3)
        assert block.positions.dtype == np.float32
        assert block.times.shape == block.steps.shape == block.frames.shape == (traj.n_frames,)
        assert block.cells.shape == (traj.n_frames, 6)
        outcomes.append("read")
json.dump({"outcomes": outcomes, "grown_kib": peak() - before}, sys.stdout)
"""


def outcomes_of_damage(path: Path, cases: list[list[tuple[int, int]]]) -> list[str]:
    """Open and read the file with each set of (position, byte) replaced, in a process."""
    script = path.with_suffix(".json")
    script.write_text(json.dumps(cases))
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(path), str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["grown_kib"] < 64 * 1024
    assert len(report["outcomes"]) == len(cases)
    return report["outcomes"]


def word(position: int, value: int) -> list[tuple[int, int]]:
    """Split a 32-bit big-endian word into single bytes to replace."""
    return [(position + k, (value >> (24 - 8 * k)) & 0xFF) for k in range(4)]


def numbers(message: str) -> set[int]:
    """All whole numbers of a message."""
    return {int(digits) for digits in re.findall(r"\d+", message)}


def cuts_of(golden: Golden) -> tuple[list[int], list[int]]:
    """Frame boundaries of a file, and byte positions at which to cut it, longest first."""
    data = golden.source.read_bytes()
    starts = [frame.start for frame in xtc_bytes.walk(data)]
    rng = np.random.default_rng(len(data))
    positions = set(rng.choice(len(data), size=N_CUTS, replace=False).tolist())
    for start in starts:
        for near in (0, 1, 3, 4, 8, 52, 56, 57, 91, 92, 93):
            positions |= {start + near, start - near}
    return starts, sorted((p for p in positions if 0 <= p < len(data)), reverse=True)


def test_cut_anywhere(golden: Golden, golden_xtc: Path) -> None:
    """A cut inside a frame is an error with path, frame and byte; between frames it is none."""
    truth = golden.truth
    starts, positions = cuts_of(golden)
    refused = read = 0
    for cut in positions:
        with golden_xtc.open("r+b") as file:
            file.truncate(cut)
        frame = sum(start <= cut for start in starts) - 1
        if cut in starts and cut > 0:
            traj = tj.open(None, golden_xtc, sidecar=False)
            assert traj.n_frames == frame
            block = traj.read()
            assert np.array_equal(block.positions, truth.positions[:frame])
            assert np.array_equal(block.times, truth.times[:frame])
            assert np.array_equal(traj.times, truth.times[:frame])
            read += 1
            continue
        with pytest.raises(tj.FormatError) as caught:
            tj.open(None, golden_xtc, sidecar=False)
        refused += 1
        message = str(caught.value)
        assert "\n" not in message
        assert str(golden_xtc) in message
        if cut == 0:
            assert not isinstance(caught.value, tj.TruncatedError)
            continue
        if cut >= 4:
            assert isinstance(caught.value, tj.TruncatedError)
        message = message.replace(str(golden_xtc), "")
        assert re.search(rf"\bframe {frame}\b", message)
        assert numbers(message) & {starts[frame], cut}
    assert read == len(starts) - 1
    assert refused == len(positions) - read
    assert refused >= N_CUTS


def test_cut_with_leave(golden: Golden, golden_xtc: Path) -> None:
    """allow_truncated_tail reads the whole frames, and the report says how much was left."""
    truth = golden.truth
    starts, positions = cuts_of(golden)
    for cut in positions:
        with golden_xtc.open("r+b") as file:
            file.truncate(cut)
        frame = sum(start <= cut for start in starts) - 1
        if frame == 0:
            with pytest.raises(tj.FormatError, match=re.escape(str(golden_xtc))):
                tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)
            continue
        traj = tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)
        assert traj.n_frames == frame
        assert np.array_equal(traj.times, truth.times[:frame])
        last = traj.read(frames=[-1])
        assert np.array_equal(last.positions, truth.positions[frame - 1 : frame])
        with pytest.raises(tj.FrameError):
            traj.read(frames=[frame])


def test_report_records_the_tail(golden: Golden, golden_xtc: Path) -> None:
    """The report of a run on a cut file says how many bytes were left unread."""
    frames = xtc_bytes.walk(golden_xtc.read_bytes())
    for left in (40, 1, 0):
        with golden_xtc.open("r+b") as file:
            file.truncate(frames[-1].start + left)
        traj = tj.open(None, golden_xtc, allow_truncated_tail=True)
        result = tj.rmsd(traj.select(np.arange(traj.n_atoms)))
        assert result.values.shape == (len(frames) - 1,)
        assert result.report["inputs"][0]["truncated_tail"] == left
        assert result.report["frames"] == len(frames) - 1


def test_leave_is_not_needed_for_a_whole_file(golden: Golden, golden_xtc: Path) -> None:
    """allow_truncated_tail changes nothing where nothing is cut."""
    traj = tj.open(None, golden_xtc, allow_truncated_tail=True)
    assert np.array_equal(traj.read().positions, golden.truth.positions)


def test_leave_does_not_cover_other_damage(golden: Golden, golden_xtc: Path) -> None:
    """allow_truncated_tail is for an unfinished last frame, not for rubbish in a file."""
    data = golden_xtc.read_bytes()
    frames = xtc_bytes.walk(data)
    golden_xtc.write_bytes(xtc_bytes.with_field(data, frames[1].start, 1996))
    with pytest.raises(tj.FormatError, match="frame 1"):
        tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)
    golden_xtc.write_bytes(data + b"rubbish at the end of a file, longer than a frame header" * 4)
    with pytest.raises(tj.FormatError, match=f"frame {len(frames)}"):
        tj.open(None, golden_xtc, sidecar=False, allow_truncated_tail=True)


def test_file_cut_after_opening(golden: Golden, golden_xtc: Path) -> None:
    """A file that shrinks under an open trajectory gives an error, not zeros and not a crash."""
    traj = tj.open(None, golden_xtc)
    with golden_xtc.open("r+b") as file:
        file.truncate(xtc_bytes.walk(golden.source.read_bytes())[-1].end - 5)
    with pytest.raises((tj.TrajetError, OSError), match=re.escape(str(golden_xtc))):
        traj.read(frames=[-1])


@pytest.mark.parametrize(
    "name", ["test.xtc", "xtc_test_only_10_frame_10_atoms.xtc", "xyz_random_walk.xtc"]
)
def test_random_bytes(name: str, tmp_path: Path) -> None:
    """Bytes changed at random give an error or a block of the right shape, never more."""
    path = tmp_path / name
    data = XTC_FILES[name].read_bytes()
    path.write_bytes(data)
    rng = np.random.default_rng(2023)
    frames = xtc_bytes.walk(data)
    cases = []
    for k in range(120):
        if k % 2:
            positions = rng.integers(0, len(data), size=rng.integers(1, 4))
        else:
            start = frames[rng.integers(0, len(frames))].start
            positions = (start + rng.integers(0, 100, size=1)) % len(data)
        cases.append([(int(p), int(rng.integers(0, 256))) for p in positions])
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) <= {"read", "FormatError", "TruncatedError"}
    assert outcomes.count("read") < len(cases)


@pytest.mark.parametrize("n_frames", [1, 4])
@pytest.mark.parametrize("magic", [1995, 2023])
def test_giant_sizes(n_frames: int, magic: int, tmp_path: Path) -> None:
    """A size that the file cannot hold is refused before anything is allocated for it."""
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
    """A whole, consistent header that promises more atoms than its bits can spell is refused."""
    x = np.random.default_rng(6).uniform(0, 3, (1, 300, 3))
    path = xtc_bytes.write_xtc(tmp_path / "made.xtc", x)
    case = word(xtc_bytes.NATOMS, natoms) + word(xtc_bytes.NATOMS_AGAIN, natoms)
    assert outcomes_of_damage(path, [case]) == ["FormatError"]


def test_impossible_headers(tmp_path: Path) -> None:
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
