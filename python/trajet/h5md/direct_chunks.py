"""Direct writing of uncompressed chunks to their offsets in a file, without HDF5's library.

The library serves one thread at a time, and most of the work is copying bytes to the page cache.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.h5md.library import h5py
from trajet.h5md.tables import chunks

if TYPE_CHECKING:
    from h5py import Dataset
    from h5py.h5p import PropDCID

# Bytes per write; `Output` of the Rust crates explains the size.
_PIECE = 2**16


def can_list_chunks() -> bool:
    """Return whether HDF5 can list all chunks quickly; version 1.10, as in Debian, cannot."""
    return hasattr(h5py("it cannot be written").h5d.DatasetID, "chunk_iter")


def early_allocation() -> "PropDCID":
    """Return creation properties of a dataset that allocates chunks at creation, unwritten."""
    library = h5py("it cannot be written")
    properties = library.h5p.create(library.h5p.DATASET_CREATE)
    properties.set_alloc_time(library.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(library.h5d.FILL_TIME_NEVER)
    return properties


class DirectChunkWriter:
    """Writes the vectors of a dataset `(rows, atoms, 3)` from any number of threads.

    Parameters
    ----------
    path
        The file, which is also open in HDF5's library.
    values
        The uncompressed dataset, created with `early_allocation`.
    """

    def __init__(self, path: Path, values: "Dataset") -> None:
        self.n_atoms = values.shape[1]
        self.rows, self.width = values.chunks[:2]
        table = chunks(values)
        table = table[np.lexsort((table[:, 1], table[:, 0]))]
        first = np.arange(0, self.n_atoms, self.width)
        # Offsets of chunks, `(rows of chunks, chunks per row)`.
        self.offsets = table[:, 3].astype(np.int64).reshape(-1, len(first))
        # Bytes of a row of the dataset in each chunk.
        self.sizes = 12 * np.minimum(self.width, self.n_atoms - first)
        self.file = path.open("r+b", buffering=0)

    def close(self) -> None:
        """Close the file; it stays open in HDF5's library."""
        self.file.close()

    def write(self, first: int, vectors: NDArray[np.float32]) -> None:
        """Write vectors, `(n, atoms, 3)`, to consecutive rows from `first`."""
        rows = np.arange(first, first + len(vectors))
        within = 12 * self.width * (rows % self.rows)
        offsets = (self.offsets[rows // self.rows] + within[:, None]).ravel()
        ends = np.cumsum(np.tile(self.sizes, len(rows)))
        # Pieces that are adjacent in the file are written together.
        gaps = np.flatnonzero(offsets[:-1] + np.diff(ends, prepend=0)[:-1] != offsets[1:]) + 1
        data = np.ascontiguousarray(vectors, "<f4").data.cast("B")
        begin = 0
        for offset, end in zip(offsets[[0, *gaps]], ends[[*(gaps - 1), -1]], strict=True):
            write_at(self.file.fileno(), int(offset), data[begin:end])
            begin = end


def write_at(file: int, offset: int, data: bytes | memoryview) -> None:
    """Write bytes at an offset of a file."""
    rest = memoryview(data)
    while rest:
        n = os.pwrite(file, rest[:_PIECE], offset)
        offset, rest = offset + n, rest[n:]
