"""Results with densities: along an axis, and on a grid."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet.quoting import quoted
from trajet.result.columns import SUFFIXES, Part, names_column
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class LinearDensity(Table):
    """Mean density in slices of the cell, of one selection or of several.

    The axes are "position", and "groups" for a list of selections. CSV files have the column
    position_A and one column per selection, such as `mass_density_g/cm3:resname_SOL`.

    Attributes
    ----------
    direction
        The direction along which positions are measured: the axis, or, where the two differ in a
        triclinic cell, "the normal of the b-c face" (of the a-c, of the a-b face).
    """

    direction: str = ""

    @property
    def position(self) -> NDArray[np.float64]:
        """Centres of the slices, `(bins,)`, float64, Å."""
        return self.axis("position")["centre"].astype(np.float64, copy=False)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the slices, `(bins + 1,)`, float64, Å."""
        return self.axis("position").bin_edges

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the density of each selection along the axis; see `Table.plot`."""
        from trajet import plots

        return plots.over_bins(self, f"{self.direction} (Å)", self.quantity, ax=ax, look=look)

    def _about(self) -> str:
        return f"{self.name} along {self.direction}, values {self.values.shape} {self.units}"

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean and extremes of each profile; see `Table.summary`."""
        values = self._by_column(self.values)
        rows, most = np.arange(len(values)), values.argmax(axis=1)
        widths = None if self.half_widths is None else self._by_column(self.half_widths)[rows, most]
        columns = (
            names_column("selection", self.columns),
            *(Column(k, getattr(values, k)(axis=1), ".4g") for k in ("mean", "min")),
            *with_half_widths(Column("max", values[rows, most], ".4g"), widths),
            Column("at (Å)", self.position[most], ".3f"),
        )
        title = f"{self.name} along {self.direction} ({self.units})"
        return Summary(title, columns, len(self.columns))


@dataclass(frozen=True, repr=False)
class Density(Table):
    """Mean density on a grid of cubic voxels.

    The axes are "x", "y" and "z". CSV files have one row per voxel with the columns x_A, y_A, z_A
    (its centre) and the density; DX files are OpenDX, which VMD, PyMOL and ChimeraX draw. Rows of
    the result are planes of one x.

    Its plot has the mean density along each of the three axes; into given axes, that along z. A
    solvent, which fills most of the grid, is drawn relative to the density of its bulk: the median
    of blocks of 3 × 3 × 3 voxels that are not nearly empty.

    Attributes
    ----------
    spacing
        Edge of a voxel, Å.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("x", "y", "z"),)

    spacing: float = float("nan")

    PARTS: ClassVar[Mapping[str, Part]] = {"grid": Part("OpenDX, for VMD and PyMOL", (".dx",))}

    @property
    def x(self) -> NDArray[np.float64]:
        """Edges of the voxels along x, `(nx + 1,)`, float64, Å."""
        return self.axis("x").bin_edges

    @property
    def y(self) -> NDArray[np.float64]:
        """Edges of the voxels along y, `(ny + 1,)`, float64, Å."""
        return self.axis("y").bin_edges

    @property
    def z(self) -> NDArray[np.float64]:
        """Edges of the voxels along z, `(nz + 1,)`, float64, Å."""
        return self.axis("z").bin_edges

    @property
    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Edges of the voxels along x, y and z, Å."""
        return self.x, self.y, self.z

    @property
    def origin(self) -> NDArray[np.float64]:
        """Centre of the first voxel, `(3,)`, float64, Å, as OpenDX has it."""
        return np.array([axis["centre"][0] for axis in self.axes])

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the mean density along each of the three axes; into given axes, that along z."""
        from trajet import plots

        if look.band:
            raise ValueError(
                "means over planes of voxels are drawn, which have no intervals: leave band out"
            )
        return plots.projections(self, self.name, self.units, ax, look)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write OpenDX (`.dx`), or as `Table.save`.

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
        """Write the grid; see `Table.save_part`."""
        self.save(path)
        return [path]

    def _write_dx(self, file: IO[bytes]) -> None:
        counts = " ".join(map(str, self.values.shape))
        head = [
            f"# {self.name} of {quoted(self.columns[0])}, {self.units}, written by trajet",
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

    def scalars(self) -> dict[str, object]:
        """Return the mean, and the highest voxel with its centre; see `Table.scalars`."""
        most = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        return {
            "mean": float(self.values.mean()),
            "max": float(self.values.max()),
            "max_at_A": (self.origin + np.array(most) * self.spacing).tolist(),
            "units": self.units,
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the mean and the highest voxel; see `Table.summary`."""
        highest = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        at = self.origin + np.array(highest) * self.spacing
        half = None if self.half_widths is None else self.half_widths[highest]
        columns = (
            names_column("selection", self.columns),
            Column("voxels", [" x ".join(map(str, self.values.shape))]),
            Column("mean", [float(self.values.mean())], ".4g"),
            *with_half_widths(Column("max", [float(self.values.max())], ".4g"), half),
            Column("at (Å)", [", ".join(f"{x:.2f}" for x in at.tolist())]),
        )
        return Summary(self.quantity, columns, 1)
