"""Coordination numbers: a search through all pairs by MDAnalysis, a twin, and known places."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.messages import raises
from MDAnalysis.lib.distances import capped_distance
from trajet.messages import Code

SPECIES = ("free", "solvent-separated", "contact pair", "aggregate")


@pytest.fixture(scope="module")
def melt() -> tj.Trajectory:
    """Return the sample of molten salt."""
    return tj.samples.molten_salt().open()


def neighbours(a: tj.Selection, b: tj.Selection, cutoff: float) -> np.ndarray:
    """Return the neighbours of each atom in each frame by MDAnalysis, `(n_frames, n_atoms)`."""
    found = []
    first, second = a.read(), b.read()
    for one, other, cell in zip(first.positions, second.positions, first.cells, strict=True):
        pairs = capped_distance(one, other, cutoff, box=cell, return_distances=False)
        pairs = pairs[a.indices[pairs[:, 0]] != b.indices[pairs[:, 1]]]
        found.append(np.bincount(pairs[:, 0], minlength=len(one)))
    return np.array(found)


@pytest.mark.parametrize("pair", [("element Na", "element Cl"), ("element Cl", None)])
def test_numbers_are_those_of_mdanalysis(melt: tj.Trajectory, pair: tuple[str, str | None]) -> None:
    """Of each frame, of both shells, their distribution, and the species."""
    main, other = melt.select(pair[0]), melt.select(pair[1] or pair[0])
    inner, outer = neighbours(main, other, 4.1), neighbours(main, other, 6.3)
    result = tj.coordination(
        main, pair[1], cutoff=4.1, outer_cutoff=6.3, speciation=True, errors=True
    )
    assert np.array_equal(result.values[:, 0], inner.mean(axis=1))
    assert np.allclose(result.values[:, 1], (outer - inner).mean(axis=1), rtol=1e-14)
    for name, numbers in (("distribution", inner), ("outer_distribution", outer - inner)):
        counts = np.bincount(numbers.ravel())
        part = result.parts[name]
        assert part.also["count"].tolist() == counts.tolist()
        assert np.allclose(part.values, counts / counts.sum(), rtol=1e-14)
        assert part.values.sum() == pytest.approx(1)
    species = result.parts["species"]
    assert species.columns == SPECIES
    expected = [outer == 0, (inner == 0) & (outer > 0), inner == 1, inner > 1]
    assert np.array_equal(species.values, np.stack(expected, axis=2).sum(axis=1))
    only = tj.coordination(main, pair[1], cutoff=4.1)
    assert np.array_equal(only.values, result.values[:, 0])
    assert len(only.parts) == 1


def test_residues_count_once(tmp_path: Path) -> None:
    """By a twin in water: residues any atom of which is near, but not the residue itself."""
    water = tj.samples.peptide_in_water().open()
    protein, solvent = water.select("protein"), water.select("water and around 6 protein")
    result = tj.coordination(protein, solvent, cutoff=3.0, by="residue", frames=range(4))
    first, second = (one.topology_atoms.residues for one in (protein, solvent))
    for k in range(4):
        a, b = protein.read(frames=[k]), solvent.read(frames=[k])
        pairs = capped_distance(
            a.positions[0], b.positions[0], 3.0, box=a.cells[0], return_distances=False
        )
        keys = {(int(first[i]), int(second[j])) for i, j in pairs}
        assert result.values[k] == len(keys) / len(np.unique(first))
    within = tj.coordination(protein, cutoff=3.0, by="residue", frames=[0])
    both = tj.coordination(protein, protein, cutoff=3.0, by="residue", frames=[0])
    residues = protein.read(frames=[0])
    pairs = capped_distance(
        *[residues.positions[0]] * 2, 3.0, box=residues.cells[0], return_distances=False
    )
    keys = {(first[i], first[j]) for i, j in pairs if first[i] != first[j]}
    assert within.values[0] == both.values[0] == len(keys) / 10


def test_known_ions_have_their_species(tmp_path: Path) -> None:
    """A free ion, one that is separated, a pair at the cut-off over the border, an aggregate."""
    cations = [[5, 5, 5], [25, 5, 5], [39, 25, 5], [20, 30, 30]]
    anions = [[25, 5, 10], [2, 25, 5], [18, 30, 30], [20, 32, 30], [21, 31, 30]]
    path = xtc_bytes.write_xtc(
        tmp_path / "ions.xtc", np.array([cations + anions]) / 10, box=np.eye(3) * 4
    )
    traj = tj.open(None, path)
    options = {"cutoff": 3.0, "outer_cutoff": 6.0, "speciation": True}
    result = tj.coordination(traj.select(range(4)), traj.select(range(4, 9)), **options)
    assert result.values[0].tolist() == [1.0, 0.25]
    assert result.parts["species"].values[0].tolist() == [1, 1, 1, 1]
    apart = tj.coordination(traj.select(range(4)), traj.select(range(4, 9)), pbc=False, **options)
    assert apart.parts["species"].values[0].tolist() == [2, 1, 0, 1]
    assert apart.parts["distribution"].values.tolist() == [0.75, 0, 0, 0.25]


def test_more_neighbours_than_are_told_apart(tmp_path: Path) -> None:
    """64 or more have one place; the mean number counts all of them."""
    crowd = np.random.default_rng(1).uniform(0, 0.1, (1, 71, 3))
    traj = tj.open(None, xtc_bytes.write_xtc(tmp_path / "a.xtc", crowd, box=np.eye(3) * 4))
    result = tj.coordination(traj, cutoff=5.0)
    part = result.parts["distribution"]
    assert result.values.tolist() == [70]
    assert part.axes[0].labels()[-2:] == ["63", "64 or more"]
    assert part.values.tolist() == [0] * 64 + [1]


def test_errors_and_messages(melt: tj.Trajectory) -> None:
    """Of cut-offs that contradict each other, one atom, nm; blocks give errors of fractions."""
    sodium = melt.select("element Na")
    for options in ({"outer_cutoff": 3.0}, {"speciation": True}, {"by": "molecule"}):
        with raises(ValueError):
            tj.coordination(sodium, cutoff=4.0, **options)
    with raises(tj.SelectionError):
        tj.coordination(melt.select([3]), cutoff=4.0)
    with raises(tj.AnalysisError):
        tj.coordination(sodium, cutoff=40.0)
    found = tj.coordination(sodium, "element Cl", cutoff=0.3)
    assert Code.UNITS in [message.code for message in found.messages]
    part = tj.coordination(sodium, "element Cl", cutoff=4.1, errors=True).parts["distribution"]
    assert (part.half_widths[2:6] > 0).all()
