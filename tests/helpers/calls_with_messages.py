"""A call for each code of messages that has a message with it, made by small files and runs."""

import gzip
import json
import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import h5py
import numpy as np
import trajet as tj
from scipy.io import netcdf_file
from trajet.conversion import Conversion
from trajet.members import EnsembleSelection
from trajet.messages import Code, messages_in
from trajet.remote.names import INDEX_SUFFIX
from trajet.topology import load

from helpers import named_atoms, peptides, range_server, role_cases
from helpers.commands import invoke
from helpers.made_hdf5 import write_h5md
from helpers.periodic_systems import make_system
from helpers.recorded_results import files_of
from helpers.trr_bytes import frame_bytes

_RANDOM = np.random.default_rng(1)
# Two waters of which the second has no name of its own in a table of mmCIF.
_CIF = """data_made
loop_
_atom_site.group_PDB
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.auth_seq_id
_atom_site.pdbx_PDB_model_num
ATOM O HOH 1 1
ATOM O HOH 2 2
#
"""
# An atom in a dump of LAMMPS that names no units.
_DUMP = """ITEM: TIMESTEP
0
ITEM: NUMBER OF ATOMS
1
ITEM: BOX BOUNDS pp pp pp
0 10
0 10
0 10
ITEM: ATOMS id x y z
1 2 3 4
"""
_TIER = """
[tiers]
only = {{folder = "only", limit = "{limit}"}}
[[tags]]
name = "all"
short = "a"
select = "all"
tier = "only"
"""
_PLAN = """
[[members]]
replica = 1
topology = "{topology}"
trajectory = "0-5.xtc"
[[analysis]]
command = "gyration"
select = "protein"
output = "rg.csv"
"""


def _atom(number: int, line_end: str = "", **changed: str) -> str:
    """Return a record of an atom of a PDB file, some columns of which may be changed."""
    columns = {
        "serial": f"{number:5}",
        "name": "CA",
        "resid": f"{number:4}",
        "occupancy": f"{1:6.2f}",
        "element": " C",
        "charge": "  ",
    } | changed
    x = 1.5 * number
    return (
        "ATOM  {serial}  {name}  ALA A{resid}    "
        + f"{x:8.3f}{0:8.3f}{0:8.3f}"
        + "{occupancy}  0.00"
        "          {element}{charge}\n"
    ).format(**columns) + line_end


class Made:
    """A peptide in water, and files that are made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sample = tj.samples.peptide_in_water()
        self.topology = self.sample.topology
        self.traj = self.sample.open()
        self.whole = self.traj.whole()
        self.protein = self.whole.select("protein")
        self.water = self.traj.nojump().select("water and name O*")
        self.frames = self.traj.read()

    def written(self, name: str, frames: slice = slice(5), *, cells: bool = True) -> Path:
        """Write some frames to a file."""
        path = self.folder / name
        chosen = self.frames.cells[frames] if cells else None
        times = self.frames.times[frames]
        tj.write(path, self.frames.positions[frames], cells=chosen, times=times, force=True)
        return path

    def opened(self, *names: str, frames: slice = slice(5), cells: bool = True) -> tj.Trajectory:
        """Write files of the same frames, and open them as one trajectory."""
        paths = [self.written(name, frames, cells=cells) for name in names]
        return tj.open(self.topology, *paths)

    def broken(self) -> tj.Selection:
        """Return a peptide that lies at the corner of the box, as programs of simulations wrap."""
        lengths = self.frames.cells[:, np.newaxis, :3]
        middle = self.frames.positions[:, self.protein.indices].mean(axis=1, keepdims=True)
        positions = ((self.frames.positions - middle) % lengths).astype(np.float32)
        path = self.folder / "broken.xtc"
        tj.write(path, positions, cells=self.frames.cells, times=self.frames.times, force=True)
        return tj.open(self.topology, path).select("protein")

    def members(self, *ends: tuple[int, int], **keys: list[object]) -> EnsembleSelection:
        """Return the peptide of replicas, each of a range of frames."""
        rows = []
        for k, (first, end) in enumerate(ends):
            path = self.written(f"{first}-{end}.xtc", slice(first, end))
            row: dict[str, Any] = {name: values[k] for name, values in keys.items()}
            rows.append(row | {"replica": k, "topology": self.topology, "trajectory": path})
        return tj.ensemble(rows).select("protein")

    def cut(self, name: str) -> Path:
        """Write frames to a file that ends inside of the last one."""
        path = self.written(name, slice(5, 10))
        path.write_bytes(path.read_bytes()[:-9])
        return path

    def untimed(self, name: str) -> Path:
        """Write a GRO file of two frames that state no times."""
        frame = "made\n1\n    1SOL     OW    1   0.100   0.200   0.300\n   3.0 3.0 3.0\n"
        return self.text(name, 2 * frame)

    def unknown(self, name: str) -> Path:
        """Write a copy whose message on its source has a code of another version."""
        path = self.copied(name, tj.open(None, *self.overlapping)).path
        contents = path.read_bytes()
        path.write_bytes(contents.replace(b"overlapping-files: ", b"another-new-codes: "))
        assert b"overlapping-files: " in contents
        return path

    def without_bonds(self, name: str) -> tj.Trajectory:
        """Open a PSF file that ends behind its atoms."""
        peptides.write_psf(self.folder / name, peptides.helix(2))
        text = (self.folder / name).read_text()
        topology = self.text(name, text[: text.rindex("\n\n") + 1])
        path = self.folder / f"{name}.nc"
        tj.write(path, _RANDOM.uniform(0, 9, (2, 12, 3)).astype(np.float32), force=True)
        return tj.open(topology, path)

    @cached_property
    def overlapping(self) -> tuple[Path, Path]:
        """Two files, the second of which begins with the last frame of the first."""
        return self.written("first.xtc"), self.written("second.xtc", slice(4, 9))

    def text(self, name: str, text: str) -> Path:
        """Write a text file."""
        path = self.folder / name
        path.write_text(text)
        return path

    def packed(self, name: str, text: str) -> Path:
        """Write a text file that is compressed."""
        path = self.folder / name
        path.write_bytes(gzip.compress(text.encode()))
        return path

    def patched(self, name: str, *changes: tuple[bytes, bytes], frames: slice = slice(5)) -> Path:
        """Write frames to a file, and change some of its bytes."""
        path = self.written(name, frames)
        contents = path.read_bytes()
        for old, new in changes:
            assert old in contents and len(old) == len(new)
            contents = contents.replace(old, new)
        path.write_bytes(contents)
        return path

    def series(self, *times: float) -> tj.Table:
        """Return a series of another program at some times, ps."""
        rows = "".join(f"{time} 1\n" for time in times)
        return tj.read_series(self.text("COLVAR", f"#! FIELDS time x\n{rows}"), time_unit="ps")

    def pdb(self, name: str, *records: str, end: str = "END\n") -> tj.Trajectory:
        """Write a PDB file and open it."""
        path = self.text(name, "".join(records or map(_atom, range(1, 5))) + end)
        return tj.open(path, path, sidecar=False)

    def peptide(
        self, name: str, rows: list[peptides.Row], writer: Callable[..., Path] = peptides.write_pdb
    ) -> tj.Trajectory:
        """Write a peptide and frames of it, and open them."""
        topology = writer(self.folder / name, rows)
        return tj.open(topology, peptides.write_frames(self.folder / f"{name}.trr", rows, rows))

    def acetate(self, *, charge: float | None = None, template: str | None = None) -> tj.Chemistry:
        """Return the chemistry of a ligand."""
        files = role_cases.write(role_cases.ligand("CC(=O)[O-]"), self.folder, charge)
        with tj.open(*files, sidecar=False) as traj:
            return tj.chemistry(traj.all_atoms(), template=template)

    def trr(self, name: str, times: Sequence[float], box: np.ndarray | None = None) -> Path:
        """Write a TRR file of twelve atoms."""
        box = np.diag([4.0, 5.0, 6.0]) if box is None else box
        positions = [_RANDOM.uniform(0, 3, (12, 3)).astype(np.float32) for _ in times]
        path = self.folder / name
        path.write_bytes(
            b"".join(
                frame_bytes(x, n_atoms=12, step=10 * k, time=time, box=box)
                for k, (x, time) in enumerate(zip(positions, times, strict=True))
            )
        )
        return path

    def h5md(self, name: str, **options: Any) -> Path:
        """Write an H5MD file of twelve atoms in three frames."""
        positions = _RANDOM.uniform(0, 3, (3, 12, 3)).astype(np.float32)
        return write_h5md(self.folder / name, positions, **({"time": 1.0, "step": 1} | options))

    def slab(self, name: str) -> tj.Trajectory:
        """Open a file whose cell is not periodic along z."""
        edges = np.array([3.0, 3, 4])
        boundary = ["periodic", "periodic", "none"]
        return tj.open(None, self.h5md(name, edges=edges, edges_of="fixed", boundary=boundary))

    def served(self, *changes: Callable[[range_server.RangeServer], None]) -> tj.Trajectory:
        """Open a file of a server that is changed before."""
        folder = self.folder / "served"
        folder.mkdir(exist_ok=True)
        contents = self.written("run.xtc", slice(None)).read_bytes()
        for name in ("run.xtc", "other.xtc"):
            (folder / name).write_bytes(contents)
        server = range_server.RangeServer(folder)
        try:
            for change in changes:
                change(server)
            traj = tj.open(self.topology, server.url("run.xtc"), allow_http=True)
            traj.select("protein")
            return traj
        finally:
            server.close()

    def with_fewer_connections(self) -> tj.Table:
        """Analyse a file of a server with memory for one connection."""
        folder = self.folder / "served"
        folder.mkdir(exist_ok=True)
        (folder / "run.xtc").write_bytes(self.written("run.xtc").read_bytes())
        with (
            range_server.RangeServer(folder) as server,
            mock.patch("trajet.analysis.runner.connections_that_fit", return_value=1),
        ):
            traj = tj.open(self.topology, server.url("run.xtc"), allow_http=True)
            return tj.rmsf(traj.select("protein"))

    def chains(self) -> tj.Selection:
        """Return two chains that touch, the second in another image."""
        rows = [
            peptides.Row("CA", "ALA", k % 12 + 1, (0, 0, 0), chain="AB"[k // 12]) for k in range(24)
        ]
        topology = peptides.write_pdb(self.folder / "chains.pdb", rows)
        positions = np.zeros((3, 24, 3), np.float32)
        positions[..., 0] = np.tile(3.8 * np.arange(12), 2)
        positions[:, 12:, 1] = 66
        path = self.folder / "chains.xtc"
        tj.write(path, positions, cells=[60.0, 60, 60, 90, 90, 90], force=True)
        return tj.open(topology, path).select("name CA")

    def renamed_chains(self) -> EnsembleSelection:
        """Return replicas whose chains have other names."""
        found = []
        for k, names in enumerate(("AB", "CD")):
            rows = [
                peptides.Row("CA", "ALA", i % 4 + 1, (3.8 * i, i % 3, 0), chain=names[i // 4])
                for i in range(8)
            ]
            topology = peptides.write_pdb(self.folder / f"{names}.pdb", rows)
            path = peptides.write_frames(self.folder / f"{names}.trr", rows, rows)
            found.append({"replica": k, "topology": topology, "trajectory": path})
        return tj.ensemble(found).select("name CA")

    def walks(self, *, together: bool) -> tj.Selection:
        """Return particles that diffuse, each by itself or as one body."""
        steps = _RANDOM.normal(0, 1, (400, 1 if together else 64, 3))
        noise = _RANDOM.normal(0, 0.2, (400, 64, 3))
        path = self.folder / f"walk-{together}.dcd"
        positions = (np.cumsum(steps, axis=0) + noise).astype(np.float32)
        tj.write(path, positions, times=np.arange(400.0), force=True)
        return tj.open(None, path).all_atoms()

    def limited_tier(self) -> Any:
        """Add a data set with another limit of its tier."""
        store = tj.Store(self.folder / "store", create=True)
        traj = self.opened("stored.xtc")
        profile = self.text("profile.toml", _TIER.format(limit="1 GB"))
        store.add("one", traj, profile=profile)
        profile.write_text(_TIER.format(limit="2 GB"))
        return store.add("two", traj, profile=profile)

    def run_again(self) -> Any:
        """Run a plan twice, and return the messages of the document that the command prints."""
        self.written("0-5.xtc")
        plan = self.text("plan.toml", _PLAN.format(topology=self.topology))
        words = ["run", str(plan), "--resume", str(self.folder / "kept"), "--json"]
        invoke(*words)
        done = invoke(*words)
        assert done.exit_code == 0, done.output
        (document,) = json.loads(done.stdout)
        return SimpleNamespace(messages=messages_in(document))

    def lammps(self) -> tj.Trajectory:
        """Open a NetCDF file of LAMMPS with velocities without units and numbers of atoms."""
        path = self.folder / "lammps.nc"
        with netcdf_file(path, "w", version=2) as file:
            file.Conventions, file.ConventionVersion = b"AMBER", b"1.0"
            file.program = b"LAMMPS"
            for name, n in (("frame", None), ("spatial", 3), ("atom", 4)):
                file.createDimension(name, n)
            for name in ("coordinates", "velocities"):
                made = file.createVariable(name, "f", ("frame", "atom", "spatial"))
                made[:2] = _RANDOM.uniform(0, 9, (2, 4, 3))
            file.variables["coordinates"].units = b"angstrom"
            file.createVariable("time", "f", ("frame",))[:2] = [0, 1]
            file.variables["time"].units = b"picosecond"
            file.createVariable("id", "i", ("frame", "atom"))[:2] = [[2, 1, 4, 3]] * 2
        return tj.open(None, path)

    def some_velocities(self) -> tj.Trajectory:
        """Open an H5MD file with velocities at two of three frames."""
        path = self.h5md("some.h5md", time=np.arange(3.0), step=np.arange(3))
        with h5py.File(path, "a") as file:
            group = file["particles/trajectory"].create_group("velocity")
            group["value"] = np.zeros((2, 12, 3), np.float32)
            group["value"].attrs["unit"] = "nm ps-1"
            group["step"], group["time"] = np.arange(2), np.arange(2.0)
            group["time"].attrs["unit"] = "ps"
        return tj.open(None, path)

    def claimed_frames(self) -> tj.Trajectory:
        """Open a DCD file whose header counts more frames than it holds."""
        path = self.written("claimed.dcd")
        contents = bytearray(path.read_bytes())
        contents[8:12] = struct.pack("<i", 99)
        path.write_bytes(contents)
        return tj.open(None, path)

    def turned(self) -> tj.Trajectory:
        """Open a copy of a turned box in DCD."""
        box = np.array([[0.0, 5, 0], [-4, 0, 0], [0, 0, 6]])
        source = tj.open(None, self.trr("turned.trr", [0, 1], box))
        path = self.folder / "turned.dcd"
        tj.convert(source, path, allow_loss=True, force=True)
        return tj.open(None, path)

    def copied(self, name: str, source: tj.Trajectory, **options: Any) -> Conversion:
        """Copy a trajectory."""
        return tj.convert(source, self.folder / name, force=True, **options)

    def shifted_profiles(self) -> Any:
        """Return the mean of densities along cells of nearly the same height."""
        found = []
        for k, height in enumerate((1.0, 1.001)):
            path = self.folder / f"slab{k}.xtc"
            cells = self.frames.cells[:5] * [1, 1, height, 1, 1, 1]
            tj.write(path, self.frames.positions[:5], cells=cells, force=True)
            found.append({"replica": k, "topology": self.topology, "trajectory": path})
        return tj.linear_density(tj.ensemble(found).select("protein")).mean()

    def scaled(self) -> EnsembleSelection:
        """Return replicas of which one is larger than the other."""
        found = []
        for k, scale in enumerate((1.0, 1.5)):
            path = self.folder / f"scaled{k}.dcd"
            tj.write(path, self.frames.positions * np.float32(scale), force=True)
            found.append({"replica": k, "topology": self.topology, "trajectory": path})
        return tj.ensemble(found).select("protein")


def _without_hydrogens_of_a_location(made: Made) -> tj.Table:
    """Analyse hydrogen bonds of heavy atoms whose hydrogens are at two locations."""
    rows = peptides.helix(6)
    at = next(k for k, row in enumerate(rows) if row.name == "H")
    rows[at : at + 1] = [
        rows[at]._replace(location="A"),
        rows[at].moved((0.1, 0, 0))._replace(location="B"),
    ]
    heavy = made.peptide("located.pdb", rows).select("name N O")
    return tj.hbonds(heavy, guess_bonds=True, cutoff=4.0, angle=90)


def _with_many_symmetries(made: Made) -> tj.Table:
    """Analyse a star of nine arms, which have more orders than are tried."""
    bonds = [f"CONECT    1{k:5d}\n" for k in range(2, 11)]
    atoms = made.pdb("star.pdb", *map(_atom, range(1, 11)), *bonds).all_atoms()
    return tj.rmsd(atoms, groups=[atoms], symmetric=True)


def _mutated(rows: list[peptides.Row], name: str) -> list[peptides.Row]:
    """Return a peptide with another residue in its middle."""
    return [row._replace(residue=name) if row.number == 7 else row for row in rows]


def _unbonded(rows: list[peptides.Row]) -> list[peptides.Row]:
    """Return a peptide with an atom that no bond names."""
    return [row._replace(name="CX") if (row.name, row.number) == ("CB", 7) else row for row in rows]


# A call that has a message of each code.
CALLS: dict[Code, Callable[[Made], Any]] = {
    # Positions and cells.
    Code.BROKEN_MOLECULES: lambda m: tj.rmsd(m.broken()),
    Code.CHAINS_IN_IMAGES: lambda m: tj.gyration(m.chains()),
    Code.NO_CELL: lambda m: tj.contacts(
        m.opened("no-cell.xtc", cells=False).select("protein"), cutoff=4.5
    ),
    Code.SMALL_CELL: lambda m: tj.rdf(
        m.traj.select("water and name O*"), range=(0, 20), frames=[0]
    ),
    Code.INFINITE_MOLECULES: lambda m: tj.gyration(
        make_system("endless", m.folder).open().whole().all_atoms()
    ),
    Code.UNCERTAIN_JUMPS: lambda m: tj.distances(
        tj.open(None, m.h5md("jumps.h5md", edges=np.array([1.0, 1, 1]), edges_of="fixed"))
        .nojump()
        .select([0, 1])
    ),
    Code.WRAPPED_POSITIONS: lambda m: tj.msd(m.whole.nojump().select("protein")),
    Code.NOT_SUPERPOSED: lambda m: tj.rmsf(m.protein, align=None),
    Code.OUTSIDE_GRID: lambda m: tj.density(
        m.protein, grid_center=(0, 0, 0), grid_size=(9, 9, 9), frames=[0]
    ),
    Code.OPEN_BOUNDARY: lambda m: tj.linear_density(
        m.slab("slab.h5md").all_atoms(), quantity="number"
    ),
    # Files.
    Code.CUT_FRAME: lambda m: tj.open(
        None, m.written("first.xtc"), m.cut("cut.xtc"), allow_truncated_tail=True
    ),
    Code.FRAME_COUNT: lambda m: m.claimed_frames(),
    Code.MAY_BE_CUT: lambda m: m.pdb("no-end.pdb", end=""),
    Code.CELL_NOT_READ: lambda m: m.pdb("no-lengths.pdb", "CRYST1\n", *map(_atom, range(1, 5))),
    Code.CRYSTAL_CELL: lambda m: m.pdb(
        "crystal.pdb",
        "CRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 21 21 21    4\n",
        *map(_atom, range(1, 5)),
    ),
    Code.ASSUMED_CELL: lambda m: tj.open(
        None,
        m.h5md("no-boundary.h5md", edges=np.array([3.0, 3, 3]), edges_of="fixed", boundary=None),
    ),
    Code.ASSUMED_UNITS: lambda m: tj.open(
        None, m.patched("units.dcd", (b"Created by trajet", b"Written by LAMMPS"))
    ),
    Code.UNKNOWN_UNITS: lambda m: tj.open(None, m.text("no-units.lammpstrj", _DUMP)),
    Code.REDUCED_UNITS: lambda m: tj.open(
        None, m.text("reduced.lammpstrj", f"ITEM: UNITS\nlj\n{_DUMP}")
    ),
    Code.TOPOLOGY_FRAMES: lambda m: tj.open(
        m.text("0.lammpstrj", _DUMP), m.text("100.lammpstrj", _DUMP)
    ),
    Code.OTHER_VERSION: lambda m: tj.open(None, m.patched("version.nc", (b"1.0\0", b"1.1\0"))),
    Code.NOT_READ: lambda m: m.lammps(),
    Code.SOME_FRAMES: lambda m: m.some_velocities(),
    Code.SORTED_ATOMS: lambda m: m.lammps(),
    Code.ROUNDED_POSITIONS: lambda m: tj.open(
        None, m.copied("coarse.xtc", m.opened("fine.xtc"), precision=10).path
    ),
    Code.SEQUENTIAL_ACCESS: lambda m: tj.open(None, m.packed("frames.lammpstrj.gz", 2 * _DUMP)),
    Code.INDEX_NOT_USED: lambda m: m.served(
        lambda one: (one.folder / f"run.xtc{INDEX_SUFFIX}").write_bytes(b"no index")
    ),
    Code.REDIRECTED: lambda m: m.served(
        lambda one: one.always(range_server.redirected("/other.xtc"), path="run.xtc")
    ),
    Code.WEAK_VERSION: lambda m: m.served(
        lambda one: one.always(range_server.header("ETag", None))
    ),
    Code.FEWER_CONNECTIONS: lambda m: m.with_fewer_connections(),
    Code.FILE_ORDER: lambda m: tj.open(None, *m.overlapping[::-1], continuous=True),
    Code.DROPPED_FRAMES: lambda m: tj.open(None, *m.overlapping, continuous=True),
    Code.UNCHECKED_OVERLAP: lambda m: tj.open(
        None, *(m.untimed(f"{k}.gro") for k in (1, 2)), continuous=True, time_step=1
    ),
    Code.OVERLAPPING_FILES: lambda m: tj.open(None, *m.overlapping),
    Code.TIMES_STEP_BACK: lambda m: tj.open(None, m.trr("back.trr", [0, 1, 0, 1])),
    Code.GIVEN_TIMES: lambda m: tj.open(None, m.trr("given.trr", [0, 1]), time_step=2),
    Code.UNEQUAL_STEPS: lambda m: tj.open(
        None,
        m.text("steps.lammpstrj", "".join(_DUMP.replace("0", str(k), 1) for k in (0, 1, 5))),
        time_step=2,
    ),
    Code.UNKNOWN_TIMES: lambda m: tj.open(
        None, m.text("no-times.lammpstrj", f"ITEM: UNITS\nreal\n{_DUMP}{_DUMP}")
    ),
    Code.NO_TIMES: lambda m: tj.open(None, m.untimed("untimed.gro")),
    Code.REPEATED_TIMES: lambda m: m.series(0, 1, 2, 2),
    Code.NO_PARTNER: lambda m: m.series(0, 1).at(m.traj),
    Code.UNKNOWN: lambda m: tj.open(None, m.unknown("unknown.nc")),
    # Copies and stores.
    Code.LEFT_OUT_OF_COPY: lambda m: m.copied("steps.nc", m.traj, frames=[0, 5, 7]),
    Code.CHANGED_TIMES: lambda m: tj.open(
        None, m.copied("uneven.dcd", m.traj, frames=[0, 1, 5], allow_loss=True).path
    ),
    Code.TURNED_BOX: lambda m: m.turned(),
    Code.MESSAGES_NOT_STORED: lambda m: m.copied("copy.xtc", tj.open(None, *m.overlapping)),
    Code.TIER_LIMIT: lambda m: m.limited_tier(),
    # Atoms and topologies.
    Code.TOPOLOGY_MAY_BE_CUT: lambda m: tj.gyration(m.without_bonds("no-bonds.psf").all_atoms()),
    Code.SEVERAL_MODELS: lambda m: load(m.text("models.cif", _CIF)).topology,
    Code.SERIAL_NUMBERS: lambda m: m.pdb("serial.pdb", _atom(1, serial="*****")).topology,
    Code.DEFAULT_VALUES: lambda m: m.pdb("default.pdb", _atom(1, occupancy="  high")).topology,
    Code.UNKNOWN_ELEMENTS: lambda m: m.pdb("element.pdb", _atom(1, element="XQ")).topology,
    Code.UNKNOWN_MASSES: lambda m: m.pdb("masses.pdb", _atom(1, name="XQ", element="  ")).topology,
    Code.BONDS_NOT_READ: lambda m: tj.gyration(
        m.pdb("conect.pdb", *map(_atom, range(1, 5)), "CONECT    x    2\n").all_atoms()
    ),
    Code.ATOM_ORDER: lambda m: tj.open(
        named_atoms.write_pdb(m.folder / "order.pdb", [named_atoms.chain_of(9)]),
        named_atoms.write_gro(m.folder / "order.gro", [named_atoms.chain_of(9)[::-1]]),
    ),
    Code.OTHER_NAMES: lambda m: tj.rmsd(
        m.peptide("plain.pdb", peptides.helix(12)).select("name CA"),
        reference=peptides.write_pdb(m.folder / "mutant.pdb", _mutated(peptides.helix(12), "GLY")),
    ),
    Code.RESIDUE_NUMBERS: lambda m: tj.gyration(
        m.pdb("starred.pdb", *(_atom(k, resid="****") for k in range(1, 5))).all_atoms()
    ),
    Code.BONDS_LEFT_OUT: lambda m: (
        m.pdb("bonds.pdb", *map(_atom, range(1, 5)), "CONECT    1    9\n").topology
    ),
    Code.UNBONDED_RESIDUES: lambda m: tj.gyration(
        m.peptide("unbonded.psf", _unbonded(peptides.helix(12)), peptides.write_psf)
        .whole()
        .all_atoms()
    ),
    Code.GUESSED_BONDS: lambda m: tj.gyration(
        m.peptide("guessed.pdb", peptides.helix(5)).whole(guess_bonds=True).all_atoms()
    ),
    Code.GUESSED_MASSES: lambda m: tj.gyration(
        m.peptide("masses.gro", peptides.helix(5), peptides.write_gro).all_atoms()
    ),
    Code.UNDECIDED_ELEMENTS: lambda m: tj.sasa(m.protein, frames=[0]),
    Code.ALTERNATE_LOCATIONS: lambda m: tj.gyration(
        m.peptide(
            "locations.pdb", peptides.OF_LOCATIONS["another side chain"](peptides.helix(12))
        ).all_atoms()
    ),
    Code.PROTEIN_NAMES: lambda m: tj.dssp(
        m.peptide("unknown.pdb", _mutated(peptides.helix(12), "XYZ")).select("protein")
    ),
    Code.MODIFIED_RESIDUES: lambda m: tj.dssp(
        m.peptide("modified.pdb", _mutated(peptides.helix(12), "SEP")).select("protein")
    ),
    Code.SAME_ATOMS: lambda m: tj.count(m.traj.select("water and around 4 protein"), frames=[0]),
    Code.REPEATED_ATOMS: lambda m: tj.rmsd(m.traj.select([0, 0, 1, 2]), frames=[0]),
    Code.SHARED_ATOMS: lambda m: tj.contacts(
        m.protein, m.whole.select("protein and name CA"), frames=[0]
    ),
    Code.EXCLUDED_PAIRS: lambda m: tj.rdf(
        m.traj.select("water"), range=(0, 5), exclude=(2, 2), frames=[0]
    ),
    Code.FEW_ATOMS: lambda m: tj.rmsd(m.traj.select("index 0:1"), frames=[0]),
    Code.RESIDUES_LEFT_OUT: lambda m: tj.dihedrals(
        m.peptide(
            "lacking.pdb", [row for row in peptides.helix(12) if (row.name, row.number) != ("C", 7)]
        ).select("protein")
    ),
    Code.CHAIN_BREAKS: lambda m: tj.dssp(m.whole.select("protein and resid 2-4"), frames=[0]),
    Code.NO_ROLES: lambda m: tj.interactions(m.whole.select("protein"), frames=[0]),
    Code.HYDROGENS_LEFT_OUT: _without_hydrogens_of_a_location,
    Code.ORDERS_FROM_CHARGES: lambda m: m.acetate(charge=-1.0),
    Code.OTHER_PROTONATION: lambda m: m.acetate(template="CC(=O)O"),
    Code.SYMMETRIES: _with_many_symmetries,
    # Arguments and frames.
    Code.UNITS: lambda m: tj.contacts(m.protein, cutoff=0.045, frames=[0]),
    Code.NO_FRAMES: lambda m: tj.rmsf(m.protein, frames=[]),
    Code.ONE_FRAME: lambda m: tj.rmsf(m.protein, frames=[0]),
    Code.NO_NUMBERS: lambda m: tj.gyration(m.whole.select([0]), frames=[0]),
    Code.USED_AGAIN: lambda m: m.run_again(),
    Code.READ_SEVERAL_TIMES: lambda m: tj.msd(m.water, max_memory=1_000_000),
    # Errors and fits.
    Code.NOT_RESOLVED: lambda m: tj.rmsf(m.protein, errors=True),
    Code.NO_ERRORS: lambda m: tj.msd(
        m.walks(together=False).trajectory.select([3]), unwrapped=True, max_memory=150_000
    ),
    Code.DEPENDENT_PARTICLES: lambda m: tj.msd(m.walks(together=True), unwrapped=True),
    Code.LIFETIME: lambda m: tj.hbonds(m.whole.all_atoms(), lifetimes=True, frames=slice(20)),
    Code.FIT: lambda m: tj.msd(m.water, frames=slice(4)),
    Code.SPARSE_FRAMES: lambda m: tj.velocity_autocorrelation(
        tj.open(*files_of("velocity", m.folder)).select("protein")
    ),
    Code.NET_CHARGE: lambda m: tj.conductivity(
        tj.samples.molten_salt().open().nojump().select(range(9)), temperature=1200
    ),
    Code.FEWER_COMPONENTS: lambda m: tj.pca(m.protein, n_components=50, frames=slice(10)),
    # Replicas.
    Code.ROWS_LEFT_OUT: lambda m: tj.rmsf(
        tj.samples.peptide_variants().open().select("protein")
    ).difference("wild_type", "mutant"),
    Code.SLICES_BY_NUMBER: lambda m: m.shifted_profiles(),
    Code.RENAMED_RESIDUES: lambda m: tj.dihedrals(
        tj.samples.peptide_variants().open().select("protein")
    ).mean([]),
    Code.RENAMED_CHAINS: lambda m: tj.rmsf(m.renamed_chains()).mean(),
    Code.ONE_REPLICA: lambda m: tj.rmsf(m.members((0, 5))).mean(),
    Code.UNEQUAL_LENGTHS: lambda m: tj.rmsf(m.members((0, 5), (5, 12))).mean(),
    Code.EQUAL_REPLICAS: lambda m: tj.rmsf(m.members((0, 5), (0, 5))).mean(),
    Code.SAME_START: lambda m: tj.gyration(m.members((0, 5), (0, 9))).mean(),
    Code.REPLICAS_DIFFER: lambda m: tj.gyration(m.scaled()).mean(),
    Code.MIXED_MEMBERS: lambda m: tj.rmsf(
        m.members((0, 5), (5, 10), system=["a", "a"], ph=[4, 7])
    ).mean("system"),
}
