"""Times, sizes and ratios as text with few digits."""


def in_seconds(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e6)} µs"


def _digits(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"


def in_bytes(number: float) -> str:
    """Return a number of bytes with three digits and its unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{_digits(number)} {unit}"
        number /= 1024
    return f"{_digits(number)} TiB"


def in_two_digits(ratio: float) -> str:
    """Return a ratio with two digits, or as an integer from 100 on."""
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:.0f}"


def in_percent(part: float) -> str:
    """Return a fraction in percent, with one digit below 10 %."""
    return f"{100 * part:.0f} %" if part >= 0.095 else f"{100 * part:.1g} %"
