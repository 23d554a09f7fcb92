"""Fast, parallel analysis of molecular-dynamics trajectories.

Open a topology and a trajectory, select atoms in MDAnalysis' language, and run an analysis. Only
the selected atoms are decoded, on all cores:

    import trajet as tj

    traj = tj.open("adk.psf", "adk.xtc")
    result = tj.rmsd(traj.select("name CA"))
    result.plot()

Units are Å, ps and degrees; frames count from 0.
"""

import warnings

from trajet import startup
from trajet._trajet import (
    DEBUG_BUILD,
    AnalysisError,
    FormatError,
    FrameError,
    MissingPackageError,
    OutputError,
    SelectionError,
    StaleIndexError,
    StoreError,
    TaskError,
    TrajetError,
    TruncatedError,
    WorkerError,
    __version__,
)
from trajet.analysis import apply, dihedrals, distances, rdf, rmsd, rmsf
from trajet.conversion import Conversion, convert, split
from trajet.pools.dask import DaskPool
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool
from trajet.result import (
    Applied,
    AtomValues,
    Dihedrals,
    Distances,
    RadialDistribution,
    Report,
    Series,
)
from trajet.store import Store
from trajet.trajectory import Block, Selection, Trajectory, open

startup.package_imported()

if DEBUG_BUILD:
    warnings.warn(
        "trajet was built in debug mode and is many times slower: build it with --release",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "AnalysisError",
    "Applied",
    "AtomValues",
    "Block",
    "Conversion",
    "DaskPool",
    "Dihedrals",
    "Distances",
    "FormatError",
    "FrameError",
    "LocalPool",
    "MissingPackageError",
    "MpiPool",
    "OutputError",
    "Pool",
    "ProcessPool",
    "RadialDistribution",
    "Report",
    "Selection",
    "SelectionError",
    "Series",
    "StaleIndexError",
    "Store",
    "StoreError",
    "TaskError",
    "Trajectory",
    "TrajetError",
    "TruncatedError",
    "WorkerError",
    "__version__",
    "apply",
    "convert",
    "dihedrals",
    "distances",
    "open",
    "rdf",
    "rmsd",
    "rmsf",
    "split",
]
