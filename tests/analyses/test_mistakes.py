"""Mistakes of new users: errors say what is wrong, where, and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, misuse, run
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems

Mistake = Callable[[tj.Trajectory], Any]
MISTAKES: dict[str, tuple[Mistake, type[Exception]]] = {
    "path as axes": (
        lambda traj: tj.rmsd(traj.select("name CA")).plot("x.png"),  # type: ignore[arg-type]
        TypeError,
    ),
    "path as axes of a map": (
        lambda traj: tj.contact_map(traj.select("name CA")).plot(Path("x.png")),  # type: ignore[arg-type]
        TypeError,
    ),
    "path as axes of two": (
        lambda traj: tj.pca(traj.select("name CA")).plot("x.png"),  # type: ignore[arg-type]
        TypeError,
    ),
    "text beside the trajectory": (
        lambda traj: tj.rmsd(traj, "name CA"),  # type: ignore[call-arg, misc]
        TypeError,
    ),
    "unknown option": (
        lambda traj: tj.cluster_rmsd(traj.select("name CA"), clusters=4),  # type: ignore[call-arg]
        TypeError,
    ),
    "no cut-off": (lambda traj: tj.cluster_rmsd(traj.select("name CA"), n_clusters=4), ValueError),
    "text as reference": (
        lambda traj: tj.rmsd(traj.select("name CA"), reference="name CB"),
        FileNotFoundError,
    ),
    "text as frames": (
        lambda traj: tj.rmsd(traj.select("name CA"), frames="0:10"),  # type: ignore[arg-type]
        TypeError,
    ),
    "number as range": (
        lambda traj: tj.rdf(traj.select("name CA"), range=20),  # type: ignore[arg-type]
        TypeError,
    ),
    "number as range of pairs": (
        lambda traj: tj.rdf_pairs([(traj.select("name CA"), "name CB")], range=20),  # type: ignore[arg-type]
        TypeError,
    ),
    "one job": (
        lambda traj: tj.run(tj.rmsd.job(traj.select("name CA"))),  # type: ignore[arg-type]
        TypeError,
    ),
    "function first": (
        lambda traj: tj.apply(np.mean, traj.select("name CA")),  # type: ignore[arg-type]
        TypeError,
    ),
    "no weights": (
        lambda traj: tj.rmsd(traj.select("name CA"), weights=None),  # type: ignore[arg-type]
        ValueError,
    ),
    "no weights of a transform": (
        lambda traj: traj.center("name CA", weights=None),  # type: ignore[arg-type]
        ValueError,
    ),
    "selection as a frame": (
        lambda traj: traj["name CA"],  # type: ignore[index]
        TypeError,
    ),
    "trajectory first": (lambda traj: tj.open(traj.path, traj.topology_path), tj.FormatError),
    "folder": (lambda traj: tj.open(traj.topology_path, traj.path.parent), IsADirectoryError),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_advise(adk: Adk, name: str) -> None:
    """In Python."""
    mistake, kind = MISTAKES[name]
    with raises(kind):
        mistake(tj.open(adk.psf, adk.xtc))


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        (fail, ["rmsd", "--start", "90", "--stop", "10"]),
        (misuse, ["cluster-rmsd", "--n-clusters", "4"]),
        (misuse, ["rmds"]),
    ],
)
def test_messages_of_commands_advise(
    adk: Adk, expect: Callable[..., object], words: list[str]
) -> None:
    """On the command line."""
    name, *options = words
    expect(name, adk.psf, adk.xtc, "--select", "name CA", *options)


def test_a_stop_behind_the_last_frame_is_told(adk: Adk) -> None:
    """The trajectory may be shorter than was thought."""
    done = run("rmsd", adk.psf, adk.xtc, "--select", "name CA", "--stop", 500)
    assert done.returncode == 0
    assert "ends before --stop 500" in done.stderr


def test_too_few_atoms_are_reported(adk: Adk) -> None:
    """Numbers of superpositions and radii of one atom say nothing."""
    traj = tj.open(adk.psf, adk.xtc)
    one, two, three = (traj.select(np.arange(n)) for n in (1, 2, 3))
    turned = "not determine how a frame is turned: superpose three atoms or more"
    for atoms, words in ((one, "one atom does"), (two, "two atoms do")):
        fitted = tj.rmsd(three.fit(atoms), motion="none")
        for result in (tj.rmsd(atoms), tj.rmsf(three, align=atoms), fitted):
            (message,) = result.messages
            assert f"{words} {turned}" in message
    (message,) = tj.gyration(one).messages
    assert message.endswith("one atom, whose radius of gyration is 0: choose more")
    for result in (tj.rmsd(three), tj.rmsf(one, align=three), tj.gyration(two)):
        assert result.messages == []
    (message,) = tj.rmsf(one).messages
    assert message.startswith("nothing was fitted: ")
    assert tj.rmsf(one.fit(three)).messages == []
    assert tj.rmsd(one, motion="none").messages == []
    moved = tj.rmsd(three.fit(one, motion="translation"), motion="none")
    assert moved.messages == []


def test_few_or_distant_frames_are_reported(systems: Systems) -> None:
    """Lifetimes of bonds that are gone in the next frame, and lines through few lags."""
    traj = systems["solvated.xtc"].trajectory
    protein, water = traj.select("protein"), traj.select("resname SOL and around 5 protein")
    options = {"by": "residue", "lifetimes": True, "guess_bonds": True}
    report = tj.hbonds(protein, water, **options).report
    assert any("not resolved: save frames more often" in one for one in report.messages)
    calpha = traj.select("protein and name CA")
    report = tj.msd(calpha, unwrapped=True, fit_range=(100, 200)).report
    assert any("is fitted to " in one for one in report.messages)
    # What a notebook shows has the messages.
    assert all(f"{one.label}: {one}" in repr(report) for one in report.messages)


def test_count_reports_frames_without_a_cell(adk: Adk, systems: Systems) -> None:
    """If the selection compares distances."""
    traj = tj.open(adk.psf, adk.xtc)
    (message,) = tj.count(traj.select("around 5 resid 9", updating=True)).messages
    assert "98 of 98 frames have no unit cell: distances that the selection compares" in message
    for text, of in (
        ("prop x > 3", traj),
        ("around 5 resid 9", systems["solvated.xtc"].trajectory),
    ):
        result = tj.count(of.select(text, updating=True), frames=slice(0, 3))
        assert not any("unit cell" in one for one in result.messages)
