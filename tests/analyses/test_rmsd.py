"""RMSD equals MDAnalysis' values, or a naive twin's, and depends on coordinates alone."""

import functools
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import kabsch, xtc_bytes
from helpers.extent import pairs_first
from helpers.golden_files import Adk, Golden, Truth
from helpers.messages import raises
from helpers.plain_geometry import rotation
from helpers.rmsd_values import TIGHT, ZERO, assert_matches, mdanalysis_rmsd
from MDAnalysis.analysis import align, rms
from MDAnalysisTests import datafiles

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


def test_every_golden_file_has_its_topology(golden: Golden) -> None:
    """A new file in MDAnalysisTests needs an entry in TOPOLOGIES."""
    assert golden.name in TOPOLOGIES


@pytest.mark.parametrize(
    ("golden", "weights"),
    [
        pytest.param(name, weights, marks=() if is_gate else pytest.mark.long)
        for number, name in enumerate(TOPOLOGIES)
        for turn, weights in enumerate((None, "mass"))
        # Weights take turns.
        for is_gate in [number % 2 == turn]
    ],
    indirect=["golden"],
)
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
            with raises(tj.SelectionError):
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


@pytest.mark.parametrize(
    ("text", "weights", "reference"),
    pairs_first(
        ["name CA", "backbone", "all", "name CA and resid 30-59"], [None, "mass"], [0, 50, -1]
    ),
)
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


GROUPS = [
    "name CA and (resid 1-29 or resid 60-121 or resid 160-214)",
    "resid 122-159",
    "all",
    "index 3340",
]


@pytest.mark.parametrize(
    ("weights", "group_weights", "reference"), pairs_first([None, "mass"], [None, "mass"], [0, 60])
)
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
    adk: Adk, adk_truth: Truth, adk_universe: mda.Universe, weights: str | None, motion: str
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
    with raises(ValueError):
        tj.rmsd(selection, motion="plane")  # type: ignore[arg-type]


def test_groups_without_superposition(adk: Adk, adk_truth: Truth) -> None:
    """Nothing moves: a group's column is its deviation in place."""
    traj = tj.open(adk.psf, adk.xtc)
    group = traj.select("resid 122-159")
    result = tj.rmsd(traj.select("name CA"), groups=[group], motion="none")
    x = adk_truth.positions[:, group.indices]
    assert np.abs(result.values[:, 1] - [rms.rmsd(a, x[0]) for a in x]).max() < TIGHT


def test_average_structure_as_reference(adk: Adk, adk_universe: mda.Universe) -> None:
    """Two passes equal MDAnalysis' AverageStructure and then RMSD."""
    average = align.AverageStructure(adk_universe, select="name CA", ref_frame=0).run()
    reference = average.results.universe.select_atoms("name CA")
    expected = mdanalysis_rmsd(adk_universe.select_atoms("name CA"), reference=reference)
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    result = tj.rmsd(selection, reference="average")
    assert np.abs(result.values - expected).max() < 1e-6
    assert result.report["passes"] == 2
    with raises(ValueError):
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


@pytest.mark.parametrize("request_size", [4096, 100_000, 1 << 24])
def test_same_bits_with_any_requests(adk: Adk, request_size: int) -> None:
    """The size of requests changes no bit."""
    plain = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    traj = tj.open(adk.psf, adk.xtc, request_size=request_size)
    assert np.array_equal(tj.rmsd(traj.select("name CA")).values, plain.values)


def test_groups_change_no_name_and_bad_paths_are_errors(adk: Adk, tmp_path: Path) -> None:
    """Columns of groups have their names; results cannot be changed."""
    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), groups=["resid 122-159", "all"])
    further = [f"rmsd_A:{name}".replace(" ", "_") for name in result.columns[1:]]
    assert result.csv_header() == ["frame", "time_ps", "rmsd_A", *further]
    (axes,) = result.plot().axes
    assert "ps" in axes.get_xlabel()
    with pytest.raises(tj.OutputError):
        result.save(tmp_path / "no" / "such" / "folder.npz")
    with raises((ValueError, tj.OutputError)):
        result.save(tmp_path / "r.docx")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(AttributeError):
        result.values = None


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


@pytest.mark.parametrize("n_atoms", [3, 4, 10, 500])
def test_moved_copies_are_identical(n_atoms: int, tmp_path: Path) -> None:
    """Rotated and shifted copies deviate by no more than their rounding in the file."""
    rng = np.random.default_rng(n_atoms)
    x = rng.uniform(-2, 2, (n_atoms, 3))
    copies = [x, *(x @ rotation(rng) + rng.uniform(-5, 5, 3) for _ in range(20))]
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
    images = [x, -x, x * [-1, 1, 1], x * [1, -1, 1] @ rotation(rng) + 1.5, x[:, [1, 0, 2]]]
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
