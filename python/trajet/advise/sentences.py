"""What bounded a run and what to try, in sentences."""

from collections.abc import Callable, Sequence

from trajet.advise.bounds import Bound, bound
from trajet.advise.entries import (
    SHORT,
    Entry,
    busy,
    computing_to_input,
    lane_of,
    n_processes,
    name_of,
    seconds_in,
    worth_naming,
)
from trajet.advise.words import in_bytes, in_percent, in_seconds, in_two_digits

# A stage that takes this part of the workers' time bounds the run; below, it only takes the most.
_BOUNDS = 0.5
# The paper says "well above 1"; its draft, 100.
_WELL_ABOVE_ONE = 100.0
_SMALL_REQUEST = 2**20
_MENTIONED = 0.01
_PAPER = "Khoshlessan et al. 2020 (section 8)"


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
        f"{_word(report, word)} {in_percent(bounded.shares[word])}"
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
    return f"{what} {verb}: {in_percent(bounded.shares[words[0]])} of the {whose}{then}."


_WORDS = {
    "overhead": "what no stage explains",
    "preparing": "what precedes the run",
    "starting": "starting the workers",
    "joining": "joining the stretches",
}
_WORDS_OF_COPIES = {**_WORDS, "computing": "encoding", "merging": "writing"}


def _word(report: Entry, word: str) -> str:
    """Return the word for a stage; a conversion computes and merges nothing."""
    if report["analysis"] == "convert":
        return _WORDS_OF_COPIES.get(word, word)
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
        parts.append(f"only {in_percent(used)} of the bytes were of use")
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
    if report["analysis"] == "convert":
        return "Fewer workers leave less to wait for."
    most = max((1 + task["task"] for task in report["tasks"]), default=0)
    if 0 < most < len(report["workers"]):
        return f"There were {most} tasks for {_crew(report)}: take fewer, or smaller tasks."
    return "Fewer workers, or smaller tasks (task_frames), leave less to wait for."


def _try_preparing(_: Entry) -> str:
    return (
        "One thread does that: a reference that is given as positions, and fewer groups, leave less"
        " of it."
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


def _try_joining(_: Entry) -> str:
    return (
        "One process copies what the workers wrote, stretch by stretch: threads of one process"
        " write the file at once, and segments (trajet split) need not be joined."
    )


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
    "joining": _try_joining,
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
_LOOK_THERE = "Others took over what they could of its work: look what else runs on that host."


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
        if report["analysis"] == "convert" and worst["stage"] != "opening":
            remedy = _LOOK_THERE
        lines.append(_try_gathering(report) if worst["stage"] == "gathering" else remedy)
    return lines


def _took(report: Entry, worst: Entry) -> str:
    """Say how long a straggler took; where it had fewer frames than others, for as many."""
    took = in_seconds(worst["seconds"])
    itself = [busy(worker) for worker in report["workers"] if lane_of(worker) == lane_of(worst)]
    if "task" in worst or in_seconds(itself[0]) == took:
        return f"took {took}"
    return f"takes {took} for the mean number of frames"


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
                f"But {in_percent(decoding)} of that input was decoding, which more cores share;"
                f" reading alone took {in_percent(bounded.shares['reading'])} of the time."
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
    t_io = seconds_in(spent, ("t_read", "t_decode"))
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
    if worst["t_scheduler"] - inside < worth_naming(report["stages"]["t_total"]):
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
