"""Time of a command before its run: imports, topology, selections."""

from trajet.advise.entries import BeforeName, Entries
from trajet.advise.words import in_seconds

_WORDS: dict[BeforeName, str] = {
    "t_import": "imports",
    "t_topology": "opening and topology",
    "t_select": "selections",
}
# The least part of the command's time that is named.
_NAMED = 0.01
# The least seconds before the run that are mentioned.
_MUCH = 1.0


def before_run(report: Entries) -> str:
    """Return the time of the command and of its steps before the run, as text.

    The text is empty for reports of older versions, which lack these entries.
    """
    words = words_before_run(report)
    return f"{in_seconds(report['t_command'])} with {words}" if words else ""


def words_before_run(report: Entries) -> str:
    """Return the steps before the run with their times, as text; empty if they are unknown."""
    command = report.get("t_command")
    if command is None:
        return ""
    return ", ".join(
        f"{word} ({in_seconds(report[name])})"
        for name, word in _WORDS.items()
        if report[name] > 0 and report[name] >= _NAMED * command
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
