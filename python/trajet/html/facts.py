"""Short tables of facts on an object, which notebooks show in place of its `repr`."""

from collections.abc import Iterable, Sequence
from html import escape

# Most notes that are shown.
_MAX_NOTES = 5


def facts(title: str, rows: Iterable[tuple[str, object]], notes: Sequence[str] = ()) -> str:
    """Return a table of two columns as HTML, with notes below; all texts are escaped.

    Parameters
    ----------
    title
        What the object is.
    rows
        Names and values; a number has its digits in groups of three.
    notes
        Messages, of which the first five are shown.
    """
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(_text(value))}</td></tr>"
        for name, value in rows
    )
    below = "".join(f"<p>note: {escape(note)}</p>" for note in notes[:_MAX_NOTES])
    if len(notes) > _MAX_NOTES:
        below += f"<p>… and {len(notes) - _MAX_NOTES} more notes</p>"
    return f"<div><strong>{escape(title)}</strong><table>{cells}</table>{below}</div>"


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
