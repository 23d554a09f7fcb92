"""Turned boxes are used as distances use them; boxes that are damaged are errors."""

import itertools
import struct
from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.made_files import random_vectors, write_dcd, write_trr, write_with_mdanalysis
from helpers.made_hdf5 import write_h5md
from helpers.messages import raises
from MDAnalysisTests import datafiles

# A box of 91, 62 and 44 degrees as CHARMM stores it, and one that is left-handed.
SYMMETRIC = [[30.8, 14.6, 9.6], [14.6, 31.8, -2.6], [9.6, -2.6, 32.7]]
LEFT_HANDED = [[0.0, 25, 3], [24.0, 0, 2], [1, 2, 26.0]]


def made(folder: Path, vectors: list[list[float]], n: int = 300) -> tj.Trajectory:
    """Return one frame of atoms in this box, every third of which is named CA, as TRR."""
    rng = np.random.default_rng(5)
    positions = (rng.random((n, 3)) * 2 - 0.5) @ np.array(vectors)
    universe = mda.Universe.empty(n, atom_resindex=np.arange(n), n_residues=n, trajectory=True)
    universe.add_TopologyAttr("names", ["CA", "OW", "CL"] * (n // 3))
    universe.add_TopologyAttr("resnames", ["ALA", "SOL", "CL"] * (n // 3))
    universe.add_TopologyAttr("resids", np.arange(1, n + 1))
    universe.atoms.positions = positions
    universe.atoms.write(folder / "top.gro")
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = vectors
    if np.array_equal(vectors, np.transpose(vectors)):
        path = write_dcd(
            folder / "run.dcd",
            positions[np.newaxis].astype(np.float32),
            cells=np.array([[xx, xy, yy, xz, yz, zz]]),
            version=46,
        )
    else:
        path = folder / "run.trr"
        with mda.Writer(str(path), n) as writer:
            writer.write(universe.atoms)
        data = path.read_bytes()
        # MDAnalysis writes nine zeros if it knows no box.
        at = 84
        box = (np.array(vectors) / 10).astype(">f4").tobytes()
        path.write_bytes(data[:at] + box + data[at + 36 :])
    return tj.open(folder / "top.gro", path, sidecar=False)


def near(traj: tj.Trajectory, centre: int, others: np.ndarray, least: float, most: float) -> set:
    """Return the atoms at a distance from an atom by our own distances."""
    found = tj.distances(traj.select([centre]), traj.select(others), frames=[0]).values[0, 0]
    return set(others[(found < most) & (found >= least)].tolist())


@pytest.mark.parametrize("vectors", [SYMMETRIC, LEFT_HANDED])
def test_selections_by_distance_agree_with_distances(
    tmp_path: Path, vectors: list[list[float]]
) -> None:
    """`around`, `sphlayer`, `sphzone` and `isolayer` use the same nearest images."""
    traj = made(tmp_path, vectors)
    everyone = np.arange(traj.n_atoms)
    first = traj.universe.atoms.positions
    for centre in range(0, 40, 4):
        others = np.delete(everyone, centre)
        around = traj.select(f"around 8 index {centre}").indices
        assert set(around.tolist()) == near(traj, centre, others, 0, 8)
        layer = traj.select(f"sphlayer 4 9 index {centre}").indices
        assert set(layer.tolist()) == near(traj, centre, others, 4, 9)
        layer = traj.select(f"isolayer 4 9 index {centre}").indices
        assert set(layer.tolist()) == near(traj, centre, others, 4, 9)
        zone = traj.select(f"sphzone 8 index {centre}").indices
        assert set(zone.tolist()) == near(traj, centre, others, 0, 8) | {centre}
    assert np.array_equal(traj.universe.atoms.positions, first)
    assert np.array_equal(first, traj.read([0]).positions[0])


def test_selections_by_distance_agree_in_files_of_charmm() -> None:
    """The 125 waters of MDAnalysis' tests; 32 of 42 centres differed at 12 Å."""
    traj = tj.open(datafiles.PSF_TRICLINIC, datafiles.DCD_TRICLINIC, sidecar=False)
    oxygens = traj.select("name OH2").indices
    for centre in oxygens[::3]:
        others = np.setdiff1d(oxygens, [centre])
        found = traj.select(f"name OH2 and around 12 index {centre}").indices
        assert set(found.tolist()) == near(traj, centre, others, 0, 12)


def test_selections_of_an_atomgroup_use_our_box() -> None:
    """MDAnalysis' own Universe of the file may be the one that selections are evaluated on."""
    universe = mda.Universe(datafiles.PSF_TRICLINIC, datafiles.DCD_TRICLINIC)
    _ = universe.trajectory[3]
    before = universe.atoms.positions, universe.dimensions
    oxygens = universe.select_atoms("name OH2").indices
    centre = int(oxygens[7])
    result = tj.distances(
        universe.select_atoms(f"index {centre}"), f"name OH2 and around 12 index {centre}"
    )
    traj = tj.open(datafiles.PSF_TRICLINIC, datafiles.DCD_TRICLINIC, sidecar=False)
    others = np.setdiff1d(oxygens, [centre])
    apart = tj.distances(traj.select([centre]), traj.select(others), frames=[3]).values[0, 0]
    assert set(result.partners.tolist()) == set(others[apart < 12].tolist())
    assert np.array_equal(universe.atoms.positions, before[0])
    assert np.array_equal(universe.dimensions, before[1])


def test_axes_are_those_of_the_file(tmp_path: Path) -> None:
    """`prop` and cylinders use the axes of the file, and nearest images are those of its box."""
    traj = made(tmp_path, SYMMETRIC)
    positions = traj.read([0]).positions[0].astype(np.float64)
    z = traj.read([0]).positions[0, :, 2]
    assert np.array_equal(traj.select("prop z > 5").indices, np.flatnonzero(z > 5))
    steps = np.array(list(itertools.product(range(-4, 5), repeat=3)))
    moved = positions[:, np.newaxis] + steps @ np.array(SYMMETRIC)
    point = np.linalg.norm(moved - [1, 2, 3], axis=2).min(axis=1)
    assert np.array_equal(traj.select("point 1 2 3 8").indices, np.flatnonzero(point < 8))
    from_centre = moved - positions[3]
    across, along = np.linalg.norm(from_centre[..., :2], axis=2), from_centre[..., 2]
    inside = (along < 5) & (along > -5) & (across < 8)
    found = traj.select("cyzone 8 5 -5 index 3").indices
    assert np.array_equal(found, np.flatnonzero(inside.any(axis=1)))
    found = traj.select("cylayer 2 8 5 -5 index 3").indices
    assert np.array_equal(found, np.flatnonzero((inside & (across > 2)).any(axis=1)))
    near_3 = set(traj.select("around 8 index 3").indices.tolist())
    found = traj.select("prop z > 5 and around 8 index 3").indices
    assert set(found.tolist()) == near_3 & set(np.flatnonzero(z > 5).tolist())


def test_structures_have_no_box_of_another_orientation(tmp_path: Path) -> None:
    """A turned box is refused before anything is written; if it is dropped, there is a message."""
    traj = made(tmp_path, SYMMETRIC)
    positions = traj.read([0]).positions[0]
    for name in ("new.gro", "new.pdb"):
        top, copy = tmp_path / name, tmp_path / "copy.xtc"
        with raises(tj.OutputError):
            tj.convert(traj, copy, topology=top)
        assert not top.exists()
        assert not copy.exists()
        done = tj.convert(traj, copy, topology=top, allow_loss=True)
        assert any(name in message and "rotated" in message for message in done.messages)
        written = mda.Universe(str(top))
        assert written.dimensions is None
        assert np.abs(written.atoms.positions - positions).max() < 0.006
        copy.unlink()


def test_formats_with_vectors_keep_a_turned_box(tmp_path: Path) -> None:
    """DCD keeps CHARMM's matrix, too; distances in the copy are those of the source."""
    traj = made(tmp_path, SYMMETRIC)
    pairs = traj.select([0, 1, 2]), traj.select([100, 101])
    expected = tj.distances(*pairs).values
    for ending in (".xtc", ".trr", ".h5md", ".dcd"):
        copy = tj.open(None, tj.convert(traj, tmp_path / f"copy{ending}").path)
        again = tj.distances(*(copy.select(pair.indices) for pair in pairs)).values
        assert np.abs(again - expected).max() < 0.02


def test_store_writes_structures_without_a_turned_box(tmp_path: Path) -> None:
    """Its tags keep the vectors, in H5MD too."""
    traj = made(tmp_path, SYMMETRIC)
    pairs = traj.select([0, 1, 2]), traj.select([100, 101])
    expected = tj.distances(*pairs).values
    for form in ("exact", "h5md"):
        profile = tmp_path / f"{form}.toml"
        profile.write_text(
            '[tiers]\nhere = "here"\n[[tags]]\nname = "all"\nselect = "all"\ntier = "here"\n'
            f'format = "{form}"\n'
        )
        tj.Store(tmp_path / "md", create=True).add(form, traj, profile=profile)
        kept = tj.open(f"{tmp_path}/md/{form}")
        again = tj.distances(*(kept.select(pair.indices) for pair in pairs)).values
        assert np.array_equal(again, expected)
    structures = list(tmp_path.rglob("all*.gro"))
    assert len(structures) == 2
    assert all(mda.Universe(str(path)).dimensions is None for path in structures)


N = 12


def xtc(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for y of b."""
    write_with_mdanalysis(path, N, 3)
    data = bytearray(path.read_bytes())
    at = [k for k in range(0, len(data), 4) if data[k : k + 8] == struct.pack(">2i", 1995, N)]
    data[at[1] + 32 : at[1] + 36] = struct.pack(">f", value)
    path.write_bytes(data)


def trr(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for z of a."""
    write_trr(path, ["bx", "bx", "bx"], N, "f4")
    data = bytearray(path.read_bytes())
    at = len(data) // 3 + 24 + 60 + 8
    data[at + 8 : at + 12] = struct.pack(">f", value)
    path.write_bytes(data)


def h5md(path: Path, value: float) -> None:
    """Write three frames; the box of the second has this number for y of b."""
    edges = np.tile(np.diag([3.0, 4, 5]), (3, 1, 1))
    edges[1, 1, 1] = value
    write_h5md(path, random_vectors(3, N), edges=edges)


@pytest.mark.parametrize("write", [xtc, trr, h5md])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_box_that_is_not_finite_is_an_error(
    tmp_path: Path, write: Callable[[Path, float], None], value: float
) -> None:
    """The error names the frame in reading, in analyses and in copies of the bytes."""
    path = tmp_path / f"run.{write.__name__}"
    write(path, value)
    traj = tj.open(None, path)
    assert np.isfinite(traj.read([0, 2]).cells).all()
    with raises(tj.FormatError):
        traj.read()
    with raises(tj.FormatError):
        tj.distances(traj.select([0]), traj.select([1]))
    for ending in {path.suffix, ".trr"}:
        with raises(tj.FormatError):
            tj.convert(traj, tmp_path / f"copy{ending}")
        assert not (tmp_path / f"copy{ending}").exists()
    assert tj.convert(traj, tmp_path / f"copy{path.suffix}", frames=[0, 2]).n_frames == 2


@pytest.mark.parametrize("write", [xtc, trr, h5md])
def test_zero_vectors_are_no_box(tmp_path: Path, write: Callable[[Path, float], None]) -> None:
    """All three vectors are zero."""
    path = tmp_path / f"run.{write.__name__}"
    write(path, 4.0)
    if write is h5md:
        write_h5md(path, random_vectors(3, N), edges=np.zeros((3, 3, 3)))
    else:
        data = bytearray(path.read_bytes())
        at = 16 if write is xtc else 24 + 60 + 8 - 8
        data[at : at + 36] = bytes(36)
        path.write_bytes(data)
    assert np.isnan(tj.open(None, path).read([0]).cells).all()
