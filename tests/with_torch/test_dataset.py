"""Data sets of frames in PyTorch's loader: `make test-torch` runs this."""

import multiprocessing
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trajet as tj
from torch.utils.data import DataLoader
from trajet.torch import FrameDataset, IterableFrameDataset
from trajet.trajectory import FrameBatches

# Importing the package itself would need MDAnalysis.
FOUND = find_spec("MDAnalysisTests")
assert FOUND is not None
assert FOUND.origin is not None
DATA = Path(FOUND.origin).parent / "data"
KINDS = (FrameDataset, IterableFrameDataset)


@pytest.fixture(scope="module")
def calpha(tmp_path_factory: pytest.TempPathFactory) -> tj.Selection:
    """214 atoms of 98 frames of XTC."""
    path = tmp_path_factory.mktemp("torch") / "adk.xtc"
    tj.convert(tj.open(DATA / "adk.psf", DATA / "adk_dims.dcd"), path)
    return tj.open(DATA / "adk.psf", path).select("name CA")


def epochs(dataset: Any, **options: Any) -> list[list[torch.Tensor]]:
    """Return the batches of three epochs, through a loader."""
    loader = DataLoader(dataset, batch_size=None, **options)
    found = []
    for epoch in range(3):
        dataset.set_epoch(epoch)
        found.append(list(loader))
    return found


def same(one: list[list[torch.Tensor]], other: list[list[torch.Tensor]]) -> bool:
    """Return whether the batches of all epochs have the same bits."""
    return [[t.numpy().tobytes() for t in each] for each in one] == [
        [t.numpy().tobytes() for t in each] for each in other
    ]


@pytest.fixture(scope="module")
def expected(calpha: tj.Selection) -> list[list[torch.Tensor]]:
    """Return the batches without a loader."""
    dataset, found = FrameDataset(calpha, batch=9, seed=3), []
    for epoch in range(3):
        dataset.set_epoch(epoch)
        found.append([dataset[k] for k in range(len(dataset))])
    return found


def test_items_are_float32_tensors_of_their_frames(calpha: tj.Selection) -> None:
    """Of positions in Å, in the stated order."""
    dataset = FrameDataset(calpha, batch=9, seed=3)
    assert (len(dataset), dataset[0].shape, dataset[-1].shape) == (11, (9, 214, 3), (8, 214, 3))
    for k, batch in enumerate(dataset):
        assert batch.dtype == torch.float32
        found = dataset.frames_of(k)
        assert np.array_equal(batch.numpy(), calpha.read(found[:, 1]).positions)
    with pytest.raises(IndexError):
        dataset[11]


def test_epochs_differ(expected: list[list[torch.Tensor]]) -> None:
    """Each has its own order."""
    assert not same(expected[:1], expected[1:2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [0, 1, 3, 4, 8])
def test_order_is_the_same_for_all_numbers_of_forked_workers(
    calpha: tj.Selection, expected: list[list[torch.Tensor]], kind: Any, workers: int
) -> None:
    """Map-style and iterable."""
    context = multiprocessing.get_context("fork") if workers else None
    dataset = kind(calpha, batch=9, seed=3)
    found = epochs(dataset, num_workers=workers, multiprocessing_context=context)
    assert same(found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_that_outlive_an_epoch_see_the_next(
    calpha: tj.Selection, expected: list[list[torch.Tensor]], kind: Any, start: str
) -> None:
    """`set_epoch` reaches them, and spawned ones open the files anew."""
    dataset = kind(calpha, batch=9, seed=3)
    context = multiprocessing.get_context(start)
    found = epochs(dataset, num_workers=2, persistent_workers=True, multiprocessing_context=context)
    assert same(found, expected)


def test_nothing_is_copied_to_disk(calpha: tj.Selection) -> None:
    """The folder has the trajectory and its index."""
    folder = Path(calpha.trajectory.path).parent
    epochs(FrameDataset(calpha, batch=9), num_workers=2)
    assert sorted(path.name for path in folder.iterdir()) == [".adk.xtc.trajet-index", "adk.xtc"]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_that_are_read_ahead_are_those_that_are_asked_for(
    calpha: tj.Selection, expected: list[list[torch.Tensor]], kind: Any
) -> None:
    """In another order, in a changed epoch, beside another reader, and after a fork."""
    dataset = kind(calpha, batch=9, seed=3)
    assert same(epochs(dataset), expected)
    if kind is IterableFrameDataset:
        # An epoch that begins in the middle of another.
        dataset.set_epoch(0)
        some = iter(dataset)
        assert same([[next(some) for _ in range(4)]], [expected[0][:4]])
        dataset.set_epoch(1)
        assert same([list(dataset)], expected[1:2])
        return
    for chosen in ([0, 1, 2, 3], [3, 4, 2, 3, 10, 9], [0, 1, 1, 2, 0, 1, 2]):
        for epoch in (2, 0):
            dataset.set_epoch(epoch)
            assert same([[dataset[k] for k in chosen]], [[expected[epoch][k] for k in chosen]])
    others = FrameDataset(calpha, batch=9, seed=3)
    for k in range(len(dataset)):
        assert same([[dataset[k], others[k]]], [[expected[0][k]] * 2])
    dataset[0], dataset[1]
    process = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(not same([[dataset[2], dataset[3]]], [expected[0][2:4]]))
    )
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_errors_of_reading_ahead_belong_to_their_batch(
    calpha: tj.Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before are returned, and the error is raised when its batch is asked for."""
    dataset = FrameDataset(calpha, batch=9, seed=3)
    right = FrameBatches.read

    def failing(self: FrameBatches, batch: int, epoch: int, out: np.ndarray) -> None:
        if batch == 3:
            raise OSError("no such sector")
        right(self, batch, epoch, out)

    monkeypatch.setattr(FrameBatches, "read", failing)
    assert [len(dataset[k]) for k in range(3)] == [9] * 3
    with pytest.raises(OSError, match="no such sector"):
        dataset[3]
    assert len(dataset[4]) == 9
