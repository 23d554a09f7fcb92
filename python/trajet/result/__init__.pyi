"""The names of `trajet.result`, each with the module that defines it.

`__init__.py` reads this file.
"""

from trajet.result.applied import Applied as Applied
from trajet.result.as_json import document as document
from trajet.result.centers import Centers as Centers
from trajet.result.chemistry import Chemistry as Chemistry
from trajet.result.clusters import Clusters as Clusters
from trajet.result.columns import SUFFIXES as SUFFIXES
from trajet.result.columns import Part as Part
from trajet.result.components import PrincipalComponents as PrincipalComponents
from trajet.result.contact_map import ContactMap as ContactMap
from trajet.result.density import Density as Density
from trajet.result.density import LinearDensity as LinearDensity
from trajet.result.dihedrals import Dihedrals as Dihedrals
from trajet.result.displacement import Diffusion as Diffusion
from trajet.result.displacement import MeanSquaredDisplacement as MeanSquaredDisplacement
from trajet.result.displacement import diffusion as diffusion
from trajet.result.displacement import errors_of as errors_of
from trajet.result.displacement import fit_messages as fit_messages
from trajet.result.displacement import range_of_fit as range_of_fit
from trajet.result.displacement_errors import errors_of_blocks as errors_of_blocks
from trajet.result.displacement_errors import errors_of_groups as errors_of_groups
from trajet.result.distances import Distances as Distances
from trajet.result.ensemble import EnsembleResult as EnsembleResult
from trajet.result.frame_masks import FrameMask as FrameMask
from trajet.result.frame_masks import TimedFrames as TimedFrames
from trajet.result.gyration import GyrationMoments as GyrationMoments
from trajet.result.hydrogen_bonds import HydrogenBondList as HydrogenBondList
from trajet.result.hydrogen_bonds import HydrogenBondPairs as HydrogenBondPairs
from trajet.result.hydrogen_bonds import HydrogenBonds as HydrogenBonds
from trajet.result.interactions import InteractionBits as InteractionBits
from trajet.result.interactions import InteractionList as InteractionList
from trajet.result.interactions import InteractionPairs as InteractionPairs
from trajet.result.interactions import Interactions as Interactions
from trajet.result.joining import FrameTimes as FrameTimes
from trajet.result.lifetimes import Contacts as Contacts
from trajet.result.lifetimes import DwellTimes as DwellTimes
from trajet.result.lifetimes import Lifetimes as Lifetimes
from trajet.result.lifetimes import Survival as Survival
from trajet.result.lifetimes_by_kind import InteractionDwellTimes as InteractionDwellTimes
from trajet.result.lifetimes_by_kind import InteractionLifetimes as InteractionLifetimes
from trajet.result.loading import load as load
from trajet.result.member_outcome import MemberOutcome as MemberOutcome
from trajet.result.min_distance import MinDistance as MinDistance
from trajet.result.native_contacts import NativeContacts as NativeContacts
from trajet.result.pairwise import PairwiseRmsd as PairwiseRmsd
from trajet.result.radial import RadialDistribution as RadialDistribution
from trajet.result.replica_differences import ReplicaDifference as ReplicaDifference
from trajet.result.replica_means import ReplicaMeans as ReplicaMeans
from trajet.result.report import COUNTS as COUNTS
from trajet.result.report import REPORT_SUFFIXES as REPORT_SUFFIXES
from trajet.result.report import STAGES as STAGES
from trajet.result.report import Report as Report
from trajet.result.report import analysis_of as analysis_of
from trajet.result.report import bytes_by_place as bytes_by_place
from trajet.result.report import counting_of as counting_of
from trajet.result.report import entries_of as entries_of
from trajet.result.report import json_object as json_object
from trajet.result.report import make_report as make_report
from trajet.result.report import plain as plain
from trajet.result.report import transform_warnings as transform_warnings
from trajet.result.scalar_tables import scalar_table as scalar_table
from trajet.result.scalars import Scalar as Scalar
from trajet.result.secondary import ClassContent as ClassContent
from trajet.result.secondary import SecondaryStructure as SecondaryStructure
from trajet.result.surface import SurfaceAreas as SurfaceAreas
from trajet.result.table import Table as Table
from trajet.result.table import with_scalars as with_scalars

MODULES: dict[str, str]
