"""Copies of trajectories in other formats, with fewer atoms or frames, or in segments."""

from trajet.conversion.copies import SUFFIXES, Conversion, convert, split

__all__ = ["SUFFIXES", "Conversion", "convert", "split"]
