"""Laws of every analysis of one selection, words and switches: bits, frames, files, command."""

import json
from itertools import product
from pathlib import Path

import click
import numpy as np
import pytest
import trajet as tj
from click.testing import CliRunner
from helpers.analysis_laws import (
    assert_rows_follow_frames,
    assert_same_bits_on_any_pool,
    choices_of,
    own_parameters,
    plain_analyses,
    table,
    without_topology,
)
from helpers.golden_files import Adk
from trajet.analysis.job import AnalysisFunction
from trajet.cli.group import commands

Analysis = AnalysisFunction[..., tj.Table]
each_analysis = pytest.mark.parametrize("analysis", plain_analyses(), ids=lambda one: one.__name__)


def test_every_analysis_is_exported_and_has_a_command() -> None:
    """All but `apply`, which takes a Python function, have a command."""
    assert set(tj.ANALYSES) <= set(tj.__all__)
    context = click.Context(commands)
    for name in set(tj.ANALYSES) - {"apply"}:
        assert name.replace("_", "-") in commands.list_commands(context)
        found = commands.get_command(context, name)
        assert found is not None
        assert found.name == name.replace("_", "-")
    names = {analysis.__name__ for analysis in plain_analyses()}
    assert names >= {"centers", "count", "end_to_end", "gyration", "gyration_moments"}


@each_analysis
def test_threads_and_tasks_change_no_bit(analysis: Analysis, thrice_adk: Adk) -> None:
    """Values with the defaults, which weigh by mass in some analyses."""
    selection = tj.open(thrice_adk.psf, thrice_adk.xtc).select("backbone")
    assert_same_bits_on_any_pool(lambda pool: analysis(selection, pool=pool).values)


@each_analysis
def test_rows_follow_frames(analysis: Analysis, adk: Adk) -> None:
    """Any choice of frames gives those rows of the whole."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    assert_rows_follow_frames(lambda frames: analysis(selection, frames=frames), 98)


@each_analysis
def test_atoms_by_number_need_no_topology(analysis: Analysis, adk: Adk) -> None:
    """With weights and groups that need none."""
    selection = tj.open(None, adk.xtc).select([1, 5, 8, 9, 14])
    values = analysis(selection, **without_topology(analysis)).values
    assert len(values) == 98
    assert np.isfinite(values).all()


@each_analysis
def test_files_hold_the_values(analysis: Analysis, adk: Adk, tmp_path: Path) -> None:
    """NPZ and CSV have all digits, the figure its unit, the report the selection."""
    result = analysis(tj.open(adk.psf, adk.xtc).select("name CA"))
    result.save(tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz", allow_pickle=False) as saved:
        assert np.array_equal(saved["values"], result.values)
        assert str(saved["units"]) == result.units
    result.save(tmp_path / "r.csv")
    head, rows = table(tmp_path / "r.csv")
    assert head[:2] == ["frame", "time_ps"]
    assert not any(" " in name for name in head)
    assert np.array_equal(rows[:, 2:], result.values.reshape(98, -1))
    assert result.units in result.plot().axes[0].get_ylabel()
    assert result.report["analysis"] == analysis.__name__
    assert result.report["parameters"]["selections"][0] == "name CA"


@each_analysis
def test_command_gives_the_numbers_of_the_function(
    analysis: Analysis, adk: Adk, tmp_path: Path
) -> None:
    """For every word and switch of its options, on chosen frames, and with the defaults."""
    outputs = ["-o", str(tmp_path / "r.csv"), "--report", str(tmp_path / "r.json")]
    arguments = [str(adk.psf), str(adk.xtc), "--select", "name N CA", "--start", "9", *outputs]
    selection = tj.open(adk.psf, adk.xtc).select("name N CA")

    def assert_same(options: list[str], values: dict[str, object]) -> None:
        done = CliRunner().invoke(commands, [analysis.__name__, *arguments, *options])
        assert done.exit_code == 0, done.output
        expected = analysis(selection, frames=slice(9, None), **values)
        rows = table(tmp_path / "r.csv")[1]
        assert np.array_equal(rows[:, 2:], expected.values.reshape(89, -1))
        assert f"{expected.values.reshape(89, -1)[:, 0].mean():.3f}" in done.output
        assert json.loads((tmp_path / "r.json").read_text())["analysis"] == analysis.__name__

    _, *own = own_parameters(analysis).items()
    for words in product(*(choices_of(annotation) for _, annotation in own)):
        values = {name: word for (name, _), word in zip(own, words, strict=True)}
        assert_same([text for item in values.items() for text in _written(*item)], values)
    assert_same([], {})


def _written(name: str, value: object) -> list[str]:
    """Return an argument of the function as the command line has it."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    return [f"--{option}", str(value)]
