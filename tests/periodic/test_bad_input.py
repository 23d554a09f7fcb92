"""Transforms of what cannot be transformed are errors that say what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import commands, messages, trr_bytes
from helpers.messages import raises
from helpers.periodic_systems import PeriodicSystem, make_system
from MDAnalysisTests import datafiles

N_ATOMS = 154
CUBE = 3 * np.eye(3)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water."""
    return make_system("chains", tmp_path_factory.mktemp("chains"))


def written(
    system: PeriodicSystem, folder: Path, box: np.ndarray | None, missing: float | None = None
) -> tj.Trajectory:
    """Return three frames with this box; positions of the second are `missing`."""
    x = np.random.default_rng(1).uniform(0, 3, (3, N_ATOMS, 3))
    if missing is not None:
        x[1] = missing
    return tj.open(system.topology, trr_bytes.write_trr(folder / "x.trr", x, boxes=[box] * 3))


NEED_CELLS: dict[str, Callable[[tj.Trajectory], tj.Trajectory]] = {
    "whole": lambda traj: traj.whole(),
    "nojump": lambda traj: traj.nojump(),
    "cluster": lambda traj: traj.cluster("resname ALA GLY"),
    "center": lambda traj: traj.center("resname ALA"),
    "wrap": lambda traj: traj.wrap(by="atom"),
    "repaired": lambda traj: traj.repair("resname ALA"),
}


@pytest.mark.parametrize("name", NEED_CELLS)
def test_frames_without_a_cell_or_volume_are_errors(
    system: PeriodicSystem, tmp_path: Path, name: str
) -> None:
    """For reads, analyses on threads, and copies, which leave no file."""
    for box in (None, np.diag([3.0, 3, 0]), np.diag([0.1, 0.1, 0.1])):
        traj = NEED_CELLS[name](written(system, tmp_path, box))
        chosen = traj.select("resname ALA")
        for act in (
            lambda chosen=chosen: chosen.read(),
            lambda chosen=chosen: tj.gyration(chosen, pool=tj.LocalPool(threads=2)),
            lambda chosen=chosen: tj.convert(chosen, tmp_path / "copy.xtc"),
        ):
            with raises(tj.AnalysisError):
                act()
        assert not (tmp_path / "copy.xtc").exists()
    # Superposition and translation need none.
    plain = written(system, tmp_path, None).fit("resname ALA").translate([1, 0, 0])
    assert np.isfinite(plain.read().positions).all()


def test_placeholders_of_cells_give_no_distances(system: PeriodicSystem, tmp_path: Path) -> None:
    """A cell of 1 Å, as in files made from structures without one, is an error or not used."""
    traj = written(system, tmp_path, np.diag([0.1, 0.1, 0.1]))
    (tmp_path / "none").mkdir()
    without = written(system, tmp_path / "none", None)
    pair, twin = ([each.select(f"index {k}") for k in (0, 50)] for each in (traj, without))
    with raises(tj.AnalysisError):
        tj.min_distance(*pair)
    found = tj.min_distance(*pair, pbc=False).values
    assert np.array_equal(found, tj.min_distance(*twin).values)
    for text in ("around 4 resid 1", "prop x > 10"):
        assert np.array_equal(traj.select(text).indices, without.select(text).indices)
    with raises(tj.AnalysisError):
        tj.count(traj.select("around 4 resid 1", updating=True))
    # Copies hold what the file holds.
    tj.convert(traj, tmp_path / "copy.xtc")
    cells = tj.open(None, tmp_path / "copy.xtc").read().cells
    assert cells[0] == pytest.approx([1, 1, 1, 90, 90, 90])


def test_topologies_without_bonds_name_the_remedy() -> None:
    """A GRO file has none; they are guessed only if asked."""
    traj = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    with raises(tj.SelectionError):
        traj.whole()
    for change in (traj.cluster, traj.repair):
        with raises(tj.SelectionError):
            change("protein")
    with raises(tj.SelectionError):
        traj.wrap()
    with raises(tj.SelectionError):
        traj.nojump(view="toroidal")
    assert traj.whole(guess_bonds=True).nojump(view="toroidal").n_frames == 10
    assert traj.wrap(by="residue").n_frames == traj.nojump().n_frames == 10
    guessed = traj.whole(guess_bonds=True).select("protein")
    exact = tj.open(datafiles.TPR, datafiles.XTC, sidecar=False).whole().select("protein")
    block, twin = (chosen.read(frames=[0, 9]).positions for chosen in (guessed, exact))
    assert np.array_equal(block, twin)
    report = tj.rmsd(guessed, frames=[0]).report
    assert any("guessed from distances" in message for message in report.messages)
    with raises(tj.SelectionError):
        tj.open(None, datafiles.XTC, sidecar=False).whole()
    with raises(tj.SelectionError):
        tj.open(datafiles.TPR, datafiles.XTC, sidecar=False).whole(guess_bonds=True)


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception]]] = [
    ("nojump", (), {"view": "x"}, ValueError),
    ("wrap", (), {"by": "atom", "cell": "x"}, ValueError),
    ("wrap", (), {"by": "x"}, ValueError),
    ("wrap", (), {"weights": "charge"}, ValueError),
    ("center", ("resname XXX",), {}, tj.SelectionError),
    ("center", ("resnme ALA",), {}, tj.SelectionError),
    ("center", (7,), {}, TypeError),
    ("center", ("resname ALA",), {"weights": [1, 2]}, ValueError),
    ("center", ("resname ALA",), {"weights": np.zeros(30)}, ValueError),
    ("fit", ("resname ALA",), {"motion": "x"}, ValueError),
    ("fit", ("resname ALA",), {"reference": 99}, tj.FrameError),
    ("fit", ("resname ALA",), {"reference": np.zeros((3, 3))}, tj.SelectionError),
    ("fit", ("resname ALA",), {"reference": np.full((30, 3), np.nan)}, ValueError),
    ("translate", ([1, 2],), {}, ValueError),
    ("translate", ([1, 2, np.inf],), {}, ValueError),
]


@pytest.mark.parametrize(("name", "arguments", "options", "kind"), WRONG)
def test_wrong_arguments_are_errors_at_once(
    system: PeriodicSystem,
    name: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    kind: type[Exception],
) -> None:
    """Before any frame is read; the message names what is allowed."""
    traj = system.open()
    with raises(kind):
        getattr(traj, name)(*arguments, **options)


def test_selections_of_other_trajectories_are_refused(system: PeriodicSystem) -> None:
    """Selections of the same files opened again are refused, too; earlier states are taken."""
    traj, other = system.open(), system.open().select("resname ALA")
    for change in (traj.center, traj.cluster, traj.fit, traj.repair):
        with raises(tj.SelectionError):
            change(other)
        with raises(TypeError):
            change(traj)  # type: ignore[arg-type]
    own = traj.select("resname ALA")
    one, two = traj.whole().center(own), traj.whole().center("resname ALA")
    assert np.array_equal(one.read().positions, two.read().positions)


def test_jumps_are_removed_once(system: PeriodicSystem) -> None:
    """A second removal would do nothing."""
    with raises(ValueError):
        system.open().nojump().whole().nojump()


def test_positions_that_are_not_numbers_stay_so(system: PeriodicSystem, tmp_path: Path) -> None:
    """Frames without positions stay; others are as without them."""
    traj = written(system, tmp_path, CUBE, np.nan)
    for change in (lambda t: t.whole().nojump(), lambda t: t.repair("resname ALA")):
        positions = change(traj).read().positions
        assert np.isnan(positions[1]).all()
        alone = change(traj).read(frames=[0, 2]).positions
        assert np.array_equal(positions[[0, 2]], alone)
    assert np.isnan(traj.fit("resname ALA").read().positions[1]).all()
    with raises(tj.AnalysisError):
        traj.nojump().read(frames=[1, 2])


def test_far_positions_are_refused_or_stay_finite(system: PeriodicSystem, tmp_path: Path) -> None:
    """Coordinates of 1e30 Å neither hang nor become something else than numbers."""
    traj = written(system, tmp_path, CUBE, 1e29)
    n_refused = 0
    for change in NEED_CELLS.values():
        changed = change(traj)
        try:
            positions = changed.read().positions
        except tj.AnalysisError as error:
            messages.compare(error)
            n_refused += 1
        else:
            assert np.isfinite(positions).all()
    assert n_refused > 0


def test_rotated_boxes_have_no_rectangular_form(system: PeriodicSystem) -> None:
    """After a fit only the other cells are filled."""
    fitted = system.open().whole().fit("resname ALA")
    with raises(tj.AnalysisError):
        fitted.wrap(cell="rectangular").read(frames=[3])
    assert np.isfinite(fitted.wrap(cell="compact").read().positions).all()


# A chain of carbon atoms across the box of 40 Å, and beads of lipids.
CHAIN = np.array([[38.0 + 1.4 * k, 5.0, 5.0] for k in range(5)])
BEADS = np.array([[20.0, 20.0, 3.0 + 4 * k] for k in range(8)])
LIPIDS = {
    "known beads": ["NC3", "PO4", "GL1", "C1A"],
    # No element begins with these letters.
    "unknown beads": ["QX", "QY", "QZ", "QQ"],
}


def opened(folder: Path, beads: list[str]) -> tj.Trajectory:
    """Return one frame, in which the chain is broken."""
    x = np.concatenate([CHAIN % 40, BEADS])
    names = [(1, "LIG", f"C{k + 1}") for k in range(len(CHAIN))]
    names += [(2 + k // 4, "POPC", beads[k % 4]) for k in range(len(BEADS))]
    lines = ["a chain and lipids", f"{len(x)}"]
    for i, ((number, residue, name), place) in enumerate(zip(names, x, strict=True)):
        row = "".join(f"{value / 10:8.3f}" for value in place)
        lines.append(f"{number:5d}{residue:5s}{name:>5s}{i + 1:5d}{row}")
    path = folder / "x.gro"
    path.write_text("\n".join([*lines, "   4.00000   4.00000   4.00000", ""]))
    return tj.open(path, path, sidecar=False)


@pytest.mark.parametrize("name", LIPIDS)
def test_atoms_are_repaired_and_beads_are_refused(name: str, tmp_path: Path) -> None:
    """Whatever reads the beads; selections by distance from them are those of stored positions."""
    traj = opened(tmp_path, LIPIDS[name])
    whole = traj.whole(guess_bonds=True)
    chain = whole.select("resname LIG")
    assert np.abs(chain.read().positions[0] - CHAIN).max() < 1e-4
    assert tj.gyration(chain, weights="equal").messages != []
    assert whole.select("resname LIG and around 30 resname POPC").n_atoms == len(CHAIN)
    beads = whole.select(f"name {LIPIDS[name][1]}")
    refused: list[Callable[[], Any]] = [
        whole.read,
        beads.read,
        lambda: next(whole.blocks()),
        lambda: beads.cursor().read(0),
        lambda: tj.gyration(beads, weights="equal"),
        lambda: tj.convert(whole, tmp_path / "copy.xtc"),
        lambda: whole.center(f"name {LIPIDS[name][1]}"),
        lambda: traj.repair("resname POPC", guess_bonds=True),
        lambda: whole.nojump().read(),
        lambda: whole.wrap().read(),
    ]
    for act in refused:
        with raises(tj.SelectionError):
            act()
    assert not (tmp_path / "copy.xtc").exists()
    tj.convert(chain, tmp_path / "some.xtc")


def test_models_without_atoms_are_refused(tmp_path: Path) -> None:
    """No bond can be guessed at all."""
    lines = (opened(tmp_path, LIPIDS["known beads"]), (tmp_path / "x.gro").read_text())[1]
    rows = lines.splitlines()
    rows = [rows[0], "8", *rows[7:]]
    (tmp_path / "x.gro").write_text("\n".join([*rows, ""]))
    traj = tj.open(tmp_path / "x.gro", tmp_path / "x.gro", sidecar=False)
    with raises(tj.SelectionError):
        traj.whole(guess_bonds=True)


def test_command_repairs_the_atoms_that_it_reads(tmp_path: Path) -> None:
    """The error of the beads names what to choose."""
    opened(tmp_path, LIPIDS["known beads"])
    path = str(tmp_path / "x.gro")
    command = ["gyration", path, path, "--weights", "equal", "--whole", "--guess-bonds"]
    commands.succeed(*command, "--select", "resname LIG")
    commands.fail(*command, "--select", "resname POPC")
