"""Clusters of frames, from the RMSDs of all pairs."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import MissingPackageError

Linkage: TypeAlias = Literal["average", "complete", "single"]

# Rows of the matrix that are compared at a time.
_ROWS = 256


def gromos(values: NDArray[np.float32], cutoff: float) -> NDArray[np.int64]:
    """Return the cluster of each frame, by the method of Daura et al.

    The frame with the most neighbours within the cut-off (the first of several) and these
    neighbours are a cluster. It is removed, and the step is repeated until no frame is left.

    Parameters
    ----------
    values
        `(n_frames, n_frames)`, a symmetric matrix, Å.
    cutoff
        Largest RMSD of neighbours, Å.

    Returns
    -------
    ndarray, shape (n_frames,), int64
        Numbers from 0, in the order in which clusters are found: sizes do not increase.

    Notes
    -----
    X. Daura, K. Gademann, B. Jaun, D. Seebach, W. F. van Gunsteren and A. E. Mark, Angew. Chem.
    Int. Ed. 38, 236 (1999).
    """
    n = len(values)
    counts = np.empty(n, np.int64)
    for part in _parts(np.arange(n)):
        counts[part] = (values[part] <= cutoff).sum(axis=1)
    labels = np.full(n, -1)
    number = 0
    while (free := np.flatnonzero(labels < 0)).size:
        centre = free[counts[free].argmax()]
        if counts[centre] == 1:
            # All that are left are alone.
            labels[free] = np.arange(number, number + free.size)
            break
        members = free[values[centre, free] <= cutoff]
        labels[members] = number
        number += 1
        for part in _parts(members):
            counts -= (values[part] <= cutoff).sum(axis=0)
    return labels


def hierarchical(
    values: NDArray[np.float32],
    linkage: Linkage,
    *,
    cutoff: float | None,
    n_clusters: int | None,
) -> NDArray[np.int64]:
    """Return the cluster of each frame, by SciPy's hierarchical clustering.

    Parameters
    ----------
    values
        `(n_frames, n_frames)`, a symmetric matrix, Å.
    linkage
        How the distance of two clusters follows from the distances of their frames.
    cutoff, n_clusters
        Clusters further apart than this are not joined; or the number of clusters at most.

    Returns
    -------
    ndarray, shape (n_frames,), int64
        Numbers from 0, the largest cluster first; among equally large ones, the one with the
        earliest frame first.

    Raises
    ------
    MissingPackageError
        If SciPy is not installed.
    """
    try:
        from scipy.cluster.hierarchy import fcluster
        from scipy.cluster.hierarchy import linkage as tree_of
    except ImportError as error:
        raise MissingPackageError(
            f"method {linkage!r}: SciPy is needed for hierarchical clusters: pip install"
            " 'trajet[cluster]'"
        ) from error
    n = len(values)
    if n < 2:
        return np.zeros(n, np.int64)
    pairs = np.concatenate([values[k, k + 1 :] for k in range(n)], dtype=np.float64)
    tree = tree_of(pairs, linkage)
    criterion, limit = ("distance", cutoff) if cutoff is not None else ("maxclust", n_clusters)
    return by_size(fcluster(tree, limit, criterion))


def by_size(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return labels as numbers from 0: the largest cluster first; of equal ones, the earliest."""
    _, first, which, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -sizes))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[which]


def medoids_of(values: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the frame of each cluster with the least mean RMSD from the others, `(n_clusters,)`.

    The first of several is taken. Frames are numbered as rows of the matrix.
    """
    found = np.empty(labels.max(initial=-1) + 1, np.int64)
    for number in range(len(found)):
        members = np.flatnonzero(labels == number)
        sums = [values[part][:, members].sum(axis=1, dtype=np.float64) for part in _parts(members)]
        found[number] = members[np.concatenate(sums).argmin()]
    return found


def _parts(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield rows, some at a time."""
    for first in range(0, len(rows), _ROWS):
        yield rows[first : first + _ROWS]
