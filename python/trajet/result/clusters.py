"""Clusters of frames."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import OutputError
from trajet.result.pairwise import PairwiseRmsd
from trajet.result.report import Report
from trajet.result.result import (
    Columns,
    Part,
    Result,
    count_of_frames,
    names_column,
    time_columns,
)
from trajet.result.summary import Column, Summary

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

    def __getitem__(self, number: int, /) -> SavedFrame:
        """Return a frame."""


@dataclass(frozen=True, repr=False)
class Clusters(Result):
    """Clusters of frames, the largest first.

    A slice has the labels and sizes of its frames; numbers of clusters and medoids stay those of
    all frames.

    NPZ files hold all but `pairs` and `selection`. CSV files have the columns frame, time_ps and
    cluster.

    Attributes
    ----------
    labels
        `(n_frames,)`, int64, the number of the cluster of each frame, from 0.
    sizes
        `(n_clusters,)`, int64, how many frames each cluster has.
    medoids
        `(n_clusters,)`, int64, number of the frame with the least mean RMSD from the others of its
        cluster.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    method
        How frames were divided.
    pairs
        The RMSDs of all pairs of frames; None if the result was loaded.
    selection
        The selection; None if the clusters are those of a matrix, or were loaded.
    label
        The selection, as text.
    report
        Timings and counters of the run.
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    medoids: NDArray[np.int64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    method: str
    pairs: PairwiseRmsd | None
    selection: SavedAtoms | None = field(compare=False)
    label: str
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("labels", "times", "frames")
    _HAS_MEAN: ClassVar[bool] = False
    PARTS: ClassVar[Mapping[str, Part]] = {
        "medoids": Part("a PDB file of the medoid of each cluster", ())
    }

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
        """Write the medoids into a folder, which is made if need be; see `Result.save_part`."""
        path.mkdir(parents=True, exist_ok=True)
        return self.save_medoids(path, force=True)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the cluster of each frame against time, and the sizes of the clusters."""
        from trajet import plots

        return plots.clusters(
            self.labels,
            self.sizes,
            self.times,
            self.frames,
            title=f"clusters of {self.label}, {self.method}",
            ax=ax,
            look=look,
        )

    def scalars(self) -> dict[str, object]:
        """Return number, sizes and medoids of the clusters; see `Result.scalars`."""
        return {
            "n_clusters": len(self.sizes),
            "sizes": self.sizes.tolist(),
            "medoids": self.medoids.tolist(),
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return size and medoid of each cluster; see `Result.summary`."""
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
        # Sizes are those of the chosen frames; clusters keep their numbers and medoids.
        some = super()._of_rows(chosen)
        return replace(some, sizes=np.bincount(some.labels, minlength=len(self.sizes)))

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        # The matrix is a result of its own, and may be large.
        return super(Clusters, replace(self, pairs=None, selection=None))._arrays()

    def _table(self) -> Columns:
        return [*time_columns(self.times, self.frames, self.report), ("cluster", self.labels)]
