"""Mistakes of new users: errors and messages say what is wrong, where, and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, misuse, run
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from trajet.result import Table

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


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Water molecules on a lattice of 3 Å, in a box, of which some atoms move."""
    folder = tmp_path_factory.mktemp("nm")
    n = 4
    oxygen = 3.0 * np.stack(np.meshgrid(*[np.arange(n)] * 3), axis=-1).reshape(-1, 3) + 1
    places = oxygen[:, None] + np.array([[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]])
    universe = mda.Universe.empty(
        3 * n**3, n_residues=n**3, atom_resindex=np.repeat(np.arange(n**3), 3), trajectory=True
    )
    universe.add_TopologyAttr("names", ["OW", "HW1", "HW2"] * n**3)
    universe.add_TopologyAttr("resnames", ["SOL"] * n**3)
    universe.add_TopologyAttr("resids", np.arange(1, n**3 + 1))
    universe.atoms.positions = places.reshape(-1, 3)
    universe.dimensions = [3 * n, 3 * n, 3 * n, 90, 90, 90]
    path = folder / "water.gro"
    universe.atoms.write(path)
    return tj.open(path)


CASES: dict[str, tuple[Callable[[tj.Trajectory, float], Table], float, float]] = {
    "contacts": (lambda t, d: tj.contacts(t.select("name OW"), cutoff=d), 0.35, 3.5),
    "contact_map": (lambda t, d: tj.contact_map(t.select("name OW"), cutoff=d), 0.45, 4.5),
    "min_distance": (
        lambda t, d: tj.min_distance(t.select("name OW and resid 1"), "resid 2", cutoff=d),
        0.45,
        4.5,
    ),
    "hbonds": (
        lambda t, d: tj.hbonds(t.select("all"), guess_bonds=True, cutoff=d, angle=0),
        0.3,
        3.2,
    ),
    "rdf": (lambda t, d: tj.rdf(t.select("name OW"), range=(0, d)), 0.55, 5.5),
    "rdf_pairs": (
        lambda t, d: tj.rdf_pairs([(t.select("name OW"), t.select("name OW"))], range=(0, d)),
        0.55,
        5.5,
    ),
    "count": (
        lambda t, d: tj.count(t.select(f"name OW and around {d} resid 1", updating=True)),
        0.35,
        3.5,
    ),
    "sasa": (lambda t, d: tj.sasa(t.select("resid 1"), probe=d, points=50), 0.14, 1.4),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_within_nm_is_reported(water: tj.Trajectory, name: str) -> None:
    """And the advised distance finds something, without the message."""
    compute, in_nm, in_angstrom = CASES[name]
    (message,) = [one for one in compute(water, in_nm).messages if "not in nm" in one]
    assert f"{in_nm:g}" in message
    assert f"{in_nm * 10:g}" in message
    found = compute(water, in_angstrom)
    assert not [one for one in found.messages if "not in nm" in one]
    assert np.nansum(np.asarray(found, float)) > 0


def test_clusters_of_one_frame_each_and_empty_grids(water: tj.Trajectory, tmp_path: Path) -> None:
    """A cut-off in nm makes a cluster of every frame; a grid in nm may miss all atoms."""
    rng = np.random.default_rng(1)
    moved = np.repeat(water.read().positions, 5, axis=0)
    moved += rng.normal(scale=1.0, size=moved.shape).astype(np.float32)
    tj.write(tmp_path / "moved.xtc", moved)
    traj = tj.open(water.paths[0], tmp_path / "moved.xtc")
    oxygens = traj.select("name OW")
    for cutoff, is_reported in ((0.15, True), (15.0, False)):
        messages = tj.cluster_rmsd(oxygens, cutoff=cutoff).messages
        assert any("no two frames are within 0.15 Å" in one for one in messages) == is_reported
    messages = tj.density(oxygens, grid_center=(0.2, 0.2, 90), grid_size=0.5).messages
    assert any("both are in Å, not in nm" in one for one in messages)


def test_no_native_contact_is_an_error_that_names_the_unit(water: tj.Trajectory) -> None:
    """As before, with the distance in Å."""
    with raises(tj.SelectionError):
        tj.native_contacts(water.select("name OW"), cutoff=0.45)


REPEATED = "are listed more than once in"


def messages_of(result: tj.Table) -> list[str]:
    """Return the messages on repeated atoms."""
    return [message for message in result.messages if REPEATED in message]


@pytest.fixture
def parts(adk: Adk) -> tuple[tj.Selection, tj.Selection]:
    """Return the atoms of two parts that overlap, listed once and as they are joined."""
    traj = tj.open(adk.psf, adk.xtc)
    first, second = traj.select("resid 1:6").indices, traj.select("resid 5:8").indices
    joined = np.concatenate([first, second])
    return traj.select(np.unique(joined)), traj.select(joined)


COUNTING = {
    "gyration": lambda one: tj.gyration(one, frames=[0]),
    "count": lambda one: tj.count(one, frames=[0]),
    "contacts": lambda one: tj.contacts(one, cutoff=3.0, frames=[0]),
    "sasa": lambda one: tj.sasa(one, points=20, frames=[0]),
    "rmsd": lambda one: tj.rmsd(one, frames=[0]),
    "density": lambda one: tj.density(one, spacing=9.0, frames=[0]),
}


@pytest.mark.parametrize("name", COUNTING)
def test_repeated_atoms_are_counted_with_a_message(
    name: str, parts: tuple[tj.Selection, tj.Selection]
) -> None:
    """The number of atoms that are repeated is named, however often they are."""
    once, joined = parts
    n_repeated = joined.n_atoms - once.n_atoms
    assert messages_of(COUNTING[name](once)) == []
    (message,) = messages_of(COUNTING[name](joined))
    assert f"{n_repeated} atoms {REPEATED} selection= and count each time" in message
    assert "numpy.unique" in message
    again = joined.trajectory.select(np.concatenate([joined.indices, joined.indices]))
    (message,) = messages_of(COUNTING[name](again))
    assert f"{once.n_atoms} atoms {REPEATED}" in message


def test_every_argument_and_every_job_has_the_message(
    parts: tuple[tj.Selection, tj.Selection],
) -> None:
    """Second groups, lists of groups and analyses of one run."""
    once, joined = parts
    traj = once.trajectory
    (message,) = messages_of(tj.contacts(once, joined, frames=[0]))
    assert f"{REPEATED} other=" in message
    (message,) = messages_of(tj.rmsd(once, groups=[once, joined], frames=[0]))
    assert f"{REPEATED} groups=" in message
    jobs = [tj.gyration.job(joined), tj.gyration.job(once)]
    counts = [len(messages_of(result)) for result in tj.run(jobs, frames=[0])]
    assert counts == [1, 0]
    # Texts, and masks, select each atom once.
    mask = np.isin(np.arange(traj.n_atoms), joined.indices)
    assert messages_of(tj.gyration(traj.select(mask), frames=[0])) == []
    assert messages_of(tj.sasa(once, context=joined, points=20, frames=[0])) == []


def test_lists_of_atoms_may_repeat_them(parts: tuple[tj.Selection, tj.Selection]) -> None:
    """Distances have a column for each pair, a minimum has none of its own, no message is due."""
    once, joined = parts
    for result in (
        tj.distances(joined, once, frames=[0]),
        tj.min_distance(joined, frames=[0]),
        tj.apply(joined, lambda x: x.sum(), frames=[0]),
    ):
        assert messages_of(result) == []
    least = [tj.min_distance(each, frames=[0]).values[0] for each in parts]
    assert least[0] == least[1] > 0
