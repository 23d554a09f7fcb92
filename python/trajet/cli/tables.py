"""Tables and errors as commands print them."""

from trajet._trajet import TrajetError

# What is wrong with the input or with the machine, not with us.
EXPECTED = (TrajetError, OSError, ValueError)


def escaped(text: str) -> str:
    """Return a text with all characters escaped that a terminal would obey or cannot show.

    Names of files, and what stores say, may come from strangers.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def lines_of(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as lines, the first column to the left, the others to the right."""
    rows = [tuple(map(escaped, row)) for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *cells in rows:
        right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return lines


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line that a terminal can show."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror is not None:
        text = error.strerror
    return escaped(" ".join(text.split()))
