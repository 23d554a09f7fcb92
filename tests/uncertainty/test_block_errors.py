"""Errors of results that are folded over frames equal those of runs over each block."""

from collections.abc import Callable
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from trajet.analysis.block_errors import fluctuations, frames_of_blocks
from trajet.result.profiles import profile_of
from trajet.uncertainty.estimates import estimates_of_blocks

# Each of the frames is a leaf; the last one is in no block.
N_FRAMES, SIZE = 197, 2
N_BLOCKS = 98
BLOCKS = [slice(SIZE * k, SIZE * (k + 1)) for k in range(N_BLOCKS)]

Analyse = Callable[..., Any]
CASES: dict[str, Analyse] = {
    "rmsf": tj.rmsf,
    "rmsf, average": lambda atoms, **run: tj.rmsf(atoms, align="same", reference="average", **run),
    "slices": lambda atoms, **run: tj.linear_density(atoms, bins=7, quantity="number", **run),
    "slices of two": lambda atoms, **run: tj.linear_density(
        [atoms, "name CA"], bins=7, quantity="number", **run
    ),
    "voxels": lambda atoms, **run: tj.density(
        atoms, spacing=5, grid_center=(10, 10, 10), grid_size=20, **run
    ),
    "map": lambda atoms, **run: tj.contact_map(atoms, cutoff=6, **run),
    "map of two": lambda atoms, **run: tj.contact_map(atoms, "resid 1:5", cutoff=6, **run),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return 40 residues of three atoms that drift and shake in a box of changing size."""
    folder, rng = tmp_path_factory.mktemp("blocks"), np.random.default_rng(8)
    universe = mda.Universe.empty(
        120, 40, atom_resindex=np.repeat(np.arange(40), 3), trajectory=True
    )
    universe.add_TopologyAttr("names", ["CA", "C", "O"] * 40)
    universe.add_TopologyAttr("resnames", ["ALA"] * 40)
    universe.add_TopologyAttr("resids", np.arange(1, 41))
    centers = rng.uniform(0, 20, (40, 1, 3))
    with mda.Writer(str(folder / "made.xtc"), 120) as file:
        for k in range(N_FRAMES):
            centers = centers + rng.normal(0, 0.2, centers.shape)
            universe.atoms.positions = (centers + rng.normal(0, 1, (40, 3, 3))).reshape(-1, 3)
            universe.dimensions = [20 + rng.normal(0, 0.1)] * 3 + [90, 90, 90]
            universe.trajectory.ts.time = float(k)
            file.write(universe.atoms)
    universe.atoms.write(folder / "made.gro")
    return tj.open(folder / "made.gro", folder / "made.xtc")


@pytest.mark.parametrize("case", ["map", "map of two", "slices", "slices of two", "voxels"])
def test_errors_of_fractions_and_densities_are_those_of_the_blocks(
    made: tj.Trajectory, case: str
) -> None:
    """A run over the frames of each block gives the same series."""
    analyse = CASES[case]
    atoms = made.select("resid 1:40")
    result = analyse(atoms, errors=True)
    series = np.array([analyse(atoms, frames=one).values for one in BLOCKS])
    expected = estimates_of_blocks(series.reshape(N_BLOCKS, -1))
    shape = result.values.shape
    known = ~np.isnan(result.values)
    for field, of in (("standard_errors", "standard_error"), ("half_widths", "half_width")):
        found = getattr(result, field)
        np.testing.assert_allclose(
            found[known], getattr(expected, of).reshape(shape)[known], rtol=1e-12
        )
        assert np.isnan(found[~known]).all()
    assert np.array_equal(result.resolved[known], expected.is_resolved.reshape(shape)[known])
    assert not result.resolved[~known].any()
    assert (result.half_widths[known] > 0).any()


def test_pseudo_values_are_those_of_leaving_each_block_out() -> None:
    """The naive jackknife computes RMSFs of all frames but those of a block."""
    rng = np.random.default_rng(3)
    frames = rng.normal(0, [1, 2, 3], (40, 7, 3)) + rng.normal(0, 50, (7, 3))

    def rmsf(some: np.ndarray) -> np.ndarray:
        return np.sqrt(((some - some.mean(0)) ** 2).sum(2).mean(0))

    parts = np.split(frames, [4, 10, 15, 30])
    blocks = [
        {
            "n_frames": np.array(len(part)),
            "means": part.mean(0),
            "squares": ((part - part.mean(0)) ** 2).sum(0),
        }
        for part in parts
    ]
    found = fluctuations(blocks, 7)
    for k in range(5):
        rest = np.concatenate([part for j, part in enumerate(parts) if j != k])
        np.testing.assert_allclose(found[k], 5 * rmsf(frames) - 4 * rmsf(rest), rtol=1e-10)
    assert fluctuations([], 7).shape == (0, 7)
    assert np.isnan(fluctuations(blocks[:1], 7)).all()


def test_errors_of_rdf_are_those_of_the_blocks(made: tj.Trajectory) -> None:
    """The density of each block is that of its own volumes."""
    atoms = made.select("name CA")
    result = tj.rdf(atoms, bins=20, range=(0, 9), errors=True)
    series = np.array([tj.rdf(atoms, bins=20, range=(0, 9), frames=one).g for one in BLOCKS])
    expected = estimates_of_blocks(series)
    np.testing.assert_allclose(result.standard_errors, expected.standard_error, rtol=1e-9)
    np.testing.assert_allclose(result.half_widths, expected.half_width, rtol=1e-9)
    assert np.array_equal(result.resolved, expected.is_resolved)


@pytest.mark.parametrize("case", CASES)
def test_errors_have_the_same_bits_however_the_run_is_divided(
    made: tj.Trajectory, case: str
) -> None:
    """Threads, tasks, processes and joint runs keep the same blocks; values do not change."""
    analyse = CASES[case]
    atoms = made.select("resid 1:30")
    plain = analyse(atoms)
    assert plain.standard_errors is None
    assert plain.half_widths is None
    results = [
        analyse(atoms, errors=True, pool=pool)
        for pool in (
            tj.LocalPool(threads=1, task_frames=N_FRAMES),
            tj.LocalPool(threads=2, task_frames=3),
            tj.ProcessPool(workers=2, task_frames=7),
        )
    ]
    for result in results:
        assert result.values.tobytes() == plain.values.tobytes()
        assert result.half_widths.tobytes() == results[0].half_widths.tobytes()
        assert result.standard_errors.tobytes() == results[0].standard_errors.tobytes()


def test_joint_runs_keep_the_blocks_of_each_analysis(made: tj.Trajectory) -> None:
    """Analyses with other leaves, and one without errors, run together."""
    trajectory = made
    few, many = trajectory.select("resid 1:30"), trajectory.all_atoms()
    jobs = [
        tj.rmsf.job(few, errors=True),
        tj.rmsf.job(many, align="name CA", errors=True),
        tj.rmsd.job(few),
    ]
    together = tj.run(jobs)
    for one, alone in zip(
        together[:2],
        (tj.rmsf(few, errors=True), tj.rmsf(many, align="name CA", errors=True)),
        strict=True,
    ):
        assert one.half_widths.tobytes() == alone.half_widths.tobytes()


def test_results_with_errors_are_saved_drawn_and_sliced(made: tj.Trajectory, tmp_path: Any) -> None:
    """Errors are columns of CSV files, a band in figures, and rows of a part."""
    result = tj.rmsf(made.select("name CA"), errors=True)
    result.save(tmp_path / "rmsf.npz")
    again = tj.load(tmp_path / "rmsf.npz")
    assert again.half_widths.tobytes() == result.half_widths.tobytes()
    assert again.resolved.dtype == bool
    assert np.array_equal(again.resolved, result.resolved)
    assert result[3:5].resolved.shape == (2,)
    assert (result[3:5].half_widths == result.half_widths[3:5]).all()
    assert result.csv_header()[-2:] == ["standard_error_A", "half_width_95_A"]
    assert len(result.plot(band=True).axes[0].collections) == 1
    # Atoms that drift have long correlation times.
    (message,) = (one for one in result.messages if "blocks of frames" in one)
    assert message.startswith("errors from 98 blocks of frames: ")


def test_errors_of_densities_are_columns_bands_and_errors_within_runs(
    made: tj.Trajectory, tmp_path: Any
) -> None:
    """In CSV and NPZ files, figures, slices of a result, and means over replicas."""
    result = CASES["slices of two"](made.all_atoms(), errors=True)
    assert result.csv_header()[3:] == [
        f"{name}_1/A3:{label}"
        for name in ("standard_error", "half_width_95")
        for label in ("all", "name_CA")
    ]
    result.save(tmp_path / "slices.npz")
    assert tj.load(tmp_path / "slices.npz").half_widths.tobytes() == result.half_widths.tobytes()
    assert np.array_equal(result[2:4].half_widths, result.half_widths[2:4])
    (axes,) = result.plot(band=True).axes
    assert len(axes.collections) == 2
    found = profile_of(result)
    assert np.array_equal(found.errors, result.standard_errors.T.ravel())
    assert np.array_equal(found.values, result.values.T.ravel())
    voxels = CASES["voxels"](made.all_atoms(), errors=True)
    assert np.array_equal(profile_of(voxels).errors, voxels.standard_errors.ravel())
    assert voxels.csv_header()[-2:] == ["standard_error_1/A3", "half_width_95_1/A3"]


@pytest.mark.parametrize("by", ["bond", "residue"])
def test_errors_of_occupancies_are_those_of_the_blocks(adk: Adk, tmp_path: Any, by: Any) -> None:
    """A run over each block counts the pairs; pairs that it lacks count as 0 there."""
    traj = tj.open(adk.psf, adk.xtc)
    # Two frames a block, and one that is in none.
    frames = np.r_[0:98, 0:98, 5]
    atoms = traj.select("protein and resid 1:60")
    pairs = tj.hbonds(atoms, by=by, frames=frames, errors=True).pairs
    assert pairs is not None
    row_of = {tuple(row): k for k, row in enumerate(pairs.members.tolist())}
    series = np.zeros((98, len(pairs)))
    alone = [tj.hbonds(atoms, by=by, frames=frames[2 * k : 2 * k + 2]).pairs for k in range(98)]
    for row, some in zip(series, alone, strict=True):
        assert some is not None
        for members, occupancy in zip(some.members.tolist(), some.occupancies, strict=True):
            row[row_of[tuple(members)]] = occupancy
    expected = estimates_of_blocks(series)
    np.testing.assert_allclose(pairs.standard_errors, expected.standard_error, rtol=1e-12)
    np.testing.assert_allclose(pairs.half_widths, expected.half_width, rtol=1e-12)
    assert np.array_equal(pairs.resolved, expected.is_resolved)
    assert {"standard_error", "half_width_95"} < set(pairs.csv_header())
    threads = tj.LocalPool(threads=2, task_frames=7)
    again = tj.hbonds(atoms, by=by, frames=frames, errors=True, pool=threads)
    assert again.pairs is not None
    assert again.pairs.half_widths.tobytes() == pairs.half_widths.tobytes()
    assert again[3:9].pairs is None
    again.pairs.save(tmp_path / "pairs.npz")
    assert tj.load(tmp_path / "pairs.npz").half_widths.tobytes() == pairs.half_widths.tobytes()
    (axes,) = again.pairs.plot(band=True).axes
    ends = axes.containers[1].lines[2][0].get_segments()
    halves = np.nan_to_num(pairs.half_widths[: len(ends)])
    np.testing.assert_allclose([np.ptp(end[:, 0]) for end in ends], 2 * halves, atol=1e-12)


def test_frames_of_blocks_follow_from_their_number() -> None:
    """Whatever the power of two, and the frames that are left."""
    for size in (1, 2, 64, 1024):
        for n_blocks in (1, 2, 65, 128):
            for rest in {0, size // 2, size - 1}:
                assert frames_of_blocks(size * n_blocks + rest, n_blocks) == size


def test_few_frames_have_no_errors(made: tj.Trajectory) -> None:
    """One frame, or none, gives NaN and a message."""
    atoms = made.select("resid 1:5")
    for n_frames in (0, 1, 3):
        result = tj.rmsf(atoms, frames=slice(0, n_frames), errors=True)
        assert np.isnan(result.half_widths).all()
        assert any("are not resolved" in one for one in result.messages)
