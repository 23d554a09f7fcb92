"""Analyses: functions of a selection that return a result."""

from trajet.analysis.apply import apply
from trajet.analysis.dihedrals import dihedrals
from trajet.analysis.distances import distances
from trajet.analysis.rdf import rdf
from trajet.analysis.rmsd import rmsd
from trajet.analysis.rmsf import rmsf

__all__ = ["apply", "dihedrals", "distances", "rdf", "rmsd", "rmsf"]
