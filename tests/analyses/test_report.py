"""The names in a report are stable, its counts exact, and its times add up."""

import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import commands, made_reports
from helpers.golden_files import Adk, Golden
from helpers.messages import raises
from trajet import _trajet, startup
from trajet.analysis import sample
from trajet.pools import tasks, timing
from trajet.result.report import OUTSIDE
from trajet.topology import Topology
from trajet.trajectory import structure

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
    "warnings",
    "notes",
    "versions",
    "cpu",
    "instruction_set",
    "threads",
    "host",
    "pool",
    "averages",
    "r_comp_comm",
    "cores",
    "ranks_per_node",
    "stragglers",
    "retried",
    "repeated",
    "advice",
    "heuristics",
    "t_import",
    "t_topology",
    "t_select",
    "t_command",
}
WORKER = {"worker", "thread", "host", "process", "tasks", "frames", "requests", "opens", "t_io"}
TASK = {"pass", "task", "worker", "thread", "first", "frames", "t_begin", "t_end"}
TASK_STAGES = {"t_open", "t_read", "t_decode", "t_comp", "t_merge"}
POOLS = (
    tj.LocalPool(threads=1),
    tj.LocalPool(threads=3, task_frames=20),
    tj.ProcessPool(workers=2, task_frames=50),
    tj.ProcessPool(workers=2, threads=2, task_frames=200),
)
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
    """Return ADK repeated ten times: 980 frames in one file."""
    path = tmp_path_factory.mktemp("many") / "many.xtc"
    path.write_bytes(adk.xtc.read_bytes() * 10)
    return path


def n_tasks(report: Mapping[str, object]) -> int:
    """Return the number of tasks of a run: a count in the report, or its entries."""
    tasks = report["tasks"]
    return tasks if isinstance(tasks, int) else len(tasks)


def test_names_are_stable(adk: Adk) -> None:
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


def threads_tasks_and_requests() -> Iterator[object]:
    """Yield all cases; the gate has all pairs of two numbers, and not all of three."""
    for i, threads in enumerate((1, 2, 5)):
        for j, task_frames in enumerate((None, 20, 10**9)):
            for k, request_size in enumerate((16 * 1024, 256 * 1024, 8 << 20)):
                marks = () if (i + j) % 3 == k else pytest.mark.long
                yield pytest.param(threads, task_frames, request_size, marks=marks)


@pytest.mark.parametrize(
    ("threads", "task_frames", "request_size"), [*threads_tasks_and_requests()]
)
def test_counts_are_exact(
    many: Path, threads: int, task_frames: int | None, request_size: int
) -> None:
    """A run opens the file once, with few requests and few bytes beyond the file's size."""
    traj = tj.open(None, many, request_size=request_size)
    pool = tj.LocalPool(threads=threads, task_frames=task_frames)
    atoms, size = traj.select(np.arange(ADK_ATOMS)), many.stat().st_size
    report, again = (tj.rmsd(atoms, pool=pool).report for _ in range(2))
    assert report["opens"] == again["opens"] == 1
    assert report["frames"] == again["frames"]
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


BEFORE = ("t_import", "t_topology", "t_select")


def test_t_command_is_the_sum_of_the_times_outside_of_the_run_and_of_t_total(
    adk: Adk, tmp_path: Path
) -> None:
    """Every analysis and conversion is checked; opening is part of t_topology, not of a stage."""
    traj = tj.open(adk.psf, adk.xtc)
    atoms, further = traj.select("name CA"), traj.select("protein")
    done = tj.convert(atoms, tmp_path / "ca.xtc").report
    assert done is not None
    reports = {
        "rmsd": tj.rmsd(atoms, groups=[further]).report,
        "rmsf": tj.rmsf(atoms, align=further).report,
        "distances": tj.distances(atoms, further, frames=[0]).report,
        "dihedrals": tj.dihedrals(further).report,
        "apply": tj.apply(atoms, lambda positions: positions.mean()).report,
        "convert": done,
    }
    opening = reports["rmsd"]["opening"]
    for name, report in reports.items():
        assert report["analysis"] == name
        times = [report.get(each, 0.0) for each in OUTSIDE if each != "t_command"]
        assert report["t_command"] == pytest.approx(sum(times) + report["stages"]["t_total"])
        assert min(report[each] for each in BEFORE) > 0
        assert name == "convert" or report["t_result"] > 0
        assert (
            report["t_topology"]
            == traj.source.structure.seconds
            > opening["t_open"] + opening["t_index"]
        )
        table = repr(report)
        for each in (*BEFORE, "t_command"):
            assert f"{each} " in table
            assert each not in report["stages"]
    assert reports["rmsd"]["t_select"] > atoms.t_select + further.t_select
    assert reports["rmsf"]["t_select"] > atoms.t_select + further.t_select
    assert reports["dihedrals"]["t_select"] > further.t_select
    assert reports["convert"]["t_select"] == atoms.t_select


class Clock:
    """A clock that advances only when it is set."""

    now = 0.0

    def perf_counter(self) -> float:
        """Return the time."""
        return self.now


def test_each_second_before_the_run_is_counted_once(
    adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports, the reading of the topology and the selection are each counted on their own."""
    clock = Clock()
    load, select = structure.load_structure, Topology.select
    traj = tj.open(adk.psf, adk.xtc)
    opened, imports = traj.source.structure.seconds, startup.import_seconds()

    def slow_load(*given: Any) -> Any:
        with startup.importing("a module that nobody has"):
            clock.now += 3
        clock.now += 25
        return load(*given)

    def slow_select(*given: Any, **how: Any) -> Any:
        with startup.importing("os"):
            clock.now += 0.5
        return select(*given, **how)

    monkeypatch.setattr(startup, "time", clock)
    monkeypatch.setattr(structure, "load_structure", slow_load)
    monkeypatch.setattr(Topology, "select", slow_select)
    atoms = traj.select("name CA")
    assert startup.import_seconds() == imports + 3
    assert traj.source.structure.seconds == opened + 25
    # Modules that were imported already cost no import time.
    assert atoms.t_select == 0.5


def test_reports_of_commands_have_every_step(adk: Adk, tmp_path: Path) -> None:
    """Clusters, files and figure are steps of their own; `benches/wall_time.py` has the sum."""
    path = tmp_path / "report.json"
    outputs = ("-o", tmp_path / "r.npz", "--plot", tmp_path / "r.png", "--report", path)
    commands.run("cluster-rmsd", adk.psf, adk.xtc, "--select", "name CA", "--cutoff", "2", *outputs)
    report = tj.Report.load(path)
    assert all(report[name] > 0 for name in OUTSIDE)
    others = (report[name] for name in OUTSIDE if name != "t_command")
    assert report["t_command"] == pytest.approx(sum(others) + report["stages"]["t_total"])


@pytest.mark.parametrize("pool", [tj.LocalPool(threads=2), tj.ProcessPool(workers=2)], ids=repr)
def test_entries_are_those_of_json_on_every_pool(adk: Adk, pool: tj.Pool) -> None:
    """Tasks are a list, also where pools keep them in columns."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), pool=pool).report
    assert type(report["tasks"]) is list
    assert len(report["tasks"]) > 1
    assert json.loads(json.dumps(dict(report))) == json.loads(report.to_json())


def test_older_reports_have_no_times_before_the_run(adk: Adk, tmp_path: Path) -> None:
    """They are still read, printed and drawn."""
    report = dict(tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report)
    for name in (*BEFORE, "t_command", "heuristics"):
        del report[name]
    (tmp_path / "old.json").write_text(json.dumps(report))
    old = tj.Report.load(tmp_path / "old.json")
    assert "t_command" not in repr(old) + old.to_html()
    assert "t_total" in repr(old)


def test_only_selected_atoms_are_decoded(adk: Adk) -> None:
    """A prefix of the atoms is decoded without the atoms behind it."""
    traj = tj.open(None, adk.xtc)
    total = ADK_FRAMES * ADK_ATOMS
    for wanted in (1, 10, 214, 1000):
        decoded = tj.rmsd(traj.select(np.arange(wanted))).report["atoms_decoded"]
        assert ADK_FRAMES * wanted <= decoded < total
        # The format stores runs of nine atoms at most: a few runs may be decoded in excess.
        assert decoded <= (ADK_FRAMES + 1) * (wanted + 64)


def test_only_requested_frames_are_read(many: Path) -> None:
    """Other frames are not decoded and, if they are many, not read."""
    traj = tj.open(None, many, request_size=16 * 1024)
    report = tj.rmsd(traj.select(np.arange(ADK_ATOMS)), frames=slice(None, None, 98)).report
    assert report["frames"] == 10
    assert report["atoms_decoded"] <= 11 * ADK_ATOMS
    assert report["bytes_read"] < many.stat().st_size / 10


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_stages_of_a_worker_add_up(many: Path, threads: int) -> None:
    """Tasks, waiting and overhead of a worker add up to its whole time."""
    traj = tj.open(None, many)
    pool = tj.LocalPool(threads=threads, task_frames=50)
    report = tj.rmsd(traj.select(np.arange(ADK_ATOMS)), pool=pool).report
    assert len(report["workers"]) == threads
    for worker in report["workers"]:
        parts = sum(worker[name] for name in STAGES - {"t_total"})
        assert parts == pytest.approx(worker["t_total"], rel=1e-6)
    assert sum(worker["t_decode"] for worker in report["workers"]) > 0
    assert sum(worker["t_comp"] for worker in report["workers"]) > 0


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_every_pool_has_the_same_names(many: Path, pool: tj.Pool) -> None:
    """Workers and tasks of every pool have the same entries and the same sums."""
    result = tj.rmsd(tj.open(None, many).select(np.arange(ADK_ATOMS)), pool=pool)
    report = result.report
    assert set(report) >= NAMES
    workers, tasks, run = report["workers"], report["tasks"], report["stages"]["t_total"]
    # Times count from the start of the call.
    assert 0 < report["t_preparing"] <= min(task["t_begin"] for task in tasks)
    for worker in workers:
        assert set(worker) >= STAGES | WORKER
        # Exactly: overhead outside of all stages is a stage, too.
        parts = math.fsum(worker[name] for name in STAGES - {"t_total"})
        assert parts == pytest.approx(worker["t_total"], rel=1e-6, abs=1e-9)
        assert worker["t_io"] == worker["t_read"] + worker["t_decode"]
        assert worker["t_total"] <= run
    lanes = {(worker["worker"], worker["thread"]) for worker in workers}
    assert len(lanes) == len(workers) == report["threads"]
    for task in tasks:
        assert set(task) >= TASK | TASK_STAGES
        assert 0 <= task["t_begin"] <= task["t_end"] <= run
        whose = {lane for lane in lanes if task["thread"] in (lane[1], None)}
        assert task["worker"] in {worker for worker, _ in whose}
    assert sum(task["frames"] for task in tasks) == report["frames"] == 10 * ADK_FRAMES
    for name in TASK_STAGES - {"t_open", "t_merge"}:
        of_tasks = math.fsum(task[name] for task in tasks)
        assert of_tasks == pytest.approx(sum(worker[name] for worker in workers), rel=1e-6)
    # A task of several threads is a task of each of these threads.
    if all(task["thread"] is not None for task in tasks) or not any(w["thread"] for w in workers):
        assert sum(worker["tasks"] for worker in workers) == len(tasks)
    assert max(worker["tasks"] for worker in workers) <= len(tasks)
    for name, mean in report["averages"].items():
        assert mean == pytest.approx(sum(worker[name] for worker in workers) / len(workers))
    processes = {worker["process"] for worker in workers}
    assert sum(report["ranks_per_node"].values()) == len(processes)
    assert (os.getpid() in processes) == isinstance(pool, tj.LocalPool)
    assert report["r_comp_comm"] is None


def test_clock_around_the_call_shows_at_least_t_total(many: Path) -> None:
    """t_total of the run, and so of every worker, lies within the clock's time."""
    atoms = tj.open(None, many).select(np.arange(ADK_ATOMS))
    for pool in POOLS:
        begin = time.perf_counter()
        stages = tj.rmsd(atoms, pool=pool).report["stages"]
        assert 0 < stages["t_total"] <= time.perf_counter() - begin


def test_undefined_ratios_are_none() -> None:
    """Without frames there is no ratio, which differs from zero."""
    report = made_reports.report([made_reports.worker(0, frames=0, t_wait=1.0)])
    assert report["r_comp_io"] is None
    assert "R_comp/IO" not in repr(report)
    report = made_reports.report([made_reports.worker(0, t_comp=6.0, t_read=1, t_comm=2.0)])
    assert (report["r_comp_io"], report["r_comp_comm"]) == (6.0, 3.0)
    two = [made_reports.worker(k, t_comp=6.0, t_read=1) for k in range(2)]
    assert made_reports.report(two)["r_comp_io"] is None


def test_entries_of_a_pool_are_kept() -> None:
    """They have names of their own; versions join the others."""
    ranks = [made_reports.worker(k, rank=k, t_comp=1.0) for k in range(6)]
    report = made_reports.report(ranks, pool="mpi", mpi={"ranks": 6}, versions={"MPI": "4.1"})
    assert report["pool"] == "mpi"
    assert report["mpi"] == {"ranks": 6}
    assert report["versions"]["MPI"] == "4.1"
    assert report["versions"]["trajet"] == tj.__version__
    assert report["ranks_per_node"] == {"node0": 4, "node1": 2}
    late = [{"pass": 0, "task": 3}]
    assert made_reports.report(ranks, repeated=late)["repeated"] == late


def with_sample(selection: tj.Selection, **options: Any) -> tj.Report:
    """Return the report of an RMSD with a serial sample."""
    (result,) = tj.run([tj.rmsd.job(selection)], time_sample=True, **options)
    report: tj.Report = result.report
    return report


def test_ratio_of_computing_to_reading(many: Path) -> None:
    """r_comp_io is t_comp / (t_read + t_decode) of a serial run, as in the papers."""
    atoms = tj.open(None, many).select(np.arange(ADK_ATOMS))
    pool = tj.LocalPool(threads=1)
    report = tj.rmsd(atoms, pool=pool).report
    stages = report["stages"]
    expected = stages["t_comp"] / (stages["t_read"] + stages["t_decode"])
    assert report["r_comp_io"] == pytest.approx(expected, rel=1e-9)
    assert report["r_comp_io"] > 0
    assert "sample" not in report
    asked = with_sample(atoms, pool=pool)
    assert asked["sample"] is None
    assert asked["r_comp_io"] > 0


def test_no_sample_unless_requested(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on several threads reads no frame twice, and its R_comp/IO is null."""
    monkeypatch.setattr(sample, "_alone", None)
    atoms = tj.open(None, many).select(np.arange(9))
    report = tj.rmsd(atoms, pool=tj.LocalPool(threads=2)).report
    assert report["r_comp_io"] is None
    assert "sample" not in report


def test_run_on_threads_serialises_nothing(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the run nor its sample makes a worker spec or opens the files a second time."""
    monkeypatch.setattr(_trajet, "WorkerTrajectory", None)
    traj = tj.open(None, many)
    frames = np.tile(np.arange(traj.n_frames), 2)
    report = with_sample(traj.select(np.arange(9)), frames=frames, pool=tj.LocalPool(threads=2))
    assert report["sample"]["frames"] >= 1
    assert report["opens"] + report["sample"]["opens"] <= 1 + report["opening"]["opens"]


@pytest.mark.parametrize("pool", [tj.LocalPool(threads=2), tj.ProcessPool(workers=2)])
def test_serial_sample_is_a_hundredth_of_the_frames(
    pool: tj.LocalPool | tj.ProcessPool, many: Path
) -> None:
    """It takes a hundredth of the frames per thread, and changes no count of the run."""
    traj = tj.open(None, many)
    atoms = traj.select(np.arange(ADK_ATOMS))
    # Repeated ten times, and chosen by frame numbers in no order.
    frames = np.tile(np.arange(traj.n_frames), 2)[::-1]
    report = with_sample(atoms, frames=frames, pool=pool)
    sample = report["sample"]
    n = len(frames)
    assert n == report["frames"]
    assert 1 <= sample["frames"] <= n / 100 / 2
    assert sample["t_comp"] > 0
    expected = sample["t_comp"] / (sample["t_read"] + sample["t_decode"])
    assert report["r_comp_io"] == pytest.approx(expected, rel=1e-9)
    assert sample["bytes_read"] <= report["bytes_read"] / 50
    assert sample["t_read"] + sample["t_decode"] + sample["t_comp"] <= sample["t_total"]
    # Too few frames for a sample, and a user's function, which would see the calls.
    assert with_sample(atoms, frames=slice(0, 900), pool=pool)["sample"] is None
    calls = []

    def note(positions: np.ndarray) -> np.ndarray:
        calls.append(len(positions))
        return np.zeros(1)

    if isinstance(pool, tj.LocalPool):
        applied = tj.apply(atoms, note, frames=frames, pool=pool)
        assert "sample" not in applied.report
        # The call that checks the returned value is that of the first frame.
        assert len(calls) == n


def test_error_of_the_sample_is_raised_by_the_run(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame that cannot be read is an error of the run, with its whole message."""
    met = []
    plain = sample._alone

    def alone(*arguments: Any) -> dict[str, Any]:
        try:
            return plain(*arguments)
        except tj.TrajetError as error:
            met.append(error)
            raise

    monkeypatch.setattr(sample, "_alone", alone)
    data = bytearray(many.read_bytes())
    path = tmp_path / "broken.xtc"
    path.write_bytes(data)
    traj = tj.open(None, path)
    # Some of the last frames, except for the very last, which identifies the file.
    of = len(data) / traj.n_frames
    begin, end = int(974 * of), int(978 * of)
    data[begin:end] = b"\xff" * (end - begin)
    path.write_bytes(data)
    twice = np.tile(np.arange(traj.n_frames), 2)
    with raises(tj.TrajetError):
        with_sample(traj.select(np.arange(9)), frames=twice, pool=tj.LocalPool(threads=2))
    assert met


def test_json_round_trip_is_exact(adk: Adk, tmp_path: Path) -> None:
    """The saved report equals the report."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report
    path = tmp_path / "report.json"
    report.save(path)
    with path.open(encoding="utf-8") as file:
        assert json.load(file) == dict(report)
    report.save(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    with raises(tj.OutputError):
        report.save(tmp_path / "no" / "report.json")


def test_saved_report_loads_and_other_files_are_errors(adk: Adk, tmp_path: Path) -> None:
    """A saved report loads with equal entries; any other file is a FormatError with the reason."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report
    path = tmp_path / "report.json"
    report.save(path)
    assert dict(tj.Report.load(path)) == dict(report)
    assert tj.Report.load(path).to_html() == report.to_html()
    for entries in (
        [1, 2],
        {},
        {**report, "schema": 3},
        {name: report[name] for name in report if name != "stages"},
        {**report, "workers": [{}]},
    ):
        path.write_text(json.dumps(entries))
        with raises(tj.FormatError):
            tj.Report.load(path)
    path.write_bytes(b"\xff{")
    with raises(tj.FormatError):
        tj.Report.load(path)
    with pytest.raises(FileNotFoundError):
        tj.Report.load(tmp_path / "none.json")


def digest_of(path: Path) -> str:
    """Return the digest that a run on this file reports."""
    return tj.rmsd(tj.open(None, path).select([0, 1, 2])).report["inputs"][0]["digest"]


def test_digest_follows_head_and_tail(golden: Golden, golden_xtc: Path, tmp_path: Path) -> None:
    """Copies have the digest of the original; a changed head or tail has another one."""
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


def test_bytes_of_tiers_are_added() -> None:
    """They are added over threads of this process and over workers in other processes."""
    plain = made_reports.worker(0, t_comp=1.0)
    names = ("bytes_by_tier", "bytes_by_tag")
    assert not set(names) & set(made_reports.report([plain]))
    tiers = [[0, 10, 0], [1, 2, 3]]
    of_tiers = [{**plain, names[0]: bytes_, names[1]: bytes_[1:]} for bytes_ in tiers]
    together = made_reports.report([plain, *of_tiers], tags=["one", "other"])
    assert [together[name] for name in names] == [[1, 12, 3], [12, 3]]
    assert together["tags"] == {"one": 12, "other": 3}
    # Workers that are other processes add them over their tasks.
    ledger, task = timing.RunTiming(), tasks.Task(0, (0, 1), (0, 1000))
    for entry in (of_tiers[0], plain, of_tiers[1]):
        report = {"workers": [{**entry, "tasks": 1}]}
        ledger.add(0, task, tasks.TaskOutcome(np.empty(0), report, 0.0, 1.0, "node", 1))
    ledger.add(1, task, tasks.TaskOutcome(np.empty(0), {"workers": [plain]}, 0.0, 1.0, "node", 2))
    first, second = ledger.report()["workers"]
    assert [first[name] for name in names] == [[1, 12, 3], [12, 3]]
    assert not set(names) & set(second)
