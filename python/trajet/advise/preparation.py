"""Time of a command before its run: imports, topology, selections."""

from trajet.advise.entries import Entry
from trajet.advise.words import in_seconds

_WORDS = {"t_import": "imports", "t_topology": "opening and topology", "t_select": "selections"}
# Of the command; less is not named.
_NAMED = 0.01
# Seconds before the run that are worth a word.
_MUCH = 1.0


def before_run(report: Entry) -> str:
    """Return how long the command took, and what of it came before the run.

    Empty for reports of older versions, which have no such entries.
    """
    words = words_before_run(report)
    return f"{in_seconds(report['t_command'])} with {words}" if words else ""


def words_before_run(report: Entry) -> str:
    """Return what came before the run and how long it took; empty where that is not known."""
    command = report.get("t_command")
    if command is None:
        return ""
    return ", ".join(
        f"{word} ({in_seconds(report[name])})"
        for name, word in _WORDS.items()
        if report[name] > 0 and report[name] >= _NAMED * command
    )


def is_most_before_run(report: Entry) -> bool:
    """Return whether more than a second, and more than the run, went before it."""
    command, total = report.get("t_command"), report["stages"]["t_total"]
    return command is not None and command - total > max(_MUCH, total)
