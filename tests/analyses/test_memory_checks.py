"""Memory is compared with what the system has before it is taken."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.golden_files import Adk
from trajet import memory


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
    with pytest.raises(MemoryError, match=f"{named}.*are available: choose fewer"):
        WORK[named](atoms)


def test_advice_helps(adk: Adk, scarce: None) -> None:
    """Fewer frames, or a limit that the user sets."""
    atoms = tj.open(adk.psf, adk.xtc).select("index 0 to 9")
    with pytest.raises(MemoryError, match=r"max_memory= \(--max-memory\) allows more"):
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
    message = fail("pairwise-rmsd", adk.psf, *many, "--select", "index 0 to 9")
    assert "the result would take 1.1 GB of memory (RMSDs of 16660 frames from 16660)" in message
    assert (
        "--force), or write the matrix to a file (matrix_path=, --matrix-path FILE.npy)" in message
    )
    table = succeed("pairwise-rmsd", adk.psf, *many, "--select", "index 0 to 9", "--step", "500")
    assert any("34" in line for line in table)
