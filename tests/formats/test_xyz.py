"""XYZ files, plain and extended: what their comments mean, and input that is malformed."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xyz_files
from helpers.commands import succeed
from helpers.golden_files import same_bits
from helpers.messages import names, raises
from helpers.named_atoms import chain_of, write_pdb
from helpers.xyz_files import frame, lattice_text
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.box import Box
from trajet.formats import FormatOptions

POSITIONS = np.array([[1.5, 2.5, -3.5], [0.25, 0.5, 0.125]])
VECTORS = np.array([[10.0, 0, 0], [1, 11, 0], [2, 3, 12]])
CUBE = 'Lattice="9 0 0 0 9 0 0 0 9"'
USUAL = "Properties=species:S:1:pos:R:3"


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Ignore warnings on units, which these files do not name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TrajetWarning)
        yield


def opened(path: Path, text: str, options: FormatOptions | None = None) -> tj.Trajectory:
    """Write and open a file."""
    path.write_text(text)
    return tj.open(path, sidecar=False, format_options=options)


def codes(traj: tj.Trajectory) -> list[str]:
    """Return the codes of the warnings of a trajectory."""
    return [message.code.text for message in traj.warnings]


# Cells


@pytest.mark.parametrize(
    ("value", "comment"),
    [
        ("quoted", '"{}"'),
        ("braces", "{{{}}}"),
        ("brackets", "[{}]"),
        ("rows", "[[{}], [{}], [{}]]"),
    ],
)
def test_vectors_of_the_lattice_are_rows(value: str, comment: str, tmp_path: Path) -> None:
    """In any notation, a, b and c are given one after the other."""
    text = lattice_text(VECTORS)
    if value == "rows":
        comment = comment.format(*(", ".join(text.split()[k : k + 3]) for k in (0, 3, 6)))
    else:
        comment = comment.format(text)
    traj = opened(tmp_path / "a.xyz", frame(f"Lattice={comment}", ["O", "H"], POSITIONS))
    block = traj.read()
    a, b, c = VECTORS
    lengths = [np.linalg.norm(v) for v in VECTORS]
    angles = [
        np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v)))
        for u, v in ((b, c), (a, c), (a, b))
    ]
    assert np.allclose(block.cells[0], [*lengths, *angles], rtol=1e-14)
    assert same_bits(block.positions[0], POSITIONS.astype(np.float32))


@st.composite
def extended(draw: st.DrawFn) -> tuple[str, np.ndarray, np.ndarray, list[str]]:
    """Draw a frame of extended XYZ with properties in any order, its vectors and positions."""
    numbers = st.floats(-1e3, 1e3)
    n = draw(st.integers(1, 5))
    rows = st.lists(numbers, min_size=3 * n, max_size=3 * n)
    positions, others = np.reshape(draw(rows), (n, 3)), np.reshape(draw(rows), (n, 3))
    vectors = np.reshape(draw(st.lists(numbers, min_size=9, max_size=9)), (3, 3))
    vectors += np.diag(np.sign(np.diag(vectors)) * 2e3 + 1e4)
    names_of_atoms = draw(st.lists(st.sampled_from(["O", "H", "Cl", "X1"]), min_size=n, max_size=n))
    columns: list[tuple[str, np.ndarray | list[str]]] = [
        ("species:S:1", names_of_atoms),
        ("pos:R:3", positions),
        ("momenta:R:3", others),
        ("id:I:1", [str(k) for k in range(n)]),
        ("fixed:L:1", ["T"] * n),
    ]
    columns = draw(st.permutations(columns))
    lattice = lattice_text(vectors)
    pairs = [
        draw(
            st.sampled_from(
                [f'Lattice="{lattice}"', f"Lattice = {{{lattice}}}", f"lattice=[{lattice}]"]
            )
        ),
        "Properties=" + ":".join(name for name, _ in columns),
        draw(st.sampled_from(['pbc="T T T"', "pbc=[T, T, T]", "", "pbc = {1 1 1}"])),
        draw(
            st.sampled_from(
                [
                    'note="a = \'b\' Lattice=\\"1\\""',
                    "energy=-1.5e3",
                    "virial=[[1, 2], [3, 4]]",
                    "flag",
                ]
            )
        ),
    ]
    text = frame(" ".join(draw(st.permutations(pairs))), *(values for _, values in columns))
    return text, vectors, positions, names_of_atoms


@given(made=extended())
@settings(max_examples=60)
def test_properties_may_have_any_order(
    made: tuple[str, np.ndarray, np.ndarray, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Positions, species and vectors are found, whatever stands beside them."""
    text, vectors, positions, expected = made
    traj = opened(tmp_path_factory.mktemp("xyz") / "a.xyz", text)
    block = traj.read()
    assert same_bits(block.positions[0], positions.astype(np.float32))
    assert traj.topology.names.tolist() == expected
    assert np.allclose(block.cells[0, :3], np.linalg.norm(vectors, axis=1), rtol=1e-12)
    assert np.allclose(Box.of(block).vectors, vectors, rtol=1e-9, atol=1e-9)


def test_directions_that_are_not_periodic(tmp_path: Path) -> None:
    """Each frame has its own; plain XYZ has no cell, and all are periodic without pbc."""
    slab = 'Lattice="9 0 0 0 9 0 0 0 0" pbc="T T F"'
    for comment, periodic in (
        (CUBE, [True] * 3),
        (f'{CUBE} pbc="T T T"', [True] * 3),
        (f'{CUBE} pbc="T T F"', [True, True, False]),
        (f'{CUBE} pbc="F F F"', None),
        (USUAL, None),
        ("anything at all", None),
        (slab, [True, True, False]),
    ):
        traj = opened(tmp_path / "a.xyz", frame(comment, ["O", "H"], POSITIONS))
        block = traj.read()
        assert np.isnan(block.cells).all() == (periodic is None)
        assert periodic is None or block.periodic.tolist() == [periodic]
        assert codes(traj) == []
    # Nothing is an image of anything along z.
    far = frame(slab, ["O", "H"], np.array([[0.5, 0, 0], [8.5, 0, 20]]))
    pair = opened(tmp_path / "c.xyz", far)
    distances = tj.distances(pair.select([0]), pair.select([1]))
    assert np.allclose(distances.values, np.hypot(1, 20))
    changed = frame(CUBE, ["O"], POSITIONS[:1]) + frame(f'{CUBE} pbc="T F T"', ["O"], POSITIONS[:1])
    block = opened(tmp_path / "b.xyz", changed).read()
    assert block.periodic.tolist() == [[True] * 3, [True, False, True]]


@given(st.permutations(range(1, 5)), st.permutations(range(1, 5)))
def test_ids_in_another_order_are_an_error(
    tmp_path_factory: pytest.TempPathFactory, first: list[int], second: list[int]
) -> None:
    """As in files whose program wrote atoms in the order of its memory."""
    lines = []
    for ids in (first, second):
        lines += ["4", "Properties=id:I:1:species:S:1:pos:R:3"]
        lines += [f"{number} Ar {number}.5 0.0 0.0" for number in ids]
    traj = opened(tmp_path_factory.mktemp("ids") / "a.xyz", "\n".join([*lines, ""]))
    if first == second:
        assert traj.read().positions[1, :, 0].tolist() == [number + 0.5 for number in first]
        return
    with raises(tj.FormatError, "frame 1"):
        traj.read()


# Times, velocities and forces


def test_times_and_velocities_are_read_if_their_unit_is_named(tmp_path: Path) -> None:
    """By convention they have none; forces are in eV/Å, with a warning."""
    vectors = POSITIONS[::-1] / 7
    text = "".join(
        frame(
            f"{CUBE} Time={k / 2} step={10 * k} Properties=species:S:1:vel:R:3:forces:R:3:pos:R:3",
            ["O", "H"],
            vectors,
            vectors,
            POSITIONS,
        )
        for k in range(3)
    )
    traj = opened(tmp_path / "a.xyz", text)
    assert codes(traj) == ["unknown-units", "unknown-units", "assumed-units"]
    assert traj.times.tolist() == [0, 1, 2]
    assert traj.read().steps.tolist() == [0, 10, 20]
    with raises(tj.FormatError, "velocity"):
        traj.read(velocities=True)
    forces = traj.read(forces=True).forces
    assert forces is not None
    assert np.allclose(forces[0], vectors * xyz_files.KJ_PER_EV, rtol=1e-6)
    units = {"time": "fs", "velocity": "Angstrom/fs", "force": "kcal/mol/Angstrom"}
    traj = opened(tmp_path / "a.xyz", text, {"xyz": {"units": units}})  # type: ignore[typeddict-item]
    assert codes(traj) == []
    assert traj.times.tolist() == [0, 0.0005, 0.001]
    block = traj.read(velocities=True, forces=True)
    assert block.velocities is not None
    assert block.forces is not None
    assert np.allclose(block.velocities[0], vectors * 1000, rtol=1e-6)
    assert np.allclose(block.forces[0], vectors * 4.184, rtol=1e-6)
    copy = tj.open(None, tj.convert(traj, tmp_path / "copy.h5md").path).read(velocities=True)
    assert same_bits(copy.positions, block.positions)
    assert same_bits(copy.velocities, block.velocities)
    assert copy.times.tolist() == block.times.tolist()


def test_lammps_names_no_unit_of_forces(tmp_path: Path) -> None:
    """Its `dump extxyz` has the units of the run."""
    comment = f"Timestep=5 {CUBE} Properties=species:S:1:pos:R:3:forces:R:3"
    traj = opened(tmp_path / "a.xyz", frame(comment, ["O", "H"], POSITIONS, POSITIONS))
    assert codes(traj) == ["unknown-units"]
    assert traj.read().steps.tolist() == [5]
    with raises(tj.FormatError, "force"):
        traj.read(forces=True)


def test_times_of_cp2k_are_in_fs(tmp_path: Path) -> None:
    """And its files of velocities and forces are no positions."""
    traj = tj.open(xyz_files.write_cp2k(tmp_path / "WATER-pos-1.xyz", 3, 4))
    assert traj.times.tolist() == [0, 0.0025, 0.005, 0.0075]
    assert traj.read().steps.tolist() == [0, 5, 10, 15]
    for kind in ("vel", "frc"):
        path = xyz_files.write_cp2k(tmp_path / f"WATER-{kind}-1.xyz", 3, 4)
        with raises(tj.FormatError):
            tj.open(path)


# Species


def test_numbers_are_types(tmp_path: Path) -> None:
    """LAMMPS writes types, so that 1 is no hydrogen, and an option names elements."""
    text = frame("Atoms. Timestep: 100", ["1", "8"], POSITIONS)
    traj = opened(tmp_path / "a.xyz", text)
    assert traj.topology.names.tolist() == ["1", "8"]
    assert traj.topology.native.column("elements") is None
    assert traj.read().steps.tolist() == [100]
    traj = opened(tmp_path / "a.xyz", text, {"xyz": {"types": {1: "Li", 8: "Cl"}}})
    assert traj.topology.elements.tolist() == ["Li", "Cl"]
    assert traj.topology.masses.tolist() == [6.941, 35.45]
    succeed("info", "--format-option", "xyz.types.1=K", tmp_path / "a.xyz")


def test_other_species_or_atoms_in_a_later_frame_are_an_error(tmp_path: Path) -> None:
    """The error names the frame, so that frames are never shifted."""
    first = frame("", ["O", "H"], POSITIONS)
    for other in (frame("", ["H", "O"], POSITIONS), frame("", ["O", "D"], POSITIONS)):
        with raises(tj.FormatError, "frame 1"):
            opened(tmp_path / "a.xyz", first + other).read()
    with raises(tj.FormatError, "frame 1"):
        opened(tmp_path / "a.xyz", first + frame("", ["O"], POSITIONS[:1]))


def test_topology_beside_it_is_compared_by_masses(tmp_path: Path) -> None:
    """Names of atoms in a topology are no species; masses in another order are an error."""
    pdb = write_pdb(tmp_path / "water.pdb", [chain_of(3)])
    positions = np.arange(9.0).reshape(3, 3)
    path = tmp_path / "run.xyz"
    path.write_text(frame("", ["O", "H", "H"], positions))
    traj = tj.open(pdb, path)
    assert not traj.warnings
    assert traj.select("name HW1").read().positions.tolist() == [[[3, 4, 5]]]
    path.write_text(frame("", ["H", "O", "H"], positions))
    with raises(tj.SelectionError, path):
        tj.open(pdb, path)


# Malformed input


@pytest.mark.parametrize(
    "text",
    [
        "",
        "two\n\nO 0 0 0\n",
        "0\n\n",
        "-1\n\n",
        "1\n",
        "2\n\nO 0 0 0\n",
        "1\n\nO 0 0\n",
        "1\n\nO 0 0 nan\n",
        "1\n\nO 0 0 1e99\n",
        "1\n\nO 0 1.0-2.0 0\n",
        "2\n\nO 0 0 0\nO 0 0 0 0\n",
        "2\n\nO 0 0 0\nO 0 0 0\nO 0 0 0\n",
        "1\n\nO 0 0 0\n1 2\n\nO 0 0 0\n",
        "9999999999\n\nO 0 0 0\n",
        f"1\n{CUBE} Properties=species:S:1:pos:R:2\nO 0 0\n",
        f"1\n{CUBE} Properties=species:S:1\nO\n",
        f"1\n{CUBE} Properties=pos:R:3\n0 0 0\n",
        f"1\n{CUBE} {CUBE}\nO 0 0 0\n",
        '1\nLattice="9 0 0 0 9 0 0 0"\nO 0 0 0\n',
        '1\nLattice="0 0 0 0 0 0 0 0 0"\nO 0 0 0\n',
        '1\nLattice="9 0 0 0 9 0 0 0 9\nO 0 0 0\n',
        f'1\n{CUBE} pbc="T T"\nO 0 0 0\n',
        f'1\npbc="T T T" {USUAL}\nO 0 0 0\n',
    ],
)
def test_malformed_files_are_refused(text: str, tmp_path: Path) -> None:
    """One line names the frame, whatever is read first."""
    path = tmp_path / "a.xyz"
    path.write_text(text)
    for topology in (None, path):
        with pytest.raises(tj.TrajetError) as caught:
            tj.open(topology, path, sidecar=False).read()
        assert names(caught.value, path)


def test_blanks_and_ends_of_lines_change_nothing(tmp_path: Path) -> None:
    """Tabs, carriage returns and blank lines before a count and behind the last frame."""
    text = frame("", ["O", "H"], POSITIONS) + frame("", ["O", "H"], POSITIONS + 1)
    expected = opened(tmp_path / "a.xyz", text).read().positions
    blank = (
        frame("", ["O", "H"], POSITIONS) + "\n \n" + frame("", ["O", "H"], POSITIONS + 1) + "\n\n"
    )
    for other in (text.replace("\n", "\r\n"), text.replace(" ", "\t "), blank):
        assert same_bits(opened(tmp_path / "a.xyz", other).read().positions, expected)


@pytest.mark.parametrize("make", [xyz_files.write_cp2k, xyz_files.write_extended])
def test_file_that_is_cut_anywhere_is_an_error(
    make: Callable[[Path, int, int], Path], tmp_path: Path
) -> None:
    """Or has fewer frames, with all of their numbers."""
    path = make(tmp_path / "a.xyz", 3, 3)
    data = path.read_bytes()
    whole = tj.open(None, path, sidecar=False).read().positions
    ends = [k for k in range(len(data)) if data[k : k + 1] == b"\n"][4::5]
    for n in range(1, len(data)):
        path.write_bytes(data[:n])
        try:
            positions = tj.open(None, path, sidecar=False).read().positions
        except tj.TrajetError:
            continue
        # The end of its last line may be missing, and blanks follow.
        assert len(data[:n].rstrip()) in ends, data[:n][-40:]
        assert same_bits(positions, whole[: len(positions)])
    path.write_bytes(data[:-5])
    cut = tj.open(None, path, sidecar=False, allow_truncated_tail=True)
    assert same_bits(cut.read().positions, whole[:2])


def test_comment_may_be_long(tmp_path: Path) -> None:
    """But not without a limit."""
    text = frame(f'note="{"x" * 50_000}" {CUBE}', ["O", "H"], POSITIONS)
    assert np.isfinite(opened(tmp_path / "a.xyz", text).read().cells).all()
    text = frame(f'note="{"x" * 70_000}" {CUBE}', ["O", "H"], POSITIONS)
    with raises(tj.FormatError):
        opened(tmp_path / "a.xyz", text)
