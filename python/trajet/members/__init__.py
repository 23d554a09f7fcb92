"""Ensembles: trajectories of several simulations, with the keys that tell them apart."""

from trajet.members.ensemble import Ensemble, EnsembleSelection
from trajet.members.member import Member, MemberOptions, OpenMember

__all__ = ["Ensemble", "EnsembleSelection", "Member", "MemberOptions", "OpenMember"]
