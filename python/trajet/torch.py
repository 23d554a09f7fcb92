"""Frames as tensors, for training with PyTorch: `FrameDataset` and `IterableFrameDataset`.

Import it by name; nothing else of trajet imports PyTorch:

    import trajet.torch

    dataset = trajet.torch.FrameDataset(traj.select("name CA"), batch=256)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=4)
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import MissingPackageError
from trajet.checked_numbers import whole_number
from trajet.messages import emit
from trajet.trajectory import FrameBatches, FrameChoice, Selection

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError as error:
    raise MissingPackageError(
        "tensors of frames need PyTorch: pip install 'trajet[torch]'"
    ) from error

# PyTorch is not installed where types are checked: the name tells readers what is meant.
Tensor: TypeAlias = "torch.Tensor"


class _ReadAhead:
    """Reads the next batch in a thread while its user works on one.

    Only if batches are asked for one after the other; another choice is read when it is asked for.
    The thread ends with the batch, and no program waits for it at its end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last, self._process = (-1, -1), os.getpid()
        self._next: tuple[tuple[int, int], Future[Tensor]] | None = None

    def get(
        self, read: Callable[[int, int], Tensor], batch: int, epoch: int, n_batches: int
    ) -> Tensor:
        """Return a batch, and begin to read the one after it.

        Parameters
        ----------
        read
            Reads a batch, given its number and that of the epoch.
        batch, epoch
            These numbers.
        n_batches
            Number of batches of an epoch.
        """
        with self._lock:
            if self._process != os.getpid():
                # The thread did not follow into a forked process.
                self._next, self._process = None, os.getpid()
            waiting, self._next = self._next, None
            follows, self._last = self._last == (batch - 1, epoch), (batch, epoch)
        is_read = waiting is not None and waiting[0] == (batch, epoch)
        found = waiting[1].result() if waiting and is_read else read(batch, epoch)
        with self._lock:
            if follows and batch + 1 < n_batches and self._next is None:
                future: Future[Tensor] = Future()
                self._next = (batch + 1, epoch), future
                work = partial(_fulfil, future, read, batch + 1, epoch)
                threading.Thread(target=work, name="trajet-ahead", daemon=True).start()
        return found


def _fulfil(
    future: Future[Tensor], read: Callable[[int, int], Tensor], batch: int, epoch: int
) -> None:
    """Set the result of a future, or its exception, by reading a batch."""
    try:
        future.set_result(read(batch, epoch))
    except BaseException as error:
        future.set_exception(error)


class _Epochs:
    """The batches of a data set, in the order of the current epoch."""

    def __init__(
        self,
        atoms: Selection | Sequence[Selection],
        *,
        frames: FrameChoice = None,
        batch: int = 64,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        self._batches = FrameBatches(atoms, frames, batch, shuffle=shuffle, seed=seed)
        emit(self._batches.messages)
        # In shared memory, so that workers that outlive an epoch see the next one.
        self._epoch: Tensor = torch.zeros((), dtype=torch.int64).share_memory_()
        self._ahead = _ReadAhead()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_ahead"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._ahead = _ReadAhead()

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def epoch(self) -> int:
        """Number of the current epoch, from 0."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, and so the order of the frames; call it before an epoch begins.

        Workers see it, too. Without it, every epoch has the same order.

        Parameters
        ----------
        epoch
            Its number, at least 0.
        """
        self._epoch.fill_(whole_number(epoch, "epoch", least=0))

    def frames_of(self, batch: int) -> NDArray[np.int64]:
        """Return the frames of a batch in the current epoch, in its order.

        Parameters
        ----------
        batch
            Number of the batch, from 0.

        Returns
        -------
        ndarray, shape (n, 2), int64
            Number of the selection, which is 0 for a single one, and number of the frame.

        Raises
        ------
        IndexError
            If there is no such batch.
        """
        return self._batches.frames_of(batch, self.epoch)

    def _tensor(self, batch: int) -> Tensor:
        """Return a batch of the current epoch; workers of a loader read ahead by themselves."""
        if get_worker_info() is not None:
            return self._read(batch, self.epoch)
        return self._ahead.get(self._read, batch, self.epoch, len(self))

    def _read(self, batch: int, epoch: int) -> Tensor:
        """Return a batch of an epoch."""
        batches = self._batches
        n_frames = len(batches.frames_of(batch, epoch))
        made = torch.empty((n_frames, batches.n_atoms, 3), dtype=torch.float32)
        batches.read(batch, epoch, made.numpy())
        return made


class FrameDataset(_Epochs, Dataset):  # type: ignore[misc]
    """Frames of trajectories as tensors: a map-style data set whose items are batches.

    `dataset[k]` is batch k: positions `(n, n_atoms, 3)`, float32, Å, of random frames, read from
    the trajectory's own files; only the selected atoms are decoded. Give it to a `DataLoader` with
    `batch_size=None`. Batches and their order are the same for any number of workers, whether they
    are forked or spawned; each reads with one thread. Without workers, a thread reads the next
    batch while one is used.

    Parameters
    ----------
    atoms
        A selection, or several of the same atoms, whose frames are mixed: replicas, or open members
        of an ensemble. Atoms are compared by names, residues and masses; other names are a warning.
    frames
        The frames of each trajectory, as for `Trajectory.read`; None for all.
    batch
        Frames of a batch; the last one may have fewer.
    shuffle
        Whether frames come in random order, else in their own.
    seed
        Seed of the order, with the number of the epoch (`set_epoch`).

    Raises
    ------
    SelectionError
        If the selections are not the same atoms in the same order.
    AnalysisError
        If jumps over the box are removed, which needs frames in order.
    FrameError
        If a frame is out of range.
    ValueError
        If there are no frames, or `batch` or `seed` is no such number.

    Notes
    -----
    A trajectory with the topology of a Universe, which cannot be pickled, needs forked workers.
    """

    def __getitem__(self, batch: int) -> Tensor:
        """Return a batch of the current epoch; negative numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such batch.
        FrameError
            If a frame has no positions, as some of TRR files.
        TrajetError
            As `Trajectory.read`.
        """
        return self._tensor(batch + len(self) if batch < 0 else batch)


class IterableFrameDataset(_Epochs, IterableDataset):  # type: ignore[misc]
    """The batches of `FrameDataset`, in the same order, as an iterable data set.

    For code that wants one. Worker w of W yields batches w, w + W, w + 2W, …, which a `DataLoader`
    puts in order again. Parameters and errors are those of `FrameDataset`.
    """

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for batch in range(first, len(self), step):
            yield self._tensor(batch)
