"""Output files of Amber's sander and pmemd."""

import re

from trajet.series_files.rows import Numbers, Rows, TextFile

_VALUE = re.compile(r"([A-Za-z0-9][^=]*?)\s*=\s*([^=\s]+)")
_REGION = re.compile(r"\|\s*TI region\s+(\d+)")
# What stands before means and fluctuations, which have the form of energies.
_SUMMARY = re.compile(r"\s+(A V E R A G E S|R M S|DV/DL, AVERAGES)")
_TIME = "TIME(PS)"
_ENERGIES = (
    *("Etot", "EKtot", "EPtot", "BOND", "ANGLE", "DIHED", "1-4 NB", "1-4 EEL", "VDWAALS", "EELEC"),
    *("EHBOND", "RESTRAINT", "EKCMT", "VIRIAL", "EGB", "ESURF", "EAMBER (non-restraint)", "DV/DL"),
)


def read(file: TextFile) -> Numbers:
    """Return the energies of all steps; means and fluctuations at the end are left out.

    Columns of the second region of a thermodynamic integration end in "region 2".

    Raises
    ------
    FormatError
        If there is no step with a time, as in minimisations.
    """
    rows = Rows(file, _TIME)
    row: dict[str, str] = {}
    region, is_summary, block = "", False, dict[str, str]()
    row_line = block_line = 0

    def end_of_row() -> None:
        if row:
            rows.begin(list(row))
            rows.add(row_line, " ".join(row.values()))
            row.clear()

    for number, line in file:
        text = line.strip()
        if found := _REGION.match(text):
            region = "" if found[1] == "1" else f" region {found[1]}"
        elif _SUMMARY.match(line):
            is_summary = True
        elif text.startswith("NSTEP ="):
            block, block_line = dict(_VALUE.findall(text)), number
        elif block and text.startswith("----"):
            if _TIME in block and not is_summary:
                if not (region and row.get(_TIME) == block[_TIME]):
                    end_of_row()
                    row_line = block_line
                shared = ("NSTEP", _TIME)
                row.update({k if k in shared else k + region: v for k, v in block.items()})
            block, is_summary = {}, False
        elif block:
            block.update(_VALUE.findall(text))
    if block:
        file.warn_of_cut(f"the step of line {block_line} does not end and is left out")
    end_of_row()
    units = {
        **dict.fromkeys(_ENERGIES, "kcal/mol"),
        "TEMP(K)": "K",
        "PRESS": "bar",
        "VOLUME": "Å³",
        "Density": "g/cm³",
    }
    units.update({f"{name} region 2": unit for name, unit in units.items()})
    return Numbers(
        rows.parts(),
        time=_TIME,
        time_unit="ps",
        digits=rows.digits,
        units=units,
        messages=file.messages,
    )
