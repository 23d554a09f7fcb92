"""`install` replaces readers and getters, and `uninstall` puts back what was there."""

import shutil
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.messages import raises, warns
from helpers.universe_pairs import empty_universe, load, with_theirs
from MDAnalysis.core.groups import Atom, AtomGroup
from trajet.mdanalysis.format_readers import DCDReader

NAMES = ("XTC", "TRR", "DCD", "NCDF", "NC", "H5MD")


def patched() -> list[object]:
    """Return everything that `install` replaces."""
    getters = [AtomGroup.positions, Atom.position]
    return [*(mda._READERS[name] for name in NAMES), mda.Universe.transfer_to_memory, *getters]


def test_reader_class_patches_nothing(small: Path) -> None:
    """Importing and using it leaves MDAnalysis as it was."""
    before, names = patched(), dict(mda._READERS)
    u = load(small, format=guest.Reader)
    assert [u.atoms[:3].positions for _ in u.trajectory]
    assert patched() == before
    assert names == mda._READERS


def test_uninstall_restores_everything(small: Path) -> None:
    """Universes that were made meanwhile go on."""
    before, names = patched(), dict(mda._READERS)
    with guest.install():
        assert not {*map(id, patched())} & {*map(id, before)}
        u = load(small)
        assert isinstance(u.trajectory, guest.Reader)
        assert AtomGroup.positions.__doc__ == before[-2].__doc__
    assert patched() == before
    assert names == mda._READERS
    known = with_theirs(small)
    for _ in zip(u.trajectory, known.trajectory, strict=True):
        np.testing.assert_array_equal(u.atoms[:5].positions, known.atoms[:5].positions)
    guest.uninstall()


def test_end_of_a_block_restores_what_it_found(small: Path) -> None:
    """The readers of the outer block stay, with its `strict`."""
    before = patched()
    with guest.install(strict=False):
        installed = patched()
        with guest.install():
            assert load(small).trajectory._strict
        assert patched() == installed
        assert not load(small).trajectory._strict
        with guest.install(strict=False):
            guest.uninstall()
        assert patched() == before
    assert patched() == before
    with guest.install():
        assert load(small).trajectory._strict


def test_formats_are_read_by_their_classes(small: Path) -> None:
    """Pickles need these names."""
    guest.install()
    u = load(small)
    name = {"nc": "NCDF"}.get(small.suffix[1:], small.suffix[1:].upper())
    assert type(u.trajectory) is getattr(guest, f"{name}Reader")
    assert u.trajectory.format == name


def test_other_readers_stay(tmp_path: Path) -> None:
    """LAMMPS' DCD reader inherits from the one of MDAnalysis."""
    from MDAnalysisTests.datafiles import LAMMPSdata2, LAMMPSdcd2

    guest.install()
    u = mda.Universe(LAMMPSdata2, LAMMPSdcd2, format="LAMMPS", timeunit="fs")
    assert not isinstance(u.trajectory, guest.Reader)
    assert u.trajectory[3].positions.any()


def test_setters_are_those_of_before(small: Path) -> None:
    """The setters of groups and of atoms."""
    guest.install()
    u = load(small)
    u.atoms[3].position = [1, 2, 3]
    u.atoms[4:6].positions = [[4, 5, 6], [7, 8, 9]]
    np.testing.assert_array_equal(u.trajectory.ts.positions[3:6].ravel(), np.arange(1, 10))
    np.testing.assert_array_equal(u.atoms[4].position, [4, 5, 6])


def test_group_without_a_trajectory_is_the_error_of_before() -> None:
    """`Universe.empty` has none."""
    before = empty_universe()
    guest.install()
    with pytest.raises(AttributeError):
        _ = before.atoms.positions


def test_truncated_file_is_an_error_or_a_warning(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """With `strict=False` it has the frames of MDAnalysis."""
    path = tmp_path / "cut.xtc"
    path.write_bytes(small_files["xtc"].read_bytes()[:-40])
    theirs = with_theirs(Path(shutil.copy(path, tmp_path / "other.xtc")))
    guest.install()
    with raises(tj.FormatError):
        load(path)
    guest.install(strict=False)
    with warns(UserWarning):
        u = empty_universe().load_new(str(path))
    assert u.trajectory.n_frames == theirs.trajectory.n_frames
    seen = 0
    for frame in range(u.trajectory.n_frames - 1):
        np.testing.assert_array_equal(
            u.trajectory[frame].positions, theirs.trajectory[frame].positions
        )
        np.testing.assert_array_equal(u.atoms[2:5].positions, theirs.atoms[2:5].positions)
        seen += 1
    made = u.copy()
    assert made.trajectory.n_frames == u.trajectory.n_frames
    assert seen
    assert u.trajectory.report.reads_ahead.startswith("nothing")


def test_damaged_frame_is_an_error_or_read_by_mdanalysis(
    small_files: dict[str, Path], tmp_path: Path
) -> None:
    """It does not end the trajectory, as an `OSError` would."""
    content = bytearray(small_files["xtc"].read_bytes())
    middle = len(content) // 2
    path = tmp_path / "damaged.xtc"
    path.write_bytes(content)
    guest.install()
    u = load(path)
    content[middle - 200 : middle + 200] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(tj.FormatError):
        for ts in u.trajectory:
            _ = ts.positions


def test_rotated_box_is_that_of_mdanalysis(tmp_path: Path) -> None:
    """CHARMM's symmetric matrices are turned against the box of lengths and angles: a warning."""
    from MDAnalysisTests.datafiles import DCD_TRICLINIC, PSF_TRICLINIC

    path = Path(shutil.copy(DCD_TRICLINIC, tmp_path))
    theirs = mda.Universe(PSF_TRICLINIC, str(path))
    for strict in (True, False):
        guest.install(strict=strict)
        with warns(UserWarning):
            u = mda.Universe(PSF_TRICLINIC, str(path))
        assert type(u.trajectory) is DCDReader
        for one, other in zip(u.trajectory, theirs.trajectory, strict=True):
            np.testing.assert_array_equal(one.dimensions, other.dimensions)
            np.testing.assert_array_equal(one.positions, other.positions)
            assert one.time == other.time


def test_file_of_another_format_is_an_error(small_files: dict[str, Path], tmp_path: Path) -> None:
    """As the reader of its name finds it."""
    path = Path(shutil.copy(small_files["trr"], tmp_path / "wrong.xtc"))
    guest.install()
    with raises(OSError):
        load(path)
