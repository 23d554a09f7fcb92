"""Errors of the numbers of a result stand in tables, files, printed output and figures."""

import inspect
import shlex
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises
from helpers.recorded_results import COMMANDS, run
from helpers.result_laws import assert_restored
from trajet.plots import png
from trajet.result import Density

# Commands whose results have errors of their numbers, beside those of means over frames.
WITH_ERRORS = [text for text in COMMANDS if "--errors" in text or text.split()[0] == "msd"]
COLUMNS = {"standard_error": "standard_errors", "half_width_95": "half_widths"}


def test_every_analysis_with_errors_has_a_command_here() -> None:
    """An analysis takes `errors=True`, or always computes errors as `msd` does."""
    found = {
        name for name in tj.ANALYSES if "errors" in inspect.signature(getattr(tj, name)).parameters
    }
    assert found | {"msd"} == {shlex.split(text)[0].replace("-", "_") for text in WITH_ERRORS}


@pytest.mark.parametrize("command", WITH_ERRORS)
def test_errors_reach_every_output(command: str, tmp_path: Path) -> None:
    """CSV, DataFrame, NPZ, JSON, printed table and figure have the errors that the result has."""
    printed, result = run(command, tmp_path)
    tables = [one for one in (result, *result.parts.values()) if one.standard_errors is not None]
    assert tables
    for table in tables:
        frame = table.to_dataframe()
        assert list(frame) == table.csv_header()
        for column, attribute in COLUMNS.items():
            shown = frame[[name for name in frame if name.startswith(column)]].to_numpy().ravel()
            known = getattr(table, attribute)
            # A symmetric map of contacts has each pair twice, and its table once.
            assert {*shown[np.isfinite(shown)]} == {*known[np.isfinite(known)]}
        for suffix in (".npz", ".json"):
            assert_restored(table, tmp_path / f"again{suffix}")
        if isinstance(table, Density):
            with raises(ValueError):
                table.plot(band=True)
        else:
            assert png(table.plot(band=True)) != png(table.plot(band=False))
    assert any("±" in line for line in printed)
