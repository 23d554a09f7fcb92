"""Clusters of frames."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import OutputError
from trajet.result.columns import Part, count_of_frames, names_column
from trajet.result.pairwise import PairwiseRmsd
from trajet.result.summary import Column, Summary
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
    "clusters" has size and medoid of each. A slice has the numbers of its frames and sizes that are
    counted from them; numbers of clusters and medoids stay those of all frames.

    NPZ files hold all but `pairs` and `selection`. CSV files have the columns frame, time_ps and
    cluster.

    Attributes
    ----------
    method
        How frames were divided.
    pairs
        The RMSDs of all pairs of frames; None if the result was loaded.
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
        "medoids": Part("a PDB file of the medoid of each cluster", ())
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        clusters = self.parts.get("clusters")
        if clusters is None or "medoid" not in clusters.also or clusters.values.ndim != 1:
            raise ValueError("clusters have no sizes or medoids")
        sizes = clusters.values
        if len(self) and not 0 <= self.values.min() <= self.values.max() < len(sizes):
            raise ValueError(f"numbers of clusters are none of {len(sizes)}")
        if not np.array_equal(np.bincount(self.values, minlength=len(sizes)), sizes):
            raise ValueError("sizes are not those of the clusters")

    @property
    def labels(self) -> NDArray[np.int64]:
        """The number of the cluster of each frame, `(n_frames,)`, int64, from 0."""
        return self.values

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of frames of each cluster, `(n_clusters,)`, int64."""
        return self.parts["clusters"].values.astype(np.int64)

    @property
    def medoids(self) -> NDArray[np.int64]:
        """The frame of each cluster with the least mean RMSD from the others, `(n_clusters,)`."""
        return self.parts["clusters"].also["medoid"].astype(np.int64, copy=False)

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
        return [
            atoms[frame].save(folder / f"cluster{number}.pdb", force=force)
            for number, frame in enumerate(frames)
        ]

    def save_part(self, name: str, path: Path) -> list[Path]:
        """Write the medoids into a folder, which is made if need be; see `Table.save_part`."""
        path.mkdir(parents=True, exist_ok=True)
        return self.save_medoids(path, force=True)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the cluster of each frame against time."""
        from trajet import plots

        return plots.clusters(self, self.labels, len(self.sizes), ax, look)

    def scalars(self) -> dict[str, object]:
        """Return number, sizes and medoids of the clusters; see `Table.scalars`."""
        return {
            "n_clusters": len(self.sizes),
            "sizes": self.sizes.tolist(),
            "medoids": self.medoids.tolist(),
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return size and medoid of each cluster; see `Table.summary`."""
        count, sizes = len(self.sizes), self.sizes[:limit]
        columns = (
            names_column("cluster", map(str, range(len(sizes)))),
            Column("frames", sizes),
            Column("share (%)", 100 * sizes / max(1, len(self.labels)), ".1f"),
            Column("medoid (frame)", self.medoids[:limit]),
        )
        title = f"{count} cluster{'' if count == 1 else 's'}, {self.method},"
        return Summary(title, columns, count)

    def _about(self) -> str:
        largest = f", the largest of {self.sizes.max()}" if len(self.sizes) else ""
        return f"{len(self.sizes)} of {count_of_frames(self.frames)}, {self.method}{largest}"

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "Clusters":
        values, clusters = self.values[chosen], self.parts["clusters"]
        sizes = np.bincount(values, minlength=len(clusters)).astype(np.float64)
        parts = {"clusters": replace(clusters, values=sizes)}
        return replace(self, values=values, axes=(self.axes[0].some(chosen),), parts=parts)
