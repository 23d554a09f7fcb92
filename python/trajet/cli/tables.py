"""Tables and errors as commands print them."""

from trajet._trajet import TrajetError

# What is wrong with the input or with the machine, not with us.
EXPECTED = (TrajetError, OSError, ValueError)


def lines_of(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as lines, the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *cells in rows:
        right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return lines


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror is not None:
        return " ".join(error.strerror.split())
    return " ".join(str(error).split())
