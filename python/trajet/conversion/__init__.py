"""Copies of trajectories in other formats, with fewer atoms or frames, or in segments; writing."""

from trajet.conversion.copies import Conversion, convert, split
from trajet.conversion.writing import write

__all__ = ["Conversion", "convert", "split", "write"]
