"""Memory is compared with what the system has before it is taken."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet import memory
from trajet.pools.members import member_pool


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any amount of memory count, and little be available."""
    monkeypatch.setattr(memory, "_MUCH", 0)
    monkeypatch.setattr(memory, "available", lambda: 50_000)


WORK: dict[str, Callable[[tj.Selection], object]] = {
    "the matrix": tj.pairwise_rmsd,
    "linkage": lambda atoms: tj.cluster_rmsd(atoms, cutoff=1.0, method="average"),
    "the matrix and": tj.pca,
    "numbers of each of": lambda atoms: tj.distances(atoms, atoms),
    "positions": lambda atoms: atoms.read(),
}


@pytest.mark.parametrize("named", WORK)
def test_run_that_does_not_fit_is_refused(adk: Adk, scarce: None, named: str) -> None:
    """Results, temporary arrays and positions alike, before any frame is read."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(MemoryError):
        WORK[named](atoms)


# A run, and the bytes of a state.
GRIDS: dict[str, tuple[Callable[..., object], int]] = {
    "density": (
        lambda atoms, **run: tj.density(
            atoms, spacing=0.5, grid_center=(10, 10, 10), grid_size=20, **run
        ),
        8 * 40**3,
    ),
    "rdf_pairs": (
        lambda atoms, **run: tj.rdf_pairs([(atoms, atoms)], bins=9999, range=(0, 4), **run),
        8 * 9999,
    ),
    "linear_density": (
        lambda atoms, **run: tj.linear_density([atoms] * 2, bins=9999, quantity="number", **run),
        16 * 9999,
    ),
}


@pytest.fixture
def small(tmp_path: Path) -> tj.Selection:
    """Return 30 atoms in 12 frames with a cell."""
    positions = np.random.default_rng(1).uniform(0, 20, (12, 30, 3)).astype(np.float32)
    tj.write(tmp_path / "a.nc", positions, cells=[[20, 20, 20, 90, 90, 90]] * 12)
    return tj.open(None, tmp_path / "a.nc").all_atoms()


@pytest.mark.parametrize("name", GRIDS)
def test_states_of_all_threads_are_counted(
    small: tj.Selection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Eight for each thread, not more than frames, and the result; the error names the option."""
    work, state = GRIDS[name]
    monkeypatch.setattr(memory, "_MUCH", 0)
    for threads, n_states in ((1, 9), (2, 13)):
        pool = tj.LocalPool(threads=threads)
        monkeypatch.setattr(memory, "available", lambda n=n_states: n * state)
        work(small, pool=pool)
        monkeypatch.setattr(memory, "available", lambda n=n_states: n * state - 1)
        with raises(MemoryError):
            work(small, pool=pool)
    # Fewer threads than the error has seen.
    work(small, pool=tj.LocalPool(threads=1))


def test_states_of_all_members_are_counted(
    small: tj.Selection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads share members, large and small; processes hold the merged states of each."""
    work, state = GRIDS["density"]
    monkeypatch.setattr(memory, "_MUCH", 0)
    pattern = str(tmp_path / "members{replica}.nc")
    for replica in range(3):
        shutil.copy(small.trajectory.paths[0], pattern.format(replica=replica))
    members = tj.ensemble(pattern)
    local, processes = tj.LocalPool(threads=2), tj.ProcessPool(workers=2)
    default = member_pool.MIN_BYTES
    # Small members on threads run two at a time.
    cases = [(local, 1, 3 + 16), (local, default, 2 + 16), (processes, 1, 3)]
    for pool, least, n_states in cases:
        monkeypatch.setattr(member_pool, "MIN_BYTES", least)
        monkeypatch.setattr(memory, "available", lambda n=n_states: n * state)
        work(members, pool=pool)
        monkeypatch.setattr(memory, "available", lambda n=n_states: n * state - 1)
        with raises(MemoryError):
            work(members, pool=pool)


def test_map_is_counted_before_the_run(
    small: tj.Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fractions and numbers of frames take more than the states."""
    monkeypatch.setattr(memory, "_MUCH", 0)
    monkeypatch.setattr(memory, "available", lambda: 25 * 30 * 30)
    one = {"by": "atom", "frames": slice(3), "pool": tj.LocalPool(threads=1)}
    assert tj.contact_map(small, **one).values.shape == (30, 30)
    monkeypatch.setattr(memory, "available", lambda: 25 * 30 * 30 - 1)
    with raises(MemoryError):
        tj.contact_map(small, **one)


def test_advice_helps(adk: Adk, scarce: None) -> None:
    """Fewer frames, or a limit that the user sets."""
    atoms = tj.open(adk.psf, adk.xtc).select("index 0 to 9")
    with raises(MemoryError):
        tj.pairwise_rmsd(atoms)
    assert tj.pairwise_rmsd(atoms, frames=slice(0, 2)).values.shape == (2, 2)
    assert tj.pairwise_rmsd(atoms, max_memory=100_000).values.shape == (98, 98)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"meminfo": "MemTotal: 9 kB\nMemAvailable:  5 kB\n"}, 5120),
        ({"meminfo": "MemTotal: 9 kB\n"}, None),
        (
            {
                "meminfo": "MemAvailable: 5 kB\n",
                "cgroup": "0::/a/b\n",
                "fs/a/b/memory.max": "max\n",
            },
            5120,
        ),
        (
            {
                "meminfo": "MemAvailable: 5 kB\n",
                "cgroup": "0::/a/b\n",
                "fs/a/memory.max": "3000\n",
                "fs/a/memory.current": "2500\n",
                "fs/a/memory.stat": "anon 1\ninactive_file 100\n",
            },
            600,
        ),
        (
            {
                "cgroup": "5:cpu,memory:/job\n0::/\n",
                "fs/memory/job/memory.limit_in_bytes": "1000\n",
                "fs/memory/job/memory.usage_in_bytes": "1200\n",
            },
            0,
        ),
        ({"cgroup": "nonsense\n", "fs/memory.max": "70\n", "fs/memory.current": "30\n"}, 40),
        ({}, None),
    ],
)
def test_least_of_system_and_control_groups_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int | None
) -> None:
    """Control groups of both versions, of a parent, and without a limit."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUP_FOLDER", tmp_path / "fs")
    assert memory.available() == expected


def test_matrix_of_more_than_a_gigabyte_needs_force(adk: Adk) -> None:
    """As the rows of other analyses."""
    many = [str(adk.xtc)] * 170
    fail("pairwise-rmsd", adk.psf, *many, "--select", "index 0 to 9")
    table = succeed("pairwise-rmsd", adk.psf, *many, "--select", "index 0 to 9", "--step", "500")
    assert any("34" in line for line in table)
