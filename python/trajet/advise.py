"""What a report says of its run: which workers were slow, what bounded it, what to try.

Pure functions over a report's entries, of any pool, also where they were loaded from JSON.

Stragglers are recognised by both rules of Khoshlessan et al. 2020 (doi:10.1002/cpe.5789), sections
2.1 and 6.1: over 1.5 times the median; over twice the group that finished first. Departures:

1. A worker here is a thread of a rank or process. Its waiting is left out: it waits for others.
2. Workers that are handed tasks get different numbers of frames. Stages that grow with the frames
   are compared as for the mean number of frames; where all have as many, that is the time itself.
3. The fastest group is the fastest quarter, at least two of four or more; its time is its median.
4. A worker that came to no frame is taken to need for them what the median of the others does.
5. Ranks that wait inside of a collective call are as late as the one that they wait for, so that
   the rules are put to the time without gathering as well.
6. What is less than a twentieth of the run, or 0.1 s, behind is not named.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

Entry: TypeAlias = Mapping[str, Any]

OVER_MEDIAN = 1.5
OVER_FASTEST = 2.0
_GROUP = 4
_WORTH_NAMING = 0.05
_NOISE = 0.1
# Words for the stages of a worker. Those of `_PER_FRAME` grow with its frames.
_ONCE = {"opening": ("t_open", "t_index"), "closing": ("t_close",)}
_GATHERING = {"gathering": ("t_comm",)}
_PER_FRAME = {
    "reading": ("t_read",),
    "decoding": ("t_decode",),
    "computing": ("t_comp",),
    "merging": ("t_merge",),
    "overhead": ("t_overhead",),
}
STAGES_OF = {**_ONCE, **_PER_FRAME, **_GATHERING, "waiting": ("t_wait",)}

# Shorter runs, in seconds, are mostly begin and end.
SHORT = 0.1
# A stage that takes this part of the workers' time bounds the run; below, it only takes the most.
_BOUNDS = 0.5
# So do stragglers without which this part of the run would not have been.
_LATE = 0.25
# The paper says "well above 1"; its draft, 100.
_WELL_ABOVE_ONE = 100.0
_SMALL_REQUEST = 2**20
_MENTIONED = 0.01
_PAPER = "Khoshlessan et al. 2020 (section 8)"


def busy(worker: Entry) -> float:
    """Return the seconds of a worker without its waiting."""
    return float(worker["t_total"] - worker["t_wait"])


def n_processes(report: Entry) -> int:
    """Return how many processes did the work."""
    return len({worker["worker"] for worker in report["workers"]})


def name_of(report: Entry, entry: Entry) -> str:
    """Return what a worker is called, or the one that an entry of another list tells of."""
    who = f"rank {entry['rank']}" if "rank" in entry else f"worker {entry['worker']}"
    processes = n_processes(report)
    if entry["thread"] is None or processes == len(report["workers"]):
        return who
    return f"thread {entry['thread']}" if processes == 1 else f"{who}, thread {entry['thread']}"


def stragglers(workers: Sequence[Entry], tasks: Sequence[Entry], total: float) -> list[Entry]:
    """Return workers that took much longer than others, and tasks of others that did.

    Parameters
    ----------
    workers, tasks
        As in a report.
    total
        Seconds of the run.

    Returns
    -------
    list of dict
        The worst first; docs/report.md describes the entries.
    """
    worth = max(_WORTH_NAMING * total, _NOISE)
    slow = {
        **_slow_workers(workers, worth, _ONCE),
        **_slow_workers(workers, worth, {**_ONCE, **_GATHERING}),
    }
    entries = [*slow.values(), *_slow_tasks(workers, tasks, worth)]
    return sorted(entries, key=lambda entry: entry["median"] - entry["seconds"])


def _slow_workers(
    workers: Sequence[Entry], worth: float, once: Mapping[str, tuple[str, ...]]
) -> dict[int, dict[str, Any]]:
    """Return slow workers by their place, judged by the stages of each frame and these `once`."""
    frames = [worker["frames"] for worker in workers]
    at_work = [k for k, count in enumerate(frames) if count > 0]
    if not at_work:
        return {}
    mean = sum(frames) / len(at_work)
    spent = []
    for worker, count in zip(workers, frames, strict=True):
        scale = mean / count if count else 1.0
        spent.append(
            {word: _seconds(worker, names) for word, names in once.items()}
            | {word: scale * _seconds(worker, names) for word, names in _PER_FRAME.items()}
        )
    usual = {word: median(spent[k][word] for k in at_work) for word in _PER_FRAME}
    for stages, count in zip(spent, frames, strict=True):
        if not count:
            stages |= {word: max(stages[word], usual[word]) for word in usual}
    verdict = Verdict([sum(spent[k].values()) for k in at_work])
    found = {}
    for k, stages in enumerate(spent):
        rules = verdict.rules(sum(stages.values()), worth)
        if rules:
            worker = workers[k]
            found[k] = {
                **{name: worker[name] for name in ("worker", "thread", "rank") if name in worker},
                "host": worker["host"],
                "rules": rules,
                "seconds": sum(stages.values()),
                "median": verdict.median,
                "fastest": verdict.fastest,
            }
    # Few frames tell little of what it would have spent on many: what it lost is what it did spend.
    parts = [count / mean if count else 1.0 for count in frames]
    _name_stages(found, spent, parts)
    return found


def _slow_tasks(
    workers: Sequence[Entry], tasks: Sequence[Entry], worth: float
) -> list[dict[str, Any]]:
    """Return the tasks that were slow where others of the same worker were not."""
    hosts = {worker["worker"]: worker["host"] for worker in workers}
    found: dict[int, dict[str, Any]] = {}
    first: dict[Any, int] = {}
    for k in sorted(range(len(tasks)), key=lambda k: float(tasks[k]["t_begin"])):
        first.setdefault(_lane(tasks[k]), k)
    spans, spent = [], []
    for k, task in enumerate(tasks):
        known = {word: _seconds(task, names) for word, names in STAGES_OF.items()}
        rest = task["t_end"] - task["t_begin"] - sum(known.values())
        # What a worker opens first is its own: workers are compared in that.
        own = known["opening"] if first[_lane(task)] == k else 0.0
        spans.append(task["t_end"] - task["t_begin"] - own)
        spent.append({**known, "opening": known["opening"] - own, "overhead": max(0.0, rest)})
    for number in {task["pass"] for task in tasks}:
        here = [k for k, task in enumerate(tasks) if task["pass"] == number]
        usual = median(tasks[k]["frames"] for k in here)
        # A task of more frames may take longer; one of fewer should not.
        seconds = {
            k: spans[k] * min(1.0, usual / tasks[k]["frames"])
            for k in here
            if tasks[k]["frames"] > 0
        }
        verdict = Verdict(list(seconds.values()))
        of_worker: dict[Any, list[float]] = {}
        for k, took in seconds.items():
            of_worker.setdefault(_lane(tasks[k]), []).append(took)
        usually = {lane: Verdict(times) for lane, times in of_worker.items()}
        for k, took in seconds.items():
            task = tasks[k]
            rules = verdict.rules(took, worth)
            if rules and usually[_lane(task)].rules(took, worth):
                found[k] = {
                    **{name: task[name] for name in ("worker", "thread", "rank") if name in task},
                    "host": hosts.get(task["worker"], ""),
                    "pass": number,
                    "task": task["task"],
                    "rules": rules,
                    "seconds": took,
                    "median": verdict.median,
                    "fastest": verdict.fastest,
                }
    _name_stages(found, spent, [1.0] * len(spent))
    return list(found.values())


class Verdict:
    """The two rules, for a group of times.

    Attributes
    ----------
    median, fastest
        The times of which a straggler takes over `OVER_MEDIAN` and over `OVER_FASTEST`.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        ordered = sorted(seconds) or [0.0]
        self.median = median(ordered)
        n = len(ordered)
        # One alone is no group, where there could be two.
        self.fastest = median(ordered[: max(-(-n // _GROUP), min(2, n // 2))])

    def rules(self, seconds: float, worth: float) -> list[str]:
        """Return the rules by which somebody who took so long is a straggler."""
        over_median = seconds > max(OVER_MEDIAN * self.median, self.median + worth)
        over_fastest = seconds > max(OVER_FASTEST * self.fastest, self.fastest + worth)
        return ["median"] * over_median + ["fastest"] * over_fastest


def _name_stages(
    found: Mapping[int, dict[str, Any]],
    spent: Sequence[Mapping[str, float]],
    parts: Sequence[float],
) -> None:
    """Add the stage in which each that was found lost most, and how much it lost there.

    `parts`: which part of the seconds of stages that grow with the frames each did spend.
    """
    usual: dict[str, float] = {}
    if found:
        others = [stages for k, stages in enumerate(spent) if k not in found] or spent
        usual = {word: median(stages[word] for stages in others) for word in spent[0]}
    for k, entry in found.items():
        lost = {word: spent[k][word] - usual[word] for word in usual}
        truly = {word: lost[word] * (parts[k] if word in _PER_FRAME else 1.0) for word in lost}
        entry["stage"] = max(truly, key=lambda word: truly[word])
        entry["lost"] = lost[entry["stage"]]


def _seconds(entry: Entry, names: Iterable[str]) -> float:
    return float(sum(entry.get(name, 0.0) for name in names))


def _lane(entry: Entry) -> tuple[Any, Any]:
    return entry["worker"], entry["thread"]


@dataclass(frozen=True)
class Bound:
    """What bounded a run.

    Attributes
    ----------
    what
        A stage's word, "preparing", "starting", "straggler" or "short".
    shares
        Parts of the workers' time by word, from the run's begin to its end; they make up 1.
    late
        Seconds by which stragglers were behind the others.
    """

    what: str
    shares: Mapping[str, float]
    late: float


def bound(report: Entry) -> Bound:
    """Return what bounded a run, by the numbers of its report."""
    workers, total = report["workers"], report["stages"]["t_total"]
    spent = {word: 0.0 for word in (*STAGES_OF, "preparing", "starting")}
    for worker in workers:
        for word, names in STAGES_OF.items():
            spent[word] += _seconds(worker, names)
    # What is left lies before a worker's first task or behind its last.
    left = max(0.0, len(workers) * total - sum(spent.values()))
    before = report.get("t_preparing", 0.0)
    first = min((task["t_begin"] for task in report["tasks"]), default=before)
    for word, seconds in (("preparing", before), ("starting", first - before)):
        spent[word] = min(left, len(workers) * max(0.0, seconds))
        left -= spent[word]
    spent["waiting"] += left
    everything = sum(spent.values())
    shares = {word: part / everything if everything > 0 else 0.0 for word, part in spent.items()}
    late = _late(report)
    if total < SHORT or everything == 0:
        what = "short"
    elif late >= _LATE * total:
        what = "straggler"
    else:
        what = max(shares, key=lambda word: shares[word])
    return Bound(what, shares, late)


def _late(report: Entry) -> float:
    """Return how many seconds later stragglers were done than the others."""
    workers, tasks = report["workers"], report["tasks"]
    slow = {_lane(entry) for entry in report["stragglers"] if "task" not in entry}
    late = 0.0
    if 0 < len(slow) < len(workers):
        for seconds in (busy, lambda worker: busy(worker) - worker["t_comm"]):
            theirs = [seconds(worker) for worker in workers if _lane(worker) in slow]
            others = [seconds(worker) for worker in workers if _lane(worker) not in slow]
            late = max(late, max(theirs) - median(others))
    ends: dict[Any, float] = {}
    for task in tasks:
        ends[_lane(task)] = max(ends.get(_lane(task), 0.0), task["t_end"])
    for entry in report["stragglers"]:
        if "task" in entry:
            others = [end for lane, end in ends.items() if lane != _lane(entry)]
            mine = ends[_lane(entry)]
            behind = mine - median(others) if others else entry["seconds"] - entry["median"]
            late = max(late, min(behind, entry["seconds"] - entry["median"]))
    return late


def advice(report: Entry) -> list[str]:
    """Return what bounded a run and what to try, in sentences.

    Parameters
    ----------
    report
        The entries of a report.

    Returns
    -------
    list of str
        The most important first. No sentence says more than the report's numbers do.
    """
    if not report["frames"]:
        return ["No frame was read: there is nothing to say of this run."]
    bounded = bound(report)
    if bounded.what == "short":
        took = in_seconds(report["stages"]["t_total"])
        return [f"The run took {took}: too short to tell what bounds it."]
    lines = []
    if bounded.what == "straggler":
        lines += _of_stragglers(report, bounded)
    else:
        lines += [_of_stage(report, bounded), _TO_TRY[bounded.what](report)]
        lines += _of_stragglers(report, bounded)
    if report["analysis"] != "convert":
        lines += _of_ratio(report, bounded)
    lines += [*_of_clocks(report), *_of_opening(report)]
    if repeated := report["repeated"]:
        lines.append(_of_repeated(repeated))
    if retried := len(report["retried"]):
        tasks = "1 task was" if retried == 1 else f"{retried} tasks were"
        lines.append(f"{tasks} tried again after an error of the storage: see `retried`.")
    return lines


def lead(report: Entry) -> list[str]:
    """Return the sentences to print after a run: what bounded it and what to try."""
    short = report["stages"]["t_total"] < SHORT or not report["frames"]
    return [] if short else list(report["advice"][:2])


def _of_stage(report: Entry, bounded: Bound) -> str:
    """Say which stage took most, and what came next."""
    words = sorted(bounded.shares, key=lambda word: -bounded.shares[word])
    parts = [
        f"{_word(report, word)} {_part(bounded.shares[word])}"
        for word in words[1:3]
        if bounded.shares[word] >= _MENTIONED
    ]
    verb = (
        "bounded this run"
        if bounded.shares[words[0]] >= _BOUNDS
        else "took more of this run than any other stage"
    )
    whose = "time" if len(report["workers"]) == 1 else f"time of its {_crew(report)}"
    then = f" ({', '.join(parts)})" if parts else ""
    what = _word(report, words[0]).capitalize()
    return f"{what} {verb}: {_part(bounded.shares[words[0]])} of the {whose}{then}."


_WORDS = {
    "overhead": "what no stage explains",
    "preparing": "what precedes the run",
    "starting": "starting the workers",
}


def _word(report: Entry, word: str) -> str:
    """Return the word for a stage; a conversion computes and merges nothing."""
    if report["analysis"] == "convert":
        return {"computing": "encoding", "merging": "writing"}.get(word, word)
    return _WORDS.get(word, word)


def _crew(report: Entry) -> str:
    """Return how many did the work, and what they are."""
    processes = n_processes(report)
    if processes == 1:
        return f"{len(report['workers'])} threads"
    who = "ranks" if all("rank" in worker for worker in report["workers"]) else "workers"
    return f"{processes} {who}"


def _try_reading(report: Entry) -> str:
    mean = report["bytes_read"] / max(1, report["requests"])
    rate = report["bytes_read"] / report["stages"]["t_read"]
    parts = [f"Each read {in_bytes(rate)} a second, in requests of {in_bytes(mean)} on average"]
    if mean < _SMALL_REQUEST:
        parts.append("larger ones (--request-size 8MiB) help on network and parallel file systems")
    if report["bytes_used"] < report["bytes_read"] / 2:
        used = report["bytes_used"] / report["bytes_read"]
        parts.append(f"only {_part(used)} of the bytes were of use")
    parts.append("a copy of the wanted atoms alone (trajet convert --select) is less to read")
    if n_processes(report) > 1 and len(_trajectories(report)) == 1:
        parts.append("segments (trajet split) or H5MD spare the processes one shared file")
    return "; ".join(parts) + "."


def _try_decoding(report: Entry) -> str:
    return (
        f"{_try_computing(report)} What is read often is decoded sooner as a copy of the wanted"
        " atoms alone (trajet convert --select)."
    )


def _try_computing(report: Entry) -> str:
    threads, cores = report["threads"], report["cores"]
    if report["pool"] != "local":
        return "Frames are independent: more workers share this work."
    if threads < cores:
        return (
            f"Frames are independent: only {threads} of {cores} cores had work (--threads {cores})."
        )
    return f"Every core had work ({cores}): more of them, as on a cluster, share it."


def _try_waiting(report: Entry) -> str:
    most = max((1 + task["task"] for task in report["tasks"]), default=0)
    if 0 < most < len(report["workers"]):
        return f"There were {most} tasks for {_crew(report)}: take fewer, or smaller tasks."
    return "Fewer workers, or smaller tasks (task_frames), leave less to wait for."


def _try_preparing(_: Entry) -> str:
    return (
        "It is one thread's: a reference that is read once and given as positions, and fewer"
        " groups, leave less of it."
    )


def _try_starting(report: Entry) -> str:
    first = min(task["t_begin"] for task in report["tasks"]) - report.get("t_preparing", 0.0)
    line = f"The first task began after {in_seconds(first)}"
    if report["pool"] == "processes":
        return f"{line}: processes, once started, serve the runs that follow in the same program."
    return f"{line}: fewer workers start sooner."


def _try_gathering(report: Entry) -> str:
    ratio = f"R_comp/comm is {in_two_digits(report['r_comp_comm'])}"
    if report["pool"] == "mpi":
        return f"{ratio}: try the other way of gathering, one-sided or collective."
    return f"{ratio}: fewer workers, or threads of one process, move less."


def _try_merging(report: Entry) -> str:
    if report["analysis"] == "convert":
        return "The storage of the output sets the pace: try another, or write fewer atoms."
    return "Larger tasks (task_frames) leave fewer states to merge."


def _try_opening(report: Entry) -> str:
    return (
        f"Files were opened {report['opens']} times, {len(_trajectories(report))} of them are the"
        " trajectory's: fewer workers open less."
    )


def _try_closing(_: Entry) -> str:
    return "Closing a file asks its storage: try another."


def _try_overhead(_: Entry) -> str:
    return "No stage accounts for it: look what else ran on these cores."


_TO_TRY: dict[str, Callable[[Entry], str]] = {
    "reading": _try_reading,
    "decoding": _try_decoding,
    "computing": _try_computing,
    "waiting": _try_waiting,
    "preparing": _try_preparing,
    "starting": _try_starting,
    "gathering": _try_gathering,
    "merging": _try_merging,
    "opening": _try_opening,
    "closing": _try_closing,
    "overhead": _try_overhead,
}

_AGAINST_SLOW = {
    "opening": "Segments (trajet split) spare workers a file that all of them open.",
    "reading": "Smaller tasks (task_frames) let others take over more of its work; segments (trajet"
    " split) or H5MD spare workers one shared file.",
}
_SMALLER_TASKS = "Smaller tasks (task_frames) let others take over more of its work."


def _of_stragglers(report: Entry, bounded: Bound) -> list[str]:
    """Say who was slow and in what, and what that did to the run."""
    found = report["stragglers"]
    if not found:
        return []
    workers = [entry for entry in found if "task" not in entry]
    worst = (workers or found)[0]
    bounds = bounded.what == "straggler"
    if not workers:
        kind, who = "task", f"task {worst['task']} of {_place(report, worst)}"
    else:
        kind, who = "worker", _place(report, worst)
    if len(workers) > 1:
        ending = " and bounded this run" if bounds else ""
        begin = f"{len(workers)} of {len(report['workers'])} workers were slow{ending}: the worst,"
        begin = f"{begin} {who},"
    else:
        begin = (
            f"One slow {kind} bounded this run: {who}" if bounds else f"One {kind} was slow: {who}"
        )
    if "median" in worst["rules"]:
        others = f"the median is {in_seconds(worst['median'])}"
    else:
        others = f"the fastest quarter took {in_seconds(worst['fastest'])}"
    lines = [
        f"{begin} {_took(report, worst)} where {others}, {in_seconds(worst['lost'])} more than"
        f" others in {worst['stage']}."
    ]
    if bounds:
        remedy = _AGAINST_SLOW.get(worst["stage"], _SMALLER_TASKS)
        lines.append(_try_gathering(report) if worst["stage"] == "gathering" else remedy)
    return lines


def _took(report: Entry, worst: Entry) -> str:
    """Say how long a straggler took; where it had fewer frames than others, for as many."""
    took = in_seconds(worst["seconds"])
    itself = [busy(worker) for worker in report["workers"] if _lane(worker) == _lane(worst)]
    if "task" in worst or in_seconds(itself[0]) == took:
        return f"took {took}"
    return f"takes {took} for the mean number of frames"


def computing_to_input(spent: Entry | None) -> float | None:
    """Return t_comp / t_io, where t_io is reading and decoding; None where it has no meaning."""
    if spent is None:
        return None
    t_io = _seconds(spent, ("t_read", "t_decode"))
    return float(spent["t_comp"]) / t_io if t_io > 0 else None


def _of_ratio(report: Entry, bounded: Bound) -> list[str]:
    """Say what R_comp/IO is, and what the papers advise for it."""
    serial, stages, sample = report["r_comp_io"], report["stages"], report.get("sample")
    own = computing_to_input(stages)
    if own is None:
        return ["Reading and decoding took no time: R_comp/IO has no meaning here."]
    ratio = own if serial is None else serial
    t_io = stages["t_read"] + stages["t_decode"]
    if len(report["workers"]) == 1:
        lines = [f"R_comp/IO is {_to_input(ratio, stages)}, of this serial run."]
    elif serial is not None and sample is not None:
        lines = [
            f"R_comp/IO is {_to_input(serial, sample)}, of {sample['frames']} frames that one"
            f" thread read alone before the run; over {_crew(report)} of the run that is"
            f" {in_two_digits(own)}."
        ]
    else:
        why = "of which there was no sample"
        if sample is not None:
            why = f"and {sample['frames']} frames that one thread read alone took no time to get"
        lines = [
            f"Computing to input is {_to_input(own, stages)}, summed over {_crew(report)};"
            f" R_comp/IO of the paper is that of a serial run, {why}."
        ]
    if ratio <= 1:
        lines.append(
            f"{_PAPER} calls that bound by input: on a cluster avoid one file that all ranks read;"
            " HDF5 through MPI-IO may scale to hundreds of cores, as many segments as processes to"
            " fewer than 200."
        )
        if stages["t_decode"] > stages["t_read"]:
            decoding = stages["t_decode"] / t_io
            lines.append(
                f"But {_part(decoding)} of that input was decoding, which more cores share; reading"
                f" alone took {_part(bounded.shares['reading'])} of the time."
            )
    elif ratio < _WELL_ABOVE_ONE:
        lines.append(
            f"{_PAPER} lets one shared file do for ratios well above 1, up to about 50 cores; at"
            " ratios up to 27 it saw fewer stragglers, not none."
        )
    else:
        lines.append(f"{_PAPER} lets one shared file do for such ratios, up to about 50 cores.")
    return lines


def _to_input(ratio: float, spent: Entry) -> str:
    """Return a ratio and what it is of."""
    t_io = _seconds(spent, ("t_read", "t_decode"))
    return (
        f"{in_two_digits(ratio)}: {in_seconds(spent['t_comp'])} of computing to {in_seconds(t_io)}"
        " of reading and decoding"
    )


def _of_repeated(repeated: Sequence[Entry]) -> str:
    """Say which tasks were done twice, and where the first of them hung, if the pool knows."""
    n, first = len(repeated), repeated[0]
    tasks = "1 task was" if n == 1 else f"{n} tasks were"
    line = f"{tasks} late and given to an idle worker as well"
    if "address" in first and "state" in first:
        line += f": task {first['task']}, {first['state']} at {first['address']}"
        line += ", and others" if n > 1 else ""
    return f"{line} (see `repeated`)."


def _of_clocks(report: Entry) -> list[str]:
    """Say by how much the scheduler's clock and that of the tasks differ."""
    timed = [task for task in report["tasks"] if "t_scheduler" in task]
    if not timed:
        return []
    worst = max(timed, key=lambda task: float(task["t_scheduler"]))
    inside = worst["t_end"] - worst["t_begin"]
    if worst["t_scheduler"] - inside < max(_NOISE, _WORTH_NAMING * report["stages"]["t_total"]):
        return []
    return [
        f"The slowest task took {in_seconds(worst['t_scheduler'])} by the scheduler's clock,"
        f" {in_seconds(inside)} by its own: the rest it waited, or its result was on the way."
    ]


def _of_opening(report: Entry) -> list[str]:
    """Say what the opening cost, where that is much beside the run."""
    opening = report["opening"]
    seconds = opening["t_open"] + opening["t_index"]
    if seconds < max(SHORT, report["stages"]["t_total"] / 4):
        return []
    line = f"Opening the trajectory took {in_seconds(seconds)} before the run"
    if opening["index"] == "built":
        line += f", {in_seconds(opening['t_index'])} of it to build the index, which is then kept"
    return [f"{line}."]


def _place(report: Entry, entry: Entry) -> str:
    return f"{name_of(report, entry)} on {entry['host']}"


def _trajectories(report: Entry) -> list[Entry]:
    """Return the files of the trajectory among the inputs."""
    return [entry for entry in report["inputs"] if "format" in entry]


def in_seconds(seconds: float) -> str:
    """Return a time with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e6)} µs"


def _digits(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"


def in_bytes(number: float) -> str:
    """Return a number of bytes with three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{_digits(number)} {unit}"
        number /= 1024
    return f"{_digits(number)} TiB"


def in_two_digits(ratio: float) -> str:
    """Return a ratio with two digits, or all of them before the point."""
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:.0f}"


def _part(part: float) -> str:
    return f"{100 * part:.0f} %" if part >= 0.095 else f"{100 * part:.1g} %"
