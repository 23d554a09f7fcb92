"""The model of scaling beside the papers' runs and runs on this machine."""
