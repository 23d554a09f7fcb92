"""Positions are decoded when they are asked for, and are never those of another frame."""

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.universe_pairs import N_ATOMS, N_FRAMES, load, with_theirs
from MDAnalysis.lib.distances import distance_array
from MDAnalysis.lib.formats.libmdaxdr import TRRFile
from trajet.trajectory.cursor import Cursor


@pytest.fixture(params=["xtc", "trr", "dcd"])
def universes(
    request: pytest.FixtureRequest, small_files: dict[str, Path]
) -> tuple[mda.Universe, mda.Universe]:
    """Return a Universe with installed readers, and one with MDAnalysis' own."""
    theirs = with_theirs(small_files[request.param])
    guest.install()
    return load(small_files[request.param]), theirs


def assert_same_loop(ours: mda.AtomGroup, theirs: mda.AtomGroup) -> None:
    """Assert that two groups have the same positions in all frames."""
    for _, _ in zip(ours.universe.trajectory, theirs.universe.trajectory, strict=True):
        np.testing.assert_array_equal(ours.positions, theirs.positions)


def test_loop_over_times_decodes_nothing(universes: tuple[mda.Universe, mda.Universe]) -> None:
    """Nor do cells, steps and frame numbers need positions."""
    ours, _ = universes
    seen = [[(ts.time, ts.frame, ts.volume) for ts in u.trajectory] for u in universes]
    np.testing.assert_allclose(seen[0], seen[1], rtol=1e-5)
    report = ours.trajectory.report
    assert report.atoms_decoded == 0
    assert report.reads_ahead == "times and cells"
    assert report.frames >= N_FRAMES
    assert report.atoms_in_frames == report.frames * N_ATOMS


def test_group_decodes_its_atoms(universes: tuple[mda.Universe, mda.Universe]) -> None:
    """And only in frames that are visited."""
    ours, theirs = universes
    assert_same_loop(ours.atoms[5:15], theirs.atoms[5:15])
    report = ours.trajectory.report
    assert report.frames_of_all_atoms == 0
    assert report.reads_ahead == "10 atoms"
    assert report.atoms_decoded == 10 * report.frames_of_groups


def test_several_groups_are_decoded_together(universes: tuple[mda.Universe, mda.Universe]) -> None:
    """The union of their atoms, of which one may be in both, in any order."""
    atoms = (np.array([8, 3, 3, 20]), np.arange(18, 26), np.array([0]))
    groups = [[u.atoms[one] for one in atoms] for u in universes]
    for _, _ in zip(universes[0].trajectory, universes[1].trajectory, strict=True):
        for one, other in zip(*groups, strict=True):
            np.testing.assert_array_equal(one.positions, other.positions)
    assert universes[0].trajectory.report.reads_ahead == "11 atoms"


def test_arrays_of_a_group_belong_to_the_script(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """Changing one changes neither the frame nor the next array."""
    ours, _ = universes
    group = ours.atoms[4:9]
    first = group.positions
    kept = first.copy()
    first += 1
    np.testing.assert_array_equal(group.positions, kept)
    assert group.positions is not group.positions
    ours.trajectory[3]
    np.testing.assert_array_equal(first, kept + 1)


def test_updating_group_has_the_positions_of_its_atoms_now(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """The object stays and its atoms change: columns belong to the array of indices."""
    groups = [u.select_atoms("index 0:20 and prop x > 15", updating=True) for u in universes]
    assert_same_loop(*groups)
    assert universes[0].trajectory.report.reads_ahead == "all atoms"


def test_array_of_indices_that_is_freed_leaves_no_columns(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """Another array at the same address has other atoms."""
    ours, theirs = universes
    for frame in range(N_FRAMES):
        ours.trajectory[frame], theirs.trajectory[frame]
        for first in range(0, 20):
            one, other = (u.atoms[first : first + 2].positions for u in universes)
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("part", [slice(None), slice(3, 7)])
def test_view_that_is_held_follows_the_frame(
    universes: tuple[mda.Universe, mda.Universe], part: slice
) -> None:
    """As it does with MDAnalysis, where DCD has an array for each frame."""
    held = [u.trajectory.ts.positions[part] for u in universes]
    for _, _ in zip(universes[0].trajectory, universes[1].trajectory, strict=True):
        np.testing.assert_array_equal(*held)
        _ = universes[0].atoms[:5].positions


def test_view_follows_also_through_its_buffer(universes: tuple[mda.Universe, mda.Universe]) -> None:
    """A memoryview holds the array as well."""
    held = [memoryview(u.trajectory.ts.positions) for u in universes]
    for u in universes:
        u.trajectory[4]
        u.trajectory[7]
    np.testing.assert_array_equal(*(np.asarray(one) for one in held))


@pytest.mark.parametrize("motion", ["velocities", "forces"])
def test_held_velocities_follow_the_frame(small_files: dict[str, Path], motion: str) -> None:
    """TRR has one array of them."""
    theirs = with_theirs(small_files["trr"])
    guest.install()
    ours = load(small_files["trr"])
    held = [getattr(u.trajectory.ts, motion)[2:4] for u in (ours, theirs)]
    for _ in zip(ours.trajectory, theirs.trajectory, strict=True):
        # Where a frame has none, MDAnalysis leaves zeros.
        if getattr(theirs.trajectory.ts, f"has_{motion}"):
            np.testing.assert_array_equal(*held)


def test_private_array_is_decoded(universes: tuple[mda.Universe, mda.Universe]) -> None:
    """Extensions read `ts._pos`."""
    for _, _ in zip(universes[0].trajectory, universes[1].trajectory, strict=True):
        np.testing.assert_array_equal(*(u.trajectory.ts._pos for u in universes))
        np.testing.assert_array_equal(*(u.trajectory.ts._x for u in universes))


def test_time_step_is_pickled_and_copied_with_its_positions(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """Also if nobody has asked for them before."""
    for u in universes:
        u.trajectory[5]
    for copied in (
        lambda ts: pickle.loads(pickle.dumps(ts)),
        lambda ts: ts.copy(),
        lambda ts: ts.copy_slice(slice(None)),
    ):
        universes[0].trajectory[5]
        made, known = (copied(u.trajectory.ts) for u in universes)
        universes[0].trajectory[2]
        np.testing.assert_array_equal(made.positions, known.positions)
        assert made.frame == known.frame == 5


def test_chain_reads_its_own_frames(small_files: dict[str, Path]) -> None:
    """The chain overwrites `ts.frame`, which is not the frame of the file."""
    paths = [small_files["xtc"], small_files["trr"], small_files["xtc"]]
    guest.install()
    ours = load(paths)
    guest.uninstall()
    theirs = with_theirs(paths)
    guest.install()
    groups = [u.atoms[2:9] for u in (ours, theirs)]
    assert_same_loop(*groups)
    for frame in (30, 2, 13, 25):
        for u in (ours, theirs):
            u.trajectory[frame]
        np.testing.assert_array_equal(*(group.positions for group in groups))
        np.testing.assert_array_equal(*(u.atoms.positions for u in (ours, theirs)))


def test_all_atoms_once_are_forgotten(small_files: dict[str, Path]) -> None:
    """Centring everything in the first frame does not slow down the others."""
    guest.install()
    u = load(small_files["xtc"])
    group = u.atoms[:6]
    _ = u.atoms.positions
    for _ in u.trajectory:
        _ = group.positions
    report = u.trajectory.report
    assert report.reads_ahead == "6 atoms"
    assert report.frames_of_all_atoms <= 4


def test_groups_that_nobody_asks_for_are_forgotten(adk: Adk) -> None:
    """Atoms of the first loop are not decoded in the second."""
    guest.install()
    u = mda.Universe(str(adk.psf), str(adk.xtc))
    for atoms in (u.select_atoms("name CA"), u.atoms[:50]):
        for _ in u.trajectory:
            _ = atoms.positions
    assert u.trajectory.report.reads_ahead == "50 atoms"
    for _ in u.trajectory:
        pass
    assert u.trajectory.report.reads_ahead == "times and cells"


def test_most_atoms_are_read_as_whole_frames(small_files: dict[str, Path]) -> None:
    """Also as several groups."""
    guest.install()
    for parts in ([slice(0, 50)], [slice(0, 20), slice(20, 40)]):
        u = load(small_files["xtc"])
        groups = [u.atoms[part] for part in parts]
        for _ in u.trajectory:
            for group in groups:
                _ = group.positions
        report = u.trajectory.report
        assert report.reads_ahead == "all atoms"
        assert report.frames_of_all_atoms >= N_FRAMES - 1


def test_groups_that_change_all_the_time_are_read_as_whole_frames(adk: Adk) -> None:
    """Preparing other atoms in each frame costs more than it saves."""
    guest.install()
    u = mda.Universe(str(adk.psf), str(adk.xtc))
    for k, _ in enumerate(u.trajectory):
        _ = u.atoms[30 * k : 30 * k + 30].positions
    report = u.trajectory.report
    assert report.guesses <= 20
    assert report.frames_of_all_atoms > 60


def test_transformations_see_whole_frames(small_files: dict[str, Path]) -> None:
    """And groups see what they made of them."""

    def shift(ts: Any) -> Any:
        ts.positions = ts.positions * 2 + ts.frame
        return ts

    guest.install()
    ours = load(small_files["xtc"], transformations=None)
    guest.uninstall()
    theirs = with_theirs(small_files["xtc"])
    guest.install()
    for u in (ours, theirs):
        u.trajectory.add_transformations(shift)
    assert_same_loop(ours.atoms[3:9], theirs.atoms[3:9])
    assert ours.trajectory.report.reads_ahead == "all atoms"


def test_distances_of_groups_and_frames_are_the_same(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """A script that mixes groups, whole frames and writing."""
    seen = []
    for u in universes:
        near, far = u.atoms[:8], u.atoms[40:]
        rows = []
        for ts in u.trajectory:
            if ts.frame % 3 == 1:
                near.translate([1, 2, 3])
            if ts.frame % 4 == 2:
                ts.positions -= ts.positions.mean(axis=0)
            rows.append(distance_array(near.positions, far.positions, box=None))
        seen.append(rows)
    np.testing.assert_array_equal(*seen)


def positions_in_child(u: mda.Universe, frames: list[int]) -> list[np.ndarray]:
    """Return positions of a group in some frames."""
    return [u.atoms[3:9].positions for _ in u.trajectory[frames]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_read_their_own_frames(small_files: dict[str, Path], method: str) -> None:
    """A forked child uses its parent's reader; a spawned one opens the file again."""
    guest.install()
    u = load(small_files["xtc"])
    for _ in u.trajectory[:5]:
        _ = u.atoms[3:9].positions
    chosen = [[0, 5, 2], [11, 3, 7, 8, 9, 10], [1, 1, 4]]
    with multiprocessing.get_context(method).Pool(3) as pool:
        waiting = [pool.apply_async(positions_in_child, (u, frames)) for frames in chosen]
        mine = [positions_in_child(u, frames) for frames in chosen]
        for one, other in zip(mine, waiting, strict=True):
            np.testing.assert_array_equal(one, other.get(120))


def test_read_error_leaves_no_positions_of_another_frame(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """The frame before is read again."""
    path = tmp_path / "damaged.xtc"
    content = bytearray(small_files["xtc"].read_bytes())
    path.write_bytes(content)
    guest.install()
    known, u = with_theirs(small_files["xtc"]), load(path)
    begin = len(content) // N_FRAMES * 6
    content[begin : begin + 700] = bytes(700)
    group = u.atoms[3:9]
    _ = group.positions
    path.write_bytes(content)
    frame, failed = 0, 0
    for wanted in (3, 6, 5, 7, 6):
        try:
            u.trajectory[wanted]
            frame = wanted
        except ValueError:
            failed += 1
            continue
        known.trajectory[frame]
        try:
            here = group.positions, u.atoms.positions
        except ValueError:
            failed += 1
            continue
        np.testing.assert_array_equal(here[0], known.atoms[3:9].positions)
        np.testing.assert_array_equal(here[1], known.atoms.positions)
    assert failed


def write_numbered(path: Path, n_frames: int = 8) -> None:
    """Write frames whose positions are their numbers."""
    with TRRFile(str(path), "w") as file:
        for frame in range(n_frames):
            box = np.diag([3.0, 3.0, 3.0 + frame])
            numbers = np.full((20, 3), frame, np.float32)
            file.write(numbers, numbers, None, box, frame, 2.0 * frame, 0.0, 20)


def refuse_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the data of frames 4 and 5 refused."""
    observables = Cursor.observables

    def fail(cursor: Cursor) -> Any:
        if cursor.frame in (4, 5):
            raise tj.FormatError("no observables")
        return observables(cursor)

    monkeypatch.setattr(Cursor, "observables", fail)


def shift(ts: Any) -> Any:
    """Move everything by the number of the frame."""
    ts.positions += 100 + ts.frame
    return ts


@pytest.mark.parametrize("asks", ["group", "all", "nothing", "held", "motion", "transformation"])
def test_refused_frame_leaves_the_frame_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    """Number, time, cell, positions and velocities, whatever was read ahead."""
    path = tmp_path / "numbered.trr"
    write_numbered(path)
    guest.install()
    u = mda.Universe.empty(20, trajectory=False).load_new(str(path))
    refuse_frames(monkeypatch)
    if asks == "transformation":
        u.trajectory.add_transformations(shift)
    held = []
    for frame in range(4):
        ts = u.trajectory[frame]
        held = [ts.positions[:3]] if asks == "held" else held
        held = [ts.velocities[:3]] if asks == "motion" else held
        _ = u.atoms[:3].positions if asks == "group" else None
        _ = ts.positions if asks == "all" else None
    for frame in (4, 5, 4):
        with pytest.raises(tj.FormatError):
            u.trajectory[frame]
        ts = u.trajectory.ts
        assert (ts.frame, ts.time, u.trajectory.frame) == (3, 6, 3)
        assert u.dimensions[2] == 60
        expected = 30 + 103 if asks == "transformation" else 30
        assert (u.atoms[:3].positions == expected).all()
        assert (ts.positions == expected).all()
        assert (ts.velocities == 30).all()
        assert all((array == 30).all() for array in held)
    assert u.trajectory[6].positions[0, 0] == (60 if asks != "transformation" else 60 + 106)


def test_refused_frame_adds_no_positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a frame without any, that is read whole."""
    path = tmp_path / "numbered.trr"
    write_numbered(path)
    guest.install()
    u = mda.Universe.empty(20, trajectory=False).load_new(str(path))
    _ = u.trajectory[3].positions
    u.trajectory.ts.has_positions = False
    refuse_frames(monkeypatch)
    with pytest.raises(tj.FormatError):
        u.trajectory[4]
    assert not u.trajectory.ts.has_positions
    np.testing.assert_array_equal(u.trajectory[6].positions, np.full((20, 3), 60))


def test_indices_of_a_group_may_be_overwritten(
    universes: tuple[mda.Universe, mda.Universe],
) -> None:
    """In place: the array is the same, and its atoms are others."""
    groups = [u.atoms[:10] for u in universes]
    for frame in range(9):
        for u, group in zip(universes, groups, strict=True):
            u.trajectory[frame]
            if frame in (2, 6):
                group.ix[:] = np.arange(20 + frame, 30 + frame)
        np.testing.assert_array_equal(groups[0].positions, groups[1].positions)


@pytest.mark.parametrize("name", ["_pos", "_velocities"])
def test_array_that_is_a_view_follows_the_frame(small_files: dict[str, Path], name: str) -> None:
    """A script may give the time step a view of an array of its own."""
    theirs = with_theirs(small_files["trr"])
    guest.install()
    universes = load(small_files["trr"]), theirs
    mine = [np.zeros((N_ATOMS, 3), np.float32) for _ in universes]
    for u, array in zip(universes, mine, strict=True):
        setattr(u.trajectory.ts, name, array[:])
    for frame in range(6):
        for u in universes:
            u.trajectory[frame]
        np.testing.assert_array_equal(*mine)
        np.testing.assert_array_equal(*(u.atoms[:3].positions for u in universes))


def test_replaced_array_keeps_its_frame(small_files: dict[str, Path]) -> None:
    """If it cannot be decoded into (MDAnalysis gives an error then), no other is used instead."""
    guest.install()
    u = load(small_files["xtc"])
    known = u.trajectory.timeseries(order="fac")
    before = u.trajectory[2].positions
    u.trajectory.ts._pos = np.zeros((N_ATOMS, 3), np.float32, order="F")
    for frame in (3, 4, 5):
        np.testing.assert_array_equal(u.trajectory[frame].positions, known[frame])
        np.testing.assert_array_equal(before, known[2])


@pytest.mark.parametrize("protocol", [4, 5])
def test_unpickled_frame_is_read_lazily_again(small_files: dict[str, Path], protocol: int) -> None:
    """Its arrays may be views of the pickle, which nobody holds."""
    guest.install()
    u = load(small_files["trr"])
    u.trajectory.ts.positions += 1
    made = pickle.loads(pickle.dumps(u, protocol))
    for _ in made.trajectory[1:]:
        pass
    assert made.trajectory.report.frames_of_all_atoms == 0


def test_threads_that_share_a_universe_get_advice(small_files: dict[str, Path]) -> None:
    """A cursor that is reading cannot read another frame."""
    u = load(small_files["trr"], format=guest.Reader)
    assert u.trajectory.ts.has_velocities
    motion = u.trajectory._source.motion
    assert motion is not None
    u.trajectory[3]
    with motion._is_reading, raises(RuntimeError):
        _ = u.trajectory.ts.velocities


def test_time_steps_of_dcd_are_read_after_the_loop(small_files: dict[str, Path]) -> None:
    """Each keeps its own frame, also when the trajectory is closed."""
    guest.install()
    ours = load(small_files["dcd"])
    guest.uninstall()
    theirs = with_theirs(small_files["dcd"])
    kept = [list(u.trajectory) for u in (ours, theirs)]
    ours.trajectory.close()
    for one, other in reversed(list(zip(*kept, strict=True))):
        np.testing.assert_array_equal(one.positions, other.positions)


def test_frames_without_positions_have_none(tmp_path: Path) -> None:
    """TRR may have velocities only in some frames."""
    path = tmp_path / "some.trr"
    source = mda.Universe.empty(6, trajectory=True, velocities=True)
    with mda.Writer(str(path), 6) as writer:
        for frame in range(6):
            ts = source.trajectory.ts
            ts.has_positions = frame % 2 == 0
            ts.velocities = np.full((6, 3), frame)
            if ts.has_positions:
                ts.positions = np.full((6, 3), frame + 1)
            ts.frame = frame
            writer.write(source)
    guest.install()
    u = mda.Universe.empty(6, trajectory=False).load_new(str(path))
    for ts in u.trajectory:
        assert ts.has_positions == (ts.frame % 2 == 0)
        assert ts.has_velocities
        if ts.has_positions:
            np.testing.assert_allclose(u.atoms[:2].positions, ts.frame + 1)
        else:
            for ask in (
                lambda ts: ts.positions,
                lambda _: u.atoms[:2].positions,
                lambda _: u.atoms[0].position,
            ):
                with pytest.raises(mda.NoDataError):
                    ask(ts)
