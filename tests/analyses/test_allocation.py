"""`trajet advise --ranks` names what limits a run; predictions keep the laws of their model."""

import dataclasses
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import trajet as tj
from helpers import made_reports
from helpers.commands import fail, misuse, succeed
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.made_reports import task, worker
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet import advise
from trajet._trajet import Pass, Plan
from trajet.advise import Cluster, Environment, Setup, Storage, Workload, predict
from trajet.advise.scaling import LAYOUTS, WAYS
from trajet.cli.group import commands
from trajet.cli.translation import as_options

N_FRAMES = 100_000
LUSTRE = Storage(latency=5e-4, client_bandwidth=5e8, open_seconds=2e-3)


def serial_report(
    n_frames: int = N_FRAMES,
    tasks: Sequence[dict[str, Any]] = (),
    *,
    frame_bytes: int = 12_000,
    request_bytes: int = 2**18,
    **stages: float,
) -> tj.Report:
    """Return the report of a run of one thread; `stages` are its seconds."""
    spent = {"t_read": 5.0, "t_decode": 10.0, "t_comp": 5.0, **stages}
    counts = {"bytes_read": frame_bytes * n_frames, "atoms_decoded": 200 * n_frames}
    counts["requests"] = math.ceil(counts["bytes_read"] / request_bytes) + len(tasks)
    one = worker(0, frames=n_frames, **counts, **spent)
    return made_reports.report([one], tasks, ranks_per_node={"node0": 1})


RANKS = (4, 16, 64, 256)
CASES: dict[str, tuple[tj.Report, Storage, str]] = {
    "computing": (serial_report(t_comp=2000.0), LUSTRE, "computing takes most of it"),
    "decoding": (serial_report(t_decode=2000.0), LUSTRE, "decoding takes most of it"),
    "bandwidth": (
        serial_report(t_comp=100.0),
        dataclasses.replace(LUSTRE, total_bandwidth=1e8),
        "the servers of the file deliver 95.4 MiB a second to all, and there are 1.12 GiB to read",
    ),
    "requests": (
        serial_report(t_comp=100.0, request_bytes=12_000),
        dataclasses.replace(LUSTRE, requests_per_s=2000.0),
        "the storage answers 2e+03 requests a second to all, of 11.7 KiB each",
    ),
    "opening": (
        serial_report(t_comp=100.0),
        dataclasses.replace(LUSTRE, opens_per_s=10.0),
        "opening the files takes",
    ),
    "tasks": (serial_report(4, t_comp=100.0), LUSTRE, "the frames make 4 tasks at most"),
}


@pytest.mark.parametrize("name", CASES)
def test_limit_is_named_first(name: str) -> None:
    """Reports and storages that differ in what limits them: the first sentence names it."""
    report, storage, words = CASES[name]
    allocation = advise.allocate(report, RANKS, Environment(storage))
    assert allocation.limit == name
    first = allocation.sentences[0]
    assert first.startswith(f"Ask for {allocation.choice.setup.workers} ranks of MPI (mpiexec -n ")
    assert words in first
    gains = first.endswith("so that more would still gain.")
    assert gains == (name in ("computing", "decoding"))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("requests", "larger requests (request_size=8388608)"),
        ("opening", "2 ranks of 8 threads each (pool=MpiPool(threads=8))"),
        ("bandwidth", "a file for each rank (trajet split)"),
    ],
)
def test_second_sentence_lifts_the_limit(name: str, remedy: str) -> None:
    """What it promises is the prediction for that change."""
    report, storage, _ = CASES[name]
    storage = dataclasses.replace(storage, servers=32)
    environment = Environment(storage, Cluster(cores_per_node=8))
    allocation = advise.allocate(report, RANKS, environment)
    assert remedy in allocation.sentences[1]
    better = {
        "requests": {"request_bytes": 2.0**23},
        "opening": {"threads": 8},
        "bandwidth": {"layout": "segments"},
    }[name]
    setup = dataclasses.replace(allocation.choice.setup, **better)
    after = predict(Workload.of(report), setup, environment)
    assert f"it would take {advise.in_seconds(after.seconds)}." in allocation.sentences[1]
    assert after.seconds < 0.9 * allocation.choice.seconds


def test_more_workers_are_asked_for_while_they_gain() -> None:
    """The advised number doubles the speed at least by the root of two at each doubling."""
    report = serial_report(t_comp=1000.0)
    storage = dataclasses.replace(LUSTRE, total_bandwidth=2e7)
    environment = Environment(storage)
    counts = [2**k for k in range(12)]
    allocation = advise.allocate(report, counts, environment)
    n = allocation.choice.setup.workers
    # 1.2 GB at 20 MB a second take 60 s, as 1,015 s of work do on 17 workers.
    assert n == 16
    assert advise.allocate(report, [n, 10 * n], environment).choice.setup.workers == n
    assert advise.allocate(report, [2, n], environment).choice.setup.workers == n


WORK = st.builds(
    Workload,
    n_frames=st.integers(1, 10**7),
    decoding=st.floats(0, 1),
    computing=st.floats(1e-6, 1),
    reading=st.floats(0, 1),
    frame_bytes=st.floats(1, 1e8),
    request_bytes=st.floats(1, 1e8),
    n_files=st.integers(1, 1000),
    opening=st.floats(0, 10),
    importing=st.floats(0, 10),
    preparing=st.floats(0, 10),
    result_bytes=st.floats(0, 1e10),
    atoms=st.integers(1, 10**7),
    part=st.none() | st.floats(0.01, 1),
    spread=st.lists(st.floats(0.1, 10), min_size=1, max_size=50).map(sorted),
)
POSITIVE = st.floats(1.0, 1e9)
STORAGES = st.builds(
    Storage,
    latency=st.none() | st.floats(0, 1),
    client_bandwidth=st.none() | POSITIVE,
    total_bandwidth=POSITIVE,
    requests_per_s=POSITIVE,
    opens_per_s=POSITIVE,
    servers=st.floats(1, 100),
    exclusive_seconds=st.floats(0, 1e-3),
)
SETUPS = st.builds(
    Setup, st.sampled_from(sorted(WAYS)), st.sampled_from(LAYOUTS), st.integers(1, 10_000)
)


@given(WORK, SETUPS, STORAGES, st.floats(1, 10_000))
@settings(max_examples=examples(50), deadline=None)
def test_predictions_keep_their_laws(
    work: Workload, setup: Setup, storage: Storage, cores: float
) -> None:
    """Terms add up; the range holds the time; no term is negative; limits of storage hold."""
    found = predict(work, setup, Environment(storage, Cluster(cores=cores)))
    assert found.seconds == pytest.approx(sum(found.parts.values()))
    assert all(seconds >= -1e-9 * found.seconds for seconds in found.parts.values())
    assert found.fastest <= found.seconds <= found.slowest
    part = (work.part or 1.0) if setup.layout == "store" else 1.0
    n_bytes = part * work.n_frames * work.frame_bytes
    files = work.n_files if setup.layout == "shared" else max(work.n_files, setup.workers)
    assert found.seconds >= (1 - 1e-9) * n_bytes / storage.bandwidth_of(files)
    at_work = min(cores, setup.workers)
    assert found.seconds >= (1 - 1e-9) * work.n_frames * work.computing / at_work


@given(WORK, SETUPS)
@settings(max_examples=examples(50), deadline=None)
def test_work_is_divided_evenly_without_limits(work: Workload, setup: Setup) -> None:
    """Without shared limits the frames take the serial time over the workers, and a task's tail."""
    setup = dataclasses.replace(setup, way="threads", layout="shared")
    found = predict(work, setup)
    tasks, n = work.n_tasks(setup.workers), setup.workers
    serial = work.n_frames * (work.decoding + work.computing + work.reading)
    frames = found.seconds - found.parts["starting"] - found.parts["preparing"]
    handing_out = tasks * WAYS["threads"].task_seconds
    assert frames >= 0.999 * max(serial / min(n, tasks), handing_out) - 1e-6 * found.seconds
    most = max(serial / n, handing_out) * (1 + n / tasks)
    assert frames <= 1.001 * most + 1e-6 * found.seconds


@given(
    st.integers(1, 10**6),
    st.integers(1, 10_000),
    st.integers(1, 200),
    st.none() | st.integers(1, 10**5),
)
@settings(max_examples=examples(50), deadline=None)
def test_tasks_are_those_of_the_engine(
    n_frames: int, quadruples: int, workers: int, task_frames: int | None
) -> None:
    """The model's rule for leaves and tasks is that of the engine."""
    atoms = 4 * quadruples
    fours = np.arange(atoms).reshape(-1, 4)
    plan = Plan("dihedrals", quadruples=fours, features=False, periodic=True)
    engine = Pass(plan, atoms, n_frames, [])
    work = Workload(n_frames, 0, 1, 0, 1, 1, atoms=atoms)
    assert work.n_leaves == engine.n_leaves
    assert work.n_tasks(workers, task_frames) == len(engine.tasks(workers, task_frames))


def test_spread_of_tasks_makes_the_range() -> None:
    """The range ends where the slowest of as many draws as there are workers begins last."""
    tasks = [task(k, 0, k, k + 1.0, frames=100) for k in range(99)]
    tasks.append(task(99, 0, 99, 109.0, frames=100))
    report = serial_report(10_000, tasks, t_read=0.0, t_decode=0.0, t_comp=109.0)
    work = Workload.of(report)
    assert work.spread[-1] == pytest.approx(10 / 1.09)
    assert statistics.mean(work.spread) == pytest.approx(1)
    found = predict(work, Setup("threads", "shared", 8))
    each = 109.0 / work.n_tasks(8)
    draws = np.random.default_rng(1).choice(work.spread, (100_000, 8)).max(1).mean()
    assert found.slowest - found.fastest == pytest.approx(each * draws, rel=0.02)
    rounds = math.ceil(work.n_tasks(8) / 8)
    assert found.seconds == pytest.approx(rounds * each + 1e-9)


def test_seconds_of_crowded_threads_are_no_work() -> None:
    """Eight threads on two cores took four times as long for each frame."""
    threads = [{**worker(0, t_comp=40.0, t_read=1.0), "thread": k} for k in range(8)]
    report = made_reports.report(threads, ranks_per_node={"node0": 1}, cores=2)
    work = Workload.of(report)
    assert work.computing == pytest.approx(8 * 40.0 / 4 / work.n_frames)
    assert work.reading == pytest.approx(8 / work.n_frames)


def test_description_is_read_as_it_is_written(tmp_path: Path) -> None:
    """Unknown keys and numbers out of range are errors that name file and key."""
    path = tmp_path / "lustre.toml"
    given_ = Environment(
        Storage(0.0005, 5e8, 1e10, open_seconds=0.002, servers=32), Cluster(24, 384)
    )
    path.write_text(given_.to_toml())
    assert Environment.load(path) == given_
    path.write_text(Environment().to_toml())
    assert Environment.load(path) == Environment()
    for text in (
        "[storage]\nspeed = 3",
        "[disk]\nlatency = 3",
        "latency = 3",
        "[storage]\nlatency = -1",
        "[storage]\ntotal_bandwidth = 0",
        "[storage]\nlatency = nan",
        "[storage]\nlatency = true",
        "[storage",
    ):
        path.write_text(text)
        with raises(ValueError):
            Environment.load(path)


def test_command_prints_sentence_and_table(adk: Adk, tmp_path: Path) -> None:
    """The same numbers in the table, as JSON and in Python; each mistake is an error."""
    report, storage = tmp_path / "report.json", tmp_path / "lustre.toml"
    tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report.save(report)
    storage.write_text("[storage]\nlatency = 0.01\n[cluster]\ncores_per_node = 2\n")
    ranks = ("--ranks", "1,2,24")
    lines = succeed("advise", report, *ranks, "--storage", storage)
    assert lines[0].startswith("Ask for ")
    found = json.loads("\n".join(succeed("advise", report, *ranks, "--storage", storage, "--json")))
    rows = found["scaling"]["rows"]
    context = click.Context(commands)
    both = [commands.get_command(context, name) for name in ("advise", "rmsd")]
    advised = [as_options(one, *filter(None, both)) for one in found["scaling"]["advice"]]
    assert advised == lines[: -len(rows) - 1]
    allocation = tj.Report.load(report).scaling([1, 2, 24], storage)
    assert allocation.rows() == rows
    assert {(row["pool"], row["workers"]) for row in rows} == {
        *((way, n) for way in WAYS for n in (1, 2)),
        ("dask", 24),
        ("mpi", 24),
    }
    assert [line.split()[:3] for line in lines[-len(rows) :]] == [
        [row["pool"], row["files"], str(row["workers"])] for row in rows
    ]
    misuse("advise", report, "--storage", storage)
    misuse("advise", report, "--ranks", "many")
    storage.write_text("[storage]\nspeed = 1\n")
    fail("advise", report, *ranks, "--storage", storage)
    fail("advise", report, *ranks, "--storage", tmp_path / "none.toml")


def test_only_analyses_of_frames_scale() -> None:
    """A conversion is limited by its output too, and a run without frames tells nothing."""
    writing = made_reports.report([worker(0)], analysis="convert", ranks_per_node={"node0": 1})
    with raises(ValueError):
        advise.allocate(writing, [2])
    nothing = made_reports.report([worker(0, frames=0)], ranks_per_node={"node0": 1})
    with raises(ValueError):
        advise.allocate(nothing, [2])
    with raises(ValueError):
        advise.allocate(serial_report(), [])
