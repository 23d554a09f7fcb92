"""Principal components of positions."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import SelectionError
from trajet.quoting import quoted
from trajet.result.columns import Part, count_of_frames, names_column
from trajet.result.summary import Column, Summary
from trajet.result.table import Table
from trajet.structure_output import write_models
from trajet.topology import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

# Structures along the first component that a command writes.
_MODELS = 20


@dataclass(frozen=True, repr=False)
class PrincipalComponents(Table):
    """Principal components of the positions of atoms, and the projections of all frames.

    `values` are `(n_frames, n_components)`, float64, Å: coordinates along the components. The parts
    are "variances", "components" and "mean".

    Its plot has the projections on the first two components: points that are coloured by time, or
    of more than 2000 frames the number of frames in squares. Shares of the variance are beside it.

    NPZ files hold all but `topology_atoms`. CSV files have the columns frame, time_ps and one
    column of projections per component, `projection_A:1` of the first.

    Attributes
    ----------
    topology_atoms
        The atoms with their columns in the topology; None without a topology, or if the result was
        loaded.
    """

    topology_atoms: Atoms | None = field(default=None, metadata={"is_saved": False})

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "components"),)
    TABLES: ClassVar[tuple[str, ...]] = ("variances", "components", "mean")
    HAS_SERIES: ClassVar[bool] = False
    _HAS_TIMES: ClassVar[bool] = False
    PARTS: ClassVar[Mapping[str, Part]] = {
        "extremes": Part(f"{_MODELS} structures along the first component", (".pdb",)),
        "modes": Part("components as modes, for NMWiz of VMD and ProDy", (".nmd",)),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        shapes = [self.parts[name].values.shape for name in self.TABLES if name in self.parts]
        (n_all,), (n, *structure), mean = shapes if len(shapes) == 3 else ((0,), (0,), ())
        if n != self.values.shape[1] or n > n_all or tuple(structure) != mean:
            raise ValueError(f"{self.TABLES} have the shapes {shapes}")

    @property
    def projections(self) -> NDArray[np.float64]:
        """Coordinates along the components, `(n_frames, n_components)`, float64, Å."""
        projections: NDArray[np.float64] = self.values
        return projections

    @property
    def variances(self) -> NDArray[np.float64]:
        """Variances of all components, in descending order, `(n,)`, float64, Å²."""
        variances: NDArray[np.float64] = self.parts["variances"].values
        return variances

    @property
    def components(self) -> NDArray[np.float64]:
        """The directions, each of length 1, `(n_components, n_atoms, 3)`, float64."""
        components: NDArray[np.float64] = self.parts["components"].values
        return components

    @property
    def mean(self) -> NDArray[np.float64]:
        """The average structure, `(n_atoms, 3)`, float64, Å."""
        mean: NDArray[np.float64] = self.parts["mean"].values
        return mean

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices of the atoms in the topology, `(n_atoms,)`, int64."""
        return self.parts["mean"].atoms

    @property
    def cumulated(self) -> NDArray[np.float64]:
        """Share of the total variance in each component and those before it, `(n,)`."""
        shares: NDArray[np.float64] = np.cumsum(self.variances) / self.variances.sum()
        return shares

    def cosine_content(self) -> NDArray[np.float64]:
        """Return the cosine content of the projections on each component.

        Returns
        -------
        ndarray, shape (n_components,), float64
            From 0 to 1. Component i is compared with a cosine of i + 1 half periods over the
            frames, in their order. A value near 1 is typical of random diffusion, so the component
            may not be a motion of the molecule.

        Notes
        -----
        B. Hess, Phys. Rev. E 62, 8438 (2000), doi:10.1103/PhysRevE.62.8438. Integrals are sums over
        frames, each at the middle of its interval. MDAnalysis integrates by Simpson's rule with
        each frame at the begin of its interval.
        """
        n, count = self.projections.shape
        middles = (np.arange(n) + 0.5) / n
        cosines = np.cos(np.pi * np.arange(1, count + 1) * middles[:, None])
        overlaps = (cosines * self.projections).sum(axis=0)
        squares = (self.projections**2).sum(axis=0)
        content: NDArray[np.float64] = 2 / n * overlaps**2 / squares
        return content

    def extremes(self, component: int = 0, n_structures: int = 2) -> NDArray[np.float64]:
        """Return structures along a component, from the least projection to the largest.

        Parameters
        ----------
        component
            Number of the component, from 0.
        n_structures
            How many, in equal steps.

        Returns
        -------
        ndarray, shape (n_structures, n_atoms, 3), float64
            Å: the average structure, moved along the component.

        Raises
        ------
        IndexError
            If there is no such component.
        ValueError
            If there are fewer than two structures.
        """
        self._check_component(component)
        if n_structures < 2:
            raise ValueError(f"n_structures is 2 or more, not {n_structures!r}")
        column = self.projections[:, component]
        along = np.linspace(column.min(), column.max(), n_structures)
        moved: NDArray[np.float64] = self.mean + along[:, None, None] * self.components[component]
        return moved

    def save_extremes(
        self, path: str | os.PathLike[str], component: int = 0, n_structures: int = 2
    ) -> Path:
        """Write structures along a component to a PDB file, as models; see `extremes`.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ValueError
            If the name does not end in `.pdb`.
        OutputError
            If the file cannot be written.
        SelectionError
            If the trajectory was opened without a topology.
        """
        path = Path(path)
        output.check(path, (".pdb",))
        if self.topology_atoms is None:
            raise SelectionError(
                f"{path}: a structure file needs a topology: open the trajectory with one"
            )
        models = self.extremes(component, n_structures).astype(np.float32)
        with output.replacing_file(path) as own:
            write_models(own, self.topology_atoms, models)
        return path

    def save_modes(self, path: str | os.PathLike[str]) -> Path:
        """Write the components to an NMD file, which NMWiz of VMD and ProDy read.

        It has the average structure and each component with its standard deviation (Å) as scale. B
        factors are those of the components in the file, 8π²/3 ⟨Δr²⟩ (Å²).

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ValueError
            If the name does not end in `.nmd`.
        OutputError
            If the file cannot be written.
        """
        from trajet.result.modes import lines_of_modes

        path = Path(path)
        output.check(path, (".nmd",))
        variances = self.variances[: len(self.components)]
        of_mean = self.parts["mean"]
        lines = lines_of_modes(path.stem, of_mean.axes[0], self.mean, variances, self.components)
        text = "".join(f"{line}\n" for line in lines)
        output.write(path, lambda file: file.write(text.encode(errors="backslashreplace")))
        return path

    def save_part(self, name: str, path: Path) -> list[Path]:
        """Write structures along the first component, or the modes; see `Table.save_part`."""
        if name == "modes":
            return [self.save_modes(path)]
        return [self.save_extremes(path, n_structures=_MODELS)]

    def porcupine(
        self, component: int = 0, *, scale: float = 2.0, ax: "Axes | None" = None
    ) -> "Figure | Axes":
        """Draw a component as arrows on the average structure.

        Atoms named CA are drawn, if there are any, otherwise all; a line joins those of residues
        that follow each other. They are seen along the direction in which they spread least.

        Parameters
        ----------
        component
            Number of the component, from 0.
        scale
            Length of the arrows, in standard deviations along the component. Colours are the
            displacement by one standard deviation, also along the line of sight.
        ax
            Axes to draw into; None for a figure of its own.

        Raises
        ------
        IndexError
            If there is no such component.
        """
        from trajet import plots

        self._check_component(component)
        axis = self.parts["mean"].axes[0]
        names = axis.get("name")
        chosen = np.full(len(axis), True) if names is None else names == "CA"
        chosen |= not chosen.any()
        some = axis.some(chosen)
        begins = np.zeros(len(some), np.bool_)
        if "chain" in some.columns:
            begins[1:] |= some["chain"][1:] != some["chain"][:-1]
        if "resid" in some.columns:
            # Numbers fall where a chain begins that has no name.
            begins[1:] |= ~np.isin(np.diff(some["resid"].astype(np.int64)), (0, 1))
        moved = self.components[component] * np.sqrt(self.variances[component])
        share = 100 * self.variances[component] / self.variances.sum()
        look = plots.Look(title=f"component {component + 1}, {share:.1f} %, arrows of {scale:g} σ")
        atoms = self.mean[chosen], moved[chosen]
        return plots.for_user(
            lambda: plots.porcupine(*atoms, scale, np.flatnonzero(begins), ax, look), ax, None
        )

    def _check_component(self, component: int) -> None:
        """Raise an IndexError if there is no such component."""
        if not 0 <= component < len(self.components):
            raise IndexError(
                f"component {component} of {len(self.components)}: they count from 0, and more are"
                " computed with n_components"
            )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the projections on the first two components, coloured by time."""
        from trajet import plots

        return plots.components(self, self.variances, ax, look)

    def scalars(self) -> dict[str, object]:
        """Return the total variance, and how many components there are; see `Table.scalars`."""
        return {
            "total_variance_A2": float(self.variances.sum()),
            "n_components": len(self.components),
            "n_components_in_all": len(self.variances),
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return variance and cosine content of each component; see `Table.summary`."""
        count = len(self.components)
        variances = self.variances[:count]
        columns = (
            names_column("component", map(str, range(1, count + 1))),
            Column("variance (Å²)", variances, ".3f"),
            Column("share (%)", 100 * variances / self.variances.sum(), ".1f"),
            Column("cumulated (%)", 100 * self.cumulated[:count], ".1f"),
            Column("cosine content", self.cosine_content(), ".3f"),
        )
        return Summary("principal components", columns, count)

    def _about(self) -> str:
        share = self.cumulated[len(self.components) - 1]
        return (
            f"{len(self.components)} components of {quoted(self.selections[0])},"
            f" {count_of_frames(self.frames)},"
            f" {100 * share:.1f} % of {self.variances.sum():.4g} Å²"
        )
