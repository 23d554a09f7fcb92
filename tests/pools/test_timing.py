"""Times of tasks are kept in columns, with the entries that dictionaries would have."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from trajet.advise.task_columns import TaskColumns
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome
from trajet.pools.timing import WORKER_STAGES, RunTiming, WorkerTiming, _covered
from trajet.result.report import COUNTS, Report, entries_of, make_report

MAX_BYTES = 150
N_FRAMES = 7


def outcome(begin: float, seconds: float, n_threads: int = 1) -> TaskOutcome:
    """Return the outcome of a task of some threads."""
    worker = {
        **dict.fromkeys(COUNTS, 1),
        **dict.fromkeys(WORKER_STAGES, 0.01 * seconds),
        "tasks": 1,
        "t_total": seconds,
    }
    report = {"workers": [dict(worker) for _ in range(n_threads)]}
    return TaskOutcome(NO_STATES, report, begin, begin + seconds, "here", 1)  # type: ignore[arg-type]


def task(number: int) -> Task:
    """Return a task of one leaf."""
    return Task(number, (number, number + 1), (N_FRAMES * number, N_FRAMES * (number + 1)))


class NoOpening:
    """A trajectory whose opening cost nothing."""

    def opening(self) -> dict[str, object]:
        """Return no times and counts."""
        counts = dict.fromkeys(("opens", "requests", "bytes_read"), 0)
        return {"t_open": 0.0, "t_index": 0.0, **counts, "index": "loaded"}


def report_of(n_tasks: int, *, in_batches: bool = False) -> Report:
    """Return the report of a run of two workers; tasks end in any order."""
    timing = RunTiming()
    for number in np.random.default_rng(1).permutation(n_tasks).tolist():
        own = WorkerTiming()
        own.add(task(number), outcome(timing.begin + number, 0.5))
        if in_batches:
            own.of_batch(copy=0)
        timing.take(number % 2, own, {"host": "here", "process": number % 2})
    timing.passes = 1
    analysis = {"analysis": "rmsd", "parameters": {}, "inputs": [], "warnings": [], "notes": []}
    run = timing.report(pool="processes")
    return make_report(NoOpening(), run, analysis)  # type: ignore[arg-type]


@pytest.mark.parametrize("in_batches", [False, True])
def test_columns_have_the_entries_of_dictionaries(in_batches: bool, tmp_path: Path) -> None:
    """In the order of tasks, with the text that `json` makes of dictionaries."""
    n_tasks = 5000
    report = report_of(n_tasks, in_batches=in_batches)
    tasks = entries_of(report)["tasks"]
    assert isinstance(tasks, TaskColumns)
    assert [entry["task"] for entry in tasks] == list(range(n_tasks))
    assert [entry["worker"] for entry in tasks[:4]] == [0, 1, 0, 1]
    entry = tasks[-1]
    names = ("thread", "pass", "task", "worker", "first", "frames", "t_begin", "t_end", "t_open")
    assert tuple(entry)[: len(names)] == names
    assert [entry["first"], entry["frames"]] == [N_FRAMES * (n_tasks - 1), N_FRAMES]
    assert entry["t_begin"] == n_tasks - 1
    assert ("batch" in entry) == ("copy" in entry) == in_batches
    with pytest.raises(IndexError):
        tasks[n_tasks]
    assert tasks == list(tasks)
    assert tasks != list(tasks)[1:]
    plain = {**entries_of(report), "tasks": [dict(entry) for entry in tasks]}
    assert report.to_json() == json.dumps(plain, indent=1) + "\n"
    report.save(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == report.to_json()
    assert Report.load(tmp_path / "report.json")["tasks"] == list(tasks)


def test_report_without_tasks_is_an_empty_list() -> None:
    """A run of no frames has none."""
    report = report_of(0)
    assert entries_of(report)["tasks"] == []
    assert json.loads(report.to_json())["tasks"] == []


def test_a_task_takes_few_bytes() -> None:
    """A million tasks take 150 MB, while they are collected as in the report."""
    n_tasks = 20_000
    own = WorkerTiming()
    tracemalloc.start()
    try:
        for number in range(n_tasks):
            own.add(task(number), outcome(number, 0.5))
        collected = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert collected <= MAX_BYTES * n_tasks
    tasks = entries_of(report_of(n_tasks, in_batches=True))["tasks"]
    assert isinstance(tasks, TaskColumns)
    assert tasks.n_bytes <= MAX_BYTES * n_tasks


def test_times_of_a_worker_by_another_clock_are_shifted() -> None:
    """Its tasks, and those that were done in vain, whose time counts as well."""
    timing, own = RunTiming(), WorkerTiming()
    own.add(task(0), outcome(timing.begin - 100.0, 1.0, n_threads=2))
    own.discard(outcome(timing.begin - 98.0, 3.0, n_threads=2))
    timing.take(3, own, {"host": "there", "process": 5}, shift=101.0)
    report = timing.report()
    assert report["tasks"][0]["t_begin"] == pytest.approx(1.0)
    assert [worker["tasks"] for worker in report["workers"]] == [1, 1]
    for worker in report["workers"]:
        assert worker["frames"] == 2
        assert worker["t_total"] == pytest.approx(5.0)
        # Between the two tasks.
        assert worker["t_wait"] == pytest.approx(1.0 + 0.04)


def test_covered_time_counts_once() -> None:
    """Times that overlap, lie within each other or apart."""
    numbers = np.random.default_rng(2)
    for n in (0, 1, 2, 50):
        begins = numbers.integers(0, 100, n)
        spans = np.stack([begins, begins + numbers.integers(0, 9, n)], axis=1).astype(np.float64)
        covered = np.zeros(200, np.bool_)
        for begin, end in spans.astype(np.int64).tolist():
            covered[begin:end] = True
        assert _covered(spans) == covered.sum()


def test_result_with_columns_is_saved_as_json(tmp_path: Path) -> None:
    """The report within a result has the entries of its tasks."""
    path = tmp_path / "one.dcd"
    tj.write(path, np.zeros((4, 1, 3), np.float32), times=np.arange(4.0))
    traj = tj.open(None, path)
    pool = tj.ProcessPool(workers=1, fork=True)
    result = tj.rmsf(traj.select([0]), pool=pool)
    result.save(tmp_path / "rmsf.json")
    saved = json.loads((tmp_path / "rmsf.json").read_text())
    assert saved["report"]["tasks"] == list(result.report["tasks"])
