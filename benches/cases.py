"""The timed cases: the file, the task, and the required speed of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BYTES_PER_ATOM = 12
LONGEST_BLOCK = 500

# Allowed differences from MDAnalysis' values. It superposes and measures in doubles, but takes
# dihedrals and pair distances from products of single precision; others read nm, not Å.
TOLERANCES = {"rmsd": 1e-3, "rmsf": 1e-3, "dihedrals": 1e-3, "distances": 1e-3}
# Range in Å.
RDF_BINS, RDF_RANGE = 75, (0.0, 15.0)


class MismatchError(Exception):
    """A tool does not read or compute the values of MDAnalysis, so that nothing can be timed."""


class MissingError(Exception):
    """A tool is not installed or not built, or does not support a case."""


@dataclass(frozen=True)
class Case:
    """A file, and the task that is timed on it.

    `task` is "read", or the analysis: "rmsd" (on frame 0), "rmsf", "dihedrals", "distances", "rdf";
    an analysis takes the first `n_frames` frames, or all. Or it is "copy", to a file that ends in
    `output`. `targets` has the required speed of trajet with `target_threads`, as a multiple of the
    speed of each tool.
    """

    name: str
    topology: Path
    trajectory: Path
    selection: str | None
    task: str = "read"
    targets: Mapping[str, float] = field(default_factory=dict)
    target_threads: int = 1
    n_frames: int | None = None
    longest_rounds: int | None = None
    output: str = ""


@dataclass(frozen=True)
class Truth:
    """The values of MDAnalysis: `positions` of `frames`, float32, (n_frames, n_selected, 3), Å.

    `values` are those of its analysis of the first `n_frames` frames, as `peers` describes;
    `quadruples` are the atoms of the dihedrals.
    """

    n_frames: int
    n_atoms: int
    indices: NDArray[np.int64]
    frames: list[int]
    positions: NDArray[np.float32]
    values: NDArray[np.float64] | None
    quadruples: NDArray[np.int64] | None

    @property
    def whole(self) -> bool:
        """Return whether every atom is selected."""
        return len(self.indices) == self.n_atoms

    @property
    def front(self) -> bool:
        """Return whether the selected atoms are the first ones of the file, without a gap."""
        return np.array_equal(self.indices, np.arange(len(self.indices)))

    def block(self, size: int) -> int:
        """Return the number of frames of the selected atoms that fit into `size` bytes."""
        return min(LONGEST_BLOCK, max(1, size // (BYTES_PER_ATOM * len(self.indices))))


def expect(holds: bool, tool: str, what: str) -> None:
    """Raise `MismatchError` unless `holds`."""
    if not holds:
        raise MismatchError(f"{tool}: {what} differ from MDAnalysis'")


def expect_values(values: NDArray[np.float64], case: Case, truth: Truth, tool: str) -> None:
    """Raise `MismatchError` unless values of the case's analysis equal those of MDAnalysis."""
    assert truth.values is not None
    expect(values.shape == truth.values.shape, tool, "numbers of values")
    if case.task == "rdf":
        # A pair that lies within rounding of a bin's edge may be counted in the next bin, in both
        # orders.
        apart = np.abs(values - truth.values)
        expect(bool((apart <= 2 + 1e-4 * truth.values).all()), tool, "numbers of pairs")
        return
    close = np.allclose(values, truth.values, rtol=0, atol=TOLERANCES[case.task])
    expect(close, tool, f"values of {case.task}")


def all_cases(folder: Path, isa: str, *, quick: bool) -> list[Case]:
    """Return the cases on the files that `trajectories.py` made in `folder`.

    `isa` is the instruction set that trajet uses: wider sets have higher targets.
    """
    psf, gro = folder / "adk.psf", folder / "adk_oplsaa.gro"
    adk = (psf, folder / ("adk10.xtc" if quick else "adk100.xtc"))
    solvated = (gro, folder / f"solvated{'5' if quick else ''}.xtc")
    plain = "adk5" if quick else "adk25"
    trr, dcd, ncdf = ((psf, folder / f"{plain}.{suffix}") for suffix in ("trr", "dcd", "nc"))
    calpha, oxygens = "name CA", "resname SOL and name OW"
    whole = {
        "avx512": {"MDAnalysis": 6.0, "mdtraj": 5.0, "molly": 2.5},
        "avx2": {"MDAnalysis": 4.0},
    }.get(isa, {"MDAnalysis": 3.5})

    def times(target: float) -> dict[str, float]:
        return {"MDAnalysis": target}

    return [
        Case("adk-all", *adk, None, targets=whole),
        Case("adk-calpha", *adk, calpha, targets=times(10)),
        Case("solvated-all", *solvated, None, targets=whole),
        Case("solvated-protein", *solvated, "protein", targets=times(25)),
        Case("trr-all", *trr, None, targets=times(10)),
        Case("trr-calpha", *trr, calpha, targets=times(10)),
        Case("dcd-all", *dcd, None, targets=times(6)),
        Case("dcd-calpha", *dcd, calpha, targets=times(6)),
        Case("ncdf-all", *ncdf, None, targets=times(1)),
        Case("ncdf-calpha", *ncdf, calpha, targets=times(1)),
        Case("adk-rmsd", *adk, calpha, "rmsd", times(25), target_threads=2),
        Case("adk-rmsf", *adk, calpha, "rmsf", times(3)),
        Case("adk-dihedrals", *adk, "protein", "dihedrals", times(8)),
        Case("adk-distances", *adk, calpha, "distances", n_frames=500),
        Case(
            *("solvated-rdf", *solvated, oxygens, "rdf", times(50)),
            n_frames=1 if quick else 2,
            longest_rounds=1 if quick else 3,
        ),
    ]


def all_copies(folder: Path, *, quick: bool) -> list[Case]:
    """Return the cases that write, with the required speed over every other tool on two threads."""
    files = (folder / "adk.psf", folder / ("adk_run1.xtc" if quick else "adk_run.xtc"))

    def copy(name: str, selection: str | None, output: str, times: float) -> Case:
        targets = {"MDAnalysis": times, "mdtraj": times}
        if output == ".xtc":
            targets["gmx"] = times
        options = {"target_threads": 2, "output": output}
        return Case(name, *files, selection, "copy", targets, **options)

    return [
        copy("calpha-to-xtc", "name CA", ".xtc", 5),
        copy("adk-to-dcd", None, ".dcd", 2),
        copy("adk-to-ncdf", None, ".nc", 2),
        copy("adk-to-h5md", None, ".h5md", 2),
    ]
