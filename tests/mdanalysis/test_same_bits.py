"""Cells, times, steps and data have the types and bits that MDAnalysis' own readers give."""

import random
import warnings
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet.mdanalysis as guest
from helpers.extent import examples
from helpers.golden_files import DATA, UNREAD
from helpers.made_files import random_vectors, scaled_nc, write_dcd, write_with_mdanalysis
from helpers.made_hdf5 import write_h5md
from helpers.trr_bytes import write_trr
from helpers.xtc_bytes import write_xtc
from MDAnalysis.core._get_readers import get_reader_for

ENDINGS = (".xtc", ".trr", ".dcd", ".nc", ".ncdf", ".h5md")
# Frames that are compared of a long file.
MOST = 12
N_ATOMS = 4


def bits(value: Any) -> Any:
    """Return type and bits of a number, an array, or a dict of them."""
    if isinstance(value, dict):
        return {key: bits(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float | np.floating):
        return type(value), float(value).hex()
    return type(value), value


def described(path: Path, **options: Any) -> list[Any]:
    """Return what the reader that a Universe finds for a file gives to a script."""
    reader = get_reader_for(str(path))(str(path), **options)
    names = ("n_frames", "n_atoms", "dt", "totaltime")
    found = [{name: bits(getattr(reader, name)) for name in names}]
    step = max(1, reader.n_frames // MOST)
    for ts in reader[::step]:
        fields = {
            name: bits(getattr(ts, name))
            for name in ("positions", "velocities", "forces")
            if getattr(ts, f"has_{name}")
        }
        numbers = [ts.frame, ts.time, ts.dt, ts.dimensions, ts.triclinic_dimensions, ts.volume]
        found.append([bits(ts.data), *map(bits, numbers), fields])
    reader.close()
    return found


def assert_same_bits(path: Path, **options: Any) -> None:
    """Assert that both readers give the same."""
    theirs = described(path, **options)
    with guest.install():
        ours = described(path, **options)
    assert len(ours) == len(theirs)
    for k, (mine, known) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == known, f"{path.name}, after {k} frames"


def published() -> list[Path]:
    """Return the files of MDAnalysis' tests that its own readers read."""
    return sorted(
        path
        for path in DATA.rglob("*")
        if path.suffix in ENDINGS and path.name not in {*UNREAD, "cu_malformed.h5md"}
    )


@pytest.mark.parametrize("path", published(), ids=lambda path: str(path.relative_to(DATA)))
def test_published_files(path: Path) -> None:
    """All of them."""
    assert_same_bits(path)


def random_cells(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return triclinic cells, some with right angles, or of a rhombic dodecahedron."""
    cells = np.hstack([rng.uniform(3, 150, (n, 3)), rng.uniform(60, 118, (n, 3))])
    cells[rng.random(n) < 0.2, 3:] = 90
    cells[rng.random(n) < 0.2, 5] = 90
    cells[rng.random(n) < 0.2, 3:] = [60, 60, 90]
    same = rng.random(n) < 0.2
    cells[same, 1] = cells[same, 0]
    return cells.astype("f4")


def random_boxes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return box vectors: those of random cells, rotated ones, flat ones, and none."""
    boxes = np.array([mda.lib.mdamath.triclinic_vectors(cell) for cell in random_cells(rng, n)])
    for k in range(n):
        if (case := rng.integers(8)) == 0:
            boxes[k] = boxes[k] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        elif case == 1:
            boxes[k, 2] = 0
        elif case == 2:
            boxes[k] = 0
        elif case == 3:
            boxes[k] *= 1e-3
    return boxes


def with_writer(path: Path, rng: np.random.Generator) -> None:
    """Write with MDAnalysis' own writer: random cells, times and steps."""
    universe = mda.Universe.empty(N_ATOMS, trajectory=True)
    ts = universe.trajectory.ts
    ts.dimensions = [1, 1, 1, 90, 90, 90]
    ts.dt = rng.uniform(0.01, 10)
    options = {".dcd": {"dt": ts.dt}, ".h5md": {"timeunit": "ps", "lengthunit": "nm"}}.get(
        path.suffix, {}
    )
    with mda.Writer(str(path), N_ATOMS, **options) as writer:
        for k, cell in enumerate(random_cells(rng, 40)):
            ts.positions = rng.uniform(-50, 90, (N_ATOMS, 3))
            ts.dimensions = cell
            ts.frame, ts.time, ts.data["step"] = k, k * ts.dt, 50 * k
            ts.data["lambda"] = rng.random()
            writer.write(universe.atoms)


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_cells(ending: str, tmp_path: Path) -> None:
    """Triclinic cells of each format, as MDAnalysis writes them."""
    for seed in range(examples(6)):
        path = tmp_path / f"{seed}{ending}"
        with_writer(path, np.random.default_rng(seed))
        assert_same_bits(path)
        if ending in (".xtc", ".trr"):
            assert_same_bits(path, dt=0.3)


@pytest.mark.parametrize("kind", ["xtc", "trr", "double trr", "h5md"])
def test_random_box_vectors(kind: str, tmp_path: Path) -> None:
    """Any three vectors: rotated, flat or zero; in double precision, too."""
    for seed in range(examples(6)):
        rng = np.random.default_rng(seed)
        path = tmp_path / f"{seed}.{kind.rsplit(maxsplit=1)[-1]}"
        boxes = random_boxes(rng, 30) / 10
        x = rng.uniform(-5, 9, (30, N_ATOMS, 3))
        if kind == "xtc":
            _xtc_with_boxes(path, x, boxes)
        elif kind == "h5md":
            write_h5md(path, x.astype("f4"), time=np.arange(30.0), step=np.arange(30), edges=boxes)
        else:
            write_trr(
                path,
                x,
                boxes=list(boxes + rng.normal(size=boxes.shape) * 1e-9 * (boxes != 0)),
                double="double" in kind,
            )
        assert_same_bits(path)


def _xtc_with_boxes(path: Path, x: np.ndarray, boxes: np.ndarray) -> None:
    data = b""
    for k, box in enumerate(boxes):
        data += write_xtc(path, x[k : k + 1], box=box, times=[0.7 * k], steps=[k]).read_bytes()
    path.write_bytes(data)


@pytest.mark.parametrize("unit", ["nm", "Angstrom", "pm"])
@pytest.mark.parametrize("time_unit", ["ps", "fs", "ns"])
def test_units_and_types_of_h5md(unit: str, time_unit: str, tmp_path: Path) -> None:
    """Types of datasets are those of the numbers; products with factors are rounded once."""
    rng = np.random.default_rng(3)
    rows = 10.0 * np.arange(25)
    for number, (time_type, step_type, edge_type) in enumerate(
        (a, b, c) for a in ("f4", "f8", "i4") for b in ("i4", "i8") for c in ("f4", "f8")
    ):
        path = tmp_path / f"{number}.h5md"
        times = (rows + rng.random(25) * (time_type != "i4")).astype(time_type)
        edges = (random_boxes(rng, 25) / 10).astype(edge_type)
        write_h5md(
            path,
            random_vectors(25, N_ATOMS).astype("f4"),
            unit=unit,
            time=np.sort(times),
            time_unit=time_unit,
            step=rows.astype(step_type),
            edges=edges if number % 3 else np.abs(edges[:, [0, 1, 2], [0, 1, 2]]),
        )
        assert_same_bits(path)


def test_scaled_variables_of_netcdf(tmp_path: Path) -> None:
    """Times in single and double precision, with and without a scale factor."""
    assert_same_bits(scaled_nc(tmp_path / "scaled.nc"))
    for number, factor in enumerate((0.1, 1.0, 3.7)):
        path = tmp_path / f"{number}.nc"
        assert_same_bits(write_with_mdanalysis(path, N_ATOMS, 9, scale_time=factor))


def test_arithmetic_of_times(tmp_path: Path) -> None:
    """A script that divides times gets the same digits."""
    for ending in (".nc", ".h5md"):
        path = tmp_path / f"a{ending}"
        with_writer(path, np.random.default_rng(5))

        def quotients(path: Path = path) -> list[Any]:
            universe = mda.Universe.empty(N_ATOMS)
            universe.load_new(str(path))
            return [bits(ts.time * 0.001) + bits(ts.time / 3) for ts in universe.trajectory]

        known = quotients()
        with guest.install():
            assert quotients() == known


def charmm_matrices(rng: random.Random, n: int) -> np.ndarray:
    """Return symmetric matrices of CHARMM, (n, 6), of cells that are nearly cubic."""
    cells = [[rng.uniform(-3, 3) for _ in range(6)] for _ in range(n)]
    for cell in cells:
        # MDAnalysis would take three numbers between -1 and 1 for cosines.
        cell[1] = -abs(cell[1]) - 1.1
        for diagonal in (0, 2, 5):
            cell[diagonal] += 30
    return np.array(cells)


def test_rotated_cells_of_charmm(tmp_path: Path) -> None:
    """They are read as MDAnalysis reads them, with one warning that names the cell."""
    for seed in range(examples(8)):
        rng = random.Random(seed)
        cells = charmm_matrices(rng, 9)
        path = write_dcd(tmp_path / f"{seed}.dcd", random_vectors(9, 20), cells=cells, version=46)
        assert_same_bits(path)
        with guest.install(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            universe = mda.Universe.empty(20)
            universe.load_new(str(path))
            seen = [ts.dimensions for ts in universe.trajectory]
            universe.transfer_to_memory()
        texts = [str(one.message) for one in caught if "rotated" in str(one.message)]
        assert len(texts) == 1
        numbers = ", ".join(f"{x:.4g}" for x in seen[0])
        assert f"{path}: frame 0: the box ({numbers}) is rotated" in texts[0]
        assert "nearest images and wrapped positions are wrong" in texts[0]
        assert [bits(ts.dimensions) for ts in universe.trajectory] == [bits(one) for one in seen]


def test_matrices_that_look_like_cosines_are_those_of_the_header(tmp_path: Path) -> None:
    """MDAnalysis guesses by the numbers; the header says what they are."""
    x, y, z = np.array([[30, -0.5, 0.7], [-0.5, 29, 0.3], [0.7, 0.3, 31]])
    cells = np.array([[x[0], x[1], y[1], x[2], y[2], z[2]]] * 2)
    path = write_dcd(tmp_path / "a.dcd", random_vectors(2, 20), cells=cells, version=46)
    known = mda.lib.mdamath.triclinic_box(x, y, z)
    with guest.install():
        assert bits(mda.Universe.empty(20).load_new(str(path)).dimensions) == bits(known)


def test_text_files_have_the_same_cells(tmp_path: Path) -> None:
    """GRO and PDB, which only `format=Reader` reads through trajet."""
    rng = np.random.default_rng(8)
    for number, cell in enumerate(random_cells(rng, examples(60))):
        universe = mda.Universe.empty(N_ATOMS, trajectory=True)
        universe.add_TopologyAttr("names", ["C"] * N_ATOMS)
        universe.atoms.positions = rng.uniform(0, 30, (N_ATOMS, 3))
        universe.dimensions = cell
        for ending in ("gro", "pdb"):
            path = tmp_path / f"{number}.{ending}"
            universe.atoms.write(str(path))
            theirs, ours = (
                mda.Universe.empty(N_ATOMS).load_new(str(path), **options)
                for options in ({}, {"format": guest.Reader})
            )
            assert bits(ours.dimensions) == bits(theirs.dimensions)
            assert bits(ours.atoms.positions) == bits(theirs.atoms.positions)
