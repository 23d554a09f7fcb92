"""The report: its names are stable, its counts exact, its times add up."""

import json
import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from golden_files import Adk, Golden

NAMES = {
    "stages",
    "workers",
    "tasks",
    "requests",
    "opens",
    "bytes_read",
    "bytes_used",
    "frames",
    "empty_frames",
    "atoms_decoded",
    "r_comp_io",
    "inputs",
    "remarks",
    "versions",
    "cpu",
    "instruction_set",
    "threads",
    "host",
}
STAGES = {
    "t_open",
    "t_index",
    "t_read",
    "t_decode",
    "t_comp",
    "t_wait",
    "t_comm",
    "t_merge",
    "t_close",
    "t_overhead",
    "t_total",
}
ADK_ATOMS = 3341
ADK_FRAMES = 98


@pytest.fixture(scope="module")
def many(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ADK ten times over: 980 frames in one file."""
    path = tmp_path_factory.mktemp("many") / "many.xtc"
    path.write_bytes(adk.xtc.read_bytes() * 10)
    return path


def n_tasks(report: Mapping[str, object]) -> int:
    """Count the tasks of a run: the report has their number, or an entry for each."""
    tasks = report["tasks"]
    return tasks if isinstance(tasks, int) else len(tasks)


def test_names(adk: Adk) -> None:
    """Scripts depend on these names."""
    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    report = result.report
    assert isinstance(report, Mapping)
    assert set(report) >= NAMES
    assert len(report) == len(list(report))
    for stages in (report["stages"], *report["workers"]):
        assert set(stages) >= STAGES
        for name in STAGES:
            assert isinstance(stages[name], float)
            assert math.isfinite(stages[name])
            assert stages[name] >= 0
    trajectory, topology = report["inputs"]
    assert Path(trajectory["path"]).resolve() == adk.xtc.resolve()
    assert Path(topology["path"]).resolve() == adk.psf.resolve()
    assert trajectory["truncated_tail"] == 0
    for file in (trajectory, topology):
        assert isinstance(file["digest"], str)
        assert file["digest"]
    assert report["versions"]["trajet"] == tj.__version__
    assert isinstance(report["instruction_set"], str)
    assert isinstance(report["cpu"], str)
    assert isinstance(report["host"], str)
    with pytest.raises(KeyError):
        report["no such name"]
    with pytest.raises(TypeError):
        report["frames"] = 3


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("task_frames", [None, 20, 10**9])
@pytest.mark.parametrize("request_size", [16 * 1024, 256 * 1024, 8 << 20])
def test_counts(many: Path, threads: int, task_frames: int | None, request_size: int) -> None:
    """One opening, few requests, hardly a byte more than the file has."""
    traj = tj.open(None, many, request_size=request_size)
    pool = tj.LocalPool(threads=threads, task_frames=task_frames)
    report = tj.rmsd(traj.select(np.arange(ADK_ATOMS)), pool=pool).report
    size = many.stat().st_size
    assert report["opens"] == 1
    assert report["frames"] == 10 * ADK_FRAMES
    assert report["atoms_decoded"] >= 10 * ADK_FRAMES * ADK_ATOMS
    # The reference frame is decoded once more.
    assert report["atoms_decoded"] <= (10 * ADK_FRAMES + 1) * ADK_ATOMS
    tasks = n_tasks(report)
    assert 1 <= tasks <= 10 * ADK_FRAMES
    if task_frames == 10**9:
        assert tasks == 1
    assert 1 <= report["threads"] <= threads
    assert len(report["workers"]) == report["threads"]
    assert report["bytes_used"] <= report["bytes_read"]
    assert report["bytes_used"] > 0.98 * size
    assert report["bytes_read"] <= size + request_size * tasks
    assert report["requests"] >= 1
    assert report["requests"] <= report["bytes_read"] / request_size + 2 * tasks


def test_counts_of_every_file(golden: Golden, golden_xtc: Path) -> None:
    """Frames and openings are counted right on every file, run after run."""
    traj = tj.open(None, golden_xtc)
    for _ in range(2):
        report = tj.rmsd(traj.select(np.arange(traj.n_atoms))).report
        assert report["opens"] == 1
        assert report["frames"] == golden.truth.n_frames
        assert report["bytes_read"] <= golden_xtc.stat().st_size + 262144 * n_tasks(report)


def test_only_wanted_atoms_are_decoded(adk: Adk) -> None:
    """A prefix of the atoms is decoded without what follows it."""
    traj = tj.open(None, adk.xtc)
    total = ADK_FRAMES * ADK_ATOMS
    for wanted in (1, 10, 214, 1000):
        decoded = tj.rmsd(traj.select(np.arange(wanted))).report["atoms_decoded"]
        assert ADK_FRAMES * wanted <= decoded < total
        # The format stores runs of nine atoms at most: a few runs may be decoded in excess.
        assert decoded <= (ADK_FRAMES + 1) * (wanted + 64)


def test_only_wanted_frames_are_read(many: Path) -> None:
    """Frames that nobody asked for are neither decoded nor, where they are many, read."""
    traj = tj.open(None, many, request_size=16 * 1024)
    report = tj.rmsd(traj.select(np.arange(ADK_ATOMS)), frames=slice(None, None, 98)).report
    assert report["frames"] == 10
    assert report["atoms_decoded"] <= 11 * ADK_ATOMS
    assert report["bytes_read"] < many.stat().st_size / 10


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_stages_of_a_worker_add_up(many: Path, threads: int) -> None:
    """What a worker did, waiting and overhead included, is its whole time."""
    traj = tj.open(None, many)
    pool = tj.LocalPool(threads=threads, task_frames=50)
    report = tj.rmsd(traj.select(np.arange(ADK_ATOMS)), pool=pool).report
    assert len(report["workers"]) == threads
    for worker in report["workers"]:
        parts = sum(worker[name] for name in STAGES - {"t_total"})
        assert abs(parts - worker["t_total"]) <= 0.05 * worker["t_total"] + 0.001
    assert sum(worker["t_decode"] for worker in report["workers"]) > 0
    assert sum(worker["t_comp"] for worker in report["workers"]) > 0


def test_ratio_of_computing_to_reading(many: Path) -> None:
    """r_comp_io is t_comp / (t_read + t_decode), as in the papers."""
    report = tj.rmsd(tj.open(None, many).select(np.arange(ADK_ATOMS))).report
    stages = report["stages"]
    expected = stages["t_comp"] / (stages["t_read"] + stages["t_decode"])
    assert report["r_comp_io"] == pytest.approx(expected, rel=1e-9)
    assert report["r_comp_io"] > 0


def test_json_round_trip(adk: Adk, tmp_path: Path) -> None:
    """The saved report is the report."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report
    path = tmp_path / "report.json"
    report.save(path)
    with path.open(encoding="utf-8") as file:
        assert json.load(file) == dict(report)
    report.save(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(tj.OutputError, match=re.escape(str(tmp_path / "no"))):
        report.save(tmp_path / "no" / "report.json")


def digest_of(path: Path) -> str:
    """Return the digest that a run on this file reports."""
    return tj.rmsd(tj.open(None, path).select([0, 1, 2])).report["inputs"][0]["digest"]


def test_digest(golden: Golden, golden_xtc: Path, tmp_path: Path) -> None:
    """Copies have the digest of the original; a changed head or tail has another."""
    digest = digest_of(golden_xtc)
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = Path(shutil.copy(golden_xtc, folder / "renamed.xtc"))
    assert digest_of(copy) == digest
    data = golden.source.read_bytes()
    # Bytes that are data in every file: the low bits of the first time, and of the last times.
    seen = {digest}
    for position in (15, len(data) - 3):
        changed = bytearray(data)
        changed[position] ^= 1
        golden_xtc.write_bytes(changed)
        seen.add(digest_of(golden_xtc))
    assert len(seen) == 3
