"""Principal components: MDAnalysis' numbers, those of NumPy's covariance, and known motions."""

import os
import tracemalloc
import warnings
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes, xtc_bytes
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.commands import invoke, python
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysis.analysis import align, pca
from trajet import plots
from trajet._trajet import Deviations

# Both round superposed positions, or their deviations, to float32.
SINGLE = 2e-5


@pytest.mark.parametrize("select", ["name CA", "name CA and resid 1:25"])
def test_values_are_those_of_mdanalysis(adk: Adk, select: str) -> None:
    """There are more coordinates than frames, or fewer."""
    atoms = tj.open(adk.psf, adk.xtc).select(select)
    found = tj.pca(atoms, reference=0, n_components=8)
    universe = mda.Universe(str(adk.psf), str(adk.xtc))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pca.PCA(universe, select=select, align=True).run()
        # Its `transform` takes positions as they are.
        fixed = mda.Universe(str(adk.psf), str(adk.xtc))
        align.AlignTraj(universe, fixed, select=select, in_memory=True).run()
    projections = theirs.transform(universe.select_atoms(select), n_components=8)
    directions = theirs.results.p_components[:, :8].T
    signs = np.sign((found.components.reshape(8, -1) * directions).sum(axis=1))
    n = len(found.variances)
    assert n == min(97, 3 * atoms.n_atoms - 6)
    variances = theirs.results.variance[:n]
    assert np.abs(found.variances - variances).max() < 1e-7 * variances[0]
    assert np.abs(found.cumulated - theirs.results.cumulated_variance[:n]).max() < 1e-6
    assert np.abs(found.mean - theirs.mean).max() < SINGLE
    assert np.abs(found.projections - signs * projections).max() < SINGLE
    assert np.abs(found.components.reshape(8, -1) - directions * signs[:, None]).max() < 1e-5


@pytest.mark.parametrize("select", ["name CA", "name CA and resid 1:25"])
def test_components_are_those_of_the_covariance(adk: Adk, select: str) -> None:
    """By NumPy, of positions as stored."""
    atoms = tj.open(adk.psf, adk.xtc).select(select)
    found = tj.pca(atoms, align=None, n_components=None)
    rows = atoms.read().positions.reshape(98, -1).astype(np.float64)
    assert np.abs(found.mean.ravel() - rows.mean(axis=0)).max() < 1e-10
    expected = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    n = len(found.variances)
    assert n == min(97, rows.shape[1])
    assert np.abs(found.variances - expected[:n]).max() < 1e-6 * expected[0]
    directions = found.components.reshape(n, -1)
    assert np.abs(directions @ directions.T - np.eye(n)).max() < 1e-6
    assert np.abs(found.projections @ directions + rows.mean(axis=0) - rows).max() < 1e-5
    assert np.abs(found.projections.var(axis=0, ddof=1) - found.variances).max() < 1e-5
    largest = np.abs(directions).argmax(axis=1)
    assert (directions[np.arange(n), largest] > 0).all()


def test_average_is_the_mean_of_superposed_frames(adk: Adk) -> None:
    """Fluctuations about it are those of `rmsf`, which superposes in the same way."""
    traj = tj.open(adk.psf, adk.xtc)
    atoms, core = traj.select("backbone"), "name CA and resid 1:100"
    for onto, options in ((atoms, {}), (core, {"align": core, "weights": "mass"})):
        found = tj.pca(atoms, n_components=None, **options)
        rmsf = tj.rmsf(
            atoms, align=onto, reference="average", weights=options.get("weights", "equal")
        )
        squares = (found.projections**2).mean(axis=0)
        by_atom = (squares[:, None, None] * found.components**2).sum(axis=(0, 2))
        assert np.abs(np.sqrt(by_atom) - rmsf.values).max() < SINGLE


def test_threads_and_tasks_change_no_bit_of_the_matrix(thrice_adk: Adk) -> None:
    """And therefore no bit of a result on one machine; by frames and by coordinates."""
    atoms = tj.open(thrice_adk.psf, thrice_adk.xtc).select("name CA and resid 1:40")
    for frames in (slice(0, 110), slice(0, 300)):

        def values(pool: tj.LocalPool, frames: slice = frames) -> np.ndarray:
            found = tj.pca(atoms, frames=frames, pool=pool)
            return np.concatenate([found.variances, found.projections.ravel()])

        assert_same_bits_on_any_pool(values)
    rows = np.random.default_rng(3).normal(0, 9, (110, 200))
    for of_frames in (True, False):
        found = [
            Deviations(rows, of_frames=of_frames, threads=n).products(threads=n, progress=None)
            for n in (1, 2, 5)
        ]
        assert len({matrix.tobytes() for matrix in found}) == 1
        assert np.array_equal(found[0], found[0].T)
        deviations = rows - rows.mean(axis=0)
        naive = deviations @ deviations.T if of_frames else deviations.T @ deviations
        assert np.abs(found[0] - naive).max() < 1e-3


def test_threads_of_blas_change_no_bit(adk: Adk) -> None:
    """Components and projections have the same bits with one and with four threads of BLAS."""
    lines = (
        "import sys, hashlib, trajet as tj",
        "atoms = tj.open(*sys.argv[1:]).select('name CA')",
        "found = tj.pca(atoms, align='same', n_components=5)",
        "for values in (found.components, found.projections):",
        "    print(hashlib.sha256(values.tobytes()).hexdigest())",
    )
    digests = {
        python(
            *("-c", "\n".join(lines), adk.psf, adk.xtc),
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "4")
    }
    assert len(digests) == 1


def test_cosine_content_of_known_projections(tmp_path: Path) -> None:
    """One for half a wave, none for many; near MDAnalysis' rule of integration."""
    n, i = 2000, np.arange(2000)
    half_wave = np.cos(np.pi * (i + 0.5) / n)
    atoms = np.zeros((n, 3, 3))
    atoms[:, :, 1] = [0.0, 0.7, 2.0]
    atoms[:, 0, 0] += half_wave
    atoms[:, 2, 2] += 0.1 * np.cos(200 * np.pi * (i + 0.5) / n)
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "wave.trr", list(atoms)))
    found = tj.pca(traj, align=None, n_components=2)
    assert found.variances[:2] == pytest.approx([50 * n / (n - 1), 0.5 * n / (n - 1)])
    assert np.abs(np.abs(found.projections[:, 0]) - 10 * np.abs(half_wave)).max() < 1e-4
    content = found.cosine_content()
    assert content[0] == pytest.approx(1, abs=1e-9)
    assert content[1] < 1e-9
    theirs = [pca.cosine_content(found.projections, k) for k in range(2)]
    assert np.abs(content - theirs).max() < 2e-3


def test_memory_is_bounded(adk: Adk) -> None:
    """The error names what is needed, before frames are read."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    needed = 98 * 642 * 12 + 98 * 98 * 32
    assert len(tj.pca(atoms, max_memory=needed).components) == 10
    with raises(MemoryError):
        tj.pca(atoms, max_memory=needed - 1)
    with raises(ValueError):
        tj.pca(atoms, max_memory=-1)


def test_covariances_of_parts_equal_that_of_all_frames(
    long_adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames are kept in memory only where coordinates are many, or more than frames."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA and resid 1:20")
    pool = tj.LocalPool(threads=2)
    folded = 980 * 10 * 8 + 2 * 8 * 4 * 60 * 61 + 32 * 60 * 60
    assert folded < 980 * 60 * 12
    found = tj.pca(atoms, max_memory=folded, pool=pool)
    with raises(MemoryError):
        tj.pca(atoms, max_memory=folded - 1, pool=pool)
    monkeypatch.setattr("trajet.analysis.covariances._FOLDED", 0)
    with raises(MemoryError):
        tj.pca(atoms, max_memory=folded, pool=pool)
    whole = tj.pca(atoms, pool=pool)
    assert len(found.variances) == len(whole.variances)
    assert np.abs(found.variances - whole.variances).max() < 1e-7 * whole.variances[0]
    assert np.abs(found.mean - whole.mean).max() < 1e-10
    assert np.abs(found.components - whole.components).max() < 1e-5
    assert np.abs(found.projections - whole.projections).max() < SINGLE


def test_frames_are_read_once_more_for_projections(long_adk: Adk) -> None:
    """The average structure of the first run is the reference of the second, which has one pass."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA and resid 1:20")
    totals: list[int] = []
    found = tj.pca(atoms, align="name CA", progress=lambda _, total: totals.append(total))
    assert list(dict.fromkeys(totals)) == [980, 1960]
    assert totals[-1] == 980
    average = tj.rmsf(atoms, align="name CA", reference="average")
    # The sum of all variances is that of the squared fluctuations, with n - 1 for n.
    assert abs(found.variances.sum() * 979 / 980 - (average.values**2).sum()) < 1e-4


def test_input_without_components_is_refused(adk: Adk, tmp_path: Path) -> None:
    """One frame, frames that are all the same, and frames without positions."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(tj.AnalysisError):
        tj.pca(atoms, frames=[3])
    with raises(tj.AnalysisError):
        tj.pca(atoms, frames=[3, 3, 3], align=None)
    with raises(tj.AnalysisError):
        tj.pca(atoms, frames=[3, 3, 3])
    with raises(ValueError):
        tj.pca(atoms, n_components=0)
    with raises(ValueError):
        tj.pca(atoms, align=None, reference=0)
    frames = list(np.random.default_rng(7).normal(0, 1, (7, 9, 3)))
    frames[4] = None
    gappy = tj.open(None, trr_bytes.write_trr(tmp_path / "gappy.trr", frames))
    with raises(tj.AnalysisError):
        tj.pca(gappy.select(range(9)), align=None)
    unnamed = tj.open(None, xtc_bytes.write_xtc(tmp_path / "few.xtc", np.array(frames[:4])))
    with raises(tj.SelectionError):
        tj.pca(unnamed, align=None).save_extremes(tmp_path / "first.pdb")


def test_extremes_are_models_of_a_pdb_file(adk: Adk, tmp_path: Path) -> None:
    """From the least projection to the largest, also of atoms in another order."""
    traj = tj.open(adk.psf, adk.xtc)
    for atoms in (traj.select("name CA"), traj.select([40, 7, 300, 301, 12, 2000])):
        found = tj.pca(atoms, n_components=3)
        structures = found.extremes(1, 5)
        along = ((structures - found.mean) * found.components[1]).sum(axis=(1, 2))
        column = found.projections[:, 1]
        assert np.abs(along - np.linspace(column.min(), column.max(), 5)).max() < 1e-9
        found.save_extremes(tmp_path / "second.pdb", 1, 5)
        models = tj.open(tmp_path / "second.pdb").read().positions
        order = np.argsort(atoms.indices)
        assert np.abs(models - structures[:, order]).max() < 6e-4
        with raises(IndexError):
            found.extremes(3)


def test_command_writes_extremes(adk: Adk, tmp_path: Path) -> None:
    """As a trajectory of 20 frames; the table has the variances."""
    arguments = ["pca", adk.psf, adk.xtc, "--select", "name CA", "--n-components", 4]
    arguments += ["--reference", 0, "--save", f"extremes={tmp_path}/first.pdb"]
    done = invoke(*arguments)
    assert done.exit_code == 0
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    found = tj.pca(atoms, n_components=4, reference=0)
    assert f"{found.variances[3]:.3f}" in done.output
    assert tj.open(tmp_path / "first.pdb").n_frames == 20
    assert found.plot().axes[1].get_ylabel() == "time (ps)"


def test_fewer_components_than_asked_for_are_reported(adk: Adk) -> None:
    """Ten frames have nine; None asks for all that there are."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    for asked, count in ((100, 9), (9, 9), (None, 9)):
        found = tj.pca(atoms, n_components=asked, frames=slice(0, 10))
        assert len(found.components) == count
        is_reported = [one for one in found.messages if "there are 9 components" in one]
        assert len(is_reported) == (asked == 100)


def test_nmd_files_have_the_modes(adk: Adk, tmp_path: Path) -> None:
    """ProDy 2.6.1's `parseNMD` reads these numbers: a word and its values on each line."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA or name CB")
    found = tj.pca(atoms, n_components=3)
    found.save(tmp_path / "a.npz")
    tj.load(tmp_path / "a.npz").save_modes(tmp_path / "some modes.nmd")
    lines = [line.split() for line in (tmp_path / "some modes.nmd").read_text().splitlines()]
    by_word = {words[0]: words[1:] for words in lines if words[0] != "mode"}
    assert by_word["name"] == ["some_modes"]
    assert by_word["atomnames"] == atoms.topology_atoms.column("names").tolist()
    assert by_word["resids"] == list(map(str, atoms.topology_atoms.column("resids")))
    assert by_word["chainids"][:2] == ["4AKE", "4AKE"]
    assert np.array(by_word["coordinates"], float) == pytest.approx(found.mean.ravel(), rel=1e-7)
    modes = [words[1:] for words in lines if words[0] == "mode"]
    assert [int(number) for number, *_ in modes] == [1, 2, 3]
    scales, directions = np.array(modes, float)[:, 1], np.array(modes, float)[:, 2:]
    assert scales**2 == pytest.approx(found.variances[:3], rel=1e-7)
    assert np.abs(directions - found.components.reshape(3, -1)).max() < 1e-8
    squares = (scales[:, None, None] ** 2 * found.components**2).sum(axis=(0, 2))
    assert np.array(by_word["bfactors"], float) == pytest.approx(8 * np.pi**2 / 3 * squares, 1e-6)


def test_porcupine_has_arrows_of_the_component(adk: Adk) -> None:
    """Of two standard deviations on C-alpha, in a rotated frame; without C-alpha on all atoms."""
    traj = tj.open(adk.psf, adk.xtc)
    for select in ("name CA CB and resid 1:30", "name CB and resid 1:9"):
        atoms = traj.select(select)
        found = tj.pca(atoms, n_components=2)
        (axes, _), n = found.porcupine(1, scale=2.0).axes, atoms.n_atoms
        chosen = atoms.topology_atoms.column("names") == "CA"
        chosen |= not chosen.any()
        arrows = axes.collections[0]
        moved = np.sqrt(found.variances[1]) * found.components[1][chosen]
        sizes = np.linalg.norm(moved, axis=1)
        assert np.allclose(arrows.get_array(), sizes)
        # Two of three dimensions are seen.
        seen = np.hypot(arrows.U, arrows.V)
        assert (seen <= 2 * sizes + 1e-9).all()
        assert seen.sum() > sizes.sum()
        assert sum(len(line.get_xdata()) for line in axes.lines) == len(moved) <= n
    with raises(IndexError):
        found.porcupine(2)


def test_porcupine_joins_no_chains_without_names(tmp_path: Path) -> None:
    """GRO files have no chains: residue numbers begin anew."""
    structure = np.random.default_rng(3).uniform(0, 30, (20, 3))
    lines = ["dimer", "20"]
    for k, (x, y, z) in enumerate(structure / 10):
        lines.append(f"{k % 10 + 1:5d}ALA     CA{k + 1:5d}{x:8.3f}{y:8.3f}{z:8.3f}")
    (tmp_path / "dimer.gro").write_text("\n".join([*lines, "5 5 5"]) + "\n")
    moving = structure + np.random.default_rng(4).normal(size=(9, 20, 3))
    tj.write(tmp_path / "dimer.xtc", moving, times=np.arange(9.0), cells=[50] * 3 + [90] * 3)
    found = tj.pca(tj.open(tmp_path / "dimer.gro", tmp_path / "dimer.xtc").all_atoms())
    drawn = found.porcupine().axes[0].lines
    assert [len(line.get_xdata()) for line in drawn] == [10, 10]


def test_porcupine_of_many_atoms_takes_little_memory() -> None:
    """A square of their number would be 128 MB."""
    structure = np.random.default_rng(5).normal(size=(4000, 3))
    tracemalloc.start()
    plots.porcupine(structure, 0.1 * structure, 2.0, np.array([], np.int64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64e6
