"""Each frame of a copy holds what its source holds, or a message names what was lost, and where.

Sources are written, and copies read, by code that trajet shares nothing with: the tests' own bytes
of TRR, DCD and text, MDAnalysis for XTC and DCD, scipy for NetCDF, h5py. A frame is made of
letters: `b` a box, `t` a turned box, `u` velocities, `f` forces, `v` a virial, `l` a value of λ.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.made_files import random_vectors, write_dcd, write_names
from helpers.made_stores import write_profile
from helpers.messages import raises
from helpers.pool_laws import PoolOfThisProcess
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysis.lib.mdamath import triclinic_box
from scipy.io import netcdf_file
from trajet import _trajet
from trajet._trajet import FORMATS

N_ATOMS = 12
# kJ/mol in an eV.
EV = 96.48533212331002
ENDINGS = tuple(info.suffixes[0] for info in FORMATS.values() if info.is_written)
# Lengths and angles of 80 to 95 degrees, and the vectors with the first one along x.
PLAIN = np.array([[40.0, 0, 0], [3.0, 38.0, 0], [-4.0, 5.0, 36.0]], np.float32)
# The same lattice, turned by 90 degrees around z: floats hold it as exactly.
TURNED = PLAIN[:, [1, 0, 2]] * np.array([-1, 1, 1], np.float32)
NO_BOX = np.zeros((3, 3), np.float32)
KINDS = {
    "u": "velocities",
    "f": "forces",
    "v": "the virial",
    "l": "λ",
    "t": "a box that is turned: its first vector is not along x, or its second not in the plane of"
    " x and y",
}
NAMES = {
    **{".xtc": "XTC", ".trr": "TRR", ".dcd": "DCD", ".nc": "NCDF", ".h5md": "H5MD"},
    **{".lammpstrj": "LAMMPS", ".xyz": "XYZ"},
}
# Letters that a format has no place for in any frame.
LOSES = {
    **{".xtc": "ufvl", ".trr": "", ".dcd": "ufvlt", ".nc": "vlt", ".h5md": "vl"},
    **{".lammpstrj": "vl", ".xyz": "vl"},
}
PATTERNS = {
    "all of it later": ["", "bu", "tu", "tuf", "tufv", "tul"],
    "a turned box later": ["b", "b", "t", "t", "b", "t"],
    "all of it in the first frame alone": ["tufvl", "", "", "b", "", ""],
    "a virial in the middle alone": ["b", "b", "bv", "b", "b", "b"],
    "in all frames": ["tul"] * 6,
    "nothing": [""] * 6,
}
for seed in range(2):
    draw = np.random.default_rng(seed)
    PATTERNS[f"drawn {seed}"] = [
        str(draw.choice(["", "b", "t"])) + "".join(c for c in "ufvl" if draw.random() < 0.4)
        for _ in range(7)
    ]


def positions(frame: int) -> np.ndarray:
    """Return positions (Å) that XTC holds up to half of its step."""
    return random_vectors(N_ATOMS, seed=frame, size=10)


def velocities(frame: int) -> np.ndarray:
    """Return velocities, Å/ps."""
    return random_vectors(N_ATOMS, seed=100 + frame, size=3)


def forces(frame: int) -> np.ndarray:
    """Return forces, kJ/(mol Å)."""
    return random_vectors(N_ATOMS, seed=200 + frame, size=50)


def box(letters: str) -> np.ndarray | None:
    """Return box vectors, Å."""
    return PLAIN if "b" in letters else TURNED if "t" in letters else None


def write_trr(path: Path, pattern: Sequence[str]) -> Path:
    """Write TRR, whose frames list their parts."""
    data = b""
    for k, letters in enumerate(pattern):
        vectors = box(letters)
        data += trr_bytes.frame_bytes(
            positions(k) / 10,
            n_atoms=N_ATOMS,
            step=10 * k,
            time=0.5 * k,
            box=None if vectors is None else vectors / 10,
            velocities=velocities(k) / 10 if "u" in letters else None,
            forces=forces(k) * 10 if "f" in letters else None,
            virial=np.eye(3) if "v" in letters else None,
            lambda_=0.25 if "l" in letters else 0,
        )
    path.write_bytes(data)
    return path


def write_xtc(path: Path, pattern: Sequence[str]) -> Path:
    """Write XTC, where zeros mean no box."""
    with XTCFile(str(path), "w") as file:
        for k, letters in enumerate(pattern):
            vectors = box(letters)
            file.write(positions(k) / 10, (NO_BOX if vectors is None else vectors) / 10, 10 * k, k)
    return path


def write_charmm(path: Path, pattern: Sequence[str]) -> Path:
    """Write DCD with a record of the cell, where zeros mean none."""
    cells = np.zeros((len(pattern), 6))
    for k, letters in enumerate(pattern):
        if "b" in letters:
            a, b, c, alpha, beta, gamma = triclinic_box(*PLAIN)
            cells[k] = a, gamma, b, beta, alpha, c
    return write_dcd(path, np.stack([positions(k) for k in range(len(pattern))]), cells=cells)


def write_amber(path: Path, pattern: Sequence[str]) -> Path:
    """Write NetCDF: zeros mean no cell; velocities are of all frames, or of none."""
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = "AMBER", "1.0"
        for name, n in {"frame": None, "spatial": 3, "atom": N_ATOMS}.items():
            file.createDimension(name, n)
        vectors = ("frame", "atom", "spatial")
        given: dict[str, tuple[str, tuple[str, ...], str, Callable[[int], Any]]] = {
            "time": ("f4", ("frame",), "picosecond", lambda k: 0.5 * k),
            "coordinates": ("f4", vectors, "angstrom", positions),
            "cell_lengths": ("f8", ("frame", "spatial"), "angstrom", lambda k: cell(k)[:3]),
            "cell_angles": ("f8", ("frame", "spatial"), "degree", lambda k: cell(k)[3:]),
        }
        if "u" in pattern[0]:
            given["velocities"] = ("f4", vectors, "angstrom/picosecond", velocities)

        def cell(k: int) -> np.ndarray:
            return triclinic_box(*PLAIN) if "b" in pattern[k] else np.zeros(6)

        for name, (kind, dimensions, units, values) in given.items():
            variable = file.createVariable(name, kind, dimensions)
            variable.units = units
            for k in range(len(pattern)):
                variable[k] = values(k)
    return path


def write_h5md(path: Path, pattern: Sequence[str]) -> Path:
    """Write H5MD: each element lists its frames by their steps."""
    n = len(pattern)
    with h5py.File(path, "w") as file:
        file.create_group("h5md").attrs["version"] = [1, 1]
        group = file.create_group("particles/trajectory")

        def element(name: str, frames: list[int], values: Any, unit: str) -> None:
            group[f"{name}/value"] = np.array(values, np.float32)
            group[f"{name}/value"].attrs["unit"] = unit
            group[f"{name}/step"] = 10 * np.array(frames)
            group[f"{name}/time"] = 0.5 * np.array(frames)
            group[f"{name}/time"].attrs["unit"] = "ps"

        every = list(range(n))
        element("position", every, [positions(k) for k in every], "Angstrom")
        for letter, name, of, unit in (
            ("u", "velocity", velocities, "Angstrom ps-1"),
            ("f", "force", forces, "kJ mol-1 Angstrom-1"),
        ):
            if there := [k for k in every if letter in pattern[k]]:
                element(name, there, [of(k) for k in there], unit)
        group.create_group("box").attrs.update({"dimension": 3, "boundary": ["periodic"] * 3})
        boxes = [box(letters) for letters in pattern]
        element("box/edges", every, [NO_BOX if b is None else b for b in boxes], "Angstrom")
    return path


def write_dump(path: Path, pattern: Sequence[str]) -> Path:
    """Write a dump in units of `metal`: the flags `ff` mean no box."""
    lines = []
    for k, letters in enumerate(pattern):
        lines += [*(["ITEM: UNITS", "metal"] if k == 0 else []), "ITEM: TIME", f"{0.5 * k}"]
        lines += ["ITEM: TIMESTEP", f"{10 * k}", "ITEM: NUMBER OF ATOMS", f"{N_ATOMS}"]
        vectors = box(letters)
        if vectors is None:
            lines += ["ITEM: BOX BOUNDS ff ff ff", *["-99 99"] * 3]
        else:
            rows = [" ".join(map(str, row)) + " 0" for row in vectors.tolist()]
            lines += ["ITEM: BOX BOUNDS abc origin pp pp pp", *rows]
        names, columns = ["x y z"], [positions(k)]
        if "u" in letters:
            names, columns = [*names, "vx vy vz"], [*columns, velocities(k)]
        if "f" in letters:
            names, columns = [*names, "fx fy fz"], [*columns, forces(k) / EV]
        lines.append(f"ITEM: ATOMS id type {' '.join(names)}")
        numbers = np.hstack(columns).astype(float).tolist()
        lines += [f"{n} 1 {' '.join(map(repr, row))}" for n, row in enumerate(numbers, 1)]
    path.write_text("\n".join([*lines, ""]))
    return path


def write_extended_xyz(path: Path, pattern: Sequence[str]) -> Path:
    """Write extended XYZ: no lattice means no box."""
    lines = []
    for k, letters in enumerate(pattern):
        vectors = box(letters)
        lattice = "" if vectors is None else f'Lattice="{" ".join(map(str, vectors.flat))}" '
        properties, columns = "species:S:1:pos:R:3", [positions(k)]
        if "u" in letters:
            properties, columns = f"{properties}:velo:R:3", [*columns, velocities(k)]
        if "f" in letters:
            properties, columns = f"{properties}:forces:R:3", [*columns, forces(k) / EV]
        lines += [f"{N_ATOMS}", f"{lattice}Properties={properties} Time={0.5 * k} Step={10 * k}"]
        lines += [f"C {' '.join(map(repr, row))}" for row in np.hstack(columns).tolist()]
    path.write_text("\n".join([*lines, ""]))
    return path


WRITERS = {
    ".xtc": write_xtc,
    ".trr": write_trr,
    ".dcd": write_charmm,
    ".nc": write_amber,
    ".h5md": write_h5md,
    ".lammpstrj": write_dump,
    ".xyz": write_extended_xyz,
}
# The letters that frames of a source of each format may have or lack one by one.
MAY_VARY = {
    **{".xtc": "bt", ".trr": "btufvl", ".dcd": "b", ".nc": "b", ".h5md": "btuf"},
    **{".lammpstrj": "btuf", ".xyz": "btuf"},
}
Held = dict[str, np.ndarray | None]


def read_text(path: Path) -> list[Held]:
    """Read a dump of units `real`, or extended XYZ, that trajet wrote."""
    lines = path.read_text().splitlines()
    frames: list[Held] = []
    for at, line in enumerate(lines):
        held: Held = {"t": None, "u": None, "f": None}
        if line.startswith("ITEM: ATOMS"):
            names, units = line.split()[2:], {"x": 1.0, "v": 1000.0, "f": 4.184}
            form = lines[at - 4].split()[3:]
            rows = [[float(word) for word in row.split()] for row in lines[at - 3 : at]]
            if form[0] == "abc":
                held["t"] = np.array([row[:3] for row in rows])
            elif form[0] == "xy":
                (_, _, xy), (_, _, xz), (_, _, yz) = rows
                low = [min(0, xy, xz, xy + xz), min(0, yz), 0]
                high = [max(0, xy, xz, xy + xz), max(0, yz), 0]
                a, b, c = (row[1] - high[k] - (row[0] - low[k]) for k, row in enumerate(rows))
                held["t"] = np.array([[a, 0, 0], [xy, b, 0], [xz, yz, c]])
            elif form[0] == "pp":
                held["t"] = np.diag([row[1] - row[0] for row in rows])
        elif "Properties=" in line:
            units = {"x": 1.0, "v": 1.0, "f": EV}
            words = line.split("Properties=")[1].split()[0].split(":")
            first = {
                "species": ["element"],
                "pos": ["x", "y", "z"],
                "velocities": ["vx", "vy", "vz"],
            }
            first["forces"] = ["fx", "fy", "fz"]
            names = [name for word in words[::3] for name in first[word]]
            if "Lattice" in line:
                numbers = line.split('Lattice="')[1].split('"')[0].split()
                held["t"] = np.array(numbers, float).reshape(3, 3)
        else:
            continue
        rows_of_atoms = [row.split() for row in lines[at + 1 : at + 1 + N_ATOMS]]
        for letter, name in (("x", "x"), ("u", "vx"), ("f", "fx")):
            if name in names:
                begin = names.index(name)
                values = np.array([row[begin : begin + 3] for row in rows_of_atoms], float)
                held[letter] = values * units[name[0]]
        frames.append(held)
    return frames


def read_copy(path: Path, n_frames: int) -> list[Held]:
    """Read positions `x`, velocities `u`, forces `f`, box `t` or cell `b` with other programs."""
    if path.suffix == ".xtc":
        with XTCFile(str(path)) as file:
            return [{"x": f.x * 10, "t": f.box * 10 if f.box.any() else None} for f in file]
    if path.suffix == ".trr":
        units = {"x": ("positions", 10), "t": ("box", 10), "u": ("velocities", 10)}
        units |= {"f": ("forces", 0.1), "v": ("virial", 1)}
        return [
            {
                letter: None if (part := frame[name]) is None or not part.any() else part * unit
                for letter, (name, unit) in units.items()
            }
            for frame in trr_bytes.read_trr(path)
        ]
    if path.suffix in (".lammpstrj", ".xyz"):
        return read_text(path)
    if path.suffix == ".dcd":
        universe = mda.Universe.empty(N_ATOMS, trajectory=True).load_new(str(path))
        return [
            {"x": ts.positions.copy(), "b": ts.dimensions, "u": None, "f": None}
            for ts in universe.trajectory
        ]
    if path.suffix == ".nc":
        with netcdf_file(path, mmap=False) as file:
            columns = {name: variable[:].copy() for name, variable in file.variables.items()}
        none = np.zeros((n_frames, 3))
        lengths, angles = (columns.get(f"cell_{name}", none) for name in ("lengths", "angles"))
        cells = np.hstack((lengths, angles))
        return [
            {
                "x": columns["coordinates"][k],
                "b": cells[k] if cells[k].any() else None,
                "u": columns["velocities"][k] if "velocities" in columns else None,
                "f": columns["forces"][k] * 4.184 if "forces" in columns else None,
            }
            for k in range(n_frames)
        ]
    with h5py.File(path) as file:
        group = file["particles/trajectory"]
        steps = group["position/step"][()]

        def at(name: str, k: int) -> np.ndarray | None:
            if name not in group:
                return None
            (row,) = np.nonzero(group[f"{name}/step"][()] == steps[k])
            return np.asarray(group[f"{name}/value"][row[0]]) if len(row) else None

        frames: list[Held] = []
        for k in range(n_frames):
            edges = at("box/edges", k)
            held: Held = {"t": edges if edges is not None and edges.any() else None}
            held |= {"x": at("position", k), "u": at("velocity", k), "f": at("force", k)}
            frames.append(held)
        return frames


def assert_held(path: Path, pattern: Sequence[str], numbers: Sequence[int], lost: str) -> None:
    """Assert that each frame of a copy holds the parts of the source, except for lost kinds."""
    found = read_copy(path, len(numbers))
    assert len(found) == len(numbers)
    block = tj.open(None, path, sidecar=False).read()
    for held, k, cell in zip(found, numbers, block.cells, strict=True):
        assert held["x"] is not None
        assert np.allclose(held["x"], positions(k), atol=0.0051)
        vectors = box(pattern[k])
        if vectors is None:
            assert held.get("t") is None
            assert held.get("b") is None
            assert np.isnan(cell).all()
        else:
            expected = triclinic_box(*vectors)
            assert np.allclose(cell, expected, atol=2e-3)
            if "b" in held:
                assert held["b"] is not None
                assert np.allclose(held["b"], expected, atol=2e-3)
            else:
                assert held["t"] is not None
                assert np.allclose(held["t"], vectors, atol=1e-4)
        if path.suffix == ".trr":
            # Only TRR has virials, and keeps those of TRR.
            assert (held["v"] is not None) == ("v" in pattern[k])
        for letter, of in (("u", velocities), ("f", forces)):
            values = held.get(letter)
            if letter in pattern[k] and letter not in lost:
                assert values is not None
                assert np.allclose(values, of(k), rtol=1e-5, atol=1e-4)
            else:
                # No part is made up.
                assert values is None


def expected_losses(ending: str, pattern: Sequence[str]) -> tuple[dict[str, list[int]], str]:
    """Return words and frames of the losses of a copy, and their letters."""
    lost = {}
    for letter, kind in KINDS.items():
        frames = [k for k, letters in enumerate(pattern) if letter in letters]
        words = f"{kind} = 0.25" if letter == "l" else kind
        late = ending == ".nc" and letter in "uf" and letter not in pattern[0]
        if frames and (late or letter in LOSES[ending]):
            lost[words + late * ", where its first frame has none"] = (letter, frames)
    letters = "".join(letter for letter, _ in lost.values())
    return {words: frames for words, (_, frames) in lost.items()}, letters


def expected_message(ending: str, pattern: Sequence[str]) -> list[str]:
    """Return the message on the losses of a copy, if there are any."""
    lost, _ = expected_losses(ending, pattern)
    n = len(pattern)
    words = [
        what
        if len(frames) == n
        else f"{what} (in {len(frames)} of {n} frames, first in frame {frames[0]})"
        for what, frames in sorted(lost.items())
    ]
    return [f"left out, as {NAMES[ending]} cannot hold it: {', '.join(words)}"] if words else []


def on_losses(messages: Sequence[str]) -> list[str]:
    """Return the messages on losses."""
    return [message for message in messages if message.startswith("left out")]


def lacks_in_some(ending: str, pattern: Sequence[str]) -> int | None:
    """Return the first frame without vectors that NetCDF needs because its first frame has them."""
    if ending != ".nc":
        return None
    must = [letter for letter in "uf" if letter in pattern[0]]
    return next((k for k, p in enumerate(pattern) if any(c not in p for c in must)), None)


def source(folder: Path, ending: str, pattern: Sequence[str]) -> tuple[tj.Trajectory, list[str]]:
    """Return a trajectory of a format, and the pattern as far as that holds it."""
    letters = MAY_VARY[ending]
    every = "u" if ending == ".nc" and "u" in pattern[-1] else ""
    held = ["".join(c for c in frame if c in letters) + every for frame in pattern]
    folder.mkdir(exist_ok=True)
    path = WRITERS[ending](folder / f"source{ending}", held)
    units = {"time": "ps", "velocity": "Angstrom/ps", "force": "eV/Angstrom"}
    options = {"xyz": {"units": units}} if ending == ".xyz" else None
    return tj.open(None, path, sidecar=False, format_options=options), held


@pytest.mark.parametrize("target", ENDINGS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_copy_holds_its_source_or_names_the_loss(ending: str, target: str, tmp_path: Path) -> None:
    """Each pair of formats is tested with frames that hold more or less than the first one."""
    for number, pattern in enumerate(PATTERNS.values()):
        traj, held = source(tmp_path / f"{number}", ending, pattern)
        path = tmp_path / f"{number}" / f"copy{target}"
        lost, letters = expected_losses(target, held)
        lacks = lacks_in_some(target, held)
        if lacks is not None:
            with raises(tj.OutputError):
                tj.convert(traj, path, allow_loss=True, threads=1)
        if lost and lacks is None:
            with raises(tj.OutputError):
                tj.convert(traj, path, threads=1)
        if lost or lacks is not None:
            assert list(path.parent.iterdir()) == [path.parent / f"source{ending}"]
        if lacks is None:
            done = tj.convert(traj, path, allow_loss=bool(lost))
            assert on_losses(done.messages) == expected_message(target, held)
            assert_held(path, held, range(len(held)), letters)


@pytest.mark.parametrize("target", ENDINGS)
def test_pool_writes_the_same_bytes_and_messages(target: str, tmp_path: Path) -> None:
    """Losses of pieces are returned by the workers and counted together."""
    pattern = [*PATTERNS["all of it later"], "b", "tv", "", "bu", "t"] * 3
    if target == ".h5md":
        # Pieces of H5MD have velocities and forces of all frames or of none.
        pattern = [letters.replace("u", "").replace("f", "") for letters in pattern]
    traj, _ = source(tmp_path, ".trr", pattern)
    alone = tj.convert(traj, tmp_path / f"alone{target}", allow_loss=True, threads=1)
    assert on_losses(alone.messages) == expected_message(target, pattern)
    threads = tj.convert(traj, tmp_path / f"threads{target}", allow_loss=True, threads=3)
    pool: Any = PoolOfThisProcess()
    pooled = tj.convert(traj, tmp_path / f"pooled{target}", allow_loss=True, pool=pool)
    assert alone.messages == threads.messages == pooled.messages
    if target != ".h5md":
        assert alone.path.read_bytes() == threads.path.read_bytes() == pooled.path.read_bytes()
    assert_held(pooled.path, pattern, range(len(pattern)), LOSES[target] + "uf" * (target == ".nc"))


@pytest.mark.parametrize("target", ENDINGS)
def test_each_part_of_a_split_names_its_own_losses(target: str, tmp_path: Path) -> None:
    """Frames are numbered as in the part, in this process and by a pool."""
    pattern = ["", "tu", "b", "", "bu", "bv"]
    traj, _ = source(tmp_path, ".trr", pattern)
    pool: Any = PoolOfThisProcess()
    for name, options in {"here": {"threads": 2}, "there": {"pool": pool}}.items():
        done = tj.split(
            traj, tmp_path / name, segments=2, format=target[1:], allow_loss=True, **options
        )
        for part, begin in zip(done, (0, 3), strict=True):
            own = pattern[begin : begin + 3]
            assert on_losses(part.messages) == expected_message(target, own)
            _, letters = expected_losses(target, own)
            assert_held(part.path, pattern, range(begin, begin + 3), letters)


def test_chain_of_formats_loses_nothing_silently(tmp_path: Path) -> None:
    """NetCDF decides by the first file, whose format states once that there are no cells."""
    plain = write_dcd(tmp_path / "plain.dcd", np.stack([positions(k) for k in range(2)]))
    other = write_trr(tmp_path / "other.trr", ["", "b", "b"])
    traj = tj.open(None, plain, other, sidecar=False)
    path = tmp_path / "copy.nc"
    late = "a cell, where its first frame has none"
    with raises(tj.OutputError):
        tj.convert(traj, path)
    messages = tj.convert(traj, path, allow_loss=True).messages
    (message,) = on_losses(messages)
    assert message.endswith(f"{late} (in 2 of 5 frames, first in frame 3)")


def frame_metadata(reader: _trajet.Reader) -> dict[str, np.ndarray]:
    """Return times, steps, cells and turned boxes of all frames, as analyses get them."""
    room = np.empty((reader.n_frames, reader.n_atoms, 3), np.float32)
    got = reader.read(np.arange(reader.n_frames), None, room, "positions")
    return {name: got[name] for name in ("times", "steps", "cells", "vectors")}


def topology(folder: Path) -> Path:
    """Write names of the atoms."""
    return write_names(folder / "top.gro", N_ATOMS)


def profile(folder: Path, form: str) -> Path:
    """Write a profile of an exact tag and one in another format."""
    other = f'other;rest;format = "{form}";lossy = true'
    return write_profile(folder, "exact;index 0:4", other, name=f"{form}.toml")


@pytest.mark.parametrize("form", ["xtc", "dcd", "ncdf", "h5md"])
def test_cell_of_a_frame_does_not_depend_on_the_tag(form: str, tmp_path: Path) -> None:
    """A lossy tag has cells, turned boxes, times and steps of the original in every bit."""
    pattern = ["", "b", "t", "b", "", "t"]
    path = write_trr(tmp_path / "run.trr", pattern)
    original = tj.open(topology(tmp_path), path, sidecar=False)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("run", original, profile=profile(tmp_path, form))
    whole = frame_metadata(original.source.reader)
    for tags in ("", "@exact", "@other"):
        traj = tj.open(f"{store.folder}/run{tags}")
        sent, frames = traj.source.reader.worker_input(None), np.arange(traj.n_frames)
        elsewhere, _ = _trajet.WorkerTrajectory(sent).reader(traj.source.reader.slice(frames))
        for reader in (traj.source.reader, elsewhere):
            got = frame_metadata(reader)
            for name, values in whole.items():
                assert values.tobytes() == got[name].tobytes(), (tags, name)


@pytest.mark.parametrize("form", ["xtc", "dcd", "ncdf"])
def test_lossy_tags_name_losses_of_later_frames(form: str, tmp_path: Path) -> None:
    """`store add` and `retag` print the number of frames."""
    pattern = ["", "bu", "tu", "t", "b", "buf"]
    original = tj.open(topology(tmp_path), write_trr(tmp_path / "run.trr", pattern), sidecar=False)
    store = tj.Store(tmp_path / "store", create=True)
    done = store.add("run", original, profile=profile(tmp_path, form))
    ending = {"ncdf": ".nc"}.get(form, f".{form}")
    expected = [f"other: {message}" for message in expected_message(ending, pattern)]
    assert [message for message in done.messages if "left out" in message] == expected
    if form != "ncdf":
        exact = tmp_path / "exact.toml"
        exact.write_text(
            profile(tmp_path, form).read_text().replace(f'format = "{form}"\nlossy = true', "")
        )
        store.add("again", original, profile=exact)
        done = store.retag("again", profile=profile(tmp_path, form))
        assert [message for message in done.messages if "left out" in message] == expected


def test_h5md_of_a_data_set_names_losses_of_middle_frames(tmp_path: Path) -> None:
    """The store knows the parts of each original frame, also if tags have other formats."""
    pattern = ["b", "b", "bv", "bl", "b"]
    original = tj.open(topology(tmp_path), write_trr(tmp_path / "run.trr", pattern), sidecar=False)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("run", original, profile=profile(tmp_path, "xtc"))
    for tags in ("", "@exact", "@other"):
        traj = tj.open(f"{store.folder}/run{tags}")
        path = tmp_path / f"copy{tags}.h5md"
        with raises(tj.OutputError):
            tj.convert(traj, path)
        assert not path.exists()
        done = tj.convert(traj, path, allow_loss=True)
        assert on_losses(done.messages) == expected_message(".h5md", pattern)
