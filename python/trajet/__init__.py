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
    "cluster_rmsd",
    "contact_map",
    "contacts",
    "count",
    "density",
    "dihedrals",
    "distances",
    "dssp",
    "end_to_end",
    "gyration",
    "gyration_moments",
    "hbonds",
    "linear_density",
    "min_distance",
    "msd",
    "native_contacts",
    "pairwise_rmsd",
    "pca",
    "rdf",
    "rdf_pairs",
    "rmsd",
    "rmsf",
    "sasa",
)

# The names of `trajet.result`.
_RESULTS = (
    "Applied",
    "AtomValues",
    "CenterDistances",
    "Centers",
    "Clusters",
    "ContactMap",
    "Density",
    "Dihedrals",
    "Distances",
    "GyrationMoments",
    "HydrogenBondLifetimes",
    "HydrogenBondList",
    "HydrogenBondPairs",
    "HydrogenBonds",
    "LinearDensity",
    "MeanSquaredDisplacement",
    "MinDistance",
    "NativeContacts",
    "PairwiseRmsd",
    "PrincipalComponents",
    "RadialDistribution",
    "RadialDistributions",
    "Report",
    "SecondaryStructure",
    "Series",
    "SurfaceAreas",
    "load",
)

# Names are imported when they are first used: a script does not wait for what it does not call.
if TYPE_CHECKING:
    from trajet.analysis.apply import apply
    from trajet.analysis.center_distances import center_distances
    from trajet.analysis.centers import centers
    from trajet.analysis.cluster_rmsd import cluster_rmsd
    from trajet.analysis.contact_map import contact_map
    from trajet.analysis.contacts import contacts
    from trajet.analysis.count import count
    from trajet.analysis.density import density
    from trajet.analysis.dihedrals import dihedrals
    from trajet.analysis.distances import distances
    from trajet.analysis.dssp import dssp
    from trajet.analysis.end_to_end import end_to_end
    from trajet.analysis.gyration import gyration
    from trajet.analysis.gyration_moments import gyration_moments
    from trajet.analysis.hbonds import hbonds
    from trajet.analysis.joint import run
    from trajet.analysis.linear_density import linear_density
    from trajet.analysis.min_distance import min_distance
    from trajet.analysis.msd import msd
    from trajet.analysis.native_contacts import native_contacts
    from trajet.analysis.pairwise_rmsd import pairwise_rmsd
    from trajet.analysis.pca import pca
    from trajet.analysis.rdf import rdf
    from trajet.analysis.rdf_pairs import rdf_pairs
    from trajet.analysis.rmsd import rmsd
    from trajet.analysis.rmsf import rmsf
    from trajet.analysis.sasa import sasa
    from trajet.conversion import Conversion, convert, split, write
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
        Clusters,
        ContactMap,
        Density,
        Dihedrals,
        Distances,
        GyrationMoments,
        HydrogenBondLifetimes,
        HydrogenBondList,
        HydrogenBondPairs,
        HydrogenBonds,
        LinearDensity,
        MeanSquaredDisplacement,
        MinDistance,
        NativeContacts,
        PairwiseRmsd,
        PrincipalComponents,
        RadialDistribution,
        RadialDistributions,
        Report,
        SecondaryStructure,
        Series,
        SurfaceAreas,
        load,
    )
    from trajet.store import Store
    from trajet.trajectory import (
        Block,
        Cursor,
        Frame,
        Selection,
        Trajectory,
        UpdatingSelection,
        open,
    )
else:
    __getattr__ = startup.lazy_names(
        __name__,
        {
            **{f"trajet.analysis.{name}": name for name in ANALYSES},
            "trajet.analysis.joint": "run",
            "trajet.conversion": "Conversion convert split write",
            "trajet.pools.dask": "DaskPool",
            "trajet.pools.local": "LocalPool",
            "trajet.pools.mpi": "MpiPool",
            "trajet.pools.pool": "Pool",
            "trajet.pools.processes": "ProcessPool",
            "trajet.result": " ".join(_RESULTS),
            "trajet.store": "Store",
            "trajet.trajectory": "Block Cursor Frame Selection Trajectory UpdatingSelection open",
        },
    )

startup.package_imported()

if DEBUG_BUILD:
    warnings.warn(
        "trajet was built in debug mode and is many times slower: build it with --release",
        RuntimeWarning,
        stacklevel=2,
    )


def __dir__() -> list[str]:
    """Return the public names, also those that were not used yet, for tab completion."""
    return __all__


__all__ = [
    "AnalysisError",
    "Applied",
    "AtomValues",
    "Block",
    "CenterDistances",
    "Centers",
    "Clusters",
    "ContactMap",
    "Conversion",
    "Cursor",
    "DaskPool",
    "Density",
    "Dihedrals",
    "Distances",
    "FormatError",
    "Frame",
    "FrameError",
    "GyrationMoments",
    "HydrogenBondLifetimes",
    "HydrogenBondList",
    "HydrogenBondPairs",
    "HydrogenBonds",
    "LinearDensity",
    "LocalPool",
    "MeanSquaredDisplacement",
    "MinDistance",
    "MissingPackageError",
    "MpiPool",
    "NativeContacts",
    "OutputError",
    "PairwiseRmsd",
    "Pool",
    "PrincipalComponents",
    "ProcessPool",
    "RadialDistribution",
    "RadialDistributions",
    "Report",
    "SecondaryStructure",
    "Selection",
    "SelectionError",
    "Series",
    "StaleIndexError",
    "Store",
    "StoreError",
    "SurfaceAreas",
    "TaskError",
    "Trajectory",
    "TrajetError",
    "TruncatedError",
    "UpdatingSelection",
    "WorkerError",
    "__version__",
    "apply",
    "center_distances",
    "centers",
    "cluster_rmsd",
    "contact_map",
    "contacts",
    "convert",
    "count",
    "density",
    "dihedrals",
    "distances",
    "dssp",
    "end_to_end",
    "gyration",
    "gyration_moments",
    "hbonds",
    "linear_density",
    "load",
    "min_distance",
    "msd",
    "native_contacts",
    "open",
    "pairwise_rmsd",
    "pca",
    "rdf",
    "rdf_pairs",
    "rmsd",
    "rmsf",
    "run",
    "sasa",
    "split",
    "write",
]
