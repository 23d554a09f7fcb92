"""The tools that are compared: how each reads a case, and the proof that it read the same atoms.

Each function named after a tool prepares it for one case, with files open and indexes built, and
returns its `Contestant`s: `verify` compares what the tool reads with MDAnalysis, `once` goes
through the whole trajectory and returns the seconds that only this took.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cases import Case, MissingError, Truth, expect, open_rmsd, open_universe

MOLLY = Path(__file__).resolve().parent / "molly" / "target" / "release" / "trajet-bench-molly"
MOLLY_PATHS = ("bufreader", "scratch", "buffered")
ANGSTROM_PER_NM = 10.0
# XTC's usual precision, 1000 per nm: positions in Å times this are whole numbers.
STEPS_PER_ANGSTROM = 100.0
# Bytes of positions that are read in one go. mdtraj's speed does not depend on it from 1 MiB on.
MDTRAJ_BLOCK = 32 << 20
TRAJET_BLOCK = 4 << 20


@dataclass(frozen=True)
class Contestant:
    """One tool, ready for one case; `isa` where the tool says which one it uses."""

    tool: str
    version: str
    threads: int
    verify: Callable[[], None]
    once: Callable[[], float]
    isa: str | None = None
    note: str = ""


def mdanalysis(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `for ts in trajectory`, or `RMSD(...).run()` with its serial backend."""
    indices = truth.indices
    trajectory = open_universe(case).trajectory
    analysis = open_rmsd(case) if case.rmsd else None

    def read() -> float:
        atoms = 0
        start = perf_counter()
        if truth.whole:
            for ts in trajectory:
                atoms += len(ts.positions)
        else:
            for ts in trajectory:
                atoms += len(ts.positions[indices])
        seconds = perf_counter() - start
        expect(atoms == truth.n_frames * len(indices), "MDAnalysis", "numbers of atoms")
        return seconds

    def fit() -> float:
        assert analysis is not None
        start = perf_counter()
        analysis.run()
        return perf_counter() - start

    once = fit if case.rmsd else read
    return [Contestant("MDAnalysis", version("MDAnalysis"), 1, lambda: None, once)]


def mdtraj(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `XTCTrajectoryFile.read` in blocks, and `mdtraj.rmsd` of each with one thread."""
    try:
        import mdtraj as md
        from mdtraj.formats import XTCTrajectoryFile
    except ModuleNotFoundError as error:
        raise MissingError(f"mdtraj: {error}") from None
    indices = None if truth.whole else truth.indices
    size = truth.block(MDTRAJ_BLOCK)

    def run(keep: list[Any]) -> float:
        """Read all blocks; `keep` gets the RMSD values of each, Å, where these are wanted."""
        reference = None
        frames = 0
        with XTCTrajectoryFile(str(case.trajectory)) as file:
            start = perf_counter()
            while True:
                block = file.read(n_frames=size, atom_indices=indices)[0]
                frames += len(block)
                if case.rmsd and len(block):
                    if reference is None:
                        reference = md.Trajectory(block[:1].copy(), None)
                    part = md.Trajectory(block, None)
                    values = md.rmsd(part, reference, 0, parallel=False, precentered=False)
                    keep.append(values * ANGSTROM_PER_NM)
                if len(block) < size:
                    break
            seconds = perf_counter() - start
        expect(frames == truth.n_frames, "mdtraj", "numbers of frames")
        return seconds

    def verify() -> None:
        with XTCTrajectoryFile(str(case.trajectory)) as file:
            for frame, positions in zip(truth.frames, truth.positions, strict=True):
                file.seek(frame)
                read = file.read(n_frames=1, atom_indices=indices)[0][0] * ANGSTROM_PER_NM
                expect(np.allclose(read, positions, atol=1e-4), "mdtraj", "positions")
        if truth.rmsd is not None:
            parts: list[Any] = []
            run(parts)
            values = np.concatenate(parts)
            expect(np.allclose(values, truth.rmsd, atol=1e-3), "mdtraj", "RMSD values")

    return [Contestant("mdtraj", version("mdtraj"), 1, verify, lambda: run([]))]


def molly(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare the program in `molly/`, on the fastest of its three paths; it has no RMSD."""
    if case.rmsd:
        return []
    if not MOLLY.exists():
        raise MissingError("molly: not built (cargo build --release in benches/molly)")
    count = len(truth.indices)
    mode = ["mask", "-"]
    if truth.whole:
        mode = ["all"]
    elif truth.front:
        mode = ["until", str(count)]
    listed = " ".join(map(str, truth.indices))

    def run(path: str, repeat: int) -> dict[str, Any]:
        command = [str(MOLLY), "--path", path, "--repeat", str(repeat), str(case.trajectory), *mode]
        done = subprocess.run(command, check=True, input=listed, capture_output=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    first = {path: run(path, 1) for path in MOLLY_PATHS}
    fastest = min(first, key=lambda path: float(first[path]["best_s"]))

    def verify() -> None:
        steps = np.rint(truth.positions[-1].astype(np.float64) * STEPS_PER_ANGSTROM).ravel()
        checksum = int(steps.astype(np.int64) @ np.arange(1, steps.size + 1))
        for result in first.values():
            expect(result["frames"] == truth.n_frames, "molly", "numbers of frames")
            expect(result["atoms"] == count, "molly", "numbers of atoms")
            expect(result["last_checksum"] == checksum, "molly", "positions")

    def once() -> float:
        return float(run(fastest, 1)["best_s"])

    note = f"molly: its path `{fastest}`, the fastest of {len(first)} here"
    return [Contestant("molly", str(first[fastest]["version"]), 1, verify, once, note=note)]


def trajet(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `blocks` of the selection, or `trajet.rmsd` with one thread and with two."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import trajet as tj
        except ModuleNotFoundError as error:
            raise MissingError(f"trajet: {error}") from None
    if any("debug" in str(warning.message) for warning in caught):
        raise MissingError("trajet: a debug build, which nobody should time")
    traj = tj.open(str(case.topology), str(case.trajectory))
    chosen = traj if case.selection is None else traj.select(case.selection)
    size = truth.block(TRAJET_BLOCK)
    few = traj.select(truth.indices[:10].tolist())
    isa = str(tj.rmsd(few, frames=slice(0, 1)).report["instruction_set"])

    def read() -> float:
        frames = 0
        start = perf_counter()
        for block in chosen.blocks(size):
            frames += len(block.positions)
        seconds = perf_counter() - start
        expect(frames == truth.n_frames, "trajet", "numbers of frames")
        return seconds

    def verify() -> None:
        positions = chosen.read(frames=truth.frames).positions
        expect(np.array_equal(positions, truth.positions), "trajet", "positions")

    if not case.rmsd:
        return [Contestant("trajet", version("trajet"), 1, verify, read, isa)]

    def with_threads(threads: int) -> Contestant:
        def fit() -> Any:
            return tj.rmsd(chosen, pool=tj.LocalPool(threads=threads))

        def verify_values() -> None:
            verify()
            assert truth.rmsd is not None
            expect(np.allclose(fit().values, truth.rmsd, atol=1e-3), "trajet", "RMSD values")

        def once() -> float:
            start = perf_counter()
            fit()
            return perf_counter() - start

        return Contestant("trajet", version("trajet"), threads, verify_values, once, isa)

    return [with_threads(1), with_threads(2)]


TOOLS: dict[str, Callable[[Case, Truth], list[Contestant]]] = {
    "MDAnalysis": mdanalysis,
    "mdtraj": mdtraj,
    "molly": molly,
    "trajet": trajet,
}
