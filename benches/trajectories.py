"""Make the files that the benches read, from those of MDAnalysisTests, where they are missing.

- `adk100.xtc`: `adk_dims.dcd` written as XTC by MDAnalysis, its bytes repeated 100 times: 9,800
  frames of 3,341 atoms, protein only.
- `adk_run.xtc`: its frames again, 10,000 in all, with ascending steps and times, which H5MD needs.
- `solvated.xtc`: the bytes of `adk_oplsaa.xtc` repeated 50 times: 500 frames of 47,681 atoms,
  3,341 of protein first, then water and ions.
- `adk25.trr`, `adk25.dcd`, `adk25.nc`: `adk_dims.dcd` written by MDAnalysis, 25 times.
- `adk10.xtc`, `adk_run1.xtc`, `adk5.*`, `solvated5.xtc`: the same, shorter, for `--quick`.
- `adk.psf`, `adk.pdb`, `adk_oplsaa.tpr`: topologies; `adk0.gro`: the first frame of `adk.xtc`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from host import DATA


def make(target: Path, write: Callable[[Path], Any]) -> None:
    """Call `write` with a name beside `target` and rename; do nothing if `target` exists."""
    if target.exists():
        print(f"{target}: there, {target.stat().st_size:,} bytes")
        return
    beside = target.with_name(f".{os.getpid()}.tmp.{target.name}")
    try:
        write(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    print(f"{target}: made, {target.stat().st_size:,} bytes")


def repeat(source: Path, times: int, target: Path) -> None:
    """Write the bytes of a file several times: an XTC file has no file header."""
    target.write_bytes(source.read_bytes() * times)


def convert(
    files: tuple[Path, Path], form: str, n_frames: int | None, target: Path, *, times: int = 1
) -> None:
    """Write the first frames of a trajectory with MDAnalysis, `times` times.

    More frames than there are repeat the trajectory, with ascending steps and times.
    """
    import MDAnalysis as mda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # adk_dims.dcd has no cell, the PSF no elements
        universe: Any = mda.Universe(*map(str, files))
        known = len(universe.trajectory)
        with mda.Writer(str(target), universe.atoms.n_atoms, format=form) as writer:
            for k in range(times * (n_frames or known)):
                ts = universe.trajectory[k % min(known, n_frames or known)]
                if n_frames is not None and n_frames > known:
                    ts.data["step"], ts.time = k, float(k)
                writer.write(universe.atoms)


def write_pdb(files: tuple[Path, Path], target: Path) -> None:
    """Write the first frame with elements, which MDAnalysis has not in a PSF."""
    import trajet as tj

    tj.open(*files, sidecar=False)[0].save(target)


def main() -> int:
    """Make every file that is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    folder: Path = parser.parse_args().folder
    try:
        from MDAnalysisTests import datafiles
    except ModuleNotFoundError as error:
        print(f"trajectories: {error}; pip install --group bench brings it", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    adk = Path(datafiles.PSF), Path(datafiles.DCD)
    solvated, once = Path(datafiles.XTC), folder / "adk.xtc"
    make(folder / "adk.psf", partial(shutil.copyfile, adk[0]))
    make(folder / "adk_oplsaa.tpr", partial(shutil.copyfile, datafiles.TPR))
    make(folder / "adk.pdb", partial(write_pdb, adk))
    make(once, partial(convert, adk, "XTC", None))
    make(folder / "adk0.gro", partial(convert, (adk[0], once), "GRO", 1))
    for name, form, n_frames in (("run1", "XTC", 1_000), ("run", "XTC", 10_000)):
        make(folder / f"adk_{name}.xtc", partial(convert, adk, form, n_frames))
    for suffix, form in (("trr", "TRR"), ("dcd", "DCD"), ("nc", "NCDF")):
        for times in (5, 25):
            make(folder / f"adk{times}.{suffix}", partial(convert, adk, form, None, times=times))
    for name, source, times in (
        *(("adk10", once, 10), ("adk100", once, 100)),
        *(("solvated5", solvated, 5), ("solvated", solvated, 50)),
    ):
        make(folder / f"{name}.xtc", partial(repeat, source, times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
