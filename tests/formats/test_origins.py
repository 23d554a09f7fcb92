"""Boxes that do not begin at 0: what wraps into a cell, or divides it, begins at its corner."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis
from helpers.golden_files import same_bits
from helpers.lammps_dumps import BOXES, Frame, snapshot, write
from helpers.made_files import write_names
from helpers.messages import raises
from trajet import viewer
from trajet.messages import Code
from trajet.viewer.layers import make_layer

RANDOM = np.random.default_rng(3)
N_FRAMES, N_ATOMS, AXES = 3, 30, range(3)
ORIGINS = np.array([[10.0, 20, 30], [9.5, 21, -28], [-50, 0, 7]])
FRACTIONS = RANDOM.uniform(-1.5, 2.5, (N_FRAMES, N_ATOMS, 3))
# Inside of the cell along c.
INSIDE = FRACTIONS * [1, 1, 0] + RANDOM.random((N_FRAMES, N_ATOMS, 3)) * [0, 0, 1]
REAL: "tj.FormatOptions" = {"lammps": {"units": "real", "md_step": 2.0}}


def dump(
    path: Path, form: str, fractions: np.ndarray = FRACTIONS, boundaries: str = "pp pp pp"
) -> tj.Trajectory:
    """Write and open a dump of atoms at fractions of cells that begin at `ORIGINS`."""
    texts = []
    for k, (origin, at) in enumerate(zip(ORIGINS, fractions, strict=True)):
        box = replace(BOXES[form], origin=origin, boundaries=boundaries)
        frame = Frame(box, at, np.zeros((N_ATOMS, 3), int), np.arange(1, N_ATOMS + 1))
        texts.append(snapshot(frame, "x", step=500 * k))
    top = write_names(path.with_suffix(".gro"), N_ATOMS)
    return tj.open(top, write(path, texts), format_options=REAL)


def images(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Return the lattice vectors of the next cells."""
    return (np.array(step) @ vectors for step in product(range(-2, 3), repeat=3))


@pytest.mark.parametrize("form", BOXES)
def test_origins_are_read(form: str, tmp_path: Path) -> None:
    """In Å, in blocks, frames and cursors; None if all boxes begin at 0."""
    traj = dump(tmp_path / "a.dump", form)
    assert np.allclose(traj.read().origins, ORIGINS, rtol=1e-14, atol=1e-13)
    assert np.allclose([traj[k].box.origin for k in AXES], ORIGINS, rtol=1e-14, atol=1e-13)
    with traj.cursor() as cursor:
        assert np.allclose(cursor.read(1).origin, ORIGINS[1], rtol=1e-14)
        assert np.allclose(cursor.box.origin, ORIGINS[1], rtol=1e-14)
    found = np.concatenate([block.origins for block in traj.blocks(2)])
    assert np.allclose(found, ORIGINS, rtol=1e-14, atol=1e-13)
    nano = tj.open(None, traj.path, format_options={"lammps": {"units": "nano"}})
    assert np.allclose(nano.read(frames=[0]).origins, 10 * ORIGINS[:1], rtol=1e-14)
    assert traj.read(frames=[0]).origins is not None
    open_boxes = dump(tmp_path / "b.dump", form, boundaries="ff ff ff")
    assert open_boxes.read().origins is None


@pytest.mark.parametrize("form", BOXES)
def test_wrapping_begins_at_the_origin(form: str, tmp_path: Path) -> None:
    """Into all shapes of the cell, by lattice vectors; centres come to its middle."""
    traj, vectors = dump(tmp_path / "a.dump", form), BOXES[form].vectors
    stored, inverse = traj.read().positions, np.linalg.inv(vectors)
    for shape in ("triclinic", "compact", "rectangular")[: 2 if form == "general" else 3]:
        found = traj.wrap(by="atom", cell=shape).read()  # type: ignore[arg-type]
        assert same_bits(found.origins, traj.read().origins)
        steps = (found.positions - stored) @ inverse
        assert np.allclose(steps, steps.round(), atol=1e-4)
        assert np.abs(steps).max() > 0.9
        at = found.positions - ORIGINS[:, np.newaxis]
        if shape == "triclinic":
            assert np.all((at @ inverse > -1e-5) & (at @ inverse < 1 + 1e-5))
        elif shape == "rectangular":
            assert np.all((at > -1e-3) & (at < np.diag(vectors) + 1e-3))
        else:
            beside = at - vectors.sum(axis=0) / 2
            others = [np.linalg.norm(beside + shift, axis=-1) for shift in images(vectors)]
            assert np.all(np.linalg.norm(beside, axis=-1) <= np.min(others, axis=0) + 1e-3)
    centred = traj.center("index 3:5").read(atoms=[3, 4, 5]).positions.mean(axis=1)
    assert np.allclose(centred, ORIGINS + vectors.sum(axis=0) / 2, atol=1e-4)


@pytest.mark.parametrize("form", ["orthogonal", "tilted"])
def test_slices_begin_at_the_origin(form: str, tmp_path: Path) -> None:
    """Of a box that is periodic everywhere, and of a slab that does not begin at 0."""
    volume = abs(np.linalg.det(BOXES[form].vectors)) / 10
    for fractions, boundaries in ((FRACTIONS, "pp pp pp"), (INSIDE, "pp pp ff")):
        traj = dump(tmp_path / "a.dump", form, fractions, boundaries)
        found = tj.linear_density(traj.all_atoms(), quantity="number", bins=10)
        expected = np.histogram(fractions[..., 2] % 1, 10, (0, 1))[0] / N_FRAMES / volume
        assert np.allclose(found.values, expected)
        wrapped = tj.linear_density(traj.wrap(by="atom").all_atoms(), quantity="number", bins=10)
        assert np.allclose(wrapped.values, expected)


def test_a_fit_rotates_the_origin(tmp_path: Path) -> None:
    """About 0, with the vectors of the box."""
    traj = dump(tmp_path / "a.dump", "tilted")
    before, after = traj.read(), traj.fit("index 0:3").read()
    assert after.vectors is not None
    for k in (1, 2):
        assert not np.allclose(before.origins[k], after.origins[k], atol=0.1)
        boxes = np.vstack([BOXES["tilted"].vectors, before.origins[k]])
        turned = np.vstack([after.vectors[k], after.origins[k]])
        assert np.allclose(boxes @ boxes.T, turned @ turned.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", BOXES)
def test_copies_keep_the_origin_or_say_so(form: str, tmp_path: Path) -> None:
    """Dumps and extended XYZ do; other formats have the same positions."""
    traj = dump(tmp_path / "a.dump", form)
    stored = traj.read()
    for suffix in (".lammpstrj", ".xyz"):
        copies = [
            tj.convert(traj, tmp_path / f"all{suffix}"),
            tj.convert(traj.wrap(by="atom"), tmp_path / f"wrapped{suffix}"),
            tj.write(tmp_path / f"blocks{suffix}", traj.blocks(2)),
            tj.write(tmp_path / f"frames{suffix}", [traj[k] for k in AXES]),
        ]
        for copy in copies:
            assert Code.LEFT_OUT_OF_COPY not in {one.code for one in copy.messages}
            again = tj.open(None, copy.path).read()
            assert np.allclose(again.origins, ORIGINS, rtol=1e-14, atol=1e-13)
            assert np.allclose(again.cells, stored.cells, rtol=1e-13)
            if "wrapped" not in copy.path.name:
                assert same_bits(again.positions, stored.positions)
    suffixes = (".trr", ".h5md") if form == "general" else (".trr", ".xtc", ".dcd", ".nc", ".h5md")
    for suffix in suffixes:
        made = [tj.convert(traj, tmp_path / f"copy{suffix}")]
        made.append(tj.write(tmp_path / f"blocks{suffix}", traj.blocks(2)))
        for copy in made:
            assert Code.LEFT_OUT_OF_COPY in {one.code for one in copy.messages}
            again = tj.open(None, copy.path).read()
            assert again.origins is None
            atol = 0.0051 if suffix == ".xtc" else 0
            assert np.allclose(again.positions, stored.positions, rtol=1e-6, atol=atol)


def test_edges_of_written_boxes_are_those_that_were_read(tmp_path: Path) -> None:
    """Bit for bit, although the file has sums."""
    traj = dump(tmp_path / "a.dump", "orthogonal")
    block = traj.read()
    for _ in range(50):
        origins = RANDOM.normal(0, 100, (N_FRAMES, 3))
        cells = np.hstack([RANDOM.uniform(10, 200, (N_FRAMES, 3)), np.full((N_FRAMES, 3), 90.0)])
        cells[:, :3] = (origins + cells[:, :3]) - origins
        given = replace(block, origins=origins, cells=cells)
        again = tj.open(None, tj.write(tmp_path / "b.dump", given, force=True).path).read()
        assert same_bits(again.origins, origins)
        assert same_bits(again.cells, cells)


def test_the_viewer_draws_the_box_at_its_origin(tmp_path: Path) -> None:
    """Where positions are as stored."""
    traj = dump(tmp_path / "a.dump", "tilted")
    scene = viewer.Scene(traj, [make_layer(traj.all_atoms())], as_stored=True)
    for k, origin in enumerate(ORIGINS):
        corner = struct.unpack_from("<3f", scene.frame(k, stored=True), 60)
        assert np.allclose(corner, origin, rtol=1e-6)
    scene.close()


# MDAnalysis


@pytest.mark.parametrize("form", BOXES)
def test_the_guest_gives_positions_from_the_origin(form: str, tmp_path: Path) -> None:
    """As MDAnalysis' own reader does for x; frames, groups, and frames in memory."""
    traj = dump(tmp_path / "a.lammpstrj", form)
    expected = traj.read().positions - ORIGINS[:, np.newaxis]
    names = str(tmp_path / "a.gro")
    u = mda.Universe(names, str(traj.path), format=trajet.mdanalysis.Reader)
    assert np.allclose([u.atoms.positions.copy() for _ in u.trajectory], expected, atol=1e-5)
    few = u.atoms[[4, 9]]
    assert np.allclose([few.positions.copy() for _ in u.trajectory], expected[:, [4, 9]], atol=1e-5)
    assert np.allclose(u.trajectory.timeseries(order="fac"), expected, atol=1e-5)
    if form == "orthogonal":
        own = mda.Universe(names, str(traj.path), format="LAMMPSDUMP")
        assert np.allclose(
            [own.atoms.positions.copy() for _ in own.trajectory], expected, atol=1e-4
        )
    # Analyses of groups see the same positions.
    u.trajectory[1]
    grid = {"grid_center": (20.0, 25.0, 30.0), "grid_size": (120.0, 150.0, 180.0), "spacing": 2.0}
    n_inside = tj.density(u.atoms, **grid).values.sum() * 8 * N_FRAMES  # type: ignore[arg-type]
    inside = (np.abs(expected - [20, 25, 30]) < [60, 75, 90]).all(axis=2).sum()
    assert round(n_inside) == inside > 20


@pytest.mark.parametrize("dt", [None, 0.002])
def test_groups_of_a_dump_have_the_times_of_their_universe(
    dt: float | None, tmp_path: Path
) -> None:
    """MDAnalysis multiplies steps by dt, which is 1 ps by default, and not numbers of frames."""
    ids = np.arange(1, 6)
    at = Frame(BOXES["orthogonal"], np.linspace(0, 1, 15).reshape(5, 3), np.zeros((5, 3)), ids)
    for steps in ([0, 500, 1000], [500, 1000, 1500], [0, 500, 1500]):
        path = write(tmp_path / "a.lammpstrj", [snapshot(at, "x", step=step) for step in steps])
        top = write_names(tmp_path / "a.gro", 5)
        given = {} if dt is None else {"dt": dt}
        u = mda.Universe(str(top), str(path), format="LAMMPSDUMP", **given)
        expected = [ts.time for ts in u.trajectory]
        for k in range(3):
            u.trajectory[k]
            if steps[2] == 1500 and steps[0] == 0:
                with raises(tj.SelectionError):
                    tj.gyration(u.atoms)
                continue
            assert np.allclose(tj.gyration(u.atoms, weights="equal").times, expected)


def test_extended_xyz_may_state_an_origin(tmp_path: Path) -> None:
    """As OVITO writes it; another word of that name is none."""
    for origin, expected in (
        ('"1 -2.5 3e1"', [[1, -2.5, 30]]),
        ("[1, 2, 3]", [[1, 2, 3]]),
        ("ase", None),
    ):
        comment = f'Lattice="9 0 0 0 9 0 0 0 9" Origin={origin} Properties=species:S:1:pos:R:3'
        path = tmp_path / "a.xyz"
        path.write_text(f"1\n{comment}\nHe 1 2 3\n")
        found = tj.open(None, path, sidecar=False).read().origins
        assert (None if found is None else found.tolist()) == expected
