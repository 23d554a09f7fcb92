"""Densities on a grid and along an axis: MDAnalysis' and NumPy's numbers, files and laws."""

from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from click.testing import CliRunner
from helpers import plain_geometry as plain
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.made_files import random_vectors, write_dcd
from helpers.messages import raises
from helpers.result_laws import assert_result_laws
from helpers.systems import Systems
from MDAnalysis.analysis.density import Density as OpenDX
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.lineardensity import LinearDensity
from MDAnalysisTests import datafiles
from trajet.cli.group import commands

# g/cm³ of 1 u/Å³
GRAMS = 1.66053906660


@pytest.fixture(scope="module")
def wet() -> tj.Trajectory:
    """Return adenylate kinase in water, with masses and charges."""
    return tj.open(datafiles.TPR, datafiles.XTC)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "cobrotoxin.trr"])
def test_grid_is_that_of_mdanalysis(systems: Systems, name: str) -> None:
    """The same voxels, and the same counts in each of them."""
    system = systems[name]
    atoms = system.universe.select_atoms("name CA OW")
    for spacing, padding in ((1.0, 2.0), (2.5, 0.0)):
        analysis = DensityAnalysis(atoms, delta=spacing, padding=padding).run()
        theirs = analysis.results.density
        ours = tj.density(system.trajectory.select(atoms.indices), spacing=spacing, padding=padding)
        assert ours.values.shape == theirs.grid.shape
        for own, other in zip(ours.edges, theirs.edges, strict=True):
            # MDAnalysis takes the extent in float32.
            assert np.abs(own - other).max() < 1e-4
        assert ours.units == "1/Å³"
        # At most a few atoms lie within rounding of a face.
        counts, expected = (
            g * spacing**3 * len(system.universe.trajectory) for g in (ours.values, theirs.grid)
        )
        assert np.abs(counts - np.rint(counts)).max() < 1e-6
        assert np.abs(counts - expected).sum() < 1e-4 * expected.sum()


@pytest.mark.parametrize("quantity", ["number", "mass", "charge"])
def test_voxels_are_those_of_numpy(wet: tj.Trajectory, quantity: str) -> None:
    """Numbers, masses and charges on a given grid; the report counts atoms outside."""
    selection = wet.select("protein or name OW")
    result = tj.density(
        selection, quantity=quantity, grid_center=(30, 30, 30), grid_size=(40, 30, 20)
    )  # type: ignore[arg-type]
    assert result.values.shape == (40, 30, 20)
    assert [edges[[0, -1]].tolist() for edges in result.edges] == [[10, 50], [15, 45], [20, 40]]
    atoms = selection.topology_atoms
    weights = {
        "number": np.ones(selection.n_atoms),
        "mass": atoms.column("masses"),
        "charge": atoms.column("charges"),
    }[quantity]
    x = selection.read().positions.astype(np.float64)
    # NumPy counts atoms on the upper faces in the last voxels: they lie outside.
    x[(x == [50, 45, 40]).any(axis=2)] = 1e3
    expected = sum(np.histogramdd(one, result.edges, weights=weights)[0] for one in x) / len(x)
    factor = GRAMS if quantity == "mass" else 1
    assert np.abs(result.values - expected * factor).max() < 1e-9
    inside = np.histogramdd(x.reshape(-1, 3), result.edges)[0].sum()
    share = 100 * (1 - inside / x[..., 0].size)
    assert f"{share:.3g} % of the atoms" in " ".join(result.messages)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_profile_of_a_rectangular_box_is_that_of_mdanalysis(axis: str) -> None:
    """MDAnalysis' grid spans the largest edge, and its volume is that of the first frame."""
    traj = tj.open(datafiles.PDB_sub_sol, datafiles.TRR_sub_sol)
    universe = mda.Universe(datafiles.PDB_sub_sol, datafiles.TRR_sub_sol)
    universe.add_TopologyAttr("charges", np.zeros(len(universe.atoms)))
    # MDAnalysis guesses no mass of the virtual sites of water.
    atoms, edges = universe.select_atoms("not name MW"), universe.dimensions[:3].copy()
    theirs = LinearDensity(atoms, binsize=edges.max() / 60.5).run(stop=1).results[axis]
    assert np.ptp(edges) < 1e-4  # a cube
    ours = tj.linear_density(
        traj.select("not name MW"),
        axis=axis,
        bins=len(theirs.mass_density),
        frames=[0],  # type: ignore[arg-type]
    )
    assert ours.units == "g/cm³"
    # Atoms within rounding of a face are in one slice or the other.
    off = np.abs(ours.values - theirs.mass_density)
    assert (off > 1e-4).sum() <= 4
    assert np.abs(off.sum()) < 1e-3 * theirs.mass_density.sum()
    assert abs(ours.values.mean() - theirs.mass_density.mean()) < 1e-6


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_profile_equals_slices_of_each_cell(wet: tj.Trajectory, axis: int) -> None:
    """In a rhombic dodecahedron that changes: fractions of the cell, volumes of each frame."""
    chosen = [wet.select("protein"), "resname SOL"]
    result = tj.linear_density(chosen, axis="xyz"[axis], quantity="number", bins=37)  # type: ignore[arg-type]
    heights = []
    for k, text in enumerate(("protein", "resname SOL")):
        block = wet.select(text).read()
        expected = np.zeros(37)
        for x, cell in zip(block.positions.astype(np.float64), block.cells, strict=True):
            vectors = plain.cell_vectors(cell)
            part = np.linalg.solve(vectors.T, x.T)[axis] % 1
            volume = abs(np.linalg.det(vectors))
            expected += np.histogram(part, 37, (0, 1))[0] / (volume / 37)
            faces = np.linalg.norm(np.cross(vectors[axis - 1], vectors[axis - 2]))
            heights.append(volume / faces)
        assert np.abs(result.values[:, k] - expected / len(block.cells)).max() < 1e-12
    assert abs(result.edges[-1] - np.mean(heights)) < 1e-9
    assert np.abs(np.diff(result.position) - result.edges[-1] / 37).max() < 1e-9
    # The normal of a face is an axis for z alone.
    direction = ("the normal of the b-c face", "the normal of the a-c face", "z")[axis]
    assert result.direction == result.report["parameters"]["direction"] == direction
    assert result.plot().axes[0].get_xlabel() == f"{direction} (Å)"
    assert f"number density along {direction}, " in repr(result)


def test_direction_is_that_of_all_frames(tmp_path: Path) -> None:
    """A single triclinic cell in the middle makes the slices those of a face."""
    cells = np.tile([30.0, 90, 30, 90, 90, 30], (9, 1))
    cells[4, 1] = 60
    path = write_dcd(tmp_path / "tilted.dcd", random_vectors(9, 40), cells=cells)
    atoms = tj.open(None, path).all_atoms()
    for axis, direction in (("x", "the normal of the b-c face"), ("z", "z")):
        result = tj.linear_density(atoms, axis=axis, quantity="number")  # type: ignore[arg-type]
        assert result.direction == direction
    others = [0, 1, 2, 3, 5, 6, 7, 8]
    assert tj.linear_density(atoms, axis="x", quantity="number", frames=others).direction == "x"


def test_charges_of_a_neutral_system_cancel(wet: tj.Trajectory) -> None:
    """The sum over all slices is the charge of the system, and the mass that of its atoms."""
    everything = wet.select("all")
    charge = tj.linear_density(everything, quantity="charge")
    volume = charge.report["parameters"]["mean_volume"]
    assert charge.units == "e/Å³"
    assert abs(charge.values.mean() * volume) < 1e-3
    water = wet.select("resname SOL")  # with virtual sites, whose mass is 0
    mass = tj.linear_density(water, frames=[3])
    volume = mass.report["parameters"]["mean_volume"]
    total = water.topology_atoms.column("masses").sum()
    assert abs(mass.values.mean() - total / volume * GRAMS) < 1e-9


def test_order_of_frames_changes_no_bit(adk: Adk) -> None:
    """Counts are integers."""
    given = {"spacing": 8.0, "grid_center": (0, 0, 0), "grid_size": 90.0}
    dry = tj.open(adk.psf, adk.xtc).select("backbone")
    there = tj.density(dry, frames=slice(0, 40), **given).values  # type: ignore[arg-type]
    back = tj.density(dry, frames=slice(39, None, -1), **given).values  # type: ignore[arg-type]
    assert np.array_equal(there, back)


def test_transforms_come_first(wet: tj.Trajectory) -> None:
    """A fitted protein stays in its voxels."""
    fitted = wet.whole().fit("name CA")
    protein = tj.density(fitted.select("name CA"), spacing=2)
    moving = tj.density(wet.whole().select("name CA"), spacing=2)
    assert (protein.values > 0).sum() < (moving.values > 0).sum()


def test_bad_requests_are_errors_that_say_what_to_do(adk: Adk, tmp_path: Path) -> None:
    """No cell, no charges, grids without voxels or with too many, unknown words."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(tj.AnalysisError):
        tj.linear_density(calpha)
    gro = tj.open(datafiles.GRO, datafiles.XTC).select("protein")
    with raises(tj.SelectionError):
        tj.density(gro, quantity="charge")
    for options in (
        {"spacing": 0},
        {"padding": -1},
        {"grid_size": (1, 2)},
        {"grid_size": -3.0},
        {"grid_center": (0, 0)},
        {"spacing": 1e-3},
        {"quantity": "colour"},
    ):
        with raises(ValueError):
            tj.density(calpha, **options)  # type: ignore[arg-type]
    with raises(ValueError):
        tj.linear_density(gro, axis="w")  # type: ignore[arg-type]
    for bins in (0, 10**12):
        with raises(ValueError):
            tj.linear_density(gro, bins=bins)
    x = np.random.default_rng(5).uniform(0, 3, (3, 4, 3))
    x[0, 2, 0] = np.nan
    path = trr_bytes.write_trr(tmp_path / "nan.trr", x, boxes=[np.eye(3) * 3] * 3)
    lost = tj.open(None, path).select(range(4))
    with raises(tj.AnalysisError):
        tj.density(lost)
    with raises(tj.AnalysisError):
        tj.density(lost, grid_center=(15, 15, 15), grid_size=30.0)
    with raises(tj.AnalysisError):
        tj.linear_density(lost, quantity="number")
    assert np.isnan(tj.linear_density(lost, quantity="number", frames=[]).values).all()
    one = tj.density(lost, frames=[1], grid_size=6.0, spacing=4.0)
    assert one.values.shape == (2, 2, 2)


def test_charges_that_are_all_zero_are_unknown(tmp_path: Path) -> None:
    """VMD writes such PSF files: a density of 0 would be no answer."""
    lines = Path(datafiles.PSF).read_text().splitlines()
    begin = next(k for k, line in enumerate(lines) if "!NATOM" in line) + 1
    for k in range(begin, begin + 3341):
        lines[k] = f"{lines[k][:34]}{0:10.6f}{lines[k][44:]}"
    (tmp_path / "zero.psf").write_text("\n".join([*lines, ""]))
    everything = tj.open(tmp_path / "zero.psf", datafiles.DCD).select("all")
    with raises(tj.SelectionError):
        tj.linear_density(everything, quantity="charge")


def test_grids_are_written_for_viewers(wet: tj.Trajectory, tmp_path: Path) -> None:
    """OpenDX, by function and command, is read by another program."""
    result = tj.density(wet.select("name CA"), spacing=3.7)
    result.save(tmp_path / "ca.dx")
    words = [datafiles.TPR, datafiles.XTC, "--select", "name CA", "--spacing", "3.7"]
    save = ["--save", f"grid={tmp_path}/command.dx"]
    done = CliRunner().invoke(commands, ["density", *words, *save])
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "command.dx") in done.output
    assert (tmp_path / "command.dx").read_bytes() == (tmp_path / "ca.dx").read_bytes()
    read = OpenDX(str(tmp_path / "ca.dx"))
    assert read.grid.shape == result.values.shape
    assert np.abs(read.grid - result.values).max() < 1e-10
    assert np.abs(read.origin - result.origin).max() < 1e-12
    assert np.abs(read.delta - 3.7).max() < 1e-12
    for own, other in zip(result.edges, read.edges, strict=True):
        assert np.abs(own - other).max() < 1e-9
    with raises(ValueError):
        result.save(tmp_path / "ca.ccp4")
    assert [axes.get_xlabel() for axes in result.plot().axes[:3]] == ["x (Å)", "x (Å)", "y (Å)"]


def test_slices_have_the_edges_of_their_bins(wet: tj.Trajectory, tmp_path: Path) -> None:
    """Of a grid and of a profile, whose bins must follow one another."""
    result = tj.density(wet.select("name CA"), spacing=3.7)
    assert result[1:3].x.tolist() == result.x[1:4].tolist()
    assert abs(result[1:3].origin[0] - result.origin[0] - 3.7) < 1e-9
    profile = tj.linear_density([wet.select("protein"), "name OW"], bins=9, quantity="number")
    assert profile.plot().axes[0].get_xlabel() == "z (Å)"
    assert_result_laws(tj.linear_density(wet.select("protein"), bins=5), tmp_path)
    assert profile[2:5].edges.tolist() == profile.edges[2:6].tolist()
    for one in (result, profile):
        with raises(ValueError):
            one[::2]
