"""`trajet run`: the analyses of a plan file give the files of separate commands."""

from pathlib import Path

import click.testing
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from trajet.cli.from_signature import command_of
from trajet.cli.group import commands
from trajet.cli.run import _arguments

PLAN = """
topology = "{psf}"
trajectory = ["{xtc}"]
step = 7
threads = 1

[[analysis]]
command = "rmsd"
select = "name CA"
groups = ["protein", "resid 1:30"]
output = "rmsd.npz"
report = "rmsd.json"

[[analysis]]
command = "center-distances"
select = ["resid 1", "resid 9"]
no_pbc = true
output = "centers.csv"

[[analysis]]
command = "gyration"
select = "protein"
weights = "equal"
output = "gyration.csv"
"""
COMMANDS = (
    ("rmsd", "--select", "name CA", "--groups", "protein", "--groups", "resid 1:30", "rmsd.npz"),
    ("center-distances", "--select", "resid 1", "--select", "resid 9", "--no-pbc", "centers.csv"),
    ("gyration", "--select", "protein", "--weights", "equal", "gyration.csv"),
)


def invoke(*arguments: object) -> click.testing.Result:
    """Run the command line in this process."""
    return click.testing.CliRunner().invoke(commands, list(map(str, arguments)))


def test_files_equal_those_of_separate_commands(adk: Adk, tmp_path: Path) -> None:
    """And the tables are printed in the order of the plan."""
    plan, alone = tmp_path / "plan.toml", tmp_path / "alone"
    alone.mkdir()
    plan.write_text(PLAN.format(psf=adk.psf, xtc=adk.xtc))
    done = invoke("run", plan)
    assert done.exit_code == 0, done.output
    for name, *options, output in COMMANDS:
        one = invoke(name, adk.psf, adk.xtc, *options, "--step", 7, "-o", alone / output)
        assert one.exit_code == 0, one.output
        if output.endswith(".npz"):
            together, separate = (tj.load(folder / output) for folder in (tmp_path, alone))
            assert np.array_equal(together.values, separate.values)
        else:
            assert (tmp_path / output).read_bytes() == (alone / output).read_bytes()
        # The first line of a table has the time of the run.
        table = one.output.splitlines()[1:3]
        assert all(line in done.output for line in table)
    assert '"analyses_of_run"' in (tmp_path / "rmsd.json").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("topology =", "topologie ="), "(not 'topologie')"),
        (("step = 7", "step ="), "not a TOML file"),
        (("step = 7", 'output = "all.csv"'), "output is of one analysis"),
        (("trajectory = [", "trajectory = [1, "), "a trajectory is a path"),
        (
            ("step = 7", "steps = 7"),
            "above the first [[analysis]]: rmsd has no option 'steps': did you mean step",
        ),
        (
            ("no_pbc", "weight = 1\nno_pbc"),
            "analysis 2: center-distances has no option 'weight': did you mean weights",
        ),
        (('"rmsd"', '"rmse"'), "not 'rmse': did you mean rmsf or rmsd?"),
        (('command = "rmsd"', 'comand = "rmsd"'), "(not 'comand')"),
        (('select = "protein"', 'select = ["protein", "all"]'), "select takes one value, not a"),
        (("no_pbc", "begin = 3\nno_pbc"), "analysis 2: begin is the same for all analyses"),
        (('weights = "equal"', 'weights = "none"'), "analysis 3 (gyration): Invalid value"),
        (("no_pbc = true", "no_pbc = 1"), "no-pbc is true or false, not 1"),
        (("[[analysis]]", "[[analyses]]"), "(not 'analyses')"),
        (('"gyration.csv"', '"centers.csv"'), "centers.csv is written by"),
        (("no_pbc = true", "no_pbc = true\nno-pbc = false"), "no-pbc is given twice"),
    ],
)
def test_faults_of_a_plan_are_named(
    adk: Adk, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    """With the place, before any frame is read and any file is written."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(psf=adk.psf, xtc=adk.xtc).replace(*change))
    done = invoke("run", plan)
    assert done.exit_code == 2
    assert message in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"pbc": False}, ["--no-pbc"]),
        ({"no-pbc": True}, ["--no-pbc"]),
        ({"no-pbc": False}, ["--pbc"]),
        ({"updating": True}, ["--updating"]),
        ({"updating": False}, []),
        ({"nojump": True, "wrap": True}, ["--nojump=lattice", "--wrap=molecule"]),
        ({"nojump": "toroidal", "wrap": False}, ["--nojump=toroidal"]),
    ],
)
def test_switches_are_true_or_false(options: dict[str, bool | str], arguments: list[str]) -> None:
    """Also those that have an opposite, and those whose value may be left out."""
    assert list(_arguments(command_of("contacts"), options, "plan.toml")) == arguments


def test_analyses_that_fail_are_named_and_the_others_are_written(adk: Adk, tmp_path: Path) -> None:
    """With exit code 1; a fault of the plan's selections ends it before any frame is read."""
    failing = """
[[analysis]]
command = "linear-density"
select = "name CA"
quantity = "number"
output = "density.csv"
"""
    plan = tmp_path / "plan.toml"
    text = PLAN.format(psf=adk.psf, xtc=adk.xtc)
    plan.write_text(text + failing)
    done = invoke("run", plan)
    assert done.exit_code == 1
    (line,) = [line for line in done.output.splitlines() if line.startswith("trajet: ")]
    assert line.startswith("trajet: analysis 4 (linear-density): ")
    assert "has no unit cell" in line
    names = {"plan.toml", "rmsd.npz", "rmsd.json", "centers.csv", "gyration.csv"}
    assert {path.name for path in tmp_path.iterdir()} == names
    for name in names - {"plan.toml"}:
        (tmp_path / name).unlink()
    plan.write_text(text.replace('select = "protein"', 'select = "resname XYZ"'))
    done = invoke("run", plan)
    assert done.exit_code == 1
    assert f"trajet: {plan}: analysis 3 (gyration): " in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
