"""Reads of HDF5 tables that check sizes against the file before they take memory.

HDF5 stores nothing for numbers that were never written: a file of some kilobytes can claim a table
of any size. So a table is read only if its bytes are in the file, packed at most as tightly as
deflate can, and if it has at most `MEMORY_LIMIT` bytes or `MEMORY_FACTOR` times those of the file.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajet._trajet import MAX_OF_A_DEFLATED_BYTE, FormatError, TruncatedError
from trajet.remote import is_url

if TYPE_CHECKING:
    from h5py import Dataset, Group
    from h5py.h5a import AttrID
    from numpy.typing import DTypeLike

# Maximal size of a table: MEMORY_LIMIT bytes, or MEMORY_FACTOR times the file, whichever is more.
MEMORY_LIMIT = 2**30
MEMORY_FACTOR = 16
# Maximal number of rows of a dataset: ROWS_LIMIT, or the bytes of the file, whichever is more.
ROWS_LIMIT = 2**24
# Bytes of a table that are read at a time.
SLAB = 2**24
# Filters that change no sizes worth mentioning: shuffle and Fletcher32.
_SAME_SIZE = {2, 3}


def file_size(thing: "Group | Dataset") -> int:
    """Return the bytes of the file that an object is in."""
    file = thing.file
    if is_url(file.filename):
        # The HDF5 library has compared this with the size of the object.
        return int(file.id.get_filesize())
    return Path(file.filename).stat().st_size


def is_stored(dataset: "Dataset", rows: int | None = None) -> bool:
    """Tell whether some rows of a dataset (None for all) can be in the file, and their chunks."""
    size = file_size(dataset)
    properties = dataset.id.get_create_plist()
    codes = {properties.get_filter(k)[0] for k in range(properties.get_nfilters())}
    there = min(dataset.id.get_storage_size(), size)
    most = there * MAX_OF_A_DEFLATED_BYTE if codes - _SAME_SIZE else there
    return bool(max(_bytes(dataset, rows), _chunk_bytes(dataset)) <= most)


def is_small(dataset: "Dataset", rows: int | None = None) -> bool:
    """Tell whether some rows of a dataset (None for all), and a chunk, keep to the limits."""
    most = max(MEMORY_LIMIT, MEMORY_FACTOR * file_size(dataset))
    return max(_bytes(dataset, rows), _chunk_bytes(dataset)) <= most


def check(dataset: "Dataset", rows: int | None = None) -> None:
    """Refuse a dataset of which some rows (None for all) are not in the file, or too large.

    Raises
    ------
    TruncatedError
        If the file has fewer bytes of it than they take.
    FormatError
        If they take more memory than the limits above.
    """
    needed = max(_bytes(dataset, rows), _chunk_bytes(dataset))
    where = f"{dataset.file.filename}: {dataset.name.strip('/')}"
    if not is_stored(dataset, rows):
        raise TruncatedError(
            f"{where} was not written to its end ({dataset.id.get_storage_size()} bytes are"
            f" stored, its shape takes {needed}): let the program that writes it go on, or delete"
            " it from a copy of the file"
        )
    if not is_small(dataset, rows):
        raise FormatError(
            f"{where} takes {needed} bytes of memory, too many for a file of its size: store it"
            " without compression and in one piece (h5repack -f NONE -l CONTI OLD NEW)"
        )


def read(
    dataset: "Dataset", rows: int | None = None, dtype: "DTypeLike | None" = None
) -> np.ndarray:
    """Return the first rows of a dataset (None: all), converted to a type if one is given.

    Raises
    ------
    TruncatedError, FormatError
        As for `check`.
    """
    check(dataset, rows)
    if dataset.shape == ():
        return np.asarray(dataset[()], dtype)
    n = dataset.shape[0] if rows is None else min(rows, dataset.shape[0])
    step = max(1, SLAB // max(1, _bytes(dataset, 1)))
    if n <= step:
        return np.asarray(dataset[:n], dtype)
    values = np.empty((n, *dataset.shape[1:]), dtype or dataset.dtype)
    for begin in range(0, n, step):
        values[begin : begin + step] = dataset[begin : min(n, begin + step)]
    return values


def first_other_row(dataset: "Dataset", n: int) -> int | None:
    """Return the first of `n` rows that is not row 0; None if there is no such row.

    A row of the dataset must have been checked.
    """
    first = dataset[0]
    # Whole chunks, as each is unpacked anew; the size of one was checked.
    rows = dataset.chunks[0] if dataset.chunks else 1
    step = max(1, SLAB // max(1, rows * _bytes(dataset, 1))) * rows
    for begin in range(0, n, step):
        differs = (dataset[begin : min(n, begin + step)] != first).reshape(-1, first.size).any(1)
        if differs.any():
            return begin + int(differs.argmax())
    return None


def attribute(thing: "Group | Dataset", name: str, default: object = None) -> object:
    """Return an attribute, of the type that the file gives it, or `default` if there is none.

    Raises
    ------
    FormatError
        If it claims more bytes than the file has.
    """
    if name not in thing.attrs:
        return default
    size = attribute_bytes(thing.attrs.get_id(name))
    if size > file_size(thing):
        raise FormatError(
            f"{thing.file.filename}: the attribute {name} of {thing.name} claims {size} bytes, more"
            " than the file has: copy the file again"
        )
    return thing.attrs[name]


def attribute_bytes(opened: "AttrID") -> int:
    """Return the bytes that an attribute, open in h5py's lower level, claims in the file."""
    return int(opened.get_space().get_simple_extent_npoints() * opened.get_type().get_size())


def most_rows(file: "Group | Dataset") -> int:
    """Return how many rows of anything a file can have."""
    return max(ROWS_LIMIT, file_size(file))


def _bytes(dataset: "Dataset", rows: int | None) -> int:
    """Return the bytes of the first rows of a dataset."""
    shape = dataset.shape
    if shape is None:
        return 0
    if rows is not None and shape:
        shape = (min(rows, shape[0]), *shape[1:])
    return int(math.prod(shape) * dataset.dtype.itemsize)


def _chunk_bytes(dataset: "Dataset") -> int:
    """Return the bytes of an unpacked chunk, the least that is read; 0 where nothing is."""
    if dataset.chunks is None or not dataset.size:
        return 0
    return int(math.prod(dataset.chunks) * dataset.dtype.itemsize)
