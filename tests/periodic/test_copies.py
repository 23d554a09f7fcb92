"""Copies of transformed trajectories hold the transformed positions; stores refuse them."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from distributed import Client
from helpers.commands import invoke, succeed
from helpers.made_stores import make_store
from helpers.messages import raises
from helpers.periodic_systems import PeriodicSystem, Solvated, make_system
from helpers.pool_laws import assert_same_files
from helpers.started_ranks import run_on_ranks

# Largest difference of a copy, Å: TRR keeps single precision of nm, XTC three digits of nm.
ERRORS = {"xtc": 5.01e-3, "trr": 1e-5, "dcd": 0.0, "nc": 0.0, "h5md": 0.0}
PROFILE = """
[tiers]
fast = "fast"
slow = "slow"
[[tags]]
name = "dimer"
short = "d"
select = "resname ALA GLY"
tier = "fast"
[[tags]]
name = "others"
short = "o"
select = "rest"
tier = "slow"
"""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water in a changing triclinic cell, with velocities."""
    return make_system("npt", tmp_path_factory.mktemp("npt"), "trr")


def moved(system: PeriodicSystem) -> tj.Trajectory:
    """Return whole molecules without jumps, wrapped."""
    return system.open().whole().nojump()


@pytest.mark.parametrize("ending", ERRORS)
@pytest.mark.parametrize("threads", [1, 2])
def test_copies_hold_transformed_positions(
    system: PeriodicSystem, tmp_path: Path, ending: str, threads: int
) -> None:
    """Positions within the rounding of the format; cells, times and velocities are kept."""
    path = tmp_path / f"copy.{ending}"
    traj = moved(system)
    done = tj.convert(traj, path, allow_loss=True, threads=threads)
    assert done.n_frames == traj.n_frames
    keeps = ending in ("trr", "nc", "h5md")
    copy = tj.open(system.topology, path).read(velocities=keeps)
    true = traj.read(velocities=True)
    assert np.abs(copy.positions - true.positions).max() <= ERRORS[ending]
    assert np.allclose(copy.cells, true.cells, rtol=1e-6)
    assert np.allclose(copy.times, true.times)
    if keeps:
        assert copy.velocities is not None
        assert true.velocities is not None
        assert np.allclose(copy.velocities, true.velocities, rtol=1e-6)
    # They are other positions than those of the file.
    assert np.abs(true.positions - system.open().read().positions).max() > 10


def test_copies_of_some_atoms_and_frames(system: PeriodicSystem, tmp_path: Path) -> None:
    """A selection is made whole by atoms that are not copied; XTC keeps the precision."""
    chosen = moved(system).select("resname ALA and index 1:9")
    path = tmp_path / "few.xtc"
    tj.convert(chosen, path, frames=slice(None, None, 4), precision=10000, allow_loss=True)
    copy = tj.open(None, path).read().positions
    true = chosen.read(frames=slice(None, None, 4)).positions
    assert np.abs(copy - true).max() <= 5.1e-4
    tj.convert(chosen, tmp_path / "turned.dcd", frames=slice(None, None, -1), allow_loss=True)
    again = tj.open(None, tmp_path / "turned.dcd").read().positions
    assert np.array_equal(again, chosen.read().positions[::-1])
    # The precision of the original is that of the copy.
    solvated = tj.open(Solvated.topology, Solvated.path, sidecar=False).select("protein").whole()
    tj.convert(solvated, tmp_path / "protein.xtc")
    error = tj.open(None, tmp_path / "protein.xtc").read().positions - solvated.read().positions
    assert np.abs(error).max() <= ERRORS["xtc"]


@pytest.mark.parametrize("ending", ERRORS)
def test_copies_of_fitted_frames(system: PeriodicSystem, tmp_path: Path, ending: str) -> None:
    """Velocities are left out with a message, and cells but by H5MD, which holds rotated ones."""
    traj = system.open().repair("resname ALA GLY").fit("resname ALA")
    path = tmp_path / f"fitted.{ending}"
    done = tj.convert(traj, path, allow_loss=True)
    assert any("velocities" in one and "left out of fitted" in one for one in done.messages)
    without_cell = any("unit cells" in one for one in done.messages)
    assert without_cell == (ending != "h5md")
    copy = tj.open(system.topology, path)
    block = copy.read()
    assert np.abs(block.positions - traj.read().positions).max() <= ERRORS[ending]
    assert np.isnan(block.cells).all() == without_cell
    if ending == "h5md":
        with h5py.File(path) as file:
            edges = file["particles/trajectory/box/edges/value"][:]
        # Nearest images follow the rotated vectors.
        texts = ("resname ALA", "resname HOH")
        pairs = [tj.distances(*(t.select(x) for x in texts)).values for t in (copy, system.open())]
        assert np.abs(pairs[0] - pairs[1]).max() < 2e-3
        assert np.abs(edges[1:] - system.vectors[1:]).max() > 0.1
        lengths = np.linalg.norm(system.vectors, axis=2)
        assert np.allclose(np.linalg.norm(edges, axis=2), lengths, rtol=1e-5)
    # Moved without a rotation they keep both.
    shifted = system.open().whole().fit("resname ALA", motion="translation")
    done = tj.convert(shifted, tmp_path / f"shifted.{ending}", allow_loss=True)
    assert not any("left out of fitted" in one for one in done.messages)
    assert np.isfinite(tj.open(None, tmp_path / f"shifted.{ending}").read().cells).all()


def test_velocities_of_fitted_frames_cannot_be_read(system: PeriodicSystem) -> None:
    """They are not rotated along; without a rotation they are those of the file."""
    fitted = system.open().fit("resname ALA")
    with raises(tj.AnalysisError):
        fitted.read(velocities=True)
    plain, whole = (t.read(velocities=True) for t in (system.open(), system.open().whole()))
    assert plain.velocities is not None
    assert np.array_equal(whole.velocities, plain.velocities)


@pytest.mark.parametrize("ending", ["xtc", "h5md"])
def test_large_steps_and_infinite_molecules_are_messages_of_copies(
    client: Client, system: PeriodicSystem, tmp_path: Path, ending: str
) -> None:
    """Large steps and infinite molecules, in one process and by workers, in one file and parts."""
    endless = make_system("endless", tmp_path / "endless").open().whole()
    jumping, few = system.open().nojump(), slice(0, None, 5)
    expected = [one for one in jumping.read(frames=few).messages if "jumps" in one]
    assert len(expected) == 1
    for number, pool in enumerate((None, tj.DaskPool(client))):
        folder = tmp_path / str(number)
        folder.mkdir()
        copy = tj.convert(endless, folder / f"endless.{ending}", pool=pool, allow_loss=True)
        assert sum("own periodic image" in one for one in copy.messages) == 1
        path = folder / f"jumping.{ending}"
        copy = tj.convert(jumping, path, frames=few, pool=pool, allow_loss=True)
        assert [one for one in copy.messages if "jumps" in one] == expected
        parts = tj.split(
            endless, folder / "parts", segments=2, format=ending, pool=pool, allow_loss=True
        )
        assert all(any("own periodic image" in one for one in part.messages) for part in parts)
        small = tj.convert(jumping, folder / f"small.{ending}", pool=pool, allow_loss=True)
        assert not any("jumps" in one for one in small.messages)


def test_infinite_molecules_are_messages_of_reads(system: PeriodicSystem, tmp_path: Path) -> None:
    """Blocks, frames, and the command that writes one have messages; other frames have none."""
    made = make_system("endless", tmp_path)
    endless = made.open().whole()
    assert endless.source.untransformed.read(None, None, None).messages == ()
    (message,) = endless.read(frames=[1]).messages
    assert "own periodic image" in message
    assert message in repr(endless.read(frames=[1]))
    assert endless[2].messages == (message,)
    assert message in repr(endless[2])
    assert [block.messages for block in endless.blocks(3)][-1] == (message,)
    assert endless.select("resname BEN")[2].messages == ()
    words = ("frame", made.topology, made.path, "--frame", 1, "--whole")
    output = ("-o", tmp_path / "one.gro")
    done = invoke(*words, *output)
    assert done.exit_code == 0, done.output
    assert f"warning: {message}" in done.output
    jumping = system.open().nojump()
    assert any("leads to frame" in one for one in jumping.read(frames=slice(0, None, 5)).messages)
    assert jumping.read().messages == ()
    near = endless.select("around 5 resname BEN", updating=True)
    assert near[1].messages == (message,)


@pytest.mark.parametrize("ending", ["trr", "h5md"])
def test_parts_of_a_split_are_those_of_one_trajectory(
    system: PeriodicSystem, tmp_path: Path, ending: str
) -> None:
    """Jumps are counted from the first frame of all parts."""
    traj = moved(system)
    parts = tj.split(traj, tmp_path / "parts", segments=3, format=ending, allow_loss=True)
    joined = np.concatenate([tj.open(None, part.path).read().positions for part in parts])
    assert len(parts) == 3
    assert np.abs(joined - traj.read().positions).max() <= ERRORS[ending]


def write_all(system: PeriodicSystem, folder: Path, pool: tj.Pool | None) -> None:
    """Write every kind of copy."""
    folder.mkdir()
    traj = tj.open(system.topology, system.path, pool=pool).whole().nojump()
    for ending in ("trr", "xtc", "h5md"):
        tj.convert(traj, folder / f"copy.{ending}", pool=pool, allow_loss=True)
    tj.split(traj, folder / "parts", segments=3, format="xtc", allow_loss=True, pool=pool)


def test_copies_on_dask_are_those_of_one_process(
    client: Client, system: PeriodicSystem, tmp_path: Path
) -> None:
    """Byte for byte."""
    write_all(system, tmp_path / "here", None)
    write_all(system, tmp_path / "there", tj.DaskPool(client))
    assert_same_files(tmp_path / "there", tmp_path / "here")


def test_copies_on_ranks_are_those_of_one_process(system: PeriodicSystem, tmp_path: Path) -> None:
    """Byte for byte, by the command."""
    for ending in ("xtc", "h5md"):
        (tmp_path / "here").mkdir(exist_ok=True)
        (tmp_path / "there").mkdir(exist_ok=True)
        command = ("convert", system.path, "--topology", system.topology)
        options = ("--whole", "--nojump", "--allow-loss")
        succeed(*command, tmp_path / "here" / f"copy.{ending}", *options)
        there = (tmp_path / "there" / f"copy.{ending}", *options, "--pool", "mpi")
        run_on_ranks(2, "-m", "trajet", *command, *there)
    assert_same_files(tmp_path / "there", tmp_path / "here")
    copy = tj.open(None, tmp_path / "there" / "copy.h5md").read().positions
    assert np.array_equal(copy, moved(system).read().positions)


def test_structure_of_a_copy_has_transformed_positions(
    system: PeriodicSystem, tmp_path: Path
) -> None:
    """The first copied frame is written as the topology of the copy."""
    traj = system.open().whole().center("resname ALA")
    top = tmp_path / "copy.gro"
    tj.convert(traj, tmp_path / "copy.xtc", frames=slice(3, 9), topology=top, allow_loss=True)
    written = np.array([line[20:44].split() for line in top.read_text().splitlines()[2:-1]], float)
    assert np.abs(written * 10 - traj.read(frames=[3]).positions[0]).max() < 6e-3


def made_store(system: PeriodicSystem, folder: Path, dimer: str) -> tj.Store:
    """Return a store with the system as `npt`, of whose atoms some are a tag of their own."""
    profile = folder / "profile.toml"
    profile.write_text(PROFILE.replace("resname ALA GLY", dimer))
    store = tj.Store(folder / "store", create=True)
    store.add("npt", system.open(), profile=profile)
    return store


def test_tags_with_whole_molecules_are_made_whole(system: PeriodicSystem, tmp_path: Path) -> None:
    """From all tags and from one; values are those of the files, from the tag's file alone."""
    store = made_store(system, tmp_path, "resname ALA GLY")
    true = tj.rmsd(system.open().whole().nojump().select("resname ALA")).values
    for tags in (None, ["dimer"]):
        opened = store.open("npt", tags=tags)
        for pool in (tj.LocalPool(threads=1), tj.ProcessPool(workers=2, task_frames=5)):
            result = tj.rmsd(opened.whole().nojump().select("resname ALA"), pool=pool)
            assert np.array_equal(result.values, true)
    report = tj.gyration(store.open("npt").whole().select("index 3")).report
    by_tag = report["bytes_by_tag"]
    assert by_tag[1] == 0
    assert by_tag[0] > 0
    assert report["atoms_decoded"] == 30 * report["frames"]


def test_tag_that_lacks_atoms_of_a_molecule_is_refused(
    system: PeriodicSystem, tmp_path: Path
) -> None:
    """If those between are missing it would be made whole in parts; ends may be missing."""
    store = made_store(system, tmp_path, "index 0:9 or index 15:53")
    true = tj.rmsd(system.open().whole().select("index 0:9")).values
    assert np.array_equal(tj.rmsd(store.open("npt").whole().select("index 0:9")).values, true)
    with raises(tj.SelectionError):
        store.open("npt", tags=["dimer"]).whole()
    plain = tj.rmsd(store.open("npt", tags=["dimer"]).select("index 0:9"))
    assert len(plain.values) == 24


def test_stores_refuse_transformed_trajectories(system: PeriodicSystem, tmp_path: Path) -> None:
    """Frames of a store are those of files; nothing is written."""
    store = made_store(system, tmp_path, "resname ALA GLY")
    for change in (lambda t: t.whole(), lambda t: t.translate([1, 0, 0])):
        for act in (
            lambda traj: store.add("moved", traj, profile=tmp_path / "profile.toml"),
            lambda traj: store.append("npt", traj),
        ):
            with raises(tj.StoreError):
                act(change(system.open()))
    assert store.list() == ("npt",)


def test_copies_of_a_transformed_data_set(tmp_path: Path) -> None:
    """Wrapped atoms of a store are those of the original file; the store keeps its own."""
    wet = make_store(tmp_path)
    opened = tj.open(wet.path)
    moved = opened.wrap(by="atom")
    tj.convert(moved, tmp_path / "copy.trr", frames=[0, 4])
    copy = tj.open(None, tmp_path / "copy.trr").read().positions
    true = tj.open(wet.gro, wet.xtc).wrap(by="atom").read(frames=[0, 4]).positions
    assert np.abs(copy - true).max() < 1e-4
    assert not np.array_equal(true, opened.read(frames=[0, 4]).positions)
