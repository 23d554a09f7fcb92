"""Selections written down plainly in float64: which atoms are selected for sure, and which may be.

Leaves without positions are selected by MDAnalysis. Coordinates are compared in float64, as
`numpy.isclose` does for equality. Distances are those to the nearest of all
periodic images. An atom is selected for sure if it still is when all cut-offs are a margin less
favourable.
"""

import re
from itertools import product

import MDAnalysis as mda
import numpy as np
from scipy.spatial import cKDTree

from helpers import plain_geometry as plain
from helpers.selection_expressions import NODES

Bounds = tuple[
    np.ndarray, np.ndarray
]  # Masks of the atoms that are selected for sure, and that may be.

COORDINATE = re.compile(r"\s*prop (abs )?([xyz]) (<=?|>=?|==|!=) (\S+)\s*")


class Twin:
    """Evaluates trees of `selection_expressions` in the current frame."""

    def __init__(
        self, universe: mda.Universe, groups: dict[str, mda.AtomGroup], margin: float
    ) -> None:
        self.universe = universe
        self.groups = groups
        self.margin = margin
        self.n_atoms = len(universe.atoms)
        self.positions = universe.atoms.positions.astype(np.float64)
        cell = universe.dimensions
        self.vectors = None if cell is None else plain.cell_vectors(cell.astype(np.float64))

    def bounds(self, tree: tuple) -> Bounds:  # noqa: PLR0911
        """Return the atoms that a tree selects."""
        kind, *parts = tree
        if kind == "leaf":
            if (found := COORDINATE.fullmatch(parts[0])) is not None:
                return self._coordinate(*found.groups())
            mask = self._select(parts[0])
            return mask, mask
        if kind == "point":
            *center, radius = map(float, parts[0])
            # As positions are.
            return self._sphere(np.float32(center).astype(np.float64), None, radius)
        inner = [
            self.bounds(part) for part in parts if isinstance(part, tuple) and part[0] in NODES
        ]
        if kind == "and":
            return inner[0][0] & inner[1][0], inner[0][1] & inner[1][1]
        if kind == "or":
            return inner[0][0] | inner[1][0], inner[0][1] | inner[1][1]
        (sure, possible) = inner[-1]
        if kind == "not":
            return ~possible, ~sure
        if kind == "global":
            return sure, possible
        if kind in ("byres", "bonded", "same"):
            text = f"same {parts[0]} as group set" if kind == "same" else f"{kind} group set"
            return self._select(text, sure), self._select(text, possible)
        return self._region(kind, [float(number) for number in parts[0]], sure, possible)

    def _select(self, text: str, atoms: np.ndarray | None = None) -> np.ndarray:
        extra = {} if atoms is None else {"set": self.universe.atoms[atoms]}
        mask = np.zeros(self.n_atoms, bool)
        mask[self.universe.select_atoms(text, **self.groups, **extra).indices] = True
        return mask

    def _coordinate(self, absolute: str | None, axis: str, relation: str, value: str) -> Bounds:
        number, margin = float(value), self.margin
        coordinates = self.positions[:, "xyz".index(axis)]
        if absolute:
            coordinates = np.abs(coordinates)
        if relation in ("==", "!="):
            off = np.abs(coordinates - number) - (1e-8 + 1e-5 * abs(number))
            sure, possible = off <= -margin, off <= margin
            return (sure, possible) if relation == "==" else (~possible, ~sure)
        above = coordinates - number if relation[0] == ">" else number - coordinates
        return above > margin, above >= -margin

    def _region(
        self, kind: str, numbers: list[float], sure: np.ndarray, possible: np.ndarray
    ) -> Bounds:
        nothing, everything = np.zeros(self.n_atoms, bool), np.ones(self.n_atoms, bool)
        if not possible.any():
            return nothing, nothing
        if kind in ("around", "isolayer"):
            inner = numbers[0] if kind == "isolayer" else None
            near, far = self._nearest(sure, numbers[-1]), self._nearest(possible, numbers[-1])
            # Distances to the set are from those to atoms that may be in it to those that are.
            surely, perhaps = self._between(far, near, inner, numbers[-1])
            return surely & ~possible, perhaps & ~sure
        if (sure != possible).any():
            return nothing, everything
        center = self.positions[sure].mean(axis=0)
        if kind in ("sphzone", "sphlayer"):
            return self._sphere(center, numbers[0] if kind == "sphlayer" else None, numbers[-1])
        return self._cylinder(center, numbers[0] if kind == "cylayer" else None, *numbers[-3:])

    def _between(
        self, least: np.ndarray, most: np.ndarray, inner: float | None, outer: float
    ) -> Bounds:
        """Return where a distance from `least` to `most` is above `inner` and at most `outer`."""
        sure, possible = most <= outer - self.margin, least <= outer + self.margin
        if inner is not None:
            sure &= least > inner + self.margin
            possible &= most > inner - self.margin
        return sure, possible

    def _sphere(self, center: np.ndarray, inner: float | None, outer: float) -> Bounds:
        distances = self._nearest_point(center[None], outer)
        return self._between(distances, distances, inner, outer)

    def _nearest(self, atoms: np.ndarray, reach: float) -> np.ndarray:
        return self._nearest_point(self.positions[atoms], reach)

    def _nearest_point(self, points: np.ndarray, reach: float) -> np.ndarray:
        """Return distances to the nearest image of any point; infinity well beyond the reach."""
        reach = max(reach, 0) + 1
        if not len(points):
            return np.full(self.n_atoms, np.inf)
        positions = self.positions
        if self.vectors is not None:
            positions, points = self._wrapped(positions), self._wrapped(points)
            shifts = self._shifts(reach)
            points = (points[:, None] + shifts).reshape(-1, 3)
        return cKDTree(points).query(positions, distance_upper_bound=reach)[0]

    def _wrapped(self, positions: np.ndarray) -> np.ndarray:
        return positions - np.floor(positions @ np.linalg.inv(self.vectors)) @ self.vectors

    def _shifts(self, reach: float) -> np.ndarray:
        """Return the lattice vectors between cells that have points as close as this."""
        most = np.ceil(reach * np.linalg.norm(np.linalg.inv(self.vectors), axis=0)).astype(int) + 1
        times = np.array(list(product(*(range(-n, n + 1) for n in most))))
        return times @ self.vectors

    def _cylinder(
        self, center: np.ndarray, inner: float | None, outer: float, top: float, bottom: float
    ) -> Bounds:
        offsets, shifts = self.positions - center, np.zeros((1, 3))
        if self.vectors is not None:
            offsets = self._wrapped(offsets)
            shifts = self._shifts(abs(outer) + max(abs(top), abs(bottom)))
        surely, perhaps = np.zeros(self.n_atoms, bool), np.zeros(self.n_atoms, bool)
        for shift in shifts:
            x, y, z = (offsets + shift).T
            radius, height = np.hypot(x, y), np.minimum(top - z, z - bottom)
            inside = np.minimum(abs(outer) - radius, height)
            if inner is not None:
                inside = np.minimum(inside, radius - abs(inner))
            surely |= inside > self.margin
            perhaps |= inside > -self.margin
        return surely, perhaps


def has_cylinder(tree: tuple) -> bool:
    """Return whether a tree has a cylinder."""
    return tree[0] in ("cyzone", "cylayer") or any(
        has_cylinder(part) for part in tree[1:] if isinstance(part, tuple) and part[0] in NODES
    )


def has_negative_distance(tree: tuple) -> bool:
    """Return whether a tree has a region with a negative distance."""
    kind, *parts = tree
    inner = [part for part in parts if isinstance(part, tuple) and part[0] in NODES]
    is_negative = kind in REGIONS and any(number.startswith("-") for number in parts[0])
    return is_negative or any(has_negative_distance(part) for part in inner)


REGIONS = ("around", "sphzone", "sphlayer", "isolayer")
