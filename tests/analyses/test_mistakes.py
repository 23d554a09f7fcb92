"""Mistakes of new users: errors say what is wrong, where, and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.systems import Systems
from trajet.cli.group import commands

Mistake = Callable[[tj.Trajectory], Any]
MISTAKES: dict[str, tuple[Mistake, type[Exception], str]] = {
    "path as axes": (
        lambda traj: tj.rmsd(traj.select("name CA")).plot("x.png"),  # type: ignore[arg-type]
        TypeError,
        r"not into str: to write a file, call plot\(\)\.savefig\('x\.png'\)",
    ),
    "path as axes of a map": (
        lambda traj: tj.contact_map(traj.select("name CA")).plot(Path("x.png")),  # type: ignore[arg-type]
        TypeError,
        r"call plot\(\)\.savefig\('x\.png'\)",
    ),
    "path as axes of two": (
        lambda traj: tj.pca(traj.select("name CA")).plot("x.png"),  # type: ignore[arg-type]
        TypeError,
        r"call plot\(\)\.savefig\('x\.png'\)",
    ),
    "text beside the trajectory": (
        lambda traj: tj.rmsd(traj, "name CA"),  # type: ignore[call-arg, misc]
        TypeError,
        r"its arguments are selection, and by name reference, .*traj\.select\('name CA'\)",
    ),
    "unknown option": (
        lambda traj: tj.cluster_rmsd(traj.select("name CA"), clusters=4),  # type: ignore[call-arg]
        TypeError,
        r"unexpected keyword argument 'clusters'; .*n_clusters",
    ),
    "no cut-off": (
        lambda traj: tj.cluster_rmsd(traj.select("name CA"), n_clusters=4),
        ValueError,
        r"give cutoff=1\.5 .*; for a number of clusters, give method='average'",
    ),
    "text as reference": (
        lambda traj: tj.rmsd(traj.select("name CA"), reference="name CB"),
        FileNotFoundError,
        r"name CB: there is no such reference: give a frame number, 'average'",
    ),
    "text as frames": (
        lambda traj: tj.rmsd(traj.select("name CA"), frames="0:10"),  # type: ignore[arg-type]
        TypeError,
        r"such as slice\(0, 100, 10\).* not '0:10'",
    ),
    "number as range": (
        lambda traj: tj.rdf(traj.select("name CA"), range=20),  # type: ignore[arg-type]
        TypeError,
        r"such as \(0, 15\), not 20",
    ),
    "number as range of pairs": (
        lambda traj: tj.rdf_pairs([(traj.select("name CA"), "name CB")], range=20),  # type: ignore[arg-type]
        TypeError,
        r"such as \(0, 15\), not 20",
    ),
    "one job": (
        lambda traj: tj.run(tj.rmsd.job(traj.select("name CA"))),  # type: ignore[arg-type]
        TypeError,
        r"give a list of jobs: tj\.run\(\[job\]\)",
    ),
    "function first": (
        lambda traj: tj.apply(np.mean, traj.select("name CA")),  # type: ignore[arg-type]
        TypeError,
        r"apply\(selection, function\)",
    ),
    "no weights": (
        lambda traj: tj.rmsd(traj.select("name CA"), weights=None),  # type: ignore[arg-type]
        ValueError,
        r'not None: give "equal" for equal weights',
    ),
    "no weights of a transform": (
        lambda traj: traj.center("name CA", weights=None),  # type: ignore[arg-type]
        ValueError,
        r'not None: give "equal" for equal weights',
    ),
    "former name": (
        lambda traj: tj.contacts(a=traj.select("name CA"), b="name CB"),  # type: ignore[call-arg]
        TypeError,
        "; a is now selection; b is now other; its arguments are selection, other",
    ),
    "former name of one function": (
        lambda traj: tj.rmsd(traj.select("name CA"), center=True),  # type: ignore[call-arg]
        TypeError,
        'center is now motion="translation";',
    ),
    "former name of a transform": (
        lambda traj: traj.whole(bonds="guess"),  # type: ignore[call-arg]
        TypeError,
        r"whole\(\) got an unexpected keyword argument 'bonds'; bonds is now guess_bonds=True",
    ),
    "former name of the run": (
        lambda traj: tj.run([tj.rmsd.job(traj.select("name CA"))], sample=True),  # type: ignore[call-arg]
        TypeError,
        "sample is now time_sample",
    ),
    "selection as a frame": (
        lambda traj: traj["name CA"],  # type: ignore[index]
        TypeError,
        r"atoms are chosen by select",
    ),
    "trajectory first": (
        lambda traj: tj.open(traj.path, traj.topology_path),
        tj.FormatError,
        r"the topology comes before the trajectory",
    ),
    "folder": (
        lambda traj: tj.open(traj.topology_path, traj.path.parent),
        IsADirectoryError,
        r"give the path of a trajectory",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_advise(adk: Adk, name: str) -> None:
    """In Python."""
    mistake, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        mistake(tj.open(adk.psf, adk.xtc))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["rmsd", "--start", "90", "--stop", "10"],
            1,
            "no frame is left by --start 90, --stop 10: frames go from --start up to the one before"
            " --stop, and the trajectory has frames 0 to 97",
        ),
        (["rmsd", "--stop", "500"], 0, "ends before --stop 500: its last frame is 97"),
        (["cluster-rmsd", "--n-clusters", "4"], 2, "give --method average, complete or single"),
        (["rmds"], 2, "No such command 'rmds'. Did you mean rmsf or rmsd?"),
    ],
)
def test_messages_of_commands_advise(adk: Adk, words: list[str], code: int, message: str) -> None:
    """On the command line."""
    name, *options = words
    command = [name, str(adk.psf), str(adk.xtc), "--select", "name CA", *options]
    done = click.testing.CliRunner().invoke(commands, command)
    assert (done.exit_code, message in f"{done.output} {done.exception}") == (code, True)


def test_too_few_atoms_are_remarked(adk: Adk) -> None:
    """Numbers of superpositions and radii of one atom say nothing."""
    traj = tj.open(adk.psf, adk.xtc)
    one, two, three = (traj.select(np.arange(n)) for n in (1, 2, 3))
    turned = "not determine how a frame is turned: superpose three atoms or more"
    for atoms, words in ((one, "one atom does"), (two, "two atoms do")):
        fitted = tj.rmsd(three.fit(atoms), motion="none")
        for result in (tj.rmsd(atoms), tj.rmsf(three, align=atoms), fitted):
            (remark,) = result.report["remarks"]
            assert f"{words} {turned}" in remark
    (remark,) = tj.gyration(one).report["remarks"]
    assert remark.endswith("one atom, whose radius of gyration is 0: choose more")
    for result in (tj.rmsd(three), tj.rmsf(one, align=three), tj.gyration(two)):
        assert result.report["remarks"] == []
    (remark,) = tj.rmsf(one).report["remarks"]
    assert remark.startswith("nothing was fitted: ")
    assert tj.rmsf(one.fit(three)).report["remarks"] == []
    assert tj.rmsd(one, motion="none").report["remarks"] == []
    moved = tj.rmsd(three.fit(one, motion="translation"), motion="none")
    assert moved.report["remarks"] == []


def test_few_or_distant_frames_are_remarked(systems: Systems) -> None:
    """Lifetimes of bonds that are gone in the next frame, and lines through few lags."""
    traj = systems["solvated.xtc"].trajectory
    protein, water = traj.select("protein"), traj.select("resname SOL and around 5 protein")
    options = {"by": "residue", "lifetimes": True, "guess_bonds": True}
    report = tj.hbonds(protein, water, **options).report
    assert any("not resolved; save frames more often" in one for one in report["remarks"])
    calpha = traj.select("protein and name CA")
    report = tj.msd(calpha, unwrapped=True, fit_range=(100, 200)).report
    assert any("is fitted to " in one for one in report["remarks"])
    # What a notebook shows has the remarks.
    assert all(f"note: {one}" in repr(report) for one in report["remarks"])


def test_count_remarks_frames_without_a_cell(adk: Adk, systems: Systems) -> None:
    """If the selection compares distances."""
    traj = tj.open(adk.psf, adk.xtc)
    (remark,) = tj.count(traj.select("around 5 resid 9", updating=True)).report["remarks"]
    assert "98 of 98 frames have no unit cell: distances that the selection compares" in remark
    for text, of in (
        ("prop x > 3", traj),
        ("around 5 resid 9", systems["solvated.xtc"].trajectory),
    ):
        result = tj.count(of.select(text, updating=True), frames=slice(0, 3))
        assert not any("unit cell" in one for one in result.report["remarks"])
