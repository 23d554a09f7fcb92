"""Dihedral angles equal those of MDAnalysis and of a naive twin, and hold laws.

MDAnalysis takes bonds as differences in float32, and the cell too: up to 1e-5 Å in these systems.
By how much that turns an angle depends on its atoms, and `plain_geometry.softness` computes it: for
a protein's backbone up to 1e-3 degrees, more if three atoms are nearly on a line. The naive twin
has the same bonds in float64: only rounding remains. 180 and -180 degrees are the same. A bond with
two shortest images gives either of two angles, and is left out.
"""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes, xtc_bytes
from helpers.analysis_laws import table
from helpers.made_coordinates import MADE, Made
from helpers.messages import raises
from helpers.systems import NAMES, Systems, in_changing_cells
from MDAnalysis.analysis import dihedrals as mdanalysis
from MDAnalysis.lib.distances import calc_bonds, calc_dihedrals

SINGLE = 1e-5
BACKBONE_DEGREES = 1e-3
# Rounding of bonds relative to their length, in float64.
ROUNDING = 1e-13
WITH_PROTEIN = ["adk.xtc", "adk.dcd", "solvated.xtc", "solvated.trr", "cobrotoxin.trr"]


def quadruples_of(n_atoms: int, n: int, seed: int = 0) -> np.ndarray:
    """Draw quadruples of different atoms."""
    rng = np.random.default_rng([n_atoms, seed])
    return np.array([rng.choice(n_atoms, 4, replace=False) for _ in range(n)])


def assert_twin(result: tj.Dihedrals, traj: tj.Trajectory, *, pbc: bool = True) -> None:
    """Assert that every defined angle is that of the naive twin."""
    atoms, places = np.unique(result.atoms, return_inverse=True)
    block = traj.read(atoms=atoms)
    compared = 0
    for k, frame in enumerate(result.frames):
        points = block.positions[frame][places.reshape(-1, 4)]
        cell = block.cells[frame] if pbc else None
        if cell is not None and traj.path.name == "skewed.dcd" and not np.isnan(cell).any():
            # As CHARMM wrote them.
            cell = plain.symmetric_vectors(cell)
        scale = np.linalg.norm(plain.bonds(points, cell), axis=2).max()
        tolerance = plain.softness(points, cell) * ROUNDING * scale
        clear = (tolerance < 1e-3) & ~plain.has_tie(points, cell)
        off = plain.apart(result.angles[k], plain.dihedrals(points, cell))
        assert (off[clear] < 1e-12 + tolerance[clear]).all()
        compared += clear.sum()
    assert compared > 0.9 * result.angles.size


@pytest.mark.parametrize("name", WITH_PROTEIN)
def test_ramachandran_equals_mdanalysis(systems: Systems, name: str) -> None:
    """Angles are MDAnalysis' Ramachandran of the same residues, across the cell's faces too."""
    system = systems[name]
    protein = system.universe.select_atoms("protein")
    expected = mdanalysis.Ramachandran(protein).run().results.angles
    result = tj.dihedrals(system.trajectory.select("protein"))
    n_frames, n_residues, _ = expected.shape
    assert n_residues >= 60
    assert result.values.shape == (n_frames, 2 * n_residues)
    assert result.values.dtype == np.float64
    off = plain.apart(result.values, expected.reshape(n_frames, -1))
    assert off.max() < BACKBONE_DEGREES
    assert result.values.min() >= -180
    assert result.values.max() <= 180
    assert result.units == "degrees"
    assert result.backbone
    assert not result.sin_cos
    # The protein is broken across the faces in these files: without images angles differ.
    broken = name.startswith("solvated")
    without = tj.dihedrals(system.trajectory.select("protein"), pbc=False)
    assert (plain.apart(without.values, result.values).max() > 10) == broken


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc"])
def test_residues_with_both_angles_are_chosen(systems: Systems, name: str) -> None:
    """They are those of the selected atoms that have both angles, in their order, with names."""
    system = systems[name]
    residues = system.universe.select_atoms("protein").residues
    for text, numbers in (
        ("protein and resid 10-15 and name CB", range(10, 16)),
        ("protein and resid 1-3", [2, 3]),
        ("protein and resid 212-214", [212, 213]),
        ("protein and (resid 40 or resid 7)", [7, 40]),
    ):
        result = tj.dihedrals(system.trajectory.select(text))
        atoms, names = [], []
        for number in numbers:
            residue = residues[residues.resids == number][0]
            if residue.resname == "GLY" and "CB" in text:
                continue
            names += [f"{angle} {residue.resname}{number}" for angle in ("phi", "psi")]
            atoms += [residue.phi_selection().indices, residue.psi_selection().indices]
        assert result.columns == tuple(names)
        assert np.array_equal(result.atoms, atoms)
        by_quadruple = tj.dihedrals(system.trajectory, result.atoms)
        assert by_quadruple.values.tobytes() == result.values.tobytes()
        assert not by_quadruple.backbone


def test_atom_groups_equal_selections(systems: Systems) -> None:
    """An AtomGroup gives the angles of a Selection of the same atoms."""
    system = systems["adk.xtc"]
    text = "resid 30-60"
    result = tj.dihedrals(system.universe.select_atoms(text))
    same = tj.dihedrals(system.trajectory.select(text))
    assert result.columns == same.columns
    assert result.values.tobytes() == same.values.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_any_quadruples_equal_mdanalysis(systems: Systems, name: str) -> None:
    """Quadruples of any atoms have the angles of MDAnalysis' Dihedral and of the naive twin.

    In the skewed cell MDAnalysis' images are others: only angles with equal images are compared
    with its own.
    """
    system = systems[name]
    fours = quadruples_of(system.trajectory.n_atoms, 70)
    result = tj.dihedrals(system.trajectory, fours)
    assert np.array_equal(result.atoms, fours)
    assert result.columns[0] == "-".join(map(str, fours[0]))
    assert_twin(result, system.trajectory)
    expected = mdanalysis.Dihedral([system.universe.atoms[four] for four in fours]).run()
    assert result.values.shape == expected.results.angles.shape
    for k, ts in enumerate(system.universe.trajectory):
        points = ts.positions[fours]
        cell = system.vectors(system.trajectory.read(frames=[k]).cells[0])
        four = np.moveaxis(points, 1, 0)
        lengths = [calc_bonds(*four[i : i + 2], box=ts.dimensions) for i in range(3)]
        bonds = np.linalg.norm(plain.bonds(points, cell), axis=2)
        same = (np.abs(np.transpose(lengths) - bonds) < 1e-3).all(axis=1)
        assert same.all() or system.charmm
        same &= ~plain.has_tie(points, cell)
        assert same.mean() > 0.8 or system.charmm
        off = plain.apart(result.values[k], expected.results.angles[k])
        assert (off < plain.softness(points, cell) * SINGLE)[same].all()


@pytest.mark.parametrize("name", NAMES)
def test_without_images_bonds_are_differences_of_positions(systems: Systems, name: str) -> None:
    """With pbc=False, angles are those of MDAnalysis without a box."""
    system = systems[name]
    fours = quadruples_of(system.trajectory.n_atoms, 70)
    result = tj.dihedrals(system.trajectory, fours, pbc=False)
    assert_twin(result, system.trajectory, pbc=False)
    for k, ts in enumerate(system.universe.trajectory):
        points = ts.positions[fours]
        expected = np.degrees(calc_dihedrals(*np.moveaxis(points, 1, 0)))
        off = plain.apart(result.values[k], expected)
        assert (off < plain.softness(points) * SINGLE).all()


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_made_coordinates_equal_the_twin(made: Made, tmp_path: Path) -> None:
    """Coordinates may be of any size, or degenerate."""
    path = xtc_bytes.write_xtc(tmp_path / "m.xtc", made.coordinates(), precision=made.precision)
    traj = tj.open(None, path)
    if traj.n_atoms < 4:
        with raises(tj.SelectionError):
            tj.dihedrals(traj, [[0, 1, 2, 3]])
        return
    result = tj.dihedrals(traj, quadruples_of(traj.n_atoms, 50))
    if made.name in ("line", "one-point"):
        assert np.isnan(result.values).all()
        features = tj.dihedrals(traj, result.atoms, sin_cos=True)
        assert np.isnan(features.values).all()
        return
    assert_twin(result, traj)


def test_sign_and_size_follow_iupac(tmp_path: Path) -> None:
    """An angle is positive if it is clockwise, seen along the middle bond."""
    degrees = np.arange(-175, 181, 5)
    turn = np.radians(degrees)
    ones, zeros = np.ones(len(turn)), np.zeros(len(turn))
    # Seen from below (along z), x turns towards -y clockwise.
    last = np.stack([np.cos(turn), np.sin(turn), 1.3 * ones], 1)
    points = np.stack(
        [np.stack([ones, zeros, -0.2 * ones], 1), np.zeros((len(turn), 3)), last * [0, 0, 1], last],
        axis=1,
    )
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "known.trr", points))
    result = tj.dihedrals(traj, [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3]])
    assert plain.apart(result.values[:, 0], degrees).max() < 1e-4
    assert plain.apart(result.values[:, 1], degrees).max() < 1e-4
    read = np.moveaxis(traj.read().positions, 1, 0)
    expected = np.degrees(calc_dihedrals(*read))
    assert plain.apart(result.values[:, 0], expected).max() < 1e-4
    quarter = result.values[degrees == 90, 0]
    assert quarter == pytest.approx(90, abs=1e-4)


def test_mirror_images_change_the_sign(systems: Systems, tmp_path: Path) -> None:
    """A mirror turns every sign."""
    x = systems["adk.xtc"].trajectory.read(frames=slice(3)).positions / 10
    fours = tj.dihedrals(systems["adk.xtc"].trajectory.select("protein"), frames=[0]).atoms
    there, mirrored = (
        tj.dihedrals(tj.open(None, trr_bytes.write_trr(tmp_path / f"{name}.trr", frames)), fours)
        for name, frames in (("x", x), ("mirror", x * [1, -1, 1]))
    )
    assert np.abs(there.values).min() > 0
    assert plain.apart(there.values, -mirrored.values).max() < 1e-9


def test_rotation_and_translation_change_no_angle(tmp_path: Path) -> None:
    """A rigid body that moves keeps its angles; so do quadruples in reverse order."""
    rng = np.random.default_rng(31)
    body = np.cumsum(rng.normal(0, 0.1, (40, 3)), axis=0)
    frames = [body @ plain.rotation(rng) + rng.uniform(-1, 1, 3) for _ in range(25)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "rigid.trr", frames))
    fours = np.arange(37)[:, None] + np.arange(4)
    result = tj.dihedrals(traj, fours)
    # Float32 positions of up to 30 Å: 2e-6 Å each.
    soft = plain.softness(traj.read(frames=[0]).positions[0][fours])
    assert (plain.apart(result.values, result.values[0]) < soft * SINGLE).all()
    assert np.ptp(result.values[0]) > 90
    backwards = tj.dihedrals(traj, fours[:, ::-1])
    assert plain.apart(backwards.values, result.values).max() < 1e-8


@pytest.mark.parametrize("cell", plain.CELLS.values(), ids=plain.CELLS)
def test_broken_molecules_have_the_angles_of_whole_ones(
    cell: tuple[float, ...], tmp_path: Path
) -> None:
    """Each atom is moved by whole cells of its own."""
    rng = np.random.default_rng(32)
    basis = plain.cell_vectors(np.array(cell, float)) / 10
    whole = np.cumsum(rng.normal(0, 0.09, (8, 60, 3)), axis=1)
    broken = whole + rng.integers(-3, 4, whole.shape) @ basis
    fours = np.arange(57)[:, None] + np.arange(4)
    files = {}
    for name, frames in (("whole", whole), ("broken", broken)):
        path = trr_bytes.write_trr(tmp_path / f"{name}.trr", frames, boxes=[basis] * 8)
        files[name] = tj.open(None, path)
    expected = tj.dihedrals(files["whole"], fours, pbc=False)
    result = tj.dihedrals(files["broken"], fours)
    points = files["whole"].read().positions[:, fours]
    soft = np.array([plain.softness(frame) for frame in points])
    # Float32 positions of up to 300 Å: 2e-5 Å each, and the cell's rounding three times.
    assert (plain.apart(result.values, expected.values) < soft * 1e-4).all()
    assert_twin(result, files["broken"])
    apart = tj.dihedrals(files["broken"], fours, pbc=False)
    assert_twin(apart, files["broken"], pbc=False)
    assert np.median(plain.apart(apart.values, expected.values)) > 10


def test_each_frame_has_its_own_cell(tmp_path: Path) -> None:
    """Cells change from frame to frame, and some frames have none."""
    traj, celled = in_changing_cells(tmp_path, 33)
    has_cell = ~np.isnan(traj.read().cells).any(axis=1)
    assert has_cell.tolist() == celled
    fours = quadruples_of(20, 60)
    result = tj.dihedrals(traj, fours)
    assert_twin(result, traj)
    without = tj.dihedrals(traj, fours, pbc=False).values
    same = [a.tobytes() == b.tobytes() for a, b in zip(result.values, without, strict=True)]
    assert same == (~has_cell).tolist()


def test_three_atoms_on_a_line_give_nan(tmp_path: Path) -> None:
    """Angles and features of these atoms, and of two at one place, are NaN, and no others."""
    line = [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    x = np.array([*line, [3, 1, 0], [3, 2, 5], [3, 3, 1], [3, 2, 5]]) / 4
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "line.trr", np.array([x, x * [1, 1, -1]])))
    fours = [[0, 1, 2, 3], [3, 2, 1, 0], [3, 0, 1, 2], [1, 2, 3, 4], [2, 3, 4, 5], [4, 6, 3, 1]]
    nan = [True, True, True, False, False, True]
    assert np.isnan(tj.dihedrals(traj, fours).values).tolist() == [nan, nan]
    features = tj.dihedrals(traj, fours, sin_cos=True)
    assert np.isnan(features.values).tolist() == [np.repeat(nan, 2).tolist()] * 2
    assert np.isnan(features.angles).tolist() == [nan, nan]


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.trr"])
def test_features_are_cosine_and_sine(systems: Systems, name: str) -> None:
    """Cosine and sine of each angle alternate, in the order of the angles, on the unit circle."""
    system = systems[name]
    selection = system.trajectory.select("protein")
    result = tj.dihedrals(selection)
    features = tj.dihedrals(selection, sin_cos=True)
    assert features.sin_cos
    assert features.units == ""
    assert features.values.shape == (len(result.values), 2 * result.values.shape[1])
    assert np.array_equal(features.atoms, result.atoms)
    cosines, sines = features.values[:, ::2], features.values[:, 1::2]
    assert np.abs(cosines**2 + sines**2 - 1).max() < 1e-15
    assert np.abs(cosines - np.cos(np.radians(result.values))).max() < 1e-14
    assert np.abs(sines - np.sin(np.radians(result.values))).max() < 1e-14
    assert plain.apart(features.angles, result.values).max() < 1e-12
    assert result.angles is result.values
    assert features.columns[:4] == tuple(
        f"{function} {angle}" for angle in result.columns[:2] for function in ("cos", "sin")
    )


def test_order_of_quadruples_permutes_columns(systems: Systems) -> None:
    """Another order, or repeats, choose columns and change no bit of them."""
    for name in ("adk.xtc", "solvated.xtc", "skewed.dcd"):
        traj = systems[name].trajectory
        fours = quadruples_of(traj.n_atoms, 77)
        chosen = np.random.default_rng(34).integers(0, 77, 200)
        for features in (False, True):
            result = tj.dihedrals(traj, fours, sin_cos=features).values.reshape(
                -1, 77, 1 + features
            )
            other = tj.dihedrals(traj, fours[chosen].tolist(), sin_cos=features).values
            assert other.tobytes() == result[:, chosen].tobytes()


def test_atoms_may_be_numbers_of_any_kind(systems: Systems) -> None:
    """Lists, tuples and arrays of any integer type name the same atoms."""
    traj = systems["adk.xtc"].trajectory
    fours = quadruples_of(3341, 5)
    expected = tj.dihedrals(traj, fours).values.tobytes()
    for same in (
        fours.tolist(),
        tuple(map(tuple, fours.tolist())),
        fours.astype(np.int32),
        fours.astype(np.uint16),
        np.asfortranarray(fours),
        fours.repeat(2, axis=1)[:, ::2],
    ):
        assert tj.dihedrals(traj, same).values.tobytes() == expected
    assert tj.dihedrals(traj.select("name CA"), fours).values.tobytes() == expected


def test_frames_without_positions_give_nan(tmp_path: Path) -> None:
    """The rows of frames without positions are NaN, and the report counts them."""
    frames = list(np.random.default_rng(35).normal(0, 1, (9, 7, 3)))
    frames[0] = frames[5] = None
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames))
    for features in (False, True):
        result = tj.dihedrals(traj, [[0, 1, 2, 3], [3, 4, 5, 6]], sin_cos=features)
        nan = [k in (0, 5) for k in range(9)]
        assert np.isnan(result.values).all(axis=1).tolist() == nan
        assert np.isnan(result.values).any(axis=1).tolist() == nan
        assert result.report["empty_frames"] == 2
        assert result.report["frames"] == 9


def test_selections_without_residues_are_errors(systems: Systems) -> None:
    """Water, chain ends, or no topology: a SelectionError states what is needed."""
    for name, text in (
        ("solvated.xtc", "resname SOL and resid 300-400"),
        ("skewed.dcd", "all"),
        ("hexagonal.dcd", "index 0-10"),
        ("adk.xtc", "resid 1"),
        ("adk.xtc", "resid 1 or resid 214"),
        ("solvated.xtc", "resname NA+"),
    ):
        traj = systems[name].trajectory
        with raises(tj.SelectionError):
            tj.dihedrals(traj.select(text))
    with raises(tj.SelectionError):
        tj.dihedrals(tj.open(None, systems["adk.xtc"].path))
    with raises(TypeError):
        tj.dihedrals("protein")


@pytest.mark.parametrize(("name", "atom"), [("adk.xtc", 3340), ("solvated.xtc", 47680)])
def test_last_residue_of_a_chain_alone_is_an_error(systems: Systems, name: str, atom: int) -> None:
    """The end of a chain, or of the system, has no ψ: it is a SelectionError as for others."""
    with raises(tj.SelectionError):
        tj.dihedrals(systems[name].trajectory.select([atom]))


@pytest.mark.parametrize("none", [[], [[]], np.empty((0, 4), np.int64)])
def test_no_quadruple_is_an_error(systems: Systems, none: object) -> None:
    """There is nothing to compute."""
    with raises(tj.SelectionError):
        tj.dihedrals(systems["adk.xtc"].trajectory, none)


def test_an_atom_that_a_quadruple_has_twice_is_an_error(systems: Systems) -> None:
    """It has no angle; the first such quadruple is named."""
    with raises(tj.SelectionError):
        tj.dihedrals(systems["adk.xtc"].trajectory, [[0, 1, 2, 3], [3, 1, 2, 3], [4, 4, 5, 6]])


@pytest.mark.parametrize(
    "wrong",
    [
        [0, 1, 2, 3],
        [[0, 1, 2]],
        [[0, 1, 2, 3, 4]],
        [[[0, 1, 2, 3]]],
        [[0.0, 1.0, 2.0, 3.0]],
        [[True, False, True, True]],
        [["a", "b", "c", "d"]],
        "name CA",
    ],
)
def test_malformed_quadruples_are_errors(systems: Systems, wrong: object) -> None:
    """Quadruples must be rows of four integers."""
    with raises(TypeError):
        tj.dihedrals(systems["adk.xtc"].trajectory, wrong)


@pytest.mark.parametrize("atom", [-1, 3341, 10**12])
def test_atoms_out_of_range(systems: Systems, atom: int) -> None:
    """The error names the atom and the range."""
    with raises(tj.SelectionError):
        tj.dihedrals(systems["adk.xtc"].trajectory, [[0, 1, 2, 3], [0, 1, 2, atom]])


def test_frames_out_of_range(systems: Systems) -> None:
    """The error names the frame and the range."""
    with raises(tj.FrameError):
        tj.dihedrals(systems["adk.xtc"].trajectory, [[0, 1, 2, 3]], frames=[0, 98])


def test_saved_without_a_number(tmp_path: Path) -> None:
    """Undefined angles are read back as NaN."""
    frames = [np.zeros((4, 3)), None, np.eye(4, 3)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "n.trr", frames))
    result = tj.dihedrals(traj, [[0, 1, 2, 3]])
    result.save(tmp_path / "n.csv")
    _, numbers = table(tmp_path / "n.csv")
    assert np.isnan(numbers[:, 2]).tolist() == [True, True, False]
    assert numbers[2, 2] == result.values[2, 0]


@pytest.mark.parametrize("features", [False, True])
def test_ramachandran_plot(systems: Systems, tmp_path: Path, features: bool) -> None:
    """The plot counts φ (across) and ψ (up) of all residues and frames."""
    selection = systems["adk.xtc"].trajectory.select("protein")
    result = tj.dihedrals(selection, sin_cos=features)
    figure = result.plot()
    axes, bar = figure.axes
    assert axes.get_xlabel() == "φ (degrees)"
    assert axes.get_ylabel() == "ψ (degrees)"
    assert bar.get_ylabel() == "count"
    assert axes.get_xlim() == axes.get_ylim() == (-180, 180)
    counts = axes.collections[0].get_array().filled(0)
    assert counts.sum() == 98 * 212
    edges = np.linspace(-180, 180, len(counts) + 1)
    phi, psi = result.angles[:, ::2].ravel(), result.angles[:, 1::2].ravel()
    # Rows of the image are the vertical axis.
    assert np.array_equal(counts, np.histogram2d(psi, phi, bins=[edges, edges])[0])
    figure.savefig(tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_plot_against_time(systems: Systems) -> None:
    """Up to six angles are drawn as points, named by their atoms."""
    for n in (2, 9):
        fours = quadruples_of(3341, n)
        result = tj.dihedrals(systems["adk.xtc"].trajectory, fours)
        figure = result.plot()
        (axes,) = figure.axes
        assert axes.get_ylim() == (-180, 180)
        assert len(axes.collections) == min(n, 6)
        for column, points in enumerate(axes.collections):
            x, y = points.get_offsets().data.T
            assert np.array_equal(x, result.times)
            assert np.array_equal(y, result.angles[:, column])
        (legend,) = figure.legends
        labels = ["-".join(map(str, four)) for four in fours[:6].tolist()]
        assert [text.get_text() for text in legend.get_texts()] == labels
        assert legend.get_title().get_text() == ("" if n == 2 else "first 6 of 9 series")


def test_plot_of_frames_without_angles(tmp_path: Path) -> None:
    """NaN is left out of the plot, without an error."""
    frames = [np.zeros((4, 3)), None, np.eye(4, 3)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "n.trr", frames))
    tj.dihedrals(traj, [[0, 1, 2, 3]]).plot().savefig(tmp_path / "n.png")
    assert (tmp_path / "n.png").exists()
