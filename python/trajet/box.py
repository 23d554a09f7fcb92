"""Boxes: unit cells as vectors."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet.block import Block


@dataclass(frozen=True)
class Box:
    """The box of a frame.

    Attributes
    ----------
    cell
        `(6,)`, float64, lengths in Å and angles in degrees; NaN without a box.
    vectors
        `(3, 3)`, float64, Å: the box vectors, row by row; NaN without a box.
    periodic
        `(3,)`, bool: whether the box is periodic along each of its vectors.
    origin
        `(3,)`, float64, Å: the corner at which it begins; 0 in formats that state none.
    """

    cell: NDArray[np.float64] = field(default_factory=lambda: np.full(6, np.nan))
    vectors: NDArray[np.float64] = field(default_factory=lambda: np.full((3, 3), np.nan))
    periodic: NDArray[np.bool_] = field(default_factory=lambda: np.ones(3, np.bool_))
    origin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def of(cls, block: Block, k: int = 0) -> "Box":
        """Return the box of the `k`-th frame of a `Block`."""
        vectors, periodic, origins = block.vectors, block.periodic, block.origins
        return cls.of_cell(
            block.cells[k],
            None if vectors is None else vectors[k],
            None if periodic is None else periodic[k],
            None if origins is None else origins[k],
        )

    @classmethod
    def of_cell(
        cls,
        cell: NDArray[np.float64],
        vectors: NDArray[np.float64] | None = None,
        periodic: NDArray[np.bool_] | None = None,
        origin: NDArray[np.float64] | None = None,
    ) -> "Box":
        """Return the box of a unit cell, with the given vectors unless they are NaN.

        It is periodic in all directions unless `periodic` is given, and begins at 0 unless `origin`
        is.
        """
        stored = None if vectors is None else vectors.reshape(1, 9)
        (rows,) = box_vectors(cell[np.newaxis], stored)
        everywhere = np.ones(3, np.bool_) if periodic is None else periodic
        return cls(cell, rows, everywhere, np.zeros(3) if origin is None else origin)

    @property
    def exists(self) -> bool:
        """Whether there is a box; one of which all vectors are below 2 Å stands for none."""
        # Not fulfilled by numbers that are not.
        return bool(np.linalg.norm(self.vectors, axis=1).max() >= _trajet.SHORTEST_CELL)

    @property
    def is_turned(self) -> bool:
        """Whether the first vector is not along x, or the second not in the x-y plane."""
        if not self.exists:
            return False
        usual = np.tril(self.vectors)
        return not (np.array_equal(usual, self.vectors) and (np.diagonal(usual) >= 0).all())

    @property
    def is_open(self) -> bool:
        """Whether there is a box that is not periodic in all directions."""
        return self.exists and not self.periodic.all()

    @property
    def reason_not_held(self) -> str | None:
        """Describes a box that structure files cannot hold; None for others."""
        if self.is_open:
            return "a box that is not periodic in all directions"
        return "a box that is rotated" if self.is_turned else None

    @property
    def lattice(self) -> "_trajet.Lattice | None":
        """The vectors and boundaries for nearest images; None if there is no box."""
        return (self.vectors, self.periodic.tolist()) if self.exists else None

    def distances(
        self, one: NDArray[np.float32], other: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return distances of pairs, `(n,)`, Å; those of nearest images if there is a box."""
        return _trajet.pair_distances(one, other, self.lattice)


def box_vectors(
    cells: NDArray[np.float64], stored: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return box vectors, `(n, 3, 3)`, Å: the first along x, the second in the x-y plane.

    Vectors in `stored`, `(n, 9)`, replace them where they are not NaN.
    """
    a, b, c, *angles = cells.T
    # Exact for right angles.
    cos = [np.where(angle == 90, 0.0, np.cos(np.radians(angle))) for angle in angles]
    sin_gamma = np.sqrt(1 - cos[2] ** 2)
    vectors = np.zeros((len(cells), 3, 3))
    vectors[:, 0, 0] = a
    vectors[:, 1, 0] = b * cos[2]
    vectors[:, 1, 1] = b * sin_gamma
    vectors[:, 2, 0] = c * cos[1]
    vectors[:, 2, 1] = c * (cos[0] - cos[1] * cos[2]) / sin_gamma
    height = c**2 - vectors[:, 2, 0] ** 2 - vectors[:, 2, 1] ** 2
    vectors[:, 2, 2] = np.sqrt(np.maximum(height, 0))
    vectors[np.isnan(cells).any(axis=1)] = np.nan
    if stored is not None:
        there = ~np.isnan(stored[:, 0])
        vectors[there] = stored[there].reshape(-1, 3, 3)
    return vectors
