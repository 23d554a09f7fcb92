"""Memory that the system refuses, or that damaged XTC files ask for, is an error."""

import os
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.commands import fail, python
from helpers.damage import outcomes_of_damage, word
from helpers.golden_files import Golden
from helpers.made_files import write_dcd
from helpers.messages import raises
from helpers.systems import Systems
from trajet._trajet import FORMATS

N_ATOMS = 100_000
ALL_FORMATS = [info.suffixes[0][1:] for info in FORMATS.values() if info.is_written]
# Freed memory returns to the system, and no thread keeps some in reserve.
_EXACT = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
# Repeats a call under limits from none to all of the memory that it needs.
UNDER_LIMITS = """
import pickle, resource, sys
import numpy as np
import trajet as tj
from trajet import _trajet

def mapped():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

def sweep(do):
    expected = do(tj.open(None, path))
    refused = done = 0
    for extra in range(0, 3200 << 17, step):
        # Another reader has no memory that can be used again.
        trajectory = tj.open(None, path)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (mapped() + extra, hard))
            got = do(trajectory)
        except MemoryError:
            refused += 1
            continue
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        assert np.array_equal(got, expected)
        done += 1
        if done == 3:
            break
    print(what, refused, done)

what, path = sys.argv[1:3]
step = int(sys.argv[3])
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
trajectory = tj.open(None, path)
n = trajectory.n_atoms
if what == "read":
    out = np.empty((2, n, 3), np.float32)
    odd = np.empty((2, n // 2, 3), np.float32)
    backwards = np.arange(1, n, 2)[::-1].copy()
    numbers = np.arange(2)

    def read_all(trajectory):
        reader = trajectory.source.reader
        reader.read(numbers, None, out, "positions", threads=1)
        reader.read(numbers, backwards, odd, "positions", threads=1)
        return odd

    sweep(read_all)
elif what == "rmsf":
    sweep(lambda trajectory: tj.rmsf(
        trajectory, reference="average", align=trajectory.select(np.arange(n // 2)),
        pool=tj.LocalPool(threads=1),
    ).values)
elif what == "rmsd":
    sweep(lambda trajectory: tj.rmsd(
        trajectory, groups=[trajectory.select(np.arange(n // 2))], pool=tj.LocalPool(threads=1)
    ).values)
elif what == "plan":
    data = pickle.dumps(_trajet.Plan("count", atoms=np.arange(n), selection=None))
    sweep(lambda _: pickle.loads(data).atoms)
elif what == "states":
    from trajet.pools.passes import passes, tasks_of
    from trajet.pools.tasks import Worker
    from trajet.pools.timing import RunTiming

    plan = next(tj.rmsf.job(trajectory).start()).make_plan(np.arange(2))
    part = next(passes(
        trajectory.source.reader, plan, (0, 1, 2), RunTiming(), threads=1,
        make_tasks=lambda pass_: tasks_of(pass_, 1, None),
    ))
    worker = Worker(part.worker_spec)
    done = [worker.do(part.task_bytes(task), task.part(part.sections)) for task in part.tasks]

    def merge(_):
        states = _trajet.States(part.pass_)
        for one in done:
            states.add(one.states)
        return states.subtrees()

    sweep(merge)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two frames of many atoms in each format."""
    folder = tmp_path_factory.mktemp("files")
    draw = np.random.default_rng(0)
    first = folder / "made.dcd"
    write_dcd(first, draw.random((2, N_ATOMS, 3), np.float32) * 100)
    trajectory = tj.open(None, first)
    for name in ("xtc", "trr", "nc", "h5md", "lammpstrj", "xyz"):
        tj.convert(trajectory.select(np.arange(N_ATOMS)), folder / f"made.{name}")
    return folder


def _sweep(what: str, path: Path, step: int) -> None:
    done = python("-c", UNDER_LIMITS, what, path, step, env={**os.environ, **_EXACT})
    refused, completed = map(int, done.stdout.split()[1:])
    assert refused >= 3
    assert completed == 3


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_readers_raise_memory_error(files: Path, name: str) -> None:
    """Buffers are those of requests, of frames and of decompressed chunks."""
    _sweep("read", files / f"made.{name}", 5 << 16)


@pytest.mark.parametrize("step", [13 << 18, pytest.param(1 << 19, marks=pytest.mark.long)])
@pytest.mark.parametrize("analysis", ["rmsd", "rmsf"])
def test_analyses_raise_memory_error(files: Path, analysis: str, step: int) -> None:
    """These are lists of atoms, references, states and buffers of threads."""
    _sweep(analysis, files / "made.xtc", step)


@pytest.mark.parametrize("what", ["plan", "states"])
def test_data_of_other_processes_raise_memory_error(files: Path, what: str) -> None:
    """Refused memory is not taken for data of another version."""
    _sweep(what, files / "made.dcd", 5 << 17)


def test_results_too_large_for_memory_raise_memory_error(files: Path) -> None:
    """No process can address the result."""
    trajectory = tj.open(None, files / "made.dcd")
    with pytest.raises(MemoryError):
        trajectory.read(frames=np.zeros(10**7, int), atoms=np.zeros(2 * 10**6, int))
    assert trajectory.read(frames=[1]).positions.shape == (1, N_ATOMS, 3)


def test_command_without_memory_exits_with_1(systems: Systems) -> None:
    """One line states what was too large."""
    system = systems["solvated.xtc"]
    fail("distances", system.topology, system.path, "--select", "all", "--force")


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
