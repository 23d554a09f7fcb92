"""A simulated cluster that drives the dispatch core with discrete events."""
