"""Natural order of names: part2 before part10."""

import re


def natural(name: str) -> tuple[list[tuple[int, int]], str]:
    """Return a sort key that compares numbers by value."""
    parts = re.findall(r"[0-9]+|[^0-9]", name)
    digit = ord("0")
    key = [(digit, int(part)) if part[0] in "0123456789" else (ord(part), 0) for part in parts]
    return key, name
