"""Warnings of distances that look like nm, as trajet takes Å, and of angles of another atom."""

import re
from collections.abc import Iterable

from trajet.messages import Code, Message

# A distance below this, Å, is shorter than those between atoms that analyses look for.
_SHORT = 2.0
# Angles, degrees, of hydrogen bonds are above it at the hydrogen, and below it at the donor.
_RIGHT_ANGLE = 90.0
# Å in a nm.
_NM = 10
# Selections within a distance, as in "around 0.35 protein".
_WITHIN = re.compile(r"\b(around|sphzone|isolayer|sphlayer|cyzone|cylayer)\s+(\d*\.?\d+)\b")


def looks_like_nm(
    parameter: str, distance: float | None, *, found: bool, what: str, key: str = ""
) -> list[Message]:
    """Return a message if nothing was found within a distance that would fit in nm.

    Parameters
    ----------
    parameter
        Name of the distance.
    distance
        The distance, Å; None for no message.
    found
        Whether anything was found.
    what
        Words for the absence, such as "no contact is".
    key
        Key of the distance, if the parameter is a mapping.
    """
    if found or distance is None or not 0 < distance < _SHORT:
        return []
    value = f"{distance * _NM:g}"
    return [
        Message(
            Code.UNITS,
            f"{what} within {distance:g} Å: distances are in Å, not in nm",
            f"give {parameter}={f'{{{key!r}: {value}}}' if key else value} if {distance:g} nm is"
            " meant",
        )
    ]


def looks_like_other_angle(angle: float, donor_angle: float | None) -> list[Message]:
    """Return a warning if the angle of hydrogen bonds looks like the one that is not meant.

    GROMACS takes that at the donor, of at most 30 degrees, other programs that at the hydrogen.
    """
    if donor_angle is None and 0 < angle < _RIGHT_ANGLE:
        return [
            Message(
                Code.UNITS,
                f"angles at the hydrogen (D-H-A) of {angle:g} degrees or more are bonds, 180 is"
                " straight",
                f"give donor_angle={angle:g} if the angle at the donor"
                " (H-D-A) is meant, as in GROMACS",
            )
        ]
    if donor_angle is not None and donor_angle > _RIGHT_ANGLE:
        return [
            Message(
                Code.UNITS,
                f"angles at the donor (H-D-A) of up to {donor_angle:g} degrees are bonds, 0 is"
                " straight",
                f"give angle={donor_angle:g} if the angle at the hydrogen"
                " (D-H-A) is meant, as in MDAnalysis",
            )
        ]
    return []


def range_looks_like_nm(first: float, last: float, *, found: bool) -> list[Message]:
    """Return a warning if an RDF over a range that would fit in nm has counted no pair."""
    if found or not 0 < last < _SHORT:
        return []
    return [
        Message(
            Code.UNITS,
            f"no pair is {first:g} to {last:g} Å apart: distances are in Å, not in nm",
            f"give range=({first * _NM:g}, {last * _NM:g}) if nm are meant",
        )
    ]


def selections_in_nm(texts: Iterable[str], *, found: bool) -> list[Message]:
    """Return a message if selections within a short distance select no atom in any frame."""
    if found:
        return []
    for text in texts:
        for word, number in _WITHIN.findall(text):
            if 0 < float(number) < _SHORT:
                return [
                    Message(
                        Code.UNITS,
                        f"{text!r} selects no atom in any frame: distances are in Å, not in nm",
                        f"write {word} {float(number) * _NM:g} if {number} nm is meant",
                    )
                ]
    return []
