"""Formatting of tables and errors for the terminal."""

from trajet._trajet import TrajetError

# Errors of the input or the machine; all others are bugs.
EXPECTED = (TrajetError, OSError, ValueError)


def escaped(text: str) -> str:
    """Return a text with control and unprintable characters escaped.

    File names and the contents of stores may come from untrusted sources.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def lines_of(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, the first column left-aligned, the others right-aligned."""
    rows = [tuple(map(escaped, row)) for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *cells in rows:
        right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return lines


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line, safe for a terminal."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror is not None:
        text = error.strerror
    return escaped(" ".join(text.split()))
