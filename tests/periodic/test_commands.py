"""Options of the command line transform positions as the methods do, and say what they need."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.periodic_systems import PeriodicSystem, make_system
from helpers.transform_cases import CASES, cases_of
from MDAnalysisTests import datafiles

CHAINS = "resname ALA GLY"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water."""
    return make_system("chains", tmp_path_factory.mktemp("chains"))


@pytest.mark.parametrize("name", cases_of("command"))
def test_conversions_hold_what_the_methods_return(
    system: PeriodicSystem, tmp_path: Path, name: str
) -> None:
    """In the order of the documentation, whatever the order of the options is."""
    path, options = tmp_path / "copy.dcd", CASES[name].options
    done = commands.run(
        "convert", system.path, path, "--topology", system.topology, *options, "--allow-loss"
    )
    assert done.returncode == 0, done.stderr
    twin = CASES[name].change(system.open()).read().positions
    assert np.array_equal(tj.open(None, path).read().positions, twin)
    assert not np.array_equal(twin, system.open().read().positions)


def test_analyses_take_the_options(system: PeriodicSystem, tmp_path: Path) -> None:
    """Values are those of the method; the report names the transforms."""
    files = (system.topology, system.path, "--select", CHAINS)
    table, report = tmp_path / "gyration.csv", tmp_path / "report.json"
    options = ("--whole", "--cluster", CHAINS, "--nojump")
    commands.succeed("gyration", *files, *options, "-o", table, "--report", report)
    rows = [line for line in table.read_text().splitlines() if line[:1].isdigit()]
    values = np.array([row.split(",")[-1] for row in rows], float)
    twin = tj.gyration(system.open().whole().nojump().cluster(CHAINS).select(CHAINS)).values
    assert np.allclose(values, twin, rtol=1e-6)
    words = json.loads(report.read_text())["parameters"]["transforms"]
    assert [one["transform"] for one in words] == ["whole", "nojump", "cluster"]


def test_message_on_broken_molecules_names_the_option_that_removes_it(
    system: PeriodicSystem,
) -> None:
    """Without it molecules are broken, and the message says so; with it there is none."""
    files = ("rmsd", system.topology, system.path, "--select", "resname ALA")
    plain = "\n".join(commands.unwrapped("\n".join(commands.succeed(*files))))
    (option,) = set(re.findall(r"make molecules whole with (--[\w-]+)", plain))
    assert option == "--whole"
    assert "broken" not in "\n".join(commands.succeed(*files, option))
    assert "broken" not in "\n".join(commands.succeed(*files, "--repair", "resname ALA"))


def test_guessed_bonds_are_reported(tmp_path: Path) -> None:
    """A GRO file has no bonds; the error names the option that guesses them."""
    top, path = tmp_path / "wet.gro", tmp_path / "wet.xtc"
    shutil.copyfile(datafiles.GRO, top)
    shutil.copyfile(datafiles.XTC, path)
    files = ("rmsd", top, path, "--select", "protein", "--whole", "--stop", 2)
    commands.fail(*files)
    lines = commands.succeed(*files, "--guess-bonds")
    assert any("guessed from distances" in line for line in lines)


CONTRADICTIONS = [
    ("--nojump-every-frame",),
    ("--wrap-cell", "compact"),
    ("--guess-bonds",),
    ("--repair", CHAINS, "--whole"),
    ("--repair", CHAINS, "--center", CHAINS),
    ("--repair", CHAINS, "--wrap"),
    ("--repair", CHAINS, "--cluster", CHAINS),
    ("--nojump", "sideways"),
    ("--wrap", "box"),
]


@pytest.mark.parametrize("options", CONTRADICTIONS)
def test_contradicting_options_are_misuse(
    system: PeriodicSystem, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Status 2, before any file is opened."""
    copy = ("convert", system.path, tmp_path / "out.xtc", "--topology", system.topology)
    commands.misuse(*copy, *options)
    assert not list(tmp_path.iterdir())


def test_errors_of_transforms_are_one_line(system: PeriodicSystem, tmp_path: Path) -> None:
    """Unknown names and missing topologies."""
    files = ("rmsd", system.topology, system.path, "--select", "resname ALA")
    commands.fail(*files, "--center", "resname XXX")
    copy = ("convert", system.path, tmp_path / "out.xtc")
    commands.fail(*copy, "--whole")
    assert not list(tmp_path.iterdir())


def test_help_names_all_options() -> None:
    """The help of analyses and of `convert`."""
    names = "--repair --whole --nojump --nojump-every-frame --cluster --center --wrap"
    for command in ("rmsd", "rmsf", "gyration", "rdf", "dihedrals", "distances", "convert"):
        level = "--help" if command == "convert" else "--help-all"
        text = "\n".join(commands.succeed(command, level))
        for name in (*names.split(), "--wrap-cell", "--fit", "--guess-bonds"):
            assert re.search(rf"^ +{name}\b", text, re.MULTILINE), (command, name)
