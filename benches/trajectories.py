"""Make the trajectories that the benches read, from the files of MDAnalysisTests.

Every file is written beside its place and renamed, so a file that is there is whole and is left
alone on the next call (`--force` makes it anew).

- `adk100.xtc`: `adk_dims.dcd` written as XTC by MDAnalysis, its bytes repeated 100 times: 9,800
  frames of 3,341 atoms, protein only.
- `adk_run.xtc`: its frames again, 10,000 in all, each at a time and a step of its own: a run that
  goes on, which is what formats with ascending steps hold.
- `solvated.xtc`: the bytes of `adk_oplsaa.xtc` repeated 50 times: 500 frames of 47,681 atoms,
  3,341 of protein first, then water and ions.
- `adk25.trr`, `adk25.dcd`, `adk25.nc`: `adk_dims.dcd` written as TRR, DCD and NCDF by MDAnalysis,
  25 times: 2,450 frames, 98 MB each.
- `adk10.xtc`, `adk_run1.xtc`, `adk5.*`, `solvated5.xtc`: the same, shorter, for `--quick`.
- `adk.psf`, `adk_oplsaa.gro`: their topologies; `adk0.gro`: the first frame of `adk.xtc`,
  on the same grid.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEFAULT_FOLDER = Path(__file__).resolve().parent / "data"


def make(target: Path, write: Callable[[Path], None], *, force: bool) -> None:
    """Call `write` with a name beside `target` and rename; do nothing if `target` exists."""
    if target.exists() and not force:
        print(f"{target}: there, {target.stat().st_size:,} bytes")
        return
    beside = target.with_name(f".{os.getpid()}.tmp.{target.name}")
    try:
        write(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    print(f"{target}: made, {target.stat().st_size:,} bytes")


def repeat(source: Path, times: int) -> Callable[[Path], None]:
    """Return a writer of the bytes of `source`, `times` times: an XTC file has no file header."""

    def write(target: Path) -> None:
        data = source.read_bytes()
        with target.open("wb") as stream:
            for _ in range(times):
                stream.write(data)

    return write


def copy(source: Path) -> Callable[[Path], None]:
    """Return a writer of a plain copy of `source`."""

    def write(target: Path) -> None:
        shutil.copyfile(source, target)

    return write


def convert(
    topology: Path, trajectory: Path, form: str, *, times: int = 1, n_frames: int | None = None
) -> Callable[[Path], None]:
    """Return a writer of `trajectory` by MDAnalysis: its first `n_frames` frames, `times` times."""

    def write(target: Path) -> None:
        import MDAnalysis

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # adk_dims.dcd has no cell, the PSF no elements
            universe: Any = MDAnalysis.Universe(str(topology), str(trajectory))
            with MDAnalysis.Writer(str(target), universe.atoms.n_atoms, format=form) as writer:
                for _ in range(times):
                    for _ in universe.trajectory[:n_frames]:
                        writer.write(universe.atoms)

    return write


def run_on(topology: Path, trajectory: Path, n_frames: int) -> Callable[[Path], None]:
    """Return a writer of XTC by MDAnalysis: the frames repeated, one per ps."""

    def write(target: Path) -> None:
        import MDAnalysis

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # adk_dims.dcd has no cell, the PSF no elements
            universe: Any = MDAnalysis.Universe(str(topology), str(trajectory))
            with MDAnalysis.Writer(str(target), universe.atoms.n_atoms, format="XTC") as writer:
                for k in range(n_frames):
                    ts = universe.trajectory[k % len(universe.trajectory)]
                    ts.data["step"], ts.time = k, float(k)
                    writer.write(universe.atoms)

    return write


def main() -> int:
    """Make every file that is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--force", action="store_true", help="make the files anew")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    force: bool = arguments.force

    try:
        from MDAnalysisTests import datafiles
    except ModuleNotFoundError as error:
        print(f"trajectories: {error}; pip install '.[bench]' brings it", file=sys.stderr)
        return 1

    folder.mkdir(parents=True, exist_ok=True)
    psf, dcd = Path(datafiles.PSF), Path(datafiles.DCD)
    gro, solvated = Path(datafiles.GRO), Path(datafiles.XTC)
    once = folder / "adk.xtc"
    make(folder / "adk.psf", copy(psf), force=force)
    make(folder / "adk_oplsaa.gro", copy(gro), force=force)
    make(once, convert(psf, dcd, "XTC"), force=force)
    make(folder / "adk0.gro", convert(psf, once, "GRO", n_frames=1), force=force)
    make(folder / "adk10.xtc", repeat(once, 10), force=force)
    make(folder / "adk100.xtc", repeat(once, 100), force=force)
    make(folder / "adk_run1.xtc", run_on(psf, dcd, 1_000), force=force)
    make(folder / "adk_run.xtc", run_on(psf, dcd, 10_000), force=force)
    for suffix, form in (("trr", "TRR"), ("dcd", "DCD"), ("nc", "NCDF")):
        make(folder / f"adk5.{suffix}", convert(psf, dcd, form, times=5), force=force)
        make(folder / f"adk25.{suffix}", convert(psf, dcd, form, times=25), force=force)
    make(folder / "solvated5.xtc", repeat(solvated, 5), force=force)
    make(folder / "solvated.xtc", repeat(solvated, 50), force=force)
    return 0


if __name__ == "__main__":
    sys.exit(main())
