"""Distances equal those of MDAnalysis and of a search through all images, and hold laws.

MDAnalysis subtracts float32 positions in float32 and keeps the cell as float32: a coordinate of 100
Å is off by up to 8e-6 Å, a cell of 80 Å and its angles by as much. 3e-5 Å of difference is allowed
(1.6e-5 is found). The naive twin has the same numbers in float64: only rounding remains.

In very skewed cells MDAnalysis' minimum image is not always the shortest, by up to several Å. There
the naive twin decides, which searches all images that could be the shortest.
"""

import resource
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes, xtc_bytes
from helpers.commands import invoke, misuse, python
from helpers.golden_files import Adk
from helpers.made_coordinates import MADE, Made
from helpers.messages import raises
from helpers.systems import NAMES, System, Systems, in_changing_cells
from MDAnalysis.lib.distances import distance_array, self_distance_array
from MDAnalysisTests import datafiles

SINGLE = 3e-5
ROUNDING = 1e-12

# Runs under a limit of address space: too large a request is refused and does not end the process.
TOO_LARGE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
import trajet as tj

traj = tj.open(None, sys.argv[1])
for arguments in ((traj,), (traj, traj.select(range(traj.n_atoms)))):
    try:
        tj.distances(*arguments)
    except MemoryError as error:
        print(error)
print(tj.distances(traj.select([0, 9]), traj.select([5, 47680])).values.shape)
"""


def some_atoms(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Return about 40 and about 110 atoms of the whole system; some are in both groups."""
    n_atoms = system.trajectory.n_atoms
    rng = np.random.default_rng(n_atoms)
    a = rng.choice(n_atoms, 40, replace=False)
    return a, np.concatenate([a[:5], rng.choice(n_atoms, 105, replace=False)])


def cell_of(cells: np.ndarray) -> np.ndarray | None:
    """Return a cell, or none if it is NaN."""
    return None if np.isnan(cells).any() else cells


@pytest.mark.parametrize("name", NAMES)
def test_pairs_of_two_selections_equal_mdanalysis(systems: Systems, name: str) -> None:
    """Distances are those of distance_array with the frame's box, or of the shortest images."""
    system = systems[name]
    a, b = some_atoms(system)
    traj = system.trajectory
    result = tj.distances(traj.select(a), traj.select(b))
    assert result.values.shape == (traj.n_frames, 40, 110)
    assert result.values.dtype == np.float64
    assert np.array_equal(result.atoms, a)
    assert np.array_equal(result.partners, b)
    assert result.units == "Å"
    assert not result.axes[-1].is_reference
    cells = traj.read(atoms=[0]).cells
    for k, ts in enumerate(system.universe.trajectory):
        here = [ts.positions[atoms] for atoms in (a, b)]
        theirs = distance_array(*here, box=ts.dimensions)
        off = np.abs(result.values[k] - theirs)
        assert (off.max() < SINGLE) or system.charmm
        if k < 3 or system.charmm:
            twin = plain.between(*here, system.vectors(cells[k]))
            assert np.abs(result.values[k] - twin).max() < ROUNDING
    assert (result.values[:, np.arange(5), np.arange(5)] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_pairs_within_one_selection_equal_mdanalysis(systems: Systems, name: str) -> None:
    """MDAnalysis' self_distance_array is the reference, in its order: 0-1, 0-2, …, 1-2, …."""
    system = systems[name]
    _, b = some_atoms(system)
    traj = system.trajectory
    result = tj.distances(traj.select(b))
    assert result.values.shape == (traj.n_frames, 110 * 109 // 2)
    assert result.partners is None
    cells = traj.read(atoms=[0]).cells
    for k, ts in enumerate(system.universe.trajectory):
        theirs = self_distance_array(ts.positions[b], box=ts.dimensions)
        off = np.abs(result.values[k] - theirs)
        assert (off.max() < SINGLE) or system.charmm
        if k < 2:
            twin = plain.within(ts.positions[b], system.vectors(cells[k]))
            assert np.abs(result.values[k] - twin).max() < ROUNDING


def test_every_pair_of_a_skewed_cell_is_the_shortest(systems: Systems) -> None:
    """Cells are one of 91, 62 and 44 degrees and other shapes of it; atoms are all oxygens.

    Box vectors are as CHARMM wrote them: in this orientation, no two oxygens are closer than in
    water.
    """
    system = systems["skewed.dcd"]
    oxygens = system.trajectory.select("name OH2")
    assert oxygens.n_atoms == 125
    block = oxygens.read(frames=[0, 2, 9])
    assert np.ptp(block.cells, axis=0).min() > 0.1
    result = tj.distances(oxygens, frames=[0, 2, 9])
    for values, x, cell in zip(result.values, block.positions, block.cells, strict=True):
        assert np.abs(values - plain.within(x, system.vectors(cell))).max() < ROUNDING
        assert values.min() > 2.4


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "skewed.dcd"])
def test_without_images_positions_are_taken_as_they_are(systems: Systems, name: str) -> None:
    """With pbc=False, a distance is the length of the difference of two positions."""
    system = systems[name]
    a, b = some_atoms(system)
    traj = system.trajectory
    result = tj.distances(traj.select(a), traj.select(b), pbc=False)
    among = tj.distances(traj.select(b), pbc=False)
    for k, ts in enumerate(system.universe.trajectory):
        here = [ts.positions[atoms] for atoms in (a, b)]
        assert np.abs(result.values[k] - distance_array(*here)).max() < SINGLE
        assert np.abs(result.values[k] - plain.between(*here)).max() < ROUNDING
        assert np.abs(among.values[k] - plain.within(here[1])).max() < ROUNDING
    with_images = tj.distances(traj.select(a), traj.select(b)).values
    assert (result.values.tobytes() == with_images.tobytes()) == (name == "adk.xtc")
    assert (with_images <= result.values + ROUNDING).all()


@pytest.mark.parametrize("reference", [0, 41, -1])
def test_reference_frame_gives_displacements(systems: Systems, reference: int) -> None:
    """Distances go from every atom in a frame to every atom in the reference frame."""
    system = systems["adk.xtc"]
    selection = system.trajectory.select("name CA and resid 20-60")
    result = tj.distances(selection, reference=reference)
    assert result.values.shape == (98, 41, 41)
    assert result.axes[-1].is_reference
    assert np.array_equal(result.partners, selection.indices)
    x = selection.read().positions
    for k in range(98):
        assert np.abs(result.values[k] - distance_array(x[k], x[reference])).max() < SINGLE
        assert np.abs(result.values[k] - plain.between(x[k], x[reference])).max() < ROUNDING
    assert (np.diagonal(result.values[reference]) == 0).all()


def test_references_of_another_file_are_equal(systems: Systems, tmp_path: Path) -> None:
    """A structure file, an AtomGroup of it, a Selection and an array are one reference."""
    system = systems["adk.xtc"]
    selection = system.trajectory.select("name CA and resid 20-60")
    alpha = mda.Universe(datafiles.PDB_small).select_atoms("name CA and resid 20-60")
    x = selection.read().positions
    expected = np.array([plain.between(frame, alpha.positions) for frame in x])
    stored = trr_bytes.write_trr(tmp_path / "x.trr", alpha.universe.atoms.positions[None] / 10)
    there = tj.open(system.topology, stored).select(selection.text)
    for reference in (datafiles.PDB_small, Path(datafiles.PDB_small), alpha, alpha.positions):
        result = tj.distances(selection, reference=reference)
        assert np.abs(result.values - expected).max() < ROUNDING
    assert np.abs(tj.distances(selection, reference=there).values - expected).max() < SINGLE


def test_images_are_taken_in_the_cell_of_the_frame(systems: Systems) -> None:
    """The cell of the reference is not used."""
    system = systems["skewed.dcd"]
    selection = system.trajectory.select("name OH2 and resid 1-40")
    block = selection.read()
    result = tj.distances(selection, reference=9)
    for k in range(10):
        vectors = system.vectors(block.cells[k])
        twin = plain.between(block.positions[k], block.positions[9], vectors)
        assert np.abs(result.values[k] - twin).max() < ROUNDING


def test_atoms_may_be_named_in_any_way(systems: Systems) -> None:
    """Text, Selections, AtomGroups and a whole Trajectory give the same bits."""
    system = systems["adk.xtc"]
    traj, universe = system.trajectory, system.universe
    a, b = "name CA and resid 1-20", "resname ARG and name CZ"
    expected = tj.distances(traj.select(a), traj.select(b))
    assert expected.values.shape == (98, 20, 13)
    assert expected.selections == (a, b)
    for same in (
        tj.distances(traj.select(a), b),
        tj.distances(traj.select(a), universe.select_atoms(b)),
        tj.distances(universe.select_atoms(a), universe.select_atoms(b)),
        tj.distances(universe.select_atoms(a), b),
    ):
        assert same.values.tobytes() == expected.values.tobytes()
        assert np.array_equal(same.partners, expected.partners)
    skewed = systems["skewed.dcd"].trajectory
    everything = tj.distances(skewed, frames=[2])
    assert everything.values.shape == (1, 375 * 374 // 2)
    listed = tj.distances(skewed.select(np.arange(375)), frames=[2])
    assert everything.values.tobytes() == listed.values.tobytes()


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_made_coordinates_equal_the_twin(made: Made, tmp_path: Path) -> None:
    """Coordinates may be of any size."""
    path = xtc_bytes.write_xtc(tmp_path / "m.xtc", made.coordinates(), precision=made.precision)
    traj = tj.open(None, path)
    a, b = np.arange(traj.n_atoms)[:33], np.arange(traj.n_atoms)[::-5]
    x = traj.read().positions
    tolerance = 1e-15 * (1 + np.abs(x).max()) * 4
    between = tj.distances(traj.select(a), traj.select(b))
    within = tj.distances(traj.select(a))
    assert within.values.shape == (len(x), len(a) * (len(a) - 1) // 2)
    for k, frame in enumerate(x):
        assert np.abs(between.values[k] - plain.between(frame[a], frame[b])).max() < tolerance
        off = np.abs(within.values[k] - plain.within(frame[a]))
        assert off.max(initial=0) < tolerance


@pytest.mark.parametrize("cell", plain.CELLS.values(), ids=plain.CELLS)
@pytest.mark.parametrize("n_atoms", [1, 2, 7, 8, 9, 25])
def test_cells_of_every_shape_equal_the_twin(
    cell: tuple[float, ...], n_atoms: int, tmp_path: Path
) -> None:
    """The distance is that of the shortest image; atoms may lie many cells away."""
    rng = np.random.default_rng(41)
    basis = plain.cell_vectors(np.array(cell, float)) / 10
    x = rng.uniform(-15, 15, (3, n_atoms, 3))
    path = xtc_bytes.write_xtc(tmp_path / "cell.xtc", x, box=basis)
    traj = tj.open(None, path)
    block = traj.read()
    assert np.abs(block.cells - cell).max() < 1e-3
    within = tj.distances(traj)
    between = tj.distances(traj.select([0]), traj.select(np.arange(n_atoms)))
    for k, (frame, own) in enumerate(zip(block.positions, block.cells, strict=True)):
        twin = plain.within(frame, own)
        # Whole cells are subtracted from hundreds of Å.
        assert np.abs(within.values[k] - twin).max(initial=0) < ROUNDING
        off = np.abs(between.values[k, 0, 1:] - twin[: n_atoms - 1])
        assert off.max(initial=0) < ROUNDING


def test_each_frame_has_its_own_cell(tmp_path: Path) -> None:
    """Cells change from frame to frame, and some frames have none."""
    traj, celled = in_changing_cells(tmp_path, 42)
    block = traj.read()
    for pool in (None, tj.LocalPool(threads=1, task_frames=1000)):
        result = tj.distances(traj, pool=pool)
        for values, frame, own in zip(result.values, block.positions, block.cells, strict=True):
            assert np.abs(values - plain.within(frame, cell_of(own))).max() < ROUNDING
    without = tj.distances(traj, pbc=False).values
    same = [a.tobytes() == b.tobytes() for a, b in zip(result.values, without, strict=True)]
    assert same == [not has_cell for has_cell in celled]


def test_rotation_and_translation_change_no_distance(tmp_path: Path) -> None:
    """A rigid body that moves keeps its distances."""
    rng = np.random.default_rng(43)
    body = rng.normal(0, 1, (30, 3))
    frames = [body @ plain.rotation(rng) + rng.uniform(-2, 2, 3) for _ in range(25)]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "rigid.trr", frames))
    result = tj.distances(traj)
    exact = 10 * plain.within(body)
    # Float32 positions of up to 60 Å: 2e-6 Å in each coordinate.
    assert np.abs(result.values - exact).max() < 1e-5
    assert np.ptp(exact) > 30
    moved = tj.distances(traj, reference=0)
    assert np.abs(np.diagonal(moved.values[1:], axis1=1, axis2=2)).min() > 1


def test_whole_cells_change_nothing(tmp_path: Path) -> None:
    """Atoms moved by whole cells, each by its own, keep their distances."""
    rng = np.random.default_rng(44)
    basis = plain.cell_vectors(np.array(plain.CELLS["skewed"], float)) / 10
    x = rng.uniform(-4, 4, (4, 40, 3))
    moved = x + rng.integers(-2, 3, x.shape) @ basis
    there, here = (
        tj.open(None, trr_bytes.write_trr(tmp_path / name, frames, boxes=[basis] * 4))
        for name, frames in (("x.trr", x), ("moved.trr", moved))
    )
    # Float32 positions of up to 300 Å: 3e-5 Å in each coordinate.
    assert np.abs(tj.distances(here).values - tj.distances(there).values).max() < 2e-4
    assert np.abs(tj.distances(here, pbc=False).values - tj.distances(there).values).max() > 50


def test_distances_are_symmetric(systems: Systems) -> None:
    """Distances from a to b equal those from b to a, bit for bit without a cell."""
    for name in ("adk.xtc", "solvated.trr", "skewed.dcd"):
        system = systems[name]
        a, b = (system.trajectory.select(atoms) for atoms in some_atoms(system))
        there = tj.distances(a, b).values
        back = np.swapaxes(tj.distances(b, a).values, 1, 2)
        assert np.abs(there - back).max() < (ROUNDING if "adk" not in name else 1e-300)
        square = tj.distances(b, b).values
        upper = square[:, *np.triu_indices(110, 1)]
        assert upper.tobytes() == tj.distances(b).values.tobytes()
        assert (np.diagonal(square, axis1=1, axis2=2) == 0).all()


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "skewed.dcd"])
def test_order_of_atoms_permutes_rows_and_columns(systems: Systems, name: str) -> None:
    """Another order of the atoms, or repeats, choose rows and columns and change no bit of them."""
    system = systems[name]
    traj = system.trajectory
    a, b = some_atoms(system)
    rng = np.random.default_rng(45)
    first, second = rng.integers(0, len(a), 50), rng.permutation(len(b))
    straight = tj.distances(traj.select(a), traj.select(b)).values
    shuffled = tj.distances(traj.select(a[first]), traj.select(b[second]))
    assert np.array_equal(shuffled.atoms, a[first])
    assert np.array_equal(shuffled.partners, b[second])
    assert shuffled.values.tobytes() == straight[:, first][:, :, second].tobytes()
    square = tj.distances(traj.select(b), traj.select(b)).values
    among = tj.distances(traj.select(b[second])).values
    expected = square[:, second][:, :, second][:, *np.triu_indices(len(b), 1)]
    assert among.tobytes() == expected.tobytes()


def test_one_atom_has_no_pair_with_itself(systems: Systems) -> None:
    """It has one pair with another atom, and one with its position in the reference."""
    traj = systems["adk.xtc"].trajectory
    one, other = traj.select([7]), traj.select([9])
    x = traj.read(atoms=[7, 9]).positions.astype(np.float64)
    assert tj.distances(one).values.shape == (98, 0)
    pair = tj.distances(one, other).values
    assert np.abs(pair[:, 0, 0] - np.linalg.norm(x[:, 0] - x[:, 1], axis=1)).max() < ROUNDING
    path = tj.distances(one, reference=0).values
    assert np.abs(path[:, 0, 0] - np.linalg.norm(x[:, 0] - x[0, 0], axis=1)).max() < ROUNDING


def test_frames_without_positions_give_nan(tmp_path: Path) -> None:
    """The rows of frames without positions are NaN, and the report counts them."""
    frames = list(np.random.default_rng(46).normal(0, 1, (9, 7, 3)))
    frames[0] = frames[5] = None
    boxes = [np.eye(3) * 2.5] * 9
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames, boxes=boxes))
    everything = traj.select(np.arange(7))
    nan = [k in (0, 5) for k in range(9)]
    for options in ({}, {"pbc": False}, {"other": traj.select([1, 2])}, {"reference": 3}):
        result = tj.distances(everything, **options)
        rows = np.isnan(result.values.reshape(9, -1))
        assert rows.all(axis=1).tolist() == nan
        assert rows.any(axis=1).tolist() == nan
        assert result.report["empty_frames"] == 2
        assert result.report["frames"] == 9


def test_reference_without_positions_is_an_error(tmp_path: Path) -> None:
    """The error names the frame."""
    frames = list(np.random.default_rng(47).normal(0, 1, (5, 7, 3)))
    frames[3] = None
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames))
    with raises(tj.TrajetError):
        tj.distances(traj, reference=3)


def test_contradicting_arguments_are_errors(systems: Systems) -> None:
    """Other atoms together with a reference, or the average structure, are a ValueError."""
    traj = systems["adk.xtc"].trajectory
    selection = traj.select("name CA")
    for reference in (0, "average", selection, datafiles.PDB_small):
        with raises(ValueError):
            tj.distances(selection, "name CB", reference=reference)
    with raises(ValueError):
        tj.distances(selection, reference="average")


def test_unusable_selections_are_errors(systems: Systems) -> None:
    """Atoms of another trajectory or size, of no trajectory, or no selection are refused."""
    traj = systems["adk.xtc"].trajectory
    selection = traj.select("name CA")
    with raises(tj.SelectionError):
        tj.distances(selection, systems["adk.dcd"].trajectory.select("name CA"))
    with raises(tj.SelectionError):
        tj.distances(selection, systems["skewed.dcd"].universe.atoms)
    with raises(tj.SelectionError):
        tj.distances(selection, "name NOTHING")
    with raises(tj.SelectionError):
        tj.distances(selection, systems["adk.xtc"].universe.atoms[[]])
    for reference in (np.zeros((213, 3)), np.zeros((214, 2)), np.zeros(3)):
        with raises(tj.SelectionError):
            tj.distances(selection, reference=reference)
    with raises(tj.SelectionError):
        tj.distances(selection, reference=traj.select("name N"))
    with raises(tj.SelectionError):
        tj.distances(tj.open(None, systems["adk.xtc"].path), "name CA")
    for thing in ("name CA", [1, 2], None):
        with raises(TypeError):
            tj.distances(thing)
    for thing in ([1, 2], 5, np.array([1, 2])):
        with raises(TypeError):
            tj.distances(selection, thing)
    for frame in (98, -99):
        with raises(tj.FrameError):
            tj.distances(selection, reference=frame)
        with raises(tj.FrameError):
            tj.distances(selection, frames=[frame])


def test_result_too_large_for_any_memory_is_an_error(systems: Systems) -> None:
    """More bytes than a process can address are a MemoryError that states the size."""
    traj = systems["adk.xtc"].trajectory
    repeated = traj.select(np.zeros(1 << 22, np.int64))
    with raises(MemoryError):
        tj.distances(repeated)


def test_result_too_large_for_this_memory_is_an_error(systems: Systems) -> None:
    """All pairs of 47681 atoms are a MemoryError, and the process continues."""
    path = systems["solvated.xtc"].path
    among, between, after = python("-c", TOO_LARGE, path).stdout.splitlines()
    pairs = [47681 * 47680 // 2, 47681**2]
    for line, n in zip((among, between), pairs, strict=True):
        assert line.startswith(
            f"{10 * n * 8 / (1 << 30):.3g} GiB are needed ({n} numbers of each of 10"
        )
    assert after == "(10, 2, 2)"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 8 << 30


KINDS = {
    "between": ({"other": "index 5 or index 77 or index 400"}, ["MET1:N_-_MET1:HA"]),
    "within": ({}, ["MET1:N_-_MET1:CG", "MET1:N_-_ARG2:HE"]),
    "reference": ({"reference": 4}, ["MET1:N_-_reference_MET1:N"]),
}


@pytest.mark.parametrize(("options", "names"), KINDS.values(), ids=KINDS)
def test_columns_are_named_by_pairs(
    systems: Systems, options: dict[str, object], names: list[str]
) -> None:
    """One for each pair; results have the atoms of both groups."""
    selection = systems["adk.xtc"].trajectory.select([0, 9, 33, 3000])
    result = tj.distances(selection, frames=slice(3, 60, 7), **options)
    head = result.csv_header()
    assert head[2 : 2 + len(names)] == [f"distance_A:{name}" for name in names]
    assert len(head) == 2 + result.values[0].size
    assert result.axes[1].kind == ("pairs" if result.partners is None else "atoms")


def test_empty_results_are_saved_and_drawn(systems: Systems, tmp_path: Path) -> None:
    """Without frames, the CSV file has a header only, and the figure is empty."""
    traj = systems["adk.xtc"].trajectory
    for k, result in enumerate(
        (
            tj.distances(traj.select([0, 9, 33]), frames=[]),
            tj.dihedrals(traj, [[0, 1, 2, 3]], frames=[]),
            tj.rmsd(traj.select("name CA"), frames=[]),
        )
    ):
        result.save(tmp_path / f"{k}.csv")
        assert len((tmp_path / f"{k}.csv").read_text().splitlines()) == 1
        result.plot()


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ({"other": "index 5 or index 77"}, "MET1:HA"),
        ({}, "MET1:CG"),
        ({"reference": 0}, "reference MET1:N"),
    ],
)
def test_legend_of_few_pairs_has_their_names(
    systems: Systems, options: dict[str, object], other: str
) -> None:
    """Up to six distances are drawn against time."""
    selection = systems["adk.xtc"].trajectory.select([0, 9] if options else [0, 9, 33, 3000])
    result = tj.distances(selection, **options)
    (legend,) = result.plot().legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == f"MET1:N - {other}"
    assert names == [*result.columns]


@pytest.mark.parametrize("kind", ["between", "within", "reference"])
def test_plot_of_many_pairs_shows_a_matrix(systems: Systems, tmp_path: Path, kind: str) -> None:
    """More than six: the mean over frames as an image, with numbers of residues on both axes."""
    traj = systems["adk.xtc"].trajectory
    selection = traj.select("name CA and resid 10-40")
    other = traj.select("name CB and resid 50-55")
    options = {"between": {"other": other}, "within": {}, "reference": {"reference": 0}}[kind]
    result = tj.distances(selection, **options)
    figure = result.plot()
    axes, bar = figure.axes
    assert bar.get_ylabel() == "mean distance (Å)"
    partners = other if kind == "between" else selection
    suffix = " (reference)" if kind == "reference" else ""
    across = partners.text + suffix
    assert axes.get_ylabel().replace("\n", " ") == f"atoms of residue ({selection.text})"
    assert axes.get_xlabel().replace("\n", " ") == f"atoms of residue ({across})"
    (image,) = axes.images
    x = selection.read().positions
    there = {"between": other.read().positions, "within": x, "reference": x[[0] * 98]}[kind]
    mean = np.mean([plain.between(a, b) for a, b in zip(x, there, strict=True)], axis=0)
    assert image.origin == "lower"
    assert np.abs(image.get_array().filled(np.nan) - mean).max() < ROUNDING
    for axis, atoms in ((axes.yaxis, selection.indices), (axes.xaxis, partners.indices)):
        places = np.array(axis.get_ticklocs(), int)
        labels = [text.get_text() for text in axis.get_ticklabels()]
        assert labels == [str(traj.topology.resids[atoms[k]]) for k in places]
        assert places[0] == 0 and len({*np.diff(places).tolist()}) == 1
    figure.savefig(tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_matrix_plot_leaves_out_frames_without_positions(tmp_path: Path) -> None:
    """The mean is over the frames that have positions."""
    frames = list(np.random.default_rng(49).normal(0, 1, (5, 9, 3)))
    frames[3] = None
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames))
    (image,) = tj.distances(traj).plot().axes[0].images
    mean = np.mean([plain.between(x, x) for x in traj.read(frames=[0, 1, 2, 4]).positions], axis=0)
    assert np.abs(image.get_array().filled(np.nan) - mean).max() < ROUNDING


def test_command_requires_force_for_a_result_above_1_gb(adk: Adk, tmp_path: Path) -> None:
    """All pairs of 3341 atoms in 98 frames are refused with the size, before any file is made."""
    out = tmp_path / "pairs.npz"
    command = ["distances", str(adk.psf), str(adk.xtc), "--select", "all", "-o", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tj.LocalPool, "run", lambda *_, **__: pytest.fail("frames are read"))
        done = invoke(*command)
    assert isinstance(done.exception, tj.OutputError)
    assert "4.4 GB of memory (5579470 numbers of each of 98 frames)" in str(done.exception)
    assert "--force" in str(done.exception)
    assert not out.exists()


@pytest.mark.parametrize(
    ("command", "size"),
    [
        (["distances", "--select", "name CA and resid 1:10"], 98 * 45 * 8),
        (
            ["distances", "--select", "resid 1", "--other", "resid 2", "--step", "2"],
            49 * 19 * 24 * 8,
        ),
        (["dihedrals", "--select", "protein", "--sin-cos"], 98 * 848 * 8),
        (["rmsd", "--select", "name CA", "--groups", "name CB"], 98 * 2 * 8),
    ],
)
def test_every_analysis_command_checks_the_size_of_its_result(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], size: int
) -> None:
    """One byte above the limit is refused, unless with --force; functions have no limit."""
    name, *arguments = command
    command = [name, str(adk.psf), str(adk.xtc), *arguments, "--quiet"]
    monkeypatch.setattr("trajet.cli.analysis_options._LARGE_RESULT", size)
    assert invoke(*command).exit_code == 0
    monkeypatch.setattr("trajet.cli.analysis_options._LARGE_RESULT", size - 1)
    done = invoke(*command)
    assert isinstance(done.exception, tj.OutputError)
    assert invoke(*command, "--force").exit_code == 0
    assert tj.distances(tj.open(adk.psf, adk.xtc).select("resid 1")).values.nbytes > 0


def test_file_for_rows_needs_a_pool_that_writes_it(adk: Adk, tmp_path: Path) -> None:
    """Threads and processes keep rows in memory: the command line is an error."""
    for pool in ("local", "processes"):
        command = ["distances", adk.psf, adk.xtc, "--select", "all", "--pool", pool]
        misuse(*command, "--rows-in", tmp_path / "rows")
