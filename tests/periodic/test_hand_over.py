"""Threads remove jumps in one pass: each task hands over to the next how far atoms have jumped."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.messages import raises
from helpers.periodic_systems import PeriodicSystem, make_system

COUNTS = ("bytes_read", "bytes_used", "frames", "atoms_decoded")
N_FRAMES, N_ATOMS = 60, 40
EDGE = 3.0
POOLS = [
    tj.LocalPool(threads=threads, task_frames=frames)
    for threads, frames in ((2, 1), (2, 7), (2, 100), (5, 1), (5, 3), (5, None))
]
WORK: dict[str, Callable[[tj.Trajectory, Path], object]] = {
    "read": lambda traj, _: traj.read(threads=2),
    "analysis": lambda traj, _: positions(traj, tj.LocalPool(threads=5, task_frames=2)),
    "copy": lambda traj, folder: tj.convert(traj, folder / "copy.trr", threads=2),
}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water in a changing triclinic cell."""
    return make_system("npt", tmp_path_factory.mktemp("npt"))


def positions(chosen: tj.Trajectory | tj.Selection, pool: tj.LocalPool) -> np.ndarray:
    """Return positions as an analysis sees them."""
    return tj.apply(chosen, lambda x: x.copy(), pool=pool).values.astype(np.float32)


def wrapped_walk(path: Path, missing: tuple[int, int] | None = None) -> np.ndarray:
    """Write a random walk that is wrapped into a cube; return the walk, Å.

    In the frame `missing[0]` the atom `missing[1]` has no position.
    """
    steps = np.random.default_rng(5).normal(0, 0.3, (N_FRAMES, N_ATOMS, 3))
    walk = EDGE / 2 + np.cumsum(steps, 0)
    walk -= EDGE * np.floor(walk[0] / EDGE)
    stored = walk % EDGE
    if missing is not None:
        stored[missing] = np.nan
    trr_bytes.write_trr(path, stored, boxes=[EDGE * np.eye(3)] * N_FRAMES)
    return 10 * walk


def test_any_threads_and_tasks_give_the_walk(tmp_path: Path) -> None:
    """All atoms, and some of the decoded ones, have the same positions; so have copies."""
    walk = wrapped_walk(tmp_path / "walk.trr")
    traj = tj.open(None, tmp_path / "walk.trr").nojump()
    one = traj.read(threads=1).positions
    assert np.abs(one - walk).max() < 1e-3
    few = traj.select([3, 30, 7])
    assert few.read(threads=3).positions.tobytes() == one[:, [3, 30, 7]].tobytes()
    fitted = traj.fit(traj.select(range(10))).select([35, 36])
    twin = fitted.read(threads=1).positions
    assert fitted.read(threads=4).positions.tobytes() == twin.tobytes()
    for pool in POOLS:
        assert positions(traj, pool).tobytes() == one.tobytes(), pool
        assert positions(fitted, pool).tobytes() == twin.tobytes(), pool
    tj.convert(traj, tmp_path / "one.trr", threads=1)
    tj.convert(traj, tmp_path / "five.trr", threads=5)
    assert (tmp_path / "one.trr").read_bytes() == (tmp_path / "five.trr").read_bytes()


@pytest.mark.parametrize("view", ["lattice", "toroidal"])
def test_threads_read_each_frame_once(system: PeriodicSystem, view: str) -> None:
    """They read the bytes that they read without the removal of jumps, in both passes of RMSF."""
    traj = system.open()
    chosen = traj.nojump(view=view).select("resname ALA")
    plain = traj.whole().select("resname ALA")
    for pool in (tj.LocalPool(threads=1), *POOLS):
        for compute in (tj.gyration, tj.rmsd, tj.rmsf):
            reports = [compute(one, pool=pool).report for one in (plain, chosen)]
            assert "counting" not in reports[1]
            for name in COUNTS:
                assert reports[0][name] == reports[1][name], (pool, name)


def test_reads_before_are_in_the_report(system: PeriodicSystem, tmp_path: Path) -> None:
    """Frames out of order, joint analyses and processes count jumps first, once for all passes."""
    traj = system.open()
    chosen, n = traj.nojump().select("resname ALA"), traj.n_frames
    few = chosen.trajectory.select("resname GLY")
    two = tj.LocalPool(threads=2)
    backwards = slice(None, None, -1)
    runs = {
        "backwards": lambda: tj.gyration(chosen, frames=backwards, pool=two).report,
        "two passes": lambda: tj.rmsf(chosen, frames=backwards, pool=two).report,
        "processes": lambda: tj.gyration(chosen, pool=tj.ProcessPool(workers=2)).report,
        "joint": lambda: tj.run([tj.gyration.job(chosen), tj.rmsf.job(few)], pool=two)[0].report,
        "copies": lambda: (
            tj.convert(chosen, tmp_path / "x.trr", frames=backwards, threads=2).report
        ),
    }
    for name, run in runs.items():
        report = run()
        counting = report["counting"]
        # The last of the runs of frames needs no sums.
        assert n / 2 < counting["frames"] <= n + 2, name
        assert counting["bytes_read"] > 0
        assert counting["requests"] > 0
        for count in COUNTS:
            by_workers = sum(worker[count] for worker in report["workers"])
            assert report[count] == by_workers + counting[count], (name, count)
        assert report["stages"]["t_read"] >= counting["t_read"] > 0


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("frame", [0, 1, 31, N_FRAMES - 1])
def test_a_bad_frame_is_named_and_nothing_hangs(tmp_path: Path, work: str, frame: int) -> None:
    """Threads that wait for the task of this frame end."""
    wrapped_walk(tmp_path / "walk.trr", (frame, 17))
    traj = tj.open(None, tmp_path / "walk.trr").nojump()
    with raises(tj.AnalysisError):
        WORK[work](traj, tmp_path)
    assert not (tmp_path / "copy.trr").exists()


def test_a_failing_analysis_ends_waiting_threads(tmp_path: Path) -> None:
    """Its error is raised, not that of tasks that were given up."""
    wrapped_walk(tmp_path / "walk.trr")
    traj = tj.open(None, tmp_path / "walk.trr").nojump()
    seen = []

    def fail(x: np.ndarray) -> float:
        seen.append(1)
        if len(seen) == 20:
            raise ZeroDivisionError("in a test")
        return float(x[0, 0])

    with raises(ZeroDivisionError):
        tj.apply(traj, fail, pool=tj.LocalPool(threads=5, task_frames=1))


def test_cancelled_runs_end(tmp_path: Path) -> None:
    """An exception in the callback of progress, as Ctrl-C is one, ends all threads."""
    wrapped_walk(tmp_path / "walk.trr")
    traj = tj.open(None, tmp_path / "walk.trr").nojump()

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    def slow(x: np.ndarray) -> float:
        np.sort(np.random.default_rng(0).uniform(size=400_000))
        return float(x[0, 0])

    with pytest.raises(KeyboardInterrupt):
        tj.apply(traj, slow, pool=tj.LocalPool(threads=3, task_frames=1), progress=cancel)
