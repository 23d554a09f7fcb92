"""Objects of an HDF5 file that are in this very file.

HDF5 can name other files in four ways: external links, links of user-defined kinds, external
storage and virtual datasets. A stranger's file could have any file of the user read as numbers, or
a named pipe opened for ever. Every object is therefore looked up here: each link is looked at
before it is followed, and each dataset's creation properties before its shape is asked for, which
would open the sources of a virtual dataset.
"""

from typing import Any

from trajet._trajet import FormatError
from trajet.h5md.library import h5py

# Soft links that are followed, one to the next.
_HOPS = 16


class _OutsideError(Exception):
    """The object is not in this file: by which mechanism, and what to do about it."""

    def __init__(self, mechanism: str, remedy: str) -> None:
        super().__init__(mechanism, remedy)
        self.mechanism, self.remedy = mechanism, remedy


def find(group: Any, path: str) -> Any:
    """Return the object at a path, None if there is none or its data are not in this file."""
    try:
        return _walk(group, path)
    except _OutsideError:
        return None


def member(group: Any, path: str) -> Any:
    """Return the object at a path, None if there is none.

    Raises
    ------
    FormatError
        If the object or its data are not in this file. Nothing outside of it was opened.
    """
    try:
        return _walk(group, path)
    except _OutsideError as outside:
        where = f"{group.name}/{path}".lstrip("/")
        raise FormatError(
            f"{group.file.filename}: {where} stands in another file ({outside.mechanism}), which is"
            f" never opened: {outside.remedy}"
        ) from None


def link(group: Any, name: str) -> Any:
    """Return a link of a group without following it; None for none, or one of unknown kind."""
    try:
        return group.get(name, getlink=True)
    except TypeError:
        return None


def _walk(group: Any, path: str) -> Any:
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
    if (mechanism := _elsewhere(here)) is not None:
        raise _OutsideError(
            mechanism, "put its numbers into the file with 'h5repack -l CONTI OLD NEW'"
        )
    return here


def _elsewhere(thing: Any) -> str | None:
    """Return the mechanism by which an object's numbers are outside of its file, or None."""
    library = h5py("it cannot be read")
    if not isinstance(thing, library.Dataset):
        return None
    properties = thing.id.get_create_plist()
    if properties.get_layout() == library.h5d.VIRTUAL:
        return "a virtual dataset"
    return "external storage" if properties.get_external_count() else None
