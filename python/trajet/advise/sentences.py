"""Advice in sentences: what to do, what bounded the run, and the heuristics of the papers."""

from collections.abc import Sequence

from trajet.advise.bounds import Bound, bound
from trajet.advise.preparation import is_most_before_run, remedy_before_run, words_before_run
from trajet.advise.remedies import place_of, remedy, word_of, workers_text
from trajet.advise.words import in_percent, in_seconds, in_two_digits
from trajet.report_entries import (
    SHORT,
    Entries,
    RepeatedEntry,
    Stages,
    StragglerEntry,
    busy,
    computing_to_input,
    lane_of,
    seconds_in,
    worth_naming,
)

# A stage that takes at least this part of the workers' time bounds the run.
_BOUNDS = 0.5
# The paper says "well above 1"; its draft, 100.
_WELL_ABOVE_ONE = 100.0
_MENTIONED = 0.01
# Advice that saves less, in seconds or as part of the time of a command, is not printed.
_SAVED_SECONDS = 1.0
_SAVED_PART = 0.25
_PAPER = "Khoshlessan et al. 2020 (section 8)"


def advice(report: Entries) -> list[str]:
    """Return what to do about a run and what bounded it, in sentences.

    Parameters
    ----------
    report
        The entries of a report.

    Returns
    -------
    list of str
        The first is one plain sentence on what to do, or says that there is nothing to gain. The
        others explain it.
    """
    if not report["frames"]:
        return ["No frame was read: there is no advice."]
    bounded = bound(report)
    if is_most_before_run(report):
        lines = [
            f"Most of the time went before the run: {words_before_run(report)}; several analyses in"
            " one Python script share that."
        ]
        if bounded.what == "short":
            return [*lines, *_of_opening(report), *remedy_before_run(report)]
        return [*lines, *_of_run(report, bounded), *remedy_before_run(report)]
    if bounded.what == "short":
        took = in_seconds(report["stages"]["t_total"])
        return [f"The run took {took}: there is nothing to gain."]
    return _of_run(report, bounded)


def heuristics(report: Entries) -> list[str]:
    """Return what the papers advise for the R_comp/IO of a run; empty if they do not apply."""
    if not report["frames"] or report["analysis"] == "convert":
        return []
    bounded = bound(report)
    return [] if bounded.what == "short" else _of_ratio(report, bounded)


def first_advice(report: Entries) -> list[str]:
    """Return the sentence to print after a run, if following it saves much of the time.

    Nothing is advised on the time before the run, which the next command needs as well.
    """
    bounded = bound(report)
    if not report["frames"] or bounded.what == "short":
        return []
    found, total = remedy(report, bounded), report["stages"]["t_total"]
    part = found.saves
    if part is None:
        part = bounded.shares[bounded.what]
    wait = report.get("t_command", total)
    return [found.plain] if part * total > max(_SAVED_SECONDS, _SAVED_PART * wait) else []


def _of_run(report: Entries, bounded: Bound) -> list[str]:
    """Return the remedy for a run, its bound, and further observations."""
    found = remedy(report, bounded)
    bound_by = _of_bound(report, bounded)
    return [found.plain, bound_by, *found.details, *_descriptions(report, bounded)]


def _of_bound(report: Entries, bounded: Bound) -> str:
    """Return a sentence on the bound of a run."""
    if bounded.what == "straggler":
        return _of_stragglers(report, bounded)[0]
    return _of_stage(report, bounded)


def _descriptions(report: Entries, bounded: Bound) -> list[str]:
    """Return further observations on a run; none of them is advice."""
    lines = [] if bounded.what == "straggler" else _of_stragglers(report, bounded)
    lines += [*_of_clocks(report), *_of_opening(report)]
    if repeated := report["repeated"]:
        lines.append(_of_repeated(repeated))
    if retried := len(report["retried"]):
        tasks = "1 task was" if retried == 1 else f"{retried} tasks were"
        lines.append(f"{tasks} tried again after an error of the storage: see `retried`.")
    return lines


def _of_stage(report: Entries, bounded: Bound) -> str:
    """Return a sentence on the stage that took most time, and the next two."""
    words = sorted(bounded.shares, key=lambda word: -bounded.shares[word])
    parts = [
        f"{word_of(report, word)} {in_percent(bounded.shares[word])}"
        for word in words[1:3]
        if bounded.shares[word] >= _MENTIONED
    ]
    verb = (
        "bounded this run"
        if bounded.shares[words[0]] >= _BOUNDS
        else "took more of this run than any other stage"
    )
    whose = "time" if len(report["workers"]) == 1 else f"time of its {workers_text(report)}"
    then = f" ({', '.join(parts)})" if parts else ""
    what = word_of(report, words[0]).capitalize()
    return f"{what} {verb}: {in_percent(bounded.shares[words[0]])} of the {whose}{then}."


def _of_stragglers(report: Entries, bounded: Bound) -> list[str]:
    """Return a sentence on the worst straggler and its stage; empty without stragglers."""
    found = report["stragglers"]
    if not found:
        return []
    workers = [entry for entry in found if "task" not in entry]
    worst = (workers or found)[0]
    bounds = bounded.what == "straggler"
    if not workers:
        kind, who = "task", f"task {worst['task']} of {place_of(report, worst)}"
    else:
        kind, who = "worker", place_of(report, worst)
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
    return [
        f"{begin} {_took(report, worst)} where {others}, {in_seconds(worst['lost'])} more than"
        f" others in {worst['stage']}."
    ]


def _took(report: Entries, worst: StragglerEntry) -> str:
    """Return the time of a straggler as text, scaled to the mean number of frames if needed."""
    took = in_seconds(worst["seconds"])
    itself = [busy(worker) for worker in report["workers"] if lane_of(worker) == lane_of(worst)]
    if "task" in worst or in_seconds(itself[0]) == took:
        return f"took {took}"
    return f"takes {took} for the mean number of frames"


def _of_ratio(report: Entries, bounded: Bound) -> list[str]:
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
            f" thread read alone before the run; over {workers_text(report)} of the run that is"
            f" {in_two_digits(own)}."
        ]
    else:
        why = "which was not measured: ask for a sample (tj.run(..., time_sample=True))"
        if "sample" in report:
            why = "and no sample could be taken"
        elif report["analysis"] == "apply":
            why = "and apply takes no sample, which would call the function"
        if sample is not None:
            why = f"and {sample['frames']} frames that one thread read alone took no time to get"
        lines = [
            f"Computing to input is {_to_input(own, stages)}, summed over {workers_text(report)};"
            f" R_comp/IO of the paper is that of a serial run, {why}."
        ]
    stage = bounded.what
    if stage == "straggler":
        workers = [entry for entry in report["stragglers"] if "task" not in entry]
        stage = (workers or report["stragglers"])[0]["stage"]
    is_bound_by_file = stage in ("reading", "opening")
    but = f"; {stage} bounded this run all the same" if is_bound_by_file else ""
    if ratio <= 1:
        lines.append(
            f"{_PAPER} calls that bound by input: on a cluster avoid one file that all ranks read;"
            " HDF5 through MPI-IO may scale to hundreds of cores, as many segments as processes to"
            " fewer than 200."
        )
        if stages["t_decode"] > stages["t_read"]:
            decoding = stages["t_decode"] / t_io
            lines.append(
                f"But {in_percent(decoding)} of that input was decoding;"
                f" reading alone took {in_percent(bounded.shares['reading'])} of the time."
            )
    elif ratio < _WELL_ABOVE_ONE:
        lines.append(
            f"{_PAPER} lets one shared file do for ratios well above 1, up to about 50 cores; at"
            f" ratios up to 27 it saw fewer stragglers, not none{but}."
        )
    else:
        lines.append(
            f"{_PAPER} lets one shared file do for such ratios, up to about 50 cores{but}."
        )
    return lines


def _to_input(ratio: float, spent: Stages) -> str:
    """Return a ratio of computing to input, with both times, as text."""
    t_io = seconds_in(spent, ("t_read", "t_decode"))
    return (
        f"{in_two_digits(ratio)}: {in_seconds(spent['t_comp'])} of computing to {in_seconds(t_io)}"
        " of reading and decoding"
    )


def _of_repeated(repeated: Sequence[RepeatedEntry]) -> str:
    """Return a sentence on tasks that were repeated, and where the first of them hung, if known."""
    n, first = len(repeated), repeated[0]
    tasks = "1 task was" if n == 1 else f"{n} tasks were"
    line = f"{tasks} late and given to an idle worker as well"
    if first.get("state") is not None:
        line += f": task {first['task']}, {first['state']}"
        if first.get("address") is not None:
            line += f" at {first['address']}"
        line += ", and others" if n > 1 else ""
    return f"{line} (see `repeated`)."


def _of_clocks(report: Entries) -> list[str]:
    """Return a sentence on the task that took longest by the clock of the scheduler."""
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


def _of_opening(report: Entries) -> list[str]:
    """Return a sentence on the time that opening took, if that is much compared with the run."""
    opening = report["opening"]
    seconds = opening["t_open"] + opening["t_index"]
    if seconds < max(SHORT, report["stages"]["t_total"] / 4):
        return []
    line = f"Opening the trajectory took {in_seconds(seconds)} before the run"
    if opening["index"] == "built":
        line += f", {in_seconds(opening['t_index'])} of it to build the index, which is then kept"
    return [f"{line}."]
