"""The RDF equals MDAnalysis' InterRDF and a naive search through all images."""

import itertools
from functools import partial
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes, xtc_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysis.analysis.rdf import InterRDF
from MDAnalysisTests import datafiles
from trajet.analysis.running_numbers import first_minimum

N_ATOMS = 75
N_FRAMES = 3
# nm, row by row: a cube, a rhombic dodecahedron, a prism, and a cell so skewed that the nearest
# image is often none of the neighbours along the vectors.
BOXES = {
    "cube": [[2, 0, 0], [0, 2, 0], [0, 0, 2]],
    "dodecahedron": [[2.4, 0, 0], [0, 2.4, 0], [1.2, 1.2, 1.697056]],
    "prism": [[3, 0, 0], [-1.5, 2.598076, 0], [0, 0, 1.1]],
    "skewed": [[1.5, 0, 0], [1.4, 1.2, 0], [1.3, 1.1, 1.4]],
}
# The stored coordinates are f32 of a few Å, the cells of the search below f64 of f32.
EDGE = 1e-4


def made(folder: Path, box: str, n_atoms: int = N_ATOMS) -> Path:
    """Write random atoms, in the cell and around it."""
    rng = np.random.default_rng(len(box) + n_atoms)
    coordinates = rng.uniform(-1.0, 4.0, (N_FRAMES, n_atoms, 3))
    return xtc_bytes.write_xtc(folder / f"{box}.xtc", coordinates, box=np.array(BOXES[box]))


def vectors_of(cell: np.ndarray) -> np.ndarray:
    """Return the box vectors of a, b, c, α, β, γ."""
    a, b, c = cell[:3]
    cos_a, cos_b, cos_g = np.cos(np.radians(cell[3:]))
    sin_g = np.sin(np.radians(cell[5]))
    cy = (cos_a - cos_b * cos_g) / sin_g
    cz = np.sqrt(1 - cos_b**2 - cy**2)
    return np.array([[a, 0, 0], [b * cos_g, b * sin_g, 0], [c * cos_b, c * cy, c * cz]])


def nearest(a: np.ndarray, b: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Return the distances of all pairs, the least of many images each, `(n_a, n_b)`."""
    vectors = vectors_of(cell)
    apart = b[None].astype(np.float64) - a[:, None].astype(np.float64)
    whole = np.round(apart @ np.linalg.inv(vectors))
    apart -= whole @ vectors
    best = np.full(apart.shape[:2], np.inf)
    for shift in itertools.product(range(-3, 4), repeat=3):
        best = np.minimum(best, np.linalg.norm(apart + np.array(shift) @ vectors, axis=-1))
    return best


def searched(
    block: tj.Block, a: np.ndarray, b: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of different atoms in each bin, and the uncertainty by pairs at an edge."""
    counts, unsure = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    different = a[:, None] != b
    for positions, cell in zip(block.positions, block.cells, strict=True):
        distances = nearest(positions[a], positions[b], cell)[different]
        counts += np.histogram(distances, edges)[0]
        at_edge = np.abs(distances[:, None] - edges) < EDGE
        unsure += at_edge[:, :-1].sum(axis=0) + at_edge[:, 1:].sum(axis=0)
    return counts, unsure


@pytest.mark.parametrize("box", sorted(BOXES))
@pytest.mark.parametrize("longest", [4.0, 9.0, 40.0])
def test_counts_equal_a_search_through_all_images(box: str, longest: float, tmp_path: Path) -> None:
    """One group and two are counted, in cells of every shape, also beyond half of the cell."""
    traj = tj.open(None, made(tmp_path, box))
    block = traj.read()
    edges = np.linspace(0, longest, 31)
    every = np.arange(N_ATOMS)
    for a, b in ((every, None), (every[:20], every[15:])):
        other = None if b is None else traj.select(b)
        result = tj.rdf(traj.select(a), other, bins=30, range=(0.0, longest))
        counts, unsure = searched(block, a, a if b is None else b, edges)
        assert (np.abs(result.counts - counts) <= unsure).all()
        assert unsure.sum() < 0.01 * counts.sum() + 2 * N_ATOMS * N_FRAMES
        assert result.counts.sum() > 0
        assert np.array_equal(result.edges, edges)
        # Counts divided by those that the mean density puts into a shell.
        volume = np.mean([abs(np.linalg.det(vectors_of(cell))) for cell in block.cells])
        pairs = (a[:, None] != (a if b is None else b)).sum()
        ideal = N_FRAMES * pairs / volume * 4 / 3 * np.pi * np.diff(edges**3)
        assert np.allclose(result.g, result.counts / ideal, rtol=1e-6)


def test_box_of_water_equals_inter_rdf(tmp_path: Path) -> None:
    """InterRDF counts oxygens and hydrogens of the solvated system without self-pairs."""
    universe = mda.Universe(datafiles.GRO, datafiles.XTC)
    traj = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    few = "name OW and resid 300:900"
    hydrogens = "name HW1 HW2 and resid 300:900"
    cases = [
        (few, None, {"exclude": (1, 1)}),
        (few, few, {"exclude": (1, 1)}),
        (few, hydrogens, {"exclude": (1, 2)}),
        ("protein and name CA", few, {"bins": 33, "range": (2.0, 12.5)}),
    ]
    for a, b, options in cases:
        groups = [universe.select_atoms(a), universe.select_atoms(b or a)]
        theirs = {
            {"bins": "nbins", "exclude": "exclusion_block"}.get(k, k): v for k, v in options.items()
        }
        truth = InterRDF(*groups, **theirs).run(step=5).results
        result = tj.rdf(traj.select(a), b, frames=slice(None, None, 5), **options)
        if options.get("exclude") == (1, 1):
            plain = tj.rdf(traj.select(a), b, frames=slice(None, None, 5))
            assert plain.g.tobytes() == result.g.tobytes()
        # MDAnalysis rounds distances to float32: pairs at an edge may fall into the next bin.
        assert np.abs(result.counts - truth.count).max() <= 2
        assert np.allclose(result.r, truth.bins, atol=1e-12)
        # Its volumes are those of float32 cells.
        assert np.allclose(result.g, truth.rdf, rtol=1e-3, atol=2e-2)


def test_order_of_atoms_changes_no_bit(tmp_path: Path) -> None:
    """Counts are integers, also in tasks."""
    traj = tj.open(None, made(tmp_path, "skewed"))
    pool = tj.LocalPool(threads=7, task_frames=1)
    one = tj.rdf(traj.select(np.arange(N_ATOMS)), range=(0.0, 12.0))
    other = tj.rdf(traj.select(np.arange(N_ATOMS)[::-1]), range=(0.0, 12.0), pool=pool)
    assert one.g.tobytes() + one.counts.tobytes() == other.g.tobytes() + other.counts.tobytes()


def test_exclusions_leave_out_their_blocks(tmp_path: Path) -> None:
    """`(n, m)` equals counting all pairs and subtracting those within the blocks."""
    traj = tj.open(None, made(tmp_path, "cube"))
    atoms = np.arange(N_ATOMS)
    whole = tj.rdf(traj.select(atoms), range=(0.0, 10.0))
    blocks = tj.rdf(traj.select(atoms), range=(0.0, 10.0), exclude=(3, 3))
    within = sum(
        tj.rdf(traj.select(atoms[k : k + 3]), range=(0.0, 10.0)).counts
        for k in range(0, N_ATOMS, 3)
    )
    assert np.array_equal(whole.counts - blocks.counts, within)


@pytest.mark.parametrize(
    ("a", "b", "block"),
    [
        (range(N_ATOMS), None, None),
        (range(N_ATOMS), range(N_ATOMS), None),
        (range(N_ATOMS), range(N_ATOMS), (1, 1)),
        (range(N_ATOMS), range(N_ATOMS)[::-1], (1, 1)),
        (range(30), range(20, 60), None),
        (range(30), range(20, 60), (3, 4)),
        (range(30), range(45, 15, -1), (5, 5)),
        ([4, 7, 4, 9], None, None),
        ([4, 7, 4, 9], [9, 4], (2, 1)),
    ],
)
@pytest.mark.parametrize("task_frames", [1, 1000])
def test_self_pairs_are_neither_counted_nor_in_the_norm(
    a: list[int],
    b: list[int] | None,
    block: tuple[int, int] | None,
    task_frames: int,
    tmp_path: Path,
) -> None:
    """Every pair of two different atoms counts once in a range that includes all distances."""
    traj = tj.open(None, made(tmp_path, "cube"))
    result = tj.rdf(
        traj.select(a),
        None if b is None else traj.select(b),
        bins=20,
        range=(0.0, 40.0),
        exclude=block,
        pool=tj.LocalPool(threads=2, task_frames=task_frames),
    )
    first, second = np.array(a), np.array(a if b is None else b)
    pairs = first[:, None] != second
    if block is not None:
        blocks = [np.arange(len(x)) // n for x, n in zip((first, second), block, strict=True)]
        pairs &= blocks[0][:, None] != blocks[1]
    assert result.counts.sum() == N_FRAMES * pairs.sum()
    shells = 4 / 3 * np.pi * np.diff(result.edges**3)
    ideal = N_FRAMES * pairs.sum() / result.report["parameters"]["mean_volume"] * shells
    np.testing.assert_allclose(result.g, result.counts / ideal, rtol=1e-12)


def test_first_bin_of_a_group_with_itself_is_empty(tmp_path: Path) -> None:
    """No two atoms on a lattice are closer than its spacing."""
    grid = np.arange(4) * 0.5
    x = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(1, -1, 3)
    path = xtc_bytes.write_xtc(tmp_path / "lattice.xtc", x, box=np.eye(3) * 2)
    result = tj.rdf(tj.open(None, path).select(range(64)), bins=5, range=(0.0, 10.0))
    assert result.g[:2].tolist() == [0, 0]
    # Six neighbours at 5 Å of 63 others in 8000 Å³.
    shell = 4 / 3 * np.pi * (6**3 - 4**3)
    assert result.g[2] == pytest.approx(6 / (63 / 8000 * shell), rel=1e-6)


def test_single_atom_is_an_error(tmp_path: Path) -> None:
    """g(r) has no norm without pairs: an error, not a column of NaN."""
    atom = tj.open(None, made(tmp_path, "cube")).select([3])
    with raises(tj.SelectionError):
        tj.rdf(atom)
    with raises(tj.SelectionError):
        tj.rdf(atom, atom)


def water(folder: Path) -> tj.Trajectory:
    """Write 25 waters of three atoms in a cube of 20 Å, and a topology with residues."""
    universe = mda.Universe.empty(75, 25, atom_resindex=np.arange(75) // 3, trajectory=True)
    for name, values in (
        ("names", ["OW", "HW1", "HW2"] * 25),
        ("resnames", ["SOL"] * 25),
        ("resids", np.arange(1, 26)),
    ):
        universe.add_TopologyAttr(name, values)
    universe.atoms.write(folder / "water.gro")
    return tj.open(folder / "water.gro", made(folder, "cube"))


def test_blocks_that_are_not_molecules_give_a_message(tmp_path: Path) -> None:
    """The pairs that `exclude` leaves out must be of one molecule, judged by residues."""
    traj = water(tmp_path)
    half = {"range": (0.0, 9.0)}
    for text, other, block in (
        ("all", None, (3, 3)),
        ("all", None, (1, 1)),
        ("all", None, (15, 15)),
        ("name OW", None, (1, 1)),
        ("name OW", "name HW1 HW2", (1, 2)),
    ):
        result = tj.rdf(traj.select(text), other, exclude=block, **half)
        assert result.messages == []
    for text, other, block, words in (
        # Two of three atoms, or one more.
        ("resid 1:24", None, (2, 2), "atom 2 HW2 SOL1 and atom 2 HW2 SOL1"),
        ("resid 1:24", None, (4, 4), "atom 4 HW1 SOL2 and atom 4 HW1 SOL2"),
        # Hydrogens of other molecules.
        ("name OW and resid 1:9", "name HW1 and resid 2:10", (1, 1), "OW SOL1 and atom 4 HW1 SOL2"),
    ):
        result = tj.rdf(traj.select(text), other, exclude=block, **half)
        (message,) = result.messages
        assert f"exclude {block}: blocks do not coincide with residues" in message
        assert words in message


def test_range_beyond_half_of_the_cell_gives_a_message(tmp_path: Path) -> None:
    """The limit is half of the shortest lattice vector; cells may shrink."""
    for box, half in (("cube", 10.0), ("prism", 5.5), ("dodecahedron", 12.0), ("skewed", 6.02)):
        chosen = tj.open(None, made(tmp_path, box)).select(np.arange(N_ATOMS))
        assert tj.rdf(chosen, range=(0.0, half)).messages == []
        (message,) = tj.rdf(chosen, range=(0.0, half + 0.1)).messages
        assert f"up to {half + 0.1:g} Å are counted" in message
        assert f": {half:.1f} Å in frame 0: beyond it g is too small" in message
    x = np.random.default_rng(3).uniform(0, 2, (2, 9, 3))
    small = np.eye(3) * 2
    both = trr_bytes.write_trr(tmp_path / "shrinks.trr", x, boxes=[small * 1.5, small])
    (message,) = tj.rdf(tj.open(None, both).select(range(9)), range=(0.0, 12.0)).messages
    assert "is less in 1 of 2 frames: 10.0 Å in frame 1: beyond it g is too small" in message


def test_uncountable_requests_are_errors(adk: Adk, tmp_path: Path) -> None:
    """Frames without a cell and meaningless ranges and blocks have errors that say so."""
    ca = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(tj.AnalysisError):
        tj.rdf(ca, frames=[5])
    flat = trr_bytes.write_trr(
        tmp_path / "flat.trr", np.zeros((1, 2, 3)), boxes=[np.diag([2.0, 2.0, 0.0])]
    )
    two = tj.open(None, flat).select(range(2))
    number_density = partial(tj.linear_density, quantity="number")
    for run in (tj.rdf, lambda of: tj.rdf_pairs([(of, of)]), number_density):
        # None of them has `pbc`.
        with raises(tj.AnalysisError):
            run(two)
    traj = tj.open(None, made(tmp_path, "cube"))
    every = traj.select(np.arange(N_ATOMS))
    for options in (
        {"bins": 0},
        {"range": (5.0, 5.0)},
        {"range": (-1.0, 5.0)},
        {"range": (0.0, float("inf"))},
        {"exclude": (4, 4)},
        {"exclude": (3, 5)},
        {"exclude": (0, 1)},
        {"exclude": (N_ATOMS, N_ATOMS)},
    ):
        with raises(ValueError):
            tj.rdf(every, **options)
    none = tj.rdf(every, frames=[])
    assert np.isnan(none.g).all()
    assert none.counts.sum() == 0


def test_figures_and_reports_describe_the_request(tmp_path: Path) -> None:
    """The figure has its axes; the report has the mean volume."""
    traj = tj.open(None, made(tmp_path, "cube"))
    result = tj.rdf(traj.select(np.arange(N_ATOMS)), bins=20, range=(1.0, 9.0))
    axes = result.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("r (Å)", "g(r)")
    parameters = result.report["parameters"]
    assert parameters["range"] == [1.0, 9.0]
    assert parameters["bins"] == 20
    assert np.isclose(parameters["mean_volume"], 8000, rtol=1e-6)
    assert np.isclose(result.density, N_ATOMS / 8000, rtol=1e-6)


def test_running_numbers_count_neighbours() -> None:
    """n(r) at any edge is the mean of `coordination` with that cut-off; it has errors of blocks."""
    salt = tj.samples.molten_salt().open()
    sodium = salt.select("element Na")
    for other in ("element Cl", None):
        result = tj.rdf(sodium, other, range=(0, 7.5), bins=15, errors=True)
        for k in (5, 7, 12):
            numbers = tj.coordination(sodium, other, cutoff=result.edges[k + 1])
            assert result.n[k] == pytest.approx(numbers.values.mean(), rel=1e-4)
        assert np.array_equal(result.coordination.values, result.n)
        assert np.allclose(result.coordination.axis("distance")["centre"], result.edges[1:])
        assert (result.coordination.half_widths[8:] > 0).all()
    pairs = tj.rdf_pairs([(sodium, "element Cl")], range=(0, 7.5), bins=15)
    assert np.array_equal(pairs.n[0], tj.rdf(sodium, "element Cl", range=(0, 7.5), bins=15).n)
    few = tj.rdf(sodium, range=(0, 7.5), bins=15, frames=[])
    assert np.isnan(few.n).all()
    assert np.isnan(few.coordination_number)


@pytest.mark.parametrize("bins", [90, 180, 450])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_first_minimum_of_a_known_curve(bins: int, noise: float) -> None:
    """A peak at 3 Å and a minimum at 4.2 Å, with Poisson noise of counts; none without a rise."""
    edges = np.linspace(0, 9, bins + 1)
    r = (edges[1:] + edges[:-1]) / 2
    ideal = 3000 * np.diff(edges**3)
    wave = 1 - 0.4 * np.cos(2 * np.pi * (r - 4.2) / 2.4) * np.exp(-(((r - 4.2) / 3) ** 2))
    g = np.where(r < 3, 1.4 * np.exp(-(((r - 3) / 0.3) ** 2)) * wave[r.searchsorted(3)] / 1.4, wave)
    rng = np.random.default_rng(bins)
    counts = rng.poisson(ideal * g) if noise else np.round(ideal * g)
    found = first_minimum(counts.astype(np.int64), ideal, edges)
    assert found == pytest.approx(4.2, abs=0.05 if noise else 0.01)
    falling = np.round(ideal * np.where(r < 4.2, g, g[r.searchsorted(4.2)]))
    assert np.isnan(first_minimum(falling.astype(np.int64), ideal, edges))
    assert np.isnan(first_minimum(np.zeros(bins, np.int64), ideal, edges))


def test_dip_in_the_first_maximum_is_no_minimum() -> None:
    """Two peaks of 20 with a dip of 7 % between them; the minimum is behind both."""
    edges = np.linspace(0, 10, 501)
    r = (edges[1:] + edges[:-1]) / 2
    peaks = [20 * np.exp(-(((r - at) / 0.2) ** 2) / 2) for at in (2.4, 2.87)]
    ideal = 12_000 * np.diff(edges**3)
    counts = np.round(ideal * (sum(peaks) + 1 / (1 + np.exp((4.5 - r) / 0.2))))
    dip = (r > 2.5) & (r < 2.8)
    assert 0.9 < (counts / ideal)[dip].min() / (counts / ideal).max() < 0.95
    assert 3.5 < first_minimum(counts.astype(np.int64), ideal, edges) < 4


def test_error_of_the_first_minimum() -> None:
    """Both numbers of molten salt have errors, of which those of halves of the run are no more."""
    salt = tj.samples.molten_salt().open()
    options = {"range": (0.0, 7.5), "bins": 75, "errors": True}
    sodium = salt.select("element Na")
    result = tj.rdf(sodium, "element Cl", **options)
    halves = [
        tj.rdf(sodium, "element Cl", frames=part, **options) for part in (slice(42), slice(42, 84))
    ]
    assert 4 < result.first_minimum < 4.4
    assert 4.8 < result.coordination_number < 5.2
    for name, error in (
        ("first_minimum", result.first_minimum_half_width),
        ("coordination_number", result.coordination_half_width),
    ):
        first, second = (getattr(half, name) for half in halves)
        assert 0 < error < 0.2
        assert abs(first - second) < 3 * error
        assert result.scalars()[{"first_minimum": "first_minimum_A"}.get(name, name)] == getattr(
            result, name
        )
