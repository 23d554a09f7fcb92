"""Time of a command outside of its run: imports, topology, selections; result, files, figure."""

from collections.abc import Mapping

from trajet.advise.words import in_seconds
from trajet.report_entries import Entries, OutsideName

_BEFORE: Mapping[OutsideName, str] = {
    "t_import": "imports",
    "t_topology": "opening and topology",
    "t_select": "selections",
}
_AFTER: Mapping[OutsideName, str] = {
    "t_result": "result",
    "t_files": "files",
    "t_figure": "figure",
}
# The least part of the command's time that is named.
_NAMED = 0.05
# The least seconds before the run that are mentioned.
_MUCH = 1.0


def words_of_wait(report: Entries, wait: float) -> str:
    """Return the seconds that a user has waited, and the steps that took them, as text.

    Parameters
    ----------
    report
        The report of a run.
    wait
        Seconds since the process was started.
    """
    threads = report["threads"]
    parts = [
        f"run ({in_seconds(report['stages']['t_total'])} on {threads}"
        f" thread{'s' if threads > 1 else ''})"
    ]
    return (
        f"{in_seconds(wait)}: {', '.join([*parts, *_words(report, {**_BEFORE, **_AFTER}, wait)])}"
    )


def words_before_run(report: Entries) -> str:
    """Return the steps before the run with their times, as text; empty if they are unknown.

    Steps that took less than a twentieth of the command are left out.
    """
    return ", ".join(_words(report, _BEFORE, report.get("t_command", 0.0)))


def _words(report: Entries, names: Mapping[OutsideName, str], whole: float) -> list[str]:
    """Return steps with their times, but for those below a twentieth of the whole."""
    seconds = {word: report.get(name, 0.0) for name, word in names.items()}
    return [
        f"{word} ({in_seconds(spent)})" for word, spent in seconds.items() if spent > _NAMED * whole
    ]


def remedy_before_run(report: Entries) -> list[str]:
    """Return what shortens the longest step before the run, if something does; see `before_run`."""
    seconds = {name: report[name] for name in _BEFORE}
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
    before = sum(report.get(name, 0.0) for name in _BEFORE)
    return before > max(_MUCH, report["stages"]["t_total"])
