"""Texts of numbers with a unit, such as 0.45nm or 0.2ns, as numbers in the units of trajet."""

import re
from collections.abc import Mapping
from decimal import Decimal

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"

# Each unit with its multiple of the unit of trajet, by the latter.
UNITS: Mapping[str, Mapping[str, Decimal]] = {
    "Å": {
        **dict.fromkeys(("", "Å", "\N{ANGSTROM SIGN}", "A", "angstrom"), Decimal(1)),
        "nm": Decimal(10),
        "pm": Decimal("0.01"),
    },
    "ps": {
        **dict.fromkeys(("", "ps"), Decimal(1)),
        "fs": Decimal("0.001"),
        "ns": Decimal(10) ** 3,
        **dict.fromkeys(("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"), Decimal(10) ** 6),
        "ms": Decimal(10) ** 9,
    },
    "degrees": dict.fromkeys(("", "°", "deg", "degrees"), Decimal(1)),
}


class Number(float):
    """A number that was given with or without its unit."""

    has_unit = False


def number_of(text: str, unit: str) -> Number | None:
    """Return the number of a text in a unit of trajet; None if it has none, or another unit."""
    parts = re.fullmatch(rf"\s*({_NUMBER})\s*(\D*?)\s*", text)
    factor = UNITS[unit].get(parts[2]) if parts else None
    if parts is None or factor is None:
        return None
    # Decimal: 0.3 nm are 3 Å, not 2.9999999999999996.
    number = Number(parts[1]) if not parts[2] else Number(Decimal(parts[1]) * factor)
    number.has_unit = bool(parts[2])
    return number


def hint_on_text(value: object, unit: str) -> str:
    """Return the number to give instead of a text, as the end of a message, or nothing."""
    number = number_of(value, unit) if isinstance(value, str) else None
    return "" if number is None else f": give the number in {unit}, {number:.12g}"
