"""RDFs of many pairs, of atoms and centres: those of `rdf`, MDAnalysis and a double loop."""

from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers.analysis_cases import unequal
from helpers.commands import invoke
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysis.analysis.rdf import InterRDF, InterRDF_s
from MDAnalysisTests import datafiles

OXYGEN, HYDROGEN = "name OW and resid 215:700", "name HW1 HW2 and resid 215:600"
SHORT = {"range": (0.0, 9.0), "bins": 30}


@pytest.fixture(scope="module")
def wet() -> tj.Trajectory:
    """Return adenylate kinase in water, in a rhombic dodecahedron, with molecules."""
    return tj.open(datafiles.TPR, datafiles.XTC)


FRAMES = [2, 7]


def naive(
    traj: tj.Trajectory, one: np.ndarray, other: np.ndarray, leave_out: np.ndarray
) -> np.ndarray:
    """Return the counts of a double loop over positions `(n_frames, n, 3)`; a mask leaves out."""
    counts = np.zeros(30)
    for x, y, cell in zip(one, other, traj.read(FRAMES, atoms=[0]).cells, strict=True):
        distances = plain.between(x, y, plain.cell_vectors(cell))[~leave_out]
        counts += np.histogram(distances, 30, (0, 9))[0]
    return counts


def test_each_pair_has_the_bits_of_rdf(wet: tj.Trajectory) -> None:
    """Pairs of a selection with itself, of two, and of two that share atoms."""
    oxygen = wet.select(OXYGEN)
    pairs = [(oxygen, OXYGEN), (oxygen, HYDROGEN), (oxygen, "resid 214:300"), ("name CA", OXYGEN)]
    result = tj.rdf_pairs(pairs, **SHORT)  # type: ignore[arg-type]
    assert result.g.shape == (4, 30)
    for k, (a, b) in enumerate(pairs):
        first = wet.select(a) if isinstance(a, str) else a
        alone = tj.rdf(first, b, **SHORT)  # type: ignore[arg-type]
        assert result.counts[k].tobytes() == alone.counts.tobytes()
        assert result.g[k].tobytes() == alone.g.tobytes()
        assert result.density[k] == alone.density
    assert result.columns[:2] == (OXYGEN, f"{OXYGEN} - {HYDROGEN}")


@pytest.mark.parametrize("exclude", ["residue", "molecule", None])
def test_excluded_pairs_equal_a_double_loop(wet: tj.Trajectory, exclude: str | None) -> None:
    """Within residues or molecules, of sites in any order; g is normalised by the pairs left."""
    # Atoms of water are three; the protein is one molecule of many residues.
    a = wet.select(wet.select("resid 3:6 or resid 215:230").indices[::-1])
    b = wet.select("resid 5:9 or resid 225:240")
    result = tj.rdf_pairs([(a, b), (a, a)], exclude=exclude, frames=FRAMES, **SHORT)  # type: ignore[arg-type]
    for k, other in enumerate((b, a)):
        leave_out = a.indices[:, None] == other.indices
        if exclude is not None:
            leave_out |= a.group_numbers(exclude)[:, None] == other.group_numbers(exclude)  # type: ignore[arg-type]
        counts = naive(wet, a.read(FRAMES).positions, other.read(FRAMES).positions, leave_out)
        assert np.array_equal(result.counts[k], counts)
        volume = result.report["parameters"]["mean_volume"]
        shells = 4 / 3 * np.pi * np.diff(result.edges**3)
        expected = counts / 2 / ((~leave_out).sum() / volume * shells)
        assert np.abs(result.g[k] - expected).max() < 1e-9


@pytest.mark.parametrize("weights", ["mass", "equal"])
def test_centers_of_residues_equal_a_double_loop(wet: tj.Trajectory, weights: str) -> None:
    """Sites are those of `centers`, rounded to float32; a residue is not paired with itself."""
    traj = wet.whole()
    a, b = traj.select("resid 10:80"), traj.select("resid 70:150 or resname NA+")
    result = tj.rdf_pairs([(a, a), (a, b)], by="residue", weights=weights, frames=FRAMES, **SHORT)  # type: ignore[arg-type]
    sites = [
        tj.centers(one, weights=weights, frames=FRAMES).values.astype(np.float32) for one in (a, b)
    ]
    same = np.equal.outer(np.arange(71), np.arange(sites[1].shape[1]) + 60)
    for k, (other, mask) in enumerate(((sites[0], np.eye(71, dtype=bool)), (sites[1], same))):
        assert np.array_equal(result.counts[k], naive(traj, sites[0], other, mask))
    assert result.density[1] * result.report["parameters"]["mean_volume"] == pytest.approx(85)
    assert result.messages == []
    broken = tj.rdf_pairs([(wet.select("protein"), "protein")], by="residue", **SHORT)  # type: ignore[arg-type]
    assert any("broken over the box" in message for message in broken.messages)


def test_sites_are_those_of_mdanalysis(wet: tj.Trajectory) -> None:
    """`InterRDF` without pairs of one residue; `InterRDF_s` of each pair of atoms."""
    universe = mda.Universe(datafiles.TPR, datafiles.XTC)
    oxygen, hydrogen = (universe.select_atoms(text) for text in (OXYGEN, HYDROGEN))
    theirs = (
        InterRDF(oxygen, hydrogen, nbins=30, range=(0, 9), exclude_same="residue").run().results
    )
    ours = tj.rdf_pairs([(wet.select(OXYGEN), HYDROGEN)], exclude="residue", **SHORT)  # type: ignore[arg-type]
    # It rounds distances to float32: pairs at the edge of a bin may lie in the next one.
    assert np.abs(ours.counts[0] - theirs.count).max() <= 2
    assert ours.counts.sum() > 10_000
    # Its normalisation counts the pairs that it leaves out: one oxygen for each hydrogen.
    both = ours.g[0] > 0
    assert np.abs(theirs.rdf[both] / ours.g[0, both] - (1 - 1 / len(oxygen))).max() < 1e-3
    some = [oxygen[:3], hydrogen[:4]]
    sites = InterRDF_s(universe, [some], nbins=30, range=(0, 9)).run().results
    pairs = [(wet.select([i]), wet.select([j])) for i in some[0].indices for j in some[1].indices]
    ours = tj.rdf_pairs(pairs, **SHORT)  # type: ignore[arg-type]
    expected = sites.rdf[0].reshape(12, 30)
    assert np.array_equal(ours.counts > 0, expected > 0)
    assert np.abs(ours.g - expected).max() < 1e-4 * expected.max()


def test_bad_requests_are_errors_that_say_what_to_do(wet: tj.Trajectory, adk: Adk) -> None:
    """No cell, no pair, unknown words, ranges without width."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(tj.AnalysisError):
        tj.rdf_pairs([(calpha, calpha)])
    ions = wet.select("resname NA+")
    for pairs in ([], [ions], [(ions, ions, ions)]):
        with raises(TypeError):
            tj.rdf_pairs(pairs)
    one = wet.select([0])
    with raises(tj.SelectionError):
        tj.rdf_pairs([(ions, ions), (one, one)])
    with raises(tj.SelectionError):
        tj.rdf_pairs([(wet.select("resid 3"), "resid 4")], exclude="molecule")
    for options in (
        {"by": "colour"},
        {"exclude": "atom"},
        {"weights": [1.0]},
        {"range": (5.0, 5.0)},
        {"bins": 0},
        {"bins": 10**9},
    ):
        with raises(ValueError):
            tj.rdf_pairs([(ions, ions)], **options)  # type: ignore[arg-type]
    none = tj.rdf_pairs([(ions, ions)], frames=[])
    assert np.isnan(none.g).all()


def test_plans_have_several_pairs(wet: tj.Trajectory, tmp_path: Path) -> None:
    """As lists of lists or one list; slices and the legend have the labels of their pairs."""
    plan = [
        f"topology = '{datafiles.TPR}'",
        f"trajectory = '{datafiles.XTC}'",
        "stop = 4",
        *("[[analysis]]", "command = 'rdf-pairs'", "by = 'residue'", "weights = 'equal'"),
        *("range = [0, 20]", "bins = 40", "output = 'p.npz'"),
        "pairs = [['resname NA+', 'name CG'], ['resname NA+', 'resid 1:9']]",
        *("[[analysis]]", "command = 'rdf-pairs'", "pairs = ['resname NA+', 'name CG']"),
        *("[[analysis]]", "command = 'density'", "select = 'name CA'", "save = 'grid=ca.dx'"),
    ]
    (tmp_path / "plan.toml").write_text("\n".join(plan))
    done = invoke("run", tmp_path / "plan.toml")
    assert done.exit_code == 0, done.output
    assert "1 RDFs" in done.output
    assert (tmp_path / "ca.dx").exists()
    ions = wet.select("resname NA+")
    expected = tj.rdf_pairs(
        [(ions, "name CG"), (ions, "resid 1:9")],
        by="residue",
        weights="equal",
        range=(0, 20),
        bins=40,
        frames=slice(0, 4),
    )
    again = tj.load(tmp_path / "p.npz")
    assert unequal(again, expected) == []
    assert again.labels == (("resname NA+", "name CG"), ("resname NA+", "resid 1:9"))
    assert again[1:].labels == again.labels[1:]
    assert again[1:].density.tolist() == expected.density.tolist()[1:]
    figure = expected.plot()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list(expected.columns)
