"""Copies of trajectories: other formats, fewer atoms, fewer frames; segments."""

from trajet.conversion.copies import SUFFIXES, Conversion, convert, split

__all__ = ["SUFFIXES", "Conversion", "convert", "split"]
