"""Open HDF5 files: errors of damaged tables, attributes as text, the program that wrote a file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajet._trajet import FormatError, TrajetError, TruncatedError
from trajet.h5md.bounded import attribute
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import find, member

if TYPE_CHECKING:
    from h5py import File, Group


@contextlib.contextmanager
def opened(path: HdfFile) -> Iterator["File"]:
    """Open a file; whatever h5py raises while it is looked at is an error of damaged tables.

    Raises
    ------
    FormatError
        If the tables cannot be read; TruncatedError if the file is cut.
    MissingPackageError
        If h5py is not installed.
    StaleIndexError, PermissionError, FileNotFoundError, RemoteError
        If requests for an object in remote storage fail.
    """
    module = h5py(str(path))
    try:
        with module.File(path, "r") as file:
            yield file
    except (TrajetError, OptionError, MemoryError):
        raise
    except Exception as error:
        if not isinstance(path, Path) and path.error is not None:
            raise path.error from error
        raise _damaged(path, error) from error


class OptionError(ValueError):
    """An option that does not fit the file."""


def _damaged(path: HdfFile, error: Exception) -> FormatError:
    reason = " ".join(str(error).split())
    size = path.stat().st_size if isinstance(path, Path) else path.size
    if "truncated file" in reason or size < 96:
        return TruncatedError(f"{path}: the file is cut ({reason}): copy it again")
    return FormatError(
        f"{path}: HDF5 cannot read its tables ({reason}): copy the file again; if its program was"
        " ended, try 'h5clear -s' on a copy; if it still writes, wait"
    )


def creator_of(file: "File") -> str:
    """Return the program that wrote an H5MD file, of a copy by trajet its source; "" if unknown."""
    creator = find(file, "h5md/creator")
    if creator is None:
        return ""
    name = text(attribute(creator, "name", ""))
    return (text(attribute(creator, "source_name", "")) if name == "trajet" else "") or name


def has_vectors(group: "Group") -> bool:
    """Tell whether a group of particles has positions, velocities or forces."""
    names = ("position", "velocity", "force")
    return hasattr(group, "keys") and any(member(group, name) is not None for name in names)


def text(value: object) -> str:
    """Return an attribute as text."""
    value = np.asarray(value).reshape(-1)
    if value.size == 0:
        return ""
    one = value[0]
    return one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one)
