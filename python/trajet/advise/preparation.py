"""Time of a command before its run: imports, topology, selections."""

from collections.abc import Mapping

from trajet.advise.words import in_seconds
from trajet.report_entries import BeforeName, Entries

_WORDS: dict[BeforeName, str] = {
    "t_import": "imports",
    "t_topology": "opening and topology",
    "t_select": "selections",
}
# The least part of the command's time that is named.
_NAMED = 0.01
# The least seconds before the run that are mentioned.
_MUCH = 1.0


def words_of_wait(report: Entries, wait: float, after: Mapping[str, float]) -> str:
    """Return the seconds that a user has waited, and the steps that took them, as text.

    Parameters
    ----------
    report
        The report of a run; one of an older version lacks the steps before the run.
    wait
        Seconds since the process was started.
    after
        Seconds of the steps after the run, by their names.
    """
    threads = report["threads"]
    parts = [
        f"run ({in_seconds(report['stages']['t_total'])} on {threads}"
        f" thread{'s' if threads > 1 else ''})"
    ]
    if before := words_before_run(report, wait):
        parts.append(before)
    parts += [
        f"{word} ({in_seconds(seconds)})"
        for word, seconds in after.items()
        if seconds >= _NAMED * wait
    ]
    return f"{in_seconds(wait)}: {', '.join(parts)}"


def words_before_run(report: Entries, wait: float | None = None) -> str:
    """Return the steps before the run with their times, as text; empty if they are unknown.

    Steps that took less than a hundredth of `wait`, or of the command, are left out.
    """
    command = report.get("t_command")
    if command is None:
        return ""
    least = _NAMED * (command if wait is None else wait)
    return ", ".join(
        f"{word} ({in_seconds(report[name])})"
        for name, word in _WORDS.items()
        if report[name] > 0 and report[name] >= least
    )


def remedy_before_run(report: Entries) -> list[str]:
    """Return what shortens the longest step before the run, if something does; see `before_run`."""
    seconds = {name: report[name] for name in _WORDS}
    longest = max(seconds, key=seconds.__getitem__)
    if longest == "t_select":
        return ["Evaluate a selection once: `traj.select(selection.indices)` needs no time for it."]
    is_of_index = report["opening"]["t_index"] > report["t_topology"] / 2
    if longest == "t_topology" and not is_of_index and "MDAnalysis" in report["versions"]:
        return [
            "A topology that MDAnalysis parses is kept in a sidecar, from which the next run loads"
            " it; PSF, PDB, GRO, TPR, PRMTOP and mmCIF files are read without MDAnalysis."
        ]
    return []


def is_most_before_run(report: Entries) -> bool:
    """Return whether the steps before the run took more than a second and longer than the run."""
    command, total = report.get("t_command"), report["stages"]["t_total"]
    return command is not None and command - total > max(_MUCH, total)
