"""Logs of LAMMPS: tables of thermodynamic output, of the styles one, multi and yaml."""

import re
from collections.abc import Iterator

from trajet.series_files.rows import Numbers, Rows, TextFile

_BEGIN = re.compile(r"(Per MPI rank memory|Memory usage per proc)")
# Commands stand in a log with their comments.
_STYLE = re.compile(r"\s*(?:units\s+|Unit style\s*:\s*)([a-z]+)\s*(?:#.*)?$")
_TIME_STEP = re.compile(r"\s*timestep\s+((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:#.*)?$")
_VARIABLE_STEP = re.compile(r"\s*fix\s+\S+\s+\S+\s+dt/reset\b")
_STEP = re.compile(r"-+\s*Step\s+(\d+)\s+-+\s*CPU\s*=\s*(\S+)")
_VALUE = re.compile(r"(\S+)\s*=\s*(\S+)")
# Names of columns, with or without quotes, and the begin of a row: other texts stand between rows.
_NAME = re.compile(r"[^\s',\[\]]+(?:\[[^\]]*\])?")
_ROW = re.compile(r"[-+]?\.?\d")
# Of each style of units: those of time, energy, pressure and length.
_UNITS = {
    "real": ("fs", "kcal/mol", "atm", "Å"),
    "metal": ("ps", "eV", "bar", "Å"),
    "si": ("s", "J", "Pa", "m"),
    "cgs": ("s", "erg", "dyn/cm²", "cm"),
    "electron": ("fs", "Hartree", "Pa", "Bohr"),
    "micro": ("µs", "pg µm²/µs²", "pg/(µm µs²)", "µm"),
    "nano": ("ns", "ag nm²/ns²", "ag/(nm ns²)", "nm"),
}
_ENERGIES = (
    *("PotEng", "KinEng", "TotEng", "Enthalpy", "E_pair", "E_mol", "E_vdwl", "E_coul", "E_long"),
    *("E_bond", "E_angle", "E_dihed", "E_impro", "E_tail"),
)
_PRESSURES = ("Press", "Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")


def read(file: TextFile) -> Numbers:
    """Return the tables of all runs of a log.

    Times are the column Time if all tables have it, else Step.

    Raises
    ------
    FormatError
        If a line of a table has not a number for each column, or times are to be found from steps
        and the length of a step changes.
    """
    rows, style = Rows(file, "Step"), ""
    # Lengths of steps: the latest, and those of all tables.
    step, steps = "", set[str]()
    lines = iter(file)
    for number, line in lines:
        if found := _STYLE.match(line):
            if style and found[1] != style:
                raise file.error(number, f"units {found[1]} after units {style}: split the file")
            style = found[1]
        elif found := _TIME_STEP.match(line):
            step = found[1]
        elif _VARIABLE_STEP.match(line):
            steps.add("variable length")
        elif _BEGIN.match(line):
            steps.add(step)
            if not _read_table(lines, rows):
                file.warn_of_cut("its last run does not end")
    parts = rows.parts()
    is_step = not all("Time" in part.names for part in parts)
    if is_step and len(steps) > 1:
        raise file.error(
            number,
            f"steps of different lengths ({', '.join(sorted(one or 'default' for one in steps))})"
            " and no Time in all tables: split the log",
        )
    time, energy, pressure, length = _UNITS.get(style, ("", "", "", ""))
    return Numbers(
        parts,
        time="Step" if is_step else "Time",
        time_unit=time,
        digits=rows.digits,
        units={
            **dict.fromkeys(_ENERGIES, energy),
            **dict.fromkeys(_PRESSURES, pressure),
            **dict.fromkeys(("Lx", "Ly", "Lz"), length),
            "Volume": f"{length}³" if length else "",
            "Temp": "K" if style else "",
        },
        is_step=is_step,
        step=float(step) if is_step and step else None,
        messages=file.messages,
    )


def _read_table(lines: Iterator[tuple[int, str]], rows: Rows) -> bool:
    """Add the rows of a run, and return whether the log goes on after them."""
    multi: dict[str, str] = {}
    multi_line = n_columns = 0

    def end_of_multi() -> None:
        if multi:
            rows.time = "Time" if "Time" in multi else "Step"
            rows.begin(list(multi))
            rows.add(multi_line, " ".join(multi.values()))
            multi.clear()

    for number, line in lines:
        text = line.strip()
        if text.startswith("Loop time of"):
            end_of_multi()
            return True
        if found := _STEP.match(text):
            end_of_multi()
            multi, multi_line = {"Step": found[1], "CPU": found[2]}, number
        elif multi:
            multi.update(_VALUE.findall(text))
        elif text.startswith("keywords:") or (not n_columns and "Step" in text.split()):
            names = _NAME.findall(text.removeprefix("keywords:"))
            rows.time = "Time" if "Time" in names else "Step"
            rows.begin(names)
            n_columns = len(names)
        elif n_columns and text.startswith("- ["):
            row = text[3:].rstrip("] ,").replace(",", " ") if text.endswith("]") else text
            rows.add(number, row)
        elif n_columns and _ROW.match(text):
            rows.add(number, text)
    return False
