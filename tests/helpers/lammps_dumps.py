"""Dumps of LAMMPS, written by the formulas of its manual."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from helpers.made_files import random_vectors

# The columns of each kind of positions.
KINDS = {"x": "x y z", "xs": "xs ys zs", "xu": "xu yu zu", "xsu": "xsu ysu zsu"}


@dataclass(frozen=True)
class Box:
    """A cell, as one of the forms of `BOX BOUNDS`."""

    form: str
    # Rows are a, b and c.
    vectors: np.ndarray
    origin: np.ndarray
    boundaries: str = "pp pp pp"

    def record(self) -> str:
        """Return the record."""
        v, low = self.vectors, self.origin
        if self.form == "abc origin":
            rows = np.column_stack((v, low))
        else:
            xy, xz, yz = v[1, 0], v[2, 0], v[2, 1]
            high = low + np.diag(v)
            below = [min(0, xy, xz, xy + xz), min(0, yz), 0]
            above = [max(0, xy, xz, xy + xz), max(0, yz), 0]
            rows = np.column_stack((low + below, high + above, (xy, xz, yz)))
            if not self.form:
                assert not rows[:, 2].any()
                rows = rows[:, :2]
        words = " ".join(f"ITEM: BOX BOUNDS {self.form} {self.boundaries}".split())
        return f"{words}\n{lines_of(rows)}"


def lines_of(rows: np.ndarray) -> str:
    """Return numbers with all of their digits."""
    return "".join(" ".join(f"{number:.17g}" for number in row) + "\n" for row in rows)


# The cell of the examples: from 10, 20, 30, of 40 × 50 × 60.
ORIGIN = np.array([10.0, 20.0, 30.0])
BOXES = {
    "orthogonal": Box("", np.diag([40.0, 50.0, 60.0]), ORIGIN),
    "tilted": Box("xy xz yz", np.array([[40.0, 0, 0], [5, 50, 0], [-7, -4, 60]]), ORIGIN),
    "general": Box("abc origin", np.array([[0.0, 0, 40], [50, 0, 3], [2, 60, 0]]), ORIGIN),
}


@dataclass(frozen=True)
class Frame:
    """Atoms by their fractions of a cell, and how often they have crossed its borders."""

    box: Box
    fractions: np.ndarray
    images: np.ndarray
    ids: np.ndarray

    @property
    def wrapped(self) -> np.ndarray:
        """Positions in the cell."""
        return self.box.origin + self.fractions @ self.box.vectors

    @property
    def unwrapped(self) -> np.ndarray:
        """Positions that follow the atoms."""
        return self.wrapped + self.images @ self.box.vectors

    def columns(self, kind: str) -> np.ndarray:
        """Return what a dump has for a kind of positions."""
        return {
            "x": self.wrapped,
            "xs": self.fractions,
            "xu": self.unwrapped,
            "xsu": self.fractions + self.images,
        }[kind]

    def taken(self, order: np.ndarray) -> "Frame":
        """Return the frame with its atoms in this order."""
        arrays = (self.fractions, self.images, self.ids)
        fractions, images, ids = (array[order] for array in arrays)
        return replace(self, fractions=fractions, images=images, ids=ids)


def snapshot(
    frame: Frame,
    kind: str,
    *,
    step: int = 0,
    before: Mapping[str, object] | None = None,
    images: bool = False,
    further: Mapping[str, np.ndarray] | None = None,
) -> str:
    """Return the text of a snapshot, with `before` for records such as UNITS."""
    further = further or {}
    names = f"id {KINDS[kind]}" + " ix iy iz" * images + "".join(f" {name}" for name in further)
    numbers = [frame.columns(kind), *([frame.images] if images else []), *further.values()]
    rows = lines_of(np.column_stack(numbers)).splitlines(keepends=True)
    atoms = "".join(f"{atom} {row}" for atom, row in zip(frame.ids, rows, strict=True))
    records = {**(before or {}), "TIMESTEP": step, "NUMBER OF ATOMS": len(frame.ids)}
    text = "".join(f"ITEM: {name}\n{value}\n" for name, value in records.items())
    return f"{text}{frame.box.record()}ITEM: ATOMS {names}\n{atoms}"


def write(path: Path, snapshots: Sequence[str]) -> Path:
    """Write a file."""
    path.write_text("".join(snapshots))
    return path


def write_lammps(path: Path, n_atoms: int, n_frames: int) -> Path:
    """Write frames in units metal, with times and velocities, of cells that begin at the origin.

    Atoms are in another order in each frame.
    """
    rng = np.random.default_rng(n_atoms)
    texts = []
    for k, positions in enumerate(random_vectors(n_frames, n_atoms, size=9.0)):
        box = Box("xy xz yz", np.array([[20.0 + k, 0, 0], [3, 21, 0], [1, 2, 22]]), np.zeros(3))
        order = rng.permutation(n_atoms)
        velocities = positions[::-1] / 7
        rows = lines_of(np.column_stack((positions, velocities))).splitlines(keepends=True)
        records = {"UNITS": "metal"} if k == 0 else {}
        records |= {"TIME": 0.5 * k, "TIMESTEP": 250 * k, "NUMBER OF ATOMS": n_atoms}
        text = "".join(f"ITEM: {name}\n{value}\n" for name, value in records.items())
        text += box.record() + "ITEM: ATOMS id type x y z vx vy vz\n"
        texts.append(text + "".join(f"{atom + 1} 1 {rows[atom]}" for atom in order))
    return write(path, texts)
