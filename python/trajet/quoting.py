"""Texts of users in messages."""

# Characters of a text that a message shows.
_SHOWN = 200


def quoted(value: object) -> str:
    """Return the `repr` of a value; one of more than 200 characters is cut there and ends in …."""
    try:
        text = repr(value)
    except RecursionError:
        return "lists within lists"
    if len(text) <= _SHOWN:
        return text
    end = text[0] if text[0] in "'\"" else ""
    return f"{text[:_SHOWN]}…{end}"


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
