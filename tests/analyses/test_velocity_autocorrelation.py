"""Velocity autocorrelations: values, spectra, diffusion, checks of the input, and memory."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.advised_calls import UNKNOWN, gro
from helpers.analysis_cases import unequal
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.extent import examples
from helpers.messages import raises
from helpers.trr_bytes import frame_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet.analysis.displacements import Shape, size_of_blocks
from trajet.analysis.velocity_correlations import VelocityCorrelations
from trajet.messages import Code

STEP = 0.01
# Speed of light, cm/ps.
LIGHT = 299_792_458e-10


def naive(series: np.ndarray, n_lags: int) -> np.ndarray:
    """Return mean products of `(n_particles, n_axes, n_frames)` pair by pair."""
    found = []
    for lag in range(n_lags):
        products = [
            particle[:, t + lag] @ particle[:, t]
            for particle in series
            for t in range(series.shape[2] - lag)
        ]
        found.append(np.mean(products))
    return np.array(found)


def write(path: Path, velocities: np.ndarray, step: float = STEP) -> Path:
    """Write a TRR file of velocities `(n_frames, n_atoms, 3)`, Å/ps, float32, and no positions."""
    frames = [
        frame_bytes(None, n_atoms=len(frame), step=k, time=k * step, velocities=frame / 10)
        for k, frame in enumerate(velocities)
    ]
    path.write_bytes(b"".join(frames))
    return path


def langevin(seed: int, n_frames: int, n_atoms: int, friction: float) -> np.ndarray:
    """Return velocities of variance 1 that decay as exp(-friction t), float32."""
    rng = np.random.default_rng(seed)
    decay = np.exp(-friction * STEP)
    velocities = np.empty((n_frames, n_atoms, 3))
    velocities[0] = rng.normal(size=(n_atoms, 3))
    for k in range(1, n_frames):
        noise = np.sqrt(1 - decay**2) * rng.normal(size=(n_atoms, 3))
        velocities[k] = decay * velocities[k - 1] + noise
    return velocities.astype(np.float32)


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return velocities of 60 independent atoms that decay within 0.1 ps."""
    folder = tmp_path_factory.mktemp("moving")
    return tj.open(None, write(folder / "run.trr", langevin(3, 2000, 60, 10.0)))


@settings(max_examples=examples(50), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_frames=st.integers(2, 15),
    n_particles=st.integers(1, 9),
    data=st.data(),
)
def test_sums_equal_the_naive_ones(
    seed: int, n_frames: int, n_particles: int, data: st.DataObject
) -> None:
    """Particles added in any way, on any threads; of few, also by blocks of time origins."""
    series = np.random.default_rng(seed).normal(size=(n_particles, 3, n_frames))
    n_lags = data.draw(st.integers(1, n_frames))
    n_groups = data.draw(st.integers(1, n_particles))
    borders = np.linspace(0, n_particles, n_groups + 1).astype(np.int64)
    shape, found = Shape(n_frames, n_lags, 3, borders, True, 2**24), []
    for together, threads in ((1, 1), (3, 2), (n_particles, 5)):
        sums = VelocityCorrelations(shape, threads)
        for group in range(n_groups):
            for begin in range(borders[group], borders[group + 1], together):
                sums.add(series[begin : min(begin + together, borders[group + 1])], group)
        found.append(sums.means())
    assert {one.tobytes() for one in found} == {found[0].tobytes()}
    for group in range(n_groups):
        expected = naive(series[borders[group] : borders[group + 1]], n_lags)
        assert np.allclose(found[0][:, group], expected, rtol=1e-12, atol=1e-12)
    blocks = sums.blocks()
    assert (blocks is None) == (n_particles >= 5)
    if blocks is not None:
        size = size_of_blocks(n_frames)
        for lag, block in np.ndindex(*blocks.shape):
            first, last = block * size, (block + 1) * size
            if last + lag > n_frames:
                assert np.isnan(blocks[lag, block])
                continue
            products = series[..., first:last] * series[..., first + lag : last + lag]
            assert blocks[lag, block] == pytest.approx(products.sum(axis=1).mean())


def test_values_are_means_over_pairs_of_frames(moving: tj.Trajectory) -> None:
    """In Å²/ps², of chosen frames up to the longest lag, and divided by that at lag 0."""
    chosen, frames = moving.select([3, 5, 8]), slice(10, 400, 2)
    velocities = moving.read(frames, [3, 5, 8], velocities=True).velocities
    assert velocities is not None
    expected = naive(velocities.astype(np.float64).transpose(1, 2, 0), 16)
    found = tj.velocity_autocorrelation(chosen, max_lag=0.3, frames=frames)
    assert np.allclose(found.values, expected, rtol=1e-12)
    assert np.allclose(found.axis("lag")["time"], 2 * STEP * np.arange(16))
    relative = tj.velocity_autocorrelation(chosen, max_lag=0.3, frames=frames, normalized=True)
    assert np.allclose(relative.values, expected / expected[0], rtol=1e-12)
    assert relative.half_widths is not None
    assert not relative.half_widths[0] > 1e-12
    assert found.half_widths is not None
    # Three particles: blocks of time origins.
    assert 0 < found.half_widths[1] < 0.5 * expected[0]
    assert len(tj.velocity_autocorrelation(chosen)) == 200


def test_values_equal_those_of_transport_analysis() -> None:
    """Those that its manual prints, of water of a NetCDF file of MDAnalysisTests."""
    water = tj.open(datafiles.PRM_NCBOX, datafiles.TRJ_NCBOX).select("resname WAT and resid 1-5")
    found = tj.velocity_autocorrelation(water, max_lag=9.0)
    printed = [275.62075467, -18.42008255, -23.94383428, 41.41415381, -2.3164344]
    printed += [-35.66393559, -22.66874897, -3.97575003, 6.57888933, -5.29065096]
    assert np.allclose(found.values, printed, rtol=1e-6)
    assert [one.code for one in found.messages].count(Code.SPARSE_FRAMES) == 2


def test_diffusion_coefficient_is_the_integral(moving: tj.Trajectory) -> None:
    """A third of 3 kT/m / friction within its interval, which is that of groups of particles."""
    found = tj.velocity_autocorrelation(moving.all_atoms(), max_lag=0.8)
    numbers, running = found.scalars(), found.parts["diffusion"]
    expected = np.trapezoid(found.values, dx=STEP) / 3
    assert numbers["diffusion_A2_per_ps"] == pytest.approx(expected)
    assert running.values[-1] == numbers["diffusion_A2_per_ps"]
    assert running.values[5] == pytest.approx(np.trapezoid(found.values[:6], dx=STEP) / 3)
    half = numbers["diffusion_half_width_95_A2_per_ps"]
    assert 0.001 < half < 0.02
    assert abs(numbers["diffusion_A2_per_ps"] - 0.1) < 1.5 * half
    # t of 19 degrees of freedom.
    assert half == pytest.approx(2.0930240544 * numbers["diffusion_error_A2_per_ps"])
    assert found.parts["scalars"].resolved.tolist() == [True]
    assert found.messages == []


def test_spectrum_has_the_vibrations(tmp_path: Path) -> None:
    """Two harmonic vibrations, with the area of each, and a total area of 1; any window."""
    n_frames, n_atoms = 4000, 20
    times = 0.002 * np.arange(n_frames)[:, np.newaxis, np.newaxis]
    rng = np.random.default_rng(2)
    phases = rng.uniform(0, 2 * np.pi, (2, n_atoms, 3))
    waves = (500.0, 1700.0)
    one, other = (
        np.cos(2 * np.pi * LIGHT * wave * times + phase)
        for wave, phase in zip(waves, phases, strict=True)
    )
    path = write(tmp_path / "run.trr", (one + 2 * other).astype(np.float32), 0.002)
    atoms = tj.open(None, path).all_atoms()
    for window in ("hann", "none"):
        found = tj.velocity_autocorrelation(atoms, spectrum=True, window=window, max_lag=0.8)
        at = found.axis("wavenumber")["wavenumber"]
        assert at[-1] == pytest.approx(1 / (2 * 0.002 * LIGHT))
        assert np.trapezoid(found.values, at) == pytest.approx(1)
        near = [np.abs(at - wave) < 150 for wave in waves]
        areas = [np.trapezoid(found.values[one], at[one]) for one in near]
        assert areas == pytest.approx([0.2, 0.8], abs=0.03)
        for wave, one in zip(waves, near, strict=True):
            assert abs(at[one][found.values[one].argmax()] - wave) <= at[1]
    correlation = tj.velocity_autocorrelation(atoms, max_lag=0.8)
    assert found.parts["correlation"].values.tobytes() == correlation.values.tobytes()


def test_masses_weight_atoms_and_centres(tmp_path: Path) -> None:
    """By the arithmetic of numpy, of the peptide of the sample."""
    topology = tj.samples.peptide_in_water().topology
    n_atoms = tj.open(topology, tj.samples.peptide_in_water().trajectory).n_atoms
    velocities = np.random.default_rng(5).normal(size=(40, n_atoms, 3)).astype(np.float32)
    chosen = tj.open(topology, write(tmp_path / "run.trr", velocities)).select("protein")
    masses = chosen.topology_atoms.column("masses")
    own = chosen.read(velocities=True).velocities.astype(np.float64)
    weighted = tj.velocity_autocorrelation(chosen, mass_weighted=True, max_lag=0.1)
    expected = [
        np.einsum("i,tij,tij->", masses, own[lag:], own[: 40 - lag]) / masses.sum() / (40 - lag)
        for lag in range(11)
    ]
    assert np.allclose(weighted.values, expected, rtol=1e-10, atol=1e-10)
    assert "scalars" not in weighted.parts
    residues = chosen.group_numbers("residue")
    centres = np.stack(
        [
            np.average(own[:, residues == k], axis=1, weights=masses[residues == k])
            for k in np.unique(residues)
        ]
    )
    found = tj.velocity_autocorrelation(chosen, by="residue", max_lag=0.1)
    assert np.allclose(found.values, naive(centres.transpose(0, 2, 1), 11), rtol=1e-10)
    assert [one.code for one in weighted.messages].count(Code.SPARSE_FRAMES) == 2
    assert [one.code for one in found.messages].count(Code.SPARSE_FRAMES) == 1


def test_pools_memory_and_transforms_change_no_bit(moving: tj.Trajectory, tmp_path: Path) -> None:
    """Threads, tasks and processes; velocities read some at a time; positions that are moved."""
    atoms = moving.select(np.arange(30))
    assert_same_bits_on_any_pool(lambda pool: tj.velocity_autocorrelation(atoms, pool=pool).values)
    whole = tj.velocity_autocorrelation(atoms)
    pool = tj.ProcessPool(workers=2, task_frames=300)
    assert unequal(whole, tj.velocity_autocorrelation(atoms, pool=pool)) == []
    parts = tj.velocity_autocorrelation(atoms, max_memory=1_500_000)
    assert parts.report["parameters"]["n_reads"] > 2
    assert unequal(whole, parts) == []
    trajectory = tj.samples.peptide_in_water().trajectory
    frames = [
        frame_bytes(
            block.positions[0] / 10,
            n_atoms=block.positions.shape[1],
            step=k,
            time=k * STEP,
            box=np.diag(block.cells[0, :3]) / 10,
            velocities=np.sin(block.positions[0] + k),
        )
        for k, block in enumerate(tj.open(None, trajectory).blocks(1, slice(0, 12)))
    ]
    (tmp_path / "run.trr").write_bytes(b"".join(frames))
    both = tj.open(tj.samples.peptide_in_water().topology, tmp_path / "run.trr")
    first = tj.velocity_autocorrelation(both.select("protein"), max_lag=0.05)
    moved = both.whole().nojump().select("protein")
    assert unequal(first, tj.velocity_autocorrelation(moved, max_lag=0.05)) == []
    jobs = [
        tj.gyration.job(both.select("protein")),
        tj.velocity_autocorrelation.job(both.select("protein"), max_lag=0.05),
    ]
    assert unequal(first, tj.run(jobs)[1]) == []
    with raises(tj.AnalysisError):
        tj.velocity_autocorrelation(both.fit("protein").select("protein"))


def test_missing_velocities_are_an_error(tmp_path: Path) -> None:
    """In all frames, as of XTC files, or in one; and velocities that are all 0."""
    with raises(tj.FormatError):
        tj.velocity_autocorrelation(tj.samples.peptide_in_water().open().select("protein"))
    velocities = np.ones((20, 4, 3))
    path = write(tmp_path / "run.trr", velocities)
    data = path.read_bytes()
    size = len(data) // 20
    without = frame_bytes(np.ones((4, 3)), n_atoms=4, step=7, time=7 * STEP)
    path.write_bytes(data[: 7 * size] + without + data[8 * size :])
    with raises(tj.AnalysisError):
        tj.velocity_autocorrelation(tj.open(None, path).all_atoms())
    path = write(tmp_path / "still.trr", 0 * velocities)
    with raises(tj.AnalysisError):
        tj.velocity_autocorrelation(tj.open(None, path).all_atoms())


def test_unknown_masses_of_residues_have_advice_that_can_be_followed(tmp_path: Path) -> None:
    """There are no weights: particles may be atoms."""
    rng = np.random.default_rng(5)
    run = write(tmp_path / "run.trr", rng.normal(size=(9, len(UNKNOWN), 3)).astype(np.float32))
    atoms = tj.open(gro(tmp_path, UNKNOWN), run).all_atoms()
    with raises(tj.SelectionError) as error:
        tj.velocity_autocorrelation(atoms, by="residue")
    assert "take atoms (by='atom')" in str(error.value)
    assert "weights" not in str(error.value)
    assert tj.velocity_autocorrelation(atoms, by="atom").values[0] > 0
