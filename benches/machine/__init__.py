"""Benchmarks of the user's machine: setups, runs and tables."""
