"""HDF5 trajectories in remote storage: tables through h5py, chunks by their offsets."""

import shutil
import sys
from pathlib import Path
from typing import Any

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers import range_server as faults
from helpers.commands import execute
from helpers.golden_files import same_bits
from helpers.made_hdf5 import add_gromacs_topology, content_of, write_rich_h5md
from helpers.messages import raises
from helpers.range_server import RangeServer
from helpers.systems import FILES
from MDAnalysisTests import datafiles
from trajet.remote import ranges
from trajet.remote.objects import open_objects


def opened(
    server: RangeServer, name: str, topology: object = None, **options: Any
) -> tj.Trajectory:
    """Open a file of the server."""
    return tj.open(topology, server.url(name), allow_http=True, connections=4, **options)  # type: ignore[arg-type]


# Objects of h5py in cycles, which only the garbage collector frees: it runs while h5py reads.
IN_CYCLES = """
import gc, sys
import h5py, trajet as tj
from trajet.remote import objects, ranges

gc.set_threshold(10**9)
read, readinto, reading = objects.StoredObject.read, ranges.RangeFile.readinto, []

def read_after_garbage(*arguments):
    if reading and gc.isenabled():
        gc.collect()
    return read(*arguments)

def noted(*arguments):
    reading.append(True)
    try:
        return readinto(*arguments)
    finally:
        reading.pop()

objects.StoredObject.read, ranges.RangeFile.readinto = read_after_garbage, noted
for _ in range(5):
    file = h5py.File(sys.argv[1])
    cycle = [file, file["particles"]]
    cycle.append(cycle)
    del file, cycle
    print(tj.open(None, sys.argv[2], allow_http=True).n_frames)
assert gc.isenabled()
"""


def test_garbage_of_h5py_stops_no_request(server: RangeServer, tmp_path: Path) -> None:
    """h5py holds its lock while it waits for bytes, and would free its objects under it."""
    local = tmp_path / "local.h5md"
    tj.convert(tj.open(None, FILES["solvated.xtc"][1], sidecar=False), local, frames=slice(3))
    shutil.copyfile(local, server.folder / "run.h5md")
    command = [sys.executable, "-c", IN_CYCLES, local, server.url("run.h5md")]
    done = execute(*command)
    assert done.stdout == "3\n" * 5


@pytest.mark.parametrize(("compression", "share"), [(None, 0.08), (1, 0.4)])
def test_rmsd_of_a_solvated_protein_reads_a_part(
    server: RangeServer, compression: int | None, share: float
) -> None:
    """Four requests open it; each frame takes about one, for the wanted atoms or their chunks."""
    topology, source = FILES["solvated.xtc"]
    whole = tj.open(topology, source, sidecar=False)
    tj.convert(whole, server.folder / "run.h5md", compression=compression)
    size = (server.folder / "run.h5md").stat().st_size
    expected = tj.rmsd(tj.open(topology, server.folder / "run.h5md").select("protein"))
    traj = opened(server, "run.h5md", topology)
    # Where it redirects to, the front, the end, and the block of the tables.
    assert server.count() <= 4
    assert server.sent <= 3 * 64 * 1024 + 1
    atoms = traj.select("protein")
    server.clear()
    found = tj.rmsd(atoms)
    assert same_bits(found.values, expected.values)
    assert server.count() <= 1.2 * traj.n_frames
    assert server.sent < share * size


@pytest.fixture(scope="module")
def gromacs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of GROMACS with its topology."""
    path = tmp_path_factory.mktemp("gromacs") / "gromacs.h5md"
    atoms = mda.Universe(datafiles.TPR).atoms
    n = len(atoms)
    with h5py.File(path, "w") as file:
        group = file.create_group("particles/system/position")
        frames = np.random.default_rng(1).normal(size=(3, n, 3)).astype("f4")
        group.create_dataset("value", data=frames, chunks=(1, n, 3), compression=1)
        group["value"].attrs["unit"] = np.bytes_(b"nm")
        group["step"], group["time"] = np.arange(3), np.arange(3.0)
        group["time"].attrs["unit"] = "ps"
    add_gromacs_topology(path, atoms)
    return path


def test_topologies_of_gromacs_are_read_by_their_tables(
    server: RangeServer, gromacs_file: Path
) -> None:
    """The file is its own topology, with bonds, or that of another trajectory; no frame is read."""
    path = shutil.copyfile(gromacs_file, server.folder / "gromacs.h5md")
    here = tj.open(path)
    frame = np.zeros((1, here.n_atoms, 3), np.float32)
    tj.write(server.folder / "other.xtc", frame, times=[0.0])
    server.clear()
    url = server.url("gromacs.h5md")
    alone = tj.open(url, allow_http=True)
    other = tj.open(url, server.url("other.xtc"), allow_http=True)
    for there in (alone, other):
        assert np.array_equal(there.topology.names, here.topology.names)
        assert here.topology.bonds is not None
        assert np.array_equal(there.topology.bonds, here.topology.bonds)
    assert server.sent < path.stat().st_size
    assert same_bits(alone.read().positions, here.read().positions)


def test_values_beside_frames_have_the_bits_of_the_local_file(
    server: RangeServer, tmp_path: Path
) -> None:
    """Velocities, observables, and exact copies with all other contents."""
    path = write_rich_h5md(server.folder / "rich.h5md")
    group: tj.FormatOptions = {"h5md": {"particles": "all"}}
    here = tj.open(None, path, format_options=group)
    there = opened(server, "rich.h5md", format_options=group)
    for frame in range(here.n_frames):
        ours, theirs = there.observables(frame), here.observables(frame)
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    for name, source in (("here.h5md", here), ("there.h5md", there)):
        tj.convert(source, tmp_path / name)
    assert repr(content_of(tmp_path / "there.h5md")) == repr(content_of(tmp_path / "here.h5md"))
    done = tj.convert(there, tmp_path / "copy.trr", allow_loss=True)
    assert any("left out" in message for message in done.messages)


def test_worker_processes_read_chunks_by_themselves(server: RangeServer) -> None:
    """They get the offsets, and need no h5py."""
    topology, source = FILES["solvated.xtc"]
    tj.convert(tj.open(topology, source, sidecar=False), server.folder / "run.h5md", compression=1)
    atoms = opened(server, "run.h5md", topology).select("protein")
    expected = tj.rmsd(atoms).values
    assert same_bits(tj.rmsd(atoms, pool=tj.ProcessPool(workers=2)).values, expected)


def test_failures_while_tables_are_read_are_one_error(server: RangeServer, tmp_path: Path) -> None:
    """Requests are repeated; a replaced or a cut file, and links to other files, are refused."""
    topology, source = FILES["solvated.xtc"]
    path = server.folder / "run.h5md"
    tj.convert(tj.open(topology, source, sidecar=False), path, compression=1)
    whole = path.read_bytes()
    for number, fault in ((2, faults.throttled(503)), (2, faults.cut(10))):
        server.on_request(number, fault)
        assert opened(server, "run.h5md").n_frames == 10
    server.on_request(2, faults.replaced("run.h5md", whole[:-1] + b"x"))
    with raises(tj.StaleIndexError):
        opened(server, "run.h5md")
    server.on_request(2, faults.expired_token(403))
    with raises(PermissionError):
        opened(server, "run.h5md")
    server.replace("run.h5md", whole[: len(whole) // 2])
    with raises(tj.TruncatedError):
        opened(server, "run.h5md")
    with h5py.File(server.folder / "linked.h5md", "w") as file:
        group = file.create_group("particles/all/position")
        group["value"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/value")
    with raises(tj.FormatError):
        opened(server, "linked.h5md")


def test_a_command_takes_an_hdf5_object_alone(
    server: RangeServer, gromacs_file: Path, tmp_path: Path
) -> None:
    """As its own topology."""
    shutil.copyfile(gromacs_file, server.folder / "gromacs.h5md")
    for name, options in (("here", [server.folder / "gromacs.h5md"]), ("there", [])):
        given = options or [server.url("gromacs.h5md"), "--allow-http"]
        out = tmp_path / f"{name}.csv"
        done = commands.run("rmsd", *given, "--select", "name CA", "-o", out)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.csv").read_text() == (tmp_path / "here.csv").read_text()


def test_tables_are_read_in_blocks_that_are_kept(server: RangeServer) -> None:
    """Any read has the bytes of the file; neighbouring blocks are one request."""
    data = np.random.default_rng(2).integers(0, 256, 1_000_003, np.uint8).tobytes()
    (server.folder / "bytes").write_bytes(data)
    (found,) = open_objects([server.url("bytes")], None, allow_http=True)
    file = ranges.RangeFile(found)
    server.clear()
    file.seek(-500_000, 2)
    assert file.read(300_000) == data[-500_000:-200_000]
    assert server.count() == 1
    draw = np.random.default_rng(3)
    for _ in range(200):
        begin, n = int(draw.integers(0, len(data) + 10)), int(draw.integers(0, 200_000))
        assert file.seek(begin) == begin
        assert file.read(n) == data[begin : begin + n]
    assert server.count() <= -(-len(data) // ranges.BLOCK)
    assert server.sent <= len(data)


def test_lists_of_chunks_are_fetched_in_a_few_rounds(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes between the chunks are requested at the same time, each once."""
    monkeypatch.setattr(ranges, "BLOCK", 4096)
    path, n_frames = server.folder / "many.h5md", 2500
    with h5py.File(path, "w") as file:
        group = file.create_group("particles/all/position")
        frames = np.random.default_rng(4).normal(size=(n_frames, 30, 3)).astype("f4")
        layout = {"chunks": (1, 30, 3), "maxshape": (None, 30, 3)}
        group.create_dataset("value", data=frames, **layout)
        group["value"].attrs["unit"] = np.bytes_(b"nm")
        group["step"], group["time"] = np.arange(n_frames), np.arange(float(n_frames))
        group["time"].attrs["unit"] = "ps"
    rounds: list[int] = []
    prefetch = ranges.RangeFile._prefetch

    def counted(file: ranges.RangeFile, offsets: list[int], size: int) -> None:
        before = server.count()
        prefetch(file, offsets, size)
        rounds.append(server.count() - before)

    monkeypatch.setattr(ranges.RangeFile, "_prefetch", counted)
    there = opened(server, "many.h5md")
    asked = [request.range for request in server.requests]
    # Chunks have at least 32 to a node, and the library keeps what it has read.
    assert n_frames / 64 < sum(rounds) < n_frames / 20
    assert len(asked) - sum(rounds) < 15
    assert len(set(asked)) >= len(asked) - 3
    assert server.most_at_once > 4
    assert same_bits(there.read().positions, tj.open(None, path).read().positions)


def test_damaged_nodes_name_no_offsets() -> None:
    """Of what is no inner node of chunks, nothing is fetched ahead."""
    key, n = 40, 64
    node = bytearray(24 + 8 * n + key * (n + 1))
    node[:8] = b"TREE\x01\x01" + (3).to_bytes(2, "little")
    for k in range(3):
        at = 24 + key + k * (key + 8)
        node[at : at + 8] = (1000 * k + 7).to_bytes(8, "little")
    assert ranges.inner_node(memoryview(node)) == [7, 1007, 2007]
    leaf, group, many = bytearray(node), bytearray(node), bytearray(node)
    leaf[5], group[4], many[7] = 0, 0, 255
    for data in (leaf, group, many, node[:-1], node[:20], b""):
        assert ranges.inner_node(memoryview(bytes(data))) == []
