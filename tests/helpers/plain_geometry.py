"""Distances, dihedral angles and fluctuations in plain float64: naive twins.

The shortest image is searched among all lattice vectors that could give it. A vector v reaches the
cell around the origin by rounding; an image v + s of it is no longer only if |s| <= 2 |v|, and the
coefficient of s along a basis vector is at most |s| by the cell's height in that direction.
"""

import numpy as np

# a, b, c (Å) and α, β, γ (degrees), from cubes to cells whose reduced vectors are very different.
CELLS = {
    "cube": (40, 40, 40, 90, 90, 90),
    "brick": (25, 40, 61, 90, 90, 90),
    "dodecahedron": (45, 45, 45, 60, 60, 90),
    "octahedron": (45, 45, 45, 70.528779, 109.471221, 70.528779),
    "hexagonal": (40, 40, 55, 90, 90, 120),
    "monoclinic": (30, 50, 35, 90, 117, 90),
    "skewed": (40, 45, 50, 55, 62, 44),
    "flat": (60, 60, 60, 33, 35, 36),
    "obtuse": (40, 42, 44, 100, 112, 118),
}


def cell_vectors(cell: np.ndarray) -> np.ndarray:
    """Return a, b, c (rows, Å) of lengths and angles: a along x, b in the plane of x and y."""
    a, b, c = cell[:3]
    cos_alpha, cos_beta, cos_gamma = np.cos(np.radians(cell[3:]))
    sin_gamma = np.sin(np.radians(cell[5]))
    x, y = cos_beta, (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    z = np.sqrt(1 - x * x - y * y)
    return np.array([[a, 0, 0], [b * cos_gamma, b * sin_gamma, 0], [c * x, c * y, c * z]])


def symmetric_vectors(cell: np.ndarray) -> np.ndarray:
    """Return the vectors (rows, Å) whose matrix is symmetric, as CHARMM's are.

    Its square holds the products of the vectors, which follow from lengths and angles.
    """
    products = cell_vectors(cell) @ cell_vectors(cell).T
    values, directions = np.linalg.eigh(products)
    return directions @ np.diag(np.sqrt(values)) @ directions.T


def _images(cell: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (n, 3) near the origin, and all that may be added to make one shorter."""
    cell = np.asarray(cell, np.float64)
    basis = cell if cell.shape == (3, 3) else cell_vectors(cell)
    inverse = np.linalg.inv(basis)
    flat = np.asarray(vectors, np.float64).reshape(-1, 3)
    flat = flat - np.round(flat @ inverse) @ basis
    reach = 2 * np.sqrt((flat**2).sum(1).max(initial=0))
    most = np.ceil(reach * np.linalg.norm(inverse, axis=0)).astype(int)
    times = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in most), indexing="ij"), -1)
    return flat, times.reshape(-1, 3) @ basis


def shortest(cell: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the shortest image of each vector (..., 3), Å."""
    flat, shifts = _images(cell, vectors)
    squares = (shifts**2).sum(1)
    best = np.empty(len(flat), np.int64)
    for begin in range(0, len(flat), 1000):
        here = slice(begin, begin + 1000)
        best[here] = (2 * flat[here] @ shifts.T + squares).argmin(1)
    return (flat + shifts[best]).reshape(np.shape(vectors))


def between(a: np.ndarray, b: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return the distances (n_a, n_b) of all pairs of positions."""
    vectors = b[None].astype(np.float64) - a[:, None].astype(np.float64)
    if cell is not None and not np.isnan(cell).any():
        vectors = shortest(cell, vectors)
    return np.sqrt((vectors**2).sum(-1))


def within(a: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return the distances of the pairs 0-1, 0-2, …, 1-2, …."""
    return between(a, a, cell)[np.triu_indices(len(a), 1)]


def bonds(points: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return the three bonds (n, 3, 3) of quadruples of positions (n, 4, 3)."""
    vectors = np.diff(points.astype(np.float64), axis=1)
    if cell is not None and not np.isnan(cell).any():
        vectors = shortest(cell, vectors)
    return vectors


def has_tie(points: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return whether a bond has two images of the same length, so that the angle is ambiguous."""
    if cell is None or np.isnan(cell).any():
        return np.zeros(len(points), bool)
    vectors, shifts = _images(cell, np.diff(points.astype(np.float64), axis=1))
    lengths = np.linalg.norm(vectors[:, None] + shifts, axis=2)
    first, second = np.partition(lengths, 1, axis=1)[:, :2].T
    return (second - first < 1e-4).reshape(-1, 3).any(axis=1)


def levers(points: np.ndarray, cell: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors (n, 3) from the axis of each dihedral angle to its first and last atom."""
    first, axis, last = np.moveaxis(bonds(points, cell), 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
    onto = [(bond * axis).sum(1, keepdims=True) * axis for bond in (first, last)]
    return onto[0] - first, last - onto[1]


def dihedrals(points: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return the dihedral angles of quadruples of positions (n, 4, 3), degrees.

    Seen along the middle bond, the angle by which the first atom turns clockwise to hide the last.
    """
    axis = bonds(points, cell)[:, 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
    to_first, to_last = levers(points, cell)
    sine = (np.cross(axis, to_first) * to_last).sum(1)
    return np.degrees(np.arctan2(sine, (to_first * to_last).sum(1)))


def softness(points: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    """Return by how many degrees an error of 1 Å in each bond could turn each dihedral angle.

    An end atom that moves by e turns the angle by e / lever; the axis tilts by e / length, which
    moves the end atom by that times its distance along the axis.
    """
    long = np.linalg.norm(bonds(points, cell), axis=2)
    short = np.array([np.linalg.norm(lever, axis=1) for lever in levers(points, cell)])
    with np.errstate(divide="ignore"):
        return np.degrees((1 / short).sum(0) * (1 + long.max(1) / long[:, 1]))


def apart(angles: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return by how much angles differ, degrees: 180 and -180 are the same."""
    return np.abs((angles - others + 180) % 360 - 180)


def rmsf(positions: np.ndarray) -> np.ndarray:
    """Return the root of the mean squared distance of each atom from its mean position."""
    x = positions.astype(np.float64)
    return np.sqrt(((x - x.mean(0)) ** 2).sum(-1).mean(0))


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Draw a proper rotation, evenly distributed."""
    q, r = np.linalg.qr(rng.normal(0, 1, (3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q
