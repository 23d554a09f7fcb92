"""Logs of NAMD: lines of energies."""

import re

from trajet.series_files.rows import Numbers, Rows, TextFile

_STEP = re.compile(r"Info: TIMESTEP\s+(\S+)\s*$")
_ENERGIES = (
    *("BOND", "ANGLE", "DIHED", "IMPRP", "CROSS", "ELECT", "VDW", "BOUNDARY", "MISC", "KINETIC"),
    *("TOTAL", "POTENTIAL", "TOTAL2", "TOTAL3"),
)
_PRESSURES = ("PRESSURE", "GPRESSURE", "PRESSAVG", "GPRESSAVG")


def read(file: TextFile) -> Numbers:
    """Return the energies of a log at steps, whose length the log states.

    Raises
    ------
    FormatError
        If energies come before their titles, or the length of a step changes.
    """
    rows, step, has_titles = Rows(file, "TS"), None, False
    for number, line in file:
        if line.startswith("ETITLE:"):
            rows.begin(line.split()[1:])
            has_titles = True
        elif line.startswith("ENERGY:"):
            if not has_titles:
                raise file.error(number, "energies before the line ETITLE: add the head of the log")
            rows.add(number, line.removeprefix("ENERGY:"))
        elif found := _STEP.match(line):
            if step is not None and found[1] != step:
                raise file.error(
                    number, f"a time step of {found[1]} fs after one of {step} fs: split the file"
                )
            step = found[1]
    return Numbers(
        rows.parts(),
        time="TS",
        time_unit="fs",
        digits=rows.digits,
        units={
            **dict.fromkeys(_ENERGIES, "kcal/mol"),
            **dict.fromkeys(_PRESSURES, "bar"),
            **dict.fromkeys(("TEMP", "TEMPAVG"), "K"),
            "VOLUME": "Å³",
        },
        is_step=True,
        step=None if step is None else float(step),
        messages=file.messages,
    )
