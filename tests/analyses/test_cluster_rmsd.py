"""Clusters of frames: a naive twin of GROMOS' method, SciPy's linkages, and known groups.

`tests/external/with_gromacs.py` compares with `gmx cluster`.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.commands import invoke, misuse
from helpers.golden_files import Adk
from helpers.messages import raises
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from trajet.analysis.clusters import gromos, medoids_of
from trajet.result import PairwiseRmsd


@pytest.fixture(scope="module")
def pairs(adk: Adk) -> PairwiseRmsd:
    """Return the RMSDs of all pairs of ADK's frames."""
    return tj.pairwise_rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))


def naive_gromos(values: np.ndarray, cutoff: float) -> list[int]:
    """Return the cluster of each frame, by lists of neighbours that are made again and again."""
    labels, free, number = [-1] * len(values), set(range(len(values))), 0
    while free:
        near = {i: {j for j in free if values[i, j] <= cutoff} for i in sorted(free)}
        centre = max(near, key=lambda i: (len(near[i]), -i))
        for i in near[centre]:
            labels[i] = number
        free -= near[centre]
        number += 1
    return labels


@pytest.mark.parametrize("cutoff", [0.0, 0.4, 0.8, 1.5, 2.7, 4.0, 9.0])
def test_gromos_equals_its_naive_twin(pairs: PairwiseRmsd, cutoff: float) -> None:
    """For every cut-off, from frames that are alone to one cluster."""
    found = tj.cluster_rmsd(pairs, cutoff=cutoff)
    assert found.labels.tolist() == naive_gromos(pairs.values, cutoff)
    assert found.sizes.tolist() == np.bincount(found.labels).tolist()
    assert (np.diff(found.sizes) <= 0).all()
    assert found.sizes.sum() == 98
    for number, medoid in enumerate(found.medoids):
        members = np.flatnonzero(found.labels == number)
        means = pairs.values[np.ix_(members, members)].mean(axis=1, dtype=np.float64)
        assert medoid == members[means.argmin()]


def test_gromos_equals_its_naive_twin_for_random_matrices() -> None:
    """The matrices have more rows than are compared at a time, and many ties."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 40, 300):
        values = np.round(rng.uniform(0, 5, (n, n)), 1).astype(np.float32)
        values = np.triu(values, 1) + np.triu(values, 1).T
        for cutoff in (0.3, 2.0):
            assert gromos(values, cutoff).tolist() == naive_gromos(values, cutoff)
    assert gromos(np.empty((0, 0), np.float32), 1.0).size == 0
    assert medoids_of(np.empty((0, 0), np.float32), np.empty(0, np.int64)).size == 0


@pytest.mark.parametrize("method", ["average", "complete", "single"])
def test_hierarchical_clusters_are_those_of_scipy(pairs: PairwiseRmsd, method: str) -> None:
    """The same groups of frames, numbered by their sizes."""
    tree = linkage(squareform(pairs.values.astype(np.float64), checks=False), method)
    for options, theirs in (
        ({"cutoff": 0.7}, fcluster(tree, 0.7, "distance")),
        ({"n_clusters": 5}, fcluster(tree, 5, "maxclust")),
    ):
        found = tj.cluster_rmsd(pairs, method=method, **options)
        same = found.labels[:, None] == found.labels
        assert np.array_equal(same, theirs[:, None] == theirs)
        assert (np.diff(found.sizes) <= 0).all()
        assert len(found.sizes) == len(set(theirs))


def test_known_groups_are_found(tmp_path: Path) -> None:
    """Five structures with noise, in a random order, by every method; turned and moved."""
    rng = np.random.default_rng(21)
    sizes = [40, 25, 14, 8, 3]
    structures = rng.uniform(0, 2, (5, 30, 3))
    truth = rng.permutation(np.repeat(np.arange(5), sizes))
    frames = structures[truth] + rng.normal(0, 0.01, (90, 30, 3)) + rng.uniform(0, 3, (90, 1, 3))
    frames[::2] = frames[::2][:, :, [1, 2, 0]]
    path = xtc_bytes.write_xtc(tmp_path / "groups.xtc", frames)
    atoms = tj.open(None, path).select(range(30))
    for options in (
        {"cutoff": 2.0},
        {"method": "average", "n_clusters": 5},
        {"method": "complete", "cutoff": 3.0},
        {"method": "single", "n_clusters": 5},
    ):
        found = tj.cluster_rmsd(atoms, **options)
        assert found.labels.tolist() == truth.tolist()
        assert found.sizes.tolist() == sizes
        assert truth[found.medoids].tolist() == [0, 1, 2, 3, 4]


def test_medoids_are_written(adk: Adk, pairs: PairwiseRmsd, tmp_path: Path) -> None:
    """With the atoms that were compared, or others, at the frame's positions."""
    traj = tj.open(adk.psf, adk.xtc)
    found = tj.cluster_rmsd(traj.select("name CA"), cutoff=1.5, frames=slice(None, None, 2))
    paths = found.save_medoids(tmp_path)
    assert [path.name for path in paths] == [f"cluster{k}.pdb" for k in range(len(found.sizes))]
    for path, frame in zip(paths, found.medoids, strict=True):
        assert frame % 2 == 0
        written = tj.open(path).read().positions[0]
        assert np.abs(written - traj.select("name CA")[int(frame)].positions).max() < 6e-4
    with raises(tj.OutputError):
        found.save_medoids(tmp_path)
    with raises(tj.OutputError):
        found.save_medoids(tmp_path / "none")
    of_matrix = tj.cluster_rmsd(pairs, cutoff=1.5)
    with raises(ValueError):
        of_matrix.save_medoids(tmp_path, force=True)
    (one,) = of_matrix.save_medoids(tmp_path, count=1, selection=traj.select("all"), force=True)
    assert tj.open(one).n_atoms == 3341


def test_bad_input_is_refused(
    adk: Adk, pairs: PairwiseRmsd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Methods without their parameter, matrices of two trajectories, and frames without atoms."""
    for options in (
        {},
        {"cutoff": 1.0, "n_clusters": 3},
        {"method": "average"},
        {"method": "average", "n_clusters": 0},
        {"cutoff": -1.0},
        {"method": "ward", "cutoff": 1.0},
    ):
        with raises(ValueError):
            tj.cluster_rmsd(pairs, **options)
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    two = tj.pairwise_rmsd(atoms, atoms, frames=[0, 1])
    with raises(ValueError):
        tj.cluster_rmsd(two, cutoff=1.0)
    with raises(MemoryError):
        tj.cluster_rmsd(pairs, method="average", cutoff=1.0, max_memory=100_000)
    values = pairs.values.copy()
    values[4] = values[:, 4] = np.nan
    with raises(tj.AnalysisError):
        tj.cluster_rmsd(replace(pairs, values=values), cutoff=1.0)
    monkeypatch.setitem(sys.modules, "scipy.cluster.hierarchy", None)
    with raises(tj.MissingPackageError):
        tj.cluster_rmsd(pairs, method="single", cutoff=1.0)


def test_command_writes_medoids(adk: Adk, tmp_path: Path) -> None:
    """With `--medoids`; a cutoff is needed."""
    arguments = ["cluster-rmsd", adk.psf, adk.xtc, "--select", "name CA", "--cutoff", 1.5]
    arguments += ["--medoids", tmp_path, "--save", f"clusters={tmp_path}/clusters.csv"]
    done = invoke(*arguments)
    assert done.exit_code == 0
    found = tj.cluster_rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), cutoff=1.5)
    assert (tmp_path / f"cluster{len(found.sizes) - 1}.pdb").exists()
    lines = (tmp_path / "clusters.csv").read_text().splitlines()
    assert len(lines) == 1 + len(found.sizes)
    misuse(*arguments[:5])


def test_clusters_are_loaded_and_sliced(adk: Adk, tmp_path: Path) -> None:
    """A file restores labels and medoids; a slice has the sizes of its frames."""
    clusters = tj.cluster_rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), cutoff=1.5)
    clusters.save(tmp_path / "clusters.npz")
    loaded = tj.load(tmp_path / "clusters.npz")
    assert np.array_equal(loaded.labels, clusters.labels)
    assert np.array_equal(loaded.medoids, clusters.medoids)
    assert loaded.pairs is None
    assert loaded.selection is None
    some = clusters[:10]
    assert some.sizes.tolist() == [(some.labels == k).sum() for k in range(len(clusters.sizes))]


def test_options_of_a_matrix_are_refused(adk: Adk) -> None:
    """They were chosen when the matrix was computed."""
    matrix = tj.pairwise_rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    with raises(ValueError):
        tj.cluster_rmsd(matrix, cutoff=1.5, frames=slice(0, 10))
    with raises(ValueError):
        tj.cluster_rmsd(matrix, cutoff=1.5, weights="mass")
    whole, part = matrix.off_diagonal(), matrix[::2]
    expected = [
        matrix.values[i, j]
        for i in range(0, 98, 2)
        for j in range(98)
        if i != j and (j % 2 or i < j)
    ]
    assert sorted(part.off_diagonal().tolist()) == sorted(expected)
    assert len(whole) == 98 * 97 // 2
