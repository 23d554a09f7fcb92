"""Features of trajectories for kinetic models."""
