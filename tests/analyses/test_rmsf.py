"""RMSF equals MDAnalysis' values, with and without superposition, and values known beforehand.

Without superposition, positions are the same float32 numbers in both programs, and both sum in
float64: 1e-12 Å of difference is rounding of sums (1e-14 is found). AlignTraj keeps superposed
positions as float32, as trajet does: up to 6e-8 of 100 Å each, so that 1e-5 Å is allowed (1e-6 is
found).
"""

import warnings
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import kabsch, trr_bytes, xtc_bytes
from helpers import plain_geometry as plain
from helpers.analysis_laws import frame_choices
from helpers.golden_files import Adk
from helpers.made_coordinates import MADE, Made
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysis.analysis import align, rms
from MDAnalysisTests import datafiles

SAME_SUMS = 1e-12
SINGLE = 1e-5
CORE = "backbone and (resid 1-29 or resid 60-121 or resid 160-214)"

SELECTIONS = [
    ("adk.xtc", "name CA"),
    ("adk.xtc", "all"),
    ("adk.dcd", "backbone"),
    ("solvated.xtc", "protein"),
    ("solvated.trr", "name CA"),
    ("solvated.trr", "name OW and resid 300-2000"),
    ("cobrotoxin.trr", "protein"),
    ("skewed.dcd", "all"),
    ("hexagonal.dcd", "all"),
]


@pytest.fixture
def gappy(tmp_path: Path) -> tj.Trajectory:
    """Return seven frames of nine atoms; frame 4 has velocities but no positions."""
    frames = list(np.random.default_rng(7).normal(0, 1, (7, 9, 3)))
    frames[4] = None
    return tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames))


def aligned(
    mobile: mda.Universe,
    reference: mda.Universe | mda.AtomGroup,
    select: str,
    weights: str | None = None,
    frames: slice = slice(None),
) -> mda.Universe:
    """Return the Universe, its frames in memory superposed by MDAnalysis."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = align.AlignTraj(
            mobile, reference, select=select, weights=weights, in_memory=True, tol_mass=1000
        )
        motion.run(start=frames.start, stop=frames.stop, step=frames.step)
    return mobile


def mdanalysis_rmsf(atoms: mda.AtomGroup, frames: slice = slice(None)) -> np.ndarray:
    """Return MDAnalysis.analysis.rms.RMSF."""
    run = rms.RMSF(atoms).run(start=frames.start, stop=frames.stop, step=frames.step)
    return run.results.rmsf


def assert_close(values: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Assert equal shapes, float64, and differences below the tolerance."""
    assert values.dtype == np.float64
    assert values.shape == np.shape(expected)
    assert np.abs(values - expected).max() < tolerance


@pytest.mark.parametrize(("name", "text"), SELECTIONS)
def test_positions_as_written_equal_mdanalysis(systems: Systems, name: str, text: str) -> None:
    """A Selection and an AtomGroup have MDAnalysis' RMSF, with the data of their atoms."""
    system = systems[name]
    atoms = system.universe.select_atoms(text)
    result = tj.rmsf(system.trajectory.select(text))
    assert_close(result.values, mdanalysis_rmsf(atoms), SAME_SUMS)
    assert np.array_equal(result.atoms, atoms.indices)
    assert np.array_equal(result.axis("atoms")["resid"], atoms.resids)
    assert (result.units, result.columns[0], result.name) == ("Å", text, "RMSF")
    from_atoms = tj.rmsf(atoms)
    assert from_atoms.values.tobytes() == result.values.tobytes()
    assert np.array_equal(from_atoms.axis("atoms")["resid"], atoms.resids)
    # Without any fluctuation the test would prove nothing.
    assert (result.values.max() > 0.3) == (system.trajectory.n_frames > 1)


def test_all_atoms_of_a_trajectory(systems: Systems) -> None:
    """A Trajectory means all of its atoms; without a topology there are no residues."""
    system = systems["skewed.dcd"]
    plain_file = tj.open(None, system.path)
    result = tj.rmsf(plain_file)
    assert result.axis("atoms").get("resid") is None
    assert result.columns == ("all",)
    assert_close(result.values, mdanalysis_rmsf(system.universe.atoms), SAME_SUMS)


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("reference", [0, 50])
def test_superposition_on_a_frame_equals_mdanalysis(
    systems: Systems, weights: str | None, reference: int
) -> None:
    """AlignTraj on a frame, then RMSF: of the superposed atoms, and of all atoms."""
    system = systems["adk.xtc"]
    onto = system.fresh()
    onto.trajectory[reference]
    mobile = aligned(system.fresh(), onto, CORE, weights)
    for text in ("name CA", "all"):
        result = tj.rmsf(
            system.trajectory.select(text),
            align=CORE,
            reference=reference,
            weights=weights or "equal",
        )
        assert_close(result.values, mdanalysis_rmsf(mobile.select_atoms(text)), SINGLE)
    assert result.report["passes"] == 1


@pytest.mark.parametrize("name", ["adk.dcd", "solvated.xtc"])
@pytest.mark.parametrize("weights", [None, "mass"])
def test_superposition_on_the_average_equals_mdanalysis(
    systems: Systems, name: str, weights: str | None
) -> None:
    """AverageStructure on frame 0, AlignTraj on that, then RMSF: two passes."""
    system = systems[name]
    select = "backbone" if weights else "name CA"
    options = {"select": select, "weights": weights, "ref_frame": 0}
    average = align.AverageStructure(system.fresh(), **options).run().results.universe
    mobile = aligned(system.fresh(), average, select, weights)
    for text in (select, "protein and resid 20-90"):
        result = tj.rmsf(
            system.trajectory.select(text),
            align=select,
            reference="average",
            weights=weights or "equal",
        )
        assert_close(result.values, mdanalysis_rmsf(mobile.select_atoms(text)), SINGLE)
        assert result.report["passes"] == 2
        assert result.report["frames"] == 2 * system.trajectory.n_frames


def test_average_of_the_chosen_frames(systems: Systems) -> None:
    """Average, superposition and RMSF use the chosen frames, and the first of them as frame 0."""
    system = systems["adk.dcd"]
    frames = slice(60, 20, -3)
    forward = slice(21, 61, 3)
    assert sorted(np.arange(98)[frames]) == np.arange(98)[forward].tolist()
    run = align.AverageStructure(system.fresh(), select="name CA", ref_frame=60)
    average = run.run(start=21, stop=61, step=3).results.universe
    mobile = aligned(system.fresh(), average, "name CA", frames=forward)
    expected = mdanalysis_rmsf(mobile.select_atoms("name CA"), forward)
    selection = system.trajectory.select("name CA")
    result = tj.rmsf(selection, align="name CA", reference="average", frames=frames)
    assert_close(result.values, expected, SINGLE)
    whole = tj.rmsf(selection, align="name CA", reference="average")
    assert np.abs(whole.values - expected).max() > 0.1


def test_references_of_another_file_are_equal(systems: Systems, tmp_path: Path) -> None:
    """A structure file, an AtomGroup of it, a Selection and an array are one reference."""
    system = systems["adk.xtc"]
    other = mda.Universe(datafiles.PDB_small)
    expected = mdanalysis_rmsf(aligned(system.fresh(), other, "name CA").select_atoms("name CB"))
    alpha = other.select_atoms("name CA")
    selection = system.trajectory.select("name CB")
    stored = trr_bytes.write_trr(tmp_path / "x.trr", other.atoms.positions[None] / 10)
    there = tj.open(system.topology, stored).select("name CA")
    for reference in (datafiles.PDB_small, Path(datafiles.PDB_small), alpha, alpha.positions):
        result = tj.rmsf(selection, align="name CA", reference=reference)
        assert_close(result.values, expected, SINGLE)
    assert_close(tj.rmsf(selection, align="name CA", reference=there).values, result.values, SINGLE)


def test_atoms_to_superpose_may_be_named_in_any_way(systems: Systems) -> None:
    """Text, a Selection and an AtomGroup, and masses by name or as numbers, give the same bits."""
    system = systems["adk.xtc"]
    selection = system.trajectory.select("name CB")
    core = system.trajectory.select(CORE)
    options = {"reference": 3, "weights": "mass"}
    plain_text = tj.rmsf(selection, align=CORE, **options).values
    for onto in (core, system.universe.select_atoms(CORE)):
        assert tj.rmsf(selection, align=onto, **options).values.tobytes() == plain_text.tobytes()
    numbers = tj.rmsf(selection, align=CORE, reference=3, weights=core.atoms.masses)
    assert numbers.values.tobytes() == plain_text.tobytes()
    unequal = tj.rmsf(selection, align=CORE, reference=3, weights=np.arange(1.0, core.n_atoms + 1))
    assert np.abs(unequal.values - plain_text).max() > 0.01


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_made_coordinates_equal_the_twin(made: Made, tmp_path: Path) -> None:
    """Coordinates may be of any size, or degenerate."""
    path = xtc_bytes.write_xtc(tmp_path / "made.xtc", made.coordinates(), precision=made.precision)
    traj = tj.open(None, path)
    x = traj.read().positions
    scale = 1 + np.abs(x).max()
    for atoms in (np.arange(traj.n_atoms), np.arange(traj.n_atoms)[::-3]):
        result = tj.rmsf(traj.select(atoms))
        assert_close(result.values, plain.rmsf(x[:, atoms]), 1e-14 * scale)


def test_superposition_of_made_coordinates_equals_the_twin(tmp_path: Path) -> None:
    """Weights are used, and atoms come in any order and repeated."""
    rng = np.random.default_rng(11)
    body = rng.normal(0, 1, (30, 3))
    frames = [(body + rng.normal(0, 0.1, (30, 3))) @ plain.rotation(rng) + k for k in range(40)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "m.trr", frames))
    x = traj.read().positions
    core = np.array([3, 19, 4, 4, 27, 11, 0])
    weights = rng.uniform(0.5, 20, len(core))
    wanted = np.array([5, 29, 3, 5, 17])
    moved = []
    for frame in x:
        turn, from_centre, to_centre = kabsch.fit(frame[core], x[6][core], weights)
        moved.append((frame[wanted] - from_centre) @ turn + to_centre)
    result = tj.rmsf(traj.select(wanted), align=traj.select(core), reference=6, weights=weights)
    assert_close(result.values, plain.rmsf(np.array(moved)), SINGLE)
    assert result.values[0] == result.values[3]
    unweighted = tj.rmsf(traj.select(wanted), align=traj.select(core), reference=6)
    assert np.abs(unweighted.values - result.values).max() > 1e-3


def test_a_rigid_body_does_not_fluctuate(tmp_path: Path) -> None:
    """A rigid body that rotates and moves keeps no fluctuation after superposition."""
    rng = np.random.default_rng(12)
    body = rng.normal(0, 1, (25, 3))
    frames = [body @ plain.rotation(rng) + rng.uniform(-3, 3, 3) for _ in range(60)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "rigid.trr", frames))
    everything = traj.select(np.arange(25))
    assert tj.rmsf(everything).values.min() > 10
    for reference in (0, 31, "average"):
        for onto in (everything, traj.select([1, 5, 9, 20])):
            result = tj.rmsf(everything, align=onto, reference=reference)
            assert result.values.max() < SINGLE


@pytest.mark.parametrize("tumbling", [False, True])
def test_known_fluctuation_is_found(tmp_path: Path, tumbling: bool) -> None:
    """An amplitude A along any direction, over whole periods, fluctuates by A / √2."""
    rng = np.random.default_rng(13)
    n_frames, n_rigid, n_moving = 96, 20, 6
    body = rng.normal(0, 1, (n_rigid + n_moving, 3))
    amplitudes = np.concatenate([np.zeros(n_rigid), np.linspace(0.02, 0.3, n_moving)])
    directions = rng.normal(0, 1, (n_rigid + n_moving, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    periods = np.arange(n_rigid + n_moving) % 5 + 1
    frames = []
    for k in range(n_frames):
        phase = np.sin(2 * np.pi * periods * k / n_frames + 0.3)
        x = body + (amplitudes * phase)[:, None] * directions
        frames.append(x @ plain.rotation(rng) + rng.uniform(-3, 3, 3) if tumbling else x)
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "known.trr", frames, double=True))
    everything = traj.select(np.arange(n_rigid + n_moving))
    onto = traj.select(np.arange(n_rigid)) if tumbling else None
    result = tj.rmsf(everything, align=onto)
    # nm in the file, Å in the result; positions are float32 in the block.
    assert_close(result.values, 10 * amplitudes / np.sqrt(2), SINGLE)


def test_large_means_lose_no_digit(tmp_path: Path) -> None:
    """Deviations far from the origin have the digits of those close to it.

    Multiples of 1/64 nm stay exact in float32 at 8192 nm. The difference of mean squares would be
    wrong by 1e-6 Å² there.
    """
    rng = np.random.default_rng(14)
    x = rng.integers(-64, 64, (300, 5, 3)) / 64
    near = tj.open(None, trr_bytes.write_trr(tmp_path / "near.trr", x))
    far = tj.open(None, trr_bytes.write_trr(tmp_path / "far.trr", x + 8192))
    shift = far.read().positions - near.read().positions
    assert (shift == 81920).all()
    assert_close(tj.rmsf(far).values, tj.rmsf(near).values, 1e-10)


def test_order_of_atoms_permutes_values(thrice_adk: Adk) -> None:
    """Another order of the atoms permutes the values and changes no bit of them."""
    traj = tj.open(thrice_adk.psf, thrice_adk.xtc)
    atoms = traj.select("name CA").indices
    permutation = np.random.default_rng(15).permutation(len(atoms))
    for options in ({}, {"align": CORE}, {"align": CORE, "reference": "average"}):
        straight = tj.rmsf(traj.select(atoms), **options)
        shuffled = tj.rmsf(traj.select(atoms[permutation]), **options)
        assert np.array_equal(shuffled.atoms, atoms[permutation])
        assert np.array_equal(shuffled.axes[0]["resid"], straight.axes[0]["resid"][permutation])
        assert shuffled.values.tobytes() == straight.values[permutation].tobytes()


def test_values_follow_frames(systems: Systems) -> None:
    """Each frame counts as often as it is named; a mask is the list of its frames."""
    system = systems["adk.xtc"]
    selection = system.trajectory.select("name CA")
    x = selection.read().positions
    for frames in frame_choices(98):
        rows = np.arange(98)[frames]
        result = tj.rmsf(selection, frames=frames)
        assert_close(result.values, plain.rmsf(x[rows]), SAME_SUMS)
        assert result.report["frames"] == len(rows)
        by_number = tj.rmsf(selection, frames=rows)
        assert by_number.values.tobytes() == result.values.tobytes()
    alone = tj.rmsf(selection, frames=[8])
    assert np.array_equal(alone.values, np.zeros(214))
    assert any("one frame has no fluctuations" in message for message in alone.messages)
    none = tj.rmsf(selection, frames=[])
    assert np.isnan(none.values).all()
    assert any("no frame was chosen" in message for message in none.messages)


def test_contradicting_arguments_are_errors(systems: Systems) -> None:
    """Reference and weights without a superposition are a ValueError."""
    traj = systems["adk.xtc"].trajectory
    selection = traj.select("name CA")
    for options in (
        {"reference": 1},
        {"reference": "average"},
        {"reference": np.zeros((214, 3))},
        {"reference": selection},
        {"weights": "mass"},
        {"weights": np.ones(214)},
    ):
        with raises(ValueError):
            tj.rmsf(selection, **options)
    for weights in ("charge", np.ones(213), -np.ones(214), np.zeros(214), np.full(214, np.nan)):
        with raises(ValueError):
            tj.rmsf(selection, align="name CA", weights=weights)


def test_unusable_selections_are_errors(systems: Systems) -> None:
    """Atoms of another trajectory or size, of no trajectory, or no selection are refused."""
    traj = systems["adk.xtc"].trajectory
    selection = traj.select("name CA")
    other = systems["adk.dcd"].trajectory.select("name CA")
    with raises(tj.SelectionError):
        tj.rmsf(selection, align=other)
    with raises(tj.SelectionError):
        tj.rmsf(selection, align=systems["skewed.dcd"].universe.atoms)
    with raises(tj.SelectionError):
        tj.rmsf(selection, align="name NOTHING")
    with raises(tj.SelectionError):
        tj.rmsf(selection, align="name CA", reference=np.zeros((213, 3)))
    with raises(tj.SelectionError):
        tj.rmsf(selection, align="name CA", reference=traj.select("name N"))
    with raises(tj.SelectionError):
        tj.rmsf(tj.open(None, systems["adk.xtc"].path), align="name CA")
    for thing in ("name CA", [1, 2], None):
        with raises(TypeError):
            tj.rmsf(thing)
    with pytest.raises(TypeError):
        tj.rmsf(selection, align=[1, 2])
    for reference in (98, -99):
        with raises(tj.FrameError):
            tj.rmsf(selection, align="name CA", reference=reference)
    with raises(tj.FrameError):
        tj.rmsf(selection, frames=[3, 98])
    with pytest.raises(FileNotFoundError):
        tj.rmsf(selection, align="name CA", reference=Path("missing.pdb"))


def test_frames_without_positions_are_errors(gappy: tj.Trajectory) -> None:
    """A single one would make every mean NaN: it is refused with file and frame."""
    everything = gappy.select(np.arange(9))
    assert np.isnan(gappy.read(frames=[4]).positions).all()
    for pool in (None, tj.LocalPool(threads=1, task_frames=1), tj.LocalPool(task_frames=1000)):
        for options in (
            {},
            {"frames": [0, 4]},
            {"frames": slice(None, None, -1)},
            {"align": everything},
            {"align": gappy.select([1, 2, 3]), "reference": 6},
            {"align": everything, "reference": "average"},
        ):
            with raises(tj.AnalysisError):
                tj.rmsf(everything, pool=pool, **options)
        for groups in ((), (gappy.select([0, 5]),)):
            with raises(tj.AnalysisError):
                tj.rmsd(gappy.select([2, 3, 4, 5]), reference="average", groups=groups, pool=pool)
    without = [0, 1, 2, 3, 5, 6]
    x = gappy.read(frames=without).positions
    assert_close(tj.rmsf(everything, frames=without).values, plain.rmsf(x), SAME_SUMS)
    average = tj.rmsd(everything, reference="average", frames=without)
    assert np.isfinite(average.values).all()


@pytest.mark.parametrize("reference", [4, -3])
def test_reference_without_positions_is_an_error(gappy: tj.Trajectory, reference: int) -> None:
    """The error names the reference frame, not the first frame that is compared."""
    everything = gappy.select(np.arange(9))
    for options in ({}, {"frames": [0, 1, 2]}):
        with raises(tj.TrajetError):
            tj.rmsf(everything, align=everything, reference=reference, **options)
        with raises(tj.TrajetError):
            tj.rmsd(everything, reference=reference, **options)


NAMES = ["chain", "resname", "resid", "name"]


def test_rows_have_names_if_there_are_any(systems: Systems) -> None:
    """The number of the atom, its residue and the value."""
    selection = systems["adk.xtc"].trajectory.select("resid 3-9 and backbone")
    rows = tj.rmsf(selection).to_dataframe()
    assert [*rows] == ["atom", *NAMES, "rmsf_A"]
    assert rows["atom"].tolist() == selection.indices.tolist()
    atoms = selection.atoms
    expected = (atoms.segids, atoms.resnames, atoms.resids, atoms.names)
    for name, values in zip(NAMES, expected, strict=True):
        assert list(map(str, rows[name])) == list(map(str, values))
    without = tj.open(None, systems["adk.xtc"].path).select(selection.indices)
    assert tj.rmsf(without).csv_header() == ["atom", "rmsf_A"]


@pytest.mark.parametrize(
    ("text", "along"), [("name CA", "residue"), ("backbone", "atoms of residue")]
)
def test_plot_has_residues_or_atoms_as_axis(
    systems: Systems, tmp_path: Path, text: str, along: str
) -> None:
    """Residues are the axis if each has one atom, atoms otherwise; the other axis is in Å."""
    result = tj.rmsf(systems["adk.xtc"].trajectory.select(text), align="name CA")
    figure = result.plot()
    (axes,) = figure.axes
    assert axes.get_xlabel() == along
    assert axes.get_ylabel() == "RMSF (Å)"
    (line,) = axes.lines
    assert np.array_equal(line.get_ydata(), result.values)
    expected = result.axes[0]["resid"] if along == "residue" else np.arange(len(result.values))
    assert np.array_equal(line.get_xdata(), expected)
    figure.savefig(tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_plot_without_residues_has_atoms_as_axis(systems: Systems) -> None:
    """Atoms are the axis if residues are unknown, or their numbers restart."""
    without = tj.open(None, systems["adk.xtc"].path).select([5, 9, 33])
    backwards = systems["adk.xtc"].trajectory.select([3000, 9, 5])
    for selection in (without, backwards):
        (axes,) = tj.rmsf(selection).plot().axes
        assert axes.get_xlabel() == "atom"
