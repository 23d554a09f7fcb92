"""`Universe.transfer_to_memory` of an installed reader keeps what MDAnalysis' own readers give."""

import shutil
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.made_files import vectors_dcd
from helpers.messages import warns
from helpers.universe_pairs import FIELDS, N_FRAMES, assert_same_cell, load, with_theirs
from MDAnalysis.coordinates.memory import MemoryReader
from MDAnalysis.transformations import translate

SLICES = (slice(None), slice(3, None, 3), slice(10, 2, -4), slice(-5, -1))


def in_memory(u: mda.Universe, frames: slice, **options: Any) -> MemoryReader:
    """Return the trajectory of a Universe after the transfer."""
    u.transfer_to_memory(frames.start, frames.stop, frames.step, **options)
    assert type(u.trajectory) is MemoryReader
    return u.trajectory


def assert_same_arrays(ours: MemoryReader, theirs: MemoryReader) -> None:
    """Assert that two trajectories in memory have the same bits; cells may differ in the last."""
    assert (ours.n_frames, ours.n_atoms, ours.dt) == (theirs.n_frames, theirs.n_atoms, theirs.dt)
    assert ours.filename == theirs.filename
    for field in ("coordinate", "velocity", "force"):
        one, other = (getattr(reader, f"{field}_array", None) for reader in (ours, theirs))
        assert (one is None) == (other is None), field
        if other is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, field)
    assert_same_cell(ours.dimensions_array, theirs.dimensions_array)
    assert ours.ts.frame == theirs.ts.frame
    for field in FIELDS:
        assert getattr(ours.ts, f"has_{field}") == getattr(theirs.ts, f"has_{field}")


@pytest.mark.parametrize("frames", SLICES, ids=str)
def test_arrays_are_those_of_mdanalysis(
    small: Path, frames: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays of any slice of frames, which are not read one by one."""
    theirs = with_theirs(small)
    with guest.install():
        ours = load(small)
    for u in (theirs, ours):
        # Frames without forces, of a file that has them, come first or last.
        u.trajectory[1 if small.suffix == ".trr" else 4]
    reader = ours.trajectory
    known = in_memory(theirs, frames)
    with guest.install(), monkeypatch.context() as patch:
        patch.setattr(guest.Reader, "_read_frame", _not_one_by_one(reader._read_frame, 0))
        assert_same_arrays(in_memory(ours, frames), known)


def _not_one_by_one(read: Any, only: int) -> Any:
    """Return `_read_frame` of a reader for one frame, to which it is rewound."""

    def read_frame(_: Any, frame: int) -> Any:
        assert frame == only
        return read(frame)

    return read_frame


@pytest.mark.parametrize("lacking", [*FIELDS, "none"])
def test_frames_that_lack_a_field_are_as_with_mdanalysis(lacking: str, tmp_path: Path) -> None:
    """An error, if the current frame has what others lack."""
    path = tmp_path / "mixed.trr"
    source = mda.Universe.empty(6, trajectory=True, velocities=True, forces=True)
    source.dimensions = [30, 31, 32, 90, 80, 70]
    with mda.Writer(str(path), 6) as writer:
        for frame in range(4):
            ts = source.trajectory.ts
            for field in FIELDS:
                has = field != lacking or frame < 2
                setattr(ts, f"has_{field}", has)
                if has:
                    setattr(ts, field, np.full((6, 3), frame + len(field)))
            ts.frame = frame
            writer.write(source)
    theirs = mda.Universe.empty(6).load_new(str(path))
    guest.install()
    ours = mda.Universe.empty(6).load_new(str(path))
    for current in (0, 3):
        for u in (theirs, ours):
            u.trajectory[current]
        try:
            theirs.copy().transfer_to_memory()
        except Exception as error:
            with pytest.raises(type(error)):
                ours.copy().transfer_to_memory()
            assert lacking != "none"
        else:
            known = in_memory(theirs.copy(), slice(None))
            assert_same_arrays(in_memory(ours.copy(), slice(None)), known)
            assert lacking != "positions"


def test_rotated_box_is_that_of_mdanalysis(tmp_path: Path) -> None:
    """With a warning, also for a frame in the middle, as when frames are read one by one."""
    path = vectors_dcd(tmp_path / "vectors.dcd")
    n_atoms = tj.open(None, path).n_atoms
    theirs = mda.Universe.empty(n_atoms).load_new(str(path))
    theirs.trajectory[1]
    guest.install()
    ours = mda.Universe.empty(n_atoms).load_new(str(path))
    with warns(UserWarning):
        ours.trajectory[1]
    some = slice(1, None, 2)
    assert_same_arrays(in_memory(ours, some), in_memory(theirs, some))


def test_transformations_are_applied(small_files: dict[str, Path]) -> None:
    """Once."""
    theirs = with_theirs(small_files["xtc"])
    guest.install()
    ours = load(small_files["xtc"])
    for u in (theirs, ours):
        u.trajectory.add_transformations(translate([1, 2, 3]))
    every = slice(None, None, 2)
    assert_same_arrays(in_memory(ours, every), in_memory(theirs, every))


def test_verbose_transfer_and_other_readers_are_those_of_mdanalysis(
    small_files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A progress bar counts frames; chains have several readers."""
    paths = [small_files["xtc"], small_files["dcd"]]
    theirs, chain = with_theirs(small_files["xtc"]), with_theirs(paths)
    guest.install()
    ours = load(small_files["xtc"])
    assert_same_arrays(in_memory(ours, slice(None), verbose=True), in_memory(theirs, slice(None)))
    assert f"{N_FRAMES}/{N_FRAMES}" in capsys.readouterr().err
    both = load(paths)
    for u in (both, chain):
        u.transfer_to_memory(step=5)
    np.testing.assert_array_equal(both.trajectory.get_array(), chain.trajectory.get_array())
    # A Universe in memory stays.
    before = ours.trajectory
    ours.transfer_to_memory()
    assert ours.trajectory is before


def test_atoms_of_a_subset_and_of_a_new_universe_are_transferred(
    small_files: dict[str, Path],
) -> None:
    """`sub=`, and `in_memory=True`."""
    path, atoms = small_files["xtc"], np.array([4, 20, 5])
    known = with_theirs(path).trajectory.timeseries(order="fac")
    guest.install()
    chosen = mda.Universe.empty(3).load_new(str(path), sub=atoms)
    np.testing.assert_array_equal(in_memory(chosen, slice(None)).get_array(), known[:, atoms])
    made = load(path, in_memory=True, in_memory_step=3)
    assert type(made.trajectory) is MemoryReader
    np.testing.assert_array_equal(made.trajectory.get_array(), known[::3])
    assert made.trajectory.dt == 6.0


def test_cell_that_a_script_removed_stays_away(small_files: dict[str, Path]) -> None:
    """The current frame decides whether there are cells."""
    theirs = with_theirs(small_files["trr"])
    guest.install()
    ours = load(small_files["trr"])
    for u in (theirs, ours):
        u.trajectory[1]
        u.dimensions = None
    assert_same_arrays(in_memory(ours, slice(None)), in_memory(theirs, slice(None)))


def test_damaged_frame_leaves_the_universe_as_it_was(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """It is an error."""
    content = bytearray(small_files["xtc"].read_bytes())
    path = Path(shutil.copy(small_files["xtc"], tmp_path / "damaged.xtc"))
    guest.install()
    u = load(path)
    first, before = u.trajectory[2].positions.copy(), u.trajectory
    middle = len(content) // 2
    content[middle - 200 : middle + 200] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(tj.FormatError):
        u.transfer_to_memory()
    assert u.trajectory is before
    u.trajectory[2]
    np.testing.assert_array_equal(u.atoms.positions, first)
