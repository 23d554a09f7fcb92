"""`count`, and selections that follow the frame: MDAnalysis' updating groups.

`tests/laws` and `helpers.pool_laws` hold the laws of every analysis.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.made_stores import make_store
from helpers.messages import raises
from helpers.systems import Systems

# Regions, columns and bonds that the atoms of a frame decide about.
TEXTS = {
    "adk.xtc": [
        "name CA and around 6 resid 100",
        "byres around 5 resid 10",
        "same resname as around 4 resid 3",
        "same mass as around 2 resid 1",
        "bonded (name CA and around 6 resid 8)",
        "same fragment as around 3 resid 2",
        "prop z > 0 and not name H*",
        "sphzone 8 resid 100 or name CA",
        "name CA",
    ],
    "solvated.xtc": [
        "name OW and around 3.5 protein",
        "byres (resname SOL and around 3 protein)",
        "isolayer 3 4 resid 50",
        "cyzone 15 20 -20 resid 100",
    ],
    "cobrotoxin.trr": ["name OW and around 3.5 protein", "point 10 10 10 6"],
    "hexagonal.dcd": ["around 5 index 0", "cylayer 3 9 5 -5 index 20"],
}


@pytest.mark.parametrize(("name", "text"), [(name, t) for name in TEXTS for t in TEXTS[name]])
def test_atoms_of_each_frame_are_those_of_mdanalysis(
    systems: Systems, name: str, text: str
) -> None:
    """By one pass on threads, by `read`, and frame by frame."""
    system = systems[name]
    near = system.trajectory.select(text, updating=True)
    group = system.universe.select_atoms(text, updating=True)
    # MDAnalysis goes through all bonds in Python.
    step = 97 if "bonded" in text else 3
    some = slice((system.trajectory.n_frames - 1) % step, None, step)
    expected = [group.indices.copy() for _ in system.universe.trajectory[some]]
    counts = tj.count(near, frames=some)
    assert counts.values.tolist() == [len(atoms) for atoms in expected]
    assert counts.report["parameters"]["updating"] is True
    frames = near.read(frames=some)
    for frame, atoms in zip(frames, expected, strict=True):
        assert np.array_equal(frame.indices, atoms)
        assert frame.positions.shape == (len(atoms), 3)
    assert near[-1].positions.tobytes() == frames[-1].positions.tobytes()
    last = near.at(system.trajectory.n_frames - 1)
    assert np.array_equal(last.indices, expected[-1])
    whole = system.trajectory.read(frames=[-1]).positions[0]
    assert frames[-1].positions.tobytes() == whole[expected[-1]].tobytes()


def test_functions_get_the_atoms_of_the_frame(long_adk: Adk) -> None:
    """Their positions, the cell and the indices, in processes too; a frame may have none."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    near = traj.select("name CA and around 5.5 resid 100", updating=True)

    def about(positions: np.ndarray, cell: np.ndarray, atoms: np.ndarray) -> list[float]:
        assert cell.shape == (6,)
        assert atoms.dtype == np.int64
        return [len(positions), positions.sum(dtype=float), atoms.sum()]

    pools: list[tj.Pool] = [
        tj.LocalPool(threads=1),
        tj.LocalPool(threads=3, task_frames=5),
        tj.ProcessPool(workers=2, task_frames=50),
    ]
    found = [tj.apply(near, about, cells=True, indices=True, pool=pool).values for pool in pools]
    assert {values.tobytes() for values in found} == {found[0].tobytes()}
    expected = [
        [len(frame.indices), frame.positions.sum(dtype=float), frame.indices.sum()]
        for frame in near
    ]
    assert found[0].tolist() == expected
    assert len({count for count, *_ in expected}) > 1
    none = traj.select("name CA and around 0.5 resid 100", updating=True)
    assert not tj.count(none, frames=slice(10)).values.any()
    assert tj.apply(none, len, frames=slice(10)).values.tolist() == [0] * 10
    assert none[3].positions.shape == (0, 3)
    with raises(tj.SelectionError):
        none.at(3)
    # Of other selections, the same atoms in every frame.
    calpha = traj.select("name CA")
    fixed = tj.apply(calpha, lambda _, atoms: atoms.sum(), indices=True, frames=[5])
    assert fixed.values.tolist() == [calpha.indices.sum()]
    assert tj.count(calpha, frames=slice(4)).values.tolist() == [214] * 4


def test_only_needed_atoms_are_read(adk: Adk) -> None:
    """A count needs the atoms that decide the selection; positions, those it may select."""
    traj = tj.open(adk.psf, adk.xtc)
    calpha, ten = traj.select("name CA").indices, traj.select("resid 10").indices
    near = traj.select("name CA and around 6 resid 10", updating=True)
    both = np.union1d(calpha, ten)
    assert np.array_equal(near.prepared(has_selected=False)[1], both)
    # Residues are selected as a whole, and one atom of each that may be selected decides.
    water = traj.select("resid 1:50 and byres (name CA and around 6 resid 10)", updating=True)
    of_part = np.union1d(traj.select("resid 1:50 and name CA").indices, ten)
    assert np.array_equal(water.prepared(has_selected=False)[1], of_part)
    part = traj.select("resid 1:50").indices
    assert np.array_equal(water.prepared(has_selected=True)[1], part)
    assert len(traj.select("name CA", updating=True).prepared(has_selected=False)[1]) == 0


def test_open_tags_of_a_data_set_are_selected_among(tmp_path: Path) -> None:
    """Indices stay those of the original, and tags without needed atoms are not opened."""
    wet = make_store(tmp_path)
    text = "name OW and around 4 resname NA+"
    plainly = tj.open(wet.gro, wet.xtc).select(text, updating=True).read()
    for tags in (["ion", "water"], ["ion", "water", "protein"]):
        traj = wet.store.open("wet", tags=tags)
        near = traj.select(text, updating=True)
        counts = tj.count(near)
        assert counts.values.tolist() == [len(frame.indices) for frame in plainly]
        for here, there in zip(near.read(), plainly, strict=True):
            assert np.array_equal(here.indices, there.indices)
            assert here.positions.tobytes() == there.positions.tobytes()
    read = counts.report["tags"]
    assert read["protein"] == 0
    assert read["water"] > 0


def test_places_are_those_after_the_transforms(adk: Adk, systems: Systems) -> None:
    """The transforms are those of the trajectory, or of the selection."""
    traj = tj.open(adk.psf, adk.xtc)
    above = traj.select("prop z > 10 and name CA", updating=True)
    moved = traj.translate([0, 0, 10]).select("prop z > 20 and name CA", updating=True)
    counts = tj.count(above).values
    assert len(set(counts.tolist())) > 1
    x = traj.select("name CA").read().positions[:, :, 2]
    assert counts.tolist() == (x > 10).sum(axis=1).tolist()
    after = np.float32(x.astype(np.float64) + 10)
    assert tj.count(moved).values.tolist() == (after > 20).sum(axis=1).tolist()
    assert tj.count(above.translate([0, 0, 500])).values.tolist() == [214] * 98


@pytest.mark.parametrize(
    "use",
    [
        tj.gyration,
        tj.rmsf,
        tj.rdf,
        lambda near: tj.rmsd(near.trajectory.select("name CA"), groups=[near]),
        lambda near: tj.convert(near, "never.xtc"),
    ],
)
def test_analyses_that_need_the_same_atoms_refuse(
    adk: Adk, use: Callable[[object], object]
) -> None:
    """They say so, and what takes such a selection."""
    near = tj.open(adk.psf, adk.xtc).select("around 5 resid 10", updating=True)
    with raises(tj.SelectionError):
        use(near)


def test_what_cannot_be_selected_is_an_error(adk: Adk, tmp_path: Path) -> None:
    """Texts, arguments, frames without positions and cells without volume."""
    traj = tj.open(adk.psf, adk.xtc)
    with raises(tj.SelectionError):
        traj.select("arund 5 resid 10", updating=True)
    with raises(tj.SelectionError):
        traj.select("resname NONE", updating=True)
    with raises(TypeError):
        traj.select([1, 2], updating=True)  # type: ignore[call-overload]
    near = traj.select("around 5 resid 10", updating=True)
    with raises(ValueError):
        tj.apply(near, len, per="block")
    with raises(TypeError):
        traj.center(near)  # type: ignore[arg-type]
    x = np.random.default_rng(1).uniform(0, 3, (3, 3341, 3))
    cells = [plain.cell_vectors(np.array([30.0] * 3 + [90.0] * 3)) / 10] * 3
    path = trr_bytes.write_trr(tmp_path / "few.trr", [x[0], None, x[2]], boxes=cells)
    near = tj.open(adk.psf, path).select("around 5 resid 10", updating=True)
    with raises(tj.AnalysisError):
        tj.count(near)
    with raises(tj.SelectionError):
        near.read()
