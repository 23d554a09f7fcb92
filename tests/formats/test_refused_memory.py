"""Memory that the system refuses is a MemoryError, after which the process continues."""

import os
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, python
from helpers.made_files import write_dcd
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
    for name in ("xtc", "trr", "nc", "h5md"):
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
