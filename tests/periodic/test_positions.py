"""Transformed positions are those of MDAnalysis and of plain twins, up to lattice vectors."""

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import kabsch
from helpers import plain_geometry as plain
from helpers.commands import succeed
from helpers.messages import raises
from helpers.periodic_systems import (
    NAMES,
    XTC_ERROR,
    PeriodicSystem,
    Solvated,
    assert_same_in_molecules,
    lattice_shifts,
    make_system,
)
from MDAnalysis import transformations
from MDAnalysis.analysis.align import AlignTraj

# Rounding of float32 positions and of the vectors that are added to them, Å.
ROUNDING = 2e-3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PeriodicSystem]:
    """Return the made systems by name."""
    folder = tmp_path_factory.mktemp("periodic")
    return {name: make_system(name, folder) for name in NAMES}


@pytest.fixture(scope="module")
def solvated() -> tj.Trajectory:
    """Return the solvated protein, with the bonds of its TPR file."""
    return tj.open(Solvated.topology, Solvated.path, sidecar=False)


@pytest.fixture(scope="module")
def stored(solvated: tj.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the solvated protein as stored, and the box vectors."""
    frames = [ts.triclinic_dimensions.copy() for ts in Solvated().load().trajectory]
    return solvated.read().positions, np.array(frames, float)


@pytest.fixture(scope="module")
def protein() -> tuple[mda.Universe, mda.Universe]:
    """Return MDAnalysis' universe of the solvated protein, and one of the protein alone."""
    universe = Solvated().load()
    return universe, mda.Merge(universe.select_atoms("protein"))


def moved(universe: mda.Universe, *changes: object) -> Iterator[np.ndarray]:
    """Yield the positions of each frame after transformations of MDAnalysis."""
    universe.trajectory.add_transformations(*changes)
    for ts in universe.trajectory:
        yield ts.positions.copy()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"endless"}))
def test_whole_molecules_have_their_shapes(made: dict[str, PeriodicSystem], name: str) -> None:
    """Molecules have the unbroken shape, at the first atom as stored; no warnings are counted."""
    system = made[name]
    traj = system.open()
    positions = traj.whole().read().positions
    stored = traj.read().positions
    shifts = lattice_shifts(positions, system.unbroken, system.vectors, XTC_ERROR)
    assert_same_in_molecules(shifts, system.molecules)
    _, first = np.unique(system.molecules, return_index=True)
    assert np.array_equal(positions[:, first], stored[:, first])
    # The file has broken molecules, which is what this is about.
    with pytest.raises(AssertionError):
        assert_same_in_molecules(
            lattice_shifts(stored, system.unbroken, system.vectors, XTC_ERROR), system.molecules
        )
    report = tj.rmsd(traj.whole().all_atoms()).report
    assert not any("periodic image" in message for message in report.messages)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"endless", "polymer", "branched"}))
def test_whole_equals_unwrap_of_mdanalysis(made: dict[str, PeriodicSystem], name: str) -> None:
    """Molecules differ from those of MDAnalysis by a lattice vector each, if at all."""
    system = made[name]
    universe = system.load()
    twin = np.array([*moved(universe, transformations.unwrap(universe.atoms))])
    shifts = lattice_shifts(system.open().whole().read().positions, twin, system.vectors, ROUNDING)
    assert_same_in_molecules(shifts, system.molecules)


def test_whole_solvated_protein_equals_unwrap_of_mdanalysis(
    solvated: tj.Trajectory,
    stored: tuple[np.ndarray, np.ndarray],
    protein: tuple[mda.Universe, mda.Universe],
) -> None:
    """In a rhombic dodecahedron, with the bonds of a TPR file."""
    _, vectors = stored
    universe, alone = protein
    ours = solvated.select("protein").whole()
    for k in (0, 9):
        alone.dimensions = universe.trajectory[k].dimensions
        alone.atoms.positions = universe.atoms[: alone.atoms.n_atoms].positions
        twin = alone.atoms.unwrap(compound="fragments", reference=None, inplace=False)
        got = ours.read(frames=[k]).positions[0]
        shifts = lattice_shifts(got, twin, vectors[k], ROUNDING)
        assert_same_in_molecules(shifts, np.zeros(len(got), int))


def test_bonds_of_whole_water_are_short(
    solvated: tj.Trajectory, stored: tuple[np.ndarray, np.ndarray]
) -> None:
    """All 47,681 atoms are moved by lattice vectors only, and no bond crosses the box."""
    positions, vectors = stored
    whole = solvated.whole().read().positions
    lattice_shifts(whole, positions, vectors, ROUNDING)
    pairs = solvated.topology.connections
    assert pairs is not None
    lengths = np.linalg.norm(whole[:, pairs[:, 0]] - whole[:, pairs[:, 1]], axis=2)
    broken = np.linalg.norm(positions[:, pairs[:, 0]] - positions[:, pairs[:, 1]], axis=2)
    assert lengths.max() < 3.0 < broken.max()


def test_endless_molecule_stays_and_is_counted(made: dict[str, PeriodicSystem]) -> None:
    """A molecule that is bonded to its own image keeps its positions; a ring is made whole."""
    system = made["endless"]
    traj = system.open()
    stored, whole = traj.read().positions, traj.whole().read().positions
    endless = system.molecules == 0
    assert np.array_equal(stored[:, endless], whole[:, endless])
    shifts = lattice_shifts(
        whole[:, ~endless], system.unbroken[:, ~endless], system.vectors, XTC_ERROR
    )
    assert_same_in_molecules(shifts, system.molecules[~endless])
    report = tj.rmsd(traj.whole().all_atoms()).report
    assert sum("periodic image" in message for message in report.messages) == 1
    ring = tj.rmsd(traj.whole().select("resname BEN")).report
    assert not any("periodic image" in one for one in ring["warnings"])


@pytest.mark.parametrize("name", NAMES)
def test_nojump_has_the_shifts_of_the_unbroken_positions(
    made: dict[str, PeriodicSystem], name: str
) -> None:
    """Atoms follow the way that they were made to go; the first frame is as stored."""
    system = made[name]
    traj = system.open()
    positions, stored = traj.nojump().read().positions, traj.read().positions
    assert np.array_equal(positions[0], stored[0])
    got = lattice_shifts(positions, stored, system.vectors, ROUNDING)
    true = lattice_shifts(system.unbroken, stored, system.vectors, XTC_ERROR)
    assert np.array_equal(got, true - true[0])
    assert got.any()


def test_fit_after_nojump_counts_jumps_from_its_reference(made: dict[str, PeriodicSystem]) -> None:
    """Molecules are in the images that they have in a run from frame 0."""
    traj = made["water"].open()
    later = np.arange(traj.n_frames // 2, traj.n_frames)
    run = np.concatenate([[0], later])
    moved = traj.nojump()
    assert not np.array_equal(
        moved.read(frames=later).positions, moved.read(frames=run).positions[1:]
    )
    fitted = moved.fit("all")
    expected = fitted.read(frames=run).positions[1:]
    for threads in (1, 2):
        assert np.array_equal(fitted.read(frames=later, threads=threads).positions, expected)
    rows = tj.rmsd(fitted.all_atoms(), motion="none", frames=later).values
    assert np.array_equal(rows, tj.rmsd(fitted.all_atoms(), motion="none", frames=run).values[1:])


@pytest.mark.parametrize("name", ["chains", "polymer", "water", "branched"])
def test_nojump_equals_mdanalysis(made: dict[str, PeriodicSystem], name: str) -> None:
    """The shifts are the same integers as those of `NoJump`."""
    system = made[name]
    twin = np.array([*moved(system.load(), transformations.NoJump())])
    traj = system.open()
    stored = traj.read().positions
    theirs = lattice_shifts(twin, stored, system.vectors, ROUNDING)
    ours = lattice_shifts(traj.nojump().read().positions, stored, system.vectors, ROUNDING)
    # MDAnalysis wraps the first frame into the cell.
    assert np.array_equal(ours, theirs - theirs[0])


def test_nojump_of_solvated_protein_has_the_steps_of_a_plain_twin(
    solvated: tj.Trajectory, stored: tuple[np.ndarray, np.ndarray]
) -> None:
    """The cell changes from frame to frame; no atom of the whole protein jumps against another."""
    positions, vectors = stored
    fractions = np.einsum("fai,fij->faj", positions.astype(float), np.linalg.inv(vectors))
    steps = -np.rint(np.diff(fractions, axis=0))
    twin = np.concatenate([np.zeros_like(fractions[:1]), np.cumsum(steps, 0)])
    ours = lattice_shifts(solvated.nojump().read().positions, positions, vectors, 2 * ROUNDING)
    assert np.array_equal(ours, twin)
    # Neighbouring atoms stay neighbours.
    protein = solvated.select("protein").whole().nojump().read().positions
    lengths = np.linalg.norm(np.diff(protein, axis=1), axis=2)
    assert lengths.max() < 20


def test_toroidal_view_moves_molecules_as_one(made: dict[str, PeriodicSystem]) -> None:
    """Centres move by the vectors of the cells at the time of their jumps, as a twin sums them."""
    system = made["npt"]
    traj = system.open()
    whole = traj.whole().read().positions.astype(float)
    got = traj.nojump(view="toroidal").read().positions
    n = system.molecules.max() + 1
    counts = np.bincount(system.molecules)[:, None]
    centres = np.array(
        [
            np.stack([np.bincount(system.molecules, x[:, k], n) for k in range(3)], 1) / counts
            for x in whole
        ]
    )
    sums, twin = np.zeros((n, 3)), [whole[0]]
    before = centres[0] @ np.linalg.inv(system.vectors[0])
    for k in range(1, len(whole)):
        now = centres[k] @ np.linalg.inv(system.vectors[k])
        sums = sums - np.rint(now - before) @ system.vectors[k]
        before = now
        twin.append(whole[k] + sums[system.molecules])
    assert np.abs(got - np.array(twin)).max() < ROUNDING
    # The lattice view differs, as the cell changes.
    lattice = traj.whole().nojump().read().positions
    assert np.abs(got - lattice).max() > 0.1
    # It makes the MSD too large, which a message says.
    for view, words in (("lattice", 1), ("toroidal", 0)):
        moved = tj.msd(traj.whole().nojump(view=view).all_atoms(), by="molecule")
        found = [text for text in moved.messages if "the cell changes by up to" in text]
        assert len(found) == words, view
    constant = made["water"].open()
    still = tj.msd(constant.whole().nojump().all_atoms(), by="molecule")
    assert not any("the cell changes" in text for text in still.messages)
    assert np.allclose(
        constant.nojump(view="toroidal").read().positions,
        constant.whole().nojump().read().positions,
        atol=ROUNDING,
    )


def images(vectors: np.ndarray, reach: int = 2) -> np.ndarray:
    """Return the lattice vectors of the neighbouring cells."""
    k = np.arange(-reach, reach + 1)
    return np.stack(np.meshgrid(k, k, k), -1).reshape(-1, 3) @ vectors


@pytest.mark.parametrize("cell", ["triclinic", "compact", "rectangular"])
@pytest.mark.parametrize("by", ["molecule", "residue", "atom"])
@pytest.mark.parametrize("name", ["npt", "octahedron", "hexagonal", "branched"])
def test_wrapped_groups_have_their_centres_in_the_cell(
    made: dict[str, PeriodicSystem], name: str, by: tj.trajectory.transforms.WrapGroups, cell: str
) -> None:
    """Groups are moved as one by lattice vectors; the cell has the shape that is asked for."""
    system = made[name]
    traj = system.open().whole()
    whole, got = traj.read().positions, traj.wrap(by=by, cell=cell).read().positions
    groups = np.arange(traj.n_atoms) if by == "atom" else system.molecules
    shifts = lattice_shifts(got, whole, system.vectors, ROUNDING)
    assert_same_in_molecules(shifts, groups)
    assert shifts.any()
    n, counts = groups.max() + 1, np.bincount(groups)[:, None]
    for x, vectors in zip(got.astype(float), system.vectors, strict=True):
        centres = np.stack([np.bincount(groups, x[:, k], n) for k in range(3)], 1) / counts
        if cell == "triclinic":
            fractions = centres @ np.linalg.inv(vectors)
            assert fractions.min() > -1e-4
            assert fractions.max() < 1 + 1e-4
        elif cell == "rectangular":
            assert centres.min() > -ROUNDING
            assert (centres < np.diag(vectors) + ROUNDING).all()
        else:
            away = centres - 0.5 * vectors.sum(0)
            others = np.linalg.norm(away[:, None] + images(vectors), axis=2)
            assert (np.linalg.norm(away, axis=1) <= others.min(1) + ROUNDING).all()
    again = traj.wrap(by=by, cell=cell).wrap(by=by, cell=cell).read().positions
    assert np.abs(again - got).max() < ROUNDING


def test_wrapping_by_molecule_equals_mdanalysis(made: dict[str, PeriodicSystem]) -> None:
    """Wrapped fragments are those of `transformations.wrap(compound="fragments")`."""
    system = made["chains"]
    traj, universe = system.open().whole(), system.load()
    changes = (
        transformations.unwrap(universe.atoms),
        transformations.wrap(universe.atoms, compound="fragments"),
    )
    twin = np.array([*moved(universe, *changes)])
    got = traj.wrap(weights="mass").read().positions
    shifts = lattice_shifts(got, twin, system.vectors, ROUNDING)
    assert not shifts.any()


def test_wrapped_together_molecules_stay_together(made: dict[str, PeriodicSystem]) -> None:
    """The chains keep their distance; other molecules are wrapped by themselves."""
    system = made["chains"]
    traj = system.open().whole().cluster("resname ALA GLY")
    chains = system.molecules < 2
    before = traj.read().positions
    after = traj.wrap(around="resname ALA GLY").read().positions
    shifts = lattice_shifts(after, before, system.vectors, ROUNDING)
    assert_same_in_molecules(shifts[:, chains], np.zeros(chains.sum(), int))
    assert_same_in_molecules(shifts, system.molecules)


def test_cluster_puts_a_dimer_into_one_image(made: dict[str, PeriodicSystem]) -> None:
    """Centres of the chains are at their smallest distance; everything else stays."""
    system = made["chains"]
    traj = system.open().whole()
    before = traj.read().positions
    after = traj.cluster("resname ALA GLY").read().positions
    one, other = system.molecules == 0, system.molecules == 1
    assert np.array_equal(before[:, ~other], after[:, ~other])
    away = after[:, other].mean(1, dtype=float) - after[:, one].mean(1, dtype=float)
    nearest = np.linalg.norm(away[:, None] + images(system.vectors[0]), axis=2).min(1)
    assert np.allclose(np.linalg.norm(away, axis=1), nearest, atol=ROUNDING)
    assert not np.array_equal(before, after)


@pytest.mark.parametrize("weights", [None, "mass"])
def test_center_moves_the_centre_to_that_of_the_cell(
    made: dict[str, PeriodicSystem], weights: str | None
) -> None:
    """All atoms are moved by the same vector."""
    system = made["npt"]
    traj = system.open().whole()
    centred = traj.center("resname HOH", weights=weights or "equal")
    before, after = traj.read().positions.astype(float), centred.read().positions.astype(float)
    universe = system.load()
    water = universe.select_atoms("resname HOH")
    numbers = water.masses if weights == "mass" else None
    centres = np.average(after[:, water.indices], axis=1, weights=numbers)
    assert np.allclose(centres, 0.5 * system.vectors.sum(1), atol=ROUNDING)
    moves = after - before
    assert np.abs(moves - moves[:, :1]).max() < ROUNDING
    one = system.open().translate([1, -2, 300.5]).read().positions
    twin = system.open().read().positions + np.array([1, -2, 300.5])
    assert np.array_equal(one, twin.astype(np.float32))


@pytest.mark.parametrize("name", ["npt", "octahedron", "ligand"])
def test_repaired_complex_is_in_the_centre(made: dict[str, PeriodicSystem], name: str) -> None:
    """Two chains, or a chain and a ligand, are together there, and other molecules around them."""
    system = made[name]
    got = system.open().repair("resname ALA GLY LIG").read().positions.astype(float)
    own = system.molecules < 2
    centre = 0.5 * system.vectors.sum(1)
    assert np.allclose(got[:, own].mean(1), centre, atol=ROUNDING)
    moved = got - got[:, own].mean(1)[:, None]
    true = system.unbroken - system.unbroken[:, own].mean(1)[:, None]
    # The chains are those that were made, in one image.
    assert np.abs((moved - true)[:, own]).max() < XTC_ERROR
    n, counts = system.molecules.max() + 1, np.bincount(system.molecules)[:, None]
    for x, vectors in zip(got, system.vectors, strict=True):
        centres = np.stack([np.bincount(system.molecules, x[:, k], n) for k in range(3)], 1)
        away = (centres / counts)[2:] - 0.5 * vectors.sum(0)
        others = np.linalg.norm(away[:, None] + images(vectors), axis=2)
        assert (np.linalg.norm(away, axis=1) <= others.min(1) + ROUNDING).all()


@pytest.mark.parametrize("weights", [None, "mass"])
def test_fit_equals_aligntraj_of_mdanalysis(
    solvated: tj.Trajectory, weights: str | None, protein: tuple[mda.Universe, mda.Universe]
) -> None:
    """Frames of the protein are superposed on the first as `AlignTraj` does."""
    ours = solvated.select("protein").whole()
    universe, whole = protein[1].copy(), ours.read().positions
    universe.load_new(whole.copy(), format="memory")
    reference = universe.copy()
    reference.trajectory[0]
    AlignTraj(universe, reference, select="name CA", weights=weights, in_memory=True).run()
    twin = universe.trajectory.timeseries(order="fac")
    got = ours.fit("name CA and protein", weights=weights or "equal").read().positions
    assert np.abs(got - twin).max() < 5e-3
    # All atoms are moved by the motion that superposes the alpha carbons.
    carbons = universe.select_atoms("name CA").indices
    masses = universe.atoms.masses[carbons] if weights == "mass" else None
    for x, y in zip(got, whole, strict=True):
        best = kabsch.superposed(y[carbons], whole[0, carbons], masses)
        assert abs(kabsch.deviation(x[carbons], whole[0, carbons], masses) - best) < 1e-3


def test_fit_in_plane_and_by_translation_keep_heights(made: dict[str, PeriodicSystem]) -> None:
    """In the plane, z stays; by translation, vectors between atoms stay. Both lower the RMSD."""
    system = made["membrane"]
    traj = system.open().whole().nojump()
    before = traj.read().positions.astype(float)
    spread = np.sqrt(((before - before[0]) ** 2).sum(2).mean(1))
    plane = traj.fit("all", motion="plane").read().positions.astype(float)
    shift = traj.fit("all", motion="translation").read().positions.astype(float)
    assert np.abs(plane[..., 2] - before[..., 2]).max() < 1e-4
    between = [x - x[:, :1] for x in (shift, before)]
    assert np.abs(between[0] - between[1]).max() < ROUNDING
    centres = shift.mean(1) - before[0].mean(0)
    assert np.abs(centres).max() < ROUNDING
    in_plane = np.sqrt(((plane - plane[0])[..., :2] ** 2).sum(2).mean(1))
    assert (in_plane <= spread + 1e-3).all()
    # No rotation about z by a small angle is better.
    for angle in (-0.01, 0.01):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        own = plane[..., :2] - plane[..., :2].mean(1, keepdims=True)
        target = own[0]
        worse = ((own @ turn - target) ** 2).sum((1, 2))
        assert (worse >= ((own - target) ** 2).sum((1, 2)) - 1e-6).all()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"endless"}))
def test_whole_after_wrap_equals_whole(made: dict[str, PeriodicSystem], name: str) -> None:
    """Up to a lattice vector for each molecule."""
    system = made[name]
    traj = system.open()
    one, other = traj.whole().read().positions, traj.wrap(by="atom").whole().read().positions
    shifts = lattice_shifts(one, other, system.vectors, ROUNDING)
    assert_same_in_molecules(shifts, system.molecules)


def test_virtual_sites_have_no_weight(solvated: tj.Trajectory) -> None:
    """The fourth site of TIP4P water has the mass 0: it counts in centres of geometry only."""
    water = solvated.select("resname SOL and index 3345:3352").whole()
    masses = np.array([15.9994, 1.008, 1.008, 0.0] * 2)
    got = water.center("index 3345:3352", weights="mass").read(frames=[0]).positions[0]
    middle = 0.5 * plain.cell_vectors(water.read(frames=[0]).cells[0]).sum(0)
    sites = water.topology_atoms.column("masses")
    assert sites is not None
    assert sorted(sites) == pytest.approx(sorted(masses), abs=1e-3)
    assert np.allclose(np.average(got.astype(float), 0, sites), middle, atol=ROUNDING)
    assert not np.allclose(got.mean(0, dtype=float), middle, atol=ROUNDING)
    atoms = solvated.wrap(by="atom", weights="mass").read(frames=[0]).positions
    assert np.array_equal(atoms, solvated.wrap(by="atom").read(frames=[0]).positions)


def test_fit_to_a_file_says_how_to_give_its_positions(tmp_path: Path) -> None:
    """The advice can be followed as it stands."""
    traj = tj.samples.peptide_in_water().open()
    path = tmp_path / "first.pdb"
    traj[0].save(path)
    with raises(TypeError) as raised:
        traj.fit("name CA", reference=str(path))
    positions = eval(str(raised.value).partition("give ")[2], {"tj": tj})
    fitted = traj.fit("name CA", reference=positions).select("name CA")
    assert np.abs(fitted.read([0]).positions[0] - positions).max() < 1e-3


@pytest.mark.parametrize("ending", ["pdb", "gro"])
def test_fitted_frames_are_saved_without_their_cell(ending: str, tmp_path: Path) -> None:
    """Also medoids of fitted frames, and on the command line, which says so."""
    traj = tj.samples.peptide_in_water().open().whole()
    fitted = traj.fit("name CA").select("protein")
    path = fitted[5].save(tmp_path / f"fitted.{ending}")
    found = tj.open(path).read()
    assert np.abs(found.positions[0] - fitted.read([5]).positions[0]).max() < 0.01
    assert np.isnan(found.cells).all()
    kept = traj.fit("name CA", motion="translation").select("protein")[5]
    assert not np.isnan(tj.open(kept.save(tmp_path / f"moved.{ending}")).read().cells).any()
    medoids = tj.cluster_rmsd(fitted, cutoff=2.0, frames=slice(0, 20)).save_medoids(tmp_path)
    assert medoids
    sample = tj.samples.peptide_in_water()
    out = tmp_path / f"command.{ending}"
    files = [str(sample.topology), str(sample.trajectory), "-o", str(out)]
    options = ["--frame", "5", "--whole", "--fit", "name CA", "--select", "protein"]
    note, _ = succeed("frame", *files, *options)
    assert "cell and velocities are left out" in note
    assert out.read_bytes() == path.read_bytes()
