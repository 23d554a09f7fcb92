"""Remarks on distances that look like nm: trajet takes Å."""

import re
from collections.abc import Iterable

# A distance below this, Å, is shorter than those between atoms that analyses look for.
_SHORT = 2.0
# Å in a nm.
_NM = 10
# Selections within a distance, as in "around 0.35 protein".
_WITHIN = re.compile(r"\b(around|sphzone|isolayer|sphlayer|cyzone|cylayer)\s+(\d*\.?\d+)\b")


def looks_like_nm(
    parameter: str, option: str, distance: float | None, *, found: bool, what: str
) -> list[str]:
    """Return a remark if nothing was found within a distance that would fit in nm.

    Parameters
    ----------
    parameter, option
        Names of the distance in Python and on the command line.
    distance
        The distance, Å; None for no remark.
    found
        Whether anything was found.
    what
        Words for the absence, such as "no contact is".
    """
    if found or distance is None or not 0 < distance < _SHORT:
        return []
    return [
        f"{what} within {distance:g} Å: distances are in Å, not in nm: give"
        f" {parameter}={distance * _NM:g} ({option} {distance:g}nm) if {distance:g} nm is meant"
    ]


def range_looks_like_nm(first: float, last: float, *, found: bool) -> list[str]:
    """Return a remark if an RDF over a range that would fit in nm has counted no pair."""
    if found or not 0 < last < _SHORT:
        return []
    return [
        f"no pair is {first:g} to {last:g} Å apart: distances are in Å, not in nm: give"
        f" range=({first * _NM:g}, {last * _NM:g}) (--range {first:g}nm {last:g}nm) if nm are meant"
    ]


def selections_in_nm(texts: Iterable[str], *, found: bool) -> list[str]:
    """Return a remark if selections within a short distance select no atom in any frame."""
    if found:
        return []
    for text in texts:
        for word, number in _WITHIN.findall(text):
            if 0 < float(number) < _SHORT:
                return [
                    f"{text!r} selects no atom in any frame: distances are in Å, not in nm: write"
                    f" {word} {float(number) * _NM:g} if {number} nm is meant"
                ]
    return []
