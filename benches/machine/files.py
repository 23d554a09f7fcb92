"""Trajectories for benchmarks: made from the user's trajectory, and of empty tasks."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray
from trajet import conversion, trajectory
from trajet.analysis.backbone import backbone_dihedrals
from trajet.output import folder_in
from trajet.pools.shared import in_memory

from machine.setups import MEMORY, Setup

# Frames of empty tasks. With so many atoms (192 kB) a leaf holds one frame: each can be a task.
_EMPTY_FRAMES, _EMPTY_ATOMS = 64, 16_000


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

    def __exit__(self, *_: object) -> None:
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


def empty_frames(n_tasks: int) -> NDArray[np.int64]:
    """Return the frame numbers of `n_tasks` empty tasks, which repeat the frames."""
    return np.arange(n_tasks, dtype=np.int64) % _EMPTY_FRAMES


def write_empty(path: Path) -> None:
    """Write the frames of empty tasks, as DCD."""
    with path.open("w+b") as file:
        axes, _ = create_dcd(file, _EMPTY_FRAMES, _EMPTY_ATOMS)
        axes[:] = np.random.default_rng(0).uniform(0, 50, axes.shape)


def create_dcd(
    file: IO[bytes], n_frames: int, n_atoms: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Create a DCD file whose coordinates and cells are zeros; return both, mapped.

    Coordinates are `(n_frames, 3, n_atoms)`, float32, Å; cells `(n_frames, 6)`, float64: a, γ, b,
    β, α, c (Å, degrees), zeros for no cell. Without room for the file, an `OSError` is raised.
    """

    def record(*values: bytes) -> bytes:
        body = b"".join(values)
        length = np.int32(len(body)).tobytes()
        return length + body + length

    def words(*values: int) -> bytes:
        return np.array(values, "<i4").tobytes()

    step = np.float32(1).tobytes()
    head = words(n_frames, 0, 1, n_frames, *[0] * 5)
    header = record(b"CORD", head, step, words(1, *[0] * 8, 24))
    title = record(words(1), b"bench".ljust(80))
    file.write(header + title + record(words(n_atoms)))
    file.flush()
    begin = file.tell()
    frame = np.dtype([("cell", _record("<f8", 6)), ("axes", _record("<f4", n_atoms), (3,))])
    # A write to mapped memory cannot report that the disk is full.
    os.posix_fallocate(file.fileno(), begin, n_frames * frame.itemsize)
    frames: np.ndarray = np.memmap(file, frame, "r+", begin, (n_frames,))
    for name, size in (("cell", 48), ("axes", 4 * n_atoms)):
        frames[name]["begin"] = frames[name]["end"] = size
    return frames["axes"]["values"], frames["cell"]["values"]


def _record(kind: str, count: int) -> np.dtype:
    """Return the dtype of a Fortran record: numbers between two markers of its length."""
    return np.dtype([("begin", "<i4"), ("values", kind, (count,)), ("end", "<i4")])
