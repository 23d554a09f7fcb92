"""Atoms that files name: all frames have the atoms of frame 0, in its order."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.messages import raises
from helpers.named_atoms import WRITERS, Atom, chain_of, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Each example opens files of its own in the same folder.
SETTINGS = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


SUFFIXES = pytest.mark.parametrize("suffix", WRITERS)


@SUFFIXES
@SETTINGS
@given(data=st.data())
def test_a_frame_with_atoms_in_another_order_is_an_error(
    suffix: str, tmp_path: Path, data: st.DataObject
) -> None:
    """Each way of reading refuses the frame, and reads those before it."""
    atoms = chain_of(9)
    order = data.draw(st.permutations(range(9)).filter(lambda order: order != sorted(order)))
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, atoms, [atoms[i] for i in order]])
    trajectory = opened(path)
    assert trajectory.read(slice(0, 2)).positions[1, 8, 0] == np.float32(8)
    first = next(i for i in range(9) if order[i] != i)
    for read in (
        lambda: trajectory.read([2]),
        lambda: trajectory.read([2], atoms=[4]),
        lambda: trajectory[2],
        lambda: trajectory.cursor([1]).read(2),
        lambda: tj.gyration(trajectory.select([0, 1]), weights="equal"),
        lambda: tj.convert(trajectory.all_atoms(), tmp_path / "copy.xtc", force=True),
    ):
        with raises(tj.FormatError, path, "frame 2", f"atom {first}"):
            read()


# GRO files have no chains.
NAMED = [(suffix, field) for suffix in WRITERS for field in ("name", "resname", "resid")]


@pytest.mark.parametrize(("suffix", "field"), [*NAMED, (".pdb", "chain")])
def test_a_frame_with_other_names_is_an_error(suffix: str, field: str, tmp_path: Path) -> None:
    """Each name and number of an atom and its residue is compared, of atoms not read too."""
    atoms = chain_of(6)
    other = atoms.copy()
    other[4] = other[4]._replace(**{field: 7 if field == "resid" else "X"})
    trajectory = opened(WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, other]))
    with raises(tj.FormatError):
        trajectory.read(atoms=[0])


@SUFFIXES
def test_numbers_of_atoms_may_go_on_but_not_change_places(suffix: str, tmp_path: Path) -> None:
    """Some programs count the atoms of all models; equal names leave only the numbers."""
    atoms = [Atom("C", "LIG", 1, "A", i + 1, i / 10) for i in range(5)]
    further = [atom._replace(serial=atom.serial + 5) for atom in atoms]
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, further, atoms[::-1]])
    trajectory = opened(path)
    assert len(trajectory.read([0, 1]).times) == 2
    with raises(tj.FormatError):
        trajectory.read([2])


@SUFFIXES
def test_workers_compare_atoms_with_those_of_frame_0(suffix: str, tmp_path: Path) -> None:
    """A worker that reads only later frames knows the atoms of frame 0."""
    atoms = chain_of(6)
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms] * 7 + [atoms[::-1]])
    trajectory = opened(path)
    pool = tj.ProcessPool(workers=2, task_frames=2)
    with raises(tj.FormatError):
        tj.gyration(trajectory.select([0, 1]), weights="equal", frames=slice(4, None), pool=pool)


@SUFFIXES
def test_frames_of_another_order_can_be_read_from_files_of_their_own(
    suffix: str, tmp_path: Path
) -> None:
    """The advice of the error: files that are opened together are put in order."""
    atoms = chain_of(6)
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, atoms[::-1]])
    with raises(tj.FormatError):
        opened(path).read()
    one = WRITERS[suffix](tmp_path / f"one{suffix}", [atoms])
    other = WRITERS[suffix](tmp_path / f"other{suffix}", [atoms[::-1]])
    trajectory = opened(None, one, other)
    positions = trajectory.read().positions
    assert np.array_equal(positions[0], positions[1])
    assert any("are read in its order" in message for message in trajectory.messages)
