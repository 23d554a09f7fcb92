"""Maps of correlated motion: those of correlationplus and ProDy, NumPy's, and known motions.

`correlations.json` has the maps of the first 20 C-alpha of ADK, positions as stored: by
correlationplus 0.2.3 (`calcMDnDCC` and `calcMD_LMI` with `alignTrajectory=False`) and by ProDy
2.6.1 (`calcCrossCorr` of all modes of a `PCA`).
"""

import json
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.analysis.correlations import generalised_correlations
from trajet.messages import Code

GOLDEN = json.loads(Path(__file__).with_name("correlations.json").read_text(encoding="utf-8"))


def deviations(atoms: tj.Selection) -> np.ndarray:
    """Return the deviations of stored positions from their mean, `(n_frames, n_atoms, 3)`."""
    positions = atoms.read().positions.astype(np.float64)
    return positions - positions.mean(axis=0)


def cross(moved: np.ndarray) -> np.ndarray:
    """Return the cross-correlations of deviations, `(n, n)`."""
    products = np.einsum("tia,tja->ij", moved, moved)
    sizes = np.sqrt(products.diagonal())
    return products / sizes / sizes[:, None]


def mutual(moved: np.ndarray) -> np.ndarray:
    """Return generalised correlations of deviations from the determinants of covariances."""
    n = moved.shape[1]
    found = np.eye(n)
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        one, other, both = (
            np.linalg.slogdet(np.cov(moved[:, k].reshape(len(moved), -1).T, ddof=0))[1]
            for k in ([i], [j], [i, j])
        )
        found[i, j] = found[j, i] = np.sqrt(1 - np.exp(-(one + other - both) / 3))
    return found


@pytest.mark.parametrize(
    ("program", "method"),
    [("correlationplus", "dccm"), ("correlationplus", "lmi"), ("prody", "dccm")],
)
def test_values_are_those_of_other_programs(adk: Adk, program: str, method: str) -> None:
    """Of positions as stored."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA and resid 1:20")
    found = tj.correlation_map(atoms, method=method, align=None).values
    assert np.abs(found - np.array(GOLDEN[program][method])).max() < 2e-6


@pytest.mark.parametrize("select", ["name CA and resid 1:25", "name CA", "backbone"])
def test_values_are_those_of_numpy(adk: Adk, select: str) -> None:
    """With more frames than coordinates, and with fewer; of atoms and of centres of residues."""
    atoms = tj.open(adk.psf, adk.xtc).select(select)
    moved = deviations(atoms)
    found = tj.correlation_map(atoms, align=None)
    assert np.abs(found.values - cross(moved)).max() < 1e-6
    assert np.array_equal(found.values, found.values.T)
    assert (found.values.diagonal() == 1).all()
    assert found.axis("atoms")["atom"].tolist() == atoms.indices.tolist()
    which = np.unique(atoms.topology_atoms.residues, return_inverse=True)[1]
    centres = np.stack([moved[:, which == k].mean(axis=1) for k in range(which.max() + 1)], axis=1)
    found = tj.correlation_map(atoms, align=None, by="residue")
    assert np.abs(found.values - cross(centres)).max() < 1e-6
    assert len(found.axis("other residues")) == which.max() + 1


def test_frames_are_superposed_as_for_pca(adk: Adk) -> None:
    """The map is that of the covariance of all components, whose products of frames are float32."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    for options in ({}, {"reference": 3, "align": "name CA and resid 1:100"}):
        pca = tj.pca(atoms, n_components=None, **options)
        moved = np.tensordot(pca.projections, pca.components, 1)
        assert np.abs(tj.correlation_map(atoms, **options).values - cross(moved)).max() < 5e-6
    few = atoms.trajectory.select("name CA and resid 30:37")
    pca = tj.pca(few, n_components=None, align=atoms)
    moved = np.tensordot(pca.projections, pca.components, 1)
    found = tj.correlation_map(few, align=atoms, method="lmi").values
    assert np.abs(found - mutual(moved)).max() < 1e-5


def test_motions_at_a_right_angle_are_correlated_by_mutual_information() -> None:
    """And a linear map of one motion is the same motion; what is independent has no correlation."""
    rng = np.random.default_rng(5)
    moved = rng.normal(size=(200_000, 3, 3))
    moved[:, 1] = moved[:, 0] @ np.array([[0, 0, 2.0], [1, 0, 0], [0, 3, 0]]) + 0.5 * moved[:, 1]
    covariance = np.cov(moved.reshape(len(moved), -1).T, ddof=0)
    found = generalised_correlations(covariance)
    # Each axis has the correlation a / √(a² + ¼).
    squares = np.array([4, 1, 9]) / (np.array([4, 1, 9]) + 0.25)
    assert found[0, 1] == pytest.approx(np.sqrt(1 - np.cbrt(np.prod(1 - squares))), abs=0.003)
    assert found[0, 2] < 0.02
    turned = np.kron(np.eye(3), np.linalg.qr(rng.normal(size=(3, 3)))[0])
    again = generalised_correlations(turned @ covariance @ turned.T)
    assert np.abs(again - found).max() < 1e-9


def test_atoms_without_motion_have_no_correlation(tmp_path: Path) -> None:
    """One does not move, another only on a line."""
    rng = np.random.default_rng(2)
    positions = rng.normal(size=(40, 5, 3))
    positions[:, 1] = [1.0, 2.0, 3.0]
    positions[:, 3, 1:] = 4.0
    atoms = tj.open(None, trr_bytes.write_trr(tmp_path / "a.trr", list(positions)))
    for method, unknown in (("dccm", [1]), ("lmi", [1, 3])):
        found = tj.correlation_map(atoms, method=method, align=None)
        is_unknown = np.isnan(found.values)
        assert np.flatnonzero(is_unknown.all(axis=1)).tolist() == unknown
        assert is_unknown.sum() == 25 - (5 - len(unknown)) ** 2
        assert Code.NO_NUMBERS in [message.code for message in found.messages]


def test_effective_frames_are_those_of_components(adk: Adk) -> None:
    """ADK closes once: one slow motion."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    found = tj.correlation_map(atoms)
    expected = tj.pca(atoms).projections
    known = [tj.statistics(column).n_effective for column in expected.T]
    assert found.parts["n_effective"].values == pytest.approx(known, rel=1e-6)
    assert found.report["parameters"]["n_effective"] == pytest.approx(min(known), rel=1e-6)
    assert Code.NOT_RESOLVED in [message.code for message in found.messages]


def test_maps_have_means_over_replicas(adk: Adk) -> None:
    """Of each pair of atoms, both orders."""
    rows = [{"replica": k, "topology": adk.psf, "trajectory": adk.xtc} for k in (1, 2)]
    ensemble = tj.ensemble(rows)
    results = tj.correlation_map(ensemble.select("name CA and resid 1:5"))
    (mean,) = results.mean()
    assert np.array_equal(mean.mean, results.results[0].values.ravel())
    assert {"atom", "resid", "other_atom", "other_resid"} <= {*mean.axes}


def test_what_has_no_map_is_an_error(adk: Adk) -> None:
    """Other words, too few frames, too little memory, and parameters of no superposition."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA and resid 1:5")
    with raises(ValueError):
        tj.correlation_map(atoms, method="pearson")
    with raises(ValueError):
        tj.correlation_map(atoms, by="chain")
    with raises(ValueError):
        tj.correlation_map(atoms, align=None, weights="mass")
    with raises(tj.AnalysisError):
        tj.correlation_map(atoms, frames=[3])
    with raises(tj.AnalysisError):
        tj.correlation_map(atoms, method="lmi", frames=range(6))
    with raises(MemoryError):
        tj.correlation_map(atoms, max_memory=1000)
