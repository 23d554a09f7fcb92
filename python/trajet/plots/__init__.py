"""Figures by matplotlib, which is imported when a figure is drawn; no other package imports it."""

from trajet.plots.conformations import clusters, components
from trajet.plots.densities import bulk_density, projections
from trajet.plots.distributions import density_profile, displacement, radial
from trajet.plots.drawing import of_size, retitle
from trajet.plots.images import png
from trajet.plots.look import COLOURS, PLAIN, Look
from trajet.plots.means import Means, convergence, histogram
from trajet.plots.pairs import contact_map, frame_pairs, matrix
from trajet.plots.protein import (
    MOST_BARS,
    correlations,
    hydrogen_bond_geometry,
    hydrogen_bonds,
    occupancies,
    secondary_structure,
)
from trajet.plots.replicas import (
    DifferencePanel,
    ReplicaCurve,
    ReplicaPanel,
    column_label,
    quantity_and_unit,
    replica_difference,
    replica_means,
)
from trajet.plots.runs import GroupInterval, Run, RunPanel, overlay, violins
from trajet.plots.series import angles, coordinates, mean_profile, profile, ramachandran, series

__all__ = [
    "COLOURS",
    "MOST_BARS",
    "PLAIN",
    "DifferencePanel",
    "GroupInterval",
    "Look",
    "Means",
    "ReplicaCurve",
    "ReplicaPanel",
    "Run",
    "RunPanel",
    "angles",
    "bulk_density",
    "clusters",
    "column_label",
    "components",
    "contact_map",
    "convergence",
    "coordinates",
    "correlations",
    "density_profile",
    "displacement",
    "frame_pairs",
    "histogram",
    "hydrogen_bond_geometry",
    "hydrogen_bonds",
    "matrix",
    "mean_profile",
    "occupancies",
    "of_size",
    "overlay",
    "png",
    "profile",
    "projections",
    "quantity_and_unit",
    "radial",
    "ramachandran",
    "replica_difference",
    "replica_means",
    "retitle",
    "secondary_structure",
    "series",
    "violins",
]
