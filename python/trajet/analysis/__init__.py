"""Analyses: functions of a selection that return a result."""
