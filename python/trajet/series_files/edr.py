"""Energy files of GROMACS, `.edr`, which pyedr reads."""

import io
import os
import warnings
from contextlib import redirect_stdout
from types import ModuleType

import numpy as np

from trajet._trajet import FormatError, MissingPackageError
from trajet.parsing import ParseError, parsed
from trajet.series_files.rows import Numbers, Part, unique_names

# First bytes of the file: -55555, big-endian.
MAGIC = b"\xff\xff&\xfd"


def read(path: str | os.PathLike[str]) -> Numbers:
    """Return the energies of a file, with their units, at the times of its frames.

    Raises
    ------
    MissingPackageError
        If pyedr is not installed.
    FormatError
        If the file is damaged, ends inside a frame, or has no energies.
    """
    library = _pyedr()

    def frames(file: str) -> tuple[list[str], dict[str, str], list[list[float]], int]:
        opened = library.EDRFile(file)
        rows, end = [], opened.data.get_position()
        for frame in opened:
            end = opened.data.get_position()
            if frame.ener:
                rows.append([frame.t, *(energy.e for energy in frame.ener)])
        names = unique_names([one.name for one in opened.nms])
        units = {name: one.unit for name, one in zip(names, opened.nms, strict=True)}
        return names, units, rows, end

    try:
        # pyedr warns of older versions of the format, and prints where a file is damaged.
        with warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
            names, units, rows, end = parsed(frames, os.fspath(path))
    except ParseError as error:
        raise FormatError(f"{path}: damaged, or no energy file: {error}") from error
    # pyedr takes a file that was cut for a shorter one.
    size = os.path.getsize(path)
    if end != size:
        raise FormatError(
            f"{path}: ends inside frame {len(rows)}, {size - end} bytes after byte {end}: copy the"
            " file again, or let gmx eneconv repair it"
        )
    if not rows or len(set(map(len, rows))) != 1:
        raise FormatError(f"{path}: no energies, or frames with different numbers of them")
    values = np.array(rows, np.float64)
    if not np.isfinite(values[:, 0]).all():
        raise FormatError(f"{path}: times that are not finite")
    return Numbers([Part(("time", *names), values)], time="time", time_unit="ps", units=units)


def _pyedr() -> ModuleType:
    """Return the module pyedr.pyedr.

    Raises
    ------
    MissingPackageError
        If it is not installed.
    """
    try:
        import pyedr.pyedr as module
    except ImportError as error:
        raise MissingPackageError(
            "energy files of GROMACS need pyedr: pip install 'trajet[edr]'; or write an XVG file:"
            " gmx energy -f ener.edr -o energy.xvg"
        ) from error
    library: ModuleType = module
    return library
