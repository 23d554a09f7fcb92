"""Checks for molecules that are broken over the periodic box.

The checks compare neighbouring atoms: CA atoms of consecutive residues, and consecutive atoms of a
residue. A molecule is broken if such neighbours lie on either side of the box. A molecule that is
broken only between other atoms is not found.

A check takes as long as many analyses of a frame, so not every frame is checked: where a number of
each frame is known that changes if a molecule breaks, the frame of its extreme is
(`suspect_frames`), elsewhere the first and the last one.
"""

import contextlib
from collections.abc import Iterable
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, TrajetError
from trajet.analysis.reference import Coordinates
from trajet.box import Box, box_vectors
from trajet.quoting import quoted
from trajet.topology import Atoms
from trajet.trajectory import Selection

# Largest distance of neighbours along a backbone, Å (CA: 3.8 Å, Martini's beads: 3.5 Å).
_BACKBONE = {"CA": 5.0, "BB": 5.0}
# Largest distance of atoms of one residue that are one or two bonds apart, Å.
_BONDED = 3.0


def find_broken_molecules(selection: Selection, coordinates: Coordinates) -> list[str]:
    """Return a remark if neighbouring selected atoms lie on either side of the box."""
    if not selection.trajectory.has_topology:
        return []
    half = shortest_height(coordinates.box.cell) / 2
    # `half` is NaN without a cell. In a small cell, images are as close as neighbours.
    if not half > max(_BONDED, *_BACKBONE.values()):
        return []
    atoms = selection.topology_atoms
    pairs, limits = _neighbours(atoms)
    written = np.linalg.norm(np.diff(coordinates.positions[pairs], axis=1)[:, 0], axis=1)
    far = written > half
    if not far.any():
        return []
    pairs, limits, written = pairs[far], limits[far], written[far]
    one, other = np.moveaxis(coordinates.positions[pairs], 1, 0)
    images = coordinates.box.distances(one, other)
    torn = np.flatnonzero(images <= limits)
    if not torn.size:
        return []
    k = int(torn[0])
    words = " and ".join(atoms.describe(int(i)) for i in pairs[k])
    return [
        f"selection {quoted(selection.label)}, {coordinates.where}: molecules are broken over the"
        " box,"
        f" and positions are taken as they are written: {torn.size} pairs of neighbours lie on"
        f" either side, the first is {words}, {written[k]:.1f} Å apart, {images[k]:.1f} Å as"
        " nearest images: make molecules whole with --whole (selection.whole()), unless they"
        " are infinite"
    ]


def suspect_frames(
    frames: NDArray[np.int64], of_frames: NDArray[np.float64] | None = None
) -> list[int]:
    """Return the frames of a run in which molecules are checked: two at most.

    These are the first and the last frame; or, if a number of each frame is known that changes
    where a molecule breaks, the first frame and the one whose number is farthest from the mean.

    Parameters
    ----------
    frames
        The frames of the run, `(n_frames,)`.
    of_frames
        The number of each frame; NaN if it has none.
    """
    if not len(frames):
        return []
    if of_frames is None or not (finite := np.isfinite(of_frames)).any():
        return list(dict.fromkeys(frames[[0, -1]].tolist()))
    far = np.where(finite, np.abs(of_frames - of_frames[finite].mean()), -1.0)
    return list(dict.fromkeys(frames[[0, int(far.argmax())]].tolist()))


def find_broken_molecules_at(selection: Selection, frames: Iterable[int]) -> list[str]:
    """Return the remark of `find_broken_molecules` on the first of some frames that has one.

    Frames that cannot be read are skipped: the analysis raises their errors.
    """
    if not selection.trajectory.has_topology or not len(_neighbours(selection.topology_atoms)[0]):
        return []
    for frame in frames:
        with contextlib.suppress(TrajetError, OSError):
            block = selection.read_uncounted(int(frame))
            coordinates = Coordinates(block.positions[0], Box.of(block), f"frame {frame}")
            if remarks := find_broken_molecules(selection, coordinates):
                return remarks
    return []


def check_half(box: Box, distance: float, where: str) -> None:
    """Check that a distance is at most half of the shortest lattice vector, if there is a box.

    Raises
    ------
    AnalysisError
        If it is longer.
    """
    if not box.exists:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        half = shortest_vector(box.cell) / 2
    # Cells are stored in single precision. The analysis refuses cells without volume.
    if 0 < half * (1 + 1e-6) < distance:
        raise AnalysisError(
            f"{where}: contacts are up to {distance:.4f} Å long, above half of the shortest lattice"
            f" vector ({half:.3f} Å), so that an atom may be in contact with several images"
            " of another: choose a shorter cut-off or a smaller factor, or take positions as they"
            " are (pbc=False, --no-pbc)"
        )


def shortest_height(cell: NDArray[np.float64]) -> float:
    """Return the least distance of opposite faces of a cell, Å; NaN if there is no cell."""
    cosines, sines = np.cos(np.radians(cell[3:])), np.sin(np.radians(cell[3:]))
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = np.sqrt(1 - (cosines**2).sum() + 2 * cosines.prod())
        return float((cell[:3] * volume / sines).min())


def shortest_vector(cell: NDArray[np.float64]) -> float:
    """Return the length of the shortest lattice vector, Å.

    The basis is reduced until no vector gets shorter by subtracting another. Then the shortest
    lattice vector is among the sums and differences of basis vectors (I. Semaev, LNCS 2146, 181
    (2001), doi:10.1007/3-540-44670-2_13).
    """
    (rows,) = box_vectors(cell[np.newaxis], None)
    shorter = True
    while shorter:
        shorter = False
        for one, other in permutations(range(3), 2):
            times = np.rint(rows[one] @ rows[other] / (rows[other] @ rows[other]))
            less = rows[one] - times * rows[other]
            if less @ less < rows[one] @ rows[one] * (1 - 1e-9):
                rows[one], shorter = less, True
    sums = [signs @ rows for signs in np.array(list(product((-1, 0, 1), repeat=3))) if signs.any()]
    return float(np.linalg.norm(sums, axis=1).min())


def _neighbours(atoms: Atoms) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of neighbouring atoms and the largest distance of each pair.

    Returns
    -------
    pairs
        `(n, 2)`, int64, indices into the group.
    limits
        `(n,)`, float64, Å.
    """
    residues, names = atoms.residues, atoms.column("names")
    within = np.flatnonzero(residues[1:] == residues[:-1])
    pairs, limits = [np.stack([within, within + 1], axis=1)], [np.full(len(within), _BONDED)]
    for name, limit in _BACKBONE.items():
        there = np.flatnonzero(np.zeros(0) if names is None else names == name)
        along = np.stack([there[:-1], there[1:]], axis=1)
        along = along[np.diff(residues[along], axis=1)[:, 0] == 1]
        pairs.append(along)
        limits.append(np.full(len(along), limit))
    return np.concatenate(pairs), np.concatenate(limits)
