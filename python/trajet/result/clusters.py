"""Clusters of frames."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import OutputError
from trajet.result.columns import Part, count_of_frames, names_column
from trajet.result.pairwise import PairwiseRmsd
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


class SavedFrame(Protocol):
    """A frame that can be saved as a structure file; see `trajet.Frame`."""

    def save(self, path: Path, *, force: bool = False) -> Path:
        """Write the atoms to a structure file."""


class SavedAtoms(Protocol):
    """Atoms whose frames can be saved; see `trajet.Selection`."""

    def __getitem__(self, number: int, /) -> SavedFrame: ...


@dataclass(frozen=True, repr=False)
class Clusters(Table):
    """Clusters of frames, the largest first.

    `values` are `(n_frames,)`, int64, the number of the cluster of each frame, from 0. The part
    "clusters" has population, size and medoid of each. A slice has the numbers of its frames, and
    populations and sizes that are counted from them, without errors; numbers of clusters, medoids,
    centres and radii stay those of all frames.

    NPZ files hold all but `pairs` and `selection`. CSV files have the columns frame, time_ps and
    cluster.

    Attributes
    ----------
    method
        How frames were divided.
    pairs
        The RMSDs of all pairs of frames; None if the result was loaded, or the method has none.
    selection
        The selection; None if the clusters are those of a matrix, or were loaded.
    """

    values: NDArray[np.int64]  # type: ignore[assignment]
    method: str = ""
    # A result of its own, which may be large.
    pairs: PairwiseRmsd | None = field(default=None, metadata={"is_saved": False})
    selection: SavedAtoms | None = field(default=None, compare=False, metadata={"is_saved": False})

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)
    TABLES: ClassVar[tuple[str, ...]] = ("clusters",)
    HAS_SERIES: ClassVar[bool] = False
    _HAS_MEAN: ClassVar[bool] = False
    _HAS_TIMES: ClassVar[bool] = False
    PARTS: ClassVar[Mapping[str, Part]] = {
        "clusters": Part("population with its error, size and medoid of each cluster")
    }
    TABLE_PART: ClassVar[str | None] = "clusters"

    def __post_init__(self) -> None:
        super().__post_init__()
        clusters = self.parts.get("clusters")
        if clusters is None or not {"frames", "medoid"} <= {*clusters.also}:
            raise ValueError("clusters have no sizes or medoids")
        sizes = self.sizes
        if len(self) and not 0 <= self.values.min() <= self.values.max() < len(sizes):
            raise ValueError(f"numbers of clusters are none of {len(sizes)}")
        if not np.array_equal(np.bincount(self.values, minlength=len(sizes)), sizes):
            raise ValueError("sizes are not those of the clusters")

    @property
    def labels(self) -> NDArray[np.int64]:
        """The number of the cluster of each frame, `(n_frames,)`, int64, from 0."""
        return self.values

    @property
    def clusters(self) -> Table:
        """The shares of frames of each cluster, with their errors, and further columns.

        `also` has "frames" and "medoid", and "center" and "radius" if the method has centres.
        """
        return self.parts["clusters"]

    @property
    def populations(self) -> NDArray[np.float64]:
        """Share of the frames in each cluster, `(n_clusters,)`, float64."""
        return self.clusters.values

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of frames of each cluster, `(n_clusters,)`, int64."""
        return self._of_clusters("frames")

    @property
    def medoids(self) -> NDArray[np.int64]:
        """The frame that represents each cluster, `(n_clusters,)`, int64.

        That with the least mean RMSD from the others; of methods with centres, the nearest to the
        mean structure.
        """
        return self._of_clusters("medoid")

    @property
    def centers(self) -> NDArray[np.int64]:
        """The frame that is the centre of each cluster, `(n_clusters,)`, int64.

        Raises
        ------
        AttributeError
            If the method has no centres.
        """
        return self._of_clusters("center")

    @property
    def radii(self) -> NDArray[np.float64]:
        """Largest distance of a frame from the centre of its cluster, `(n_clusters,)`, Å.

        Raises
        ------
        AttributeError
            If the method has no centres.
        """
        _ = self.centers
        return self.clusters.also["radius"].astype(np.float64, copy=False)

    def _of_clusters(self, name: str) -> NDArray[np.int64]:
        """Return a column of the clusters that holds numbers of frames."""
        if name not in self.clusters.also:
            raise AttributeError(f"method {self.method!r} has no centres", name=name, obj=self)
        return self.clusters.also[name].astype(np.int64, copy=False)

    def save_medoids(
        self,
        folder: str | os.PathLike[str],
        *,
        count: int | None = None,
        selection: SavedAtoms | None = None,
        force: bool = False,
    ) -> list[Path]:
        """Write the medoids to PDB files `cluster0.pdb`, `cluster1.pdb`, … in a folder.

        Parameters
        ----------
        folder
            An existing folder.
        count
            Number of clusters to write, the largest first; None for all.
        selection
            The atoms to write; None for those that were compared.
        force
            Replace existing files.

        Returns
        -------
        list of Path
            The paths.

        Raises
        ------
        OutputError
            If there is no such folder, or a file exists or cannot be written.
        ValueError
            If the clusters are those of a matrix, and no selection is given.
        SelectionError
            If the trajectory was opened without a topology.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise OutputError(f"{folder}: there is no such folder: create it first")
        atoms = self.selection if selection is None else selection
        if atoms is None:
            raise ValueError("the atoms of these clusters are unknown: give selection=")
        frames = self.medoids[:count].tolist()
        paths = [folder / f"cluster{number}.pdb" for number in range(len(frames))]
        for path in paths if not force else ():
            output.check_new(path)
        # They get their names when all are complete.
        with ExitStack() as unfinished:
            beside = [unfinished.enter_context(output.replacing_file(path)) for path in paths]
            for own, frame in zip(beside, frames, strict=True):
                atoms[frame].save(own, force=True)
        return paths

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the cluster of each frame against time, and populations beside."""
        from trajet import plots

        known = self.clusters.half_widths is not None and look.band is not False
        look = replace(look, must_have_intervals=known)
        return plots.clusters(self, self.labels, self.clusters, ax, look)

    def scalars(self) -> dict[str, object]:
        """Return number, sizes and medoids of the clusters; see `Table.scalars`."""
        return {
            "n_clusters": len(self.sizes),
            "sizes": self.sizes.tolist(),
            "medoids": self.medoids.tolist(),
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return size and medoid of each cluster; see `Table.summary`."""
        count, sizes, halves = len(self.sizes), self.sizes[:limit], self.clusters.half_widths
        shares = Column("share (%)", 100 * self.populations[:limit], ".1f")
        columns = [
            names_column("cluster", map(str, range(len(sizes)))),
            Column("frames", sizes),
            *with_half_widths(shares, None if halves is None else 100 * halves),
            Column("medoid (frame)", self.medoids[:limit]),
        ]
        if "radius" in self.clusters.also:
            columns.append(Column("radius (Å)", self.radii[:limit], ".2f"))
        title = f"{count} cluster{'' if count == 1 else 's'}, {self.method}"
        return Summary(title, tuple(columns), count)

    def _about(self) -> str:
        largest = f", the largest of {self.sizes.max()}" if len(self.sizes) else ""
        return f"{len(self.sizes)} of {count_of_frames(self.frames)}, {self.method}{largest}"

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "Clusters":
        values, clusters = self.values[chosen], self.clusters
        sizes = np.bincount(values, minlength=len(clusters))
        some = replace(
            clusters,
            values=sizes / max(1, len(values)),
            standard_errors=None,
            half_widths=None,
            resolved=None,
            also={**clusters.also, "frames": sizes},
        )
        axes = (self.axes[0].some(chosen),)
        return replace(self, values=values, axes=axes, parts={"clusters": some})
