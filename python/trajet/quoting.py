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
