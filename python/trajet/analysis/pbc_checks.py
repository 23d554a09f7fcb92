"""Whether molecules are broken over the box, where positions are taken as they are written.

Neighbours that lie on either side of the box tell: CA of residues that follow one another, and
atoms of a residue that do. So what is told of is broken; what is broken between other atoms alone
is not seen.
"""

import contextlib
from collections.abc import Iterable
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import mdanalysis
from trajet._trajet import TrajetError
from trajet.analysis.reference import Coordinates
from trajet.h5md.writing import box_vectors
from trajet.trajectory import Selection

# Å, at most, of neighbours along a backbone (3.8 of CA, 3.5 of Martini's beads) ...
_BACKBONE = {"CA": 5.0, "BB": 5.0}
# ... and of atoms of one residue: of a bond, or of two.
_BONDED = 3.0


def find_broken_molecules(selection: Selection, coordinates: Coordinates) -> list[str]:
    """Return a remark if neighbours among the selected atoms lie on either side of the box."""
    if not selection.trajectory.has_topology:
        return []
    half = shortest_height(coordinates.box.cell) / 2
    # Also where there is no cell. A small one may hold several atoms of a molecule in any case.
    if not half > max(_BONDED, *_BACKBONE.values()):
        return []
    atoms = selection.named
    pairs, limits = _neighbours(atoms)
    written = np.linalg.norm(np.diff(coordinates.positions[pairs], axis=1)[:, 0], axis=1)
    far = written > half
    if not far.any():
        return []
    pairs, limits, written = pairs[far], limits[far], written[far]
    one, other = np.moveaxis(coordinates.positions[pairs], 1, 0)
    images = mdanalysis.lengths(one, other, coordinates.box)
    torn = np.flatnonzero(images <= limits)
    if not torn.size:
        return []
    k = int(torn[0])
    words = " and ".join(mdanalysis.describe_atom(atoms[int(i)]) for i in pairs[k])
    return [
        f"selection {selection.label!r}, {coordinates.where}: molecules are broken over the box,"
        f" and positions are taken as they are written: {torn.size} pairs of neighbours lie on"
        f" either side, the first is {words}, {written[k]:.1f} Å apart, {images[k]:.1f} Å as"
        " nearest images: make molecules whole first (gmx trjconv -pbc whole, or MDAnalysis'"
        " unwrap), unless they are endless"
    ]


def find_broken_molecules_at(selection: Selection, frames: Iterable[int]) -> list[str]:
    """Return the remark of `find_broken_molecules` on the first of some frames that has one.

    Frames that cannot be read are skipped: the analysis raises their errors.
    """
    if not selection.trajectory.has_topology or not len(_neighbours(selection.named)[0]):
        return []
    for frame in frames:
        with contextlib.suppress(TrajetError, OSError):
            block = selection.look(int(frame))
            coordinates = Coordinates(
                block.positions[0], mdanalysis.Box.of(block), f"frame {frame}"
            )
            if remarks := find_broken_molecules(selection, coordinates):
                return remarks
    return []


def shortest_height(cell: NDArray[np.float64]) -> float:
    """Return the least distance of opposite faces, Å; not a number where there is no cell."""
    cosines, sines = np.cos(np.radians(cell[3:])), np.sin(np.radians(cell[3:]))
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = np.sqrt(1 - (cosines**2).sum() + 2 * cosines.prod())
        return float((cell[:3] * volume / sines).min())


def shortest_vector(cell: NDArray[np.float64]) -> float:
    """Return the distance of an atom and the nearest of its own images, Å.

    By a basis of which no vector is made shorter by another: among the sums and differences of its
    vectors is the shortest one (I. Semaev, LNCS 2146, 181 (2001), doi:10.1007/3-540-44670-2_13).
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


def _neighbours(atoms: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of atoms that follow one another in a molecule, and how far apart they can be.

    `(n, 2)`, places in the group, and `(n,)`, Å.
    """
    residues = atoms.resindices
    within = np.flatnonzero(residues[1:] == residues[:-1])
    pairs, limits = [np.stack([within, within + 1], axis=1)], [np.full(len(within), _BONDED)]
    for name, limit in _BACKBONE.items():
        there = np.flatnonzero(getattr(atoms, "names", np.empty(len(atoms), str)) == name)
        along = np.stack([there[:-1], there[1:]], axis=1)
        along = along[np.diff(residues[along], axis=1)[:, 0] == 1]
        pairs.append(along)
        limits.append(np.full(len(along), limit))
    return np.concatenate(pairs), np.concatenate(limits)
