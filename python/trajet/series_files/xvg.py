"""XVG files of GROMACS, and of Grace: sets of columns with a legend."""

import re

import numpy as np

from trajet.series_files.rows import Numbers, Part, Rows, TextFile, name_and_unit, unique_names

# Settings of a graph: titles, labels of axes and legends of sets.
_SETTING = re.compile(r'@\s*(title|[xy]axis\s+label|s\d+\s+legend|legend\s+string\s+\d+)\s+"(.*)"')
_GREEK = {"a": "α", "c": "χ", "D": "Δ", "f": "φ", "l": "λ", "m": "µ", "r": "ρ", "t": "τ", "y": "ψ"}
_TIME = "x"


def read(file: TextFile) -> Numbers:
    """Return the sets of an XVG file as columns.

    Raises
    ------
    FormatError
        If a line has not a number for each column, sets have other times than the first, or the
        horizontal axis is no time.
    """
    settings: dict[str, str] = {}
    sets = [Rows(file, _TIME)]
    is_begun = False
    for number, line in file:
        text = line.strip()
        if text.startswith("@"):
            if found := _SETTING.match(text):
                _add_setting(settings, " ".join(found[1].split()), _plain(found[2]), file, number)
        elif text.startswith("&"):
            if is_begun:
                sets.append(Rows(file, _TIME))
            is_begun = False
        elif text and not text.startswith("#"):
            row = text.partition("#")[0]
            if not is_begun:
                sets[-1].begin([_TIME, *map(str, range(1, len(row.split())))])
                is_begun = True
            sets[-1].add(number, row)
    if not is_begun and len(sets) > 1:
        sets.pop()
    blocks = [np.concatenate([part.values for part in rows.parts()]) for rows in sets]
    for k, block in enumerate(blocks):
        if not np.array_equal(block[:, 0], blocks[0][:, 0]):
            raise file.error(
                number, f"set {k + 1} has other times than the first: give files of one set each"
            )
    values = np.hstack([blocks[0], *(block[:, 1:] for block in blocks[1:])])
    quantity, unit_of_values = name_and_unit(settings.get("yaxis label", ""))
    names = [
        settings.get(f"s{k} legend") or settings.get(f"legend string {k}") or f"set {k}"
        for k in range(values.shape[1] - 1)
    ]
    if len(names) == 1 and names == ["set 0"]:
        names = [quantity or settings.get("title") or "value"]
    names = unique_names(names)
    return Numbers(
        [Part((_TIME, *names), values)],
        time=_TIME,
        time_unit=name_and_unit(settings.get("xaxis label", ""))[1],
        digits=sets[0].digits,
        # The labels of a graph with several units list these.
        name=quantity if quantity and "(" not in quantity else "value",
        units=dict.fromkeys(names, unit_of_values),
        messages=file.messages,
    )


def _add_setting(
    settings: dict[str, str], name: str, text: str, file: TextFile, number: int
) -> None:
    """Add a setting of a graph, which stands in a line.

    Raises
    ------
    FormatError
        If the horizontal axis is no time, or a graph before has other axes or legends.
    """
    if name.startswith("x") and name_and_unit(text)[0].lower() not in ("time", "t"):
        raise file.error(number, f"the horizontal axis is {text!r}, and not time")
    if name != "title" and settings.get(name, text) != text:
        raise file.error(
            number, f"{text!r} after {settings[name]!r}: split the file, it has two graphs"
        )
    settings[name] = text


def _plain(text: str) -> str:
    """Return a text of Grace without its codes for fonts, Greek letters and heights."""
    text = text.replace(r"\cE\C", "Å")
    text = re.sub(r"\\x(.)", lambda found: _GREEK.get(found[1], found[1]), text)
    return re.sub(r"\\f\{[^}]*\}|\\[A-Za-z]", "", text)
