"""Lookup of HDF5 objects without opening other files.

HDF5 files can refer to other files in four ways: external links, user-defined links, external
storage and virtual datasets. A malicious file could make any file of the user be read as numbers,
or block on a named pipe. So every object is looked up here: each link is inspected before it is
followed, and the creation properties of each dataset before its shape, which would open the sources
of a virtual dataset.
"""

from typing import TYPE_CHECKING

from trajet._trajet import FormatError
from trajet.h5md.library import Found, Link, h5py

if TYPE_CHECKING:
    from h5py import Dataset, Group

# Most consecutive soft links that are followed.
_HOPS = 16


class _OutsideError(Exception):
    """An object is in another file; names the mechanism and a remedy."""

    def __init__(self, mechanism: str, remedy: str) -> None:
        super().__init__(mechanism, remedy)
        self.mechanism, self.remedy = mechanism, remedy


def find(group: "Group", path: str) -> Found:
    """Return the object at a path, or None if there is none or its data are in another file."""
    try:
        return _walk(group, path)
    except _OutsideError:
        return None


def member(group: "Group", path: str) -> Found:
    """Return the object at a path, None if there is none.

    Raises
    ------
    FormatError
        If the object or its data are in another file, which was not opened.
    """
    try:
        return _walk(group, path)
    except _OutsideError as outside:
        where = f"{group.name}/{path}".lstrip("/")
        raise FormatError(
            f"{group.file.filename}: {where} is stored in another file ({outside.mechanism}), which"
            f" is never opened: {outside.remedy}"
        ) from None


def link(group: "Group", name: str) -> Link:
    """Return a link of a group without following it; None if missing or of unknown type."""
    try:
        return group.get(name, getlink=True)
    except TypeError:
        return None


def _walk(group: "Group", path: str) -> Found:
    here, todo, hops = group, path.split("/")[::-1], _HOPS
    library = h5py("it cannot be read")
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if not isinstance(here, library.Group):
            return None
        try:
            step = here.get(name, getlink=True)
        except TypeError:
            raise _OutsideError(
                "a user-defined link", "replace the link by what it leads to"
            ) from None
        if step is None:
            return None
        if isinstance(step, library.SoftLink):
            hops -= 1
            if hops < 0:
                return None
            if step.path.startswith("/"):
                here = here.file["/"]
            todo.extend(step.path.split("/")[::-1])
        elif isinstance(step, library.HardLink):
            here = here[name]
        else:
            raise _OutsideError(
                "an external link", "make one file of both with 'h5repack --merge OLD NEW'"
            )
    if (mechanism := _outside_storage(here)) is not None:
        raise _OutsideError(
            mechanism, "put its numbers into the file with 'h5repack -l CONTI OLD NEW'"
        )
    return here


def _outside_storage(item: "Group | Dataset") -> str | None:
    """Return the mechanism by which the data of an object are outside of its file, or None."""
    library = h5py("it cannot be read")
    if not isinstance(item, library.Dataset):
        return None
    properties = item.id.get_create_plist()
    if properties.get_layout() == library.h5d.VIRTUAL:
        return "a virtual dataset"
    return "external storage" if properties.get_external_count() else None
