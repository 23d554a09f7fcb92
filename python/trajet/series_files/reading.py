"""`read_series`: numbers against time in a file of another program, as a table."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FormatError
from trajet.digits import in_digits
from trajet.hints import with_hints
from trajet.messages import Code, Message, as_entries, emit
from trajet.quantities import UNITS
from trajet.report_entries import OpeningEntry
from trajet.result import Report, Table, make_report
from trajet.result.axes import Axis, named
from trajet.series_files import csv_table, edr, lammps_log, mdout, namd_log, plumed, xvg
from trajet.series_files.rows import Numbers, Part, TextFile, unique_names

SeriesFormat = Literal["amber", "csv", "edr", "lammps", "namd", "plumed", "xvg"]
_READERS: Mapping[str, Callable[[TextFile], Numbers]] = {
    "amber": mdout.read,
    "lammps": lammps_log.read,
    "namd": namd_log.read,
    "xvg": xvg.read,
}
# Formats whose column of times may have any name.
_WITH_COLUMN: Mapping[str, Callable[[TextFile, str], Numbers]] = {
    "csv": csv_table.read,
    "plumed": plumed.read,
}
_SUFFIXES = {".csv": "csv", ".edr": "edr", ".tsv": "csv", ".xvg": "xvg"}
# The first lines of each format, and how many characters they are looked for in.
_HEADS = {
    "plumed": r"^#! FIELDS ",
    "xvg": r"^@ *(title|[xy]axis|TYPE|s\d)",
    "lammps": r"^(LAMMPS \(|Per MPI rank memory|Memory usage per proc)",
    "namd": r"^(ETITLE:|Info: NAMD|Charm\+\+)",
    "amber": r"^ +(Amber .*(SANDER|PMEMD)|NSTEP = +\d+ +TIME\(PS\))",
    "csv": r"\A[^\n]*[,;\t]",
}
_HEAD = 2**16
_TIME_UNITS = {name: float(size) for name, size in UNITS["ps"].items() if name} | {"s": 1e12}


@with_hints
def read_series(
    file: str | os.PathLike[str],
    *,
    format: SeriesFormat | None = None,
    time_unit: str | None = None,
    md_step: float | None = None,
    time_column: str | None = None,
) -> Table:
    """Read numbers against time from a file of another program.

    XVG files of GROMACS and EDR files (with the package pyedr), files of PLUMED such as COLVAR and
    HILLS, CSV files with a header, logs of LAMMPS and NAMD, and the output of Amber.

    Parameters
    ----------
    file
        The file.
    format
        Its format; None to tell it by the ending of its name, or its first lines.
    time_unit
        Unit of its times, "fs", "ps", "ns", "us", "ms" or "s", if the file does not state it.
    md_step
        Time between steps, `time_unit`, for files that have only the numbers of steps.
    time_column
        Name of the column of times in CSV files and files of PLUMED; None for "time".

    Returns
    -------
    Table
        Values `(n_rows, n_columns)`, float64, in the units of the file, at times in ps. `frames`
        are the numbers of the rows. `series["Potential"]` is a table of one column,
        `series.at(trajectory)` has a row for each frame of a trajectory.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If the format is not known, a row has not a number for each column, or the file does not
        state what an option should say.
    MissingPackageError
        If it is an EDR file, and pyedr is not installed.
    ValueError
        If an option is not one of its values, or contradicts the file.

    Notes
    -----
    Of a simulation that was restarted the later rows count: rows before a time that does not grow
    are left out if their times are not earlier, with a note. A last line that does not end is left
    out with a warning. Rows of tables that lack a column have NaN there, with a note. Nothing shows
    that a file was cut between two lines: it is read without a warning.

    Units of columns are those of the file: nm and kJ/mol of GROMACS, for example. PLUMED's files
    state no units. The column of the titles of a graph with several units has none.

    Examples
    --------
    >>> import trajet as tj
    >>> result.save("rmsd.csv")
    >>> series = tj.read_series("rmsd.csv")
    >>> series.columns, series.units
    (('rmsd',), 'Å')
    >>> tj.end_to_end(traj.select("protein"), frames=series.at(traj)["rmsd"] < 2).frames.max()
    np.int64(16)
    """
    begin = perf_counter()
    for name, one, known in (
        ("format", format, get_args(SeriesFormat)),
        ("time_unit", time_unit, ("fs", "ps", "ns", "us", "ms", "s")),
    ):
        if one is not None and one not in known:
            raise ValueError(f"{name} is one of {', '.join(map(repr, known))}, not {one!r}")
    path = Path(file)
    of_format = format or _format_of(path)
    found = _read(path, of_format, time_column)
    names, values, messages = _joined(found.parts, path)
    if found.time not in names:
        raise FormatError(
            f"{path}: no column {found.time!r} of times: there are {', '.join(names)}; name the"
            " column of times with time_column="
        )
    times, rounding = _times(found, values[:, names.index(found.time)], path, time_unit, md_step)
    kept, restarted = _later_rows(times, path)
    chosen = [k for k, name in enumerate(names) if name != found.time]
    if not chosen:
        raise FormatError(f"{path}: no column beside that of times")
    units = [found.units.get(names[k], "") for k in chosen]
    report = _report(
        path,
        [*found.messages, *messages, *restarted],
        {"format": of_format, "time_unit": time_unit, "md_step": md_step},
        perf_counter() - begin,
    )
    emit(report.messages)
    is_common = len({*units}) == 1
    labels = [
        names[k] if is_common or not unit else f"{names[k]} ({unit})"
        for k, unit in zip(chosen, units, strict=True)
    ]
    own = {"name": np.array([names[k] for k in chosen]), "unit": np.array(units, np.str_)}
    columns = {"frame": np.arange(len(kept)), "time": times[kept], "rounding": rounding[kept]}
    return Table(
        values=values[kept][:, chosen],
        axes=(Axis("frames", columns), named("quantities", labels, **own)),
        name=found.name,
        units=units[0] if is_common else "",
        selections=(path.name,),
        report=report,
    )


def _format_of(path: Path) -> str:
    """Return the format of a file by its ending or its first lines.

    Raises
    ------
    FormatError
        If it is not known.
    """
    if (known := _SUFFIXES.get(path.suffix.lower())) is not None:
        return known
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(edr.MAGIC):
        return "edr"
    text = head.decode("utf-8", "replace").replace("\r\n", "\n")
    for name, pattern in _HEADS.items():
        if re.search(pattern, text, re.MULTILINE):
            return name
    raise FormatError(
        f"{path}: none of the known formats of series: say which with format=, one of"
        f" {', '.join(map(repr, get_args(SeriesFormat)))}"
    )


def _read(path: Path, of_format: str, time_column: str | None) -> Numbers:
    """Return the numbers of a file."""
    if of_format in _WITH_COLUMN:
        # PLUMED always calls it so.
        default = "time" if of_format == "plumed" else ""
        return _WITH_COLUMN[of_format](TextFile(path), time_column or default)
    if time_column is not None:
        raise ValueError(f"{path}: time_column is of CSV and PLUMED files: leave it out")
    return edr.read(path) if of_format == "edr" else _READERS[of_format](TextFile(path))


def _joined(
    parts: Sequence[Part], path: Path
) -> tuple[list[str], NDArray[np.float64], list[Message]]:
    """Return the columns of all tables of a file, and a note if some tables lack some of them."""
    own = [unique_names(part.names) for part in parts]
    names = list(dict.fromkeys(name for one in own for name in one))
    if all(len(one) == len(names) for one in own) and len({*map(tuple, own)}) == 1:
        return names, np.concatenate([part.values for part in parts]), []
    blocks = []
    for one, part in zip(own, parts, strict=True):
        block = np.full((len(part.values), len(names)), np.nan)
        block[:, [names.index(name) for name in one]] = part.values
        blocks.append(block)
    missing = [name for name in names if any(name not in one for one in own)]
    if not missing:
        return names, np.concatenate(blocks), []
    text = f"{path}: tables that lack columns have NaN there: {', '.join(missing[:5])}"
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return names, np.concatenate(blocks), [Message(Code.NOT_READ, text + more)]


def _times(
    found: Numbers,
    values: NDArray[np.float64],
    path: Path,
    time_unit: str | None,
    md_step: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times of rows, ps, and how much they may be rounded.

    Raises
    ------
    FormatError
        If unit or step are not known.
    ValueError
        If they contradict the file.
    """
    unit = found.time_unit or time_unit
    if unit is None:
        raise FormatError(
            f"{path}: the file does not state the unit of its times: give time_unit='ps', or"
            " another unit"
        )
    if unit not in _TIME_UNITS:
        raise FormatError(f"{path}: times in {unit!r}, of which the length in ps is not known")
    if time_unit is not None and _TIME_UNITS[unit] != _TIME_UNITS[time_unit]:
        raise ValueError(f"{path}: its times are in {unit}, not {time_unit}: leave time_unit out")
    step = found.step if md_step is None else md_step
    if not found.is_step:
        if md_step is not None:
            raise ValueError(f"{path}: the file has times: leave md_step out")
        step = 1.0
    elif step is None:
        raise FormatError(
            f"{path}: steps without times: give the time between steps with md_step=, in {unit}"
        )
    elif found.step is not None and step != found.step:
        raise ValueError(f"{path}: its steps are of {found.step:g} {unit}: leave md_step out")
    if not (np.isfinite(step) and step > 0):
        raise ValueError(f"md_step is a time above 0, not {step:g}")
    size = _TIME_UNITS[unit]
    # 2 fs are 0.002 ps, and 2 * 0.001 is not always.
    times = values * step * size if size >= 1 else values * step / round(1 / size)
    if not np.isfinite(times).all():
        raise FormatError(f"{path}: times that are not finite")
    return times, np.zeros(len(times)) if found.is_step else found.digits.rounding(values) * size


def _later_rows(times: NDArray[np.float64], path: Path) -> tuple[NDArray[np.int64], list[Message]]:
    """Return the rows before which no later row has the same or an earlier time, and a note.

    Raises
    ------
    FormatError
        If times fall more often than restarts could explain.
    """
    falls = np.flatnonzero(np.diff(times) <= 0)
    if not len(falls):
        return np.arange(len(times)), []
    if 2 * len(falls) >= len(times) > 3:
        raise FormatError(
            f"{path}: times do not grow from row to row, {len(falls)} times in {len(times)} rows:"
            " sort the rows, or choose another column"
        )
    later = np.minimum.accumulate(times[::-1])[::-1]
    kept = np.flatnonzero(np.append(times[:-1] < later[1:], True))
    first = times[falls[0] + 1]
    return kept, [
        Message(
            Code.REPEATED_TIMES,
            f"{path}: times repeat or step back, first to {in_digits(first)} ps: of restarts the"
            f" later rows count, and {len(times) - len(kept)} of {len(times)} rows were left out",
        )
    ]


class _Opened(NamedTuple):
    """The file as far as a report uses it."""

    size: int

    def opening(self) -> OpeningEntry:
        """Return the cost of opening."""
        return {
            "t_open": 0.0,
            "t_index": 0.0,
            "opens": 1,
            "requests": 1,
            "bytes_read": self.size,
            "index": "built",
        }


def _report(
    path: Path, messages: Sequence[Message], parameters: Mapping[str, object], seconds: float
) -> Report:
    """Return the report of a file that was read."""
    size, digest = path.stat().st_size, _trajet.file_digest(path)
    entries = as_entries(messages)
    return make_report(
        _Opened(size),
        {"workers": [], "tasks": [], "passes": 0, "t_total": seconds},
        {
            "analysis": "read_series",
            "parameters": parameters,
            "inputs": [{"path": str(path), "size": size, "digest": digest}],
            "warnings": entries["warnings"],
            "notes": entries["notes"],
        },
    )
