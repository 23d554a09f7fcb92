"""Analyses of one selection, words and switches need no topology."""

import numpy as np
import pytest
import trajet as tj
from helpers.analysis_laws import (
    plain_analyses,
    without_topology,
)
from helpers.golden_files import Adk
from trajet.analysis.job import AnalysisFunction

Analysis = AnalysisFunction[..., tj.Table]
each_analysis = pytest.mark.parametrize("analysis", plain_analyses(), ids=lambda one: one.__name__)


def test_plain_analyses_are_found() -> None:
    """By their annotations."""
    names = {analysis.__name__ for analysis in plain_analyses()}
    assert names >= {"centers", "count", "end_to_end", "gyration", "gyration_moments"}


@each_analysis
def test_atoms_by_number_need_no_topology(analysis: Analysis, adk: Adk) -> None:
    """With weights and groups that need none."""
    selection = tj.open(None, adk.xtc).select([1, 5, 8, 9, 14])
    values = analysis(selection, **without_topology(analysis)).values
    assert len(values) == 98
    assert np.isfinite(values).all()
