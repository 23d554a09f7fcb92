"""Errors as lines of the terminal."""

import textwrap

from trajet._trajet import TrajetError
from trajet.quoting import escaped

# Errors of the input or the machine; all others are bugs.
EXPECTED = (TrajetError, OSError, ValueError)
# Characters of the widest line of text.
WIDTH = 100


def wrapped(text: str, label: str = "") -> list[str]:
    """Return the lines of a text of at most `WIDTH` characters, unless a word is longer.

    The first begins with the label, and the others are indented as far, or by two spaces without.
    """
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * (len(label) or 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line, safe for a terminal."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror is not None:
        text = error.strerror
    return escaped(" ".join(text.split()))
