"""Batches of frames for training: every frame once an epoch, in the same order for every reader."""

import multiprocessing
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from numpy.typing import NDArray
from trajet.trajectory import FrameBatches

SIZE = 15


@pytest.fixture
def calpha(adk: Adk) -> tj.Selection:
    """214 atoms of 98 frames of XTC."""
    return tj.open(adk.psf, adk.xtc).select("name CA")


def made(
    atoms: object, frames: object = None, size: int = SIZE, *, shuffle: bool = True, seed: int = 0
) -> FrameBatches:
    """Return batches with the defaults of these tests."""
    return FrameBatches(atoms, frames, size, shuffle=shuffle, seed=seed)  # type: ignore[arg-type]


def order(batches: FrameBatches, epoch: int) -> NDArray[np.int64]:
    """Return the frames of an epoch."""
    return np.concatenate([batches.frames_of(k, epoch) for k in range(len(batches))])


def positions(batches: FrameBatches, batch: int, epoch: int) -> NDArray[np.float32]:
    """Read a batch."""
    n = len(batches.frames_of(batch, epoch))
    out = np.full((n, batches.n_atoms, 3), np.nan, np.float32)
    batches.read(batch, epoch, out)
    return out


def test_an_epoch_has_every_frame_once(calpha: tj.Selection) -> None:
    """In an order that the seed and the epoch determine, or in that of the frames."""
    batches = made(calpha)
    assert (len(batches), batches.n_frames, batches.n_atoms) == (7, 98, 214)
    assert [len(batches.frames_of(k, 0)) for k in range(7)] == [15] * 6 + [8]
    orders = [order(batches, epoch)[:, 1].tolist() for epoch in (0, 1, 0)]
    assert all(sorted(numbers) == list(range(98)) for numbers in orders)
    assert orders[0] == orders[2] != orders[1]
    assert order(made(calpha), 1)[:, 1].tolist() == orders[1]
    assert order(made(calpha, seed=1), 0)[:, 1].tolist() != orders[0]
    # Seed and epoch are not added up.
    assert order(made(calpha, seed=1), 0)[:, 1].tolist() != orders[1]
    assert order(made(calpha, shuffle=False), 3)[:, 1].tolist() == list(range(98))


def test_batches_have_the_positions_of_their_frames(calpha: tj.Selection) -> None:
    """Bit for bit, also of chosen frames in an order of their own."""
    for batches in (made(calpha), made(calpha, [5, 3, 90, 3], 3), made(calpha, slice(1, 9), 99)):
        for k in range(len(batches)):
            numbers = batches.frames_of(k, 2)[:, 1]
            expected = calpha.read(numbers).positions
            assert positions(batches, k, 2).tobytes() == expected.tobytes()
    chosen = made(calpha, [5, 3, 90, 3], 3)
    assert sorted(order(chosen, 0)[:, 1].tolist()) == [3, 3, 5, 90]


def test_trajectories_are_mixed(calpha: tj.Selection, adk: Adk) -> None:
    """Rows name the selection and its frame."""
    other = tj.open(adk.psf, datafiles.DCD).select("name CA")
    batches = made([calpha, other])
    everything = [(m, k) for m, each in enumerate((calpha, other)) for k in range(98)]
    assert sorted(map(tuple, order(batches, 0).tolist())) == everything[: batches.n_frames]
    mixed = 0
    for k in range(len(batches)):
        found = batches.frames_of(k, 0)
        mixed += len(set(found[:, 0].tolist())) == 2
        rows = [(calpha, other)[m].read([frame]).positions[0] for m, frame in found.tolist()]
        assert positions(batches, k, 0).tobytes() == np.array(rows).tobytes()
    assert mixed > 0


def _read(batches: FrameBatches, batch: int) -> bytes:
    return positions(batches, batch, 1).tobytes()


def test_other_processes_read_the_same(calpha: tj.Selection) -> None:
    """Forked ones share the open file, spawned ones open it anew."""
    batches = made(calpha)
    expected = [_read(batches, k) for k in range(len(batches))]
    again = pickle.loads(pickle.dumps(batches))
    assert [_read(again, k) for k in range(len(batches))] == expected
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = [pool.apply_async(_read, (batches, k)) for k in range(len(batches))]
        assert [part.get(60) for part in parts] == expected


def test_a_pickle_does_not_grow_with_the_order(calpha: tj.Selection) -> None:
    """Each process makes it from the seed."""
    batches = made(calpha)
    before = len(pickle.dumps(batches))
    batches.frames_of(0, 0)
    assert len(pickle.dumps(batches)) == before


def test_what_cannot_be_in_batches_is_an_error(calpha: tj.Selection) -> None:
    """Each has its message."""
    with raises(tj.AnalysisError):
        made(calpha.trajectory.nojump().select("name CA"))
    with raises(tj.SelectionError):
        made([calpha, calpha.trajectory.all_atoms()])
    with raises(TypeError):
        made([calpha.trajectory])
    with raises(ValueError):
        made([])
    with raises(ValueError):
        made(calpha, size=0)
    with raises(ValueError):
        made(calpha, seed=-1)
    with raises(ValueError):
        made(calpha, [])
    with pytest.raises(tj.FrameError):
        made(calpha, [98])
    for batch in (-1, 7):
        with raises(IndexError):
            made(calpha).frames_of(batch, 0)


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(5)), st.booleans())
def test_rows_of_all_trajectories_are_the_same_atoms(order: list[int], opens_again: bool) -> None:
    """Another order of them is an error, also within one trajectory."""
    traj = tj.open(datafiles.PSF, datafiles.DCD)
    again = tj.open(datafiles.PSF, datafiles.DCD) if opens_again else traj
    first = traj.select("backbone and resid 9:10").indices[:5]
    both = traj.select(first), again.select(first[order])
    if order == sorted(order):
        assert made(both).n_frames == 196 and made(both).messages == ()
    else:
        with pytest.raises(tj.SelectionError):
            made(both)


def test_other_atoms_are_an_error_or_a_message(calpha: tj.Selection, tmp_path: Path) -> None:
    """Chains of a homodimer and shifted residue numbers are the same atoms; names are a message."""
    traj = calpha.trajectory
    water = tj.open(datafiles.GRO, datafiles.XTC).select("name OW and resid 300:900")
    with raises(tj.SelectionError):
        made([calpha, water.trajectory.select(water.indices[:214])])
    shifted = traj.select("name CA and resid 11:20"), traj.select("name CA and resid 21:30")
    named = made(shifted).messages
    assert len(named) == 1 and "have other names" in named[0]
    # Without a topology the numbers of the atoms are all that is known.
    path = tj.write(tmp_path / "bare.xtc", np.ones((2, 3, 3))).path
    first, again = (tj.open(None, path) for _ in range(2))
    assert made([first.select([0, 1]), again.select([0, 1])]).n_frames == 4
    with raises(tj.SelectionError):
        made([first.select([0, 1]), again.select([0, 2])])


def test_frames_without_positions_are_an_error(tmp_path: Path) -> None:
    """In place of NaN, which makes every loss NaN; it names the frame."""
    vectors = [np.ones((5, 3)), None, 2 * np.ones((5, 3))]
    traj = tj.open(None, trr_bytes.write_trr(tmp_path / "velocities.trr", vectors))
    batches = made(traj.select([0, 1]), size=3)
    with raises(tj.FrameError):
        positions(batches, 0, 0)
    assert positions(made(traj.select([0, 1]), [0, 2]), 0, 0).max() == 20


def test_without_pytorch_the_module_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else needs it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "trajet.torch", raising=False)
    with raises(tj.MissingPackageError):
        __import__("trajet.torch")
    package = Path(tj.__file__).parent
    users = [path.name for path in package.rglob("*.py") if "import torch" in path.read_text()]
    assert users == ["torch.py"]
