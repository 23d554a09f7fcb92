"""Topology and structure files, also compressed ones, as the engine reads them."""

import bz2
import gzip
import zlib
from pathlib import Path

from trajet import _trajet, memory
from trajet._trajet import FormatError
from trajet.memory import in_bytes
from trajet.output import folder_in

COMPRESSED: dict[str, type[gzip.GzipFile] | type[bz2.BZ2File]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
}
# A compressed file may become this many bytes, or this multiple of its size, whichever is more.
_MAX_SMALL = 2**30
_MAX_RATIO = 100
# Bytes that are read at a time.
_PIECE = 2**20


def read_structure(
    path: str | Path, *, positions: bool = True, format_options: str = "{}"
) -> _trajet.StructureFile | str:
    """Return the content of a file, or the reason as text why the engine does not read its format.

    Of dumps of LAMMPS and XYZ files, which may be compressed by gzip or zstd, the first frame is
    read. Other files that end in `.gz` or `.bz2` are uncompressed in the folder for temporary
    files, unless they become larger than 1 GiB and 100 times their size, or than half of the
    available memory.

    Parameters
    ----------
    path
        The file.
    positions
        Whether positions are read.
    format_options
        Options of formats as JSON.

    Raises
    ------
    FormatError
        If the file is malformed, or becomes too large.
    MemoryError
        If it would need more than half of the memory.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    found = _trajet.read_structure(path, positions=positions, format_options=format_options)
    opener = COMPRESSED.get(path.suffix.lower())
    if opener is None or not isinstance(found, str):
        return found
    with folder_in(None) as folder:
        plain = folder / path.stem
        _uncompress(path, opener, plain)
        try:
            return _trajet.read_structure(plain, positions=positions, format_options=format_options)
        except FormatError as error:
            raise FormatError(str(error).replace(str(plain), str(path))) from None


def _uncompress(path: Path, opener: type[gzip.GzipFile] | type[bz2.BZ2File], target: Path) -> None:
    """Write the content of a compressed file to another one."""
    size = path.stat().st_size
    limit, free = max(_MAX_SMALL, _MAX_RATIO * size), memory.available()
    left = limit if free is None else min(limit, free // 2)
    try:
        with opener(path) as source, target.open("wb") as file:
            while piece := source.read(_PIECE):
                left -= file.write(piece)
                if left >= 0:
                    continue
                if free is not None and free // 2 < limit:
                    raise MemoryError(
                        f"{path}: the uncompressed file is larger than half of the memory"
                        f" ({in_bytes(free)} are available): take a machine with more"
                    )
                raise FormatError(
                    f"{path}: a file of {in_bytes(size)} that is larger than {in_bytes(limit)} when"
                    f" uncompressed (limit: {in_bytes(_MAX_SMALL)} or {_MAX_RATIO} times the file):"
                    " uncompress it yourself if that is right"
                )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: it cannot be uncompressed: {error}") from error
    except OSError as error:
        # The only sign of damage that bz2 gives is an error without a number.
        if error.errno is not None:
            raise
        raise FormatError(f"{path}: it cannot be uncompressed: {error}") from error
