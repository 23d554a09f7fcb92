"""HDF5 trajectories, made with h5py and with MDAnalysis, in every possible layout."""

from pathlib import Path
from typing import Any

import h5py
import MDAnalysis as mda
import numpy as np
from MDAnalysis.coordinates.H5MD import H5MDReader

from helpers.golden_files import Truth
from helpers.made_files import TRICLINIC, random_vectors

N_ATOMS, N_FRAMES = 53, 11
# Atomic numbers of elements in TPR files of the tests.
_NUMBERS = {"H": 1, "C": 6, "N": 7, "O": 8, "NA": 11, "Na": 11, "S": 16}

# Layouts of the numbers of a dataset in a file, beside their type.
LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "whole frames": {"chunks": (1, N_ATOMS, 3)},
    "several frames": {"chunks": (4, N_ATOMS, 3), "compression": "gzip"},
    "odd": {"chunks": (3, 20, 2)},
    "odd gzip": {"chunks": (3, 20, 2), "compression": "gzip", "compression_opts": 1},
    "odd shuffled": {"chunks": (2, 7, 1), "compression": "gzip", "shuffle": True},
    "shuffled only": {"chunks": (2, 17, 3), "shuffle": True},
    "one number": {"chunks": (1, 1, 1)},
    "larger than all": {"chunks": (64, 100, 4), "maxshape": (None,) * 3, "compression": "gzip"},
    "growing": {"maxshape": (None, N_ATOMS, 3), "compression": 9, "shuffle": True},
    "allocated early": {"chunks": (2, N_ATOMS, 3), "early": True},
    "compact": {"compact": True},
}


def write_h5md(
    path: Path,
    positions: np.ndarray,
    *,
    layout: dict[str, Any] | None = None,
    unit: str | bytes | None = "nm",
    time: Any = None,
    step: Any = None,
    time_unit: str | None = "ps",
    edges: Any = None,
    edges_of: str = "value",
    boundary: Any = "periodic",
    libver: str = "earliest",
    group: str = "trajectory",
    mode: str = "w",
) -> Path:
    """Write an element `position`; `time` and `step` may be numbers (increments) or rows."""
    n = len(positions)
    with h5py.File(path, mode, libver=libver) as file:
        file.require_group("h5md").attrs["version"] = [1, 1]
        particles = file.create_group(f"particles/{group}")
        element = particles.create_group("position")
        value = write_values(element, "value", positions, layout or {})
        if unit is not None:
            value.attrs["unit"] = unit
        element["step"] = np.arange(n) * 10 if step is None else step
        if time is not False:
            element["time"] = np.arange(n) * 0.5 if time is None else time
            if time_unit is not None:
                element["time"].attrs["unit"] = time_unit
        box = particles.create_group("box")
        box.attrs["dimension"] = 3
        if boundary is not None:
            box.attrs["boundary"] = [boundary] * 3 if isinstance(boundary, str) else boundary
        if edges is not None and edges_of == "value":
            box["edges/value"] = edges
            box["edges/step"] = element["step"]
        elif edges is not None:
            box["edges"] = edges
    return path


def write_values(
    group: h5py.Group, name: str, values: np.ndarray, layout: dict[str, Any]
) -> h5py.Dataset:
    """Write a dataset, also of layouts that only h5py's low-level interface has."""
    options = dict(layout)
    if not ({"early", "compact"} & set(options)):
        return group.create_dataset(name, data=values, **options)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if options.get("compact"):
        plist.set_layout(h5py.h5d.COMPACT)
    else:
        plist.set_chunk(options["chunks"])
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple(values.shape)
    kind = h5py.h5t.py_create(values.dtype)
    h5py.h5d.create(group.id, name.encode(), kind, space, plist)
    group[name][...] = values
    return group[name]


def write_as_gromacs(path: Path, positions: np.ndarray) -> Path:
    """Write as GROMACS 2026: no unit of time, fixed-length texts, velocities at their own steps."""
    layout = {"chunks": (1, N_ATOMS, 3), "maxshape": (None, N_ATOMS, 3)}
    edges = np.tile(np.diag([3.0, 4, 5]).astype("f4"), (N_FRAMES, 1, 1))
    write_h5md(
        path,
        positions,
        layout=layout,
        edges=edges,
        boundary=np.array([b"periodic"] * 3),
        unit=np.bytes_(b"nm"),
        time_unit=None,
        group="system",
        libver="latest",
    )
    with h5py.File(path, "a") as file:
        creator = file.create_group("h5md/creator")
        creator.attrs["name"] = np.bytes_(b"GROMACS")
        system = file["particles/system"]
        system["id"] = np.arange(N_ATOMS)
        write_values(system.create_group("velocity"), "value", positions[::5], layout)
        system["velocity/value"].attrs["unit"] = np.bytes_(b"nm ps-1")
        system["velocity/step"] = np.arange(0, 10 * N_FRAMES, 50)
        system["velocity/time"] = np.arange(0, N_FRAMES, 5) / 2
    return path


def add_gromacs_topology(path: Path, atoms: mda.AtomGroup) -> None:
    """Add the topology and bonds of a Universe of a TPR file as GROMACS 2026 writes them.

    As in its sources: a group for each molecule type, texts of fixed length in tables, numbers of
    residues plus one, and bonds by index without a reference to the particles.
    """
    # Segments of TPR files are blocks of molecules of the same type.
    blocks = [(str(one.atoms.moltypes[0]), one.atoms) for one in atoms.segments]
    with h5py.File(path, "a") as file:
        file.require_group("h5md/creator").attrs["name"] = np.bytes_(b"GROMACS")
        group = file.create_group("h5md/modules/gromacs_topology")
        group.attrs["version"] = np.array([0, 1], "i4")
        group.attrs["system_name"] = np.bytes_(b"a system")
        group.attrs["molecule_block_names"] = np.array([name.encode() for name, _ in blocks])
        counts = [len(np.unique(block.molnums)) for _, block in blocks]
        group.attrs["molecule_block_counts"] = np.array(counts, "i4")
        for name, block in dict(blocks).items():
            molecule = block[block.molnums == block.molnums[0]]
            kind = group.create_group(name)
            kind["id"] = np.arange(1, len(molecule) + 1)
            kind["mass"] = molecule.masses.astype("f4")
            kind["charge"] = molecule.charges.astype("f4")
            kind["species"] = np.array([_NUMBERS.get(one, -1) for one in molecule.elements], "i4")
            kind["residue_id"] = molecule.resids.astype("i4") + 1
            for column, texts in (
                ("particle_name", molecule.names),
                ("residue_name", molecule.resnames),
            ):
                table, codes = np.unique(texts.astype("S"), return_inverse=True)
                kind[f"{column}_table"], kind[column] = table, codes.astype("i4")
            kind["sequence"] = np.zeros(molecule.n_residues, "i4")
        file["connectivity/bonds"] = atoms.universe.bonds.indices.astype("i8")


def write_with_mdanalysis(path: Path, *, cells: bool = True, **options: Any) -> Path:
    """Write all vectors with MDAnalysis' writer."""
    universe = mda.Universe.empty(N_ATOMS, trajectory=True, velocities=True, forces=True)
    ts = universe.trajectory.ts
    universe.trajectory.units = {
        "time": "ps",
        "length": "nm",
        "velocity": "nm/ps",
        "force": "kJ/(mol*nm)",
    }
    with mda.Writer(str(path), N_ATOMS, **options) as writer:
        for frame in range(N_FRAMES):
            ts.frame, ts.time = frame, 2.5 * frame
            ts.data["step"] = 500 * frame
            ts.dimensions = np.array(TRICLINIC) + frame if cells else None
            ts.positions = random_vectors(N_ATOMS, seed=frame)
            ts.velocities = random_vectors(N_ATOMS, seed=100 + frame, size=5)
            ts.forces = random_vectors(N_ATOMS, seed=200 + frame, size=500)
            writer.write(universe.atoms)
    return path


def truth_of(path: Path, **options: Any) -> Truth:
    """Read every frame with MDAnalysis."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("positions", "velocities", "forces", "times", "steps", "cells")
    }
    reader = H5MDReader(str(path), **options)
    with reader:
        for ts in reader:
            for name in ("positions", "velocities", "forces"):
                if getattr(ts, f"has_{name}"):
                    rows[name].append(getattr(ts, name).copy())
            rows["times"].append(ts.time)
            rows["steps"].append(ts.data["step"])
            rows["cells"].append(
                np.full(6, np.nan) if ts.dimensions is None else ts.dimensions.copy()
            )
    n = len(rows["times"])
    nan = np.full((n, reader.n_atoms, 3), np.nan, np.float32)
    vectors = {name: np.array(rows[name], np.float32) if rows[name] else None for name in rows}
    return Truth(
        nan if vectors["positions"] is None else vectors["positions"],
        np.array(rows["times"], np.float64),
        np.array(rows["steps"], np.int64),
        np.array(rows["cells"], np.float64),
        vectors["velocities"],
        vectors["forces"],
    )


def tables_of(path: Path) -> dict[str, Any]:
    """Return every dataset and attribute of a file, and how it is stored."""
    found: dict[str, Any] = {}

    def note(name: str, thing: Any) -> None:
        found[name] = {key: np.asarray(value).tolist() for key, value in thing.attrs.items()}
        if isinstance(thing, h5py.Dataset):
            numbers = thing[()]
            found[name] |= {
                "bits": (numbers.dtype, numbers.shape, numbers.tobytes()),
                "stored": (thing.chunks, thing.maxshape, thing.compression_opts, thing.shuffle),
            }

    with h5py.File(path) as file:
        file.visititems(note)
        for name in ("box/edges", "velocity", "force"):
            group = file.get(f"particles/trajectory/{name}")
            if group is not None:
                assert group["step"] == file["particles/trajectory/position/step"]
    return found


def write_rich_h5md(path: Path, *, seed: int = 0, n_atoms: int = 5, n_frames: int = 6) -> Path:
    """Write an H5MD file with all that the specification and programs put beside frames."""
    draw = np.random.default_rng(seed)
    steps = np.arange(n_frames, dtype="i4") * 100
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "rich"
        head = file.create_group("h5md")
        head.attrs["version"] = np.array([1, 1], "i8")
        author = head.create_group("author")
        author.attrs["name"], author.attrs["email"] = np.bytes_(b"Ada"), "ada@example.org"
        creator = head.create_group("creator")
        creator.attrs["name"], creator.attrs["version"] = "espresso", np.bytes_(b"4.2")
        head.create_group("modules/units").attrs["version"] = np.array([1, 0])
        group = file.create_group("particles/all")
        group.attrs["note"] = h5py.Empty("f4")
        element = group.create_group("position")
        element["value"] = draw.normal(size=(n_frames, n_atoms, 3)).astype(">f8")
        element["value"].attrs["unit"] = np.bytes_(b"nm")
        element["value"].attrs["comment"] = "unwrapped"
        element["step"] = steps
        element["time"] = steps * np.float32(0.1)
        element["time"].attrs["unit"] = "fs"
        # At every second frame.
        velocity = group.create_group("velocity")
        velocity["value"] = draw.normal(size=(len(steps[::2]), n_atoms, 3)).astype("f4")
        velocity["value"].attrs["unit"] = "nm ps-1"
        velocity["step"] = steps[::2]
        for kind, data in (("value", np.empty((0, n_atoms, 3), "f4")), ("step", steps[:0])):
            group.create_dataset(
                f"force/{kind}", data=data, maxshape=(None, *data.shape[1:]), chunks=True
            )
        box = group.create_group("box")
        box.attrs["dimension"], box.attrs["boundary"] = 3, ["periodic"] * 3
        box["edges/value"] = (3 + draw.random((n_frames, 3))).astype("f4")
        box["edges/step"], box["edges/time"] = element["step"], element["time"]
        kinds = h5py.enum_dtype({"C": 6, "O": 8}, basetype="u1")
        group.create_dataset("species", data=draw.choice([6, 8], n_atoms), dtype=kinds)
        group["mass"] = draw.random(n_atoms).astype("f4")
        group["id"] = np.arange(n_atoms, dtype="u2")
        group["charge/value"] = draw.random((n_frames, n_atoms))
        group["charge/step"] = h5py.SoftLink("/particles/all/position/step")
        # Steps at equal distances.
        group["image/value"] = draw.integers(-3, 3, (n_frames, n_atoms, 3), dtype="i4")
        group["image/step"] = 100
        group.create_dataset("names", data=[f"A{k}" for k in range(n_atoms)])
        write_rich_rest(file, draw, n_frames)
    return path


def write_rich_rest(file: h5py.File, draw: np.random.Generator, n_frames: int) -> None:
    """Write observables, parameters, connectivity, other particles, and groups of no standard."""
    group = file["particles/all"]
    # Four rows for each frame, and more after the last frame.
    energy = file.create_group("observables/energy")
    values = draw.random(4 * n_frames)
    energy.create_dataset("value", data=values, chunks=(7,), compression="gzip", fletcher32=True)
    energy["step"], energy["time"] = np.arange(4 * n_frames) * 25, np.arange(4 * n_frames) * 2.5
    energy["value"].attrs["unit"] = "kJ mol-1"
    file["observables/lambda/value"] = draw.random((n_frames, 2))
    file["observables/lambda/step"] = group["position/step"]
    file["observables/all/n_bonds"] = np.int64(7)
    file["observables/all/note"] = "text of any length"
    pair = np.dtype([("i", "i2"), ("x", ">f8")])
    file["parameters/pairs"] = np.array([(1, 2.5), (3, np.nan)], pair)
    file["parameters/is_on"] = np.array([True, False])
    file["parameters/kind"] = np.dtype("f4")
    file["parameters/again"] = file["parameters/pairs"]
    file["parameters"].attrs["groups"] = np.array([group.ref, group["box"].ref], h5py.ref_dtype)
    file["connectivity/bonds"] = np.array([[0, 1], [2, 3]])
    file["connectivity/bonds"].attrs["particles_group"] = group.ref
    file["particles/wall/position"] = draw.random((3, 3))
    file["particles/wall"].attrs["made by"] = "hand"
    file["somewhere/deep/rest"] = np.arange(4.0)
    file["shortcut"] = h5py.SoftLink("/somewhere/deep")


def content_of(path: Path) -> dict[str, Any]:
    """Return every link, dataset and attribute as h5py reads them; references as paths."""
    with h5py.File(path) as file:

        def bits(values: Any) -> Any:
            if isinstance(values, h5py.Reference):
                return file[values].name
            array = np.asarray(values)
            if isinstance(values, h5py.Empty):
                return "empty", values.dtype.str
            if array.dtype.hasobject:
                return array.dtype.str, array.shape, [bits_of(one) for one in array.ravel()]
            return array.dtype.descr, array.shape, array.tobytes()

        def bits_of(one: Any) -> Any:
            return file[one].name if isinstance(one, h5py.Reference) else one

        def note(where: str, thing: Any) -> None:
            found[f"{where}@"] = {key: bits(value) for key, value in thing.attrs.items()}
            if isinstance(thing, h5py.Dataset):
                found[where] = bits(thing[()]), h5py.check_enum_dtype(thing.dtype)
            for name in thing if isinstance(thing, h5py.Group) else ():
                link, inner = thing.get(name, getlink=True), f"{where}/{name}"
                if not isinstance(link, h5py.HardLink):
                    found[inner] = type(link).__name__, link.path
                elif isinstance(target := thing[name], h5py.Datatype):
                    found[inner] = str(target.dtype)
                else:
                    found["same"].setdefault(first.setdefault(target, inner), []).append(inner)
                    note(inner, target)

        found: dict[str, Any] = {"same": {}}
        # First link of each object: h5py's objects are equal if they are the same in the file.
        first: dict[h5py.HLObject, str] = {}
        note("", file["/"])
    return found
