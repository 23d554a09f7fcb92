"""No run takes more memory for a longer trajectory; what does not fit is refused before."""

import inspect
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import flat_memory, xtc_bytes
from helpers.commands import fail, python, succeed
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet import memory
from trajet.pools.members import member_pool

# VmHWM belongs to the address space of this interpreter alone; ru_maxrss of a child would include
# the memory of the test process when it was started.
MEASURED = """
import json, runpy, sys
sys.argv[0] = "trajet"
try:
    runpy.run_module("trajet", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({"code": code, "peak_kib": peak}))
"""


def peak_kib(
    adk: Adk, xtc: Path, output: Path, *options: str, analysis: str = "rmsd", atoms: str = "name CA"
) -> int:
    """Return the peak resident memory of one command, KiB."""
    files = [str(adk.psf), str(xtc), "--select", atoms, "-o", str(output)]
    command = [analysis, *files, *options]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = python("-c", MEASURED, *command, timeout=300, env=environment)
    assert done.stderr == ""
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["code"] == 0
    return report["peak_kib"]


def test_peak_does_not_grow_with_the_trajectory(adk: Adk, tmp_path: Path) -> None:
    """Ten times the frames take at most a tenth more memory."""
    data = adk.xtc.read_bytes()
    peaks = {}
    for times in (10, 100):
        xtc = tmp_path / f"{times}.xtc"
        with xtc.open("wb") as file:
            for _ in range(times):
                file.write(data)
        output = tmp_path / f"{times}.npz"
        peaks[times] = peak_kib(adk, xtc, output, "--threads", "2")
        with np.load(output, allow_pickle=False) as saved:
            assert saved["values"].shape == (98 * times,)
        xtc.unlink()
    assert peaks[100] <= 1.10 * peaks[10]


@pytest.mark.long
@pytest.mark.parametrize("with_lifetimes", [False, True])
def test_peak_of_hydrogen_bonds_does_not_grow_with_the_trajectory(
    adk: Adk, tmp_path: Path, with_lifetimes: bool
) -> None:
    """Occupancies take as much for ten times the frames; so do lifetimes, in more parts."""
    positions = tj.open(adk.psf, adk.xtc).read().positions / 10
    options = ["--max-memory", "2MiB", "--threads", "2"]
    if with_lifetimes:
        options += ["--save", f"lifetimes={tmp_path}/lifetimes.csv", "--max-lag", "20"]
    peaks = {}
    for times in (4, 40):
        xtc = xtc_bytes.write_xtc(tmp_path / f"{times}.xtc", np.tile(positions, (times, 1, 1)))
        output = tmp_path / f"{times}.npz"
        peaks[times] = peak_kib(adk, xtc, output, *options, analysis="hbonds", atoms="protein")
        with np.load(output, allow_pickle=False) as saved:
            assert saved["values"].shape == (98 * times,)
    assert peaks[40] <= 1.10 * peaks[4], peaks


# One of each shape: rows, a state, a grid, a state that grows with what is found, two runs.
SOME = ("rmsd", "rmsf", "density", "hbonds", "pca")


def measure(adk: Adk, folder: Path, *names: str, frames: int = 500) -> dict[str, list[list[int]]]:
    """Return peaks and sizes of results of analyses, by name: short and long trajectory."""
    paths = flat_memory.make(folder, adk.xtc, frames)
    # Freed memory returns to the system at once.
    memory = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "0"}
    words = ("-m", "helpers.flat_memory", adk.psf, *paths, *names)
    done = python(*words, timeout=600, env=os.environ | memory)
    found: dict[str, list[list[int]]] = json.loads(done.stdout)
    return found


def growing(found: dict[str, list[list[int]]]) -> dict[str, str]:
    """Return the analyses whose memory grows by more than a tenth and their results."""
    grown = {}
    for name, (short, long) in found.items():
        if not flat_memory.is_flat(short, long):
            peaks = f"{short[0] / 1e6:.1f} MB, then {long[0] / 1e6:.1f} MB"
            grown[name] = f"{peaks}, results {long[1] / 1e6:.1f} MB"
    return grown


def beyond_limit(found: dict[str, list[list[int]]]) -> dict[str, int]:
    """Return the peaks of analyses that take more than `max_memory` and their results."""
    return {
        name: long
        for name, (_, (long, size)) in found.items()
        if "max_memory" in inspect.signature(getattr(tj, name.split(",")[0])).parameters
        and long > 1.25 * flat_memory.MAX_MEMORY + flat_memory.COPIES * size + flat_memory.SLACK
    }


def test_every_analysis_is_measured(adk: Adk) -> None:
    """A new analysis needs an entry in `flat_memory.analyses`.

    The files have no velocities, which are read by the function that reads positions for `msd`.
    """
    measured = flat_memory.analyses(tj.open(adk.psf, adk.xtc))
    expected = {*tj.ANALYSES, "run"} - {"velocity_autocorrelation"}
    assert {name.split(",")[0] for name in measured} == expected


def test_peaks_do_not_grow_with_the_frames(adk: Adk, tmp_path: Path) -> None:
    """One analysis of each shape; a function that keeps the frames is found."""
    found = measure(adk, tmp_path, *SOME, flat_memory.KEEPING, frames=250)
    assert set(growing(found)) == {flat_memory.KEEPING}
    assert not beyond_limit(found)


@pytest.mark.long
def test_no_peak_grows_with_the_frames(adk: Adk, tmp_path: Path) -> None:
    """Every analysis but one that keeps its frames; some keep to the limit of `max_memory`."""
    found = measure(adk, tmp_path)
    for name, peaks in found.items():
        (short, of_short), (long, of_long) = ([one / 1e6 for one in two] for two in peaks)
        print(f"{name:18} {short:7.2f} {long:7.2f} MB; results {of_short:6.2f} {of_long:6.2f} MB")
    assert set(growing(found)) == {flat_memory.KEEPING}
    assert not beyond_limit(found)


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
