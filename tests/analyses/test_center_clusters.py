"""Clusters around centres: naive twins on the whole matrix, mdtraj's RMSDs, and laws."""

from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.commands import invoke
from helpers.extent import IS_LONG
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.analysis.block_errors import fractions_of_blocks
from trajet.analysis.center_clusters import divide
from trajet.result import Clusters

N_ATOMS, N_FRAMES = 12, 2000 if IS_LONG else 400
METHODS = [
    *({"method": "kcenters", "n_clusters": n} for n in (1, 2, 7, 60)),
    *({"method": "regular", "cutoff": cutoff} for cutoff in (0.6, 1.0, 2.0, 50.0)),
]
WEIGHTS = {"equal": np.ones(N_ATOMS), "numbers": np.linspace(0.5, 30, N_ATOMS)}


def naive_centers(
    matrix: np.ndarray, n_clusters: int | None, cutoff: float | None
) -> tuple[list[int], np.ndarray]:
    """Return the centres, and the centre of each frame, from the distances of all pairs."""
    centers = [0]
    while True:
        nearest = matrix[:, centers].min(axis=1)
        far = [k for k in range(len(matrix)) if cutoff is not None and nearest[k] >= cutoff]
        if cutoff is None and len(centers) < n_clusters and nearest.max() > 1e-6:
            far = [int(nearest.argmax())]
        if not far:
            centers = sorted(centers)
            return centers, np.array(centers)[matrix[:, centers].argmin(axis=1)]
        centers.append(far[0])


def superposed(mobile: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return `(n_frames, n_atoms, 3)` positions on those of one structure, by Kabsch's method."""
    weights = weights / weights.sum()
    centre = weights @ target
    here = mobile - (weights @ mobile)[:, np.newaxis]
    u, _, vt = np.linalg.svd(np.einsum("a,fai,aj->fij", weights, here, target - centre))
    u[:, :, 2] *= np.linalg.det(u @ vt)[:, np.newaxis]
    return here @ (u @ vt) + centre


def rmsds(mobile: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the RMSD of each frame from a structure."""
    apart = ((superposed(mobile, target, weights) - target) ** 2).sum(axis=2)
    return np.sqrt(apart @ weights / weights.sum())


@pytest.fixture(scope="module")
def atoms(tmp_path_factory: pytest.TempPathFactory) -> tj.Selection:
    """Return atoms of a random walk through shapes, turned and moved; some frames are the same."""
    rng = np.random.default_rng(5)
    shapes = rng.uniform(0, 0.5, (N_ATOMS, 3)) + rng.normal(0, 0.02, (N_FRAMES, N_ATOMS, 3)).cumsum(
        0
    )
    turns, _ = np.linalg.qr(rng.normal(size=(N_FRAMES, 3, 3)))
    turns *= np.linalg.det(turns)[:, np.newaxis, np.newaxis]
    frames = shapes @ turns + rng.uniform(0, 3, (N_FRAMES, 1, 3))
    frames[200:220] = frames[100:120]
    path = tmp_path_factory.mktemp("walk") / "walk.xtc"
    return tj.open(None, xtc_bytes.write_xtc(path, frames)).select(range(N_ATOMS))


@pytest.fixture(scope="module")
def matrices(atoms: tj.Selection) -> dict[str, np.ndarray]:
    """Return the RMSDs of all pairs of frames with weights of each kind."""
    positions = atoms.read().positions.astype(np.float64)
    return {
        kind: np.array([rmsds(positions, one, numbers) for one in positions]).T
        for kind, numbers in WEIGHTS.items()
    }


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("options", METHODS, ids=str)
def test_clusters_equal_their_naive_twin(
    atoms: tj.Selection,
    matrices: dict[str, np.ndarray],
    options: dict[str, object],
    weights: str,
) -> None:
    """Centres, partition, radii and medoids; and every law of both methods."""
    numbers, matrix = WEIGHTS[weights], matrices[weights]
    given = "equal" if weights == "equal" else numbers
    found = tj.cluster_rmsd(atoms, weights=given, **options)
    positions = atoms.read().positions.astype(np.float64)
    centers, own = naive_centers(matrix, options.get("n_clusters"), options.get("cutoff"))
    assert sorted(found.centers.tolist()) == centers
    assert found.centers[found.labels].tolist() == own.tolist()
    assert (np.diff(found.sizes) <= 0).all()
    assert found.sizes.tolist() == np.bincount(found.labels).tolist()
    away = matrix[np.arange(len(own)), own]
    between = matrix[np.ix_(centers, centers)][np.triu_indices(len(centers), 1)]
    if "cutoff" in options:
        assert between.min(initial=np.inf) >= options["cutoff"]
        assert away.max() < options["cutoff"]
    else:
        # The next centre would be nearer than any two.
        assert away.max() <= between.min(initial=np.inf) + 1e-9
    for k, center in enumerate(found.centers):
        members = np.flatnonzero(found.labels == k)
        assert center in members
        assert abs(found.radii[k] - away[members].max()) < 1e-6
        mean = superposed(positions[members], positions[center], numbers).mean(axis=0)
        apart = rmsds(positions[members], mean, numbers)
        assert found.medoids[k] == members[np.flatnonzero(apart < apart.min() + 1e-6)[0]]


def test_partition_is_that_of_mdtraj(adk: Adk) -> None:
    """By its RMSDs of all pairs of ADK's frames, which are float32."""
    theirs = mdtraj.load(adk.xtc, top=adk.psf)
    theirs = theirs.atom_slice(theirs.topology.select("name CA"))
    matrix = np.array([10 * mdtraj.rmsd(theirs, theirs, k) for k in range(len(theirs))]).T
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    for options in METHODS:
        _, own = naive_centers(matrix, options.get("n_clusters"), options.get("cutoff"))
        found = tj.cluster_rmsd(calpha, **options)
        assert found.centers[found.labels].tolist() == own.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60), st.data()
)
@settings(max_examples=60, deadline=None)
def test_ties_are_those_of_the_naive_twin(
    points: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Points on a grid, many equally far from each other: the first one is taken."""
    at = np.array(points, np.float64)
    matrix = np.sqrt(((at[:, np.newaxis] - at) ** 2).sum(axis=2))
    n_clusters = data.draw(st.none() | st.integers(1, 30))
    cutoff = data.draw(st.floats(0.5, 9)) if n_clusters is None else None
    labels, centers, nearest = divide(
        lambda frame, chosen: matrix[frame, chosen], len(at), n_clusters=n_clusters, cutoff=cutoff
    )
    expected, own = naive_centers(matrix, n_clusters, cutoff)
    assert sorted(centers.tolist()) == expected
    assert centers[labels].tolist() == own.tolist()
    assert nearest.tolist() == matrix[np.arange(len(at)), own].tolist()


def test_few_frames_have_clusters(atoms: tj.Selection) -> None:
    """None, one, and as many as there are, but one for frames that are the same."""
    for frames, n in ((slice(0, 0), 0), ([7], 1), (slice(0, 5), 5), ([100, 200, 3], 2)):
        found = tj.cluster_rmsd(atoms, method="kcenters", n_clusters=9, frames=frames)
        assert len(found.sizes) == n
        assert set(found.medoids) <= set(found.frames)


def test_populations_have_the_errors_of_blocks(atoms: tj.Selection) -> None:
    """Of shares of each cluster in blocks of a power of two frames."""
    found = tj.cluster_rmsd(atoms, method="kcenters", n_clusters=3, frames=range(400))
    assert np.allclose(found.populations, found.sizes / 400)
    shares = fractions_of_blocks(found.labels, 3)
    assert shares.shape == (100, 3)
    for block, row in enumerate(shares):
        labels = found.labels[4 * block : 4 * block + 4].tolist()
        assert row.tolist() == [labels.count(k) / 4 for k in range(3)]
    errors = tj.statistics(shares).standard_error
    assert np.allclose(found.clusters.standard_errors, errors, rtol=1e-12)
    assert found[:10].clusters.standard_errors is None
    assert (found.clusters.half_widths > found.clusters.standard_errors).all()
    assert [fractions_of_blocks(np.zeros(n, np.int64), 1).shape[0] for n in (0, 9, 127, 128)] == [
        *(0, 9, 127, 64)
    ]


def medoid_files(folder: Path, found: Clusters, atoms: tj.Selection) -> None:
    """Assert that a folder has the medoids with the positions of their frames, and nothing else."""
    names = {f"cluster{k}.pdb" for k in range(len(found.sizes))}
    # Indexes of the files are hidden.
    assert {path.name for path in folder.glob("[!.]*")} == names
    for k, frame in enumerate(found.medoids.tolist()):
        written = tj.open(folder / f"cluster{k}.pdb").read().positions[0]
        assert np.abs(written - atoms[frame].positions).max() < 6e-4


def test_medoids_are_written_with_all_atoms_or_some(adk: Adk, tmp_path: Path) -> None:
    """By the function and the command; again over the files of a run before."""
    traj = tj.open(adk.psf, adk.xtc)
    calpha, folder = traj.select("name CA"), tmp_path / "medoids"
    for _ in range(2):
        found = tj.cluster_rmsd(calpha, method="kcenters", n_clusters=3, medoids=folder)
        medoid_files(folder, found, traj.select("all"))
    command = ["cluster-rmsd", adk.psf, adk.xtc, "--select", "name CA", "--method", "regular"]
    command += ["--cutoff", "2", "--medoids", tmp_path / "some", "--medoid-atoms", "resid 1:9"]
    assert invoke(*command).exit_code == 0
    found = tj.cluster_rmsd(calpha, method="regular", cutoff=2.0)
    medoid_files(tmp_path / "some", found, traj.select("resid 1:9"))
    matrix = tj.pairwise_rmsd(calpha)
    found = tj.cluster_rmsd(matrix, cutoff=1.5, medoids=folder, medoid_atoms=calpha)
    assert tj.open(folder / "cluster0.pdb").n_atoms == calpha.n_atoms


def test_bad_input_is_refused(adk: Adk, atoms: tj.Selection, tmp_path: Path) -> None:
    """Parameters of other methods, matrices, folders that are files, and frames without atoms."""
    for options in (
        {"method": "kcenters"},
        {"method": "kcenters", "n_clusters": 3, "cutoff": 1.0},
        {"method": "regular", "n_clusters": 3},
        {"method": "regular", "cutoff": 0.0},
        {"cutoff": 1.0, "medoid_atoms": "all"},
    ):
        with raises(ValueError):
            tj.cluster_rmsd(atoms, **options)
    matrix = tj.pairwise_rmsd(atoms, frames=slice(0, 9))
    with raises(ValueError):
        tj.cluster_rmsd(matrix, method="kcenters", n_clusters=2)
    with raises(ValueError):
        tj.cluster_rmsd(matrix, cutoff=1.0, medoids=tmp_path / "medoids")
    with raises(AttributeError):
        _ = tj.cluster_rmsd(matrix, cutoff=1.0).centers
    (tmp_path / "file").touch()
    with raises(tj.OutputError):
        tj.cluster_rmsd(atoms, cutoff=1.0, medoids=tmp_path / "file")
    with raises(MemoryError):
        tj.cluster_rmsd(atoms, method="kcenters", n_clusters=3, max_memory=50_000)
    positions = atoms.read([0, 1, 2]).positions.copy()
    positions[1, 4] = np.nan
    tj.write(tmp_path / "nan.dcd", positions)
    bad = tj.open(None, tmp_path / "nan.dcd").select(range(N_ATOMS))
    with raises(tj.AnalysisError):
        tj.cluster_rmsd(bad, method="kcenters", n_clusters=2)
