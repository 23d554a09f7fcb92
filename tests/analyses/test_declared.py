"""Laws of every analysis that declares its command: bits, frames, files, and the command itself."""

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
    declared_commands,
    table,
)
from helpers.golden_files import Adk
from trajet.analysis.command import Command
from trajet.cli.group import commands

declared = pytest.mark.parametrize("command", declared_commands(), ids=lambda one: one.name)


def test_every_analysis_is_exported_and_has_a_command() -> None:
    """All but `apply`, which takes a Python function, have a command."""
    assert set(tj.ANALYSES) <= set(tj.__all__)
    context = click.Context(commands)
    for name in set(tj.ANALYSES) - {"apply"}:
        assert name.replace("_", "-") in commands.list_commands(context)
        found = commands.get_command(context, name)
        assert found is not None
        assert found.name == name.replace("_", "-")
    for command in declared_commands():
        assert getattr(tj, command.name) is command.function


@declared
def test_threads_and_tasks_change_no_bit(command: Command, long_adk: Adk) -> None:
    """Of values with the defaults, by masses where the analysis has them."""
    selection = tj.open(long_adk.psf, long_adk.xtc).select("backbone")
    assert_same_bits_on_any_pool(lambda pool: command.function(selection, pool=pool).values)


@declared
def test_rows_follow_frames(command: Command, adk: Adk) -> None:
    """Any choice of frames gives those rows of the whole."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    assert_rows_follow_frames(lambda frames: command.function(selection, frames=frames), 98)


@declared
def test_atoms_by_number_need_no_topology(command: Command, adk: Adk) -> None:
    """With the arguments that are declared for it."""
    selection = tj.open(None, adk.xtc).select([1, 5, 8, 9, 14])
    values = command.function(selection, **command.without_topology).values
    assert len(values) == 98
    assert np.isfinite(values).all()


@declared
def test_files_hold_the_values(command: Command, adk: Adk, tmp_path: Path) -> None:
    """NPZ and CSV have all digits, the figure its unit, the report the selection."""
    result = command.function(tj.open(adk.psf, adk.xtc).select("name CA"))
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
    assert result.report["analysis"] == command.name
    assert result.report["parameters"]["selections"][0] == "name CA"


@declared
def test_command_gives_the_numbers_of_the_function(
    command: Command, adk: Adk, tmp_path: Path
) -> None:
    """For every word of every option, on chosen frames; the first word is the default."""
    outputs = ["-o", str(tmp_path / "r.csv"), "--report", str(tmp_path / "r.json")]
    arguments = [str(adk.psf), str(adk.xtc), "--select", "name CA", "--start", "9", *outputs]
    selection = tj.open(adk.psf, adk.xtc).select("name CA")

    def assert_same(options: list[str], values: dict[str, object]) -> None:
        done = CliRunner().invoke(commands, [command.name, *arguments, *options])
        assert done.exit_code == 0, done.output
        expected = command.function(selection, frames=slice(9, None), **values)
        rows = table(tmp_path / "r.csv")[1]
        assert np.array_equal(rows[:, 2:], expected.values.reshape(89, -1))
        assert f"{expected.values.reshape(89, -1)[:, 0].mean():.3f}" in done.output
        assert json.loads((tmp_path / "r.json").read_text())["analysis"] == command.name

    for words in product(*(option.values for option in command.options)):
        options, values = [], {}
        for option, word in zip(command.options, words, strict=True):
            options += ["--" + option.parameter.replace("_", "-"), word]
            values[option.parameter] = option.values[word]
        assert_same(options, values)
    assert_same([], {})
    assert command.help.splitlines()[0] in CliRunner().invoke(commands, ["--help"]).output
