"""Advice on a run: stragglers, the stage that bounded the run, and what to try.

Pure functions of the entries of a report, from any pool or loaded from JSON.
"""

from trajet.advise.bounds import Bound, bound
from trajet.advise.entries import busy, computing_to_input, n_processes, name_of
from trajet.advise.preparation import before_run
from trajet.advise.rules import OVER_FASTEST, OVER_MEDIAN, Verdict, stragglers
from trajet.advise.sentences import advice, heuristics, lead
from trajet.advise.words import in_bytes, in_seconds, in_two_digits

__all__ = [
    "OVER_FASTEST",
    "OVER_MEDIAN",
    "Bound",
    "Verdict",
    "advice",
    "before_run",
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
]
