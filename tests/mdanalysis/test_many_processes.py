"""Many processes open a Universe of one file at once: no failure, no wrong frame, no lock."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.universe_pairs import N_ATOMS, N_FRAMES, with_theirs, write_files

# Each child prints the sums of two frames, which tell the file apart from its successor.
SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
import MDAnalysis as mda
import trajet.mdanalysis
trajet.mdanalysis.install()
path, (n_processes, n_atoms, times) = sys.argv[1], map(int, sys.argv[2:])
begin, end = os.pipe()
children = []
for _ in range(n_processes):
    if (child := os.fork()) == 0:
        os.close(end)
        os.read(begin, 1)
        lines = []
        for _ in range(times):
            u = mda.Universe.empty(n_atoms, trajectory=False).load_new(path)
            some = [u.trajectory[k].positions.sum(dtype="f8") for k in (0, 7)]
            group = [u.atoms[3:9].positions.sum(dtype="f8") for _ in u.trajectory]
            lines.append(f"{u.trajectory.n_frames} {some[0]} {some[1]} {group[7]}\\n")
        # At once, so that lines of processes do not mix.
        os.write(1, "".join(lines).encode())
        os._exit(0)
    children.append(child)
print("ready", flush=True)
sys.stdin.readline()
os.close(end)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.exit(codes != [0] * n_processes)
"""


def sums(path: Path) -> tuple[float, ...]:
    """Return what the script prints of a file."""
    u = with_theirs(path)
    u.trajectory[7]
    group = u.atoms[3:9].positions.sum(dtype="f8")
    return (
        u.trajectory.n_frames,
        *(u.trajectory[k].positions.sum(dtype="f8") for k in (0, 7)),
        group,
    )


class Readers:
    """Processes that wait until all have started; they are forked before they open a file."""

    def __init__(self, path: Path, n: int, times: int = 1) -> None:
        numbers = map(str, (n, N_ATOMS, times))
        self.parent = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(path), *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert self.parent.stdout is not None
        assert self.parent.stdout.readline() == "ready\n"

    def go(self) -> None:
        """Let all processes begin."""
        assert self.parent.stdin is not None
        self.parent.stdin.write("\n")
        self.parent.stdin.flush()

    def seen(self) -> list[tuple[float, ...]]:
        """Return what all of them have seen."""
        out, errors = self.parent.communicate(timeout=500)
        assert self.parent.returncode == 0, errors
        return [tuple(map(float, line.split())) for line in out.splitlines()]


@pytest.fixture(params=[4, pytest.param(48, marks=pytest.mark.long)])
def n_processes(request: pytest.FixtureRequest) -> int:
    """Return how many processes there are: few in the gate."""
    return int(request.param)


@pytest.fixture
def fresh(small_files: dict[str, Path], tmp_path: Path) -> Path:
    """Return a file that nobody has opened, in a folder of its own."""
    folder = tmp_path / "fresh"
    folder.mkdir()
    return Path(shutil.copy(small_files["xtc"], folder / "run.xtc"))


def assert_no_lock(folder: Path) -> None:
    """Assert that only the trajectory and its index are in a folder."""
    assert {path.name for path in folder.iterdir()} <= {"run.xtc", ".run.xtc.trajet-index"}


def test_fresh_file(fresh: Path, small_files: dict[str, Path], n_processes: int) -> None:
    """All write the index."""
    readers = Readers(fresh, n_processes)
    readers.go()
    known = sums(small_files["xtc"])
    assert known[0] == N_FRAMES
    assert readers.seen() == [known] * n_processes
    assert_no_lock(fresh.parent)


def test_read_only_folder(fresh: Path, small_files: dict[str, Path], n_processes: int) -> None:
    """Nobody can write the index there."""
    fresh.parent.chmod(0o555)
    try:
        readers = Readers(fresh, n_processes)
        readers.go()
        assert readers.seen() == [sums(small_files["xtc"])] * n_processes
    finally:
        fresh.parent.chmod(0o755)
    assert_no_lock(fresh.parent)


def test_file_that_is_replaced(
    fresh: Path, small_files: dict[str, Path], tmp_path: Path, n_processes: int
) -> None:
    """Each Universe has the frames of one file: the old one or the new one."""
    (tmp_path / "other").mkdir()
    other = write_files(tmp_path / "other", n_frames=N_FRAMES - 2, seed=11)["xtc"]
    readers = Readers(fresh, n_processes, times=10)
    readers.go()
    for k in range(20):
        new = tmp_path / "fresh" / "run.xtc.new"
        shutil.copy((small_files["xtc"], other)[k % 2 - 1], new)
        new.replace(fresh)
    known = {sums(small_files["xtc"]), sums(other)}
    seen = readers.seen()
    assert len(seen) == 10 * n_processes
    assert {*seen} <= known
    assert np.isfinite(seen).all()
    assert_no_lock(fresh.parent)
