"""Errors of means: how far the mean of a correlated series may be from that of a longer run."""
