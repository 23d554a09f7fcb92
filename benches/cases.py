"""The cases that are timed, and what MDAnalysis finds in them: the truth for every other tool."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BYTES_PER_ATOM = 12
LONGEST_BLOCK = 500


class MismatchError(Exception):
    """A tool did not read what MDAnalysis reads: there is nothing to time."""


class MissingError(Exception):
    """A tool is not installed or not built."""


@dataclass(frozen=True)
class Case:
    """What is read of which file and, with `rmsd`, fitted on frame 0.

    `target` is how many times as fast as MDAnalysis trajet has to be with `target_threads`.
    """

    name: str
    topology: Path
    trajectory: Path
    selection: str | None
    target: float
    rmsd: bool = False
    target_threads: int = 1


@dataclass(frozen=True)
class Truth:
    """What MDAnalysis reads: `positions` of `frames`, float32, (n_frames, n_selected, 3), Å."""

    n_frames: int
    n_atoms: int
    indices: NDArray[np.int64]
    frames: list[int]
    positions: NDArray[np.float32]
    rmsd: NDArray[np.float64] | None

    @property
    def whole(self) -> bool:
        """Whether every atom is selected."""
        return len(self.indices) == self.n_atoms

    @property
    def front(self) -> bool:
        """Whether the selected atoms are the first ones of the file, without a gap."""
        return np.array_equal(self.indices, np.arange(len(self.indices)))

    def block(self, size: int) -> int:
        """Return how many frames of the selected atoms fit into `size` bytes."""
        return min(LONGEST_BLOCK, max(1, size // (BYTES_PER_ATOM * len(self.indices))))


def expect(holds: bool, tool: str, what: str) -> None:
    """Raise `MismatchError` unless `holds`."""
    if not holds:
        raise MismatchError(f"{tool}: {what} differ from MDAnalysis'")


def all_cases(folder: Path, *, quick: bool) -> list[Case]:
    """Return the cases on the files that `trajectories.py` made in `folder`."""
    adk = (folder / "adk.psf", folder / ("adk10.xtc" if quick else "adk100.xtc"))
    solvated = (folder / "adk_oplsaa.gro", folder / f"solvated{'5' if quick else ''}.xtc")
    return [
        Case("adk-all", *adk, None, 3.5),
        Case("adk-calpha", *adk, "name CA", 9.0),
        Case("solvated-all", *solvated, None, 3.5),
        Case("solvated-protein", *solvated, "protein", 20.0),
        Case("adk-rmsd", *adk, "name CA", 20.0, rmsd=True, target_threads=2),
    ]


def open_universe(case: Case) -> Any:
    """Open the case with MDAnalysis; its offsets are built and stored here, outside any clock."""
    import MDAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no cell in ADK's frames, no elements in the PSF
        return MDAnalysis.Universe(str(case.topology), str(case.trajectory))


def open_rmsd(case: Case) -> Any:
    """Return MDAnalysis' RMSD analysis of the case on frame 0, not run yet."""
    from MDAnalysis.analysis import rms

    return rms.RMSD(open_universe(case), select=case.selection or "all")


def find_truth(case: Case) -> Truth:
    """Read the first, middle and last frame with MDAnalysis, and its RMSD where it is wanted."""
    universe = open_universe(case)
    chosen = universe.atoms if case.selection is None else universe.select_atoms(case.selection)
    n_frames = len(universe.trajectory)
    frames = [0, n_frames // 2, n_frames - 1]
    positions = [universe.trajectory[frame].positions[chosen.indices] for frame in frames]
    return Truth(
        n_frames=n_frames,
        n_atoms=len(universe.atoms),
        indices=chosen.indices.astype(np.int64),
        frames=frames,
        positions=np.stack(positions).astype(np.float32),
        rmsd=open_rmsd(case).run().results.rmsd[:, 2] if case.rmsd else None,
    )
