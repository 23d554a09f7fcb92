"""Ensembles: trajectories of several simulations, with the keys that tell them apart."""

from trajet.members.ensemble import Ensemble, EnsembleSelection
from trajet.members.member import Member, OpenMember, OpenOptions

__all__ = [
    "Ensemble",
    "EnsembleSelection",
    "Member",
    "OpenMember",
    "OpenOptions",
    "ensemble_of",
    "of_member",
]
