"""Chunks that are not packed, written to their places in a file without HDF5's library.

It lets in one thread at a time, which copies the bytes to the system's cache: most of the work.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet.h5md.library import h5py
from trajet.h5md.tables import chunks

# Bytes that are written at a time; why no more, `Output` of trajet-io says.
_PIECE = 2**16


def can_list_chunks() -> bool:
    """Tell whether HDF5 lists all chunks in bearable time: 1.10, as Debian has it, does not."""
    return hasattr(h5py("it cannot be written").h5d.DatasetID, "chunk_iter")


def early_allocation() -> Any:
    """Return the properties of a dataset all of whose chunks get a place when it is made.

    HDF5 writes nothing to them then.
    """
    library = h5py("it cannot be written")
    properties = library.h5p.create(library.h5p.DATASET_CREATE)
    properties.set_alloc_time(library.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(library.h5d.FILL_TIME_NEVER)
    return properties


class DirectChunkWriter:
    """The vectors of a dataset `(rows, atoms, 3)`, written by any number of threads.

    Parameters
    ----------
    path
        The file, which stays open in HDF5's library.
    values
        The dataset, made with `early_allocation`, not packed.
    """

    def __init__(self, path: Path, values: Any) -> None:
        self.n_atoms = values.shape[1]
        self.rows, self.width = values.chunks[:2]
        table = chunks(values)
        table = table[np.lexsort((table[:, 1], table[:, 0]))]
        first = np.arange(0, self.n_atoms, self.width)
        # Places of chunks, one line for each `rows` rows.
        self.places = table[:, 3].astype(np.int64).reshape(-1, len(first))
        # Bytes of a row in each chunk of a line.
        self.sizes = 12 * np.minimum(self.width, self.n_atoms - first)
        self.file = path.open("r+b", buffering=0)

    def close(self) -> None:
        """Close the file; HDF5's library goes on with it."""
        self.file.close()

    def write(self, first: int, vectors: NDArray[np.float32]) -> None:
        """Write vectors, `(n, atoms, 3)`, to the rows from `first` on."""
        rows = np.arange(first, first + len(vectors))
        within = 12 * self.width * (rows % self.rows)
        at = (self.places[rows // self.rows] + within[:, None]).ravel()
        ends = np.cumsum(np.tile(self.sizes, len(rows)))
        # Pieces that follow each other in the file are written together.
        apart = np.flatnonzero(at[:-1] + np.diff(ends, prepend=0)[:-1] != at[1:]) + 1
        held = np.ascontiguousarray(vectors, "<f4").data.cast("B")
        begin = 0
        for place, end in zip(at[[0, *apart]], ends[[*(apart - 1), -1]], strict=True):
            write_at(self.file.fileno(), int(place), held[begin:end])
            begin = end


def write_at(file: int, at: int, held: bytes | memoryview) -> None:
    """Write bytes to their place in a file."""
    rest = memoryview(held)
    while rest:
        n = os.pwrite(file, rest[:_PIECE], at)
        at, rest = at + n, rest[n:]
