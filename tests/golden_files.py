"""The XTC files that MDAnalysisTests ships, and MDAnalysis' reading of them as the truth."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import MDAnalysisTests
import numpy as np
from MDAnalysis.coordinates.XTC import XTCReader

DATA = Path(MDAnalysisTests.__file__).parent / "data"


def _distinct_xtc() -> dict[str, Path]:
    """Every XTC file of the package, once per content."""
    found: dict[str, Path] = {}
    seen = set()
    for path in sorted(DATA.rglob("*.xtc")):
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            assert path.name not in found, f"two different files are called {path.name}"
            found[path.name] = path
    return found


XTC_FILES = _distinct_xtc()


@dataclass(frozen=True)
class Truth:
    """What MDAnalysis reads from a file: Å, ps, degrees."""

    positions: np.ndarray
    times: np.ndarray
    steps: np.ndarray
    cells: np.ndarray

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self.positions.shape[0]

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return self.positions.shape[1]


@dataclass(frozen=True)
class Golden:
    """A file of MDAnalysisTests, and MDAnalysis' reading of it."""

    name: str
    source: Path
    truth: Truth

    def copy(self, folder: Path) -> Path:
        """Make a fresh copy to open."""
        return Path(shutil.copy(self.source, folder / self.name))


@dataclass(frozen=True)
class Adk:
    """Adenylate kinase: 3341 atoms, 98 frames, no cell."""

    psf: Path
    xtc: Path


def read_with_mdanalysis(path: Path, folder: Path) -> Truth:
    """Read every frame with MDAnalysis, from a copy in `folder` (it writes offsets beside it)."""
    copy = Path(shutil.copy(path, folder / f"for-mdanalysis-{path.name}"))
    positions, times, steps, cells = [], [], [], []
    reader = XTCReader(str(copy), refresh_offsets=True)
    try:
        for ts in reader:
            positions.append(ts.positions.copy())
            times.append(ts.time)
            steps.append(ts.data["step"])
            cells.append(np.full(6, np.nan) if ts.dimensions is None else ts.dimensions.copy())
    finally:
        reader.close()
    return Truth(
        np.array(positions, np.float32),
        np.array(times, np.float64),
        np.array(steps, np.int64),
        np.array(cells, np.float64),
    )
