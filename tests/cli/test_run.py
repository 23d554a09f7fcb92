"""`trajet run`: the analyses of a plan file give the files of separate commands."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import fail, invoke, misuse
from helpers.golden_files import Adk
from trajet.cli.from_signature import command_of
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
    ("old", "new"),
    [
        ("topology =", "topologie ="),
        ("step = 7", "step ="),
        ("step = 7", 'output = "all.csv"'),
        ("trajectory = [", "trajectory = [1, "),
        ("step = 7", "steps = 7"),
        ("no_pbc", "weight = 1\nno_pbc"),
        ('"rmsd"', '"rmse"'),
        ('command = "rmsd"', 'comand = "rmsd"'),
        ('select = "protein"', 'select = ["protein", "all"]'),
        ("no_pbc", "begin = 3\nno_pbc"),
        ('weights = "equal"', 'weights = "none"'),
        ("no_pbc = true", "no_pbc = 1"),
        ("[[analysis]]", "[[analyses]]"),
        ('"gyration.csv"', '"centers.csv"'),
        ("no_pbc = true", "no_pbc = true\nno-pbc = false"),
    ],
)
def test_faults_of_a_plan_are_named(adk: Adk, tmp_path: Path, old: str, new: str) -> None:
    """With the place, before any frame is read and any file is written."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(psf=adk.psf, xtc=adk.xtc).replace(old, new))
    misuse("run", plan)
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
    messages.compare(done.stderr)
    names = {"plan.toml", "rmsd.npz", "rmsd.json", "centers.csv", "gyration.csv"}
    assert {path.name for path in tmp_path.iterdir()} == names
    for name in names - {"plan.toml"}:
        (tmp_path / name).unlink()
    plan.write_text(text.replace('select = "protein"', 'select = "resname XYZ"'))
    fail("run", plan)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
