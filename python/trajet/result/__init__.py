"""Results of analyses: values with units, frame numbers, times and a report of the run."""

from typing import TYPE_CHECKING

from trajet import startup
from trajet.result.modules import MODULES

# Names are imported when they are first used: an analysis needs one kind of result.
if TYPE_CHECKING:
    from trajet.result.applied import Applied
    from trajet.result.as_json import document, plain
    from trajet.result.atom_values import AtomValues
    from trajet.result.centers import CenterDistances, Centers
    from trajet.result.clusters import Clusters
    from trajet.result.components import PrincipalComponents
    from trajet.result.contact_map import ContactMap
    from trajet.result.density import Density, LinearDensity
    from trajet.result.dihedrals import Dihedrals
    from trajet.result.displacement import (
        Diffusion,
        MeanSquaredDisplacement,
        diffusion,
        range_of_fit,
    )
    from trajet.result.distances import Distances
    from trajet.result.gyration import AxisRadii, GyrationMoments
    from trajet.result.hydrogen_bonds import (
        HydrogenBondLifetimes,
        HydrogenBondList,
        HydrogenBondPairs,
        HydrogenBonds,
    )
    from trajet.result.loading import load
    from trajet.result.min_distance import MinDistance
    from trajet.result.native_contacts import NativeContacts
    from trajet.result.pairwise import PairwiseRmsd
    from trajet.result.radial import RadialDistribution, RadialDistributions
    from trajet.result.report import (
        COUNTS,
        REPORT_SUFFIXES,
        STAGES,
        Report,
        bytes_by_place,
        counting_of,
        entries_of,
        make_report,
        transform_doubts,
    )
    from trajet.result.result import SUFFIXES, Part, Result, with_scalars
    from trajet.result.secondary import ClassContent, SecondaryStructure
    from trajet.result.series import GroupSeries, Series
    from trajet.result.surface import SurfaceAreas
else:
    __getattr__ = startup.lazy_names(__name__, MODULES)

__all__ = [
    "COUNTS",
    "REPORT_SUFFIXES",
    "STAGES",
    "SUFFIXES",
    "Applied",
    "AtomValues",
    "AxisRadii",
    "CenterDistances",
    "Centers",
    "ClassContent",
    "Clusters",
    "ContactMap",
    "Density",
    "Diffusion",
    "Dihedrals",
    "Distances",
    "GroupSeries",
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
    "Part",
    "PrincipalComponents",
    "RadialDistribution",
    "RadialDistributions",
    "Report",
    "Result",
    "SecondaryStructure",
    "Series",
    "SurfaceAreas",
    "bytes_by_place",
    "counting_of",
    "diffusion",
    "document",
    "entries_of",
    "load",
    "make_report",
    "plain",
    "range_of_fit",
    "transform_doubts",
    "with_scalars",
]
