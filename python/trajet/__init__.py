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
from typing import TYPE_CHECKING

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

# The functions of `trajet.analysis`, each in a module of its name. The command line and the tests
# take their lists from this one.
ANALYSES = (
    "apply",
    "center_distances",
    "centers",
    "density",
    "dihedrals",
    "distances",
    "end_to_end",
    "gyration",
    "gyration_moments",
    "linear_density",
    "rdf",
    "rdf_pairs",
    "rmsd",
    "rmsf",
)

# Names are imported when they are first used: a script does not wait for what it does not call.
if TYPE_CHECKING:
    from trajet.analysis.apply import apply
    from trajet.analysis.center_distances import center_distances
    from trajet.analysis.centers import centers
    from trajet.analysis.density import density
    from trajet.analysis.dihedrals import dihedrals
    from trajet.analysis.distances import distances
    from trajet.analysis.end_to_end import end_to_end
    from trajet.analysis.gyration import gyration
    from trajet.analysis.gyration_moments import gyration_moments
    from trajet.analysis.linear_density import linear_density
    from trajet.analysis.rdf import rdf
    from trajet.analysis.rdf_pairs import rdf_pairs
    from trajet.analysis.rmsd import rmsd
    from trajet.analysis.rmsf import rmsf
    from trajet.conversion import Conversion, convert, split
    from trajet.pools.dask import DaskPool
    from trajet.pools.local import LocalPool
    from trajet.pools.mpi import MpiPool
    from trajet.pools.pool import Pool
    from trajet.pools.processes import ProcessPool
    from trajet.result import (
        Applied,
        AtomValues,
        CenterDistances,
        Centers,
        Density,
        Dihedrals,
        Distances,
        GyrationMoments,
        LinearDensity,
        RadialDistribution,
        RadialDistributions,
        Report,
        Series,
    )
    from trajet.store import Store
    from trajet.trajectory import Block, Frame, Selection, Trajectory, open
else:
    __getattr__ = startup.lazy_names(
        __name__,
        {
            **{f"trajet.analysis.{name}": name for name in ANALYSES},
            "trajet.conversion": "Conversion convert split",
            "trajet.pools.dask": "DaskPool",
            "trajet.pools.local": "LocalPool",
            "trajet.pools.mpi": "MpiPool",
            "trajet.pools.pool": "Pool",
            "trajet.pools.processes": "ProcessPool",
            "trajet.result": "Applied AtomValues CenterDistances Centers Density Dihedrals"
            " Distances GyrationMoments LinearDensity RadialDistribution"
            " RadialDistributions Report Series",
            "trajet.store": "Store",
            "trajet.trajectory": "Block Frame Selection Trajectory open",
        },
    )

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
    "CenterDistances",
    "Centers",
    "Conversion",
    "DaskPool",
    "Density",
    "Dihedrals",
    "Distances",
    "FormatError",
    "Frame",
    "FrameError",
    "GyrationMoments",
    "LinearDensity",
    "LocalPool",
    "MissingPackageError",
    "MpiPool",
    "OutputError",
    "Pool",
    "ProcessPool",
    "RadialDistribution",
    "RadialDistributions",
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
    "center_distances",
    "centers",
    "convert",
    "density",
    "dihedrals",
    "distances",
    "end_to_end",
    "gyration",
    "gyration_moments",
    "linear_density",
    "open",
    "rdf",
    "rdf_pairs",
    "rmsd",
    "rmsf",
    "split",
]
