"""CSV files with a header: of trajet, pandas, OpenMM and spreadsheets."""

import csv
import re

from trajet.series_files.rows import Numbers, Rows, TextFile, is_number, name_and_unit, unique_names

# Names that trajet gives: quantity, unit and label, such as "rmsd_A:name_CA".
_OWN = re.compile(r"(.+?)_(A2|A3|A|ps|degrees)(:.*)?")
_OWN_UNITS = {"A": "Å", "A2": "Å²", "A3": "Å³"}


def read(file: TextFile, time: str = "") -> Numbers:
    """Return the columns of a CSV file, separated by commas, semicolons or tabs.

    Units stand in brackets behind names. Empty cells are NaN. The index of pandas, and numbers of
    frames in files of trajet, are left out.

    Raises
    ------
    FormatError
        If there is no header, no single column of times, or a cell is no number.
    """
    rows, header = Rows(file), list[str]()
    separator, time_unit, of_time = ",", "", ""
    units: dict[str, str] = {}
    chosen: list[int] = []
    for number, line in file:
        text = line.strip()
        if not header:
            if not text:
                continue
            separator = max(",;\t", key=text.count)
            # OpenMM begins the header as a comment.
            header = _cells(text.removeprefix("#"), separator)
            if any(map(is_number, header)):
                raise file.error(number, "no names of columns: add a first line that has them")
            is_own = [name for name in header if name][:2] == ["frame", "time_ps"]
            left_out = ("", "frame") if is_own else ("",)
            chosen = [k for k, name in enumerate(header) if name not in left_out]
            named = [_own_name(name) if is_own else name_and_unit(name) for name in header]
            names = unique_names([named[k][0] for k in chosen])
            units = {name: named[k][1] for name, k in zip(names, chosen, strict=True)}
            if time:
                known = [header[k] for k in chosen]
                rows.time = names[known.index(time)] if time in known else time
            else:
                rows.time = _time_of([named[k][0] for k in chosen], file, number)
            time_unit = units.get(rows.time, "")
            of_time = header[chosen[names.index(rows.time)]] if rows.time in names else ""
            rows.begin(names)
        elif text.startswith("#"):
            # OpenMM writes a header for each run, and the columns of runs may differ.
            cells = _cells(text.removeprefix("#"), separator)
            if of_time and of_time in cells and cells != header:
                raise file.error(
                    number, "other columns than those of the first line: split the file"
                )
        elif text:
            cells = _cells(line.rstrip("\n"), separator)
            # Files of restarts may repeat the header.
            if cells == header:
                continue
            if len(cells) < len(header) or any(cells[len(header) :]):
                raise file.error(
                    number,
                    f"{len(cells)} numbers for {len(header)} columns: the line was cut, or has"
                    " another separator; correct it or remove it",
                )
            rows.add(number, " ".join([cells[k] or "nan" for k in chosen]))
    return Numbers(
        rows.parts(),
        time=rows.time,
        time_unit=time_unit,
        digits=rows.digits,
        units=units,
        messages=file.messages,
    )


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line."""
    cells = next(csv.reader([line], delimiter=separator)) if '"' in line else line.split(separator)
    return [cell.strip() for cell in cells]


def _own_name(name: str) -> tuple[str, str]:
    """Return name and unit of a column of a file of trajet."""
    parts = _OWN.fullmatch(name)
    if parts is None:
        # Columns of a series that was read before: "value:Potential_(kJ/mol)".
        text, unit = name_and_unit(name.removeprefix("value:"))
        return text.rstrip("_"), unit
    return parts[1] + (parts[3] or ""), _OWN_UNITS.get(parts[2], parts[2])


def _time_of(names: list[str], file: TextFile, number: int) -> str:
    """Return the name of the only column of times."""
    times = [name for name in names if name.lower() in ("time", "t")]
    if len(times) != 1:
        raise file.error(
            number,
            f"{len(times)} columns are called time, of {', '.join(names)}: name the column of times"
            " with time_column=",
        )
    return times[0]
