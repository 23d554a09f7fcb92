"""RMSD equals MDAnalysis' values and depends on nothing but the coordinates.

MDAnalysis' own value of a frame against itself is not zero but up to 5e-6 Å (the root of a rounding
error), so that a frame that is its own reference must be zero instead.
"""

import functools
import re
import shutil
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from click.testing import CliRunner
from helpers import kabsch, xtc_bytes
from helpers.golden_files import Adk, Golden, Truth
from MDAnalysis import transformations
from MDAnalysis.analysis import align, rms
from MDAnalysisTests import datafiles
from trajet.cli.group import commands

# The topology that belongs to each golden file, and selections of it beside "all".
TOPOLOGIES = {
    "YiiP_lipids.xtc": (datafiles.GRO_MEMPROT, ["name CA", "protein", "resname POPE"]),
    "adk_oplsaa.xtc": (datafiles.GRO, ["name CA", "backbone", "protein", "name OW"]),
    "aux_edr.xtc": (datafiles.AUX_EDR_TPR, ["name CA", "protein", "name OW"]),
    "cobrotoxin.xtc": (datafiles.PDB_sub_sol, ["name CA", "protein", "name OW"]),
    "test.xtc": (datafiles.COORDINATES_TOPOLOGY, ["name CA"]),
    "xyz_random_walk.xtc": (datafiles.RANDOM_WALK_TOPO, ["index 10-40"]),
    "xtc_test_only_10_frame_10_atoms.xtc": (None, []),
}
# All atoms on one line, or in one point: the best rotation is not unique.
DEGENERATE = {"test.xtc", "xtc_test_only_10_frame_10_atoms.xtc"}
TIGHT = 1e-9
ZERO = 1e-6


@pytest.fixture(scope="module")
def adk_universe(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> mda.Universe:
    """Return ADK in MDAnalysis, from a copy of its own (MDAnalysis writes beside the file)."""
    folder = tmp_path_factory.mktemp("universe")
    xtc = Path(shutil.copy(adk.xtc, folder / "adk.xtc"))
    return mda.Universe(str(adk.psf), str(xtc), refresh_offsets=True)


@pytest.fixture(scope="module")
def long_adk(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return ADK repeated ten times: 980 frames."""
    xtc = tmp_path_factory.mktemp("long") / "long.xtc"
    xtc.write_bytes(adk.xtc.read_bytes() * 10)
    return Adk(adk.psf, xtc)


@functools.cache
def parsed(topology: Path) -> mda.core.topology.Topology:
    """Return MDAnalysis' topology of a file, which takes it seconds."""
    return mda.Universe(str(topology))._topology


def universe_of(golden: Golden, xtc: Path) -> mda.Universe:
    """Load the golden file with its topology, or with masses alone."""
    topology, _ = TOPOLOGIES[golden.name]
    if topology is not None:
        return mda.Universe(parsed(topology).copy(), str(xtc), refresh_offsets=True)
    universe = mda.Universe.empty(golden.truth.n_atoms, trajectory=False)
    universe.add_TopologyAttr("masses", np.ones(golden.truth.n_atoms))
    universe.load_new(str(xtc), refresh_offsets=True)
    return universe


def mdanalysis_rmsd(atoms: mda.AtomGroup, **options: object) -> np.ndarray:
    """Return the columns of MDAnalysis.analysis.rms.RMSD after frame and time."""
    values = rms.RMSD(atoms, **options).run().results.rmsd[:, 2:]
    return values[:, 0] if values.shape[1] == 1 else values


def assert_matches(values: np.ndarray, expected: np.ndarray, reference: int | None) -> None:
    """Assert that values equal MDAnalysis', and are zero in the reference frame."""
    assert values.dtype == np.float64
    assert values.shape == expected.shape
    others = np.arange(len(values)) != reference
    assert np.abs(values[others] - expected[others]).max() < TIGHT
    if reference is not None:
        assert np.abs(values[reference]).max() < ZERO


def test_every_golden_file_has_its_topology(golden: Golden) -> None:
    """A new file in MDAnalysisTests needs an entry in TOPOLOGIES."""
    assert golden.name in TOPOLOGIES


@pytest.mark.parametrize("weights", [None, "mass"])
def test_golden_files_equal_mdanalysis(
    golden: Golden, golden_xtc: Path, weights: str | None
) -> None:
    """Every file has MDAnalysis' RMSD, from a Selection and from an AtomGroup."""
    topology, selections = TOPOLOGIES[golden.name]
    universe = universe_of(golden, golden_xtc)
    reference = golden.truth.n_frames // 2
    for text in ["all", *selections]:
        atoms = universe.select_atoms(text)
        if weights and (atoms.masses == 0).any():
            # MDAnalysis has no mass for virtual sites, nor for atoms that it cannot guess.
            unknown = np.flatnonzero(atoms.masses == 0)
            first = atoms[unknown[0]]
            message = (
                f"the mass of {len(unknown)} of {len(atoms)} atoms is unknown in the Universe, the"
                f" first is atom {first.index} {first.name} "
            )
            with pytest.raises(tj.SelectionError, match=re.escape(message)):
                tj.rmsd(atoms, weights="mass")
            atoms = atoms[atoms.masses > 0]
            if len(atoms) == 0:
                continue
        masses = atoms.masses if weights else None
        result = tj.rmsd(atoms, reference=reference, weights=weights or "equal")
        if topology is not None:
            selection = tj.open(topology, golden_xtc).select(atoms.indices)
            same = tj.rmsd(selection, reference=reference, weights=weights or "equal")
            assert np.array_equal(same.values, result.values)
        assert np.array_equal(result.times, golden.truth.times)
        assert np.array_equal(result.frames, np.arange(golden.truth.n_frames))
        assert result.units == "Å"
        positions = golden.truth.positions[:, atoms.indices]
        twin = [kabsch.superposed(frame, positions[reference], masses) for frame in positions]
        if golden.name in DEGENERATE:
            assert np.abs(result.values - twin).max() < ZERO
            continue
        assert np.abs(result.values - twin).max() < ZERO
        options = {"select": "all", "ref_frame": reference, "weights": weights}
        assert_matches(result.values, mdanalysis_rmsd(atoms, **options), reference)


@pytest.mark.parametrize("text", ["name CA", "backbone", "all", "name CA and resid 30-59"])
@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("reference", [0, 50, -1])
def test_adk_equals_mdanalysis(
    adk: Adk, adk_universe: mda.Universe, text: str, weights: str | None, reference: int
) -> None:
    """References are frames of the trajectory, counted from the front or from the end."""
    selection = tj.open(adk.psf, adk.xtc).select(text)
    result = tj.rmsd(selection, reference=reference, weights=weights or "equal")
    expected = mdanalysis_rmsd(
        adk_universe.atoms, select=text, ref_frame=reference, weights=weights
    )
    assert result.values.shape == (98,)
    assert_matches(result.values, expected, reference % 98)


@pytest.mark.parametrize("weights", [None, "mass"])
def test_references_of_another_file_are_equal(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path, weights: str | None
) -> None:
    """A structure file, an AtomGroup of it, a Selection and an array are one reference."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    other = mda.Universe(datafiles.PDB_small)
    expected = mdanalysis_rmsd(
        adk_universe.atoms, reference=other, select="name CA", weights=weights, tol_mass=1000
    )
    alpha = other.select_atoms("name CA")
    structure = xtc_bytes.write_xtc(tmp_path / "x.xtc", other.atoms.positions[None] / 10)
    stored = tj.open(adk.psf, structure).select("name CA")
    for reference in (datafiles.PDB_small, Path(datafiles.PDB_small), alpha, alpha.positions):
        result = tj.rmsd(selection, reference=reference, weights=weights or "equal")
        assert_matches(result.values, expected, None)
    assert np.array_equal(
        tj.rmsd(selection, reference=stored, weights=weights or "equal").values,
        tj.rmsd(selection, reference=stored.read().positions[0], weights=weights or "equal").values,
    )
    doubled = tj.rmsd(
        selection, reference=alpha.positions.astype(np.float64), weights=weights or "equal"
    )
    assert np.array_equal(
        doubled.values, tj.rmsd(selection, reference=alpha, weights=weights or "equal").values
    )


GROUPS = [
    "name CA and (resid 1-29 or resid 60-121 or resid 160-214)",
    "resid 122-159",
    "all",
    "index 3340",
]


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("group_weights", [None, "mass"])
@pytest.mark.parametrize("reference", [0, 60])
def test_groups_equal_mdanalysis(
    *,
    adk: Adk,
    adk_truth: Truth,
    adk_universe: mda.Universe,
    weights: str | None,
    group_weights: str | None,
    reference: int,
) -> None:
    """Groups move with the main selection; each has a column, as in MDAnalysis."""
    traj = tj.open(adk.psf, adk.xtc)
    main = traj.select("backbone")
    result = tj.rmsd(
        main,
        reference=reference,
        groups=GROUPS,
        weights=weights or "equal",
        group_weights=group_weights or "equal",
    )
    assert result.values.shape == (98, 5)
    alone = tj.rmsd(main, reference=reference, weights=weights or "equal")
    assert np.abs(result.values[:, 0] - alone.values).max() < TIGHT
    expected = mdanalysis_rmsd(
        adk_universe.atoms,
        select="backbone",
        ref_frame=reference,
        weights=weights,
        groupselections=GROUPS,
        weights_groupselections=[group_weights] * len(GROUPS),
    )
    assert_matches(result.values[:, 0], expected[:, 0], reference)
    # MDAnalysis rotates and keeps the groups in float32.
    assert np.abs(result.values[:, 1:] - expected[:, 1:]).max() < 1e-5
    masses = adk_universe.atoms.masses
    positions = adk_truth.positions
    for column, text in enumerate(GROUPS, 1):
        group = adk_universe.select_atoms(text).indices
        twin = [
            kabsch.of_group(
                frame,
                positions[reference],
                main.indices,
                group,
                weights=masses[main.indices] if weights else None,
                group_weights=masses[group] if group_weights else None,
            )
            for frame in positions
        ]
        assert np.abs(result.values[:, column] - twin).max() < ZERO


def test_groups_may_be_of_any_kind(adk: Adk, adk_universe: mda.Universe) -> None:
    """A group is a string, a Selection or an AtomGroup; strings select in the whole system."""
    traj = tj.open(adk.psf, adk.xtc)
    main = traj.select("name CA and resid 1-29")
    text = "resid 122-159"
    by_text = tj.rmsd(main, groups=[text])
    by_selection = tj.rmsd(main, groups=[traj.select(text)])
    by_atoms = tj.rmsd(main, groups=(adk_universe.select_atoms(text),))
    from_atoms = tj.rmsd(adk_universe.select_atoms("name CA and resid 1-29"), groups=[text])
    assert by_text.values.shape == (98, 2)
    assert np.array_equal(by_text.values, by_selection.values)
    assert np.array_equal(by_text.values, by_atoms.values)
    assert np.array_equal(by_text.values, from_atoms.values)


def test_group_references_of_another_file(adk: Adk, adk_universe: mda.Universe) -> None:
    """If the reference is a structure file, groups are selected in it as well."""
    other = mda.Universe(datafiles.PDB_small)
    result = tj.rmsd(
        tj.open(adk.psf, adk.xtc).select("name CA"),
        reference=datafiles.PDB_small,
        groups=["resid 122-159 and backbone"],
    )
    expected = mdanalysis_rmsd(
        adk_universe.atoms,
        reference=other,
        select="name CA",
        groupselections=["resid 122-159 and backbone"],
        tol_mass=1000,
    )
    assert_matches(result.values[:, 0], expected[:, 0], None)
    assert np.abs(result.values[:, 1] - expected[:, 1]).max() < 1e-5


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("motion", ["none", "translation"])
def test_without_superposition_positions_are_compared_in_place(
    adk: Adk,
    adk_truth: Truth,
    adk_universe: mda.Universe,
    weights: str | None,
    motion: str,
) -> None:
    """Positions are compared as they are, or after moving the centres only."""
    selection = tj.open(adk.psf, adk.xtc).select("backbone")
    masses = adk_universe.select_atoms("backbone").masses if weights else None
    result = tj.rmsd(selection, reference=3, motion=motion, weights=weights or "equal")
    positions = adk_truth.positions[:, selection.indices]
    expected = [
        rms.rmsd(frame, positions[3], weights=masses, center=motion == "translation")
        for frame in positions
    ]
    assert np.abs(result.values - expected).max() < TIGHT
    assert result.values[3] == 0.0


def test_superposition_is_centred(adk: Adk, adk_truth: Truth) -> None:
    """The default moves the centres too; other motions are an error."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    centred = tj.rmsd(selection, motion="superposition").values
    assert np.array_equal(centred, tj.rmsd(selection).values)
    positions = adk_truth.positions[:, selection.indices]
    expected = [rms.rmsd(frame, positions[0], superposition=True) for frame in positions]
    assert_matches(centred, np.array(expected), 0)
    with pytest.raises(ValueError, match="motion is 'superposition', 'translation', 'none', not"):
        tj.rmsd(selection, motion="plane")  # type: ignore[arg-type]


def test_groups_without_superposition(adk: Adk, adk_truth: Truth) -> None:
    """Nothing moves: a group's column is its deviation in place."""
    traj = tj.open(adk.psf, adk.xtc)
    group = traj.select("resid 122-159")
    result = tj.rmsd(traj.select("name CA"), groups=[group], motion="none")
    x = adk_truth.positions[:, group.indices]
    assert np.abs(result.values[:, 1] - [rms.rmsd(a, x[0]) for a in x]).max() < TIGHT


@pytest.mark.parametrize("groups", [(), ("resid 122-159", "all")])
def test_same_bits_on_any_pool(long_adk: Adk, groups: tuple[str, ...]) -> None:
    """Threads and tasks change no bit of the values, nor of times and frames."""
    selection = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    options = {"reference": 7, "groups": groups, "weights": "mass", "group_weights": "mass"}
    plain = tj.rmsd(selection, **options)
    assert plain.values.shape == ((980, 3) if groups else (980,))
    assert np.array_equal(plain.values[:98], plain.values[-98:])
    for threads in (1, 2, 7):
        for task_frames in (None, 1, 3, 17, 10**9):
            pool = tj.LocalPool(threads=threads, task_frames=task_frames)
            result = tj.rmsd(selection, pool=pool, **options)
            assert np.array_equal(result.values, plain.values)
            assert np.array_equal(result.times, plain.times)
            assert np.array_equal(result.frames, plain.frames)


@pytest.mark.parametrize("request_size", [4096, 100_000, 1 << 24])
def test_same_bits_with_any_requests(adk: Adk, request_size: int) -> None:
    """The size of requests changes no bit."""
    plain = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    traj = tj.open(adk.psf, adk.xtc, request_size=request_size)
    assert np.array_equal(tj.rmsd(traj.select("name CA")).values, plain.values)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_short_negative_integers_count_from_the_end(long_adk: Adk, kind: type) -> None:
    """There may be more frames than the integer type has numbers."""
    frames = np.array([-1, 5, -128], kind)
    block = tj.open(None, long_adk.xtc).read(frames=frames, atoms=[0])
    assert block.frames.tolist() == [979, 5, 852]


def test_rows_follow_frames(adk: Adk, adk_truth: Truth) -> None:
    """Slices and lists choose rows; the value of a frame does not depend on the other frames."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    whole = tj.rmsd(selection, reference=5)
    rng = np.random.default_rng(3)
    choices = [
        slice(None),
        slice(10, 20),
        slice(None, None, 7),
        slice(None, None, -1),
        slice(90, 3, -11),
        slice(-5, None),
        slice(50, 10_000),
        [0],
        [-1],
        [97, 0, 5, 5, 0],
        rng.integers(-98, 98, size=300).tolist(),
        rng.permutation(98),
        np.array([4, 8], np.int32),
    ]
    for frames in choices:
        expected = np.arange(98)[frames]
        result = tj.rmsd(selection, reference=5, frames=frames)
        assert np.array_equal(result.frames, expected)
        assert np.array_equal(result.times, adk_truth.times[expected])
        assert np.array_equal(result.values, whole.values[expected])
        assert result.report["frames"] == len(expected)


def structures(n_atoms: int, shape: str, rng: np.random.Generator) -> np.ndarray:
    """Return twelve structures in nm: general, on a line, in a plane."""
    x = rng.uniform(-2, 2, (12, n_atoms, 3))
    if shape == "line":
        direction = rng.normal(0, 1, (12, 1, 3))
        x = x[:, :, :1] * direction / np.linalg.norm(direction, axis=2, keepdims=True)
    if shape == "plane":
        x[:, :, 1] = 0.5
    return x


@pytest.mark.parametrize("shape", ["general", "line", "plane"])
@pytest.mark.parametrize("n_atoms", [1, 2, 3, 4, 5, 12, 100])
def test_few_and_degenerate_atoms_equal_the_twin(n_atoms: int, shape: str, tmp_path: Path) -> None:
    """One, two or three atoms, and atoms on a line or in a plane, are compared."""
    rng = np.random.default_rng(n_atoms)
    path = xtc_bytes.write_xtc(tmp_path / "few.xtc", structures(n_atoms, shape, rng))
    traj = tj.open(None, path)
    selection = traj.select(np.arange(n_atoms))
    x = selection.read().positions
    for reference in range(3):
        result = tj.rmsd(selection, reference=reference)
        expected = np.array([kabsch.superposed(frame, x[reference]) for frame in x])
        assert np.abs(result.values - expected).max() < ZERO
        assert result.values.min() >= 0
        if n_atoms == 1:
            assert result.values.max() < ZERO


def test_repeated_atoms_count_repeatedly(adk: Adk, adk_truth: Truth) -> None:
    """An atom that is selected twice counts twice."""
    atoms = np.array([5, 900, 5, 33, 2000, 33, 5])
    result = tj.rmsd(tj.open(None, adk.xtc).select(atoms))
    x = adk_truth.positions[:, atoms]
    assert np.abs(result.values - [kabsch.superposed(a, x[0]) for a in x]).max() < ZERO


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Draw a proper rotation, evenly distributed."""
    q, r = np.linalg.qr(rng.normal(0, 1, (3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


@pytest.mark.parametrize("n_atoms", [3, 4, 10, 500])
def test_moved_copies_are_identical(n_atoms: int, tmp_path: Path) -> None:
    """Rotated and shifted copies deviate by no more than their rounding in the file."""
    rng = np.random.default_rng(n_atoms)
    x = rng.uniform(-2, 2, (n_atoms, 3))
    copies = [x, *(x @ random_rotation(rng) + rng.uniform(-5, 5, 3) for _ in range(20))]
    path = xtc_bytes.write_xtc(tmp_path / "moved.xtc", np.array(copies), precision=1e6)
    traj = tj.open(None, path)
    read = traj.read().positions
    values = tj.rmsd(traj.select(np.arange(n_atoms))).values
    assert values[0] < ZERO
    assert values.max() < 2e-5
    twin = [kabsch.superposed(frame, read[0]) for frame in read]
    assert np.abs(values - twin).max() < ZERO


def test_identical_structures_give_zero(adk: Adk, tmp_path: Path) -> None:
    """Repeated coordinates deviate by less than 1e-6 Å, also far from the origin."""
    x = tj.open(None, adk.xtc).read(frames=[0]).positions[0] / 10
    for shift in (0.0, 50.0, -800.0):
        path = xtc_bytes.write_xtc(tmp_path / f"{shift}.xtc", np.array([x + shift] * 5))
        traj = tj.open(None, path)
        for atoms in (np.arange(traj.n_atoms), np.arange(10), np.array([7])):
            values = tj.rmsd(traj.select(atoms)).values
            assert values.shape == (5,)
            assert values.min() >= 0
            assert values.max() < ZERO


def test_mirror_images_are_not_superposed(tmp_path: Path) -> None:
    """A superposition is a rotation, never a reflection."""
    rng = np.random.default_rng(21)
    x = rng.uniform(-2, 2, (60, 3))
    images = [x, -x, x * [-1, 1, 1], x * [1, -1, 1] @ random_rotation(rng) + 1.5, x[:, [1, 0, 2]]]
    path = xtc_bytes.write_xtc(tmp_path / "mirror.xtc", np.array(images))
    traj = tj.open(None, path)
    selection = traj.select(np.arange(60))
    read = traj.read().positions
    values = tj.rmsd(selection).values
    twin = np.array([kabsch.superposed(frame, read[0]) for frame in read])
    assert np.abs(values - twin).max() < ZERO
    assert values[1:].min() > 5.0
    # All mirror images of one structure are the same structure.
    assert values[1:].max() - values[1:].min() < 1e-2


def test_inputs_are_not_modified(adk: Adk, adk_universe: mda.Universe) -> None:
    """Neither the Universe nor any array is changed, not even its current frame."""
    adk_universe.trajectory[13]
    atoms = adk_universe.select_atoms("name CA")
    before = adk_universe.atoms.positions.copy()
    reference = atoms.positions.copy()
    kept = reference.copy()
    frames = np.array([5, -1, 3])
    indices = np.array([9, 3, 5])
    tj.rmsd(atoms, reference=reference)
    tj.rmsd(atoms, groups=["all"], frames=frames, weights="mass")
    tj.rmsd(atoms, reference=adk_universe.select_atoms("name CA"))
    tj.rmsd(tj.open(None, adk.xtc).select(indices), frames=frames)
    assert adk_universe.trajectory.frame == 13
    assert np.array_equal(adk_universe.atoms.positions, before)
    assert np.array_equal(reference, kept)
    assert frames.tolist() == [5, -1, 3]
    assert indices.tolist() == [9, 3, 5]


def test_atom_group_reference_is_its_current_frame(adk: Adk, adk_universe: mda.Universe) -> None:
    """An AtomGroup as reference means its current coordinates."""
    atoms = adk_universe.select_atoms("name CA")
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    adk_universe.trajectory[31]
    result = tj.rmsd(selection, reference=atoms)
    assert np.array_equal(result.values, tj.rmsd(selection, reference=31).values)


def test_order_of_an_atom_group_is_kept(
    adk: Adk, adk_universe: mda.Universe, adk_truth: Truth
) -> None:
    """The order and the repeats of an AtomGroup are kept."""
    atoms = adk_universe.atoms[[2000, 5, 77, 5, 1999]]
    result = tj.rmsd(atoms)
    x = adk_truth.positions[:, [2000, 5, 77, 5, 1999]]
    assert np.abs(result.values - [kabsch.superposed(a, x[0]) for a in x]).max() < ZERO


def refusal_reason(*arguments: object, **options: object) -> str:
    """Return the one-line message of the SelectionError that rmsd raises."""
    with pytest.raises(tj.SelectionError) as caught:
        tj.rmsd(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).lower()


def test_unusable_atom_groups_are_errors(own_adk: Adk) -> None:
    """In-memory, transformed and updating groups are refused with the reason."""
    psf, xtc = str(own_adk.psf), str(own_adk.xtc)
    in_memory = mda.Universe(psf, xtc, in_memory=True)
    assert "memory" in refusal_reason(in_memory.select_atoms("name CA"))
    transformed = mda.Universe(psf, xtc, refresh_offsets=True)
    transformed.trajectory.add_transformations(transformations.translate([1, 2, 3]))
    assert "transformation" in refusal_reason(transformed.select_atoms("name CA"))
    updating = mda.Universe(psf, xtc, refresh_offsets=True)
    assert "updating" in refusal_reason(updating.select_atoms("around 5 resid 3", updating=True))
    selection = tj.open(psf, xtc).select("name CA")
    assert "updating" in refusal_reason(
        selection, groups=[updating.select_atoms("around 5 resid 3", updating=True)]
    )


def test_atom_groups_of_part_of_a_file_are_errors(own_adk: Adk) -> None:
    """A reader that shows only some atoms of its file does not match the file."""
    part = mda.Universe.empty(5, trajectory=False)
    part.load_new(str(own_adk.xtc), sub=np.arange(100, 105), refresh_offsets=True)
    assert part.atoms.n_atoms == 5
    refusal_reason(part.atoms)


def test_atom_groups_of_unreadable_trajectories_are_errors(own_adk: Adk) -> None:
    """Unsupported formats, and groups without a file, are errors, not guesses."""
    psf = str(own_adk.psf)
    with pytest.raises(tj.TrajetError):
        tj.rmsd(mda.Universe(psf, datafiles.CRD).select_atoms("name CA"))
    refusal_reason(mda.Universe(psf).select_atoms("name CA"))


def test_empty_selections_are_named(adk: Adk, adk_universe: mda.Universe) -> None:
    """The error names main selection and groups alike, and an empty AtomGroup too."""
    traj = tj.open(adk.psf, adk.xtc)
    with pytest.raises(tj.SelectionError, match="name NOTHING"):
        traj.select("name NOTHING")
    assert "resname none" in refusal_reason(traj.select("name CA"), groups=["all", "resname NONE"])
    refusal_reason(adk_universe.atoms[[]])
    refusal_reason(traj.select("name CA"), groups=[adk_universe.atoms[[]]])


def test_references_that_do_not_match_are_errors(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """They have another number of atoms, another shape, no such frame, or no file."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    message = refusal_reason(selection, reference=adk_universe.select_atoms("name CB"))
    assert "214" in message
    refusal_reason(selection, reference=np.zeros((213, 3)))
    refusal_reason(selection, reference=np.zeros((3, 214)))
    refusal_reason(selection, reference=datafiles.PDB_xsmall)
    for frame in (98, -99, 10**12):
        with pytest.raises(tj.FrameError, match=re.escape(str(frame))):
            tj.rmsd(selection, reference=frame)
    with pytest.raises(FileNotFoundError):
        tj.rmsd(selection, reference=tmp_path / "missing.pdb")
    with pytest.raises(ValueError):
        tj.rmsd(selection, reference=np.zeros((214, 3)), groups=["all"])


def test_references_in_another_order_are_errors(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """CHARMM has CB before C, the PDB behind it: of equal mass, and not the same atom."""
    text = "(name CA or name CB or name C) and not resname GLY"
    selection = tj.open(adk.psf, adk.xtc).select(text)
    reordered = tmp_path / "reordered.pdb"
    adk_universe.trajectory[0]
    there = adk_universe.select_atoms(text)
    threes = there.indices.reshape(-1, 3)
    assert set(adk_universe.atoms[threes[:, 2]].names) == {"C"}
    adk_universe.atoms[threes[:, [0, 2, 1]].ravel()].write(reordered)
    message = r"the same names in another order.*CB MET1 and atom 1 C MET1 of"
    with pytest.raises(tj.SelectionError, match=message):
        tj.rmsd(selection, reference=reordered)
    turned = tmp_path / "turned.pdb"
    adk_universe.atoms[threes[::-1].ravel()].write(turned)
    with pytest.raises(tj.SelectionError, match="the same resnames in another order"):
        tj.rmsd(selection, reference=turned)
    same = tmp_path / "same.pdb"
    there.write(same)
    assert tj.rmsd(selection, reference=same).values[0] < 1e-3
    # A caller that gives atoms one by one decides which of them correspond.
    pairs = adk_universe.atoms[threes[:, [0, 2, 1]].ravel()]
    result = tj.rmsd(selection, reference=pairs)
    assert result.values[0] > 0.5
    (remark,) = result.report["remarks"]
    assert "the same names in another order" in remark
    assert tj.rmsd(selection, reference=there).report["remarks"] == []


def renamed(universe: mda.Universe, path: Path, order: np.ndarray | None = None) -> Path:
    """Write ADK's frame 0 with the PDB's names, and with one residue of another chain."""
    universe.trajectory[0]
    other = universe.copy()
    other.residues.resnames = ["HIS" if n == "HSD" else n for n in other.residues.resnames]
    # CHARMM calls hydrogens HB1 and HB2 that the PDB calls HB2 and HB3, and CD1 of ILE CD.
    usual = {"HB1": "HB2", "HB2": "HB3", "HN": "H", "HA1": "HA2", "HA2": "HA3"}
    names = other.atoms.names.copy()
    of_methyls = np.isin(other.atoms.resnames, ["ALA"])
    names[~of_methyls] = [usual.get(name, name) for name in names[~of_methyls]]
    names[(names == "CD") & (other.atoms.resnames == "ILE")] = "CD1"
    other.atoms.names = names
    # Names are compared: bonds take ten times as long to write.
    (other.atoms if order is None else other.atoms[order]).write(path, bonds=None)
    return path


def test_references_with_names_of_another_force_field_are_compared(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """Other names neither hide another order nor cause a refusal."""
    traj = tj.open(adk.psf, adk.xtc)
    usual = renamed(adk_universe, tmp_path / "usual.pdb")
    backbone = tj.rmsd(traj.select("backbone"), reference=usual)
    assert backbone.values[0] < 1e-3
    # States of protonation are not another residue name.
    assert backbone.report["remarks"] == []
    all_atoms = tj.rmsd(traj.select("all"), reference=usual)
    assert all_atoms.values[0] < 1e-3
    (remark,) = all_atoms.report["remarks"]
    n = int((mda.Universe(usual).atoms.names != adk_universe.atoms.names).sum())
    assert f"{n} of 3341 atoms have other names, the first pair is atom " in remark
    assert remark.endswith("compared in their order")
    # The PDB's order of atoms: C before CB, of equal mass.
    order = np.arange(3341)
    residue = adk_universe.residues[10].atoms
    c, beta = (residue[residue.names == name].indices[0] for name in ("C", "CB"))
    order[[c, beta]] = [beta, c]
    other = renamed(adk_universe, tmp_path / "order.pdb", order)
    with pytest.raises(tj.SelectionError, match=r"the same names in another order.* CB .* C "):
        tj.rmsd(traj.select("all"), reference=other)
    # Residues in another order: their CA are all called CA.
    half = adk_universe.residues[100].atoms.indices[0]
    other = renamed(adk_universe, tmp_path / "halves.pdb", np.roll(np.arange(3341), -half))
    with pytest.raises(tj.SelectionError, match="the same resnames in another order"):
        tj.rmsd(traj.select("name CA"), reference=other)


def test_mutant_of_two_residues_is_no_other_order(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """LYS and GLU were exchanged, and the numbers stay."""
    alphas = adk_universe.select_atoms("name CA")
    names = alphas.resnames.copy()
    lys, glu = (int(np.flatnonzero(names == name)[0]) for name in ("LYS", "GLU"))
    names[[lys, glu]] = names[[glu, lys]]
    mutant = mda.Merge(alphas)
    mutant.add_TopologyAttr("resnames", names)
    mutant.atoms.write(tmp_path / "mutant.pdb")
    chosen = tj.open(adk.psf, adk.xtc).select("name CA")
    (remark,) = tj.rmsd(chosen, reference=tmp_path / "mutant.pdb").report["remarks"]
    assert "2 of 214 atoms have other names" in remark


def test_guessed_masses_give_a_remark(adk: Adk, adk_universe: mda.Universe, tmp_path: Path) -> None:
    """GRO files have neither masses nor elements: MDAnalysis takes a bead W for tungsten."""
    adk_universe.trajectory[0]
    beads = adk_universe.select_atoms("name CA or name CB")
    text = tmp_path / "beads.gro"
    beads.write(text)
    text.write_text(text.read_text().replace("   CB", "    W"))
    beads.write(tmp_path / "beads.xtc")
    selection = tj.open(text, tmp_path / "beads.xtc").select("all")
    result = tj.rmsd(selection, weights="mass", groups=["name W"], group_weights="mass")
    remark, of_group = result.report["remarks"]
    assert "1 (W 183.850)" in of_group
    assert f"guessed from the names of atoms, as {text} has neither" in remark
    assert "2 (CA 12.011, W 183.850)" in remark
    (remark,) = tj.rmsf(selection, align="name W", weights="mass").report["remarks"]
    assert "1 (W 183.850)" in remark
    assert tj.rmsd(selection).report["remarks"] == []
    # A PSF has masses, a PDB may have elements.
    assert tj.rmsd(tj.open(adk.psf, adk.xtc).select("all"), weights="mass").report["remarks"] == []
    pdb = tmp_path / "elements.pdb"
    named = adk_universe.copy()
    named.add_TopologyAttr("elements", [name[0] for name in named.atoms.names])
    named.atoms.write(pdb, bonds=None)
    assert tj.rmsd(tj.open(pdb, adk.xtc).select("all"), weights="mass").report["remarks"] == []


def test_references_of_mutants_give_a_remark(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """Residues that differ on purpose are compared."""
    mutant = adk_universe.copy()
    mutant.residues[41].resname = "TRP"
    mutant.select_atoms("name CA").write(tmp_path / "mutant.pdb")
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    result = tj.rmsd(selection, reference=tmp_path / "mutant.pdb")
    (remark,) = result.report["remarks"]
    assert "1 of 214 atoms have other names, the first pair is atom " in remark
    assert "CA GLY42 and atom 41 CA TRP42 of the reference" in remark
    done = CliRunner().invoke(
        commands,
        [
            *("rmsd", str(adk.psf), str(adk.xtc), "--select", "name CA"),
            *("--reference", str(tmp_path / "mutant.pdb")),
        ],
    )
    assert f"note: {remark}" in done.output


def alanines(path: Path, resids: list[int], residues: list[int], segids: str) -> Path:
    """Write residues of a made chain of alanines with the given numbers and segments."""
    n = len(residues)
    made = mda.Universe.empty(
        3 * n,
        n,
        len(set(segids)),
        atom_resindex=np.repeat(range(n), 3),
        residue_segindex=[sorted(set(segids)).index(s) for s in segids],
        trajectory=True,
    )
    for name, values in (
        ("names", ["N", "CA", "C"] * n),
        ("resnames", ["ALA"] * n),
        ("resids", resids),
        ("segids", sorted(set(segids))),
        ("chainIDs", [s for s in segids for _ in range(3)]),
    ):
        made.add_TopologyAttr(name, values)
    places = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.0, (90, 3)), axis=0)
    made.atoms.positions = places.reshape(-1, 3, 3)[residues].reshape(-1, 3)
    made.atoms.write(path)
    return path


ONE_CHAIN = "A" * 20


@pytest.mark.parametrize(
    ("ours", "theirs", "segids", "shifts"),
    [
        # Residue 10 is missing in the reference, and 21 is not in the topology.
        (range(1, 21), [*range(1, 10), *range(11, 22)], ONE_CHAIN, (0, 1)),
        (range(1, 21), [*range(1, 10), *range(11, 22)], "A" * 10 + "B" * 10, (0, 1)),
        ([*range(101, 110), *range(111, 122)], range(1, 21), ONE_CHAIN, (-100, -101)),
        # The shift is the same throughout each chain: chains numbered through, or each from 1 on.
        (range(1, 21), range(301, 321), ONE_CHAIN, None),
        (range(1, 21), [*range(1, 11), *range(101, 111)], "A" * 10 + "B" * 10, None),
        (range(1, 21), [*range(1, 11), *range(1, 11)], ONE_CHAIN, None),
        ([*range(1, 11), *range(1, 11)], range(1, 21), ONE_CHAIN, None),
    ],
)
def test_numbering_whose_shift_changes_within_a_chain_is_a_remark(
    ours: list[int],
    theirs: list[int],
    segids: str,
    shifts: tuple[int, int] | None,
    tmp_path: Path,
) -> None:
    """Equally named residues may be compared with their neighbours, which RMSD does not show."""
    here = alanines(tmp_path / "here.pdb", list(ours), list(range(20)), ONE_CHAIN)
    residues = [k for k in range(21) if shifts is None or k != 9][:20]
    there = alanines(tmp_path / "there.pdb", list(theirs), residues, segids)
    mda.Universe(here).atoms.write(tmp_path / "here.xtc")
    selection = tj.open(here, tmp_path / "here.xtc").select("name CA")
    result = tj.rmsd(selection, reference=there)
    if shifts is None:
        assert result.report["remarks"] == []
        return
    assert result.values[0] > 0.5
    (remark,) = result.report["remarks"]
    assert f"differ by {shifts[0]} and, from atom 28 CA ALA{list(ours)[9]}" in remark
    assert f"CA ALA{list(theirs)[9]} of the reference on, by {shifts[1]} within a chain" in remark
    assert remark.endswith("missing in one of the two: atoms are compared in their order")


@pytest.mark.parametrize(("attribute", "values"), [("resids", [2, 1]), ("segids", ["B", "A"])])
def test_references_of_like_molecules_give_a_remark(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path, attribute: str, values: list[object]
) -> None:
    """Two exchanged molecules of the same names are distinguished by numbers or chains."""
    adk_universe.trajectory[0]
    one = adk_universe.select_atoms("resid 5")
    files = {}
    for name, two in (("same", values[::-1]), ("exchanged", values)):
        both = mda.Merge(one, one)
        both.add_TopologyAttr("chainIDs", ["X"] * both.atoms.n_atoms)
        if attribute == "resids":
            both.residues.resids = two
        else:
            for molecule, chain in zip(both.residues, two, strict=True):
                molecule.segment = both.add_Segment(segid=str(chain))
                molecule.atoms.chainIDs = str(chain)
        files[name] = tmp_path / f"{name}.pdb"
        both.atoms.write(files[name])
        both.atoms.write(tmp_path / "both.xtc")
    selection = tj.open(files["same"], tmp_path / "both.xtc").select("all")
    assert tj.rmsd(selection, reference=files["same"]).report["remarks"] == []
    with pytest.raises(tj.SelectionError, match=f"the same {attribute} in another order"):
        tj.rmsd(selection, reference=files["exchanged"])


def test_invalid_arguments_are_errors(adk: Adk) -> None:
    """These are bad frames, unknown weights, weights without masses and pools without threads."""
    traj = tj.open(adk.psf, adk.xtc)
    selection = traj.select("name CA")
    for frames in ([98], [0, -99], [10**12]):
        with pytest.raises(tj.FrameError, match=re.escape(str(frames[-1]))):
            tj.rmsd(selection, frames=frames)
    for option in ("weights", "group_weights"):
        with pytest.raises(ValueError, match="charge"):
            tj.rmsd(selection, groups=["all"], **{option: "charge"})
    with pytest.raises(ValueError):
        tj.rmsd(tj.open(None, adk.xtc).select([1, 2, 3]), weights="mass")
    for bad in ({"threads": 0}, {"threads": -1}, {"task_frames": 0}):
        with pytest.raises(ValueError):
            tj.LocalPool(**bad)
    with pytest.raises(TypeError):
        tj.rmsd("name CA")


def test_topology_of_another_system_is_an_error(adk: Adk, tmp_path: Path) -> None:
    """Topology and trajectory differ in the number of atoms; the error names both."""
    x = np.zeros((2, 333, 3))
    other = xtc_bytes.write_xtc(tmp_path / "other.xtc", x)
    with pytest.raises(tj.SelectionError, match="3341") as caught:
        tj.rmsd(tj.open(adk.psf, other).select("name CA"))
    assert "333 " in str(caught.value).replace("3341", "") + " "


def test_nan_coordinates_affect_their_frame_alone(tmp_path: Path) -> None:
    """A NaN in an uncompressed format makes its own frame NaN and no other."""
    x = np.random.default_rng(5).uniform(0, 3, (6, 5, 3))
    x[4, 2, 1] = np.nan
    path = xtc_bytes.write_xtc(tmp_path / "nan.xtc", x)
    values = tj.rmsd(tj.open(None, path).select([0, 1, 2, 3, 4])).values
    assert np.isnan(values).tolist() == [False] * 4 + [True, False]


def test_results_are_saved_and_drawn(adk: Adk, tmp_path: Path) -> None:
    """Results save as NPZ without pickle and as CSV without loss, and can be plotted."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    for groups in ([], ["resid 122-159", "all"]):
        result = tj.rmsd(selection, groups=groups)
        result.save(tmp_path / "r.npz")
        with np.load(tmp_path / "r.npz", allow_pickle=False) as saved:
            assert set(saved.files) >= {"values", "times", "frames", "units"}
            assert np.array_equal(saved["values"], result.values)
            assert np.array_equal(saved["times"], result.times)
            assert np.array_equal(saved["frames"], result.frames)
            assert str(saved["units"]) == "Å"
        result.save(str(tmp_path / "r.csv"))
        head, *rows = (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()
        # Groups change the name of no other column.
        further = [f"rmsd_A:{name}".replace(" ", "_") for name in result.columns[1:]]
        assert head == ",".join(["frame", "time_ps", "rmsd_A", *further])
        table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
        assert np.array_equal(table[:, 0], result.frames)
        assert np.array_equal(table[:, 1].astype(np.float32), result.times)
        assert np.array_equal(table[:, 2:].reshape(result.values.shape), result.values)
        figure = result.plot()
        figure.savefig(tmp_path / "r.png")
        assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
        axes, distribution = figure.axes
        assert distribution.patches
        # Means are lines of two points.
        drawn = [line for line in axes.lines if len(line.get_xdata()) == len(result.times)]
        assert len(drawn) == 1 + len(groups)
        assert "Å" in axes.get_ylabel()
        assert "ps" in axes.get_xlabel()
    with pytest.raises(tj.OutputError):
        result.save(tmp_path / "no" / "such" / "folder.npz")
    with pytest.raises((ValueError, tj.OutputError), match="docx"):
        result.save(tmp_path / "r.docx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "r.npz", "r.png"]
    with pytest.raises(AttributeError):
        result.values = None


def test_average_structure_as_reference(adk: Adk, adk_universe: mda.Universe) -> None:
    """Two passes equal MDAnalysis' AverageStructure and then RMSD, on any number of threads."""
    average = align.AverageStructure(adk_universe, select="name CA", ref_frame=0).run()
    reference = average.results.universe.select_atoms("name CA")
    expected = mdanalysis_rmsd(adk_universe.select_atoms("name CA"), reference=reference)
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    results = [
        tj.rmsd(selection, reference="average", pool=tj.LocalPool(threads=n, task_frames=k))
        for n, k in [(1, 10**9), (2, 1), (7, 17)]
    ]
    assert np.abs(results[0].values - expected).max() < 1e-6
    assert all(np.array_equal(r.values, results[0].values) for r in results)
    assert results[0].report["passes"] == 2
    with pytest.raises(ValueError, match="average"):
        tj.rmsd(selection, reference="average", motion="none")


@pytest.mark.parametrize("weights", [None, "mass"])
def test_rmsd_to_the_average_equals_the_float64_twin(adk: Adk, weights: str | None) -> None:
    """The average structure and the frames superposed on it are never rounded to float32."""
    traj = tj.open(adk.psf, adk.xtc)
    atoms, group = traj.select("name CA"), traj.select("resid 122:159 and backbone")
    frames = slice(None, None, 5)
    result = tj.rmsd(
        atoms, groups=[group], reference="average", weights=weights or "equal", frames=frames
    )
    every = traj.read(frames=frames).positions.astype(np.float64)
    masses = None if weights is None else atoms.topology_atoms.column("masses")
    main = every[:, atoms.indices]
    fits = [kabsch.fit(x, main[0], masses) for x in main]
    moved = [
        (x - centre) @ rotation + onto
        for x, (rotation, centre, onto) in zip(every, fits, strict=True)
    ]
    average = np.mean(moved, axis=0)
    expected = [
        [
            kabsch.superposed(x[atoms.indices], average[atoms.indices], masses),
            kabsch.of_group(x, average, atoms.indices, group.indices, weights=masses),
        ]
        for x in every
    ]
    assert np.abs(result.values - expected).max() < 1e-9


@pytest.mark.parametrize(
    "text",
    ["name OW and around 4 protein", "sphzone 10 index 5", "prop z < 20 and name CA"],
)
def test_geometric_selections_use_frame_0(tmp_path: Path, text: str) -> None:
    """They use neither the coordinates of the topology file nor another unit cell."""
    xtc = tmp_path / "solvated.xtc"
    shutil.copyfile(datafiles.XTC, xtc)
    expected = mda.Universe(datafiles.GRO, str(xtc)).select_atoms(text)
    selection = tj.open(datafiles.GRO, xtc).select(text)
    assert np.array_equal(selection.indices, expected.indices)
