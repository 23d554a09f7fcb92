"""LAMMPS dumps: golden values by arithmetic, as other readers are wrong in ordinary cases."""

import bz2
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, misuse, succeed
from helpers.golden_files import DATA, same_bits
from helpers.lammps_dumps import BOXES, KINDS, Box, Frame, snapshot, write, write_lammps
from helpers.messages import names, raises, warns
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.messages import Code

FRACTIONS = np.array([[0.1, 0.2, 0.3], [0.9, 0.5, 0.25]])
IMAGES = np.array([[1, -2, 3], [0, 0, -1]])
# Fractions .1, .2, .3 of the cells of the examples, and the image 1, -2, 3 of that position.
GOLDEN = {
    "orthogonal": ([14.0, 30.0, 48.0], [54.0, -70.0, 228.0]),
    "tilted": ([12.9, 28.8, 48.0], [21.9, -83.2, 228.0]),
    "general": ([20.6, 38.0, 34.6], [-73.4, 218.0, 68.6]),
}
# Å, ps, Å/ps and kJ/(mol Å) in a unit of each kind, of CODATA 2018 and LAMMPS' manual.
BOHR, HARTREE, NEWTON = 0.529177210903, 2625.49963948, 6.02214076e10
UNITS = {
    "lj": (1, 1, 1, 1),
    "real": (1, 1e-3, 1e3, 4.184),
    "metal": (1, 1, 1, 96.4853321233),
    "si": (1e10, 1e12, 1e-2, NEWTON),
    "cgs": (1e8, 1e12, 1e-4, NEWTON / 1e5),
    "electron": (BOHR, 1e-3, BOHR / 1.03275e-3, HARTREE / BOHR),
    "micro": (1e4, 1e6, 1e-2, NEWTON / 1e9),
    "nano": (10, 1e3, 1e-2, NEWTON / 1e12),
}


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Ignore warnings on units, which most of these files do not name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TrajetWarning)
        yield


def opened(path: Path, *, positions: str = "auto", units: str | None = None) -> tj.Trajectory:
    """Open a dump without a sidecar."""
    options = {"positions": positions} | ({"units": units} if units else {})
    return tj.open(None, path, sidecar=False, format_options={"lammps": options})  # type: ignore[typeddict-item]


def frame_of(box: Box) -> Frame:
    """Return two atoms in a box."""
    return Frame(box, FRACTIONS, IMAGES, np.array([3, 7]))


# Positions


@pytest.mark.parametrize("form", BOXES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("wanted", ["auto", "wrapped", "unwrapped"])
def test_positions_by_arithmetic(
    form: str, kind: str, images: bool, wanted: str, tmp_path: Path
) -> None:
    """Positions are those of LAMMPS, from its origin; image flags count vectors of the cell."""
    frame = frame_of(BOXES[form])
    assert np.allclose([frame.wrapped[0], frame.unwrapped[0]], GOLDEN[form], rtol=1e-15)
    path = write(tmp_path / "a.lammpstrj", [snapshot(frame, kind, images=images)])
    is_unwrapped = kind in ("xu", "xsu")
    if (wanted == "wrapped" and is_unwrapped) or (
        wanted == "unwrapped" and not (is_unwrapped or images)
    ):
        with raises(tj.FormatError, path, "ITEM: ATOMS"):
            opened(path, positions=wanted)
        return
    is_unwrapped |= wanted == "unwrapped"
    block = opened(path, positions=wanted).read()
    expected = np.array(GOLDEN[form][is_unwrapped], np.float32)
    assert np.array_equal(block.positions[0, 0], expected)
    expected = (frame.unwrapped if is_unwrapped else frame.wrapped).astype(np.float32)
    assert np.allclose(block.positions[0], expected, rtol=2**-23, atol=0)
    lengths = np.linalg.norm(frame.box.vectors, axis=1)
    assert np.allclose(block.cells[0, :3], lengths, rtol=1e-15)


def test_kinds_have_an_order(tmp_path: Path) -> None:
    """Of several kinds, x is read, else xs, else xu, else xsu."""
    frame = frame_of(BOXES["tilted"])
    for k in range(4):
        kinds = list(KINDS)[k:]
        further = {
            name: numbers
            for kind in kinds[1:]
            for name, numbers in zip(KINDS[kind].split(), frame.columns(kind).T, strict=True)
        }
        path = write(tmp_path / f"{k}.dump", [snapshot(frame, kinds[0], further=further)])
        alone = write(tmp_path / f"only{k}.dump", [snapshot(frame, kinds[0])])
        assert same_bits(opened(path).read().positions, opened(alone).read().positions)


def test_published_dump_has_the_same_positions_of_all_kinds(tmp_path: Path) -> None:
    """Of a run of LAMMPS, with its six digits."""
    data = bz2.decompress((DATA / "lammps/spce_all_coords.lammpstrj.bz2").read_bytes())
    path = tmp_path / "all.lammpstrj"
    found = {}
    for kind in KINDS:
        # Other columns of positions get other names.
        text = data.decode()
        for other in set(KINDS) - {kind}:
            text = text.replace(
                f" {KINDS[other]}", "".join(f" no_{n}" for n in KINDS[other].split())
            )
        path.write_text(text)
        found[kind] = opened(path).read()
    length = found["x"].cells[:, :3].max()
    assert np.allclose(found["x"].positions, found["xs"].positions, atol=2e-6 * length)
    assert np.allclose(found["xu"].positions, found["xsu"].positions, atol=2e-5 * length)


@st.composite
def runs(draw: st.DrawFn) -> list[Frame]:
    """Draw frames of the same atoms: triclinic cells, whose origins move."""
    n_atoms = draw(st.integers(1, 6))
    number = st.floats(-1, 1)
    is_general = draw(st.booleans())
    ids = np.array(sorted(draw(st.sets(st.integers(0, 30), min_size=n_atoms, max_size=n_atoms))))
    frames = []
    for _ in range(draw(st.integers(1, 3))):
        edges = np.array(draw(st.lists(st.floats(5, 50), min_size=3, max_size=3)))
        xy, xz, yz = draw(st.lists(number, min_size=3, max_size=3))
        vectors = np.diag(edges)
        vectors[1, 0], vectors[2, 0], vectors[2, 1] = xy * edges[0] / 2, xz * edges[0] / 2, yz * 2.5
        if is_general:
            turn = np.array(draw(st.lists(number, min_size=9, max_size=9))).reshape(3, 3)
            vectors = vectors @ np.linalg.qr(turn + 3 * np.eye(3)).Q
        origin = np.array(draw(st.lists(st.floats(-100, 100), min_size=3, max_size=3)))
        box = Box("abc origin" if is_general else "xy xz yz", vectors, origin)
        fractions = draw(st.lists(st.floats(0, 1), min_size=3 * n_atoms, max_size=3 * n_atoms))
        images = draw(st.lists(st.integers(-9, 9), min_size=3 * n_atoms, max_size=3 * n_atoms))
        frames.append(Frame(box, np.reshape(fractions, (-1, 3)), np.reshape(images, (-1, 3)), ids))
    return frames


@given(frames=runs(), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_all_kinds_are_the_same_positions(
    frames: list[Frame], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the kind and the order of atoms, to 1e-12 of the longest vector and in H5MD."""
    folder, rng = tmp_path_factory.mktemp("kinds"), np.random.default_rng(seed)
    for kind in KINDS:
        taken = [frame.taken(rng.permutation(len(frame.ids))) for frame in frames]
        texts = [snapshot(frame, kind, step=k, images=True) for k, frame in enumerate(taken)]
        path = write(folder / f"{kind}.dump", texts)
        for wanted in ["wrapped"] * (kind in ("x", "xs")) + ["unwrapped"]:
            traj = opened(path, positions=wanted)
            block = traj.read()
            for found, frame in zip(block.positions, frames, strict=True):
                expected = frame.unwrapped if wanted == "unwrapped" else frame.wrapped
                longest = np.linalg.norm(frame.box.vectors, axis=1).max()
                rounding = np.spacing(np.abs(found)).astype(float) / 2
                assert (np.abs(found - expected) <= rounding + 1e-12 * longest).all()
            if kind != "xs":
                continue
            copy = tj.convert(traj, folder / f"{wanted}.h5md", force=True).path
            of_copy = tj.open(None, copy, sidecar=False).read()
            assert same_bits(of_copy.positions, block.positions)
            assert np.allclose(of_copy.cells, block.cells, rtol=1e-14)


def test_atom_at_rest_in_a_box_whose_origin_moves_has_no_displacement(tmp_path: Path) -> None:
    """Positions are not those from the origin."""
    at_rest = np.array([[14.0, 30.0, 48.0], [20.0, 40.0, 60.0]])
    for kind in KINDS:
        texts = []
        for k in range(6):
            box = replace(BOXES["tilted"], origin=np.array([10.0 - k, 20 + k / 2, 30 + k / 4]))
            fractions = (at_rest - box.origin) @ np.linalg.inv(box.vectors)
            frame = Frame(box, fractions, np.zeros((2, 3), int), np.array([1, 2]))
            texts.append(snapshot(frame, kind, step=k))
        traj = opened(write(tmp_path / f"{kind}.dump", texts))
        assert np.abs(traj.read().positions - at_rest.astype(np.float32)).max() <= 4e-6
        assert np.abs(tj.msd(traj.select([0, 1])).values).max() <= 1e-10


# Atoms


def test_atoms_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Whatever their order is in a frame, and for any selection."""
    rng = np.random.default_rng(5)
    ids = np.sort(rng.choice(500, 90, replace=False))
    fractions = rng.random((90, 3))
    frames = [
        Frame(BOXES["tilted"], fractions + k, 0 * IMAGES[:1].repeat(90, 0), ids) for k in range(4)
    ]
    shuffled = [frame.taken(rng.permutation(90)) for frame in frames]
    for k, taken in enumerate((frames, shuffled)):
        path = tmp_path / f"{k}.lammpstrj"
        traj = opened(write(path, [snapshot(frame, "x") for frame in taken]))
        whole = np.array([frame.wrapped for frame in frames]).astype(np.float32)
        assert same_bits(traj.read().positions, whole)
        for atoms in ([0], [89], [3, 4, 50], list(range(0, 90, 2)), [60, 2, 2]):
            assert same_bits(traj.read(atoms=atoms).positions, whole[:, atoms])


def test_later_frames_must_have_the_atoms_of_the_first(tmp_path: Path) -> None:
    """Other numbers, and numbers that occur twice, are errors that name frame and line."""
    frame = frame_of(BOXES["orthogonal"])
    for ids in ([3, 8], [3, 3], [7, 7], [1, 3]):
        other = replace(frame, ids=np.array(ids))
        path = write(tmp_path / "a.dump", [snapshot(frame, "x"), snapshot(other, "x")])
        traj = opened(path)
        assert traj.read(frames=[0]).positions.shape == (1, 2, 3)
        for atoms in (None, [0]):
            with raises(tj.FormatError, path, "frame 1"):
                traj.read(atoms=atoms)
    fewer = frame.taken(np.array([1]))
    write(path, [snapshot(frame, "x"), snapshot(fewer, "x")])
    with raises(tj.FormatError, path, "frame 1"):
        opened(path)


# Units


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("named", ["file", "option"])
def test_units(units: str, named: str, tmp_path: Path) -> None:
    """Numbers are converted to Å, ps, Å/ps and kJ/(mol Å), by the file's units or the option's."""
    length, time, velocity, force = UNITS[units]
    frame = frame_of(BOXES["tilted"])
    rng = np.random.default_rng(3)
    further = {name: rng.normal(size=2) for name in ("vx", "vy", "vz", "fx", "fy", "fz")}
    texts = [
        snapshot(
            frame,
            "xs",
            step=10 * k,
            before={**({"UNITS": units} if named == "file" and k == 0 else {}), "TIME": 2.5 * k},
            further=further,
        )
        for k in range(3)
    ]
    path = write(tmp_path / "a.lammpstrj", texts)
    traj = opened(path, units=units if named == "option" else None)
    block = traj.read(velocities=True, forces=True)
    assert np.allclose(block.positions[0], length * frame.wrapped, rtol=1e-6)
    assert np.allclose(traj.times, time * np.array([0, 2.5, 5]), rtol=1e-15)
    vectors = np.array(list(further.values())).T
    assert np.allclose(block.velocities, velocity * vectors[:, :3], rtol=1e-6)
    assert np.allclose(block.forces, force * vectors[:, 3:], rtol=1e-6)
    assert np.allclose(block.cells[0, 0], 40 * length, rtol=1e-14)


def test_other_processes_read_by_the_same_options(tmp_path: Path) -> None:
    """They get the units, the positions to read, and the numbers of the atoms."""
    path = write_lammps(tmp_path / "a.lammpstrj", 9, 5)
    traj = tj.open(None, path, format_options={"lammps": {"units": "metal"}})
    atoms = traj.select([0, 3, 8])
    found = tj.rmsd(atoms, pool=tj.ProcessPool(workers=1))
    assert same_bits(found.values, tj.rmsd(atoms).values)
    assert found.times.tolist() == [0, 0.5, 1, 1.5, 2]


def test_times_are_those_of_the_options_whatever_a_sidecar_was_made_with(tmp_path: Path) -> None:
    """The index of a file serves all options."""
    frame = frame_of(BOXES["orthogonal"])
    path = write(tmp_path / "a.dump", [snapshot(frame, "x", step=step) for step in (0, 500, 1000)])
    for options, times, state in (
        (None, [0.0, 1, 2], "built"),
        ({"units": "real", "md_step": 2}, [0.0, 1, 2], "loaded"),
        ({"units": "metal", "md_step": 0.001}, [0, 0.5, 1], "loaded"),
        ({"units": "metal"}, [0.0, 1, 2], "loaded"),
    ):
        given = {"lammps": options} if options else None
        traj = tj.open(None, path, format_options=given)  # type: ignore[arg-type]
        assert (traj.times.tolist(), traj.index_state) == (times, state)
        assert traj.steps.tolist() == [0, 500, 1000]
        assert traj.read().times.tolist() == times
    options = ("--format-option", "lammps.units=metal", "--format-option", "lammps.md_step=0.001")
    assert "0.5 ps" in "".join(succeed("info", *options, str(path)))


def test_units_that_are_unknown_or_contradict_each_other(tmp_path: Path) -> None:
    """Lengths are taken as Å with a warning; velocities, forces and times are not read."""
    frame = frame_of(BOXES["orthogonal"])
    further = {name: np.ones(2) for name in ("vx", "vy", "vz")}
    path = tmp_path / "run.lammpstrj"
    write(path, [snapshot(frame, "x", step=5, further=further)])
    with warns(tj.TrajetWarning):
        traj = tj.open(None, path)
    assert traj.times.tolist() == [0.0]
    with raises(tj.FormatError):
        traj.read(velocities=True)
    with raises(tj.FormatError):
        traj.read(forces=True)
    with raises(tj.FormatError):
        tj.open(None, path, format_options={"lammps": {"md_step": 0.5}})
    with warns(tj.TrajetWarning):
        tj.open(None, path, format_options={"lammps": {"units": "lj"}})
    write(path, [snapshot(frame, "x", before={"UNITS": "real"})])
    with raises(tj.FormatError):
        tj.open(None, path, format_options={"lammps": {"units": "metal"}})
    named = [snapshot(frame, "x", before={"UNITS": units}) for units in ("real", "metal")]
    with raises(tj.FormatError):
        tj.open(None, write(path, named))
    # Where a run was continued, they are named again.
    assert tj.open(None, write(path, [named[0]] * 2)).n_frames == 2
    unnamed = snapshot(frame, "x")
    with raises(tj.FormatError):
        tj.open(None, write(path, [unnamed, named[0]])).read()


@pytest.mark.parametrize(
    "options",
    [{"units": "metric"}, {"md_step": 0}, {"md_step": "fast"}, {"positions": "xs"}, {"unit": "si"}],
)
def test_options_that_do_not_exist(options: dict[str, object], tmp_path: Path) -> None:
    """The error names the values that there are."""
    path = write_lammps(tmp_path / "a.lammpstrj", 2, 2)
    with raises(ValueError):
        tj.open(None, path, format_options={"lammps": options})  # type: ignore[typeddict-item]


def test_options_of_commands(tmp_path: Path) -> None:
    """They have the names of those in Python."""
    path = write_lammps(tmp_path / "a.lammpstrj", 2, 2)
    fail("info", "--format-option", "lammps.units=real", str(path))
    misuse("info", "--format-option", "lammps.units=metric", str(path))


# Boxes


def test_boundaries_that_are_not_periodic(tmp_path: Path) -> None:
    """Each frame has its own; a frame in which no direction is periodic has no cell."""
    path = tmp_path / "a.dump"
    for boundaries, periodic in (("pp pp fs", [True, True, False]), ("ff mm ss", None)):
        frame = frame_of(replace(BOXES["orthogonal"], boundaries=boundaries))
        traj = opened(write(path, [snapshot(frame, "xs")]), units="metal")
        assert traj.messages == ()
        block = traj.read()
        assert np.isnan(block.cells).all() == (periodic is None)
        assert periodic is None or block.periodic.tolist() == [periodic]
        assert block.positions[0, 0].tolist() == [14, 30, 48]
    unnamed = frame_of(replace(BOXES["orthogonal"], boundaries=""))
    traj = opened(write(path, [snapshot(unnamed, "xs")]), units="metal")
    assert [message.code.value[0] for message in traj.messages] == ["assumed-cell"]
    assert traj.read().cells[0].tolist() == [40, 50, 60, 90, 90, 90]
    frames = [
        frame_of(BOXES["orthogonal"]),
        frame_of(replace(BOXES["orthogonal"], boundaries="ff pp pp")),
    ]
    block = opened(write(path, [snapshot(frame, "x") for frame in frames])).read()
    assert block.periodic.tolist() == [[True] * 3, [False, True, True]]


# Files that are damaged, or of another kind

GOOD = """ITEM: TIMESTEP
100
ITEM: NUMBER OF ATOMS
2
ITEM: BOX BOUNDS pp pp pp
0 10
0 10
0 10
ITEM: ATOMS id type x y z
1 1 1.5 2.5 3.5
2 1 4.5 5.5 6.5
"""
# What stands in place of a part of the second frame, and the line that the error names.
BAD = {
    "no step": ("ITEM: TIMESTEP\n100\n", "", 7),
    "a step that is no number": ("\n100\n", "\n1e2\n", 2),
    "two steps": ("ITEM: NUM", "ITEM: TIMESTEP\n101\nITEM: NUM", 3),
    "no number of atoms": ("ITEM: NUMBER OF ATOMS\n2\n", "", 7),
    "a number of atoms below zero": ("ATOMS\n2\n", "ATOMS\n-2\n", 4),
    "more atoms than lines": ("ATOMS\n2\n", "ATOMS\n3\n", 12),
    "fewer atoms than lines": ("ATOMS\n2\n", "ATOMS\n1\n", 1),
    "no box": ("ITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\n", "", 5),
    "a box of zeros": ("0 10\nITEM", "0 0\nITEM", 8),
    "a box that extends backwards": ("0 10\nITEM", "10 0\nITEM", 8),
    "a box that is no number": ("0 10\nITEM", "0 inf\nITEM", 8),
    "a box of two directions": ("0 10\nITEM", "ITEM", 8),
    "an unknown boundary": ("pp pp pp", "pp pp pq", 5),
    "an unknown record": ("ITEM: BOX", "ITEM: COLOURS\nITEM: BOX", 5),
    "units that do not exist": ("ITEM: TIMESTEP", "ITEM: UNITS\nmetric\nITEM: TIMESTEP", 2),
    "a time that is no number": ("ITEM: TIMESTEP", "ITEM: TIME\nnan\nITEM: TIMESTEP", 2),
    "no names of columns": ("ATOMS id type x y z", "ATOMS", 9),
    "no numbers of atoms": ("ATOMS id type", "ATOMS no type", 9),
    "no positions": ("x y z", "a b c", 9),
    "two of three positions": ("x y z", "x y c", 9),
    "a column twice": ("id type x y z", "id x x y z", 9),
    "a missing column": ("1 4.5 5.5 6.5", "1 4.5 5.5", 11),
    "a column too many": ("1 4.5 5.5 6.5", "1 4.5 5.5 6.5 7.5", 11),
    "numbers that are glued together": ("4.5 5.5", "4.5-5.5", 11),
    "a number that is none": ("5.5", "5.5.5", 11),
    "not a number": ("5.5", "nan", 11),
    "a number above the range": ("5.5", "5.5e38", 11),
    "the number of an atom that is none": ("2 1 4.5", "2.0 1 4.5", 11),
    "a number of an atom below zero": ("2 1 4.5", "-2 1 4.5", 11),
    "a number of an atom twice": ("2 1 4.5", "1 1 4.5", 11),
    "a blank line": ("2 1 4.5", "\n2 1 4.5", 11),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("number", [0, 1])
def test_malformed_frames(name: str, number: int, tmp_path: Path) -> None:
    """One line names frame, byte, and line of the frame; frames before it are never shifted."""
    old, new, line = BAD[name]
    assert GOOD.count(old) >= 1
    path = tmp_path / "a.dump"
    texts = [GOOD] * 3
    texts[number] = old.join(GOOD.split(old)[:-1]) + new + GOOD.rsplit(old, maxsplit=1)[-1]
    write(path, texts)
    try:
        traj = opened(path)
    except tj.FormatError as error:
        found = error
    else:
        with pytest.raises(tj.FormatError) as caught:
            traj.read()
        found = caught.value
        if number == 1:
            assert np.array_equal(
                traj.read(frames=[0, 2]).positions[0], traj.read(frames=[2]).positions[0]
            )
    if (name, number) == ("fewer atoms than lines", 0):
        # The line that frame 0 has too many is the first of the next.
        assert names(found, path, 1, len(GOOD) - len("2 1 4.5 5.5 6.5\n")), found
        return
    assert names(found, path, number, len(GOOD) * number), found
    if name != "fewer atoms than lines" and (name, number) != ("a number of an atom twice", 0):
        assert names(found, line), found


def test_file_that_is_cut_at_any_byte(tmp_path: Path) -> None:
    """It is an error with frame and byte, and never a shorter or another trajectory."""
    path = tmp_path / "a.lammpstrj"
    frame = frame_of(BOXES["tilted"])
    texts = [snapshot(frame, "xs", step=k, before={"TIME": k}, images=True) for k in range(3)]
    whole = "".join(texts).encode()
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    expected = opened(write(path, texts), positions="unwrapped").read()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        if cut in ends:
            assert opened(path).n_frames == ends.index(cut)
            continue
        n_frames = sum(end <= cut for end in ends[1:])
        with raises(tj.TruncatedError, path, n_frames, ends[n_frames]):
            opened(path)
        if n_frames:
            left = tj.open(
                None,
                path,
                sidecar=False,
                allow_truncated_tail=True,
                format_options={"lammps": {"positions": "unwrapped"}},
            )
            assert same_bits(left.read().positions, expected.positions[:n_frames])


@pytest.mark.parametrize(("old", "new"), [("\n", "\r\n"), (" ", "\t"), (" ", "  "), ("\n", " \n")])
def test_line_ends_and_blanks(old: str, new: str, tmp_path: Path) -> None:
    """Of Windows, tabs and several blanks mean the same."""
    frame = frame_of(BOXES["tilted"])
    text = snapshot(frame, "xs", before={"UNITS": "metal"}, images=True)
    lines = (
        line if new.startswith(("\t", "  ")) and line.startswith("ITEM") else line.replace(old, new)
        for line in text.splitlines(keepends=True)
    )
    path, other = tmp_path / "a.dump", tmp_path / "b.dump"
    write(path, [text])
    other.write_bytes("".join(lines).encode())
    one, two = (opened(name, positions="unwrapped").read() for name in (path, other))
    assert same_bits(one.positions, two.positions)
    assert same_bits(one.cells, two.cells)


@pytest.mark.parametrize(
    "first",
    [
        b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ENTRIES\n1\n",
        b"ITEM: TIMESTEP\n0\nITEM: DIMENSION\n3\n",
        b"---\ncreator: LAMMPS\ntimestep: 0\n",
        b"\xf6\xff\xff\xff\xff\xff\xff\xffDUMPCUSTOM\1\0\0\0",
        b"\x1f\x8b\x08\x00",
        b"\x28\xb5\x2f\xfd",
    ],
    ids=["local", "grid", "yaml", "binary", "gzip", "zstd"],
)
def test_other_kinds_of_dumps(first: bytes, tmp_path: Path) -> None:
    """The error says what the file is."""
    path = tmp_path / "run.dat"
    path.write_bytes(first)
    with raises(tj.FormatError):
        tj.open(None, path)


# Files


def test_blank_lines_between_and_behind_frames(tmp_path: Path) -> None:
    """They mean nothing, also where a file grows; within a frame they are an error."""
    path = tmp_path / "a.dump"
    frame = frame_of(BOXES["tilted"])
    texts = [snapshot(frame, "xs", step=k) for k in range(3)]
    expected = opened(write(path, texts)).read()
    for blank in ("\n", "  \n\n", "\n ", "\r\n\t\n"):
        write(path, [texts[0], blank.replace("\n ", "\n"), texts[1], texts[2], blank])
        for sidecar in (False, True, True):
            found = tj.open(None, path, sidecar=sidecar).read()
            assert same_bits(found.positions, expected.positions)
            assert found.steps.tolist() == [0, 1, 2]
        with path.open("a") as file:
            file.write("\n" + texts[0].replace("TIMESTEP\n0", "TIMESTEP\n3"))
        assert tj.open(None, path).steps.tolist() == [0, 1, 2, 3]
        write(path, [texts[0], blank, "ITEM: TI"])
        with raises(tj.TruncatedError, path, 1):
            opened(path)
    write(path, ["\n \n"])
    with raises(tj.FormatError):
        tj.open(None, path)


def test_copies_have_the_numbers_of_the_topology(tmp_path: Path) -> None:
    """Unless these do not rise, so that atoms would be read in another order."""
    frame = replace(frame_of(BOXES["tilted"]), ids=np.array([7, 30]))
    traj = tj.open(write(tmp_path / "a.lammpstrj", [snapshot(frame, "x")]))
    one = tj.convert(traj, tmp_path / "b.lammpstrj").path
    assert tj.open(one).topology.column("ids").tolist() == [7, 30]
    two = tj.convert(traj.select([1]), tmp_path / "c.lammpstrj").path
    assert tj.open(two).topology.column("ids").tolist() == [30]
    three = tj.convert(traj.select([1, 0]), tmp_path / "d.lammpstrj").path
    assert tj.open(three).topology.column("ids").tolist() == [1, 2]
    assert same_bits(tj.open(three).read().positions, traj.read(atoms=[1, 0]).positions)


def test_times_that_are_made_up_are_a_warning(tmp_path: Path) -> None:
    """Of steps whose length is not given, for what uses times."""
    frame = frame_of(BOXES["tilted"])
    path = write(tmp_path / "a.dump", [snapshot(frame, "x", step=500 * k) for k in range(9)])
    for options, codes in (
        ({"units": "real"}, {Code.UNKNOWN_TIMES}),
        ({"units": "real", "md_step": 2.0}, set()),
        ({}, {Code.UNKNOWN_UNITS, Code.UNKNOWN_TIMES}),
    ):
        traj = tj.open(None, path, format_options={"lammps": options})  # type: ignore[typeddict-item]
        found = {one.code for one in tj.msd(traj.select([0, 1])).report.messages}
        assert found & {Code.UNKNOWN_TIMES, Code.UNKNOWN_UNITS, Code.NO_TIMES} == codes
    given = tj.open(None, path, time_step=1.5, format_options={"lammps": {"units": "real"}})
    assert Code.UNKNOWN_TIMES not in {
        one.code for one in tj.msd(given.select([0, 1])).report.messages
    }


def test_a_file_for_each_snapshot(tmp_path: Path) -> None:
    """Files in the order of their steps are one trajectory."""
    rng = np.random.default_rng(1)
    paths, positions = [], []
    for step in (0, 50, 100, 1000):
        frame = Frame(BOXES["orthogonal"], rng.random((2, 3)), IMAGES, np.array([1, 2]))
        path = tmp_path / f"dump.{step}"
        write(path, [snapshot(frame.taken(rng.permutation(2)), "xs", step=step)])
        paths.append(path)
        positions.append(frame.wrapped)
    options: tj.FormatOptions = {"lammps": {"units": "real", "md_step": 2.0}}
    traj = tj.open(None, *paths, sidecar=False, format_options=options)
    assert traj.steps.tolist() == [0, 50, 100, 1000]
    assert traj.times.tolist() == [0, 0.1, 0.2, 2]
    assert np.allclose(traj.read().positions, positions, rtol=1e-6)
    # Of a pattern, dump.50 comes before dump.100.
    pattern = ("--format-option", "lammps.units=real", "--format-option", "lammps.md_step=2")
    assert "0 to 2 ps" in "".join(succeed("info", *pattern, f"{tmp_path}/dump.*"))
    of_pattern = tj.open(None, f"{tmp_path}/dump.*", sidecar=False, format_options=options)
    assert same_bits(of_pattern.read().positions, traj.read().positions)
    # By steps, whatever the names, and with one warning for all.
    for path, name in zip(paths, "dbca", strict=True):
        path.rename(tmp_path / f"snapshot-{name}")
    renamed = tj.open(None, f"{tmp_path}/snapshot-[a-d]", sidecar=False)
    assert same_bits(renamed.read().positions, traj.read().positions)
    codes = [one.code for one in renamed.messages]
    assert sorted(code.name for code in codes) == ["NO_TIMES", "UNKNOWN_UNITS"]
    for name, path in zip("dbca", paths, strict=True):
        (tmp_path / f"snapshot-{name}").rename(path)
    with raises(FileNotFoundError):
        tj.open(None, f"{tmp_path}/none.*")
    shuffled = [paths[k] for k in (2, 0, 3, 1)]
    again = tj.open(None, *shuffled, sidecar=False, continuous=True, format_options=options)
    assert same_bits(again.read().positions, traj.read().positions)


@pytest.mark.parametrize("suffix", ["h5md", "trr", "xtc", "dcd", "nc"])
def test_copies(suffix: str, tmp_path: Path) -> None:
    """Copies have positions, velocities, times and cells, as far as their format holds them."""
    traj = tj.open(None, write_lammps(tmp_path / "a.lammpstrj", 9, 5))
    copy = tj.convert(traj, tmp_path / f"copy.{suffix}", allow_loss=suffix in ("xtc", "dcd", "nc"))
    has_velocities = suffix in ("h5md", "trr", "nc")
    one, two = (
        opened.read(velocities=has_velocities) for opened in (traj, tj.open(None, copy.path))
    )
    assert np.allclose(one.positions, two.positions, rtol=1e-6, atol=0.0051 * (suffix == "xtc"))
    assert np.allclose(one.times, two.times, rtol=1e-6)
    assert np.allclose(one.cells, two.cells, rtol=1e-5)
    if has_velocities:
        assert np.allclose(one.velocities, two.velocities, rtol=1e-6)
    if suffix == "h5md":
        assert same_bits(one.positions, two.positions)
        assert same_bits(one.velocities, two.velocities)


def test_frames_of_any_size_and_requests_of_any_size(tmp_path: Path) -> None:
    """Snapshots differ in length, and requests end within lines."""
    path = write_lammps(tmp_path / "a.lammpstrj", 40, 11)
    whole = tj.open(None, path, sidecar=False)
    offsets = whole.source.reader.offsets().tolist()
    assert len({end - begin for begin, end in pairwise(offsets)}) > 1
    for size in (1, 100, 4097):
        traj = tj.open(None, path, sidecar=False, request_size=size)
        assert traj.source.reader.offsets().tolist() == offsets
        assert same_bits(traj.read(frames=[7, 2]).positions, whole.read(frames=[7, 2]).positions)
