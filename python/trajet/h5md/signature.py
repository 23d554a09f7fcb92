"""HDF5 files in the table of formats, and the signature with which they begin."""

from pathlib import Path

from trajet._trajet import FORMATS

# The format whose files the HDF5 library reads and writes.
(FORMAT,) = (info for info in FORMATS.values() if info.frames_from == "library")

_MAGIC = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Tell whether a file begins as HDF5 files do; one that is cut before that ends does, too."""
    try:
        # Opening a named pipe would wait for its writer.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            first = file.read(len(_MAGIC))
    except OSError:
        # The native reader raises the error.
        return False
    return bool(first) and _MAGIC.startswith(first)
