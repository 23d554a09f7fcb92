"""Topologies in remote storage are downloaded once, and no file makes trajet open a URL."""

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers import range_server as faults
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from helpers.systems import FILES
from MDAnalysisTests import datafiles
from trajet.remote import downloads
from trajet.remote.names import address_of
from trajet.remote.stores import Opening, place_of

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/trajet/topologies"


def opened(topology: Any, *trajectories: Any, **options: Any) -> tj.Trajectory:
    """Open with plain HTTP."""
    return tj.open(topology, *trajectories, allow_http=True, **options)


KINDS = {
    "psf": datafiles.PSF,
    "gro": datafiles.GRO,
    "pdb": datafiles.PDB_small,
    "prmtop": datafiles.PRM,
    "tpr": datafiles.TPR,
    # Parsed by MDAnalysis.
    "mol2": datafiles.mol2_molecule,
}


@pytest.mark.parametrize("kind", KINDS)
def test_topologies_have_the_columns_of_the_local_file(
    server: RangeServer, kind: str, tmp_path: Path
) -> None:
    """Each is downloaded once, with requests of pieces, and read like a file.

    To open a URL takes two requests, the first of which asks for redirects.
    """
    name = f"top.{kind}"
    shutil.copyfile(KINDS[kind], tmp_path / name)
    shutil.copyfile(KINDS[kind], server.folder / name)
    size = (tmp_path / name).stat().st_size
    atoms = tj.topology.load(tmp_path / name).topology
    frame = np.zeros((1, atoms.n_atoms, 3), np.float32)
    path = tmp_path / "frame.xtc"
    tj.write(path, frame, times=[0.0])
    server.clear()
    there = opened(server.url(name), path)
    assert server.count(path=name) <= 3
    assert server.sent <= size + 64 * 1024 + 1
    server.clear()
    again = opened(server.url(name), path)
    assert server.count() == 2
    for traj in (there, again):
        assert str(traj.topology_path) == server.url(name)
        assert np.array_equal(traj.topology.names, atoms.names)
        assert np.array_equal(traj.topology.masses, atoms.masses)
        entry = traj.source.describe_inputs()[-1]
        assert (entry["path"], entry["size"]) == (server.url(name), size)


def test_copies_are_for_the_user_alone(server: RangeServer, cache: Path) -> None:
    """A copy that others may have changed, or of another object, is not used."""
    url = server.url("adk.psf")
    opened(url.replace("://", f"://user:{SECRET}@") + f"?sig={SECRET}", server.url("adk.xtc"))
    (copy,) = cache.iterdir()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert SECRET not in copy.name
    assert copy.name.endswith("adk.psf")
    opened(url, server.url("adk.xtc"))
    assert len(list(cache.iterdir())) == 2
    server.replace("adk.psf", (server.folder / "adk.psf").read_bytes())
    opened(url, server.url("adk.xtc"))
    assert len(list(cache.iterdir())) == 3


def test_an_analysis_has_the_numbers_of_local_files(server: RangeServer, adk: Adk) -> None:
    """Also on worker processes, which read no topology, and after pickling."""
    here = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    traj = opened(server.url("adk.psf"), server.url("adk.xtc"), connections=4)
    assert same_bits(tj.rmsd(traj.select("name CA")).values, here.values)
    again = pickle.loads(pickle.dumps(traj))
    assert same_bits(tj.rmsd(again.select("name CA")).values, here.values)
    lines = (server.folder / "adk.psf").read_text().replace("LYS", "ARG")
    server.replace("adk.psf", lines.encode())
    with raises(tj.FormatError):
        pickle.loads(pickle.dumps(traj))


def test_structure_files_are_their_own_topology(server: RangeServer) -> None:
    """A GRO file of the server, alone."""
    shutil.copyfile(FILES["solvated.xtc"][0], server.folder / "conf.gro")
    here = tj.open(FILES["solvated.xtc"][0])
    there = opened(server.url("conf.gro"))
    assert there.topology.n_atoms == here.topology.n_atoms
    assert same_bits(there.read().positions, here.read().positions)


def test_members_and_commands_take_topologies(
    server: RangeServer, adk: Adk, tmp_path: Path
) -> None:
    """Equal topologies are parsed once."""
    rows = [
        {"replica": k, "topology": server.url("adk.psf"), "trajectory": adk.xtc} for k in (1, 2)
    ]
    members = tj.ensemble(rows, allow_http=True)
    found = tj.rmsd(members.select("name CA"))
    assert members.n_parsed_topologies == 1
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    assert same_bits(found[1].values, expected.values)
    done = commands.run(
        *("rmsd", server.url("adk.psf"), adk.xtc, "--select", "name CA", "--allow-http"),
        *("-o", tmp_path / "rmsd.npz"),
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "rmsd.npz") as arrays:
        assert same_bits(arrays["values"], expected.values)
    done = commands.run("info", server.url("adk.psf"), "--allow-http")
    assert done.returncode == 0, done.stderr
    assert "3341" in done.stdout
    assert str(tmp_path / "cache") not in done.stdout


def test_topologies_of_stores_and_filesystems_are_read(adk: Adk) -> None:
    """With a path, as trajectories are; such a trajectory cannot be pickled."""
    from obstore.store import LocalStore

    store = LocalStore(adk.psf.parent)
    traj = tj.open((store, adk.psf.name), (store, adk.xtc.name))
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    assert same_bits(tj.rmsd(traj.select("name CA")).values, expected.values)
    with raises(TypeError):
        pickle.dumps(traj)


def test_stores_with_equal_keys_are_not_mixed(adk: Adk) -> None:
    """Neither in a chain nor in the cache: paths do not name the stores of callers."""
    import obstore
    from obstore.store import MemoryStore

    first, second = stores = MemoryStore(), MemoryStore()
    text = Path(datafiles.PDB_small).read_bytes()
    other = text.replace(b" N    MET     1     -11.921", b" P    MET     1     -12.921")
    for store, contents in zip(stores, (text, other), strict=True):
        obstore.put(store, "run.pdb", contents)
    opened_ones = [tj.open((store, "run.pdb")) for store in stores]
    assert [traj.topology.names[0] for traj in opened_ones] == ["N", "P"]
    chain = tj.open(adk.psf, (first, "run.pdb"), (second, "run.pdb"), (first, "run.pdb"))
    x = chain.read().positions[:, 0, 0]
    assert x[0] == x[2] != x[1]
    assert len(set(chain.paths)) == 2
    mixed = tj.open((second, "run.pdb"), (first, "run.pdb"))
    assert mixed.topology.names[0] == "P"
    assert mixed.read().positions[0, 0, 0] == x[0]


@pytest.mark.parametrize(
    ("url", "options", "is_one"),
    [
        ("s3://bucket/top.gro", [{}, {"region": "eu-west-1"}], True),
        ("s3://bucket/top.gro", [{"endpoint": "https://a"}, {"endpoint": "https://b"}], False),
        ("az://box/top.gro", [{"account_name": "a"}, {"account_name": "b"}], False),
    ],
)
def test_versions_are_those_of_a_place(
    url: str, options: list[dict[str, object]], is_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ETags are compared within one bucket of one service."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    openings = [Opening(address_of(url), {**one, "skip_signature": True}, False) for one in options]
    assert len({place_of(opening.store(), opening) for opening in openings}) == 2 - is_one
    assert len({place_of(opening.store(), None) for opening in openings}) == 2 - is_one
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://c")
    assert place_of(openings[0].store(), openings[0]) != ""


def test_errors_name_the_object(
    server: RangeServer, adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not its copy."""
    (server.folder / "bad.psf").write_text("PSF\n\n  1 !NTITLE\n broken\n\n  7 !NATOM\n x\n")
    with raises(tj.FormatError):
        _ = opened(server.url("bad.psf"), adk.xtc).topology
    with raises(FileNotFoundError):
        opened(server.url("none.psf"), adk.xtc)
    monkeypatch.setattr(downloads, "LARGEST", 1000)
    with raises(tj.RemoteError):
        opened(server.url("adk.psf"), adk.xtc)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    with raises(tj.RemoteError):
        opened(server.url("adk.psf"), adk.xtc)


def test_downloads_that_fail_leave_no_copy(server: RangeServer, adk: Adk, cache: Path) -> None:
    """Of failures for a moment, the request is repeated; a replaced object is an error."""
    server.on_request(2, faults.throttled(503))
    server.on_request(3, faults.cut(100))
    opened(server.url("adk.psf"), adk.xtc)
    (copy,) = cache.iterdir()
    assert copy.read_bytes() == adk.psf.read_bytes()
    copy.unlink()
    server.on_request(2, faults.replaced("adk.psf", adk.psf.read_bytes() + b"\n"))
    with raises(tj.StaleIndexError) as raised:
        opened(server.url("adk.psf"), adk.xtc)
    assert str(raised.value.path) == server.url("adk.psf")
    assert not list(cache.iterdir())


def test_urls_in_files_open_no_connection(server: RangeServer, adk: Adk, tmp_path: Path) -> None:
    """In manifests of stores, links of HDF5 files and topologies."""
    url = server.url("adk.xtc")
    store = tj.Store(tmp_path / "md", create=True)
    store.add("adk", tj.open(adk.psf, adk.xtc))
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "linked.h5md", "w") as file:
        group = file.create_group("particles/all")
        group["position"] = h5py.ExternalLink(url, "/particles/all/position")
    (tmp_path / "top.top").write_text(f'#include "{url}"\n')
    server.clear()
    n_errors = 0
    for manifest in (tmp_path / "md/adk").rglob("*.json"):
        text = manifest.read_text()
        content = json.loads(text)
        for name, value in _texts(content):
            manifest.write_text(text.replace(json.dumps(value), json.dumps(url)))
            try:
                traj = tj.open(tmp_path / "md/adk")
                tj.rmsd(traj.select("name CA"))
            except (tj.TrajetError, OSError, ValueError):
                n_errors += 1
            manifest.write_text(text)
            assert not server.count(), name
    assert n_errors
    for path in (tmp_path / "linked.h5md", tmp_path / "top.top"):
        with pytest.raises((tj.TrajetError, OSError)):
            _ = tj.open(path if path.suffix == ".top" else None, path).topology
    assert not server.count()


def _texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSON value, by their places."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(one, f"{name}.{key}")
    elif isinstance(value, list):
        for k, one in enumerate(value):
            yield from _texts(one, f"{name}[{k}]")
