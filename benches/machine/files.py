"""Trajectories for benchmarks, made from the user's trajectory."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from trajet import conversion, trajectory
from trajet.analysis.backbone import backbone_dihedrals
from trajet.output import folder_in
from trajet.pools.shared import in_memory

from machine.setups import MEMORY, Setup


class Files:
    """Trajectory files of setups, created on first use and removed at the end.

    The frames are those of the given trajectory, repeated if it has too few.
    """

    def __init__(
        self, topology: str, given: Sequence[str], select: str, files_of_chain: int, place: Path
    ) -> None:
        """Set the given trajectory; files are created in folders in `place`."""
        self._topology, self._given, self._select = topology, given, select
        self._files_of_chain, self._place = files_of_chain, place
        self._kept, self._made = ExitStack(), dict[tuple[str, str, int, int], list[Path]]()

    def __enter__(self) -> Self:
        """Return self; no file is created yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the files."""
        self._kept.close()

    def of(self, setup: Setup) -> list[Path]:
        """Return the files of a setup."""
        n_files = setup.n_files(self._files_of_chain)
        where = MEMORY if setup.access == MEMORY else ""
        key = (setup.format, where, setup.frames, n_files)
        if key not in self._made:
            place = in_memory() if where else self._place
            folder = self._kept.enter_context(folder_in(place))
            self._made[key] = self._make(setup, folder, n_files)
        return self._made[key]

    def atoms_of(self, setup: Setup) -> NDArray[np.int64]:
        """Return the atom indices of a task, `(n,)`, or `(n, 4)` for dihedral angles."""
        if setup.access == MEMORY:
            return np.arange(len(self._chosen))
        if setup.task == "dihedrals":
            protein = self._opened.select("protein").topology_atoms
            return backbone_dihedrals(protein, "protein", []).fours
        return self._chosen

    @cached_property
    def _opened(self) -> trajectory.Trajectory:
        return trajectory.open(self._topology, *self._given)

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        return self._opened.select(self._select).indices

    def _make(self, setup: Setup, folder: Path, n_files: int) -> list[Path]:
        # Repeat the trajectory until it has enough frames.
        again = -(-setup.frames // max(1, self._opened.n_frames))
        source = trajectory.open(None, *(list(self._given) * again))
        chosen = source.select(self._chosen) if setup.access == MEMORY else source
        whole, frames = folder / f"run.{setup.format}", slice(0, setup.frames)
        if setup.format == "h5md":
            # H5MD allows no decreasing steps; DCD numbers the frames instead.
            counted = folder / "counted.dcd"
            conversion.convert(chosen, counted, frames=frames, allow_loss=True)
            conversion.convert(trajectory.open(None, counted), whole, allow_loss=True)
            counted.unlink()
        else:
            conversion.convert(chosen, whole, frames=frames, allow_loss=True)
        if n_files == 1:
            return [whole]
        parts = folder / "parts"
        made = conversion.split(
            trajectory.open(None, whole), parts, segments=n_files, allow_loss=True
        )
        whole.unlink()
        return [part.path for part in made]


def drop(paths: Sequence[Path]) -> None:
    """Drop the pages of files from the system's page cache."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
