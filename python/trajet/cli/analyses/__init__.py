"""Commands of analyses: one module for each that its analysis does not declare."""
