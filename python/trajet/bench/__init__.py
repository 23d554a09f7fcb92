"""Measurements of one's own machine: setups, the runs that they stand for, tables of them."""
