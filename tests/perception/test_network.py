"""Networks of ligands: the depiction, the residues, and the lines between them."""

import sys

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from trajet.plots.network import _spread


@pytest.fixture(scope="module")
def traj() -> tj.Trajectory:
    """Return the sample with a phenol."""
    return tj.samples.peptide_in_water().open()


@pytest.fixture(scope="module")
def found(traj: tj.Trajectory) -> tj.Interactions:
    """Return all interactions of the phenol."""
    ligand = traj.select("resname IPH")
    return tj.interactions(ligand, "protein", template="Oc1ccccc1", list_all=True)


def _texts(axes: Axes) -> dict[str, Text]:
    return {text.get_text(): text for text in axes.texts}


@pytest.mark.parametrize("least", [0.1, 0.3])
def test_lines_are_the_pairs_with_their_occupancies(
    traj: tj.Trajectory, found: tj.Interactions, least: float
) -> None:
    """One for each pair and kind, as wide as it is frequent, to the label of the residue."""
    (axes,) = tj.interaction_network(found, traj, min_occupancy=least).axes
    pairs = found.pairs
    rows = np.flatnonzero(pairs.occupancies >= least)
    texts = _texts(axes)
    labels = [pairs.labels()[row].split()[2] for row in rows]
    assert {*labels} == {*texts} - {"O"} - {name for name in texts if name.endswith("%")}
    percents = sorted(text.get_text() for text in axes.texts if text.get_text().endswith("%"))
    assert percents == sorted(f"{100 * pairs.occupancies[row]:.0f} %" for row in rows)
    # Bonds of the ring and of the oxygen are in front.
    links = [line for line in axes.lines if line.get_zorder() == 1]
    assert len(axes.lines) - len(links) == 7
    widths = sorted(line.get_linewidth() for line in links)
    np.testing.assert_allclose(widths, np.sort(0.5 + 4.5 * pairs.occupancies[rows]))
    ends = sorted(tuple(line.get_xydata()[1]) for line in links)
    assert ends == sorted(texts[label].get_position() for label in labels)


def test_lines_begin_at_atoms_and_centres_of_rings(
    traj: tj.Trajectory, found: tj.Interactions
) -> None:
    """Of hydrophobic contacts at a carbon, of rings in the middle of six."""
    (axes,) = tj.interaction_network(found, traj, min_occupancy=0.1).axes
    atoms = np.unique(
        np.concatenate([one.get_xydata() for one in axes.lines if one.get_zorder() == 2]).round(6),
        axis=0,
    )
    assert len(atoms) == 7
    for line in axes.lines:
        if line.get_zorder() == 1 and line.get_label() != "_nolegend_":
            apart = np.hypot(*(atoms - line.get_xydata()[0]).T)
            is_ring = line.get_label().startswith("pi-")
            assert np.count_nonzero(apart < (1.2 if is_ring else 0.2)) == (6 if is_ring else 1)


def test_axes_of_a_user_are_returned(traj: tj.Trajectory, found: tj.Interactions) -> None:
    """Which hold the network; none of the residues is there beyond all occupancies."""
    axes = Figure().subplots()
    assert tj.interaction_network(found, traj, min_occupancy=1.1, ax=axes) is axes
    assert [*_texts(axes)] == ["O"]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 30])
def test_residues_are_apart_on_the_circle(n: int) -> None:
    """Whatever their directions; those that are apart already stay."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        angles = np.sort(rng.uniform(-np.pi, np.pi, n))
        apart = min(0.2, 2 * np.pi / max(1, n))
        moved = _spread(angles, apart)
        gaps = np.diff(moved, append=moved[:1] + 2 * np.pi)
        assert gaps.min(initial=apart) >= 0.98 * apart
        np.testing.assert_allclose(_spread(moved, apart - 0.01), moved)


def test_impossible_networks_are_refused(
    traj: tj.Trajectory, found: tj.Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a list, of several residues, and without RDKit."""
    without = tj.interactions(traj.select("protein"), kinds="hydrophobic")
    listed = tj.interactions(traj.select("protein"), kinds="hydrophobic", list_all=True)
    for one in (without, listed):
        with raises(ValueError):
            tj.interaction_network(one, traj)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with raises(tj.MissingPackageError):
        tj.interaction_network(found, traj)
