"""Advice on a run: stragglers, the stage that bounded the run, and what to try.

Pure functions of the entries of a report, from any pool or loaded from JSON.
"""

from typing import TYPE_CHECKING

from trajet import startup

# Other modules import the types of `entries`; the rest is imported when a report is made or shown.
if TYPE_CHECKING:
    from trajet.advise.bounds import Bound, bound
    from trajet.advise.entries import busy, computing_to_input, n_processes, name_of
    from trajet.advise.preparation import words_of_wait
    from trajet.advise.rules import OVER_MEDIAN, Verdict, stragglers
    from trajet.advise.sentences import advice, heuristics, lead
    from trajet.advise.words import in_bytes, in_seconds, in_two_digits
else:
    __getattr__ = startup.lazy_names(
        __name__,
        {
            "trajet.advise.bounds": "Bound bound",
            "trajet.advise.entries": "busy computing_to_input n_processes name_of",
            "trajet.advise.preparation": "words_of_wait",
            "trajet.advise.rules": "OVER_MEDIAN Verdict stragglers",
            "trajet.advise.sentences": "advice heuristics lead",
            "trajet.advise.words": "in_bytes in_seconds in_two_digits",
        },
    )

__all__ = [
    "OVER_MEDIAN",
    "Bound",
    "Verdict",
    "advice",
    "bound",
    "busy",
    "computing_to_input",
    "heuristics",
    "in_bytes",
    "in_seconds",
    "in_two_digits",
    "lead",
    "n_processes",
    "name_of",
    "stragglers",
    "words_of_wait",
]
