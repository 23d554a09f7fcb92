"""mdtraj: its readers in blocks, and its analyses."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from cases import Case, MissingError, Truth, expect, expect_values
from numpy.typing import NDArray

from peers.contestant import Contestant

ANGSTROM_PER_NM = 10.0
# Bytes of positions that are read at a time. Its speed does not depend on it from 1 MiB on.
BLOCK = 32 << 20
# The class that reads each format, and Å in its unit of length.
READERS = {
    ".xtc": ("XTCTrajectoryFile", ANGSTROM_PER_NM),
    ".trr": ("TRRTrajectoryFile", ANGSTROM_PER_NM),
    ".dcd": ("DCDTrajectoryFile", 1.0),
    ".nc": ("NetCDFTrajectoryFile", 1.0),
}
# Its RMSF superposes first, and its RDF needs a list of all pairs: they are different tasks.
TASKS = ("read", "rmsd", "dihedrals", "distances")


@contextmanager
def silence() -> Iterator[None]:
    """Suppress output of C code to standard output."""
    library = ctypes.CDLL(None)
    sys.stdout.flush()
    library.fflush(None)
    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            library.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)


class Passes:
    """Reads a trajectory in blocks, with or without an analysis of each."""

    def __init__(self, case: Case, truth: Truth) -> None:
        self.case, self.truth = case, truth
        name, self.angstrom = READERS[case.trajectory.suffix]
        try:
            from mdtraj import formats
        except ModuleNotFoundError as error:
            raise MissingError(f"mdtraj: {error}") from None
        reader: Any = getattr(formats, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NetCDF is read by SciPy, as by MDAnalysis
            with silence():
                self.file = reader(str(case.trajectory))
        wanted, self.quadruples = truth.indices, truth.quadruples
        if self.quadruples is not None:
            wanted, places = np.unique(self.quadruples, return_inverse=True)
            self.quadruples = places.reshape(self.quadruples.shape)
        self.indices = None if len(wanted) == truth.n_atoms else wanted
        n_paired = len(wanted) if case.task == "distances" else 0
        self.pairs = np.stack(np.triu_indices(n_paired, 1), axis=1)

    def seek(self, frame: int) -> None:
        """Go to a frame; for DCD files mdtraj opens the file again, and prints a message."""
        with silence():
            self.file.seek(frame)

    def read(self, n_frames: int) -> NDArray[np.float32]:
        """Read the next frames, in the format's unit of length."""
        positions = self.file.read(n_frames, atom_indices=self.indices)[0]
        # Values of NetCDF come in the byte order of the file.
        native: NDArray[np.float32] = positions.astype(np.float32, copy=False)
        return native

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Read positions block by block."""
        left = self.truth.n_frames
        size = self.truth.block(BLOCK)
        while left > 0:
            positions = self.read(min(size, left))
            if len(positions) == 0:
                return
            left -= len(positions)
            yield positions

    def run(self, keep: list[NDArray[Any]]) -> float:
        """Read all frames; `keep` gets the result of the analysis of each block."""
        import mdtraj as md

        task, frames = self.case.task, 0
        reference = None
        self.seek(0)
        start = perf_counter()
        for positions in self.blocks():
            frames += len(positions)
            if task == "read":
                continue
            block = md.Trajectory(positions, None)
            if task == "rmsd":
                if reference is None:
                    reference = md.Trajectory(positions[:1].copy(), None)
                keep.append(md.rmsd(block, reference, 0, parallel=False, precentered=False))
            elif task == "dihedrals":
                keep.append(md.compute_dihedrals(block, self.quadruples, periodic=False))
            else:
                keep.append(md.compute_distances(block, self.pairs, periodic=False))
        seconds = perf_counter() - start
        expect(frames == self.truth.n_frames, "mdtraj", "numbers of frames")
        return seconds

    def verify(self) -> None:
        """Compare positions, or else the values of the analysis, with MDAnalysis'."""
        if self.case.task != "read":
            parts: list[NDArray[Any]] = []
            self.run(parts)
            expect_values(self.values(np.concatenate(parts)), self.case, self.truth, "mdtraj")
            return
        for frame, expected in zip(self.truth.frames, self.truth.positions, strict=True):
            self.seek(frame)
            close = np.allclose(self.read(1)[0] * self.angstrom, expected, atol=1e-4)
            expect(close, "mdtraj", "positions")

    def values(self, got: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values of an analysis as `peers` describes them."""
        if self.case.task == "dihedrals":
            return np.stack((np.cos(got), np.sin(got)), axis=-1).reshape(len(got), -1)
        return got * self.angstrom


def prepare(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `read` of the format's class in blocks, and the analysis of each with one thread."""
    if case.task not in TASKS:
        return []
    passes = Passes(case, truth)
    return [Contestant("mdtraj", version("mdtraj"), 1, passes.verify, lambda: passes.run([]))]
