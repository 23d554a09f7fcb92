"""Mean squared displacements: values, units, checks of the input, and memory."""

import json
import os
import re
from pathlib import Path
from typing import Literal

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.commands import python
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.lammps_dumps import Box, Frame, snapshot
from helpers.lammps_dumps import write as write_dump
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysis.analysis.msd import EinsteinMSD
from MDAnalysisTests import datafiles
from trajet.analysis.displacements import Displacements, Shape, fast_length, size_of_blocks
from trajet.analysis.msd import Particles
from trajet.analysis.origin_blocks import OriginBlocks
from trajet.result.profiles import profile_of
from trajet.uncertainty.estimates import estimates_of_blocks

AXES = ("x", "y", "z", "xy", "xz", "yz", "xyz")
BOX = 20.0
# Diffusion coefficient of the walk along each axis, Å²/ps.
D = (0.2, 0.5, 1.0)
STEP = 2.0


def naive(series: np.ndarray, n_lags: int) -> np.ndarray:
    """Return the MSD of `(n_particles, n_axes, n_frames)` pair by pair."""
    found = []
    for lag in range(n_lags):
        squares = [
            ((particle[:, t + lag] - particle[:, t]) ** 2).sum()
            for particle in series
            for t in range(series.shape[2] - lag)
        ]
        found.append(np.mean(squares))
    return np.array(found)


def write(path: Path, positions: np.ndarray, box: float | None = BOX) -> Path:
    """Write positions `(n_frames, n_atoms, 3)` to a file of MDAnalysis, a frame every 2 ps."""
    universe = mda.Universe.empty(positions.shape[1], trajectory=True)
    universe.trajectory.ts.dt = STEP
    with mda.Writer(str(path), positions.shape[1], dt=STEP) as writer:
        for k, frame in enumerate(positions):
            universe.atoms.positions = frame
            universe.dimensions = None if box is None else [box, box, box, 90, 90, 90]
            universe.trajectory.ts.time = STEP * k
            universe.trajectory.ts.frame = k
            writer.write(universe)
    return path


@pytest.fixture(scope="module")
def walk() -> np.ndarray:
    """Return a random walk of 400 frames and 64 atoms, float32."""
    rng = np.random.default_rng(7)
    steps = rng.normal(0, np.sqrt(2 * np.array(D) * STEP), (400, 64, 3))
    return (np.cumsum(steps, axis=0) + rng.uniform(0, BOX, (1, 64, 3))).astype(np.float32)


@pytest.fixture(scope="module")
def unwrapped(walk: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return the walk as a trajectory."""
    return tj.open(None, write(tmp_path_factory.mktemp("walk") / "walk.dcd", walk))


@settings(max_examples=examples(50), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_frames=st.integers(2, 15),
    n_particles=st.integers(1, 9),
    n_axes=st.integers(1, 3),
    data=st.data(),
)
def test_sums_equal_the_naive_ones(
    seed: int, n_frames: int, n_particles: int, n_axes: int, data: st.DataObject
) -> None:
    """Fourier transforms and pairs, particles added in any way, on any threads."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(0, 1, (n_particles, n_axes, n_frames)), axis=2) + 1000
    n_lags = data.draw(st.integers(1, n_frames))
    n_groups = data.draw(st.integers(1, n_particles))
    borders = np.linspace(0, n_particles, n_groups + 1).astype(np.int64)
    for fft in (True, False):
        shape = Shape(n_frames, n_lags, n_axes, borders, fft, 2**20)
        found = []
        for together, threads in ((1, 1), (3, 2), (n_particles, 5)):
            sums = Displacements(shape, threads)
            for group in range(n_groups):
                for begin in range(borders[group], borders[group + 1], together):
                    end = min(begin + together, borders[group + 1])
                    sums.add(walks[begin:end].copy(), group)
            found.append(sums.means())
        assert {one.tobytes() for one in found} == {found[0].tobytes()}
        for group in range(n_groups):
            expected = naive(walks[borders[group] : borders[group + 1]], n_lags)
            assert np.allclose(found[0][:, group], expected, rtol=1e-9, atol=1e-9)


def test_fast_lengths_are_the_smallest() -> None:
    """Products of 2, 3 and 5, compared with a list of all."""
    smooth = sorted(2**a * 3**b * 5**c for a in range(15) for b in range(10) for c in range(7))
    for least in range(1, 5000):
        assert fast_length(least) == next(n for n in smooth if n >= least)


@pytest.mark.parametrize("axes", AXES)
def test_values_equal_those_of_mdanalysis(axes: str, adk: Adk) -> None:
    """Fourier transforms and pairs, for each choice of axes."""
    universe = mda.Universe(str(adk.psf), str(adk.xtc))
    there = EinsteinMSD(universe, select="name CA", msd_type=axes, fft=False).run()
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    for fft in (True, False):
        here = tj.msd(calpha, axes=axes, fft=fft)
        assert np.abs(here.values - there.results.timeseries).max() < 1e-9
        assert here.lags.tolist() == pytest.approx(np.arange(98.0).tolist())
        assert here.windows.tolist() == list(range(98, 0, -1))
    backwards = tj.msd(calpha, axes=axes[::-1]).values
    assert np.allclose(backwards, here.values, rtol=1e-12)


def test_chosen_frames_and_lags(adk: Adk) -> None:
    """A stride changes the step of the lags; the longest lag cuts the others off."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    positions = calpha.read(frames=slice(3, 80, 4)).positions.astype(np.float64)
    expected = naive(positions.transpose(1, 2, 0), len(positions))
    whole = tj.msd(calpha, frames=slice(3, 80, 4))
    assert np.allclose(whole.values, expected, rtol=1e-10, atol=1e-10)
    assert whole.lags.tolist() == pytest.approx((4 * np.arange(20)).tolist())
    some = tj.msd(calpha, frames=slice(3, 80, 4), max_lag=24.0)
    assert np.allclose(some.values, expected[:7], rtol=1e-10, atol=1e-10)
    assert some.fit_first == pytest.approx(4)
    assert some.fit_last == pytest.approx(12)


def test_threads_tasks_and_memory_change_no_bit(unwrapped: tj.Trajectory) -> None:
    """Nor does reading some particles at a time, which the report tells."""
    atoms = unwrapped.select(np.arange(40))
    assert_same_bits_on_any_pool(lambda pool: tj.msd(atoms, unwrapped=True, pool=pool).groups)
    whole = tj.msd(atoms, unwrapped=True)
    assert whole.report["parameters"]["n_reads"] == 1
    done: list[tuple[int, int]] = []
    parts = tj.msd(
        atoms, unwrapped=True, max_memory=400_000, progress=lambda *now: done.append(now)
    )
    n_reads = parts.report["parameters"]["n_reads"]
    assert n_reads > 2
    assert parts.groups.tobytes() == whole.groups.tobytes()
    assert parts.diffusion == whole.diffusion
    assert done[-1] == (400 * n_reads, 400 * n_reads)
    assert done == sorted(done)
    assert f"read {n_reads} times" in parts.messages[0]


def test_diffusion_coefficient_of_a_random_walk(unwrapped: tj.Trajectory) -> None:
    """It is that of the walk within its error, in both units, for each choice of axes."""
    atoms = unwrapped.select(np.arange(64))
    for axes in AXES:
        expected = np.mean([D["xyz".index(axis)] for axis in axes])
        found = tj.msd(atoms, axes=axes, unwrapped=True, max_lag=100.0)
        assert abs(found.diffusion - expected) < 3 * found.diffusion_error
        assert found.diffusion_error < 0.1 * expected
        assert found.diffusion_cm2_per_s == pytest.approx(1e-4 * found.diffusion)
        assert found.diffusion_error_cm2_per_s == pytest.approx(1e-4 * found.diffusion_error)
        assert abs(found.exponent - 1) < 0.1
        assert "little" not in str(found.messages)


def test_fit_is_that_of_numpy(unwrapped: tj.Trajectory) -> None:
    """Slope and intercept by least squares; the error is that of the groups."""
    found = tj.msd(unwrapped.select(np.arange(64)), unwrapped=True, fit_range=(10.0, 60.0))
    chosen = slice(5, 31)
    assert (found.fit_first, found.fit_last) == pytest.approx((10.0, 60.0))
    slope, intercept = np.polyfit(found.lags[chosen], found.values[chosen], 1)
    assert found.diffusion == pytest.approx(slope / 6)
    assert found.intercept == pytest.approx(intercept)
    # 64 particles in 20 groups: of 3 or 4.
    assert sorted(set(found.group_sizes.tolist())) == [3, 4]
    assert found.group_sizes.sum() == found.n_particles == 64
    assert np.allclose(found.values, found.groups @ found.group_sizes / 64, rtol=1e-12)
    of_groups = np.polyfit(found.lags[chosen], found.groups[chosen], 1)[0] / 6
    deviations = (of_groups - found.diffusion) ** 2 @ found.group_sizes / 64
    assert found.diffusion_error == pytest.approx(np.sqrt(deviations / 19))
    again = found.fit(20, 100)
    # A slice lacks the lags of the fit before.
    few = found[:3]
    assert few.fit(*few.lags[1:]).fit_last == few.lags[2]
    assert again.values is found.values
    other = tj.msd(unwrapped.select(np.arange(64)), unwrapped=True, fit_range=(20, 100))
    assert (again.diffusion, again.diffusion_error) == (other.diffusion, other.diffusion_error)
    # t of 19 degrees of freedom.
    assert found.diffusion_half_width == pytest.approx(2.0930240544 * found.diffusion_error)
    at_lags = (found.groups - found.values[:, np.newaxis]) ** 2 @ found.group_sizes / 64
    assert np.allclose(found.standard_errors, np.sqrt(at_lags / 19), rtol=1e-9)
    assert np.allclose(found.half_widths, 2.0930240544 * found.standard_errors, rtol=1e-9)
    assert found.blocks is None


def origin_blocks(series: np.ndarray, n_lags: int, size: int) -> list[list[float]]:
    """Return the means over each block of origins at each lag, one displacement after the other."""
    n_frames = series.shape[2]
    return [
        [
            np.mean(
                [
                    ((particle[:, t + lag] - particle[:, t]) ** 2).sum()
                    for particle in series
                    for t in range(begin, begin + size)
                ]
            )
            for begin in range(0, n_frames - lag - size + 1, size)
        ]
        for lag in range(n_lags)
    ]


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_frames=st.one_of(st.integers(2, 15), st.integers(128, 200)),
    n_particles=st.integers(1, 4),
    n_axes=st.integers(1, 3),
    data=st.data(),
)
def test_blocks_of_origins_equal_the_naive_ones(
    seed: int, n_frames: int, n_particles: int, n_axes: int, data: st.DataObject
) -> None:
    """Fourier transforms and pairs, particles added at once or one by one."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(0, 1, (n_particles, n_axes, n_frames)), axis=2) + 1000
    n_lags = data.draw(st.integers(1, min(n_frames, 40) if n_frames > 15 else n_frames))
    borders = np.arange(n_particles + 1)
    for fft in (True, False):
        shape = Shape(n_frames, n_lags, n_axes, borders, fft, 2**20)
        found = []
        for together in (1, n_particles):
            sums = OriginBlocks(shape)
            for begin in range(0, n_particles, together):
                sums.add(walks[begin : begin + together])
            found.append(sums.means())
        assert found[0].tobytes() == found[1].tobytes()
        expected = origin_blocks(walks, n_lags, size_of_blocks(n_frames))
        assert found[0].shape == (n_lags, len(expected[0]))
        for lag in range(1, n_lags):
            known = found[0][lag][np.isfinite(found[0][lag])]
            assert np.allclose(known, expected[lag], rtol=1e-9, atol=1e-8)


def test_errors_of_few_particles_are_those_of_blocks_of_time_origins(
    walk: np.ndarray, unwrapped: tj.Trajectory
) -> None:
    """By the estimator of series, at each lag and of the slope; the same bits on any pool."""
    few = unwrapped.select([5, 9])
    found = tj.msd(few, unwrapped=True, max_lag=100.0, fit_range=(10.0, 40.0))
    series = walk[:, [5, 9]].astype(np.float64).transpose(1, 2, 0)
    expected = origin_blocks(series, 51, 6)
    assert found.blocks is not None
    for lag in (1, 7, 33, 50):
        of_lag = estimates_of_blocks(np.array(expected[lag])[:, np.newaxis])
        assert len(expected[lag]) == (400 - lag) // 6
        assert found.standard_errors[lag] == pytest.approx(of_lag.standard_error[0], rel=1e-8)
        assert found.half_widths[lag] == pytest.approx(of_lag.half_width[0], rel=1e-8)
    chosen, n_blocks = range(5, 21), len(expected[20])
    slopes = np.polyfit(found.lags[5:21], [expected[lag][:n_blocks] for lag in chosen], 1)[0] / 6
    of_slope = estimates_of_blocks(slopes[:, np.newaxis])
    assert found.diffusion_error == pytest.approx(of_slope.standard_error[0], rel=1e-7)
    assert found.diffusion_half_width == pytest.approx(of_slope.half_width[0], rel=1e-7)
    assert found.fit(10, 40).diffusion_half_width == found.diffusion_half_width
    assert_same_bits_on_any_pool(
        lambda pool: tj.msd(few, unwrapped=True, max_lag=100.0, pool=pool).half_widths
    )
    # At half of the trajectory two windows are left, and the messages say so.
    whole = tj.msd(few, unwrapped=True)
    (of_fit, of_lags) = (one for one in whole.messages if "not resolved" in one)
    assert "effective blocks are fewer than 20: choose a shorter fit_range=" in of_fit
    assert "at 3" in of_lags
    assert whole.half_widths[200] > whole.half_widths[5]


def test_particles_that_move_together_get_a_message(walk: np.ndarray, tmp_path: Path) -> None:
    """Their errors would be too small: the groups of a rigid body agree."""
    rng = np.random.default_rng(3)
    body = walk[:, :1] + rng.normal(0, 0.2, (400, 64, 3)).astype(np.float32)
    rigid = tj.open(None, write(tmp_path / "rigid.dcd", body)).all_atoms()
    text = "particles move together: at a lag of 16 ps, 95 % intervals from time origins are"
    assert text in str(tj.msd(rigid, unwrapped=True).messages)
    free = tj.open(None, write(tmp_path / "free.dcd", walk)).all_atoms()
    assert "together" not in str(tj.msd(free, unwrapped=True).messages)


def test_errors_are_in_files_figures_and_slices(unwrapped: tj.Trajectory, tmp_path: Path) -> None:
    """In columns of CSV and entries of JSON files, as a band, and in rows of a part."""
    for atoms in ([3], np.arange(9)):
        result = tj.msd(unwrapped.select(atoms), unwrapped=True, max_lag=60.0)
        assert result.csv_header()[-2:] == ["standard_error_A2", "half_width_95_A2"]
        assert np.array_equal(result[2:9].half_widths, result.half_widths[2:9])
        result.save(tmp_path / "msd.json")
        again = tj.load(tmp_path / "msd.json")
        assert again.half_widths.tobytes() == result.half_widths.tobytes()
        assert again.fit(10, 40).diffusion_half_width == result.fit(10, 40).diffusion_half_width
        scalars = result.scalars()
        assert scalars["diffusion_half_width_95_A2_per_ps"] == result.diffusion_half_width
        texts = [one.get_text() for one in result.plot().legends[0].get_texts()]
        assert texts[0] == "MSD" and texts[1].startswith("fit,")
        known = result.half_widths[1:]
        assert bool(result.plot(band=True).axes[0].collections) == bool(np.isfinite(known).any())
        found = profile_of(result)
        assert np.array_equal(found.errors, result.standard_errors, equal_nan=True)


@pytest.mark.parametrize("n_atoms", [1, 9])
def test_another_fit_has_the_report_of_its_range(unwrapped: tj.Trajectory, n_atoms: int) -> None:
    """Messages, parameters and numbers are those of a run with this range."""
    atoms = unwrapped.select(np.arange(n_atoms))
    result = tj.msd(atoms, unwrapped=True)
    for fit in ((2, 8), (4, 6), (20, 700)):
        expected = tj.msd(atoms, unwrapped=True, fit_range=fit)
        for found in (result.fit(*fit), result.fit(5, 50).fit(*fit)):
            assert sorted(found.messages) == sorted(expected.messages)
            for name in ("scalars", "parameters"):
                assert found.report[name] == expected.report[name]
        assert result.report["scalars"] == tj.msd(atoms, unwrapped=True).report["scalars"]


def test_errors_are_left_out_where_memory_is_short(unwrapped: tj.Trajectory) -> None:
    """Blocks of time origins may take half of it; a message says that they lack."""
    atom = unwrapped.select([3])
    whole = tj.msd(atom, unwrapped=True)
    assert whole.blocks is not None
    n_bytes = whole.blocks.nbytes + 8 * 12 * 3 * unwrapped.n_frames
    short = tj.msd(atom, unwrapped=True, max_memory=2 * n_bytes - 1)
    assert short.values.tobytes() == whole.values.tobytes()
    assert short.blocks is None
    assert np.isnan(short.half_widths).all()
    assert "there are no errors" in str(short.messages)
    assert "nan" not in str(short)
    assert "nan" not in short.plot().legends[0].get_texts()[-1].get_text()
    assert tj.msd(atom, unwrapped=True, max_memory=2 * n_bytes).blocks is not None


@pytest.mark.parametrize("ending", ["dcd", "xtc"])
def test_wrapped_positions_are_an_error(walk: np.ndarray, ending: str, tmp_path: Path) -> None:
    """The error names atom, frames and cell; without jumps the MSD is that of the walk."""
    wrapped = write(tmp_path / f"wrapped.{ending}", walk % BOX)
    traj = tj.open(None, wrapped)
    with pytest.raises(tj.AnalysisError) as caught:
        tj.msd(traj.all_atoms())
    named = re.search(
        r"atom (\d+) moves by ([0-9.]+) Å along ([xyz]) from frame (\d+) to frame (\d+), more than"
        r" half of the cell \(20\.0 Å\).*selection\.nojump\(\)",
        str(caught.value),
    )
    assert named
    atom, axis, frame = int(named[1]), "xyz".index(named[3]), int(named[4])
    moved = np.abs(np.diff(walk % BOX, axis=0))
    assert f"{moved[frame, atom, axis]:.1f}" == named[2]
    assert int(named[5]) == frame + 1
    expected = naive(walk.astype(np.float64).transpose(1, 2, 0)[:, :, :40], 10)
    found = tj.msd(traj.nojump().all_atoms(), frames=slice(0, 40), max_lag=18.0)
    assert np.allclose(found.values, expected, rtol=1e-3)
    # The walk is too slow along x to jump, but for atoms at the border.
    assert tj.msd(traj.all_atoms(), axes="x", unwrapped=True).directions == "x"
    with raises(tj.AnalysisError):
        tj.msd(traj.nojump().wrap(by="atom").all_atoms(), axes="z")
    # Unwrapped positions are right, and no frame has a cell.
    assert tj.msd(tj.open(None, write(tmp_path / f"u.{ending}", walk)).all_atoms()).n_particles


@pytest.mark.parametrize(("kind", "positions"), [("xu", "auto"), ("x", "unwrapped")])
def test_image_flags_in_a_changing_cell_get_a_message(
    kind: str, positions: Literal["auto", "unwrapped"], tmp_path: Path
) -> None:
    """Atoms at rest in their cells move with its vectors, also if jumps are removed afterwards."""
    rng = np.random.default_rng(1)
    at_rest, images = 1 + 8 * rng.random((9, 3)), rng.integers(-2, 3, (9, 3))
    texts = []
    for k in range(6):
        box = Box("", np.diag([10 + 0.1 * (k % 2)] * 3), np.zeros(3))
        frame = Frame(box, at_rest / box.vectors[0, 0], images, np.arange(9))
        texts.append(snapshot(frame, kind, step=k, images=True, before={"TIME": k}))
    path = write_dump(tmp_path / "run.lammpstrj", ["ITEM: UNITS\nmetal\n" + texts[0], *texts[1:]])
    traj = tj.open(None, path, format_options={"lammps": {"positions": positions}})
    for chosen in (traj, traj.nojump()):
        found = tj.msd(chosen.all_atoms())
        assert found.values[1] > 0.01
        assert "image flags" in found.warnings[0]
    if kind == "x":
        wrapped = tj.msd(tj.open(None, path).all_atoms())
        assert np.allclose(wrapped.values, 0, atol=1e-9)
        assert "image flags" not in str(wrapped.messages)


def test_frames_without_a_cell_get_a_message(walk: np.ndarray, tmp_path: Path) -> None:
    """Nothing can be checked there, which a message says."""
    traj = tj.open(None, write(tmp_path / "none.xtc", walk, box=None))
    found = tj.msd(traj.all_atoms(), frames=slice(0, 30))
    assert "frames that have no cell or a rotated one (30 of 30)" in found.messages[0]
    quiet = tj.msd(traj.all_atoms(), frames=slice(0, 30), unwrapped=True)
    assert "cell" not in str(quiet.messages)


@pytest.mark.parametrize("by", ["residue", "molecule"])
def test_centres_of_molecules(by: Particles) -> None:
    """They are weighted by mass or equally; broken molecules are an error."""
    traj = tj.open(datafiles.TPR, datafiles.XTC)
    text = "resname SOL and resid 300:420 and not name MW"
    with raises(tj.AnalysisError):
        tj.msd(traj.select(text), by=by)
    steady = traj.whole().nojump().select(text)
    positions = steady.read().positions.astype(np.float64)
    masses = mda.Universe(datafiles.TPR).atoms[steady.indices].masses
    residues = steady.topology_atoms.residues
    for weights, numbers in (("mass", masses), ("equal", np.ones_like(masses))):
        centres = np.stack(
            [
                np.average(positions[:, residues == k], axis=1, weights=numbers[residues == k])
                for k in np.unique(residues)
            ]
        )
        found = tj.msd(steady, by=by, weights=weights, axes="xz")
        expected = naive(centres.transpose(0, 2, 1)[:, [0, 2]], 10)
        assert found.n_particles == 121
        assert np.allclose(found.values, expected, rtol=1e-9, atol=1e-9)
    order = np.random.default_rng(3).permutation(steady.indices)
    shuffled = tj.msd(traj.whole().nojump().select(order), by=by)
    whole = tj.msd(steady, by=by)
    assert np.allclose(shuffled.values, whole.values, rtol=1e-9, atol=1e-9)
    parts = tj.msd(steady, by=by, max_memory=9_000)
    assert parts.report["parameters"]["n_reads"] > 1
    assert parts.groups.tobytes() == whole.groups.tobytes()


def test_wrapping_atoms_after_whole_breaks_molecules_again(adk: Adk, tmp_path: Path) -> None:
    """Atoms of a drifting protein cross the box, its centre does not; the last transform counts."""
    protein = mda.Universe(str(adk.psf), str(adk.xtc)).atoms
    centred = protein.positions - protein.center_of_mass() + [125, 75, 75]
    drift = np.arange(20)[:, None, None] * np.array([1.0, 0, 0])
    path = write(tmp_path / "drift.dcd", (centred + drift).astype(np.float32), box=150.0)
    atoms = tj.open(adk.psf, path).all_atoms()
    expected = np.arange(20.0) ** 2
    for right in (
        atoms.whole(),
        atoms.whole().wrap(by="molecule"),
        atoms.whole().wrap(by="atom").whole().wrap(by="molecule"),
        atoms.wrap(by="residue").whole().wrap(by="molecule"),
        atoms.whole().wrap(by="atom").nojump(),
    ):
        assert np.allclose(tj.msd(right, by="molecule").values, expected, atol=1e-3)
    for broken in (
        atoms.wrap(by="atom"),
        atoms.whole().wrap(by="atom"),
        atoms.whole().wrap(by="residue"),
        atoms.whole().wrap(by="atom").wrap(by="molecule"),
        atoms.whole().nojump().wrap(by="atom"),
    ):
        with raises(tj.AnalysisError):
            tj.msd(broken, by="molecule")


def test_errors_say_what_to_do(adk: Adk, unwrapped: tj.Trajectory, tmp_path: Path) -> None:
    """Lags, frames, axes, ranges and memory that do not fit."""
    atoms = unwrapped.select(np.arange(64))

    def assert_refused(kind: type[Exception] = ValueError, /, **options: object) -> None:
        with raises(kind):
            tj.msd(atoms, **options)

    for lag in (900.0, -1.0, 1.0):
        assert_refused(max_lag=lag)
    assert tj.msd(atoms, max_lag=798.0, unwrapped=True).lags[-1] == pytest.approx(798.0)
    for axes in ("", "xx", "xyzx", "a", "XY"):
        assert_refused(axes=axes)
    for fit in ((0.0, 1.0), (700.0, 790.0), (50.0, 20.0)):
        assert_refused(fit_range=fit, max_lag=600.0)
    assert_refused(tj.AnalysisError, frames=[7])
    assert_refused(by="atoms")
    with raises(ValueError) as caught:
        tj.msd(atoms, max_memory=1000)
    least = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert tj.msd(atoms, max_memory=least, unwrapped=True).report["parameters"]["n_reads"] == 64
    assert_refused(max_memory=least - 1, unwrapped=True)
    uneven = ([0, 1, 2, 4], [5, 6, 6, 7], [3, 2, 1], [0, 0, 0], [*range(10), 30])
    for frames in uneven:
        assert_refused(tj.AnalysisError, frames=frames)
    twice = tj.open(adk.psf, adk.xtc, adk.xtc)
    with raises(tj.AnalysisError):
        tj.msd(twice.select("name CA"))
    with raises(tj.SelectionError):
        tj.msd(tj.open(datafiles.GRO, datafiles.XTC).nojump().select("name OW"), by="molecule")


def test_movement_that_is_no_diffusion_gets_a_message(adk: Adk) -> None:
    """Its exponent is in the messages; too few lags are not fitted."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    found = tj.msd(calpha, unwrapped=True)
    assert found.exponent > 1.2
    assert f"with the power {found.exponent:.2f} of the lag" in found.messages[0]
    short = tj.msd(calpha, frames=slice(0, 3), unwrapped=True)
    assert np.isnan([short.diffusion, short.diffusion_error, short.exponent]).all()
    assert "is not fitted" in short.messages[0]
    assert "not fitted" in repr(short)
    assert short.plot().axes[0].has_data()


def test_figure_has_logarithmic_axes_and_the_line(unwrapped: tj.Trajectory) -> None:
    """The line of the fit, and the diffusion coefficient in the legend."""
    found = tj.msd(unwrapped.select(np.arange(64)), unwrapped=True, max_lag=50.0)
    axes = found.plot().axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lag (ps)", "MSD (Å²)")
    assert "cm²/s" in found.plot().legends[0].get_texts()[1].get_text()
    line = axes.lines[1]
    fitted = (found.lags >= found.fit_first) & (found.lags <= found.fit_last)
    expected = found.intercept + 6 * found.diffusion * found.lags[fitted]
    assert np.allclose(line.get_ydata(), expected)


def test_moved_frames_are_a_message() -> None:
    """A superposition turns what is far away; centring removes the motion of the atoms."""
    traj = tj.open(datafiles.TPR, datafiles.XTC).nojump()
    rotated, moved = "frames are rotated to fit 'name CA'", "frames are moved to keep 'name CA'"
    for chosen, expected in (
        (traj, []),
        (traj.translate([1, 2, 3]), []),
        (traj.fit("name CA", motion="translation"), [moved]),
        (traj.center("name CA"), [moved]),
        (traj.fit("name CA"), [rotated]),
        (traj.fit("name CA", motion="plane"), [rotated]),
    ):
        messages = tj.msd(chosen.select("name OW and resid 1000:1010")).messages
        found = [text for text in (rotated, moved) if any(text in each for each in messages)]
        assert found == expected


MEASURED = """
import json, sys
import trajet as tj
path, max_memory = sys.argv[1], int(sys.argv[2])
atoms = tj.open(None, path).all_atoms()
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
pool = tj.LocalPool(threads=1)
tj.msd(atoms, frames=slice(0, 10), unwrapped=True, pool=pool)
before = peak()
found = tj.msd(atoms, unwrapped=True, max_memory=max_memory, max_lag=200.0, pool=pool)
print(json.dumps([peak() - before, found.report["parameters"]["n_reads"]]))
"""


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Positions of 48 MB in 16 MiB; without the bound they take them all."""
    rng = np.random.default_rng(1)
    positions = rng.normal(0, 1, (2000, 1000, 3)).astype(np.float32)
    path = write(tmp_path / "long.dcd", positions)
    found = {}
    for max_memory in (2**24, 2**29):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        done = python("-c", MEASURED, path, max_memory, timeout=300, env=environment)
        found[max_memory] = json.loads(done.stdout)
    # Some memory is the engine's: blocks, and rows of tasks on their way.
    assert found[2**24][0] < 1.25 * 2**24
    assert found[2**24][1] > 3
    assert found[2**29][0] > 2.5 * 2**24
    assert found[2**29][1] == 1
