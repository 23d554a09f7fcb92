"""`trajet.mdanalysis.Reader` gives the frames of MDAnalysis' own readers, bit for bit."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.commands import python
from helpers.made_stores import TWO_TAGS, make_store
from helpers.messages import raises
from helpers.universe_pairs import (
    N_FRAMES,
    assert_same_cell,
    assert_same_frame,
    load,
    with_ours,
    with_theirs,
)
from MDAnalysis.transformations import translate, unwrap
from MDAnalysisTests import datafiles

FILES = {
    "XTC": "XTC",
    "TRR": "TRR",
    "DCD": "DCD",
    "NAMD DCD": "DCD_NAMD_TRICLINIC",
    "truncated octahedron": "NCDFtruncoct",
    "NCDF": "NCDF",
    "NCDF with velocities": "PFncdf_Trj",
    "cells in NCDF": "TRJ_NCBOX" if hasattr(datafiles, "TRJ_NCBOX") else "NCDF",
    "H5MD": "H5MD_xvf",
    "cobrotoxin XTC": "COORDINATES_XTC",
    "cobrotoxin TRR": "COORDINATES_TRR",
    "coordinates DCD": "COORDINATES_DCD",
    "XTC of atoms": "XTC_sub_sol",
    "TRR of atoms": "TRR_sub_sol",
    "two frames": "XTC_multi_frame",
}
FOUND = {name: getattr(datafiles, one) for name, one in FILES.items() if hasattr(datafiles, one)}


def readers_of(path: Path, **options: Any) -> tuple[Any, Any]:
    """Return our reader and theirs of one file."""
    from MDAnalysis.core._get_readers import get_reader_for

    theirs = get_reader_for(str(path))(str(path), **options)
    return guest.Reader(str(path), **options), theirs


@pytest.mark.parametrize("name", FOUND)
def test_frames_are_the_same(name: str, tmp_path: Path) -> None:
    """Forwards, backwards and by number; `dt`, `units`, `format` and sizes as well."""
    path = Path(shutil.copy(FOUND[name], tmp_path))
    ours, theirs = readers_of(path)
    assert len(ours) == len(theirs)
    for attribute in ("n_atoms", "n_frames", "units", "frame", "time", "dt", "totaltime"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert {ours.format} & {*np.atleast_1d(theirs.format)}
    every = max(1, len(theirs) // 12)
    for frames in (slice(None, None, every), slice(None, None, -every), [len(theirs) - 1, 0]):
        for one, other in zip(ours[frames], theirs[frames], strict=True):
            assert_same_frame(one, other)
    chosen = ours.timeseries(order="fac", step=every)
    np.testing.assert_array_equal(chosen, theirs.timeseries(order="fac", step=every))


@pytest.mark.parametrize("options", [{"dt": 3.5}, {"time_offset": 100.0}, {"dt": 2, "n_atoms": 60}])
def test_options_change_times_as_theirs_do(small: Path, options: dict[str, Any]) -> None:
    """Also in copies and pickles."""
    ours, theirs = readers_of(small, **options)
    # MDAnalysis adds the offset of H5MD files twice.
    twice = options.get("time_offset", 0.0) if small.suffix == ".h5md" else 0.0
    for one, other in zip(ours, theirs, strict=True):
        assert one.time == other.time - twice
    assert (ours.dt, ours.totaltime) == (theirs.dt, theirs.totaltime)
    for made in (ours.copy(), pickle.loads(pickle.dumps(ours))):
        assert made[3].time == theirs[3].time - twice
        assert made.dt == theirs.dt


def test_native_units_are_those_of_the_file(small: Path) -> None:
    """With `convert_units=False`, when the reader is installed."""
    theirs = with_theirs(small, convert_units=False)
    with guest.install():
        ours = with_theirs(small, convert_units=False)
        again = load(small, convert_units=False, format=guest.Reader)
        for one, other in zip(again.trajectory, theirs.trajectory, strict=True):
            assert_same_frame(one, other)
        for one, other in zip(ours.trajectory, theirs.trajectory, strict=True):
            assert_same_frame(one, other)
        assert isinstance(ours.trajectory, guest.Reader)


def test_subset_of_atoms_is_read(small_files: dict[str, Path]) -> None:
    """`sub`: the Universe has these atoms only, also for groups.

    MDAnalysis' own readers write beyond their arrays here.
    """
    atoms = np.array([4, 5, 6, 20, 21, 22])
    for suffix in ("xtc", "trr", "dcd"):
        theirs = with_theirs(small_files[suffix])
        with guest.install():
            u = mda.Universe.empty(6).load_new(str(small_files[suffix]), sub=atoms)
            for frame in (*range(N_FRAMES), 3, 1):
                known = theirs.trajectory[frame].positions[atoms]
                u.trajectory[frame]
                np.testing.assert_array_equal(u.atoms[1:3].positions, known[1:3])
                np.testing.assert_array_equal(u.atoms[5].position, known[5])
                np.testing.assert_array_equal(u.copy().trajectory.ts.positions, known)
            known = theirs.trajectory.timeseries(theirs.atoms[atoms[2:4]], order="fac")
            mine = u.trajectory.timeseries(u.atoms[2:4], order="fac")
            np.testing.assert_array_equal(mine, known)


def test_mask_chooses_atoms(small_files: dict[str, Path]) -> None:
    """`sub=` takes one value for each atom, or indices; nothing is rounded."""
    mask = np.zeros(60, bool)
    mask[5:15] = True
    known = with_theirs(small_files["xtc"]).trajectory.ts.positions
    with guest.install():
        path = str(small_files["xtc"])
        masked = mda.Universe.empty(10).load_new(path, sub=mask)
        np.testing.assert_array_equal(masked.atoms.positions, known[5:15])
        np.testing.assert_array_equal(masked.copy().atoms.positions, known[5:15])
        last = mda.Universe.empty(2).load_new(path, sub=[-1, -2])
        np.testing.assert_array_equal(last.atoms.positions, known[[59, 58]])
        np.testing.assert_array_equal(last.atoms[1:].positions, known[[58]])
        for wrong in (mask[:59], [60], [-61], [[1, 2]]):
            with raises(ValueError):
                guest.XTCReader(path, sub=wrong)
        for wrong in ([0.0, 1.5], ["a"]):
            with raises(TypeError):
                guest.XTCReader(path, sub=wrong)


def test_velocities_that_begin_later_are_read(tmp_path: Path) -> None:
    """The first frame of a TRR file has none."""
    path = tmp_path / "later.trr"
    source = mda.Universe.empty(6, trajectory=True, velocities=True)
    with mda.Writer(str(path), 6) as writer:
        for frame in range(4):
            ts = source.trajectory.ts
            ts.has_velocities = frame > 1
            if ts.has_velocities:
                ts.velocities = np.full((6, 3), frame)
            ts.frame = frame
            writer.write(source)
    reader = guest.Reader(str(path))
    assert [ts.has_velocities for ts in reader] == [False, False, True, True]
    np.testing.assert_allclose(reader[3].velocities, 3)


def test_observables_of_another_frame_are_not_shown(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """In an order of one's own, and in copies; data of the script stays."""
    path = Path(shutil.copy(small_files["h5md"], tmp_path))
    with h5py.File(path, "r+") as file:
        steps = file["particles/trajectory/position/step"][:]
        energy = file.create_group("observables/energy")
        energy["step"], energy["value"] = steps[::2], np.arange(0.0, 60, 10)
    u = with_ours(path)
    expected = [5.0 * k if k % 2 == 0 else None for k in range(N_FRAMES)]
    assert [ts.data.get("energy") for ts in u.trajectory] == expected
    assert [ts.data.get("energy") for ts in u.trajectory[::-1]] == expected[::-1]
    u.trajectory[4].data["mine"] = 1
    for made in (u.copy().trajectory, pickle.loads(pickle.dumps(u.trajectory)), u.trajectory):
        assert made.ts.data["energy"] == 20
        assert "energy" not in made[5].data
        assert made.ts.data["mine"] == 1


def test_transformations_and_auxiliaries_are_applied(small: Path) -> None:
    """Once in each frame."""
    table = small.parent / "aux.xvg"
    table.write_text("".join(f"{2.0 * k} {k * k}\n" for k in range(N_FRAMES)))
    universes = with_ours(small), with_theirs(small)
    for u in universes:
        u.trajectory.add_transformations(translate([1, 2, 3]))
        u.trajectory.add_auxiliary("square", str(table))
    for one, other in zip(*(u.trajectory for u in universes), strict=True):
        assert_same_frame(one, other)
        np.testing.assert_array_equal(one.aux.square, other.aux.square)
    made = universes[0].copy()
    made.trajectory[4], universes[1].trajectory[4]
    assert_same_frame(made.trajectory.ts, universes[1].trajectory.ts)


def test_molecules_are_made_whole(small_files: dict[str, Path]) -> None:
    """A transformation that reads groups and writes the frame."""
    universes = with_ours(small_files["xtc"]), with_theirs(small_files["xtc"])
    for u in universes:
        u.add_TopologyAttr("bonds", [(k, k + 1) for k in range(0, 60, 3)])
        u.trajectory.add_transformations(unwrap(u.atoms))
    for one, other in zip(*(u.trajectory for u in universes), strict=True):
        np.testing.assert_allclose(one.positions, other.positions, rtol=0, atol=2e-5)


def test_universe_goes_to_memory(small: Path) -> None:
    """With velocities, forces and cells."""
    universes = with_ours(small), with_theirs(small)
    for u in universes:
        u.transfer_to_memory(start=3, step=3)
    for one, other in zip(*(u.trajectory for u in universes), strict=True):
        for field in ("positions", "velocities", "forces"):
            assert getattr(one, f"has_{field}") == getattr(other, f"has_{field}")
            if getattr(other, f"has_{field}"):
                np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
        assert_same_cell(one.dimensions, other.dimensions)


@pytest.mark.parametrize("order", ["fac", "afc", "caf", "fca"])
def test_timeseries_has_each_order(small: Path, order: str) -> None:
    """Time series of a group, with the errors of MDAnalysis' readers."""
    ours, theirs = with_ours(small), with_theirs(small)
    chosen = [u.trajectory.timeseries(u.atoms[[5, 2]], order=order) for u in (ours, theirs)]
    np.testing.assert_array_equal(*chosen)
    for u in (ours, theirs):
        with raises(ValueError):
            u.trajectory.timeseries(u.atoms[[]])
        with raises(ValueError):
            u.trajectory.timeseries(u.atoms[:2], order="abc")


def test_timeseries_goes_backwards(small: Path) -> None:
    """MDAnalysis' own readers return memory that was never written."""
    ours = with_ours(small).trajectory
    np.testing.assert_array_equal(
        ours.timeseries(order="fac", step=-2), ours.timeseries(order="fac")[::-2]
    )


@pytest.mark.parametrize("is_installed", [True, False])
def test_several_files_are_one_trajectory(small_files: dict[str, Path], is_installed: bool) -> None:
    """As a chain of MDAnalysis, or of one reader, which the class as format gives."""
    paths = [small_files[suffix] for suffix in ("xtc", "trr", "xtc")]
    theirs = with_theirs(paths)
    if is_installed:
        guest.install()
    ours = (with_theirs if is_installed else with_ours)(paths)
    if is_installed:
        assert {type(one) for one in ours.trajectory.readers} == {guest.XTCReader, guest.TRRReader}
    for frame in (*range(3 * N_FRAMES), 14, 2, 30):
        one, other = ours.trajectory[frame], theirs.trajectory[frame]
        assert (one.frame, one.time) == (other.frame, other.time)
        assert not is_installed or ours.trajectory.time == theirs.trajectory.time
        np.testing.assert_array_equal(one.positions, other.positions)
    made = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(made.atoms.positions, ours.atoms.positions)


def test_writers_are_those_of_the_format(small: Path, tmp_path: Path) -> None:
    """`Writer` and `OtherWriter`."""
    u = with_ours(small)
    path = tmp_path / f"copy{small.suffix}"
    with u.trajectory.Writer(str(path), u.atoms.n_atoms) as writer:
        for _ in u.trajectory:
            writer.write(u.atoms)
    with u.trajectory.OtherWriter(str(tmp_path / "copy.xyz")) as writer:
        writer.write(u.atoms)
    copied, source = with_theirs(path), with_theirs(small)
    for one, other in zip(copied.trajectory, source.trajectory, strict=True):
        np.testing.assert_allclose(one.positions, other.positions, atol=1e-2)
        assert one.has_velocities == other.has_velocities


def test_end_and_range_are_the_errors_of_theirs(small: Path) -> None:
    """`StopIteration` at the end, `IndexError` for frames that are not there."""
    u = with_ours(small)
    u.trajectory[-1]
    with pytest.raises(StopIteration):
        next(u.trajectory)
    assert u.trajectory.frame == 0
    for frame in (N_FRAMES, -N_FRAMES - 1):
        with raises(IndexError):
            u.trajectory[frame]
    u.trajectory.close()
    with raises(OSError):
        u.trajectory[2]
    with raises(OSError):
        guest.Reader(str(small.parent / "none.xtc"))
    (small.parent / "empty.xtc").touch()
    with raises(OSError) as caught:
        guest.Reader(str(small.parent / "empty.xtc"))
    assert isinstance(caught.value, tj.FormatError)


def test_iteration_opens_a_closed_trajectory_again(small: Path) -> None:
    """As readers of MDAnalysis do."""
    u = with_ours(small)
    u.trajectory.close()
    assert len([ts.positions for ts in u.trajectory]) == N_FRAMES


def test_copy_of_another_file_is_an_error(small_files: dict[str, Path], tmp_path: Path) -> None:
    """A copy and a pickle read the same file; one that has grown is the same."""
    path = Path(shutil.copy(small_files["xtc"], tmp_path / "one.xtc"))
    ours = with_ours(path)
    pickled = pickle.dumps(ours.trajectory)
    content = path.read_bytes()
    path.write_bytes(content + content)
    made = pickle.loads(pickled)
    assert (made.n_frames, made.frame) == (N_FRAMES, 0)
    assert ours.copy().trajectory.n_frames == N_FRAMES
    shutil.copy(small_files["trr"], path)
    for again in (lambda: pickle.loads(pickled), ours.copy):
        with raises(OSError):
            again()
    path.unlink()
    with raises(OSError):
        pickle.loads(pickled)


def test_pickle_of_a_frame_that_was_not_read_is_small(small_files: dict[str, Path]) -> None:
    """It has no positions; those that were changed are kept."""
    ours = with_ours(small_files["xtc"])
    ours.trajectory[4]
    small = pickle.dumps(ours.trajectory)
    ours.trajectory.ts.positions += 1
    changed = pickle.dumps(ours.trajectory)
    assert len(small) + 12 * 60 <= len(changed) + 100
    np.testing.assert_array_equal(
        pickle.loads(small).ts.positions + 1, pickle.loads(changed).ts.positions
    )
    ours.trajectory[4]
    ours.trajectory.ts.velocities = np.ones((60, 3))
    assert pickle.loads(pickle.dumps(ours.trajectory)).ts.velocities.all()
    assert pickle.loads(small).frame == 4
    assert pickle.loads(small).next().frame == 5


def set_velocities(u: mda.Universe) -> None:
    """Set all velocities."""
    u.trajectory.ts.velocities = np.full((60, 3), 3)


def set_some_velocities(u: mda.Universe) -> None:
    """Add velocities, and set some."""
    u.trajectory.ts.has_velocities = True
    u.atoms[:5].velocities = np.ones((5, 3))


def remove_motion(u: mda.Universe) -> None:
    """Remove velocities and forces."""
    u.trajectory.ts.has_velocities = u.trajectory.ts.has_forces = False


def with_frame_as_velocities(ts: Any) -> Any:
    """Transform a time step."""
    ts.velocities = np.full((60, 3), ts.frame)
    return ts


def add_transformation(u: mda.Universe) -> None:
    """Change velocities only."""
    u.trajectory.add_transformations(with_frame_as_velocities)


@pytest.mark.parametrize(
    "change", [set_velocities, set_some_velocities, remove_motion, add_transformation]
)
def test_pickle_has_velocities_and_forces_of_the_script(small: Path, change: Any) -> None:
    """Set, changed in part, removed, or made by a transformation."""
    universes = with_ours(small), with_theirs(small)
    for u in universes:
        for frame in (0, 3, 5, 6, 8):
            u.trajectory[frame]
        change(u)
    for copied in (lambda u: pickle.loads(pickle.dumps(u)), lambda u: u.copy()):
        one, other = (copied(u).trajectory.ts for u in universes)
        for field in ("velocities", "forces"):
            assert getattr(one, f"has_{field}") == getattr(other, f"has_{field}")
            if getattr(other, f"has_{field}"):
                np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_pickle_is_loaded_where_nothing_is_installed(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """Classes are importable by name."""
    with guest.install():
        u = with_theirs(small_files["trr"])
        u.trajectory[3]
    pickled = tmp_path / "reader.pickle"
    pickled.write_bytes(pickle.dumps((u.trajectory, u.trajectory.ts)))
    script = (
        "import pickle, sys\n"
        "reader, ts = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(type(reader).__name__, reader.frame, (reader.ts.positions == ts.positions).all())\n"
    )
    done = python("-c", script, pickled)
    assert done.stdout == "TRRReader 3 True\n"


def test_data_set_of_a_store_is_a_trajectory(tmp_path: Path) -> None:
    """All atoms of it, or those of some tags."""
    made = make_store(tmp_path)
    path = tmp_path / "store" / "wet"
    whole = mda.Universe(str(made.gro), str(made.xtc))
    u = mda.Universe(str(made.gro), str(path), format=guest.Reader)
    part = mda.Merge(whole.select_atoms("protein"))
    part.load_new(f"{path}@protein", format=guest.Reader)
    for ts in whole.trajectory[::4]:
        u.trajectory[ts.frame], part.trajectory[ts.frame]
        np.testing.assert_array_equal(u.trajectory.ts.positions, ts.positions)
        np.testing.assert_array_equal(part.atoms.positions, ts.positions[: part.atoms.n_atoms])
        with guest.install():
            np.testing.assert_array_equal(part.atoms[5:9].positions, ts.positions[5:9])
        assert part.trajectory.ts.time == ts.time


def test_topology_of_other_atoms_than_those_of_a_tag_is_an_error(tmp_path: Path) -> None:
    """The error says how to make the Universe, and both ways work."""
    (tmp_path / "two.toml").write_text(TWO_TAGS)
    adk = tj.open(datafiles.PSF, datafiles.DCD)
    tj.Store(tmp_path / "md", create=True).add("adk", adk, profile=tmp_path / "two.toml")
    label, pdb = f"{tmp_path}/md/adk@some", tmp_path / "some.pdb"
    with raises(ValueError):
        mda.Universe(datafiles.PSF, label, format=guest.Reader)
    some = tj.open(label)
    merged = mda.Merge(some.all_atoms().atoms).load_new(label, format=guest.Reader)
    # As the command does.
    some.all_atoms()[0].save(pdb)
    written = mda.Universe(str(pdb), label, format=guest.Reader)
    expected = some.read(frames=slice(0, 9, 4)).positions
    for u in (merged, written):
        assert list(u.atoms.names) == list(some.topology.names[some.all_atoms().indices])
        found = [ts.positions.copy() for ts in u.trajectory[0:9:4]]
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_written_beside_the_file_but_our_index(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """No lock, and no offsets."""
    for suffix in ("xtc", "trr"):
        path = Path(shutil.copy(small_files[suffix], tmp_path))
        u = with_ours(path)
        assert len([u.copy().trajectory[k].positions for k in range(3)]) == 3
    names = {path.name for path in tmp_path.iterdir()} - {"small.xtc", "small.trr"}
    assert names <= {".small.xtc.trajet-index", ".small.trr.trajet-index"}


def test_time_between_frames_is_that_of_their_reader_where_it_reads() -> None:
    """Without conversion of units MDAnalysis' own reader reads, whose step is not 1 ps."""
    theirs = mda.Universe(datafiles.PRMncdf, datafiles.NCDF, convert_units=False)
    ours = mda.Universe(datafiles.PRMncdf, datafiles.NCDF, convert_units=False, format=guest.Reader)
    assert ours.trajectory.dt == theirs.trajectory.dt == 0.0


def test_h5md_is_read_after_velocities_were_removed(small_files: dict[str, Path]) -> None:
    """MDAnalysis' own reader asks for the array that is gone."""
    theirs, ours = (
        mda.Universe.empty(tj.open(None, small_files["h5md"]).n_atoms).load_new(
            str(small_files["h5md"]), **options
        )
        for options in ({}, {"format": guest.Reader})
    )
    known = ours.trajectory[1].velocities.copy()
    for u in (theirs, ours):
        u.trajectory.ts.has_velocities = False
    with pytest.raises(mda.NoDataError):
        theirs.trajectory[1]
    np.testing.assert_array_equal(ours.trajectory[1].velocities, known)
