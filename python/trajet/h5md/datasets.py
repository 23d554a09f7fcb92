"""Datasets that are copied: why one cannot be read, its rows in pieces, whether two are alike."""

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.h5md.bounded import SLAB, is_small, is_stored, most_rows
from trajet.h5md.library import h5py

if TYPE_CHECKING:
    from h5py import Dataset, Group, Reference

_Int = NDArray[np.int64]


def address(thing: "Group | Dataset") -> int:
    """Return a key that identifies an object within its file."""
    return int(h5py("it cannot be read").h5o.get_info(thing.id).addr)


def target_of(source: "Group | Dataset", reference: "Reference") -> int:
    """Return the address that a reference leads to, -1 where it leads to nothing."""
    try:
        return address(source.file[reference])
    except (ValueError, RuntimeError, KeyError):
        return -1


@contextlib.contextmanager
def reading(source: "Group | Dataset") -> Iterator[None]:
    """Have errors name what could not be read."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        # The disk of the output may be full.
        if "errno = " in str(error):
            raise
        reason = " ".join(str(error).split())
        raise FormatError(
            f"{source.file.filename}: HDF5 cannot read {source.name.strip('/')} ({reason}): copy"
            " the file again"
        ) from error


def why_unread(dataset: "Dataset") -> str | None:
    """Say why numbers of a dataset cannot be read; None where they can."""
    library = h5py("it cannot be read")
    if dataset.id.get_type().detect_class(library.h5t.REFERENCE):
        return "it holds references"
    try:
        _ = dataset.dtype
    except TypeError:
        return "its type is not known to h5py"
    plist = dataset.id.get_create_plist()
    for k in range(plist.get_nfilters()):
        code, _, _, name = plist.get_filter(k)
        if not library.h5z.filter_avail(code):
            return f"it is packed with the filter {name.decode(errors='replace') or code}"
    if not is_stored(dataset) and not dataset.dtype.hasobject:
        return "its numbers are not in the file"
    if (dataset.shape and dataset.shape[0] > most_rows(dataset)) or not is_small(dataset, 1):
        return "its numbers take too much memory for a file of its size"
    return None


def slabs(dataset: "Dataset", rows: _Int) -> Iterator[tuple[int, NDArray[np.generic]]]:
    """Yield rows of a dataset, some at a time, in their order, and how many these are."""
    row = max(1, dataset.dtype.itemsize * math.prod(dataset.shape[1:]))
    most, begin = max(1, SLAB // row), 0
    while begin < len(rows):
        low = high = int(rows[begin])
        end = begin + 1
        while end < len(rows):
            below, above = min(low, int(rows[end])), max(high, int(rows[end]))
            # Rows between are read, where they are few.
            if above - below >= min(most, 4 * (end - begin + 1)):
                break
            low, high, end = below, above, end + 1
        with reading(dataset):
            numbers = dataset[low : high + 1]
        yield end - begin, numbers[rows[begin:end] - low]
        begin = end


def are_alike(one: "Dataset", other: "Dataset") -> bool:
    """Tell whether two datasets hold the same."""
    if getattr(other, "shape", None) != one.shape or other.dtype != one.dtype:
        return False
    if why_unread(one) or why_unread(other):
        return False
    if one.shape in (None, ()):
        return bool(np.array_equal(np.asarray(one[()]), np.asarray(other[()])))
    rows = np.arange(one.shape[0])
    return all(
        _bits(a) == _bits(b)
        for (_, a), (_, b) in zip(slabs(one, rows), slabs(other, rows), strict=True)
    )


def _bits(numbers: NDArray[np.generic]) -> object:
    return numbers.tolist() if numbers.dtype.hasobject else numbers.tobytes()
