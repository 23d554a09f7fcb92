"""Remedies: one plain sentence on what to do about a run, and details."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from trajet.advise.bounds import Bound
from trajet.advise.words import in_bytes, in_percent, in_seconds, in_two_digits
from trajet.report_entries import Entries, InputEntry, StragglerEntry, n_processes, name_of

# Requests smaller than this may be too small for a storage with this latency in seconds.
_SMALL_REQUEST = 2**20
_SLOW_ANSWER = 1e-3
# Bytes per second and thread, seconds per request: the page cache and fast disks are faster.
_FAST_RATE = 2**28
_FAST_ANSWER = 2e-4
# If fewer than this part of the atoms are decoded, a copy of these atoms is much smaller.
_FEW_ATOMS = 0.5
# Overheads of a pool, and the part of the time from which threads are better.
_POOL_COSTS = ("starting", "opening", "gathering", "waiting", "joining", "closing")
_MOSTLY = 0.5

_WORDS = {
    "overhead": "overhead outside of all stages",
    "preparing": "preparing the run",
    "starting": "starting the workers",
    "joining": "joining the pieces",
}
_WORDS_OF_COPIES = {**_WORDS, "computing": "encoding", "merging": "writing"}


@dataclass(frozen=True)
class Remedy:
    """A remedy for a run.

    Attributes
    ----------
    plain
        A sentence that needs no knowledge of stages.
    details
        Further sentences that explain it; none of them contradicts it.
    saves
        Part of the run's time that it saves at most; None for all that bounded the run.
    """

    plain: str
    details: tuple[str, ...] = ()
    saves: float | None = None


def remedy(report: Entries, bounded: Bound) -> Remedy:
    """Return the remedy for a run that is not short."""
    if bounded.what == "straggler":
        total = report["stages"]["t_total"]
        return replace(_for_straggler(report), saves=bounded.late / total)
    cost = sum(bounded.shares[word] for word in _POOL_COSTS)
    if _is_pool_of_this_machine(report) and cost >= _MOSTLY:
        return _without_pool(report, bounded, cost)
    return _REMEDIES[bounded.what](report, bounded)


def word_of(report: Entries, word: str) -> str:
    """Return the word for a stage; a conversion encodes and writes instead."""
    if report["analysis"] == "convert":
        return _WORDS_OF_COPIES.get(word, word)
    return _WORDS.get(word, word)


def workers_text(report: Entries) -> str:
    """Return number and kind of the workers: "4 threads", "2 ranks"."""
    processes = n_processes(report)
    if processes == 1:
        n = len(report["workers"])
        return f"{n} thread{'' if n == 1 else 's'}"
    who = "ranks" if all("rank" in worker for worker in report["workers"]) else "workers"
    return f"{processes} {who}"


def place_of(report: Entries, entry: StragglerEntry) -> str:
    """Return name and host of a worker as text."""
    return f"{name_of(report, entry)} on {entry['host']}"


def _is_pool_of_this_machine(report: Entries) -> bool:
    """Return whether all processes of a pool ran on the host of the caller."""
    return report["pool"] != "local" and set(report["ranks_per_node"]) == {report["host"]}


def _without_pool(report: Entries, bounded: Bound, cost: float) -> Remedy:
    """Advise to use threads of one process instead."""
    words = sorted(_POOL_COSTS, key=lambda word: -bounded.shares[word])
    most = [
        f"{word_of(report, word)} {in_percent(bounded.shares[word])}"
        for word in words[:2]
        if bounded.shares[word] > 0
    ]
    return Remedy(
        "Leave the pool out: threads of one process would save"
        f" {in_percent(cost)} of the time ({', '.join(most)}).",
        saves=cost,
    )


def _for_straggler(report: Entries) -> Remedy:
    """Advise on stragglers."""
    found = report["stragglers"]
    workers = [entry for entry in found if "task" not in entry]
    worst = (workers or found)[0]
    n, of = len(workers), len(report["workers"])
    kind = "threads" if n_processes(report) == 1 else "workers"
    who = f"One of {of} {kind}" if n < 2 else f"{n} of {of} {kind}"
    plain = f"{who} held up the run in {worst['stage']}: see what else runs on {worst['host']}."
    if worst["stage"] == "gathering":
        advised = _move_less(report)
        return Remedy(plain, (f"{advised[0].upper()}{advised[1:]}.",))
    if report["analysis"] == "convert":
        return Remedy(plain, ("Others took over what they could of its work.",))
    if worst["stage"] != "opening":
        details = ["Smaller tasks (task_frames) let others take over more of its work."]
    else:
        details = []
    if n_processes(report) > 1 and worst["stage"] in ("opening", "reading"):
        details.append("With segments (trajet split) workers need not open the same file.")
    return Remedy(plain, tuple(details))


def _reading(report: Entries, _: Bound) -> Remedy:
    """Advise on reading: the storage is slow, or the run reads too much."""
    t_read, requests = report["stages"]["t_read"], max(1, report["requests"])
    rate, answer = report["bytes_read"] / t_read, t_read / requests
    mean = report["bytes_read"] / requests
    each = "The thread" if len(report["workers"]) == 1 else "Each thread"
    details = [f"{each} read {in_bytes(rate)} a second, in requests of {in_bytes(mean)}."]
    copy = "a copy of the wanted atoms alone (tj.convert)"
    if rate >= _FAST_RATE or answer <= _FAST_ANSWER:
        if _can_read_fewer_atoms(report):
            plain = f"The storage was fast, but there was much to read: {copy} is less."
        else:
            plain = "Nothing to gain: the file was read as fast as from memory, and all of it."
        is_gain = _can_read_fewer_atoms(report)
        return Remedy(plain, tuple(details), saves=None if is_gain else 0.0)
    less = f", or {copy}" if _can_read_fewer_atoms(report) else ""
    plain = f"The storage set the pace: read from a local disk{less}."
    if mean < _SMALL_REQUEST and answer >= _SLOW_ANSWER:
        details.append(
            f"It took {in_seconds(answer)} to answer a request: larger ones (request_size=8388608)"
            " help on network and parallel file systems."
        )
    if report["bytes_used"] < report["bytes_read"] / 2:
        used = report["bytes_used"] / report["bytes_read"]
        details.append(f"Only {in_percent(used)} of the bytes were of use.")
    if n_processes(report) > 1 and len(_trajectories(report)) == 1:
        details.append("Segments (trajet split) or H5MD spare the processes one shared file.")
    return Remedy(plain, tuple(details))


def _working(report: Entries, bounded: Bound) -> Remedy:
    """Advise on decoding and computing, which run on all cores."""
    threads, cores = report["threads"], report["cores"]
    word, share = word_of(report, bounded.what), in_percent(bounded.shares[bounded.what])
    is_local = report["pool"] == "local"
    # With no more tasks than threads, further threads would have had nothing to do.
    has_more_work = not report["tasks"] or len(report["tasks"]) > threads
    if threads < cores and has_more_work and (is_local or _is_pool_of_this_machine(report)):
        use = f"Use all cores (pool=LocalPool(threads={cores}))" if is_local else "Use more workers"
        return Remedy(
            f"{use}: {threads} of {cores} cores had work, and {word} took {share} of the time.",
            ("Frames are independent, so that cores share this work.",),
            saves=bounded.shares[bounded.what] * (1 - threads / cores),
        )
    if not is_local and not _is_pool_of_this_machine(report):
        return Remedy(f"More workers would share this work: {word} took {share} of the time.")
    if bounded.what == "decoding" and _can_read_fewer_atoms(report):
        who = f"All {threads} threads were" if threads > 1 else "The thread was"
        return Remedy(
            f"{who} at work, mostly decoding: for atoms that are analysed often, a copy of them"
            " alone (tj.convert) is faster."
        )
    return Remedy(f"Nothing to gain on this machine: it was busy {word}.", saves=0.0)


def _waiting(report: Entries, _: Bound) -> Remedy:
    if len(report["workers"]) == 1:
        return Remedy("The one thread waited most of the time: see what else ran on its machine.")
    who = "threads" if n_processes(report) == 1 else "workers"
    if report["analysis"] == "convert":
        return Remedy(f"Take fewer {who}: they waited most of the time.")
    most = max((1 + task["task"] for task in report["tasks"]), default=0)
    if 0 < most < len(report["workers"]):
        tasks = "1 task" if most == 1 else f"{most} tasks"
        return Remedy(
            f"Take fewer {who}, or smaller tasks: there were {tasks} for {workers_text(report)}."
        )
    return Remedy(
        f"Take fewer {who}, or smaller tasks (task_frames): they waited most of the time."
    )


def _preparing(report: Entries, _: Bound) -> Remedy:
    seconds = in_seconds(report.get("t_preparing", 0.0))
    return Remedy(
        f"Preparing took {seconds}, on one thread: a reference that is given as positions, and"
        " fewer groups, leave less of it."
    )


def _starting(report: Entries, _: Bound) -> Remedy:
    first = min((task["t_begin"] for task in report["tasks"]), default=0.0)
    waited = in_seconds(max(0.0, first - report.get("t_preparing", 0.0)))
    begin = f"The first task began after {waited}"
    if report["pool"] == "processes":
        return Remedy(
            f"{begin}: processes, once started, serve the runs that follow in the same program."
        )
    if report["pool"] == "local":
        return Remedy(f"{begin}: see what else ran on this machine.")
    return Remedy(f"{begin}: fewer workers start sooner.")


def _move_less(report: Entries) -> str:
    """Return advice for a run in which moving results took long."""
    if report["pool"] == "mpi":
        return "try the other way of gathering, one-sided or collective"
    return "fewer workers, or threads of one process, move less"


def _gathering(report: Entries, bounded: Bound) -> Remedy:
    share, ratio = in_percent(bounded.shares["gathering"]), report["r_comp_comm"]
    details = () if ratio is None else (f"R_comp/comm is {in_two_digits(ratio)}.",)
    return Remedy(f"Moving results took {share} of the time: {_move_less(report)}.", details)


def _merging(report: Entries, _: Bound) -> Remedy:
    if report["analysis"] == "convert":
        return Remedy("The storage of the output set the pace: write to another, or fewer atoms.")
    return Remedy("Larger tasks (task_frames) leave fewer states to merge.")


def _joining(_report: Entries, _: Bound) -> Remedy:
    return Remedy(
        "Threads of one process write the file at once, without joining: leave the pool out.",
        ("Or write segments (trajet split), which need not be joined.",),
    )


def _opening(report: Entries, _: Bound) -> Remedy:
    files = len(_trajectories(report))
    of_them = "one is the trajectory" if files == 1 else f"{files} of them are the trajectory's"
    times = f"Files were opened {report['opens']} times, {of_them}"
    if n_processes(report) > 1:
        return Remedy(f"Fewer workers open less. {times}.")
    return Remedy(f"Opening files took longest: a local disk opens them sooner. {times}.")


def _closing(_report: Entries, _: Bound) -> Remedy:
    return Remedy("Closing files took longest: try another storage.")


def _overhead(_report: Entries, _: Bound) -> Remedy:
    return Remedy("No stage accounts for most of the time: see what else ran on these cores.")


def _can_read_fewer_atoms(report: Entries) -> bool:
    """Return whether the run decoded few of the trajectory's atoms, or their number is unknown.

    False for conversions.
    """
    files = _trajectories(report)
    n_atoms = files[0].get("n_atoms") if files else None
    if report["analysis"] == "convert":
        return False
    if not n_atoms:
        return True
    return bool(report["atoms_decoded"] < _FEW_ATOMS * report["frames"] * n_atoms)


def _trajectories(report: Entries) -> list[InputEntry]:
    """Return the files of the trajectory among the inputs."""
    return [entry for entry in report["inputs"] if "format" in entry]


_REMEDIES: dict[str, Callable[[Entries, Bound], Remedy]] = {
    "reading": _reading,
    "decoding": _working,
    "computing": _working,
    "waiting": _waiting,
    "preparing": _preparing,
    "starting": _starting,
    "gathering": _gathering,
    "merging": _merging,
    "joining": _joining,
    "opening": _opening,
    "closing": _closing,
    "overhead": _overhead,
}
