"""Advice on a report never claims more than the numbers of the report show."""

import json
import re
import socket
from typing import Any

import pytest
import trajet as tj
from helpers import made_reports
from helpers.extent import examples
from helpers.made_reports import task, worker
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet import advise

EVEN = {"t_open": 0.1, "t_read": 2.0, "t_decode": 3.0, "t_comp": 2.0, "t_comm": 0.2}
STAGES = {
    "opening": "t_open",
    "reading": "t_read",
    "decoding": "t_decode",
    "computing": "t_comp",
    "gathering": "t_comm",
}


def named(report: tj.Report) -> list[tuple[int, str]]:
    """Return the ranks that are stragglers and the stages that made them."""
    return sorted((entry["worker"], entry["stage"]) for entry in report["stragglers"])


@pytest.mark.parametrize(("word", "stage"), STAGES.items())
def test_one_slow_rank_is_named_with_its_stage(word: str, stage: str) -> None:
    """Both rules name the rank, with its host."""
    ranks = [worker(k, rank=k, **EVEN) for k in range(8)]
    ranks[5] = worker(5, rank=5, **{**EVEN, stage: EVEN[stage] + 20})
    report = made_reports.report(ranks)
    assert named(report) == [(5, word)]
    (entry,) = report["stragglers"]
    assert entry["rules"] == ["median", "fastest"]
    assert (entry["rank"], entry["host"]) == (5, "node1")
    assert entry["seconds"] == pytest.approx(27.3)
    assert entry["median"] == pytest.approx(7.3)
    assert entry["lost"] == pytest.approx(20)
    plain, first, *_ = report["advice"]
    assert plain == f"One of 8 workers held up the run in {word}: see what else runs on node1."
    assert first.startswith("One slow worker bounded this run: rank 5 on node1 took 27.3 s")
    assert first.endswith(f"20 s more than others in {word}.")


@pytest.mark.parametrize(("n", "n_slow"), [(8, 6), (72, 62)])
def test_most_ranks_may_be_slow(n: int, n_slow: int) -> None:
    """If the median rank is slow too, the fastest group shows it: figure 2d of the 2020 paper."""
    ranks = [
        worker(k, rank=k, **{**EVEN, "t_comm": 30.0 + k / n if k < n_slow else 0.2})
        for k in range(n)
    ]
    report = made_reports.report(ranks)
    assert named(report) == [(k, "gathering") for k in range(n_slow)]
    assert all(entry["rules"] == ["fastest"] for entry in report["stragglers"])
    plain, first, then = report["advice"]
    assert plain.startswith(f"{n_slow} of {n} workers held up the run in gathering: ")
    assert first.startswith(f"{n_slow} of {n} workers were slow and bounded this run")
    assert f"rank {n_slow - 1} on" in first
    assert then == "Fewer workers, or threads of one process, move less."


def test_one_fast_rank_makes_no_stragglers() -> None:
    """A single fast rank is not a group that others are compared with."""
    ranks = [worker(k, **{**EVEN, "t_comp": 20.0 if k else 2.0}) for k in range(6)]
    assert named(made_reports.report(ranks)) == []


def test_waiting_makes_no_straggler() -> None:
    """Ranks that wait for another rank are not slow, not even in a collective."""
    ranks = [worker(k, **EVEN, t_wait=20.0) for k in range(8)]
    ranks[2] = worker(2, **{**EVEN, "t_read": 22.0})
    assert named(made_reports.report(ranks)) == [(2, "reading")]
    ranks = [worker(k, **{**EVEN, "t_comm": 20.2}) for k in range(8)]
    ranks[2] = worker(2, **{**EVEN, "t_read": 22.0})
    report = made_reports.report(ranks)
    assert named(report) == [(2, "reading")]
    assert report["advice"][1].startswith("One slow worker bounded this run: worker 2")


def test_more_work_makes_no_straggler() -> None:
    """Three times the frames in three times the time is not slow; fewer frames in that time are."""
    even = {"t_read": 2.0, "t_decode": 3.0, "t_comp": 2.0}
    thrice = {name: 3 * seconds for name, seconds in even.items()}
    busy = worker(3, frames=3000, **thrice)
    assert named(made_reports.report([*(worker(k, **even) for k in range(3)), busy])) == []
    slow = worker(3, frames=300, t_read=5.6, t_decode=0.9, t_comp=0.6)
    report = made_reports.report([*(worker(k, **even) for k in range(3)), slow])
    assert named(report) == [(3, "reading")]
    # Other workers took over its task: it ended when they did, and delayed nobody.
    bound = advise.bound(report)
    assert (bound.what, bound.late) == ("reading", pytest.approx(0.1))
    assert "for the mean number of frames" in " ".join(report["advice"])


def test_worker_without_frames_is_no_reference() -> None:
    """A worker without frames is not the fast worker that makes the others slow."""
    ranks = [worker(0, **EVEN), worker(1, frames=0, t_open=0.1)]
    assert named(made_reports.report(ranks)) == []
    four = [worker(k, **EVEN) for k in range(4)]
    late = [*four, worker(4, frames=0, t_open=30.0)]
    assert named(made_reports.report(late)) == [(4, "opening")]
    # It had not begun with any frame when the others had done all of theirs.
    late = [*four, worker(4, frames=0, t_open=7.0)]
    (entry,) = made_reports.report(late)["stragglers"]
    assert (entry["worker"], entry["stage"]) == (4, "opening")
    assert entry["seconds"] == pytest.approx(14.0)
    assert entry["lost"] == pytest.approx(6.9)
    late = [*four, worker(4, frames=0, t_read=20.0)]
    assert named(made_reports.report(late)) == [(4, "reading")]
    assert named(made_reports.report([*four, worker(4, frames=0, t_wait=7.0)])) == []


def test_small_differences_are_not_reported() -> None:
    """Twice as long does not count below a tenth of a second, or below a tenth of a long run."""
    ranks = [worker(k, t_comp=0.03 + 0.06 * (k == 1)) for k in range(4)]
    assert named(made_reports.report(ranks)) == []
    assert named(made_reports.report(ranks, total=10.0)) == []


def test_single_slow_task_is_named() -> None:
    """A task is named if the other tasks of its worker were as fast as those of other workers."""
    tasks = [task(k, k % 4, k // 4, k // 4 + 1) for k in range(40)]
    tasks[38] = task(38, 2, 9.0, 15.0, t_read=5.5)
    ranks = [worker(k, t_comp=10.0 + 5 * (k == 2)) for k in range(4)]
    report = made_reports.report(ranks, tasks)
    (entry,) = report["stragglers"]
    assert (entry["worker"], entry["task"], entry["stage"]) == (2, 38, "reading")
    plain, first, *_ = report["advice"]
    assert plain.startswith("One of 4 workers held up the run in reading")
    assert first.startswith("One slow task bounded this run: task 38 of worker 2 on node0 took 6 s")
    # A slow task that came early delayed nobody.
    tasks = [task(k, k % 4, k // 4, k // 4 + 1) for k in range(40)]
    tasks[2] = task(2, 2, 0.0, 6.0, t_read=5.5)
    tasks = [entry for k, entry in enumerate(tasks) if k % 4 != 2 or k < 3 or k > 22]
    report = made_reports.report([worker(k, t_comp=10.0) for k in range(4)], tasks)
    assert [entry["task"] for entry in report["stragglers"]] == [2]
    assert advise.bound(report).what == "computing"


BOUNDS: dict[str, dict[str, Any]] = {
    "reading": {"t_read": 8.0},
    "decoding": {"t_decode": 8.0},
    "computing": {"t_comp": 8.0},
    "gathering": {"t_comm": 8.0},
    "merging": {"t_merge": 8.0},
    "opening": {"t_open": 8.0},
    "closing": {"t_close": 8.0},
    "waiting": {"t_wait": 8.0},
    "overhead": {"t_overhead": 8.0},
}


@pytest.mark.parametrize("pool", ["local", "processes", "dask", "mpi"])
@pytest.mark.parametrize(("word", "stages"), BOUNDS.items())
def test_each_bound_gives_its_advice(word: str, stages: dict[str, Any], pool: str) -> None:
    """The first sentence is advice; the second names the largest stage and its share."""
    rest = {name: 0.2 for name in ("t_read", "t_decode", "t_comp") if name not in stages}
    report = made_reports.report([worker(k, **rest, **stages) for k in range(3)], pool=pool)
    bound = advise.bound(report)
    assert bound.what == word
    assert sum(bound.shares.values()) == pytest.approx(1)
    shown = "overhead outside of all stages" if word == "overhead" else word
    plain, then = report["advice"][:2]
    assert then.startswith(
        f"{shown.capitalize()} bounded this run: {100 * bound.shares[word]:.0f} %"
    )
    saves = 0 if plain.startswith("Nothing to gain") else bound.shares[word]
    total = report["stages"]["t_total"]
    expected = [plain] if saves * total > max(1.0, total / 4) else []
    assert advise.first_advice(report) == expected


def test_advice_is_printed_if_it_saves_much() -> None:
    """More than a second, and more than a quarter of the time of the command."""
    host = socket.gethostname()
    for seconds, others, is_printed in ((8.0, 0.0, True), (1.1, 0.0, False), (8.0, 30.0, False)):
        report = dict(made_reports.report([worker(0, t_comp=seconds, host=host)], pool="local"))
        report |= {"cores": 8, "t_command": seconds + others}
        assert bool(advise.first_advice(report)) == is_printed
    report |= {"cores": 1, "t_command": 8.0}
    assert advise.first_advice(report) == []


def test_starting_and_ending_have_stages_of_their_own() -> None:
    """Time before the first task is starting; time without tasks at the end is waiting."""
    ranks = [worker(k, t_comp=2.0) for k in range(2)]
    tasks = [task(k, k, 6.0, 8.0) for k in range(2)]
    bound = advise.bound(made_reports.report(ranks, tasks, total=8.0))
    assert bound.what == "starting"
    assert bound.shares["starting"] == pytest.approx(0.75)
    tasks = [task(k, k, 0.0, 2.0) for k in range(2)]
    bound = advise.bound(made_reports.report(ranks, tasks, total=8.0))
    assert bound.what == "waiting"
    assert bound.shares["waiting"] == pytest.approx(0.75)


def test_joining_pieces_is_not_waiting() -> None:
    """Joining the pieces of a conversion is a bound of its own, without advice on task sizes."""
    workers = [worker(k, t_comp=2.0) for k in range(2)]
    tasks = [task(k, k, 1.0, 3.0) for k in range(2)]
    entries = {"total": 10.0, "t_joining": 6.0, "pool": "dask", "analysis": "convert"}
    report = made_reports.report(workers, tasks, **entries)
    bound = advise.bound(report)
    assert bound.what == "joining"
    shares = {"joining": 0.6, "computing": 0.2, "starting": 0.1, "waiting": 0.1}
    assert {word: part for word, part in bound.shares.items() if part} == pytest.approx(shares)
    assert report["stages"]["t_merge"] == 6.0
    then, first, more = report["advice"][:3]
    assert first.startswith("Joining the pieces bounded this run: 60 % of the time of its 2")
    assert "(encoding 20 %, " in first
    assert "leave the pool out" in then
    assert "segments (trajet split)" in more
    waiting = made_reports.report(workers, tasks, **entries | {"t_joining": 1.0})
    assert waiting["advice"][1].startswith("Waiting")
    assert "task" not in waiting["advice"][0]


def test_preparation_is_not_starting() -> None:
    """Reading the reference and the sample, from the start of the call, is not starting."""
    ranks = [worker(k, t_comp=2.0) for k in range(2)]
    tasks = [task(k, k, 6.0, 8.0) for k in range(2)]
    report = made_reports.report(ranks, tasks, total=8.0, t_preparing=5.0)
    bound = advise.bound(report)
    assert bound.what == "preparing"
    assert bound.shares["preparing"] == pytest.approx(5 / 8)
    assert bound.shares["starting"] == pytest.approx(1 / 8)
    assert report["advice"][1].startswith("Preparing the run bounded this run: 62 % of the")
    report = made_reports.report(ranks, tasks, total=8.0, t_preparing=1.0, pool="mpi")
    assert report["advice"][0] == "The first task began after 5 s: fewer workers start sooner."


def test_short_and_empty_runs_get_one_sentence() -> None:
    """No other advice is given on them."""
    report = made_reports.report([worker(0, t_comp=0.05)])
    assert report["advice"] == ["The run took 50 ms: there is nothing to gain."]
    assert advise.first_advice(report) == []
    report = made_reports.report([worker(0, frames=0, t_wait=2.0)])
    assert report["advice"] == ["No frame was read: there is no advice."]


@pytest.mark.parametrize(
    ("ratio", "says", "not_this"),
    [
        (0.3, "bound by input", "lets one shared file"),
        (1.0, "bound by input", "lets one shared file"),
        (5.0, "fewer stragglers, not none", "bound by input"),
        (99.0, "fewer stragglers, not none", "bound by input"),
        (200.0, "lets one shared file do for such ratios", "not none"),
    ],
)
def test_heuristics_of_the_paper_are_named(ratio: float, says: str, not_this: str) -> None:
    """The advice names section 8 of the paper, and its sentence fits the ratio."""
    stages = {"t_read": 1.0, "t_decode": 1.0, "t_comp": 2 * ratio}
    report = made_reports.report([worker(0, **stages)])
    assert report["r_comp_io"] == pytest.approx(ratio)
    text = " ".join(report["heuristics"])
    assert f"R_comp/IO is {ratio:g}:" in text
    assert "of this serial run" in text
    assert "Khoshlessan et al. 2020 (section 8)" in text
    assert says in text
    assert not_this not in text
    two = [worker(k, **stages) for k in range(2)]
    parallel = made_reports.report(two)
    assert parallel["r_comp_io"] is None
    text = " ".join(parallel["heuristics"])
    assert f"Computing to input is {ratio:g}:" in text
    assert "R_comp/IO of the paper is that of a serial run, which was not measured: ask" in text
    assert says in text
    # `apply` takes no sample, so that there is no ratio.
    applied = made_reports.report([worker(k, **stages) for k in range(2)], analysis="apply")
    advice = " ".join(applied["heuristics"])
    assert "and apply takes no sample" in advice
    assert "sample=True" not in advice
    # A conversion has no such ratio.
    copied = made_reports.report([worker(0, **stages)], analysis="convert")
    assert "R_comp/IO" not in " ".join(copied["heuristics"])


def test_ratio_is_that_of_the_serial_sample() -> None:
    """The ratio is not that of workers which share a storage; the paper's advice follows it."""
    sample = {"frames": 120, "t_read": 0.01, "t_decode": 0.01, "t_comp": 0.1}
    two = [worker(k, t_read=9.0, t_decode=1.0, t_comp=5.0) for k in range(2)]
    report = made_reports.report(two, sample=sample)
    assert report["r_comp_io"] == pytest.approx(5.0)
    text = " ".join(report["heuristics"])
    assert (
        "R_comp/IO is 5: 100 ms of computing to 20 ms of reading and decoding, of 120 frames that"
        " one thread read alone before the run; over 2 workers of the run that is 0.5." in text
    )
    assert "fewer stragglers, not none" in text
    # A serial run is its own sample.
    alone = made_reports.report(two[:1], sample=None)
    assert alone["r_comp_io"] == pytest.approx(0.5)


def test_ratio_without_read_time_is_explained() -> None:
    """If the sample came from memory, its t_io is 0, and the advice states that."""
    sample = {"frames": 120, "t_read": 0.0, "t_decode": 0.0, "t_comp": 0.1}
    two = [worker(k, t_decode=1.0, t_comp=5.0) for k in range(2)]
    report = made_reports.report(two, sample=sample)
    assert report["r_comp_io"] is None
    text = " ".join(report["heuristics"])
    assert "a serial run, and 120 frames that one thread read alone took no time to get." in text
    assert "no sample" not in text
    two = [worker(k, t_comp=5.0) for k in range(2)]
    text = " ".join(made_reports.report(two, sample=sample)["heuristics"])
    assert "Reading and decoding took no time: R_comp/IO has no meaning here." in text


def test_decoding_is_distinguished_from_reading() -> None:
    """The papers' I/O time includes both, and each of them has its own remedy."""
    text = " ".join(made_reports.report([worker(0, t_read=1, t_decode=9, t_comp=1)])["heuristics"])
    assert "But 90 % of that input was decoding" in text
    text = " ".join(made_reports.report([worker(0, t_read=9, t_decode=1, t_comp=1)])["heuristics"])
    assert "of that input was decoding" not in text


def test_opening_retries_and_scheduler_clock_have_advice() -> None:
    """Each has its sentence if its numbers are present, and none otherwise."""
    ranks = [worker(k, t_comp=4.0) for k in range(2)]
    text = " ".join(made_reports.report(ranks)["advice"])
    assert not re.search("before the run|tried again|scheduler", text)
    report = made_reports.report(
        ranks,
        [task(0, 0, 0.0, 4.0, t_scheduler=10.0), task(1, 1, 0.0, 4.0, t_scheduler=4.01)],
        opening={"t_open": 0.5, "t_index": 3.0, "index": "built"},
        retried=[{"pass": 0, "task": 1, "error": "x"}],
    )
    text = " ".join(report["advice"])
    assert "Opening the trajectory took 3.5 s before the run, 3 s of it to build the index" in text
    assert "1 task was tried again" in text
    assert "took 10 s by the scheduler's clock, 4 s by its own" in text


def test_ratio_that_is_not_finite_is_missing() -> None:
    """A report is JSON whatever its numbers."""
    report = made_reports.report([worker(0, t_comp=4.0, t_comm=1e-308)])
    assert report["r_comp_comm"] is None
    assert json.loads(report.to_json())["r_comp_comm"] is None


seconds = st.floats(0, 100, allow_subnormal=False)
stages = st.fixed_dictionaries(
    {name: seconds for name in tj.result.STAGES if name not in ("t_total", "t_index")}
)
ranks_of = st.lists(st.tuples(st.integers(0, 5000), stages), min_size=1, max_size=12)


@given(ranks_of, st.floats(0, 2), st.randoms())
@settings(deadline=None)
def test_advice_follows_from_numbers(
    made: list[tuple[int, dict[str, float]]], more: float, random: Any
) -> None:
    """All that advice names is in the report, whatever its numbers and order, and as JSON too."""
    ranks = [worker(k, rank=k, frames=n, **spent) for k, (n, spent) in enumerate(made)]
    total = max(rank["t_total"] for rank in ranks) + more
    report = made_reports.report(ranks, total=total)
    again = json.loads(report.to_json())
    assert advise.advice(again) == report["advice"]
    assert advise.heuristics(again) == report["heuristics"]
    shuffled = list(ranks)
    random.shuffle(shuffled)
    there = made_reports.report(shuffled, total=total)["stragglers"]
    assert {entry["rank"] for entry in there} == {entry["rank"] for entry in report["stragglers"]}
    text = " ".join(report["advice"])
    assert not re.search(r"nan|inf\b|(?<!e)-\d", text)
    assert ("slow" in text) == (
        bool(report["stragglers"])
        and "was read:" not in text
        and "there is nothing to gain" not in text
    )
    bound = advise.bound(report)
    if bound.what in bound.shares:
        assert bound.shares[bound.what] == max(bound.shares.values())
    for entry in report["stragglers"]:
        limits = {"median": 1.5 * entry["median"], "fastest": 2 * entry["fastest"]}
        assert entry["rules"]
        assert all(entry["seconds"] > limits[rule] for rule in entry["rules"])
        assert entry["lost"] > 0
        assert f"{report['workers'][entry['worker']]['host']}" == entry["host"]


# Kinds of advice by their words, and pairs of kinds that cannot both be right.
KINDS = {
    "nothing to gain": r"[Nn]othing to gain",
    "more workers": r"[Mm]ore workers would|[Uu]se more workers|[Uu]se all cores|cores share",
    "fewer workers": r"[Ff]ewer (workers|threads)\b",
    "no pool": r"[Ll]eave the pool out|threads of one process",
    "larger tasks": r"[Ll]arger tasks",
    "smaller tasks": r"[Ss]maller tasks",
    "larger requests": r"--request-size",
    "less to read": r"trajet convert --select",
    "segments": r"trajet split|as many segments",
    "one file": r"lets one shared file do(?!.*all the same)",
    "slow storage": r"storage set the pace",
    "fast storage": r"as fast as from memory|storage was fast",
}
REMEDIES = set(KINDS) - {"nothing to gain", "one file", "fast storage", "slow storage"}
CONTRADICTIONS = {
    *(frozenset({"nothing to gain", kind}) for kind in REMEDIES - {"segments"}),
    frozenset({"more workers", "fewer workers"}),
    frozenset({"more workers", "no pool"}),
    frozenset({"larger tasks", "smaller tasks"}),
    frozenset({"fast storage", "larger requests"}),
    frozenset({"fast storage", "slow storage"}),
    frozenset({"nothing to gain", "slow storage"}),
    frozenset({"segments", "one file"}),
}


def kinds(lines: list[str]) -> set[str]:
    """Return the kinds of advice of some sentences."""
    return {kind for kind, words in KINDS.items() if any(re.search(words, line) for line in lines)}


made_repeated = st.fixed_dictionaries(
    {"pass": st.just(0), "task": st.integers(0, 9)},
    optional={
        "address": st.none() | st.just("tcp://node1:5000"),
        "state": st.none() | st.sampled_from(["running", "waiting", "gathering"]),
    },
)
made_sample = st.none() | st.fixed_dictionaries(
    {"frames": st.integers(5, 500), **dict.fromkeys(("t_read", "t_decode", "t_comp"), seconds)}
)
made_opening = st.fixed_dictionaries(
    {"t_open": seconds, "t_index": seconds, "index": st.sampled_from(["built", "loaded"])}
)


@given(st.data())
@settings(deadline=None, max_examples=examples(100))
def test_advice_is_plain_first_and_consistent(data: Any) -> None:
    """Reports of every pool, storage and machine are checked; missing entries are not mentioned."""
    pool = data.draw(st.sampled_from(["local", "processes", "dask", "mpi"]))
    made = data.draw(ranks_of)
    hosts = [socket.gethostname()] * len(made)
    if pool != "local" and data.draw(st.booleans()):
        hosts = [f"node{k // 2}" for k in range(len(made))]
    size = data.draw(st.sampled_from([0, 10**3, 10**6, 10**9, 10**12]))
    ranks = [
        worker(
            0 if pool == "local" else k,
            frames=n,
            **spent,
            **({"rank": k} if pool == "mpi" else {}),
            host=hosts[k],
            thread=k if pool == "local" else 0,
            bytes_read=size,
            bytes_used=int(size * data.draw(st.sampled_from([0.1, 1.0]))),
            requests=data.draw(st.integers(0, 10**6)),
            atoms_decoded=10 * n,
        )
        for k, (n, spent) in enumerate(made)
    ]
    n_tasks = data.draw(st.integers(0, 2 * len(ranks)))
    tasks = [
        task(k, ranks[k % len(ranks)]["worker"], k / 10, (k + 1) / 10)
        | {"thread": ranks[k % len(ranks)]["thread"]}
        for k in range(n_tasks)
    ]
    total = max(rank["t_total"] for rank in ranks) + data.draw(st.floats(0, 2))
    report = made_reports.report(
        ranks,
        tasks,
        total=total,
        pool=pool,
        analysis=data.draw(st.sampled_from(["rmsd", "rdf", "convert"])),
        opening=data.draw(made_opening),
        sample=data.draw(made_sample),
        repeated=data.draw(st.lists(made_repeated, max_size=2)),
        t_preparing=data.draw(seconds),
        **data.draw(st.sampled_from([{}, {"t_joining": 3.0}])),
    )
    before = {name: data.draw(seconds) for name in ("t_import", "t_topology", "t_select")}
    entries = dict(report) | {"cores": data.draw(st.integers(1, 64))}
    if data.draw(st.booleans()):
        entries |= {**before, "t_command": sum(before.values()) + total}
    (entries["inputs"][0]).update(
        data.draw(st.sampled_from([{}, {"n_atoms": 10}, {"n_atoms": 99}]))
    )
    advice, heuristics = advise.advice(entries), advise.heuristics(entries)
    lines = [*advice, *heuristics]
    for line in lines:
        assert not re.search(r"None|nan|\binf\b|(?<!e)-\d|\{|\}", line), line
        assert line[0].isupper() or line[0].isdigit()
        assert line.endswith("."), line
    assert len(set(lines)) == len(lines)
    assert not re.search(r"R_comp|Khoshlessan|straggler|median|\bt_\w+|rank \d", advice[0])
    assert len(advice[0]) <= 200
    assert not any("Khoshlessan" in line for line in advice)
    found = kinds(lines)
    assert [pair for pair in CONTRADICTIONS if pair <= found] == [], lines


@pytest.mark.parametrize(
    ("rate", "advised"),
    [(50e6, True), (600e6, False), (5e9, False)],
    ids=["network", "ssd", "cache"],
)
def test_larger_requests_are_not_advised_for_a_file_in_the_page_cache(
    rate: float, advised: bool
) -> None:
    """If 256 KiB take a fraction of a millisecond, larger requests gain nothing."""
    one = worker(0, t_read=8.0, bytes_read=int(8 * rate), requests=int(8 * rate / 2**18))
    report = made_reports.report([one], pool="local")
    text = " ".join(report["advice"])
    assert advise.bound(report).what == "reading"
    assert ("request_size=8388608" in text) == advised
    assert ("storage set the pace" in text) == advised


def test_first_advice_is_for_a_laptop() -> None:
    """It is to use threads, to leave the pool out, or that nothing can be gained."""
    host = socket.gethostname()
    one = worker(0, t_comp=8.0, host=host)
    alone = dict(made_reports.report([one], pool="local"))
    assert advise.advice(alone | {"cores": 8})[0] == (
        "Use all cores (pool=LocalPool(threads=8)): 1 of 8 cores had work, and computing took"
        " 100 % of the time."
    )
    assert advise.advice(alone | {"cores": 1})[0] == (
        "Nothing to gain on this machine: it was busy computing."
    )
    # The run had one task in all.
    single = dict(made_reports.report([one], [task(0, 0, 0.0, 8.0) | {"thread": 0}], pool="local"))
    assert "threads=" not in " ".join(advise.advice(single | {"cores": 8}))
    four = [worker(k, t_comp=1.0, t_comm=0.5, host=host) for k in range(4)]
    tasks = [task(k, k, 6.5, 7.5) for k in range(4)]
    pooled = made_reports.report(four, tasks, total=8.0, pool="processes")
    assert pooled["advice"][0] == (
        "Leave the pool out: threads of one process would save 88 % of the time"
        " (starting the workers 81 %, gathering 6 %)."
    )
    elsewhere = made_reports.report([rank | {"host": "node1"} for rank in four], tasks, pool="mpi")
    assert "Leave the pool out" not in " ".join(elsewhere["advice"])


def test_time_before_the_run_comes_first_if_it_is_largest() -> None:
    """The advice on the run itself follows."""
    times = {"t_import": 2.0, "t_topology": 25.0, "t_select": 0.01}
    report = dict(made_reports.report([worker(0, t_comp=0.3)], pool="local")) | times
    report |= {"t_command": sum(times.values()) + 0.3, "cores": 1}
    first, then, *_ = advise.advice(report)
    assert first == (
        "Most of the time went before the run: imports (2 s), opening and topology (25 s); several"
        " analyses in one Python script share that."
    )
    assert then == "Nothing to gain on this machine: it was busy computing."
    wait = advise.words_of_wait(report | {"t_files": 0.01, "t_figure": 2.5}, 30.0)
    assert wait == (
        "30 s: run (300 ms on 1 thread), imports (2 s), opening and topology (25 s), figure (2.5 s)"
    )
    assert advise.first_advice(report) == []
    # Numbers of an older report.
    for name in (*times, "t_command"):
        del report[name]
    assert advise.words_of_wait(report, 0.5) == "500 ms: run (300 ms on 1 thread)"
    assert advise.advice(report)[0] == then


def before(versions: dict[str, str], index: float = 0.0, **times: float) -> str:
    """Return the advice on a short run after steps of these times."""
    seconds = dict.fromkeys(("t_import", "t_topology", "t_select"), 0.0) | times
    report = dict(made_reports.report([worker(0, t_comp=0.3)], opening={"t_index": index}))
    report |= seconds | {"t_command": sum(seconds.values()) + 0.3, "versions": versions}
    return " ".join(advise.advice(report))


def test_advice_names_what_shortens_the_longest_step_before_the_run() -> None:
    """A sidecar or a native format for topologies of MDAnalysis; indices for selections."""
    ours, theirs = {"trajet": "1"}, {"trajet": "1", "MDAnalysis": "2"}
    assert "sidecar" in before(theirs, t_topology=25.0, t_import=1.0)
    assert "without MDAnalysis" in before(theirs, t_topology=25.0)
    assert "sidecar" not in before(ours, t_topology=25.0)
    assert "sidecar" not in before(theirs, t_topology=25.0, index=20.0)
    assert "sidecar" not in before(theirs, t_import=25.0, t_topology=1.0)
    assert "selection.indices" in before(ours, t_select=25.0, t_topology=1.0)
    assert "selection.indices" not in before(ours, t_select=1.0, t_topology=25.0)
    assert "Most of the time" not in before(theirs, t_topology=0.1)


def test_few_frames_do_not_hide_the_slow_stage() -> None:
    """A rank whose task another rank did lost its time in the slow stage, not in its one frame."""
    ranks = [worker(k, rank=k, **EVEN) for k in range(8)]
    ranks[3] = worker(3, rank=3, frames=1, t_open=5.0, t_read=0.1)
    assert named(made_reports.report(ranks)) == [(3, "opening")]


def test_first_opening_of_a_worker_is_no_slow_task() -> None:
    """All workers begin by opening; a later task that opens a slow file is named."""
    ranks = [worker(k, rank=k, frames=400, t_open=1.0, t_comp=0.4) for k in range(4)]
    tasks = []
    for k in range(4):
        tasks.append(task(4 * k, k, 0.0, 1.1, t_open=1.0, t_comp=0.1))
        for n in range(1, 4):
            begin = 1.0 + 0.1 * n
            tasks.append(task(4 * k + n, k, begin, begin + 0.1, t_open=0.0, t_comp=0.1))
    assert made_reports.report(ranks, tasks)["stragglers"] == []
    tasks[7] = task(7, 1, 1.3, 3.4, t_open=2.0, t_comp=0.1)
    (entry,) = made_reports.report(ranks, tasks)["stragglers"]
    assert (entry["task"], entry["stage"]) == (7, "opening")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0 B"), (999.6, "1000 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB")),
        *((1000 * 2**20, "1000 MiB"), (2**40, "1 TiB"), (2000 * 2**40, "2000 TiB")),
    ],
)
def test_sizes_have_three_digits(number: float, text: str) -> None:
    """Sizes have three digits, or all digits before the point, and never a power of ten."""
    assert advise.in_bytes(number) == text
