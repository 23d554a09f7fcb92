"""Topology and structure files, also compressed ones, as the engine reads them."""

import bz2
import gzip
import zlib
from pathlib import Path

from trajet import _trajet
from trajet._trajet import FormatError

COMPRESSED: dict[str, type[gzip.GzipFile] | type[bz2.BZ2File]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
}
# Most bytes that a compressed file may become, and bytes that are read at a time.
_LARGEST = 2**33
_PIECE = 2**20


def read_structure(path: str | Path, *, positions: bool = True) -> _trajet.StructureFile | str:
    """Return the content of a file, or the reason as text why the engine does not read its format.

    Files that end in `.gz` or `.bz2` are uncompressed in the folder for temporary files.

    Parameters
    ----------
    path
        The file.
    positions
        Whether positions are read.

    Raises
    ------
    FormatError
        If the file is malformed.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    opener = COMPRESSED.get(path.suffix.lower())
    if opener is None or not path.is_file():
        return _trajet.read_structure(path, positions=positions)
    # Imported here, as it is slow to import and few files are compressed.
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="trajet-") as folder:
        plain = Path(folder, path.stem)
        _uncompress(path, opener, plain)
        try:
            return _trajet.read_structure(plain, positions=positions)
        except FormatError as error:
            raise FormatError(str(error).replace(str(plain), str(path))) from None


def _uncompress(path: Path, opener: type[gzip.GzipFile] | type[bz2.BZ2File], target: Path) -> None:
    """Write the content of a compressed file to another one."""
    left = _LARGEST
    try:
        with opener(path) as source, target.open("wb") as file:
            while piece := source.read(_PIECE):
                left -= file.write(piece)
                if left < 0:
                    raise FormatError(
                        f"{path}: the uncompressed file is larger than {_LARGEST >> 30} GiB:"
                        " uncompress it yourself if that is right"
                    )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: it cannot be uncompressed: {error}") from error
    except OSError as error:
        # The only sign of damage that bz2 gives is an error without a number.
        if error.errno is not None:
            raise
        raise FormatError(f"{path}: it cannot be uncompressed: {error}") from error
