"""Slips of users of MDAnalysis, mdtraj and GROMACS: the error names what does it here."""

import copy
import inspect
import pickle
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click.testing
import numpy as np
import pytest
import trajet as tj
from helpers.commands import misuse
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysisTests import datafiles
from trajet import hints
from trajet.cli import option_hints
from trajet.cli.group import commands
from trajet.formats import FORMATS

# Python code, and the class of its exception.
CODE: dict[str, type[Exception]] = {
    # Names of the package.
    "tj.Universe('top.psf', 'traj.xtc')": AttributeError,
    "tj.Writer('out.xtc')": AttributeError,
    "tj.compute_rg(traj)": AttributeError,
    "tj.RMSD(traj)": AttributeError,
    "tj.load('traj.xtc')": tj.FormatError,
    "tj.load('traj.xtc', top='top.psf')": TypeError,
    "tj.load('traj.xtc', 'top.psf')": TypeError,
    # Attributes.
    "traj.select_atoms('name CA')": AttributeError,
    "traj.trajectory": AttributeError,
    "traj.positions": AttributeError,
    "traj.xyz": AttributeError,
    "traj.box": AttributeError,
    "traj.dimensions": AttributeError,
    "traj.superpose(traj)": AttributeError,
    "selection.positions": AttributeError,
    "selection.center_of_mass()": AttributeError,
    "selection.resids": AttributeError,
    "selection.rg": AttributeError,
    "near.positions": AttributeError,
    "block.dimensions": AttributeError,
    "frame.xyz": AttributeError,
    "topology.n_bonds": AttributeError,
    "result.results.rmsd": AttributeError,
    "result.rg": AttributeError,
    "result.run()": AttributeError,
    "result.savefig('a.png')": AttributeError,
    # Keywords.
    "tj.open('top.psf', 'traj.xtc', dt=2)": TypeError,
    "tj.open('traj.xtc', top='top.psf')": TypeError,
    "tj.rmsd(selection, start=10)": TypeError,
    "tj.rmsd(traj, select='name CA')": TypeError,
    "tj.rmsd(selection, n_jobs=4)": TypeError,
    "tj.rmsd(selection, center=True)": TypeError,
    "tj.distances(selection, other, box=None)": TypeError,
    "tj.hbonds(selection, d_a_cutoff=3)": TypeError,
    "tj.rdf(selection, nbins=75)": TypeError,
    "traj.wrap(compound='fragments')": TypeError,
    "tj.run([tj.rmsd.job(selection)], n_jobs=2)": TypeError,
    "result.plot(colour='red')": TypeError,
    "result.plot(figsize=(4, 3))": TypeError,
    # Arguments without names.
    "tj.LocalPool(4)": TypeError,
    "tj.ProcessPool(4)": TypeError,
    "tj.DaskPool('tcp://n1:8786')": TypeError,
    "tj.DaskPool(4)": TypeError,
    "tj.MpiPool(4)": TypeError,
    "tj.rmsd(selection, pool=4)": TypeError,
    "tj.rmsd(selection, pool='dask')": TypeError,
    "tj.run(tj.rmsd.job(selection), tj.rmsf.job(selection))": TypeError,
    "tj.features('phi')": TypeError,
    "tj.features(traj)": TypeError,
    # Numbers with units.
    "tj.contacts(selection, other, cutoff='0.45nm')": TypeError,
    "tj.contacts.job(selection, other, cutoff='4.5')": TypeError,
    "tj.contacts(selection, other, cutoff='short')": TypeError,
    "tj.rdf(selection, range=('0nm', '1.5nm'))": TypeError,
    "tj.msd(selection, max_lag='0.1ns')": TypeError,
    "tj.hbonds(selection, angle='120deg')": TypeError,
    "tj.open('top.psf', 'traj.xtc', time_step='2fs')": ValueError,
    "result.statistics(discard='1ns')": ValueError,
    # Words of selections.
    "traj.select('chain A')": tj.SelectionError,
    "traj.select('chainID A')": tj.SelectionError,
    "traj.select('resSeq 5')": tj.SelectionError,
    # Formats.
    "tj.open('top.psf', 'run.mdcrd')": tj.FormatError,
    "tj.open('top.psf', 'run.tng')": tj.FormatError,
    "tj.open('top.psf', 'one.pqr')": tj.FormatError,
}
# Words of the command line.
COMMANDS = [
    "rmsd -s top.psf -f traj.xtc",
    "convert -s top.psf -f traj.xtc -o out.dcd",
    "convert -f traj.xtc -o out.dcd",
    "info -f traj.xtc",
    "rmsd top.psf traj.xtc -b 10",
    "rmsd top.psf traj.xtc -dt 100",
    "rmsd top.psf traj.xtc --dt=100",
    "rmsd top.psf traj.xtc -n index.ndx",
    "rmsd top.psf traj.xtc --selection protein",
    "rmsd top.psf traj.xtc -fit none",
    "sasa top.psf traj.xtc -fit none",
    "rmsd top.psf traj.xtc --colour red",
    "rmsd top.psf traj.xtc -nt 4",
    "gyrate top.psf traj.xtc",
    "trjconv -f traj.xtc",
    "convert top.psf traj.xtc 'a b.dcd' --step 2",
    "convert top.psf traj.xtc out.dcd --topology top.psf",
    "convert top.psf out.dcd",
    "convert traj.xtc top.tpr out.dcd",
    "split top.prmtop traj.xtc --segments 2 -o parts",
]


@pytest.fixture(scope="module")
def slips(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Yield the variables of the code, in a folder with the files that it names."""
    folder = tmp_path_factory.mktemp("slips")
    shutil.copy(adk.psf, folder / "top.psf")
    for name in ("traj.xtc", "part1.xtc", "part2.xtc"):
        shutil.copy(adk.xtc, folder / name)
    shutil.copy(datafiles.TRJ, folder / "run.mdcrd")
    shutil.copy(datafiles.TNG_traj, folder / "run.tng")
    shutil.copy(datafiles.PQR, folder / "one.pqr")
    traj = tj.open(adk.psf, adk.xtc)
    selection = traj.select("name CA")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield {
            "tj": tj,
            "traj": traj,
            "selection": selection,
            "other": traj.select("name CB"),
            "near": traj.select("around 5 resid 9", updating=True),
            "block": traj.read([0]),
            "frame": traj[0],
            "positions": traj.read([0]).positions,
            "topology": traj.topology,
            "result": tj.rmsd(selection),
            "function": np.mean,
            "numpy": np,
        }


@pytest.mark.parametrize("code", CODE)
def test_errors_name_what_does_it(slips: dict[str, Any], code: str) -> None:
    """Nothing of it is understood."""
    with raises(CODE[code]):
        eval(code, slips)


@pytest.mark.parametrize("words", COMMANDS)
def test_usage_errors_name_what_does_it(slips: dict[str, Any], words: str) -> None:
    """Nothing of it is understood: the exit code is that of a wrong command line."""
    misuse(*shlex.split(words))


def test_there_are_forty_slips() -> None:
    """At least."""
    assert len(CODE) + len(COMMANDS) >= 40


@pytest.fixture(scope="module")
def owners(slips: dict[str, Any], systems: Systems) -> dict[str, object]:
    """Return an object of each class that has hints, and the package."""
    solvated = systems["solvated.xtc"].trajectory.select("resname SOL and name OW")
    return {
        "trajet": tj,
        "Trajectory": slips["traj"],
        "Transformable": slips["traj"],
        "UpdatingSelection": slips["near"],
        "Selection": slips["selection"],
        "Topology": slips["topology"],
        "Block": slips["block"],
        "Frame": slips["frame"],
        "Table": slips["result"],
        "RadialDistribution": tj.rdf(solvated),
        "MeanSquaredDisplacement": tj.msd(slips["selection"], unwrapped=True),
    }


@pytest.mark.parametrize("owner", hints.ATTRIBUTES)
def test_hints_on_attributes_are_code_that_runs(
    slips: dict[str, Any], owners: dict[str, object], owner: str
) -> None:
    """None is on an attribute that exists."""
    of_owner = owners[owner]
    names = slips | {"result": of_owner}
    if owner == "UpdatingSelection":
        names["selection"] = of_owner
    for name, hint in hints.ATTRIBUTES[owner].items():
        assert not hasattr(of_owner, name)
        with raises(AttributeError) as raised:
            getattr(of_owner, name)
        if owner != "Transformable" or name == "superpose":
            assert str(raised.value).endswith(hint)
        for code in hint.partition(": ")[0].split(", or "):
            method = "traj." * (owner == "Transformable")
            # There are neither cells, velocities, hydrogen bonds nor chain identifiers.
            with suppress(tj.TrajetError):
                eval(method + code, names)


def test_hints_on_arguments_are_for_functions_that_lack_them() -> None:
    """Each keyword has a function whose error names a parameter, each option a command."""
    functions = [getattr(tj, name) for name in (*tj.ANALYSES, "open", "run", "load")]
    functions += [tj.Table.plot, tj.Trajectory.wrap, tj.Trajectory.fit]
    known = [inspect.signature(function).parameters for function in functions]
    for name in hints.KEYWORDS:
        assert any(hints.hint_on_keywords([name], one) for one in known), name
    names = ("rmsd", "rdf", "contacts", "convert")
    run = click.testing.CliRunner().invoke
    for word in option_hints.OPTIONS:
        tried = (run(commands, [name, word]) for name in names)
        assert any(f"No such option {word!r}: write " in done.output for done in tried), word


def test_hints_on_commands_and_formats_are_of_others() -> None:
    """They are none of ours; what commands name is."""
    ours = commands.list_commands(click.Context(commands))
    assert set(hints.COMMANDS.values()) <= set(ours)
    assert set(hints.COMMANDS).isdisjoint(ours)
    read = [suffix for info in FORMATS.values() for suffix in info.suffixes]
    assert set(hints.SUFFIXES).isdisjoint(read)


def test_classes_with_hints_are_as_others(owners: dict[str, object]) -> None:
    """They are copied, pickled and listed, and say so if they lack something else."""
    for name, of_owner in list(owners.items())[1:]:
        assert not hasattr(of_owner, "__setstate__")
        assert hints.ATTRIBUTES[name].keys().isdisjoint(dir(of_owner))
        with raises(AttributeError):
            _ = of_owner.zzz  # type: ignore[attr-defined]
        assert type(copy.copy(of_owner)) is type(of_owner)
        if name not in ("Topology", "UpdatingSelection"):
            assert type(pickle.loads(pickle.dumps(of_owner))) is type(of_owner)
    # An error of a property is its own.
    with raises(AttributeError):
        _ = owners["RadialDistribution"].times  # type: ignore[attr-defined]


def test_a_file_may_have_the_suffix_of_another_format(adk: Adk, tmp_path: Path) -> None:
    """NetCDF files of Amber are often named so."""
    path = tmp_path / "run.mdcrd"
    tj.convert(tj.open(adk.psf, adk.xtc), tmp_path / "run.nc", frames=[0])
    (tmp_path / "run.nc").rename(path)
    assert tj.open(adk.psf, path).format == "NCDF"


def test_columns_of_a_topology_are_listed(adk: Adk) -> None:
    """Those that the file has: each is an attribute."""
    topology = tj.open(adk.psf, adk.xtc).topology
    for listed, absent in ((topology, "chainIDs"), (topology.residues, "zzz")):
        names = [name for name in dir(listed) if not name.startswith("_")]
        assert {"resnames", "resids", "segids"} <= set(names)
        assert absent not in names
        assert len(names) == len(set(names))
    assert {"names", "masses", "charges", "resindices"} <= set(dir(topology))


def test_summaries_print_the_table_of_the_command(adk: Adk) -> None:
    """Its first rows, and how many more there are."""
    traj = tj.open(adk.psf, adk.xtc)
    done = click.testing.CliRunner().invoke(
        commands, ["rmsd", str(adk.psf), str(adk.xtc), "--select", "name CA"]
    )
    title, *table = str(tj.rmsd(traj.select("name CA")).summary()).splitlines()
    assert title == "RMSD (Å)"
    assert all(line in done.output.splitlines() for line in table)
    summary = tj.distances(traj.select("resid 1-5 and name CA"), "resid 9-14 and name CA").summary()
    assert str(summary).endswith("… and 18 more")


def test_exceptions_of_the_first_call_name_the_frame(adk: Adk) -> None:
    """It determines the shape of the values."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    with pytest.raises(ZeroDivisionError) as raised:
        tj.apply(atoms, lambda positions: 1 / 0, frames=[3, 5])
    assert raised.value.__notes__ == ["the function was called for frame 3"]


class _TwoArguments(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one)


def test_exceptions_that_cannot_be_sent_name_the_frame(adk: Adk) -> None:
    """The worker's error has their text and notes."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")

    def fails(positions: np.ndarray, frame: int) -> float:
        if frame == 37:
            raise _TwoArguments("one", "other")
        return 0.0

    with raises(tj.WorkerError) as raised:
        tj.apply(atoms, fails, pool=tj.ProcessPool(workers=1))
    assert "the function was called for frame 37" in raised.value.__notes__


def test_angle_at_the_other_atom_is_questioned(adk: Adk) -> None:
    """GROMACS gives the angle at the donor, MDAnalysis that at the hydrogen."""
    protein = tj.open(adk.psf, adk.xtc).select("protein")

    def questions(**angles: float) -> list[str]:
        report = tj.hbonds(protein, frames=[0], pbc=False, **angles).report
        return [one for one in report.messages if "is meant" in one]

    assert "give donor_angle=30 if" in questions(angle=30)[0]
    assert "give angle=150 if" in questions(donor_angle=150)[0]
    assert questions(angle=0) == questions(angle=120) == questions(donor_angle=30) == []
