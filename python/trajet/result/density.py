"""Results with densities: along an axis, and on a grid."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet.quoting import quoted
from trajet.result.axes import edges_of_rows
from trajet.result.report import Report
from trajet.result.result import (
    SUFFIXES,
    Columns,
    Part,
    Result,
    column_name,
    names_column,
)
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class LinearDensity(Result):
    """Mean density in slices of the cell.

    CSV files have the column position_A and one column per selection, such as
    `mass_density_g/cm3:resname_SOL`.

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
    direction
        The direction along which positions are measured: the axis, or, where the two differ in a
        triclinic cell, "the normal of the b-c face" (of the a-c, of the a-b face).
    units
        Unit of the values.
    columns
        The selections, as text.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    standard_errors, half_widths
        In the shape of `values`: standard errors, and longer sides of the 95 % intervals; None if
        they were not asked for. They are columns of CSV files then.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    """

    position: NDArray[np.float64]
    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    axis: str
    direction: str
    units: str
    columns: tuple[str, ...]
    name: str
    report: Report
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        "values",
        "position",
        "standard_errors",
        "half_widths",
        "resolved",
    )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the density of each selection along the axis; see `Result.plot`."""
        from trajet import plots

        return plots.density_profile(
            self.edges,
            self.values.reshape(len(self.position), len(self.columns)),
            labels=self.columns,
            axis=self.direction,
            quantity=f"{self.name} ({self.units})",
            half_widths=None
            if self.half_widths is None
            else self.half_widths.reshape(len(self.position), len(self.columns)),
            ax=ax,
            look=look,
        )

    def _about(self) -> str:
        return f"{self.name} along {self.direction}, values {self.values.shape} {self.units}"

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean and extremes of each profile; see `Result.summary`."""
        values = self.values.reshape(len(self.position), len(self.columns))
        columns = (
            names_column("selection", self.columns),
            *(Column(k, getattr(values, k)(axis=0), ".4g") for k in ("mean", "min", "max")),
            Column("at (Å)", self.position[values.argmax(axis=0)], ".3f"),
        )
        title = f"{self.name} along {self.direction} ({self.units})"
        return Summary(title, columns, len(self.columns))

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        edges = edges_of_rows(self.edges, chosen)
        return replace(super()._of_rows(chosen), edges=edges)

    def _table(self) -> Columns:
        table: Columns = [("position_A", self.position)]
        of_errors = (("standard error", self.standard_errors), ("half width 95", self.half_widths))
        for name, values in ((self.name, self.values), *of_errors):
            if values is not None:
                names = [column_name(name, self.units, label) for label in self.columns]
                columns = values.reshape(len(self.position), len(self.columns)).T
                table += zip(names, columns, strict=True)
        return table


@dataclass(frozen=True, repr=False)
class Density(Result):
    """Mean density on a grid of cubic voxels.

    CSV files have one row per voxel with the columns x_A, y_A, z_A (its centre) and the density; DX
    files are OpenDX, which VMD, PyMOL and ChimeraX draw. Rows of the result are planes of one x.

    Its plot has the mean density along each of the three axes; into given axes, that along z. A
    solvent, which fills most of the grid, is drawn relative to the density of its bulk: the median
    of blocks of 3 × 3 × 3 voxels that are not nearly empty.

    Attributes
    ----------
    values
        `(nx, ny, nz)`, float64, `units`.
    x, y, z
        Edges of the voxels along each axis: `(nx + 1,)`, `(ny + 1,)`, `(nz + 1,)`, float64, Å.
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
    standard_errors, half_widths
        In the shape of `values`: standard errors, and longer sides of the 95 % intervals; None if
        they were not asked for. They are columns of CSV files then.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    """

    values: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    spacing: float
    units: str
    label: str
    name: str
    report: Report
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = ("values", "standard_errors", "half_widths", "resolved")
    PARTS: ClassVar[Mapping[str, Part]] = {"grid": Part("OpenDX, for VMD and PyMOL", (".dx",))}

    @property
    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Edges of the voxels along x, y and z, Å."""
        return self.x, self.y, self.z

    @property
    def origin(self) -> NDArray[np.float64]:
        """Centre of the first voxel, `(3,)`, float64, Å, as OpenDX has it."""
        return np.array([(edges[0] + edges[1]) / 2 for edges in self.edges])

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the mean density along each of the three axes; into given axes, that along z."""
        from trajet import plots

        return plots.projections(
            self.values,
            self.edges,
            quantity=self.name,
            unit=self.units,
            title=f"{self.name} of {self.label}",
            ax=ax,
            look=look,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write OpenDX (`.dx`), or as `Result.save`.

        Raises
        ------
        ValueError
            If the name ends in none of these.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() in SUFFIXES:
            super().save(path)
        else:
            output.check(path, (".dx", *SUFFIXES))
            output.write(path, self._write_dx)

    def save_part(self, name: str, path: Path) -> list[Path]:
        """Write the grid; see `Result.save_part`."""
        self.save(path)
        return [path]

    def _write_dx(self, file: IO[bytes]) -> None:
        counts = " ".join(map(str, self.values.shape))
        head = [
            f"# {self.name} of {quoted(self.label)}, {self.units}, written by trajet",
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

    def scalars(self) -> dict[str, object]:
        """Return the mean, and the highest voxel with its centre; see `Result.scalars`."""
        most = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        return {
            "mean": float(self.values.mean()),
            "max": float(self.values.max()),
            "max_at_A": (self.origin + np.array(most) * self.spacing).tolist(),
            "units": self.units,
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return the mean and the highest voxel; see `Result.summary`."""
        highest = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        at = self.origin + np.array(highest) * self.spacing
        columns = (
            names_column("selection", [self.label]),
            Column("voxels", [" x ".join(map(str, self.values.shape))]),
            Column("mean", [float(self.values.mean())], ".4g"),
            Column("max", [float(self.values.max())], ".4g"),
            Column("at (Å)", [", ".join(f"{x:.2f}" for x in at.tolist())]),
        )
        return Summary(f"{self.name} ({self.units})", columns, 1)

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        return replace(super()._of_rows(chosen), x=edges_of_rows(self.x, chosen))

    def _table(self) -> Columns:
        centres = np.meshgrid(
            *((edges[:-1] + edges[1:]) / 2 for edges in self.edges), indexing="ij", copy=False
        )
        return [
            *zip(("x_A", "y_A", "z_A"), (axis.ravel() for axis in centres), strict=True),
            (column_name(self.name, self.units), self.values.ravel()),
            *(
                (column_name(name, self.units), errors.ravel())
                for name, errors in (
                    ("standard error", self.standard_errors),
                    ("half width 95", self.half_widths),
                )
                if errors is not None
            ),
        ]
