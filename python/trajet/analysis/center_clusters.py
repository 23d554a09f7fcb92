"""Clusters around frames as centres, from one centre after the other: without a matrix of pairs."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import mean_structure, rmsds_from
from trajet.analysis.clusters import by_size

# Returns the distances of some frames from a frame, Å.
Distances: TypeAlias = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]

# Distances that differ by less are the same, Å and as a share: far above the rounding of RMSDs.
_SAME = 1e-6


def divide(
    distances: Distances, n_frames: int, *, n_clusters: int | None, cutoff: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the cluster of each frame, the centres, and the distance of each frame from its own.

    Frame 0 is the first centre. With `n_clusters` the next one is the frame that is farthest from
    the nearest centre, the first of several, until there are so many or every frame is the same as
    a centre (k-centres). With `cutoff` it is the first frame that is at least so far from all
    centres, until there is none (regular space). Each frame is in the cluster of the nearest
    centre; of equally near ones, of the earliest frame.

    Parameters
    ----------
    distances
        A metric; see `Distances`.
    n_frames
        Number of frames.
    n_clusters, cutoff
        The largest number of clusters; or the least distance of two centres, Å. One of both.

    Returns
    -------
    labels
        `(n_frames,)`, int64: numbers from 0, the largest cluster first.
    centers
        `(n_clusters,)`, int64, frames.
    nearest
        `(n_frames,)`, float64, Å.

    Notes
    -----
    T. F. Gonzalez, Theor. Comput. Sci. 38, 293 (1985), doi:10.1016/0304-3975(85)90224-5: the
    largest distance is at most twice the least that so many centres allow. J.-H. Prinz et al., J.
    Chem. Phys. 134, 174105 (2011), doi:10.1063/1.3565032.

    By the triangle inequality, a frame is no nearer to a new centre if that is twice as far from
    the frame's centre as the frame is: such distances are not computed.
    """
    if not n_frames:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    centers = [0]
    own = np.zeros(n_frames, np.int64)
    nearest = distances(0, np.arange(n_frames))
    nearest[0] = 0
    while True:
        center = int(nearest.argmax() if cutoff is None else (nearest >= cutoff).argmax())
        if nearest[center] < (_SAME if cutoff is None else cutoff) or len(centers) == n_clusters:
            break
        known = np.array(centers)
        between = (1 - _SAME) * distances(center, known)
        close = np.flatnonzero(between[own] < 2 * nearest + _SAME)
        found, before = distances(center, close), nearest[close]
        taken = (found < before) | ((found == before) & (center < known[own[close]]))
        own[close[taken]], nearest[close[taken]] = len(centers), found[taken]
        own[center], nearest[center] = len(centers), 0
        centers.append(center)
    labels = by_size(own)
    order = np.empty(len(centers), np.int64)
    order[labels[centers]] = centers
    return labels, order, nearest


def divide_positions(
    positions: NDArray[np.float32],
    weights: NDArray[np.float64] | None,
    *,
    n_clusters: int | None,
    cutoff: float | None,
    threads: int,
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.generic]]]:
    """Return the cluster of each frame by RMSD after superposition, and columns of the clusters.

    Parameters
    ----------
    positions
        `(n_frames, 3 n_atoms)`, Å.
    weights
        `(n_atoms,)`, those of superposition and RMSD, or None for equal ones.
    n_clusters, cutoff
        See `divide`.

    Returns
    -------
    labels
        See `divide`.
    columns
        `(n_clusters,)` each: "medoid", the frame nearest to the mean of its cluster, whose frames
        are superposed on the centre first (the first of several); "center"; and "radius", the
        largest distance from it, Å.
    """

    def distances(frame: int, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return compare(chosen=chosen, structure=positions[frame].astype(np.float64))

    compare = partial(rmsds_from, positions, weights=weights, threads=threads)
    labels, centers, nearest = divide(
        distances, len(positions), n_clusters=n_clusters, cutoff=cutoff
    )
    medoids, radii = np.empty(len(centers), np.int64), np.empty(len(centers))
    ends = np.bincount(labels, minlength=len(centers)).cumsum()[:-1]
    members = np.split(np.argsort(labels, kind="stable"), ends)
    for k, (center, chosen) in enumerate(zip(centers, members, strict=False)):
        structure = positions[center].astype(np.float64)
        mean = mean_structure(positions, chosen, structure, weights, threads=threads)
        away = compare(chosen=chosen, structure=mean)
        medoids[k] = chosen[np.flatnonzero(away <= away.min() + _SAME)[0]]
        radii[k] = nearest[chosen].max()
    return labels, {"medoid": medoids, "center": centers, "radius": radii}
