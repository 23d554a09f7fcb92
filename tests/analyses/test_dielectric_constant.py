"""Dielectric constants: values, intervals, and molecules that have no dipole moment."""

from pathlib import Path

import MDAnalysis as mda
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.messages import raises
from MDAnalysis.analysis.dielectric import DielectricConstant
from trajet.analysis.unwrapped_positions import are_made_whole
from trajet.messages import Code


@pytest.fixture(scope="module")
def water() -> tj.Selection:
    """Return the water of the sample."""
    return tj.samples.peptide_in_water().open().whole().select("resname HOH")


def test_values_equal_those_of_other_programs(water: tj.Selection) -> None:
    """MDAnalysis makes molecules whole itself, mdtraj places atoms next to the first of each."""
    topology, trajectory = tj.samples.peptide_in_water().files
    found = tj.dielectric_constant(water, temperature=310)
    universe = mda.Universe(str(topology), str(trajectory))
    there = DielectricConstant(
        universe.select_atoms("resname HOH"), temperature=310, make_whole=True
    ).run()
    # Its constants are those of CODATA 2010.
    assert found.values[-1] == pytest.approx(there.results.eps_mean, rel=1e-5)
    loaded = mdtraj.load(str(trajectory), top=mdtraj.load_psf(str(topology)))
    loaded = loaded.atom_slice(water.indices)
    charges = water.topology_atoms.column("charges")
    constant = mdtraj.static_dielectric(loaded, charges, 310)
    assert found.values[-1] == pytest.approx(constant, rel=1e-4)
    number = found.scalars()
    assert number["dielectric_constant"] == found.values[-1]
    assert 0 < number["dielectric_constant_half_width_95"] < np.inf
    assert Code.NOT_RESOLVED in [one.code for one in found.messages]


def test_running_values_are_those_of_fewer_frames(water: tj.Selection) -> None:
    """By the formula, with the constants of CODATA."""
    found = tj.dielectric_constant(water, temperature=300)
    charges = water.topology_atoms.column("charges")
    block = water.read()
    dipoles = np.einsum("i,tij->tj", charges, block.positions.astype(np.float64))
    assert np.allclose(found.parts["dipole"].values, dipoles, atol=1e-3)
    unit = 1.602176634e-19**2 * 1e10 / (3 * 8.8541878188e-12 * 1.380649e-23 * 300)
    for n in (1, 2, 17, 100):
        squares = (dipoles[:n] ** 2).sum(axis=1).mean() - (dipoles[:n].mean(axis=0) ** 2).sum()
        expected = 1 + unit * squares / block.cells[:n, :3].prod(axis=1).mean()
        assert found.values[n - 1] == pytest.approx(expected, rel=1e-4)
        few = tj.dielectric_constant(water, temperature=300, frames=range(n))
        assert few.values[-1] == pytest.approx(found.values[n - 1], rel=1e-9)
    assert found.axis("time")["time"].tolist() == block.times.tolist()
    assert_same_bits_on_any_pool(
        lambda pool: tj.dielectric_constant(water, temperature=300, pool=pool).values
    )


def test_interval_is_that_of_a_mean(water: tj.Selection) -> None:
    """Of squares of the dipole moment, corrected for the volume of each frame."""
    found = tj.dielectric_constant(water, temperature=300)
    dipoles = found.parts["dipole"].values
    volumes = water.read().cells[:, :3].prod(axis=1)
    squares = ((dipoles - dipoles.mean(axis=0)) ** 2).sum(axis=1)
    share = squares / squares.mean() - volumes / volumes.mean()
    stats = tj.statistics((found.values[-1] - 1) * share)
    assert abs(stats.mean) < 1e-9
    half = found.scalars()["dielectric_constant_half_width_95"]
    assert half == pytest.approx(max(-stats.interval[0], stats.interval[1]), rel=1e-6)


def test_charged_and_broken_molecules_are_errors(tmp_path: Path) -> None:
    """Ions, parts of molecules, molecules across the box; and topologies without bonds."""
    raw = tj.samples.peptide_in_water().open()
    for selection in (
        raw.whole().select("resname NA HOH"),
        raw.whole().select("resname HOH and name O"),
        tj.samples.molten_salt().open().all_atoms(),
    ):
        with raises(tj.SelectionError):
            tj.dielectric_constant(selection, temperature=300)
    with raises(tj.AnalysisError):
        tj.dielectric_constant(raw.select("resname HOH"), temperature=300)
    with raises(ValueError):
        tj.dielectric_constant(raw.whole().select("resname HOH"), temperature=-1.0)
    water = raw.whole().select("resname HOH").read([0, 1]).positions
    path = tmp_path / "without.dcd"
    tj.write(path, raw.whole().all_atoms().read([0, 1]).positions)
    without = tj.open(raw.topology_path, path).select("resname HOH")
    assert without.read().positions.shape == water.shape
    with raises(tj.AnalysisError):
        tj.dielectric_constant(without, temperature=300)


def test_wrapping_of_residues_breaks_molecules_that_were_whole() -> None:
    """Of several transforms the order counts."""
    raw = tj.samples.peptide_in_water().open()
    whole = raw.whole()
    for trajectory, expected in (
        (raw, False),
        (whole, True),
        (whole.wrap(), True),
        (whole.wrap(by="residue"), False),
        (whole.wrap(by="atom").center("protein"), False),
        (raw.wrap(by="residue").whole(), True),
    ):
        steps = [step.words for step in trajectory.transforms]
        assert are_made_whole(steps) == expected, steps
