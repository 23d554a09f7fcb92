"""Amber's NetCDF files with more than its convention names, written and read by SciPy."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import netcdf_file

N_ATOMS = 7
DIMENSIONS = {
    "frame": None,
    "spatial": 3,
    "atom": N_ATOMS,
    "cell_spatial": 3,
    "label": 5,
    "cell_angular": 3,
    "remd_dimension": 2,
    "odd": 3,
}


@dataclass(frozen=True)
class Contents:
    """All contents of a NetCDF file, as SciPy reads it.

    Variables are their dimensions, type, attributes and values.
    """

    dimensions: dict[str, int | None]
    attributes: dict[str, Any]
    variables: dict[str, tuple[tuple[str, ...], str, dict[str, Any], np.ndarray]]

    def part(self, frames: Any = slice(None), atoms: Any = slice(None)) -> "Contents":
        """Return the contents of a file of some frames and atoms."""
        variables = {}
        for name, (dimensions, kind, attributes, values) in self.variables.items():
            cut = values
            for axis, dimension in enumerate(dimensions):
                if dimension in ("frame", "atom"):
                    chosen = frames if dimension == "frame" else atoms
                    numbers = np.arange(cut.shape[axis])[chosen]
                    cut = np.take(cut, numbers, axis)
            variables[name] = (dimensions, kind, attributes, cut)
        n_atoms = len(np.arange(self.dimensions["atom"])[atoms])
        return Contents({**self.dimensions, "atom": n_atoms}, self.attributes, variables)

    def without(self, *names: str) -> "Contents":
        """Return the contents without some variables and global attributes."""
        kept = {name: it for name, it in self.variables.items() if name not in names}
        attributes = {name: it for name, it in self.attributes.items() if name not in names}
        return Contents(self.dimensions, attributes, kept)


def read_all(path: Path) -> Contents:
    """Read all contents of a file with SciPy."""

    def plain(attributes: dict[str, Any]) -> dict[str, Any]:
        return {name: np.asarray(value).tolist() for name, value in attributes.items()}

    with netcdf_file(path, mmap=False) as file:
        variables = {
            name: (it.dimensions, it.typecode(), plain(it._attributes), it[...].copy())
            for name, it in file.variables.items()
        }
        return Contents(dict(file.dimensions), plain(file._attributes), variables)


def assert_same(found: Contents, expected: Contents) -> None:
    """Compare all dimensions, attributes and variables, their values bit for bit."""
    assert found.dimensions == expected.dimensions
    assert found.attributes == expected.attributes
    assert list(found.variables) == list(expected.variables)
    for name, (dimensions, kind, attributes, values) in expected.variables.items():
        *declared, there = found.variables[name]
        assert declared == [dimensions, kind, attributes], name
        assert (there.shape, there.tobytes()) == (values.shape, values.tobytes()), name


@dataclass
class Run:
    """A replica-exchange run; see `write`."""

    n_frames: int = 5
    version: int = 2
    seed: int = 0
    title: str = "réplicas"
    # Units that differ from those of the convention.
    units: dict[str, str] = field(default_factory=dict)
    # Variables that are left out.
    without: tuple[str, ...] = ()
    dimtype: tuple[int, int] = (1, 3)
    velocities: bool = True

    def write(self, path: Path) -> Path:
        """Write the file."""
        rng = np.random.default_rng(self.seed)
        n = self.n_frames
        with netcdf_file(path, "w", version=self.version) as file:
            # Latin-1: no UTF-8.
            file.title = self.title.encode("latin-1")
            file.application = b"AMBER"
            file.program = b"pmemd"
            file.programVersion = b"18.0"
            file.Conventions = b"AMBER"
            file.ConventionVersion = b"1.0"
            file.counts = np.array([1, -2, 3], "h")
            for name, length in DIMENSIONS.items():
                file.createDimension(name, length)

            def add(name: str, kind: str, dimensions: str, values: Any, **attributes: Any) -> None:
                if name in self.without:
                    return
                made = file.createVariable(name, kind, tuple(dimensions.split()))
                if name in self.units:
                    attributes["units"] = self.units[name]
                for key, value in attributes.items():
                    setattr(made, key, value)
                made[: len(values)] = values

            add("spatial", "c", "spatial", np.array([b"x", b"y", b"z"]))
            add("time", "f", "frame", np.arange(n) * 2, units="picosecond")
            add("flags", "c", "frame odd", np.resize(np.array(list("abcde"), "S1"), (n, 3)))
            xyz = rng.normal(0, 9, (n, N_ATOMS, 3)).astype("f")
            scale = np.float64(20.455)
            add("coordinates", "f", "frame atom spatial", xyz, units="angstrom", note="first")
            if self.velocities:
                add(
                    "velocities",
                    "f",
                    "frame atom spatial",
                    xyz[:, ::-1],
                    units="angstrom/picosecond",
                    scale_factor=scale,
                )
            add("cell_lengths", "d", "frame cell_spatial", 30 + rng.random((n, 3)))
            add("cell_angles", "d", "frame cell_angular", np.full((n, 3), 90.0), units="degree")
            add("temp0", "d", "frame", 300 + rng.random(n), units="kelvin")
            indices = rng.integers(1, 9, (n, 2))
            add("remd_dimtype", "i", "remd_dimension", np.array(self.dimtype))
            add("remd_indices", "i", "frame remd_dimension", indices)
            add("remd_repidx", "i", "frame", indices[:, 0])
            add("remd_crdidx", "i", "frame", indices[:, 1])
            add("remd_values", "d", "frame remd_dimension", rng.random((n, 2)))
            add("shorts", "h", "frame odd", rng.integers(-9, 9, (n, 3)))
            add("charge", "d", "atom", rng.random(N_ATOMS), units="e")
            add("atom_name", "c", "atom odd", np.resize(np.array(list("CHNOS"), "S1"), (7, 3)))
            add("state", "b", "frame atom", rng.integers(0, 99, (n, N_ATOMS)))
            add("planes", "h", "frame odd atom", rng.integers(0, 99, (n, 3, N_ATOMS)))
        return path
