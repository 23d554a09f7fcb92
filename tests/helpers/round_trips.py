"""Conversions of one file of each format to every other, with the allowed errors of positions."""

from pathlib import Path
from typing import Any

import mdtraj
import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles
from trajet._trajet import FORMATS

# Adenylate kinase in water, cobrotoxin (with velocities and forces), silicon nitride, an octahedron
# of water. mdtraj writes its file from the first.
SOURCES = {
    ".xtc": datafiles.XTC,
    ".trr": datafiles.TRR_sub_sol,
    ".dcd": datafiles.DCD_NAMD_TRICLINIC,
    ".nc": datafiles.NCDFtruncoct,
    ".h5md": datafiles.H5MD_xvf,
    ".h5": None,
}
ENDINGS = tuple(info.suffixes[0] for info in FORMATS.values() if info.is_written)
# Half of a step of 0.01 Å.
STEP = 0.005

# Formats that hold the values that are read.
EXACT = (".dcd", ".nc", ".h5md", ".lammpstrj", ".xyz")
# Source and output formats: allowed errors in Å, and roundings to float32. Formats of GROMACS hold
# the values of each other; Å of others are rounded to nm and, when they are read, back. To XTC
# there are six roundings of half a unit: every product on the way.
PRECISION = {
    **{(source, target): (0.0, 0) for source in SOURCES for target in EXACT},
    **{(source, ".trr"): (0.0, 1) for source in SOURCES},
    **{(source, ".xtc"): (STEP, 3) for source in SOURCES},
    (".xtc", ".trr"): (0.0, 0),
    (".trr", ".trr"): (0.0, 0),
    (".xtc", ".xtc"): (0.0, 0),
}


def own_messages(done: Any, source: tj.Trajectory) -> tuple[str, ...]:
    """Return the messages of a copy without those on its source, which it repeats."""
    return tuple(message for message in done.messages if message not in source.messages)


def source_of(ending: str, folder: Path) -> tj.Trajectory:
    """Open the file of a format; mdtraj first writes the file of its own format."""
    path = SOURCES[ending]
    if path is None:
        path = folder / "source.h5"
        few = mdtraj.formats.XTCTrajectoryFile(SOURCES[".xtc"]).read(atom_indices=range(500))
        with mdtraj.formats.HDF5TrajectoryFile(str(path), "w") as file:
            xyz, time, _, box = few
            lengths_and_angles = mdtraj.utils.box_vectors_to_lengths_and_angles(
                *np.moveaxis(box, 1, 0)
            )
            lengths, angles = np.split(np.transpose(lengths_and_angles), 2, axis=1)
            file.write(xyz, time=time, cell_lengths=lengths, cell_angles=angles)
    return tj.open(None, path, sidecar=False)


def assert_near(got: np.ndarray, want: np.ndarray, source: str, target: str) -> None:
    """Compare positions, within the precision of this pair of formats."""
    step, roundings = PRECISION[source, target]
    apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    assert got.shape == want.shape
    assert (apart <= step + roundings * np.spacing(np.abs(want))).all(), apart.max()
