"""Results of analyses: values with units, frame numbers, times and a report of the run."""

from trajet.result.applied import Applied
from trajet.result.atom_values import AtomValues
from trajet.result.dihedrals import Dihedrals
from trajet.result.distances import Distances
from trajet.result.radial import RadialDistribution
from trajet.result.report import (
    COUNTS,
    REPORT_SUFFIXES,
    STAGES,
    Report,
    bytes_by_place,
    entries_of,
    make_report,
    transform_doubts,
)
from trajet.result.result import Result
from trajet.result.secondary import SecondaryStructure
from trajet.result.series import Series
from trajet.result.surface import SurfaceAreas

__all__ = [
    "COUNTS",
    "REPORT_SUFFIXES",
    "STAGES",
    "Applied",
    "AtomValues",
    "Dihedrals",
    "Distances",
    "RadialDistribution",
    "Report",
    "Result",
    "SecondaryStructure",
    "Series",
    "SurfaceAreas",
    "bytes_by_place",
    "entries_of",
    "make_report",
    "transform_doubts",
]
