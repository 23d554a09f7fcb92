"""Results with densities: along an axis, and on a grid."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet.result.report import Report
from trajet.result.result import Result, ascii_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class LinearDensity(Result):
    """Mean density in slices of the cell.

    NPZ files hold `position`, `values`, `edges`, `units` and `columns`; CSV files have the column
    position_A and one column per selection.

    Attributes
    ----------
    position
        `(bins,)`, float64, centres of the slices, Å.
    values
        `(bins,)`, or `(bins, n_selections)` for a list of selections; float64, `units`.
    edges
        `(bins + 1,)`, float64, Å.
    axis
        "x", "y" or "z".
    units
        Unit of the values.
    columns
        The selections, as text.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    """

    position: NDArray[np.float64]
    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    axis: str
    units: str
    columns: tuple[str, ...]
    name: str
    report: Report

    def plot(self) -> "Figure":
        """Draw the density of each selection along the axis."""
        from trajet import plots

        return plots.density_profile(
            self.edges,
            self.values.reshape(len(self.position), len(self.columns)),
            labels=self.columns,
            axis=self.axis,
            quantity=f"{self.name} ({self.units})",
        )

    def _about(self) -> str:
        return f"{self.name} along {self.axis}, values {self.values.shape} {self.units}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "position": self.position,
            "values": self.values,
            "edges": self.edges,
            "units": np.array(self.units),
            "columns": np.array(self.columns),
        }

    def _header(self) -> list[str]:
        stem = f"{self.name.replace(' ', '_')}_{ascii_units(self.units)}"
        return ["position_A", stem, *(f"{stem}_group{k}" for k in range(1, len(self.columns)))]

    def _rows(self) -> Iterable[Iterable[object]]:
        rows = self.values.reshape(len(self.position), len(self.columns))
        return ([x, *row] for x, row in zip(self.position.tolist(), rows.tolist(), strict=True))


@dataclass(frozen=True, repr=False)
class Density(Result):
    """Mean density on a grid of cubic voxels.

    NPZ files hold `values`, `origin`, `spacing`, `units` and the edges `x`, `y` and `z`; CSV files
    have the columns x_A, y_A, z_A (centres of voxels) and the density; DX files are OpenDX, which
    VMD, PyMOL and ChimeraX draw.

    Attributes
    ----------
    values
        `(nx, ny, nz)`, float64, `units`.
    edges
        Edges of the voxels along x, y and z: `(nx + 1,)`, `(ny + 1,)`, `(nz + 1,)`, float64, Å.
    spacing
        Edge of a voxel, Å.
    units
        Unit of the values.
    label
        The selection, as text.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    """

    values: NDArray[np.float64]
    edges: tuple[NDArray[np.float64], ...]
    spacing: float
    units: str
    label: str
    name: str
    report: Report

    @property
    def origin(self) -> NDArray[np.float64]:
        """Centre of the first voxel, `(3,)`, float64, Å, as OpenDX has it."""
        return np.array([(edges[0] + edges[1]) / 2 for edges in self.edges])

    def plot(self) -> "Figure":
        """Draw the mean density along each of the three axes."""
        from trajet import plots

        return plots.projections(
            self.values,
            self.edges,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} of {self.label}",
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write OpenDX (`.dx`), NPZ or CSV.

        Raises
        ------
        ValueError
            If the name ends in none of these.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() in (".npz", ".csv"):
            super().save(path)
        else:
            output.check(path, (".dx", ".npz", ".csv"))
            output.write(path, self._write_dx)

    def _write_dx(self, file: IO[bytes]) -> None:
        counts = " ".join(map(str, self.values.shape))
        head = [
            f"# {self.name} of {self.label!r}, {self.units}, written by trajet",
            f"object 1 class gridpositions counts {counts}",
            "origin " + " ".join(map(repr, self.origin.tolist())),
            *(
                "delta " + " ".join(repr(self.spacing if k == axis else 0) for k in range(3))
                for axis in range(3)
            ),
            f"object 2 class gridconnections counts {counts}",
            f"object 3 class array type double rank 0 items {self.values.size} data follows",
        ]
        file.write("".join(f"{line}\n" for line in head).encode(errors="backslashreplace"))
        numbers = self.values.ravel()
        whole = numbers.size // 3 * 3
        np.savetxt(file, numbers[:whole].reshape(-1, 3), fmt="%.10g")
        if whole < numbers.size:
            np.savetxt(file, numbers[None, whole:], fmt="%.10g")
        file.write(
            b'attribute "dep" string "positions"\n'
            b'object "density" class field\n'
            b'component "positions" value 1\n'
            b'component "connections" value 2\n'
            b'component "data" value 3\n'
        )

    def _about(self) -> str:
        return f"{self.name} of {self.label}, values {self.values.shape} {self.units}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.values,
            "origin": self.origin,
            "spacing": np.array(self.spacing),
            "units": np.array(self.units),
            **dict(zip("xyz", self.edges, strict=True)),
        }

    def _header(self) -> list[str]:
        return ["x_A", "y_A", "z_A", f"{self.name.replace(' ', '_')}_{ascii_units(self.units)}"]

    def _rows(self) -> Iterable[Iterable[object]]:
        centres = [((edges[:-1] + edges[1:]) / 2).tolist() for edges in self.edges]
        values = self.values.ravel().tolist()
        return ([*at, value] for at, value in zip(product(*centres), values, strict=True))
