"""Laws that every format holds, on every file, in one suite."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.damage import outcomes_of_damage, word
from helpers.extent import IS_LONG, examples
from helpers.frame_borders import STREAMING, Borders
from helpers.golden_files import (
    FORMATS,
    MADE,
    READ,
    UNREAD,
    Golden,
    Truth,
    all_of,
    assert_same,
    borders_of,
    format_of,
    read_with_mdanalysis,
    same_bits,
)
from helpers.made_files import random_vectors, write_dcd, write_trr, write_with_mdanalysis
from helpers.messages import names, raises
from trajet import _trajet
from trajet._trajet import Reader

PUBLISHED = {name: path for format in READ.values() for name, path in format.files().items()}
# Files whose frames have no times: a sidecar would have no content.
UNTIMED = {"cpptraj_traj.nc"}
# Files some of whose frames have no positions.
PARTLY_EMPTY = {"made_mixed.trr", "made_double.trr"}
# Files that are written as others are, by the same program: the gate compares what is in them, and
# `make test-long` has the other laws of them.
ALIKE = {
    *("YiiP_lipids.xtc", "aux_edr.xtc", "xyz_random_walk.xtc", "adk_oplsaa.trr"),
    *("adk_dims2.dcd", "adk_gbis_tmd-fast1_NAMD.dcd", "watdyn.dcd", "ifabp_apo_100mM.dcd"),
    *("ace_tip3p.nc", "bala.ncdf", "tz2.truncoct.nc", "nmr_neopetrosiamide.pdb"),
    *("incomplete.pdb", "varying_occ_tmp.pdb", "test.gro"),
}
# Files up to this size are quickly damaged many times.
SMALL = 80_000
N_CUTS = 8
# A cut of fewer bytes leaves too little to recognise the format.
MAGIC_SIZE = 4


def test_formats_have_the_suffixes_of_the_golden_files() -> None:
    """Commands and other tests take the formats from these tables."""
    suffixes = {name: format.suffixes for name, format in READ.items()}
    in_table = {name: info.suffixes for name, info in _trajet.FORMATS.items()}
    assert {**suffixes, "H5MD": (".h5md", ".h5")} == in_table
    copied = {name: format.copied_as for name, format in READ.items() if format.copied_as}
    only_read = {n: i.copied_as for n, i in _trajet.FORMATS.items() if not i.is_written}
    assert copied == only_read


def small_files() -> list[str]:
    """Return the names of files small enough to be damaged many times, of every format."""
    names = [name for name, path in PUBLISHED.items() if 0 < path.stat().st_size < SMALL]
    names = sorted([*names, *MADE])
    assert {format_of(Path(name)).name for name in names} == set(READ)
    return names


NAMES = sorted({*PUBLISHED, *MADE} - set(UNREAD))


def is_long(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a file in most laws."""
    return (pytest.mark.long,) if name in ALIKE else ()


ALL = [pytest.param(name, marks=is_long(name)) for name in NAMES]
# test_structures has the laws of text files that are cut.
BINARY = [case for name, case in zip(NAMES, ALL, strict=True) if not format_of(Path(name)).is_text]
each_file = pytest.mark.parametrize("file", NAMES, indirect=True)


@pytest.fixture(scope="session", params=ALL)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Return every file in turn, with MDAnalysis' reading of it."""
    name = request.param
    folder = tmp_path_factory.mktemp("truth")
    source = MADE[name](folder / name) if name in MADE else PUBLISHED[name]
    return Golden(name, source, read_with_mdanalysis(source, folder))


@pytest.fixture
def path(file: Golden, tmp_path: Path) -> Path:
    """Copy the file into a folder of its own."""
    folder = tmp_path / "own"
    folder.mkdir()
    return file.copy(folder)


@pytest.fixture(scope="session", params=["large.xtc", "large.trr", "large.dcd", "large.nc"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Return five frames of 60 000 atoms, written by MDAnalysis; TRR and NCDF with all vectors."""
    folder = tmp_path_factory.mktemp("large")
    fields = request.param in ("large.trr", "large.nc")
    source = write_with_mdanalysis(folder / request.param, 60_000, 5, fields=fields)
    return Golden(request.param, source, read_with_mdanalysis(source, folder))


def of_any_size(*sizes: int) -> pytest.MarkDecorator:
    """Give a test each file with requests of one size, and a file of each format with all.

    Sizes take turns, so that every format has files of each. `make test-long` has all files with
    all sizes.
    """
    usual = [name for name in reversed(NAMES) if name not in ALIKE]
    first = {format_of(Path(name)).name: name for name in usual}.values()
    cases = []
    for number, name in enumerate(NAMES):
        for turn, size in enumerate(sizes):
            is_gate = name in first or (number % len(sizes) == turn and name not in ALIKE)
            cases.append(pytest.param(name, size, marks=() if is_gate else pytest.mark.long))
    return pytest.mark.parametrize(("file", "request_size"), cases, indirect=["file"])


def sidecar_of(path: Path) -> Path:
    """Return the path of the index of a trajectory."""
    return path.with_name(f".{path.name}.trajet-index")


def is_indexed(name: str) -> bool:
    """Return whether the file of this name gets a sidecar."""
    return format_of(Path(name)).searched and name not in UNTIMED


def borders(file: Golden) -> Borders:
    """Return the borders of the frames of a file."""
    return borders_of(file.format.name, file.source.read_bytes())


def held(truth: Truth, frames: np.ndarray) -> dict[str, bool]:
    """Return which of velocities and forces some of the frames have."""
    fields = {"velocities": truth.velocities, "forces": truth.forces}
    return {
        name: values is not None and not np.isnan(values[frames]).all()
        for name, values in fields.items()
    }


def first_frames(truth: Truth, n: int) -> Truth:
    """Return the truth of a file that was cut."""
    arrays = ("positions", "times", "steps", "cells")
    return replace(truth, **{name: getattr(truth, name)[:n] for name in arrays})


# Values


def test_every_format_has_files() -> None:
    """Exceptions are files of the table, and most laws have files of every format in the gate."""
    for format in FORMATS.values():
        assert len([name for name in format.files() if name not in UNREAD]) >= 5
    assert set(UNREAD) <= set(PUBLISHED)
    assert set(NAMES) >= ALIKE
    usual = {format_of(Path(name)).name for name in set(NAMES) - ALIKE}
    assert usual == {format_of(Path(name)).name for name in NAMES}


@pytest.mark.parametrize("name", sorted(UNREAD))
@pytest.mark.parametrize("leave", [False, True])
def test_unreadable_files_are_errors(name: str, leave: bool, tmp_path: Path) -> None:
    """A file that MDAnalysis does not read is an error that names it."""
    copy = Path(shutil.copy(PUBLISHED[name], tmp_path / name))
    with raises(tj.TrajetError):
        tj.open(None, copy, allow_truncated_tail=leave)


@each_file
def test_frame_borders_agree_with_mdanalysis(file: Golden, path: Path) -> None:
    """The tests' own walkers find as many frames as MDAnalysis, and trajet the same borders."""
    found = borders(file)
    assert found.n_frames == file.truth.n_frames
    assert tj.open(None, path).source.reader.offsets().tolist() == found.at[:-1]


@each_file
def test_properties_agree_with_mdanalysis(file: Golden, path: Path) -> None:
    """An open trajectory knows its size, times, steps and origin."""
    for name in (path, str(path)):
        traj = tj.open(None, name)
        assert traj.format == file.format.name
        assert traj.n_frames == file.truth.n_frames
        assert traj.n_atoms == file.truth.n_atoms
        assert Path(traj.path) == path
        assert same_bits(traj.times, file.truth.times)
        assert traj.steps.dtype == np.int64
        assert np.array_equal(traj.steps, file.truth.steps)


@each_file
def test_whole_files_equal_mdanalysis(file: Golden, path: Path) -> None:
    """Positions, times, steps and cells are equal, and so are velocities and forces."""
    frames, atoms = all_of(file.truth)
    traj = tj.open(None, path)
    assert_same(traj.read(), file.truth, frames, atoms)
    assert traj.read().velocities is None
    for field, there in held(file.truth, frames).items():
        if there:
            block = traj.read(**{field: True})
            assert getattr(block, field) is not None
            assert_same(block, file.truth, frames, atoms)
            continue
        with raises(tj.FormatError, path, field):
            traj.read(**{field: True})


@each_file
def test_truth_has_the_vectors_of_the_lists(file: Golden) -> None:
    """MDAnalysis reads velocities, forces and frames without positions from the listed files."""
    truth = file.truth
    fields = {"x": truth.positions, "v": truth.velocities, "f": truth.forces}
    there = {k for k, v in fields.items() if v is not None and not np.isnan(v).all()}
    assert there == set(file.format.vectors.get(file.name, "x"))
    empty = np.isnan(truth.positions).all(axis=(1, 2))
    assert np.array_equal(empty, np.isnan(truth.positions).any(axis=(1, 2)))
    assert (0 < empty.sum() < truth.n_frames) == (file.name in PARTLY_EMPTY)


@of_any_size(1, 1000, 262144)
def test_any_frames_and_atoms_are_slices_of_the_whole(
    file: Golden, path: Path, request_size: int
) -> None:
    """Frames and atoms come in any order, any number of times; see `of_any_size`."""
    truth = file.truth
    m, n = truth.n_frames, truth.n_atoms
    rng = np.random.default_rng(m + n)
    some = rng.choice(n, size=max(1, n // 3), replace=False)
    atom_lists = {
        "all": np.arange(n),
        "first": np.array([0]),
        "middle": np.array([n // 2]),
        "last": np.array([n - 1]),
        "front": np.arange(max(1, n // 10)),
        "end": np.arange(n - max(1, n // 20), n),
        "few": np.sort(rng.choice(n, size=min(n, 5), replace=False)),
        "sorted": np.sort(some),
        "unordered": some,
        "strided": np.arange(0, n, 3),
        "repeated": rng.integers(0, n, size=2 * min(n, 300) + 1),
        "backwards": np.arange(n)[::-2],
    }
    frame_lists: list[slice | list[int]] = [
        slice(None),
        slice(None, None, -1),
        slice(None, -1, 3),
        slice(m, None, -2),
        slice(-2, None),
        slice(1, 10 * m, 2),
        slice(-10 * m, 2),
        [0],
        [-1],
        [m - 1, 0, 0],
        rng.permutation(m)[:12].tolist(),
        rng.integers(-m, m, size=min(m, 9) + 3).tolist(),
    ]
    traj = tj.open(None, path, request_size=request_size)
    pairs = [(frames, "all") for frames in frame_lists]
    pairs += [(slice(None), atoms) for atoms in atom_lists]
    pairs += [
        (frame_lists[rng.integers(len(frame_lists))], str(rng.choice(list(atom_lists))))
        for _ in range(12)
    ]
    for frames, kind in pairs:
        atoms = atom_lists[kind]
        expected = np.arange(m)[frames]
        wanted = held(truth, expected)
        block = traj.read(frames=frames, atoms=atoms, **wanted)
        assert_same(block, truth, expected, atoms)
        assert [name for name in wanted if getattr(block, name) is not None] == [
            name for name, there in wanted.items() if there
        ]
        if isinstance(frames, list):
            selection = traj.select(atoms.tolist())
            assert np.array_equal(selection.indices, atoms)
            assert_same(selection.read(frames=np.array(frames)), truth, expected, atoms)


def test_field_that_no_requested_frame_has_is_an_error(file: Golden, path: Path) -> None:
    """If some requested frame has the field, the other frames are NaN."""
    traj = tj.open(None, path)
    for frame in range(min(file.truth.n_frames, 20)):
        for field, there in held(file.truth, np.array([frame])).items():
            if there:
                block = traj.read(frames=[frame], atoms=[0], **{field: True})
                assert_same(block, file.truth, np.array([frame]), np.array([0]))
            else:
                with raises(tj.FormatError, path, field):
                    traj.read(frames=[frame], atoms=[0], **{field: True})


def test_blocks_join_to_the_whole(file: Golden, path: Path) -> None:
    """Blocks of any size that a caller keeps, joined, equal the result of read()."""
    truth = file.truth
    n = truth.n_frames
    traj = tj.open(None, path)
    atoms = np.arange(truth.n_atoms)[::-3]
    selection = traj.select(atoms)
    for size in {None, 1, 2, 3, max(1, n - 1), n, n + 1, 500}:
        of_blocks = (
            (traj.blocks(size), slice(None), np.arange(truth.n_atoms)),
            (traj.blocks(size, frames=[0, -1, 0], atoms=atoms), [0, -1, 0], atoms),
            (selection.blocks(size, frames=slice(None, None, -1)), slice(None, None, -1), atoms),
        )
        for blocks, frames, which in of_blocks:
            expected = np.arange(n)[frames]
            done = 0
            most = size or min(256, max(1, (512 << 10) // (12 * len(which))))
            for block in list(blocks):
                here = expected[done : done + most]
                assert_same(block, truth, here, which)
                done += len(here)
            assert done == len(expected)


def test_frame_out_of_range_is_an_index_error(file: Golden, path: Path) -> None:
    """The error names the frame and the range."""
    traj = tj.open(None, path)
    n = file.truth.n_frames
    for frames in ([n], [0, n], [-n - 1], [10**12]):
        with raises(tj.FrameError, path, frames[-1], n):
            traj.read(frames=frames)


def test_atom_out_of_range_is_a_selection_error(file: Golden, path: Path) -> None:
    """Every function that takes atoms raises it."""
    traj = tj.open(None, path)
    n = file.truth.n_atoms
    for atoms in ([n], [0, n], [10**12]):
        with raises(tj.SelectionError, atoms[-1], n):
            traj.select(atoms)
        with raises(tj.SelectionError, atoms[-1], n):
            traj.read(atoms=atoms)


def test_out_is_filled_and_returned(file: Golden, path: Path) -> None:
    """`out` is the array that receives the positions."""
    traj = tj.open(None, path)
    truth = file.truth
    out = np.full(truth.positions.shape, 7, np.float32)
    assert traj.read(out=out).positions is out
    assert same_bits(out, truth.positions)
    atoms = np.arange(truth.n_atoms)[::-2]
    out = np.full((1, len(atoms), 3), 7, np.float32)
    assert traj.select(atoms).read(frames=[-1], out=out).positions is out
    assert same_bits(out, truth.positions[-1:][:, atoms])


# Damage


def cuts(file: Golden, size: int, every: bool) -> Iterator[tuple[int, bool]]:
    """Yield byte positions at which to cut, the last one first, and whether they are random.

    They are near every border of frames, or near few of them.
    """
    rng = np.random.default_rng(size)
    random = set(rng.integers(0, size, size=N_CUTS).tolist())
    at = borders(file).at
    if not every and len(at) > 6:
        at = [*at[:2], *rng.choice(at[2:-2], 1).tolist(), *at[-2:]]
    # Each opening takes a millisecond.
    near_each = (0, 1, 4) if len(at) > 40 else (0, 1, 3, 4, 8, 52, 56, 57, 91, 92, 93)
    near = {border + side * k for border in at for k in near_each for side in (-1, 1)}
    for cut in sorted(random | near, reverse=True):
        if 0 <= cut < size:
            yield cut, cut in random


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("file", BINARY, indirect=True)
def test_cut_files_are_errors(file: Golden, path: Path, every: bool) -> None:
    """The error has the position; with the option, a file is read up to the last whole frame.

    Cuts are at random and near 5 borders of frames: the first and the last two, and one between.
    `make test-long` has all borders.
    """
    found = borders(file)
    refused = read = 0
    for cut, at_random in cuts(file, path.stat().st_size, every):
        os.truncate(path, cut)
        whole = found.whole(cut)
        truth = first_frames(file.truth, whole)
        if cut == found.at[whole] and whole > 0 and not file.format.counted:
            traj = tj.open(None, path, sidecar=False)
            assert traj.n_frames == whole
            assert same_bits(traj.times, truth.times)
            read += 1
        else:
            with raises(tj.FormatError, path) as caught:
                tj.open(None, path, sidecar=False)
            assert isinstance(caught.value, tj.TruncatedError) or cut < MAGIC_SIZE
            assert not isinstance(caught.value, tj.TruncatedError) or cut > 0
            if cut >= MAGIC_SIZE:
                assert names(caught.value, f"frame {whole}")
                assert any(names(caught.value, byte) for byte in (found.at[whole], cut))
            refused += 1
        if whole == 0:
            with raises(tj.FormatError, path):
                tj.open(None, path, sidecar=False, allow_truncated_tail=True)
            continue
        traj = tj.open(None, path, sidecar=False, allow_truncated_tail=True)
        assert traj.n_frames == whole
        assert same_bits(traj.times, truth.times)
        assert traj.source.reader.truncated_tail == cut - found.at[whole]
        frames, atoms = all_of(truth)
        frames = frames if at_random else frames[-1:]
        assert_same(traj.read(frames=frames), truth, frames, atoms)
        with pytest.raises(tj.FrameError):
            traj.read(frames=[whole])
    if file.format.counted:
        assert read == 0
    elif every or found.n_frames < 6:
        assert read == found.n_frames - 1
    else:
        assert read >= 3
    assert refused >= 20


def test_truncated_tail_changes_nothing_for_a_whole_file(file: Golden, path: Path) -> None:
    """allow_truncated_tail has no effect on it."""
    traj = tj.open(None, path, allow_truncated_tail=True)
    assert traj.source.reader.truncated_tail == 0
    assert_same(traj.read(), file.truth, *all_of(file.truth))


def test_file_cut_while_open_is_an_error(file: Golden, path: Path) -> None:
    """A file that shrinks under an open trajectory gives neither zeros nor a crash."""
    traj = tj.open(None, path)
    os.truncate(path, borders(file).at[-1] - 5)
    with raises((tj.TrajetError, OSError), path):
        traj.read(frames=[-1])


@each_file
def test_wrong_frame_count_of_a_header_is_a_message(file: Golden, path: Path) -> None:
    """A correct count gives no message."""
    found = borders(file)
    traj = tj.open(None, path)
    messages = [
        message for message in traj.messages if message not in traj.source.files.time_messages
    ]
    has_message = any(f"{found.claimed} frames" in message for message in messages)
    assert has_message == (found.claimed not in (None, found.n_frames))


@pytest.mark.parametrize("claimed", [0, 1, 9, 11, 10**6, -1])
def test_frame_count_of_dcd_is_only_a_message(claimed: int, tmp_path: Path) -> None:
    """A wrong number of frames in the header of a DCD file has no other effect."""
    positions = random_vectors(10, 12)
    path = write_dcd(tmp_path / "claimed.dcd", positions, claimed=claimed)
    traj = tj.open(None, path)
    assert same_bits(traj.read().positions, positions)
    assert len(traj.messages) == 1
    assert str(claimed) in traj.messages[0]


def test_frame_count_of_ncdf_detects_cut_files(tmp_path: Path) -> None:
    """Fewer frames than counted are a cut file; more were left unfinished or never counted."""
    path = write_with_mdanalysis(tmp_path / "claimed.nc", 12, 10)
    data = path.read_bytes()
    truth = read_with_mdanalysis(path, tmp_path)

    def claim(n: int, cut: int = len(data)) -> Path:
        path.write_bytes((data[:4] + n.to_bytes(4, "big") + data[8:])[:cut])
        return path

    at = borders_of("NCDF", data).at
    for n in (11, 10**6):
        with raises(tj.TruncatedError):
            tj.open(None, claim(n))
        traj = tj.open(None, claim(n), allow_truncated_tail=True)
        assert_same(traj.read(), truth, *all_of(truth))
        assert str(n) in traj.messages[0]
    for n in (1, 9):
        for cut in (len(data), at[n] + 1):
            traj = tj.open(None, claim(n, cut))
            assert_same(traj.read(), truth, np.arange(n), np.arange(12))
            assert len(traj.messages) == 1
    with raises(tj.FormatError):
        tj.open(None, claim(0))
    for n in (1, 9, 10):
        traj = tj.open(None, claim(STREAMING, at[n]))
        assert_same(traj.read(), truth, np.arange(n), np.arange(12))
        assert traj.messages == ()
        with raises(tj.TruncatedError):
            tj.open(None, claim(STREAMING, at[n] - 1))


@pytest.mark.parametrize("name", small_files())
def test_random_bytes_give_errors_or_blocks(name: str, tmp_path: Path) -> None:
    """Bytes changed at random give an error or a block of the right shape, never a crash."""
    path = tmp_path / name
    data = MADE[name](path).read_bytes() if name in MADE else PUBLISHED[name].read_bytes()
    path.write_bytes(data)
    at = borders_of(format_of(path).name, data).at
    rng = np.random.default_rng(2023)
    cases = []
    for k in range(examples(60)):
        if k % 3 == 0:
            positions = rng.integers(0, len(data), size=rng.integers(1, 4))
        elif k % 3 == 1:
            positions = rng.integers(0, max(at[0], 100), size=1)
        else:
            positions = at[rng.integers(len(at) - 1)] + rng.integers(0, 100, size=1)
        cases.append([(int(p) % len(data), int(rng.integers(0, 256))) for p in positions])
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) <= {"read", "FormatError", "TruncatedError"}
    assert 0 < outcomes.count("read") < len(cases)


@pytest.mark.parametrize(
    "name",
    [
        "test.xtc",
        "test.trr",
        "made_double.trr",
        "test.dcd",
        "made_fixed.dcd",
        "made_big_endian.dcd",
        "ace_mbondi3.nc",
        "posfor.ncdf",
    ],
)
def test_any_header_word_may_be_damaged(name: str, tmp_path: Path) -> None:
    """Any word may be zero, negative or huge: no memory is allocated for it."""
    path = tmp_path / name
    data = MADE[name](path).read_bytes() if name in MADE else PUBLISHED[name].read_bytes()
    path.write_bytes(data)
    at = borders_of(format_of(path).name, data).at
    places = [*range(0, at[0] + 96, 4), *range(at[-2], at[-2] + 96, 4)]
    values = (0, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFF7F, 0x80000000, 0x00FFFFFF)
    # Neighbouring words take turns with the values; long tests have all of them.
    cases = [
        word(p, value)
        for k, p in enumerate(places)
        if p + 4 <= len(data)
        for value in (values if IS_LONG else values[k % 2 :: 2])
    ]
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) <= {"read", "FormatError", "TruncatedError"}
    assert 0 < outcomes.count("read") < len(cases)


# Index


def test_second_opening_uses_the_index(file: Golden, path: Path) -> None:
    """Formats whose frames must be searched keep an index; other formats write no file."""
    for states in (("built", "computed"), ("loaded", "computed")):
        traj = tj.open(None, path)
        assert traj.index_state == states[not is_indexed(file.name)]
        assert_same(traj.read(), file.truth, *all_of(file.truth))
        expected = {path} | ({sidecar_of(path)} if is_indexed(file.name) else set())
        assert set(path.parent.iterdir()) == expected
        assert traj.index_path == (sidecar_of(path) if is_indexed(file.name) else None)


def test_file_that_grew_has_its_index_extended(file: Golden, path: Path) -> None:
    """Frames appended to a file are added to its index, one opening after the other."""
    data, found = path.read_bytes(), borders(file)
    m = found.n_frames
    state = "built"
    for n in sorted({1, 2, m // 2, m - 1, m} & set(range(1, m + 1))):
        grown = data[: found.at[n]] if n < m else data
        if file.format.counted:
            grown = grown[:4] + n.to_bytes(4, "big") + grown[8:]
        path.write_bytes(grown)
        last = grown[found.at[n - 1] :]
        if last.startswith(b"MODEL") and b"ENDMDL" not in last:
            # A model without its end may be cut.
            with raises(tj.TruncatedError):
                tj.open(None, path)
            continue
        truth = first_frames(file.truth, n)
        for expected in (state, "loaded"):
            traj = tj.open(None, path)
            assert traj.index_state == (expected if is_indexed(file.name) else "computed")
            assert traj.n_frames == n
            assert same_bits(traj.times, truth.times)
            assert_same(traj.read(), truth, *all_of(truth))
        state = "extended"


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return small trajectories that are indexed."""
    folder = tmp_path_factory.mktemp("strangers")
    write_trr(folder / "other.trr", ["bx"] * 4, 9, "f4")
    made = [write_with_mdanalysis(folder / name, 9, 4) for name in ("other.xtc", "other.nc")]
    return [folder / "other.trr", *made]


def test_sidecar_of_another_file_is_ignored(
    file: Golden, path: Path, tmp_path: Path, strangers: list[Path]
) -> None:
    """A sidecar is used only for the trajectory that it was made of."""
    data = path.read_bytes()
    # White space at the end of a text says nothing.
    last = len(data.rstrip() if file.format.is_text else data) - 1
    turned = bytes([*data[:last], data[last] ^ 1, *data[last + 1 :]])
    # A copy of this file with another last bit.
    (tmp_path / f"turned{path.suffix}").write_bytes(turned)
    for other in (*strangers, tmp_path / f"turned{path.suffix}"):
        indexed = tj.open(None, other).index_path
        if indexed is None:
            assert not is_indexed(file.name)
            continue
        shutil.copy(indexed, sidecar_of(path))
        traj = tj.open(None, path)
        assert traj.index_state == ("built" if is_indexed(file.name) else "computed")
        assert_same(traj.read(), file.truth, *all_of(file.truth))


def test_frames_exchanged_behind_the_index_are_detected(
    file: Golden, path: Path, tmp_path: Path
) -> None:
    """The new frames are read, or an error explains the remedy."""
    data = path.read_bytes()
    at = borders(file).at
    if len(at) < 4:
        return
    m = len(at) - 1
    stale = 0
    # The last frame of a text may have no end of its last line.
    firsts = range(1, m - 1 - file.format.is_text)
    places = {1, m // 3, m // 2, m // 2 + 2, m - 2}
    # An index of a long file is not compared with all frames.
    if not IS_LONG and file.name not in file.format.long:
        places = {1, m // 2, m - 2}
    for first in sorted(places & set(firsts)):
        path.write_bytes(data)
        tj.open(None, path)
        one, two = data[at[first] : at[first + 1]], data[at[first + 1] : at[first + 2]]
        path.write_bytes(data[: at[first]] + two + one + data[at[first + 2] :])
        truth = read_with_mdanalysis(path, tmp_path)
        for frames in ([first], [first + 1], slice(None)):
            try:
                block = tj.open(None, path).read(frames=frames)
            except tj.StaleIndexError as error:
                assert names(error, path)
                stale += 1
                block = tj.open(None, path).read(frames=frames)  # the index is rebuilt
            assert_same(block, truth, np.arange(m)[frames], np.arange(truth.n_atoms))
        sidecar_of(path).unlink(missing_ok=True)
    assert (stale > 0) == (file.name in file.format.long)


# Counts


@of_any_size(1000, 4096, 262144)
def test_reading_all_takes_few_requests(file: Golden, path: Path, request_size: int) -> None:
    """It takes one opening, no byte twice, and at most bytes / request size + 2 requests."""
    traj = tj.open(None, path, request_size=request_size)
    n = traj.n_frames
    out = np.empty((n, traj.n_atoms, 3), np.float32)
    counts = traj.source.reader.read((0, 1, n), None, out, "positions")["counts"]
    size = path.stat().st_size
    assert traj.source.reader.opening()["opens"] + counts["opens"] == 1
    assert counts["bytes_used"] <= counts["bytes_read"] <= size
    assert counts["requests"] <= size / request_size + 2
    empty = np.isnan(file.truth.positions).all(axis=(1, 2)).sum()
    assert counts["frames"] == n
    assert counts["empty_frames"] == empty
    assert counts["atoms_decoded"] == (n - empty) * traj.n_atoms


@of_any_size(1000, 4096, 262144)
def test_blocks_make_the_requests_of_one_call(file: Golden, path: Path, request_size: int) -> None:
    """Requests continue from one block into the next, and no data is decompressed again."""
    out = np.empty_like(file.truth.positions)
    n = len(out)

    def opened() -> Reader:
        return tj.open(None, path, request_size=request_size).source.reader

    once = opened().read((0, 1, n), None, out, "positions")["counts"]
    for size in (1, 3):
        parts = opened().parts((0, 1, n), None)
        for begin in range(0, n, size):
            parts.read(begin, out[begin : begin + size])
        assert parts.counts() == once


def test_run_of_one_task_reads_the_file_once(file: Golden, path: Path) -> None:
    """An analysis opens the file once and reads each byte at most once."""
    traj = tj.open(None, path)
    frames = np.flatnonzero(~np.isnan(file.truth.positions).any(axis=(1, 2)))
    if len(frames) == 0:
        return
    atoms = traj.select(np.arange(traj.n_atoms))
    pool = tj.LocalPool(threads=1, task_frames=10**9)
    report = tj.rmsd(atoms, frames=frames, pool=pool).report
    size = path.stat().st_size
    assert report["opens"] == 1
    assert report["frames"] == len(frames)
    assert report["requests"] <= size / 262144 + 2
    assert report["bytes_read"] <= size
    assert report["inputs"][0]["format"] == file.format.name
    assert report["inputs"][0]["truncated_tail"] == 0


def test_few_atoms_of_large_frames_read_few_bytes(large: Golden, tmp_path: Path) -> None:
    """If frames are longer than a request, only the bytes with the selected atoms are read."""
    truth = large.truth
    frames, atoms = all_of(truth)
    path = large.copy(tmp_path)
    assert_same(tj.open(None, path).read(**held(truth, frames)), truth, frames, atoms)
    size = path.stat().st_size
    for begin in (0, 30_000, 59_990):
        some = np.arange(begin, begin + 10)
        for field in ("positions", *(name for name, there in held(truth, frames).items() if there)):
            out = np.empty((5, 10, 3), np.float32)
            reader = tj.open(None, path).source.reader
            counts = reader.read((0, 1, 5), some, out, field)["counts"]
            assert same_bits(out, getattr(truth, field)[:, some])
            assert counts["frames"] == 5
            assert counts["bytes_used"] <= counts["bytes_read"]
            if large.format.name == "XTC":
                # Its coordinates form a chain, so that only a prefix can be decoded.
                part = {0: 0.01, 30_000: 0.8, 59_990: 1.01}[begin]
                assert counts["bytes_read"] < part * size
            else:
                assert counts["bytes_read"] < size / 100
                assert counts["requests"] <= 4 * 5


# Features of single formats


def test_trr_frame_without_a_box_has_no_cell(tmp_path: Path) -> None:
    """MDAnalysis repeats the box of the frame before."""
    path = write_trr(tmp_path / "boxes.trr", ["x", "bx", "x", "bu", "u"], 5, "f4")
    cells = tj.open(None, path).read().cells
    assert np.isnan(cells).all(axis=1).tolist() == [True, False, True, False, True]


def test_dcd_is_read_in_both_byte_orders(tmp_path: Path) -> None:
    """Big endian and little endian are the same trajectory."""
    cells = np.array([[31, -0.2, 32, 0.1, 0.05 * k, 33.3] for k in range(4)])
    some = {"cells": cells, "fixed": np.array([0, 4])}
    both = [
        tj.open(None, write_dcd(tmp_path / name, random_vectors(4, 9), order=order, **some)).read()
        for name, order in (("little.dcd", "<"), ("big.dcd", ">"))
    ]
    for name in ("positions", "times", "steps", "cells"):
        assert np.array_equal(getattr(both[0], name), getattr(both[1], name))
    assert same_bits(both[0].positions[:, [0, 4]], random_vectors(4, 9)[[0] * 4][:, [0, 4]])
