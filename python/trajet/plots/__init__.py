"""Figures by matplotlib, which is imported when a figure is drawn; no other package imports it."""

from trajet.plots.conformations import clusters, components, porcupine
from trajet.plots.densities import bulk_density, projections
from trajet.plots.distributions import CURVES, curves, displacement, over_bins
from trajet.plots.drawing import for_user, unbroken
from trajet.plots.images import png
from trajet.plots.interactions import (
    MAX_ROWS,
    MIN_OCCUPANCY,
    interactions,
    pair_differences,
    replica_pairs,
)
from trajet.plots.landscapes import landscape
from trajet.plots.look import COLOURS, PLAIN, FigureSize, Look, first_of, inches_of_size
from trajet.plots.means import Means, convergence, histogram
from trajet.plots.network import Link, network
from trajet.plots.pairs import contact_map, frame_pairs, matrix
from trajet.plots.protein import (
    MAX_BARS,
    correlations,
    dwell_times,
    hydrogen_bond_geometry,
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
from trajet.plots.residues import along
from trajet.plots.runs import GroupInterval, Run, RunPanel, overlay, violins
from trajet.plots.series import angles, coordinates, ramachandran, series

__all__ = [
    "COLOURS",
    "CURVES",
    "MAX_BARS",
    "MAX_ROWS",
    "MIN_OCCUPANCY",
    "PLAIN",
    "DifferencePanel",
    "FigureSize",
    "GroupInterval",
    "Link",
    "Look",
    "Means",
    "ReplicaCurve",
    "ReplicaPanel",
    "Run",
    "RunPanel",
    "along",
    "angles",
    "bulk_density",
    "clusters",
    "column_label",
    "components",
    "contact_map",
    "convergence",
    "coordinates",
    "correlations",
    "curves",
    "displacement",
    "dwell_times",
    "first_of",
    "for_user",
    "frame_pairs",
    "histogram",
    "hydrogen_bond_geometry",
    "inches_of_size",
    "interactions",
    "landscape",
    "matrix",
    "network",
    "occupancies",
    "over_bins",
    "overlay",
    "pair_differences",
    "png",
    "porcupine",
    "projections",
    "quantity_and_unit",
    "ramachandran",
    "replica_difference",
    "replica_means",
    "replica_pairs",
    "secondary_structure",
    "series",
    "unbroken",
    "violins",
]
